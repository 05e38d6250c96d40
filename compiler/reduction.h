/* Rows in, one interval each out: reductions and matrix products, shared by the host's oracle and
 * the device's. One idea: an implementation may add in any order, so its result lies within the
 * classical bounds of the exact one, min(n, 8 sqrt(n)) units of rounding of the sum of magnitudes;
 * sums of small whole numbers are exact in every order; what could overflow in some order has an
 * infinite end. Needs whole.h; ops are IrOp's numbers. */
#ifndef KF_REDUCTION_H
#define KF_REDUCTION_H

#define KF_ROUNDING ((KfReal)KF_ULP_ONE / 2)
#define KF_WHOLE_LIMIT \
    ((KfReal)2 / (KfReal)KF_ULP_ONE) /* 2^24, 2^53: whole numbers up to it are exact */
#if KF_COMPUTE_BITS == 64
#define KF_LARGEST 0x1.fffffffffffffp1023L
#define KF_EXPONENT_MAX 1023
#else
#define KF_LARGEST 0x1.fffffep127
#define KF_EXPONENT_MAX 127
#endif

/* What a reduction has seen of one row. */
typedef struct Sum {
    int64_t count;
    KfReal v, lo, hi;    /* sums of finite ends; of a product: factors; the largest of an extreme */
    KfReal size;         /* sum of larger magnitudes */
    KfReal above, below; /* sums of what is positive, negative; of a product: of exponents */
    KfReal square, spread;   /* about the mean: sums of squares, of distances times radii, … */
    KfReal distance, radius; /* … of distances, of radii */
    Whole whole;
    KfCompute chain; /* in the compute type, as an eager framework would */
    KfCompute shift; /* what the chain's mean was off by */
    int started, fractions, intervals, negative;
    int may_nan, must_nan, may_plus, must_plus, may_minus, must_minus; /* infinities */
} Sum;

KF_FN Sum sum_none(void) {
    Sum sum;
    sum.count = 0;
    sum.v = sum.lo = sum.hi = sum.size = sum.above = sum.below = 0;
    sum.square = sum.spread = sum.distance = sum.radius = 0;
    sum.whole = whole_point(0);
    sum.chain = sum.shift = 0;
    sum.started = sum.fractions = sum.intervals = sum.negative = 0;
    sum.may_nan = sum.must_nan = sum.may_plus = sum.must_plus = sum.may_minus = sum.must_minus = 0;
    return sum;
}

KF_FN KfReal sum_growth(int64_t count) {
    KfReal n = (KfReal)count, probable = 8 * KF_R(sqrt)(n);
    return n < probable ? n : probable;
}

/* --- what one element adds */

KF_FN void sum_note_ends(Sum *sum, Interval a) {
    sum->may_nan |= a.nan != NAN_NEVER;
    sum->must_nan |= a.nan == NAN_MUST;
    sum->may_plus |= a.hi == KF_HUGE;
    sum->must_plus |= a.lo == KF_HUGE;
    sum->may_minus |= a.lo == -KF_HUGE;
    sum->must_minus |= a.hi == -KF_HUGE;
}

KF_FN int interval_is_finite(Interval a) {
    return a.nan != NAN_MUST && !interval_has_infinity(a);
}

KF_FN void sum_add(Sum *sum, Interval a) {
    KfReal lo = (KfReal)a.lo, hi = (KfReal)a.hi;
    sum_note_ends(sum, a);
    if (!interval_is_finite(a)) return;
    sum->v += a.v;
    sum->lo += lo;
    sum->hi += hi;
    sum->size += hi > -lo ? hi : -lo;
    sum->above += hi > 0 ? hi : 0;
    sum->below += lo < 0 ? lo : 0;
    sum->intervals |= lo != hi;
    sum->fractions |= KF_R(floor)(a.v) != a.v;
}

/* About the mean of the pass before. */
KF_FN void sum_add_deviation(Sum *sum, Interval a, KfReal mean) {
    KfReal d = a.v - mean, size = KF_R(fabs)(d), up = (KfReal)a.hi - a.v, down = a.v - (KfReal)a.lo;
    KfReal radius = up > down ? up : down;
    sum_note_ends(sum, a);
    if (!interval_is_finite(a)) return;
    sum->square += d * d;
    sum->distance += size;
    sum->spread += size * radius;
    sum->radius += radius;
}

/* `above` and `below` collect exponents: could a part of the product overflow or underflow? */
KF_FN void sum_multiply(Sum *sum, Interval a) {
    int exponent = 0;
    sum_note_ends(sum, a);
    sum->v = sum->started ? sum->v * a.v : a.v;
    sum->started = 1;
    sum->negative ^= is_negative(a.lo);
    sum->intervals |= !interval_is_point(a) && a.nan != NAN_MUST;
    sum->fractions |= KF_R(floor)(a.v) != a.v;
    if (a.v == 0 || !interval_is_finite(a)) return;
    KF_R(frexp)(a.v, &exponent);
    if (exponent > 0)
        sum->above += exponent;
    else
        sum->below += exponent - 1;
}

/* The largest (for max), negated for min. Of zeros at the top either may come. */
KF_FN void sum_raise(Sum *sum, Interval a) {
    sum->may_nan |= a.nan != NAN_NEVER;
    sum->must_nan |= a.nan == NAN_MUST;
    if (a.nan == NAN_MUST) return;
    a.nan = NAN_NEVER;
    if (sum->started)
        a = interval_fmax(a,
                          interval_make((KfCompute)sum->lo, sum->v, (KfCompute)sum->hi, NAN_NEVER));
    sum->started = 1;
    sum->lo = (KfReal)a.lo;
    sum->v = a.v;
    sum->hi = (KfReal)a.hi;
}

KF_FN void sum_add_whole(Sum *sum, int op, int type, Whole a) {
    Whole before = sum->whole;
    if (!sum->started) before = op == IR_SUM ? whole_point(0) : op == IR_PROD ? whole_point(1) : a;
    if (op == IR_SUM)
        sum->whole = whole_add(type, before, a);
    else if (op == IR_PROD)
        sum->whole = whole_mul(type, before, a);
    else
        sum->whole = op == IR_MAX ? whole_fmax(before, a) : whole_fmin(before, a);
    sum->started = 1;
}

KF_FN void sum_add_real(Sum *sum, int op, Interval a, int pass, KfReal mean) {
    if (op == IR_PROD)
        sum_multiply(sum, a);
    else if (op == IR_MAX)
        sum_raise(sum, a);
    else if (op == IR_MIN)
        sum_raise(sum, interval_neg(a));
    else if (pass == 0)
        sum_add(sum, a);
    else
        sum_add_deviation(sum, a, mean);
}

/* --- pieces of one row */

KF_FN void sum_merge_flags(Sum *sum, const Sum *other) {
    sum->fractions |= other->fractions;
    sum->intervals |= other->intervals;
    sum->negative ^= other->negative;
    sum->may_nan |= other->may_nan;
    sum->must_nan |= other->must_nan;
    sum->may_plus |= other->may_plus;
    sum->must_plus |= other->must_plus;
    sum->may_minus |= other->may_minus;
    sum->must_minus |= other->must_minus;
}

KF_FN void sum_merge_sums(Sum *sum, const Sum *other) {
    sum->v += other->v;
    sum->lo += other->lo;
    sum->hi += other->hi;
    sum->size += other->size;
    sum->square += other->square;
    sum->spread += other->spread;
    sum->distance += other->distance;
    sum->radius += other->radius;
}

/* `type` is the reduction's. The bounds are those of any order, so pieces may be any. */
KF_FN void sum_merge(Sum *sum, int op, int type, const Sum *other) {
    if (other->count == 0) return;
    if (sum->count == 0) {
        *sum = *other;
        return;
    }
    sum->count += other->count;
    sum_merge_flags(sum, other);
    sum->above += other->above;
    sum->below += other->below;
    if (!storage_is_float(type))
        sum_add_whole(sum, op, type, other->whole);
    else if (op == IR_PROD)
        sum->v *= other->v;
    else if (op != IR_MAX && op != IR_MIN)
        sum_merge_sums(sum, other);
    else if (other->started)
        sum_raise(sum,
                  interval_make((KfCompute)other->lo, other->v, (KfCompute)other->hi, NAN_NEVER));
}

/* --- what a row comes to */

/* A sum that is zero may have either sign: it matters what it started from. */
KF_FN Interval sum_signed(KfCompute low, KfReal v, KfCompute high, int nan) {
    return interval_make(low == 0 ? (KfCompute)-0.0f : low, v, high == 0 ? (KfCompute)0 : high,
                         nan);
}

/* A value in [lo - error, hi + error]; ends are infinite where parts overflow. */
KF_FN Interval sum_bounded(const Sum *sum, KfReal lo, KfReal v, KfReal hi, KfReal error) {
    int over = sum->above > (KfReal)KF_LARGEST || sum->may_plus;
    int under = sum->below < -(KfReal)KF_LARGEST || sum->may_minus;
    KfCompute low = under ? -KF_HUGE : (KfCompute)(lo - error),
              high = over ? KF_HUGE : (KfCompute)(hi + error);
    if (sum->must_nan || (sum->must_plus && sum->must_minus)) return interval_nan();
    if (sum->must_plus && !under) low = KF_HUGE;
    if (sum->must_minus && !over) high = -KF_HUGE;
    return sum_signed(low, v, high, sum->may_nan || (over && under) ? NAN_MAY : NAN_NEVER);
}

KF_FN KfReal sum_error(const Sum *sum) {
    if (sum->count <= 1 || (!sum->fractions && !sum->intervals && sum->size <= KF_WHOLE_LIMIT))
        return 0;
    return sum_growth(sum->count - 1) * KF_ROUNDING * sum->size;
}

/* Division by a power of two is exact however it is done. By any other it is rounded, and who then adds
 * the mean of what is left sums fractions, however exact the first sum was. */
KF_FN Interval sum_mean(const Sum *sum) {
    KfReal n = (KfReal)sum->count, error;
    int halves = (sum->count & (sum->count - 1)) == 0;
    if (sum->count == 0) return interval_nan();
    error = (halves ? sum_error(sum) : sum_growth(sum->count) * KF_ROUNDING * sum->size) / n;
    if (error != 0 || !halves) error += 2 * KF_ROUNDING * KF_R(fabs)(sum->v) / n;
    return sum_bounded(sum, sum->lo / n, sum->v / n, sum->hi / n, error);
}

/* By m = mean(x); d = x - m; d -= mean(d); mean(d * d). `first` is the pass that gave the mean. */
KF_FN Interval sum_variance(const Sum *sum, const Sum *first) {
    KfReal n = (KfReal)sum->count, u = KF_ROUNDING, f = sum_growth(sum->count);
    KfReal square = sum->square / n, distance = sum->distance / n, radius = sum->radius / n;
    KfReal shift = (f + 2) * u * first->size / n + radius; /* how far the first mean may be off */
    KfReal step = f * u * (distance + shift) + radius;     /* and what the second leaves */
    KfReal most = 2 * u * (KF_R(sqrt)(square) + shift) + step + radius;
    KfReal error = 2 * (2 * u * (square + distance * shift) + distance * step + sum->spread / n);
    int infinite = sum->may_plus || sum->may_minus;
    if (sum->count == 0 || sum->must_nan || sum->must_plus || sum->must_minus)
        return interval_nan();
    if (sum->count == 1 && !infinite && !sum->may_nan && radius == 0) return interval_point(0);
    error += most * most + (f + 4) * u * square + (KfReal)KF_ULP_LEAST;
    infinite |= first->above > (KfReal)KF_LARGEST || first->below < -(KfReal)KF_LARGEST;
    if (infinite) return interval_make(-KF_HUGE, square, KF_HUGE, NAN_MAY);
    return interval_make(square > error ? (KfCompute)(square - error) : 0, square,
                         sum->square + n * error > (KfReal)KF_LARGEST ? KF_HUGE
                                                                      : (KfCompute)(square + error),
                         sum->may_nan ? NAN_MAY : NAN_NEVER);
}

KF_FN Interval sum_product(const Sum *sum) {
    KfReal size = KF_R(fabs)(sum->v),
           error = sum_growth(sum->count - 1) * KF_ROUNDING * size * (KfReal)1.001;
    int outside = sum->above >= KF_EXPONENT_MAX || -sum->below >= KF_EXPONENT_MAX - 1;
    if (sum->count == 0) return interval_point(1);
    if (sum->must_nan) return interval_nan();
    if (sum->intervals || sum->may_plus || sum->may_minus || outside)
        return interval_make(-KF_HUGE, sum->v, KF_HUGE, NAN_MAY);
    if (sum->v == 0) return interval_point(sum->negative ? (KfCompute)-0.0f : (KfCompute)0);
    if (sum->count == 1 || (!sum->fractions && size <= KF_WHOLE_LIMIT)) error = 0;
    return interval_make((KfCompute)(sum->v - error), sum->v, (KfCompute)(sum->v + error),
                         sum->may_nan ? NAN_MAY : NAN_NEVER);
}

KF_FN Interval sum_extreme(const Sum *sum, int least) {
    Interval r = interval_make((KfCompute)sum->lo, sum->v, (KfCompute)sum->hi,
                               sum->may_nan ? NAN_MAY : NAN_NEVER);
    if (sum->must_nan) return interval_nan();
    if (!sum->started) r = interval_point(-KF_HUGE);
    return least ? interval_neg(r) : r;
}

KF_FN Interval sum_real(const Sum *sum, const Sum *first, int op) {
    if (op == IR_SUM) return sum_bounded(sum, sum->lo, sum->v, sum->hi, sum_error(sum));
    if (op == IR_MEAN) return sum_mean(sum);
    if (op == IR_VAR) return sum_variance(sum, first);
    return op == IR_PROD ? sum_product(sum) : sum_extreme(sum, op == IR_MIN);
}

KF_FN Whole sum_whole(const Sum *sum, int op, int type) {
    if (sum->count > 0) return sum->whole;
    if (op == IR_MAX) return whole_point(storage_low(type));
    if (op == IR_MIN) return whole_point(storage_high(type));
    return whole_point(op == IR_PROD);
}

/* --- matrix products: one element, term by term */

KF_FN KfReal interval_radius(Interval a) {
    KfReal up = (KfReal)a.hi - a.v, down = a.v - (KfReal)a.lo;
    return up > down ? up : down;
}

/* How far a product may lie from the product of values. */
KF_FN KfReal product_radius(Interval a, Interval b) {
    KfReal ra = interval_radius(a), rb = interval_radius(b);
    return ra == 0 && rb == 0 ? 0 : KF_R(fabs)(a.v) * rb + KF_R(fabs)(b.v) * ra + ra * rb;
}

/* The sum of `depth` products: of values, of magnitudes with radii, of radii. */
KF_FN Interval product_real(KfReal v, KfReal size, KfReal radius, int64_t depth, int fractions,
                            int may_nan) {
    int exact = radius == 0 && !fractions && size <= KF_WHOLE_LIMIT;
    KfReal error = sum_growth(depth) * KF_ROUNDING * size + (KfReal)depth * (KfReal)KF_ULP_LEAST;
    if (exact) error = 0;
    if (v != v && radius == 0) return interval_nan();
    if (v != v || !(radius < (KfReal)KF_HUGE)) return interval_make(-KF_HUGE, 0, KF_HUGE, NAN_MAY);
    /* An infinity, unless finite products overflow to the other one. */
    if (size == (KfReal)KF_HUGE) return interval_make((KfCompute)v, v, (KfCompute)v, NAN_MAY);
    if (size > (KfReal)KF_LARGEST) return interval_make(-KF_HUGE, v, KF_HUGE, NAN_MAY);
    return sum_signed((KfCompute)(v - radius - error), v, (KfCompute)(v + radius + error),
                      may_nan ? NAN_MAY : NAN_NEVER);
}

#endif
