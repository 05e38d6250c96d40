#include <stdint.h>

/* Vectors of K_LANES elements: as many as the machine's widest register holds of the widest type at
 * work (K_BYTES). k_real is the compute type (K_F64), k_mask a truth value a lane: all bits or
 * none. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define K_WIDTH 64
#elif defined(__AVX2__)
#define K_WIDTH 32
#else
#define K_WIDTH 16
#endif
enum { K_LANES = K_WIDTH / K_BYTES };
#define K_INLINE static inline __attribute__((always_inline, unused))
/* k_f32_at: the same in memory, aligned to one element. */
#define K_VECTOR(name, type)                                                                       \
    typedef type name __attribute__((vector_size(K_LANES * sizeof(type))));                        \
    typedef type name##_at                                                                         \
        __attribute__((vector_size(K_LANES * sizeof(type)), aligned(sizeof(type)), may_alias));
K_VECTOR(k_f32, float)
K_VECTOR(k_f64, double)
K_VECTOR(k_i32, int32_t)
K_VECTOR(k_i64, int64_t)
#if K_F64
typedef k_f64 k_real;
typedef k_f64_at k_real_at;
typedef k_i64 k_mask;
typedef double k_number;
#define K_LIBM(name) name
#else
typedef k_f32 k_real;
typedef k_f32_at k_real_at;
typedef k_i32 k_mask;
typedef float k_number;
#define K_LIBM(name) name##f
#endif
#define K_TO(type, vector) __builtin_convertvector(vector, type)

//@ k_u32
K_VECTOR(k_u32, uint32_t)

//@ k_u64
K_VECTOR(k_u64, uint64_t)

//@ k_i16
K_VECTOR(k_i16, int16_t)

//@ k_u16 k_u16_at
K_VECTOR(k_u16, uint16_t)

//@ k_i8 k_i8_at
K_VECTOR(k_i8, int8_t)

//@ k_u8 k_u8_at
K_VECTOR(k_u8, uint8_t)

//@ K_EACH
#define K_EACH(result, expression)                                                                 \
    for (int lane = 0; lane < K_LANES; lane++) (result)[lane] = (expression)

//@ K_SIGN
/* The bit of each lane that is a number's sign. */
#define K_SIGN ((k_mask)(-(k_real){0}))

//@ K_INF
#define K_INF ((k_number)__builtin_inf())

//@ K_NAN
#define K_NAN ((k_number)__builtin_nan(""))

//@ k_all
/* One value in every lane (x - 0 is x, a zero's sign included). */
K_INLINE k_real k_all(k_number x) {
    return x - (k_real){0};
}

//@ k_all_i32
K_INLINE k_i32 k_all_i32(int32_t x) {
    return x - (k_i32){0};
}

//@ k_all_i64
K_INLINE k_i64 k_all_i64(int64_t x) {
    return x - (k_i64){0};
}

//@ k_all_bool
K_INLINE k_mask k_all_bool(int64_t x) {
    return x != 0 ? ~(k_mask){0} : (k_mask){0};
}

//@ k_mask_of
/* A comparison of lanes that are not as wide as a mask's. */
#define k_mask_of(comparison) K_TO(k_mask, comparison)

//@ k_select
K_INLINE k_real k_select(k_mask m, k_real a, k_real b) {
    return (k_real)((m & (k_mask)a) | (~m & (k_mask)b));
}

//@ k_select_i32
K_INLINE k_i32 k_select_i32(k_mask m, k_i32 a, k_i32 b) {
    return (K_TO(k_i32, m) & a) | (~K_TO(k_i32, m) & b);
}

//@ k_select_i64
K_INLINE k_i64 k_select_i64(k_mask m, k_i64 a, k_i64 b) {
    return (K_TO(k_i64, m) & a) | (~K_TO(k_i64, m) & b);
}

//@ k_select_bool
K_INLINE k_mask k_select_bool(k_mask m, k_mask a, k_mask b) {
    return (m & a) | (~m & b);
}

//@ k_add_i32 k_sub_i32 k_mul_i32 k_neg_i32 k_fabs_i32 k_fmax_i32 k_fmin_i32 k_add_i64 k_sub_i64 k_mul_i64 k_neg_i64 k_fabs_i64 k_fmax_i64 k_fmin_i64 : k_u32 k_u64
/* Integers wrap. */
#define K_INTEGER(i, u)                                                                            \
    K_INLINE k_##i k_add_##i(k_##i a, k_##i b) { return (k_##i)((k_##u)a + (k_##u)b); }            \
    K_INLINE k_##i k_sub_##i(k_##i a, k_##i b) { return (k_##i)((k_##u)a - (k_##u)b); }            \
    K_INLINE k_##i k_mul_##i(k_##i a, k_##i b) { return (k_##i)((k_##u)a * (k_##u)b); }            \
    K_INLINE k_##i k_neg_##i(k_##i a) { return (k_##i)(0 - (k_##u)a); }                            \
    K_INLINE k_##i k_fabs_##i(k_##i a) { return k_sub_##i(a ^ (a < 0), a < 0); }                   \
    K_INLINE k_##i k_fmax_##i(k_##i a, k_##i b) { return ((a > b) & a) | (~(a > b) & b); }         \
    K_INLINE k_##i k_fmin_##i(k_##i a, k_##i b) { return ((a < b) & a) | (~(a < b) & b); }
K_INTEGER(i32, u32)
K_INTEGER(i64, u64)

//@ k_floordiv_i32 k_mod_i32 k_floordiv_i64 k_mod_i64
/* Floor division and its remainder: x // 0 and x % 0 are 0, and nothing traps. */
K_INLINE int64_t k_quotient(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
K_INLINE int64_t k_remainder(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
#define K_DIVISION(i)                                                                              \
    K_INLINE k_##i k_floordiv_##i(k_##i a, k_##i b) {                                              \
        K_EACH(a, k_quotient(a[lane], b[lane]));                                                   \
        return a;                                                                                  \
    }                                                                                              \
    K_INLINE k_##i k_mod_##i(k_##i a, k_##i b) {                                                   \
        K_EACH(a, k_remainder(a[lane], b[lane]));                                                  \
        return a;                                                                                  \
    }
K_DIVISION(i32)
K_DIVISION(i64)

//@ k_wrap_i8
K_INLINE k_i32 k_wrap_i8(k_i32 a) {
    return (k_i32)((k_u32)a << 24) >> 24;
}

//@ k_wrap_u8
K_INLINE k_i32 k_wrap_u8(k_i32 a) {
    return a & 255;
}

//@ k_fabs
K_INLINE k_real k_fabs(k_real x) {
    return (k_real)((k_mask)x & ~K_SIGN);
}

//@ k_copysign
K_INLINE k_real k_copysign(k_real x, k_real y) {
    return (k_real)(((k_mask)x & ~K_SIGN) | ((k_mask)y & K_SIGN));
}

//@ k_fmax k_fmin
/* C's: a NaN loses; of two zeros the first is taken. */
K_INLINE k_real k_fmax(k_real a, k_real b) {
    return k_select((a >= b) | (b != b), a, b);
}
K_INLINE k_real k_fmin(k_real a, k_real b) {
    return k_select((a <= b) | (b != b), a, b);
}

//@ K_512
/* An instruction on 512 bits by its name: lane by lane, gcc makes two of 256 bits and goes through
 * memory. x stands where a lane is masked: none is. */
#if defined(__AVX512F__) && K_WIDTH == 64 && K_F64 && !defined(__clang__)
#define K_512(name, x, ...) __builtin_ia32_##name##pd512_mask(__VA_ARGS__, x, -1, 4)
#define K_512_ROUND(x, how) __builtin_ia32_rndscalepd_mask(x, how, x, -1, 4)
#define K_512_WITHIN(x, low, high)                                                                 \
    (__builtin_ia32_cmppd512_mask(low, x, 2, __builtin_ia32_cmppd512_mask(x, high, 2, -1, 4), 4) == 0xff)
#elif defined(__AVX512F__) && K_WIDTH / K_BYTES == 16 && !defined(__clang__)
#define K_512(name, x, ...) __builtin_ia32_##name##ps512_mask(__VA_ARGS__, x, -1, 4)
#define K_512_ROUND(x, how) __builtin_ia32_rndscaleps_mask(x, how, x, -1, 4)
#define K_512_WITHIN(x, low, high)                                                                 \
    (__builtin_ia32_cmpps512_mask(low, x, 2, __builtin_ia32_cmpps512_mask(x, high, 2, -1, 4), 4) == 0xffff)
#endif

//@ k_larger k_smaller
/* a > b ? a : b, and a < b ? a : b: b where one is NaN. One instruction. */
K_INLINE k_real k_larger(k_real a, k_real b) {
#ifdef K_512
    return K_512(max, a, a, b);
#else
    K_EACH(a, a[lane] > b[lane] ? a[lane] : b[lane]);
    return a;
#endif
}
K_INLINE k_real k_smaller(k_real a, k_real b) {
#ifdef K_512
    return K_512(min, a, a, b);
#else
    K_EACH(a, a[lane] < b[lane] ? a[lane] : b[lane]);
    return a;
#endif
}

//@ k_floor k_ceil k_trunc k_round k_sqrt
#ifdef K_512
#define K_EXACT(name, function, instruction)                                                       \
    K_INLINE k_real name(k_real x) {                                                               \
        return instruction;                                                                        \
    }
#else
#define K_EXACT(name, function, instruction)                                                       \
    K_INLINE k_real name(k_real x) {                                                               \
        K_EACH(x, K_LIBM(__builtin_##function)(x[lane]));                                          \
        return x;                                                                                  \
    }
#endif
K_EXACT(k_floor, floor, K_512_ROUND(x, 9))
K_EXACT(k_ceil, ceil, K_512_ROUND(x, 10))
K_EXACT(k_trunc, trunc, K_512_ROUND(x, 11))
K_EXACT(k_round, rint, K_512_ROUND(x, 8))
K_EXACT(k_sqrt, sqrt, K_512(sqrt, x, x))

//@ k_fma
/* By the machine's instruction: lane by lane, clang makes K_LANES of it. */
#if defined(__AVX512F__) && K_WIDTH == 64 && K_F64
#define K_FMA(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4)
#elif defined(__AVX512F__) && K_WIDTH / K_BYTES == 16
#define K_FMA(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)
#elif defined(__FMA__) && K_WIDTH == 32 && K_F64
#define K_FMA(a, b, c) __builtin_ia32_vfmaddpd256(a, b, c)
#elif defined(__FMA__) && K_WIDTH / K_BYTES == 8 && !K_F64
#define K_FMA(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#elif defined(__FMA__) && K_WIDTH / K_BYTES == 4 && !K_F64
#define K_FMA(a, b, c) __builtin_ia32_vfmaddps(a, b, c)
#endif
K_INLINE k_real k_fma(k_real a, k_real b, k_real c) {
#ifdef K_FMA
    return K_FMA(a, b, c);
#else
    K_EACH(a, K_LIBM(__builtin_fma)(a[lane], b[lane], c[lane]));
    return a;
#endif
}

//@ k_multiply_add
/* a * b + c, rounded once where the machine has an instruction for it. */
K_INLINE k_real k_multiply_add(k_real a, k_real b, k_real c) {
#if defined(K_FMA) || defined(__FP_FAST_FMAF)
    return k_fma(a, b, c);
#else
    return a * b + c;
#endif
}

//@ k_over : k_fma K_FMA k_fabs k_select k_all K_INF
/* a / b, to the bit, for a b that stands before a loop: by its inverse, and twice by what is left
 * (Markstein): half the time of a division. Not where something on the way may overflow or be
 * subnormal. */
K_INLINE k_real k_over(k_real a, k_real b) {
#ifdef K_512
    const k_real size = k_fabs(b), inverse = 1 / b, high = k_all((k_number)(K_F64 ? 0x1p900 : 0x1p100));
    const k_mask fits = (size > (k_number)(K_F64 ? 0x1p-100 : 0x1p-20)) &
                        (size < (k_number)(K_F64 ? 0x1p100 : 0x1p20));
    const k_real low = k_select(fits, 1 / high, k_all(K_INF));
    if (K_512_WITHIN(k_fabs(a), low, high)) {
        k_real q = a * inverse;
        q = k_fma(k_fma(-q, b, a), inverse, q);
        return k_fma(k_fma(-q, b, a), inverse, q);
    }
#endif
    return a / b;
}

//@ k_fmod
K_INLINE k_real k_fmod(k_real a, k_real b) {
    K_EACH(a, K_LIBM(__builtin_fmod)(a[lane], b[lane]));
    return a;
}

//@ k_floordiv
K_INLINE k_real k_floordiv(k_real a, k_real b) {
    return k_floor(a / b);
}

//@ k_mod
/* The remainder of floor division. */
K_INLINE k_real k_mod(k_real a, k_real b) {
    k_real r = k_fmod(a, b);
    return k_select((r != 0) & ((r < 0) ^ (b < 0)), r + b, r);
}

//@ K_RAW K_UNARY K_BINARY
/* C's functions by glibc's libmvec, always in the machine's widest form (forms of other widths give
 * other bits); lane by lane where there is no libmvec. */
#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
#define K_JOIN(a, b, c) a##b##c
#define K_NAME(width, arguments, name) K_JOIN(_ZGV##width, arguments, name)
#if K_WIDTH == 64 && K_F64
#define K_MVEC(arguments, name) K_NAME(eN8, arguments, name)
#elif K_WIDTH == 64
#define K_MVEC(arguments, name) K_NAME(eN16, arguments, name)
#elif K_WIDTH == 32 && K_F64
#define K_MVEC(arguments, name) K_NAME(dN4, arguments, name)
#elif K_WIDTH == 32
#define K_MVEC(arguments, name) K_NAME(dN8, arguments, name)
#elif K_F64
#define K_MVEC(arguments, name) K_NAME(bN2, arguments, name)
#else
#define K_MVEC(arguments, name) K_NAME(bN4, arguments, name)
#endif
typedef k_number k_whole __attribute__((vector_size(K_WIDTH)));
/* A register filled with copies of x, where x is but half of one. */
K_INLINE k_whole k_fill(k_real x) {
    union {
        k_real part[K_WIDTH / sizeof(k_real)];
        k_whole whole;
    } u;
    for (unsigned i = 0; i < K_WIDTH / sizeof(k_real); i++) u.part[i] = x;
    return u.whole;
}
K_INLINE k_real k_low(k_whole whole) {
    k_real x;
    __builtin_memcpy(&x, &whole, sizeof x);
    return x;
}
#define K_RAW(name, function)                                                                      \
    k_whole K_MVEC(v_, K_LIBM(function))(k_whole);                                                 \
    K_INLINE k_real name(k_real x) {                                                               \
        return k_low(K_MVEC(v_, K_LIBM(function))(k_fill(x)));                                     \
    }
#define K_BINARY(function)                                                                         \
    k_whole K_MVEC(vv_, K_LIBM(function))(k_whole, k_whole);                                       \
    K_INLINE k_real k_##function(k_real x, k_real y) {                                             \
        return k_low(K_MVEC(vv_, K_LIBM(function))(k_fill(x), k_fill(y)));                         \
    }
#else
#define K_RAW(name, function)                                                                      \
    K_INLINE k_real name(k_real x) {                                                               \
        K_EACH(x, K_LIBM(__builtin_##function)(x[lane]));                                          \
        return x;                                                                                  \
    }
#define K_BINARY(function)                                                                         \
    K_INLINE k_real k_##function(k_real x, k_real y) {                                             \
        K_EACH(x, K_LIBM(__builtin_##function)(x[lane], y[lane]));                                 \
        return x;                                                                                  \
    }
#endif

//@ k_real_from_i32 k_real_from_i64
K_INLINE k_real k_real_from_i32(k_i32 a) {
    return K_TO(k_real, a);
}
K_INLINE k_real k_real_from_i64(k_i64 a) {
    return K_TO(k_real, a);
}

//@ k_real_from_bool
K_INLINE k_real k_real_from_bool(k_mask m) {
    return K_TO(k_real, m & 1);
}

//@ k_i32_from_bool
K_INLINE k_i32 k_i32_from_bool(k_mask m) {
    return K_TO(k_i32, m & 1);
}

//@ k_i64_from_bool
K_INLINE k_i64 k_i64_from_bool(k_mask m) {
    return K_TO(k_i64, m & 1);
}

//@ k_i64_from_i32
K_INLINE k_i64 k_i64_from_i32(k_i32 a) {
    return K_TO(k_i64, a);
}

//@ k_i32_from_i64 k_i8_from_i64 k_u8_from_i64
/* Saturating. */
K_INLINE k_i64 k_clamp_i64(k_i64 a, int64_t low, int64_t high) {
    a = ((a < low) & low) | (~(a < low) & a);
    return ((a > high) & high) | (~(a > high) & a);
}
K_INLINE k_i32 k_i32_from_i64(k_i64 a) {
    return K_TO(k_i32, k_clamp_i64(a, INT32_MIN, INT32_MAX));
}
K_INLINE k_i32 k_i8_from_i64(k_i64 a) {
    return K_TO(k_i32, k_clamp_i64(a, INT8_MIN, INT8_MAX));
}
K_INLINE k_i32 k_u8_from_i64(k_i64 a) {
    return K_TO(k_i32, k_clamp_i64(a, 0, UINT8_MAX));
}

//@ k_clamp_i32 k_i8_from_i32 k_u8_from_i32
K_INLINE k_i32 k_clamp_i32(k_i32 a, int32_t low, int32_t high) {
    a = ((a < low) & low) | (~(a < low) & a);
    return ((a > high) & high) | (~(a > high) & a);
}
K_INLINE k_i32 k_i8_from_i32(k_i32 a) {
    return k_clamp_i32(a, INT8_MIN, INT8_MAX);
}
K_INLINE k_i32 k_u8_from_i32(k_i32 a) {
    return k_clamp_i32(a, 0, UINT8_MAX);
}

//@ k_i32_from_real
/* Half to even, saturating, NaN to 0. */
K_INLINE k_i32 k_i32_from_real(k_real x) {
    const k_number limit = 0x1p31f;
    k_real r = k_round(x);
    k_i32 whole = K_TO(k_i32, k_select((r >= -limit) & (r < limit), r, (k_real){0}));
    whole = k_select_i32(r >= limit, k_all_i32(INT32_MAX), whole);
    return k_select_i32(r < -limit, k_all_i32(INT32_MIN), whole);
}

//@ k_i64_from_real
/* Half to even, saturating, NaN to 0. */
K_INLINE k_i64 k_i64_from_real(k_real x) {
    const k_number limit = 0x1p63f;
    k_real r = k_round(x);
    k_i64 whole = K_TO(k_i64, k_select((r >= -limit) & (r < limit), r, (k_real){0}));
    whole = k_select_i64(r >= limit, k_all_i64(INT64_MAX), whole);
    return k_select_i64(r < -limit, k_all_i64(INT64_MIN), whole);
}

//@ k_i8_from_real k_u8_from_real
K_INLINE k_i32 k_i8_from_real(k_real x) {
    return k_clamp_i32(k_i32_from_real(x), INT8_MIN, INT8_MAX);
}
K_INLINE k_i32 k_u8_from_real(k_real x) {
    return k_clamp_i32(k_i32_from_real(x), 0, UINT8_MAX);
}

//@ k_narrow
/* To f32 for rounding once more: exact, or the neighbour with an odd last bit, so that the second
 * rounding is that of the exact value. */
K_INLINE k_f32 k_narrow(k_real x) {
#if K_F64
    k_f32 y = K_TO(k_f32, x);
    k_i64 inexact = (K_TO(k_f64, y) != x) & (x == x);
    k_i64 above = ((K_TO(k_f64, y) > x) ^ (x < 0)) & inexact;
    return (k_f32)(((k_i32)y + K_TO(k_i32, above)) | (K_TO(k_i32, inexact) & 1));
#else
    return x;
#endif
}

//@ K_HALVES
/* The machine's own conversion of 8 or 16 halves, where it has one. */
#if defined(__F16C__) && !defined(__clang__)
typedef int16_t k_halves __attribute__((vector_size(K_LANES * sizeof(int16_t))));
#if K_WIDTH / K_BYTES == 16
#define K_HALVES
#define K_HALVES_TO_F32(h) __builtin_ia32_vcvtph2ps512_mask((k_halves)(h), (k_f32){0}, -1, 4)
#define K_HALVES_FROM_F32(x) __builtin_ia32_vcvtps2ph512_mask(x, 0, (k_halves){0}, -1)
#elif K_WIDTH / K_BYTES == 8
#define K_HALVES
#define K_HALVES_TO_F32(h) __builtin_ia32_vcvtph2ps256((k_halves)(h))
#define K_HALVES_FROM_F32(x) __builtin_ia32_vcvtps2ph256(x, 0)
#endif
#endif

//@ k_from_f16 : k_u32
K_INLINE k_real k_from_f16(k_u16 bits) {
#ifdef K_HALVES
    return K_TO(k_real, K_HALVES_TO_F32(bits));
#else
    k_u32 h = K_TO(k_u32, bits), m = h & 0x7fff;
    k_f32 x = (k_f32)(m << 13) * 0x1p112f; /* subnormals come out right */
    k_u32 big = (k_u32)(m >= 0x7c00) & 0x7f800000;
    return K_TO(k_real, (k_f32)((k_u32)x | big | (h & 0x8000) << 16));
#endif
}

//@ k_to_f16 : k_u32
/* To nearest, halves to even. */
K_INLINE k_u16 k_to_f16(k_real real) {
#ifdef K_HALVES
    return (k_u16)K_HALVES_FROM_F32(k_narrow(real));
#else
    k_u32 x = (k_u32)k_narrow(real), sign = x & 0x80000000, m = x ^ sign;
    k_u32 normal = (m + 0xc8000fff + (m >> 13 & 1)) >> 13; /* exponent down by 112 */
    k_u32 small = (k_u32)((k_f32)m + 0.5f) - 0x3f000000;   /* the addition rounds a subnormal */
    k_u32 huge = 0x7c00 | ((k_u32)(m > 0x7f800000) & 0x200);
    k_u32 is_small = (k_u32)(m < 0x38800000), is_huge = (k_u32)(m >= 0x477ff000);
    k_u32 h = (is_huge & huge) | (~is_huge & ((is_small & small) | (~is_small & normal)));
    return K_TO(k_u16, h | sign >> 16);
#endif
}

//@ k_u32_from_u16 k_u16_from_u32 : k_u16 k_u32
/* By hand where gcc 12 goes by halves. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && K_WIDTH / K_BYTES == 16 && !defined(__clang__)
typedef int16_t k_words __attribute__((vector_size(K_LANES * sizeof(int16_t))));
K_INLINE k_u32 k_u32_from_u16(k_u16 x) {
    return (k_u32)__builtin_ia32_pmovzxwd512_mask((k_words)x, (k_i32){0}, -1);
}
K_INLINE k_u16 k_u16_from_u32(k_u32 x) {
    return (k_u16)__builtin_ia32_pmovdw512_mask((k_i32)x, (k_words){0}, -1);
}
#else
K_INLINE k_u32 k_u32_from_u16(k_u16 x) {
    return K_TO(k_u32, x);
}
K_INLINE k_u16 k_u16_from_u32(k_u32 x) {
    return K_TO(k_u16, x);
}
#endif

//@ k_from_bf16
K_INLINE k_real k_from_bf16(k_u16 bits) {
    return K_TO(k_real, (k_f32)(k_u32_from_u16(bits) << 16));
}

//@ k_to_bf16
/* To nearest, halves to even. */
K_INLINE k_u16 k_to_bf16(k_real real) {
    k_f32 x = k_narrow(real);
    k_u32 bits = (k_u32)x, nan = (k_u32)(x != x), rounded = bits + 0x7fff + (bits >> 16 & 1);
    return k_u16_from_u32(((nan & (bits | 0x400000)) | (~nan & rounded)) >> 16);
}

//@ k_round_f16
K_INLINE k_real k_round_f16(k_real x) {
    return k_from_f16(k_to_f16(x));
}

//@ k_round_bf16
K_INLINE k_real k_round_bf16(k_real x) {
    return k_from_bf16(k_to_bf16(x));
}

//@ k_round_f32
K_INLINE k_real k_round_f32(k_real x) {
    return K_TO(k_real, K_TO(k_f32, x));
}
