/* Ast: a parsed text. Nodes stand in one array in postorder (a node's operands come before it), and
 * the nodes of one statement are contiguous, so that every pass over an expression is a loop, never
 * a recursion: a sum of ten thousand terms is no deeper than any other. */
#ifndef KF_AST_H
#define KF_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/base/source.h"

typedef uint32_t Node; /* index into Ast.nodes; 0 is "none" */

typedef enum AstKind {
    AST_NONE,
    AST_NUMBER,    /* number; also the constants inf nan pi */
    AST_NAME,      /* name */
    AST_CALL,      /* name, arguments in Ast.args[first .. first+count) */
    AST_UNARY,     /* op: - + !   a */
    AST_BINARY,    /* op, a, b */
    AST_SELECT,    /* a ? b : c */
    AST_TRANSPOSE, /* a.T */
} AstKind;

typedef enum AstOp {
    OP_NONE,
    OP_NEG,
    OP_PLUS,
    OP_NOT,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_FLOORDIV,
    OP_MOD,
    OP_POW,
    OP_MATMUL,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND,
    OP_OR,
} AstOp;

typedef struct AstNode {
    AstKind kind;
    AstOp op;
    Span span; /* of the whole expression, without enclosing parentheses */
    Span mark; /* of the operator or the name: where a caret points */
    union {
        double number;
        struct {
            Node a, b, c;
        };
        struct {
            const char *name;
            uint32_t first, count;
        };
    };
} AstNode;

typedef struct AstArg {
    const char *name; /* NULL: positional */
    Span mark;        /* of the name, or of the value */
    Node value;
} AstArg;

typedef enum StatementKind {
    STATEMENT_BIND,       /* name = value */
    STATEMENT_DEFINE,     /* name(parameters) = value */
    STATEMENT_PARAM,      /* param name = value (constant expression) */
    STATEMENT_DERIVATIVE, /* derivative name(parameters) [wrt parameter] = value */
    STATEMENT_RETURN,     /* return value{, value}: one statement per value, in order */
    STATEMENT_EXPR,       /* a bare last expression: binds "out" */
} StatementKind;

typedef struct AstParameter {
    const char *name;
    Span mark;
    Node value; /* default, or 0 */
} AstParameter;

typedef struct Statement {
    StatementKind kind;
    const char *name; /* NULL for RETURN */
    Span span, mark;
    Node first, value;                         /* nodes [first, value] are this statement's */
    uint32_t parameter_first, parameter_count; /* in Ast.parameters; their defaults' nodes come
                                                    before `first` */
    const char *wrt;     /* DERIVATIVE: the parameter it is by, NULL where none is named */
    Span wrt_mark;       /* of that */
    const char *comment; /* text behind '#' on the line, or NULL */
} Statement;

/* A directive line of a template's header, without its "//!". */
typedef enum DirectiveKind {
    DIRECTIVE_KERNEL,    /* kernel NAME */
    DIRECTIVE_COMPUTES,  /* computes program (the statements of this Ast) */
    DIRECTIVE_INPUT,     /* input NAME[dims] : types */
    DIRECTIVE_OUTPUT,    /* output NAME[dims] : types | like NAME */
    DIRECTIVE_ARGS,      /* args NAME… */
    DIRECTIVE_KNOB,      /* knob NAME value… */
    DIRECTIVE_REQUIRE,   /* require expr */
    DIRECTIVE_PREFER,    /* prefer expr */
    DIRECTIVE_LAUNCH,    /* launch [ENTRY] NAME = expr{, expr} … */
    DIRECTIVE_WORKSPACE, /* workspace expr (bytes) */
} DirectiveKind;

/* What a directive says, by kind: `name` and `values`, an expression, or `fields` with up to three
 * expressions each (grid = a, b, c). Words of `args`, dims and types stand in `words`. */
typedef struct DirectiveField {
    const char *name;
    Span mark;
    Node value[3];
    uint32_t count;
} DirectiveField;

typedef struct Directive {
    DirectiveKind kind;
    const char *name;
    Span mark;
    Node value;                       /* require, prefer, workspace */
    ARRAY(int64_t) values;            /* knob */
    ARRAY(const char *) words, types; /* args; dims of input and output; their types */
    ARRAY(DirectiveField) fields;     /* launch */
} Directive;

typedef struct Ast {
    const Source *source;
    Arena *arena;
    ARRAY(AstNode) nodes; /* [0] is AST_NONE */
    ARRAY(AstArg) args;
    ARRAY(AstParameter) parameters;
    ARRAY(Statement) statements;
    Directive *directive; /* parse_directive only */
} Ast;

/* Canonical text: parse(print(parse(t))) is the same Ast but for spans, and print is a fixed point.
 * Fewest parentheses, one space around binary operators, numbers in their shortest exact form; a
 * statement a line. */
void ast_print(Text *out, const Ast *ast);
void ast_print_expression(Text *out, const Ast *ast, Node node);
void ast_print_statement(Text *out, const Ast *ast, const Statement *statement);
/* One node a line with its index, kind and operands: `kfuse dump --ast`. */
void ast_dump(Text *out, const Ast *ast);
/* The nodes [ast_first, node] are the expression `node` and nothing else. */
Node ast_first(const Ast *ast, Node node);
/* Same tree, names and numbers, whatever the spans. */
bool ast_equal(const Ast *a, const Ast *b);

/* "+", "//" …; the word a diagnostic uses. */
const char *ast_op_name(AstOp op);
/* "add", "floordiv" …: what a kernel of that operator is called; NULL for unary plus. */
const char *ast_op_word(AstOp op);
/* Shortest decimal text that reads back as exactly `value` ("inf", "-inf", "nan" among them). */
void number_print(Text *out, double value);

#endif
