/* Ast + shapes and types -> Ir. Functions are inlined (a registry call stays visible as IR_CALL),
 * names bound, shapes and types inferred; every semantic error is collected: unknown functions
 * (nearest known named), arity, double binding, shapes that do not broadcast (both shown), types
 * that do not fit.
 *
 * Where language.md leaves it open:
 * - A number that meets nothing typed takes the plain type where that holds it, else f32. Two
 *   numbers that a condition chooses between take the type that the condition compares.
 * - A whole number that does not fit the integer type it meets is an error in a program; in the
 *   registry's formulas, which are written for real numbers, it makes the operation f32. There,
 *   integers whose result is floating are floats from the start: sigmoid of a u8 negates in f32.
 * - x ** k multiplies for whole |k| <= 16, and for integers for any whole k >= 0.
 * - A binding that reads its own name updates that input whether or not it is returned; what reads
 *   the input before it has the old value. It is refused where anything reads other elements than
 *   the one being written (broadcast, transposed, reduced), for blocks run in any order.
 * - A returned expression without a name is "out", or "out2" as the second of several.
 * - --round-each-op rounds operators and calls as the program writes them: not inside the
 *   registry's functions, but inside the program's own. */
#ifndef KF_LOWER_H
#define KF_LOWER_H

#include "compiler/ir.h"

/* What the caller says about one input; inputs not listed take the plain shape and type. */
typedef struct InputSpec {
    const char *name;
    bool has_shape, has_dtype, has_strides;
    Type type;
    int64_t strides[RANK_MAX];
} InputSpec;

typedef struct ParamSpec {
    const char *name;
    double value;
} ParamSpec;

typedef struct LowerOptions {
    bool has_shape;
    Type plain; /* shape of every input without its own, and its dtype (default DT_F32) */
    const InputSpec *inputs;
    uint32_t input_count;
    const ParamSpec *params;
    uint32_t param_count;
    bool has_out_dtype;
    DType out_dtype;
    bool round_each_op; /* an IR_CAST after every operation, as an eager framework rounds */
} LowerOptions;

/* NULL after errors in `diags`. `registry` is scoped here for the program's own functions. */
Ir *lower(Arena *arena, const Ast *ast, const Registry *registry, const LowerOptions *options,
          Diags *diags);

#endif
