/* The gate's data: what a candidate is run on, besides the real problem. One host image holds every
 * edge case: special vectors and awkward shapes, packed with guards, so that a device uploads one
 * buffer, runs one launch per case, downloads one buffer. Everything here is the same for every
 * device. */
#ifndef KF_GATE_H
#define KF_GATE_H

#include "compiler/eval.h"

/* Fills `bytes` of input `slot` (elements [begin, begin+count) of its dense storage order) by the
 * counter hash of sample.h: the same bits on host and device. `domain` 0 is the widest; 1, 2 … are
 * narrower (positive, (0,1]), tried when too much is unchecked. */
void gate_fill(void *bytes, DType dtype, uint64_t seed, uint32_t slot, int64_t begin, int64_t count,
               int domain);

/* One edge case: the program at another shape of the same layout class. Offsets are bytes into the
 * image. */
typedef struct Edge {
    const char *label;  /* "specials", "1", "VEC+1", "misaligned" … */
    const Ir *ir;       /* the program with this case's shapes */
    int64_t *inputs;    /* offset of element 0 of each input */
    int64_t *outputs;   /* offset of each output */
    bool misaligned;    /* pointers are aligned to one element only */
    Expected *expected; /* of each output */
} Edge;

enum { GATE_GUARD = 256, GATE_GUARD_BYTE = 0xA5 }; /* bytes before and behind every tensor */

typedef struct Gate {
    ARRAY(Edge) edges;
    uint8_t *image; /* inputs filled, outputs poisoned (complement of expected), guards set */
    size_t size;
} Gate;

/* The edges' programs alone, in the order of Gate.edges, without data: what the parent binds its
 * kernels to. */
const Ir *const *gate_shapes(Arena *arena, const Ir *ir, uint32_t *count);
/* The same program at other extents: `extent` gives each of its axes, counted from the innermost, a
 * new one. Arrays stay broadcast, packed and strided as they were. */
const Ir *gate_reshape(Arena *arena, const Ir *ir,
                       int64_t (*extent)(void *context, uint32_t axis, int64_t old), void *context);
/* Shapes keep what the kernel was specialised on: which axes are broadcast, collapsed rank,
 * strides' class. Cases: all pairs of special values over the inputs, sizes 0, 1, 2, 3, 5, 7, 8±1,
 * 16±1, 127, 1023, 1025, odd rows, misaligned; where something sums up, rows longer than any pass
 * of a block, more rows than a grid's second dimension has, products of odd tiles and depths, each
 * extent 0 by itself, rows full of what arithmetic treats apart (-inf first or throughout, NaN,
 * overflowing squares, a large mean), small whole numbers (exact in any order) and spikes (one
 * element that outweighs its row, at the ends of vectors, warps,
 * blocks, rows). NULL when out of memory. The arena holds it all. */
Gate *gate_open(Arena *arena, const Ir *ir, uint64_t seed, Accuracy accuracy, Team *team);

/* Judges a downloaded image: values against the intervals, guards, inputs unchanged (but in-place
 * ones). False with *why (in `arena`): "edge 'VEC+1': out[3] is 2, expected 1", "guard before out
 * touched". */
bool gate_judge(const Gate *gate, const uint8_t *image, Arena *arena, Check *check,
                const char **why);

/* Self-test: the compute-type chain lies inside the intervals, and three mutants (a whole output,
 * the last element, one element outside its interval) are refused. False with *why: "reference
 * failed". */
bool gate_self_test(const Gate *gate, Arena *arena, const char **why);

#endif
