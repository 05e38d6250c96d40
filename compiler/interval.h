/* Interval arithmetic for one element, shared by the host's oracle and the device's: which results
 * may an implementation give that rounds every operation in the compute type? Written in the common
 * subset of C11 and CUDA C++. One idea: the ends are numbers of the compute type, and every
 * correctly rounded operation is monotone, so that the operation itself, done on the ends in the
 * compute type, gives the ends of the result; where both ends are one number so is the result, bit
 * for bit. Only functions widen, by their own error.
 *
 * v is the value in KfReal (double; long double for f64), for figures alone: lo <= v <= hi.
 * Ends are ordered with -0 before +0. May-be-NaN is said apart; must be NaN: all three are NaN.
 *
 * Includer: storage.h first. KF_COMPUTE_BITS as there; 64 computes v and functions in long
 * double. */
#ifndef KF_INTERVAL_H
#define KF_INTERVAL_H

#if KF_COMPUTE_BITS == 64
typedef long double KfReal;
#define KF_R(function) function##l
#define KF_C(function) function
#define KF_ULP_ONE 0x1p-52L
#define KF_ULP_LEAST 0x1p-1074L
#define KF_REAL_ERROR 0x1p-60L
#define KF_PI 3.14159265358979323846264338327950288L
#else
typedef double KfReal;
#define KF_R(function) function
#define KF_C(function) function##f
#define KF_ULP_ONE 0x1p-23
#define KF_ULP_LEAST 0x1p-149
#define KF_REAL_ERROR 0x1p-49
#define KF_PI 3.14159265358979323846
#endif
#define KF_HUGE ((KfCompute)KF_INFINITY)
#define KF_NAN ((KfCompute)float_of_bits(0x7fc00000u))

enum { NAN_NEVER = 0, NAN_MAY = 1, NAN_MUST = 2 };

typedef struct Interval {
    KfCompute lo, hi;
    KfReal v;
    int nan;
} Interval;

KF_FN int is_negative(KfCompute x) {
    return signbit(x) != 0;
}

/* --- making intervals */

KF_FN Interval interval_point(KfCompute x) {
    Interval r;
    r.lo = r.hi = x;
    r.v = (KfReal)x;
    r.nan = x != x ? NAN_MUST : NAN_NEVER;
    return r;
}

KF_FN Interval interval_nan(void) {
    return interval_point(KF_NAN);
}

/* Ends that are NaN came from corners without a value: one alone is opened, both leave only NaN. */
KF_FN Interval interval_make(KfCompute lo, KfReal v, KfCompute hi, int nan) {
    Interval r;
    if (lo != lo || hi != hi) {
        if (lo != lo && hi != hi) return interval_nan();
        nan = NAN_MAY;
        if (lo != lo)
            lo = -KF_HUGE;
        else
            hi = KF_HUGE;
    }
    r.lo = lo;
    r.hi = hi;
    r.v = !(v >= (KfReal)lo) ? (KfReal)lo : v > (KfReal)hi ? (KfReal)hi : v;
    r.nan = nan;
    return r;
}

KF_FN int interval_is_point(Interval a) {
    return a.nan == NAN_NEVER && a.lo == a.hi &&
           (a.lo != 0 || is_negative(a.lo) == is_negative(a.hi));
}

KF_FN int interval_is_whole_line(Interval a) {
    return a.lo == -KF_HUGE && a.hi == KF_HUGE;
}

/* Smaller and larger of two ends; NaN is no end. */
KF_FN KfCompute lower_end(KfCompute a, KfCompute b) {
    if (a == b) return is_negative(a) ? a : b;
    return b < a || a != a ? b : a;
}
KF_FN KfCompute upper_end(KfCompute a, KfCompute b) {
    if (a == b) return is_negative(a) ? b : a;
    return b > a || a != a ? b : a;
}

KF_FN Interval interval_corners(KfCompute p, KfCompute q, KfCompute r, KfCompute s, KfReal v,
                                int nan) {
    return interval_make(lower_end(lower_end(p, q), lower_end(r, s)), v,
                         upper_end(upper_end(p, q), upper_end(r, s)), nan);
}

KF_FN Interval interval_hull(Interval a, Interval b, KfReal v) {
    if (a.nan == NAN_MUST && b.nan == NAN_MUST) return a;
    if (a.nan == NAN_MUST) b.nan = NAN_MAY;
    if (b.nan == NAN_MUST) a.nan = NAN_MAY;
    return interval_make(lower_end(a.lo, b.lo), v, upper_end(a.hi, b.hi),
                         (a.nan | b.nan) & NAN_MAY);
}

/* What is left of `a` in [low, high]; NaN outside. */
KF_FN Interval interval_domain(Interval a, KfCompute low, KfCompute high) {
    if (a.nan == NAN_MUST) return a;
    if (a.hi < low || a.lo > high) return interval_nan();
    if (a.lo < low) a.lo = low, a.nan = NAN_MAY;
    if (a.hi > high) a.hi = high, a.nan = NAN_MAY;
    return interval_make(a.lo, a.v, a.hi, a.nan);
}

KF_FN int interval_has_zero(Interval a) {
    return a.lo <= 0 && a.hi >= 0;
}
KF_FN int interval_has_infinity(Interval a) {
    return a.lo == -KF_HUGE || a.hi == KF_HUGE;
}

/* --- correctly rounded and exact operations */

KF_FN Interval interval_neg(Interval a) {
    Interval r;
    r.lo = -a.hi;
    r.hi = -a.lo;
    r.v = -a.v;
    r.nan = a.nan;
    return r;
}

KF_FN Interval interval_add(Interval a, Interval b) {
    int opposed = (a.hi == KF_HUGE && b.lo == -KF_HUGE) || (a.lo == -KF_HUGE && b.hi == KF_HUGE);
    return interval_make(a.lo + b.lo, a.v + b.v, a.hi + b.hi, (a.nan | b.nan | opposed) & NAN_MAY);
}

KF_FN Interval interval_sub(Interval a, Interval b) {
    return interval_add(a, interval_neg(b));
}

/* A corner without a value: what lies beside it is a zero of the corner's sign. */
KF_FN KfCompute corner(KfCompute value, KfCompute a, KfCompute b) {
    if (value == value) return value;
    return is_negative(a) != is_negative(b) ? (KfCompute)-0.0f : (KfCompute)0;
}

KF_FN Interval interval_mul(Interval a, Interval b) {
    int nan = (a.nan | b.nan) & NAN_MAY;
    if (a.nan == NAN_MUST || b.nan == NAN_MUST) return interval_nan();
    if (interval_is_point(a) && interval_is_point(b)) return interval_point(a.lo * b.lo);
    if (interval_has_infinity(b) && interval_has_zero(a)) nan = NAN_MAY;
    if (interval_has_infinity(a) && interval_has_zero(b)) nan = NAN_MAY;
    return interval_corners(corner(a.lo * b.lo, a.lo, b.lo), corner(a.lo * b.hi, a.lo, b.hi),
                            corner(a.hi * b.lo, a.hi, b.lo), corner(a.hi * b.hi, a.hi, b.hi),
                            a.v * b.v, nan);
}

KF_FN Interval interval_fabs(Interval a) {
    if (a.nan == NAN_MUST || !is_negative(a.lo)) return a;
    if (is_negative(a.hi)) return interval_neg(a);
    return interval_make(0, KF_R(fabs)(a.v), upper_end(-a.lo, a.hi), a.nan);
}

KF_FN Interval interval_square(Interval a) {
    a = interval_fabs(a);
    return interval_make(a.lo * a.lo, a.v * a.v, a.hi * a.hi, a.nan & NAN_MAY);
}

/* A divisor that has zeros of both signs, or numbers of both, gives anything. */
KF_FN Interval interval_div(Interval a, Interval b) {
    int nan = (a.nan | b.nan) & NAN_MAY;
    if (a.nan == NAN_MUST || b.nan == NAN_MUST) return interval_nan();
    if (interval_has_zero(a) && interval_has_zero(b)) nan = NAN_MAY;
    if (interval_has_infinity(a) && interval_has_infinity(b)) nan = NAN_MAY;
    if (interval_is_point(a) && interval_is_point(b)) return interval_point(a.lo / b.lo);
    if (is_negative(b.lo) != is_negative(b.hi))
        return interval_make(-KF_HUGE, a.v / b.v, KF_HUGE, nan);
    return interval_corners(corner(a.lo / b.lo, a.lo, b.lo), corner(a.lo / b.hi, a.lo, b.hi),
                            corner(a.hi / b.lo, a.hi, b.lo), corner(a.hi / b.hi, a.hi, b.hi),
                            a.v / b.v, nan);
}

KF_FN Interval interval_sqrt(Interval a) {
    a = interval_domain(a, (KfCompute)-0.0f, KF_HUGE);
    return interval_make(KF_C(sqrt)(a.lo), KF_R(sqrt)(a.v), KF_C(sqrt)(a.hi), a.nan & NAN_MAY);
}

KF_FN Interval interval_floor(Interval a) {
    return interval_make(KF_C(floor)(a.lo), KF_R(floor)(a.v), KF_C(floor)(a.hi), a.nan & NAN_MAY);
}
KF_FN Interval interval_ceil(Interval a) {
    return interval_make(KF_C(ceil)(a.lo), KF_R(ceil)(a.v), KF_C(ceil)(a.hi), a.nan & NAN_MAY);
}
KF_FN Interval interval_trunc(Interval a) {
    return interval_make(KF_C(trunc)(a.lo), KF_R(trunc)(a.v), KF_C(trunc)(a.hi), a.nan & NAN_MAY);
}
KF_FN Interval interval_round(Interval a) {
    return interval_make(KF_C(rint)(a.lo), KF_R(rint)(a.v), KF_C(rint)(a.hi), a.nan & NAN_MAY);
}
KF_FN Interval interval_floordiv(Interval a, Interval b) {
    return interval_floor(interval_div(a, b));
}

KF_FN int interval_has_minus_zero(Interval a) {
    return is_negative(a.lo) && a.hi >= 0;
}

/* C's: a NaN loses; of two zeros either may come. */
KF_FN Interval interval_fmax(Interval a, Interval b) {
    Interval r;
    KfCompute low = a.lo > b.lo ? a.lo : b.lo;
    if (a.nan == NAN_MUST) return b;
    if (b.nan == NAN_MUST) return a;
    if (low == 0 && (interval_has_minus_zero(a) || interval_has_minus_zero(b)))
        low = (KfCompute)-0.0f;
    r = interval_make(low, a.v > b.v ? a.v : b.v, upper_end(a.hi, b.hi), a.nan & b.nan);
    if (a.nan) r = interval_hull(r, b, r.v);
    if (b.nan) r = interval_hull(r, a, r.v);
    return r;
}
KF_FN Interval interval_fmin(Interval a, Interval b) {
    return interval_neg(interval_fmax(interval_neg(a), interval_neg(b)));
}

KF_FN Interval interval_copysign(Interval a, Interval b) {
    Interval size = interval_fabs(a);
    if (size.nan == NAN_MUST) return size;
    if (b.nan != NAN_NEVER || is_negative(b.lo) != is_negative(b.hi))
        return interval_make(-size.hi, KF_R(copysign)(size.v, b.v), size.hi, size.nan);
    return is_negative(b.lo) ? interval_neg(size) : size;
}

/* A corner whose product has no value takes what lies beside it. */
KF_FN KfCompute fma_corner(KfCompute a, KfCompute b, KfCompute c) {
    KfCompute product = a * b;
    return product == product ? KF_C(fma)(a, b, c) : corner(product, a, b) + c;
}

/* Rounded once: whether it may be NaN follows from the operands, never from a product that
 * overflowed. */
KF_FN Interval interval_fma(Interval a, Interval b, Interval c) {
    Interval product = interval_mul(a, b), low, high;
    int nan = (product.nan | c.nan) & NAN_MAY;
    if (product.nan == NAN_MUST || c.nan == NAN_MUST) return interval_nan();
    if (interval_is_point(a) && interval_is_point(b) && interval_is_point(c))
        return interval_point(KF_C(fma)(a.lo, b.lo, c.lo));
    if ((interval_has_infinity(a) || interval_has_infinity(b)) && interval_has_infinity(c))
        nan = NAN_MAY;
    low =
        interval_corners(fma_corner(a.lo, b.lo, c.lo), fma_corner(a.lo, b.hi, c.lo),
                         fma_corner(a.hi, b.lo, c.lo), fma_corner(a.hi, b.hi, c.lo), 0, NAN_NEVER);
    high =
        interval_corners(fma_corner(a.lo, b.lo, c.hi), fma_corner(a.lo, b.hi, c.hi),
                         fma_corner(a.hi, b.lo, c.hi), fma_corner(a.hi, b.hi, c.hi), 0, NAN_NEVER);
    return interval_make(low.lo, a.v * b.v + c.v, high.hi, nan);
}

/* --- remainders: exact, but with a jump wherever the quotient passes a whole number */

/* a % b is r = fmod(a, b), plus b where r != 0 and r, b differ in sign. */
KF_FN KfCompute floored_remainder(KfCompute a, KfCompute b) {
    KfCompute r = KF_C(fmod)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
KF_FN KfReal floored_remainder_real(KfReal a, KfReal b) {
    KfReal r = KF_R(fmod)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* No jump between the ends: they are close, and their remainders in order. */
KF_FN int interval_is_smooth(Interval a, Interval b, KfCompute low, KfCompute high) {
    return interval_is_point(b) && is_negative(a.lo) == is_negative(a.hi) && low <= high &&
           (KfReal)a.hi - (KfReal)a.lo <= KF_R(fabs)(b.v) / 2;
}

KF_FN int remainder_nan(Interval a, Interval b) {
    return (a.nan | b.nan | interval_has_infinity(a) | interval_has_zero(b)) & NAN_MAY;
}

KF_FN Interval interval_fmod(Interval a, Interval b) {
    KfCompute low = KF_C(fmod)(a.lo, b.lo), high = KF_C(fmod)(a.hi, b.lo), size;
    KfReal v = KF_R(fmod)(a.v, b.v);
    if (a.nan == NAN_MUST || b.nan == NAN_MUST) return interval_nan();
    if (interval_is_point(a) && interval_is_point(b)) return interval_point(low);
    if (interval_is_smooth(a, b, low, high))
        return interval_make(low, v, high, remainder_nan(a, b));
    size = upper_end(interval_fabs(a).hi, 0);
    if (interval_fabs(b).hi < size) size = interval_fabs(b).hi;
    return interval_make(is_negative(a.lo) ? -size : 0, v,
                         is_negative(a.hi) ? (KfCompute)-0.0f : size, remainder_nan(a, b));
}

KF_FN Interval interval_mod(Interval a, Interval b) {
    KfCompute low = floored_remainder(a.lo, b.lo), high = floored_remainder(a.hi, b.lo);
    KfReal v = floored_remainder_real(a.v, b.v);
    if (a.nan == NAN_MUST || b.nan == NAN_MUST) return interval_nan();
    if (interval_is_point(a) && interval_is_point(b)) return interval_point(low);
    if (interval_is_smooth(a, b, low, high))
        return interval_make(low, v, high, remainder_nan(a, b));
    return interval_make(lower_end(b.lo, (KfCompute)-0.0f), v, upper_end(b.hi, 0),
                         remainder_nan(a, b));
}

#endif
