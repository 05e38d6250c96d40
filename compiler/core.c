/* A program in, its products out. One idea: transpositions and leading axes are matters of strides,
 * so that what is left of any product is m, n, k, and a stride of each factor from one matrix to
 * the next. */
#include "compiler/core.h"

#include <string.h>

static const Type *type_of(const Ir *ir, Value value) {
    return &ir_node(ir, value)->type;
}

/* Row-major, but for the last two axes where `swapped`. */
static bool lies(const IrInput *input, bool swapped) {
    const Type *type = &input->type;
    int64_t packed = 1;
    for (uint32_t i = 0; i < type->rank; i++) {
        uint32_t axis = type->rank - 1 - (swapped && i < 2 ? 1 - i : i);
        if (type->dim[axis] != 1 && input->strides[axis] != packed && type_count(type) > 0)
            return false;
        packed *= type->dim[axis];
    }
    return true;
}

/* The array behind a factor. */
static bool find_factor(const Ir *ir, Value value, CoreFactor *factor) {
    *factor = (CoreFactor){0};
    for (; ir_node(ir, value)->op == IR_TRANSPOSE; value = ir_node(ir, value)->arg[0])
        factor->turned = !factor->turned;
    const IrNode *node = ir_node(ir, value);
    if (node->op != IR_INPUT || ir->inputs.data[node->index].updated_by >= 0) return false;
    factor->slot = node->index;
    if (lies(&ir->inputs.data[node->index], false)) return true;
    factor->turned = !factor->turned;
    return node->type.rank >= 2 && lies(&ir->inputs.data[node->index], true);
}

/* Whether the array is stored with the last two axes of the factor swapped. */
static bool still_lies(const Ir *ir, Value value, const CoreFactor *factor) {
    bool swapped = factor->turned;
    for (; ir_node(ir, value)->op == IR_TRANSPOSE; value = ir_node(ir, value)->arg[0])
        swapped = !swapped;
    return lies(&ir->inputs.data[factor->slot], swapped && type_of(ir, value)->rank >= 2);
}

/* --- products */

static bool find_products(const Ir *ir, Core *core) {
    core->count = 0;
    for (Value v = 1; v < ir->nodes.count; v++) {
        if (ir_node(ir, v)->op != IR_MATMUL) continue;
        if (core->count == CORE_PRODUCTS) return false;
        core->products[core->count++] = v;
    }
    return core->count > 0;
}

/* The value that stands left in the kernel, and the one right. */
static Value left(const Core *core, const Ir *ir) {
    return ir_node(ir, core->products[0])->arg[core->swapped];
}

static Value right(const Core *core, const Ir *ir, uint32_t product) {
    return ir_node(ir, core->products[product])->arg[!core->swapped];
}

/* A matrix times a vector is the vector, as a row, times the matrix turned around. */
static bool find_factors(const Ir *ir, Core *core) {
    const IrNode *first = ir_node(ir, core->products[0]);
    core->swapped = type_of(ir, first->arg[1])->rank < 2;
    if (core->swapped && core->count > 1) return false;
    DType type = ir_dtype(ir, first->arg[0]);
    if (!find_factor(ir, left(core, ir), &core->a)) return false;
    for (uint32_t p = 0; p < core->count; p++) {
        const IrNode *node = ir_node(ir, core->products[p]);
        CoreFactor *b = &core->b[p];
        if (node->arg[0] != first->arg[0] || ir_dtype(ir, node->arg[0]) != type ||
            ir_dtype(ir, node->arg[1]) != type ||
            !type_same_shape(type_of(ir, node->arg[1]), type_of(ir, first->arg[1])) ||
            !find_factor(ir, right(core, ir, p), b) || b->turned != core->b[0].turned)
            return false;
    }
    if (core->swapped)
        for (uint32_t p = 0; p < core->count; p++) core->b[p].turned = !core->b[p].turned;
    return true;
}

/* --- the axes in front */

static uint32_t batch_axes(const Core *core, const Ir *ir) {
    const IrNode *node = ir_node(ir, core->products[0]);
    uint32_t own = (type_of(ir, node->arg[0])->rank > 1) + (type_of(ir, node->arg[1])->rank > 1);
    return node->type.rank - own;
}

/* The factor's own axis that is the product's `axis` in front; -1: it has none. */
static int32_t axis_of(const Core *core, const Ir *ir, Value value, uint32_t axis) {
    uint32_t rank = type_of(ir, value)->rank, all = batch_axes(core, ir);
    if (rank < 2 || axis + rank - 2 < all) return -1;
    return (int32_t)(axis + rank - 2 - all);
}

static bool walks(const Core *core, const Ir *ir, Value value, uint32_t axis) {
    int32_t own = axis_of(core, ir, value, axis);
    return own >= 0 && type_of(ir, value)->dim[own] != 1;
}

static void find_batch(const Ir *ir, Core *core) {
    Value a = left(core, ir), b = right(core, ir, 0);
    core->batch_rank = 0;
    for (uint32_t axis = 0; axis < batch_axes(core, ir); axis++) {
        bool in_a = walks(core, ir, a, axis), in_b = walks(core, ir, b, axis);
        uint32_t last = core->batch_rank - 1;
        core->into[axis] = -1;
        if (!in_a && !in_b) continue;
        if (core->batch_rank == 0 || core->a.walks[last] != in_a || core->b[0].walks[last] != in_b)
            last = core->batch_rank++;
        core->into[axis] = (int32_t)last;
        core->a.walks[last] = in_a;
        core->b[0].walks[last] = in_b;
    }
    core->folded = core->batch_rank == 1 && !core->b[0].walks[0] && !core->a.turned;
}

bool core_find(const Ir *ir, Core *core) {
    *core = (Core){0};
    if (!find_products(ir, core) || !find_factors(ir, core)) return false;
    find_batch(ir, core);
    return true;
}

/* --- at a shape */

/* From matrix to matrix along the innermost of the axes that became `batch` one; 0 where the factor
 * does not walk it. */
static int64_t batch_stride(const Core *core, const Ir *ir, Value value, uint32_t batch) {
    const Type *type = type_of(ir, value);
    for (uint32_t axis = batch_axes(core, ir); axis-- > 0;) {
        int32_t own = axis_of(core, ir, value, axis);
        if (core->into[axis] != (int32_t)batch || own < 0) continue;
        int64_t stride = 1;
        for (uint32_t i = (uint32_t)own + 1; i < type->rank; i++) stride *= type->dim[i];
        return stride;
    }
    return 0;
}

static void find_extents(const Core *core, const Ir *ir, CoreSizes *sizes) {
    Value a = left(core, ir), b = right(core, ir, 0);
    const Type *product = type_of(ir, core->products[0]);
    sizes->batch = 1;
    for (uint32_t z = 0; z < core->batch_rank; z++) {
        sizes->extent[z] = 1;
        for (uint32_t axis = 0; axis < batch_axes(core, ir); axis++)
            if (core->into[axis] == (int32_t)z) sizes->extent[z] *= product->dim[axis];
        sizes->batch *= sizes->extent[z];
        sizes->a_stride[z] = core->a.walks[z] ? batch_stride(core, ir, a, z) : 0;
        sizes->b_stride[z] = core->b[0].walks[z] ? batch_stride(core, ir, b, z) : 0;
    }
}

bool core_sizes(const Core *core, const Ir *ir, CoreSizes *sizes) {
    const Type *a = type_of(ir, left(core, ir)), *b = type_of(ir, right(core, ir, 0));
    *sizes = (CoreSizes){0};
    if (!still_lies(ir, left(core, ir), &core->a)) return false;
    for (uint32_t p = 0; p < core->count; p++) {
        CoreFactor factor = core->b[p];
        if (core->swapped) factor.turned = !factor.turned;
        if (!still_lies(ir, right(core, ir, p), &factor)) return false;
    }
    sizes->m = a->rank > 1 ? a->dim[a->rank - 2] : 1;
    sizes->k = a->dim[a->rank - 1];
    sizes->n = b->rank < 2 ? 1 : b->dim[b->rank - (core->swapped ? 2 : 1)];
    find_extents(core, ir, sizes);
    if (!core->folded) return true;
    sizes->m *= sizes->batch;
    sizes->batch = 1;
    return true;
}
