/* Ir: nodes in, values out; equal nodes are one value. One idea: a table from a node's content (all
 * but its span) to its index, so that common subexpressions never exist twice. */
#include "compiler/ir.h"

#include <string.h>

Ir *ir_open(Arena *arena, const Source *source) {
    Ir *ir = arena_new(arena, Ir);
    ir->arena = arena;
    ir->source = source;
    ir->compute = DT_F32;
    array_push(arena, &ir->nodes, (IrNode){.op = IR_NONE});
    return ir;
}

Ir *ir_like(Arena *arena, const Ir *ir) {
    Ir *like = ir_open(arena, ir->source);
    like->compute = ir->compute;
    like->fast = ir->fast;
    return like;
}

/* What the node says besides its type and operands. */
static uint64_t payload(const IrNode *node) {
    switch (node->op) {
    case IR_CONST: return (uint64_t)node->whole;
    case IR_INPUT:
    case IR_PARAM: return node->index;
    case IR_SUM:
    case IR_PROD:
    case IR_MAX:
    case IR_MIN:
    case IR_MEAN:
    case IR_VAR: return (uint64_t)node->axes.first << 32 | (uint32_t)node->axes.end;
    case IR_CALL: return (uintptr_t)node->function;
    default: return ir_is_primitive(node) ? (uint64_t)node->whole : 0;
    }
}

static uint32_t list_count(const IrNode *node) {
    return node->op == IR_CALL ? node->argc : 0;
}

static uint64_t hash_node(const Ir *ir, const IrNode *node) {
    uint64_t hash = table_mix(node->op, payload(node));
    hash = table_mix(hash, (uint64_t)node->type.dtype << 8 | node->type.rank);
    for (uint32_t i = 0; i < node->type.rank; i++)
        hash = table_mix(hash, (uint64_t)node->type.dim[i]);
    for (uint32_t i = 0; i < node->count; i++) hash = table_mix(hash, node->arg[i]);
    for (uint32_t i = 0; i < list_count(node); i++)
        hash = table_mix(hash, ir->list.data[node->first + i]);
    return hash;
}

static bool same_list(const Ir *ir, const IrNode *a, const IrNode *b) {
    uint32_t count = list_count(a);
    const Value *list = ir->list.data;
    return count == list_count(b) &&
           (count == 0 || memcmp(list + a->first, list + b->first, count * sizeof *list) == 0);
}

static bool same_node(const Ir *ir, const IrNode *a, const IrNode *b) {
    return a->op == b->op && a->count == b->count && a->type.dtype == b->type.dtype &&
           type_same_shape(&a->type, &b->type) && payload(a) == payload(b) &&
           memcmp(a->arg, b->arg, a->count * sizeof a->arg[0]) == 0 && same_list(ir, a, b);
}

static Value find(const Ir *ir, const IrNode *node, uint64_t hash) {
    Value value;
    for (uint32_t at = 0; (value = table_next(&ir->table, hash, &at)) != 0;)
        if (same_node(ir, node, ir_node(ir, value))) return value;
    return 0;
}

Value ir_find(const Ir *ir, const IrNode *node) {
    return find(ir, node, hash_node(ir, node));
}

Value ir_value(Ir *ir, IrNode node) {
    uint64_t hash = hash_node(ir, &node);
    Value value = find(ir, &node, hash);
    if (value) return value;
    value = ir->nodes.count;
    array_push(ir->arena, &ir->nodes, node);
    table_add(ir->arena, &ir->table, hash, value);
    return value;
}

void ir_count_uses(const Ir *ir, uint32_t *uses) {
    for (Value v = 1; v < ir->nodes.count; v++)
        for (uint32_t i = 0; i < ir_node(ir, v)->count; i++) uses[ir_node(ir, v)->arg[i]]++;
    for (uint32_t i = 0; i < ir->outputs.count; i++) uses[ir->outputs.data[i].value]++;
}

const char *ir_op_name(const IrNode *node) {
    static const char *const names[] = {
        [IR_NONE] = "none",
        [IR_CONST] = "const",
        [IR_INPUT] = "input",
        [IR_PARAM] = "param",
        [IR_CAST] = "cast",
        [IR_CONVERT] = "convert",
        [IR_SUM] = "sum",
        [IR_PROD] = "prod",
        [IR_MAX] = "max",
        [IR_MIN] = "min",
        [IR_MEAN] = "mean",
        [IR_VAR] = "var",
        [IR_CALL] = "call",
        [IR_MATMUL] = "matmul",
        [IR_TRANSPOSE] = "transpose",
        [IR_BROADCAST] = "broadcast",
    };
    return ir_is_primitive(node) ? primitive_info(ir_primitive(node))->name : names[node->op];
}

/* The new Ir's number for each value that is needed, 0 for the others. */
static Value *mark_needed(Arena *scratch, const Ir *ir, bool inline_calls) {
    Value *needed = arena_array(scratch, Value, ir->nodes.count);
    for (uint32_t i = 0; i < ir->inputs.count; i++) needed[ir->inputs.data[i].value] = 1;
    for (uint32_t i = 0; i < ir->outputs.count; i++) needed[ir->outputs.data[i].value] = 1;
    for (Value v = ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(ir, v);
        if (!needed[v]) continue;
        for (uint32_t i = 0; i < node->count; i++) needed[node->arg[i]] = 1;
        for (uint32_t i = 0; !inline_calls && i < list_count(node); i++)
            needed[ir->list.data[node->first + i]] = 1;
    }
    return needed;
}

static Value copy_node(Ir *to, const Ir *from, const IrNode *node, const Value *map) {
    IrNode copy = *node;
    for (uint32_t i = 0; i < node->count; i++) copy.arg[i] = map[node->arg[i]];
    if (node->op == IR_CALL) copy.first = to->list.count;
    for (uint32_t i = 0; i < list_count(node); i++)
        array_push(to->arena, &to->list, map[from->list.data[node->first + i]]);
    return ir_value(to, copy);
}

bool ir_is_taken(const Ir *ir, const char *name) {
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        if (strcmp(ir->inputs.data[i].name, name) == 0) return true;
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (strcmp(ir->outputs.data[i].name, name) == 0) return true;
    for (uint32_t i = 0; i < ir->params.count; i++)
        if (strcmp(ir->params.data[i].name, name) == 0) return true;
    return false;
}

/* Inputs, outputs and params, with names of their own. */
void ir_copy_interface(Ir *to, const Ir *from, const Value *map) {
    for (uint32_t i = 0; i < from->inputs.count; i++) {
        IrInput input = from->inputs.data[i];
        input.name = arena_copy(to->arena, input.name, strlen(input.name));
        input.value = map[input.value];
        array_push(to->arena, &to->inputs, input);
    }
    for (uint32_t i = 0; i < from->outputs.count; i++) {
        IrOutput output = from->outputs.data[i];
        output.name = arena_copy(to->arena, output.name, strlen(output.name));
        output.value = map[output.value];
        array_push(to->arena, &to->outputs, output);
    }
    for (uint32_t i = 0; i < from->params.count; i++) {
        IrParam param = from->params.data[i];
        param.name = arena_copy(to->arena, param.name, strlen(param.name));
        array_push(to->arena, &to->params, param);
    }
}

Ir *ir_copy(Arena *arena, const Ir *ir, bool inline_calls) {
    Ir *copy = ir_like(arena, ir);
    Arena *scratch = arena_open();
    Value *map = mark_needed(scratch, ir, inline_calls);
    map[0] = 0;
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        if (map[v] == 0) continue;
        bool inlined = inline_calls && node->op == IR_CALL;
        map[v] = inlined ? map[node->arg[0]] : copy_node(copy, ir, node, map);
    }
    ir_copy_interface(copy, ir, map);
    arena_close(scratch);
    return copy;
}
