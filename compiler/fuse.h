/* Ir -> groups: which values one kernel computes. A group is elementwise when none of its values is
 * a reduction, product or transpose of a computed value; interior values used elsewhere are
 * recomputed. */
#ifndef KF_FUSE_H
#define KF_FUSE_H

#include "compiler/group.h"

typedef struct Outputs {
    ARRAY(uint32_t) outputs; /* indices into Ir.outputs */
} Outputs;

typedef struct Groups {
    ARRAY(Outputs) list;
} Groups;

/* Elementwise outputs of one iteration shape share a group; others get their own. The Ir
 * has no IR_CALL left (simplify with inline_calls). Outputs that update inputs in place stay
 * together with every reader of those inputs, or the program is refused by lower. */
Groups fuse(Arena *arena, const Ir *ir);

/* A group as a program of its own: all inputs under their numbers, the group's outputs alone, in
 * its order. */
Ir *fuse_part(Arena *arena, const Ir *ir, const Outputs *group);

#endif
