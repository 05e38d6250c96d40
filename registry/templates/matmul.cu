//! kernel   matmul
//! computes y = a @ b
//! input    a[m, k] : f32 f16 bf16
//! input    b[k, n] : like a
//! output   y[m, n] : like a
//! args     a b y workspace m n k
//! knob     __BM__ 64 128 32 16 8
//! knob     __BN__ 256 128 64 32 16 8
//! knob     __BK__ 8 16 32
//! knob     __TM__ 16 8
//! knob     __TN__ 8 16 4
//! knob     __VEC__ 4 1 2 8
//! knob     __STAGES__ 3 4 2
//! knob     __SWIZZLE__ 8 1 16
//! knob     __SPLIT__ 1 2 4 8 16 32 64 128
//! require  BM // TM >= 1 && (BN // TN < 8 ? BM // TM % (32 // (BN // TN)) == 0 : BN // TN % (32 // min(4, BM // TM)) == 0)
//! require  VEC * bytes_a <= 16 && n % VEC == 0 && (bytes_a == 4 || VEC == 1 || k % 2 == 0)
//! require  BM // TM * (BN // TN) <= 512
//! # The widest vectors. 64 or 128 threads, 64 or 128 sums each, 32 where y is small.
//! prefer   VEC * bytes_a == 16 || n % (2 * VEC) != 0 || bytes_a == 2 && k % 2 != 0
//! prefer   BM * BN >= 64 * TM * TN && BM * BN <= 128 * TM * TN || BM * BN == 1024
//! prefer   TM == 8 || TN == 8
//! prefer   BK * TM * TN == 1024 && (TN > 4 || min(m, n) <= 32) || BK * TM * TN == 512 && (BK == 16 || VEC == 1)
//! prefer   STAGES == 3 || STAGES == 4 && min(m, n) <= 16
//! prefer   SWIZZLE == 8
//! # Tiles that fit y.
//! prefer   BM >= min(m, 32) && BM < max(2 * m, 9) || BM * BN == 1024 && m * n < 1024
//! prefer   BN >= min(n, 64) && BN < max(2 * n, 9) || BM * BN == 1024 && m * n < 1024
//! prefer   BN <= 8 * BM || BM >= m
//! # A block takes its share of a multiprocessor's 232448 bytes, and as many for its registers: 454 a thread,
//! # twice for 128 sums. Blocks that share tiles fill a quarter to all of the device, few parts also twice.
//! prefer   TM * TN > 32 || min(m, n) < 128 || ceildiv(m, BM) * ceildiv(n, BN) * max(BM * BN * 454 // min(64, TM * TN), STAGES * BK * (BM + BN) * bytes_a) <= 2 * 232448 * sms
//! prefer   SPLIT == 1 || 2 * SPLIT * ceildiv(m, BM) * ceildiv(n, BN) * max(BM * BN * 454 // min(64, TM * TN), STAGES * BK * (BM + BN) * bytes_a) <= (SPLIT <= 4 ? 5 : 2) * 232448 * sms
//! prefer   SPLIT == 128 || k < 64 * SPLIT || 4 * SPLIT * ceildiv(m, BM) * ceildiv(n, BN) * max(BM * BN * 454 // min(64, TM * TN), STAGES * BK * (BM + BN) * bytes_a) > 232448 * sms
//! prefer   SPLIT == 1 || k >= 32 * SPLIT
//! launch   grid = ceildiv(m, BM) * ceildiv(n, BN) * SPLIT  block = BM // TM * (BN // TN)  shared = STAGES * (BK * (BM + BN) * bytes_a + BK // (bytes_a == 4 || VEC == 1 ? 1 : 2) * 16)  twin = matmul_any
//! launch   matmul_add  grid = SPLIT == 1 ? 0 : ceildiv(m * n, 256 * VEC)  block = 256  twin = matmul_added
//! workspace SPLIT == 1 ? 0 : 4 * SPLIT * m * n

// y = a @ b on the FMA units. A block computes BM x BN of y, a thread TM x TN of those. Both inputs pass
// through shared memory, BK of k at a time, in STAGES buffers that fill while another is used:
//
//                    b: BK x BN, as in memory        A thread reads columns of b and rows of a in groups
//   a: BK x BM,     +----+----+----+----+----+       of 4. Its groups lie COLUMNS * 4 and ROWS * 4 apart,
//   turned, so      | 0  | 1  | .. | 0  | 1  |       so that the groups of neighbours lie side by side.
//   that rows lie   +----+----+----+----+----+       With SPLIT > 1 that many blocks share a tile, each
//   side by side    |        BM x BN         |       takes a part of k, and matmul_add adds what they
//                   +------------------------+       left in the workspace, in order.
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
#define __BM__ 64
#define __BN__ 256
#define __BK__ 8
#define __TM__ 16
#define __TN__ 8
#define __VEC__ 4
#define __STAGES__ 3
#define __SWIZZLE__ 8
#define __SPLIT__ 1
#endif

#define ROWS (__BM__ / __TM__)
#define COLUMNS (__BN__ / __TN__)
#define THREADS (ROWS * COLUMNS)
// 64 sums and what they are made of fit 128 registers: 512 threads on a multiprocessor. 128 sums need 255.
#define BLOCKS ((__TM__ * __TN__ > 64 ? 256 : 512) / THREADS)

// a is turned in units, since an asynchronous copy moves 4 bytes or more: 16-bit elements in pairs of k,
// or, where only single ones are aligned, alone and with plain copies.
#define UNIT (KF_BYTES_a == 4 || __VEC__ == 1 ? 1 : 2)
#define UNITS (__BK__ / UNIT)
// The 16 bytes more keep lanes that write along k out of one another's banks.
#define A_ROW (__BM__ * UNIT + 16 / KF_BYTES_a)
#define A_TILE (UNITS * A_ROW)
#define STAGE (A_TILE + __BK__ * __BN__)

#define GROUP 4
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

// A thread's share of rows of WIDTH elements in vectors: one in every STEP-th row or, where a row has more
// vectors than there are threads, WIDE in each.
template <int WIDTH, int VECTOR> struct Share {
    enum {
        ACROSS = WIDTH / VECTOR,
        WIDE = ACROSS > THREADS ? ACROSS / THREADS : 1,
        STEP = ACROSS > THREADS ? 1 : THREADS / ACROSS
    };
    K_INLINE int y() { return threadIdx.x / ACROSS; }
    K_INLINE int x() { return threadIdx.x % ACROSS; }
    template <typename T> K_INLINE const T *first(const T *from, long long row) {
        return from + y() * row + x() * VECTOR;
    }
};

template <int VECTOR, typename T> K_INLINE void copy_vector(T *to, const T *from, bool wanted) {
    if (sizeof(T) * VECTOR < 4)
        *to = wanted ? *from : T();
    else
        k_copy_async<sizeof(T) * VECTOR < 4 ? 4 : sizeof(T) * VECTOR>(to, from, wanted);
}

// HEIGHT x WIDTH elements, of which the first `rows` and `columns` exist and the others become 0. `from` is
// the thread's first, with `row` from row to row; in shared memory it is DOWN, and ALONG between vectors.
template <int HEIGHT, int WIDTH, int VECTOR, int DOWN, int ALONG, typename T>
K_INLINE void copy_tile(T *to, const T *from, long long row, int rows, int columns) {
    typedef Share<WIDTH, VECTOR> share;
#pragma unroll
    for (int i = 0; i < (HEIGHT * share::ACROSS + THREADS - 1) / THREADS; i++) {
        const int along = i % share::WIDE * THREADS;
        const int y = share::y() + i / share::WIDE * share::STEP, x = share::x() + along;
        if (HEIGHT * share::ACROSS % THREADS && y >= HEIGHT) break;
        copy_vector<VECTOR>(to + y * DOWN + x * ALONG, from + along * VECTOR, y < rows && x * VECTOR < columns);
        if (i % share::WIDE == share::WIDE - 1) from += share::STEP * row;
    }
}

// What a thread has still to copy.
struct Source {
    const T_a *a;
    const T_b *b;
    int rows, columns; // of y in this tile
    int steps;         // of BK of k
    int last;          // elements of k in the last one
};

K_INLINE Source find_source(const T_a *a, const T_b *b, Tile tile, long long m, long long n, long long k) {
    const int all = tiles(k, __BK__), depth = tiles(all, __SPLIT__), begin = tile.part * depth;
    const long long row = (long long)tile.row * __BM__, column = (long long)tile.column * __BN__;
    const long long at = (long long)begin * __BK__;
    Source source;
    source.a = Share<__BK__, UNIT>::first(a + row * k + at, k);
    source.b = Share<__BN__, __VEC__>::first(b + at * n + column, n);
    source.rows = within(m - row, __BM__);
    source.columns = within(n - column, __BN__);
    source.steps = within(all - begin, depth);
    source.last = within(k - at - (source.steps - 1ll) * __BK__, __BK__);
    return source;
}

K_INLINE void copy_step(T_a *to, Source &source, long long n, long long k) {
    if (source.steps > 0) {
        const int depth = source.steps == 1 ? source.last : __BK__;
        copy_tile<__BM__, __BK__, UNIT, UNIT, A_ROW>(to, source.a, k, source.rows, depth);
        copy_tile<__BK__, __BN__, __VEC__, __BN__, __VEC__>(to + A_TILE, source.b, n, depth, source.columns);
        source.a += __BK__;
        source.b += __BK__ * n;
        source.steps--;
    }
    k_copy_commit();
}

struct Place {
    int row, column; // of ROWS x COLUMNS threads
};

// A warp is 4 rows of 8 columns, or what comes nearest. Lanes 0 and 1 share a row, 0 and 2 a column: where
// lanes so paired read the same 16 bytes, shared memory serves half a warp at a time, not a quarter.
K_INLINE Place find_place() {
    const int rows = COLUMNS < 8 ? 32 / COLUMNS : ROWS < 4 ? ROWS : 4, columns = 32 / rows;
    const int across = COLUMNS / columns, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = rows == 1 ? 0 : lane / 2 % 2 + lane / (2 * columns) * 2;
    const int column = rows == 1 ? lane : lane % 2 + lane / 4 % (columns / 2) * 2;
    return {warp / across * rows + row, warp % across * columns + column};
}

// What a thread multiplies at once: a unit of k.
struct Fragment {
    ACC a[UNIT][__TM__], b[UNIT][__TN__];
};

K_INLINE void read_rows(Fragment &to, const T_a *from) {
#pragma unroll
    for (int i = 0; i < __TM__; i += GROUP) {
        const k_pack<T_a, GROUP * UNIT> pack = k_load<GROUP * UNIT>(from + i * ROWS * UNIT);
#pragma unroll
        for (int j = 0; j < GROUP * UNIT; j++) to.a[j % UNIT][i + j / UNIT] = KF_FROM_a(pack.at[j]);
    }
}

K_INLINE void read_columns(ACC (&to)[__TN__], const T_b *from) {
#pragma unroll
    for (int i = 0; i < __TN__; i += GROUP) {
        const k_pack<T_b, GROUP> pack = k_load<GROUP>(from + i * COLUMNS);
#pragma unroll
        for (int j = 0; j < GROUP; j++) to[i + j] = KF_FROM_b(pack.at[j]);
    }
}

K_INLINE void read_fragment(Fragment &to, const T_a *stage, Place place, int unit) {
    read_rows(to, stage + unit * A_ROW + place.row * GROUP * UNIT);
#pragma unroll
    for (int u = 0; u < UNIT; u++)
        read_columns(to.b[u], stage + A_TILE + (unit * UNIT + u) * __BN__ + place.column * GROUP);
}

// To and fro along the rows: neighbours in this order share an operand, which is then read once.
K_INLINE void add_products(ACC (&sum)[__TM__][__TN__], const Fragment &from) {
#pragma unroll
    for (int u = 0; u < UNIT; u++)
#pragma unroll
        for (int i = 0; i < __TM__; i++)
#pragma unroll
            for (int h = 0; h < __TN__; h++) {
                const int j = i % 2 ? __TN__ - 1 - h : h;
                sum[i][j] = fmaf(from.a[u][i], from.b[u][j], sum[i][j]);
            }
}

// A fragment is read while the one before it is multiplied, also from one stage to the next; a step fills
// the buffer that the step before it used.
K_INLINE void multiply_tile(ACC (&sum)[__TM__][__TN__], T_a *stages, Source source, Place place, long long n,
                            long long k) {
    Fragment fragment[2];
    const int steps = source.steps;
    int used = 0, filled = __STAGES__ - 1;
#pragma unroll
    for (int i = 0; i < __STAGES__ - 1; i++) copy_step(stages + i * STAGE, source, n, k);
    k_copy_wait<__STAGES__ - 2>();
    __syncthreads();
    read_fragment(fragment[0], stages, place, 0);
#pragma unroll 1
    for (int step = 0; step < steps; step++)
#pragma unroll
        for (int unit = 0; unit < UNITS; unit++) {
            if (unit == UNITS - 1) {
                k_copy_wait<__STAGES__ - 2>();
                __syncthreads();
                filled = used;
                used = used + 1 == __STAGES__ ? 0 : used + 1;
            }
            read_fragment(fragment[(unit + 1) % 2], stages + used * STAGE, place, (unit + 1) % UNITS);
            if (unit == 0) copy_step(stages + filled * STAGE, source, n, k);
            add_products(sum, fragment[unit % 2]);
        }
}

#if __SPLIT__ == 1
#define T_out T_y
#define TO_OUT(v) KF_TO_y(v)
#else
#define T_out ACC
#define TO_OUT(v) (v)
#endif

K_INLINE void store_row(T_out *row, const ACC (&sum)[__TN__], Place place, int columns, unsigned int zero) {
#pragma unroll
    for (int j = 0; j < __TN__; j += STORE) {
        const int column = (j / GROUP * COLUMNS + place.column) * GROUP + j % GROUP;
        k_pack<T_out, STORE> pack;
#pragma unroll
        for (int i = 0; i < STORE; i++)
            pack.at[i] = TO_OUT(__uint_as_float(__float_as_uint(sum[j + i]) ^ zero));
        if (column < columns) k_store<STORE>(row + column, pack);
    }
}

// `zero` is 0, which the compiler cannot know: stored as they are, the sums would have to lie in the order of
// the vectors of y, which is that of b's, and a sum and its b in the same register bank, where two operands
// take two cycles (4096^3 in f32 on an H200, 8 x 16 sums a thread: 2842 us, otherwise 2698).
K_INLINE void store_tile(T_out *to, const ACC (&sum)[__TM__][__TN__], Tile tile, Place place, long long m,
                         long long n) {
    const unsigned int zero = (unsigned int)(m >> 63);
    const long long column = (long long)tile.column * __BN__;
    const int columns = within(n - column, __BN__);
#pragma unroll
    for (int i = 0; i < __TM__; i++) {
        const int in = (i / GROUP * ROWS + place.row) * GROUP + i % GROUP;
        const long long row = (long long)tile.row * __BM__ + in;
        if (row < m) store_row(to + row * n + column, sum[i], place, columns, zero);
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

// Always in the same order, so always the same bits.
extern "C" __global__ void KF_ENTRY(matmul_add)(const T_a *, const T_b *, T_y *y, const ACC *workspace,
                                                const long long m, const long long n, const long long) {
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * __VEC__;
    if (i >= m * n) return;
    k_pack<ACC, __VEC__> sum = k_load<__VEC__>(workspace + i);
#pragma unroll 8
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

// Any alignment, shape and grid: a block walks over tiles of ANY_ROWS x 64 of y, a thread has 4 x 4 of each.
#define ANY_ROWS (THREADS / 4)
#define ANY_DEPTH 16
struct Any {
    ACC a[ANY_DEPTH][ANY_ROWS + 1], b[ANY_DEPTH][64];
};

K_INLINE void fill_any(Any &to, const T_a *a, const T_b *b, long long row, long long column, long long depth,
                       long long m, long long n, long long k) {
    for (int i = threadIdx.x; i < ANY_ROWS * ANY_DEPTH; i += THREADS) {
        const long long y = row + i / ANY_DEPTH, x = depth + i % ANY_DEPTH;
        to.a[i % ANY_DEPTH][i / ANY_DEPTH] = y < m && x < k ? KF_FROM_a(a[y * k + x]) : 0;
    }
    for (int i = threadIdx.x; i < ANY_DEPTH * 64; i += THREADS) {
        const long long y = depth + i / 64, x = column + i % 64;
        to.b[i / 64][i % 64] = y < k && x < n ? KF_FROM_b(b[y * n + x]) : 0;
    }
}

K_INLINE void add_any(ACC (&sum)[4][4], const Any &from, int y, int x) {
#pragma unroll 4
    for (int depth = 0; depth < ANY_DEPTH; depth++)
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) sum[i][j] = fmaf(from.a[depth][y * 4 + i], from.b[depth][x + j * 16], sum[i][j]);
}

extern "C" __global__ void KF_ENTRY(matmul_any)(const T_a *a, const T_b *b, T_y *y, ACC *, const long long m,
                                                const long long n, const long long k) {
    __shared__ Any any;
    const long long across = (n + 63) / 64, count = (m + ANY_ROWS - 1) / ANY_ROWS * across;
    for (long long tile = blockIdx.x; tile < count; tile += gridDim.x) {
        const long long row = tile / across * ANY_ROWS, column = tile % across * 64;
        ACC sum[4][4] = {};
        for (long long depth = 0; depth < k; depth += ANY_DEPTH) {
            __syncthreads();
            fill_any(any, a, b, row, column, depth, m, n, k);
            __syncthreads();
            add_any(sum, any, threadIdx.x / 16, threadIdx.x % 16);
        }
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const long long at = row + threadIdx.x / 16 * 4 + i / 4, x = column + threadIdx.x % 16 + i % 4 * 16;
            if (at < m && x < n) y[at * n + x] = KF_TO_y(sum[i / 4][i % 4]);
        }
    }
}

// Beside matmul_any, which leaves no parts to add.
extern "C" __global__ void KF_ENTRY(matmul_added)(const T_a *, const T_b *, T_y *, ACC *, const long long,
                                                  const long long, const long long) {
}
