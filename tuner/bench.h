/* Bench: the measuring worker, one process per device, that owns context and buffers: it fills,
 * poisons, launches, judges and times Runs one after another. The parent's end of it is here, the
 * worker's in bench_serve. A candidate that crashes or hangs costs one worker: the bench starts a
 * fresh one, tries that candidate once more alone, and goes on. */
#ifndef KF_BENCH_H
#define KF_BENCH_H

#include "tuner/device.h"
#include "tuner/given.h"

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
} BenchJob;

typedef struct Bench Bench;

/* Spawns the worker, which opens the device and prepares data and oracle in the background. `ir` is
 * the simplified program, `rounded` the round-each-op one for judging the eager chain (NULL if the
 * same). */
Bench *bench_open(const Device *device, int index, const DeviceIdentity *identity, const Ir *ir,
                  const Ir *rounded, const BenchOptions *options, Why *why);
/* One job at a time. */
bool bench_submit(Bench *bench, const BenchJob *job, Why *why);
bool bench_busy(const Bench *bench);
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
    double start_seconds, check_seconds, measure_seconds; /* of the worker so far */
    uint32_t mutants_refused;
} BenchReport;
bool bench_report(Bench *bench, BenchReport *report, Why *why);
void bench_close(Bench *bench);

/* In the worker's main: `kfuse-worker measure DEVICE INDEX`. Returns its exit status. */
int bench_serve(const Device *device, int index, int fd);

#endif
