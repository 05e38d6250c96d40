/* A matrix product's elements where they are asked for. One idea: a run of one row is grown by
 * whole rows of the right operand, at most a block wide, so that what is read strided stays in the
 * cache. */
#include <stdlib.h>
#include <string.h>

#include "compiler/eval_cone.h"

/* Stride of axis `from_right` (0 is the last), 0 where the operand has none or is broadcast
 * there. */
static int64_t stride_from_right(const View *view, uint32_t from_right) {
    if (from_right >= view->type.rank) return 0;
    uint32_t axis = view->type.rank - 1 - from_right;
    return view->type.dim[axis] == 1 ? 0 : view->stride[axis];
}

static int64_t dim_from_right(const View *view, uint32_t from_right) {
    return from_right < view->type.rank ? view->type.dim[view->type.rank - 1 - from_right] : 1;
}

/* Whether an operand has anything but whole numbers, whose products may be exact in any order. */
static bool has_fractions(Machine *machine, Value base) {
    const Type *type = &ir_node(machine->ir, base)->type;
    const Cone *cone = dtype_is_float(type->dtype) ? cone_open(machine, base, type) : NULL;
    bool found = false;
    for (int64_t i = 0; cone != NULL && !found && i < cone->count; i += cone->step) {
        int64_t count = cone->count - i < cone->step ? cone->count - i : cone->step;
        found =
            machine->kernel->has_fractions(cone_run(cone, 0, (Wanted){i, 1, NULL, count}), count);
    }
    return found;
}

/* A vector's row (of a) or column (of b) vanishes and counts as one of size 1. */
void product_find(Machine *machine, Value value) {
    const IrNode *node = ir_node(machine->ir, value);
    Product *product = arena_new(machine->arena, Product);
    bool row = ir_node(machine->ir, node->arg[0])->type.rank > 1;
    bool column = ir_node(machine->ir, node->arg[1])->type.rank > 1;
    View *a = &product->a, *b = &product->b;
    view_find(machine, node->arg[0], a);
    view_find(machine, node->arg[1], b);
    product->depth = dim_from_right(a, 0);
    product->rows = row ? dim_from_right(a, 1) : 1;
    product->columns = column ? dim_from_right(b, 0) : 1;
    product->a_depth = stride_from_right(a, 0);
    product->a_row = row ? stride_from_right(a, 1) : 0;
    product->b_depth = stride_from_right(b, column ? 1 : 0);
    product->b_column = column ? stride_from_right(b, 0) : 0;
    product->batch_rank = node->type.rank - (uint32_t)row - (uint32_t)column;
    for (uint32_t i = 0; i < product->batch_rank; i++) {
        uint32_t axis = product->batch_rank - 1 - i;
        product->batch[axis] = node->type.dim[axis];
        product->a_batch[axis] = row ? stride_from_right(a, i + 2) : 0;
        product->b_batch[axis] = column ? stride_from_right(b, i + 2) : 0;
    }
    machine->products[value] = product;
}

void product_open(Machine *machine, Value value) {
    product_find(machine, value);
    Product *product = machine->products[value];
    product->fractions =
        has_fractions(machine, product->a.base) || has_fractions(machine, product->b.base);
}

/* Offsets of row `row` of batch `batch` in the operands. */
static void locate_batch(const Product *product, int64_t batch, int64_t *a, int64_t *b) {
    for (uint32_t axis = product->batch_rank; axis-- > 0;) {
        int64_t coordinate = batch % product->batch[axis];
        batch /= product->batch[axis];
        *a += coordinate * product->a_batch[axis];
        *b += coordinate * product->b_batch[axis];
    }
}

static void grow_row(const Machine *machine, Work *work, const Product *product, int64_t a,
                     int64_t b, int64_t count) {
    int64_t step = work->cone->step;
    for (int64_t begin = 0; begin < product->depth; begin += step) {
        int64_t n = product->depth - begin < step ? product->depth - begin : step;
        view_load(machine, &product->a, &work->row, 0, a + begin * product->a_depth,
                  product->a_depth, n);
        for (int64_t k = 0; k < n; k++) {
            int64_t offset = b + (begin + k) * product->b_depth;
            view_load(machine, &product->b, &work->column, 0, offset, product->b_column, count);
            machine->kernel->multiply(&work->products, &work->row, k, &work->column, count,
                                      machine->chain);
        }
    }
}

/* One element: along both operands' depth. */
static void grow_element(const Machine *machine, Work *work, const Product *product, int64_t a,
                         int64_t b, int64_t j) {
    int64_t step = work->cone->step;
    b += j * product->b_column;
    for (int64_t begin = 0; begin < product->depth; begin += step) {
        int64_t n = product->depth - begin < step ? product->depth - begin : step;
        view_load(machine, &product->a, &work->row, 0, a + begin * product->a_depth,
                  product->a_depth, n);
        view_load(machine, &product->b, &work->column, 0, b + begin * product->b_depth,
                  product->b_depth, n);
        machine->kernel->dot(&work->products, j, &work->row, &work->column, n, machine->chain);
    }
}

/* A single element, or a right operand whose columns lie together, goes element by element. */
static bool goes_along_depth(const Product *product, int64_t count) {
    return count == 1 || llabs(product->b_depth) < llabs(product->b_column);
}

/* `count` neighbours of one row, from element `offset` of the product. */
static void product_row(const Machine *machine, Work *work, Value value, Block *out, int64_t at,
                        int64_t offset, int64_t count) {
    const Product *product = machine->products[value];
    int64_t row = offset / product->columns, column = offset % product->columns, a = 0, b = 0;
    size_t bytes = machine->kernel->real * (size_t)count;
    locate_batch(product, row / product->rows, &a, &b);
    a += row % product->rows * product->a_row;
    b += column * product->b_column;
    work->products.may_nan = false;
    work->products.fractions = product->fractions;
    memset(work->products.v, 0, bytes < 8 * (size_t)count ? 8 * (size_t)count : bytes);
    memset(work->products.size, 0, bytes);
    memset(work->products.radius, 0, bytes);
    if (goes_along_depth(product, count))
        for (int64_t j = 0; j < count; j++) grow_element(machine, work, product, a, b, j);
    else
        grow_row(machine, work, product, a, b, count);
    machine->kernel->multiplied(out, at, &work->products, ir_dtype(machine->ir, value),
                                product->depth, count, machine->chain);
}

void product_run(const Machine *machine, Work *work, Value value, Block *out, int64_t at,
                 int64_t offset, int64_t stride, int64_t count) {
    const Product *product = machine->products[value];
    while (count > 0) {
        int64_t left = stride == 1 ? product->columns - offset % product->columns : 1;
        int64_t n = left < count ? left : count;
        product_row(machine, work, value, out, at, offset, n);
        offset += stride == 1 ? n : stride;
        at += n;
        count -= n;
    }
}
