/* The space of a generated CUDA reduction: knobs, constraints, launches, workspace. */
#ifndef KF_REDUCE_CUDA_H
#define KF_REDUCE_CUDA_H

#include "compiler/reduce.h"

enum { REDUCE_CUDA_KNOBS = 6 };

uint32_t reduce_cuda_knobs(const Reduce *reduce, KnobText knobs[REDUCE_CUDA_KNOBS]);
/* `part`: bytes of a partial result. */
void reduce_cuda_rules(Text *out, const Reduce *reduce, uint32_t part);
/* Some array is read in vectors. */
bool reduce_cuda_has_vectors(const Reduce *reduce);

#endif
