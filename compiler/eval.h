/* The oracle: what a program's right results are, interpreted from the Ir in double (long double
 * for an f64 program, wrapping int64 for integers). gate.md is the specification. It evaluates the
 * whole language: reductions, products and transposed values are materialised first, the rest block
 * by block, so that nothing of full size exists twice.
 *
 * Per element it gives an interval in the OUTPUT's storage type:
 *   lo = hi = NaN   must be NaN (any payload)
 *   lo <= hi        must lie inside; NaN only if may_nan
 *   lo > hi         unchecked
 * The arithmetic of intervals is interval.h, which the device's oracle is emitted from as well. */
#ifndef KF_EVAL_H
#define KF_EVAL_H

#include "compiler/base/parallel.h"
#include "compiler/ir.h"

/* Whose errors the primitives carry. */
typedef enum Accuracy { ACCURACY_CUDA, ACCURACY_C } Accuracy;

typedef struct Expected {
    DType dtype;
    int64_t count;
    void *lo, *hi;     /* `count` elements of dtype */
    uint8_t *may_nan;  /* per element */
    double *value;     /* the double value, for ulp figures */
    int64_t ambiguous; /* elements with a comparison that rounding could flip */
    bool exact;        /* exactly rounded operations only: lo == hi, compared bit for bit */
} Expected;

typedef struct Eval Eval;

/* `inputs[i]` points at element 0 of Ir.inputs[i] (strides as the Ir says; storage bytes); all must
 * outlive the Eval. `team` may be NULL. Memory is malloc'd and goes with eval_close. NULL if it
 * does not fit in memory. */
Eval *eval_open(const Ir *ir, const void *const *inputs, Accuracy accuracy, Team *team);
void eval_close(Eval *eval);

/* Elements [begin, begin+count) of output `output` in row-major order. The block's arrays are
 * reused by the next call with the same `thread` (0 .. team size - 1): blocks of different threads
 * are independent. count <= EVAL_BLOCK. */
enum { EVAL_BLOCK = 4096 };
const Expected *eval_range(Eval *eval, int thread, uint32_t output, int64_t begin, int64_t count);
/* The same for listed elements. */
const Expected *eval_gather(Eval *eval, int thread, uint32_t output, const int64_t *index,
                            int64_t count);

/* Plain evaluation: output `output` rounded to its type into `out` (row-major); what `eval.test`
 * shows and the three-line tests compare. */
void eval_values(Eval *eval, uint32_t output, void *out);
/* The same program in the compute type, operation by operation, each rounded (the "compute-type CPU
 * eager chain" that must lie inside the intervals). f32 or f64, functions rounded once from the
 * wider libm. */
void eval_chain(Eval *eval, uint32_t output, int64_t begin, int64_t count, void *out);

/* What comparing gave. Add up with check_merge. */
typedef struct Check {
    int64_t checked, unchecked, ambiguous, wrong;
    int64_t first_wrong; /* element of the first wrong one, or -1 */
    double worst_bound;  /* largest |out - value| over its bound (1 is the edge) */
    int64_t worst_bound_at;
    double worst_ulp; /* over elements whose bound is under 8 ulp */
    int64_t worst_ulp_at;
} Check;

static inline Check check_none(void) {
    return (Check){.first_wrong = -1, .worst_bound_at = -1, .worst_ulp_at = -1};
}
/* Compares `count` stored elements at `out` with the block; `first` is the index of its first
 * element. */
void check_block(const Expected *expected, const void *out, int64_t first, Check *check);
void check_merge(Check *into, const Check *other);

#endif
