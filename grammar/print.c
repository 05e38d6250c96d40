/* In: an Ast. Out: canonical text, or a listing of the nodes. The one idea: a stack of pieces still
 * to be printed instead of recursion, each with the level of precedence that its place asks for. */
#include "grammar/ast.h"

/* --- Expressions */

/* How tightly a node holds together; a place asks for at least one of these. */
typedef enum Level {
    LEVEL_SELECT,
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_EQUAL,
    LEVEL_ORDER,
    LEVEL_SUM,
    LEVEL_PRODUCT,
    LEVEL_UNARY,
    LEVEL_POWER,
    LEVEL_POSTFIX,
    LEVEL_ATOM,
    LEVEL_PARENTHESES,
} Level;

static Level op_level(AstOp op) {
    switch (op) {
    case OP_OR: return LEVEL_OR;
    case OP_AND: return LEVEL_AND;
    case OP_EQ:
    case OP_NE: return LEVEL_EQUAL;
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: return LEVEL_ORDER;
    case OP_ADD:
    case OP_SUB: return LEVEL_SUM;
    case OP_POW: return LEVEL_POWER;
    default: return LEVEL_PRODUCT;
    }
}

static Level node_level(const AstNode *node) {
    switch (node->kind) {
    case AST_SELECT: return LEVEL_SELECT;
    case AST_BINARY: return op_level(node->op);
    case AST_UNARY: return LEVEL_UNARY;
    case AST_TRANSPOSE: return LEVEL_POSTFIX;
    default: return LEVEL_ATOM;
    }
}

/* Text, or a node and the level that its place asks for. */
typedef struct Piece {
    const char *text;
    Node node;
    Level level;
} Piece;

typedef struct Printer {
    Text *out;
    const Ast *ast;
    Arena *scratch;
    ARRAY(Piece) stack;
} Printer;

static void push_text(Printer *printer, const char *text) {
    array_push(printer->scratch, &printer->stack, (Piece){.text = text});
}

static void push_node(Printer *printer, Node node, Level level) {
    array_push(printer->scratch, &printer->stack, (Piece){.node = node, .level = level});
}

/* Everything is pushed in reverse, so that what stands first is on top. */
static void push_binary(Printer *printer, const AstNode *node) {
    Level level = op_level(node->op), left = level, right = level + 1;
    if (level == LEVEL_EQUAL || level == LEVEL_ORDER) left = level + 1;
    if (node->op == OP_POW) left = LEVEL_POSTFIX;
    if (node->op == OP_POW) right = LEVEL_UNARY;
    push_node(printer, node->b, right);
    push_text(printer, " ");
    push_text(printer, ast_op_name(node->op));
    push_text(printer, " ");
    push_node(printer, node->a, left);
}

static void push_call(Printer *printer, const AstNode *node) {
    push_text(printer, ")");
    for (uint32_t i = node->count; i-- > 0;) {
        const AstArg *argument = &printer->ast->args.data[node->first + i];
        push_node(printer, argument->value, LEVEL_SELECT);
        if (argument->name) push_text(printer, "=");
        if (argument->name) push_text(printer, argument->name);
        if (i) push_text(printer, ", ");
    }
    push_text(printer, "(");
    push_text(printer, node->name);
}

static void push_select(Printer *printer, const AstNode *node) {
    push_node(printer, node->c, LEVEL_SELECT);
    push_text(printer, " : ");
    push_node(printer, node->b, LEVEL_SELECT);
    push_text(printer, " ? ");
    push_node(printer, node->a, LEVEL_OR);
}

/* A number takes parentheses, for "2.T" reads as a malformed one. */
static void push_transpose(Printer *printer, const AstNode *node) {
    bool number = printer->ast->nodes.data[node->a].kind == AST_NUMBER;
    push_text(printer, ".T");
    push_node(printer, node->a, number ? LEVEL_PARENTHESES : LEVEL_POSTFIX);
}

static void print_node(Printer *printer, const AstNode *node) {
    switch (node->kind) {
    case AST_NONE: break;
    case AST_NUMBER: number_print(printer->out, node->number); break;
    case AST_NAME: text_add(printer->out, node->name); break;
    case AST_CALL: push_call(printer, node); break;
    case AST_UNARY:
        text_add(printer->out, ast_op_name(node->op));
        push_node(printer, node->a, LEVEL_UNARY);
        break;
    case AST_BINARY: push_binary(printer, node); break;
    case AST_SELECT: push_select(printer, node); break;
    case AST_TRANSPOSE: push_transpose(printer, node); break;
    }
}

static void print_piece(Printer *printer, Piece piece) {
    if (piece.text) {
        text_add(printer->out, piece.text);
        return;
    }
    const AstNode *node = &printer->ast->nodes.data[piece.node];
    if (node_level(node) < piece.level) {
        push_text(printer, ")");
        push_node(printer, piece.node, LEVEL_SELECT);
        push_text(printer, "(");
    } else {
        print_node(printer, node);
    }
}

static void print_at(Text *out, const Ast *ast, Node node, Level level) {
    Printer printer = {.out = out, .ast = ast, .scratch = arena_open()};
    push_node(&printer, node, level);
    while (printer.stack.count) print_piece(&printer, printer.stack.data[--printer.stack.count]);
    arena_close(printer.scratch);
}

void ast_print_expression(Text *out, const Ast *ast, Node node) {
    print_at(out, ast, node, LEVEL_SELECT);
}

/* --- Statements */

static void print_head(Text *out, const Ast *ast, const Statement *statement) {
    bool derivative = statement->kind == STATEMENT_DERIVATIVE;
    text_printf(out, "%s%s(", derivative ? "derivative " : "", statement->name);
    for (uint32_t i = 0; i < statement->parameter_count; i++) {
        const AstParameter *parameter = &ast->parameters.data[statement->parameter_first + i];
        text_printf(out, "%s%s%s", i ? ", " : "", parameter->name, parameter->value ? "=" : "");
        if (parameter->value) ast_print_expression(out, ast, parameter->value);
    }
    text_add(out, ")");
    if (statement->wrt) text_printf(out, " wrt %s", statement->wrt);
    text_add(out, " = ");
}

void ast_print_statement(Text *out, const Ast *ast, const Statement *statement) {
    switch (statement->kind) {
    case STATEMENT_BIND: text_printf(out, "%s = ", statement->name); break;
    case STATEMENT_DEFINE:
    case STATEMENT_DERIVATIVE: print_head(out, ast, statement); break;
    case STATEMENT_PARAM: text_printf(out, "param %s = ", statement->name); break;
    case STATEMENT_RETURN: text_add(out, "return "); break;
    case STATEMENT_EXPR: break;
    }
    ast_print_expression(out, ast, statement->value);
}

/* Whether the text of an expression begins with a sign: below another line it would be refused. */
static bool begins_with_sign(const Ast *ast, Node node) {
    Level level = LEVEL_SELECT;
    for (;;) {
        const AstNode *at = &ast->nodes.data[node];
        if (node_level(at) < level || at->kind < AST_UNARY) return false;
        if (at->kind == AST_UNARY) return at->op != OP_NOT;
        level = at->kind == AST_SELECT   ? LEVEL_OR
                : at->kind == AST_BINARY ? op_level(at->op) + (at->op == OP_POW)
                                         : LEVEL_POSTFIX;
        node = at->a;
    }
}

void ast_print(Text *out, const Ast *ast) {
    const Statement *statements = ast->statements.data;
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        const Statement *at = &statements[i];
        if (at->kind == STATEMENT_RETURN && i && statements[i - 1].kind == STATEMENT_RETURN) {
            text_add(out, ", ");
            ast_print_expression(out, ast, at->value);
        } else {
            if (i) text_add(out, "\n");
            bool sign = i && at->kind == STATEMENT_EXPR && begins_with_sign(ast, at->value);
            if (sign)
                print_at(out, ast, at->value, LEVEL_PARENTHESES);
            else
                ast_print_statement(out, ast, at);
        }
    }
    if (ast->statements.count) text_add(out, "\n");
}

/* --- Listing */

static void dump_node(Text *out, const Ast *ast, Node index) {
    const AstNode *node = &ast->nodes.data[index];
    text_printf(out, "  %%%u ", index);
    switch (node->kind) {
    case AST_NONE: break;
    case AST_NUMBER:
        text_add(out, "number ");
        number_print(out, node->number);
        break;
    case AST_NAME: text_printf(out, "name %s", node->name); break;
    case AST_CALL:
        text_printf(out, "call %s", node->name);
        for (uint32_t i = 0; i < node->count; i++) {
            const AstArg *argument = &ast->args.data[node->first + i];
            text_printf(out, " %s%s%%%u", argument->name ? argument->name : "",
                        argument->name ? "=" : "", argument->value);
        }
        break;
    case AST_UNARY: text_printf(out, "unary %s %%%u", ast_op_name(node->op), node->a); break;
    case AST_BINARY:
        text_printf(out, "binary %s %%%u %%%u", ast_op_name(node->op), node->a, node->b);
        break;
    case AST_SELECT: text_printf(out, "select %%%u %%%u %%%u", node->a, node->b, node->c); break;
    case AST_TRANSPOSE: text_printf(out, "transpose %%%u", node->a); break;
    }
    text_add(out, "\n");
}

static void dump_head(Text *out, const Ast *ast, const Statement *statement) {
    static const char *const kinds[] = {"bind", "define", "param", "derivative", "return", "expr"};
    text_printf(out, "%s%s%s", kinds[statement->kind], statement->name ? " " : "",
                statement->name ? statement->name : "");
    for (uint32_t i = 0; i < statement->parameter_count; i++) {
        const AstParameter *parameter = &ast->parameters.data[statement->parameter_first + i];
        text_printf(out, " %s", parameter->name);
        if (parameter->value) text_printf(out, "=%%%u", parameter->value);
    }
    if (statement->wrt) text_printf(out, " wrt %s", statement->wrt);
    if (statement->comment) text_printf(out, "  # %s", statement->comment);
    text_add(out, "\n");
}

void ast_dump(Text *out, const Ast *ast) {
    Node node = 1;
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        const Statement *statement = &ast->statements.data[i];
        dump_head(out, ast, statement);
        for (; node <= statement->value; node++) dump_node(out, ast, node);
    }
    for (; node < ast->nodes.count; node++) dump_node(out, ast, node); /* of a directive */
}
