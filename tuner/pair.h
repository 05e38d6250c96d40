/* Two kernels timed in turn: the ratio of their times. */
#ifndef KF_PAIR_H
#define KF_PAIR_H

#include "tuner/result.h"

/* Median of b's time over a's, and that median's 95 % interval. */
typedef struct Pair {
    double ratio, low, high;
} Pair;

/* Samples of the two results pair by index; of fewer than five the interval is [0, inf]. By order
 * statistics, with the normal approximation of the binomial: ranks n/2 ± 0.98 sqrt(n). */
Pair pair_ratio(const Result *a, const Result *b);

#endif
