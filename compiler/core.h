/* Core: the products of a program as a kernel sees them: arrays in memory, how they lie, and which
 * matrix of each meets which. Elements (row, column) of matrix z of a product are sums over k of
 * a's (row, k) and b's (k, column); several products have one a and one shape. */
#ifndef KF_CORE_H
#define KF_CORE_H

#include "compiler/ir.h"

enum { CORE_PRODUCTS = 2 };

typedef struct CoreFactor {
    uint32_t slot;        /* Ir.inputs index */
    bool turned;          /* in memory, columns of a matrix follow one another, not rows */
    bool walks[RANK_MAX]; /* per batch axis: it has matrices of its own there */
} CoreFactor;

typedef struct Core {
    Value products[CORE_PRODUCTS];
    uint32_t count;
    CoreFactor a, b[CORE_PRODUCTS];
    bool swapped; /* a is the program's right factor, a vector: the product's row is its only one */
    bool folded;  /* the matrices of a lie below one another and all meet one b: they are one */
    /* Axes in front of a product's matrix that both factors walk alike are one batch axis. */
    uint32_t batch_rank;
    int32_t into[RANK_MAX]; /* -1: of extent 1 */
} Core;

/* Extents and strides, in elements, at one shape. */
typedef struct CoreSizes {
    int64_t m, n, k, batch;
    int64_t extent[RANK_MAX], a_stride[RANK_MAX], b_stride[RANK_MAX]; /* per batch axis */
} CoreSizes;

/* False where there is no product, one too many, factors that are computed, updated in place or of
 * different types, or arrays that are not dense. */
bool core_find(const Ir *ir, Core *core);
/* Of the same program at any extents; false where an array does not lie as it did. */
bool core_sizes(const Core *core, const Ir *ir, CoreSizes *sizes);

#endif
