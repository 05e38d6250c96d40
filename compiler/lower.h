/* Ast + shapes and types -> Ir. Functions are inlined (a registry call stays visible as IR_CALL),
 * names bound, shapes and types inferred; every semantic error is collected: unknown functions
 * (nearest known named), arity, double binding, shapes that do not broadcast (both shown), types
 * that do not fit. */
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
