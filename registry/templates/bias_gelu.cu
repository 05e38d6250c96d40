//! kernel   bias_gelu
//! computes y = gelu(x + b)
//! input    x[rows, cols] : f32 f16 bf16
//! input    b[cols] : like x
//! output   y[rows, cols] : like x
//! args     x b y rows cols
//! knob     __VEC__ 4 8 2 1
//! knob     __BLOCK__ 256 128 512 1024
//! knob     __UNROLL__ 2 1 4 8
//! require  __VEC__ * bytes_x <= 16
//! prefer   __VEC__ * bytes_x == 16 || rows * cols < 1048576
//! prefer   __VEC__ * __UNROLL__ == 1 || __VEC__ * __UNROLL__ * __BLOCK__ * sms <= 2 * rows * cols
//! prefer   __UNROLL__ * __VEC__ * bytes_x <= 64
//! launch   grid = ceildiv(rows * cols, __VEC__ * __BLOCK__ * __UNROLL__)  block = __BLOCK__  twin = bias_gelu_any

// A thread has UNROLL vectors, BLOCK apart, all on their way before the first is worked on. They lie where they will in
// the rows, so that odd rows keep wide accesses; one division a thread finds the first one's column.

#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_INDEX64 0
typedef int k_index;
#include "prelude_cuda.h"
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
#define KF_BYTES_y 4
#define __VEC__ 4
#define __BLOCK__ 256
#define __UNROLL__ 2
#endif

// What is computed of an element.
K_INLINE T_y element(T_x x, T_b b) {
    return KF_TO_y(k_gelu<KF_BYTES_y>(KF_FROM_x(x) + KF_FROM_b(b)));
}

// i % cols; 64 bits where they are needed.
K_INLINE long long column_of(long long i, long long cols) {
    return (i | cols) >> 32 ? i % cols : (unsigned int)i % (unsigned int)cols;
}

// The biases of a vector that begins in this column.
K_INLINE k_pack<T_b, __VEC__> biases(const T_b *b, long long column, long long cols) {
    if (cols % __VEC__ == 0) return k_load<__VEC__>(b + column);
    k_pack<T_b, __VEC__> pack;
#pragma unroll
    for (int j = 0; j < __VEC__; j++) {
        pack.at[j] = b[column];
        if (++column == cols) column = 0;
    }
    return pack;
}

extern "C" __global__ void __launch_bounds__(__BLOCK__)
    KF_ENTRY(bias_gelu)(const T_x *__restrict__ x, const T_b *__restrict__ b, T_y *__restrict__ y,
                        const long long rows, const long long cols) {
    const long long n = rows * cols, vectors = n / __VEC__, last = vectors * __VEC__ + threadIdx.x;
    const long long first = (long long)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;
    k_pack<T_x, __VEC__> in[__UNROLL__];
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++)
        if (first + u * __BLOCK__ < vectors)
            in[u] = k_load_once<__VEC__>(x + (first + u * __BLOCK__) * __VEC__);
    k_pack<T_b, __VEC__> bias[__UNROLL__];
    long long column = column_of(first * __VEC__, cols);
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++) {
        bias[u] = biases(b, column, cols);
        column += __BLOCK__ * __VEC__;
        if (column >= cols) column = column_of(column, cols);
    }
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++) {
        if (first + u * __BLOCK__ >= vectors) break;
        k_pack<T_y, __VEC__> out;
#pragma unroll
        for (int j = 0; j < __VEC__; j++) out.at[j] = element(in[u].at[j], bias[u].at[j]);
        k_store<__VEC__>(y + (first + u * __BLOCK__) * __VEC__, out);
    }
    if (__VEC__ > 1 && blockIdx.x == 0 && last < n) y[last] = element(x[last], b[column_of(last, cols)]);
}

// The same for arrays aligned to no more than an element.
extern "C" __global__ void __launch_bounds__(__BLOCK__)
    KF_ENTRY(bias_gelu_any)(const T_x *__restrict__ x, const T_b *__restrict__ b, T_y *__restrict__ y,
                            const long long rows, const long long cols) {
    const long long first = (long long)blockIdx.x * __BLOCK__ + threadIdx.x;
    for (long long i = first; i < rows * cols; i += (long long)gridDim.x * __BLOCK__)
        y[i] = element(x[i], b[column_of(i, cols)]);
}
