/* In: an Ir. Out: the same with fma where a product meets a sum. One rule, applied in order: of the
 * two operands of a floating sum or difference, the first that is a product read nowhere else is
 * taken in. */
#include "compiler/contract.h"

typedef struct Contract {
    const Ir *from;
    Ir *to;
    Value *map;
    uint32_t *uses;
    uint32_t *count; /* of products taken in */
} Contract;

static bool is_real_op(const Contract *c, Value value, Primitive primitive) {
    const IrNode *node = ir_node(c->from, value);
    return node->op == IR_PRIMITIVE + (uint32_t)primitive && dtype_is_float(node->type.dtype);
}

static bool may_take_in(const Contract *c, Value value) {
    return is_real_op(c, value, P_MUL) && c->uses[value] == 1;
}

static Value negated(const Contract *c, Value value, Span span) {
    return ir_apply(c->to, P_NEG, &value, 1, span);
}

/* a*b + s, a*b - s, s + a*b, s - a*b; 0 if neither operand of `node` is such a product. */
static Value fused(const Contract *c, const IrNode *node) {
    bool minus = node->op == IR_PRIMITIVE + P_SUB;
    uint32_t taken = may_take_in(c, node->arg[0]) ? 0 : 1;
    if (!may_take_in(c, node->arg[taken])) return 0;
    const IrNode *product = ir_node(c->from, node->arg[taken]);
    Value args[] = {c->map[product->arg[0]], c->map[product->arg[1]], c->map[node->arg[1 - taken]]};
    if (minus) args[taken == 0 ? 2 : 0] = negated(c, args[taken == 0 ? 2 : 0], node->span);
    return ir_apply(c->to, P_FMA, args, 3, node->span);
}

static Value rebuild(const Contract *c, Value value) {
    IrNode node = *ir_node(c->from, value);
    Value equal = 0;
    if (is_real_op(c, value, P_ADD) || is_real_op(c, value, P_SUB)) equal = fused(c, &node);
    if (equal) return ++*c->count, equal;
    for (uint32_t i = 0; i < node.count; i++) node.arg[i] = c->map[node.arg[i]];
    return ir_finish(c->to, node);
}

Ir *contract(Arena *arena, const Ir *ir, uint32_t *count) {
    Arena *scratch = arena_open();
    Contract c = {ir, ir_like(scratch, ir), arena_array(scratch, Value, ir->nodes.count),
                  arena_array(scratch, uint32_t, ir->nodes.count), count};
    ir_count_uses(ir, c.uses);
    for (Value v = 1; v < ir->nodes.count; v++) c.map[v] = rebuild(&c, v);
    ir_copy_interface(c.to, ir, c.map);
    Ir *result = ir_copy(arena, c.to, true); /* leaves the dead products behind */
    arena_close(scratch);
    return result;
}
