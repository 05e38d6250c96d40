/* Functions of vectors: libmvec's, and ones of our own where these are clearly faster (polynomials by Sollya's fpminimax,
 * relative error). By lanes they are the same operations whatever the width of a vector, so that the bits are the same
 * too. tests/unit/functions.c holds all of them to the ulp that primitives.def states. */
#include "prelude_c_memory.h"

//@ K_UNARY
#define K_UNARY(function) K_RAW(k_##function, function)

//@ K_OF
#if K_F64
#define K_OF(f32, f64) f64
#else
#define K_OF(f32, f64) f32
#endif

//@ K_BOUNDED : K_OF k_select k_all
/* Beyond low and high (of f32, of f64) the result is known; there libmvec would go one lane at a
 * time, 40 times as slow. */
#define K_BOUNDED(function, low, below, high, above)                                               \
    K_RAW(k_##function##_inside, function)                                                         \
    K_INLINE k_real k_##function(k_real x) {                                                       \
        k_mask small = x < (low), large = x > (high);                                              \
        k_real y = k_##function##_inside(k_select(small | large, (k_real){0}, x));                 \
        return k_select(small, k_all(below), k_select(large, k_all(above), y));                    \
    }

//@ K_POSITIVE : k_select k_all K_INF K_NAN
/* Likewise for what is NaN below `zero` and -inf there. */
#define K_POSITIVE(function, zero)                                                                 \
    K_RAW(k_##function##_inside, function)                                                         \
    K_INLINE k_real k_##function(k_real x) {                                                       \
        k_mask below = x < (zero), at = x == (zero);                                               \
        k_real y = k_##function##_inside(k_select(below | at, k_all((zero) + 1), x));              \
        return k_select(below, k_all(K_NAN), k_select(at, k_all(-K_INF), y));                      \
    }

//@ k_power k_power_of_e k_scale : K_OF k_multiply_add k_all
/* exp(x + rest) = 2^n (1 + r y), where 2^n is no less than the smallest subnormal and rest is tiny: n is the whole number
 * next to x / log(2), and r y a polynomial in r = x + rest - n log(2). */
typedef struct k_power {
    k_real n, r, y;
} k_power;
#define K_SHIFT k_all(K_OF(0x1.8p23f, 0x1.8p52)) /* what is added to it is rounded to a whole number */
K_INLINE k_power k_power_of_e(k_real x, k_real rest) {
    const k_real n = k_multiply_add(x, k_all(K_OF(0x1.715476p0f, 0x1.71547652b82fep0)), K_SHIFT) - K_SHIFT;
    k_real r = k_multiply_add(n, k_all(-K_OF(0x1.62e4p-1f, 0x1.62e42feep-1)), x);
    r = k_multiply_add(n, k_all(-K_OF(0x1.7f7d1cp-20f, 0x1.a39ef35793c76p-33)), r) + rest;
#if K_F64
    k_real y = k_multiply_add(r, k_all(0x1.aeabce96cad0ap-26), k_all(0x1.2891bdd59422bp-22));
    y = k_multiply_add(y, r, k_all(0x1.71de59ee2e9c1p-19));
    y = k_multiply_add(y, r, k_all(0x1.a019b8cb00711p-16));
    y = k_multiply_add(y, r, k_all(0x1.a01a018c38db6p-13));
    y = k_multiply_add(y, r, k_all(0x1.6c16c178a5f25p-10));
    y = k_multiply_add(y, r, k_all(0x1.11111111144cbp-7));
    y = k_multiply_add(y, r, k_all(0x1.5555555553ce7p-5));
    y = k_multiply_add(y, r, k_all(0x1.555555555554dp-3));
    y = k_multiply_add(y, r, k_all(0x1.0000000000001p-1));
#else
    k_real y = k_multiply_add(r, k_all(0x1.6850e4p-10f), k_all(0x1.123bccp-7f));
    y = k_multiply_add(y, r, k_all(0x1.555b98p-5f));
    y = k_multiply_add(y, r, k_all(0x1.55548ep-3f));
    y = k_multiply_add(y, r, k_all(0x1.fffff8p-2f));
#endif
    return (k_power){n, r, k_multiply_add(y, r, k_all(1))};
}
/* x 2^n, rounded once. */
K_INLINE k_real k_scale(k_real x, k_real n) {
#ifdef K_512
    return K_512(scalef, x, x, n);
#else
    const k_mask whole = (k_mask)(n + K_SHIFT) - (k_mask)K_SHIFT, half = whole >> 1; /* 2^n may be subnormal */
    const int bias = K_OF(127, 1023), digits = K_OF(23, 52);
    return x * (k_real)((half + bias) << digits) * (k_real)((whole - half + bias) << digits);
#endif
}

//@ k_exp_from k_exp_below : k_power_of_e k_scale k_multiply_add k_larger k_all
/* exp(x) of x that is not far out, and of x <= 0: without a call, half the time of libmvec's in f32 and a third in f64.
 * At most 0.89 ulp off in f32, 1.17 without k_fma. */
K_INLINE k_real k_exp_from(k_real x) {
    const k_power power = k_power_of_e(x, -(k_real){0});
    return k_scale(k_multiply_add(power.y, power.r, k_all(1)), power.n);
}
K_INLINE k_real k_exp_below(k_real x) {
    return k_exp_from(k_larger(k_all(K_OF(-104, -746)), x));
}

//@ k_exp : K_OF k_exp_below k_smaller k_all
K_INLINE k_real k_exp(k_real x) {
    return k_exp_below(k_smaller(k_all(K_OF(89, 710)), x));
}

//@ k_exp2 : K_INF
K_BOUNDED(exp2, K_OF(-151.0f, -1076.0), 0, K_OF(128.0f, 1024.0), K_INF)

//@ k_expm1 : K_INF
K_BOUNDED(expm1, K_OF(-104.0f, -746.0), -1, K_OF(88.75f, 710.0), K_INF)

//@ k_sinh : K_INF
K_BOUNDED(sinh, K_OF(-89.5f, -711.0), -K_INF, K_OF(89.5f, 711.0), K_INF)

//@ k_cosh : K_INF
K_BOUNDED(cosh, K_OF(-89.5f, -711.0), K_INF, K_OF(89.5f, 711.0), K_INF)

//@ k_erfc : K_BOUNDED K_FMA k_fma k_power_of_e k_scale k_fabs k_smaller k_select k_all
/* In f32, of a = |x|: exp(-a^2) / (a + 2) times a polynomial in q = (a - 2) / (a + 2); what rounding takes away
 * from the quotients and from a^2 is given back. Over all x at most 3.82 ulp off; a third of the time of libmvec's. */
#if K_F64 || !(defined(K_FMA) || defined(__FP_FAST_FMAF))
K_BOUNDED(erfc, K_OF(-10.0f, -10.0), 2, K_OF(10.1f, 27.3), 0)
#else
K_INLINE k_real k_erfc(k_real x) {
    const k_real a = k_smaller(k_all(10.1f), k_fabs(x)), near = 1 / (a + 2), v = k_fma(near, k_all(-4), k_all(1));
    const k_real off = k_fma(-near, a, k_fma(near, k_all(-2), k_all(1)));
    const k_real r = k_fma(near, off, near), q = k_fma(off, v - 1, v);
    k_real y = k_fma(q, k_all(-0x1.6e04dp-15f), k_all(-0x1.13595cp-11f));
    y = k_fma(y, q, k_all(-0x1.7e80b6p-11f));
    y = k_fma(y, q, k_all(0x1.8e40a4p-9f));
    y = k_fma(y, q, k_all(0x1.a5d1p-8f));
    y = k_fma(y, q, k_all(-0x1.604624p-6f));
    y = k_fma(y, q, k_all(-0x1.2a7c12p-5f));
    y = k_fma(y, q, k_all(0x1.1e2db8p-2f));
    y = k_fma(y, q, k_all(-0x1.5fd38ep-1f));
    y = k_fma(y, q, k_all(0x1.058672p0f));
    const k_power power = k_power_of_e(-(a * a), k_fma(-a, a, a * a));
    y *= r;
    y = k_scale(k_fma(power.y * power.r, y, y), power.n);
    return k_select(x < 0, 2 - y, y);
}
#endif

//@ k_log : K_POSITIVE K_512 k_select k_multiply_add k_all K_INF K_NAN
/* In f32: x = m 2^e with m in [0.75, 1.5), and log(m) by a polynomial in m - 1. Over all x at most 0.93 ulp off;
 * half the time of libmvec's. */
#if K_F64
K_POSITIVE(log, 0)
#else
K_INLINE k_real k_log(k_real x) {
#ifdef K_512
    k_real m = __builtin_ia32_getmantps512_mask(x, 2 << 2 | 3, x, -1, 4); /* NaN below 0 */
    k_real e = K_512(getexp, x, x);                                       /* -inf of 0 */
    e += (k_real)((m < 1) & (k_mask)k_all(1));
#else
    const k_mask tiny = x < 0x1p-126f;
    const k_i32 bits = (k_i32)k_select(tiny, x * 0x1p23f, x), high = (bits - 0x3f400000) & ~0x7fffff;
    k_real m = (k_real)(bits - high), e = K_TO(k_real, (high >> 23) - (tiny & 23));
#endif
    const k_real f = m - 1;
    k_real y = k_multiply_add(f, k_all(-0x1.70c9fap-5f), k_all(0x1.aca942p-4f));
    y = k_multiply_add(y, f, k_all(-0x1.0db426p-3f));
    y = k_multiply_add(y, f, k_all(0x1.28919ap-3f));
    y = k_multiply_add(y, f, k_all(-0x1.54ec82p-3f));
    y = k_multiply_add(y, f, k_all(0x1.996834p-3f));
    y = k_multiply_add(y, f, k_all(-0x1.000048p-2f));
    y = k_multiply_add(y, f, k_all(0x1.5555a8p-2f));
    y = k_multiply_add(y, f, k_all(-0.5f));
    y = k_multiply_add(y, f * f, f);
    y = k_multiply_add(e, k_all(0x1.62e4p-1f), k_multiply_add(e, k_all(0x1.7f7d1cp-20f), y));
#ifndef K_512
    y = k_select(x < K_INF, y, x);
    y = k_select(x < 0, k_all(K_NAN), k_select(x == 0, k_all(-K_INF), y));
#endif
    return y;
}
#endif

//@ k_log2
K_POSITIVE(log2, 0)

//@ k_log10
K_POSITIVE(log10, 0)

//@ k_log1p
K_POSITIVE(log1p, -1)

//@ k_sin
K_UNARY(sin)

//@ k_cos
K_UNARY(cos)

//@ k_tan
K_UNARY(tan)

//@ k_asin
K_UNARY(asin)

//@ k_acos
K_UNARY(acos)

//@ k_atan
K_UNARY(atan)

//@ k_tanh : K_UNARY k_multiply_add k_smaller k_fabs k_copysign k_all
/* In f32 by expm1(2 |x|) = 2^n (exp(r) - 1) + (2^n - 1), exp(r) - 1 by a polynomial. Over all x at most 2.57 ulp
 * off. */
#if K_F64
K_UNARY(tanh)
#else
K_INLINE k_real k_tanh(k_real x) {
    const k_real shift = k_all(0x1.8p23f), a = k_smaller(k_all(10), k_fabs(x));
    const k_real t = k_multiply_add(a, k_all(0x1.715476p1f), shift), n = t - shift;
    k_real r = k_multiply_add(n, k_all(-0x1.62e4p-1f), a + a);
    r = k_multiply_add(n, k_all(-0x1.7f7d1cp-20f), r);
    k_real y = k_multiply_add(r, k_all(0x1.6b6edp-10f), k_all(0x1.1228cep-7f));
    y = k_multiply_add(y, r, k_all(0x1.55571ap-5f));
    y = k_multiply_add(y, r, k_all(0x1.5554aep-3f));
    y = k_multiply_add(y, r, k_all(0x1.fffffep-2f));
    y = k_multiply_add(y, r * r, r);
    const k_real scale = (k_real)(((k_i32)t << 23) + 0x3f800000); /* 2^n */
    y = k_multiply_add(scale, y, scale - 1);
    return k_copysign(y / (y + 2), x);
}
#endif

//@ k_erf
K_UNARY(erf)

//@ k_cbrt
K_UNARY(cbrt)

//@ k_pow
K_BINARY(pow)

//@ k_atan2
K_BINARY(atan2)

//@ k_hypot
K_BINARY(hypot)

