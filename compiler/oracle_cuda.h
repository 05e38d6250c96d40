/* The oracle on a CUDA device: a naive kernel, one thread an element, emitted from the Ir itself
 * (never from a plan), with the interval arithmetic of interval.h in double. It must first agree
 * with the host's oracle on a sample; then it judges whole outputs where they lie. Not for f64
 * programs (the host needs long double), nor where more than 1024 values live at once: there every
 * element is unchecked. Reductions, products and what is read through them are values with memory
 * of their own, which the caller fills first, step by step.
 *
 * There are two texts, to be compiled at once, of extern "C" kernels. One knows no program:
 *   kf_fill(void *bytes, int dtype, u64 seed, u32 slot, i64 begin, i64 count, int domain)
 *   kf_compare(const u8 *a, const u8 *b, i64 bytes, dtype, u64 *differences, i64 *first)  NaN payload-blind
 *   kf_poison(u8 *bytes, const u8 *golden, i64 count)         complement of golden (NULL: 0xFF)
 *   kf_times(const void *matrix, int dtype, i64 rows, i64 columns, i64 row_stride, i64 column_stride,
 *            const i64 *vector, i64 *result, u64 *fractions)  adds matrix times vector, wrapping
 * The other is of one, with the Ir's inputs, then the steps' values as `const void *const *in`, its
 * outputs as `void *const *out` (device arrays of device pointers):
 *   kf_expect(in, u32 output, const i64 *index, i64 count, double *lo, double *value, double *hi, u8 *state)
 *   kf_check(in, out, u32 output, i64 begin, i64 count, OracleReport *report)      atomically merged
 * and for step N (of value N)
 *   kf_value_N(in)                                            fills the value
 *   kf_value_N(in, Sum *sums, const Sum *before, int pass)    of a reduction: pieces of rows, to be
 *   kf_fold(sums, op, dtype, i64 rows, i64 pieces, i64 live, i64 kept)     joined until one is live,
 *   kf_reduced(sums, before, op, dtype, rows, pieces, void *value)         and read
 * Any one-dimensional grid; blocks of a power of two up to 1024 threads. `state`: 1 may be NaN, 2
 * must be, 4 ambiguous, 8 unchecked. A report starts with zeros, INT64_MAX as every place, -1 as
 * every worst. Ends agree with the host's to an ulp of the output: the functions in double are
 * another library's. */
#ifndef KF_ORACLE_CUDA_H
#define KF_ORACLE_CUDA_H

#include "compiler/eval.h"

typedef enum OracleKind { ORACLE_ELEMENTS, ORACLE_REDUCTION, ORACLE_PRODUCT } OracleKind;

enum { ORACLE_VALUE_BYTES = 24 }; /* of an element of a value */

/* A value that exists in full before outputs are evaluated; steps are in order. */
typedef struct OracleStep {
    OracleKind kind;
    Value value;
    DType type;
    uint32_t slot;  /* its place in `in` */
    int64_t count;  /* elements */
    bool needed;    /* a product that is not may be left out, `in` NULL there: its elements are then
                      computed where they are asked for */
    int64_t work;   /* of a product: multiplications */
    int op, passes; /* of a reduction: var takes two passes */
    int64_t rows, length, inner, pieces; /* of each row */
} OracleStep;

typedef struct OracleSteps {
    ARRAY(OracleStep) list;
    bool known;       /* false: the device's oracle is not for this program */
    size_t sum_bytes; /* of a Sum */
} OracleSteps;

OracleSteps oracle_steps(Arena *arena, const Ir *ir);

typedef struct OracleReport {
    uint64_t checked, unchecked, ambiguous, wrong;
    int64_t first_wrong; /* smallest, or INT64_MAX */
    double worst_bound, worst_ulp;
    int64_t worst_bound_at, worst_ulp_at;
} OracleReport;

/* `ir` NULL: the text that knows no program. */
void oracle_cuda(Text *out, const Ir *ir);

#endif
