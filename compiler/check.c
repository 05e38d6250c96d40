/* Stored elements and what they must be in, a verdict and figures out. One idea: a plain loop that
 * only counts what is wrong runs first, and figures are taken where a value can differ from the
 * expected one at all. */
#include "compiler/eval.h"

#include <stdlib.h>
#include <string.h>

#define KF_COMPUTE_BITS 64
#include "compiler/storage.h"

enum { LINE = 512 };
static const double WIDE = 8; /* ulp: a bound as wide says nothing about accuracy */

/* Floating elements as doubles, so that one loop serves all types. */
static void unpack(DType type, const void *base, int64_t at, int64_t count, double *restrict out) {
    const uint16_t *half = (const uint16_t *)base + at;
    const float *single = (const float *)base + at;
    switch (type) {
    case DT_F16:
        for (int64_t i = 0; i < count; i++) out[i] = (double)storage_unpack_f16(half[i]);
        break;
    case DT_BF16:
        for (int64_t i = 0; i < count; i++) out[i] = (double)storage_unpack_bf16(half[i]);
        break;
    case DT_F32:
        for (int64_t i = 0; i < count; i++) out[i] = (double)single[i];
        break;
    default: memcpy(out, (const double *)base + at, (size_t)count * sizeof(double));
    }
}

/* NaN where NaN must be, of any payload; inside; bit for bit where the ends are one number; or
 * unchecked. */
static bool is_right(double x, double lo, double hi, bool may_nan) {
    bool both_nan = x != x && (lo != lo || may_nan), unchecked = lo > hi;
    bool exact = bits_of_double(lo) == bits_of_double(hi);
    bool inside = exact ? bits_of_double(x) == bits_of_double(lo) : lo <= x && x <= hi;
    return both_nan || unchecked || (inside && x == x);
}

static int64_t count_wrong(const double *x, const double *lo, const double *hi,
                           const uint8_t *may_nan, int64_t count) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; i++) wrong += !is_right(x[i], lo[i], hi[i], may_nan[i] != 0);
    return wrong;
}

static int64_t count_unchecked(const double *lo, const double *hi, int64_t count) {
    int64_t unchecked = 0;
    for (int64_t i = 0; i < count; i++) unchecked += lo[i] > hi[i];
    return unchecked;
}

static void note_wrong(Check *check, int64_t element) {
    if (check->first_wrong < 0 || element < check->first_wrong) check->first_wrong = element;
}

static void note_worst(double *worst, int64_t *worst_at, double figure, int64_t element) {
    if (!(figure > *worst) && *worst_at >= 0) return;
    *worst = figure;
    *worst_at = element;
}

/* Distance from the value: as a fraction of its bound on that side (half an ulp of storage more,
 * because the ends are rounded), and in ulp where that says something. */
static void measure(DType type, double x, double value, double lo, double hi, int64_t element,
                    Check *check) {
    double error = fabs(x - value), bound = x > value ? hi - value : value - lo;
    double ulp = storage_ulp((int)type, value),
           wide = (hi - value > value - lo ? hi - value : value - lo) / ulp;
    if (!(error - error == 0) || lo > hi) return; /* not finite, unchecked */
    double fraction = lo == hi ? 0 : error / (bound + ulp / 2);
    note_worst(&check->worst_bound, &check->worst_bound_at, fraction, element);
    if (!(wide >= WIDE)) note_worst(&check->worst_ulp, &check->worst_ulp_at, error / ulp, element);
}

/* A line of floating elements, unpacked. */
typedef struct Line {
    DType type;
    int64_t count, first;
    double x[LINE], lo[LINE], hi[LINE];
    const double *value;
    const uint8_t *may_nan;
} Line;

/* Whether any element's figure may be above the worst so far: the same as measure, without
 * divisions. */
static bool any_worse(const Line *line, const Check *check) {
    double worst_bound = check->worst_bound, worst_ulp = check->worst_ulp,
           least = storage_least((int)line->type);
    double drop = storage_ulp((int)line->type, 1);
    bool any = false;
    for (int64_t i = 0; i < line->count; i++) {
        double value = line->value[i], error = fabs(line->x[i] - value), up = line->hi[i] - value;
        double down = value - line->lo[i], side = line->x[i] > value ? up : down,
               wide = up > down ? up : down;
        double ulp = power_below(value, least) * drop;
        any |= (line->lo[i] < line->hi[i]) & (error > worst_bound * (side + ulp / 2));
        any |= (error > worst_ulp * ulp) & !(wide >= WIDE * ulp);
    }
    return any;
}

static void measure_line(const Line *line, Check *check) {
    if (check->worst_bound_at >= 0 && check->worst_ulp_at >= 0 && !any_worse(line, check)) return;
    for (int64_t i = 0; i < line->count; i++)
        measure(line->type, line->x[i], line->value[i], line->lo[i], line->hi[i], line->first + i,
                check);
}

static void check_floats(const Expected *expected, const void *out, int64_t at, int64_t count,
                         int64_t first, Check *check) {
    Line line = {.type = expected->dtype, .count = count, .first = first + at};
    line.value = expected->value + at;
    line.may_nan = expected->may_nan + at;
    unpack(expected->dtype, out, at, count, line.x);
    unpack(expected->dtype, expected->lo, at, count, line.lo);
    unpack(expected->dtype, expected->hi, at, count, line.hi);
    int64_t wrong = count_wrong(line.x, line.lo, line.hi, line.may_nan, count);
    int64_t unchecked = expected->exact ? 0 : count_unchecked(line.lo, line.hi, count);
    check->wrong += wrong;
    check->unchecked += unchecked;
    check->checked += count - unchecked;
    for (int64_t i = 0; wrong > 0 && i < count; i++)
        if (!is_right(line.x[i], line.lo[i], line.hi[i], line.may_nan[i] != 0))
            note_wrong(check, line.first + i);
    bool equal = expected->exact && wrong == 0 &&
                 memcmp(line.x, line.value, (size_t)count * sizeof(double)) == 0;
    if (equal && check->worst_ulp_at >= 0) return;
    measure_line(&line, check);
}

static void check_wholes(const Expected *expected, const void *out, int64_t at, int64_t count,
                         int64_t first, Check *check) {
    int type =
        expected->dtype == DT_BOOL ? DT_U8 : (int)expected->dtype; /* a bool's bytes are 0 and 1 */
    for (int64_t i = at; i < at + count; i++) {
        int64_t lo = storage_load_whole(type, expected->lo, i),
                hi = storage_load_whole(type, expected->hi, i);
        int64_t x = storage_load_whole(type, out, i);
        bool unchecked = lo > hi, right = unchecked || (lo <= x && x <= hi);
        check->unchecked += unchecked;
        check->checked += !unchecked;
        check->wrong += !right;
        if (!right) note_wrong(check, first + i);
    }
}

void check_block(const Expected *expected, const void *out, int64_t first, Check *check) {
    check->ambiguous += expected->ambiguous;
    for (int64_t at = 0; at < expected->count; at += LINE) {
        int64_t count = expected->count - at < LINE ? expected->count - at : LINE;
        if (dtype_is_float(expected->dtype))
            check_floats(expected, out, at, count, first, check);
        else
            check_wholes(expected, out, at, count, first, check);
    }
}

static void merge_worst(double *worst, int64_t *worst_at, double other, int64_t other_at) {
    if (other_at >= 0) note_worst(worst, worst_at, other, other_at);
}

void check_merge(Check *into, const Check *other) {
    into->checked += other->checked;
    into->unchecked += other->unchecked;
    into->ambiguous += other->ambiguous;
    into->wrong += other->wrong;
    if (other->first_wrong >= 0) note_wrong(into, other->first_wrong);
    merge_worst(&into->worst_bound, &into->worst_bound_at, other->worst_bound,
                other->worst_bound_at);
    merge_worst(&into->worst_ulp, &into->worst_ulp_at, other->worst_ulp, other->worst_ulp_at);
}
