/* An Ir in, what is wrong with it out. One idea: every rule that ir.h states is checked on each
 * node alone, from its operands' types, without the builders' code; so a stage, or bytes from
 * elsewhere, cannot pass on what the next one would trip over. */
#include "compiler/verify.h"

#include "compiler/simplify.h"

typedef struct Check {
    const Ir *ir;
    const IrNode *node;
} Check;

static const Type *arg_type(const Check *c, uint32_t i) {
    return &ir_node(c->ir, c->node->arg[i])->type;
}

static bool is_real(DType type) {
    return type == DT_WEAK || dtype_is_float(type);
}

static const char *check_type(const Type *type) {
    if (type->dtype >= DTYPE_COUNT) return "unknown dtype";
    if (type->rank > RANK_MAX) return "rank above 8";
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->dim[i] < 0) return "negative size";
    if (type->dtype == DT_WEAK && type->rank > 0) return "a number with a shape";
    Type bytes = *type; /* a value inside may be wider than what is stored */
    bytes.dtype = DT_U8;
    return type_count(&bytes) < 0 ? "too many elements" : NULL;
}

static uint32_t arity(const IrNode *node) {
    if (ir_is_primitive(node)) return (uint32_t)primitive_info(ir_primitive(node))->arity;
    switch (node->op) {
    case IR_CONST:
    case IR_INPUT:
    case IR_PARAM: return 0;
    case IR_MATMUL: return 2;
    default: return 1;
    }
}

static const char *check_operands(const Ir *ir, Value value) {
    const IrNode *node = ir_node(ir, value);
    if (node->op == IR_NONE || node->op >= IR_PRIMITIVE + NEAR_BEHIND) return "unknown op";
    if (node->count != arity(node)) return "wrong number of operands";
    for (uint32_t i = 0; i < node->count; i++)
        if (node->arg[i] == 0 || node->arg[i] >= value) return "operand not before its use";
    return NULL;
}

/* --- Leaves */

static const char *check_const(const Check *c) {
    const DTypeInfo *info = dtype_info(c->node->type.dtype);
    if (c->node->type.rank > 0) return "a constant with a shape";
    if (is_real(c->node->type.dtype)) return NULL;
    return c->node->whole < info->low || c->node->whole > info->high ? "constant out of range"
                                                                     : NULL;
}

static const char *check_input(const Check *c, Value value) {
    if (c->node->index >= c->ir->inputs.count) return "unknown input";
    const IrInput *input = &c->ir->inputs.data[c->node->index];
    if (input->value != value || input->type.dtype != c->node->type.dtype ||
        !type_same_shape(&input->type, &c->node->type))
        return "the input is declared otherwise";
    return c->node->type.dtype == DT_WEAK ? "an input without a type" : NULL;
}

static const char *check_param(const Check *c) {
    if (c->node->index >= c->ir->params.count) return "unknown param";
    return c->node->type.dtype != DT_WEAK ? "a param with a type" : NULL;
}

/* --- Operations */

static const char *check_cast(const Check *c) {
    DType to = c->node->type.dtype, from = arg_type(c, 0)->dtype;
    if (to == DT_WEAK) return "cast to a number";
    if (!type_same_shape(arg_type(c, 0), &c->node->type)) return "cast changes the shape";
    return dtype_is_float(to) && !is_real(from) ? "integer cast to a float without convert" : NULL;
}

static const char *check_convert(const Check *c) {
    DType to = c->node->type.dtype, from = arg_type(c, 0)->dtype;
    if (!type_same_shape(arg_type(c, 0), &c->node->type)) return "convert changes the shape";
    if (is_real(from) || to == DT_WEAK || to == DT_BOOL) return "convert of a float, or to a bool";
    return to == from ? "convert to the same type" : NULL;
}

static const char *check_transpose(const Check *c) {
    Type type = *arg_type(c, 0);
    if (type.rank < 2 || type.dtype != c->node->type.dtype)
        return "transpose of less than two axes";
    int64_t kept = type.dim[type.rank - 1];
    type.dim[type.rank - 1] = type.dim[type.rank - 2];
    type.dim[type.rank - 2] = kept;
    return type_same_shape(&type, &c->node->type) ? NULL : "transpose has another shape";
}

static const char *check_broadcast(const Check *c) {
    const Type *from = arg_type(c, 0), *to = &c->node->type;
    if (from->dtype == DT_WEAK || from->dtype != to->dtype) return "broadcast changes the type";
    return ir_can_broadcast(from, to) ? NULL : "broadcast to a shape that does not fit";
}

/* Operand `i` can stand in an operation on `type`. */
static bool suits(const Check *c, uint32_t i, DType type) {
    DType own = arg_type(c, i)->dtype;
    return own == type || (dtype_is_float(own) && dtype_is_float(type));
}

static const char *check_matmul(const Check *c) {
    Type shape = {0};
    if (c->node->type.dtype == DT_WEAK || !suits(c, 0, c->node->type.dtype) ||
        !suits(c, 1, c->node->type.dtype))
        return "product of other types";
    if (!type_matmul(arg_type(c, 0), arg_type(c, 1), &shape))
        return "product of shapes that do not fit";
    if (!simplify_is_rounded(c->ir, c->node->arg[0]) ||
        !simplify_is_rounded(c->ir, c->node->arg[1]))
        return "product of what is not stored";
    return type_same_shape(&shape, &c->node->type) ? NULL : "product has another shape";
}

static const char *check_reduction(const Check *c) {
    Type type = *arg_type(c, 0);
    bool averages = c->node->op == IR_MEAN || c->node->op == IR_VAR;
    if (type.dtype == DT_WEAK || type.dtype != c->node->type.dtype)
        return "reduction changes the type";
    if (averages && !dtype_is_float(type.dtype)) return "mean or var of integers";
    AxisRange axes = c->node->axes;
    if (axes.first < 0 || axes.end < axes.first || axes.end > (int32_t)type.rank)
        return "reduction over an axis that is not there";
    for (uint32_t i = 0; i < type.rank; i++)
        if (axes_have(axes, i)) type.dim[i] = 1;
    return type_same_shape(&type, &c->node->type) ? NULL : "reduction has another shape";
}

static const char *check_call(const Check *c, Value value) {
    const Type *body = arg_type(c, 0);
    if (c->node->first > c->ir->list.count || c->node->argc > c->ir->list.count - c->node->first)
        return "arguments outside the list";
    for (uint32_t i = 0; i < c->node->argc; i++) {
        Value argument = c->ir->list.data[c->node->first + i];
        if (argument == 0 || argument >= value) return "argument not before its call";
    }
    bool same = body->dtype == c->node->type.dtype && type_same_shape(body, &c->node->type);
    return same ? NULL : "call and body differ in type";
}

/* --- Primitives */

static bool is_logical(Primitive primitive) {
    return primitive == P_NOT || primitive == P_AND || primitive == P_OR;
}

static bool is_comparison(Primitive primitive) {
    return primitive >= P_LT && primitive <= P_NE;
}

static bool is_integer_form(Primitive primitive) {
    switch (primitive) {
    case P_NEG:
    case P_ADD:
    case P_SUB:
    case P_MUL:
    case P_FLOORDIV:
    case P_MOD:
    case P_FABS:
    case P_FMAX:
    case P_FMIN:
    case P_SELECT: return true;
    default: return is_comparison(primitive);
    }
}

/* The type that the operands must suit. */
static DType operand_type(const Check *c) {
    Primitive primitive = ir_primitive(c->node);
    if (is_logical(primitive)) return arg_type(c, 0)->dtype == DT_WEAK ? DT_WEAK : DT_BOOL;
    if (is_comparison(primitive)) return arg_type(c, 0)->dtype;
    return c->node->type.dtype;
}

static const char *check_operation(const Check *c) {
    Primitive primitive = ir_primitive(c->node);
    DType operand = operand_type(c), result = c->node->type.dtype;
    bool tests = is_comparison(primitive) || is_logical(primitive);
    if (tests && result != (operand == DT_WEAK ? DT_WEAK : DT_BOOL))
        return "a test that gives no bool";
    if (operand == DT_BOOL && !is_logical(primitive) && primitive != P_SELECT)
        return "arithmetic on bool";
    if (dtype_is_integer(operand) && !is_integer_form(primitive)) return "no integer form";
    for (uint32_t i = 0; i < c->node->count; i++) {
        bool is_condition = primitive == P_SELECT && i == 0 && operand != DT_WEAK;
        if (!suits(c, i, is_condition ? DT_BOOL : operand)) return "operand of another type";
    }
    return NULL;
}

static const char *check_shape(const Check *c) {
    Type all = {0};
    for (uint32_t i = 0; i < c->node->count; i++)
        if (!type_broadcast(&all, arg_type(c, i), &all)) return "operands do not broadcast";
    return type_same_shape(&all, &c->node->type) ? NULL : "operation has another shape";
}

static const char *check_primitive(const Check *c) {
    const char *why = check_operation(c);
    return why != NULL ? why : check_shape(c);
}

static const char *check_node(const Ir *ir, Value value) {
    Check c = {ir, ir_node(ir, value)};
    const char *why = check_type(&c.node->type);
    if (why == NULL) why = check_operands(ir, value);
    if (why != NULL) return why;
    switch (c.node->op) {
    case IR_CONST: return check_const(&c);
    case IR_INPUT: return check_input(&c, value);
    case IR_PARAM: return check_param(&c);
    case IR_CAST: return check_cast(&c);
    case IR_CONVERT: return check_convert(&c);
    case IR_TRANSPOSE: return check_transpose(&c);
    case IR_BROADCAST: return check_broadcast(&c);
    case IR_MATMUL: return check_matmul(&c);
    case IR_CALL: return check_call(&c, value);
    case IR_SUM:
    case IR_PROD:
    case IR_MAX:
    case IR_MIN:
    case IR_MEAN:
    case IR_VAR: return check_reduction(&c);
    default: return check_primitive(&c);
    }
}

/* --- Interface */

static bool is_index(int32_t index, uint32_t count) {
    return index == -1 || (index >= 0 && (uint32_t)index < count);
}

static const char *check_output(const Ir *ir, uint32_t i) {
    const IrOutput *output = &ir->outputs.data[i];
    const char *why = check_type(&output->type);
    if (why != NULL) return why;
    if (output->value == 0 || output->value >= ir->nodes.count) return "output without a value";
    const Type *type = &ir_node(ir, output->value)->type;
    Type all = {0};
    if (type->dtype == DT_WEAK || type->dtype != output->type.dtype)
        return "output stored as another type";
    if (!type_broadcast(type, &output->type, &all) || !type_same_shape(&all, &output->type))
        return "output of another shape";
    if (!is_index(output->updates, ir->inputs.count)) return "output updates an unknown input";
    if (output->updates >= 0 && ir->inputs.data[output->updates].updated_by != (int32_t)i)
        return "output and input disagree on the update";
    return NULL;
}

static const char *check_declared(const Ir *ir, uint32_t i) {
    const IrInput *input = &ir->inputs.data[i];
    if (input->value == 0 || input->value >= ir->nodes.count) return "input without a value";
    const IrNode *node = ir_node(ir, input->value);
    if (node->op != IR_INPUT || node->index != i) return "input with the value of another";
    return is_index(input->updated_by, ir->outputs.count) ? NULL
                                                          : "input updated by an unknown output";
}

static const char *explain(Arena *arena, const char *what, uint32_t i, const char *why) {
    return arena_printf(arena, "%s %u: %s", what, i, why);
}

const char *verify(const Ir *ir, Arena *arena) {
    const char *why;
    if (ir->compute != DT_F32 && ir->compute != DT_F64)
        return "computes in another type than f32 or f64";
    for (Value v = 1; v < ir->nodes.count; v++)
        if ((why = check_node(ir, v)) != NULL) return explain(arena, "value", v, why);
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        if ((why = check_declared(ir, i)) != NULL) return explain(arena, "input", i, why);
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if ((why = check_output(ir, i)) != NULL) return explain(arena, "output", i, why);
    return ir->outputs.count == 0 ? "no output" : NULL;
}
