//! kernel   gelu
//! computes y = gelu(x)
//! input    x[n] : f32 f16 bf16
//! output   y[n] : like x
//! args     x y n
//! knob     __VEC__ 4 8 2 1
//! knob     __BLOCK__ 256 128 512 1024
//! knob     __UNROLL__ 2 1 4 8
//! require  __VEC__ * bytes_x <= 16
//! prefer   __VEC__ * bytes_x == 16 || n < 1048576
//! prefer   __VEC__ * __UNROLL__ == 1 || __VEC__ * __UNROLL__ * __BLOCK__ * sms <= 2 * n
//! prefer   __UNROLL__ * __VEC__ * bytes_x <= 64
//! launch   grid = ceildiv(n, __VEC__ * __BLOCK__ * __UNROLL__)  block = __BLOCK__  dependent = 1  twin = gelu_any

// A thread has UNROLL vectors, BLOCK apart, all on their way before the first is worked on.

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
#define T_y float
#define KF_FROM_y(v) (v)
#define KF_TO_y(v) (v)
#define KF_BYTES_y 4
#define __VEC__ 4
#define __BLOCK__ 256
#define __UNROLL__ 2
#endif

// What is computed of an element.
K_INLINE T_y element(T_x x) {
    return KF_TO_y(k_gelu<KF_BYTES_y>(KF_FROM_x(x)));
}

extern "C" __global__ void __launch_bounds__(__BLOCK__)
    KF_ENTRY(gelu)(const T_x *__restrict__ x, T_y *__restrict__ y, const long long n) {
    k_begin<false>();
    const long long vectors = n / __VEC__, last = vectors * __VEC__ + threadIdx.x;
    const long long first = (long long)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;
    k_pack<T_x, __VEC__> in[__UNROLL__];
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++)
        if (first + u * __BLOCK__ < vectors)
            in[u] = k_load<__VEC__>(x + (first + u * __BLOCK__) * __VEC__);
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++) {
        if (first + u * __BLOCK__ >= vectors) break;
        k_pack<T_y, __VEC__> out;
#pragma unroll
        for (int j = 0; j < __VEC__; j++) out.at[j] = element(in[u].at[j]);
        k_store<__VEC__>(y + (first + u * __BLOCK__) * __VEC__, out);
    }
    if (__VEC__ > 1 && blockIdx.x == 0 && last < n) y[last] = element(x[last]);
}

// The same for arrays aligned to no more than an element.
extern "C" __global__ void __launch_bounds__(__BLOCK__)
    KF_ENTRY(gelu_any)(const T_x *__restrict__ x, T_y *__restrict__ y, const long long n) {
    k_begin<false>();
    const long long first = (long long)blockIdx.x * __BLOCK__ + threadIdx.x;
    for (long long i = first; i < n; i += (long long)gridDim.x * __BLOCK__) y[i] = element(x[i]);
}
