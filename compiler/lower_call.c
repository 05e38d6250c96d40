/* A call in, its value out. One idea: a function is its body with the arguments in place of the
 * parameters; the same function with the same arguments is expanded once, so a chain of doublings
 * stays small. */
#include <string.h>

#include "compiler/lowering.h"
#include "registry/call.h"

static Callee resolve(Expression *e, Node node) {
    return call_resolve(e->lower->registry, e->scope->function, e->scope->ast, node,
                        e->lower->diags);
}

static const AstArg *call_args(const Expression *e, const AstNode *call) {
    return e->scope->ast->args.data + call->first;
}

static Value default_value(Expression *e, const Function *function, uint32_t i, Span site) {
    Lower *lower = e->lower;
    const AstParameter *parameter =
        &function->ast->parameters.data[function->def->parameter_first + i];
    Value value;
    if (memo_recall(&lower->expanded, parameter, NULL, 0, &value)) return value;
    Scope scope = {.ast = function->ast, .function = function, .site = site, .constant = true};
    value = lower_expression(lower, &scope, parameter->value);
    memo_keep(lower->scratch, &lower->expanded, parameter, NULL, 0, value);
    return value;
}

/* A registry's function stays visible around its body; a number needs no call. */
static Value wrap_call(Lower *lower, const Function *function, const Value *args, Value body,
                       Span span) {
    Ir *ir = lower->ir;
    if (body == 0 || function->layer == LAYER_PROGRAM || ir_dtype(ir, body) == DT_WEAK) return body;
    IrNode node = {.op = IR_CALL, .count = 1, .arg = {body}, .span = span};
    node.type = ir_node(ir, body)->type;
    node.function = function;
    node.first = ir->list.count;
    node.argc = function->def->parameter_count;
    for (uint32_t i = 0; i < node.argc; i++) array_push(ir->arena, &ir->list, args[i]);
    return ir_value(ir, node);
}

static Value expand(Lower *lower, const Function *function, const Value *args, Span site);

static bool has_integers(const Ir *ir, const Value *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (dtype_is_integer(ir_dtype(ir, args[i]))) return true;
    return false;
}

/* The registry's formulas are written for real numbers: where one gives a float from integers, it
 * computes in floats from the start (sigmoid of a u8 would else negate in u8). */
static Value expand_real(Lower *lower, const Function *function, const Value *args, Value value,
                         Span site) {
    uint32_t count = function->def->parameter_count;
    DType type = value != 0 ? ir_dtype(lower->ir, value) : DT_WEAK;
    if (function->layer == LAYER_PROGRAM || !dtype_is_float(type) ||
        !has_integers(lower->ir, args, count))
        return value;
    Value *floats = arena_array(lower->scratch, Value, count);
    for (uint32_t i = 0; i < count; i++) {
        bool integer = dtype_is_integer(ir_dtype(lower->ir, args[i]));
        floats[i] = integer ? ir_operand(lower->ir, type, args[i], site) : args[i];
    }
    return expand(lower, function, floats, site);
}

static Value expand(Lower *lower, const Function *function, const Value *args, Span site) {
    uint32_t count = function->def->parameter_count;
    Value value;
    if (memo_recall(&lower->expanded, function, args, count, &value)) return value;
    Scope scope = {.ast = function->ast, .function = function, .args = args, .site = site};
    Value body = lower_expression(lower, &scope, function->def->value);
    value = wrap_call(lower, function, args, body, site);
    value = expand_real(lower, function, args, value, site);
    memo_keep(lower->scratch, &lower->expanded, function, args, count, value);
    return value;
}

static Value call_function(Expression *e, Node node, const Function *function) {
    uint32_t count = function->def->parameter_count;
    Value *args = arena_array(e->lower->scratch, Value, count);
    Span site = lower_place(e->lower, e->scope, e->scope->ast->nodes.data[node].span);
    if (e->lower->broken && function->layer == LAYER_PROGRAM) return 0;
    for (uint32_t i = 0; i < count; i++) {
        Node given = call_argument(e->scope->ast, node, function, i);
        args[i] = given != 0 ? expression_value(e, given) : default_value(e, function, i, site);
        if (args[i] == 0) return 0;
    }
    return expand(e->lower, function, args, site);
}

/* From the left. */
bool lower_axes(Expression *e, Node node, Value a, AxisRange *axes) {
    const AstNode *call = &e->scope->ast->nodes.data[node];
    const Type *type = &ir_node(e->lower->ir, a)->type;
    if (type->dtype == DT_WEAK) {
        lower_error(e->lower, e->scope, call->mark, NULL,
                    "'%s' reduces an array, and this is a number", call->name);
        return false;
    }
    int32_t written = call_axis(e->scope->ast, node), rank = (int32_t)type->rank;
    int32_t first = written == AXIS_EVERY ? 0 : written < 0 ? written + rank : written;
    *axes = (AxisRange){first, written == AXIS_EVERY ? rank : first + 1};
    if (axes->first >= 0 && axes->end <= rank) return true;
    Text shape = {0};
    shape_print(&shape, type);
    lower_error(e->lower, e->scope, call->mark, NULL, "'%s' runs over axis %d, but the shape is %s",
                call->name, written, text_string(&shape));
    text_free(&shape);
    return false;
}

static Value call_reduction(Expression *e, Node node, Reduction reduction) {
    const AstNode *call = &e->scope->ast->nodes.data[node];
    Ir *ir = e->lower->ir;
    Value a = expression_value(e, call_args(e, call)[0].value);
    AxisRange axes;
    if (a == 0 || !lower_axes(e, node, a, &axes)) return 0;
    Span span = lower_place(e->lower, e->scope, call->span);
    return lower_checked(e, ir_reduce(ir, reduction, a, axes, span), call);
}

static Value call_primitive(Expression *e, const AstNode *call, Primitive primitive) {
    Value args[3] = {0};
    for (uint32_t i = 0; i < call->count; i++)
        args[i] = expression_value(e, call_args(e, call)[i].value);
    return lower_apply(e, primitive, args, call->count, call);
}

static Value call_cast(Expression *e, const AstNode *call, DType type) {
    Value a = expression_value(e, call_args(e, call)[0].value);
    Span span = lower_place(e->lower, e->scope, call->span);
    return a == 0 ? 0 : lower_checked(e, ir_cast(e->lower->ir, type, a, span), call);
}

Value lower_call(Expression *e, Node node) {
    const AstNode *call = &e->scope->ast->nodes.data[node];
    Callee callee = resolve(e, node);
    switch (callee.kind) {
    case CALLEE_FUNCTION: return call_function(e, node, callee.function);
    case CALLEE_REDUCTION: return call_reduction(e, node, callee.reduction);
    case CALLEE_PRIMITIVE: return call_primitive(e, call, callee.primitive);
    case CALLEE_SHAPE: return lower_shape_call(e, node, callee.shape);
    case CALLEE_DTYPE: return call_cast(e, call, callee.dtype);
    case CALLEE_NONE: break;
    }
    return 0;
}

static bool is_axis_word(const Expression *e, const AstArg *arg) {
    return arg->name != NULL && strcmp(arg->name, "axis") == 0 &&
           e->scope->ast->nodes.data[arg->value].kind == AST_NAME;
}

/* Not a function of the same name, whose `axis` is a value like any other. */
static bool may_reduce(const Expression *e, Node call) {
    Diags unsaid = {.arena = e->lower->scratch};
    const Lower *lower = e->lower;
    return takes_axis(e->scope->ast->nodes.data[call].name) &&
           call_resolve(lower->registry, e->scope->function, e->scope->ast, call, &unsaid).kind !=
               CALLEE_FUNCTION;
}

void lower_axis_words(Expression *e, Node last) {
    for (Node at = e->first; at <= last; at++) {
        const AstNode *call = &e->scope->ast->nodes.data[at];
        if (call->kind != AST_CALL || !may_reduce(e, at)) continue;
        for (uint32_t i = 0; i < call->count; i++) {
            const AstArg *arg = &call_args(e, call)[i];
            if (is_axis_word(e, arg)) e->values[arg->value - e->first] = AXIS_WORD;
        }
    }
}
