/* Checks what every stage ensures of an Ir: operands before uses, types and shapes as the builders
 * give them, outputs set, no node of an unknown op. A failure is our bug. */
#ifndef KF_VERIFY_H
#define KF_VERIFY_H

#include "compiler/ir.h"

/* NULL if all is well, else what is wrong (in `arena`). */
const char *verify(const Ir *ir, Arena *arena);

#endif
