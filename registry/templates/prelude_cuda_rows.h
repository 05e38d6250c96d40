// Rows as their threads see them: the third part of the helpers.
#include "prelude_cuda_math.h"

//@ k_variance
// From the sums of distances from nearly the mean, and of their squares: what the mean lacks is known, and no digits are
// lost however far from 0 it is. share: 1 over their number. Squares that overflow are an infinite variance, whatever the
// square of the rest is.
template <typename R> K_INLINE R k_variance(R distances, R squares, R share) {
    const R rest = distances * share, variance = squares * share - rest * rest;
    return !(squares < K_INF) ? squares : variance < 0 ? 0 : variance;
}

//@ k_fma
K_INLINE float k_fma(float a, float b, float c) {
    return fmaf(a, b, c);
}
K_INLINE double k_fma(double a, double b, double c) {
    return fma(a, b, c);
}

//@ k_see_bf16
// Halves of words: the higher one in one instruction.
template <int N> K_INLINE void k_see_bf16(float (&x)[N], const k_pack<unsigned short, N> &pack) {
#pragma unroll
    for (int j = 0; j < N; j += 2) {
        if (N == 1) {
            x[0] = k_from_bf16(pack.at[0]);
        } else {
            const unsigned int word = reinterpret_cast<const unsigned int *>(&pack)[j / 2];
            x[j] = __uint_as_float(word << 16);
            x[N == 1 ? 0 : j + 1] = __uint_as_float(word & 0xffff0000u);
        }
    }
}

//@ k_divisor k_quotients
// Quotients as `/` rounds them, where many are divided by one b: 1 / b in two parts gives them within an ulp, and what
// they leave gives the nearest (Markstein: "Computation of elementary functions on the IBM RISC System/6000 processor").
// By `/` where any of it may overflow or be subnormal.
template <typename R> struct k_divisor {
    const R b, high, low, sign;
    const bool safe;

    static __device__ __forceinline__ R bound() {
        return sizeof(R) == 4 ? (R)0x1p60f : (R)0x1p500;
    }
    static __device__ __forceinline__ bool is_safe(R x) {
        return fabs(x) >= 1 / bound() && fabs(x) <= bound();
    }
    __device__ __forceinline__ explicit k_divisor(R b)
        : b(b), high(1 / b), low(k_fma(-b, high, (R)1) * high), sign(b < 0 ? -1 : 1), safe(is_safe(b)) {
    }
};
template <typename R, int N> K_INLINE void k_quotients(R (&x)[N], const k_divisor<R> &by) {
    R quotient[N];
    bool safe = by.safe;
#pragma unroll
    for (int j = 0; j < N; j++) {
        const R near = k_fma(x[j], by.high, x[j] * by.low);
        quotient[j] = copysign(k_fma(k_fma(-near, by.b, x[j]), by.high, near), x[j] * by.sign);
        safe &= x[j] == 0 || by.is_safe(x[j]);
    }
    if (safe) {
#pragma unroll
        for (int j = 0; j < N; j++) x[j] = quotient[j];
    } else {
#pragma unroll
        for (int j = 0; j < N; j++) x[j] /= by.b;
    }
}

//@ k_rescale k_rescale2
// A sum of exp(x - from), or of powers of 2, as one of exp(x - to).
template <typename R> K_INLINE R k_rescale(R sum, R from, R to) {
    return from == to ? sum : sum * exp(from - to);
}
template <typename R> K_INLINE R k_rescale2(R sum, R from, R to) {
    return from == to ? sum : sum * exp2(from - to);
}

//@ k_near_rescale k_near_rescale2
K_INLINE float k_near_rescale(float sum, float from, float to) {
    return from == to ? sum : sum * k_near_exp(from - to);
}
K_INLINE float k_near_rescale2(float sum, float from, float to) {
    return from == to ? sum : sum * k_near_exp2(from - to);
}

//@ K_OF_VECTOR
// The largest or smallest element of a vector, two at a time; NaN goes through.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define K_OF_VECTOR(name, two, from, join)                                                         \
    template <int N> K_INLINE float name(const k_pack<unsigned short, N> &pack) {                  \
        if constexpr (N == 1) {                                                                    \
            return from(pack.at[0]);                                                               \
        } else {                                                                                   \
            const unsigned int *const word = reinterpret_cast<const unsigned int *>(&pack);        \
            unsigned int all = word[0];                                                            \
            _Pragma("unroll") for (int j = 1; j < N / 2; j++)                                      \
                asm(two " %0, %0, %1;" : "+r"(all) : "r"(word[j]));                                \
            return join(from((unsigned short)all), from((unsigned short)(all >> 16)));             \
        }                                                                                          \
    }
#else
#define K_OF_VECTOR(name, two, from, join)                                                         \
    template <int N> K_INLINE float name(const k_pack<unsigned short, N> &pack) {                  \
        float all = from(pack.at[0]);                                                              \
        for (int j = 1; j < N; j++) all = join(all, from(pack.at[j]));                             \
        return all;                                                                                \
    }
#endif

//@ k_max_bf16 k_min_bf16
K_OF_VECTOR(k_max_bf16, "max.NaN.bf16x2", k_from_bf16, k_max)
K_OF_VECTOR(k_min_bf16, "min.NaN.bf16x2", k_from_bf16, k_min)

//@ k_max_f16 k_min_f16
K_OF_VECTOR(k_max_f16, "max.NaN.f16x2", k_from_f16, k_max)
K_OF_VECTOR(k_min_f16, "min.NaN.f16x2", k_from_f16, k_min)

//@ k_sum
// A sum on its way through the threads of a row.
template <typename R> struct k_sum {
    R x;
};
template <typename R> K_INLINE k_sum<R> k_join(k_sum<R> a, k_sum<R> b) {
    return {a.x + b.x};
}

//@ k_shuffle
// A value of 4-byte words from the lane whose number differs in the bits of `step`.
template <typename V> K_INLINE V k_shuffle(V value, int step) {
#pragma unroll
    for (int i = 0; i < (int)(sizeof(V) / 4); i++) {
        unsigned int &word = reinterpret_cast<unsigned int *>(&value)[i];
        word = __shfl_xor_sync(0xffffffffu, word, step);
    }
    return value;
}

//@ k_meet_begin k_meet_send k_meet_wait
// How the blocks of a cluster exchange what their threads gathered: every block waits for `bytes` at one of two barriers,
// used in turn, and others send them there. No fence: what was stored in memory need not have arrived. (A barrier of the
// cluster has one, and empties the first-level cache.)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
K_INLINE unsigned int k_meet_place(int turn) {
    __shared__ unsigned long long places[2];
    return (unsigned int)__cvta_generic_to_shared(&places[turn]);
}
#endif
// Before the others may send; k_cluster_wait ends it.
K_INLINE void k_meet_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(k_meet_place(0)) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(k_meet_place(1)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    k_cluster_arrive();
#endif
}
// To what is *at in the given block.
template <typename V> K_INLINE void k_meet_send(V *at, V value, int block, int turn) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    unsigned int to, place;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"((unsigned int)__cvta_generic_to_shared(at)), "r"(block));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(k_meet_place(turn)), "r"(block));
#pragma unroll
    for (int i = 0; i < (int)(sizeof(V) / 4); i++)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to + 4 * i),
                     "r"(reinterpret_cast<const unsigned int *>(&value)[i]), "r"(place)
                     : "memory");
#endif
}
// The `count`-th time.
K_INLINE void k_meet_wait(int bytes, int count) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const unsigned int place = k_meet_place(count & 1);
    unsigned int there = 0;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place), "r"(bytes) : "memory");
    while (!there)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(there)
                     : "r"(place), "r"(count >> 1 & 1)
                     : "memory");
#endif
}

//@ k_level
// What must be scaled to be joined is scaled once for LANES neighbours: nothing, but where a struct has its own.
template <int LANES, typename V> K_INLINE void k_level(V &) {
}

//@ k_row_reduce
// What k_join makes of the values of a row's threads, for each of them: TPR threads, a power of two, in each of
// CLUSTER blocks; a block holds RPB rows. All threads of the block call it, for the `count`-th time. Blocks of one row
// have ROUNDS 2; with 1 another call for the same type needs a barrier in between: another reduction is one.
template <int TPR, int RPB, int CLUSTER, int ROUNDS = 1, typename V> K_INLINE V k_row_reduce(V mine, int count = 0) {
    enum { LANES = TPR < 32 ? TPR : 32, WARPS = TPR / LANES, SLOTS = WARPS * CLUSTER };
    k_level<LANES>(mine);
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) mine = k_join(mine, k_shuffle(mine, step));
    if constexpr (SLOTS > 1) {
        enum { WIDTH = SLOTS < 32 ? SLOTS : 32 };
        __shared__ V all[ROUNDS][RPB][SLOTS];
        auto &slots = all[ROUNDS > 1 ? count & 1 : 0];
        const int row = threadIdx.x / TPR, warp = threadIdx.x % TPR / LANES, lane = threadIdx.x % 32;
        if constexpr (CLUSTER > 1) {
            const int rank = blockIdx.x % CLUSTER;
            if (threadIdx.x % LANES < CLUSTER)
                k_meet_send(&slots[0][rank * WARPS + warp], mine, threadIdx.x % LANES, count & 1);
            k_meet_wait(SLOTS * sizeof(V), count);
        } else {
            if (lane == 0) slots[row][warp] = mine;
            __syncthreads();
        }
        mine = slots[row][lane % WIDTH];
#pragma unroll
        for (int k = WIDTH; k < SLOTS; k += WIDTH) mine = k_join(mine, slots[row][lane + k]);
        k_level<WIDTH>(mine);
#pragma unroll
        for (int step = WIDTH / 2; step > 0; step /= 2) mine = k_join(mine, k_shuffle(mine, step));
    }
    return mine;
}

//@ k_row
// A number of vectors, as a type; the number of a vector that is in its row as a whole, with VEC elements behind it where
// rows are not WHOLE, as are the N - 1 next ones of its thread.
template <int N> struct k_items {
    enum { COUNT = N };
};
template <int N, typename I> struct k_whole {
    I v;
    __device__ __forceinline__ operator I() const {
        return v;
    }
};

// A row as its threads see it: vectors that begin at multiples of VEC elements in memory, so that the first and
// the last may reach outside the row; none does if it is WHOLE. Thread `lane` of STRIDE has every STRIDE-th of them.
// `met` counts its reductions.
template <int VECTOR, bool ALL, int TPR, int RPB, int CLUSTER, typename I> struct k_row {
    enum { VEC = VECTOR, WHOLE = ALL, BLOCKS = CLUSTER, STRIDE = TPR * CLUSTER, THREADS = TPR * RPB };
    long long first; // element of vector 0
    I lead, end;     // where the row begins and ends, from there
    I lane;
    mutable int met = 0;

    // Without columns where there is no such row.
    __device__ __forceinline__ k_row(long long row, long long rows, long long cols) {
        const long long begin = row * cols;
        first = WHOLE ? begin : begin / VEC * VEC; // not begin - lead: NVRTC loses the alignment, and splits stores
        lead = (I)(begin - first);
        end = row < rows ? lead + (I)cols : lead;
        lane = (I)(CLUSTER > 1 ? blockIdx.x % CLUSTER * TPR + threadIdx.x : threadIdx.x % TPR);
    }
    __device__ __forceinline__ bool has(I v) const {
        return v * VEC < end;
    }
    __device__ __forceinline__ bool full(I v) const {
        return WHOLE ? has(v) : v * VEC >= lead && v * VEC + VEC <= end;
    }
    __device__ __forceinline__ bool holds(I v, int j) const {
        return WHOLE ? has(v) : v * VEC + j >= lead && v * VEC + j < end;
    }
    template <int N> __device__ __forceinline__ bool has(k_whole<N, I>) const {
        return true;
    }
    template <int N> __device__ __forceinline__ bool full(k_whole<N, I>) const {
        return true;
    }
    template <int N> __device__ __forceinline__ bool holds(k_whole<N, I>, int) const {
        return true;
    }
    __device__ __forceinline__ bool inside(I v) const {
        return WHOLE ? has(v) : v * VEC + 2 * VEC <= end;
    }
    // visit(v, n) for the thread's vectors from its n-th, v, on: N of them if v is a k_whole<N>, ITEMS as often as can be;
    // last those that may reach outside the row, one at a time.
    template <int ITEMS, typename F> __device__ __forceinline__ void walk(F visit) const {
        const bool part = !WHOLE && has(lane) && !full(lane);
        int n = part;
        I v = lane + n * STRIDE;
#pragma unroll 1
        for (; inside(v + (ITEMS - 1) * STRIDE); v += ITEMS * STRIDE, n += ITEMS) visit(k_whole<ITEMS, I>{v}, n);
#pragma unroll 1
        for (; ITEMS > 1 && inside(v); v += STRIDE, n++) visit(k_whole<1, I>{v}, n);
        if (WHOLE) return;
        if (part) v = lane;
#pragma unroll 1
        for (int left = part; left || has(v); left = 0) {
            visit(v, left ? 0 : n);
            v = left ? lane + n * STRIDE : v + STRIDE;
            n += !left;
        }
    }
    // Vector v of an array like this one; `other` where it reaches outside.
    template <typename T, typename V>
    __device__ __forceinline__ k_pack<T, VEC> load(const T *from, V v, T other) const {
        k_pack<T, VEC> pack;
        from += first + v * VEC;
        if (WHOLE) return k_load_or<VEC>(has(v), from, other);
        if (full(v)) return k_load<VEC>(from);
#pragma unroll
        for (int j = 0; j < VEC; j++) pack.at[j] = holds(v, j) ? from[j] : other;
        return pack;
    }
    // The same of an array that has the row elsewhere, at `from`.
    template <typename T, typename V>
    __device__ __forceinline__ k_pack<T, VEC> load_row(const T *from, V v, T other = T(0)) const {
        k_pack<T, VEC> pack;
        from += v * VEC - lead;
        if (WHOLE) return k_load_or<VEC>(has(v), from, other);
#pragma unroll
        for (int j = 0; j < VEC; j++) pack.at[j] = holds(v, j) ? from[j] : other;
        return pack;
    }
    // … and its elements `step` apart.
    template <typename T, typename S, typename V>
    __device__ __forceinline__ k_pack<T, VEC> load_each(const T *from, S step, V v, T other = T(0)) const {
        k_pack<T, VEC> pack;
#pragma unroll
        for (int j = 0; j < VEC; j++) pack.at[j] = holds(v, j) ? from[(v * VEC + j - lead) * step] : other;
        return pack;
    }
    // To shared memory, on its way until k_copy_wait.
    template <typename T, typename V>
    __device__ __forceinline__ void copy(k_pack<T, VEC> *to, const T *from, V v, T other) const {
        enum { BYTES = k_pack<T, VEC>::BYTES };
        if (BYTES >= 4 && full(v))
            k_copy_async<BYTES < 4 ? 4 : BYTES>(to, from + first + v * VEC, true);
        else
            *to = load(from, v, other);
    }
    template <typename T, typename V>
    __device__ __forceinline__ void copy_row(k_pack<T, VEC> *to, const T *from, V v, T other) const {
        enum { BYTES = k_pack<T, VEC>::BYTES };
        if (WHOLE && BYTES >= 4 && has(v))
            k_copy_async<BYTES < 4 ? 4 : BYTES>(to, from + v * VEC, true);
        else
            *to = load_row(from, v, other);
    }
    template <typename T, typename V>
    __device__ __forceinline__ void store(T *to, V v, const k_pack<T, VEC> &pack) const {
        to += first + v * VEC;
        if (full(v)) return k_store<VEC>(to, pack);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            if (!WHOLE && holds(v, j)) to[j] = pack.at[j];
    }
    template <typename T, typename V>
    __device__ __forceinline__ void store_row(T *to, V v, const k_pack<T, VEC> &pack) const {
        to += v * VEC - lead;
        if (WHOLE && has(v)) return k_store<VEC>(to, pack);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            if (!WHOLE && holds(v, j)) to[j] = pack.at[j];
    }
    template <typename T, typename S, typename V>
    __device__ __forceinline__ void store_each(T *to, S step, V v, const k_pack<T, VEC> &pack) const {
#pragma unroll
        for (int j = 0; j < VEC; j++)
            if (holds(v, j)) to[(v * VEC + j - lead) * step] = pack.at[j];
    }
    template <typename V> __device__ __forceinline__ V reduce(V mine) const {
        return k_row_reduce<TPR, RPB, CLUSTER, (CLUSTER > 1 ? 2 : 1)>(mine, met++);
    }
};

//@ k_kept
// A thread's share of a row, kept or read again each time: begin(row), then in each pass each(visit), which calls
// visit(v, seen, i) for its vectors v, the last ones perhaps outside the row, the i-th of the thread. FROM says what is
// read of a vector, `raw`, and what of that is `seen`; and how the block's threads keep raw ones in shared memory, in
// `slots`. Here they are (KEEP 1), or in memory (2), ITEMS vectors at a time, and each(ahead, between, visit) has
// ahead(v, seen, i, raw) for all these, between() and visit.
template <int KEEP, int ITEMS, typename FROM, typename ROW> struct k_kept {
    typedef typename FROM::template slots<ROW::THREADS> slots;
    const FROM from;
    const ROW *row;

    static __device__ __forceinline__ slots *first() {
        KF_SHARED(slots, all);
        return all;
    }
    __device__ __forceinline__ explicit k_kept(const FROM &from) : from(from) {
    }
    // The i-th of N vectors from v on.
    template <int N, typename I> static __device__ __forceinline__ k_whole<1, I> next(k_whole<N, I> v, int i) {
        return {v.v + i * ROW::STRIDE};
    }
    template <typename I> static __device__ __forceinline__ I next(I v, int) {
        return v;
    }
    template <int N, typename I> static __device__ __forceinline__ k_items<N> count(k_whole<N, I>) {
        return {};
    }
    template <typename I> static __device__ __forceinline__ k_items<1> count(I) {
        return {};
    }
    __device__ __forceinline__ void begin(const ROW &now) {
        row = &now;
        if constexpr (KEEP == 1) {
            now.template walk<ITEMS>([&](auto v, int n) {
#pragma unroll
                for (int i = 0; i < decltype(count(v))::COUNT; i++) from.copy(first()[n + i], now, next(v, i));
            });
            k_copy_commit();
            k_copy_wait<0>();
        }
    }
    template <typename V> __device__ __forceinline__ typename FROM::raw get(V v, int n) const {
        if constexpr (KEEP == 1)
            return FROM::fetch(first()[n]);
        else
            return from.load(*row, v);
    }
    template <typename A, typename B, typename F> __device__ __forceinline__ void each(A ahead, B between, F visit) {
        row->template walk<ITEMS>([&](auto v, int n) {
            enum { COUNT = decltype(count(v))::COUNT };
            typename FROM::raw raw[COUNT];
#pragma unroll
            for (int i = 0; i < COUNT; i++) raw[i] = get(next(v, i), n + i);
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                typename FROM::seen seen;
                FROM::see(seen, raw[i]);
                ahead(next(v, i), seen, 0, raw[i]);
            }
            between();
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                typename FROM::seen seen;
                FROM::see(seen, raw[i]);
                visit(next(v, i), seen, 0);
            }
        });
    }
    template <typename F> __device__ __forceinline__ void each(F visit) {
        each([](auto, auto &, int, auto &) {}, [] {}, visit);
    }
};

// In registers, at most ITEMS vectors; what visit writes into them stays.
template <int ITEMS, typename FROM, typename ROW> struct k_kept<0, ITEMS, FROM, ROW> {
    const FROM from;
    const ROW *row;
    typename FROM::seen at[ITEMS];

    __device__ __forceinline__ explicit k_kept(const FROM &from) : from(from) {
    }
    __device__ __forceinline__ void begin(const ROW &now) {
        typename FROM::raw raw[ITEMS];
        row = &now;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) raw[i] = from.load(now, now.lane + i * ROW::STRIDE);
#pragma unroll
        for (int i = 0; i < ITEMS; i++) FROM::see(at[i], raw[i]);
    }
    template <typename F> __device__ __forceinline__ void each(F visit) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) visit(row->lane + i * ROW::STRIDE, at[i], i);
    }
};

//@ k_array
// One array, for k_kept: X says how an element is stored and what it is seen as; `other` stands for what is outside
// the row.
template <typename X, typename ROW> struct k_array {
    typedef typename X::stored stored;
    typedef k_pack<stored, ROW::VEC> raw;
    typedef typename X::real seen[ROW::VEC];
    template <int THREADS> struct slots {
        raw at[THREADS];
    };
    const stored *x;
    stored other;

    template <typename I> __device__ __forceinline__ raw load(const ROW &row, I v) const {
        return row.load(x, v, other);
    }
    template <int N, typename V> __device__ __forceinline__ void copy(slots<N> &to, const ROW &row, V v) const {
        row.copy(&to.at[threadIdx.x], x, v, other);
    }
    template <int N> static __device__ __forceinline__ raw fetch(const slots<N> &from) {
        return from.at[threadIdx.x];
    }
    static __device__ __forceinline__ void see(seen &x, const raw &pack) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) x[j] = X::from(pack.at[j]);
    }
};

//@ k_load_amid
// N elements that begin anywhere: those behind `skip` of 2 N at a multiple of N in memory.
template <int N, typename T> K_INLINE k_pack<T, N> k_load_amid(const T *from, int skip) {
    enum { WORDS = N * (int)sizeof(T) / 4 };
    const k_pack<T, N> low = k_load<N>(from), high = k_load<N>(from + N);
    const int bytes = skip * (int)sizeof(T);
    unsigned int word[2 * WORDS];
    k_pack<T, N> pack;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        word[i] = reinterpret_cast<const unsigned int *>(&low)[i];
        word[WORDS + i] = reinterpret_cast<const unsigned int *>(&high)[i];
    }
#pragma unroll
    for (int step = WORDS / 2; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i + step < 2 * WORDS; i++)
            if (bytes & 4 * step) word[i] = word[i + step];
#pragma unroll
    for (int i = 0; i < WORDS; i++)
        reinterpret_cast<unsigned int *>(&pack)[i] =
            (unsigned int)((word[i] | (unsigned long long)word[i + 1] << 32) >> bytes % 4 * 8);
    return pack;
}

//@ k_columns
// What an array that is one row has for a thread's vectors, read ahead if EARLY.
template <bool EARLY, int ITEMS, typename T, typename ROW> struct k_columns {
    typedef k_pack<T, ROW::VEC> pack;
    const T *const from;
    pack kept[EARLY ? ITEMS : 1];

    __device__ __forceinline__ k_columns(const T *from, const ROW &row) : from(from) {
#pragma unroll
        for (int i = 0; EARLY && i < ITEMS; i++) kept[i] = row.load_row(from, row.lane + i * ROW::STRIDE);
    }
    // Those of vector v, the i-th of the thread.
    template <typename I> __device__ __forceinline__ pack get(const ROW &row, I v, int i) const {
        return EARLY ? kept[i] : row.load_row(from, v);
    }
    template <int N, typename I> __device__ __forceinline__ pack get(const ROW &row, k_whole<N, I> v, int) const {
        if constexpr (ROW::WHOLE || pack::BYTES < 4) {
            return row.load_row(from, v);
        } else {
            const int skip = row.lead ? ROW::VEC - row.lead : 0;
            return k_load_amid<ROW::VEC>(from + v * ROW::VEC - row.lead - skip, skip);
        }
    }
};
