/* Rows: in which order a kernel of reductions computes its plan's values. A pass goes over the
 * elements that a result is made of; a reduction is complete behind its pass. What is one value a
 * row is computed once, between passes.
 *
 *     softmax:  pass 0   m = max(x)                     pass 1   s = sum(exp(x - m))
 *               pass 2   store exp(x - m) / s */
#ifndef KF_ROWS_H
#define KF_ROWS_H

#include "compiler/plan.h"

/* How passes are counted. */
typedef enum RowsForm {
    ROWS_WHOLE, /* a variance is one reduction; outputs of full shape are stored behind all others */
    ROWS_SPLIT,  /* a variance takes two passes: the mean's, and one over the distances from it */
    ROWS_ONLINE, /* a variance takes one; so do max(a) and the sums of exp(a - max(a)) */
} RowsForm;

typedef struct Rows {
    RowsForm form;
    uint32_t passes;        /* over the elements, one that only stores included */
    bool stores;            /* the last pass is that one; it reduces nothing */
    const uint32_t *pass;   /* by Value: the first pass, or what comes before it where the value is
                             uniform, that can compute it; a reduction: the pass that it runs in, a
                             split variance: the second */
    const bool *uniform;    /* by Value: one value a row; a reduction's result is */
    const uint32_t *stored; /* by store: the pass that writes it; `passes` if it is reduced */
    const Value *power; /* by Value: of an online sum, the exp(a - max(a)) that it is over, perhaps
                               times something; else 0 */
    const Value *largest; /* by Value: that max, or 0 */
} Rows;

typedef struct Values {
    const Value *at;
    uint32_t count;
} Values;

/* `node` is a - max(a), `value` exp or exp2 of such: that max, else 0. */
Value rows_distance(const Ir *ir, const IrNode *node);
Value rows_power(const Ir *ir, Value value);

/* `plan` has reductions. In the form ROWS_WHOLE. */
const Rows *rows_find(Arena *arena, const Plan *plan);
/* Split or online: an output of full shape is stored as soon as it is there, one in place not before
 * the last pass that reads elements. */
const Rows *rows_form(Arena *arena, const Plan *plan, RowsForm form);
/* Of the body, the reductions of a pass. */
Values rows_reductions(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass);
/* What a pass needs of each element, in order: loads and values of the body that are not uniform,
 * for its reductions, or for the stores of full shape. An earlier pass may have computed some. */
Values rows_elements(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass);
/* Likewise what `roots` (by Value) are made of, and they. */
Values rows_made_of(Arena *arena, const Rows *rows, const Plan *plan, const bool *roots);
/* Of the body, what is uniform and no reduction, and computed right before a pass, in order; with
 * `pass` = passes, behind the last. */
Values rows_uniform(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass);

#endif
