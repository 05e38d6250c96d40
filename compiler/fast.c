/* In: an Ir. Out: the same with cheaper operations. One idea: rules like simplify's, that may cost
 * last bits; after them sums are balanced and what is left of products meets its sums as fma.
 * c is a constant, r a value that broadcasts to x's shape, s a param or what is computed from some.
 *
 *     x / c, x / s, x / r                x * (1/c) …     1/s on the host, 1/r once a row or column
 *     (x * c) * c'                       x * (c * c')    where that is no smaller than normal
 *     (x + c) + c'                       x + (c + c')    of one sign: else it may round on purpose
 *     (x + r) + r'                       x + (r + r')    once a row or column
 *     x * c + x * c'                     x * (c + c')    of one sign: else inf - inf, a NaN, is lost
 *     -(a - b), -(x + c)                 b - a, -c - x   but for a zero's sign
 *     x + 0, 0 - x                       x, -x           likewise
 *     ((a + b) + c) + d …                (a + b) + (c + d) …   balance.c
 *     a * b + s …                        fma(a, b, s) …        contract.c */
#include "compiler/fast.h"

#include <math.h>

#include "compiler/balance.h"
#include "compiler/contract.h"
#include "compiler/simplify.h"

typedef struct Fast {
    Ir *ir;
    IrNode node;  /* a copy, with its operands in `ir` */
    bool sole[2]; /* no other value reads the operand */
    FastDone *done;
} Fast;

static IrNode arg(const Fast *f, uint32_t i) {
    return *ir_node(f->ir, f->node.arg[i]);
}

static bool is_op(const Fast *f, uint32_t i, Primitive primitive) {
    return arg(f, i).op == IR_PRIMITIVE + (uint32_t)primitive;
}

static bool is_const(const Ir *ir, Value value) {
    return ir_node(ir, value)->op == IR_CONST;
}

static double real(const Ir *ir, Value value) {
    return ir_node(ir, value)->real;
}

static Value apply(const Fast *f, Primitive primitive, Value a, Value b) {
    return ir_apply(f->ir, primitive, (Value[]){a, b}, 2, f->node.span);
}

static Value constant(const Fast *f, double number) {
    return ir_const(f->ir, f->node.type.dtype,
                    (Scalar){.real = dtype_round(f->ir->compute, number)});
}

static bool fits(const Fast *f, Value value) {
    const Type *type = &ir_node(f->ir, value)->type;
    return type->dtype == f->node.type.dtype && type_same_shape(type, &f->node.type);
}

static Value did(const Fast *f, FastRule rule, Value value) {
    if (!fits(f, value)) return 0;
    f->done->count[rule]++;
    return value;
}

/* Neither it nor its reciprocal is subnormal, infinite or NaN. */
static bool is_moderate(const Ir *ir, double number) {
    double least = ir->compute == DT_F32 ? 0x1p-126 : 0x1p-1022;
    return fabs(number) >= least && fabs(number) <= 1 / least;
}

/* --- quotients */

static bool is_param(const Ir *ir, Value value) {
    const IrNode *node = ir_node(ir, value);
    return node->op == IR_CAST && ir_dtype(ir, node->arg[0]) == DT_WEAK;
}

static Value reciprocal(const Fast *f, Value divisor) {
    Value one = ir_real(f->ir, 1);
    if (is_const(f->ir, divisor))
        return is_moderate(f->ir, real(f->ir, divisor)) ? constant(f, 1 / real(f->ir, divisor)) : 0;
    if (is_param(f->ir, divisor)) {
        DType type = ir_dtype(f->ir, divisor);
        Value weak = ir_node(f->ir, divisor)->arg[0];
        return ir_operand(f->ir, type, apply(f, P_DIV, one, weak), f->node.span);
    }
    bool small = type_broadcasts(&ir_node(f->ir, divisor)->type, &f->node.type);
    return small ? apply(f, P_DIV, one, divisor) : 0;
}

static Value fast_divide(const Fast *f) {
    Value inverse = reciprocal(f, f->node.arg[1]);
    return inverse ? did(f, FAST_DIVISION, apply(f, P_MUL, f->node.arg[0], inverse)) : 0;
}

/* --- products */

/* Which operand of the sum or product `node` is a constant; 2: none. */
static uint32_t constant_at(const Ir *ir, const IrNode *node) {
    return is_const(ir, node->arg[0]) ? 0 : is_const(ir, node->arg[1]) ? 1 : 2;
}

/* Of (x op c) op c', or the same the other way round: x, c and c'. */
static bool chain(const Fast *f, Value *x, double *c, double *other) {
    uint32_t outer = constant_at(f->ir, &f->node);
    if (outer == 2 || arg(f, 1 - outer).op != f->node.op || !f->sole[1 - outer]) return false;
    IrNode node = arg(f, 1 - outer);
    uint32_t inner = constant_at(f->ir, &node);
    if (inner == 2) return false;
    *x = node.arg[1 - inner];
    *c = real(f->ir, node.arg[inner]);
    *other = real(f->ir, f->node.arg[outer]);
    return true;
}

static Value fast_multiply(const Fast *f) {
    Value x;
    double c, other;
    if (!chain(f, &x, &c, &other) || !is_moderate(f->ir, c * other)) return 0;
    return did(f, FAST_CONSTANT, apply(f, P_MUL, x, constant(f, c * other)));
}

/* --- sums */

static bool one_sign(double a, double b) {
    return (a > 0 && b > 0) || (a < 0 && b < 0);
}

static Value join_constants(const Fast *f) {
    Value x;
    double c, other, limit = ldexp(1, f->ir->compute == DT_F32 ? 126 : 1022);
    if (!chain(f, &x, &c, &other) || !one_sign(c, other) || fabs(c + other) > limit) return 0;
    return did(f, FAST_CONSTANT, apply(f, P_ADD, x, constant(f, c + other)));
}

static bool is_small(const Fast *f, Value value) {
    return type_broadcasts(&ir_node(f->ir, value)->type, &f->node.type);
}

/* (x + r) + r', r' + (x + r) … */
static Value join_small(const Fast *f) {
    for (uint32_t i = 0; i < 2; i++) {
        Value small = f->node.arg[1 - i];
        if (!is_small(f, small) || !is_op(f, i, P_ADD) || !f->sole[i]) continue;
        IrNode inner = arg(f, i);
        for (uint32_t k = 0; k < 2; k++) {
            Value term = inner.arg[k], x = inner.arg[1 - k];
            bool numbers = is_const(f->ir, term) && is_const(f->ir, small);
            if (!is_small(f, term) || numbers || is_small(f, x)) continue;
            return did(f, FAST_SMALL, apply(f, P_ADD, x, apply(f, P_ADD, term, small)));
        }
    }
    return 0;
}

/* x * c + x * c' */
static Value take_factor(const Fast *f) {
    if (!is_op(f, 0, P_MUL) || !is_op(f, 1, P_MUL) || !f->sole[0] || !f->sole[1]) return 0;
    IrNode a = arg(f, 0), b = arg(f, 1);
    uint32_t i = constant_at(f->ir, &a), k = constant_at(f->ir, &b);
    if (i == 2 || k == 2 || a.arg[1 - i] != b.arg[1 - k]) return 0;
    double c = real(f->ir, a.arg[i]), other = real(f->ir, b.arg[k]);
    if (!one_sign(c, other) || !is_moderate(f->ir, c + other)) return 0;
    return did(f, FAST_FACTOR, apply(f, P_MUL, a.arg[1 - i], constant(f, c + other)));
}

static bool is_zero(const Fast *f, uint32_t i) {
    return is_const(f->ir, f->node.arg[i]) && real(f->ir, f->node.arg[i]) == 0;
}

static Value fast_add(const Fast *f) {
    const Value *a = f->node.arg;
    for (uint32_t i = 0; i < 2; i++)
        if (is_zero(f, i)) return did(f, FAST_ZERO, a[1 - i]);
    Value sum = join_constants(f);
    if (!sum) sum = join_small(f);
    return sum ? sum : take_factor(f);
}

static Value negative(const Fast *f, Value value) {
    return ir_apply(f->ir, P_NEG, &value, 1, f->node.span);
}

static Value fast_subtract(const Fast *f) {
    return is_zero(f, 0) ? did(f, FAST_ZERO, negative(f, f->node.arg[1])) : 0;
}

static Value fast_negative(const Fast *f) {
    IrNode a = arg(f, 0);
    if (is_op(f, 0, P_SUB)) return did(f, FAST_MINUS, apply(f, P_SUB, a.arg[1], a.arg[0]));
    uint32_t number = is_op(f, 0, P_ADD) ? constant_at(f->ir, &a) : 2;
    if (number == 2) return 0;
    return did(f, FAST_MINUS, apply(f, P_SUB, negative(f, a.arg[number]), a.arg[1 - number]));
}

static Value fast_node(const Fast *f) {
    if (!ir_is_primitive(&f->node) || !dtype_is_float(f->node.type.dtype)) return 0;
    switch (ir_primitive(&f->node)) {
    case P_DIV: return fast_divide(f);
    case P_MUL: return fast_multiply(f);
    case P_ADD: return fast_add(f);
    case P_SUB: return fast_subtract(f);
    case P_NEG: return fast_negative(f);
    default: return 0;
    }
}

/* --- the stage */

static Ir *apply_rules(Arena *arena, const Ir *ir, FastDone *done) {
    Arena *scratch = arena_open();
    Ir *to = ir_like(scratch, ir);
    Value *map = arena_array(scratch, Value, ir->nodes.count);
    uint32_t *uses = arena_array(scratch, uint32_t, ir->nodes.count);
    ir_count_uses(ir, uses);
    for (Value v = 1; v < ir->nodes.count; v++) {
        Fast f = {.ir = to, .node = *ir_node(ir, v), .done = done};
        for (uint32_t i = 0; i < f.node.count && i < 2; i++) f.sole[i] = uses[f.node.arg[i]] == 1;
        for (uint32_t i = 0; i < f.node.count; i++) f.node.arg[i] = map[f.node.arg[i]];
        map[v] = fast_node(&f);
        if (!map[v]) map[v] = ir_finish(to, f.node);
    }
    ir_copy_interface(to, ir, map);
    Ir *result = simplify(arena, to, true); /* leaves what is dead behind */
    arena_close(scratch);
    return result;
}

static uint64_t total(const FastDone *done) {
    uint64_t sum = 0;
    for (int i = 0; i < FAST_RULE_COUNT; i++) sum += done->count[i];
    return sum;
}

Ir *fast(Arena *arena, const Ir *ir, FastDone *done) {
    Arena *scratch = arena_open();
    FastDone counts = {0};
    uint64_t before;
    do {
        before = total(&counts);
        ir = apply_rules(scratch, ir, &counts);
    } while (total(&counts) != before);
    const Ir *balanced = balance(scratch, ir, &counts.count[FAST_SUM]);
    Ir *result = contract(arena, balanced, &counts.count[FAST_FMA]);
    result->fast = true;
    if (done) *done = counts;
    arena_close(scratch);
    return result;
}

void fast_print(Text *out, const FastDone *done) {
    static const char *const phrases[][2] = {
#define RULE(id, one, several) {one, several},
        FAST_RULES(RULE)
#undef RULE
    };
    const char *separator = "";
    for (int i = 0; i < FAST_RULE_COUNT; i++) {
        if (done->count[i] == 0) continue;
        text_printf(out, "%s%u %s", separator, done->count[i], phrases[i][done->count[i] > 1]);
        separator = ", ";
    }
}
