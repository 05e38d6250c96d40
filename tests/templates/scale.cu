//! kernel   scale
//! computes y = x * 2
//! input    x[n] : f32
//! output   y[n] : like x
//! args     x y n
//! knob     __BLOCK__ 256 128
//! launch   grid = ceildiv(n, __BLOCK__)  block = __BLOCK__
extern "C" __global__ void scale(const float *x, float *y, const long long n) {
    const long long i = (long long)blockIdx.x * __BLOCK__ + threadIdx.x;
    if (i < n) y[i] = x[i] * 2;
}
