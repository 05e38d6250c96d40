/* Ir -> Ir for `--math fast`: cheaper operations, other last bits. It is done here, on values, and
 * never by a compiler's flag, so that every kernel, the oracle and the eager chain agree on what is
 * computed; what was done is told. The rules stand in fast.c.
 *
 * Kept: a NaN or an infinity that comes in comes out as the default lets it; subnormals; functions,
 * comparisons, explicit casts. Differences are not reassociated, as they may be there to correct a
 * rounding: x - a - b, (x + c) - c stay.
 * Given up: a few ulp of a result or of a sum's largest term (10 at most over all functions of the
 * registry among other operations, at ordinary numbers: tests/unit/fast.c), and what a rounding or a
 * comparison then makes of last bits; the sign of a zero.
 * The ends of the range: a product in an fma does not overflow; a sum may, where its terms are within
 * their number of the type's largest; a divisor that is a param or broadcasts and is subnormal has no
 * finite reciprocal, one above 2^126 none with all bits.
 * Left out, because finite results far from the ends would become infinite, or wrong in more than last
 * bits: exp(a) * exp(b), x / exp(y), x / y / z, reordered products, sqrt(x) * sqrt(x), x ** 0.5. */
#ifndef KF_FAST_H
#define KF_FAST_H

#include "compiler/ir.h"

/* FAST_RULES(RULE): what was done, of one and of several. */
#define FAST_RULES(RULE)                                                                          \
    RULE(FMA, "product contracted to fma", "products contracted to fma")                          \
    RULE(DIVISION, "division turned into a multiplication",                                       \
         "divisions turned into multiplications")                                                 \
    RULE(FACTOR, "factor taken out of a sum", "factors taken out of sums")                        \
    RULE(CONSTANT, "constant joined with another", "constants joined with others")                \
    RULE(SMALL, "broadcast term added to another first", "broadcast terms added to others first") \
    RULE(SUM, "sum balanced", "sums balanced")                                                    \
    RULE(MINUS, "minus sign taken into a sum", "minus signs taken into sums")                     \
    RULE(ZERO, "addition of zero dropped", "additions of zero dropped")

typedef enum FastRule {
#define RULE(id, one, several) FAST_##id,
    FAST_RULES(RULE)
#undef RULE
        FAST_RULE_COUNT
} FastRule;

typedef struct FastDone {
    uint32_t count[FAST_RULE_COUNT];
} FastDone;

/* `ir` is simplified and has no IR_CALL left; the result is simplified as well and says so in
 * Ir.fast. `done` may be NULL. */
Ir *fast(Arena *arena, const Ir *ir, FastDone *done);
/* "2 products contracted to fma, 1 sum balanced"; "" where nothing was done. */
void fast_print(Text *out, const FastDone *done);

#endif
