/* The space of a CUDA kernel made by emit_cuda: its knobs, what makes a point legal and sensible,
 * and how a point is launched. */
#ifndef KF_CUDA_SPACE_H
#define KF_CUDA_SPACE_H

#include "compiler/language.h"

enum { CUDA_KNOBS = 6 };

/* VEC, BLOCK, UNROLL, GRID, NEXT, and INDEX where there are two ways to walk. Returns their
 * number. */
uint32_t cuda_knobs(const Plan *plan, KnobText knobs[CUDA_KNOBS]);
/* The lines "//! require", "//! prefer" and "//! launch"; `twin`: there is an entry NAME_scalar. */
void cuda_rules(Text *out, const Plan *plan, bool twin);

#endif
