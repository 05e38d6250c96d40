//! kernel   bias_gelu
//! computes y = gelu(x + b)
//! input    x[rows, cols] : f32 f16 bf16
//! input    b[cols] : like x
//! output   y[rows, cols] : like x
//! args     x b y rows cols
//! knob     __BLOCK__ 65536 4096 16384 262144
//! knob     __UNROLL__ 1 2 4
//! knob     __STREAM__ 2 0 1
//! knob     __THREADS__ 0 1 2 4 8 16 32 64 128 256
//! require  __THREADS__ <= cpus
//! prefer   __BLOCK__ * 2 <= rows * cols || __BLOCK__ == 4096 || __BLOCK__ == 65536
//! prefer   __STREAM__ == 2 || (__STREAM__ == 0 && rows * cols * bytes_x > 8388608)
//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && rows * cols <= 262144)
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, ceildiv(rows * cols, 16384)))

// gelu(x + b), with gelu as ops.kf has it. A part takes every parts-th BLOCK of the rows end to end. Short rows of b
// are written out until a vector that starts anywhere in them lies in one piece, so that ends of rows cost nothing; of
// long ones a BLOCK is cut at their ends.
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_BYTES 4
#include "prelude_c_rows.h"
#define KF_ENTRY(name) name
#define T_x float
#define V_x k_f32
#define KF_BYTES_x 4
#define KF_FROM_x(v) K_TO(k_real, v)
#define T_b float
#define V_b k_f32
#define KF_FROM_b(v) K_TO(k_real, v)
#define T_y float
#define V_y k_f32
#define KF_TO_y(v) K_TO(k_f32, v)
#define __BLOCK__ 65536
#define __UNROLL__ 1
#define __STREAM__ 2
#endif

enum { UNROLL = __UNROLL__ };
enum { SHORT = 1024 }; /* the end of a longer row is one vector in 64 */

typedef struct Row {
    const T_x *x;
    const T_b *b;
    T_y *y;
    int64_t column, cols; /* of a short row: where x starts */
} Row;

K_INLINE void store(const Row *row, k_real b, int64_t i, int64_t n, int stream) {
    const k_real x = K_LOAD(x, row->x + i, n) + b;
    const k_real area = k_erfc(x * -0.70710677f);
    K_STORE(y, row->y + i, 0.5f * k_larger(k_all(-40), x) * area, n, stream);
}

K_INLINE void finish(const Row *row, int64_t i, int64_t n, int stream) {
    store(row, K_LOAD(b, row->b + i, n), i, n, stream);
}

K_INLINE void finish_short(Row *row, int64_t i, int64_t n, int stream) {
    store(row, K_LOAD(b, row->b + row->column, K_LANES), i, n, stream);
    row->column += n < K_LANES ? n : K_LANES;
    while (row->column >= row->cols) row->column -= row->cols;
}

/* Elements [begin, end), row after row. */
static void long_rows(Row all, int64_t begin, int64_t end, int stream) {
    for (int64_t i = begin, count; i < end; i += count) {
        const int64_t column = i % all.cols;
        const Row row = {all.x + i, all.b + column, all.y + i, 0, 0};
        count = k_least(end - i, all.cols - column);
        K_WALK(finish, &row, row.y, count, stream);
    }
}

static void short_rows(Row all, int64_t begin, int64_t end, int stream) {
    Row row = {all.x + begin, all.b, all.y + begin, begin % all.cols, all.cols};
    K_WALK(finish_short, &row, row.y, end - begin, stream);
}

static const T_b *write_out(T_b *again, const T_b *b, int64_t cols) {
    for (int64_t i = 0; i < cols; i++) again[i] = b[i];
    for (int64_t i = cols; i < cols + K_LANES; i++) again[i] = again[i - cols];
    return again;
}

void KF_ENTRY(bias_gelu)(void *const *args, int64_t part, int64_t parts) {
    Row all = {.x = *(const T_x *const *)args[0],
               .b = *(const T_b *const *)args[1],
               .y = *(T_y *const *)args[2],
               .cols = *(const int64_t *)args[4]};
    const int64_t total = *(const int64_t *)args[3] * all.cols;
    const int stream = __STREAM__ == 2 ? total * KF_BYTES_x > 8 << 20 : __STREAM__;
    const int is_short = all.cols <= SHORT && total > 0;
    T_b again[SHORT + K_LANES];
    if (is_short) all.b = write_out(again, all.b, all.cols);
    for (int64_t i = part * __BLOCK__; i < total; i += parts * __BLOCK__)
        (is_short ? short_rows : long_rows)(all, i, k_least(total, i + __BLOCK__), stream);
    k_fence();
}
