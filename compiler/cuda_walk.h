/* What the walks of an elementwise CUDA kernel share: how arrays are read by a vector, and the pieces that a
 * thread's loops consist of. Private to emit_cuda.c and cuda_walk*.c. */
#ifndef KF_CUDA_WALK_H
#define KF_CUDA_WALK_H

#include "compiler/cuda_code.h"
#include "compiler/emit.h"

/* How an array is read by a vector of elements along the last axis. */
typedef enum Reach {
    REACH_VECTOR,
    REACH_FIXED, /* the same in every row */
    REACH_ROW,   /* one value a row */
    REACH_SCALAR,
    REACH_EACH,
    REACH_DOWN /* by vectors along the rows, one for each column */
} Reach;
typedef Reach ReachOf(const Plan *plan, const Access *access);

/* How a thread walks: how it reads arrays, and what it computes once for all that it meets. */
typedef struct Walk {
    ReachOf *reach_of;
    Hoist hoist;
    const char *name; /* of its pieces, k_hoist_NAME and k_rest_NAME */
    const char *form; /* of what is hoisted: one a column, or one */
} Walk;

typedef struct Emitter {
    const Plan *plan;
    Text *out;
    Arena *scratch;
    Parameters parameters;
    int64_t vec; /* largest VEC */
    Walk rows, tile, line;
} Emitter;

static inline void print_parameters(const Emitter *e, const char *whole) {
    cuda_parameters(e->out, e->plan, &e->parameters, whole);
}

static inline void print_arguments(const Emitter *e) {
    cuda_arguments(e->out, e->plan, &e->parameters);
}

Reach walk_reach_in_rows(const Plan *plan, const Access *access);
Reach walk_reach_in_tile(const Plan *plan, const Access *access);
Reach walk_reach_in_line(const Plan *plan, const Access *access);
void walk_find(Emitter *e);
/* "in_x[row * kf_cols + column]" */
void walk_place(const Emitter *e, const Access *access, const char *row, const char *column);
/* The head of k_all. */
void walk_function(const Emitter *e, const char *comment);
/* "k_pack<float, __VEC__> in_x_v…;" */
void walk_pack(const Emitter *e, const Access *access, const char *suffix, int indent);
/* What a thread reads and computes once. */
void walk_once(const Emitter *e, const Walk *walk, int indent);
/* The variables of the vectors in flight. */
void walk_flight(const Emitter *e, const Walk *walk, int indent);
/* `row` is NULL where the place is the linear index. */
void walk_vector_load(const Emitter *e, const Access *access, const char *row, const char *column,
                      int indent);
/* The results of step u's vectors; and into memory. */
void walk_compute(const Emitter *e, const Walk *walk, int indent);
void walk_stores(const Emitter *e, const char *row, const char *column, int indent);

/* cuda_walk_rows.c: a thread keeps its columns and walks down, row by row or in tiles. */
void walk_rows(const Emitter *e);
void walk_tile(const Emitter *e);
/* cuda_walk_line.c: vectors along the linear index. */
void walk_line(const Emitter *e);

#endif
