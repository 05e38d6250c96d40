/* Probes: fixed numbers in a program's inputs, to see how far errors of its primitives carry. Rows of 16 points: what
 * reduces takes a row together, whatever its axes are; all else is point by point, whatever its shape. One idea: the
 * oracle's own intervals, once with no errors at all and once with those of some near forms, differ by what these add.
 *
 * No probe, for what comes of it, is a point at which terms cancel that are not of the same inputs (then the ulp is
 * the larger term's, for digits are lost that the inputs do not have), or terms of a row to less than a quarter; or at which what
 * has near forms is subnormal in f32, or 0. */
#ifndef KF_PROBES_H
#define KF_PROBES_H

#include "compiler/ir.h"

typedef struct Probes Probes;

/* `ir` is simplified, computes in f32 and has no IR_CALL. */
Probes *probes_open(Arena *arena, const Ir *ir);
/* Whether `value` passes 0 between probes where its operands do not: a sum of opposed terms of the same inputs, a logarithm.
 * What errors its operands have are without bound beside it. */
bool probes_cross(const Probes *probes, Value value);
/* Whether all values that are rounded to 16 bits stay within 1/8 ulp (below the type's smallest normal number, 1/8 of
 * that one's) of what they are without errors, at every probe; form[v]: 0, or the near form that v is computed by. */
bool probes_allow(Probes *probes, const Primitive *form);

/* Where a value is rounded to 16 bits, errors end. */
static inline bool probes_is_half(DType type) {
    return type == DT_F16 || type == DT_BF16;
}
static inline bool probes_is_rounding(const Ir *ir, const IrNode *node) {
    return node->op == IR_CAST && probes_is_half(node->type.dtype) &&
           ir_dtype(ir, node->arg[0]) != DT_WEAK;
}

#endif
