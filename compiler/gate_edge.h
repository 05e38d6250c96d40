/* What the gate's files share: where tensors of an edge lie, and which values they hold. */
#ifndef KF_GATE_EDGE_H
#define KF_GATE_EDGE_H

#include "compiler/gate.h"

/* Iteration axes of a program: axes of its values that broadcasting, transposing and multiplying
 * tie together are one, and get one extent. Axes of size 1 stay. */
typedef struct Axes {
    uint32_t *root; /* union-find over value * RANK_MAX + axis, then over outputs' axes */
    uint32_t count; /* distinct ones with a size other than 1 */
    ARRAY(uint32_t)
    ids;       /* their roots: the first output's from the innermost on, then the others */
    bool flat; /* every array is dense over one shape or a single element: one axis in effect */
} Axes;

/* Index into axes->ids of axis `axis` of `value`, or -1 where its size is 1. */
int axes_of_value(const Axes *axes, const Ir *ir, Value value, uint32_t axis);

/* Spikes: small whole numbers, and one that outweighs its row, in each row at another place. Rows:
 * each full of what arithmetic treats apart (row_store). */
typedef enum EdgeData { EDGE_RANDOM, EDGE_SPECIAL, EDGE_WHOLE, EDGE_SPIKES, EDGE_ROWS } EdgeData;

/* A case before it has data: extents by index of Axes.ids. */
typedef struct EdgeShape {
    const char *label;
    const Ir *ir;
    EdgeData data;
    bool misaligned;
} EdgeShape;

enum { SPECIALS = 31 }; /* a prime: pairs of directions modulo it meet all pairs of values */
enum { SPIKES = 33, SPIKES_FAR = 20 }; /* places: within 1031 elements; at the ends of passes */
enum { ROW_PATTERNS = 21 };

typedef struct EdgeShapes {
    const Axes *axes;
    int length, rows, depth; /* what axes are for, by index; -1: none */
    ARRAY(EdgeShape) list;
} EdgeShapes;

EdgeShapes edge_shapes(Arena *arena, const Ir *ir);
/* One case; an extent for each of the axes. */
void edge_add(Arena *arena, EdgeShapes *shapes, const Ir *ir, const char *label, EdgeData data,
              const int64_t *extent, bool misaligned);
/* The cases of a program that reduces or multiplies matrices; false if it does neither. */
bool edge_add_sums(Arena *arena, EdgeShapes *shapes, const Ir *ir);

/* Elements of a strided array in row-major order: calls visit(context, n, offset in elements,
 * coordinates). */
typedef void EdgeVisit(void *context, int64_t n, int64_t offset, const int64_t *coordinate);
void edge_visit(const Type *type, const int64_t *strides, EdgeVisit *visit, void *context);
/* Storage of a strided array: elements before element 0, and in all. */
void edge_extent(const Type *type, const int64_t *strides, int64_t *before, int64_t *count);

/* Element `index` (modulo the list's length) of the special values of a type, as stored. */
void special_store(DType type, uint64_t index, void *bytes, int64_t at);

/* Element `k` of a row of `length` that holds pattern `row` (modulo ROW_PATTERNS): minus infinity
 * first or throughout, infinities, NaN, zeros, subnormals, what overflows when squared, a mean that
 * outweighs the deviations. `small` is a small whole number. */
void row_store(DType type, int64_t row, int64_t k, int64_t length, double small, void *bytes);

#endif
