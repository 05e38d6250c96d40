//! kernel   saxpy
//! computes param a = 2; y = a * x + z
//! input    x[n] : f32 f16 bf16
//! input    z[n] : like x
//! output   y[n] : like x
//! args     x z y n a
//! knob     __BLOCK__ 16384 4096 65536
//! launch   block = max(1, min(cpus, ceildiv(n, __BLOCK__)))
#include <stdint.h>

// The parts of a launch (block = their number) run at once, in any order; args[i] points at the value of
// parameter i. K_LOAD and K_STORE move up to K_LANES elements between a tensor's type and vectors of floats.
void KF_ENTRY(saxpy)(void *const *args, int64_t part, int64_t parts) {
    const T_x *x = *(const T_x *const *)args[0];
    const T_z *z = *(const T_z *const *)args[1];
    T_y *y = *(T_y *const *)args[2];
    const int64_t n = *(const int64_t *)args[3];
    const float a = *(const float *)args[4];
    for (int64_t block = part * __BLOCK__; block < n; block += parts * __BLOCK__)
        for (int64_t i = block; i < n && i < block + __BLOCK__; i += K_LANES) {
            const int64_t count = n - i < K_LANES ? n - i : K_LANES;
            K_STORE(y, y + i, a * K_LOAD(x, x + i, count) + K_LOAD(z, z + i, count), count, 0);
        }
}
