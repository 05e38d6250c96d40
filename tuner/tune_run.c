/* In: a template, a point, a plan. Out: the Run of that point at the plan's shape. */
#include <string.h>

#include "tuner/tune.h"

const char *tune_suffix(Arena *arena, const Space *space, const Point *point) {
    Text text = {0};
    text_add(&text, "__");
    point_print(&text, space, point, "_");
    char *suffix = arena_copy(arena, text.data, text.length);
    text_free(&text);
    char *to = suffix;
    for (const char *from = suffix; *from; from++) /* "VEC=4" -> "VEC4", "-1" -> "m1" */
        if (*from != '=') *to++ = *from == '-' ? 'm' : *from;
    *to = '\0';
    return suffix;
}

static BufferName *buffer_names(Arena *arena, const Plan *plan, uint32_t *count) {
    BufferName *names = arena_array(arena, BufferName, plan->loads.count + plan->stores.count);
    *count = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++)
        names[(*count)++] = (BufferName){plan->loads.data[i].name, plan->loads.data[i].slot};
    for (uint32_t i = 0; i < plan->stores.count; i++)
        names[(*count)++] = (BufferName){plan->stores.data[i].name,
                                         plan->ir->inputs.count + plan->stores.data[i].slot};
    return names;
}

Bindings tune_bindings(Arena *arena, const Plan *plan, const DeviceIdentity *identity) {
    uint32_t count = plan->bindings.count;
    Binding *list = arena_array(arena, Binding, count + 2);
    memcpy(list, plan->bindings.list, count * sizeof *list);
    list[count] = (Binding){"sms", identity->sms};
    list[count + 1] = (Binding){"cpus", identity->sms};
    return (Bindings){list, count + 2};
}

bool tune_run(Arena *arena, const Template *template, const Plan *plan, const Point *point,
              const DeviceIdentity *identity, Run *run, const char **why) {
    uint32_t count, first = run->launches.count;
    const BufferName *names = buffer_names(arena, plan, &count);
    Bindings bindings = tune_bindings(arena, plan, identity);
    if (!run_add(arena, run, template, point, bindings, names, count, plan, 0, why)) return false;
    const char *suffix = tune_suffix(arena, &template->space, point);
    bool legal = space_allows(&template->space, point, bindings, false);
    for (uint32_t i = first; i < run->launches.count; i++) {
        Launch *launch = &run->launches.data[i];
        launch->entry = arena_printf(arena, "%s%s", launch->entry, suffix);
        if (launch->twin) launch->twin = arena_printf(arena, "%s%s", launch->twin, suffix);
        if (!legal && !launch->twin) return *why = "not legal for this shape", false;
        if (!legal) launch->entry = launch->twin;
    }
    return true;
}
