//! kernel   softmax
//! computes y = softmax(x)
//! input    x[rows, cols] : f32 f16 bf16
//! output   y[rows, cols] : like x
//! args     x y rows cols
//! knob     __TPR__ 32 128 256 512 1024 64 16 8 4 2 1
//! knob     __RPB__ 4 1 2 8 16 32 64 128
//! knob     __VEC__ 4 8 2 1
//! knob     __KEEP__ 0 1 2
//! knob     __ITEMS__ 8 4 2 1 3 6 10 12 14 16
//! knob     __CLUSTER__ 1 2 4 8
//! knob     __PEEL__ 0 1
//! knob     __NEXT__ 0 1
//! require  __TPR__ * __RPB__ >= 32 && __TPR__ * __RPB__ <= 1024 && __VEC__ * bytes_x <= 16
//! require  cols <= 1073741824 && (__PEEL__ || cols % __VEC__ == 0)
//! require  __CLUSTER__ == 1 || (__RPB__ == 1 && __TPR__ >= 32)
//! require  __KEEP__ != 0 || __TPR__ * __CLUSTER__ * __ITEMS__ * __VEC__ >= cols + (cols % __VEC__ ? __VEC__ - 1 : 0)
//! require  __KEEP__ != 1 || ceildiv(cols + (cols % __VEC__ ? __VEC__ - 1 : 0), __VEC__ * __TPR__ * __CLUSTER__) * __TPR__ * __RPB__ * __VEC__ * bytes_x <= 229376
//! prefer   __NEXT__ == (rows * cols < 16777216)
//! prefer   __PEEL__ == (cols % __VEC__ != 0)
//! prefer   __VEC__ * bytes_x == 16 || (cols % (16 // bytes_x) != 0 && (__VEC__ == 1 || __VEC__ * bytes_x == 8))
//! prefer   __TPR__ * __RPB__ >= 64 && (__TPR__ * __RPB__ <= 512 || __RPB__ == 1)
//! prefer   __KEEP__ == 0 ? __VEC__ * __ITEMS__ <= 64 : __ITEMS__ == 4
//! prefer   __KEEP__ != 1 || (cols * bytes_x <= 114688 * __CLUSTER__ // __RPB__ && __TPR__ * __CLUSTER__ * __VEC__ * __ITEMS__ <= cols)
//! prefer   __KEEP__ != 2 || cols * bytes_x > 917504 || (cols * bytes_x >= 65536 && __CLUSTER__ == 1 && __TPR__ >= 512)
//! prefer   __KEEP__ || __TPR__ * __CLUSTER__ * (__ITEMS__ - (__ITEMS__ > 4 ? 2 : 1)) * __VEC__ < cols + (cols % __VEC__ ? __VEC__ - 1 : 0)
//! prefer   __KEEP__ || __TPR__ * __CLUSTER__ // 2 * __ITEMS__ * __VEC__ < cols
//! prefer   __KEEP__ == 0 || (cols * bytes_x >= 8192 && __VEC__ > 1)
//! prefer   __CLUSTER__ == 1 || cols * bytes_x >= 32768 * __CLUSTER__
//! prefer   __TPR__ * __CLUSTER__ * __VEC__ * 96 >= cols && (__KEEP__ == 0 || __TPR__ >= 128)
//! launch   grid = ceildiv(rows, __RPB__) * __CLUSTER__  block = __TPR__ * __RPB__  cluster = __CLUSTER__  shared = __KEEP__ == 1 ? min(229376, ceildiv(cols + (cols % __VEC__ ? __VEC__ - 1 : 0), __VEC__ * __TPR__ * __CLUSTER__) * __TPR__ * __RPB__ * __VEC__ * bytes_x) : 0  dependent = 1  twin = softmax_any

// TPR threads in each of CLUSTER blocks share a row; a block has RPB rows. A row that stays in registers (KEEP 0) gives
// its largest element, then its sum. In shared memory or read again (1, 2) one pass gives both: a larger element scales
// the sum so far.

#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_INDEX64 0
typedef int k_index;
#include "prelude_cuda_rows.h"
#define KF_ENTRY(name) name
#define ACC float
#define T_x float
#define KF_FROM_x(v) (v)
#define KF_TO_x(v) (v)
#define T_y float
#define KF_FROM_y(v) (v)
#define KF_TO_y(v) (v)
#define __TPR__ 32
#define __RPB__ 4
#define __VEC__ 4
#define __KEEP__ 0
#define __ITEMS__ 8
#define __CLUSTER__ 1
#define __PEEL__ 0
#define __NEXT__ 0
#endif

// How an element of x is read, and one of y written.
struct X {
    typedef T_x stored;
    typedef ACC real;
    static __device__ __forceinline__ ACC from(T_x x) {
        return KF_FROM_x(x);
    }
};
K_INLINE T_y to_y(ACC y) {
    return KF_TO_y(y);
}

// The largest element so far. NaN is left to the sum.
struct Largest {
    ACC x;
};
K_INLINE Largest k_join(Largest a, Largest b) {
    return {fmaxf(a.x, b.x)};
}

// The largest element and the sum of exp(x - largest); where that is -inf, of exp(x).
struct Online {
    ACC largest, sum;
};
K_INLINE ACC scaled(Online a, ACC largest) {
    return a.largest == largest ? a.sum : a.sum * expf(a.largest - largest);
}
K_INLINE Online k_join(Online a, Online b) {
    const ACC largest = fmaxf(a.largest, b.largest);
    return {largest, scaled(a, largest) + scaled(b, largest)};
}
template <int N> K_INLINE k_pack<T_y, N> scale(const ACC (&x)[N], ACC factor) {
    k_pack<T_y, N> pack;
#pragma unroll
    for (int j = 0; j < N; j++) pack.at[j] = to_y(x[j] * factor);
    return pack;
}

template <int KEEP, typename ROW>
K_INLINE void softmax_row(const ROW &row, const T_x *x, T_y *y) {
    const k_array<X, ROW> array = {x, KF_TO_x(-K_INF)};
    k_kept<KEEP, __ITEMS__, k_array<X, ROW>, ROW> kept(array);
    kept.begin(row);
    if (ROW::BLOCKS > 1) k_cluster_wait();
    if constexpr (KEEP == 0) {
        Largest largest = {-K_INF};
        kept.each([&](auto, auto &x, int) {
#pragma unroll
            for (int j = 0; j < ROW::VEC; j++) largest.x = fmaxf(largest.x, x[j]);
        });
        largest = row.reduce(largest);
        k_sum<ACC> sum = {0};
        kept.each([&](auto, auto &x, int) {
#pragma unroll
            for (int j = 0; j < ROW::VEC; j++) sum.x += x[j] = expf(x[j] - largest.x);
        });
        const ACC factor = 1 / row.reduce(sum).x;
        kept.each([&](auto v, auto &x, int) { row.store(y, v, scale(x, factor)); });
    } else {
        Online all = {-K_INF, 0}, before = all;
        const auto look = [&](auto, auto &x, int, auto &) {
#pragma unroll
            for (int j = 0; j < ROW::VEC; j++) all.largest = fmaxf(all.largest, x[j]);
        };
        const auto rescale = [&] {
            before.sum = all.sum;
            all.sum = scaled(before, all.largest);
            before.largest = all.largest;
        };
        kept.each(look, rescale, [&](auto, auto &x, int) {
            const ACC shift = all.largest == -K_INF ? 0 : all.largest;
#pragma unroll
            for (int j = 0; j < ROW::VEC; j++) all.sum += expf(x[j] - shift);
        });
        all = row.reduce(all);
        const ACC factor = 1 / all.sum;
        kept.each([&](auto v, auto &x, int) {
#pragma unroll
            for (int j = 0; j < ROW::VEC; j++) x[j] = expf(x[j] - all.largest);
            row.store(y, v, scale(x, factor));
        });
    }
}

extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__)
    KF_ENTRY(softmax)(const T_x *__restrict__ x, T_y *__restrict__ y, const long long rows,
                      const long long cols) {
    k_begin<__NEXT__>();
    const long long row = (long long)(blockIdx.x / __CLUSTER__) * __RPB__ + threadIdx.x / __TPR__;
    if (__CLUSTER__ > 1) k_meet_begin();
    k_row<__VEC__, !__PEEL__, __TPR__, __RPB__, __CLUSTER__, int> place(row, rows, cols);
    softmax_row<__KEEP__>(place, x, y);
}

// The same for any row, and arrays aligned to no more than an element.
extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__)
    KF_ENTRY(softmax_any)(const T_x *__restrict__ x, T_y *__restrict__ y, const long long rows,
                      const long long cols) {
    k_begin<false>();
    long long top = (long long)blockIdx.x * __RPB__;
    for (; top < rows; top += (long long)gridDim.x * __RPB__) {
        k_row<1, true, __TPR__, __RPB__, 1, long long> place(top + threadIdx.x / __TPR__, rows, cols);
        softmax_row<2>(place, x, y);
        __syncthreads();
    }
}
