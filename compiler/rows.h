/* Rows: in which order a kernel of reductions computes its plan's values. A pass goes over the
 * elements that a result is made of; a reduction is complete behind its pass. What is one value a
 * row is computed once, between passes.
 *
 *     softmax:  pass 0   m = max(x)                     pass 1   s = sum(exp(x - m))
 *               pass 2   store exp(x - m) / s */
#ifndef KF_ROWS_H
#define KF_ROWS_H

#include "compiler/plan.h"

typedef struct Rows {
    uint32_t passes;      /* over the elements, one that stores outputs of full shape included */
    bool stores;          /* the last pass is that one; it reduces nothing */
    bool split;           /* a variance takes two passes, of which `pass` is the second */
    const uint32_t *pass; /* by Value: the first pass, or what comes before it where the value is
                             uniform, that can compute it; a reduction: the pass that it runs in */
    const bool *uniform;  /* by Value: one value a row; a reduction's result is */
} Rows;

typedef struct Values {
    const Value *at;
    uint32_t count;
} Values;

/* `plan` has reductions. */
const Rows *rows_find(Arena *arena, const Plan *plan);
/* The same, each variance split: a pass sums up for the mean, the next one goes over the distances
 * from it, along with whatever else there is at its depth. */
const Rows *rows_split(Arena *arena, const Plan *plan);
/* Of the body, the reductions of a pass. */
Values rows_reductions(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass);
/* What a pass needs of each element, in order: loads and values of the body that are not uniform,
 * for its reductions, or for the stores of full shape. An earlier pass may have computed some. */
Values rows_elements(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass);
/* Likewise, with values that are there (by Value) among them, but not what these are made of. */
Values rows_elements_from(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass,
                          const bool *there);
/* Of the body, what is uniform and no reduction, and computed right before a pass, in order; with
 * `pass` = passes, behind the last. */
Values rows_uniform(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass);

#endif
