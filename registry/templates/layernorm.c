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
// the cache for that, and then of blocks together (Chan, Golub, LeVeque). The mean is summed in f64, at no cost while
// the row comes from memory, and subtracted in two parts: a large mean takes no digits from small distances.
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_BYTES 4
#include "prelude_c_rows.h"
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
    int64_t cols;
    k_number mean, rest, scale;
} Row;

typedef struct Moments {
    double count, mean, squares; /* the sum of squared distances from the mean */
} Moments;

/* Each of the three passes over `count` elements fetches a third of those that follow in the next row. */
K_INLINE void fetch(const Row *row, int64_t count, int pass, int64_t i) {
    if (__AHEAD__) __builtin_prefetch(row->x + row->cols + (pass * count + i) / 3, 0, __AHEAD__);
}

K_INLINE void add(const Row *row, int64_t i, int64_t n, k_wide sum[2]) {
    const k_real x = K_LOAD(x, row->x + i, n);
    sum[0] += k_widen(x, 0);
    sum[1] += k_widen(x, 1);
}

static double total(const Row *row, int64_t count) {
    k_wide sum[UNROLL][2] = {0};
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP)
#pragma GCC unroll 16
        for (int u = 0; u < UNROLL; u++) {
            fetch(row, count, 0, i + u * K_LANES);
            add(row, i + u * K_LANES, K_LANES, sum[u]);
        }
    for (; i < count; i += K_LANES) add(row, i, count - i, sum[0]);
    for (int u = 1; u < UNROLL; u++) sum[0][0] += sum[u][0], sum[0][1] += sum[u][1];
    return k_sum_wide(sum[0][0] + sum[0][1]);
}

K_INLINE k_real distance(const Row *row, int64_t i, int64_t n) {
    return K_LOAD(x, row->x + i, n) - row->mean - row->rest;
}

/* Of distances. */
static k_number squares(const Row *row, int64_t count) {
    k_real sum[UNROLL] = {0};
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP)
#pragma GCC unroll 16
        for (int u = 0; u < UNROLL; u++) {
            const k_real d = distance(row, i + u * K_LANES, K_LANES);
            fetch(row, count, 1, i + u * K_LANES);
            sum[u] = k_multiply_add(d, d, sum[u]);
        }
    for (; i < count; i += K_LANES) {
        const k_real d = k_select(k_first(count - i), distance(row, i, count - i), k_all(0));
        sum[0] = k_multiply_add(d, d, sum[0]);
    }
    for (int u = 1; u < UNROLL; u++) sum[0] += sum[u];
    return k_sum(sum[0]);
}

static Row with_mean(Row row, double mean) {
    row.mean = mean;
    row.rest = mean - row.mean;
    return row;
}

static Moments measure(Row row, int64_t from, int64_t count) {
    row.x += from;
    const double mean = total(&row, count) / count;
    row = with_mean(row, mean);
    return (Moments){count, mean, squares(&row, count)};
}

static Moments merge(Moments a, Moments b) {
    const double count = a.count + b.count, apart = b.mean - a.mean;
    return (Moments){count, a.mean + apart * (b.count / count),
                     a.squares + b.squares + apart * apart * (a.count * b.count / count)};
}

K_INLINE void finish(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real d = distance(row, i, n) * row->scale;
    fetch(row, row->cols, 2, i);
    K_STORE(y, row->y + i, d * K_LOAD(g, row->g + i, n) + K_LOAD(b, row->b + i, n), n, stream);
}

static void normalise(Row row, float eps, int stream) {
    Moments all = {0, 0, 0};
    for (int64_t i = 0; i < row.cols; i += __BLOCK__)
        all = merge(all, measure(row, i, k_least(__BLOCK__, row.cols - i)));
    row = with_mean(row, all.mean);
    row.scale = 1 / __builtin_sqrt(all.squares / all.count + eps);
    K_WALK(finish, &row, row.y, row.cols, stream);
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
        normalise((Row){x + r * cols, g, b, y + r * cols, cols, 0, 0, 0}, eps, stream);
    k_fence();
}
