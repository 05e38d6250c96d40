/* In: a double. Out: the shortest decimal text that reads back as the same. The one idea: ask
 * printf for one digit more until strtod agrees, keeping digits and exponent apart, so that no
 * locale's decimal point comes into it. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "grammar/ast.h"

enum { DIGITS = 17 /* enough for any double */, PLAIN_MIN = -3, PLAIN_MAX = 16 };

/* A positive number: 0.DIGITS * 10**point. */
typedef struct Decimal {
    char digits[DIGITS + 1];
    int count, point;
} Decimal;

static Decimal round_to(double value, int count) {
    Decimal decimal = {.count = 0};
    char text[64];
    snprintf(text, sizeof text, "%.*e", count - 1, value);
    const char *at = text;
    for (; *at != 'e'; at++)
        if (isdigit((unsigned char)*at)) decimal.digits[decimal.count++] = *at;
    decimal.point = atoi(at + 1) + 1;
    return decimal;
}

static double value_of(const Decimal *decimal) {
    char text[64];
    snprintf(text, sizeof text, "%se%d", decimal->digits, decimal->point - decimal->count);
    return strtod(text, NULL);
}

static Decimal shortest(double value) {
    for (int count = 1; count < DIGITS; count++) {
        Decimal decimal = round_to(value, count);
        if (value_of(&decimal) == value) return decimal;
    }
    return round_to(value, DIGITS);
}

/* Plain notation from 1e-4 to below 1e16, as most languages choose. */
static void print_decimal(Text *out, const Decimal *decimal) {
    const char *digits = decimal->digits, *zeros = "0000000000000000";
    int count = decimal->count, point = decimal->point;
    if (point < PLAIN_MIN || point > PLAIN_MAX)
        text_printf(out, "%c%s%se%d", digits[0], count > 1 ? "." : "", digits + 1, point - 1);
    else if (point <= 0)
        text_printf(out, "0.%.*s%s", -point, zeros, digits);
    else if (count <= point)
        text_printf(out, "%s%.*s", digits, point - count, zeros);
    else
        text_printf(out, "%.*s.%s", point, digits, digits + point);
}

void number_print(Text *out, double value) {
    if (isnan(value)) {
        text_add(out, "nan");
        return;
    }
    if (signbit(value)) text_add(out, "-");
    if (isinf(value)) {
        text_add(out, "inf");
    } else if (fpclassify(value) == FP_ZERO) {
        text_add(out, "0");
    } else {
        Decimal decimal = shortest(fabs(value));
        print_decimal(out, &decimal);
    }
}
