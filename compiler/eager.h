/* The eager chain: what a framework without fusion runs. One kernel per operator and per registry
 * call as written, temporaries in separate buffers in their own storage type; each step goes through
 * the same plan and emit as the fused kernel: an honest baseline. */
#ifndef KF_EAGER_H
#define KF_EAGER_H

#include "compiler/chain.h"
#include "compiler/lower.h"

/* NULL where there is no chain to compare with: a program without tensors, outputs in a layout of
 * the caller's. `ir` is what lower gave for the same ast and options. Program-layer functions are
 * expanded as written. Each step has one output. */
Chain *eager(Arena *arena, const Ast *ast, const Registry *registry, const LowerOptions *options,
             const Ir *ir, Diags *diags);

#endif
