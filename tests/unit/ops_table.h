/* tests/data/ops-values.txt: what functions of the registry are worth by their definitions, and how
 * near a formula has to come to that. */
#ifndef KF_TEST_OPS_TABLE_H
#define KF_TEST_OPS_TABLE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "registry/dtype.h"

/* Of any formula, relative to the value. */
#define TOLERANCE_F32 1e-5
#define TOLERANCE_F64 1e-13

typedef struct Line {
    char name[32];
    double args[8];
    uint32_t count;
    char value[64];
} Line;

static inline FILE *table_open(void) {
    FILE *file = fopen(TEST_SOURCE "/tests/data/ops-values.txt", "r");
    assert_non_null(file);
    return file;
}

static inline bool table_read(FILE *file, Line *line) {
    char text[512], *rest;
    do
        if (!fgets(text, sizeof text, file)) return false;
    while (*text == '#');
    *line = (Line){0};
    snprintf(line->name, sizeof line->name, "%s", strtok_r(text, " \n", &rest));
    for (char *word; strcmp(word = strtok_r(NULL, " \n", &rest), "=");)
        line->args[line->count++] = strtod(word, NULL);
    snprintf(line->value, sizeof line->value, "%s", strtok_r(NULL, " \n", &rest));
    return true;
}

static inline void line_print(const Line *line, double got) {
    print_message("%s", line->name);
    for (uint32_t i = 0; i < line->count; i++) print_message(" %.9g", line->args[i]);
    print_message(" gives %.17g, not %s\n", got, line->value);
}

/* Formulas that cancel somewhere lose digits there: relative to their operands they are as good. */
static inline double line_cancelled(const Line *line) {
    static const struct {
        const char *name;
        double scale;
    } cancelling[] = {{"tanhshrink", 1}, {"logit", 1},    {"logaddexp", 1}, {"lerp", 8},
                      {"mod", 1},        {"addcmul", 32}, {"addcdiv", 32}};
    for (size_t i = 0; i < sizeof cancelling / sizeof *cancelling; i++)
        if (!strcmp(cancelling[i].name, line->name)) return cancelling[i].scale;
    return 0;
}

/* A factor that underflows has lost its digits before it is multiplied by an argument or a
 * constant. */
static inline double line_underflow(DType type, const Line *line) {
    double least = type == DT_F32 ? 0x1p-149 : 0x1p-1074, size = fabs(line->args[0]);
    return least * (size > 32 && size < 1e4 ? size : 32);
}

/* What a formula computed in `type` (f32 or f64) may be off by. */
static inline double line_slack(DType type, const Line *line) {
    double wanted = dtype_round(type, strtod(line->value, NULL));
    double tolerance = type == DT_F32 ? TOLERANCE_F32 : TOLERANCE_F64;
    return tolerance * (fabs(wanted) + line_cancelled(line)) + line_underflow(type, line);
}

/* Whether `got`, a result in `type`, is the line's value: NaN and infinities are exact, and so is a
 * zero's sign but where the line leaves it open or what cancels is too small for `type`. */
static inline bool line_fits(DType type, const Line *line, double got, double slack) {
    double value = strtod(line->value, NULL), wanted = dtype_round(type, value);
    if (isnan(wanted) || isinf(wanted) || isinf(got))
        return isnan(wanted) ? isnan(got) : got == wanted;
    bool any_zero = !strcmp(line->value, "0") || (value != 0 && line_cancelled(line) > 0);
    if (got == 0 && !any_zero && !signbit(got) != !signbit(wanted)) return false;
    if (value == 0 && *line->value != '0') return got == 0;
    return fabs(got - wanted) <= slack;
}

#endif
