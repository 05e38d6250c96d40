//! kernel   saxpy
//! computes param a = 2; y = a * x + z          # the oracle, and what expressions reach it by
//! input    x[n] : f32 f16 bf16
//! input    z[n] : like x
//! output   y[n] : like x
//! args     x z y n a                           # the entry's parameters; sizes are 64-bit integers
//! knob     __BLOCK__ 128 256 512               # the first value is the default
//! knob     __ITEMS__ 1 2 4
//! require  __BLOCK__ * __ITEMS__ <= 1024       # legal; `prefer` says what is sensible
//! launch   grid = ceildiv(n, __BLOCK__ * __ITEMS__)  block = __BLOCK__

extern "C" __global__ void KF_ENTRY(saxpy)(const T_x *x, const T_z *z, T_y *y, long long n, float a) {
    for (int i = 0; i < __ITEMS__; i++) {
        const long long at = ((long long)blockIdx.x * __ITEMS__ + i) * __BLOCK__ + threadIdx.x;
        if (at < n) y[at] = KF_TO_y(a * KF_FROM_x(x[at]) + KF_FROM_z(z[at]));
    }
}
