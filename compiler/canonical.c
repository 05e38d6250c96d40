/* A source in, names out. One idea: text that reaches generated code is printed from the Ast, never
 * copied from the user, so only tokens of the grammar get there. */
#include "compiler/canonical.h"

#include <string.h>

#include "grammar/parse.h"

enum { NAME_LENGTH = 40 };

static const Ast *parse(Arena *arena, const Source *source) {
    Diags diags = {.arena = arena};
    return source ? parse_program(arena, source, &diags) : NULL;
}

const char *canonical_text(Arena *arena, const Source *source) {
    const Ast *ast = parse(arena, source);
    Text text = {0};
    if (!ast) return "";
    ast_print(&text, ast);
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static const char *word(const AstNode *node) {
    switch (node->kind) {
    case AST_CALL: return node->name;
    case AST_UNARY:
    case AST_BINARY: return ast_op_word(node->op);
    case AST_SELECT: return "select";
    case AST_TRANSPOSE: return "T";
    default: return NULL;
    }
}

static void add_words(Text *name, const Ast *ast, const Statement *statement) {
    for (Node node = statement->first; node <= statement->value && node != 0; node++) {
        const char *next = word(&ast->nodes.data[node]);
        if (next && name->length + strlen(next) < NAME_LENGTH) text_printf(name, "_%s", next);
    }
}

const char *canonical_name(Arena *arena, const Source *source) {
    const Ast *ast = parse(arena, source);
    Text name = {0};
    text_add(&name, "kf");
    for (uint32_t i = 0; ast && i < ast->statements.count; i++) {
        const Statement *statement = &ast->statements.data[i];
        if (statement->kind != STATEMENT_DEFINE && statement->kind != STATEMENT_PARAM)
            add_words(&name, ast, statement);
    }
    if (name.length == 2) text_add(&name, "_copy");
    const char *copy = arena_copy(arena, text_string(&name), name.length);
    text_free(&name);
    return copy;
}
