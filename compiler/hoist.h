/* Hoist: which of a plan's values need not be computed once an element, because they depend only on
 * arrays that hold still while a walk goes on (a row's vector while it walks down, one value for
 * all). Emitters compute these before, by the same expressions, so that no bit changes; the rest
 * reads them. Only what costs is hoisted: a value that is kept takes a register a column. */
#ifndef KF_HOIST_H
#define KF_HOIST_H

#include "compiler/plan.h"

/* A piece of a plan's body, with the loads it reads, in their order. */
typedef struct Piece {
    ARRAY(uint32_t) loads; /* index into Plan.loads */
    ARRAY(Value) body;
} Piece;

typedef struct Hoist {
    ARRAY(Value) values; /* computed by `before`, read by `after`; none: nothing is worth it */
    Piece before, after; /* together the body; what both need and is cheap, in both */
} Hoist;

enum { HOIST_MOST = 4 }; /* values: 16 registers of vectors of four */

/* still[i]: Plan.loads[i] does, and so do literals and scalars. NULL: nothing does, all is behind. */
Hoist hoist(Arena *arena, const Plan *plan, const bool *still);

#endif
