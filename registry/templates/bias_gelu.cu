//! kernel   bias_gelu
//! computes y = gelu(x + b)
//! input    x[rows, cols] : f32 f16 bf16
//! input    b[cols] : like x
//! output   y[rows, cols] : like x
//! args     x b y rows cols
//! knob     __VEC__ 4 8 2 1
//! knob     __BLOCK__ 256 128 512 1024
//! knob     __UNROLL__ 2 1 4 8
//! knob     __INDEX__ 0 1
//! require  __VEC__ * bytes_x <= 16
//! require  cols <= 1073741824 && (__INDEX__ == 0 || cols % __VEC__ == 0)
//! prefer   __INDEX__ == (cols % __VEC__ == 0)
//! prefer   __VEC__ * bytes_x == 16 || rows * cols < 1048576
//! prefer   __VEC__ * __UNROLL__ == 1 || __VEC__ * __UNROLL__ * __BLOCK__ * sms <= 2 * rows * cols
//! prefer   __UNROLL__ * __VEC__ * bytes_x <= 64
//! launch   grid = __INDEX__ ? ceildiv(rows, __UNROLL__ * max(1, __BLOCK__ // max(1, cols // __VEC__))) : ceildiv(rows * cols, __VEC__ * __BLOCK__ * __UNROLL__), __INDEX__ ? ceildiv(cols, __VEC__ * __BLOCK__) : 1  block = __INDEX__ ? max(1, min(__BLOCK__, cols // __VEC__)) : __BLOCK__, __INDEX__ ? max(1, __BLOCK__ // max(1, cols // __VEC__)) : 1  dependent = 1  twin = bias_gelu_any

// A thread has UNROLL vectors, all on their way before the first is worked on. INDEX 1: in one column, down the rows,
// so that the biases are read once; rows are of whole vectors. INDEX 0: BLOCK apart along the whole array, whatever the
// length of a row.
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_INDEX64 0
typedef int k_index;
#include "prelude_cuda_math.h"
#define KF_ENTRY(name) name
#define ACC float
#define T_x float
#define KF_FROM_x(v) (v)
#define KF_TO_x(v) (v)
#define T_b float
#define KF_FROM_b(v) (v)
#define KF_TO_b(v) (v)
#define T_y float
#define KF_FROM_y(v) (v)
#define KF_TO_y(v) (v)
#define __VEC__ 4
#define __BLOCK__ 256
#define __UNROLL__ 2
#define __INDEX__ 0
#endif

// What is computed of a vector.
K_INLINE k_pack<T_y, __VEC__> elements(const k_pack<T_x, __VEC__> &x, const k_pack<T_b, __VEC__> &b) {
    k_pack<T_y, __VEC__> y;
#pragma unroll
    for (int j = 0; j < __VEC__; j++)
        y.at[j] = KF_TO_y(k_gelu<4>(KF_FROM_x(x.at[j]) + KF_FROM_b(b.at[j])));
    return y;
}

// The element with index i of the whole array.
K_INLINE void single(const T_x *x, const T_b *b, T_y *y, long long i, long long cols) {
    y[i] = KF_TO_y(k_gelu<4>(KF_FROM_x(x[i]) + KF_FROM_b(b[i % cols])));
}

// The biases of a vector that begins in this column; it may reach into further rows.
K_INLINE k_pack<T_b, __VEC__> biases(const T_b *b, unsigned int column, unsigned int cols) {
    k_pack<T_b, __VEC__> pack;
    const bool inside = column + __VEC__ <= cols;
#pragma unroll
    for (int j = 0; j < __VEC__; j++) {
        pack.at[j] = b[inside ? column + j : column];
        if (!inside && ++column == cols) column = 0;
    }
    return pack;
}

K_INLINE void down(const T_x *x, const T_b *b, T_y *y, long long rows, long long cols) {
    const long long column = ((long long)blockIdx.y * blockDim.x + threadIdx.x) * __VEC__;
    const long long top = (long long)blockIdx.x * blockDim.y * __UNROLL__ + threadIdx.y;
    if (column >= cols) return;
    k_pack<T_x, __VEC__> in[__UNROLL__];
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++)
        if (top + u * blockDim.y < rows)
            in[u] = k_load<__VEC__>(x + (top + u * blockDim.y) * cols + column);
    const k_pack<T_b, __VEC__> bias = k_load<__VEC__>(b + column);
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++)
        if (top + u * blockDim.y < rows)
            k_store<__VEC__>(y + (top + u * blockDim.y) * cols + column, elements(in[u], bias));
}

K_INLINE void along(const T_x *x, const T_b *b, T_y *y, long long rows, unsigned int cols) {
    const long long n = rows * cols, vectors = n / __VEC__, last = vectors * __VEC__ + threadIdx.x;
    const long long first = (long long)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;
    k_pack<T_x, __VEC__> in[__UNROLL__];
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++)
        if (first + u * __BLOCK__ < vectors)
            in[u] = k_load<__VEC__>(x + (first + u * __BLOCK__) * __VEC__);
    const long long i = first * __VEC__;
    unsigned int column = i >> 32 ? (unsigned int)(i % cols) : (unsigned int)i % cols;
    k_pack<T_b, __VEC__> bias[__UNROLL__];
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++) {
        bias[u] = biases(b, column, cols);
        column += __BLOCK__ * __VEC__;
        if (column >= cols) column %= cols;
    }
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++)
        if (first + u * __BLOCK__ < vectors)
            k_store<__VEC__>(y + (first + u * __BLOCK__) * __VEC__, elements(in[u], bias[u]));
    if (__VEC__ > 1 && blockIdx.x == 0 && last < n) single(x, b, y, last, cols);
}

extern "C" __global__ void __launch_bounds__(__BLOCK__)
    KF_ENTRY(bias_gelu)(const T_x *__restrict__ x, const T_b *__restrict__ b, T_y *__restrict__ y,
                        const long long rows, const long long cols) {
    k_begin<false>();
    if (__INDEX__) down(x, b, y, rows, cols);
    else along(x, b, y, rows, (unsigned int)cols);
}

// The same for arrays aligned to no more than an element, and rows of any length.
extern "C" __global__ void __launch_bounds__(__BLOCK__)
    KF_ENTRY(bias_gelu_any)(const T_x *__restrict__ x, const T_b *__restrict__ b, T_y *__restrict__ y,
                            const long long rows, const long long cols) {
    k_begin<false>();
    const long long block = (long long)blockIdx.y * gridDim.x + blockIdx.x;
    const long long threads = blockDim.x * blockDim.y;
    long long i = block * threads + threadIdx.y * blockDim.x + threadIdx.x;
    for (; i < rows * cols; i += threads * gridDim.x * gridDim.y) single(x, b, y, i, cols);
}
