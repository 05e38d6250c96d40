/* Ir -> Ir with fewer or cheaper operations and the same bits: folding, x*1, x+(-0), x-0, double
 * negation, select of equal arms, division by powers of two, casts that change nothing (the list
 * stands in simplify.c). Nothing that changes an IEEE result, a NaN or a zero's sign. Dead values
 * are dropped; inputs and params stay, as they are the program's signature. */
#ifndef KF_SIMPLIFY_H
#define KF_SIMPLIFY_H

#include "compiler/ir.h"

/* `inline_calls`: IR_CALL nodes are replaced by their bodies. */
Ir *simplify(Arena *arena, const Ir *ir, bool inline_calls);
/* The value holds nothing that rounding to its own type would take away. */
bool simplify_is_rounded(const Ir *ir, Value value);

#endif
