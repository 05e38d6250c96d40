/* The tune engine: kernels (a template and a space each) and an oracle in; the fastest right one
 * out. It knows no operation: what a candidate computes, how it is launched and how it is judged
 * come with the problem. */
#ifndef KF_TUNE_H
#define KF_TUNE_H

#include <signal.h>

#include "compiler/gate.h"
#include "compiler/kernel.h"
#include "tuner/bench.h"
#include "tuner/pair.h"
#include "tuner/store.h"
#include "tuner/strategy.h"
#include "tuner/tools.h"

typedef struct TuneOptions {
    const Strategy *strategy; /* NULL: strategy_auto */
    uint32_t trials;          /* candidates at most; 0: all */
    uint32_t minimum;         /* before the search may stop at the roof */
    double stop_at; /* of the roof's rate: there it stops whatever was tried; 0: not asked */
    bool sensible;  /* points that `prefer` allows alone */
    double budget;  /* seconds for the whole run */
    uint64_t seed;
    bool hot, retune;
    bool search;       /* else: what the store has for the bucket, or the analytic default */
    const Point *only; /* just this one, or NULL */
    uint32_t only_kernel;
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

/* One way to compute the problem: bounds[0] at the real shape, bounds[1 + i] at the gate's edge i,
 * NULL where it does not run. */
typedef struct TuneKernel {
    Kernel kernel;
    const Bound *const *bounds;
} TuneKernel;

/* One group to tune: its kernels race. */
typedef struct TuneProblem {
    const Device *device;
    int index;
    const DeviceIdentity *identity;
    const Ir *ir, *rounded; /* the oracle, and the eager chain's */
    const TuneKernel *kernels;
    uint32_t kernel_count, edge_count;
    const Companion *companions;
    uint32_t companion_count;
    Store *store;
    StoreKey key;
    const char *journal;
    const Given *given; /* data of the caller's own; NULL: generated */
} TuneProblem;

typedef struct Candidate {
    uint32_t kernel;
    Point point;
    const char *label; /* tune_label */
    Binary binary;     /* of its unit; owned by the Tuned's arena */
    Run run;
    Result result;
    bool done;       /* its result is final; one that the search did not come to is not */
    bool measured;   /* in this run: false for a duplicate or one known from the store */
    bool compiled;   /* in this run */
    bool foreign;    /* a binary from another store: that it fails says nothing of the point */
    bool imported;   /* the point comes from another store … */
    double claimed;  /* … which says this many seconds for this very shape; 0: says nothing */
    int32_t twin_of; /* same machine code and launch as that candidate, or -1 */
} Candidate;

/* The best of a kernel beside the winner. */
typedef struct Rival {
    int32_t best; /* candidate, or -1: none is right */
    Pair pair;    /* its time over the winner's */
} Rival;

/* Why a search ended. */
typedef enum Ending {
    ENDING_DONE, /* all was tried */
    ENDING_ROOF, /* within 1 % of it: nothing is left to find */
    ENDING_ASKED,
    ENDING_BUDGET,
    ENDING_INTERRUPTED,
    ENDING_IMPORTED /* what came from elsewhere was judged and timed */
} Ending;

typedef struct Tuned {
    ARRAY(Candidate) candidates;
    int32_t winner;     /* index, or -1: none is right */
    int32_t tie;        /* runner-up inside the noise, or -1 */
    double tie_ratio;   /* its time over the winner's */
    Rival *rivals;      /* per kernel */
    int32_t roof;       /* the fastest of the roof's kernels, index of a companion, or -1 */
    Result *companions; /* per companion; outcome is not OK where it could not be measured */
    uint32_t compiled, workers;
    Ending ending;
    uint32_t untried; /* candidates that a search which ended early did not come to */
    bool interrupted, from_store, hot;
    BenchReport bench;
} Tuned;

/* Two halves, so that of several problems the later ones compile while the earlier ones are measured:
 * the first asks for points and hands their units to the workers (not on a device whose timings share
 * the compilers' cores: there the second half does), the second measures and decides; what the bench
 * will be asked next (or NULL) it prepares meanwhile. Everything lives in `arena`. True if a run was made at all (winner may be -1); false with `why` if workers or device
 * cannot be had. */
typedef struct Tuning Tuning;
Tuning *tune_begin(Arena *arena, const TuneProblem *problem, const TuneOptions *options,
                   Workers *workers, Tuned *tuned);
bool tune_end(Tuning *tuning, Tools *next, Why *why);
Tools *tune_tools(Tuning *tuning);
/* In place of tune_end: nothing is measured. */
void tune_drop(Tuning *tuning);
/* Both halves. */
bool tune(Arena *arena, const TuneProblem *problem, const TuneOptions *options, Workers *workers,
          Tuned *tuned, Why *why);

/* Whether this store holds a finished search of this bucket that answers: any does (field report
 * 103), but where all points are asked for (`trials` 0) only one that tried all, or ended at the
 * roof. */
bool tune_searched(const TuneProblem *problem, const TuneOptions *options);

/* The Run of a point for one of the problem's shapes. A shape that the point's `require` rules out
 * is run by the twin. */
bool tune_run(Arena *arena, const Template *template, const Bound *bound, const Point *point,
              const DeviceIdentity *identity, Run *run, const char **why);
/* What a template's expressions may read: sizes, `sms` and `cpus` of the device. */
Bindings tune_bindings(Arena *arena, const Bound *bound, const DeviceIdentity *identity);
/* "__VEC4_BLOCK256": what template_instantiate appends to the entries of a point. */
const char *tune_suffix(Arena *arena, const Space *space, const Point *point);
/* How a point of one of the problem's kernels is called, here and in the store: "VEC=4,BLOCK=256" of
 * the elementwise kernel, "rows:TPR=32,RPB=4" of another generated one, "softmax:TPR=32" of a template. */
const char *tune_label(Arena *arena, const TuneProblem *problem, uint32_t kernel,
                       const Point *point, const char *separator);
/* The kernel and point of a label; without a name, the first kernel that has such a point. Knobs not
 * named take the analytic default. False with *why (in the arena). */
bool tune_find(Arena *arena, const TuneProblem *problem, const char *label, uint32_t *kernel,
               Point *point, const char **why);
static inline const Space *tune_space(const TuneProblem *problem, uint32_t kernel) {
    return &problem->kernels[kernel].kernel.template->space;
}

#endif
