//! kernel   matmul
//! computes y = a @ b
//! input    a[m, k] : f32 f16 bf16
//! input    b[k, n] : like a
//! output   y[m, n] : like a
//! args     a b y workspace m n k
//! knob     __MR__ 6 4 8 12
//! knob     __NV__ 2 1 3 4
//! knob     __KC__ 256 512
//! knob     __MC__ 240 480
//! knob     __NC__ 512 1024
//! knob     __STREAM__ 0 1
//! knob     __THREADS__ 0 1 2 4 8 16 32 64 128 256
//! require  __THREADS__ <= cpus
//! prefer   __MR__ * __NV__ >= 12 && __MR__ * __NV__ <= 24 && (__NV__ == 1) == (n <= 16)
//! prefer   __KC__ == 256 || k > 256
//! prefer   (__MC__ == 480) == (__NC__ == 1024) && (__MC__ == 240 || m > 240 || n > 512)
//! prefer   __STREAM__ == 0 || (k <= __KC__ && m * n * bytes_y > 16777216)
//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && m * n * k <= 16777216)
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, m * n * k // 1048576))
//! workspace 4 * (__THREADS__ ? __THREADS__ : max(1, min(cpus, m * n * k // 1048576))) * (__MC__ * __KC__ + __NC__ * (__KC__ + (k > __KC__ ? 4 * __MC__ : 0)))

// y = a @ b. A part has a share of the output and goes through it as Goto and van de Geijn do ("Anatomy of
// High-Performance Matrix Multiplication", 2008): KC x NC of b are packed, then MC x KC of a, and of these each tile
// of MR x NR outputs in registers takes a row of NV vectors of b and MR numbers of a a step.
//
//                 NR                   Packed, b is panels of KC x NR, and a panels of MR rows, each row by itself: a
//               +----+----+ NC         tile reads both from end to end. Sums of a k longer than KC lie in the
//         b: KC |    |    |            workspace, tile by tile, so that y is written once, and rounded once.
//       KC      +----+----+
//    +------+   +----+----+
// MR |      |   |tile|    |
//    +------+   +----+----+
// a: MC         +----+----+ MS
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_BYTES 4
#include "prelude_c.h"
#define KF_ENTRY(name) name
#define T_a float
#define V_a k_f32
#define KF_FROM_a(v) K_TO(k_real, v)
#define T_b float
#define V_b k_f32
#define KF_FROM_b(v) K_TO(k_real, v)
#define T_y float
#define V_y k_f32
#define KF_TO_y(v) K_TO(k_f32, v)
#define KF_BYTES_y 4
#define __MR__ 6
#define __NV__ 2
#define __KC__ 256
#define __MC__ 240
#define __NC__ 512
#define __STREAM__ 0
#endif

/* MS rows of the output share a packed piece of b. */
enum { MR = __MR__, NV = __NV__, NR = NV * K_LANES };
enum { KC = __KC__, MC = __MC__ / MR * MR, NC = __NC__ / NR * NR, MS = 4 * MC };

/* Rows [top, bottom) and columns [left, right) of the output, and room for what is packed. */
typedef struct Share {
    const T_a *a;
    const T_b *b;
    T_y *y;
    int64_t n, k, top, bottom, left, right;
    float *rows;    /* of a: MR x KC a panel */
    float *columns; /* of b: depth x NR a panel */
    float *sums;    /* MR x NR a tile, MS x NR a column of tiles */
    int stream;
} Share;

/* Steps [from, from + depth) of k. */
typedef struct Step {
    int64_t from, depth;
    int first, last;
} Step;

/* --- packing */

/* The last panel's missing rows are copies of the last row: what they give is never stored. */
static void pack_rows(const Share *s, int64_t top, int64_t count, Step step) {
    for (int64_t r = 0; r < (count + MR - 1) / MR * MR; r++) {
        const T_a *row = s->a + (top + k_least(r, count - 1)) * s->k + step.from;
        float *to = s->rows + r * KC;
        for (int64_t i = 0; i < step.depth; i += K_LANES)
            *(k_f32_at *)(to + i) = K_LOAD(a, row + i, step.depth - i);
    }
}

/* One vector of columns, all the way down; zeros where there are but `width` of them. */
static void pack_vector(const Share *s, const T_b *from, int64_t width, int64_t depth, float *to) {
    for (int64_t p = 0; p < depth; p++, from += s->n, to += NR)
        *(k_f32_at *)to = K_LOAD(b, from, width);
}

static void pack_columns(const Share *s, int64_t left, int64_t count, Step step) {
    const T_b *from = s->b + step.from * s->n + left;
    for (int64_t j = 0; j < (count + NR - 1) / NR * NR; j += K_LANES)
        pack_vector(s, j < count ? from + j : from, j < count ? count - j : 0, step.depth,
                    s->columns + j / NR * NR * step.depth + j % NR);
}

/* --- a tile */

K_INLINE void multiply(k_real tile[MR][NV], const float *a, const float *b, int64_t depth) {
    for (int64_t p = 0; p < depth; p++, b += NR) {
        k_real row[NV];
#pragma GCC unroll 16
        for (int v = 0; v < NV; v++) row[v] = *(const k_f32_at *)(b + v * K_LANES);
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++)
#pragma GCC unroll 16
            for (int v = 0; v < NV; v++)
                tile[r][v] = k_multiply_add(k_all(a[r * KC + p]), row[v], tile[r][v]);
    }
}

/* A tile's sums in the workspace: added to it, or left there by it. */
K_INLINE void add(k_real tile[MR][NV], const float *sums) {
#pragma GCC unroll 64
    for (int i = 0; i < MR * NV; i++) tile[i / NV][i % NV] += *(const k_f32_at *)(sums + i * K_LANES);
}

K_INLINE void leave(k_real tile[MR][NV], float *sums) {
#pragma GCC unroll 64
    for (int i = 0; i < MR * NV; i++) *(k_f32_at *)(sums + i * K_LANES) = tile[i / NV][i % NV];
}

static void put(const Share *s, k_real tile[MR][NV], int64_t top, int64_t left) {
    for (int64_t r = 0; r < MR && top + r < s->bottom; r++)
        for (int v = 0; v < NV; v++) {
            const int64_t width = s->right - left - v * K_LANES;
            T_y *to = s->y + (top + r) * s->n + left + v * K_LANES;
            if (width > 0) K_STORE(y, to, tile[r][v], width, s->stream);
        }
}

static void make_tile(const Share *s, const float *a, const float *b, Step step, float *sums,
                      int64_t top, int64_t left) {
    k_real tile[MR][NV] = {0};
    multiply(tile, a, b, step.depth);
    if (!step.first) add(tile, sums);
    if (step.last)
        put(s, tile, top, left);
    else
        leave(tile, sums);
}

/* --- blocks */

/* All tiles of what is packed. */
static void make_block(const Share *s, int64_t top, int64_t rows, int64_t left, int64_t columns,
                       Step step, float *sums) {
    for (int64_t j = 0; j < columns; j += NR)
        for (int64_t i = 0; i < rows; i += MR)
            make_tile(s, s->rows + i * KC, s->columns + j * step.depth, step,
                      sums + j * MS + i * NR, top + i, left + j);
}

/* MS x NC outputs. A k of 0 takes one step too, of no depth: it writes zeros. */
static void make_strip(const Share *s, int64_t top, int64_t bottom, int64_t left) {
    const int64_t columns = k_least(NC, s->right - left);
    for (int64_t p = 0; p < s->k || p == 0; p += KC) {
        const Step step = {p, k_least(KC, s->k - p), p == 0, p + KC >= s->k};
        pack_columns(s, left, columns, step);
        for (int64_t i = top; i < bottom; i += MC) {
            const int64_t rows = k_least(MC, bottom - i);
            pack_rows(s, i, rows, step);
            make_block(s, i, rows, left, columns, step, s->sums + (i - top) * NR);
        }
    }
}

/* --- shares */

/* Where share `index` of `count` begins: whole units, all as many or one more. */
static int64_t edge(int64_t size, int64_t unit, int64_t index, int64_t count) {
    return k_least(size, (size + unit - 1) / unit * index / count * unit);
}

static int64_t largest(int64_t size, int64_t unit, int64_t count) {
    return ((size + unit - 1) / unit + count - 1) / count * unit;
}

/* How many shares lie below one another: where the largest has the fewest sums and the least to
 * pack. To pack an element takes as long as 16 sums. */
static int64_t shares_down(int64_t m, int64_t n, int64_t parts) {
    int64_t best = 1, lowest = INT64_MAX;
    for (int64_t down = 1; down <= parts; down++) {
        const int64_t rows = largest(m, MR, down), columns = largest(n, NR, parts / down);
        const int64_t cost = rows * columns + 16 * (rows + columns);
        if (parts % down || cost >= lowest) continue;
        lowest = cost;
        best = down;
    }
    return best;
}

void KF_ENTRY(matmul)(void *const *args, int64_t part, int64_t parts) {
    const int64_t m = *(const int64_t *)args[4], n = *(const int64_t *)args[5],
                  k = *(const int64_t *)args[6];
    const int64_t down = shares_down(m, n, parts), across = parts / down;
    const int64_t sums = k > __KC__ ? 4 * __MC__ : 0;
    float *room = *(float *const *)args[3] + part * (__MC__ * __KC__ + __NC__ * (__KC__ + sums));
    const Share s = {
        .a = *(const T_a *const *)args[0],
        .b = *(const T_b *const *)args[1],
        .y = *(T_y *const *)args[2],
        .n = n,
        .k = k,
        .top = edge(m, MR, part / across, down),
        .bottom = edge(m, MR, part / across + 1, down),
        .left = edge(n, NR, part % across, across),
        .right = edge(n, NR, part % across + 1, across),
        .rows = room,
        .columns = room + __MC__ * __KC__,
        .sums = room + __MC__ * __KC__ + __NC__ * __KC__,
        .stream = __STREAM__ && k_aligned(*(T_y *const *)args[2]) && n * KF_BYTES_y % K_WIDTH == 0,
    };
    for (int64_t left = s.left; left < s.right; left += NC)
        for (int64_t top = s.top; top < s.bottom; top += MS)
            make_strip(&s, top, k_least(top + MS, s.bottom), left);
    if (__STREAM__) k_fence();
}
