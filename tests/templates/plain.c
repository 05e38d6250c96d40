// A kernel without a header, and without a thought of kfuse but for its parameters.
#include <stdint.h>

void twice(void *const *args, int64_t part, int64_t parts) {
    const float *x = *(float *const *)args[0];
    float *y = *(float *const *)args[1];
    const int64_t n = *(const int64_t *)args[2];
    for (int64_t at = part * __STEP__; at < n; at += parts * __STEP__)
        for (int64_t i = at; i < n && i < at + __STEP__; i++) y[i] = x[i] * 2;
}
