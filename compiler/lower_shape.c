/* Calls of functions of an array's shape in, values out. One idea: right-aligned axes say along which
 * ones the array was broadcast; summing over runs of neighbours among them, and leaving out the
 * leading ones, undoes it. */
#include <string.h>

#include "compiler/lowering.h"
#include "registry/call.h"

typedef struct ShapeCall {
    Expression *e;
    const AstNode *node;
    Span span; /* in the program */
    Value value, like;
} ShapeCall;

static const Type *type_of(const ShapeCall *call, Value value) {
    return &ir_node(call->e->lower->ir, value)->type;
}

static Value complain_of_shapes(const ShapeCall *call, const char *hint) {
    Lower *lower = call->e->lower;
    lower_error(lower, call->e->scope, call->node->mark, hint, "'%s' cannot take %s to %s",
                call->node->name, lower_shape(lower, call->value), lower_shape(lower, call->like));
    return 0;
}

/* --- sum_to */

/* Whether the sum runs over `axis` of `from`: `to` does not have it, or it is 1 there. */
static bool is_summed(const Type *from, const Type *to, uint32_t axis) {
    uint32_t extra = from->rank - to->rank;
    return axis < extra || to->dim[axis - extra] == 1;
}

static Value sum_axes(const ShapeCall *call, Value value) {
    Ir *ir = call->e->lower->ir;
    const Type from = *type_of(call, value), to = *type_of(call, call->like);
    for (uint32_t axis = 0, end; axis < from.rank; axis = end + 1) {
        bool longer = false; /* than 1: something to sum */
        for (end = axis; end < from.rank && is_summed(&from, &to, end); end++)
            longer |= from.dim[end] != 1;
        AxisRange axes = {(int32_t)axis, (int32_t)end};
        if (longer) value = ir_reduce(ir, REDUCE_SUM, value, axes, call->span);
    }
    return value;
}

/* Sums of integers are i64, whether or not there is anything to sum. */
static Value sum_to(const ShapeCall *call) {
    Ir *ir = call->e->lower->ir;
    const Type from = *type_of(call, call->value), to = *type_of(call, call->like);
    Type shape = {0};
    if (!type_broadcast(&from, &to, &shape) || !type_same_shape(&shape, &from))
        return complain_of_shapes(call, "the second must broadcast to the first");
    Value value = call->value;
    if (dtype_is_integer(from.dtype)) value = ir_operand(ir, DT_I64, value, call->span);
    value = sum_axes(call, value);
    return from.dtype == DT_WEAK ? value : ir_broadcast(ir, value, &to, call->span);
}

/* --- broadcast_to */

/* A number takes the other's type. */
static Value broadcast_to(const ShapeCall *call) {
    Ir *ir = call->e->lower->ir;
    Type shape = {0};
    const Type to = *type_of(call, call->like);
    Value value = call->value;
    if (!type_broadcast(type_of(call, value), &to, &shape) || !type_same_shape(&shape, &to))
        return complain_of_shapes(call, "the first must broadcast to the second");
    if (ir_dtype(ir, value) == DT_WEAK && to.dtype == DT_WEAK) return value;
    if (ir_dtype(ir, value) == DT_WEAK && dtype_is_integer(to.dtype) &&
        !lower_fits(call->e->lower, call->e->scope, to.dtype, value, call->node->mark))
        return 0;
    if (ir_dtype(ir, value) == DT_WEAK) value = ir_operand(ir, to.dtype, value, call->span);
    return ir_broadcast(ir, value, &to, call->span);
}

/* --- count */

static bool is_named(const Ast *ast, const char *name) {
    for (Node at = 1; at < ast->nodes.count; at++)
        if (ast->nodes.data[at].kind == AST_NAME && strcmp(ast->nodes.data[at].name, name) == 0)
            return true;
    for (uint32_t i = 0; i < ast->statements.count; i++)
        if (ast->statements.data[i].name && strcmp(ast->statements.data[i].name, name) == 0)
            return true;
    return false;
}

/* A number that depends on the shape alone is a param, so that kernels of one bucket stay one; its
 * name is none of the program's. */
static Value add_count(Ir *ir, const char *name, int64_t count, Span span) {
    IrNode node = {.op = IR_PARAM, .type = {.dtype = DT_WEAK}, .span = span};
    while (node.index < ir->params.count && strcmp(ir->params.data[node.index].name, name) != 0)
        node.index++;
    if (node.index == ir->params.count)
        array_push(
            ir->arena, &ir->params,
            (IrParam){
                .name = name, .value = (double)count, .usual = 1, .whole = true, .counts = true});
    return ir_value(ir, node);
}

static Value count(const ShapeCall *call, AxisRange axes) {
    Ir *ir = call->e->lower->ir;
    const Type *type = type_of(call, call->value);
    int64_t count = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        if (axes_have(axes, i)) count *= type->dim[i];
    const char *name = arena_printf(ir->arena, "count%u_%d_%d", call->value, axes.first, axes.end);
    while (is_named(call->e->lower->ast, name)) name = arena_printf(ir->arena, "%s_", name);
    return add_count(ir, name, count, call->span);
}

Value lower_shape_call(Expression *e, Node at, ShapeFunction function) {
    const AstNode *node = &e->scope->ast->nodes.data[at];
    const AstArg *args = e->scope->ast->args.data + node->first;
    ShapeCall call = {e, node, lower_place(e->lower, e->scope, node->span), 0, 0};
    AxisRange axes;
    call.value = expression_value(e, args[0].value);
    if (call.value == 0) return 0;
    if (function == SHAPE_COUNT)
        return lower_axes(e, at, call.value, &axes) ? count(&call, axes) : 0;
    call.like = expression_value(e, args[1].value);
    if (call.like == 0) return 0;
    return function == SHAPE_SUM_TO ? sum_to(&call) : lower_checked(e, broadcast_to(&call), node);
}
