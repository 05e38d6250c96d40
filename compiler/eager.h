/* The eager chain: what a framework without fusion runs. One kernel per operator and per registry
 * call as written, temporaries in separate buffers in their own storage type; each step is an Ir of
 * its own that goes through the same plan and emit as the fused kernel: an honest baseline. */
#ifndef KF_EAGER_H
#define KF_EAGER_H

#include "compiler/lower.h"

typedef enum EagerPlace { EAGER_INPUT, EAGER_OUTPUT, EAGER_TEMPORARY } EagerPlace;

typedef struct EagerRef {
    EagerPlace place;
    uint32_t index; /* Ir.inputs / Ir.outputs of the whole program, or a temporary */
} EagerRef;

typedef struct EagerStep {
    const char *label; /* "add", "relu" */
    const Ir *ir;      /* one output; inputs in the order of `operands` */
    ARRAY(EagerRef) operands;
    EagerRef result;
    int64_t bytes; /* moved */
} EagerStep;

typedef struct Eager {
    ARRAY(EagerStep) steps;
    ARRAY(Type) temporaries;
    int64_t bytes; /* moved by all steps */
} Eager;

/* NULL where there is no chain to compare with: a program without tensors, outputs in a layout of
 * the caller's. `ir` is what lower gave for the same ast and options. Program-layer functions are
 * expanded as written. */
Eager *eager(Arena *arena, const Ast *ast, const Registry *registry, const LowerOptions *options,
             const Ir *ir, Diags *diags);

#endif
