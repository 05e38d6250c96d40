/* In: a call node. Out: what it means, or what is wrong with it. The one idea: the name says who
 * could be meant, the arguments decide. */
#include "registry/call.h"

#include <math.h>
#include <string.h>

typedef struct Call {
    const Ast *ast;
    const AstNode *node;
    const AstArg *args;
    uint32_t positional; /* the first `positional` of node->count have no name */
    Diags *diags;
} Call;

static Call open_call(const Ast *ast, Node node, Diags *diags) {
    Call call = {.ast = ast, .node = &ast->nodes.data[node], .diags = diags};
    call.args = ast->args.data + call.node->first;
    while (call.positional < call.node->count && !call.args[call.positional].name)
        call.positional++;
    return call;
}

#define complain(call, span, hint, ...) \
    diag_error((call)->diags, (call)->ast->source, span, hint, __VA_ARGS__)

/* --- Functions */

static const AstParameter *parameters(const Function *function) {
    return function->ast->parameters.data + function->def->parameter_first;
}

/* The parameter that argument `i` is for, or parameter_count. */
static uint32_t target(const Call *call, const Function *function, uint32_t i) {
    uint32_t count = function->def->parameter_count, p = 0;
    if (!call->args[i].name) return i < count ? i : count;
    while (p < count && strcmp(parameters(function)[p].name, call->args[i].name)) p++;
    return p;
}

/* The first argument for a parameter, or node->count. */
static uint32_t argument(const Call *call, const Function *function, uint32_t parameter) {
    uint32_t i = 0;
    while (i < call->node->count && target(call, function, i) != parameter) i++;
    return i;
}

/* The first argument that has no parameter or shares one, or node->count. */
static uint32_t misfit(const Call *call, const Function *function) {
    for (uint32_t i = 0; i < call->node->count; i++) {
        uint32_t parameter = target(call, function, i);
        if (parameter == function->def->parameter_count) return i;
        if (argument(call, function, parameter) < i) return i;
    }
    return call->node->count;
}

/* The first parameter that is owed an argument, or function->required. */
static uint32_t lacking(const Call *call, const Function *function) {
    uint32_t parameter = 0;
    while (parameter < function->required &&
           argument(call, function, parameter) < call->node->count)
        parameter++;
    return parameter;
}

static bool takes(const Call *call, const Function *function) {
    return misfit(call, function) == call->node->count &&
           lacking(call, function) == function->required;
}

Node call_argument(const Ast *ast, Node node, const Function *function, uint32_t parameter) {
    Call call = open_call(ast, node, NULL);
    uint32_t i = argument(&call, function, parameter);
    return i < call.node->count ? call.args[i].value : 0;
}

static void complain_of_count(const Call *call, uint32_t least, uint32_t most, const char *hint) {
    const char *to = least == most ? "" : arena_printf(call->diags->arena, " to %u", most);
    complain(call, call->node->mark, hint, "'%s' takes %u%s argument%s, %u given", call->node->name,
             least, to, most == 1 ? "" : "s", call->node->count);
}

static void complain_of_function(const Call *call, const Function *function) {
    Text head = {0};
    function_print_head(&head, function);
    const char *hint = text_string(&head), *name = function->name;
    uint32_t i = misfit(call, function), count = function->def->parameter_count;
    if (call->positional == call->node->count)
        complain_of_count(call, function->required, count, hint);
    else if (i == call->node->count)
        complain(call, call->node->mark, hint, "'%s' lacks its argument '%s'", name,
                 parameters(function)[lacking(call, function)].name);
    else if (!call->args[i].name)
        complain_of_count(call, function->required, count, hint);
    else if (target(call, function, i) == count)
        complain(call, call->args[i].mark, hint, "'%s' has no parameter '%s'", name,
                 call->args[i].name);
    else
        complain(call, call->args[i].mark, hint, "the argument '%s' is given twice",
                 call->args[i].name);
    text_free(&head);
}

/* --- Reductions */

/* A whole number, perhaps behind a sign, or the word `all`. */
static bool read_axis(const Ast *ast, Node value, int32_t *axis) {
    const AstNode *node = &ast->nodes.data[value];
    bool negative = node->kind == AST_UNARY && node->op == OP_NEG;
    *axis = AXIS_EVERY;
    if (node->kind == AST_NAME) return !strcmp(node->name, "all");
    if (negative) node = &ast->nodes.data[node->a];
    if (node->kind != AST_NUMBER || !(node->number < 100) || floor(node->number) < node->number)
        return false;
    *axis = (int32_t)(negative ? -node->number : node->number);
    return true;
}

int32_t call_axis(const Ast *ast, Node node) {
    Call call = open_call(ast, node, NULL);
    int32_t axis = -1;
    if (call.node->count == 2) read_axis(ast, call.args[1].value, &axis);
    return axis;
}

static bool complain_of_reduction(const Call *call) {
    static const char hint[] = "one array, and axis= a whole number or 'all'";
    int32_t axis;
    if (call->positional != 1 || call->node->count > 2)
        complain(call, call->node->mark, hint, "'%s' reduces one array", call->node->name);
    else if (call->node->count == 2 && strcmp(call->args[1].name, "axis"))
        complain(call, call->args[1].mark, hint, "'%s' of one array has no parameter '%s'",
                 call->node->name, call->args[1].name);
    else if (call->node->count == 2 && !read_axis(call->ast, call->args[1].value, &axis))
        complain(call, call->ast->nodes.data[call->args[1].value].span, NULL,
                 "an axis is a whole number or the word 'all'");
    else
        return false;
    return true;
}

/* --- Any callee */

static bool complain_of_positions(const Call *call, uint32_t arity) {
    bool named = call->positional < call->node->count;
    if (named)
        complain(call, call->args[call->positional].mark, NULL, "'%s' has no named parameters",
                 call->node->name);
    else if (call->node->count != arity)
        complain_of_count(call, arity, arity, NULL);
    return named || call->node->count != arity;
}

static void complain_of_name(const Call *call, const Registry *registry) {
    const char *nearest = registry_nearest(registry, call->node->name);
    const char *hint = "'kfuse ops' lists them";
    if (nearest) hint = arena_printf(call->diags->arena, "did you mean '%s'?", nearest);
    complain(call, call->node->mark, hint, "unknown function '%s'", call->node->name);
}

static const Function *visible(const Registry *registry, const Function *from, const char *name) {
    const Function *function = registry_find(registry, name);
    while (function && from && function->rank > from->rank) function = function->hidden;
    return function;
}

/* Who is meant, whether or not the arguments fit. */
static Callee choose(const Call *call, const Registry *registry, const Function *from) {
    const char *name = call->node->name;
    const Function *function = visible(registry, from, name);
    Callee callee = {CALLEE_FUNCTION, {.function = function}};
    if (function && takes(call, function)) return callee;
    if (reduction_find(name, &callee.reduction) && (!function || call->positional == 1))
        callee.kind = CALLEE_REDUCTION;
    else if (function)
        callee.function = function;
    else if (primitive_find(name, &callee.primitive))
        callee.kind = CALLEE_PRIMITIVE;
    else if (shape_function_find(name, &callee.shape))
        callee.kind = CALLEE_SHAPE;
    else if (dtype_find(name, &callee.dtype))
        callee.kind = CALLEE_DTYPE;
    else
        callee.kind = CALLEE_NONE;
    return callee;
}

Callee call_resolve(const Registry *registry, const Function *from, const Ast *ast, Node node,
                    Diags *diags) {
    Call call = open_call(ast, node, diags);
    Callee callee = choose(&call, registry, from);
    bool wrong = true;
    switch (callee.kind) {
    case CALLEE_NONE: complain_of_name(&call, registry); break;
    case CALLEE_FUNCTION:
        wrong = !takes(&call, callee.function);
        if (wrong) complain_of_function(&call, callee.function);
        break;
    case CALLEE_PRIMITIVE:
        wrong = complain_of_positions(&call, (uint32_t)primitive_info(callee.primitive)->arity);
        break;
    case CALLEE_REDUCTION: wrong = complain_of_reduction(&call); break;
    case CALLEE_SHAPE:
        wrong = callee.shape == SHAPE_COUNT ? complain_of_reduction(&call)
                                            : complain_of_positions(&call, 2);
        break;
    case CALLEE_DTYPE: wrong = complain_of_positions(&call, 1); break;
    }
    return wrong ? (Callee){0} : callee;
}
