/* Ir -> Ir with fewer or cheaper operations and the same bits (the rules stand in simplify.c).
 * Nothing that changes an IEEE result or a zero's sign; all NaNs are one. Dead values are dropped;
 * inputs and params stay, as they are the program's signature. What it does depends on the shapes
 * only by which extents are 1, as a key does. */
#ifndef KF_SIMPLIFY_H
#define KF_SIMPLIFY_H

#include "compiler/ir.h"

/* `inline_calls`: IR_CALL nodes are replaced by their bodies. */
Ir *simplify(Arena *arena, const Ir *ir, bool inline_calls);
/* The value holds nothing that rounding to its own type would take away. */
bool simplify_is_rounded(const Ir *ir, Value value);

#endif
