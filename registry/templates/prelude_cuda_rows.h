// What reduces, and rows as their threads see them: the third part of the helpers.
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

//@ k_copy_part
// The first `bytes` of 16 or 8 into shared memory, zeros behind them, on their way until k_copy_wait.
template <int BYTES> K_INLINE void k_copy_part(void *to, const void *from, int bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at), "l"(from), "r"(bytes));
#else
    for (int i = 0; i < BYTES; i++)
        static_cast<unsigned char *>(to)[i] = i < bytes ? static_cast<const unsigned char *>(from)[i] : 0;
#endif
}

//@ k_row
// A row as its threads see it: vectors that begin at multiples of VEC elements in memory, so that the first and
// the last may reach outside the row; none does if it is WHOLE. Thread `lane` of STRIDE has every STRIDE-th of them.
// FLOWS if a thread takes several without a barrier in between; `met` counts its reductions.
template <int VECTOR, bool ALL, int TPR, int RPB, int CLUSTER, typename I, bool FLOWING = false> struct k_row {
    enum { VEC = VECTOR, WHOLE = ALL, BLOCKS = CLUSTER, STRIDE = TPR * CLUSTER, THREADS = TPR * RPB, FLOWS = FLOWING };
    long long first; // element of vector 0
    I lead, end;     // where the row begins and ends, from there
    I there;         // of its vectors, what is there of an array like this one
    I lane;
    mutable int met;

    // Without columns where there is no such row.
    __device__ __forceinline__ k_row(long long row, long long rows, long long cols, int met = 0) : met(met) {
        const long long begin = row * cols;
        lead = WHOLE ? 0 : (I)(begin % VEC);
        first = begin - lead;
        end = row < rows ? lead + (I)cols : lead;
        const long long rest = rows * cols - first, all = (end + VEC - 1) / VEC * (long long)VEC;
        there = (I)(rest < all ? rest : all);
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
    // Vector v of an array like this one; `other` where it reaches outside.
    template <bool ONCE, typename T>
    __device__ __forceinline__ k_pack<T, VEC> load(const T *from, I v, T other) const {
        k_pack<T, VEC> pack;
        from += first + v * VEC;
        if (full(v)) return k_load<VEC>(from);
#pragma unroll
        for (int j = 0; j < VEC; j++) pack.at[j] = !WHOLE && holds(v, j) ? from[j] : other;
        return pack;
    }
    // The same of an array that has the row elsewhere, at `from`.
    template <bool ONCE = false, typename T>
    __device__ __forceinline__ k_pack<T, VEC> load_row(const T *from, I v, T other = T(0)) const {
        k_pack<T, VEC> pack;
        from += v * VEC - lead;
        if (WHOLE && has(v)) return k_load<VEC>(from);
#pragma unroll
        for (int j = 0; j < VEC; j++) pack.at[j] = !WHOLE && holds(v, j) ? from[j] : other;
        return pack;
    }
    // … and its elements `step` apart.
    template <typename T, typename S>
    __device__ __forceinline__ k_pack<T, VEC> load_each(const T *from, S step, I v, T other = T(0)) const {
        k_pack<T, VEC> pack;
#pragma unroll
        for (int j = 0; j < VEC; j++) pack.at[j] = holds(v, j) ? from[(v * VEC + j - lead) * step] : other;
        return pack;
    }
    // To shared memory, on its way until k_copy_wait.
    template <typename T>
    __device__ __forceinline__ void copy(k_pack<T, VEC> *to, const T *from, I v, T other) const {
        enum { BYTES = k_pack<T, VEC>::BYTES };
        if (BYTES >= 4 && full(v))
            k_copy_async<BYTES < 4 ? 4 : BYTES>(to, from + first + v * VEC, true);
        else
            *to = load<true>(from, v, other);
    }
    template <typename T>
    __device__ __forceinline__ void copy_row(k_pack<T, VEC> *to, const T *from, I v, T other) const {
        enum { BYTES = k_pack<T, VEC>::BYTES };
        if (WHOLE && BYTES >= 4 && has(v))
            k_copy_async<BYTES < 4 ? 4 : BYTES>(to, from + v * VEC, true);
        else
            *to = load_row<true>(from, v, other);
    }
    // The same with what is outside the row as it is in the array, for `mend`: nothing waits. SURE that the row has it.
    template <bool SURE, typename T>
    __device__ __forceinline__ void copy_all(k_pack<T, VEC> *to, const T *from, I v, T other) const {
        enum { BYTES = k_pack<T, VEC>::BYTES, SIZE = BYTES < 8 ? 8 : BYTES };
        if (BYTES < 8 || !(SURE || has(v))) return copy(to, from, v, other);
        from += first + v * VEC;
        if (WHOLE) return k_copy_async<SIZE>(to, from, true);
        k_copy_part<SIZE>(to, from, (int)(there - v * VEC < VEC ? there - v * VEC : VEC) * (int)sizeof(T));
    }
    // Vector v as it is seen: whether it reaches outside the row.
    template <typename T> __device__ __forceinline__ bool mend(k_pack<T, VEC> &pack, I v, T other) const {
        if (WHOLE || full(v)) return false;
#pragma unroll
        for (int j = 0; j < VEC; j++)
            if (!holds(v, j)) pack.at[j] = other;
        return true;
    }
    template <typename T>
    __device__ __forceinline__ void store(T *to, I v, const k_pack<T, VEC> &pack) const {
        to += first + v * VEC;
        if (full(v)) return k_store<VEC>(to, pack);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            if (!WHOLE && holds(v, j)) to[j] = pack.at[j];
    }
    template <typename T>
    __device__ __forceinline__ void store_row(T *to, I v, const k_pack<T, VEC> &pack) const {
        to += v * VEC - lead;
        if (WHOLE && has(v)) return k_store<VEC>(to, pack);
#pragma unroll
        for (int j = 0; j < VEC; j++)
            if (!WHOLE && holds(v, j)) to[j] = pack.at[j];
    }
    template <typename T, typename S>
    __device__ __forceinline__ void store_each(T *to, S step, I v, const k_pack<T, VEC> &pack) const {
#pragma unroll
        for (int j = 0; j < VEC; j++)
            if (holds(v, j)) to[(v * VEC + j - lead) * step] = pack.at[j];
    }
    template <typename V> __device__ __forceinline__ V reduce(V mine) const {
        return k_row_reduce<TPR, RPB, CLUSTER, (FLOWS || CLUSTER > 1 ? 2 : 1)>(mine, met++);
    }
};

//@ k_kept
// A thread's share of a row, kept or read again each time: begin(row, passes), then in each pass each(visit), which calls
// visit(v, seen, i) for its vectors v, the last ones perhaps outside the row, the i-th of the thread. FROM says what is
// read of a vector, `raw`, and what of that is `seen`; and how the block's threads keep raw ones in shared memory, in
// `slots`.
template <int KEEP, int ITEMS, typename FROM, typename ROW> struct k_kept;

// In registers, at most ITEMS vectors; what visit writes into them stays.
template <int ITEMS, typename FROM, typename ROW> struct k_kept<0, ITEMS, FROM, ROW> {
    const FROM from;
    const ROW *row;
    typename FROM::seen at[ITEMS];

    __device__ __forceinline__ explicit k_kept(const FROM &from) : from(from) {
    }
    __device__ __forceinline__ void begin(const ROW &now, int) {
        typename FROM::raw raw[ITEMS];
        row = &now;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) raw[i] = from.template load<true>(now, now.lane + i * ROW::STRIDE);
#pragma unroll
        for (int i = 0; i < ITEMS; i++) FROM::see(at[i], raw[i]);
    }
    template <typename F> __device__ __forceinline__ void each(F visit) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) visit(row->lane + i * ROW::STRIDE, at[i], i);
    }
};

// In shared memory.
template <int ITEMS, typename FROM, typename ROW> struct k_kept<1, ITEMS, FROM, ROW> {
    typedef typename FROM::template slots<ROW::THREADS> slots;
    const FROM from;
    const ROW *row;

    static __device__ __forceinline__ slots *first() {
        KF_SHARED(slots, all);
        return all;
    }
    __device__ __forceinline__ explicit k_kept(const FROM &from) : from(from) {
    }
    __device__ __forceinline__ void begin(const ROW &now, int) {
        slots *slot = first();
        row = &now;
#pragma unroll ITEMS
        for (int v = now.lane; now.has(v); v += ROW::STRIDE, slot++) from.copy(*slot, now, v);
        k_copy_commit();
        k_copy_wait<0>();
    }
    template <typename F> __device__ __forceinline__ void each(F visit) {
        const slots *slot = first();
#pragma unroll ITEMS
        for (int v = row->lane; row->has(v); v += ROW::STRIDE, slot++) {
            typename FROM::seen seen;
            FROM::see(seen, FROM::fetch(*slot));
            visit(v, seen, 0);
        }
    }
};

// In memory, ITEMS vectors on their way at a time.
template <int ITEMS, typename FROM, typename ROW> struct k_kept<2, ITEMS, FROM, ROW> {
    const FROM from;
    const ROW *row;

    __device__ __forceinline__ explicit k_kept(const FROM &from) : from(from) {
    }
    __device__ __forceinline__ void begin(const ROW &now, int) {
        row = &now;
    }
    template <typename F> __device__ __forceinline__ void each(F visit) {
        for (auto v = row->lane; row->has(v); v += ROW::STRIDE * ITEMS) {
            typename FROM::raw raw[ITEMS];
#pragma unroll
            for (int i = 0; i < ITEMS; i++) raw[i] = from.template load<false>(*row, v + i * ROW::STRIDE);
#pragma unroll
            for (int i = 0; i < ITEMS; i++) {
                typename FROM::seen seen;
                FROM::see(seen, raw[i]);
                visit(v + i * ROW::STRIDE, seen, 0);
            }
        }
    }
};

//@ k_ring
// The same for all rows of a thread, in shared memory, with the next ones on their way: a ring of steps of ITEMS vectors in
// BYTES, which the last pass over a row leaves to what comes. A thread fetches what it reads itself, so that none waits for
// another. find(at) is what is read of row `at`, a number of type N; rows are `apart`.
template <int ITEMS, typename FROM, typename ROW, typename N, typename FIND, int BYTES> struct k_ring {
    typedef typename FROM::template slots<ROW::THREADS> slots;
    enum { FIT = BYTES / (ITEMS * (int)sizeof(slots)), STEPS = FIT < 32 ? FIT : 32 };
    const FIND &find;
    const N apart, rows, cols;
    N at; // the row that is fetched, from vector v on, into step `to`
    ROW coming;
    FROM from;
    int v, to;
    const ROW *row; // the row that is kept, from step `start` on
    int start, pass, passes;

    static __device__ __forceinline__ slots *step(int number) {
        KF_SHARED(slots, all);
        return all + number * ITEMS;
    }
    static __device__ __forceinline__ int behind(int number) {
        return number + 1 == STEPS ? 0 : number + 1;
    }
    __device__ __forceinline__ k_ring(const FIND &find, N at, N apart, N rows, N cols)
        : find(find), apart(apart), rows(rows), cols(cols), at(at), coming(at, rows, cols), from(find(at)),
          v(coming.lane), to(0), start(0) {
        skip();
#pragma unroll 1
        for (int i = 0; i < STEPS; i++) fetch();
    }
    // To a row of which this thread has vectors.
    __device__ __forceinline__ void skip() {
        while (at < rows && !coming.has(v)) {
            at += apart;
            coming = ROW(at, rows, cols);
            from = find(at);
            v = coming.lane;
        }
    }
    // A group of copies ends where the next begins.
    __device__ __forceinline__ void fetch() {
        k_copy_commit();
        if (at < rows) {
            slots *const slot = step(to);
            if (coming.has(v + (ITEMS - 1) * ROW::STRIDE)) {
#pragma unroll
                for (int i = 0; i < ITEMS; i++) from.template copy_all<true>(slot[i], coming, v + i * ROW::STRIDE);
            } else {
#pragma unroll 1
                for (int i = 0; i < ITEMS; i++) from.template copy_all<false>(slot[i], coming, v + i * ROW::STRIDE);
            }
            v += ROW::STRIDE * ITEMS;
            skip();
        }
        to = behind(to);
    }
    __device__ __forceinline__ void begin(const ROW &now, int count) {
        row = &now;
        passes = count;
        pass = 0;
    }
    // Of what was fetched, STEPS groups begin with the step that is due, as the first pass ends one in each: all but the
    // last STEPS - 1 must be there.
    template <typename F> __device__ __forceinline__ void each(F visit) {
        const bool first = pass == 0, last = ++pass == passes;
        int due = start, count = 0;
        for (int v = row->lane; row->has(v); v += ROW::STRIDE * ITEMS, count += ITEMS, due = behind(due)) {
            slots *const slot = step(due);
            typename FROM::raw raw[ITEMS];
            if (first) {
                k_copy_commit();
                k_copy_wait<STEPS - 1>();
            }
#pragma unroll
            for (int i = 0; i < ITEMS; i++) {
                raw[i] = FROM::fetch(slot[i]);
                if (first) from.mend(slot[i], raw[i], *row, v + i * ROW::STRIDE);
            }
#pragma unroll
            for (int i = 0; i < ITEMS; i++) {
                typename FROM::seen seen;
                FROM::see(seen, raw[i]);
                visit(v + i * ROW::STRIDE, seen, count + i);
            }
            if (last) fetch();
        }
        if (last) start = due;
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

    template <bool ONCE, typename I> __device__ __forceinline__ raw load(const ROW &row, I v) const {
        return row.template load<ONCE>(x, v, other);
    }
    template <int N> __device__ __forceinline__ void copy(slots<N> &to, const ROW &row, int v) const {
        row.copy(&to.at[threadIdx.x], x, v, other);
    }
    template <bool SURE, int N>
    __device__ __forceinline__ void copy_all(slots<N> &to, const ROW &row, int v) const {
        row.template copy_all<SURE>(&to.at[threadIdx.x], x, v, other);
    }
    template <int N> static __device__ __forceinline__ raw fetch(const slots<N> &from) {
        return from.at[threadIdx.x];
    }
    template <int N> __device__ __forceinline__ void mend(slots<N> &slot, raw &pack, const ROW &row, int v) const {
        if (row.mend(pack, v, other)) slot.at[threadIdx.x] = pack;
    }
    static __device__ __forceinline__ void see(seen &x, const raw &pack) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) x[j] = X::from(pack.at[j]);
    }
};

//@ k_columns
// What an array that is one row has for a thread's vectors: EARLY 1 reads it ahead into registers, 2 into shared memory,
// COUNT of its vectors at `at`.
template <int EARLY, int ITEMS, typename T, typename ROW> struct k_columns {
    typedef k_pack<T, ROW::VEC> pack;
    const T *const from;
    pack kept[EARLY == 1 ? ITEMS : 1];
    pack *const at;

    __device__ __forceinline__ k_columns(const T *from, const ROW &row, void *to = 0, int count = 0)
        : from(from), at(static_cast<pack *>(to) + threadIdx.x) {
#pragma unroll
        for (int i = 0; EARLY == 1 && i < ITEMS; i++) kept[i] = row.load_row(from, row.lane + i * ROW::STRIDE);
#pragma unroll 4
        for (int i = 0; EARLY == 2 && i < count; i++)
            at[i * ROW::THREADS] = row.load_row(from, row.lane + i * ROW::STRIDE);
    }
    // Those of vector v, the i-th of the thread.
    template <typename I> __device__ __forceinline__ pack get(const ROW &row, I v, int i) const {
        return EARLY == 2 ? at[i * ROW::THREADS] : EARLY == 1 ? kept[i] : row.load_row(from, v);
    }
};

//@ k_plus k_times
// Whole numbers wrap.
template <typename R> K_INLINE R k_plus(R a, R b) {
    return a + b;
}
template <typename R> K_INLINE R k_times(R a, R b) {
    return a * b;
}
K_INLINE long long k_plus(long long a, long long b) {
    return (long long)((unsigned long long)a + (unsigned long long)b);
}
K_INLINE long long k_times(long long a, long long b) {
    return (long long)((unsigned long long)a * (unsigned long long)b);
}

//@ k_total
// Reductions on their way, k_total to k_moments: k_take takes elements, k_join what others took.
template <typename R> struct k_total {
    R x;
};
template <typename R> K_INLINE k_total<R> k_join(k_total<R> a, k_total<R> b) {
    return {k_plus(a.x, b.x)};
}
template <typename R, int N> K_INLINE void k_take(k_total<R> &to, const R (&x)[N]) {
    R sum = x[0];
#pragma unroll
    for (int j = 1; j < N; j++) sum = k_plus(sum, x[j]);
    to.x = k_plus(to.x, sum);
}

//@ k_product
template <typename R> struct k_product {
    R x;
};
template <typename R> K_INLINE k_product<R> k_join(k_product<R> a, k_product<R> b) {
    return {k_times(a.x, b.x)};
}
template <typename R, int N> K_INLINE void k_take(k_product<R> &to, const R (&x)[N]) {
#pragma unroll
    for (int j = 0; j < N; j++) to.x = k_times(to.x, x[j]);
}

//@ k_largest
template <typename R> struct k_largest {
    R x;
};
template <typename R> K_INLINE k_largest<R> k_join(k_largest<R> a, k_largest<R> b) {
    return {k_max(a.x, b.x)};
}
template <typename R, int N> K_INLINE void k_take(k_largest<R> &to, const R (&x)[N]) {
#pragma unroll
    for (int j = 0; j < N; j++) to = k_join(to, k_largest<R>{x[j]});
}

//@ k_smallest
template <typename R> struct k_smallest {
    R x;
};
template <typename R> K_INLINE k_smallest<R> k_join(k_smallest<R> a, k_smallest<R> b) {
    return {k_min(a.x, b.x)};
}
template <typename R, int N> K_INLINE void k_take(k_smallest<R> &to, const R (&x)[N]) {
#pragma unroll
    for (int j = 0; j < N; j++) to = k_join(to, k_smallest<R>{x[j]});
}

//@ k_moments
// The mean of `count` elements, counted from one of them so that a large mean takes no digits, and the sum of squared
// distances from it (Chan, Golub, LeVeque: "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances").
// Of quarters of elements: no distance between finite ones overflows.
template <typename R> struct k_moments {
    R count, first, mean, squares;
};
template <typename R> K_INLINE R k_variance(const k_moments<R> &all) {
    return all.squares / all.count * 16;
}
// `apart`: from a's mean to that of `count` others.
template <typename R> K_INLINE k_moments<R> k_merge(const k_moments<R> &a, R count, R apart, R squares) {
    if (a.count == 0) return {count, a.first, a.mean + apart, squares};
    const R all = a.count + count, weight = count / all;
    return {all, a.first, a.mean + apart * weight, a.squares + squares + apart * apart * (a.count * weight)};
}
template <typename R> K_INLINE k_moments<R> k_join(const k_moments<R> &a, const k_moments<R> &b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    return k_merge(a, b.count, (b.first - a.first) + (b.mean - a.mean), b.squares);
}
template <typename R, int N> K_INLINE void k_take(k_moments<R> &to, const R (&x)[N]) {
    R d[N], sum = 0, squares = 0;
    if (to.count == 0) to.first = x[0] * (R)0.25;
#pragma unroll
    for (int j = 0; j < N; j++) sum += d[j] = x[j] * (R)0.25 - to.first;
    const R mean = sum / N;
#pragma unroll
    for (int j = 0; j < N; j++) squares += (d[j] - mean) * (d[j] - mean);
    to = k_merge(to, (R)N, mean - to.mean, squares);
}
// Those elements of a row's vector v that are in the row.
template <typename R, int N, typename ROW, typename I>
K_INLINE void k_take(k_moments<R> &to, const R (&x)[N], const ROW &row, I v) {
    R d[N], count = 0, sum = 0, squares = 0;
    if (!row.has(v)) return;
    if (ROW::WHOLE) return k_take(to, x);
#pragma unroll
    for (int j = N - 1; j >= 0; j--)
        if (to.count == 0 && row.holds(v, j)) to.first = x[j] * (R)0.25;
#pragma unroll
    for (int j = 0; j < N; j++) {
        d[j] = row.holds(v, j) ? x[j] * (R)0.25 - to.first : 0;
        count += row.holds(v, j);
        sum += d[j];
    }
    const R mean = sum / count;
#pragma unroll
    for (int j = 0; j < N; j++) {
        const R apart = row.holds(v, j) ? d[j] - mean : 0;
        squares += apart * apart;
    }
    to = k_merge(to, count, mean - to.mean, squares);
}

//@ k_column_reduce
// What k_join makes of the values of threads ACROSS apart in a block of ACROSS x DOWN, powers of two: the first
// ACROSS threads have it. All threads of the block call it.
template <int ACROSS, int DOWN, typename V> K_INLINE V k_column_reduce(V mine) {
    if constexpr (DOWN > 1) {
        KF_SHARED(V, slots);
        const int line = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS;
        for (int half = DOWN / 2; half > 0; half /= 2) {
            if (line >= half && line < 2 * half) slots[(line - half) * ACROSS + column] = mine;
            __syncthreads();
            if (line < half) mine = k_join(mine, slots[line * ACROSS + column]);
            __syncthreads();
        }
    }
    return mine;
}

//@ k_lead
// Elements before the first vector of N that may be read at once.
template <int N, typename T> K_INLINE int k_lead(const T *from) {
    const int past = (int)((unsigned long long)from % k_pack<T, N>::PIECE / sizeof(T));
    return past ? k_pack<T, N>::PIECE / (int)sizeof(T) - past : 0;
}

//@ k_aligned
template <int N, typename T> K_INLINE bool k_aligned(const T *from) {
    return (unsigned long long)from % k_pack<T, N>::PIECE == 0;
}

//@ k_place
// Where vector v begins, behind `lead` elements; of single elements, those that vectors leave: `lead` before `gap`
// others, and what is behind.
template <int N> K_INLINE k_index k_place(k_index v, k_index lead, k_index gap) {
    return N > 1 ? lead + v * N : v + (v >= lead ? gap : 0);
}

//@ k_load_some
// The first `count` of N elements, all of them at once if WIDE.
template <bool WIDE, int N, typename T, typename I> K_INLINE k_pack<T, N> k_load_some(const T *from, I count) {
    if constexpr (WIDE) return k_load<N>(from);
    k_pack<T, N> pack;
#pragma unroll
    for (int j = 0; j < N; j++) pack.at[j] = j < count ? from[j] : T(0);
    return pack;
}

//@ k_load_each
// N elements, `step` apart.
template <int N, typename T, typename I> K_INLINE k_pack<T, N> k_load_each(const T *from, I step) {
    k_pack<T, N> pack;
    if (step == 1 && k_aligned<N>(from)) return k_load<N>(from);
#pragma unroll
    for (int j = 0; j < N; j++) pack.at[j] = from[j * step];
    return pack;
}
