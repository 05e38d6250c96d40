// Reductions on their way, over whichever axes: the fourth part of the helpers.
#include "prelude_cuda_rows.h"

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
    if (row.full(v)) return k_take(to, x);
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
