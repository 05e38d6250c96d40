/* An expression's nodes in, values out. One idea: nodes stand in postorder, so one loop over them
 * meets every operand before its use; only a call of a function starts another loop (FUNCTION_DEPTH
 * deep at most). */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "compiler/lowering.h"

enum { STEPS_MAX = 1 << 20 }; /* nodes of all expanded bodies: about a second, and 200 MB */

static bool is_own(const Lower *lower, const Scope *scope) {
    return scope->ast == lower->ast;
}

Span lower_place(const Lower *lower, const Scope *scope, Span span) {
    return is_own(lower, scope) ? span : scope->site;
}

void lower_error(Lower *lower, const Scope *scope, Span mark, const char *hint, const char *format,
                 ...) {
    const Source *source = lower->ast->source;
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(lower->scratch, format, args);
    va_end(args);
    if (!is_own(lower, scope))
        message = arena_printf(lower->scratch, "in '%s': %s", scope->function->name, message);
    diag_error(lower->diags, source, lower_place(lower, scope, mark), hint, "%s", message);
    if (is_own(lower, scope) && scope->function != NULL)
        diag_add(lower->diags, DIAG_NOTE, source, scope->site, NULL, "in this call of '%s'",
                 scope->function->name);
}

static bool fits(const Ir *ir, DType type, Value value) {
    const DTypeInfo *info = dtype_info(type);
    double real = ir_weak(ir, value);
    return real == trunc(real) && real >= (double)info->low && real < (double)info->high + 1;
}

bool lower_fits(Lower *lower, const Scope *scope, DType type, Value value, Span mark) {
    const IrNode *node = ir_node(lower->ir, value);
    if (fits(lower->ir, type, value)) return true;
    Text number = {0};
    number_print(&number, ir_weak(lower->ir, value));
    const char *name = node->op == IR_PARAM ? lower->ir->params.data[node->index].name : NULL;
    lower_error(lower, scope, mark, "a wider type is asked for by name, as in f32(x)",
                "%s%s%s does not fit %s", name != NULL ? name : "", name != NULL ? " = " : "",
                text_string(&number), dtype_name(type));
    text_free(&number);
    return false;
}

static void complain_of_shapes(Expression *e, const Type *a, const Type *b, const AstNode *node) {
    Text left = {0}, right = {0};
    shape_print(&left, a);
    shape_print(&right, b);
    lower_error(e->lower, e->scope, node->mark,
                "sizes are compared from the right; 1 goes with any",
                "shapes %s and %s do not broadcast", text_string(&left), text_string(&right));
    text_free(&left);
    text_free(&right);
}

static bool check_broadcast(Expression *e, const Value *args, uint32_t count, const AstNode *node) {
    Type all = {0};
    for (uint32_t i = 0; i < count; i++) {
        const Type *type = &ir_node(e->lower->ir, args[i])->type;
        if (type_broadcast(&all, type, &all)) continue;
        complain_of_shapes(e, &all, type, node);
        return false;
    }
    return true;
}

/* Whole numbers that meet an integer type must fit it. Formulas of the registry are written for
 * real numbers: there, one that does not fit makes the operation f32, as a fraction does. */
static bool fit_numbers(Expression *e, Primitive primitive, Value *args, uint32_t count,
                        const AstNode *node) {
    Ir *ir = e->lower->ir;
    DType type = ir_operand_type(ir, primitive, args, count);
    for (uint32_t i = primitive == P_SELECT ? 1 : 0; dtype_is_integer(type) && i < count; i++) {
        if (ir_dtype(ir, args[i]) != DT_WEAK) continue;
        if (is_own(e->lower, e->scope)) {
            if (!lower_fits(e->lower, e->scope, type, args[i], node->mark)) return false;
        } else if (!fits(ir, type, args[i])) {
            args[i] = ir_operand(ir, DT_F32, args[i], e->scope->site);
        }
    }
    return true;
}

static bool any_failed(const Value *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (args[i] == 0) return true;
    return false;
}

Value lower_checked(Expression *e, Value value, const AstNode *node) {
    if (type_count(&ir_node(e->lower->ir, value)->type) >= 0) return value;
    lower_error(e->lower, e->scope, node->mark, NULL, "the result, %s, exceeds 2^62 bytes",
                lower_shape(e->lower, value));
    return 0;
}

Value lower_apply(Expression *e, Primitive primitive, const Value *args, uint32_t count,
                  const AstNode *node) {
    Value taken[3] = {0};
    Span span = lower_place(e->lower, e->scope, node->span);
    if (any_failed(args, count) || !check_broadcast(e, args, count, node)) return 0;
    memcpy(taken, args, count * sizeof *args);
    if (!fit_numbers(e, primitive, taken, count, node)) return 0;
    return lower_checked(e, ir_apply(e->lower->ir, primitive, taken, count, span), node);
}

static Value lower_power(Expression *e, const Value *args, const AstNode *node) {
    if (any_failed(args, 2) || !check_broadcast(e, args, 2, node)) return 0;
    Span span = lower_place(e->lower, e->scope, node->span);
    return lower_checked(e, ir_power(e->lower->ir, args[0], args[1], span), node);
}

static Value lower_matmul(Expression *e, const Value *args, const AstNode *node) {
    Type shape = {0};
    const Ir *ir = e->lower->ir;
    if (any_failed(args, 2)) return 0;
    if (!type_matmul(&ir_node(ir, args[0])->type, &ir_node(ir, args[1])->type, &shape)) {
        lower_error(e->lower, e->scope, node->mark,
                    "the last axis of the left meets the last but one of the right",
                    "shapes %s and %s do not fit '@'", lower_shape(e->lower, args[0]),
                    lower_shape(e->lower, args[1]));
        return 0;
    }
    Span span = lower_place(e->lower, e->scope, node->span);
    return lower_checked(e, ir_matmul(e->lower->ir, args[0], args[1], span), node);
}

static Value lower_transpose(Expression *e, const AstNode *node) {
    Value a = expression_value(e, node->a);
    if (a == 0) return 0;
    if (ir_node(e->lower->ir, a)->type.rank < 2) {
        lower_error(e->lower, e->scope, node->mark, NULL,
                    "'.T' swaps the last two axes, but the shape is %s", lower_shape(e->lower, a));
        return 0;
    }
    return ir_transpose(e->lower->ir, a, lower_place(e->lower, e->scope, node->span));
}

static Value lower_unary(Expression *e, const AstNode *node) {
    Value a = expression_value(e, node->a);
    if (node->op == OP_PLUS) return a;
    return lower_apply(e, node->op == OP_NEG ? P_NEG : P_NOT, &a, 1, node);
}

static Value lower_binary(Expression *e, const AstNode *node) {
    static const Primitive primitives[] = {
        [OP_ADD] = P_ADD,
        [OP_SUB] = P_SUB,
        [OP_MUL] = P_MUL,
        [OP_DIV] = P_DIV,
        [OP_FLOORDIV] = P_FLOORDIV,
        [OP_MOD] = P_MOD,
        [OP_LT] = P_LT,
        [OP_LE] = P_LE,
        [OP_GT] = P_GT,
        [OP_GE] = P_GE,
        [OP_EQ] = P_EQ,
        [OP_NE] = P_NE,
        [OP_AND] = P_AND,
        [OP_OR] = P_OR,
    };
    Value args[2] = {expression_value(e, node->a), expression_value(e, node->b)};
    if (node->op == OP_POW) return lower_power(e, args, node);
    if (node->op == OP_MATMUL) return lower_matmul(e, args, node);
    return lower_apply(e, primitives[node->op], args, 2, node);
}

static Value lower_select(Expression *e, const AstNode *node) {
    Value args[3] = {expression_value(e, node->a), expression_value(e, node->b),
                     expression_value(e, node->c)};
    return lower_apply(e, P_SELECT, args, 3, node);
}

/* --round-each-op: the result of an operation as the program writes it, as an eager framework
 * stores it. */
static Value round_result(Expression *e, Value value, const AstNode *node) {
    Lower *lower = e->lower;
    DType type = ir_dtype(lower->ir, value);
    if (!lower->options->round_each_op || !is_own(lower, e->scope) || value == 0) return value;
    if (!dtype_is_float(type) || type == lower->ir->compute) return value;
    uint16_t op = ir_node(lower->ir, value)->op;
    if (op == IR_CAST || op == IR_INPUT || op == IR_TRANSPOSE) return value;
    return ir_cast(lower->ir, type, value, node->span);
}

static Value lower_node(Expression *e, Node at) {
    const AstNode *node = &e->scope->ast->nodes.data[at];
    switch (node->kind) {
    case AST_NUMBER: return ir_real(e->lower->ir, node->number);
    case AST_NAME: return lower_name(e, node);
    case AST_CALL: return round_result(e, lower_call(e, at), node);
    case AST_UNARY: return round_result(e, lower_unary(e, node), node);
    case AST_BINARY: return round_result(e, lower_binary(e, node), node);
    case AST_SELECT: return round_result(e, lower_select(e, node), node);
    case AST_TRANSPOSE: return lower_transpose(e, node);
    case AST_NONE: break;
    }
    return 0;
}

/* False, once with a message, when the functions have grown too large. */
static bool count_steps(Lower *lower, const Scope *scope, uint32_t steps) {
    if (scope->function == NULL) return true;
    if (lower->steps > STEPS_MAX) return false;
    lower->steps += steps;
    if (lower->steps > STEPS_MAX)
        diag_error(lower->diags, lower->ast->source, scope->site, NULL,
                   "the functions called here expand to more than %d operations", STEPS_MAX);
    return lower->steps <= STEPS_MAX;
}

Value lower_expression(Lower *lower, const Scope *scope, Node node) {
    Expression e = {.lower = lower, .scope = scope, .first = ast_first(scope->ast, node)};
    if (!count_steps(lower, scope, node - e.first + 1)) return 0;
    e.values = arena_array(lower->scratch, Value, node - e.first + 1);
    lower_axis_words(&e, node);
    for (Node at = e.first; at <= node; at++)
        if (expression_value(&e, at) != AXIS_WORD) e.values[at - e.first] = lower_node(&e, at);
    return expression_value(&e, node);
}
