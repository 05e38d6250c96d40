/* In: programs and points. Out: whether the gate takes every one, on the shim. */
#include "tests/shim/judge.h"

#include <stdio.h>

#include "compiler/base/parallel.h"
#include "compiler/gate_edge.h"
#include "tests/shim/device_shim.h"
#include "tests/unit/rigged.h"

enum { SEED = 7, RUN_LIMIT = 300 };

/* --- compiling */

typedef struct Units {
    const Device *device;
    ARRAY(Unit *) list;
} Units;

static void compile_one(void *context, int64_t part) {
    const Device *device = ((Units *)context)->device;
    Unit *unit = ((Units *)context)->list.data[part];
    const CompileUnit text = {unit->source, unit->label, false};
    DeviceIdentity identity = {0};
    if (device->compile(&text, &identity, &unit->binary, &unit->why) != OUTCOME_OK)
        text_free(&unit->binary);
}

bool judge_compile(Subjects *subjects, Why *why) {
    Arena *arena = arena_open();
    Team *team = team_open(parallel_cpus());
    Units units = {.device = subjects->device ? subjects->device : &device_shim};
    bool good = true;
    for (uint32_t i = 0; i < subjects->list.count; i++)
        for (uint32_t u = 0; u < subjects->list.data[i].units.count; u++)
            array_push(arena, &units.list, &subjects->list.data[i].units.data[u]);
    team_run(team, units.list.count, compile_one, &units);
    for (uint32_t i = 0; i < units.list.count && good; i++)
        if (units.list.data[i]->binary.length == 0)
            good = why_set(why, "%.100s: %.400s", units.list.data[i]->label,
                           units.list.data[i]->why.text);
    team_close(team);
    arena_close(arena);
    return good;
}

/* --- what kernels may touch */

static void allow_tensor(const Rig *rig, int64_t zero, const Type *type, const int64_t *strides) {
    int64_t before, count, size = dtype_info(type->dtype)->bytes;
    edge_extent(type, strides, &before, &count);
    shim_allow(rig->state, rig->image + (Address)(zero - before * size), (size_t)(count * size));
}

/* The gate's image: an edge's tensors alone. */
static void fence_image(const Rig *rig) {
    shim_forbid(rig->state, rig->image, rig->gate->size);
    for (uint32_t e = 0; e < rig->gate->edges.count; e++) {
        const Edge *edge = &rig->gate->edges.data[e];
        for (uint32_t i = 0; i < edge->ir->inputs.count; i++)
            allow_tensor(rig, edge->inputs[i], &edge->ir->inputs.data[i].type,
                         edge->ir->inputs.data[i].strides);
        for (uint32_t i = 0; i < edge->ir->outputs.count; i++)
            allow_tensor(rig, edge->outputs[i], &edge->ir->outputs.data[i].type,
                         edge->ir->outputs.data[i].strides);
    }
}

static void fence(const Rig *rig) {
    for (uint32_t i = 0; i < rig->tensor_count; i++) {
        const Guarded *guarded = &rig->set0[i];
        shim_forbid(rig->state, guarded->block, RIG_GUARD);
        shim_forbid(rig->state, guarded->data + guarded->bytes, guarded->behind);
    }
    fence_image(rig);
}

/* --- judging */

static bool judge_trial(Rig *rig, const Subject *subject, const Trial *trial, Why *why) {
    const Unit *unit = &subject->units.data[trial->unit];
    const Binary binary = {unit->binary.data, unit->binary.length};
    const BenchJob job = {
        .label = trial->label, .edge_runs = trial->edge_runs, .edge_count = subject->edge_count};
    Check check = check_none();
    Mounted mounted;
    Outcome outcome = mount_run(rig, &mounted, &trial->run, &binary, 1, why);
    if (outcome == OUTCOME_OK) outcome = judge_edges(rig, &mounted, &job, &check, why);
    if (outcome == OUTCOME_OK) outcome = judge_whole(rig, &mounted, &job, 0, &check, why);
    unmount(rig, &mounted);
    return outcome == OUTCOME_OK;
}

static void count(const Subject *subject, JudgeCounts *counts) {
    counts->programs++;
    counts->points += subject->trials.count;
    for (uint32_t i = 0; i < subject->trials.count; i++)
        for (uint32_t e = 0; e < subject->edge_count; e++)
            counts->edges += subject->trials.data[i].edge_runs[e].launches.count > 0;
}

static bool judge_one(const Subject *subject, Why *why) {
    Arena *arena = arena_open();
    BenchSetup setup = {.seed = SEED, .run_limit = RUN_LIMIT};
    subject->device->identify(0, true, &setup.identity, why);
    Opening opening = {.device = subject->device};
    Rig *rig = rigged_open(arena, &opening, &setup, subject->ir, why);
    bool good = rig != NULL;
    if (good && subject->device == &device_shim) fence(rig);
    for (uint32_t i = 0; i < subject->trials.count && good; i++) {
        Why reason = {""};
        good = judge_trial(rig, subject, &subject->trials.data[i], &reason) ||
               why_set(why, "%s at %.100s: %.300s", subject->label, subject->trials.data[i].label,
                       reason.text);
    }
    if (rig) rigged_close(rig);
    arena_close(arena);
    return good;
}

bool judge_all(Subjects *subjects, JudgeCounts *counts, Why *why) {
    bool good = true;
    for (uint32_t i = 0; i < subjects->list.count; i++) {
        Subject *subject = &subjects->list.data[i];
        if (good && (good = judge_one(subject, why))) count(subject, counts);
        for (uint32_t u = 0; u < subject->units.count; u++)
            text_free(&subject->units.data[u].binary);
    }
    return good;
}
