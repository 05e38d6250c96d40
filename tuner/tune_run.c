/* In: a template, a point, what its names are at a shape. Out: the Run of that point there. */
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

Bindings tune_bindings(Arena *arena, const Bound *bound, const DeviceIdentity *identity) {
    uint32_t count = bound->sizes.count;
    Binding *list = arena_array(arena, Binding, count + 2);
    memcpy(list, bound->sizes.list, count * sizeof *list);
    list[count] = (Binding){"sms", identity->sms};
    list[count + 1] = (Binding){"cpus", identity->sms};
    return (Bindings){list, count + 2};
}

bool tune_run(Arena *arena, const Template *template, const Bound *bound, const Point *point,
              const DeviceIdentity *identity, Run *run, const char **why) {
    uint32_t first = run->launches.count;
    Bindings bindings = tune_bindings(arena, bound, identity);
    if (!run_add(arena, run, template, point, bound, bindings, 0, why)) return false;
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

const char *tune_label(Arena *arena, const TuneProblem *problem, uint32_t kernel,
                       const Point *point, const char *separator) {
    const Kernel *k = &problem->kernels[kernel].kernel;
    Text text = {0};
    if (strcmp(k->name, "generated") != 0) text_printf(&text, "%s:", k->name);
    point_print(&text, &k->template->space, point, separator);
    const char *label = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return label;
}

static bool find_point(Arena *arena, const TuneProblem *problem, const char *text, uint32_t kernel,
                       Point *point, const char **why) {
    const Space *space = tune_space(problem, kernel);
    Point base = space_fallback(space);
    return point_parse(space, text, &base, arena, point, why);
}

bool tune_find(Arena *arena, const TuneProblem *problem, const char *label, uint32_t *kernel,
               Point *point, const char **why) {
    const char *colon = strchr(label, ':'), *first = NULL;
    for (*kernel = 0; *kernel < problem->kernel_count; ++*kernel) {
        const char *name = problem->kernels[*kernel].kernel.name;
        if (colon &&
            (strncmp(name, label, (size_t)(colon - label)) != 0 || name[colon - label] != '\0'))
            continue;
        if (find_point(arena, problem, colon ? colon + 1 : label, *kernel, point, why)) return true;
        if (!first) first = *why;
    }
    *why = first
               ? first
               : arena_printf(arena, "no kernel '%.*s' computes this", (int)(colon - label), label);
    return false;
}
