//! kernel   scale
//! computes y = x * 2
//! input    x[n] : f32 f64
//! output   y[n] : like x
//! args     x y n
//! knob     __STEP__ 1024 4096
//! require  __STEP__ <= 65536
//! launch   block = cpus

// STEP elements at a time.
#include <stdint.h>

void KF_ENTRY(scale)(void *const *args, int64_t part, int64_t parts) {
    const T_x *x = *(T_x *const *)args[0];
    T_x *y = *(T_x *const *)args[1];
    const int64_t n = *(const int64_t *)args[2];
    for (int64_t at = part * __STEP__; at < n; at += parts * __STEP__)
        for (int64_t i = at; i < n && i < at + __STEP__; i++) y[i] = x[i] * 2;
}
