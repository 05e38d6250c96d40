/* Derivative: whose a `derivative` line is. Private to registry/. */
#ifndef KF_DERIVATIVE_H
#define KF_DERIVATIVE_H

#include "registry/registry.h"

/* The line as a Derivative whose rule's layer and rank are the caller's to set; its body is not
 * checked. NULL after an error: no such function, other parameters than it has, none or an unknown one
 * to derive by. */
Derivative *derivative_read(Arena *arena, const Registry *registry, const Ast *ast,
                            const Statement *statement, Diags *diags);
/* "'silu' by 'x'", for messages; in the arena. */
const char *derivative_name(Arena *arena, const Derivative *derivative);

#endif
