/* Ir -> groups: which values one kernel computes. A group is elementwise when none of its values is
 * a reduction, product or transpose of a computed value; interior values used elsewhere are
 * recomputed. */
#ifndef KF_FUSE_H
#define KF_FUSE_H

#include "compiler/ir.h"

typedef enum GroupKind { GROUP_ELEMENTWISE, GROUP_REDUCTION, GROUP_PRODUCT } GroupKind;

typedef struct Group {
    GroupKind kind;
    ARRAY(uint32_t) outputs; /* indices into Ir.outputs */
    Value culprit;           /* not elementwise: the reduction or product, for the message */
} Group;

typedef struct Groups {
    ARRAY(Group) list;
} Groups;

/* Elementwise outputs of one iteration shape share a group; others get their own. The Ir
 * has no IR_CALL left (simplify with inline_calls). Outputs that update inputs in place stay
 * together with every reader of those inputs, or the program is refused by lower. */
Groups fuse(Arena *arena, const Ir *ir);

/* A group as a program of its own: all inputs under their numbers, the group's outputs alone, in
 * its order. */
Ir *fuse_part(Arena *arena, const Ir *ir, const Group *group);

#endif
