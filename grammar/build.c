/* In: what the grammar has recognised. Out: nodes and statements at the end of the Ast. The one
 * idea: operands are built before what uses them, so appending alone gives postorder. */
#include <math.h>
#include <string.h>

#include "grammar/grammar.h"
#include "grammar/parser.h"

static const AstOp binary_ops[] = {
    [TOKEN_PLUS] = OP_ADD,      [TOKEN_MINUS] = OP_SUB,      [TOKEN_STAR] = OP_MUL,
    [TOKEN_SLASH] = OP_DIV,     [TOKEN_FLOOR] = OP_FLOORDIV, [TOKEN_PERCENT] = OP_MOD,
    [TOKEN_POWER] = OP_POW,     [TOKEN_AT] = OP_MATMUL,      [TOKEN_LESS] = OP_LT,
    [TOKEN_LESS_EQUAL] = OP_LE, [TOKEN_GREATER] = OP_GT,     [TOKEN_GREATER_EQUAL] = OP_GE,
    [TOKEN_EQUAL] = OP_EQ,      [TOKEN_UNEQUAL] = OP_NE,     [TOKEN_AND] = OP_AND,
    [TOKEN_OR] = OP_OR,
};
static const AstOp unary_ops[] = {
    [TOKEN_MINUS] = OP_NEG, [TOKEN_PLUS] = OP_PLUS, [TOKEN_NOT] = OP_NOT};

/* --- Expressions */

static Expr add(Parser *parser, AstNode node) {
    Ast *ast = parser->ast;
    if (ast->nodes.count > PARSE_NODES)
        parser_fail(parser, node.mark, NULL, "more than %d names, numbers and operators",
                    PARSE_NODES);
    array_push(ast->arena, &ast->nodes, node);
    return (Expr){ast->nodes.count - 1, node.span};
}

Expr build_number(Parser *parser, Token number) {
    return add(parser, (AstNode){.kind = AST_NUMBER,
                                 .span = number.span,
                                 .mark = number.span,
                                 .number = number.number});
}

Expr build_name(Parser *parser, Token name) {
    return add(
        parser,
        (AstNode){.kind = AST_NAME, .span = name.span, .mark = name.span, .name = name.name});
}

Expr build_group(Parser *parser, Token open, Expr inside, Token close) {
    (void)parser;
    return (Expr){inside.node, span_join(open.span, close.span)};
}

Expr build_unary(Parser *parser, Token op, Expr a) {
    return add(parser, (AstNode){.kind = AST_UNARY,
                                 .op = unary_ops[op.code],
                                 .span = span_join(op.span, a.span),
                                 .mark = op.span,
                                 .a = a.node});
}

Expr build_binary(Parser *parser, Expr a, Token op, Expr b) {
    return add(parser, (AstNode){.kind = AST_BINARY,
                                 .op = binary_ops[op.code],
                                 .span = span_join(a.span, b.span),
                                 .mark = op.span,
                                 .a = a.node,
                                 .b = b.node});
}

Expr build_select(Parser *parser, Expr a, Token mark, Expr b, Expr c) {
    return add(parser, (AstNode){.kind = AST_SELECT,
                                 .span = span_join(a.span, c.span),
                                 .mark = mark.span,
                                 .a = a.node,
                                 .b = b.node,
                                 .c = c.node});
}

Expr build_transpose(Parser *parser, Expr a, Token name) {
    if (strcmp(name.name, "T"))
        parser_fail(parser, name.span, "only .T, which swaps the last two axes",
                    "arrays have no member '%s'", name.name);
    return add(parser, (AstNode){.kind = AST_TRANSPOSE,
                                 .span = span_join(a.span, name.span),
                                 .mark = name.span,
                                 .a = a.node});
}

void build_argument(Parser *parser, const Token *name, Expr value) {
    AstArg argument = {NULL, value.span, value.node};
    if (name) argument = (AstArg){name->name, name->span, value.node};
    array_push(parser->ast->arena, &parser->arguments, argument);
}

/* The last `count` open arguments are this call's: those of calls inside it have left already. */
Expr build_call(Parser *parser, Token name, uint32_t count, Token close) {
    Ast *ast = parser->ast;
    uint32_t first = ast->args.count;
    bool named = false;
    parser->arguments.count -= count;
    for (uint32_t i = 0; i < count; i++) {
        AstArg argument = parser->arguments.data[parser->arguments.count + i];
        if (named && !argument.name)
            parser_fail(parser, argument.mark, NULL,
                        "a positional argument stands behind a named one");
        named = argument.name;
        array_push(ast->arena, &ast->args, argument);
    }
    return add(parser, (AstNode){.kind = AST_CALL,
                                 .span = span_join(name.span, close.span),
                                 .mark = name.span,
                                 .name = name.name,
                                 .first = first,
                                 .count = count});
}

/* --- Statements */

/* What may not go on has to be last. */
static void check_order(Parser *parser, const Statement *next) {
    const Ast *ast = parser->ast;
    if (parser->definitions && next->kind != STATEMENT_DEFINE && next->kind != STATEMENT_DERIVATIVE)
        parser_fail(parser, next->span, "a definition is 'name(x) = expression'",
                    "only definitions may stand here");
    if (!ast->statements.count) return;
    const Statement *last = &ast->statements.data[ast->statements.count - 1];
    if (last->kind == STATEMENT_EXPR)
        parser_fail(parser, last->span, "name it: 'y = ...'",
                    "an expression without a name must be the last statement");
    if (last->kind == STATEMENT_RETURN)
        parser_fail(parser, next->span, NULL, "nothing may follow 'return'");
}

/* The line's comment, without the blanks around it. */
static const char *comment(Parser *parser) {
    Ast *ast = parser->ast;
    Span span = parser->lexer.comment;
    const char *text = ast->source->text;
    while (span.begin < span.end && strchr(" \t\r", text[span.begin])) span.begin++;
    while (span.begin < span.end && strchr(" \t\r", text[span.end - 1])) span.end--;
    if (span.begin == span.end) return NULL;
    return arena_copy(ast->arena, text + span.begin, span.end - span.begin);
}

static void add_statement(Parser *parser, Statement statement) {
    Ast *ast = parser->ast;
    if (ast->statements.count == PARSE_STATEMENTS)
        parser_fail(parser, statement.mark, NULL, "more than %d statements", PARSE_STATEMENTS);
    statement.first = parser->first;
    statement.comment = comment(parser);
    array_push(ast->arena, &ast->statements, statement);
    parser->first = ast->nodes.count;
}

void build_bind(Parser *parser, Token begin, Token name, Expr value) {
    StatementKind kind = begin.code == TOKEN_PARAM ? STATEMENT_PARAM : STATEMENT_BIND;
    Statement statement = {.kind = kind,
                           .name = name.name,
                           .mark = name.span,
                           .value = value.node,
                           .span = span_join(begin.span, value.span)};
    check_order(parser, &statement);
    add_statement(parser, statement);
}

void build_parameter(Parser *parser, Token name, const Expr *value) {
    Ast *ast = parser->ast;
    AstParameter parameter = {name.name, name.span, value ? value->node : 0};
    array_push(ast->arena, &ast->parameters, parameter);
    parser->first = ast->nodes.count;
}

/* The parameters [first, first + count) are all there are of the definition. */
static void check_parameters(Parser *parser, uint32_t first, uint32_t count) {
    const AstParameter *parameters = parser->ast->parameters.data;
    if (count > PARSE_PARAMETERS) {
        parser_fail(parser, parameters[first + PARSE_PARAMETERS].mark, NULL,
                    "more than %d parameters", PARSE_PARAMETERS);
        return;
    }
    for (uint32_t i = first; i < first + count; i++)
        for (uint32_t j = first; j < i; j++)
            if (!strcmp(parameters[i].name, parameters[j].name))
                parser_fail(parser, parameters[i].mark, NULL, "two parameters are called '%s'",
                            parameters[i].name);
}

void build_definition(Parser *parser, Token begin, Token name, uint32_t count, Expr value) {
    Ast *ast = parser->ast;
    Statement statement = {.kind = STATEMENT_DEFINE,
                           .name = name.name,
                           .mark = name.span,
                           .value = value.node,
                           .span = span_join(begin.span, value.span),
                           .parameter_first = ast->parameters.count - count,
                           .parameter_count = count};
    check_parameters(parser, statement.parameter_first, count);
    check_order(parser, &statement);
    add_statement(parser, statement);
}

/* Its parameters are those of the function, which knows their defaults. */
static void check_derivative(Parser *parser, const Statement *statement, const Token *word) {
    const AstParameter *parameters = parser->ast->parameters.data + statement->parameter_first;
    if (!parser->definitions)
        parser_fail(parser, statement->span, "put it into a file: --ops FILE",
                    "a derivative stands in a file of functions");
    if (word && strcmp(word->name, "wrt") != 0)
        parser_fail(parser, word->span, "derivative f(x, a) wrt a = ...",
                    "'wrt' names the parameter");
    for (uint32_t i = 0; i < statement->parameter_count; i++)
        if (parameters[i].value)
            parser_fail(parser, parameters[i].mark, NULL,
                        "a derivative's parameters have no defaults");
}

void build_derivative(Parser *parser, Token begin, Token name, uint32_t count, const Token *word,
                      const Token *by, Expr value) {
    Ast *ast = parser->ast;
    Statement statement = {.kind = STATEMENT_DERIVATIVE,
                           .name = name.name,
                           .mark = name.span,
                           .value = value.node,
                           .span = span_join(begin.span, value.span),
                           .parameter_first = ast->parameters.count - count,
                           .parameter_count = count};
    if (by) statement.wrt = by->name;
    if (by) statement.wrt_mark = by->span;
    check_parameters(parser, statement.parameter_first, count);
    check_derivative(parser, &statement, word);
    check_order(parser, &statement);
    add_statement(parser, statement);
}

void build_return(Parser *parser, const Token *begin, Expr value) {
    Statement statement = {.kind = STATEMENT_RETURN,
                           .mark = value.span,
                           .value = value.node,
                           .span = begin ? span_join(begin->span, value.span) : value.span};
    if (begin) check_order(parser, &statement);
    add_statement(parser, statement);
}

void build_expression(Parser *parser, Expr value) {
    Statement statement = {.kind = STATEMENT_EXPR,
                           .name = "out",
                           .span = value.span,
                           .mark = value.span,
                           .value = value.node};
    check_order(parser, &statement);
    add_statement(parser, statement);
}

/* --- Directives */

void build_directive_name(Parser *parser, Token name) {
    parser->ast->directive->name = name.name;
    parser->ast->directive->mark = name.span;
}

void build_directive_word(Parser *parser, Token word) {
    Ast *ast = parser->ast;
    uint32_t length = word.span.end - word.span.begin;
    const char *text = arena_copy(ast->arena, ast->source->text + word.span.begin, length);
    array_push(ast->arena, &ast->directive->words, text);
}

void build_directive_type(Parser *parser, Token word) {
    array_push(parser->ast->arena, &parser->ast->directive->types, word.name);
}

void build_directive_value(Parser *parser, Token number, bool negative) {
    double value = number.number;
    if (!(value <= 0x1p53) || floor(value) < value) {
        parser_fail(parser, number.span, NULL, "a knob's values are whole numbers up to 2**53");
        return;
    }
    array_push(parser->ast->arena, &parser->ast->directive->values,
               negative ? -(int64_t)value : (int64_t)value);
}

void build_directive_expression(Parser *parser, Expr value) {
    parser->ast->directive->value = value.node;
    parser->ast->directive->mark = value.span;
}

void build_directive_field(Parser *parser, Token name) {
    DirectiveField field = {.name = name.name, .mark = name.span};
    array_push(parser->ast->arena, &parser->ast->directive->fields, field);
}

void build_directive_field_value(Parser *parser, Expr value) {
    Directive *directive = parser->ast->directive;
    DirectiveField *field = &directive->fields.data[directive->fields.count - 1];
    if (field->count == 3)
        parser_fail(parser, value.span, NULL, "'%s' takes at most three values", field->name);
    else
        field->value[field->count++] = value.node;
}
