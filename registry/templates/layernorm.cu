//! kernel   layernorm
//! computes param eps = 1e-5; y = layernorm(x, g, b, eps)
//! input    x[rows, cols] : f32 f16 bf16
//! input    g[cols] : like x
//! input    b[cols] : like x
//! output   y[rows, cols] : like x
//! args     x g b y rows cols eps
//! knob     __TPR__ 32 128 256 512 1024 64 16 8 4 2 1
//! knob     __RPB__ 4 1 2 8 16 32 64 128
//! knob     __VEC__ 4 8 2 1
//! knob     __KEEP__ 0 1 2
//! knob     __ITEMS__ 8 4 2 1 3 6 10 12 14 16
//! knob     __CLUSTER__ 1 2 4 8
//! knob     __PEEL__ 0 1
//! knob     __EARLY__ 0 1
//! knob     __GRID__ 0 8 16
//! knob     __NEXT__ 0 1
//! require  __TPR__ * __RPB__ >= 32 && __TPR__ * __RPB__ <= 1024 && __VEC__ * bytes_x <= 16
//! require  cols <= 1073741824 && (__PEEL__ || cols % __VEC__ == 0)
//! require  __CLUSTER__ == 1 || (__RPB__ == 1 && __TPR__ >= 32)
//! require  __GRID__ == 0 || __CLUSTER__ == 1
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
//! prefer   __EARLY__ ? __KEEP__ == 0 && __VEC__ * __ITEMS__ <= 32 : __GRID__ == 0
//! prefer   __GRID__ == 0 || (__PEEL__ == 0 && rows >= 2 * sms * __GRID__ * __RPB__)
//! launch   grid = min(ceildiv(rows, __RPB__), __GRID__ ? sms * __GRID__ : 2147483647) * __CLUSTER__  block = __TPR__ * __RPB__  cluster = __CLUSTER__  shared = __KEEP__ == 1 ? min(229376, ceildiv(cols + (cols % __VEC__ ? __VEC__ - 1 : 0), __VEC__ * __TPR__ * __CLUSTER__) * __TPR__ * __RPB__ * __VEC__ * bytes_x) : 0  dependent = 1  twin = layernorm_any

// TPR threads in each of CLUSTER blocks share a row; a block has RPB rows. The mean that one pass gives is rounded; the
// second sums the distances from it and their squares, so that what the mean lacks is known and the variance loses no
// digits, however far from 0 a row is.

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
#define T_g float
#define KF_FROM_g(v) (v)
#define KF_TO_g(v) (v)
#define T_b float
#define KF_FROM_b(v) (v)
#define KF_TO_b(v) (v)
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
#define __EARLY__ 0
#define __GRID__ 0
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

// Sums of distances and of their squares.
struct Moments {
    ACC d, square;
};
K_INLINE Moments k_join(Moments a, Moments b) {
    return {a.d + b.d, a.square + b.square};
}

// The affine part, an epilogue of the columns that gain and bias are for.
template <int N>
K_INLINE k_pack<T_y, N> affine(const ACC (&x)[N], const k_pack<T_g, N> &gain,
                               const k_pack<T_b, N> &bias) {
    k_pack<T_y, N> pack;
#pragma unroll
    for (int j = 0; j < N; j++)
        pack.at[j] = to_y(fmaf(x[j], KF_FROM_g(gain.at[j]), KF_FROM_b(bias.at[j])));
    return pack;
}

template <int KEEP, typename ROW, typename GAIN, typename BIAS>
K_INLINE void layernorm_row(const ROW &row, const T_x *x, const GAIN &gain, const BIAS &bias, T_y *y, const ACC share,
                            const ACC eps) {
    const k_array<X, ROW> array = {x, KF_TO_x((ACC)0)};
    k_kept<KEEP, __ITEMS__, k_array<X, ROW>, ROW> kept(array);
    kept.begin(row);
    if (ROW::BLOCKS > 1) k_cluster_wait();
    k_sum<ACC> sum = {0};
    kept.each([&](auto, auto &x, int) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) sum.x += x[j];
    });
    const ACC mean = row.reduce(sum).x * share;
    Moments all = {0, 0};
    kept.each([&](auto v, auto &x, int) {
        Moments part = {0, 0};
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const ACC d = ROW::WHOLE || row.holds(v, j) ? x[j] - mean : 0;
            part.d += d;
            part.square = fmaf(d, d, part.square);
        }
        if (row.has(v)) all = k_join(all, part);
    });
    all = row.reduce(all);
    const ACC rest = all.d * share;
    const ACC factor = rsqrtf(k_variance(all.d, all.square, share) + eps), shift = -rest * factor;
    kept.each([&](auto v, auto &x, int i) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) x[j] = fmaf(x[j] - mean, factor, shift);
        row.store(y, v, affine(x, gain.get(row, v, i), bias.get(row, v, i)));
    });
}

// Columns are read ahead, for all rows that a thread goes through: odd rows begin elsewhere in a vector, so for one.
enum { AHEAD = __KEEP__ == 0 && __EARLY__ && !(__PEEL__ && __GRID__) };

// Where large blocks keep up to 32 values a thread, 1024 threads fit a multiprocessor if each has 64 registers; a
// compiler left alone takes 84, and half the blocks fit.
enum {
    THREADS = __TPR__ * __RPB__,
    KEPT = __KEEP__ ? 0 : __VEC__ * __ITEMS__,
    BLOCKS = !AHEAD && KEPT > 16 && KEPT <= 32 && THREADS >= 256 ? 1024 / THREADS : 1
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    KF_ENTRY(layernorm)(const T_x *__restrict__ x, const T_g *__restrict__ g, const T_b *__restrict__ b,
                        T_y *__restrict__ y, const long long rows, const long long cols,
                        const float eps) {
    k_begin<__NEXT__>();
    typedef k_row<__VEC__, !__PEEL__, __TPR__, __RPB__, __CLUSTER__, int> Row;
    long long top = (long long)(blockIdx.x / __CLUSTER__) * __RPB__;
    const long long first = top + threadIdx.x / __TPR__;
    if (__CLUSTER__ > 1) k_meet_begin();
    const k_columns<AHEAD, __ITEMS__, T_g, Row> gain(g, Row(first, rows, cols));
    const k_columns<AHEAD, __ITEMS__, T_b, Row> bias(b, Row(first, rows, cols));
    const ACC share = 1 / (ACC)cols;
    for (;;) {
        const Row row(top + threadIdx.x / __TPR__, rows, cols);
        layernorm_row<__KEEP__>(row, x, gain, bias, y, share, eps);
        top += (long long)gridDim.x * __RPB__;
        if (__GRID__ == 0 || top >= rows) break;
        if (__TPR__ > 32) __syncthreads();
    }
}

// The same for any row, and arrays aligned to no more than an element.
extern "C" __global__ void __launch_bounds__(THREADS)
    KF_ENTRY(layernorm_any)(const T_x *__restrict__ x, const T_g *__restrict__ g, const T_b *__restrict__ b,
                        T_y *__restrict__ y, const long long rows, const long long cols,
                        const float eps) {
    k_begin<false>();
    typedef k_row<1, true, __TPR__, __RPB__, 1, long long> Row;
    long long top = (long long)blockIdx.x * __RPB__;
    for (; top < rows; top += (long long)gridDim.x * __RPB__) {
        const Row row(top + threadIdx.x / __TPR__, rows, cols);
        const k_columns<false, 1, T_g, Row> gain(g, row);
        const k_columns<false, 1, T_b, Row> bias(b, row);
        layernorm_row<2>(row, x, gain, bias, y, 1 / (ACC)cols, eps);
        __syncthreads();
    }
}
