/* Bench: the measuring worker, one process per device, that owns context and buffers: it fills,
 * poisons, launches, judges and times Runs one after another. The parent's end of it is here, the
 * worker's in bench_serve. A candidate that crashes or hangs costs one worker: the bench starts a
 * fresh one, tries that candidate once more alone, and goes on. */
#ifndef KF_BENCH_H
#define KF_BENCH_H

#include "tuner/device.h"
#include "tuner/given.h"
#include "tuner/phases.h"

typedef struct BenchOptions {
    uint64_t seed;
    bool hot;            /* one buffer set; else rotate past 4x the last-level cache */
    double run_limit;    /* seconds a candidate may take before it is killed */
    const char *journal; /* path of the append-only journal, or NULL */
    const Given *given;  /* data of the caller's own, or NULL */
} BenchOptions;

typedef struct Binary {
    const void *bytes;
    size_t size;
} Binary;

/* What to do with a Run. */
typedef struct BenchJob {
    uint64_t id;
    const char *label; /* for the journal and messages */
    const Run *run;
    const Binary *binaries; /* per module of the run */
    uint32_t binary_count;
    bool judge_edges;     /* run the gate's edges: needs `edge_runs` */
    const Run *edge_runs; /* per gate edge, same binaries */
    uint32_t edge_count;
    bool judge;          /* judge the whole output */
    bool rounded;        /* judge by the round-each-op program (an eager chain of 16-bit types) */
    double budget;       /* seconds of timing; 0: judge only */
    double give_up_over; /* drop after one run slower than this many seconds (0: never) */
    double enough_over;  /* a few samples do for one that is slower than this in all (0: never) */
} BenchJob;

typedef struct Bench Bench;

/* Spawns the worker, which opens the device at once; nothing else is waited for but its greeting. */
Bench *bench_open(const Device *device, int index, Why *why);
/* What the device is, as the worker finds when its driver is up; the parent starts none. */
bool bench_identify(Bench *bench, DeviceIdentity *identity, Why *why);
/* Announces a program, with which the worker prepares what needs no device; jobs are of the one before
 * until the tools come. `ir` is the simplified program, `rounded` the round-each-op one for judging the
 * eager chain (NULL if the same). */
bool bench_setup(Bench *bench, const DeviceIdentity *identity, const Ir *ir, const Ir *rounded,
                 const BenchOptions *options, Why *why);
/* Turns to the program announced last. `tools`: the device's oracle (Device.oracle), compiled: what knows
 * no program, that of `ir`, that of `rounded` unless it is the same; none where the device has none.
 * With `why` they could not be made, and no job will be taken. */
enum { BENCH_TOOLS_MAX = 3 };
void bench_tools(Bench *bench, const Binary *tools, uint32_t count, const Why *why);
/* Becomes readable when the worker has something to say; -1: it is gone. */
int bench_descriptor(const Bench *bench);
/* Waits until data, gate and oracle are prepared. Whether they could be is told by the next job. */
void bench_ready(Bench *bench);
/* One job at a time. */
bool bench_submit(Bench *bench, const BenchJob *job, Why *why);
/* Waits for the job's result (supervised: crash, hang). */
void bench_result(Bench *bench, Result *result);
/* Interleaved, paired timing of finalists already judged (by the ids of earlier jobs, still
 * loaded): rounds of all of them in turn within `budget` seconds; results[i].samples are paired by
 * index. */
bool bench_rank(Bench *bench, const uint64_t *ids, uint32_t count, double budget, Result *results,
                Why *why);
/* Facts for the report, after the first result: buffer sets in rotation, conditions, gate's
 * self-test. */
typedef struct BenchReport {
    uint32_t sets;
    char conditions[128];
    bool self_test;
    char self_test_message[256];
    uint32_t mutants_refused;
    Phases phases; /* the worker's, since the program was set up */
} BenchReport;
bool bench_report(Bench *bench, BenchReport *report, Why *why);
/* Lets the worker end while the caller does other things before bench_close. */
void bench_kill(Bench *bench);
void bench_close(Bench *bench);

/* In the worker's main: `kfuse-worker measure DEVICE INDEX`. Returns its exit status. */
int bench_serve(const Device *device, int index, int fd);

#endif
