/* The pieces of a kernel of reductions that emit_reduce_cuda puts together. */
#ifndef KF_REDUCE_CUDA_CODE_H
#define KF_REDUCE_CUDA_CODE_H

#include "compiler/cuda_code.h"
#include "compiler/emit.h"
#include "compiler/reduce_cuda.h"

typedef struct ReduceCuda {
    const Reduce *reduce;
    const Plan *plan;
    Text *out;
    Arena *scratch;
    bool across; /* something is kept inside the reduced axes: threads side by side have results of
                    their own */
} ReduceCuda;

/* How an array is read by a thread: a vector of N elements, along the depth or across results; N
 * apart; one element for all that it sees of a result; one for each step, where a step is a line
 * across N results; N that are the same in all lines. */
typedef enum ReduceReach {
    REACH_VECTOR,
    REACH_EACH,
    REACH_ONCE,
    REACH_LINE,
    REACH_COLUMNS,
} ReduceReach;

ReduceReach reduce_cuda_reach(const ReduceCuda *e, const Access *access);
/* Of loads: read for elements; and so, in vectors. */
bool reduce_cuda_reads(const ReduceCuda *e, uint32_t load);
bool reduce_cuda_is_vector(const ReduceCuda *e, uint32_t load);

/* Every function's parameters but its own: arrays, sizes, scalars; and as arguments. */
void reduce_cuda_parameters(const ReduceCuda *e);
void reduce_cuda_arguments(const ReduceCuda *e);
/* What a thread has read once: "const float in_s_v", and as arguments. */
void reduce_cuda_kept(const ReduceCuda *e, bool declare);
/* "in_s[i0 * kf_in_s_s0]", "in_s + i0 * kf_in_s_s0"; of a dense array `line` says where. */
const char *reduce_cuda_place(const ReduceCuda *e, const Access *access, ReduceWhere where,
                              const char *line);
const char *reduce_cuda_begin(const ReduceCuda *e, const Access *access, ReduceWhere where,
                              const char *line);
/* What U steps of N elements bring into registers; k_element of one of it, as the n-th term. */
void reduce_cuda_flight(const ReduceCuda *e);
void reduce_cuda_element(const ReduceCuda *e, const char *n);
/* Reads REACH_ONCE. */
void reduce_cuda_once(const ReduceCuda *e);

/* k_terms, k_element, k_part with k_none, k_join and k_take, k_finish. */
void reduce_cuda_values(const ReduceCuda *e);
uint32_t reduce_cuda_part_bytes(const ReduceCuda *e);
/* k_along, k_along_join: threads side by side along the depth. */
void reduce_cuda_along(const ReduceCuda *e);
/* k_across, k_across_join, k_is_wide. */
void reduce_cuda_across(const ReduceCuda *e);

#endif
