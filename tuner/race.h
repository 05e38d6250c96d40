/* Race: whole Runs of one program against each other, on one bench: the kernels that a program of
 * several groups became, and the eager chain. */
#ifndef KF_RACE_H
#define KF_RACE_H

#include "tuner/tune.h"

typedef struct Runner {
    const char *label;
    const Run *run;
    const Binary *binaries; /* per module; NULL: `sources` are compiled, and it is filled in */
    const char *const *sources;
    uint32_t module_count;
    bool rounded; /* judged by the round-each-op program */
} Runner;

/* Judges all of them, then times those that are right in turn. results[i].outcome says what became
 * of each. False with `why` where workers or device cannot be had. `problem` gives device, oracle
 * and journal. */
bool race(Arena *arena, const TuneProblem *problem, const TuneOptions *options, Runner *runners,
          uint32_t count, Result *results, BenchReport *report, Why *why);

#endif
