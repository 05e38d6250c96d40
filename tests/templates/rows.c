//! kernel    rows
//! computes  y = sum(x) * w
//! input     x[rows, cols] : f32
//! input     w[rows, 1] : f32
//! output    y[rows] : f32
//! args      x w y workspace rows cols
//! workspace rows * __PARTS__ * 4
//! knob      __PARTS__ 4 2
//! launch    partial block = cpus
//! launch    combine block = 1
#include <stdint.h>

void KF_ENTRY(partial)(void *const *args, int64_t part, int64_t parts) {
    const float *x = *(float *const *)args[0];
    float *sums = *(float *const *)args[3];
    const int64_t rows = *(const int64_t *)args[4], cols = *(const int64_t *)args[5];
    for (int64_t i = part; i < rows * __PARTS__; i += parts) {
        sums[i] = 0;
        for (int64_t c = i % __PARTS__; c < cols; c += __PARTS__)
            sums[i] += x[i / __PARTS__ * cols + c];
    }
}

void KF_ENTRY(combine)(void *const *args, int64_t part, int64_t parts) {
    const float *w = *(float *const *)args[1], *sums = *(float *const *)args[3];
    float *y = *(float *const *)args[2];
    const int64_t rows = *(const int64_t *)args[4];
    for (int64_t r = part; r < rows; r += parts) {
        float sum = 0;
        for (int p = 0; p < __PARTS__; p++) sum += sums[r * __PARTS__ + p];
        y[r] = sum * w[r];
    }
}
