/* Problem: what the engine tunes, put together from the compiler's products: the template of a
 * group, its bindings to the real shape and to the gate's edges, the eager chain and the roof as
 * companions, the key. */
#ifndef KF_PROBLEM_H
#define KF_PROBLEM_H

#include "compiler/eager.h"
#include "compiler/emit.h"
#include "tuner/tune.h"

typedef struct ProblemOptions {
    const char *math; /* "default" … : part of the key */
    bool hot, exact;
    bool companions; /* eager and roof beside it */
} ProblemOptions;

/* `ir` is simplified, has the group's outputs alone and is elementwise; `rounded` is its
 * round-each-op twin. NULL with `why` where the eager chain or the roof cannot be planned (our bug,
 * but no reason to stop: the caller may go on without companions). */
bool problem_build(Arena *arena, const Device *device, int index, const DeviceIdentity *identity,
                   const Ir *ir, const Ir *rounded, const Eager *eager,
                   const ProblemOptions *options, Store *store, TuneProblem *problem, Why *why);

/* The eager chain and, where the problem has a plan, the roof, as companions of `problem`. */
bool problem_companions(Arena *arena, const Eager *eager, TuneProblem *problem, Why *why);
/* The template of a plan in a device's language. */
const Template *problem_template(Arena *arena, const Device *device, const Plan *plan);
/* All axes of the shape's text, "4096x4096; 4096", as the store tells exact shapes apart. */
const char *problem_shape(Arena *arena, const Ir *ir);
/* The iteration space, "4096x4096". */
const char *problem_space(Arena *arena, const Ir *ir);
/* "2 reads and 1 write". */
const char *problem_roof_text(Arena *arena, const Plan *plan);
/* Bytes that the roof's kernel moves. */
int64_t problem_roof_bytes(const Plan *plan);

#endif
