/* In: paired samples. Out: the ratio. */
#include "tuner/pair.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

Pair pair_ratio(const Result *a, const Result *b) {
    double ratios[RESULT_SAMPLES];
    uint32_t n = a->sample_count < b->sample_count ? a->sample_count : b->sample_count;
    if (n < 5) return (Pair){.ratio = b->time / a->time, .high = INFINITY};
    for (uint32_t i = 0; i < n; i++) ratios[i] = (double)b->samples[i] / (double)a->samples[i];
    qsort(ratios, n, sizeof *ratios, by_value);
    double reach = 0.98 * sqrt((double)n);
    int32_t low = (int32_t)floor(n / 2.0 - reach), high = (int32_t)ceil(n / 2.0 + reach);
    low = low < 0 ? 0 : low;
    high = high >= (int32_t)n ? (int32_t)n - 1 : high;
    return (Pair){.ratio = ratios[n / 2], .low = ratios[low], .high = ratios[high]};
}
