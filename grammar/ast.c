/* In: two Asts, or a node. Out: what is asked about them. The one idea: postorder in one array
 * makes equal trees equal arrays. */
#include "grammar/ast.h"

#include <string.h>

const char *ast_op_word(AstOp op) {
    static const char *const words[] = {
        [OP_NONE] = NULL,
        [OP_NEG] = "neg",
        [OP_PLUS] = NULL,
        [OP_NOT] = "not",
        [OP_ADD] = "add",
        [OP_SUB] = "sub",
        [OP_MUL] = "mul",
        [OP_DIV] = "div",
        [OP_POW] = "pow",
        [OP_MOD] = "mod",
        [OP_FLOORDIV] = "floordiv",
        [OP_MATMUL] = "matmul",
        [OP_LT] = "lt",
        [OP_LE] = "le",
        [OP_GT] = "gt",
        [OP_GE] = "ge",
        [OP_EQ] = "eq",
        [OP_NE] = "ne",
        [OP_AND] = "and",
        [OP_OR] = "or",
    };
    return words[op];
}

const char *ast_op_name(AstOp op) {
    static const char *const names[] = {
        [OP_NONE] = "",  [OP_NEG] = "-",    [OP_PLUS] = "+", [OP_NOT] = "!",       [OP_ADD] = "+",
        [OP_SUB] = "-",  [OP_MUL] = "*",    [OP_DIV] = "/",  [OP_FLOORDIV] = "//", [OP_MOD] = "%",
        [OP_POW] = "**", [OP_MATMUL] = "@", [OP_LT] = "<",   [OP_LE] = "<=",       [OP_GT] = ">",
        [OP_GE] = ">=",  [OP_EQ] = "==",    [OP_NE] = "!=",  [OP_AND] = "&&",      [OP_OR] = "||",
    };
    return names[op];
}

Node ast_first(const Ast *ast, Node node) {
    for (;;) {
        const AstNode *at = &ast->nodes.data[node];
        if (at->kind == AST_CALL && at->count)
            node = ast->args.data[at->first].value;
        else if (at->kind >= AST_UNARY)
            node = at->a;
        else
            return node;
    }
}

/* --- Equality */

static bool same_name(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_node(const AstNode *a, const AstNode *b) {
    if (a->kind != b->kind || a->op != b->op) return false;
    switch (a->kind) {
    case AST_NONE: return true;
    case AST_NUMBER: return !memcmp(&a->number, &b->number, sizeof a->number);
    case AST_NAME: return same_name(a->name, b->name);
    case AST_CALL:
        return same_name(a->name, b->name) && a->first == b->first && a->count == b->count;
    case AST_UNARY:
    case AST_BINARY:
    case AST_SELECT:
    case AST_TRANSPOSE: return a->a == b->a && a->b == b->b && a->c == b->c;
    }
    return false;
}

static bool same_statement(const Statement *a, const Statement *b) {
    return a->kind == b->kind && same_name(a->name, b->name) && a->first == b->first &&
           a->value == b->value && same_name(a->wrt, b->wrt) &&
           a->parameter_first == b->parameter_first && a->parameter_count == b->parameter_count;
}

bool ast_equal(const Ast *a, const Ast *b) {
    if (a->nodes.count != b->nodes.count || a->args.count != b->args.count ||
        a->parameters.count != b->parameters.count || a->statements.count != b->statements.count)
        return false;
    for (uint32_t i = 0; i < a->nodes.count; i++)
        if (!same_node(&a->nodes.data[i], &b->nodes.data[i])) return false;
    for (uint32_t i = 0; i < a->args.count; i++)
        if (!same_name(a->args.data[i].name, b->args.data[i].name) ||
            a->args.data[i].value != b->args.data[i].value)
            return false;
    for (uint32_t i = 0; i < a->parameters.count; i++)
        if (!same_name(a->parameters.data[i].name, b->parameters.data[i].name) ||
            a->parameters.data[i].value != b->parameters.data[i].value)
            return false;
    for (uint32_t i = 0; i < a->statements.count; i++)
        if (!same_statement(&a->statements.data[i], &b->statements.data[i])) return false;
    return true;
}
