/* An Ir in, a plan's arrays, scalars and values out: what its outputs need, in order. */
#include <stdlib.h>
#include <string.h>

#include "compiler/planning.h"

Value plan_input_behind(const Ir *ir, Value value, bool *transposed) {
    *transposed = false;
    for (; ir_node(ir, value)->op == IR_TRANSPOSE; value = ir_node(ir, value)->arg[0])
        *transposed = !*transposed;
    return ir_node(ir, value)->op == IR_INPUT ? value : 0;
}

static bool is_weak_cast(const Ir *ir, const IrNode *node) {
    return node->count == 1 && node->type.dtype != DT_WEAK &&
           ir_node(ir, node->arg[0])->type.dtype == DT_WEAK;
}

static bool *mark_params(Arena *scratch, const Ir *ir) {
    bool *depends = arena_array(scratch, bool, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        depends[v] = node->op == IR_PARAM;
        for (uint32_t i = 0; i < node->count; i++) depends[v] |= depends[node->arg[i]];
    }
    return depends;
}

enum { NAME_SHOWN = 200 };

/* A private name for the user's, as a header's names may be long: the number tells cut ones apart.
 */
static const char *private_name(Arena *arena, const char *prefix, uint32_t number,
                                const char *name) {
    if (strlen(name) <= NAME_SHOWN) return arena_printf(arena, "%s_%s", prefix, name);
    return arena_printf(arena, "%s%u_%.*s", prefix, number, NAME_SHOWN, name);
}

static void add_load(Arena *arena, Plan *plan, Value value) {
    bool transposed;
    Value source = plan_input_behind(plan->ir, value, &transposed);
    uint32_t slot = ir_node(plan->ir, source)->index;
    const IrInput *input = &plan->ir->inputs.data[slot];
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (plan->loads.data[i].value == value) return;
    Access access = {
        .name = private_name(arena, transposed ? "inT" : "in", slot, input->name),
        .user = input->name,
        .dtype = input->type.dtype,
        .slot = slot,
        .value = value,
        .alias = input->updated_by >= 0,
    };
    array_push(arena, &plan->loads, access);
}

static Scalar convert_weak(DType compute, DType type, double value) {
    if (dtype_is_float(type)) return (Scalar){.real = dtype_round(compute, value)};
    return (Scalar){.whole = dtype_saturate(type, value)};
}

static void add_scalar(Arena *arena, Plan *plan, Value value) {
    const IrNode *node = ir_node(plan->ir, value), *weak = ir_node(plan->ir, node->arg[0]);
    const char *name = arena_printf(arena, "s_%u", value);
    if (weak->op == IR_PARAM)
        name = private_name(arena, "s", weak->index, plan->ir->params.data[weak->index].name);
    for (uint32_t i = 0; i < plan->scalars.count; i++) /* the same param as another type */
        if (strcmp(plan->scalars.data[i].name, name) == 0)
            name = arena_printf(arena, "s_%u", value);
    PlanScalar scalar = {
        .name = name,
        .value = value,
        .dtype = dtype_is_float(node->type.dtype) ? plan->compute : DT_I64,
        .argument = convert_weak(plan->compute, node->type.dtype, ir_weak(plan->ir, node->arg[0])),
    };
    array_push(arena, &plan->scalars, scalar);
}

static void add_value(Arena *arena, Plan *plan, Value value, bool depends) {
    const IrNode *node = ir_node(plan->ir, value);
    bool transposed;
    if (plan_input_behind(plan->ir, value, &transposed))
        add_load(arena, plan, value);
    else if (is_weak_cast(plan->ir, node) && depends)
        add_scalar(arena, plan, value);
    else if (node->op == IR_CONST || node->type.dtype == DT_WEAK || is_weak_cast(plan->ir, node))
        return;
    else if (node->op == IR_CAST || node->op == IR_CONVERT || node->op == IR_BROADCAST ||
             ir_is_primitive(node) || ir_is_reduction(node))
        array_push(arena, &plan->body, value);
    else
        abort(); /* a group has no others */
}

/* Loads, scalars and body: what the outputs need. */
void plan_collect_values(Arena *arena, Plan *plan) {
    const Ir *ir = plan->ir;
    Arena *scratch = arena_open();
    bool *needed = arena_array(scratch, bool, ir->nodes.count);
    bool *depends = mark_params(scratch, ir), transposed;
    for (uint32_t i = 0; i < ir->outputs.count; i++) needed[ir->outputs.data[i].value] = true;
    for (Value v = ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(ir, v);
        if (!needed[v] || plan_input_behind(ir, v, &transposed)) continue;
        for (uint32_t i = 0; i < node->count; i++) needed[node->arg[i]] = true;
    }
    for (Value v = 1; v < ir->nodes.count; v++)
        if (needed[v]) add_value(arena, plan, v, depends[v]);
    arena_close(scratch);
}

void plan_collect_stores(Arena *arena, Plan *plan) {
    for (uint32_t i = 0; i < plan->ir->outputs.count; i++) {
        const IrOutput *output = &plan->ir->outputs.data[i];
        Access access = {
            .name = private_name(arena, "out", i, output->name),
            .user = output->name,
            .dtype = output->type.dtype,
            .slot = i,
            .value = output->value,
            .alias = output->updates >= 0,
        };
        array_push(arena, &plan->stores, access);
    }
}

bool plan_is_reduced(const Plan *plan, const Access *access) {
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        if (plan->reduced >> axis & 1 && access->stride[axis] != 0) return false;
    return plan->reduced != 0;
}

const PlanScalar *plan_scalar(const Plan *plan, Value value) {
    for (uint32_t i = 0; i < plan->scalars.count; i++)
        if (plan->scalars.data[i].value == value) return &plan->scalars.data[i];
    return NULL;
}

bool plan_constant(const Plan *plan, Value value, Scalar *constant) {
    const IrNode *node = ir_node(plan->ir, value);
    if (node->op == IR_CONST && dtype_is_float(node->type.dtype))
        constant->real = node->real;
    else if (node->op == IR_CONST)
        constant->whole = node->whole;
    else if (is_weak_cast(plan->ir, node) && !plan_scalar(plan, value))
        *constant = convert_weak(plan->compute, node->type.dtype, ir_weak(plan->ir, node->arg[0]));
    else
        return false;
    return true;
}
