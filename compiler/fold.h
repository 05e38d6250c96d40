/* Arithmetic of constants: what a primitive gives on the host, bit for bit what a device gives. */
#ifndef KF_FOLD_H
#define KF_FOLD_H

#include "compiler/ir.h"

/* In double; where `compute` is f32, what is rounded inside (floor division) is rounded to f32. The
 * caller rounds the result. Comparisons give 0 or 1. */
double fold_real(Primitive primitive, const double *a, DType compute);
/* Integers and bools in `type`: wraps, never traps; a primitive that has no integer form aborts. */
int64_t fold_whole(Primitive primitive, DType type, const int64_t *a);
/* The value of a node whose operands are constants. False where a device's function might differ in
 * its last bits, so that folding would show. */
bool fold_node(const Ir *ir, const IrNode *node, Scalar *value);

#endif
