/* An Ir in, an equal one with less to do out. One idea: every value is built anew, in order, through
 * rules that keep all bits, so that what simplifies early feeds what comes later. A result that
 * would have another type or shape than what it stands for is no result.
 *
 * Bits, in round to nearest even: a sum of +0 and -0 is +0, so -0 is what adds nothing; 0 * x is not
 * 0 where x is inf, NaN or negative. A negation moves through a product, a quotient or into a sum
 * because rounding is the same on both sides of zero; not out of a sum (-(a - a) is -0, a - a is 0).
 * All NaNs are one. c is a constant, i an integer, b a bool.
 *
 *     x * 1, x / 1, x - 0, x + -0, i + 0, i // 1    x           IEEE 754: exact
 *     x / 2^k                                       x * 2^-k    both round the same real number
 *     x * -1, x / -1, -0 - x, 0 - i                 -x          exact; -0 - -0 = -0 + 0 = 0
 *     a + -b, a - -b, -a + b                        a - b …     a difference is defined as this sum
 *     -a * -b, -a / -b, fma(-a, -b, c)              a * b …     the signs cancel, the magnitude stays
 *     -x * c, -x / c, c / -x, -(x * c) …            x * -c …    likewise; i: modulo 2^n
 *     x * -c where x * c is there                   -(x * c)    likewise
 *     fma(a, 1, c), fma(a, -1, c), fma(a, b, -0)    a + c …     the product is exact; -0 adds nothing
 *     pow(x, 1), pow(x, 2), pow(x, -1)              x, x * x …  the correctly rounded one, same limits
 *     a // 1                                        floor(a)    a / 1 is exact
 *     -(-x), !!b, (x.T).T, |-x|, ||x||, max of max  once        bits alone are touched
 *     copysign(±a, b), |copysign(a, b)|             without ±   the sign is replaced
 *     fmax(x, x), b && b, b || b, b && true …       x, b        by their tables
 *     !(a == b), !(i < k)                           a != b …    of floats only == is !=: NaN
 *     b != 0, b == 1 …, where b is taken as number  b, !b       a bool is 0 or 1
 *     i != i where i is no NaN, i < i               false       as an operand of && || ?:
 *     floor of floor … round, of a whole number     once        a whole number stays
 *     c ? x : x, true ? x : y, !c ? x : y           x …
 *     c ? (c ? x : y) : z, c ? x : (c ? y : z)      c ? x : z   the inner test is known
 *     a cast of what is rounded so, or was exact    once        rounding what is representable
 *     i8(round(x)), i8(clamp(x, -128, 127))         i8(x)       a cast rounds half to even, saturates
 *     a sum, product, extreme, mean of one element  x           also of a product of depth 1: x*y + 0,
 *     var of one element                            x - x       as products add to 0; NaN of inf
 *     a max of max, min of min, i sum of sums       one         over the axes of both, in their order
 *     b + a, b * a, b > a … where a + b … is there  a + b       both round the same real number */
#include "compiler/simplify.h"

#include "compiler/simplifying.h"

/* --- rows */

static bool is_single(const Type *type, AxisRange axes) {
    for (uint32_t i = 0; i < type->rank; i++)
        if (axes_have(axes, i) && type->dim[i] != 1) return false;
    return true;
}

/* An extreme of extremes, a sum of integers' sums: over the axes of both, if these are neighbours
 * and an element that comes later still does. */
static Value simplify_nested(const Simplify *s) {
    IrNode inner = simplify_arg(s, 0);
    AxisRange own = s->node.axes, its = inner.axes, both = {own.first, its.end};
    bool extreme = s->node.op == IR_MAX || s->node.op == IR_MIN;
    bool whole = dtype_is_integer(s->node.type.dtype);
    if (inner.op != s->node.op || !s->sole || inner.op == IR_MEAN || inner.op == IR_VAR) return 0;
    if ((!extreme && !whole) || its.first < own.first || its.end < own.end) return 0;
    if (!is_single(&ir_node(s->ir, inner.arg[0])->type, (AxisRange){own.end, its.first})) return 0;
    return ir_reduce(s->ir, (Reduction)(s->node.op - IR_SUM), inner.arg[0], both, s->node.span);
}

static Value simplify_reduction(const Simplify *s) {
    Value a = s->node.arg[0];
    if (!is_single(&ir_node(s->ir, a)->type, s->node.axes)) return simplify_nested(s);
    return s->node.op == IR_VAR ? apply2(s, P_SUB, a, a) : a;
}

static Value simplify_transpose(const Simplify *s) {
    uint32_t rank = s->node.type.rank;
    bool single = is_single(&s->node.type, (AxisRange){(int32_t)rank - 2, (int32_t)rank});
    if (single) return s->node.arg[0];
    return simplify_arg(s, 0).op == IR_TRANSPOSE ? simplify_arg(s, 0).arg[0] : 0;
}

static Value simplify_broadcast(const Simplify *s) {
    IrNode a = simplify_arg(s, 0);
    bool nested = a.op == IR_BROADCAST || type_same_shape(&a.type, &s->node.type);
    return nested ? ir_broadcast(s->ir, s->node.arg[0], &s->node.type, s->node.span) : 0;
}

static Value simplify_product(const Simplify *s) {
    IrNode a = simplify_arg(s, 0), b = simplify_arg(s, 1);
    if (a.type.rank < 2 || b.type.rank < 2 || a.type.dim[a.type.rank - 1] != 1) return 0;
    Value product = apply2(s, P_MUL, s->node.arg[0], s->node.arg[1]);
    return dtype_is_float(s->node.type.dtype) ? apply2(s, P_ADD, product, ir_real(s->ir, 0))
                                              : product;
}

/* --- the stage */

static Value simplify_node(const Simplify *s) {
    switch (s->node.op) {
    case IR_CAST: return simplify_cast(s);
    case IR_CONVERT: return simplify_convert(s);
    case IR_TRANSPOSE: return simplify_transpose(s);
    case IR_BROADCAST: return simplify_broadcast(s);
    case IR_MATMUL: return simplify_product(s);
    case IR_SUM:
    case IR_PROD:
    case IR_MAX:
    case IR_MIN:
    case IR_MEAN:
    case IR_VAR: return simplify_reduction(s);
    default: return ir_is_primitive(&s->node) ? simplify_primitive(s) : 0;
    }
}

static bool fits(const Simplify *s, Value value) {
    const Type *type = &ir_node(s->ir, value)->type;
    return value && type->dtype == s->node.type.dtype && type_same_shape(type, &s->node.type);
}

typedef struct Pass {
    const Ir *from;
    Ir *to;
    Value *map;
    uint32_t *uses;
    bool share, changed;
} Pass;

static Value rebuild_call(const Pass *p, IrNode node) {
    uint32_t first = node.first;
    node.first = p->to->list.count;
    for (uint32_t i = 0; i < node.argc; i++)
        array_push(p->to->arena, &p->to->list, p->map[p->from->list.data[first + i]]);
    return ir_value(p->to, node);
}

static Value rebuild(Pass *p, Value value) {
    Simplify s = {p->to, *ir_node(p->from, value), false, p->share};
    s.sole = s.node.count > 0 && p->uses[s.node.arg[0]] == 1;
    for (uint32_t i = 0; i < s.node.count; i++) s.node.arg[i] = p->map[s.node.arg[i]];
    if (s.node.op == IR_CALL) return rebuild_call(p, s.node);
    Value equal = simplify_node(&s);
    if (!fits(&s, equal)) equal = simplify_mirrored(&s);
    p->changed |= equal != 0;
    return equal ? equal : ir_finish(p->to, s.node);
}

/* The program once through the rules; `ir` itself where nothing changed. */
static const Ir *pass(Arena *scratch, const Ir *ir, bool share) {
    uint32_t count = ir->nodes.count;
    Pass p = {ir,
              ir_like(scratch, ir),
              arena_array(scratch, Value, count),
              arena_array(scratch, uint32_t, count),
              share,
              false};
    ir_count_uses(ir, p.uses);
    for (Value v = 1; v < count; v++) p.map[v] = rebuild(&p, v);
    if (!p.changed) return ir;
    ir_copy_interface(p.to, ir, p.map);
    return ir_copy(scratch, p.to, false);
}

static const Ir *settle(Arena *scratch, const Ir *ir) {
    const Ir *last;
    do ir = pass(scratch, last = ir, false);
    while (ir != last);
    return ir;
}

Ir *simplify(Arena *arena, const Ir *ir, bool inline_calls) {
    Arena *scratch = arena_open();
    const Ir *last, *next = ir_copy(scratch, ir, inline_calls);
    do next = pass(scratch, last = settle(scratch, next), true);
    while (next != last);
    Ir *result = ir_copy(arena, next, inline_calls);
    arena_close(scratch);
    return result;
}
