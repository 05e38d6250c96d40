/* An operation in, the value that it equals out: simplify's table but for casts and rows. */
#include <math.h>
#include <stdlib.h>

#include "compiler/simplifying.h"

static IrNode arg(const Simplify *s, uint32_t i) {
    return simplify_arg(s, i);
}

static bool is_real(const Simplify *s, uint32_t i) {
    return is_real_type(ir_dtype(s->ir, s->node.arg[i]));
}

/* Operand `i` is this number, its zero's sign included. */
static bool is_number(const Simplify *s, uint32_t i, double number) {
    IrNode a = arg(s, i);
    if (a.op != IR_CONST) return false;
    if (!is_real_type(a.type.dtype)) return (double)a.whole == number && !signbit(number);
    return a.real == number && !signbit(a.real) == !signbit(number);
}

static bool is_op(const Simplify *s, uint32_t i, Primitive primitive) {
    return ir_is(s->ir, s->node.arg[i], primitive);
}

/* Operand `i` without its minus; 0 if it has none. */
static Value plus(const Simplify *s, uint32_t i) {
    return is_op(s, i, P_NEG) ? arg(s, i).arg[0] : 0;
}

/* The operand of operand 0, where that is the same operation. */
static Value undo(const Simplify *s) {
    return arg(s, 0).op == s->node.op ? arg(s, 0).arg[0] : 0;
}

/* --- sums */

/* The number that adds nothing: -0, and 0 to a whole number. */
static bool is_nothing(const Simplify *s, uint32_t i) {
    return is_number(s, i, is_real(s, i) ? -0.0 : 0.0);
}

static Value simplify_add(const Simplify *s) {
    const Value *a = s->node.arg;
    if (is_nothing(s, 1)) return a[0];
    if (is_nothing(s, 0)) return a[1];
    if (plus(s, 1)) return apply2(s, P_SUB, a[0], plus(s, 1));
    return plus(s, 0) ? apply2(s, P_SUB, a[1], plus(s, 0)) : 0;
}

static Value simplify_subtract(const Simplify *s) {
    const Value *a = s->node.arg;
    if (is_number(s, 1, 0)) return a[0];
    if (is_nothing(s, 0)) return apply1(s, P_NEG, a[1]);
    return plus(s, 1) ? apply2(s, P_ADD, a[0], plus(s, 1)) : 0;
}

/* --- products and quotients: P_MUL, P_DIV */

/* The constant's negative; 0 if `value` is no constant. */
static Value negated(const Simplify *s, Value value) {
    return ir_node(s->ir, value)->op == IR_CONST ? apply1(s, P_NEG, value) : 0;
}

static Value move_minus(const Simplify *s) {
    Primitive primitive = ir_primitive(&s->node);
    const Value *a = s->node.arg;
    for (uint32_t i = 0; i < 2; i++) {
        Value number = negated(s, a[1 - i]), rest = plus(s, i);
        if (rest && plus(s, 1 - i)) return apply2(s, primitive, plus(s, 0), plus(s, 1));
        if (rest && number)
            return apply2(s, primitive, i == 0 ? rest : number, i == 0 ? number : rest);
    }
    return 0;
}

/* x * -c where x * c is there: its negative, which costs nothing, and functions of either share what
 * is even or odd in them. Only when all else is settled: what is there is read then, by more than a minus that takes
 * it back to x * -c. */
static Value negative_of_another(const Simplify *s, uint32_t i) {
    IrNode node = s->node;
    node.arg[i] = s->share && is_real(s, i) ? negated(s, s->node.arg[i]) : 0;
    Value other = node.arg[i] ? ir_find(s->ir, &node) : 0;
    return other ? apply1(s, P_NEG, other) : 0;
}

static Value simplify_multiply(const Simplify *s) {
    for (uint32_t i = 0; i < 2; i++) {
        Value other = s->node.arg[1 - i];
        if (is_number(s, i, 1)) return other;
        if (is_number(s, i, -1)) return apply1(s, P_NEG, other);
        Value another = negative_of_another(s, i);
        if (another) return another;
    }
    return move_minus(s);
}

/* x / 2^k: the reciprocal is exact and normal in f32 as in f64. */
static Value multiply_instead(const Simplify *s) {
    int exponent;
    IrNode b = arg(s, 1);
    if (b.op != IR_CONST || s->node.type.dtype == DT_WEAK) return 0;
    if (fabs(frexp(b.real, &exponent)) != 0.5 || abs(exponent) > 120) return 0;
    Value inverse = ir_const(s->ir, b.type.dtype, (Scalar){.real = 1 / b.real});
    return apply2(s, P_MUL, s->node.arg[0], inverse);
}

static Value simplify_divide(const Simplify *s) {
    if (is_number(s, 1, 1)) return s->node.arg[0];
    if (is_number(s, 1, -1)) return apply1(s, P_NEG, s->node.arg[0]);
    Value product = multiply_instead(s);
    return product ? product : move_minus(s);
}

static Value simplify_floor_divide(const Simplify *s) {
    if (!is_number(s, 1, 1)) return 0;
    return is_real(s, 0) ? apply1(s, P_FLOOR, s->node.arg[0]) : s->node.arg[0];
}

static Value simplify_negative(const Simplify *s) {
    if (is_op(s, 0, P_NEG)) return undo(s);
    bool product = is_op(s, 0, P_MUL), quotient = is_op(s, 0, P_DIV);
    IrNode inner = arg(s, 0);
    if (product && is_real(s, 0) && !s->sole) return 0; /* the product itself is read */
    for (uint32_t i = 0; i < 2 && (product || quotient); i++) {
        Value number = negated(s, inner.arg[i]), other = inner.arg[1 - i];
        if (number)
            return apply2(s, ir_primitive(&inner), i == 0 ? number : other,
                          i == 0 ? other : number);
    }
    return 0;
}

static Value simplify_fma(const Simplify *s) {
    const Value *a = s->node.arg;
    if (is_number(s, 2, -0.0)) return apply2(s, P_MUL, a[0], a[1]);
    if (plus(s, 0) && plus(s, 1))
        return ir_apply(s->ir, P_FMA, (Value[]){plus(s, 0), plus(s, 1), a[2]}, 3, s->node.span);
    for (uint32_t i = 0; i < 2; i++) {
        if (is_number(s, i, 1)) return apply2(s, P_ADD, a[1 - i], a[2]);
        if (is_number(s, i, -1)) return apply2(s, P_SUB, a[2], a[1 - i]);
    }
    return 0;
}

static Value simplify_power(const Simplify *s) {
    Value a = s->node.arg[0], one;
    if (s->node.type.dtype == DT_WEAK) return 0;
    if (is_number(s, 1, 1)) return a;
    if (is_number(s, 1, 2)) return apply2(s, P_MUL, a, a);
    if (!is_number(s, 1, -1)) return 0;
    one = ir_const(s->ir, ir_dtype(s->ir, s->node.arg[1]), (Scalar){.real = 1});
    return apply2(s, P_DIV, one, a);
}

/* --- signs and whole numbers */

static Value simplify_rounding(const Simplify *s) {
    IrNode a = arg(s, 0);
    return rounds_to_whole(&a) || a.op == IR_CONVERT ? s->node.arg[0] : 0;
}

static Value simplify_magnitude(const Simplify *s) {
    if (is_op(s, 0, P_FABS)) return s->node.arg[0];
    bool sign = is_op(s, 0, P_COPYSIGN) || (is_op(s, 0, P_NEG) && is_real(s, 0)); /* u8: no minus */
    return sign ? apply1(s, P_FABS, arg(s, 0).arg[0]) : 0;
}

static Value simplify_copysign(const Simplify *s) {
    bool sign = is_op(s, 0, P_COPYSIGN) || is_op(s, 0, P_NEG) || is_op(s, 0, P_FABS);
    if (s->node.arg[0] == s->node.arg[1]) return s->node.arg[0];
    return sign ? apply2(s, P_COPYSIGN, arg(s, 0).arg[0], s->node.arg[1]) : 0;
}

/* --- tests */

/* Whatever the data. */
static bool never_nan(const Ir *ir, Value value) {
    const IrNode *node = ir_node(ir, value);
    while (rounds_to_whole(node) || node->op == IR_PRIMITIVE + P_FABS ||
           node->op == IR_PRIMITIVE + P_NEG)
        node = ir_node(ir, node->arg[0]);
    if (!is_real_type(node->type.dtype) || node->op == IR_CONVERT) return true;
    return node->op == IR_CONST && !isnan(node->real);
}

typedef enum Truth { TRUTH_OPEN, TRUTH_FALSE, TRUTH_TRUE } Truth;

static Truth truth(const Ir *ir, Value value) {
    const IrNode *node = ir_node(ir, value);
    if (node->op == IR_CONST)
        return (is_real_type(node->type.dtype) ? node->real != 0 : node->whole != 0) ? TRUTH_TRUE
                                                                                     : TRUTH_FALSE;
    if (!ir_is_primitive(node) || node->count != 2 || node->arg[0] != node->arg[1])
        return TRUTH_OPEN;
    switch (ir_primitive(node)) {
    case P_LT:
    case P_GT: return TRUTH_FALSE;
    case P_NE: return never_nan(ir, node->arg[0]) ? TRUTH_FALSE : TRUTH_OPEN;
    case P_EQ:
    case P_LE:
    case P_GE: return never_nan(ir, node->arg[0]) ? TRUTH_TRUE : TRUTH_OPEN;
    default: return TRUTH_OPEN;
    }
}

/* P_AND, P_OR, which numbers have as well: those stay as they are. */
static Value simplify_logic(const Simplify *s) {
    const Value *a = s->node.arg;
    Truth idle = ir_primitive(&s->node) == P_AND ? TRUTH_TRUE : TRUTH_FALSE;
    if (s->node.type.dtype != DT_BOOL) return 0;
    if (a[0] == a[1]) return a[0];
    for (uint32_t i = 0; i < 2; i++) {
        Truth known = truth(s->ir, a[i]);
        if (known != TRUTH_OPEN) return known == idle ? a[1 - i] : a[i];
    }
    return 0;
}

static Value simplify_not(const Simplify *s) {
    static const Primitive other[] = {[P_LT - P_LT] = P_GE, [P_LE - P_LT] = P_GT,
                                      [P_GT - P_LT] = P_LE, [P_GE - P_LT] = P_LT,
                                      [P_EQ - P_LT] = P_NE, [P_NE - P_LT] = P_EQ};
    IrNode a = arg(s, 0);
    if (s->node.type.dtype != DT_BOOL || !ir_is_primitive(&a)) return 0;
    Primitive test = ir_primitive(&a);
    if (test == P_NOT) return a.arg[0];
    if (test < P_LT || test > P_NE) return 0;
    bool ordered = test == P_EQ || test == P_NE || !is_real_type(ir_dtype(s->ir, a.arg[0]));
    return ordered ? apply2(s, other[test - P_LT], a.arg[0], a.arg[1]) : 0;
}

/* P_EQ, P_NE: a bool as a number, against 0 or 1. */
static Value simplify_equality(const Simplify *s) {
    IrNode a = arg(s, 0);
    bool zero = is_number(s, 1, 0), one = is_number(s, 1, 1);
    if (a.op != IR_CONVERT || ir_dtype(s->ir, a.arg[0]) != DT_BOOL || (!zero && !one)) return 0;
    bool same = (ir_primitive(&s->node) == P_EQ) == one;
    return same ? a.arg[0] : apply1(s, P_NOT, a.arg[0]);
}

static Value select_again(const Simplify *s, Value condition, Value yes, Value no) {
    return ir_apply(s->ir, P_SELECT, (Value[]){condition, yes, no}, 3, s->node.span);
}

static Value simplify_select(const Simplify *s) {
    const Value *a = s->node.arg;
    Truth known = truth(s->ir, a[0]);
    if (a[1] == a[2]) return a[1];
    if (known != TRUTH_OPEN) return a[known == TRUTH_TRUE ? 1 : 2];
    if (is_op(s, 0, P_NOT)) return select_again(s, arg(s, 0).arg[0], a[2], a[1]);
    if (is_op(s, 1, P_SELECT) && arg(s, 1).arg[0] == a[0])
        return select_again(s, a[0], arg(s, 1).arg[1], a[2]);
    if (is_op(s, 2, P_SELECT) && arg(s, 2).arg[0] == a[0])
        return select_again(s, a[0], a[1], arg(s, 2).arg[2]);
    return 0;
}

/* --- the same with its operands the other way round */

bool primitive_mirrored(Primitive primitive, Primitive *other) {
    *other = primitive;
    switch (primitive) {
    case P_ADD:
    case P_MUL:
    case P_EQ:
    case P_NE:
    case P_AND:
    case P_OR: return true;
    case P_LT: return *other = P_GT, true;
    case P_LE: return *other = P_GE, true;
    case P_GT: return *other = P_LT, true;
    case P_GE: return *other = P_LE, true;
    default: return false;
    }
}

Value simplify_mirrored(const Simplify *s) {
    Primitive other;
    IrNode node = s->node;
    if (!ir_is_primitive(&node) || !primitive_mirrored(ir_primitive(&node), &other)) return 0;
    node.op = (uint16_t)(IR_PRIMITIVE + (uint32_t)other);
    node.arg[0] = s->node.arg[1];
    node.arg[1] = s->node.arg[0];
    return ir_find(s->ir, &node);
}

/* The value that the operation equals, or 0. */
Value simplify_primitive(const Simplify *s) {
    switch (ir_primitive(&s->node)) {
    case P_ADD: return simplify_add(s);
    case P_SUB: return simplify_subtract(s);
    case P_MUL: return simplify_multiply(s);
    case P_DIV: return simplify_divide(s);
    case P_FLOORDIV: return simplify_floor_divide(s);
    case P_FMA: return simplify_fma(s);
    case P_POW: return simplify_power(s);
    case P_SELECT: return simplify_select(s);
    case P_NEG: return simplify_negative(s);
    case P_NOT: return simplify_not(s);
    case P_AND:
    case P_OR: return simplify_logic(s);
    case P_EQ:
    case P_NE: return simplify_equality(s);
    case P_FMAX:
    case P_FMIN: return s->node.arg[0] == s->node.arg[1] ? s->node.arg[0] : 0;
    case P_FABS: return simplify_magnitude(s);
    case P_COPYSIGN: return simplify_copysign(s);
    case P_FLOOR:
    case P_CEIL:
    case P_TRUNC:
    case P_ROUND: return simplify_rounding(s);
    default: return 0;
    }
}
