/* What simplify's rules share: a node with what it is asked. Not for other stages. */
#ifndef KF_SIMPLIFYING_H
#define KF_SIMPLIFYING_H

#include "compiler/ir.h"

typedef struct Simplify {
    Ir *ir;
    IrNode node; /* a copy, with its operands in `ir` */
    bool sole;   /* no other value reads operand 0 */
    bool
        share; /* the other rules have nothing left to do: products may become negatives of others */
} Simplify;

/* The value that the operation, cast or conversion equals, or 0; it may have another type. */
Value simplify_primitive(const Simplify *s);
Value simplify_cast(const Simplify *s);
Value simplify_convert(const Simplify *s);
/* The operation with its operands the other way round, `b > a` for `a < b`, if it is there. */
Value simplify_mirrored(const Simplify *s);
/* The primitive that gives the same of swapped operands; false where there is none. */
bool primitive_mirrored(Primitive primitive, Primitive *other);

static inline IrNode simplify_arg(const Simplify *s, uint32_t i) {
    return *ir_node(s->ir, s->node.arg[i]);
}

static inline bool is_real_type(DType type) {
    return type == DT_WEAK || dtype_is_float(type);
}

static inline bool rounds_to_whole(const IrNode *node) {
    return node->op >= IR_PRIMITIVE + P_FLOOR && node->op <= IR_PRIMITIVE + P_ROUND;
}

static inline Value apply1(const Simplify *s, Primitive primitive, Value a) {
    return ir_apply(s->ir, primitive, &a, 1, s->node.span);
}

static inline Value apply2(const Simplify *s, Primitive primitive, Value a, Value b) {
    return ir_apply(s->ir, primitive, (Value[]){a, b}, 2, s->node.span);
}

#endif
