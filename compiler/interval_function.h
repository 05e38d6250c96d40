/* Functions with an error, on intervals. One idea: the function's ends, evaluated in KfReal, move
 * outward by `ulp` units in the last place of the correctly rounded result; where the argument is
 * one number it is evaluated once. Needs interval.h; the same subset of C11 and CUDA C++. */
#ifndef KF_INTERVAL_FUNCTION_H
#define KF_INTERVAL_FUNCTION_H

/* `ulp` of a result of this size. What forms of many ulp give up is relative: they are off by 2 of the least
 * subnormal, where that is more. */
KF_FN KfReal function_error(KfReal size, KfReal ulp) {
    KfReal error = ulp * (size * (KfReal)KF_ULP_ONE), least = ulp > 8 ? 2 : ulp;
    least = least * (KfReal)KF_ULP_LEAST;
    return (error < least ? least : error) + size * (KfReal)KF_REAL_ERROR;
}

/* An end moved outward by the error; a result never changes its sign, and a zero is exact. */
KF_FN KfCompute moved_end(KfReal f, KfReal ulp, KfReal direction) {
    KfReal size = KF_R(fabs)(f);
    KfCompute end;
    if (f == 0 || f != f || size == (KfReal)KF_HUGE) return (KfCompute)f;
    end = (KfCompute)(f + direction * function_error(size, ulp));
    if ((f > 0) == (end > 0) && end != 0) return end;
    return f > 0 ? (KfCompute)0 : (KfCompute)-0.0f;
}

KF_FN Interval interval_widen(KfReal lo, KfReal v, KfReal hi, int nan, KfReal ulp) {
    return interval_make(moved_end(lo, ulp, -1), v, moved_end(hi, ulp, 1), nan & NAN_MAY);
}

/* What is correctly rounded, by a form with an error: its ends are moved. */
KF_CALL Interval interval_near(Interval a, KfReal ulp) {
    if (a.nan == NAN_MUST) return a;
    return interval_widen((KfReal)a.lo, a.v, (KfReal)a.hi, a.nan, ulp);
}

KF_FN Interval interval_clip(Interval a, KfCompute low, KfCompute high) {
    if (a.lo < low) a.lo = low;
    if (a.hi > high) a.hi = high;
    return interval_make(a.lo, a.v, a.hi, a.nan & NAN_MAY);
}

/* A function that grows: evaluated once where the argument is one number. */
#define KF_GROWING(name)                                                                          \
    KF_FN Interval interval_growing_##name(Interval a, KfReal ulp) {                              \
        KfReal v;                                                                                 \
        if (a.nan == NAN_MUST) return a;                                                          \
        v = KF_R(name)(a.v);                                                                      \
        if (interval_is_point(a)) return interval_widen(v, v, v, NAN_NEVER, ulp);                 \
        return interval_widen(KF_R(name)((KfReal)a.lo), v, KF_R(name)((KfReal)a.hi), a.nan, ulp); \
    }
KF_GROWING(exp)
KF_GROWING(exp2)
KF_GROWING(expm1)
KF_GROWING(log)
KF_GROWING(log2)
KF_GROWING(log10)
KF_GROWING(log1p)
KF_GROWING(asin)
KF_GROWING(atan)
KF_GROWING(sinh)
KF_GROWING(cosh)
KF_GROWING(tanh)
KF_GROWING(erf)
KF_GROWING(cbrt)
KF_GROWING(tan)
#undef KF_GROWING

#define KF_FALLING(name)                                                                          \
    KF_FN Interval interval_falling_##name(Interval a, KfReal ulp) {                              \
        KfReal v;                                                                                 \
        if (a.nan == NAN_MUST) return a;                                                          \
        v = KF_R(name)(a.v);                                                                      \
        if (interval_is_point(a)) return interval_widen(v, v, v, NAN_NEVER, ulp);                 \
        return interval_widen(KF_R(name)((KfReal)a.hi), v, KF_R(name)((KfReal)a.lo), a.nan, ulp); \
    }
KF_FALLING(acos)
KF_FALLING(erfc)
#undef KF_FALLING

KF_CALL Interval interval_exp(Interval a, KfReal ulp) {
    return interval_growing_exp(a, ulp);
}
KF_CALL Interval interval_exp2(Interval a, KfReal ulp) {
    return interval_growing_exp2(a, ulp);
}
KF_CALL Interval interval_expm1(Interval a, KfReal ulp) {
    return interval_clip(interval_growing_expm1(a, ulp), -1, KF_HUGE);
}
KF_CALL Interval interval_log(Interval a, KfReal ulp) {
    return interval_growing_log(interval_domain(a, 0, KF_HUGE), ulp);
}
KF_CALL Interval interval_log2(Interval a, KfReal ulp) {
    return interval_growing_log2(interval_domain(a, 0, KF_HUGE), ulp);
}
KF_CALL Interval interval_log10(Interval a, KfReal ulp) {
    return interval_growing_log10(interval_domain(a, 0, KF_HUGE), ulp);
}
KF_CALL Interval interval_log1p(Interval a, KfReal ulp) {
    return interval_growing_log1p(interval_domain(a, -1, KF_HUGE), ulp);
}
KF_CALL Interval interval_asin(Interval a, KfReal ulp) {
    return interval_growing_asin(interval_domain(a, -1, 1), ulp);
}
KF_CALL Interval interval_acos(Interval a, KfReal ulp) {
    return interval_falling_acos(interval_domain(a, -1, 1), ulp);
}
KF_CALL Interval interval_atan(Interval a, KfReal ulp) {
    return interval_growing_atan(a, ulp);
}
KF_CALL Interval interval_sinh(Interval a, KfReal ulp) {
    return interval_growing_sinh(a, ulp);
}
KF_CALL Interval interval_cosh(Interval a, KfReal ulp) {
    return interval_clip(interval_growing_cosh(interval_fabs(a), ulp), 1, KF_HUGE);
}
KF_CALL Interval interval_tanh(Interval a, KfReal ulp) {
    return interval_clip(interval_growing_tanh(a, ulp), -1, 1);
}
KF_CALL Interval interval_erf(Interval a, KfReal ulp) {
    return interval_clip(interval_growing_erf(a, ulp), -1, 1);
}
KF_CALL Interval interval_erfc(Interval a, KfReal ulp) {
    return interval_falling_erfc(a, ulp);
}
KF_CALL Interval interval_cbrt(Interval a, KfReal ulp) {
    return interval_growing_cbrt(a, ulp);
}

/* Whether `phase` + a whole number of periods may lie in [lo, hi]; when in doubt, yes. */
KF_FN int interval_meets(Interval a, KfReal phase, KfReal period) {
    KfReal lo = (KfReal)a.lo, hi = (KfReal)a.hi;
    KfReal slack = (KF_R(fabs)(lo) + KF_R(fabs)(hi) + 1) * (KfReal)KF_REAL_ERROR;
    KfReal next = phase + period * KF_R(ceil)((lo - slack - phase) / period);
    return next <= hi + slack || hi - lo >= period;
}

/* sin and cos: ends at the ends, and 1 or -1 where a crest or a trough lies between. */
KF_FN Interval interval_wave(Interval a, KfReal lo, KfReal v, KfReal hi, KfReal crest, KfReal ulp) {
    KfReal low = lo <= hi ? lo : hi, high = lo <= hi ? hi : lo;
    if (interval_meets(a, crest, 2 * KF_PI)) high = 1;
    if (interval_meets(a, crest + KF_PI, 2 * KF_PI)) low = -1;
    return interval_widen(low, v, high, a.nan, ulp);
}

/* Infinite angles have no value. */
KF_FN Interval interval_angle(Interval a) {
    if (a.nan == NAN_MUST || a.lo == KF_HUGE || a.hi == -KF_HUGE) return interval_nan();
    if (interval_has_infinity(a)) a.nan = NAN_MAY;
    return a;
}

KF_CALL Interval interval_sin(Interval a, KfReal ulp) {
    KfReal v;
    a = interval_angle(a);
    if (a.nan == NAN_MUST) return a;
    v = KF_R(sin)(a.v);
    if (interval_is_point(a)) return interval_widen(v, v, v, NAN_NEVER, ulp);
    return interval_wave(a, KF_R(sin)((KfReal)a.lo), v, KF_R(sin)((KfReal)a.hi), KF_PI / 2, ulp);
}

KF_CALL Interval interval_cos(Interval a, KfReal ulp) {
    KfReal v;
    a = interval_angle(a);
    if (a.nan == NAN_MUST) return a;
    v = KF_R(cos)(a.v);
    if (interval_is_point(a)) return interval_widen(v, v, v, NAN_NEVER, ulp);
    return interval_wave(a, KF_R(cos)((KfReal)a.lo), v, KF_R(cos)((KfReal)a.hi), 0, ulp);
}

KF_CALL Interval interval_tan(Interval a, KfReal ulp) {
    a = interval_angle(a);
    if (a.nan == NAN_MUST) return a;
    if (!interval_is_point(a) && interval_meets(a, KF_PI / 2, KF_PI))
        return interval_make(-KF_HUGE, KF_R(tan)(a.v), KF_HUGE, a.nan);
    return interval_growing_tan(a, ulp);
}

KF_CALL Interval interval_hypot(Interval a, Interval b, KfReal ulp) {
    int infinite = interval_is_point(a) ? interval_has_infinity(a) : 0;
    if (interval_is_point(b) && interval_has_infinity(b)) infinite = 1;
    if (infinite) return interval_point(KF_HUGE); /* NaN or not */
    if (a.nan == NAN_MUST || b.nan == NAN_MUST) {
        if (!interval_has_infinity(a) && !interval_has_infinity(b)) return interval_nan();
        return interval_make(KF_HUGE, KF_HUGE, KF_HUGE, NAN_MAY);
    }
    a = interval_fabs(a);
    b = interval_fabs(b);
    return interval_widen(KF_R(hypot)((KfReal)a.lo, (KfReal)b.lo), KF_R(hypot)(a.v, b.v),
                          KF_R(hypot)((KfReal)a.hi, (KfReal)b.hi), a.nan | b.nan, ulp);
}

KF_FN Interval interval_widen_corners(KfReal p, KfReal q, KfReal r, KfReal s, KfReal v, int nan,
                                      KfReal ulp) {
    Interval low = interval_corners(moved_end(p, ulp, -1), moved_end(q, ulp, -1),
                                    moved_end(r, ulp, -1), moved_end(s, ulp, -1), 0, NAN_NEVER);
    Interval high = interval_corners(moved_end(p, ulp, 1), moved_end(q, ulp, 1),
                                     moved_end(r, ulp, 1), moved_end(s, ulp, 1), 0, NAN_NEVER);
    return interval_make(low.lo, v, high.hi, (nan | low.nan) & NAN_MAY);
}

/* y over x, a cut along the negative x axis. */
KF_CALL Interval interval_atan2(Interval y, Interval x, KfReal ulp) {
    KfReal v;
    if (y.nan == NAN_MUST || x.nan == NAN_MUST) return interval_nan();
    v = KF_R(atan2)(y.v, x.v);
    if (interval_is_point(y) && interval_is_point(x))
        return interval_widen(v, v, v, NAN_NEVER, ulp);
    if (is_negative(x.lo) && is_negative(y.lo) != is_negative(y.hi))
        return interval_widen(-KF_PI, v, KF_PI, y.nan | x.nan, ulp);
    return interval_widen_corners(KF_R(atan2)((KfReal)y.lo, (KfReal)x.lo),
                                  KF_R(atan2)((KfReal)y.lo, (KfReal)x.hi),
                                  KF_R(atan2)((KfReal)y.hi, (KfReal)x.lo),
                                  KF_R(atan2)((KfReal)y.hi, (KfReal)x.hi), v, y.nan | x.nan, ulp);
}

/* Base not negative, no NaN in it: monotone in each argument. */
KF_FN Interval interval_pow_positive(Interval a, Interval b, KfReal v, KfReal ulp) {
    return interval_widen_corners(KF_R(pow)((KfReal)a.lo, (KfReal)b.lo),
                                  KF_R(pow)((KfReal)a.lo, (KfReal)b.hi),
                                  KF_R(pow)((KfReal)a.hi, (KfReal)b.lo),
                                  KF_R(pow)((KfReal)a.hi, (KfReal)b.hi), v, a.nan | b.nan, ulp);
}

/* Base may be negative, exponent one whole number: even or odd. */
KF_FN Interval interval_pow_whole(Interval a, Interval b, KfReal v, KfReal ulp) {
    int odd = !interval_has_infinity(b) && KF_R(fmod)(b.v, 2) != 0, negative = is_negative(a.hi);
    Interval size;
    if (odd && !negative && b.lo < 0) return interval_make(-KF_HUGE, v, KF_HUGE, a.nan);
    if (odd && !negative) {
        size = interval_pow_positive(interval_make(-a.lo, -a.v, -a.lo, a.nan), b, v, ulp);
        return interval_hull(
            interval_neg(size),
            interval_pow_positive(interval_make(a.hi, a.v, a.hi, a.nan), b, v, ulp), v);
    }
    size = interval_pow_positive(interval_fabs(a), b, odd ? -v : v, ulp);
    return odd ? interval_neg(size) : size;
}

KF_FN Interval interval_pow_numbers(Interval a, Interval b, KfReal ulp) {
    KfReal v = KF_R(pow)(a.v, b.v);
    if (interval_is_point(a) && interval_is_point(b))
        return interval_widen(v, v, v, NAN_NEVER, ulp);
    if (!is_negative(a.lo)) return interval_pow_positive(a, b, v, ulp);
    if (interval_is_point(b) && KF_R(floor)(b.v) == b.v) return interval_pow_whole(a, b, v, ulp);
    if (a.hi < 0 && interval_is_point(b) && a.lo != -KF_HUGE) return interval_nan();
    return interval_make(-KF_HUGE, v, KF_HUGE, NAN_MAY);
}

/* pow(1, NaN) and pow(NaN, 0) are 1. */
KF_CALL Interval interval_pow(Interval a, Interval b, KfReal ulp) {
    int may_be_one = (a.nan && interval_has_zero(b)) || (b.nan && a.lo <= 1 && a.hi >= 1);
    int is_one = (interval_is_point(b) && b.lo == 0) || (interval_is_point(a) && a.lo == 1);
    Interval r;
    if (is_one) return interval_point(1);
    r = a.nan == NAN_MUST || b.nan == NAN_MUST ? interval_nan() : interval_pow_numbers(a, b, ulp);
    return may_be_one ? interval_hull(r, interval_point(1), r.nan == NAN_MUST ? 1 : r.v) : r;
}

#endif
