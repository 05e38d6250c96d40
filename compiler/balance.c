/* In: an Ir. Out: the same with its long floating sums balanced. One idea: additions that nothing
 * else reads are one list of terms, whose halves are added on their own. Sums of products stay in
 * a row, where each product becomes part of an fma; differences are no part of a sum, as they may
 * correct a rounding. */
#include "compiler/balance.h"

enum { TERMS_LEAST = 4 };

typedef struct Balance {
    const Ir *from;
    Ir *to;
    Value *map;
    uint32_t *uses;
    bool *inner; /* an addition that is part of another's list */
    Arena *scratch;
} Balance;

static bool is_op(const Balance *b, Value value, Primitive primitive) {
    const IrNode *node = ir_node(b->from, value);
    return node->op == IR_PRIMITIVE + (uint32_t)primitive && dtype_is_float(node->type.dtype);
}

/* Its shape is the whole sum's: another one's is for fewer elements. */
static bool joins(const Balance *b, const IrNode *node, Value value) {
    return is_op(b, value, P_ADD) && b->uses[value] == 1 &&
           type_same_shape(&node->type, &ir_node(b->from, value)->type);
}

static void mark_inner(const Balance *b) {
    for (Value v = 1; v < b->from->nodes.count; v++)
        for (uint32_t i = 0; is_op(b, v, P_ADD) && i < 2; i++) {
            const IrNode *node = ir_node(b->from, v);
            if (joins(b, node, node->arg[i])) b->inner[node->arg[i]] = true;
        }
}

typedef struct Terms {
    ARRAY(Value) list;
} Terms;

/* In the order they are written; a stack, because a sum may be 10 000 long. */
static Terms collect(const Balance *b, Value root) {
    Terms terms = {0}, stack = {0};
    array_push(b->scratch, &stack.list, root);
    while (stack.list.count > 0) {
        Value v = stack.list.data[--stack.list.count];
        const IrNode *node = ir_node(b->from, v);
        if (v != root && !b->inner[v]) {
            array_push(b->scratch, &terms.list, v);
            continue;
        }
        array_push(b->scratch, &stack.list, node->arg[1]);
        array_push(b->scratch, &stack.list, node->arg[0]);
    }
    return terms;
}

static bool any_product(const Balance *b, const Terms *terms) {
    for (uint32_t i = 0; i < terms->list.count; i++)
        if (is_op(b, terms->list.data[i], P_MUL) && b->uses[terms->list.data[i]] == 1) return true;
    return false;
}

static Value add(const Balance *b, const Value *terms, uint32_t count, Span span) {
    if (count == 1) return b->map[terms[0]];
    uint32_t half = (count + 1) / 2;
    Value sides[] = {add(b, terms, half, span), add(b, terms + half, count - half, span)};
    return ir_apply(b->to, P_ADD, sides, 2, span);
}

/* The sum of root's terms, pairwise; 0 where that changes nothing. */
static Value balanced(const Balance *b, Value root) {
    if (!is_op(b, root, P_ADD) || b->inner[root]) return 0;
    Terms terms = collect(b, root);
    if (terms.list.count < TERMS_LEAST || any_product(b, &terms)) return 0;
    return add(b, terms.list.data, terms.list.count, ir_node(b->from, root)->span);
}

static Value rebuild(const Balance *b, Value value) {
    IrNode node = *ir_node(b->from, value);
    for (uint32_t i = 0; i < node.count; i++) node.arg[i] = b->map[node.arg[i]];
    return ir_finish(b->to, node);
}

Ir *balance(Arena *arena, const Ir *ir, uint32_t *count) {
    Arena *scratch = arena_open();
    uint32_t nodes = ir->nodes.count;
    Balance b = {ir,
                 ir_like(scratch, ir),
                 arena_array(scratch, Value, nodes),
                 arena_array(scratch, uint32_t, nodes),
                 arena_array(scratch, bool, nodes),
                 scratch};
    ir_count_uses(ir, b.uses);
    mark_inner(&b);
    for (Value v = 1; v < nodes; v++) {
        Value sum = balanced(&b, v);
        b.map[v] = rebuild(&b, v);
        if (!sum || sum == b.map[v] || ir_dtype(b.to, sum) != ir_dtype(ir, v)) continue;
        b.map[v] = sum;
        ++*count;
    }
    ir_copy_interface(b.to, ir, b.map);
    Ir *result = ir_copy(arena, b.to, true); /* leaves the old sums behind */
    arena_close(scratch);
    return result;
}
