/* An Ir in, its groups out. One idea: outputs of one shape are one kernel, and a kernel is
 * elementwise as long as no value of it gathers others; what two groups share is computed in both.
 */
#include "compiler/fuse.h"

/* The group of elementwise outputs shaped like output `index`, made if new. */
static Outputs *group_of(Arena *arena, Groups *groups, const Ir *ir, uint32_t index,
                         const bool *alone) {
    const Type *type = &ir->outputs.data[index].type;
    for (uint32_t i = 0; i < groups->list.count && !alone[index]; i++) {
        Outputs *group = &groups->list.data[i];
        uint32_t first = group->outputs.data[0];
        if (!alone[first] && type_same_shape(&ir->outputs.data[first].type, type)) return group;
    }
    array_push(arena, &groups->list, (Outputs){0});
    return &groups->list.data[groups->list.count - 1];
}

static GroupKind kind_of(Arena *scratch, const Ir *ir, uint32_t output) {
    Outputs group = {0};
    array_push(scratch, &group.outputs, output);
    return group_find(fuse_part(scratch, ir, &group)).kind;
}

/* Outputs that gather are kernels of their own; but where anything is updated in place, its readers
 * stay together. */
static const bool *find_alone(Arena *scratch, const Ir *ir) {
    bool *alone = arena_array(scratch, bool, ir->outputs.count);
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (ir->outputs.data[i].updates >= 0) return alone;
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        alone[i] = kind_of(scratch, ir, i) != GROUP_ELEMENTWISE;
    }
    return alone;
}

Groups fuse(Arena *arena, const Ir *ir) {
    Groups groups = {0};
    Arena *scratch = arena_open();
    const bool *alone = find_alone(scratch, ir);
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        Outputs *group = group_of(arena, &groups, ir, i, alone);
        array_push(arena, &group->outputs, i);
    }
    arena_close(scratch);
    return groups;
}

Ir *fuse_part(Arena *arena, const Ir *ir, const Outputs *group) {
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
