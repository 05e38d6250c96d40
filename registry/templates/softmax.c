//! kernel   softmax
//! computes y = softmax(x)
//! input    x[rows, cols] : f32 f16 bf16
//! output   y[rows, cols] : like x
//! args     x y rows cols
//! knob     __BLOCK__ 16384 4096 65536
//! knob     __UNROLL__ 4 2 1
//! knob     __AHEAD__ 2 3 0
//! knob     __STREAM__ 2 0 1
//! knob     __THREADS__ 0 1 2 4 8 16 32 64 128 256
//! require  __THREADS__ <= cpus
//! prefer   __BLOCK__ == 16384 || cols > min(__BLOCK__, 16384)
//! prefer   __STREAM__ == 2 || (__STREAM__ == 0 && rows * cols * bytes_x > 8388608)
//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && rows * cols <= 262144)
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(min(cpus, rows), rows * cols // 8192))

// Softmax of rows. Of a row of up to BLOCK elements the exponentials are kept and then scaled; a longer one is read
// twice, BLOCK at a time: for the largest and the sum (what is summed is rescaled when a larger one comes), then for
// the results. The largest ignores NaN; the sum of exponentials does not, so that a NaN reaches the whole row.
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_BYTES 4
#include "prelude_c_rows.h"
#define KF_ENTRY(name) name
#define T_x float
#define V_x k_f32
#define KF_BYTES_x 4
#define KF_FROM_x(v) K_TO(k_real, v)
#define T_y float
#define V_y k_f32
#define KF_TO_y(v) K_TO(k_f32, v)
#define __BLOCK__ 16384
#define __UNROLL__ 4
#define __AHEAD__ 2
#define __STREAM__ 2
#endif

enum { UNROLL = __UNROLL__, STEP = UNROLL * K_LANES };

typedef struct Row {
    const T_x *x;
    T_y *y;
    float *kept; /* exponentials of the row; 0: too many */
    k_number most, factor;
} Row;

static k_number largest(const T_x *x, int64_t count) {
    k_real most[UNROLL];
    int64_t i = 0;
    for (int u = 0; u < UNROLL; u++) most[u] = k_all(-K_INF);
    for (; i + STEP <= count; i += STEP)
#pragma GCC unroll 16
        for (int u = 0; u < UNROLL; u++)
            most[u] = k_larger(K_LOAD(x, x + i + u * K_LANES, K_LANES), most[u]);
    for (; i < count; i += K_LANES) {
        const k_real rest = K_LOAD(x, x + i, count - i);
        most[0] = k_larger(k_select(k_first(count - i), rest, k_all(-K_INF)), most[0]);
    }
    for (int u = 1; u < UNROLL; u++) most[0] = k_larger(most[u], most[0]);
    return k_most(most[0]);
}

/* n exponentials; meanwhile what lies `ahead`, the next row, is fetched. */
K_INLINE k_real weigh(const Row *row, int64_t i, int64_t n, int64_t ahead) {
    const k_real e = k_exp_below(K_LOAD(x, row->x + i, n) - row->most);
    if (__AHEAD__) __builtin_prefetch(row->x + ahead + i, 0, __AHEAD__);
    if (row->kept) *(k_f32_at *)(row->kept + i) = e;
    return e;
}

K_INLINE k_number weigh_all(const Row *row, int64_t count) {
    k_real sum[UNROLL] = {0};
    int64_t i = 0;
    for (; i + STEP <= count; i += STEP)
#pragma GCC unroll 16
        for (int u = 0; u < UNROLL; u++) sum[u] += weigh(row, i + u * K_LANES, K_LANES, count);
    for (; i < count; i += K_LANES)
        sum[0] += k_select(k_first(count - i), weigh(row, i, count - i, count), k_all(0));
    for (int u = 1; u < UNROLL; u++) sum[0] += sum[u];
    return k_sum(sum[0]);
}

K_INLINE void finish(const Row *row, int64_t i, int64_t n, int stream) {
    k_real e;
    if (row->kept) e = *(const k_f32_at *)(row->kept + i);
    else e = k_exp_below(K_LOAD(x, row->x + i, n) - row->most);
    K_STORE(y, row->y + i, e * row->factor, n, stream);
}

static void short_row(const T_x *x, T_y *y, int64_t cols, int stream) {
    float kept[__BLOCK__ + K_LANES] __attribute__((aligned(K_WIDTH)));
    Row row = {x, y, kept, largest(x, cols), 0};
    row.factor = 1 / weigh_all(&row, cols);
    K_WALK(finish, &row, y, cols, stream);
}

/* Where there was nothing but -inf so far, exp(x - 0) is as good, and no NaN. */
static void long_row(const T_x *x, T_y *y, int64_t cols, int stream) {
    k_number most = -K_INF, sum = 0;
    for (int64_t i = 0; i < cols; i += __BLOCK__) {
        const int64_t count = k_least(__BLOCK__, cols - i);
        const k_number found = largest(x + i, count), now = found > most ? found : most;
        const Row block = {x + i, 0, 0, now == -K_INF ? 0 : now, 0};
        sum *= k_exp_below(k_all(most - block.most))[0];
        sum += weigh_all(&block, count);
        most = now;
    }
    const Row row = {x, y, 0, most, 1 / sum};
    K_WALK(finish, &row, y, cols, stream);
}

void KF_ENTRY(softmax)(void *const *args, int64_t part, int64_t parts) {
    const T_x *const x = *(const T_x *const *)args[0];
    T_y *const y = *(T_y *const *)args[1];
    const int64_t rows = *(const int64_t *)args[2], cols = *(const int64_t *)args[3];
    const int stream = __STREAM__ == 2 ? rows * cols * KF_BYTES_x > 8 << 20 : __STREAM__;
    for (int64_t r = rows * part / parts; r < rows * (part + 1) / parts; r++)
        (cols > __BLOCK__ ? long_row : short_row)(x + r * cols, y + r * cols, cols, stream);
    k_fence();
}
