//! kernel   matmul
//! computes y = a @ b
//! input    a[batch, m, k] : f32 f16 bf16 f64
//! input    b[batch, k, n] : like a
//! output   y[batch, m, n] : like a
//! args     a b workspace batch m n k y
//! # Facts of the program (compiler/splice.h): stored turned around, more than one matrix, right factors.
//! knob     __TURNED_A__ 0
//! knob     __TURNED_B__ 0
//! knob     __BATCHED__ 1
//! knob     __PRODUCTS__ 1
//! knob     __MR__ 6 4 8 12
//! knob     __NV__ 2 1 3 4
//! knob     __KC__ 256 512
//! knob     __MC__ 240 480
//! knob     __NC__ 512 1024
//! knob     __STREAM__ 0 1
//! knob     __THREADS__ 0 1 2 4 8 16 32 64 128 256
//! require  __THREADS__ <= cpus && __NV__ % __PRODUCTS__ == 0
//! prefer   __MR__ * __NV__ >= 12 && __MR__ * __NV__ <= 24 && (__NV__ == __PRODUCTS__) == (n <= 16)
//! prefer   __KC__ == 256 || k > 256
//! prefer   (__MC__ == 480) == (__NC__ == 1024) && (__MC__ == 240 || m > 240 || n > 512)
//! prefer   __STREAM__ == 0 || (k <= __KC__ && batch * m * n * bytes_y > 16777216)
//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && batch * m * n * k <= 16777216)
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, batch * m * n * PRODUCTS * k // 1048576))
//! workspace (bytes_a < 8 ? 4 : 8) * (__THREADS__ ? __THREADS__ : max(1, min(cpus, batch * m * n * PRODUCTS * k // 1048576))) * (__MC__ * __KC__ + __NC__ * (__KC__ + (k > __KC__ ? 4 * __MC__ : 0)))

// y = a @ b. A part has a share of the output and goes through it as Goto and van de Geijn do ("Anatomy of
// High-Performance Matrix Multiplication", 2008): KC x NC of b are packed, then MC x KC of a, and of these each tile
// of MR x NR outputs in registers takes a row of NV vectors of b and MR numbers of a a step.
//
//                 NR                   Packed, b is panels of KC x NR, and a panels of MR rows, each row by itself: a
//               +----+----+ NC         tile reads both from end to end. Sums of a k longer than KC lie in the
//         b: KC |    |    |            workspace, tile by tile, so that y is written once, and rounded once.
//       KC      +----+----+
//    +------+   +----+----+            Of two products with one a (PRODUCTS 2), the first half of a panel's vectors
// MR |      |   |tile|    |            is of the one's b, the rest of the other's at the same columns: a tile has
//    +------+   +----+----+            both products at NS columns of y.
// a: MC         +----+----+ MS
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_BYTES 4
#include "prelude_c_rows.h"
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
#define __TURNED_A__ 0
#define __TURNED_B__ 0
#define __BATCHED__ 1
#define __PRODUCTS__ 1
#define __MR__ 6
#define __NV__ 2
#define __KC__ 256
#define __MC__ 240
#define __NC__ 512
#define __STREAM__ 0
#endif

typedef k_real real_at __attribute__((aligned(sizeof(k_number)), may_alias)); /* anywhere in memory */

/* MS rows of the output share a packed piece of b. */
enum { MR = __MR__, NV = __NV__, NR = NV * K_LANES, VS = NV / __PRODUCTS__, NS = VS * K_LANES };
enum { KC = __KC__, MC = __MC__ / MR * MR, NC = __NC__ / NR * NS, MS = 4 * MC };

/* Splice points: what the entry gets from argument `at` on, a factor's matrix of each product and batch, whether
 * rows of outputs begin where a streaming store may, and what becomes of the sums of `width` elements from (row,
 * column) on, where rows count through all batches. */
#ifndef KF_STORE_y /* the product alone */
#define KF_PARAMS(args, at) T_y *const y = *(T_y *const *)(args)[at];
#define KF_AT_a(z) (a + (z) * m * k)
#define KF_AT_b(p, z) (b + (z) * k * n)
#define KF_ALIGNED_y(n) (k_aligned(y) && (n) * KF_BYTES_y % K_WIDTH == 0)
#define KF_STORE_y(i, row, column, width, sums, stream) K_STORE(y, y + (i), (sums)[0], width, stream)
#endif

/* Rows [top, bottom) and columns [left, right) of a matrix of the output, and room for what is packed. */
typedef struct Share {
    void *const *args;
    const T_a *a;
    const T_b *b[__PRODUCTS__];
    int64_t m, n, k, above, top, bottom, left, right; /* above: rows of y in the matrices before */
    k_number *rows;    /* of a: MR x KC a panel */
    k_number *columns; /* of b: depth x NR a panel */
    k_number *sums;    /* MR x NR a tile, MS x NR a column of tiles */
    int stream;
} Share;

/* Steps [from, from + depth) of k. */
typedef struct Step {
    int64_t from, depth;
    int first, last;
} Step;

/* --- packing */

/* The last panel's missing rows are copies of the last row: what they give is never stored. */
static void pack_rows_along(const Share *s, int64_t top, int64_t count, Step step) {
    for (int64_t r = 0; r < (count + MR - 1) / MR * MR; r++) {
        const T_a *row = s->a + (top + k_least(r, count - 1)) * s->k + step.from;
        k_number *to = s->rows + r * KC;
        for (int64_t i = 0; i < step.depth; i += K_LANES)
            *(real_at *)(to + i) = K_LOAD(a, row + i, step.depth - i);
    }
}

/* A vector's lanes, `apart` from one to the next. */
K_INLINE void spread_lanes(k_real from, int64_t width, k_number *to, int64_t apart) {
    for (int l = 0; l < k_least(width, K_LANES); l++) to[l * apart] = from[l];
}

/* Of a that is stored turned around; rows that are missing are whatever lay there. */
static void pack_rows_across(const Share *s, int64_t top, int64_t count, Step step) {
    for (int64_t r = 0; r < count; r += K_LANES)
        for (int64_t i = 0; i < step.depth; i++) {
            const T_a *from = s->a + (step.from + i) * s->m + top + r;
            spread_lanes(K_LOAD(a, from, count - r), count - r, s->rows + r * KC + i, KC);
        }
}

static void pack_rows(const Share *s, int64_t top, int64_t count, Step step) {
    if (__TURNED_A__)
        pack_rows_across(s, top, count, step);
    else
        pack_rows_along(s, top, count, step);
}

/* One vector of columns, all the way down; zeros where there are but `width` of them. */
static void pack_vector(const Share *s, const T_b *from, int64_t width, int64_t depth, k_number *to) {
    for (int64_t p = 0; p < depth; p++, from += s->n, to += NR)
        *(real_at *)to = K_LOAD(b, from, width);
}

/* The same of b that is stored turned around; columns that are missing are whatever lay there. */
static void pack_turned(const Share *s, const T_b *from, int64_t width, int64_t depth, k_number *to) {
    for (int64_t j = 0; j < k_least(width, K_LANES); j++, from += s->k)
        for (int64_t p = 0; p < depth; p += K_LANES)
            spread_lanes(K_LOAD(b, from + p, depth - p), depth - p, to + p * NR + j, NR);
}

/* Vector v of a panel whose first column is `left`. */
static void pack_panel(const Share *s, int64_t left, int64_t columns, int v, Step step, k_number *to) {
    const int64_t j = v % VS * K_LANES, width = columns - j;
    const T_b *b = s->b[v / VS];
    if (__TURNED_B__)
        pack_turned(s, b + (left + (width > 0 ? j : 0)) * s->k + step.from, width, step.depth, to);
    else
        pack_vector(s, b + step.from * s->n + left + (width > 0 ? j : 0), width > 0 ? width : 0,
                    step.depth, to);
}

static void pack_columns(const Share *s, int64_t left, int64_t count, Step step) {
    for (int64_t j = 0; j < count; j += NS)
        for (int v = 0; v < NV; v++)
            pack_panel(s, left + j, count - j, v, step,
                       s->columns + j / NS * NR * step.depth + v * K_LANES);
}

/* --- a tile */

K_INLINE void multiply(k_real tile[MR][NV], const k_number *a, const k_number *b, int64_t depth) {
    for (int64_t p = 0; p < depth; p++, b += NR) {
        k_real row[NV];
#pragma GCC unroll 16
        for (int v = 0; v < NV; v++) row[v] = *(const real_at *)(b + v * K_LANES);
#pragma GCC unroll 16
        for (int r = 0; r < MR; r++)
#pragma GCC unroll 16
            for (int v = 0; v < NV; v++)
                tile[r][v] = k_multiply_add(k_all(a[r * KC + p]), row[v], tile[r][v]);
    }
}

/* A tile's sums in the workspace: added to it, or left there by it. */
K_INLINE void add(k_real tile[MR][NV], const k_number *sums) {
#pragma GCC unroll 64
    for (int i = 0; i < MR * NV; i++) tile[i / NV][i % NV] += *(const real_at *)(sums + i * K_LANES);
}

K_INLINE void leave(k_real tile[MR][NV], k_number *sums) {
#pragma GCC unroll 64
    for (int i = 0; i < MR * NV; i++) *(real_at *)(sums + i * K_LANES) = tile[i / NV][i % NV];
}

static void put(const Share *s, k_real tile[MR][NV], int64_t top, int64_t left) {
    KF_PARAMS(s->args, 7)
    for (int64_t r = 0; r < MR && top + r < s->bottom; r++)
        for (int v = 0; v < VS; v++) {
            const int64_t row = s->above + top + r, column = left + v * K_LANES;
            const int64_t width = s->right - column;
            k_real sums[__PRODUCTS__];
            for (int p = 0; p < __PRODUCTS__; p++) sums[p] = tile[r][p * VS + v];
            if (width > 0) KF_STORE_y(row * s->n + column, row, column, width, sums, s->stream);
        }
}

static void make_tile(const Share *s, const k_number *a, const k_number *b, Step step, k_number *sums,
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
                       Step step, k_number *sums) {
    for (int64_t j = 0; j < columns; j += NS)
        for (int64_t i = 0; i < rows; i += MR)
            make_tile(s, s->rows + i * KC, s->columns + j / NS * NR * step.depth, step,
                      sums + j / NS * NR * MS + i * NR, top + i, left + j);
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
        const int64_t rows = largest(m, MR, down), columns = largest(n, NS, parts / down);
        const int64_t cost = rows * columns + 16 * (rows + columns);
        if (parts % down || cost >= lowest) continue;
        lowest = cost;
        best = down;
    }
    return best;
}

/* One matrix of the output by `parts`. */
static void make_share(Share s, int64_t part, int64_t parts) {
    const int64_t down = shares_down(s.m, s.n, parts), across = parts / down;
    s.top = edge(s.m, MR, part / across, down);
    s.bottom = edge(s.m, MR, part / across + 1, down);
    s.left = edge(s.n, NS, part % across, across);
    s.right = edge(s.n, NS, part % across + 1, across);
    for (int64_t left = s.left; left < s.right; left += NC)
        for (int64_t top = s.top; top < s.bottom; top += MS)
            make_strip(&s, top, k_least(top + MS, s.bottom), left);
}

/* Of all parts, how many take each its own matrices; the others share these. */
static int64_t parts_of_batch(int64_t batch, int64_t parts) {
    int64_t count = k_least(batch, parts);
    while (count > 1 && parts % count) count--;
    return count < 1 ? 1 : count;
}

void KF_ENTRY(matmul)(void *const *args, int64_t part, int64_t parts) {
    const T_a *a = *(const T_a *const *)args[0];
    const T_b *b = *(const T_b *const *)args[1];
    const int64_t batch = __BATCHED__ ? *(const int64_t *)args[3] : 1;
    const int64_t m = *(const int64_t *)args[4], n = *(const int64_t *)args[5],
                  k = *(const int64_t *)args[6];
    KF_PARAMS(args, 7)
    const int64_t apart = parts_of_batch(batch, parts), together = parts / apart;
    const int64_t sums = k > __KC__ ? 4 * __MC__ : 0;
    k_number *room = *(k_number *const *)args[2] + part * (__MC__ * __KC__ + __NC__ * (__KC__ + sums));
    Share s = {
        .args = args,
        .m = m,
        .n = n,
        .k = k,
        .rows = room,
        .columns = room + __MC__ * __KC__,
        .sums = room + __MC__ * __KC__ + __NC__ * __KC__,
        .stream = __STREAM__ && KF_ALIGNED_y(n),
    };
    for (int64_t z = edge(batch, 1, part / together, apart);
         z < edge(batch, 1, part / together + 1, apart); z++) {
        s.a = KF_AT_a(z);
        for (int p = 0; p < __PRODUCTS__; p++) s.b[p] = KF_AT_b(p, z);
        s.above = z * m;
        make_share(s, part % together, together);
    }
    if (__STREAM__) k_fence();
}
