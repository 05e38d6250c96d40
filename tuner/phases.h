/* Phases: where a run's time goes. The parent is in one phase at any moment, so that its phases add up
 * to the wall time; what its workers do meanwhile is counted beside it and may overlap. */
#ifndef KF_PHASES_H
#define KF_PHASES_H

#include "compiler/base/text.h"

/* The parent's, in the order in which a run meets them, then the workers'. */
/* clang-format off */
#define PHASES(PARENT, BESIDE)                                                        \
    PARENT(OPEN, open, "registry and store opened")                                   \
    PARENT(PARSE, parse, "text parsed, lowered, simplified")                          \
    PARENT(STORE, store, "the store asked, results kept")                             \
    PARENT(SPAWN, spawn, "worker processes started")                                  \
    PARENT(PLAN, plan, "kernels cut, planned, emitted")                               \
    PARENT(IDENTITY, identity, "waiting to hear what the device is")                  \
    PARENT(DEVICE, device, "waiting for device, data and oracle")                     \
    PARENT(COMPILE, compile, "waiting for compilers, nothing to measure")             \
    PARENT(CANDIDATES, candidates, "candidates loaded, judged, timed")                \
    PARENT(COMPANIONS, companions, "eager chain and roof judged, timed")              \
    PARENT(RANK, rank, "finalists timed in turn")                                     \
    PARENT(CLOSE, close, "workers ended")                                             \
    BESIDE(COMPILERS, compilers, "compile workers, summed over them")                 \
    BESIDE(LAST, last_compiled, "from the first unit's hand-out to the last result")  \
    BESIDE(DRIVER, driver, "driver and context started")                              \
    BESIDE(TOOLS, tools, "from a program's announcement to its oracle")                \
    BESIDE(GATE, gate, "the gate's edges computed")                                   \
    BESIDE(HOST, host, "the host's copy of the data, its oracle")                     \
    BESIDE(PREPARATION, preparation, "gate and host's copy awaited")                  \
    BESIDE(DATA, data, "the device's data allocated and filled")                      \
    BESIDE(SELF_TEST, self_test, "the gate's self-test")                              \
    BESIDE(LOAD, load, "candidates' modules loaded")                                  \
    BESIDE(EDGES, edges, "edges judged")                                              \
    BESIDE(WHOLE, whole, "whole outputs judged")                                      \
    BESIDE(SETS, sets, "buffer sets to rotate through")                               \
    BESIDE(WARM, warm, "warmed up")                                                   \
    BESIDE(TIMING, timing, "samples taken")                                           \
    BESIDE(ROUNDS, rounds, "finalists' rounds")                                       \
    BESIDE(CONDITIONS, conditions, "clock and temperature asked")
/* clang-format on */

typedef enum Phase {
#define PHASE_ID(id, name, text) PHASE_##id,
    PHASES(PHASE_ID, PHASE_ID)
#undef PHASE_ID
        PHASE_COUNT
} Phase;

typedef struct Phases {
    double seconds[PHASE_COUNT];
    Phase current; /* the parent's */
    double since;  /* 0: its clock does not run */
} Phases;

/* The parent goes over to a phase; what passed since the last call belongs to the one before. */
Phase phases_enter(Phases *phases, Phase phase);
/* Its clock stops. */
void phases_stop(Phases *phases);
void phases_add(Phases *into, const Phases *phases);
/* A line each; `total` is the wall time that they are to explain. */
void phases_text(Text *out, const Phases *phases);
/* "phases":{…},"beside":{…} */
void phases_json(Text *out, const Phases *phases);

#endif
