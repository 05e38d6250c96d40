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
//! require  VEC * bytes_a <= 16 && n % VEC == 0 && (TURNED_A == 0 || m % VEC == 0) && BN >= PRODUCTS * VEC && (PRODUCTS == 1 || TN >= 8)
//! require  bytes_a >= 4 || VEC == 1 || TURNED_A && TURNED_B == 0 || k % 2 == 0
//! require  BM // TM * (BN // TN) <= 512 && (bytes_a < 8 || TM * TN <= 64)
//! # The widest vectors. 64 or 128 threads, 64 or 128 sums each, 32 where y is small.
//! prefer   VEC * bytes_a == 16 || n % (2 * VEC) != 0 || TURNED_A && m % (2 * VEC) != 0 || bytes_a == 2 && k % 2 != 0
//! prefer   BM * BN >= 64 * TM * TN && BM * BN <= 128 * TM * TN || BM * BN == 1024
//! prefer   TM == 8 || TN == 8
//! prefer   BK * TM * TN == 1024 && (TN > 4 || min(m, n) <= 32) || BK * TM * TN == 512 && (BK == 16 || VEC == 1)
//! prefer   STAGES == 3 || STAGES == 4 && min(m, n) <= 16
//! prefer   SWIZZLE == 8
//! # Tiles that fit y.
//! prefer   BM >= min(m, 32) && BM < max(2 * m, 9) || BM * BN == 1024 && m * n < 1024
//! prefer   BN >= min(n * PRODUCTS, 64) && BN < max(2 * n * PRODUCTS, 9) || BM * BN == 1024 && m * n < 1024
//! prefer   BN <= 8 * BM || BM >= m
//! # A block takes its share of a multiprocessor's 232448 bytes, and as many for its registers: 454 a thread,
//! # twice for 128 sums. Blocks that share tiles fill a quarter to all of the device, few parts also twice.
//! prefer   TM * TN > 32 || min(m, n) < 128 || batch * ceildiv(m, BM) * ceildiv(n * PRODUCTS, BN) * max(BM * BN * 454 // min(64, TM * TN), STAGES * BK * (BM + BN) * bytes_a) <= 2 * 232448 * sms
//! prefer   SPLIT == 1 || 2 * SPLIT * batch * ceildiv(m, BM) * ceildiv(n * PRODUCTS, BN) * max(BM * BN * 454 // min(64, TM * TN), STAGES * BK * (BM + BN) * bytes_a) <= (SPLIT <= 4 ? 5 : 2) * 232448 * sms
//! prefer   SPLIT == 128 || k < 64 * SPLIT || 4 * SPLIT * batch * ceildiv(m, BM) * ceildiv(n * PRODUCTS, BN) * max(BM * BN * 454 // min(64, TM * TN), STAGES * BK * (BM + BN) * bytes_a) > 232448 * sms
//! prefer   SPLIT == 1 || k >= 32 * SPLIT
//! launch   grid = batch * ceildiv(m, BM) * ceildiv(n * PRODUCTS, BN) * SPLIT  block = BM // TM * (BN // TN)  shared = STAGES * (BK * (BM + BN) * bytes_a + BK // (bytes_a >= 4 || VEC == 1 ? 1 : 2) * (1 - TURNED_A + TURNED_B) * 16)  dependent = 1  twin = matmul_any
//! launch   matmul_add  grid = SPLIT == 1 ? 0 : ceildiv(batch * m * n, 256 * VEC)  block = 256  dependent = 1  twin = matmul_added
//! workspace SPLIT == 1 ? 0 : (bytes_a < 8 ? 4 : 8) * SPLIT * PRODUCTS * batch * m * n

// y = a @ b on the FMA units. A block computes BM x BN of y, a thread TM x TN of those. Both inputs pass
// through shared memory, BK of k at a time, in STAGES buffers that fill while another is used:
//
//                    b: BK x BN, as in memory        A thread reads columns of b and rows of a in groups
//   a: BK x BM,     +----+----+----+----+----+       of 4. Its groups lie COLUMNS * 4 and ROWS * 4 apart,
//   turned, so      | 0  | 1  | .. | 0  | 1  |       so that the groups of neighbours lie side by side.
//   that rows lie   +----+----+----+----+----+       With SPLIT > 1 that many blocks share a tile, each
//   side by side    |        BM x BN         |       takes a part of k, and matmul_add adds what they
//                   +------------------------+       left in the workspace, in order.
//
// A factor that is stored turned around (TURNED_A, TURNED_B) changes the roles: b is turned, a is not. Of two
// products with one a (PRODUCTS 2), half of a tile's columns are of each, and so are half of a thread's groups:
// it has both at the same places of y.
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
#define __TURNED_A__ 0
#define __TURNED_B__ 0
#define __BATCHED__ 1
#define __PRODUCTS__ 1
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
// 64 sums and what they are made of fit 128 registers: 512 threads on a multiprocessor. 128, or 64 in f64, need 255.
#define BLOCKS ((__TM__ * __TN__ * (1 + K_F64) > 64 ? 256 : 512) / THREADS)

// What is turned comes in units, since an asynchronous copy moves 4 bytes or more: 16-bit elements in pairs of
// k, or, where only single ones are aligned, alone and with plain copies.
#define UNIT (KF_BYTES_a >= 4 || __VEC__ == 1 ? 1 : 2)
#define UNITS (__BK__ / UNIT)

#define GROUP 4
#define STORE (__VEC__ < GROUP ? __VEC__ : GROUP)

#if K_F64
#define FMA fma
#define OPAQUE(x, zero) (x)
#else
#define FMA fmaf
#define OPAQUE(x, zero) __uint_as_float(__float_as_uint(x) ^ (zero))
#endif

// Columns of each product in a tile, and in a thread's share of it.
#define PART (__BN__ / __PRODUCTS__)
#define SHARE (__TN__ / __PRODUCTS__)
#define BATCHES (__BATCHED__ ? batch : 1)

// Splice points: the entries' further parameters, a factor's matrix of each product and batch, and what becomes
// of the sums of elements i, i + 1 … of y, from (row, column) on, where rows count through all batches.
#ifndef KF_STORE_y // the product alone
#define KF_PARAMS , T_y *y
#define KF_ARGS , y
#define KF_AT_a(z) (a + (z)*m * k)
#define KF_AT_b(p, z) (b + (z)*k * n)
#define KF_STORE_y(i, row, column, sums) store_product(y + (i), sums[0])
template <int N> K_INLINE void store_product(T_y *to, const k_pack<ACC, N> &sum) {
    k_pack<T_y, N> pack;
#pragma unroll
    for (int j = 0; j < N; j++) pack.at[j] = KF_TO_y(sum.at[j]);
    k_store<N>(to, pack);
}
#endif

struct Tile {
    int row, column; // counted in tiles
    int part;        // of k
    int batch;
};

K_INLINE int tiles(long long extent, int size) {
    return (int)((extent + size - 1) / size);
}

// Blocks that run together share rows and columns: SWIZZLE rows of tiles are walked column by column.
K_INLINE Tile find_tile(long long m, long long n) {
    const int rows = tiles(m, __BM__), columns = tiles(n, PART);
    const int at = blockIdx.x % (rows * columns), rest = blockIdx.x / (rows * columns);
    const int first = at / (__SWIZZLE__ * columns) * __SWIZZLE__, in = at % (__SWIZZLE__ * columns);
    const int height = rows - first < __SWIZZLE__ ? rows - first : __SWIZZLE__;
    return {first + in % height, in / height, rest % __SPLIT__, __BATCHED__ ? rest / __SPLIT__ : 0};
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

// A factor: WIDTH rows of a or columns of b, the sides, in a tile. Where k runs ALONG its rows in memory, it is
// turned; the 16 bytes more keep lanes that write along k out of one another's banks.
template <bool ALONG, int WIDTH> struct Factor {
    enum { ROW = ALONG ? WIDTH * UNIT + 16 / KF_BYTES_a : WIDTH, TILE = ALONG ? UNITS * ROW : __BK__ * WIDTH };

    // The thread's first element of a tile that begins at `side` and `depth`.
    template <int SIDES> K_INLINE const T_a *first(const T_a *from, long long side, long long depth, long long row) {
        return ALONG ? Share<__BK__, UNIT>::first(from + side * row + depth, row)
                     : Share<SIDES, __VEC__>::first(from + depth * row + side, row);
    }
    template <int SIDES> K_INLINE void copy(T_a *to, const T_a *from, long long row, int sides, int depth) {
        if constexpr (ALONG)
            copy_tile<SIDES, __BK__, UNIT, UNIT, ROW>(to, from, row, sides, depth);
        else
            copy_tile<__BK__, SIDES, __VEC__, ROW, __VEC__>(to, from, row, depth, sides);
    }
    K_INLINE long long step(long long row) {
        return ALONG ? __BK__ : __BK__ * row;
    }
    // Sides in groups, `apart` elements from one to the next, at the unit's k.
    template <int SIDES> K_INLINE void read(ACC (&to)[UNIT][SIDES], const T_a *tile, int unit, int group, int apart) {
        if constexpr (ALONG) {
#pragma unroll
            for (int i = 0; i < SIDES; i += GROUP) {
                const T_a *from = tile + unit * ROW + (group * GROUP + i * apart) * UNIT;
                const k_pack<T_a, GROUP * UNIT> pack = k_load<GROUP * UNIT>(from);
#pragma unroll
                for (int j = 0; j < GROUP * UNIT; j++) to[j % UNIT][i + j / UNIT] = KF_FROM_a(pack.at[j]);
            }
        } else {
#pragma unroll
            for (int u = 0; u < UNIT; u++)
#pragma unroll
                for (int i = 0; i < SIDES; i += GROUP) {
                    const T_a *from = tile + (unit * UNIT + u) * ROW + group * GROUP + i * apart;
                    const k_pack<T_a, GROUP> pack = k_load<GROUP>(from);
#pragma unroll
                    for (int j = 0; j < GROUP; j++) to[u][i + j] = KF_FROM_a(pack.at[j]);
                }
        }
    }
};
typedef Factor<!__TURNED_A__, __BM__> FactorA;
typedef Factor<__TURNED_B__, __BN__> FactorB;
#define STAGE (FactorA::TILE + FactorB::TILE)
// Elements from the tile's columns of one product to those of the next.
#define NEXT_PART (PART * (__TURNED_B__ ? UNIT : 1))

struct Shape {
    long long m, n, k;
    // Elements from row to row in memory.
    __device__ __forceinline__ long long a() const { return __TURNED_A__ ? m : k; }
    __device__ __forceinline__ long long b() const { return __TURNED_B__ ? k : n; }
};

// What a thread has still to copy.
struct Source {
    const T_a *a;
    const T_b *b[__PRODUCTS__];
    int rows, columns; // of y in this tile
    int steps;         // of BK of k
    int last;          // elements of k in the last one
};

K_INLINE Source find_source(const T_a *a, const T_b *const (&b)[__PRODUCTS__], Tile tile, Shape shape) {
    const int all = tiles(shape.k, __BK__), depth = tiles(all, __SPLIT__), begin = tile.part * depth;
    const long long row = (long long)tile.row * __BM__, column = (long long)tile.column * PART;
    const long long at = (long long)begin * __BK__;
    Source source;
    source.a = FactorA::first<__BM__>(a, row, at, shape.a());
#pragma unroll
    for (int p = 0; p < __PRODUCTS__; p++) source.b[p] = FactorB::first<PART>(b[p], column, at, shape.b());
    source.rows = within(shape.m - row, __BM__);
    source.columns = within(shape.n - column, PART);
    source.steps = within(all - begin, depth);
    source.last = within(shape.k - at - (source.steps - 1ll) * __BK__, __BK__);
    return source;
}

K_INLINE void copy_step(T_a *to, Source &source, Shape shape) {
    if (source.steps > 0) {
        const int depth = source.steps == 1 ? source.last : __BK__;
        FactorA::copy<__BM__>(to, source.a, shape.a(), source.rows, depth);
        source.a += FactorA::step(shape.a());
#pragma unroll
        for (int p = 0; p < __PRODUCTS__; p++) {
            FactorB::copy<PART>(to + FactorA::TILE + p * NEXT_PART, source.b[p], shape.b(), source.columns, depth);
            source.b[p] += FactorB::step(shape.b());
        }
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

K_INLINE void read_fragment(Fragment &to, const T_a *stage, Place place, int unit) {
    FactorA::read<__TM__>(to.a, stage, unit, place.row, ROWS);
    FactorB::read<__TN__>(to.b, stage + FactorA::TILE, unit, place.column, COLUMNS);
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
                sum[i][j] = FMA(from.a[u][i], from.b[u][j], sum[i][j]);
            }
}

// A fragment is read while the one before it is multiplied, also from one stage to the next; a step fills
// the buffer that the step before it used.
K_INLINE void multiply_tile(ACC (&sum)[__TM__][__TN__], T_a *stages, Source source, Place place, Shape shape) {
    Fragment fragment[2];
    const int steps = source.steps;
    int used = 0, filled = __STAGES__ - 1;
#pragma unroll
    for (int i = 0; i < __STAGES__ - 1; i++) copy_step(stages + i * STAGE, source, shape);
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
            if (unit == 0) copy_step(stages + filled * STAGE, source, shape);
            add_products(sum, fragment[unit % 2]);
        }
}

// `zero` is 0, which the compiler cannot know: stored as they are, the sums would have to lie in the order of
// the vectors of y, which is that of b's, and a sum and its b in the same register bank, where two operands
// take two cycles (4096^3 in f32 on an H200, 8 x 16 sums a thread: 2842 us, otherwise 2698).
K_INLINE k_pack<ACC, STORE> pack_sums(const ACC *sum, unsigned int zero) {
    k_pack<ACC, STORE> pack;
#pragma unroll
    for (int i = 0; i < STORE; i++) pack.at[i] = OPAQUE(sum[i], zero);
    return pack;
}

// Elements i, i + 1 … of y, or of this block's part of the workspace.
K_INLINE void store_sums(const k_pack<ACC, STORE> (&sums)[__PRODUCTS__], ACC *part, long long i, long long row,
                         long long column, Shape shape KF_PARAMS) {
#if __SPLIT__ == 1
    KF_STORE_y(i, row, column, sums);
#else
#pragma unroll
    for (int p = 0; p < __PRODUCTS__; p++) k_store<STORE>(part + p * shape.m * shape.n + i, sums[p]);
#endif
}

K_INLINE void store_tile(const ACC (&sum)[__TM__][__TN__], ACC *workspace, Tile tile, Place place,
                         Shape shape KF_PARAMS) {
    const unsigned int zero = (unsigned int)(shape.m >> 63);
    const long long left = (long long)tile.column * PART, top = __SPLIT__ == 1 ? tile.batch * shape.m : 0;
    const int columns = within(shape.n - left, PART);
    ACC *const part = workspace + (tile.batch * __SPLIT__ + tile.part) * (__PRODUCTS__ * shape.m * shape.n);
#pragma unroll
    for (int i = 0; i < __TM__; i++) {
        const int in = (i / GROUP * ROWS + place.row) * GROUP + i % GROUP;
        const long long row = (long long)tile.row * __BM__ + in;
        if (row >= shape.m) continue;
#pragma unroll
        for (int j = 0; j < SHARE; j += STORE) {
            const int column = (j / GROUP * COLUMNS + place.column) * GROUP + j % GROUP;
            k_pack<ACC, STORE> sums[__PRODUCTS__];
#pragma unroll
            for (int p = 0; p < __PRODUCTS__; p++) sums[p] = pack_sums(sum[i] + p * SHARE + j, zero);
            if (column < columns)
                store_sums(sums, part, (top + row) * shape.n + left + column, top + row, left + column, shape KF_ARGS);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS ? BLOCKS : 1)
    KF_ENTRY(matmul)(const T_a *a, const T_b *b, ACC *workspace, const long long batch, const long long m,
                     const long long n, const long long k KF_PARAMS) {
    k_begin<false>();
    KF_SHARED(T_a, stages);
    const Tile tile = find_tile(m, n);
    const Place place = find_place();
    const Shape shape = {m, n, k};
    const T_b *right[__PRODUCTS__];
#pragma unroll
    for (int p = 0; p < __PRODUCTS__; p++) right[p] = KF_AT_b(p, tile.batch);
    ACC sum[__TM__][__TN__] = {};
    multiply_tile(sum, stages, find_source(KF_AT_a(tile.batch), right, tile, shape), place, shape);
    store_tile(sum, workspace, tile, place, shape KF_ARGS);
}

// Always in the same order, so always the same bits.
K_INLINE k_pack<ACC, __VEC__> add_parts(const ACC *from, long long next) {
    k_pack<ACC, __VEC__> sum = k_load<__VEC__>(from);
#pragma unroll 8
    for (int part = 1; part < __SPLIT__; part++) {
        const k_pack<ACC, __VEC__> more = k_load<__VEC__>(from + part * next);
#pragma unroll
        for (int j = 0; j < __VEC__; j++) sum.at[j] += more.at[j];
    }
    return sum;
}

extern "C" __global__ void KF_ENTRY(matmul_add)(const T_a *, const T_b *, const ACC *workspace, const long long batch,
                                                const long long m, const long long n, const long long KF_PARAMS) {
    k_begin<false>();
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * __VEC__, size = m * n;
    if (i >= BATCHES * size) return;
    const long long z = __BATCHED__ ? i / size : 0;
    const ACC *const from = workspace + z * (__SPLIT__ * __PRODUCTS__ - 1) * size + i;
    k_pack<ACC, __VEC__> sums[__PRODUCTS__];
#pragma unroll
    for (int p = 0; p < __PRODUCTS__; p++) sums[p] = add_parts(from + p * size, __PRODUCTS__ * size);
    KF_STORE_y(i, i / n, i % n, sums);
}

// Any alignment, shape and grid: a block walks over tiles of ANY_ROWS x 64 of y, a thread has 4 x 4 of each.
#define ANY_ROWS (THREADS / 4)
#define ANY_DEPTH 16
struct Any {
    ACC a[ANY_DEPTH][ANY_ROWS + 1], b[__PRODUCTS__][ANY_DEPTH][64];
};
typedef ACC AnySums[__PRODUCTS__][4][4];

K_INLINE void fill_any_a(Any &to, const T_a *a, long long row, long long depth, Shape shape) {
    for (int i = threadIdx.x; i < ANY_ROWS * ANY_DEPTH; i += THREADS) {
        const long long y = row + i / ANY_DEPTH, x = depth + i % ANY_DEPTH;
        const long long at = __TURNED_A__ ? x * shape.m + y : y * shape.k + x;
        to.a[i % ANY_DEPTH][i / ANY_DEPTH] = y < shape.m && x < shape.k ? KF_FROM_a(a[at]) : 0;
    }
}

K_INLINE void fill_any_b(ACC (&to)[ANY_DEPTH][64], const T_b *b, long long column, long long depth, Shape shape) {
    for (int i = threadIdx.x; i < ANY_DEPTH * 64; i += THREADS) {
        const long long y = depth + i / 64, x = column + i % 64;
        const long long at = __TURNED_B__ ? x * shape.k + y : y * shape.n + x;
        to[i / 64][i % 64] = y < shape.k && x < shape.n ? KF_FROM_b(b[at]) : 0;
    }
}

K_INLINE void add_any(AnySums &sums, const Any &from, int y, int x) {
#pragma unroll
    for (int p = 0; p < __PRODUCTS__; p++)
#pragma unroll 4
        for (int depth = 0; depth < ANY_DEPTH; depth++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sums[p][i][j] = FMA(from.a[depth][y * 4 + i], from.b[p][depth][x + j * 16], sums[p][i][j]);
}

// The 4 x 4 from row `top` and column `left` of batch z on, one by one.
K_INLINE void store_any(const AnySums &sums, long long z, long long top, long long left, Shape shape KF_PARAMS) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const long long at = top + i / 4, row = z * shape.m + at, column = left + i % 4 * 16;
        k_pack<ACC, 1> single[__PRODUCTS__];
#pragma unroll
        for (int p = 0; p < __PRODUCTS__; p++) single[p].at[0] = sums[p][i / 4][i % 4];
        if (at < shape.m && column < shape.n) KF_STORE_y(row * shape.n + column, row, column, single);
    }
}

extern "C" __global__ void KF_ENTRY(matmul_any)(const T_a *a, const T_b *b, ACC *, const long long batch,
                                                const long long m, const long long n, const long long k KF_PARAMS) {
    k_begin<false>();
    __shared__ Any any;
    const Shape shape = {m, n, k};
    const long long across = (n + 63) / 64, size = (m + ANY_ROWS - 1) / ANY_ROWS * across;
    for (long long tile = blockIdx.x; tile < size * BATCHES; tile += gridDim.x) {
        const long long z = __BATCHED__ ? tile / size : 0, in = tile - z * size;
        const long long row = in / across * ANY_ROWS, column = in % across * 64;
        AnySums sums = {};
        for (long long depth = 0; depth < k; depth += ANY_DEPTH) {
            __syncthreads();
            fill_any_a(any, KF_AT_a(z), row, depth, shape);
            for (int p = 0; p < __PRODUCTS__; p++) fill_any_b(any.b[p], KF_AT_b(p, z), column, depth, shape);
            __syncthreads();
            add_any(sums, any, threadIdx.x / 16, threadIdx.x % 16);
        }
        store_any(sums, z, row + threadIdx.x / 16 * 4, column + threadIdx.x % 16, shape KF_ARGS);
    }
}

// Beside matmul_any, which leaves no parts to add.
extern "C" __global__ void KF_ENTRY(matmul_added)(const T_a *, const T_b *, ACC *, const long long, const long long,
                                                  const long long, const long long KF_PARAMS) {
    k_begin<false>();
}
