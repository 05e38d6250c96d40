/* Tape: a program as terms, each after its operands, equal ones once: what is derived, and what
 * deriving adds. Unlike an Ir it knows neither types nor sizes, and keeps calls and `**` as a person
 * writes them. The builders fold numbers and leave out what changes no value (x * 1, true ? x : y), as
 * long as the shape stays. */
#ifndef KF_TAPE_H
#define KF_TAPE_H

#include "compiler/shapes.h"
#include "registry/registry.h"

typedef uint32_t Term; /* index into Tape.terms; 0 is none */

typedef enum TermOp {
    TERM_NONE,
    TERM_NUMBER,
    TERM_INPUT,
    TERM_PARAM,  /* its operand is its default */
    TERM_CAST,   /* dtype */
    TERM_FROZEN, /* its operand, through which nothing is derived */
    TERM_TRANSPOSE,
    TERM_MATMUL,
    TERM_POWER,        /* a ** b */
    TERM_SUM_TO,       /* a, in the shape of b */
    TERM_BROADCAST_TO, /* likewise */
    TERM_COUNT,        /* of a along axis */
    TERM_CALL,         /* of a function; operands in Tape.list, as many as it has parameters */
    TERM_REDUCE,       /* TERM_REDUCE + Reduction, along axis */
    TERM_PRIMITIVE = TERM_REDUCE + REDUCTION_COUNT, /* TERM_PRIMITIVE + Primitive */
} TermOp;

typedef struct TermNode {
    uint16_t op;
    uint16_t count; /* operands */
    Term arg[3];    /* TERM_CALL: `list` */
    union {
        double number;
        const char *name;
        DType dtype;
        int32_t axis; /* as written; AXIS_EVERY */
        const Function *function;
    };
    uint32_t list;     /* TERM_CALL: operands from Tape.list[list] on */
    Term body;         /* TERM_CALL: what it stands for */
    Shape shape;       /* below here nothing tells terms apart */
    bool active;       /* what is derived by may change it smoothly */
    const char *label; /* what a person called it, or would; NULL: nothing */
} TermNode;

typedef struct Tape {
    Arena *arena;
    const Registry *registry;
    ARRAY(TermNode) terms; /* [0] is TERM_NONE */
    ARRAY(Term) list;
    Table table;
    Shapes shapes;
} Tape;

void tape_open(Tape *tape, Arena *arena, const Registry *registry);

static inline const TermNode *tape_node(const Tape *tape, Term term) {
    return &tape->terms.data[term];
}
static inline Term tape_arg(const Tape *tape, Term term, uint32_t i) {
    const TermNode *node = tape_node(tape, term);
    return node->op == TERM_CALL ? tape->list.data[node->list + i] : node->arg[i];
}
static inline Shape tape_shape(const Tape *tape, Term term) {
    return tape_node(tape, term)->shape;
}
static inline bool tape_is(const Tape *tape, Term term, Primitive primitive) {
    return tape_node(tape, term)->op == TERM_PRIMITIVE + (uint32_t)primitive;
}
static inline bool tape_is_number(const Tape *tape, Term term, double number) {
    const TermNode *node = tape_node(tape, term);
    return node->op == TERM_NUMBER && node->number == number;
}

/* The term equal to `node`, added if new; shape and activity are found here. */
Term tape_term(Tape *tape, TermNode node);

Term tape_number(Tape *tape, double number);
Term tape_input(Tape *tape, const char *name, bool active);
Term tape_param(Tape *tape, const char *name, Term value);
Term tape_unary(Tape *tape, TermOp op, Term a);
Term tape_binary(Tape *tape, TermOp op, Term a, Term b);
Term tape_cast(Tape *tape, DType dtype, Term a);
/* A reduction (TERM_REDUCE + …) or TERM_COUNT. */
Term tape_along(Tape *tape, uint32_t op, Term a, int32_t axis);
Term tape_apply(Tape *tape, Primitive primitive, const Term *args, uint32_t count);
/* `body` is what the call stands for; a number where that is one. */
Term tape_call(Tape *tape, const Function *function, const Term *args, Term body);

/* A term of that shape, as simple as can be: inputs' names, joined by +; of a number's, 0. */
Term tape_like(Tape *tape, Shape shape);

#endif
