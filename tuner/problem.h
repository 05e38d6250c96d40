/* Problem: what the engine tunes, put together from the compiler's products: the kernels of a group,
 * bound to the real shape and to the gate's edges, the eager chain and the roof as companions, the
 * key. */
#ifndef KF_PROBLEM_H
#define KF_PROBLEM_H

#include "compiler/eager.h"
#include "compiler/emit.h"
#include "tuner/tune.h"

typedef struct ProblemOptions {
    const char *math; /* "default" … : part of the key */
    bool hot, exact;
} ProblemOptions;

/* `where` says device, store and journal. `ir` is simplified and has the group's outputs alone;
 * `rounded` is its round-each-op twin; `kernels` compute it. */
void problem_build(Arena *arena, const TuneProblem *where, const Ir *ir, const Ir *rounded,
                   const Kernels *kernels, const ProblemOptions *options, TuneProblem *problem);

/* The eager chain and, where the problem has a kernel, the roof, as companions of `problem`; their
 * kernels come from `library`, at the analytic default. A chain with a step that no kernel covers is
 * left out. False with `why` where a run cannot be planned (our bug). */
bool problem_companions(Arena *arena, const Chain *eager, const Library *library,
                        TuneProblem *problem, Why *why);
/* The iteration space, "4096x4096". */
const char *problem_space(Arena *arena, const Ir *ir);
/* "2 reads and 1 write". */
const char *problem_roof_text(Arena *arena, const Bound *bound);
/* Bytes that the roof's kernel moves; 0: there is none, as for a product, or where no
 * output is of full size. */
int64_t problem_roof_bytes(const Bound *bound);
/* The power of two that an extent is counted for, itself included. */
int64_t problem_bucket(int64_t extent);
/* Multiplications and additions of all products. */
int64_t problem_operations(const Ir *ir);

#endif
