/* Bound: a template's names at one shape: which buffer each tensor is, and the number behind each
 * size and scalar. What a Run is built from, whoever wrote the kernel. */
#ifndef KF_BOUND_H
#define KF_BOUND_H

#include "compiler/plan.h"

typedef struct BoundTensor {
    const char *name;
    DType dtype;
    uint32_t buffer; /* the program's inputs, then its outputs */
    bool output;
    bool full;     /* of the size of the iteration: the roof's stream has such an array too */
    int64_t count; /* distinct elements */
} BoundTensor;

typedef struct BoundScalar {
    const char *name;
    DType dtype; /* f32, f64 or i64 */
    Scalar value;
} BoundScalar;

typedef struct Bound {
    const Ir *ir; /* the program at this shape */
    ARRAY(BoundTensor) tensors;
    ARRAY(BoundScalar) scalars;
    Bindings sizes; /* what args, constraints and launches may read */
    uint32_t rank;  /* of what buckets are made of */
    int64_t extent[RANK_MAX];
    int64_t bytes; /* compulsory traffic: each distinct element once */
} Bound;

const Bound *plan_bound(Arena *arena, const Plan *plan);

#endif
