/* Ir -> Ir for `--math fast`: a product that only a sum reads is not rounded before it is added: a
 * * b + c becomes fma(a, b, c). It is done here, on values, and never by a compiler's flag, so that
 * every kernel, the oracle and the eager chain agree on which products. What it gives up: results
 * differ from the default's in their last bits. */
#ifndef KF_CONTRACT_H
#define KF_CONTRACT_H

#include "compiler/ir.h"

/* The Ir has no IR_CALL left. */
Ir *contract(Arena *arena, const Ir *ir);

#endif
