/* Walks along arrays and what reduces: the fourth part of the helpers. */
#include "prelude_c_math.h"

//@ k_least
K_INLINE int64_t k_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

//@ k_first
/* The first n lanes. */
K_INLINE k_mask k_first(int64_t n) {
    k_mask at = {0};
    K_EACH(at, lane);
    return at < (int)k_least(n, K_LANES);
}

//@ k_swap
/* Each lane in the place of the one that is `distance`, a power of two, away. */
K_INLINE k_real k_swap(k_real x, int distance) {
#if defined(__clang__)
    k_real swapped;
    K_EACH(swapped, x[lane ^ distance]);
    return swapped;
#else
    k_mask at;
    K_EACH(at, lane);
    return __builtin_shuffle(x, at ^ distance);
#endif
}

//@ k_sum
/* Of all lanes. */
K_INLINE k_number k_sum(k_real x) {
#pragma GCC unroll 8
    for (int distance = K_LANES / 2; distance > 0; distance /= 2) x += k_swap(x, distance);
    return x[0];
}

//@ k_wide k_widen k_sum_wide
/* Half as many lanes as k_real has, in f64: a register's worth (of two, gcc makes memory). */
typedef double k_wide __attribute__((vector_size(K_LANES / 2 * sizeof(double))));
typedef k_number k_half __attribute__((vector_size(K_LANES / 2 * sizeof(k_number))));
K_INLINE k_wide k_widen(k_real x, int half) {
    union {
        k_real whole;
        k_half half[2];
    } u = {x};
#if defined(__AVX512F__) && K_WIDTH / K_BYTES == 16 && !defined(__clang__)
    return __builtin_ia32_cvtps2pd512_mask(u.half[half], (k_wide){0}, -1, 4); /* gcc 12 makes two */
#else
    return K_TO(k_wide, u.half[half]);
#endif
}
K_INLINE double k_sum_wide(k_wide x) {
#pragma GCC unroll 8
    for (int half = K_LANES / 4; half > 0; half /= 2)
#pragma GCC unroll 16
        for (int lane = 0; lane < half; lane++) x[lane] += x[lane + half];
    return x[0];
}

//@ k_most
/* The largest lane that is no NaN. */
K_INLINE k_number k_most(k_real x) {
#pragma GCC unroll 8
    for (int distance = K_LANES / 2; distance > 0; distance /= 2)
        x = k_larger(k_swap(x, distance), x);
    return x[0];
}

//@ K_LOAD K_STORE : k_part k_stream
/* Elements of tensor x (T_x, V_x, KF_FROM_x, KF_TO_x) at any address as a vector of the compute type
 * and back: the first n of one where n is less than K_LANES, and zeros behind them. With `stream`
 * past the caches; `at` is then aligned to a V_x. */
#define K_LOAD(x, at, n)                                                                           \
    ({                                                                                             \
        V_##x loaded = {0};                                                                        \
        if ((n) >= K_LANES) __builtin_memcpy(&loaded, (at), sizeof loaded);                        \
        else k_part(&loaded, (at), (n) * sizeof(T_##x));                                           \
        KF_FROM_##x(loaded);                                                                       \
    })
#define K_STORE(x, at, value, n, stream)                                                           \
    do {                                                                                           \
        V_##x stored = KF_TO_##x(value);                                                           \
        if ((n) < K_LANES) k_part((at), &stored, (n) * sizeof(T_##x));                             \
        else if (stream) k_stream((at), &stored, sizeof stored);                                   \
        else __builtin_memcpy((at), &stored, sizeof stored);                                       \
    } while (0)

//@ K_WALK
/* vector(row, i, n, stream) for `count` elements of a row from i = 0 on, UNROLL whole vectors at a
 * time; with `stream`, first those before y is aligned. Where less than a vector is left, n says so. */
#define K_WALK(vector, row, y, count, stream)                                                      \
    do {                                                                                           \
        int64_t walked = (stream) ? -(uintptr_t)(y) % sizeof(V_y) / sizeof(T_y) : 0;               \
        walked = k_least(walked, (count));                                                         \
        if (walked > 0) vector((row), 0, walked, 0);                                               \
        for (; walked + UNROLL * K_LANES <= (count); walked += UNROLL * K_LANES)                   \
            _Pragma("GCC unroll 16") for (int u = 0; u < UNROLL; u++)                              \
                vector((row), walked + u * K_LANES, K_LANES, (stream));                            \
        for (; walked < (count); walked += K_LANES)                                                \
            vector((row), walked, (count) - walked, (stream));                                     \
    } while (0)

//@ k_fence
/* Streaming stores are seen by others only behind a fence. */
K_INLINE void k_fence(void) {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

//@ k_aligned
K_INLINE int k_aligned(const void *at) {
    return (uintptr_t)at % K_WIDTH == 0;
}

//@ k_spread
/* Fills a buffer of K_LANES elements with copies of one. */
K_INLINE void k_spread(void *buffer, const void *one, unsigned bytes) {
    for (unsigned l = 0; l < K_LANES; l++) __builtin_memcpy((char *)buffer + l * bytes, one, bytes);
}

//@ k_within : k_select k_first k_all
/* The first n lanes of x, one value in the others. */
K_INLINE k_real k_within(k_real x, int64_t n, k_number rest) {
    return n < K_LANES ? k_select(k_first(n), x, k_all(rest)) : x;
}

//@ k_within_i32 : k_select_i32 k_first k_all_i32
K_INLINE k_i32 k_within_i32(k_i32 x, int64_t n, int32_t rest) {
    return n < K_LANES ? k_select_i32(k_first(n), x, k_all_i32(rest)) : x;
}

//@ k_within_i64 : k_select_i64 k_first k_all_i64
K_INLINE k_i64 k_within_i64(k_i64 x, int64_t n, int64_t rest) {
    return n < K_LANES ? k_select_i64(k_first(n), x, k_all_i64(rest)) : x;
}

//@ k_within_bool : k_select_bool k_first k_all_bool
K_INLINE k_mask k_within_bool(k_mask x, int64_t n, int64_t rest) {
    return n < K_LANES ? k_select_bool(k_first(n), x, k_all_bool(rest)) : x;
}

//@ K_FOLD
/* What all lanes come to, in each of them: by halves. */
#define K_FOLD(name, type, join)                                                                   \
    K_INLINE type name(type x) {                                                                   \
        _Pragma("GCC unroll 8") for (int distance = K_LANES / 2; distance > 0; distance /= 2) {    \
            type other;                                                                            \
            K_EACH(other, x[lane ^ distance]);                                                     \
            x = join(x, other);                                                                    \
        }                                                                                          \
        return x;                                                                                  \
    }

//@ k_join_max k_fold_max : k_select k_swap k_larger
/* a > b || a != a ? a : b: a NaN stays. */
K_INLINE k_real k_join_max(k_real a, k_real b) {
    return k_select(a != a, a, k_larger(a, b));
}
K_INLINE k_real k_fold_max(k_real x) {
#pragma GCC unroll 8
    for (int distance = K_LANES / 2; distance > 0; distance /= 2)
        x = k_join_max(x, k_swap(x, distance));
    return x;
}

//@ k_join_min k_fold_min : k_select k_swap k_smaller
K_INLINE k_real k_join_min(k_real a, k_real b) {
    return k_select(a != a, a, k_smaller(a, b));
}
K_INLINE k_real k_fold_min(k_real x) {
#pragma GCC unroll 8
    for (int distance = K_LANES / 2; distance > 0; distance /= 2)
        x = k_join_min(x, k_swap(x, distance));
    return x;
}

//@ k_join_prod k_fold_prod : k_swap
K_INLINE k_real k_join_prod(k_real a, k_real b) {
    return a * b;
}
K_INLINE k_real k_fold_prod(k_real x) {
#pragma GCC unroll 8
    for (int distance = K_LANES / 2; distance > 0; distance /= 2) x *= k_swap(x, distance);
    return x;
}

//@ k_join_max_i32 k_fold_max_i32 : k_fmax_i32 K_FOLD K_EACH
#define k_join_max_i32 k_fmax_i32
K_FOLD(k_fold_max_i32, k_i32, k_fmax_i32)

//@ k_join_min_i32 k_fold_min_i32 : k_fmin_i32 K_FOLD K_EACH
#define k_join_min_i32 k_fmin_i32
K_FOLD(k_fold_min_i32, k_i32, k_fmin_i32)

//@ k_join_max_i64 k_fold_max_i64 : k_fmax_i64 K_FOLD K_EACH
#define k_join_max_i64 k_fmax_i64
K_FOLD(k_fold_max_i64, k_i64, k_fmax_i64)

//@ k_join_min_i64 k_fold_min_i64 : k_fmin_i64 K_FOLD K_EACH
#define k_join_min_i64 k_fmin_i64
K_FOLD(k_fold_min_i64, k_i64, k_fmin_i64)

//@ k_join_sum_i64 k_fold_sum_i64 : k_add_i64 K_FOLD K_EACH
#define k_join_sum_i64 k_add_i64
K_FOLD(k_fold_sum_i64, k_i64, k_add_i64)

//@ k_join_prod_i64 k_fold_prod_i64 : k_mul_i64 K_FOLD K_EACH
#define k_join_prod_i64 k_mul_i64
K_FOLD(k_fold_prod_i64, k_i64, k_mul_i64)

//@ k_join_max_bool k_fold_max_bool : K_FOLD K_EACH
K_INLINE k_mask k_join_max_bool(k_mask a, k_mask b) {
    return a | b;
}
K_FOLD(k_fold_max_bool, k_mask, k_join_max_bool)

//@ k_join_min_bool k_fold_min_bool : K_FOLD K_EACH
K_INLINE k_mask k_join_min_bool(k_mask a, k_mask b) {
    return a & b;
}
K_FOLD(k_fold_min_bool, k_mask, k_join_min_bool)

//@ k_moments k_merge
/* Of parts of a row, from those of each (Chan, Golub, LeVeque). */
typedef struct k_moments {
    double count, mean, squares; /* the sum of squared distances from the mean */
} k_moments;
K_INLINE k_moments k_merge(k_moments a, k_moments b) {
    if (a.count == 0) return b;
    const double count = a.count + b.count, apart = b.mean - a.mean;
    return (k_moments){count, a.mean + apart * (b.count / count),
                       a.squares + b.squares + apart * apart * (a.count * b.count / count)};
}

//@ k_rest
/* What rounding x to k_number takes from it. */
K_INLINE k_number k_rest(double x) {
    const k_number near = (k_number)x;
    return near - near == 0 ? (k_number)(x - near) : 0;
}

//@ K_COPIES : k_spread
/* K_LANES copies of an element, by the k_get of its type. */
#define K_COPIES(get, at)                                                                          \
    ({                                                                                             \
        char copies[K_LANES * sizeof *(at)] __attribute__((aligned(K_WIDTH)));                     \
        k_spread(copies, (at), sizeof *(at));                                                      \
        get((const void *)copies);                                                                 \
    })

//@ K_FETCH : k_part
/* The first n of K_LANES elements, zeros behind them. */
#define K_FETCH(get, at, n)                                                                        \
    ({                                                                                             \
        char part[K_LANES * sizeof *(at)] __attribute__((aligned(K_WIDTH))) = {0};                 \
        if ((n) < K_LANES) k_part(part, (at), (n) * sizeof *(at));                                 \
        (n) < K_LANES ? get((const void *)part) : get(at);                                         \
    })

//@ K_GATHER
/* Likewise of elements that lie `step` apart. */
#define K_GATHER(get, at, step, n)                                                                 \
    ({                                                                                             \
        char part[K_LANES * sizeof *(at)] __attribute__((aligned(K_WIDTH))) = {0};                 \
        for (int64_t lane = 0; lane < (n); lane++)                                                 \
            __builtin_memcpy(part + lane * sizeof *(at), (at) + lane * (step), sizeof *(at));      \
        get((const void *)part);                                                                   \
    })

//@ K_PLACE : k_part
/* Stores the first n lanes, all of them past the caches with `stream`. */
#define K_PLACE(put, at, value, n, stream)                                                         \
    do {                                                                                           \
        char part[K_LANES * sizeof *(at)] __attribute__((aligned(K_WIDTH)));                       \
        if ((n) >= K_LANES) {                                                                      \
            put((at), (value), (stream));                                                          \
        } else {                                                                                   \
            put((void *)part, (value), 0);                                                         \
            k_part((at), part, (n) * sizeof *(at));                                                \
        }                                                                                          \
    } while (0)

//@ K_SCATTER
#define K_SCATTER(put, at, step, value, n)                                                         \
    do {                                                                                           \
        char part[K_LANES * sizeof *(at)] __attribute__((aligned(K_WIDTH)));                       \
        put((void *)part, (value), 0);                                                             \
        for (int64_t lane = 0; lane < (n); lane++)                                                 \
            __builtin_memcpy((at) + lane * (step), part + lane * sizeof *(at), sizeof *(at));      \
    } while (0)

//@ K_PIECE
/* Elements of a row that are added in the compute type; what they come to is added in f64: of 2^20
 * equal numbers, f32 alone loses half the digits. */
enum { K_PIECE = 8192 };

//@ K_NOT_AHEAD
#define K_NOT_AHEAD(row, number, i)

//@ K_SWEEP : k_least
/* step(row, i, n, sums) for elements [begin, end) of a row, __UNROLL__ vectors at a time, each with
 * sums of its own; meanwhile ahead(row, number, i). */
#define K_SWEEP(step, ahead, number, row, begin, end, sums)                                        \
    do {                                                                                           \
        int64_t at = (begin);                                                                      \
        for (; at + __UNROLL__ * K_LANES <= (end); at += __UNROLL__ * K_LANES)                     \
            _Pragma("GCC unroll 16") for (int u = 0; u < __UNROLL__; u++) {                        \
                ahead((row), (number), at + u * K_LANES);                                          \
                step((row), at + u * K_LANES, K_LANES, &(sums)[u]);                                \
            }                                                                                      \
        for (; at < (end); at += K_LANES)                                                          \
            step((row), at, k_least((end) - at, K_LANES), &(sums)[0]);                             \
    } while (0)

//@ K_STORES : k_least
/* step(row, i, n, stream) for all of a row; the first `lead` elements by themselves. */
#define K_STORES(step, ahead, number, row, lead, stream)                                           \
    do {                                                                                           \
        int64_t at = (lead);                                                                       \
        if (at > 0) step((row), 0, at, 0);                                                         \
        for (; at + __UNROLL__ * K_LANES <= (row)->cols; at += __UNROLL__ * K_LANES)               \
            _Pragma("GCC unroll 16") for (int u = 0; u < __UNROLL__; u++) {                        \
                ahead((row), (number), at + u * K_LANES);                                          \
                step((row), at + u * K_LANES, K_LANES, (stream));                                  \
            }                                                                                      \
        for (; at < (row)->cols; at += K_LANES)                                                    \
            step((row), at, k_least((row)->cols - at, K_LANES), (stream));                         \
    } while (0)

//@ k_before k_fits
/* Elements before an array is aligned to a vector of them; whether it is there. */
#define k_before(at) (int64_t)(-(uintptr_t)(at) % (K_LANES * sizeof *(at)) / sizeof *(at))
#define k_fits(at) ((uintptr_t)(at) % (K_LANES * sizeof *(at)) == 0)

//@ K_MORE K_LESS
#define K_MORE(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define K_LESS(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

//@ k_deviations k_deviate
/* Of `step` elements in each lane: their mean, counted from the first so that a large mean takes no
 * digits, and the sum of squared distances from it (Welford). */
typedef struct k_deviations {
    k_real first, mean, squares;
} k_deviations;
K_INLINE void k_deviate(k_deviations *to, k_real x, int64_t step) {
    if (step == 0) to->first = x;
    const k_real d = x - to->first, apart = d - to->mean;
    to->mean += apart * ((k_number)1 / (k_number)(step + 1));
    to->squares += apart * (d - to->mean);
}

//@ k_deviation k_unite
/* Likewise of some elements together (Chan, Golub, LeVeque). */
typedef struct k_deviation {
    double count, first, mean, squares;
} k_deviation;
K_INLINE void k_unite(k_deviation *to, k_deviation from) {
    const double all = to->count + from.count, weight = from.count / all;
    const double apart = (from.first - to->first) + (from.mean - to->mean);
    if (from.count == 0) return;
    if (to->count == 0) {
        *to = from;
        return;
    }
    to->mean += apart * weight;
    to->squares += from.squares + apart * apart * (to->count * weight);
    to->count = all;
}

//@ K_STEPS
/* Vectors that are added in the compute type, one behind the other; what they come to is added in f64:
 * of 2^24 equal numbers, f32 alone loses half the digits. */
enum { K_STEPS = 32 };

//@ k_sum_lanes : k_widen k_sum_wide
/* Of all lanes, in f64. */
K_INLINE double k_sum_lanes(k_real x) {
#if K_F64
    double sum = 0;
    for (int lane = 0; lane < K_LANES; lane++) sum += x[lane];
    return sum;
#else
    return k_sum_wide(k_widen(x, 0) + k_widen(x, 1));
#endif
}
