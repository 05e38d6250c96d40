/* Group: what one generated kernel may be, as read from a program's values. An Ir is
 *   elementwise   no value gathers others
 *   rows          all reductions run over the last axis: several passes over a row, outputs of full
 *                 shape and of one value a row
 *   a reduction   all reductions run over the same axes, whichever; one pass, outputs of one value
 *                 for each result
 * or nothing that one generated kernel computes. */
#ifndef KF_GROUP_H
#define KF_GROUP_H

#include "compiler/ir.h"

/* Reductions of a kernel that wait for one another: each takes a pass, which computes again what the
 * passes before did. Eight are four softmaxes of one another: 20 exps an element rather than 4, 45 KB
 * of C; sixteen are 72 rather than 8, 80 KB. */
enum { GROUP_LEVELS = 8 };

typedef enum GroupKind {
    GROUP_ELEMENTWISE,
    GROUP_ROWS,
    GROUP_REDUCTION,
    GROUP_NONE,
} GroupKind;

typedef struct Group {
    GroupKind kind;
    Type shape;     /* of the iteration; its dtype means nothing */
    AxisRange axes; /* reduced axes of that shape; empty if elementwise */
    bool one_pass;  /* rows that are a reduction as well: one pass, no output of full shape */
} Group;

/* The whole of `ir` (calls inlined, at least one output). */
Group group_find(const Ir *ir);

static inline bool ir_is_reduction(const IrNode *node) {
    return node->op >= IR_SUM && node->op <= IR_VAR;
}

#endif
