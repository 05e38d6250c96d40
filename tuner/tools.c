/* In: a program. Out: it and its oracle's kernels at the measuring worker. */
#include "tuner/tools.h"

static void hand_over(Tools *tools) {
    if (!tools->wanted || tools->missing > 0) return;
    tools->workers->announced = NULL;
    bench_tools(tools->workers->bench, tools->made, tools->count,
                tools->why.text[0] ? &tools->why : NULL);
}

static void take(void *owner, uint32_t id, const Compiled *compiled) {
    Tools *tools = owner;
    tools->made[id] = workers_binary(tools->arena, compiled);
    if (compiled->outcome != OUTCOME_OK) why_set(&tools->why, "%s", compiled->message);
    tools->missing--;
    hand_over(tools);
}

static void submit(Tools *tools, uint32_t id, const Ir *ir) {
    Text source = {0};
    tools->workers->device->oracle(&source, ir);
    if (workers_submit(tools->workers, tools->owner, id,
                       &(CompileUnit){text_string(&source), "oracle", true}, &tools->why))
        tools->missing++;
    text_free(&source);
}

void tools_begin(Tools *tools, Arena *arena, Workers *workers, const Ir *ir, const Ir *rounded,
                 const BenchOptions *options) {
    *tools = (Tools){
        .arena = arena, .workers = workers, .ir = ir, .rounded = rounded, .options = *options};
    if (!workers->device->oracle) return;
    tools->owner = workers_enter(workers, tools, take);
    tools->count = rounded && rounded != ir ? 3 : 2;
    submit(tools, 1, ir);
    if (tools->count == 3) submit(tools, 2, rounded);
    submit(tools, 0, NULL);
}

static bool announce(Tools *tools, Why *why) {
    Workers *w = tools->workers;
    if (w->announced == tools) return true;
    bool good =
        bench_setup(w->bench, &w->identity, tools->ir, tools->rounded, &tools->options, why);
    w->announced = good ? tools : NULL;
    return good;
}

void tools_announce(Tools *tools) {
    static const double most = (double)(1 << 30); /* bytes of a copy of the inputs */
    double bytes = 0;
    Why ignored;
    for (uint32_t i = 0; i < tools->ir->inputs.count; i++)
        bytes += (double)type_bytes(&tools->ir->inputs.data[i].type);
    if (!tools->workers->device->host_exclusive && bytes <= most) announce(tools, &ignored);
}

bool tools_set_up(Tools *tools, Why *why) {
    if (!announce(tools, why)) return false;
    tools->wanted = true;
    hand_over(tools);
    return true;
}
