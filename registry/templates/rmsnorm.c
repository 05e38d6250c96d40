//! kernel   rmsnorm
//! computes param eps = 1e-5; y = rmsnorm(x, g, eps)
//! input    x[rows, cols] : f32 f16 bf16
//! input    g[cols] : like x
//! output   y[rows, cols] : like x
//! args     x g y rows cols eps
//! knob     __UNROLL__ 4 2 8
//! knob     __AHEAD__ 2 3 0
//! knob     __STREAM__ 2 0 1
//! knob     __THREADS__ 0 1 2 4 8 16 32 64 128 256
//! require  __THREADS__ <= cpus
//! prefer   __STREAM__ == 2 || (__STREAM__ == 0 && rows * cols * bytes_x > 8388608)
//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && rows * cols <= 262144)
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(min(cpus, rows), rows * cols // 8192))

// Rows over their root mean square. A row is read for the sum of its squares, and from the cache, where it fits there,
// for the results; meanwhile the next one is fetched.
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
#define T_y float
#define V_y k_f32
#define KF_TO_y(v) K_TO(k_f32, v)
#define __UNROLL__ 4
#define __AHEAD__ 2
#define __STREAM__ 2
#endif

enum { UNROLL = __UNROLL__, STEP = UNROLL * K_LANES, PIECE = 16384 };

typedef struct Row {
    const T_x *x;
    const T_g *g;
    T_y *y;
    int64_t cols;
    k_number scale;
} Row;

static k_number squares(const T_x *x, int64_t count) {
    k_real sum[UNROLL] = {0};
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP)
#pragma GCC unroll 16
        for (int u = 0; u < UNROLL; u++) {
            const k_real v = K_LOAD(x, x + i + u * K_LANES, K_LANES);
            sum[u] = k_multiply_add(v, v, sum[u]);
        }
    for (; i < count; i += K_LANES) {
        const k_real v = K_LOAD(x, x + i, count - i);
        sum[0] = k_multiply_add(v, v, sum[0]);
    }
    for (int u = 1; u < UNROLL; u++) sum[0] += sum[u];
    return k_sum(sum[0]);
}

/* Piece by piece: of 2^20 equal numbers, f32 alone loses half the digits. */
static double all_squares(const T_x *x, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i += PIECE) sum += squares(x + i, k_least(PIECE, count - i));
    return sum;
}

K_INLINE void finish(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real v = K_LOAD(x, row->x + i, n) * row->scale;
    if (__AHEAD__) __builtin_prefetch(row->x + row->cols + i, 0, __AHEAD__);
    K_STORE(y, row->y + i, v * K_LOAD(g, row->g + i, n), n, stream);
}

void KF_ENTRY(rmsnorm)(void *const *args, int64_t part, int64_t parts) {
    const T_x *const x = *(const T_x *const *)args[0];
    const T_g *const g = *(const T_g *const *)args[1];
    T_y *const y = *(T_y *const *)args[2];
    const int64_t rows = *(const int64_t *)args[3], cols = *(const int64_t *)args[4];
    const float eps = *(const float *)args[5];
    const int stream = __STREAM__ == 2 ? rows * cols * KF_BYTES_x > 8 << 20 : __STREAM__;
    for (int64_t r = rows * part / parts; r < rows * (part + 1) / parts; r++) {
        Row row = {x + r * cols, g, y + r * cols, cols, 0};
        row.scale = 1 / __builtin_sqrtf((k_number)all_squares(row.x, cols) / cols + eps);
        K_WALK(finish, &row, row.y, cols, stream);
    }
    k_fence();
}
