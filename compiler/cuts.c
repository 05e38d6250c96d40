/* An Ir in, the values to be kept in memory out. One idea: from inputs to outputs, each value is told
 * what kind of kernel computes it if nothing more is cut; where two kinds, or two iterations, meet,
 * the smaller side is kept. */
#include "compiler/cuts.h"

#include <string.h>

typedef enum Kind { FREE, ROWS, REDUCED, PRODUCT } Kind;

/* The kernel that computes a value from what is in memory. */
typedef struct Needs {
    Kind kind;
    Type shape;     /* of the iteration: what reductions read, what the product gives */
    AxisRange axes; /* REDUCED: of that shape */
    Value product;  /* PRODUCT: one of them */
    uint32_t count; /* PRODUCT: how many, two at most; ROWS: reductions that wait for one another */
} Needs;

typedef struct Cutter {
    const Ir *ir;
    Needs *needs;
    bool *cut;
    uint32_t *depth;   /* by Value: operations in a row between it and memory */
    const Value *last; /* by Value: the last that reads it; 0: none does */
    bool apart;        /* each product by itself */
} Cutter;

/* In memory, with its transposes. */
static bool is_stored(const Cutter *c, Value value) {
    const IrNode *node = ir_node(c->ir, value);
    if (c->cut[value] || node->op == IR_INPUT) return true;
    return node->op == IR_TRANSPOSE && is_stored(c, node->arg[0]);
}

static void keep(Cutter *c, Value value) {
    while (ir_node(c->ir, value)->op == IR_TRANSPOSE) value = ir_node(c->ir, value)->arg[0];
    if (ir_node(c->ir, value)->op != IR_INPUT) c->cut[value] = true;
}

static Needs needs_of(const Cutter *c, Value value) {
    return c->cut[value] ? (Needs){.kind = FREE} : c->needs[value];
}

/* --- where two meet */

/* `shape` with the axes of a reduction 1; leading ones of extent 1 may be left out. */
static bool is_result_shape(const Needs *needs, const Type *shape) {
    Type reduced = needs->shape;
    for (uint32_t i = 0; i < reduced.rank; i++)
        if (axes_have(needs->axes, i)) reduced.dim[i] = 1;
    return ir_can_broadcast(&reduced, shape) && ir_can_broadcast(shape, &reduced);
}

/* What computes `shape` may take in what needs `needs`. */
static bool fits(const Needs *needs, const Type *shape) {
    switch (needs->kind) {
    case FREE: return true;
    case ROWS: return type_same_shape(&needs->shape, shape) || is_result_shape(needs, shape);
    case REDUCED: return is_result_shape(needs, shape);
    case PRODUCT: return type_same_shape(&needs->shape, shape);
    }
    return false;
}

/* Two products in one kernel: of the same left operand, in one shape. */
static bool are_twins(const Cutter *c, const Needs *a, const Needs *b) {
    const IrNode *x = ir_node(c->ir, a->product), *y = ir_node(c->ir, b->product);
    return a->count == 1 && b->count == 1 && x->arg[0] == y->arg[0] &&
           type_same_shape(&ir_node(c->ir, x->arg[1])->type, &ir_node(c->ir, y->arg[1])->type);
}

static bool merge(const Cutter *c, Needs *into, const Needs *other) {
    if (other->kind == FREE) return true;
    if (into->kind == FREE) return *into = *other, true;
    if (into->kind != other->kind || !type_same_shape(&into->shape, &other->shape)) return false;
    if (into->kind != PRODUCT) {
        if (into->count < other->count) into->count = other->count;
        return into->axes.first == other->axes.first && into->axes.end == other->axes.end;
    }
    if (into->product == other->product && into->count == other->count) return true;
    if (c->apart || !are_twins(c, into, other)) return false;
    into->count = 2;
    return true;
}

/* Arguments from the largest to the smallest: the smaller is kept where not all fit. */
static void sort_args(const Cutter *c, const IrNode *node, Value args[3]) {
    memcpy(args, node->arg, node->count * sizeof *args);
    for (uint32_t i = 1; i < node->count; i++)
        for (uint32_t k = i; k > 0; k--) {
            Value swap = args[k];
            if (type_count(&ir_node(c->ir, args[k - 1])->type) >=
                type_count(&ir_node(c->ir, swap)->type))
                break;
            args[k] = args[k - 1];
            args[k - 1] = swap;
        }
}

static void visit_elementwise(Cutter *c, Value value) {
    const IrNode *node = ir_node(c->ir, value);
    Needs all = {.kind = FREE};
    Value args[3];
    sort_args(c, node, args);
    for (uint32_t i = 0; i < node->count; i++) {
        Needs needs = needs_of(c, args[i]);
        if (!fits(&needs, &node->type) || !merge(c, &all, &needs)) keep(c, args[i]);
    }
    c->needs[value] = all;
}

/* A value this deep that a kernel of its own reduces, and others read as well, is computed by all of
 * them: a thousand such in a row would be half a million operations, and as many operands. Reading it
 * costs no more than what it is computed from. */
enum { DEEP = 64 };

static bool is_deep_and_shared(const Cutter *c, Value value, Value reader) {
    return !c->cut[value] && c->depth[value] >= DEEP && c->last[value] > reader;
}

static void visit_reduction(Cutter *c, Value value) {
    const IrNode *node = ir_node(c->ir, value);
    const Type *operand = &ir_node(c->ir, node->arg[0])->type;
    Needs needs = needs_of(c, node->arg[0]);
    bool last = node->axes.end == (int32_t)operand->rank && node->axes.end - node->axes.first == 1;
    bool chained = last && needs.kind == ROWS && needs.count < GROUP_LEVELS &&
                   type_same_shape(&needs.shape, operand);
    if (needs.kind != FREE && !chained) keep(c, node->arg[0]);
    if (!last && is_deep_and_shared(c, node->arg[0], value)) keep(c, node->arg[0]);
    c->needs[value] = (Needs){.kind = last ? ROWS : REDUCED, .shape = *operand, .axes = node->axes};
    c->needs[value].count = chained ? needs.count + 1 : 1;
}

static void visit_product(Cutter *c, Value value) {
    const IrNode *node = ir_node(c->ir, value);
    for (uint32_t i = 0; i < node->count; i++)
        if (!is_stored(c, node->arg[i])) keep(c, node->arg[i]);
    c->needs[value] = (Needs){.kind = PRODUCT, .shape = node->type, .product = value, .count = 1};
}

static void visit(Cutter *c, Value value) {
    const IrNode *node = ir_node(c->ir, value);
    if (node->op == IR_MATMUL)
        visit_product(c, value);
    else if (ir_is_reduction(node))
        visit_reduction(c, value);
    else if (node->op == IR_TRANSPOSE)
        keep(c, node->arg[0]);
    else
        visit_elementwise(c, value);
}

/* An output may have a larger shape than its value. */
static void visit_output(Cutter *c, const IrOutput *output) {
    Needs needs = needs_of(c, output->value);
    if (!fits(&needs, &output->type)) keep(c, output->value);
}

/* By Value: the last operation that reads it; 0: none does. */
static Value *last_readers(Arena *arena, const Ir *ir) {
    Value *last = arena_array(arena, Value, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++)
        for (uint32_t i = 0; i < ir_node(ir, v)->count; i++) last[ir_node(ir, v)->arg[i]] = v;
    return last;
}

static Cutter open(Arena *arena, const Ir *ir) {
    uint32_t count = ir->nodes.count;
    return (Cutter){.ir = ir,
                    .needs = arena_array(arena, Needs, count),
                    .cut = arena_array(arena, bool, count),
                    .depth = arena_array(arena, uint32_t, count),
                    .last = last_readers(arena, ir)};
}

static void measure_depth(Cutter *c, Value value) {
    const IrNode *node = ir_node(c->ir, value);
    for (uint32_t i = 0; i < node->count && !ir_is_reduction(node); i++) {
        uint32_t depth = c->cut[node->arg[i]] ? 1 : c->depth[node->arg[i]] + 1;
        if (depth > c->depth[value]) c->depth[value] = depth;
    }
}

static bool *run(Cutter *c) {
    for (Value v = 1; v < c->ir->nodes.count; v++) {
        visit(c, v);
        measure_depth(c, v);
    }
    for (uint32_t i = 0; i < c->ir->outputs.count; i++) visit_output(c, &c->ir->outputs.data[i]);
    return c->cut;
}

bool *cuts_needed(Arena *arena, const Ir *ir) {
    Cutter c = open(arena, ir);
    return run(&c);
}

bool *cuts_barriers(Arena *arena, const Ir *ir) {
    Cutter c = open(arena, ir);
    for (Value v = 1; v < ir->nodes.count; v++)
        c.cut[v] = ir_is_reduction(ir_node(ir, v)) || ir_node(ir, v)->op == IR_MATMUL;
    return run(&c);
}

bool *cuts_products(Arena *arena, const Ir *ir) {
    Cutter c = open(arena, ir);
    c.apart = true;
    return run(&c);
}

/* --- work on small arrays */

enum { SMALLER = 8, OPERATIONS = 3 };

/* Operations between a value and memory; those shared are counted each time. */
static uint32_t *count_work(Arena *arena, const Ir *ir) {
    uint32_t *work = arena_array(arena, uint32_t, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        bool real = ir_is_primitive(node) && node->type.dtype != DT_WEAK;
        work[v] = real && primitive_info(ir_meaning(node))->class != CLASS_OPERATOR ? 4 : real;
        for (uint32_t i = 0; i < node->count; i++) work[v] += work[node->arg[i]];
        if (work[v] > UINT32_MAX / 8) work[v] = UINT32_MAX / 8;
    }
    return work;
}

static bool is_elementwise(const IrNode *node) {
    return node->op == IR_CAST || node->op == IR_CONVERT || node->op == IR_BROADCAST ||
           ir_is_primitive(node);
}

/* Nothing below it gathers. */
static bool *find_plain(Arena *arena, const Ir *ir) {
    bool *plain = arena_array(arena, bool, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        plain[v] = node->count == 0 || is_elementwise(node);
        for (uint32_t i = 0; i < node->count; i++) plain[v] &= plain[node->arg[i]];
    }
    return plain;
}

bool *cuts_broadcast(Arena *arena, const Ir *ir) {
    bool *cut = arena_array(arena, bool, ir->nodes.count);
    const bool *plain = find_plain(arena, ir);
    const uint32_t *work = count_work(arena, ir);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        for (uint32_t i = 0; is_elementwise(node) && i < node->count; i++) {
            const IrNode *arg = ir_node(ir, node->arg[i]);
            bool small = type_count(&arg->type) <= type_count(&node->type) / SMALLER;
            if (small && arg->type.dtype != DT_WEAK && type_count(&arg->type) > 1 &&
                is_elementwise(arg) && plain[node->arg[i]] && work[node->arg[i]] >= OPERATIONS)
                cut[node->arg[i]] = true;
        }
    }
    return cut;
}

/* --- the middle of a long chain */

/* Fewer operations fit any kernel's registers. */
enum { LONG = 24 };

static bool is_operation(const IrNode *node) {
    return is_elementwise(node) && node->type.dtype != DT_WEAK && node->type.rank > 0;
}

/* Computed values that are there at `at` and read behind it. */
static uint32_t count_passing(const Ir *ir, const Value *last, Value at) {
    uint32_t count = 0;
    for (Value v = 1; v <= at; v++) count += is_operation(ir_node(ir, v)) && last[v] > at;
    return count;
}

static uint32_t count_operations(const Ir *ir) {
    uint32_t count = 0;
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        if (node->op == IR_MATMUL || ir_is_reduction(node)) return 0;
        count += is_operation(node);
    }
    return count;
}

/* In the middle third of the operations. */
static Value find_middle(const Ir *ir, const Value *last, uint32_t operations) {
    uint32_t done = 0, least = UINT32_MAX;
    Value middle = 0;
    for (Value v = 1; v < ir->nodes.count; v++) {
        done += is_operation(ir_node(ir, v));
        if (3 * done < operations || 3 * done > 2 * operations) continue;
        uint32_t passing = count_passing(ir, last, v);
        if (passing == 0 || passing >= least) continue;
        least = passing;
        middle = v;
    }
    return middle;
}

bool *cuts_halves(Arena *arena, const Ir *ir) {
    bool *cut = arena_array(arena, bool, ir->nodes.count);
    const Value *last = last_readers(arena, ir);
    uint32_t operations = count_operations(ir);
    if (operations < LONG) return cut;
    Value middle = find_middle(ir, last, operations);
    for (Value v = 1; v <= middle; v++) cut[v] = is_operation(ir_node(ir, v)) && last[v] > middle;
    return cut;
}
