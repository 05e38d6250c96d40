/* What the parts of grad share: grad_read.c (Ast to terms), grad.c (backward), grad_algebra.c (terms of
 * cotangents), grad_write.c (terms to text).
 * A Term of 0 is one that has failed; what it enters fails without a further message. */
#ifndef KF_GRAD_PROGRAM_H
#define KF_GRAD_PROGRAM_H

#include "compiler/grad.h"
#include "compiler/memo.h"
#include "compiler/tape.h"

typedef enum GradSymbolKind { GRAD_INPUT, GRAD_BINDING, GRAD_PARAM } GradSymbolKind;

typedef struct GradSymbol {
    const char *name;
    GradSymbolKind kind;
    Span mark; /* where it is bound, or first read */
    uint32_t statement;
    bool bound, read;
    Term term;
} GradSymbol;

typedef struct GradOutput {
    const char *name, *cotangent; /* NULL: nothing depends on it */
    Term term;
} GradOutput;

typedef struct GradResult {
    const char *input, *name;
    Term term; /* 0: no output depends on it */
} GradResult;

typedef struct GradProgram {
    Arena *arena; /* scratch */
    const Ast *ast;
    const Registry *scope; /* with the program's own functions */
    const GradOptions *options;
    Diags *diags;
    Tape tape;
    ARRAY(GradSymbol) symbols; /* [0] is none */
    Table names;
    Memo expanded;
    ARRAY(GradOutput) outputs;
    ARRAY(GradResult) results;
    Table taken; /* names that are given, by index in `given` */
    ARRAY(const char *) given;
    uint32_t temporaries; /* t1, t2 … */
    uint32_t statement;   /* the one at hand */
    uint32_t steps;       /* nodes of functions' bodies so far */
    bool deriving;        /* nothing is derived of what is read now */
} GradProgram;

/* grad_read.c: statements to terms, outputs found. False after errors. */
bool grad_read(GradProgram *program);
GradSymbol *grad_symbol(const GradProgram *program, const char *name);
bool grad_is_float(const GradProgram *program, const char *input);
/* The body of a function with arguments in place of its parameters; 0 after an error. `args` are
 * kept. */
Term grad_expand(GradProgram *program, const Function *function, const Term *args);

/* grad_algebra.c: terms of cotangents, which are linear in what they come from. 0 stays 0: a zero is no
 * cotangent, whatever it would be multiplied with. */
Term grad_times(Tape *tape, Term cotangent, Term factor);
Term grad_over(Tape *tape, Term cotangent, Term divisor);
Term grad_minus(Tape *tape, Term cotangent);
Term grad_plus(Tape *tape, Term a, Term b);
/* condition ? a : b, either of which may be 0. */
Term grad_choose(Tape *tape, Term condition, Term a, Term b);
/* The cotangent summed, or broadcast, to a shape exactly; 0 gives an array of zeros. */
Term grad_fit(Tape *tape, Term cotangent, Shape shape);
/* `op` is TERM_REDUCE + REDUCE_SUM or REDUCE_MEAN. */
Term grad_reduce(Tape *tape, uint32_t op, Term cotangent, int32_t axis);

/* grad_write.c: results to text, names chosen. False where a function of the user's hides one that the
 * text needs. */
bool grad_write(GradProgram *program, Arena *arena, Grad *grad);
/* `base` or the first of base2, base3 … that nothing is called. */
const char *grad_unique_name(GradProgram *program, const char *base);

#endif
