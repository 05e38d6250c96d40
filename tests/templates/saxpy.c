//! kernel   saxpy
//! computes param a = 2; out = a * x + y
//! input    x[n] : f32
//! input    y[n] : like x
//! output   out[n] : like x
//! args     a x y out n
//! knob     __STEP__ 4096
//! launch   block = cpus
#include <stdint.h>

void KF_ENTRY(saxpy)(void *const *args, int64_t part, int64_t parts) {
    const float a = *(const float *)args[0];
    const float *x = *(float *const *)args[1], *y = *(float *const *)args[2];
    float *out = *(float *const *)args[3];
    const int64_t n = *(const int64_t *)args[4];
    for (int64_t at = part * __STEP__; at < n; at += parts * __STEP__)
        for (int64_t i = at; i < n && i < at + __STEP__; i++) out[i] = a * x[i] + y[i];
}
