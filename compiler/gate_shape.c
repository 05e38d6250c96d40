/* A program in, the same program at awkward shapes out. One idea: axes that must have one extent
 * are found by union-find over all values, so that giving each class a new extent keeps the program
 * well-formed and its arrays broadcast, collapsed and strided as they were. */
#include <stdlib.h>
#include <string.h>

#include "compiler/gate_edge.h"

/* --- axes */

static uint32_t find(uint32_t *root, uint32_t id) {
    while (root[id] != id) id = root[id] = root[root[id]];
    return id;
}

static void tie(uint32_t *root, uint32_t a, uint32_t b) {
    a = find(root, a);
    b = find(root, b);
    if (a < b)
        root[b] = a;
    else
        root[a] = b;
}

static uint32_t axis_id(uint32_t value, uint32_t axis) {
    return value * RANK_MAX + axis;
}

/* Right-aligned axes of one size, other than 1, are one; `skip` axes from the right are left
 * alone. */
static void tie_broadcast(uint32_t *root, uint32_t a, const Type *type_a, uint32_t b,
                          const Type *type_b, uint32_t skip) {
    for (uint32_t i = skip; i < type_a->rank && i < type_b->rank; i++) {
        uint32_t from = type_a->rank - 1 - i, to = type_b->rank - 1 - i;
        if (type_a->dim[from] == type_b->dim[to] && type_a->dim[from] != 1)
            tie(root, axis_id(a, from), axis_id(b, to));
    }
}

static void tie_transpose(uint32_t *root, Value v, const IrNode *node) {
    uint32_t last = node->type.rank - 1;
    for (uint32_t i = 0; i < node->type.rank; i++) {
        uint32_t from = i == last ? last - 1 : i + 1 == last ? last : i;
        tie(root, axis_id(v, i), axis_id(node->arg[0], from));
    }
}

/* A vector's row or column vanishes. */
static void tie_matmul(uint32_t *root, const Ir *ir, Value v, const IrNode *node) {
    Value a = node->arg[0], b = node->arg[1];
    const Type *x = &ir_node(ir, a)->type, *y = &ir_node(ir, b)->type;
    uint32_t rows = x->rank > 1, columns = y->rank > 1, rank = node->type.rank;
    tie(root, axis_id(a, x->rank - 1), axis_id(b, columns ? y->rank - 2 : 0));
    if (rows) tie(root, axis_id(a, x->rank - 2), axis_id(v, rank - 1 - columns));
    if (columns) tie(root, axis_id(b, y->rank - 1), axis_id(v, rank - 1));
    if (rows && columns) {
        tie_broadcast(root, a, x, v, &node->type, 2);
        tie_broadcast(root, b, y, v, &node->type, 2);
    } else {
        for (uint32_t i = 0; rows && i + 2 < x->rank; i++) tie(root, axis_id(a, i), axis_id(v, i));
        for (uint32_t i = 0; columns && i + 2 < y->rank; i++)
            tie(root, axis_id(b, i), axis_id(v, i));
    }
}

static void tie_node(uint32_t *root, const Ir *ir, Value v) {
    const IrNode *node = ir_node(ir, v);
    if (node->op == IR_TRANSPOSE)
        tie_transpose(root, v, node);
    else if (node->op == IR_MATMUL)
        tie_matmul(root, ir, v, node);
    else
        for (uint32_t i = 0; i < node->count; i++)
            tie_broadcast(root, node->arg[i], &ir_node(ir, node->arg[i])->type, v, &node->type, 0);
}

/* Outputs have ids behind the values'. */
static uint32_t output_id(const Ir *ir, uint32_t output) {
    return ir->nodes.count + output;
}

static void collect(Arena *arena, Axes *axes, uint32_t value, const Type *type) {
    for (uint32_t i = type->rank; i-- > 0;) {
        uint32_t id = find(axes->root, axis_id(value, i));
        bool known = type->dim[i] == 1;
        for (uint32_t k = 0; k < axes->ids.count; k++) known |= axes->ids.data[k] == id;
        if (!known) array_push(arena, &axes->ids, id);
    }
}

static int64_t dense_count(const Type *type, const int64_t *strides) {
    int64_t packed = 1;
    for (uint32_t i = type->rank; i-- > 0;) {
        if (type->dim[i] == 1) continue;
        if (strides[i] != packed) return -1;
        packed *= type->dim[i];
    }
    return packed;
}

static bool is_single(const Type *type, const int64_t *strides) {
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->dim[i] != 1 && strides[i] != 0) return false;
    return true;
}

static bool is_flat(const Ir *ir) {
    int64_t count = type_count(&ir->outputs.data[0].type);
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        if (dense_count(&output->type, output->strides) != count) return false;
    }
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const IrInput *input = &ir->inputs.data[i];
        if (dense_count(&input->type, input->strides) != count &&
            !is_single(&input->type, input->strides))
            return false;
    }
    for (Value v = 1; v < ir->nodes.count; v++) {
        uint16_t op = ir_node(ir, v)->op;
        if (op == IR_TRANSPOSE || (op >= IR_MATMUL && op <= IR_VAR)) return false;
    }
    return true;
}

static const Axes *find_axes(Arena *arena, const Ir *ir) {
    Axes *axes = arena_new(arena, Axes);
    uint32_t count = (ir->nodes.count + ir->outputs.count) * RANK_MAX;
    axes->root = arena_array(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) axes->root[i] = i;
    for (Value v = 1; v < ir->nodes.count; v++) tie_node(axes->root, ir, v);
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        tie_broadcast(axes->root, output->value, &ir_node(ir, output->value)->type,
                      output_id(ir, i), &output->type, 0);
        if (i > 0 && ir->outputs.data[0].type.rank == output->type.rank)
            tie_broadcast(axes->root, output_id(ir, 0), &ir->outputs.data[0].type, output_id(ir, i),
                          &output->type, 0);
    }
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        collect(arena, axes, output_id(ir, i), &ir->outputs.data[i].type);
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        collect(arena, axes, ir->inputs.data[i].value, &ir->inputs.data[i].type);
    for (Value v = 1; v < ir->nodes.count; v++) collect(arena, axes, v, &ir_node(ir, v)->type);
    axes->count = axes->ids.count;
    axes->flat = is_flat(ir);
    return axes;
}

int axes_of_value(const Axes *axes, const Ir *ir, Value value, uint32_t axis) {
    uint32_t id = find(axes->root, axis_id(value, axis));
    if (ir_node(ir, value)->type.dim[axis] == 1) return -1;
    for (uint32_t i = 0; i < axes->ids.count; i++)
        if (axes->ids.data[i] == id) return (int)i;
    return -1;
}

/* --- the same program at other extents */

static void resize(const Axes *axes, const int64_t *extent, uint32_t value, Type *type) {
    for (uint32_t axis = 0; axis < type->rank; axis++) {
        uint32_t id = find(axes->root, axis_id(value, axis));
        for (uint32_t i = 0; type->dim[axis] != 1 && i < axes->count; i++) {
            if (axes->ids.data[i] != id) continue;
            type->dim[axis] = extent[i];
            break;
        }
    }
}

/* The axis of smallest stride not done yet that has elements of its own; RANK_MAX when there is
 * none. */
static uint32_t next_axis(const Type *type, const int64_t *strides, const bool *done) {
    uint32_t least = RANK_MAX;
    for (uint32_t i = type->rank; i-- > 0;)
        if (!done[i] && strides[i] != 0 && type->dim[i] != 1 &&
            (least == RANK_MAX || llabs(strides[i]) < llabs(strides[least])))
            least = i;
    return least;
}

/* Axes that were packed are packed, gaps stay gaps (of another size), inner strides and signs are
 * kept. */
static void restride(const Type *before, const Type *type, int64_t *strides) {
    enum { GAP = 16 };
    bool done[RANK_MAX] = {false};
    int64_t packed_before = 0, packed = 0, old[RANK_MAX];
    memcpy(old, strides, sizeof old);
    for (uint32_t i; (i = next_axis(before, old, done)) != RANK_MAX; done[i] = true) {
        int64_t size = llabs(old[i]), stride = size;
        if (packed_before > 0 && size == packed_before)
            stride = packed;
        else if (packed_before > 0 && size > packed_before)
            stride = packed + GAP;
        strides[i] = old[i] < 0 ? -stride : stride;
        packed_before = size * (before->dim[i] > 0 ? before->dim[i] : 1);
        packed = stride * (type->dim[i] > 0 ? type->dim[i] : 1);
    }
}

static const Ir *reshape(Arena *arena, const Ir *ir, const Axes *axes, const int64_t *extent) {
    Ir *copy = arena_new(arena, Ir);
    *copy = *ir;
    copy->arena = arena;
    copy->nodes.data = arena_array(arena, IrNode, ir->nodes.count);
    copy->inputs.data = arena_array(arena, IrInput, ir->inputs.count);
    copy->outputs.data = arena_array(arena, IrOutput, ir->outputs.count);
    for (Value v = 0; v < ir->nodes.count; v++) {
        copy->nodes.data[v] = ir->nodes.data[v];
        resize(axes, extent, v, &copy->nodes.data[v].type);
    }
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        IrInput *input = &copy->inputs.data[i];
        *input = ir->inputs.data[i];
        resize(axes, extent, input->value, &input->type);
        restride(&ir->inputs.data[i].type, &input->type, input->strides);
    }
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        IrOutput *output = &copy->outputs.data[i];
        *output = ir->outputs.data[i];
        resize(axes, extent, output_id(ir, i), &output->type);
        restride(&ir->outputs.data[i].type, &output->type, output->strides);
    }
    return copy;
}

/* An axis' extent now: that of any value on it. */
static int64_t extent_of(const Ir *ir, const Axes *axes, uint32_t axis) {
    for (Value v = 1; v < ir->nodes.count; v++)
        for (uint32_t i = 0; i < ir_node(ir, v)->type.rank; i++)
            if (find(axes->root, axis_id(v, i)) == axes->ids.data[axis])
                return ir_node(ir, v)->type.dim[i];
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        for (uint32_t i = 0; i < ir->outputs.data[o].type.rank; i++)
            if (find(axes->root, axis_id(output_id(ir, o), i)) == axes->ids.data[axis])
                return ir->outputs.data[o].type.dim[i];
    return 1;
}

const Ir *gate_reshape(Arena *arena, const Ir *ir,
                       int64_t (*extent)(void *context, uint32_t axis, int64_t old),
                       void *context) {
    const Axes *axes = find_axes(arena, ir);
    int64_t *extents = arena_array(arena, int64_t, axes->count + 1);
    for (uint32_t i = 0; i < axes->count; i++)
        extents[i] = extent(context, i, extent_of(ir, axes, i));
    return reshape(arena, ir, axes, extents);
}

/* --- which extents */

/* Where one axis has several roles, a long one makes a large square: it stands in every candidate's
 * image and is evaluated for each run. */
static bool is_small(const Ir *ir) {
    enum { ELEMENTS = 1 << 20 };
    for (Value v = 1; v < ir->nodes.count; v++)
        if (type_count(&ir_node(ir, v)->type) > ELEMENTS) return false;
    return true;
}

void edge_add(Arena *arena, EdgeShapes *shapes, const Ir *ir, const char *label, EdgeData data,
              const int64_t *extent, bool misaligned) {
    EdgeShape shape = {.label = label,
                       .ir = reshape(arena, ir, shapes->axes, extent),
                       .data = data,
                       .misaligned = misaligned};
    if (is_small(shape.ir)) array_push(arena, &shapes->list, shape);
}

static void add(Arena *arena, EdgeShapes *shapes, const Ir *ir, const char *label, EdgeData data,
                int64_t inner, int64_t outer, bool misaligned) {
    const Axes *axes = shapes->axes;
    int64_t *extent = arena_array(arena, int64_t, axes->count);
    if (axes->flat || axes->count == 1) inner *= outer, outer = 1;
    for (uint32_t i = 0; i < axes->count; i++)
        extent[i] = i == 0 ? inner : i == 1 ? outer : outer < 2 ? 1 : 2;
    edge_add(arena, shapes, ir, label, data, extent, misaligned);
}

/* What maps elements to elements. */
static void add_plain(Arena *arena, EdgeShapes *shapes, const Ir *ir) {
    static const int inner[] = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 33, 127, 1023, 1025};
    bool single = shapes->axes->flat || shapes->axes->count < 2;
    const char *times = single ? "" : "3x";
    if (shapes->axes->count > 0)
        add(arena, shapes, ir, "specials", EDGE_SPECIAL, SPECIALS, SPECIALS, false);
    for (uint32_t i = 0; shapes->axes->count > 0 && i < sizeof inner / sizeof *inner; i++)
        add(arena, shapes, ir, arena_printf(arena, "%s%d", times, inner[i]), EDGE_RANDOM, inner[i],
            single ? 1 : 3, false);
    if (!single) {
        add(arena, shapes, ir, "1x1", EDGE_RANDOM, 1, 1, false);
        add(arena, shapes, ir, "1x127", EDGE_RANDOM, 127, 1, false);
        add(arena, shapes, ir, "1025x2", EDGE_RANDOM, 2, 1025, false);
        add(arena, shapes, ir, "63x65", EDGE_RANDOM, 65, 63, false);
    }
    if (shapes->axes->count == 0) add(arena, shapes, ir, "scalar", EDGE_RANDOM, 1, 1, false);
    add(arena, shapes, ir, "misaligned", EDGE_RANDOM, 257, 3, true);
}

EdgeShapes edge_shapes(Arena *arena, const Ir *ir) {
    EdgeShapes shapes = {.axes = find_axes(arena, ir), .length = -1, .rows = -1, .depth = -1};
    if (!edge_add_sums(arena, &shapes, ir)) add_plain(arena, &shapes, ir);
    return shapes;
}

const Ir *const *gate_shapes(Arena *arena, const Ir *ir, uint32_t *count) {
    EdgeShapes shapes = edge_shapes(arena, ir);
    const Ir **list = arena_array(arena, const Ir *, shapes.list.count);
    *count = shapes.list.count;
    for (uint32_t i = 0; i < *count; i++) list[i] = shapes.list.data[i].ir;
    return list;
}

/* --- walking arrays */

void edge_visit(const Type *type, const int64_t *strides, EdgeVisit *visit, void *context) {
    int64_t coordinate[RANK_MAX] = {0}, offset = 0, count = type_count(type);
    for (int64_t n = 0; n < count; n++) {
        visit(context, n, offset, coordinate);
        for (uint32_t axis = type->rank; axis-- > 0;) {
            offset += strides[axis];
            if (++coordinate[axis] < type->dim[axis]) break;
            offset -= strides[axis] * type->dim[axis];
            coordinate[axis] = 0;
        }
    }
}

void edge_extent(const Type *type, const int64_t *strides, int64_t *before, int64_t *count) {
    int64_t low = 0, high = 0;
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t reach = strides[i] * (type->dim[i] - 1);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    *before = -low;
    *count = type_count(type) == 0 ? 0 : high - low + 1;
    if (*count == 0) *before = 0;
}
