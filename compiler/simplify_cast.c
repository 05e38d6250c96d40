/* A cast or conversion in, the value that it equals out. One idea: what is known to be among a
 * type's numbers is not rounded to it again. */
#include <math.h>

#include "compiler/simplify.h"
#include "compiler/simplifying.h"

/* All values of `inner` are values of `outer`. */
static bool holds(DType outer, DType inner) {
    const DTypeInfo *o = dtype_info(outer), *i = dtype_info(inner);
    if (dtype_is_float(outer) && dtype_is_float(inner))
        return o->precision >= i->precision && o->exponent_max >= i->exponent_max &&
               o->exponent_min - o->precision <= i->exponent_min - i->precision;
    if (is_real_type(inner)) return false;
    int64_t whole = (int64_t)1 << (dtype_is_float(outer) ? o->precision : 0);
    if (dtype_is_float(outer)) return i->low >= -whole && i->high <= whole;
    return o->low <= i->low && o->high >= i->high;
}

enum { ARMS_DEEP = 4 }; /* selects looked through: both arms of each */

/* The number is one of `type`'s, so that rounding to it takes nothing away. */
static bool is_among(const Ir *ir, Value value, DType type, int deep) {
    const IrNode *node = ir_node(ir, value);
    if (type == ir->compute && dtype_is_float(node->type.dtype)) return true;
    while (node->op == IR_TRANSPOSE || node->op == IR_MAX || node->op == IR_MIN ||
           rounds_to_whole(node) || node->op == IR_PRIMITIVE + P_NEG ||
           node->op == IR_PRIMITIVE + P_FABS)
        node = ir_node(ir, node->arg[0]);
    if (!is_real_type(node->type.dtype)) return holds(type, node->type.dtype);
    if (node->op == IR_PRIMITIVE + P_SELECT)
        return deep < ARMS_DEEP && is_among(ir, node->arg[1], type, deep + 1) &&
               is_among(ir, node->arg[2], type, deep + 1);
    if (node->op == IR_INPUT) return holds(type, node->type.dtype);
    if (node->op == IR_CONST && dtype_is_float(type))
        return dtype_round(type, node->real) == node->real;
    DType from = node->count == 1 ? ir_dtype(ir, node->arg[0]) : DT_WEAK;
    if (node->op == IR_CONVERT) return holds(type, from) && holds(ir->compute, from);
    return node->op == IR_CAST && from != DT_WEAK && holds(type, node->type.dtype);
}

static bool is_rounded(const Ir *ir, Value value, DType type) {
    return is_among(ir, value, type, 0);
}

bool simplify_is_rounded(const Ir *ir, Value value) {
    return is_rounded(ir, value, ir_dtype(ir, value));
}

/* A cast to the integer type makes of the number its lowest, or highest. */
static bool saturates(const Simplify *s, Value value, bool low) {
    const DTypeInfo *info = dtype_info(s->node.type.dtype);
    const IrNode *node = ir_node(s->ir, value);
    if (node->op != IR_CONST || !is_real_type(node->type.dtype)) return false;
    return low ? node->real <= (double)info->low : node->real >= (double)info->high;
}

static bool compares(const Ir *ir, Value test, Primitive primitive, Value x, Value c) {
    Primitive other;
    const IrNode *node = ir_node(ir, test);
    primitive_mirrored(primitive, &other);
    return (ir_is(ir, test, primitive) && node->arg[0] == x && node->arg[1] == c) ||
           (ir_is(ir, test, other) && node->arg[0] == c && node->arg[1] == x);
}

/* "x > c || x != x" */
static bool compares_or_nan(const Ir *ir, Value test, Primitive primitive, Value x, Value c) {
    const IrNode *node = ir_node(ir, test);
    return ir_is(ir, test, P_OR) && compares(ir, node->arg[0], primitive, x, c) &&
           compares(ir, node->arg[1], P_NE, x, x);
}

/* Whether the select `node` sets the limit `c` where x is past it; a NaN goes through. */
static bool limits(const Ir *ir, const IrNode *node, Value x, Value c, bool low) {
    Primitive past = low ? P_LT : P_GT, within = low ? P_GT : P_LT;
    return node->arg[1] == c ? compares(ir, node->arg[0], past, x, c)
                             : compares_or_nan(ir, node->arg[0], within, x, c);
}

/* x, where selects hold it to limits that the cast to an integer sets anyway: `x < c ? c : x`,
 * max(x, c), clamp(x, lo, hi), which tests x before the other limit. Else `value` itself. */
static Value unlimited(const Simplify *s, Value value) {
    IrNode node = *ir_node(s->ir, value);
    for (uint32_t i = 0; i < 4 && ir_is(s->ir, value, P_SELECT); i++) {
        bool low = i < 2;
        Value c = node.arg[1 + i % 2], arm = node.arg[2 - i % 2], x;
        if (!saturates(s, c, low)) continue;
        x = unlimited(s, arm);
        if (limits(s->ir, &node, arm, c, low) || limits(s->ir, &node, x, c, low)) return x;
    }
    return value;
}

/* The cast, of another number. */
static Value cast_of(const Simplify *s, Value a) {
    IrNode node = s->node;
    DType from = ir_dtype(s->ir, a), to = node.type.dtype;
    if (from == to && !dtype_is_float(to)) return a;
    if (dtype_is_float(to) && !is_real_type(from)) return 0; /* only IR_CONVERT takes integers */
    node.arg[0] = a;
    return ir_finish(s->ir, node);
}

Value simplify_cast(const Simplify *s) {
    IrNode a = simplify_arg(s, 0);
    DType to = s->node.type.dtype;
    if (a.type.dtype == DT_WEAK) return 0;
    if (is_rounded(s->ir, s->node.arg[0], to)) {
        if (a.op == IR_CONVERT && dtype_is_float(to))
            return ir_operand(s->ir, to, a.arg[0], s->node.span);
        if (a.type.dtype == to) return s->node.arg[0];
    }
    bool exact = (a.op == IR_CAST && is_rounded(s->ir, a.arg[0], a.type.dtype)) ||
                 (a.op == IR_CONVERT && is_rounded(s->ir, a.arg[0], s->ir->compute));
    if (exact) return cast_of(s, a.arg[0]);
    if (!dtype_is_integer(to) || !is_real_type(a.type.dtype)) return 0;
    if (ir_is(s->ir, s->node.arg[0], P_ROUND)) return cast_of(s, a.arg[0]);
    Value x = unlimited(s, s->node.arg[0]);
    return x != s->node.arg[0] ? cast_of(s, x) : 0;
}

/* Of a wider integer that was made of a narrower one. */
Value simplify_convert(const Simplify *s) {
    IrNode a = simplify_arg(s, 0), node = s->node;
    if (a.op != IR_CONVERT) return 0;
    node.arg[0] = a.arg[0];
    return ir_finish(s->ir, node);
}
