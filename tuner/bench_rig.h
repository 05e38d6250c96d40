/* Rig: the inside of the measuring worker. An open device with the program's data on it: tensors
 * between guards (set 0, where candidates are judged), copies to rotate through while timing, and
 * what says whether a result is right. One Run is mounted at a time (several while finalists are
 * ranked).
 *
 *   bench_rig.c     lays tensors out, fills them
 *   bench_open.c    the device, opened beside other work
 *   bench_mount.c   a Run on the rig: modules, temporaries, addresses per set
 *   bench_judge.c   edges, poison, guards, the whole output
 *   bench_exact.c   products too large for that: exactly, on whole numbers
 *   bench_sample.c  which elements stand for an output
 *   bench_host.c    the hands of a device whose memory is the host's
 *   bench_device.c  the hands of one that has memory of its own: kernels emitted by Device.oracle
 *   bench_values.c  what such an oracle computes first
 *   bench_given.c   data of the caller's own
 *   bench_time.c    warm-up, samples, interleaved rounds
 *   bench_serve.c   the worker's loop */
#ifndef KF_BENCH_RIG_H
#define KF_BENCH_RIG_H

#include <pthread.h>

#include "compiler/gate.h"
#include "compiler/oracle_cuda.h"
#include "tuner/bench.h"

/* A tensor starts at a multiple of RIG_ALIGNMENT with RIG_GUARD bytes before it; behind it are the
 * bytes up to the next multiple and, on a device that is not fenced, RIG_GUARD more. */
enum { RIG_ALIGNMENT = 64, RIG_GUARD = GATE_GUARD, RIG_SETS_MAX = 4096 };
/* Bytes below which waking a team costs more than it gains (20 us, measured on 2 CPUs). */
enum { RIG_SMALL = 1 << 16 };

/* An input or output of the program as it lies in memory. */
typedef struct Tensor {
    const char *name;
    const Type *type;
    const int64_t *strides;
    size_t size;   /* bytes of an element */
    int64_t first; /* elements of storage before element 0 (negative strides) */
    int64_t count; /* elements of storage in all */
    bool dense;    /* storage order is row-major order with nothing between */
    int32_t alias; /* an output: the input whose storage it is, else -1 */
} Tensor;

static inline size_t tensor_bytes(const Tensor *tensor) {
    return (size_t)tensor->count * tensor->size;
}
/* Element 0 of a tensor whose storage begins at `storage`. */
static inline Address tensor_zero(const Tensor *tensor, Address storage) {
    return storage + (Address)tensor->first * tensor->size;
}

/* Offset in bytes of an element, counted in row-major order, from element 0. */
static inline int64_t tensor_offset(const Tensor *tensor, int64_t index) {
    int64_t offset = 0;
    for (uint32_t i = tensor->type->rank; i-- > 0; index /= tensor->type->dim[i])
        offset += index % tensor->type->dim[i] * tensor->strides[i];
    return offset * (int64_t)tensor->size;
}

/* An allocation with guards around `data`. */
typedef struct Guarded {
    Address block, data;
    size_t bytes, behind; /* behind: guard bytes behind */
} Guarded;

/* One of the two programs that results are judged by. */
typedef struct Oracle {
    const Ir *ir;
    OracleSteps steps;   /* what exists in full before its outputs are evaluated */
    int64_t work;        /* multiplications of products that need not: judging all costs as many */
    Eval *eval;          /* on the host; made when first needed */
    Module *module;      /* on the device, or NULL */
    Address *values;     /* there, of each step; 0: left out */
    bool tried, trusted; /* the device's was compared with the host's on a sample; they agreed */
} Oracle;

typedef struct Rig Rig;

/* A stored matrix; strides in elements. */
typedef struct Matrix {
    Address zero;
    DType dtype;
    int64_t rows, columns, row_stride, column_stride;
} Matrix;

/* The opening of a device, which may take a third of a second: a thread's own where the state can be
 * handed over (Device.enter). */
typedef struct Opening {
    const Device *device;
    int index;
    DeviceState *state; /* NULL: not open yet, or it cannot be: `why` */
    pthread_t thread;
    bool running, done, warm; /* warm: something has been timed */
    double seconds;           /* 0: told in a report */
    Why why;
} Opening;

void opening_begin(Opening *opening);
/* Waits for it; NULL with the reason. */
DeviceState *opening_end(Opening *opening, Why *why);
void opening_close(Opening *opening);

/* Work that a thread does beside the opening. */
typedef struct Preparation {
    Rig *rig;
    pthread_t thread;
    bool started, good;
    Why why;
} Preparation;

/* What is done to memory besides running candidates. All return false with the reason if they
 * cannot. */
typedef struct Hands {
    bool (*open)(Rig *rig, Why *why);
    void (*close)(Rig *rig);
    bool (*fill)(Rig *rig, uint32_t slot, Address storage, Why *why);
    bool (*copy)(Rig *rig, Address to, Address from, size_t bytes, Why *why);
    /* The complement of `golden`, or 0xFF where that is 0. */
    bool (*poison)(Rig *rig, Address to, Address golden, size_t bytes, Why *why);
    /* Bit for bit, any NaN being any other. */
    bool (*same)(Rig *rig, DType dtype, Address a, Address b, int64_t count, bool *same, Why *why);
    /* The output against the oracle: everything, or a sample where that is too dear. */
    bool (*check)(Rig *rig, Oracle *oracle, uint32_t output, Address zero, Check *check, Why *why);
    /* result = matrix * vector, both in host memory, in wrapping integers; `whole`: the matrix holds
     * nothing else. */
    bool (*times)(Rig *rig, const Matrix *matrix, const int64_t *vector, int64_t *result,
                  bool *whole, Why *why);
} Hands;

extern const Hands hands_host, hands_device;

typedef struct BenchSetup {
    DeviceIdentity identity;
    uint64_t seed;
    double run_limit;
    int32_t hot, reserved;
    const Given *given; /* the caller's data; NULL: none, or on the way to the worker */
} BenchSetup;

struct Rig {
    Arena *arena, *gate_arena; /* the gate is made by a thread of its own */
    const Device *device;
    Opening *opening;
    DeviceState *state; /* NULL until rig_finish */
    int index;
    BenchSetup setup;
    const Hands *hands;
    const Ir *ir;
    Tensor *tensors; /* inputs, then outputs */
    uint32_t input_count, tensor_count;
    int domain;     /* of the data */
    bool generated; /* for the moment, even where data are given */
    Guarded *set0;  /* per tensor; an alias has its input's */
    Address slab;   /* sets 1 .. sets-1 */
    size_t slab_stride;
    uint32_t sets;            /* 0: not made yet */
    void **copies;            /* inputs in host memory for the oracle, where it cannot read set 0 */
    const void **oracle_data; /* element 0 of each input, in memory that no candidate writes */
    Team *team;
    Guarded *first_values; /* the same on a device with memory of its own */
    Binary
        tools[BENCH_TOOLS_MAX]; /* such a device's kernels: of no program, of plain, of rounded */
    Module *handling;           /* those of no program */
    Address pointers, scratch;  /* and their memory (bench_device.c) */
    Oracle plain, rounded;      /* rounded.ir may be plain.ir */
    Gate *gate;
    Preparation preparation;
    double begun;    /* when it was */
    Address image;   /* the gate's, on the device */
    Guarded *golden; /* per output: what a candidate that was judged right gave */
    bool golden_set;
    Check golden_check;
    uint32_t next_set; /* where the next sample begins */
    BenchReport report;
};

/* What needs no device is begun, in a thread: the gate, the oracle's data where it reads copies. */
Rig *rig_begin(Arena *arena, Opening *opening, const BenchSetup *setup, const Ir *ir,
               const Ir *rounded);
/* Waits for device and gate, fills the data. False with the reason. */
bool rig_finish(Rig *rig, const Binary tools[BENCH_TOOLS_MAX], Why *why);
/* The device stays open. */
void rig_close(Rig *rig);
/* What passed since *begin belongs to a phase; *begin is now. */
void rig_charge(Rig *rig, Phase phase, double *begin);

static inline const Tensor *rig_output(const Rig *rig, uint32_t output) {
    return &rig->tensors[rig->input_count + output];
}
static inline const Guarded *rig_output_memory(const Rig *rig, uint32_t output) {
    return &rig->set0[rig->input_count + output];
}
static inline uint32_t rig_output_count(const Rig *rig) {
    return rig->tensor_count - rig->input_count;
}

bool rig_allocate(Rig *rig, size_t bytes, Guarded *guarded, Why *why);
void rig_release(Rig *rig, Guarded *guarded);
/* Sets the guards; says whether they still stand, and sets them anew. */
bool guard_set(Rig *rig, const Guarded *guarded, Why *why);
bool guard_check(Rig *rig, const Guarded *guarded, const char *name, Why *why);

/* Storage of a tensor in a set. */
Address rig_storage(const Rig *rig, uint32_t tensor, uint32_t set);
/* The host's oracle, opened when first needed; NULL if it does not fit in memory. */
Eval *rig_eval(Rig *rig, Oracle *oracle, Why *why);
/* An input's first values in host memory. */
void rig_fill_host(const Rig *rig, uint32_t slot, void *storage);
/* Makes the sets to rotate through, once: past four times the last-level cache, as memory allows.
 */
bool rig_make_sets(Rig *rig, Why *why);
/* How many copies of so many bytes to rotate through. */
uint32_t rig_rotation(const Rig *rig, size_t bytes);
/* Inputs that are updated in place get their first values back. */
bool rig_refill(Rig *rig, uint32_t first_set, uint32_t sets, Why *why);

/* Inputs of set 0 anew, each in a domain of its own, or (NULL) as they were. */
bool rig_fill_inputs(Rig *rig, const int *domains, Why *why);

/* A sample that costs no more than `work`, of at most `most` elements; returns how many. */
int64_t sample_affordable(const Oracle *oracle, int64_t count, int64_t most, int64_t work,
                          int64_t *index);
/* Rows (along the last axis) that stand for an output whose judging costs `work` in all, as many as
 * `affordable` pays for: the first, the last, those at tiles' borders, random ones. At most
 * SAMPLE_ROWS. */
enum { SAMPLE_ROWS = 128 };
int64_t sample_rows(const Type *type, int64_t work, int64_t affordable, uint64_t seed,
                    int64_t *rows);

/* The process ends by SIGALRM, which its parent takes for a time-out, unless the limit is lifted
 * before. */
void rig_limit(double seconds);
void rig_unlimit(void);

/* A Run on the rig. */
typedef struct Mounted {
    const Run *run;
    Module **modules;
    uint32_t module_count;
    Guarded *temporaries;  /* of set 0 */
    Address slab;          /* temporaries of sets 1 .. */
    Address *rows;         /* a row per set: tensors' elements 0, then temporaries */
    const Address **table; /* the rows twice over: any window of `sets` rows is contiguous */
    uint32_t sets;
} Mounted;

/* With set 0 alone. */
Outcome mount_run(Rig *rig, Mounted *mounted, const Run *run, const Binary *binaries,
                  uint32_t count, Why *why);
/* With the rig's sets, for timing. */
bool mount_sets(Rig *rig, Mounted *mounted, Why *why);
void unmount(Rig *rig, Mounted *mounted);

Outcome judge_edges(Rig *rig, const Mounted *mounted, const BenchJob *job, Check *check, Why *why);
Outcome judge_whole(Rig *rig, const Mounted *mounted, const BenchJob *job, int attempt,
                    Check *check, Why *why);

/* Whether references judge the rig's outputs; an output against its own, and what that accepts of one
 * element, as stored. */
static inline bool rig_has_references(const Rig *rig) {
    return rig->setup.given && rig->setup.given->references;
}
bool given_check(Rig *rig, uint32_t output, Address zero, Check *check, Why *why);
void given_expect(const Rig *rig, uint32_t output, int64_t at, void *lo, void *hi);

/* Runs the mounted Run once on set 0; outputs are poisoned before. */
Outcome judge_run(Rig *rig, const Mounted *mounted, Why *why);
/* Whether any output is a product of two inputs; if so, it is exactly that of a second set of data
 * (else OUTCOME_WRONG), and the first set is back. */
bool exact_applies(const Rig *rig);
Outcome judge_exact(Rig *rig, const Mounted *mounted, Why *why);

/* On a device without results: runs it and believes it. */
Outcome judge_imaginary(Rig *rig, const Mounted *mounted, const BenchJob *job, int attempt,
                        Why *why);

Outcome time_run(Rig *rig, Mounted *mounted, const BenchJob *job, Result *result, Why *why);
/* Paired rounds of all; results' samples pair by index. */
Outcome time_rank(Rig *rig, Mounted *mounted, uint32_t count, double budget, Result *results,
                  Why *why);

#endif
