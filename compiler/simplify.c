/* An Ir in, an equal one with less to do out. One idea: every value is built anew, in order,
 * through a short list of rules that keep all bits, NaN and the zeros' signs (x + 0 is not x for
 * -0; 0 * x is not 0), so that what simplifies early feeds what comes later.
 *
 *     x * 1, 1 * x, x / 1, x - 0, x + -0     x            -(-x), !!x, (x.T).T      x
 *     whole x + 0, x // 1                    x            |(-x)|, ||x||            |x|
 *     x / 2^k                                x * 2^-k     floor of floor … round   once
 *     c ? x : x, true ? x : y                x            a cast of what is rounded so */
#include "compiler/simplify.h"

#include <math.h>
#include <stdlib.h>

typedef struct Simplify {
    Ir *ir;
    const IrNode *node; /* with its operands in `ir` */
} Simplify;

static const IrNode *arg(const Simplify *s, uint32_t i) {
    return ir_node(s->ir, s->node->arg[i]);
}

/* Operand `i` can stand for the whole: nothing broadcasts it, and it has the same type. */
static Value same_as(const Simplify *s, uint32_t i) {
    const Type *type = &arg(s, i)->type;
    bool same = type->dtype == s->node->type.dtype && type_same_shape(type, &s->node->type);
    return same ? s->node->arg[i] : 0;
}

static bool is_real(const Simplify *s, uint32_t i) {
    return arg(s, i)->type.dtype == DT_WEAK || dtype_is_float(arg(s, i)->type.dtype);
}

/* Operand `i` is this number, its zero's sign included. */
static bool is_number(const Simplify *s, uint32_t i, double number) {
    const IrNode *a = arg(s, i);
    if (a->op != IR_CONST) return false;
    if (!is_real(s, i)) return (double)a->whole == number && !signbit(number);
    return a->real == number && !signbit(a->real) == !signbit(number);
}

static bool is_op(const Simplify *s, uint32_t i, Primitive primitive) {
    return arg(s, i)->op == IR_PRIMITIVE + (uint32_t)primitive;
}

/* The number that adds nothing: -0, and 0 to a whole number. */
static bool is_nothing(const Simplify *s, uint32_t i) {
    return is_number(s, i, is_real(s, i) ? -0.0 : 0.0);
}

/* x / 2^k: the reciprocal is exact and normal in f32 as in f64. */
static Value multiply_instead(Simplify *s) {
    int exponent;
    const IrNode *b = arg(s, 1);
    if (b->op != IR_CONST || fabs(frexp(b->real, &exponent)) != 0.5 || abs(exponent) > 120)
        return 0;
    Value inverse = ir_const(s->ir, b->type.dtype, (Scalar){.real = 1 / b->real});
    return ir_apply(s->ir, P_MUL, (Value[]){s->node->arg[0], inverse}, 2, s->node->span);
}

static Value simplify_divide(Simplify *s) {
    if (is_number(s, 1, 1)) return same_as(s, 0);
    return s->node->type.dtype == DT_WEAK ? 0 : multiply_instead(s);
}

static Value simplify_select(const Simplify *s) {
    const Value *arms = s->node->arg;
    if (arms[1] == arms[2]) return same_as(s, 1);
    if (arg(s, 0)->op != IR_CONST) return 0;
    bool chosen = is_real(s, 0) ? arg(s, 0)->real != 0 : arg(s, 0)->whole != 0;
    return same_as(s, chosen ? 1 : 2);
}

/* The operand of operand 0, where that is the same operation. */
static Value undo(const Simplify *s) {
    return arg(s, 0)->op == s->node->op ? arg(s, 0)->arg[0] : 0;
}

static bool rounds_to_whole(const IrNode *node) {
    return node->op >= IR_PRIMITIVE + P_FLOOR && node->op <= IR_PRIMITIVE + P_ROUND;
}

static Value simplify_magnitude(Simplify *s) {
    if (is_op(s, 0, P_FABS)) return s->node->arg[0];
    if (!is_op(s, 0, P_NEG) || !is_real(s, 0)) return 0; /* u8 has no minus */
    Value inner = arg(s, 0)->arg[0];
    return ir_apply(s->ir, P_FABS, &inner, 1, s->node->span);
}

/* The value that the operation equals, or 0. */
static Value simplify_primitive(Simplify *s) {
    switch (ir_primitive(s->node)) {
    case P_ADD: return is_nothing(s, 1) ? same_as(s, 0) : is_nothing(s, 0) ? same_as(s, 1) : 0;
    case P_SUB: return is_number(s, 1, 0) ? same_as(s, 0) : 0;
    case P_MUL: return is_number(s, 1, 1) ? same_as(s, 0) : is_number(s, 0, 1) ? same_as(s, 1) : 0;
    case P_DIV: return simplify_divide(s);
    case P_FLOORDIV: return is_number(s, 1, 1) && !is_real(s, 0) ? same_as(s, 0) : 0;
    case P_SELECT: return simplify_select(s);
    case P_NEG: return undo(s);
    case P_NOT: return s->node->type.dtype == DT_BOOL ? undo(s) : 0;
    case P_FABS: return simplify_magnitude(s);
    case P_FLOOR:
    case P_CEIL:
    case P_TRUNC:
    case P_ROUND: return rounds_to_whole(arg(s, 0)) ? s->node->arg[0] : 0;
    default: return 0;
    }
}

static Value simplify_cast(const Simplify *s) {
    return ir_is_rounded(s->ir, s->node->arg[0]) ? same_as(s, 0) : 0;
}

static Value simplify_node(Ir *ir, const IrNode *node) {
    Simplify s = {ir, node};
    Value equal = 0;
    if (ir_is_primitive(node))
        equal = simplify_primitive(&s);
    else if (node->op == IR_CAST)
        equal = simplify_cast(&s);
    else if (node->op == IR_TRANSPOSE)
        equal = undo(&s);
    return equal != 0 ? equal : ir_finish(ir, *node);
}

static Value rebuild(Ir *to, const Ir *from, Value value, const Value *map) {
    IrNode node = *ir_node(from, value);
    for (uint32_t i = 0; i < node.count; i++) node.arg[i] = map[node.arg[i]];
    if (node.op != IR_CALL) return simplify_node(to, &node);
    uint32_t first = node.first;
    node.first = to->list.count;
    for (uint32_t i = 0; i < node.argc; i++)
        array_push(to->arena, &to->list, map[from->list.data[first + i]]);
    return ir_value(to, node);
}

Ir *simplify(Arena *arena, const Ir *ir, bool inline_calls) {
    Arena *scratch = arena_open();
    const Ir *from = ir_copy(scratch, ir, inline_calls);
    Ir *to = ir_open(scratch, ir->source);
    Value *map = arena_array(scratch, Value, from->nodes.count);
    to->compute = from->compute;
    for (Value v = 1; v < from->nodes.count; v++) map[v] = rebuild(to, from, v, map);
    ir_copy_interface(to, from, map);
    Ir *result = ir_copy(arena, to, inline_calls);
    arena_close(scratch);
    return result;
}
