/* Race: whole Runs of one program against each other, on one bench: the kernels that a program of
 * several groups became, and the eager chain. */
#ifndef KF_RACE_H
#define KF_RACE_H

#include "tuner/tune.h"

typedef struct Runner {
    const char *label;
    const Run *run;
    const Binary *binaries; /* per module; NULL: it could not be compiled */
    uint32_t module_count;
    bool rounded; /* judged by the round-each-op program */
} Runner;

/* What can be compiled before the runners are known. */
typedef struct Race {
    Arena *arena;
    Workers *workers;
    Tools tools;
    uint32_t owner;
    Binary *chain; /* per module of the eager chain */
    uint32_t chain_count, chain_missing;
    Why why;
} Race;

/* `problem` gives device, oracle and journal. `chain` (or NULL): Runs of these sources will race. */
void race_begin(Race *race, Arena *arena, Workers *workers, const TuneProblem *problem,
                const TuneOptions *options, const Companion *chain);
/* The chain's binaries; NULL if one does not compile. */
const Binary *race_chain(Race *race);
/* Judges all of them, then times those that are right in turn. results[i].outcome says what became
 * of each. False with `why` where workers or device cannot be had. */
bool race_end(Race *race, const TuneOptions *options, const Runner *runners, uint32_t count,
              Result *results, BenchReport *report, Why *why);

#endif
