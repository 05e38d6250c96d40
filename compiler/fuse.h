/* Ir -> chains of kernels: how the program may be cut. Which is the fastest is measured. */
#ifndef KF_FUSE_H
#define KF_FUSE_H

#include "compiler/chain.h"

enum { FUSE_MOST = 4096 }; /* values that kernels leave, outputs among them */

/* Why there is no chain: the value in `ir` that no kernel computes. */
typedef struct Uncovered {
    const Ir
        *ir; /* a part of the program, or all of it; NULL: it is of more than FUSE_MOST kernels, or
                     kernels that update in place wait for one another */
    Value culprit;
} Uncovered;

/* Different ways to compute `ir` (simplified, calls inlined), the one of the fewest kernels first,
 * each step with the kernels that cover it; none where no kernel covers something. What elementwise
 * values two kernels share is computed in both; what a step updates in place, steps before it have
 * read. Outputs without elements are nobody's. */
Chains fuse(Arena *arena, const Library *library, const Ir *ir, Uncovered *uncovered);

#endif
