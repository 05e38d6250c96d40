/* Integers and conditions as intervals of int64, and what lies between them and reals: comparisons,
 * selects, casts. One idea: a result that could leave its type may have wrapped to anything;
 * operands that are one number give one number. Needs interval.h; the same subset of C11 and CUDA
 * C++. */
#ifndef KF_WHOLE_H
#define KF_WHOLE_H

/* An integer or bool. */
typedef struct Whole {
    int64_t lo, v, hi;
} Whole;

KF_FN Whole whole_make(int64_t lo, int64_t v, int64_t hi) {
    Whole r;
    r.lo = lo;
    r.v = v < lo ? lo : v > hi ? hi : v;
    r.hi = hi;
    return r;
}
KF_FN Whole whole_point(int64_t x) {
    return whole_make(x, x, x);
}
KF_FN Whole whole_any(int type, int64_t v) {
    return whole_make(storage_low(type), v, storage_high(type));
}

/* A condition from whether it can be true and can be false. */
KF_FN Whole whole_condition(int can_hold, int can_fail, int v) {
    return whole_make(!can_fail, v, can_hold != 0);
}

/* `same`: both operands are one value, so that their ends say nothing. */
KF_FN Whole interval_lt(Interval a, Interval b, int same) {
    int nan = a.nan | b.nan;
    if (same || (nan & NAN_MUST)) return whole_point(0);
    return whole_condition(a.lo < b.hi, !(a.hi < b.lo) || nan, a.v < b.v);
}
KF_FN Whole interval_le(Interval a, Interval b, int same) {
    int nan = a.nan | b.nan;
    if (nan & NAN_MUST) return whole_point(0);
    if (same) return whole_condition(1, nan, 1);
    return whole_condition(a.lo <= b.hi, !(a.hi <= b.lo) || nan, a.v <= b.v);
}
KF_FN Whole interval_eq(Interval a, Interval b, int same) {
    int nan = a.nan | b.nan;
    if (nan & NAN_MUST) return whole_point(0);
    if (same) return whole_condition(1, nan, 1);
    return whole_condition(a.lo <= b.hi && b.lo <= a.hi,
                           !(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo) || nan, a.v == b.v);
}
KF_FN Whole whole_not(Whole a) {
    return whole_make(a.hi == 0, a.v == 0, a.lo == 0);
}

KF_FN Whole whole_lt(Whole a, Whole b, int same) {
    if (same) return whole_point(0);
    return whole_condition(a.lo < b.hi, a.hi >= b.lo, a.v < b.v);
}
KF_FN Whole whole_le(Whole a, Whole b, int same) {
    if (same) return whole_point(1);
    return whole_condition(a.lo <= b.hi, a.hi > b.lo, a.v <= b.v);
}
KF_FN Whole whole_eq(Whole a, Whole b, int same) {
    if (same) return whole_point(1);
    return whole_condition(a.lo <= b.hi && b.lo <= a.hi,
                           !(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo), a.v == b.v);
}
KF_FN Whole whole_and(Whole a, Whole b) {
    return whole_make(a.lo & b.lo, a.v & b.v, a.hi & b.hi);
}
KF_FN Whole whole_or(Whole a, Whole b) {
    return whole_make(a.lo | b.lo, a.v | b.v, a.hi | b.hi);
}

KF_FN Interval interval_select(Whole c, Interval a, Interval b) {
    if (c.lo == c.hi) return c.v ? a : b;
    return interval_hull(a, b, c.v ? a.v : b.v);
}
KF_FN Whole whole_select(Whole c, Whole a, Whole b) {
    if (c.lo == c.hi) return c.v ? a : b;
    return whole_make(a.lo < b.lo ? a.lo : b.lo, c.v ? a.v : b.v, a.hi > b.hi ? a.hi : b.hi);
}

KF_FN int64_t quotient_floored(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
KF_FN int64_t remainder_floored(int64_t a, int64_t b) {
    int64_t r = b == 0 || b == -1 ? 0 : a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
KF_FN int64_t add_wrapped(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
KF_FN int64_t mul_wrapped(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

KF_FN int whole_is_point(Whole a) {
    return a.lo == a.hi;
}
/* Both ends small enough that no sum or product of two overflows. */
KF_FN int whole_is_small(Whole a) {
    return a.lo >= -0x7fffffff && a.hi <= 0x7fffffff;
}

/* In the type, where the exact result lies in [lo, hi]: what leaves it may have wrapped to
 * anything. */
KF_FN Whole whole_wrap(int type, int64_t lo, int64_t v, int64_t hi) {
    v = storage_wrap(type, v);
    if (lo < storage_low(type) || hi > storage_high(type)) return whole_any(type, v);
    return whole_make(lo, v, hi);
}

KF_FN Whole whole_neg(int type, Whole a) {
    int64_t v = storage_wrap(type, (int64_t)(0 - (uint64_t)a.v));
    if (whole_is_point(a)) return whole_point(v);
    return a.lo == storage_low(DT_I64) ? whole_any(type, v) : whole_wrap(type, -a.hi, v, -a.lo);
}
KF_FN Whole whole_abs(int type, Whole a) {
    Whole minus = whole_neg(type, a);
    if (a.lo >= 0) return a;
    if (a.lo == storage_low(type))
        return whole_is_point(a) ? a : whole_any(type, a.v < 0 ? minus.v : a.v);
    if (a.hi <= 0) return minus;
    return whole_make(0, a.v < 0 ? minus.v : a.v, minus.hi > a.hi ? minus.hi : a.hi);
}
KF_FN Whole whole_add(int type, Whole a, Whole b) {
    int64_t v = storage_wrap(type, add_wrapped(a.v, b.v));
    if (whole_is_point(a) && whole_is_point(b)) return whole_point(v);
    if (!whole_is_small(a) || !whole_is_small(b)) return whole_any(type, v);
    return whole_wrap(type, a.lo + b.lo, v, a.hi + b.hi);
}
KF_FN Whole whole_sub(int type, Whole a, Whole b) {
    int64_t v = storage_wrap(type, add_wrapped(a.v, (int64_t)(0 - (uint64_t)b.v)));
    if (whole_is_point(a) && whole_is_point(b)) return whole_point(v);
    if (!whole_is_small(a) || !whole_is_small(b)) return whole_any(type, v);
    return whole_wrap(type, a.lo - b.hi, v, a.hi - b.lo);
}

KF_FN Whole whole_corners(int type, int64_t p, int64_t q, int64_t r, int64_t s, int64_t v) {
    int64_t low = p < q ? p : q, high = p < q ? q : p;
    low = r < low ? r : low;
    high = r > high ? r : high;
    return whole_wrap(type, s < low ? s : low, v, s > high ? s : high);
}
KF_FN Whole whole_mul(int type, Whole a, Whole b) {
    int64_t v = storage_wrap(type, mul_wrapped(a.v, b.v));
    if (whole_is_point(a) && whole_is_point(b)) return whole_point(v);
    if (!whole_is_small(a) || !whole_is_small(b)) return whole_any(type, v);
    return whole_corners(type, a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi, v);
}
KF_FN Whole whole_floordiv(int type, Whole a, Whole b) {
    int64_t v = storage_wrap(type, quotient_floored(a.v, b.v));
    if (whole_is_point(a) && whole_is_point(b)) return whole_point(v);
    if ((b.lo <= 0 && b.hi >= 0) || !whole_is_small(a)) return whole_any(type, v);
    return whole_corners(type, quotient_floored(a.lo, b.lo), quotient_floored(a.lo, b.hi),
                         quotient_floored(a.hi, b.lo), quotient_floored(a.hi, b.hi), v);
}
KF_FN Whole whole_mod(int type, Whole a, Whole b) {
    int64_t v = storage_wrap(type, remainder_floored(a.v, b.v));
    if (whole_is_point(a) && whole_is_point(b)) return whole_point(v);
    return whole_make(b.lo < 0 ? b.lo : 0, v, b.hi > 0 ? b.hi : 0);
}
KF_FN Whole whole_fmax(Whole a, Whole b) {
    return whole_make(a.lo > b.lo ? a.lo : b.lo, a.v > b.v ? a.v : b.v, a.hi > b.hi ? a.hi : b.hi);
}
KF_FN Whole whole_fmin(Whole a, Whole b) {
    return whole_make(a.lo < b.lo ? a.lo : b.lo, a.v < b.v ? a.v : b.v, a.hi < b.hi ? a.hi : b.hi);
}

KF_FN Interval interval_of_whole(Whole a) {
    return interval_make((KfCompute)a.lo, (KfReal)a.v, (KfCompute)a.hi, NAN_NEVER);
}
KF_FN Interval interval_cast(int type, Interval a) {
    if (a.nan == NAN_MUST) return a;
    return interval_make(storage_round(type, a.lo), (KfReal)storage_round(type, (KfCompute)a.v),
                         storage_round(type, a.hi), a.nan);
}
KF_FN Whole whole_cast(int type, Whole a) {
    if (type == DT_BOOL && a.lo < 0 && a.hi > 0) return whole_make(0, a.v != 0, 1);
    if (type == DT_BOOL && a.hi <= 0) return whole_make(a.hi != 0, a.v != 0, a.lo != 0);
    return whole_make(storage_clamp(type, a.lo), storage_clamp(type, a.v),
                      storage_clamp(type, a.hi));
}
KF_FN Whole whole_of_interval(int type, Interval a) {
    Whole r;
    if (type == DT_BOOL) return whole_not(interval_eq(a, interval_point(0), 0));
    if (a.nan == NAN_MUST) return whole_point(0);
    r = whole_make(storage_saturate(type, (double)a.lo),
                   storage_saturate(type, (double)(KfCompute)a.v),
                   storage_saturate(type, (double)a.hi));
    if (a.nan && r.lo > 0) r.lo = 0;
    if (a.nan && r.hi < 0) r.hi = 0;
    return r;
}

#endif
