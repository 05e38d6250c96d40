/* In: the functions that a text defines. Out: what is wrong with them, and how deep their calls go.
 * The one idea: bodies are loops over their nodes; only the walk from function to function
 * recurses, and its depth is what FUNCTION_DEPTH bounds. */
#include "registry/check.h"

#include <string.h>

#include "registry/call.h"
#include "registry/nearest.h"

enum { DEPTH_UNKNOWN = 0, DEPTH_OPEN = UINT32_MAX /* on the path that is being walked */ };

typedef struct Checker {
    const Registry *registry;
    Diags *diags;
    const Function *path[FUNCTION_DEPTH];
    bool too_deep; /* said once */
} Checker;

/* The statement's nodes begin behind the one before it: defaults first, then the body. */
static Node first_node(const Function *function) {
    bool first = function->def == function->ast->statements.data;
    return first ? 1 : function->def[-1].value + 1;
}

static const AstNode *node_at(const Function *function, Node node) {
    return &function->ast->nodes.data[node];
}

/* --- Names */

static const AstParameter *parameter_at(const Function *function, uint32_t i) {
    return &function->ast->parameters.data[function->def->parameter_first + i];
}

static bool has_parameter(const Function *function, const char *name) {
    for (uint32_t i = 0; i < function->def->parameter_count; i++)
        if (!strcmp(parameter_at(function, i)->name, name)) return true;
    return false;
}

static const char *name_hint(Checker *checker, const Function *function, const char *name) {
    Arena *arena = checker->diags->arena;
    Nearest nearest = {.wanted = name};
    if (registry_find(checker->registry, name))
        return arena_printf(arena, "'%s(...)' would call the function", name);
    for (uint32_t i = 0; i < function->def->parameter_count; i++)
        nearest_consider(&nearest, parameter_at(function, i)->name);
    if (nearest.name && strlen(name) > 1)
        return arena_printf(arena, "did you mean '%s'?", nearest.name);
    return "a body sees its parameters, constants and functions alone";
}

static void check_name(Checker *checker, const Function *function, Node at) {
    const AstNode *node = node_at(function, at);
    if (at < function->def->first)
        diag_error(checker->diags, function->ast->source, node->mark, NULL,
                   "a default is a constant expression");
    else if (!has_parameter(function, node->name))
        diag_error(checker->diags, function->ast->source, node->mark,
                   name_hint(checker, function, node->name), "'%s' is no parameter of '%s'",
                   node->name, function->name);
}

/* Marks what stands behind `axis=`: the word there is no value. */
static void mark_axes(const Function *function, const AstNode *call, Node first, bool *words) {
    const AstArg *args = function->ast->args.data + call->first;
    if (!takes_axis(call->name)) return;
    for (uint32_t i = 0; i < call->count; i++)
        if (args[i].name && !strcmp(args[i].name, "axis")) words[args[i].value - first] = true;
}

static void check_names(Checker *checker, const Function *function) {
    Node first = first_node(function), end = function->def->value + 1;
    bool *words = arena_array(checker->diags->arena, bool, end - first);
    for (Node at = first; at < end; at++)
        if (node_at(function, at)->kind == AST_CALL)
            mark_axes(function, node_at(function, at), first, words);
    for (Node at = first; at < end; at++)
        if (node_at(function, at)->kind == AST_NAME && !words[at - first])
            check_name(checker, function, at);
}

static void check_parameters(Checker *checker, const Function *function) {
    for (uint32_t i = function->required; i < function->def->parameter_count; i++)
        if (!parameter_at(function, i)->value)
            diag_error(checker->diags, function->ast->source, parameter_at(function, i)->mark, NULL,
                       "a parameter without a default stands behind one with a default");
}

/* --- Calls */

static void complain_of_cycle(Checker *checker, const Function *again, uint32_t level, Span mark) {
    Arena *arena = checker->diags->arena;
    uint32_t i = level;
    while (checker->path[i] != again) i--;
    const char *names = "";
    for (; i <= level; i++) names = arena_printf(arena, "%s%s -> ", names, checker->path[i]->name);
    diag_error(checker->diags, checker->path[level]->ast->source, mark, NULL,
               "'%s' calls itself: %s%s", again->name, names, again->name);
}

static void complain_of_depth(Checker *checker, const Function *function) {
    if (!checker->too_deep)
        diag_error(checker->diags, function->ast->source, function->def->mark, NULL,
                   "the calls in '%s' are nested more than %d deep", function->name,
                   FUNCTION_DEPTH);
    checker->too_deep = true;
}

/* Sets function->depth. `level` functions are on the path to it. A callee is one of this text's,
 * and its depth unknown, or an earlier one, and its depth known. */
static void walk(Checker *checker, Function *function, uint32_t level) {
    uint32_t depth = 1;
    if (level == FUNCTION_DEPTH) {
        complain_of_depth(checker, function);
        return;
    }
    checker->path[level] = function;
    function->depth = DEPTH_OPEN;
    for (Node at = first_node(function); at <= function->def->value; at++) {
        const AstNode *node = node_at(function, at);
        if (node->kind != AST_CALL) continue;
        Callee callee =
            call_resolve(checker->registry, function, function->ast, at, checker->diags);
        if (callee.kind != CALLEE_FUNCTION) continue;
        if (callee.function->depth == DEPTH_OPEN)
            complain_of_cycle(checker, callee.function, level, node->mark);
        else if (callee.function->depth == DEPTH_UNKNOWN)
            walk(checker, (Function *)callee.function, level + 1);
        if (callee.function->depth != DEPTH_OPEN && callee.function->depth >= depth)
            depth = callee.function->depth + 1;
    }
    if (depth > FUNCTION_DEPTH) complain_of_depth(checker, function);
    function->depth = depth;
}

bool check_functions(const Registry *registry, Function *const *added, uint32_t count,
                     Diags *diags) {
    Checker checker = {.registry = registry, .diags = diags};
    uint32_t errors = diags->errors;
    for (uint32_t i = 0; i < count; i++) {
        check_parameters(&checker, added[i]);
        check_names(&checker, added[i]);
        if (added[i]->depth == DEPTH_UNKNOWN) walk(&checker, added[i], 0);
    }
    return diags->errors == errors;
}
