/* The tune engine: a template, a space and an oracle in; the fastest right kernel out. It knows no
 * operation: what a candidate computes, how it is launched and how it is judged come with the
 * problem. */
#ifndef KF_TUNE_H
#define KF_TUNE_H

#include <signal.h>

#include "compiler/gate.h"
#include "tuner/bench.h"
#include "tuner/pool.h"
#include "tuner/store.h"
#include "tuner/strategy.h"

typedef struct TuneOptions {
    const Strategy *strategy; /* NULL: strategy_auto */
    uint32_t trials;          /* candidates at most; 0: all */
    uint32_t minimum;         /* before the search may stop at the roof */
    bool sensible;            /* points that `prefer` allows alone */
    double budget;            /* seconds for the whole run */
    uint64_t seed;
    int jobs;
    bool hot, retune;
    const Point *only; /* just this one, or NULL */
    volatile sig_atomic_t *interrupt;
    void (*progress)(void *context, uint32_t finished, uint32_t total, double best, double left);
    void *context;
} TuneOptions;

/* A Run that is timed beside the candidates: the eager chain, the roof. Its binaries are compiled
 * by the same workers; `label` names them in the store ("eager.0"). */
typedef enum CompanionKind { COMPANION_EAGER, COMPANION_ROOF } CompanionKind;

typedef struct Companion {
    CompanionKind kind;
    const char *label;
    const Run *run;
    const char *const *sources; /* per module */
    uint32_t source_count;
} Companion;

/* One kernel to tune. `plans[0]` binds the template to the real shape, the others to the gate's
 * edges. */
typedef struct TuneProblem {
    const Device *device;
    int index;
    const DeviceIdentity *identity;
    const Template *template;
    const Ir *ir, *rounded; /* the oracle, and the eager chain's */
    const Plan *const *plans;
    uint32_t plan_count;
    const Companion *companions;
    uint32_t companion_count;
    Store *store;
    StoreKey key;
    const char *journal;
} TuneProblem;

typedef struct Candidate {
    Point point;
    const char *label; /* "VEC=4,BLOCK=256,…" */
    Binary binary;     /* of its unit; owned by the Tuned's arena */
    Run run;
    Result result;
    bool done;       /* its result is final; one that the search did not come to is not */
    bool measured;   /* in this run: false for a duplicate or one known from the store */
    bool compiled;   /* in this run */
    int32_t twin_of; /* same machine code and launch as that candidate, or -1 */
} Candidate;

typedef struct Tuned {
    ARRAY(Candidate) candidates;
    int32_t winner;     /* index, or -1: none is right */
    int32_t tie;        /* runner-up inside the noise, or -1 */
    double tie_ratio;   /* its time over the winner's */
    int32_t roof;       /* the fastest of the roof's kernels, index of a companion, or -1 */
    Result *companions; /* per companion; outcome is not OK where it could not be measured */
    uint32_t compiled, workers;
    const char *stopped; /* why the search ended early, or NULL */
    bool interrupted, from_store, hot;
    BenchReport bench;
    double start_seconds, compile_seconds;
} Tuned;

/* Everything lives in `arena`. Status: true if a run was made at all (winner may be -1); false with
 * `why` if workers or device cannot be had. */
bool tune(Arena *arena, const TuneProblem *problem, const TuneOptions *options, Tuned *tuned,
          Why *why);

/* Whether the store holds a finished search of this bucket that answers: any does (field report
 * 103), but where all points are asked for (`trials` 0) only one that tried all, or ended at the
 * roof. */
bool tune_searched(const TuneProblem *problem, const TuneOptions *options);

/* The Run of a point for one of the problem's shapes. A shape that the point's `require` rules out
 * is run by the twin. */
bool tune_run(Arena *arena, const Template *template, const Plan *plan, const Point *point,
              const DeviceIdentity *identity, Run *run, const char **why);
/* What a template's expressions may read: the plan's sizes, `sms` and `cpus` of the device. */
Bindings tune_bindings(Arena *arena, const Plan *plan, const DeviceIdentity *identity);
/* "__VEC4_BLOCK256": what template_instantiate appends to the entries of a point. */
const char *tune_suffix(Arena *arena, const Space *space, const Point *point);

#endif
