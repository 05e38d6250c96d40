/* Ir -> Ir for CUDA: near forms of primitives (registry/near.def) where a result of 16 bits leaves room for their
 * error. It is done on values, so that kernels, the oracle and the key see the same; never by a search.
 *
 * The contract: what a kernel rounds to 16 bits, an output or an explicit cast, was moved by at most 1/8 ulp of that
 * type before it is rounded, by all near forms together. It is tested at fixed probes (probes.h). Where it cannot hold,
 * the accurate form stays: on the way to a result of 32 bits, an integer, a comparison or another jump; to a sum or a
 * logarithm that passes 0; to a product. Terms of different inputs that cancel are the exception: there the 1/8 ulp
 * is that of the larger term. */
#ifndef KF_NEAR_H
#define KF_NEAR_H

#include "compiler/ir.h"

typedef struct NearDone {
    uint32_t count[PRIMITIVE_COUNT]; /* by what they stand for */
} NearDone;

/* `ir` is simplified and has no IR_CALL; it is the result where nothing is to be had, as in f64. `done` may be NULL. */
const Ir *near(Arena *arena, const Ir *ir, NearDone *done);
/* "3 primitives in near forms: exp tanh div"; "" where there are none. */
void near_print(Text *out, const NearDone *done);

#endif
