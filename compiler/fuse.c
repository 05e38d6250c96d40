/* An Ir in, its groups out. One idea: outputs of one shape are one kernel, and a kernel is
 * elementwise as long as no value of it gathers others; what two groups share is computed in both.
 */
#include "compiler/fuse.h"

/* The group of elementwise outputs shaped like output `index`, made if new. */
static Group *group_of(Arena *arena, Groups *groups, const Ir *ir, uint32_t index,
                       const bool *alone) {
    const Type *type = &ir->outputs.data[index].type;
    for (uint32_t i = 0; i < groups->list.count && !alone[index]; i++) {
        Group *group = &groups->list.data[i];
        uint32_t first = group->outputs.data[0];
        if (!alone[first] && type_same_shape(&ir->outputs.data[first].type, type)) return group;
    }
    array_push(arena, &groups->list, (Group){.kind = GROUP_ELEMENTWISE});
    return &groups->list.data[groups->list.count - 1];
}

static GroupKind kind_of(const Ir *ir, const IrNode *node) {
    switch (node->op) {
    case IR_MATMUL: return GROUP_PRODUCT;
    case IR_SUM:
    case IR_PROD:
    case IR_MAX:
    case IR_MIN:
    case IR_MEAN:
    case IR_VAR: return GROUP_REDUCTION;
    case IR_TRANSPOSE: /* of an input, it is a matter of strides */
        return ir_node(ir, node->arg[0])->op == IR_INPUT ? GROUP_ELEMENTWISE : GROUP_REDUCTION;
    default: return GROUP_ELEMENTWISE;
    }
}

/* A product names the group before a reduction does; of several, the last. */
static void classify(Group *group, const Ir *ir, bool *needed) {
    for (uint32_t i = 0; i < group->outputs.count; i++)
        needed[ir->outputs.data[group->outputs.data[i]].value] = true;
    for (Value v = ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(ir, v);
        if (!needed[v]) continue;
        for (uint32_t i = 0; i < node->count; i++) needed[node->arg[i]] = true;
        if (kind_of(ir, node) <= group->kind) continue;
        group->kind = kind_of(ir, node);
        group->culprit = v;
    }
}

/* Outputs that gather are kernels of their own; but where anything is updated in place, its readers
 * stay together. */
static const bool *find_alone(Arena *scratch, const Ir *ir) {
    bool *alone = arena_array(scratch, bool, ir->outputs.count);
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (ir->outputs.data[i].updates >= 0) return alone;
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        Group group = {.kind = GROUP_ELEMENTWISE};
        array_push(scratch, &group.outputs, i);
        classify(&group, ir, arena_array(scratch, bool, ir->nodes.count));
        alone[i] = group.kind != GROUP_ELEMENTWISE;
    }
    return alone;
}

Groups fuse(Arena *arena, const Ir *ir) {
    Groups groups = {0};
    Arena *scratch = arena_open();
    const bool *alone = find_alone(scratch, ir);
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        Group *group = group_of(arena, &groups, ir, i, alone);
        array_push(arena, &group->outputs, i);
    }
    for (uint32_t i = 0; i < groups.list.count; i++)
        classify(&groups.list.data[i], ir, arena_array(scratch, bool, ir->nodes.count));
    arena_close(scratch);
    return groups;
}

Ir *fuse_part(Arena *arena, const Ir *ir, const Group *group) {
    Ir part = *ir;
    part.outputs.data = arena_array(arena, IrOutput, group->outputs.count);
    part.outputs.count = group->outputs.count;
    part.inputs.data = arena_array(arena, IrInput, ir->inputs.count);
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        part.inputs.data[i] = ir->inputs.data[i];
        part.inputs.data[i].updated_by = -1;
    }
    for (uint32_t i = 0; i < group->outputs.count; i++) {
        part.outputs.data[i] = ir->outputs.data[group->outputs.data[i]];
        if (part.outputs.data[i].updates >= 0)
            part.inputs.data[part.outputs.data[i].updates].updated_by = (int32_t)i;
    }
    return ir_copy(arena, &part, true);
}
