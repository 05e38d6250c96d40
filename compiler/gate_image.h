/* The image: every edge's tensors in one piece of memory, with guards. */
#ifndef KF_GATE_IMAGE_H
#define KF_GATE_IMAGE_H

#include "compiler/gate_edge.h"

/* Places the tensors of all edges; sets gate->size and each edge's offsets. */
void image_place(Arena *arena, Gate *gate, const EdgeShapes *shapes);
/* Fills an edge's inputs. */
void image_fill(Gate *gate, uint32_t edge, const EdgeShapes *shapes, uint64_t seed, int domain);
/* Poisons an edge's outputs: the complement of what is expected. */
void image_poison(Gate *gate, uint32_t edge);

/* Pointers to element 0 of an edge's inputs within `image`. */
const void **image_inputs(Arena *arena, const Edge *edge, const uint8_t *image);
/* Output `output` of an edge, gathered to row-major order; and back. */
void image_gather(const Edge *edge, const uint8_t *image, uint32_t output, uint8_t *dense);
void image_scatter(const Edge *edge, uint8_t *image, uint32_t output, const uint8_t *dense);
/* The tensor whose guarded region holds byte `at`, in words: "guard before 'out' touched". */
const char *image_place_name(const Gate *gate, size_t at, Arena *arena);

#endif
