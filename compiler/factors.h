/* An output that is a product of two inputs as they lie, element (i, j) of a batch being the sum
 * over k of a(i, k) * b(k, j): what exact checks of whole products need to know. */
#ifndef KF_FACTORS_H
#define KF_FACTORS_H

#include "compiler/ir.h"

/* Strides in elements from element 0 of input a, input b, and the output. */
typedef struct Factors {
    uint32_t a, b;
    int64_t rows, columns, depth, batches;
    uint32_t batch_rank;
    int64_t batch[RANK_MAX], a_batch[RANK_MAX], b_batch[RANK_MAX], out_batch[RANK_MAX];
    int64_t a_row, a_depth, b_depth, b_column, out_row, out_column;
    /* Terms of a sum may be so many that products of random signs stay exact in the output's type:
     * one in 2^a_sparse elements of a and one in 2^b_sparse of b is not zero. */
    int a_sparse, b_sparse;
} Factors;

/* False where the output is something else, or of a type whose sums may wrap. */
bool factors_find(const Ir *ir, uint32_t output, Factors *factors);

#endif
