/* Sweeps: a plan's passes over a row as loops, each of which adds up, or stores. A pass is a sweep,
 * but where it has a var: the distances from the mean take another, and in f64 a third.
 *
 *     layernorm:  sweep 0   add t3 (mean of x)      sweep 1   squares t5 (var of x)
 *                 sweep 2   store
 *
 * Costly values of elements that a later sweep needs again may be kept; a later sweep then starts
 * from them. */
#ifndef KF_SWEEPS_H
#define KF_SWEEPS_H

#include "compiler/rows.h"

typedef enum SweepKind {
    SWEEP_ADD,     /* all reductions of a pass; a var's elements into a mean */
    SWEEP_SHIFT,   /* distances of a var's elements from that mean, into the mean of these */
    SWEEP_SQUARES, /* distances from both means, squared */
    SWEEP_STORE,   /* outputs of full shape */
} SweepKind;

/* How a reduction is added up. */
typedef enum SumForm {
    SUM_FOLD,   /* max, min, prod, whatever of integers: in the value's own type */
    SUM_PIECES, /* in the compute type, pieces of a row in f64 */
    SUM_WIDE,   /* of f32 in f64, where its digits matter: a mean that is subtracted */
    SUM_SHARED, /* a var: from the mean of the same operand, in the same pass */
} SumForm;

typedef struct Sweep {
    SweepKind kind;
    uint32_t pass;
    Values reductions; /* those of the pass; of SHIFT and SQUARES: its vars */
    Values roots;      /* values of elements that it adds up or stores */
    Values elements;   /* what they are made of, in order: loads and values of the body */
    Values again;      /* likewise, where kept values are there already and among them */
} Sweep;

typedef struct Sweeps {
    const Plan *plan;
    const Rows *rows, *online; /* ROWS_WHOLE, ROWS_ONLINE */
    ARRAY(Sweep) list;
    Values kept;           /* in order */
    const uint32_t *first; /* by Value: the first sweep that computes it */
    const Value *mean_of;  /* by Value, of a var: the mean that its sum is shared with, or itself */
    const bool *centred;   /* by Value: a mean that is subtracted from elements */
} Sweeps;

const Sweeps *sweeps_find(Arena *arena, const Plan *plan);
SumForm sweeps_form(const Sweeps *sweeps, Value reduction);
bool sweeps_keep(const Sweeps *sweeps, Value value);
/* Of a sum of exp(a - max(a)), perhaps times something: the max, of the pass before; else 0. */
Value sweeps_online(const Sweeps *sweeps, Value reduction);
/* The pass and the next one can be one: what the next one reduces is online, and nothing else. */
bool sweeps_join(const Sweeps *sweeps, uint32_t pass);
/* a - mean(b), where the mean is carried in two parts. */
bool sweeps_is_centred(const Sweeps *sweeps, Value value);

#endif
