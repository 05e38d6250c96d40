/* A step of fast.h: a long sum is added pairwise, which makes its error grow by the logarithm of its
 * length and its operations wait for fewer others. */
#ifndef KF_BALANCE_H
#define KF_BALANCE_H

#include "compiler/ir.h"

/* The Ir has no IR_CALL left. Adds the number of sums to `count`. */
Ir *balance(Arena *arena, const Ir *ir, uint32_t *count);

#endif
