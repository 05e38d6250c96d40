/* What the files of the tune engine share: the state of one run. Not for other rooms. */
#ifndef KF_TUNING_H
#define KF_TUNING_H

#include "tuner/tune.h"

typedef struct Unit {
    ARRAY(uint32_t) members; /* candidates of one kernel; none: a companion's module */
    uint32_t companion, module;
} Unit;

/* The search of one kernel's space. */
typedef struct KernelSearch {
    const Strategy *strategy;
    Search *search;
    uint32_t left; /* points it may still be asked for */
} KernelSearch;

struct Tuning {
    Arena *arena;
    const TuneProblem *problem;
    const TuneOptions *options;
    Tuned *tuned;
    KernelSearch *searches; /* per kernel */
    Workers *workers;
    uint32_t owner; /* among them */
    Bench *bench;
    bool compiles; /* units may still be submitted */
    bool prepared; /* the bench has the program's data */
    Tools tools;
    Tools *next; /* what the bench may prepare beside this, or NULL */
    ARRAY(Unit) units;
    ARRAY(uint32_t) ready; /* candidates to measure, in order */
    uint32_t ready_next;
    Binary **companion_binaries; /* [companion][module] */
    uint32_t *companion_missing;
    uint32_t companion_next, finished, total;
    double began, best;
    const StoredTrial *trials;
    uint32_t trial_count;
    uint32_t tried; /* candidates from the store, after which the search began */
    Why why;
};

enum { COMPANION_ID = 1 << 24 }; /* job ids of companions; candidates use their index */

static inline Candidate *tuning_candidate(Tuning *t, uint32_t index) {
    return &t->tuned->candidates.data[index];
}
bool tuning_interrupted(const Tuning *t);
double tuning_left(const Tuning *t); /* seconds of the budget */
/* Its result is final: counts it and tells progress. */
void tuning_finish(Tuning *t, Candidate *candidate);
void tuning_fail(Tuning *t, Candidate *candidate, Outcome outcome, const char *message);

/* A candidate's Run at the real shape (0) or at edge `shape - 1`. */
bool tuning_run(Tuning *t, const Candidate *c, uint32_t shape, Run *run, const char **why);

/* tune_compile.c: points to units, units to workers, binaries to candidates. */
void tuning_ask(Tuning *t);      /* units of all points, and of the companions */
void tuning_ask_only(Tuning *t); /* options->only */
void tuning_ask_default(Tuning *t);
void tuning_ask_missing(Tuning *t);            /* what the store had no binary for */
void tuning_submit(Tuning *t, uint32_t first); /* units from `first` on to the compilers */
/* One whose result is known from an interrupted run gets its binary after all, and is measured
 * again. */
void tuning_revive(Tuning *t, uint32_t candidate);
void tuning_take(void *tuning, uint32_t unit, const Compiled *compiled);
void tuning_accept(Tuning *t, uint32_t candidate, Binary binary);

/* tune_measure.c */
bool tuning_measure_next(
    Tuning *t); /* one thing that can be measured; false if there is none yet */
int32_t tuning_best_roof(const Tuning *t); /* index of a companion, or -1 */
double tuning_roof(const Tuning *t);       /* seconds of the roof's kernel; 0: unknown */

/* tune_rank.c */
/* Candidates known from an interrupted run that would be finalists: only what this run measured can
 * be compared in pairs and launched. Submits them; false if there are none. */
bool tuning_revive_finalists(Tuning *t);
void tuning_rank(Tuning *t);
/* Right candidates with a time, fastest first, twins left out. */
Candidate **tuning_right(Tuning *t, uint32_t *count);

/* tune_stored.c */
void tuning_load(Tuning *t);   /* what the store has for this bucket: from_store */
void tuning_unload(Tuning *t); /* that did not do: the search follows, for all but what was tried */
const StoredTrial *tuning_known(const Tuning *t, const char *label);
void tuning_keep(Tuning *t);

#endif
