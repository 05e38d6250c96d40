/* Intervals hold what any right implementation may give: points inside the operands, computed in
 * the compute type (functions up to their error away), lie inside the result. And they are no wider
 * than they must be: one number in, one number out. */
#include "registry/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { IR_SUM, IR_PROD, IR_MAX, IR_MIN, IR_MEAN, IR_VAR };

#ifndef KF_COMPUTE_BITS
#define KF_COMPUTE_BITS 32
#endif
#include "compiler/storage.h"
#include "compiler/interval.h"
#include "compiler/interval_function.h"
#include "compiler/whole.h"
#include "compiler/reduction.h"

#if KF_COMPUTE_BITS == 64
#define LARGEST 0x1.fffffffffffffp1023
#define LEAST 0x1p-1074
#else
#define LARGEST 0x1.fffffep127f
#define LEAST 0x1p-149f
#endif

enum { TRIALS = 40000, SAMPLES = 6, ULP = 3 };

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static KfCompute step(KfCompute x, int by) {
    for (; by > 0; by--) x = KF_C(nextafter)(x, KF_HUGE);
    for (; by < 0; by++) x = KF_C(nextafter)(x, -KF_HUGE);
    return x;
}

static KfCompute any_number(uint64_t *state) {
    const KfCompute special[] = {0,
                                 (KfCompute)-0.0f,
                                 1,
                                 -1,
                                 KF_HUGE,
                                 -KF_HUGE,
                                 (KfCompute)0.5f,
                                 2,
                                 (KfCompute)-2.5f,
                                 3,
                                 -40,
                                 100,
                                 (KfCompute)1.5708,
                                 LARGEST,
                                 -LARGEST,
                                 LEAST,
                                 -LEAST};
    if (next(state) % 3 == 0) return special[next(state) % (sizeof special / sizeof *special)];
    int exponent =
        next(state) % 4 == 0 ? (int)(next(state) % 250) - 125 : (int)(next(state) % 10) - 6;
    double size = ldexp((double)(next(state) >> 11), exponent - 53);
    return (KfCompute)(next(state) & 1 ? size : -size);
}

static int ends_in_order(KfCompute a, KfCompute b) {
    return a < b || (a == b && (a != 0 || is_negative(a) >= is_negative(b)));
}

static Interval any_interval(uint64_t *state) {
    KfCompute a = any_number(state), b = a;
    uint64_t kind = next(state) % 8;
    if (kind < 3)
        b = step(a, (int)(next(state) % 5));
    else if (kind < 5)
        b = any_number(state);
    else if (kind == 5)
        a = -KF_HUGE, b = KF_HUGE;
    if (next(state) % 20 == 0) return interval_nan();
    if (!ends_in_order(a, b)) return interval_make(b, (KfReal)b, a, next(state) % 8 == 0);
    return interval_make(a, (KfReal)a, b, next(state) % 8 == 0);
}

static KfCompute any_inside(Interval a, uint64_t *state) {
    uint64_t kind = next(state) % 5;
    if (a.nan == NAN_MUST || (a.nan == NAN_MAY && next(state) % 4 == 0)) return KF_NAN;
    if (kind == 0) return a.lo;
    if (kind == 1) return a.hi;
    if (kind == 2 && a.lo < 0 && a.hi > 0) return next(state) & 1 ? (KfCompute)-0.0f : (KfCompute)0;
    KfReal t = (KfReal)(next(state) >> 11) * 0x1p-53, low = (KfReal)a.lo, high = (KfReal)a.hi;
    if (low == -(KfReal)KF_HUGE) low = -LARGEST;
    if (high == (KfReal)KF_HUGE) high = LARGEST;
    KfCompute x = (KfCompute)(low * (1 - t) + high * t);
    if (x == 0 || x < a.lo || x > a.hi) return a.lo;
    return x;
}

static int holds(Interval a, KfCompute x) {
    if (x != x) return a.nan != NAN_NEVER;
    return a.nan != NAN_MUST && ends_in_order(a.lo, x) && ends_in_order(x, a.hi);
}

/* --- the operations: as intervals, and as an implementation in the compute type does them */

typedef struct Case {
    const char *name;
    Interval (*interval)(Interval a, Interval b, Interval c);
    KfCompute (*compute)(KfCompute a, KfCompute b, KfCompute c);
    KfReal (*real)(KfReal a, KfReal b); /* of functions, instead */
    KfCompute low, high;                /* what no implementation leaves */
} Case;

#define UNARY(name, expression)                                              \
    static Interval interval_of_##name(Interval a, Interval b, Interval c) { \
        (void)b, (void)c;                                                    \
        return interval_##name(a);                                           \
    }                                                                        \
    static KfCompute compute_##name(KfCompute a, KfCompute b, KfCompute c) { \
        (void)b, (void)c;                                                    \
        return expression;                                                   \
    }
#define BINARY(name, expression)                                             \
    static Interval interval_of_##name(Interval a, Interval b, Interval c) { \
        (void)c;                                                             \
        return interval_##name(a, b);                                        \
    }                                                                        \
    static KfCompute compute_##name(KfCompute a, KfCompute b, KfCompute c) { \
        (void)c;                                                             \
        return expression;                                                   \
    }
#define FUNCTION(name)                                                       \
    static Interval interval_of_##name(Interval a, Interval b, Interval c) { \
        (void)b, (void)c;                                                    \
        return interval_##name(a, ULP);                                      \
    }                                                                        \
    static KfReal real_##name(KfReal a, KfReal b) {                          \
        (void)b;                                                             \
        return KF_R(name)(a);                                                \
    }
#define FUNCTION2(name)                                                      \
    static Interval interval_of_##name(Interval a, Interval b, Interval c) { \
        (void)c;                                                             \
        return interval_##name(a, b, ULP);                                   \
    }                                                                        \
    static KfReal real_##name(KfReal a, KfReal b) {                          \
        return KF_R(name)(a, b);                                             \
    }

UNARY(neg, -a)
UNARY(fabs, KF_C(fabs)(a))
UNARY(square, a *a)
UNARY(sqrt, KF_C(sqrt)(a))
UNARY(floor, KF_C(floor)(a))
UNARY(ceil, KF_C(ceil)(a))
UNARY(trunc, KF_C(trunc)(a))
UNARY(round, KF_C(rint)(a))
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(floordiv, KF_C(floor)(a / b))
BINARY(mod, floored_remainder(a, b))
BINARY(fmod, KF_C(fmod)(a, b))
BINARY(fmax, KF_C(fmax)(a, b))
BINARY(fmin, KF_C(fmin)(a, b))
BINARY(copysign, KF_C(copysign)(a, b))
FUNCTION(exp)
FUNCTION(exp2)
FUNCTION(expm1)
FUNCTION(log)
FUNCTION(log2)
FUNCTION(log10)
FUNCTION(log1p)
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(tan)
FUNCTION(asin)
FUNCTION(acos)
FUNCTION(atan)
FUNCTION(sinh)
FUNCTION(cosh)
FUNCTION(tanh)
FUNCTION(erf)
FUNCTION(erfc)
FUNCTION(cbrt)
FUNCTION2(pow)
FUNCTION2(atan2)
FUNCTION2(hypot)

static Interval interval_of_fma(Interval a, Interval b, Interval c) {
    return interval_fma(a, b, c);
}
static KfCompute compute_fma(KfCompute a, KfCompute b, KfCompute c) {
    return KF_C(fma)(a, b, c);
}
static Interval interval_of_select(Interval a, Interval b, Interval c) {
    return interval_select(interval_lt(a, b, 0), b, c);
}
static KfCompute compute_select(KfCompute a, KfCompute b, KfCompute c) {
    return a < b ? b : c;
}
static Interval interval_of_max(Interval a, Interval b, Interval c) {
    (void)c;
    Whole left = whole_or(interval_lt(b, a, 0), whole_not(interval_eq(a, a, 1)));
    return interval_select(left, a, b);
}
static KfCompute compute_max(KfCompute a, KfCompute b, KfCompute c) {
    (void)c;
    return a > b || a != a ? a : b;
}
static Interval interval_of_f16(Interval a, Interval b, Interval c) {
    (void)b, (void)c;
    return interval_cast(DT_F16, a);
}
static KfCompute compute_f16(KfCompute a, KfCompute b, KfCompute c) {
    (void)b, (void)c;
    return storage_round(DT_F16, a);
}

#define EXACT(name) \
    { #name, interval_of_##name, compute_##name, NULL, 0, 0 }
#define WITHIN(name, low, high) \
    { #name, interval_of_##name, NULL, real_##name, low, high }

static void run_case(const Case *test) {
    uint64_t state = 88172645463325252u;
    for (int trial = 0; trial < TRIALS; trial++) {
        Interval x[3] = {any_interval(&state), any_interval(&state), any_interval(&state)};
        Interval r = test->interval(x[0], x[1], x[2]);
        for (int sample = 0; sample < SAMPLES; sample++) {
            KfCompute a = any_inside(x[0], &state), b = any_inside(x[1], &state),
                      c = any_inside(x[2], &state), y;
            if (test->compute) {
                y = test->compute(a, b, c);
            } else {
                KfCompute exact = (KfCompute)test->real((KfReal)a, (KfReal)b);
                y = step(exact, exact == 0 || exact == 1 || exact - exact != 0
                                    ? 0
                                    : (int)(next(&state) % (2 * ULP + 1)) - ULP);
                if ((y < 0) != (exact < 0) || y < test->low || y > test->high) y = exact;
            }
            if (holds(r, y)) continue;
            printf("%s(%a %a %a) = %a, not in [%a, %a] nan %d of [%a, %a] %d, [%a, %a] %d\n",
                   test->name, (double)a, (double)b, (double)c, (double)y, (double)r.lo,
                   (double)r.hi, r.nan, (double)x[0].lo, (double)x[0].hi, x[0].nan, (double)x[1].lo,
                   (double)x[1].hi, x[1].nan);
            fail();
        }
    }
}

static const Case cases[] = {
    EXACT(neg),      EXACT(fabs),   EXACT(square), EXACT(sqrt), EXACT(floor), EXACT(ceil),
    EXACT(trunc),    EXACT(round),  EXACT(add),    EXACT(sub),  EXACT(mul),   EXACT(div),
    EXACT(floordiv), EXACT(mod),    EXACT(fmod),   EXACT(fmax), EXACT(fmin),  EXACT(copysign),
    EXACT(fma),      EXACT(select), EXACT(max),    EXACT(f16),
};

static void exact_operations(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_case(&cases[i]);
}

static void functions(void **unused) {
    const KfCompute inf = KF_HUGE;
    const Case list[] = {
        WITHIN(exp, 0, inf),      WITHIN(exp2, 0, inf),    WITHIN(expm1, -1, inf),
        WITHIN(log, -inf, inf),   WITHIN(log2, -inf, inf), WITHIN(log10, -inf, inf),
        WITHIN(log1p, -inf, inf), WITHIN(sin, -inf, inf),  WITHIN(cos, -inf, inf),
        WITHIN(tan, -inf, inf),   WITHIN(asin, -inf, inf), WITHIN(acos, -inf, inf),
        WITHIN(atan, -inf, inf),  WITHIN(sinh, -inf, inf), WITHIN(cosh, 1, inf),
        WITHIN(tanh, -1, 1),      WITHIN(erf, -1, 1),      WITHIN(erfc, 0, inf),
        WITHIN(cbrt, -inf, inf),  WITHIN(pow, -inf, inf),  WITHIN(atan2, -inf, inf),
        WITHIN(hypot, 0, inf),
    };
    (void)unused;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) run_case(&list[i]);
}

/* One number in, one number out, bit for bit what the compute type gives. */
static void points_stay_points(void **unused) {
    uint64_t state = 5;
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int trial = 0; trial < TRIALS; trial++) {
            KfCompute x[3] = {any_number(&state), any_number(&state), any_number(&state)};
            bool undecided = strncmp(cases[i].name, "fm", 2) == 0 && x[0] == 0 && x[1] == 0;
            Interval r =
                cases[i].interval(interval_point(x[0]), interval_point(x[1]), interval_point(x[2]));
            KfCompute y = cases[i].compute(x[0], x[1], x[2]);
            if (undecided) continue; /* of fmax(-0, 0) either may come */
            if (y != y ? r.nan == NAN_MUST
                       : interval_is_point(r) && ends_in_order(y, r.lo) && ends_in_order(r.lo, y))
                continue;
            printf("%s(%a, %a, %a) is %a, got [%a, %a] nan %d\n", cases[i].name, (double)x[0],
                   (double)x[1], (double)x[2], (double)y, (double)r.lo, (double)r.hi, r.nan);
            fail();
        }
    }
}

/* --- whole numbers */

static Whole any_whole(int type, uint64_t *state) {
    const int64_t special[] = {
        0, 1, -1, 2, -2, 3, 7, 100, storage_low(type), storage_high(type), storage_high(type) - 1};
    int64_t a = special[next(state) % 11], b = next(state) % 3 ? a : special[next(state) % 11];
    a = storage_clamp(type, a), b = storage_clamp(type, b);
    return a < b ? whole_make(a, a, b) : whole_make(b, b, a);
}

static int64_t any_within(Whole a, uint64_t *state) {
    uint64_t kind = next(state) % 3, width = (uint64_t)a.hi - (uint64_t)a.lo;
    if (kind == 0 || width == UINT64_MAX) return a.lo;
    return kind == 1 ? a.hi : (int64_t)((uint64_t)a.lo + next(state) % (width + 1));
}

static void whole_operations(void **unused) {
    const int types[] = {DT_U8, DT_I8, DT_I32, DT_I64};
    uint64_t state = 99;
    (void)unused;
    for (int trial = 0; trial < TRIALS * 10; trial++) {
        int t = types[trial % 4];
        Whole x = any_whole(t, &state), y = any_whole(t, &state);
        int64_t a = any_within(x, &state), b = any_within(y, &state);
        const Whole results[] = {
            whole_neg(t, x),        whole_abs(t, x),         whole_add(t, x, y), whole_sub(t, x, y),
            whole_mul(t, x, y),     whole_floordiv(t, x, y), whole_mod(t, x, y), whole_fmax(x, y),
            whole_fmin(x, y),       whole_lt(x, y, 0),       whole_le(x, y, 0),  whole_eq(x, y, 0),
            whole_cast(DT_BOOL, x), whole_cast(DT_U8, x)};
        int64_t minus_a = (int64_t)(0 - (uint64_t)a), minus_b = (int64_t)(0 - (uint64_t)b);
        const int64_t values[] = {storage_wrap(t, minus_a),
                                  a < 0 ? storage_wrap(t, minus_a) : a,
                                  storage_wrap(t, add_wrapped(a, b)),
                                  storage_wrap(t, add_wrapped(a, minus_b)),
                                  storage_wrap(t, mul_wrapped(a, b)),
                                  storage_wrap(t, quotient_floored(a, b)),
                                  storage_wrap(t, remainder_floored(a, b)),
                                  a > b ? a : b,
                                  a < b ? a : b,
                                  a < b,
                                  a <= b,
                                  a == b,
                                  a != 0,
                                  storage_clamp(DT_U8, a)};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            if (results[i].lo <= values[i] && values[i] <= results[i].hi) continue;
            printf("type %d operation %zu of %lld %lld: %lld not in [%lld, %lld]\n", t, i,
                   (long long)a, (long long)b, (long long)values[i], (long long)results[i].lo,
                   (long long)results[i].hi);
            fail();
        }
    }
}

/* --- storage: the same rounding as dtype.c's, which is tested on its own */

static void storage_rounds_and_packs(void **unused) {
    const DType types[] = {DT_F16, DT_BF16, DT_F32};
    uint64_t state = 3;
    (void)unused;
    for (int trial = 0; trial < TRIALS * 10; trial++) {
        DType type = types[trial % 3];
        KfCompute x = any_number(&state);
        double rounded = (double)storage_round((int)type, x),
               expected = dtype_round(type, (double)x);
        unsigned char mine[8] = {0}, theirs[8] = {0};
        assert_true(rounded == expected || (rounded != rounded && expected != expected));
        storage_store_real((int)type, mine, 0, rounded);
        dtype_store(type, theirs, (Scalar){.real = expected});
        assert_true(memcmp(mine, theirs, 8) == 0 || rounded != rounded);
        KfCompute back = storage_load_real((int)type, mine, 0);
        assert_true(rounded != rounded ||
                    ((double)back == rounded && !signbit(back) == !signbit(rounded)));
    }
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        double f16 = dtype_load(DT_F16, &bits).real, bf16 = dtype_load(DT_BF16, &bits).real;
        assert_true((double)storage_unpack_f16((uint16_t)bits) == f16 || f16 != f16);
        assert_true((double)storage_unpack_bf16((uint16_t)bits) == bf16 || bf16 != bf16);
    }
}

/* --- rows */

static KfCompute sum_as_it_comes(const KfCompute *x, int count, uint64_t *state) {
    KfCompute part[8] = {0}, sum = 0;
    int lanes = 1 + (int)(next(state) % 8);
    for (int i = 0; i < count; i++) part[i % lanes] += x[i];
    for (int i = 0; i < lanes; i++) sum += part[i];
    return sum;
}

static void sums_in_any_order(void **unused) {
    uint64_t state = 17;
    KfCompute x[300];
    (void)unused;
    for (int trial = 0; trial < 3000; trial++) {
        int count = (int)(next(&state) % 300), kind = trial % 3;
        Sum sum = sum_none();
        for (int i = 0; i < count; i++) {
            x[i] = kind == 0   ? any_number(&state)
                   : kind == 1 ? (KfCompute)((int)(next(&state) % 9) - 4)
                               : (KfCompute)((double)next(&state) * 0x1p-64 - 0.3);
            sum_add_real(&sum, IR_SUM, interval_point(x[i]), 0, 0);
            sum.count++;
        }
        Interval r = sum_real(&sum, &sum, IR_SUM);
        KfCompute y = sum_as_it_comes(x, count, &state);
        assert_true(y != y ? r.nan != NAN_NEVER : r.lo <= y && y <= r.hi);
        if (kind == 1) assert_true(interval_is_point(r) || (r.lo == 0 && r.hi == 0));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_operations),         cmocka_unit_test(functions),
        cmocka_unit_test(points_stay_points),       cmocka_unit_test(whole_operations),
        cmocka_unit_test(storage_rounds_and_packs), cmocka_unit_test(sums_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
