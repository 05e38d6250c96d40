/* The last step of fast.h: a product that only a sum reads is not rounded before it is added: a * b
 * + c becomes fma(a, b, c). */
#ifndef KF_CONTRACT_H
#define KF_CONTRACT_H

#include "compiler/ir.h"

/* The Ir has no IR_CALL left. Adds the number of products to `count`. */
Ir *contract(Arena *arena, const Ir *ir, uint32_t *count);

#endif
