/* In: an expression of a template's header, a point. Out: C. */
#include "export/formula.h"

#include <inttypes.h>
#include <string.h>

Formula formula_open(Arena *arena, const Space *space, const Point *point, const ExportSize *sizes,
                     uint32_t size_count) {
    Binding *list = arena_array(arena, Binding, size_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < size_count; i++)
        if (size_is_constant(&sizes[i])) list[count++] = (Binding){sizes[i].name, sizes[i].factor};
    bool *used = arena_array(arena, bool, size_count + 1);
    return (Formula){space, point, sizes, size_count, used, {list, count}};
}

bool formula_constant(const Formula *f, const Ast *ast, Node node, int64_t *value) {
    const char *why;
    return space_eval(f->space, f->point, f->constants, ast, node, value, &why);
}

void formula_name(Text *out, const char *name) {
    bool generated = strncmp(name, "kf_", 3) == 0 || strncmp(name, "s_", 2) == 0;
    text_printf(out, "%s%s", generated ? "" : "u_", name);
}

bool formula_size(Text *out, const Formula *f, const char *name) {
    for (uint32_t i = 0; i < f->size_count; i++)
        if (strcmp(f->sizes[i].name, name) == 0) {
            f->used[i] = true;
            formula_name(out, name);
            return true;
        }
    return false;
}

static void print(Text *out, const Formula *f, const Ast *ast, Node node);

static void print_call(Text *out, const Formula *f, const Ast *ast, const AstNode *node) {
    int64_t by;
    if (strcmp(node->name, "ceildiv") == 0 && node->count == 2 &&
        formula_constant(f, ast, ast->args.data[node->first + 1].value, &by) && by == 1) {
        print(out, f, ast, ast->args.data[node->first].value);
        return;
    }
    bool least = strcmp(node->name, "min") == 0, most = strcmp(node->name, "max") == 0;
    text_printf(out, "%s(", least ? "least" : most ? "most" : node->name);
    for (uint32_t i = 0; i < node->count; i++) {
        if (i) text_add(out, ", ");
        print(out, f, ast, ast->args.data[node->first + i].value);
    }
    text_add(out, ")");
}

/* The side that decides alone where the other is a number: 1 * n, 0 || p, 1 && p; 0 if none does. */
static Node lone_side(const Formula *f, const Ast *ast, const AstNode *node) {
    const Node sides[] = {node->a, node->b};
    bool multiplied = node->op == OP_MUL, either = node->op == OP_OR, both = node->op == OP_AND;
    int64_t value;
    for (int i = 0; i < 2; i++)
        if (formula_constant(f, ast, sides[i], &value) &&
            ((multiplied && value == 1) || (either && !value) || (both && value)))
            return sides[1 - i];
    return node->op == OP_FLOORDIV && formula_constant(f, ast, node->b, &value) && value == 1
               ? node->a
               : 0;
}

static void print_binary(Text *out, const Formula *f, const Ast *ast, const AstNode *node) {
    bool floored = node->op == OP_FLOORDIV;
    Node lone = lone_side(f, ast, node);
    if (lone) {
        print(out, f, ast, lone);
        return;
    }
    text_add(out, "(");
    print(out, f, ast, node->a);
    text_printf(out, " %s ", floored ? "/" : ast_op_name(node->op)); /* sizes are not negative */
    print(out, f, ast, node->b);
    text_add(out, ")");
}

static void print_select(Text *out, const Formula *f, const Ast *ast, const AstNode *node) {
    int64_t condition;
    if (formula_constant(f, ast, node->a, &condition)) {
        print(out, f, ast, condition ? node->b : node->c);
        return;
    }
    text_add(out, "(");
    print(out, f, ast, node->a);
    text_add(out, " ? ");
    print(out, f, ast, node->b);
    text_add(out, " : ");
    print(out, f, ast, node->c);
    text_add(out, ")");
}

static void print(Text *out, const Formula *f, const Ast *ast, Node index) {
    const AstNode *node = &ast->nodes.data[index];
    int64_t value;
    if (formula_constant(f, ast, index, &value)) {
        text_printf(out, "%" PRId64, value);
        return;
    }
    switch (node->kind) {
    case AST_NAME:
        if (!formula_size(out, f, node->name)) text_add(out, node->name); /* sms, cpus */
        break;
    case AST_CALL: print_call(out, f, ast, node); break;
    case AST_UNARY:
        text_add(out, node->op == OP_NOT ? "!" : node->op == OP_NEG ? "-" : "");
        print(out, f, ast, node->a);
        break;
    case AST_BINARY: print_binary(out, f, ast, node); break;
    case AST_SELECT: print_select(out, f, ast, node); break;
    default: break;
    }
}

/* Parentheses around the whole say nothing. */
static void print_bare(Text *out, const Formula *f, const Ast *ast, Node node) {
    Text text = {0};
    int depth = 0;
    print(&text, f, ast, node);
    const char *string = text_string(&text);
    size_t length = strlen(string);
    bool wrapped = length > 1 && string[0] == '(' && string[length - 1] == ')';
    for (size_t i = 0; i + 1 < length && wrapped; i++) {
        depth += (string[i] == '(') - (string[i] == ')');
        wrapped = depth > 0;
    }
    text_add_bytes(out, string + wrapped, length - 2 * (size_t)wrapped);
    text_free(&text);
}

void formula_print(Text *out, const Formula *f, const Ast *ast, Node node, int64_t fallback) {
    if (node)
        print_bare(out, f, ast, node);
    else
        text_printf(out, "%" PRId64, fallback);
}

void formula_require(Text *out, const Formula *f) {
    const char *join = "";
    for (uint32_t i = 0; i < f->space->constraints.count; i++) {
        const Constraint *constraint = &f->space->constraints.data[i];
        int64_t value;
        if (!constraint->hard ||
            (formula_constant(f, constraint->ast, constraint->value, &value) && value))
            continue;
        text_add(out, join);
        print(out, f, constraint->ast, constraint->value);
        join = " && ";
    }
    if (!*join) text_add(out, "1");
}

/* A size and those that it divides by, which stand before it. */
static void mark(const Formula *f, uint32_t index) {
    f->used[index] = true;
    for (uint32_t i = 0; f->sizes[index].inverse && i < f->size_count; i++)
        if (strcmp(f->sizes[i].name, f->sizes[index].inverse) == 0) f->used[i] = true;
}

void formula_declare(Text *out, const Formula *f) {
    for (uint32_t i = 0; i < f->size_count; i++)
        if (f->used[i]) mark(f, i);
    for (uint32_t i = 0; i < f->size_count; i++) {
        if (!f->used[i]) continue;
        text_add(out, "    const int64_t ");
        formula_name(out, f->sizes[i].name);
        text_add(out, " = ");
        size_print(out, &f->sizes[i]);
        text_add(out, ";\n");
    }
}
