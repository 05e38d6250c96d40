/* Run: what a device executes and the tuner times: launches in order, and temporaries. The fused
 * kernel, the eager chain and the check itself are Runs. */
#ifndef KF_RUN_H
#define KF_RUN_H

#include "compiler/eager.h"
#include "compiler/bound.h"
#include "registry/template.h"

typedef enum ArgKind { ARG_BUFFER, ARG_I64, ARG_I32, ARG_F32, ARG_F64 } ArgKind;

typedef struct Arg {
    ArgKind kind;
    uint32_t buffer; /* ARG_BUFFER: inputs, then outputs, then temporaries */
    Scalar value;
} Arg;

typedef struct Launch {
    uint32_t module; /* index into the run's binaries */
    const char *entry;
    const char *twin;   /* taken when a buffer is not aligned to `alignment`; NULL: none */
    uint32_t alignment; /* bytes */
    Arg *args;
    uint32_t arg_count;
    int64_t grid[3];  /* 0 in any: nothing to launch. cpu: unused */
    int32_t block[3]; /* cpu: block[0] is the number of parts (threads) */
    int32_t cluster, shared;
    bool
        dependent; /* it waits for the kernels before it by itself, and may start before they end */
} Launch;

static inline bool launch_is_empty(const Launch *launch) {
    return launch->grid[0] == 0 || launch->grid[1] == 0 || launch->grid[2] == 0;
}

typedef struct Run {
    ARRAY(Launch) launches;
    ARRAY(int64_t) temporaries; /* bytes each */
} Run;

/* One launch per TemplateLaunch of the template at a point, with what `bound` calls its names.
 * `bindings` are its sizes and whatever else expressions may read (sms, cpus). False with *why (in
 * the arena) if an expression fails or the launch is not legal on the device (grid x over 2^31-1,
 * block over 1024, …). */
bool run_add(Arena *arena, Run *run, const Template *template, const Point *point,
             const Bound *bound, Bindings bindings, uint32_t module, const char **why);

/* Bytes that each pointer must be aligned to: VEC elements of the widest array, at most one 16-byte
 * access. */
uint32_t run_alignment(const Template *template, const Point *point, const Bound *bound);

/* As bytes for a worker, and back (NULL if damaged). */
void run_write(Text *out, const Run *run);
Run *run_read(Arena *arena, const void *bytes, size_t length, size_t *used);

#endif
