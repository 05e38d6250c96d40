/* An Ir in, the kind of kernel that it is out. One idea: reductions fix the iteration: what they
 * read spans it, and every output is of its shape, or of its shape with the reduced axes 1. */
#include "compiler/group.h"

typedef struct Finder {
    const Ir *ir;
    bool *needed;
    Group group;
} Finder;

static void mark_needed(Finder *f) {
    const Ir *ir = f->ir;
    for (uint32_t i = 0; i < ir->outputs.count; i++) f->needed[ir->outputs.data[i].value] = true;
    for (Value v = ir->nodes.count; v-- > 1;)
        for (uint32_t i = 0; f->needed[v] && i < ir_node(ir, v)->count; i++)
            f->needed[ir_node(ir, v)->arg[i]] = true;
}

/* Of an input it is a matter of strides. */
static bool transposes_computed(const Ir *ir, const IrNode *node) {
    while (node->op == IR_TRANSPOSE) node = ir_node(ir, node->arg[0]);
    return node->op != IR_INPUT;
}

/* Axes counted from the right are the same whatever the rank. */
static AxisRange from_right(AxisRange axes, uint32_t rank) {
    return (AxisRange){axes.first - (int32_t)rank, axes.end - (int32_t)rank};
}

/* --- the iteration */

static bool widen(Finder *f, const Type *shape) {
    Type wider;
    if (!type_broadcast(&f->group.shape, shape, &wider)) return false;
    f->group.shape = wider;
    return true;
}

static bool add_reduction(Finder *f, Value value, bool first) {
    const IrNode *node = ir_node(f->ir, value);
    const Type *operand = &ir_node(f->ir, node->arg[0])->type;
    AxisRange axes = from_right(node->axes, operand->rank);
    if (first) f->group.axes = axes;
    if (axes.first != f->group.axes.first || axes.end != f->group.axes.end) return false;
    return widen(f, operand);
}

static bool find_reductions(Finder *f, bool *any) {
    for (Value v = 1; v < f->ir->nodes.count; v++) {
        const IrNode *node = ir_node(f->ir, v);
        if (!f->needed[v]) continue;
        if (node->op == IR_MATMUL) return false;
        if (node->op == IR_TRANSPOSE && transposes_computed(f->ir, node)) return false;
        if (!ir_is_reduction(node)) continue;
        if (!add_reduction(f, v, !*any)) return false;
        *any = true;
    }
    return true;
}

/* --- what does not fit into it */

static bool is_reduced(const Group *group, uint32_t from_right) {
    int32_t axis = -1 - (int32_t)from_right;
    return axis >= group->axes.first && axis < group->axes.end;
}

/* The operand's own extents along the reduced axes are the iteration's: it is not broadcast there. */
static bool spans(const Finder *f, const Type *operand) {
    const Type *shape = &f->group.shape;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (is_reduced(&f->group, i) &&
            (i >= operand->rank ||
             operand->dim[operand->rank - 1 - i] != shape->dim[shape->rank - 1 - i]))
            return false;
    return true;
}

/* Of the iteration's shape (full), or with each reduced axis 1. */
static bool output_fits(const Finder *f, const Type *type, bool *full) {
    const Type *shape = &f->group.shape;
    bool reduced = true;
    *full = true;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t extent = i < type->rank ? type->dim[type->rank - 1 - i] : 1;
        int64_t whole = shape->dim[shape->rank - 1 - i];
        *full = *full && extent == whole;
        reduced = reduced && extent == (is_reduced(&f->group, i) ? 1 : whole);
    }
    return *full || reduced;
}

/* By Value: how many reductions wait for one another, from inputs up to it, itself included. */
static const uint32_t *count_levels(const Ir *ir, Arena *scratch) {
    uint32_t *levels = arena_array(scratch, uint32_t, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        for (uint32_t i = 0; i < node->count; i++)
            if (levels[node->arg[i]] > levels[v]) levels[v] = levels[node->arg[i]];
        levels[v] += ir_is_reduction(node);
    }
    return levels;
}

static bool check_reductions(Finder *f, Arena *scratch) {
    const uint32_t *levels = count_levels(f->ir, scratch);
    for (Value v = 1; v < f->ir->nodes.count; v++) {
        const IrNode *node = ir_node(f->ir, v);
        if (!f->needed[v] || !ir_is_reduction(node)) continue;
        if (!spans(f, &ir_node(f->ir, node->arg[0])->type)) return false;
        if (levels[v] > GROUP_LEVELS) return false;
        if (levels[v] > 1) f->group.one_pass = false;
    }
    return true;
}

static bool check_outputs(Finder *f) {
    for (uint32_t i = 0; i < f->ir->outputs.count; i++) {
        const IrOutput *output = &f->ir->outputs.data[i];
        bool full;
        if (!output_fits(f, &output->type, &full)) return false;
        if (full) f->group.one_pass = false;
    }
    return true;
}

/* False where no one generated kernel computes it. */
static bool classify(Finder *f, Arena *scratch) {
    Group *group = &f->group;
    bool any = false;
    if (!find_reductions(f, &any) || (any && group->axes.first == group->axes.end)) return false;
    for (uint32_t i = 0; i < f->ir->outputs.count; i++)
        if (!widen(f, &f->ir->outputs.data[i].type)) return false;
    group->one_pass = any;
    if (!check_reductions(f, scratch) || !check_outputs(f)) return false;
    if (!any) return true;
    int32_t rank = (int32_t)group->shape.rank;
    bool last = group->axes.first == -1 && group->axes.end == 0;
    group->axes = (AxisRange){group->axes.first + rank, group->axes.end + rank};
    group->kind = last ? GROUP_ROWS : GROUP_REDUCTION;
    return last || group->one_pass;
}

Group group_find(const Ir *ir) {
    Arena *scratch = arena_open();
    Finder f = {.ir = ir, .needed = arena_array(scratch, bool, ir->nodes.count)};
    mark_needed(&f);
    if (!classify(&f, scratch)) f.group = (Group){.kind = GROUP_NONE};
    arena_close(scratch);
    return f.group;
}
