/* Values that the device's oracle computes once, into memory, before it judges an output: what the
 * kernels that oracle_cuda.c emits for reductions and products share. One idea: a row is as many
 * interleaved pieces as keep the device busy, each summed by one thread and joined in an order that
 * depends on their number alone; a product is as many small tiles. Behind oracle_kernels.h and
 * reduction.h. */
#ifndef KF_ORACLE_VALUES_H
#define KF_ORACLE_VALUES_H

static_assert(sizeof(Interval) == 24 && sizeof(Whole) == 24, "ORACLE_VALUE_BYTES");

/* --- rows: pieces of row r are sums[r * pieces …] */

/* Of `live` pieces, joins all that are `kept` apart. */
extern "C" __global__ void kf_fold(Sum *sums, int op, int type, int64_t rows, int64_t pieces,
                                   int64_t live, int64_t kept) {
    for (int64_t t = first_index(); t < rows * kept; t += index_step()) {
        Sum *row = sums + t / kept * pieces, sum = row[t % kept];
        for (int64_t k = t % kept + kept; k < live; k += kept) sum_merge(&sum, op, type, &row[k]);
        row[t % kept] = sum;
    }
}

/* `before`: the pass before the last one, where there were two. */
extern "C" __global__ void kf_reduced(const Sum *sums, const Sum *before, int op, int type,
                                      int64_t rows, int64_t pieces, void *out) {
    for (int64_t r = first_index(); r < rows; r += index_step()) {
        if (storage_is_float(type))
            ((Interval *)out)[r] = sum_real(&sums[r * pieces], &before[r * pieces], op);
        else
            ((Whole *)out)[r] = sum_whole(&sums[r * pieces], op, type);
    }
}

/* --- products: a thread has TILE x TILE elements, neighbours of a warp have neighbouring columns.
 * Written out instead of in loops, which the quick compiler leaves as they are, with what they
 * index in memory. */

enum { TILE = 4, LANES = 32 };
#define KF_MEMBER static __device__ __forceinline__
#define KF_FOUR(do) \
    do (0) do(1) do(2) do(3)

typedef struct Cell {
    KfReal v, size, radius;
} Cell;

/* An element of an operand's four, and what all of them along the depth were. */
typedef struct Edging {
    int64_t at;
    Interval now;
    int fractions, may_nan;
} Edging;

/* Products of what is stored: no radii. What is exact in double is added in one operation. */
KF_FN void cell_add_points(Cell *cell, KfReal x, KfReal y) {
    cell->v = fma(x, y, cell->v);
    cell->size = fma(fabs(x), fabs(y), cell->size);
}

KF_FN void cell_add(Cell *cell, Interval x, Interval y) {
    KfReal term = x.v * y.v, radius = product_radius(x, y);
    cell->v += term;
    cell->radius += radius;
    cell->size += fabs(term) + radius;
}

/* `P`: the product's shape, and how it loads an element of an operand. */
template <class P> KF_FN void row_add(Cell *cell, const Edging *a, const Edging *b) {
#define DO(c)                                            \
    if (P::points)                                       \
        cell_add_points(&cell[c], a->now.v, b[c].now.v); \
    else                                                 \
        cell_add(&cell[c], a->now, b[c].now);
    KF_FOUR(DO)
#undef DO
}

template <class P> KF_FN void edging_note(Edging *edging, Interval x) {
    edging->now = x;
    edging->fractions |= floor(x.v) != x.v;
    if (!P::points) edging->may_nan |= x.nan == NAN_MAY;
}

template <class P>
KF_FN void tile_run(const void *const *in, Edging *a, Edging *b, Cell (*cell)[TILE]) {
    for (int64_t k = 0; k < P::depth; k++) {
#define DO(i)                                                       \
    edging_note<P>(&a[i], P::load_a(in, a[i].at + k * P::a_depth)); \
    edging_note<P>(&b[i], P::load_b(in, b[i].at + k * P::b_depth));
        KF_FOUR(DO)
#undef DO
#define DO(r) row_add<P>(cell[r], &a[r], b);
        KF_FOUR(DO)
#undef DO
    }
}

template <class P>
KF_FN void row_store(Interval *out, const Cell *cell, const Edging *a, const Edging *b,
                     int64_t column) {
#define DO(c)                                                               \
    if (column + c * LANES < P::columns)                                    \
        out[column + c * LANES] =                                           \
            product_real(cell[c].v, cell[c].size, cell[c].radius, P::depth, \
                         a->fractions | b[c].fractions, a->may_nan | b[c].may_nan);
    KF_FOUR(DO)
#undef DO
}

/* Rows and columns beyond the end repeat the last ones. */
template <class P>
KF_FN void tile_compute(const void *const *in, Interval *out, int64_t batch, int64_t row,
                        int64_t column) {
    Cell cell[TILE][TILE] = {};
    Edging a[TILE] = {}, b[TILE] = {};
    int64_t a0 = 0, b0 = 0;
    P::batch(batch, &a0, &b0);
#define DO(i)                                                                                \
    a[i].at = a0 + (row + i < P::rows ? row + i : P::rows - 1) * P::a_row;                   \
    b[i].at = b0 + (column + i * LANES < P::columns ? column + i * LANES : P::columns - 1) * \
                       P::b_column;
    KF_FOUR(DO)
#undef DO
    tile_run<P>(in, a, b, cell);
#define DO(r)              \
    if (row + r < P::rows) \
        row_store<P>(out + (batch * P::rows + row + r) * P::columns, cell[r], &a[r], b, column);
    KF_FOUR(DO)
#undef DO
}

template <class P> static __device__ void product_tiles(const void *const *in, Interval *out) {
    const int64_t bands = (P::rows + TILE - 1) / TILE;
    const int64_t strips = (P::columns + TILE * LANES - 1) / (TILE * LANES);
    for (int64_t t = first_index(); t < P::batches * strips * bands * LANES; t += index_step()) {
        int64_t at = t / LANES, row = at % bands * TILE;
        int64_t column = at / bands % strips * TILE * LANES + t % LANES;
        if (column < P::columns) tile_compute<P>(in, out, at / bands / strips, row, column);
    }
}

#endif
