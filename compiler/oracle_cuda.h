/* The oracle on a CUDA device: a naive kernel, one thread an element, emitted from the Ir itself
 * (never from a plan), with the interval arithmetic of interval.h in double. It must first agree
 * with the host's oracle on a sample; then it judges whole outputs where they lie. Not for f64
 * programs (the host needs long double), nor where more than 1024 values live at once: there every
 * element is unchecked. Reductions and products are loops in each element's thread: right, but slow
 * for whole outputs of long rows.
 *
 * The text defines, all extern "C" with the Ir's inputs and outputs as `const void *const *in`,
 * `void *const *out` (device arrays of device pointers):
 *   kf_fill(void *bytes, int dtype, u64 seed, u32 slot, i64 begin, i64 count, int domain)
 *   kf_expect(in, u32 output, const i64 *index, i64 count, double *lo, double *value, double *hi, u8 *state)
 *   kf_check(in, out, u32 output, i64 begin, i64 count, OracleReport *report)      atomically merged
 *   kf_compare(const u8 *a, const u8 *b, i64 bytes, dtype, u64 *differences, i64 *first)  NaN payload-blind
 *   kf_poison(u8 *bytes, const u8 *golden, i64 count)         complement of golden (NULL: 0xFF)
 * Any one-dimensional grid; blocks of a power of two up to 1024 threads. `state`: 1 may be NaN, 2
 * must be, 4 ambiguous, 8 unchecked. A report starts with zeros, INT64_MAX as every place, -1 as
 * every worst. Ends agree with the host's to an ulp of the output: the functions in double are
 * another library's. */
#ifndef KF_ORACLE_CUDA_H
#define KF_ORACLE_CUDA_H

#include "compiler/eval.h"

typedef struct OracleReport {
    uint64_t checked, unchecked, ambiguous, wrong;
    int64_t first_wrong; /* smallest, or INT64_MAX */
    double worst_bound, worst_ulp;
    int64_t worst_bound_at, worst_ulp_at;
} OracleReport;

void oracle_cuda(Text *out, const Ir *ir);

#endif
