/* Ast -> the text of its backward program, by reverse mode, symbolic: cotangents of the outputs in,
 * cotangents of inputs out, in the kfuse language, without shapes; and what its names stand for.
 *
 * - The cotangent of an output `y` is an input `dy`, the result for an input `x` is `dx`; a number is
 *   added where a name is taken ("dy2").
 * - A function is derived by what a file states of it (registry.h: Derivative), else through its body.
 * - At kinks the result is PyTorch's: relu'(0) = abs'(0) = 0; a reduced max or min gives to all elements
 *   that equal it, in equal parts. Comparisons, integers and what rounds to whole numbers give nothing.
 * - Operands of a product are matrices: a vector has no transpose.
 * - What is updated in place is refused, since its old value is gone when the backward program runs. */
#ifndef KF_GRAD_H
#define KF_GRAD_H

#include "grammar/ast.h"
#include "registry/registry.h"

typedef struct GradType {
    const char *name; /* NULL: of every input without its own */
    DType dtype;
} GradType;

typedef struct GradOptions {
    const char *const *wrt; /* inputs to derive by, in the order of the results */
    uint32_t wrt_count;     /* 0: every floating input that an output depends on smoothly */
    const GradType *types;  /* of inputs that are no f32 */
    uint32_t type_count;
} GradOptions;

typedef struct GradName {
    const char *of, *name; /* the output or input; its cotangent */
} GradName;

typedef struct Grad {
    const char *text; /* canonical */
    ARRAY(GradName) cotangents, results;
} Grad;

/* In `arena`; NULL after errors in `diags`. */
Grad *grad(Arena *arena, const Ast *ast, const Registry *registry, const GradOptions *options,
           Diags *diags);

#endif
