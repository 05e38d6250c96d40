/* What the files of emit_reduce_c.c share. A reduction %6 is field t6 of k_sums, lane by lane, and of
 * k_partial, of one result. */
#ifndef KF_REDUCE_C_H
#define KF_REDUCE_C_H

#include "compiler/emit.h"
#include "compiler/emit_c.h"
#include "compiler/reduce.h"

typedef struct ReduceC {
    const Reduce *reduce;
    const Plan *plan;
    Text *out;
    Arena *scratch;
    bool columns; /* something is kept inside the reduced axes */
    bool flat;    /* … and lines of elements may follow one another as one */
} ReduceC;

/* What a function gets besides what is its own. VECTOR: arrays that elements are read from, and
 * scalars; RUN: strides along the last axis as well; ALL: everything. */
typedef enum ReduceWhich { REDUCE_VECTOR, REDUCE_RUN, REDUCE_ALL } ReduceWhich;

bool reduce_c_reads(const ReduceC *e, uint32_t load);
/* "const float *restrict in_x, float s_eps, " */
void reduce_c_parameters(const ReduceC *e, ReduceWhich which);
/* All of it as arguments. */
void reduce_c_arguments(const ReduceC *e);

/* k_sums, k_partial, k_none, k_start, k_join, k_fold, k_vector, k_finish. */
void reduce_c_values(const ReduceC *e);
/* k_run or k_line; k_piece. */
void reduce_c_walk(const ReduceC *e);

#endif
