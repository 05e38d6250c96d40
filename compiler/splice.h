/* Splice: a program of a product and what is done to its elements in, one kernel out: a hand-written
 * template that computes `a @ b` alone, with the generated chain at its splice points. So the
 * template is written once, and whatever a program does behind a product costs no pass over memory.
 *
 * A template takes part if its text names KF_STORE_y for its output y, and its header's tensors are
 * a[batch, m, k], b[batch, k, n], y[batch, m, n] by whatever names. Its splice points, macros with
 * defaults so that the file compiles alone, are in CUDA
 *   KF_PARAMS, KF_ARGS     further parameters of every entry, behind those of `args` but y; passed on
 *   KF_AT_a(z)             a's matrix of batch z
 *   KF_AT_b(p, z)          b's, of product p
 *   KF_STORE_y(i, row, column, sums)   does the rest: sums[p], a k_pack of ACC, is product p's
 *                          elements i, i + 1 … of y, from (row, column) on; rows count through all
 *                          batches. N of a pack is at most VEC, and divides i and column.
 * and in C
 *   KF_PARAMS(args, at)    declares the further parameters, args[at] being the first
 *   KF_AT_a(z), KF_AT_b(p, z)
 *   KF_ALIGNED_y(n)        rows of n elements of all outputs begin where streaming stores may
 *   KF_STORE_y(i, row, column, width, sums, stream)   sums[p], a k_real, is `width` elements
 * Knobs of one value are facts of the program, which this stage sets where the template has them:
 *   __TURNED_A__ __TURNED_B__   1: stored as [k, m], as [n, k]
 *   __BATCHED__                 0: `batch` is 1 for good
 *   __PRODUCTS__                2: there are two b, and two products */
#ifndef KF_SPLICE_H
#define KF_SPLICE_H

#include "compiler/bound.h"
#include "registry/template.h"

typedef struct Splice Splice;

/* Whether the template has splice points. */
bool splice_takes(const Template *template);
/* `ir` is simplified, calls inlined. NULL where it is more than a product, or two of one left factor,
 * and elementwise work on them with outputs of their shape; or where the template has not these
 * types, layouts or facts. */
const Splice *splice_find(Arena *arena, const Template *template, const Registry *registry,
                          const Ir *ir);
/* The kernel. */
const Template *splice_template(const Splice *splice);
/* Whether what is done behind the product has indices of 64 bits. */
bool splice_has_index64(const Splice *splice);
/* The kernel's names at another shape of the same program; NULL if the shape does not fit. Sizes are
 * what the template calls them, and bytes_x the size of an element of x. */
const Bound *splice_bound(Arena *arena, const Splice *splice, const Ir *ir);
/* What its text depends on besides the program. Part of the key. */
void splice_class_print(Text *out, const Splice *splice);

#endif
