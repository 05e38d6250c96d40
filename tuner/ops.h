/* What `kfuse ops` says: the functions that an expression may use, one of them in full, a user's
 * file put to the registry's own tests. */
#ifndef KF_OPS_H
#define KF_OPS_H

#include "tuner/tune.h"

/* A line each: signature and description; definitions first, then the C functions. */
void ops_list(Text *out, const Registry *registry, Arena *arena);
/* Expression, CUDA, C, error bound, values. False if there is no such function (`out` then names
 * the nearest). */
bool ops_show(Text *out, const Registry *registry, const char *name, Arena *arena);

typedef struct OpName {
    const char *name;
    int arity; /* arguments without a default */
} OpName;
/* Every definition and C function that a program may call. */
const OpName *ops_all(const Registry *registry, Arena *arena, uint32_t *count);

/* Puts functions through the gate at the analytic default, as outputs of shared kernels, in every
 * floating type on one device. A line a type; failures name the function. True if all passed; false
 * with `why` empty where some did not, set where the device could not be used. */
typedef struct OpsCheck {
    uint32_t passed, failed;
    uint32_t uncovered; /* no kernel computes them in some type */
} OpsCheck;
bool ops_check(Text *out, const Registry *registry, const OpName *ops, uint32_t count,
               const Device *device, int index, Store *store, Arena *arena, OpsCheck *result,
               Why *why);
/* Warns where a function's bound exceeds 64 ulp of f32 at ordinary arguments. */
void ops_warn_bounds(Text *out, const Registry *registry, const OpName *ops, uint32_t count,
                     Arena *arena);

#endif
