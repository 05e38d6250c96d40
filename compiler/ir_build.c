/* Operations on values in, typed nodes out. One idea: each builder first brings its operands to one
 * type by language.md's promotion, then makes the node whose shape follows by broadcasting; what is
 * constant folds. */
#include <math.h>

#include "compiler/fold.h"
#include "compiler/simplify.h"

static bool is_condition(Primitive primitive, uint32_t i) {
    return primitive == P_NOT || primitive == P_AND || primitive == P_OR ||
           (primitive == P_SELECT && i == 0);
}

static bool is_comparison(Primitive primitive) {
    return primitive >= P_LT && primitive <= P_NE;
}

/* Has no integer form: integers become f32. */
static bool needs_float(Primitive primitive) {
    switch (primitive) {
    case P_DIV:
    case P_SQRT:
    case P_FMOD:
    case P_COPYSIGN:
    case P_FMA: return true;
    default: return primitive_info(primitive)->class == CLASS_FUNCTION;
    }
}

static bool rounds_to_whole(Primitive primitive) {
    return primitive == P_FLOOR || primitive == P_CEIL || primitive == P_TRUNC ||
           primitive == P_ROUND;
}

Value ir_finish(Ir *ir, IrNode node) {
    Scalar value;
    return fold_node(ir, &node, &value) ? ir_const(ir, node.type.dtype, value) : ir_value(ir, node);
}

Value ir_const(Ir *ir, DType type, Scalar value) {
    IrNode node = {.op = IR_CONST, .type = {.dtype = type}};
    bool real = type == DT_WEAK || dtype_is_float(type);
    if (real && isnan(value.real))
        value.real = (double)NAN; /* one NaN, whatever its sign and payload */
    node.whole = value.whole;
    return ir_value(ir, node);
}

Value ir_real(Ir *ir, double value) {
    return ir_const(ir, DT_WEAK, (Scalar){.real = value});
}

static bool is_whole(double value) {
    return isfinite(value) && value == trunc(value);
}

bool ir_is_whole(const Ir *ir, Value value) {
    const IrNode *node = ir_node(ir, value);
    if (node->op == IR_CONST) return is_whole(node->real);
    if (node->op == IR_PARAM) return ir->params.data[node->index].whole;
    return ir_is_primitive(node) && node->whole != 0;
}

static bool keeps_whole(Primitive primitive) {
    switch (primitive) {
    case P_NEG:
    case P_ADD:
    case P_SUB:
    case P_MUL:
    case P_FABS:
    case P_FMAX:
    case P_FMIN:
    case P_SELECT: return true;
    default: return false;
    }
}

/* Of a WEAK operation; a select's condition may be anything. */
static bool gives_whole(const Ir *ir, Primitive primitive, const Value *args, uint32_t count) {
    if (is_comparison(primitive) || is_condition(primitive, 1)) return true;
    if (rounds_to_whole(primitive)) return ir_is_whole(ir, args[0]);
    if (!keeps_whole(primitive)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!is_condition(primitive, i) && !ir_is_whole(ir, args[i])) return false;
    return true;
}

static Value convert(Ir *ir, uint16_t op, DType type, Value a, Span span) {
    IrNode node = {.op = op, .count = 1, .arg = {a}, .type = ir_node(ir, a)->type, .span = span};
    node.type.dtype = type;
    return ir_finish(ir, node);
}

Value ir_operand(Ir *ir, DType type, Value a, Span span) {
    DType from = ir_dtype(ir, a);
    if (from == type || (dtype_is_float(from) && dtype_is_float(type))) return a;
    return convert(ir, from == DT_WEAK ? IR_CAST : IR_CONVERT, type, a, span);
}

Value ir_cast(Ir *ir, DType type, Value a, Span span) {
    const IrNode *node = ir_node(ir, a);
    DType from = node->type.dtype;
    bool to_float = dtype_is_float(type);
    if (from == DT_WEAK && node->op == IR_CONST && to_float)
        return ir_const(ir, type, (Scalar){.real = dtype_round(type, node->real)});
    if (to_float && !dtype_is_float(from)) {
        /* What is known in the compute type alone is rounded a second time only to a narrower one.
         */
        if (type == ir->compute) return ir_operand(ir, type, a, span);
        a = ir_operand(ir, ir->compute, a, span);
    }
    return from == type && !to_float ? a : convert(ir, IR_CAST, type, a, span);
}

/* Any value as a bool: != 0, so that NaN is true. */
static Value condition(Ir *ir, Value a, Span span) {
    DType type = ir_dtype(ir, a);
    if (type == DT_BOOL) return a;
    if (type == DT_WEAK) return convert(ir, IR_CAST, DT_BOOL, a, span);
    Value zero = ir_operand(ir, type, ir_real(ir, 0), span);
    return ir_apply(ir, P_NE, (Value[]){a, zero}, 2, span);
}

static bool all_weak(const Ir *ir, const Value *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (ir_dtype(ir, args[i]) != DT_WEAK) return false;
    return true;
}

static bool has_fraction(const Ir *ir, Primitive primitive, const Value *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!is_condition(primitive, i) && ir_dtype(ir, args[i]) == DT_WEAK &&
            !ir_is_whole(ir, args[i]))
            return true;
    return false;
}

/* What a condition compares; bool if nothing else is known. */
static DType compared_type(const Ir *ir, Value value) {
    while (ir_node(ir, value)->op == IR_CALL) value = ir_node(ir, value)->arg[0];
    const IrNode *node = ir_node(ir, value);
    return node->type.dtype == DT_BOOL && ir_is_primitive(node) ? (DType)node->whole
                                                                : node->type.dtype;
}

DType ir_operand_type(const Ir *ir, Primitive primitive, const Value *args, uint32_t count) {
    DType type = DT_WEAK;
    if (all_weak(ir, args, count)) return DT_WEAK;
    if (is_condition(primitive, 1)) return DT_BOOL;
    uint32_t first = primitive == P_SELECT ? 1 : 0;
    if (first == 1 && ir_dtype(ir, args[1]) == DT_BOOL && ir_dtype(ir, args[2]) == DT_BOOL)
        return DT_BOOL;
    for (uint32_t i = first; i < count; i++) type = type_promote(type, ir_dtype(ir, args[i]));
    if (type == DT_WEAK) type = compared_type(ir, args[0]); /* a select between two numbers */
    if (dtype_is_float(type)) return type;
    if (needs_float(primitive) || has_fraction(ir, primitive, args, count)) return DT_F32;
    return type == DT_BOOL ? DT_I32 : type;
}

/* IrNode.whole of an operation on operands of type `operand`. */
static int64_t remark(const Ir *ir, Primitive primitive, DType operand, const Value *args,
                      uint32_t count) {
    DType compared = DT_WEAK;
    if (operand == DT_WEAK) return gives_whole(ir, primitive, args, count);
    if (is_comparison(primitive)) return (int64_t)operand;
    if (operand != DT_BOOL) return 0;
    for (uint32_t i = primitive == P_SELECT ? 1 : 0; i < count; i++)
        compared = type_promote(compared, compared_type(ir, args[i]));
    return (int64_t)compared;
}

/* The shape that all operands broadcast to. */
static Type broadcast_all(const Ir *ir, const IrNode *node) {
    Type type = {.dtype = node->type.dtype};
    for (uint32_t i = 0; i < node->count; i++)
        type_broadcast(&type, &ir_node(ir, node->arg[i])->type, &type);
    return type;
}

Value ir_apply(Ir *ir, Primitive primitive, const Value *args, uint32_t count, Span span) {
    DType operand = ir_operand_type(ir, primitive, args, count);
    IrNode node = {.op = (uint16_t)(IR_PRIMITIVE + (uint32_t)primitive), .count = (uint16_t)count};
    node.whole = remark(ir, primitive, operand, args, count);
    node.span = span;
    for (uint32_t i = 0; i < count; i++) {
        bool is_bool = operand != DT_WEAK && is_condition(primitive, i);
        node.arg[i] =
            is_bool ? condition(ir, args[i], span) : ir_operand(ir, operand, args[i], span);
    }
    if (rounds_to_whole(primitive) && dtype_is_integer(operand)) return node.arg[0];
    bool gives_bool = operand != DT_WEAK && is_comparison(primitive);
    node.type.dtype = gives_bool ? DT_BOOL : operand;
    node.type = broadcast_all(ir, &node);
    return ir_finish(ir, node);
}

static Value multiply(Ir *ir, Value a, Value b, Span span) {
    return ir_apply(ir, P_MUL, (Value[]){a, b}, 2, span);
}

/* a to the k-th by squaring; k >= 1. */
static Value whole_power(Ir *ir, Value a, uint64_t k, Span span) {
    Value power = 0;
    for (; k > 0; k >>= 1) {
        if (k & 1) power = power == 0 ? a : multiply(ir, power, a, span);
        if (k > 1) a = multiply(ir, a, a, span);
    }
    return power;
}

/* An integer to the k-th stays one; to the 0th it is 1 in a's shape. */
static Value integer_power(Ir *ir, Value a, uint64_t k, Span span) {
    a = ir_operand(ir, type_promote(ir_dtype(ir, a), ir_dtype(ir, a)), a, span);
    if (k > 0) return whole_power(ir, a, k, span);
    Value none = multiply(ir, a, ir_real(ir, 0), span);
    return ir_apply(ir, P_ADD, (Value[]){none, ir_real(ir, 1)}, 2, span);
}

static Value float_power(Ir *ir, Value a, int64_t k, Span span) {
    if (!dtype_is_float(ir_dtype(ir, a))) a = ir_operand(ir, DT_F32, a, span);
    if (k > 0) return whole_power(ir, a, (uint64_t)k, span);
    Value power = whole_power(ir, a, (uint64_t)-k, span);
    return ir_apply(ir, P_DIV, (Value[]){ir_real(ir, 1), power}, 2, span);
}

Value ir_power(Ir *ir, Value a, Value b, Span span) {
    const IrNode *exponent = ir_node(ir, b);
    DType type = ir_dtype(ir, a);
    if (type != DT_WEAK && exponent->op == IR_CONST && exponent->type.dtype == DT_WEAK &&
        is_whole(exponent->real)) {
        double k = exponent->real;
        if (!dtype_is_float(type) && k >= 0 && k < 0x1p62)
            return integer_power(ir, a, (uint64_t)k, span);
        if (fabs(k) <= POWER_MAX && k != 0) return float_power(ir, a, (int64_t)k, span);
    }
    return ir_apply(ir, P_POW, (Value[]){a, b}, 2, span);
}

static DType reduced_type(Reduction reduction, DType type) {
    if (dtype_is_float(type) || reduction == REDUCE_MAX || reduction == REDUCE_MIN) return type;
    return reduction == REDUCE_SUM || reduction == REDUCE_PROD ? DT_I64 : DT_F32;
}

Value ir_reduce(Ir *ir, Reduction reduction, Value a, AxisRange axes, Span span) {
    DType type = reduced_type(reduction, ir_dtype(ir, a));
    IrNode node = {.op = (uint16_t)(IR_SUM + (uint32_t)reduction), .count = 1, .span = span};
    node.arg[0] = ir_operand(ir, type, a, span);
    node.axes = axes;
    node.type = ir_node(ir, a)->type;
    node.type.dtype = type;
    for (uint32_t i = 0; i < node.type.rank; i++)
        if (axes_have(axes, i)) node.type.dim[i] = 1;
    return ir_value(ir, node);
}

/* What is computed is stored before a product reads it. */
static Value factor(Ir *ir, DType type, Value a, Span span) {
    a = ir_operand(ir, type, a, span);
    return simplify_is_rounded(ir, a) ? a : ir_cast(ir, ir_dtype(ir, a), a, span);
}

Value ir_matmul(Ir *ir, Value a, Value b, Span span) {
    DType type = type_promote(ir_dtype(ir, a), ir_dtype(ir, b));
    IrNode node = {.op = IR_MATMUL, .count = 2, .type = {.dtype = type}, .span = span};
    node.arg[0] = factor(ir, type, a, span);
    node.arg[1] = factor(ir, type, b, span);
    type_matmul(&ir_node(ir, a)->type, &ir_node(ir, b)->type, &node.type);
    return ir_value(ir, node);
}

Value ir_transpose(Ir *ir, Value a, Span span) {
    IrNode node = {.op = IR_TRANSPOSE, .count = 1, .arg = {a}, .span = span};
    node.type = ir_node(ir, a)->type;
    int64_t *last = &node.type.dim[node.type.rank - 1], kept = last[0];
    last[0] = last[-1];
    last[-1] = kept;
    return ir_value(ir, node);
}

bool ir_can_broadcast(const Type *from, const Type *to) {
    for (uint32_t i = 1; i <= from->rank; i++) {
        int64_t dim = from->dim[from->rank - i];
        if (dim != 1 && (i > to->rank || dim != to->dim[to->rank - i])) return false;
    }
    return true;
}

Value ir_broadcast(Ir *ir, Value a, const Type *shape, Span span) {
    const IrNode *operand = ir_node(ir, a);
    IrNode node = {.op = IR_BROADCAST, .count = 1, .type = *shape, .span = span};
    if (type_same_shape(&operand->type, shape)) return a;
    node.type.dtype = operand->type.dtype;
    node.arg[0] = operand->op == IR_BROADCAST ? operand->arg[0] : a;
    if (type_same_shape(&ir_node(ir, node.arg[0])->type, shape)) return node.arg[0];
    return ir_value(ir, node);
}

const double *ir_weak_values(const Ir *ir, Arena *arena) {
    double *values = arena_array(arena, double, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        double args[3];
        if (node->type.dtype != DT_WEAK) continue;
        for (uint32_t i = 0; i < node->count; i++) args[i] = values[node->arg[i]];
        if (node->op == IR_CONST)
            values[v] = node->real;
        else if (node->op == IR_PARAM)
            values[v] = ir->params.data[node->index].value;
        else
            values[v] = fold_real(ir_primitive(node), args, DT_F64);
    }
    return values;
}

double ir_weak(const Ir *ir, Value value) {
    const IrNode *node = ir_node(ir, value);
    if (node->op == IR_CONST) return node->real;
    if (node->op == IR_PARAM) return ir->params.data[node->index].value;
    Arena *scratch = arena_open();
    double result = ir_weak_values(ir, scratch)[value];
    arena_close(scratch);
    return result;
}
