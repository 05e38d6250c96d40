//! kernel   matmul
//! computes y = a @ b
//! input    a[m, k] : f32 f16 bf16
//! input    b[k, n] : like a
//! output   y[m, n] : like a
//! args     a b y workspace m n k
//! knob     __BM__ 128 64 32 16 8
//! knob     __BN__ 128 256 64 32 512
//! knob     __BK__ 16 8 32
//! knob     __TM__ 8 4
//! knob     __TN__ 8 16 4
//! knob     __VEC__ 4 1 2 8
//! knob     __STAGES__ 3 2 4
//! knob     __SWIZZLE__ 8 1 16
//! knob     __SPLIT__ 1 2 4 8 16 32
//! require  __TM__ <= __BM__ && __BN__ // __TN__ % (32 // min(4, __BM__ // __TM__)) == 0
//! require  __VEC__ * bytes_a <= 16 && n % __VEC__ == 0 && k % __VEC__ == 0
//! launch   grid = ceildiv(m, __BM__) * ceildiv(n, __BN__) * __SPLIT__  block = __BM__ // __TM__ * (__BN__ // __TN__)  shared = __STAGES__ * bytes_a * (__BM__ * (__BK__ + (__BK__ * bytes_a % 128 == 0 ? 16 // bytes_a : 0)) + __BK__ * __BN__)  twin = matmul_any
//! launch   matmul_add  grid = __SPLIT__ == 1 ? 0 : ceildiv(m * n, 256 * __VEC__)  block = 256  twin = matmul_added
//! workspace __SPLIT__ == 1 ? 0 : 4 * __SPLIT__ * m * n

// y = a @ b on the FMA units. A block computes BM x BN outputs, a thread TM x TN of them, both inputs
// pass through shared memory BK of k at a time, in STAGES buffers that are filled while others are used.
//
//       b: BK x BN         Both lie in shared memory as they do outside, so that copies go past the
//      +---+---+---+---+   registers, VEC elements each. A thread reads 4 of k from each of its rows of
//   a  | 0 | 1 | 0 | 1 |   a at once, and 4 columns of b: thread (row, column) has rows row + i * ROWS
//  +-+ +---+---+---+---+   and, of 4 columns each, the groups column + j * COLUMNS.
//  | | |               |
//  +-+ +---------------+   With SPLIT > 1 blocks share a tile, each has a part of k, and matmul_add
//  BM x BK    y            adds what they leave in the workspace, in order.
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_INDEX64 0
typedef int k_index;
#include "prelude_cuda.h"
#define KF_ENTRY(name) name
#define ACC float
#define T_a float
#define T_b float
#define T_y float
#define KF_BYTES_a 4
#define KF_FROM_a(v) (v)
#define KF_FROM_b(v) (v)
#define KF_TO_y(v) (v)
#define __BM__ 128
#define __BN__ 128
#define __BK__ 16
#define __TM__ 8
#define __TN__ 8
#define __VEC__ 4
#define __STAGES__ 3
#define __SWIZZLE__ 8
#define __SPLIT__ 1
#endif

#define ROWS (__BM__ / __TM__)
#define COLUMNS (__BN__ / __TN__)
#define THREADS (ROWS * COLUMNS)
// 64 sums and what they are made of fit 128 registers, half a multiprocessor's threads; 128 sums need 255.
#define BLOCKS ((__TM__ * __TN__ > 64 ? 256 : 512) / THREADS)

// Rows of a whose 128 bytes start in the same banks are moved apart.
#define A_ROW (__BK__ + (__BK__ * KF_BYTES_a % 128 == 0 ? 16 / KF_BYTES_a : 0))
#define A_TILE (__BM__ * A_ROW)
#define STAGE (A_TILE + __BK__ * __BN__)

#define GROUP 4
#define GROUPS (__TN__ / GROUP)
#define STORE (__VEC__ < GROUP ? __VEC__ : GROUP)

struct Tile {
    int row, column; // counted in tiles
    int part;        // of k
};

K_INLINE int tiles(long long extent, int size) {
    return (int)((extent + size - 1) / size);
}

// Blocks that run together share rows and columns: SWIZZLE rows of tiles are walked column by column.
K_INLINE Tile find_tile(long long m, long long n) {
    const int rows = tiles(m, __BM__), columns = tiles(n, __BN__);
    const int at = blockIdx.x % (rows * columns), part = blockIdx.x / (rows * columns);
    const int first = at / (__SWIZZLE__ * columns) * __SWIZZLE__, in = at % (__SWIZZLE__ * columns);
    const int height = rows - first < __SWIZZLE__ ? rows - first : __SWIZZLE__;
    return {first + in % height, in / height, part};
}

K_INLINE int within(long long left, int most) {
    return left < most ? (int)left : most;
}

// A thread's share of HEIGHT x WIDTH elements, of which a row takes `ACROSS` vectors: one in every STEP-th
// row, or, where a row has more vectors than there are threads, WIDE in each.
template <int WIDTH> struct Share {
    enum {
        ACROSS = WIDTH / __VEC__,
        WIDE = ACROSS > THREADS ? ACROSS / THREADS : 1,
        STEP = ACROSS > THREADS ? 1 : THREADS / ACROSS
    };
    static __device__ __forceinline__ int y() { return threadIdx.x / ACROSS; }
    static __device__ __forceinline__ int x() { return threadIdx.x % ACROSS * __VEC__; }
};

template <typename T> K_INLINE void copy_vector(T *to, const T *from, bool wanted) {
    if (sizeof(T) * __VEC__ < 4)
        *to = wanted ? *from : T();
    else
        k_copy_async<sizeof(T) * __VEC__ < 4 ? 4 : sizeof(T) * __VEC__>(to, from, wanted);
}

// From `from`, the thread's first element, where rows are `row` apart; the first `rows` and `columns` exist,
// the other elements become 0.
template <int HEIGHT, int WIDTH, int TO_ROW, typename T>
K_INLINE void copy_tile(T *to, const T *from, long long row, int rows, int columns) {
    typedef Share<WIDTH> share;
#pragma unroll
    for (int i = 0; i < (HEIGHT * share::ACROSS + THREADS - 1) / THREADS; i++) {
        const int along = i % share::WIDE * THREADS * __VEC__;
        const int y = share::y() + i / share::WIDE * share::STEP, x = share::x() + along;
        if (HEIGHT * share::ACROSS % THREADS && y >= HEIGHT) break;
        copy_vector(to + y * TO_ROW + x, from + along, y < rows && x < columns);
        if (i % share::WIDE == share::WIDE - 1) from += share::STEP * row;
    }
}

// What a thread has still to copy.
struct Source {
    const T_a *a;
    const T_b *b;
    int rows, columns; // of y in this tile
    int steps;         // of k
    int last;          // elements in the last step
};

K_INLINE Source find_source(const T_a *a, const T_b *b, Tile tile, long long m, long long n, long long k) {
    const int all = tiles(k, __BK__), depth = (all + __SPLIT__ - 1) / __SPLIT__, begin = tile.part * depth;
    const int steps = all - begin < depth ? all - begin : depth;
    const long long row = (long long)tile.row * __BM__, column = (long long)tile.column * __BN__;
    const long long at = (long long)begin * __BK__;
    Source source;
    source.a = a + (row + Share<__BK__>::y()) * k + at + Share<__BK__>::x();
    source.b = b + (at + Share<__BN__>::y()) * n + column + Share<__BN__>::x();
    source.rows = within(m - row, __BM__);
    source.columns = within(n - column, __BN__);
    source.steps = steps;
    source.last = within(k - at - (steps - 1ll) * __BK__, __BK__);
    return source;
}

K_INLINE void copy_step(T_a *to, Source &source, long long n, long long k) {
    if (source.steps > 0) {
        const int depth = source.steps == 1 ? source.last : __BK__;
        copy_tile<__BM__, __BK__, A_ROW>(to, source.a, k, source.rows, depth);
        copy_tile<__BK__, __BN__, __BN__>(to + A_TILE, source.b, n, depth, source.columns);
        source.a += __BK__;
        source.b += __BK__ * n;
        source.steps--;
    }
    k_copy_commit();
}

// A pair of lanes has the same row, the lanes two further on the same columns, because the hardware joins
// such pairs: a half-warp reads 16 bytes a lane in one go.
struct Place {
    int row, column; // of ROWS x COLUMNS
};

K_INLINE Place find_place() {
    const int rows = ROWS < 4 ? ROWS : 4, columns = 32 / rows, across = COLUMNS / columns;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = rows == 1 ? 0 : rows == 2 ? lane / 2 % 2 : lane / 2 % 2 + lane / 16 * 2;
    const int column = rows == 1 ? lane : lane % 2 + lane / 4 % (columns / 2) * 2;
    return {warp / across * rows + row, warp % across * columns + column};
}

K_INLINE void add_products(ACC (&sum)[__TM__][__TN__], const ACC (&x)[__TM__][4], const ACC (&z)[__TN__],
                           int depth) {
#pragma unroll
    for (int i = 0; i < __TM__; i++)
#pragma unroll
        for (int j = 0; j < __TN__; j++) sum[i][j] += x[i][depth] * z[j];
}

K_INLINE void read_columns(ACC (&z)[__TN__], const T_b *from) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        const k_pack<T_b, GROUP> pack = k_load<GROUP>(from + g * COLUMNS * GROUP);
#pragma unroll
        for (int j = 0; j < GROUP; j++) z[g * GROUP + j] = KF_FROM_b(pack.at[j]);
    }
}

K_INLINE void read_rows(ACC (&x)[__TM__][4], const T_a *from) {
#pragma unroll
    for (int i = 0; i < __TM__; i++) {
        const k_pack<T_a, 4> pack = k_load<4>(from + i * ROWS * A_ROW);
#pragma unroll
        for (int j = 0; j < 4; j++) x[i][j] = KF_FROM_a(pack.at[j]);
    }
}

K_INLINE void multiply_stage(ACC (&sum)[__TM__][__TN__], const T_a *a, const T_b *b) {
#pragma unroll
    for (int at = 0; at < __BK__; at += 4) {
        ACC x[__TM__][4], z[__TN__];
        read_rows(x, a + at);
#pragma unroll
        for (int depth = 0; depth < 4; depth++) {
            read_columns(z, b + (at + depth) * __BN__);
            add_products(sum, x, z, depth);
        }
    }
}

// Every step fills the buffer that the step before it used.
K_INLINE void multiply_tile(ACC (&sum)[__TM__][__TN__], T_a *stages, Source source, Place place, long long n,
                            long long k) {
    const int steps = source.steps;
    int filled = __STAGES__ - 1, used = 0;
#pragma unroll
    for (int i = 0; i < __STAGES__ - 1; i++) copy_step(stages + i * STAGE, source, n, k);
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        k_copy_wait<__STAGES__ - 2>();
        __syncthreads();
        copy_step(stages + filled * STAGE, source, n, k);
        const T_a *stage = stages + used * STAGE;
        multiply_stage(sum, stage + place.row * A_ROW, stage + A_TILE + place.column * GROUP);
        filled = used;
        used = used + 1 == __STAGES__ ? 0 : used + 1;
    }
}

#if __SPLIT__ == 1
#define T_out T_y
#define TO_OUT(v) KF_TO_y(v)
#else
#define T_out ACC
#define TO_OUT(v) (v)
#endif

K_INLINE void store_row(T_out *row, const ACC (&sum)[__TN__], Place place, int columns) {
#pragma unroll
    for (int j = 0; j < __TN__; j += STORE) {
        const int column = (j / GROUP * COLUMNS + place.column) * GROUP + j % GROUP;
        k_pack<T_out, STORE> pack;
#pragma unroll
        for (int i = 0; i < STORE; i++) pack.at[i] = TO_OUT(sum[j + i]);
        if (column < columns) k_store<STORE>(row + column, pack);
    }
}

K_INLINE void store_tile(T_out *to, const ACC (&sum)[__TM__][__TN__], Tile tile, Place place, long long m,
                         long long n) {
    const long long column = (long long)tile.column * __BN__;
    const int columns = within(n - column, __BN__);
#pragma unroll
    for (int i = 0; i < __TM__; i++) {
        const long long row = (long long)tile.row * __BM__ + place.row + i * ROWS;
        if (row < m) store_row(to + row * n + column, sum[i], place, columns);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS ? BLOCKS : 1)
    KF_ENTRY(matmul)(const T_a *a, const T_b *b, T_y *y, ACC *workspace, const long long m, const long long n,
                     const long long k) {
    KF_SHARED(T_a, stages);
    const Tile tile = find_tile(m, n);
    const Place place = find_place();
    ACC sum[__TM__][__TN__] = {};
    multiply_tile(sum, stages, find_source(a, b, tile, m, n, k), place, n, k);
    T_out *const to = __SPLIT__ == 1 ? (T_out *)y : (T_out *)(workspace + tile.part * m * n);
    store_tile(to, sum, tile, place, m, n);
}

// y is the sum of the parts in the workspace; always the same order, so always the same bits.
extern "C" __global__ void KF_ENTRY(matmul_add)(const T_a *, const T_b *, T_y *y, const ACC *workspace,
                                                const long long m, const long long n, const long long) {
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * __VEC__;
    if (i >= m * n) return;
    k_pack<ACC, __VEC__> sum = k_load<__VEC__>(workspace + i);
#pragma unroll
    for (int part = 1; part < __SPLIT__; part++) {
        const k_pack<ACC, __VEC__> more = k_load<__VEC__>(workspace + part * m * n + i);
#pragma unroll
        for (int j = 0; j < __VEC__; j++) sum.at[j] += more.at[j];
    }
    k_pack<T_y, __VEC__> pack;
#pragma unroll
    for (int j = 0; j < __VEC__; j++) pack.at[j] = KF_TO_y(sum.at[j]);
    k_store<__VEC__>(y + i, pack);
}

#define ANY 8 // rows that a thread computes, so that it reads little more than one element a product

K_INLINE void multiply_any(ACC (&sum)[ANY], const T_a *a, const T_b *b, long long row, long long column,
                           long long m, long long n, long long k) {
#pragma unroll 2
    for (long long depth = 0; depth < k; depth++) {
        const ACC z = KF_FROM_b(b[depth * n + column]);
#pragma unroll
        for (int i = 0; i < ANY; i++)
            sum[i] += KF_FROM_a(a[(row + i < m ? row + i : m - 1) * k + depth]) * z;
    }
}

extern "C" __global__ void KF_ENTRY(matmul_any)(const T_a *a, const T_b *b, T_y *y, ACC *, const long long m,
                                                const long long n, const long long k) {
    const long long step = (long long)gridDim.x * blockDim.x, first = (long long)blockIdx.x * blockDim.x;
    for (long long i = first + threadIdx.x; i < (m + ANY - 1) / ANY * n; i += step) {
        const long long row = i / n * ANY, column = i % n;
        ACC sum[ANY] = {};
        multiply_any(sum, a, b, row, column, m, n, k);
        for (int j = 0; j < ANY && row + j < m; j++) y[(row + j) * n + column] = KF_TO_y(sum[j]);
    }
}

// matmul_any leaves no parts to add.
extern "C" __global__ void KF_ENTRY(matmul_added)(const T_a *, const T_b *, T_y *, ACC *, const long long,
                                                  const long long, const long long) {
}
