/* In: a program. Out: it and its oracle's kernels at the measuring worker. */
#include "tuner/tools.h"

static void hand_over(Tools *tools) {
    if (!tools->wanted || tools->missing > 0) return;
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

void tools_begin(Tools *tools, Arena *arena, Workers *workers, const Ir *ir, const Ir *rounded) {
    *tools = (Tools){.arena = arena, .workers = workers, .ir = ir, .rounded = rounded};
    if (!workers->device->oracle) return;
    tools->owner = workers_enter(workers, tools, take);
    tools->count = rounded && rounded != ir ? 3 : 2;
    submit(tools, 1, ir);
    if (tools->count == 3) submit(tools, 2, rounded);
    submit(tools, 0, NULL);
}

bool tools_set_up(Tools *tools, const BenchOptions *options, Why *why) {
    const Workers *w = tools->workers;
    if (!bench_setup(w->bench, &w->identity, tools->ir, tools->rounded, options, why)) return false;
    tools->wanted = tools->count > 0;
    hand_over(tools);
    return true;
}
