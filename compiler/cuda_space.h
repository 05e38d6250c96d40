/* The space of a CUDA kernel made by emit_cuda: its knobs, what makes a point legal and sensible,
 * and how a point is launched. */
#ifndef KF_CUDA_SPACE_H
#define KF_CUDA_SPACE_H

#include "compiler/language.h"

enum { CUDA_KNOBS = 6, TILE_THREADS = 8 /* of a warp beside each other, the other ways below */ };

/* Some array is read down (plan_reads_down), so that the kernel may walk in tiles (INDEX = 2). */
bool cuda_tiles(const Plan *plan);

/* VEC, BLOCK, UNROLL, GRID, NEXT, and INDEX where there are several ways to walk. Returns their
 * number. */
uint32_t cuda_knobs(const Plan *plan, KnobText knobs[CUDA_KNOBS]);
/* The lines "//! require", "//! prefer" and "//! launch"; `twin`: there is an entry NAME_scalar. */
void cuda_rules(Text *out, const Plan *plan, bool twin);

/* Below, a kernel lasts some microseconds, of which the next one saves 0.3 by beginning early: 1.10
 * us against 1.44 for relu(x + res) of 128x128 bf16 on an H200, 2.65 against 2.97 for 1024x1024. In
 * a long one the next takes room: up to a quarter lost. */
enum { CUDA_SHORT_ELEMENTS = 1 << 24 };

#endif
