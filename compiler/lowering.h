/* What the parts of lower share: lower.c (statements and names), lower_expression.c (nodes of an
 * expression), lower_call.c (calls), lower_shape.c (of functions of
 * shapes), lower_output.c (outputs and updates in place).
 * A Value of 0 is one that has failed; what it enters fails without a further message. */
#ifndef KF_LOWERING_H
#define KF_LOWERING_H

#include "compiler/lower.h"
#include "compiler/memo.h"

enum { INPUT_MAX = 256, OUTPUT_MAX = 64 };

typedef enum SymbolKind { SYMBOL_INPUT, SYMBOL_BINDING, SYMBOL_PARAM } SymbolKind;

/* What a value name of the program stands for. */
typedef struct Symbol {
    const char *name;
    SymbolKind kind;
    Span mark;          /* where it is bound, or first read */
    uint32_t statement; /* that binds it */
    bool updates;       /* a binding that reads its own name: the input before it */
    bool bound;         /* `value` holds from now on */
    bool read;          /* by a statement after the one that binds it */
    bool seen;          /* the input has been read; it is `before` */
    Value value, before;
} Symbol;

typedef struct Lower {
    Arena *scratch;
    const Ast *ast;
    const Registry *registry;
    const LowerOptions *options;
    Diags *diags;
    Ir *ir;
    ARRAY(Symbol) symbols; /* [0] is none */
    Table names;
    Memo expanded;                  /* functions, and AstParameters for their defaults */
    Value *results;                 /* by statement */
    uint32_t statement;             /* the one at hand */
    uint32_t steps;                 /* nodes of functions' bodies so far */
    uint32_t errors;                /* before this program's own */
    bool broken;                    /* the program's definitions have errors */
    bool many_inputs, many_outputs; /* said once */
} Lower;

/* Where an expression stands. */
typedef struct Scope {
    const Ast *ast;
    const Function *function; /* whose body or default it is; NULL: a statement's */
    const Value *args;        /* the function's, by parameter */
    Span site;                /* the call of the function in the program's text */
    bool constant;            /* of a param or default: may read no name */
} Scope;

/* An expression being lowered: values[node - first] for the nodes done. */
typedef struct Expression {
    Lower *lower;
    const Scope *scope;
    Node first;
    Value *values;
} Expression;

static inline Value expression_value(const Expression *e, Node node) {
    return e->values[node - e->first];
}

/* lower.c */
Symbol *lower_symbol(const Lower *lower, const char *name); /* NULL: nobody has named it */
Value lower_name(Expression *e, const AstNode *node);
const char *lower_shape(const Lower *lower, Value value); /* "4096x4096" */

/* lower_expression.c */
Value lower_expression(Lower *lower, const Scope *scope, Node node);
Value lower_apply(Expression *e, Primitive primitive, const Value *args, uint32_t count,
                  const AstNode *node);
/* `value`, or 0 with a message where its bytes overflow. */
Value lower_checked(Expression *e, Value value, const AstNode *node);
/* `value` as a number of integer type `type` fits; says so if not. */
bool lower_fits(Lower *lower, const Scope *scope, DType type, Value value, Span mark);
/* An error at `mark` of the scope's text: in the registry's, at the call in the program that led
 * there. */
void lower_error(Lower *lower, const Scope *scope, Span mark, const char *hint, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
Span lower_place(const Lower *lower, const Scope *scope, Span span);

/* lower_call.c */
Value lower_call(Expression *e, Node node);
/* The axes that the call of a reduction or of count names of its array `a`; false after an error. */
bool lower_axes(Expression *e, Node call, Value a, AxisRange *axes);
/* Marks the nodes that are words behind `axis=`, not values. */
enum { AXIS_WORD = INT32_MAX };
void lower_axis_words(Expression *e, Node last);

/* lower_shape.c */
Value lower_shape_call(Expression *e, Node call, ShapeFunction function);

/* lower_output.c */
void lower_outputs(Lower *lower);
/* Says where a program reads an input that it updates in place in another order than it writes. */
void lower_updates(Lower *lower);

#endif
