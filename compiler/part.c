/* A program and some of its values in, a step that computes them out. One idea: a kept value is an
 * input of who reads it, in a type that holds all its bits. */
#include "compiler/part.h"

#include <string.h>

#include "compiler/ir_text.h"
#include "compiler/simplify.h"

DType part_storage(const Ir *ir, Value value) {
    DType type = ir_dtype(ir, value);
    return dtype_is_float(type) && !simplify_is_rounded(ir, value) ? ir->compute : type;
}

void part_cone(const Ir *ir, const Cuts *cuts, Value value, bool *cone) {
    bool *open = cone;
    open[value] = true;
    for (Value v = value + 1; v-- > 1;) {
        const IrNode *node = ir_node(ir, v);
        if (!open[v] || (v != value && cuts->kept[v])) continue;
        for (uint32_t i = 0; i < node->count; i++) open[node->arg[i]] = true;
    }
}

/* --- building */

typedef struct Builder {
    Arena *arena;
    const Ir *from;
    const Cuts *cuts;
    Ir *to;
    Step step;
    Value *map;
} Builder;

static Value add_input(Builder *b, IrInput input, Ref from) {
    IrNode node = {.op = IR_INPUT, .type = input.type, .index = b->to->inputs.count};
    input.value = ir_value(b->to, node);
    array_push(b->arena, &b->to->inputs, input);
    array_push(b->arena, &b->step.inputs, from);
    return input.value;
}

static Value input_of_program(Builder *b, const IrNode *node) {
    IrInput input = b->from->inputs.data[node->index];
    input.updated_by = -1;
    return add_input(b, input, (Ref){PLACE_INPUT, node->index});
}

/* Unlike the program's own names. */
static const char *kept_name(const Builder *b, Value value) {
    const char *name = arena_printf(b->arena, "t%u", value);
    while (ir_is_taken(b->from, name)) name = arena_printf(b->arena, "%s_", name);
    return name;
}

static Value input_kept(Builder *b, Value value) {
    const IrNode *node = ir_node(b->from, value);
    IrInput input = {.name = kept_name(b, value), .updated_by = -1};
    input.type = node->type;
    input.type.dtype = part_storage(b->from, value);
    type_strides(&input.type, input.strides);
    return add_input(b, input, b->cuts->where[value]);
}

static bool is_root(const Roots *roots, Value value) {
    for (uint32_t i = 0; i < roots->list.count; i++)
        if (roots->list.data[i].value == value) return true;
    return false;
}

/* Reductions and products have the type of what they read, which a kept value may have widened. */
static Value rebuild(Builder *b, const IrNode *from) {
    IrNode node = *from;
    for (uint32_t i = 0; i < node.count; i++) node.arg[i] = b->map[node.arg[i]];
    if (ir_is_reduction(&node)) node.type.dtype = ir_dtype(b->to, node.arg[0]);
    if (node.op == IR_TRANSPOSE || node.op == IR_BROADCAST)
        node.type.dtype = ir_dtype(b->to, node.arg[0]);
    return ir_value(b->to, node);
}

static void map_values(Builder *b, const Roots *roots) {
    Arena *scratch = arena_open();
    bool *cone = arena_array(scratch, bool, b->from->nodes.count);
    for (uint32_t i = 0; i < roots->list.count; i++)
        part_cone(b->from, b->cuts, roots->list.data[i].value, cone);
    for (Value v = 1; v < b->from->nodes.count; v++) {
        const IrNode *node = ir_node(b->from, v);
        if (!cone[v]) continue;
        if (b->cuts->kept[v] && !is_root(roots, v))
            b->map[v] = input_kept(b, v);
        else if (node->op == IR_INPUT)
            b->map[v] = input_of_program(b, node);
        else
            b->map[v] = rebuild(b, node);
    }
    arena_close(scratch);
}

/* --- outputs */

static int32_t input_slot(const Builder *b, int32_t input) {
    for (uint32_t i = 0; input >= 0 && i < b->step.inputs.count; i++) {
        Ref ref = b->step.inputs.data[i];
        if (ref.place == PLACE_INPUT && ref.index == (uint32_t)input) return (int32_t)i;
    }
    return -1;
}

static void add_output(Builder *b, IrOutput output, Ref to) {
    if (ir_dtype(b->to, output.value) != output.type.dtype)
        output.value = ir_cast(b->to, output.type.dtype, output.value, (Span){0});
    if (output.updates >= 0)
        b->to->inputs.data[output.updates].updated_by = (int32_t)b->to->outputs.count;
    array_push(b->arena, &b->to->outputs, output);
    array_push(b->arena, &b->step.outputs, to);
}

static void output_of_program(Builder *b, uint32_t index) {
    IrOutput output = b->from->outputs.data[index];
    output.value = b->map[output.value];
    output.updates = input_slot(b, output.updates);
    add_output(b, output, (Ref){PLACE_OUTPUT, index});
}

static void output_kept(Builder *b, Value value) {
    IrOutput output = {.name = kept_name(b, value),
                       .type = ir_node(b->from, value)->type,
                       .value = b->map[value],
                       .updates = -1};
    output.type.dtype = part_storage(b->from, value);
    type_strides(&output.type, output.strides);
    add_output(b, output, b->cuts->where[value]);
}

Step part_extract(Arena *arena, const Ir *ir, const Cuts *cuts, const Roots *roots) {
    Builder b = {arena, ir, cuts, ir_like(arena, ir), {0}, NULL};
    b.map = arena_array(arena, Value, ir->nodes.count);
    for (uint32_t i = 0; i < ir->params.count; i++)
        array_push(arena, &b.to->params, ir->params.data[i]);
    map_values(&b, roots);
    for (uint32_t i = 0; i < roots->list.count; i++) {
        const Root *root = &roots->list.data[i];
        if (root->output >= 0)
            output_of_program(&b, (uint32_t)root->output);
        else
            output_kept(&b, root->value);
    }
    b.step.ir = b.to;
    return b.step;
}

void part_text(Arena *arena, Step *step) {
    const char *text = ir_text(arena, step->ir);
    Ir *named = arena_new(arena, Ir);
    *named = *step->ir;
    named->source = source_new(arena, "<part>", text, strlen(text));
    step->ir = named;
}
