/* A rig in the test's own process, as the measuring worker makes it. */
#ifndef TEST_RIGGED_H
#define TEST_RIGGED_H

#include "tuner/bench_rig.h"

static inline bool rigged_tool(Arena *arena, const Device *device, const BenchSetup *setup,
                               const Ir *ir, Binary *tool, Why *why) {
    Text source = {0}, binary = {0};
    device->oracle(&source, ir);
    CompileUnit unit = {text_string(&source), "oracle", true};
    bool good = device->compile(&unit, &setup->identity, &binary, why) == OUTCOME_OK;
    if (good) *tool = (Binary){arena_copy(arena, binary.data, binary.length), binary.length};
    text_free(&source);
    text_free(&binary);
    return good;
}

/* The device's oracle; none where the host's memory is the device's. False with the reason. */
static inline bool rigged_tools(Arena *arena, const Device *device, const BenchSetup *setup,
                                const Ir *ir, Binary *tools, Why *why) {
    return !device->oracle || (rigged_tool(arena, device, setup, NULL, &tools[0], why) &&
                               rigged_tool(arena, device, setup, ir, &tools[1], why));
}

/* NULL with the reason; `opening` names the device. */
static inline Rig *rigged_open(Arena *arena, Opening *opening, const BenchSetup *setup,
                               const Ir *ir, Why *why) {
    Binary tools[BENCH_TOOLS_MAX] = {{0}};
    bool good = rigged_tools(arena, opening->device, setup, ir, tools, why);
    Rig *rig = rig_begin(arena, opening, setup, ir, NULL);
    if (good && rig_finish(rig, tools, why)) return rig;
    rig_close(rig);
    opening_close(opening);
    return NULL;
}

static inline void rigged_close(Rig *rig) {
    Opening *opening = rig->opening;
    rig_close(rig);
    opening_close(opening);
}

#endif
