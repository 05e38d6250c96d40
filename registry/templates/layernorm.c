//! kernel   layernorm
//! computes param eps = 1e-5; y = layernorm(x, g, b, eps)
//! input    x[rows, cols] : f32 f16 bf16
//! input    g[cols] : like x
//! input    b[cols] : like x
//! output   y[rows, cols] : like x
//! args     x g b y rows cols eps
//! knob     __BLOCK__ 8192 65536
//! knob     __UNROLL__ 4 2 8
//! knob     __AHEAD__ 2 3 0
//! knob     __STREAM__ 2 0 1
//! knob     __THREADS__ 0 1 2 4 8 16 32 64 128 256
//! require  __THREADS__ <= cpus
//! prefer   __BLOCK__ == 8192 || cols > 8192
//! prefer   __STREAM__ == 2 || (__STREAM__ == 0 && rows * cols * bytes_x > 8388608)
//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && rows * cols <= 262144)
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(min(cpus, rows), rows * cols // 8192))

// Layer normalisation of rows, BLOCK elements at a time: mean and sum of squared distances of a block, which stays in
// the cache for that, and then of blocks together (Chan, Golub, LeVeque). The mean is known to more digits than f32
// has: of the distances from its rounded value, the mean is taken again.
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_BYTES 4
#include "prelude_c.h"
#define KF_ENTRY(name) name
#define T_x float
#define V_x k_f32
#define KF_BYTES_x 4
#define KF_FROM_x(v) K_TO(k_real, v)
#define T_g float
#define V_g k_f32
#define KF_FROM_g(v) K_TO(k_real, v)
#define T_b float
#define V_b k_f32
#define KF_FROM_b(v) K_TO(k_real, v)
#define T_y float
#define V_y k_f32
#define KF_TO_y(v) K_TO(k_f32, v)
#define __BLOCK__ 8192
#define __UNROLL__ 4
#define __AHEAD__ 2
#define __STREAM__ 2
#endif

enum { UNROLL = __UNROLL__, STEP = UNROLL * K_LANES };

/* The mean is mean + rest. */
typedef struct Row {
    const T_x *x;
    const T_g *g;
    const T_b *b;
    T_y *y;
    k_number mean, rest, scale;
} Row;

typedef struct Moments {
    double count, mean, squares; /* the sum of squared distances from the mean */
} Moments;

K_INLINE k_real distance(const Row *row, int64_t i, int64_t n) {
    return K_LOAD(x, row->x + i, n) - row->mean - row->rest;
}

/* The sum of distances, or of their squares. What lies `ahead`, if anything, is fetched. */
K_INLINE k_number total(const Row *row, int64_t count, int square, int64_t ahead) {
    k_real sum[UNROLL] = {0};
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP)
#pragma GCC unroll 16
        for (int u = 0; u < UNROLL; u++) {
            const k_real d = distance(row, i + u * K_LANES, K_LANES);
            if (__AHEAD__ && ahead) __builtin_prefetch(row->x + ahead + i + u * K_LANES, 0, __AHEAD__);
            sum[u] = square ? k_multiply_add(d, d, sum[u]) : sum[u] + d;
        }
    for (; i < count; i += K_LANES) {
        const k_real d = k_select(k_first(count - i), distance(row, i, count - i), k_all(0));
        sum[0] += square ? d * d : d;
    }
    for (int u = 1; u < UNROLL; u++) sum[0] += sum[u];
    return k_sum(sum[0]);
}

static Moments measure(const T_x *x, int64_t count, int64_t ahead) {
    Row row = {.x = x};
    row.mean = total(&row, count, 0, 0) / count;
    row.rest = total(&row, count, 0, 0) / count;
    return (Moments){count, (double)row.mean + row.rest, total(&row, count, 1, ahead)};
}

static Moments merge(Moments a, Moments b) {
    const double count = a.count + b.count, apart = b.mean - a.mean;
    return (Moments){count, a.mean + apart * (b.count / count),
                     a.squares + b.squares + apart * apart * (a.count * b.count / count)};
}

K_INLINE void finish(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real d = distance(row, i, n) * row->scale;
    K_STORE(y, row->y + i, d * K_LOAD(g, row->g + i, n) + K_LOAD(b, row->b + i, n), n, stream);
}

static void normalise(Row row, int64_t cols, float eps, int stream) {
    Moments all = measure(row.x, k_least(__BLOCK__, cols), cols);
    for (int64_t i = __BLOCK__; i < cols; i += __BLOCK__)
        all = merge(all, measure(row.x + i, k_least(__BLOCK__, cols - i), 0));
    row.mean = all.mean;
    row.rest = all.mean - row.mean;
    row.scale = 1 / __builtin_sqrt(all.squares / all.count + eps);
    K_WALK(finish, &row, row.y, cols, stream);
}

void KF_ENTRY(layernorm)(void *const *args, int64_t part, int64_t parts) {
    const T_x *const x = *(const T_x *const *)args[0];
    const T_g *const g = *(const T_g *const *)args[1];
    const T_b *const b = *(const T_b *const *)args[2];
    T_y *const y = *(T_y *const *)args[3];
    const int64_t rows = *(const int64_t *)args[4], cols = *(const int64_t *)args[5];
    const float eps = *(const float *)args[6];
    const int stream = __STREAM__ == 2 ? rows * cols * KF_BYTES_x > 8 << 20 : __STREAM__;
    for (int64_t r = rows * part / parts; r < rows * (part + 1) / parts && cols > 0; r++)
        normalise((Row){.x = x + r * cols, .g = g, .b = b, .y = y + r * cols}, cols, eps, stream);
    k_fence();
}
