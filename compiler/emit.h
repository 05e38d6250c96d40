/* Plan -> Template, for a device's language. The emitted text is a product: readable, one load, the
 * chain in registers, one store; the head prints the canonical expression and how to make it
 * again. */
#ifndef KF_EMIT_H
#define KF_EMIT_H

#include "compiler/plan.h"
#include "registry/template.h"

/* CUDA C++ for NVRTC and nvcc. Knobs: VEC elements a vector, BLOCK threads, UNROLL vectors in
 * flight, GRID 0 for a tile a block or so many blocks a multiprocessor, INDEX 1 to walk rows, 0 to
 * walk the linear index. Entry NAME, and its twin NAME_scalar with the same parameters for any
 * alignment and any grid (none where VEC is 1 alone). */
const Template *emit_cuda(Arena *arena, const Plan *plan);
/* Of GROUP_ROWS: rows_cuda.h has the knobs. The twin is NAME_any. */
const Template *emit_rows_cuda(Arena *arena, const Plan *plan);
/* C for the host compiler (GCC vector extensions, the machine's widest vectors, tails through the
 * same code). Knobs: BLOCK elements a tile, UNROLL vectors a step, STREAM 1 to store past the
 * caches, THREADS (0: by the size), INDEX as above. Entry: void NAME(void *const *args, int64_t
 * part, int64_t parts), args[i] pointing at the value of parameter i as cuLaunchKernel's do; the
 * parts may run at once and in any order. Wants -O2 -march=native -ffp-contract=off -fno-math-errno
 * -fno-trapping-math, -lmvec -lm; never -ffast-math. */
const Template *emit_c(Arena *arena, const Plan *plan);

/* Of a plan with reductions in one pass, whichever axes they run over: a part of the work leaves
 * partial results in the workspace, in fixed pieces, and the entry NAME_join joins them in order.
 * CUDA's knobs, where nothing is kept inside the reduced axes: VEC, TPR threads share a row, RPB
 * rows in a block, UNROLL, SPLIT blocks share a row; else VEC columns a thread, ACROSS such threads
 * of BLOCK side by side, UNROLL, SPLIT. The entries take any alignment. C's: BLOCK elements a
 * piece, or DOWN rows by ACROSS columns; UNROLL, THREADS. */
const Template *emit_reduce_cuda(Arena *arena, const Plan *plan);
const Template *emit_reduce_c(Arena *arena, const Plan *plan);

/* Of GROUP_ROWS, in C: a thread does whole rows, so that results do not depend on how many there are.
 * Knobs: UNROLL vectors a step, AHEAD how near the next row is fetched meanwhile (0: not), STREAM,
 * THREADS as above; BLOCK elements of which values are kept or looked at twice, KEEP 1 to keep
 * costly ones, ONLINE 1 to sum exp(x - max(x)) of a longer row while looking for the max. */
const Template *emit_rows_c(Arena *arena, const Plan *plan);

/* In a language, "cuda" or "c". */
const Template *emit(Arena *arena, const char *language, const Plan *plan);

/* The streaming kernel that measures the roof. Args: arrays in0 in1 … out0 …, then the bytes of
 * each, bytes0 bytes1 …, multiples of 16. */
const Template *emit_stream(Arena *arena, const char *language, uint32_t reads, uint32_t writes);

/* Expression text of one operation in a language, for `kfuse ops NAME`. */
typedef struct EmitLanguage EmitLanguage; /* language.h */
extern const EmitLanguage emit_language_cuda, emit_language_c;
/* A value of the body as a statement, "const float t3 = t1 + t2;"; all statements of the body that something reads. No reductions. */
void emit_statement(Text *out, const Plan *plan, const EmitLanguage *language, Value value,
                    int indent);
void emit_body(Text *out, const Plan *plan, const EmitLanguage *language, int indent);
/* Of some of it; no reductions. */
void emit_values(Text *out, const Plan *plan, const EmitLanguage *language, const Value *values,
                 uint32_t count, int indent);

#endif
