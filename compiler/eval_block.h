/* Blocks: some elements of one value, and what a compute type does with them. eval_block.inc is
 * compiled once for each compute type (eval_f32.c, eval_f64.c); everything else of the oracle
 * reaches it by this table. */
#ifndef KF_EVAL_BLOCK_H
#define KF_EVAL_BLOCK_H

#include "compiler/eval.h"

/* Elements are numbers of the compute type, or int64. */
typedef struct Block {
    bool
        point; /* every element is one number or must be NaN: it stands in lo, the others mean nothing */
    bool whole;    /* integers and bools */
    void *lo, *hi; /* compute type or int64 */
    void *v;       /* real carrier or int64 */
    uint8_t *nan;  /* NAN_NEVER … NAN_MUST; unused by whole ones */
} Block;

/* One operation on blocks, by slots of a workspace. */
typedef struct BlockStep {
    uint16_t
        op; /* as IrNode.op: IR_CAST, IR_CONVERT or a primitive, a near form as what it stands for */
    uint16_t count; /* operands */
    bool same;      /* both operands are one value */
    DType type;
    uint32_t out, arg[3];
    double ulp; /* error of a function or a near form */
} BlockStep;

/* One row of a matrix product as it grows: n columns in the real carrier. */
typedef struct Products {
    void *v, *size, *radius;
    bool may_nan, fractions;
} Products;

typedef struct BlockKernel {
    size_t compute, real; /* bytes of an element */
    /* slots[step->out] = op(slots[arg]…). `chain`: as the compute type's eager chain, no intervals.
     * ambiguous[i] is set where a comparison could go either way. */
    void (*apply)(const BlockStep *step, Block *slots, int64_t count, bool chain,
                  uint8_t *ambiguous);
    /* out[at + i] = element `offset + i * stride` of a stored array; of a block. */
    void (*load)(Block *out, int64_t at, DType type, const void *base, int64_t offset,
                 int64_t stride, int64_t count);
    void (*copy)(Block *out, int64_t at, const Block *from, int64_t offset, int64_t stride,
                 int64_t count);
    /* Writes all of an element, point or not; then `settle` looks whether all are points. */
    void (*expand)(Block *out, int64_t at, const Block *from, int64_t count);
    void (*settle)(Block *out, int64_t count);
    void (*fill)(Block *out, DType type, Scalar value, int64_t count);
    /* Elements [at, at + count) of `expected`, rounded to its type. */
    void (*finish)(const Block *root, int64_t count, Expected *expected, int64_t at);
    void (*store)(const Block *root, int64_t count, DType type, void *out, int64_t at);

    /* Reduction `op` (IR_SUM …) of one row, in a state of sum_bytes that the caller holds. var
     * takes a second pass about the mean of the first, and in a chain a third. */
    size_t sum_bytes;
    void (*clear)(void *sum);
    void (*reduce)(void *sum, int op, DType type, const Block *block, int64_t count,
                   const void *before, int pass, bool chain);
    void (*next_pass)(void *before, const void *sum, int pass);
    void (*merge)(void *sum, int op, DType type, const void *other);
    void (*reduced)(Block *out, int64_t at, const void *sum, const void *before, int op, DType type,
                    bool chain);

    /* products[j] += a[k] * b[j]; or, along the depth, products[j] += a[k] * b[k] for
     * all k in order; what they come to after `depth` steps. */
    void (*multiply)(Products *products, const Block *a, int64_t k, const Block *b, int64_t count,
                     bool chain);
    void (*dot)(Products *products, int64_t j, const Block *a, const Block *b, int64_t count,
                bool chain);
    void (*multiplied)(Block *out, int64_t at, const Products *products, DType type, int64_t depth,
                       int64_t count, bool chain);
    bool (*has_fractions)(const Block *block, int64_t count);
} BlockKernel;

extern const BlockKernel block_kernel_f32, block_kernel_f64;

#endif
