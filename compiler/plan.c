/* Plan: a group of outputs in, one loop nest out. One idea: every array is a pointer and a stride
 * for each axis of the group's shape (0 where it is broadcast); axes that all arrays walk as one
 * are merged, so that what is left is as few axes as the data allows. */
#include <stdlib.h>
#include <string.h>

#include "compiler/canonical.h"
#include "compiler/planning.h"

/* --- axes */

/* The array's own dimensions as the group sees them. */
typedef struct View {
    Type type;
    int64_t stride[RANK_MAX];
} View;

static View view_load(const Plan *plan, const Access *access) {
    const IrInput *input = &plan->ir->inputs.data[access->slot];
    View view = {.type = ir_node(plan->ir, access->value)->type};
    bool transposed;
    memcpy(view.stride, input->strides, sizeof view.stride);
    plan_input_behind(plan->ir, access->value, &transposed);
    if (transposed && view.type.rank >= 2) {
        int64_t *last = view.stride + view.type.rank - 2, swap = last[0];
        last[0] = last[1];
        last[1] = swap;
    }
    return view;
}

static View view_store(const Plan *plan, const Access *access) {
    const IrOutput *output = &plan->ir->outputs.data[access->slot];
    View view = {.type = output->type};
    memcpy(view.stride, output->strides, sizeof view.stride);
    return view;
}

/* Strides of access `i` over the group's axes, right-aligned; a missing or broadcast axis has
 * stride 0, and one that the group does not have, extent 1. */
static void spread(const Plan *plan, const Type *shape, uint32_t i) {
    Access *access = planning_access(plan, i);
    View view = i < plan->loads.count ? view_load(plan, access) : view_store(plan, access);
    for (uint32_t k = 1; k <= shape->rank; k++) {
        uint32_t axis = shape->rank - k, own = view.type.rank - k;
        bool broadcast = k > view.type.rank || view.type.dim[own] != shape->dim[axis];
        access->stride[axis] = broadcast ? 0 : view.stride[own];
    }
}

static bool is_reduced(const Plan *plan, uint32_t axis) {
    return axes_have(plan->group.axes, axis);
}

/* Outermost first by the first output's strides, which is the given order where it is row-major, or
 * where reductions, or who asks for `rows`, have a say in it. */
static void order_axes(Plan *plan, const Type *shape, bool rows) {
    const int64_t *stride = plan->stores.data[0].stride;
    bool given = rows || plan->count == 0 || plan->group.kind != GROUP_ELEMENTWISE;
    for (uint32_t i = 0; i < shape->rank; i++) {
        uint32_t at = i;
        for (; at > 0 && !given; at--) {
            uint32_t other = plan->order[at - 1];
            if (shape->dim[i] == 1 || shape->dim[other] == 1) break;
            if (llabs(stride[other]) >= llabs(stride[i])) break;
            plan->order[at] = other;
        }
        plan->order[at] = i;
    }
}

static bool merges(const Plan *plan, uint32_t outer, uint32_t inner, int64_t inner_extent) {
    for (uint32_t i = 0; i < planning_count(plan); i++) {
        const int64_t *stride = planning_access(plan, i)->stride;
        if (stride[outer] != stride[inner] * inner_extent) return false;
    }
    return true;
}

/* Kept and reduced axes do not mix. */
static bool joins(const Plan *plan, int32_t last, uint32_t axis, const Type *shape) {
    return last >= 0 && is_reduced(plan, (uint32_t)last) == is_reduced(plan, axis) &&
           merges(plan, (uint32_t)last, axis, shape->dim[axis]);
}

/* There is an axis to reduce over, if only of extent 1. */
static bool is_needed(const Plan *plan, uint32_t axis) {
    return is_reduced(plan, axis) && plan->reduced == 0 &&
           (int32_t)axis + 1 == plan->group.axes.end;
}

/* Where each axis goes: an axis of extent 1 nowhere, one that every array walks together with the
 * axis outside it into that one. The last stays alone where there are to be `rows`. */
static void choose_axes(Plan *plan, const Type *shape, bool rows) {
    int32_t last = PLAN_DROPPED;
    plan->rank = plan->reduced = 0;
    for (uint32_t i = 0; i < plan->full_rank; i++) {
        uint32_t axis = plan->order[i];
        bool alone = rows && i + 1 == plan->full_rank;
        plan->into[i] = PLAN_DROPPED;
        if (shape->dim[axis] == 1 && !alone && !is_needed(plan, axis)) continue;
        if (plan->rank == 0 && is_reduced(plan, axis)) plan->rank++; /* kept, of extent 1 */
        if (alone || !joins(plan, last, axis, shape)) plan->rank++;
        if (is_reduced(plan, axis)) plan->reduced |= 1u << (plan->rank - 1);
        plan->into[i] = (int32_t)plan->rank - 1;
        last = (int32_t)axis;
    }
    uint32_t least = rows ? 2 : 1;
    if (plan->rank < least && plan->full_rank > 0)
        plan->into[plan->full_rank - 1] = (int32_t)least - 1;
    if (plan->rank < least) plan->rank = least;
}

/* Merges as `into` says: an axis' stride is that of its innermost part. */
static void collapse(Plan *plan, const Type *shape) {
    for (uint32_t axis = 0; axis < plan->rank; axis++) plan->extent[axis] = 1;
    for (uint32_t i = 0; i < plan->full_rank; i++)
        if (plan->into[i] >= 0) plan->extent[plan->into[i]] *= shape->dim[plan->order[i]];
    for (uint32_t k = 0; k < planning_count(plan); k++) {
        Access *access = planning_access(plan, k);
        int64_t stride[RANK_MAX] = {0};
        if (plan->full_rank == 0) stride[plan->rank - 1] = 1;
        for (uint32_t i = 0; i < plan->full_rank; i++)
            if (plan->into[i] >= 0) stride[plan->into[i]] = access->stride[plan->order[i]];
        memcpy(access->stride, stride, sizeof stride);
    }
}

static bool is_dense(const Plan *plan, const Access *access) {
    int64_t expected = 1;
    for (uint32_t axis = plan->rank; axis-- > 0; expected *= plan->extent[axis])
        if (plan->extent[axis] != 1 && access->stride[axis] != expected) return false;
    return true;
}

bool plan_reads_down(const Plan *plan, const Access *access) {
    return plan->rank >= 2 && access->class == ACCESS_STRIDED &&
           access->stride[plan->rank - 2] == 1 && plan_stride_given(plan, access, plan->rank - 2);
}

static AccessClass classify(const Plan *plan, const Access *access) {
    int64_t inner = access->stride[plan->rank - 1], outer = 0;
    for (uint32_t axis = 0; axis + 1 < plan->rank; axis++) outer |= access->stride[axis];
    if (is_dense(plan, access)) return ACCESS_DENSE;
    if (inner == 1) return ACCESS_ROWS;
    if (inner != 0) return ACCESS_STRIDED;
    return outer != 0 ? ACCESS_SPLAT : ACCESS_SCALAR;
}

/* --- the stage */

/* Where there is one element any stride will do: the simplest kernel. Of one reduced element that
 * means that nothing there is the same for all. */
static void simplify_strides(const Plan *plan, Access *access) {
    if (plan->count == 1 && !plan->reduced) access->stride[0] = 1;
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        if (plan->reduced >> axis & 1 && plan->extent[axis] == 1) access->stride[axis] = 1;
}

/* Loads, stores and body with strides over the whole iteration. */
static Plan *start(Arena *arena, const Ir *ir, const Group *group) {
    Plan *plan = arena_new(arena, Plan);
    const Type *shape = &plan->group.shape;
    plan->ir = ir;
    plan->compute = ir->compute;
    plan->group = *group;
    plan_collect_values(arena, plan);
    plan_collect_stores(arena, plan);
    plan->full_rank = shape->rank;
    plan->count = 1;
    for (uint32_t axis = 0; axis < shape->rank; axis++) plan->count *= shape->dim[axis];
    for (uint32_t i = 0; i < planning_count(plan); i++) spread(plan, shape, i);
    return plan;
}

static Plan *finish(Arena *arena, Plan *plan) {
    plan->bytes_read = plan_read_bytes(plan);
    for (uint32_t i = 0; i < plan->stores.count; i++)
        plan->bytes_written += plan_distinct_bytes(plan, &plan->stores.data[i]);
    plan_bind(arena, plan);
    return plan;
}

static Plan *make(Arena *arena, const Ir *ir, const Group *group, bool rows) {
    Plan *plan = start(arena, ir, group);
    order_axes(plan, &plan->group.shape, rows);
    choose_axes(plan, &plan->group.shape, rows);
    collapse(plan, &plan->group.shape);
    for (uint32_t i = 0; i < planning_count(plan); i++) {
        Access *access = planning_access(plan, i);
        if (!rows) simplify_strides(plan, access);
        access->class = classify(plan, access);
    }
    plan->index64 = plan_needs_index64(plan);
    plan->text = canonical_text(arena, ir->source);
    plan->name = canonical_name(arena, ir->source);
    return finish(arena, plan);
}

Plan *plan(Arena *arena, const Ir *ir, const Group *group) {
    return make(arena, ir, group, false);
}

Plan *plan_rows(Arena *arena, const Ir *ir, const Group *group) {
    return make(arena, ir, group, true);
}

/* --- the same kernel at another shape */

/* The stride of what is merged into one axis: that of its innermost part with several elements; 0
 * if there is none, or it is broadcast. */
static int64_t merged_stride(const Plan *like, const Access *access, const Type *shape,
                             int32_t into) {
    for (uint32_t i = like->full_rank; i-- > 0;)
        if (like->into[i] == into && shape->dim[like->order[i]] != 1)
            return access->stride[like->order[i]];
    return 0;
}

/* An axis of extent 1 has no stride of its own: it takes the one that fits the other's kernel. */
static void fit_access(const Plan *like, Access *access, const int64_t *model, const Type *shape) {
    int64_t natural = 1;
    int32_t entered = PLAN_DROPPED;
    for (uint32_t i = like->full_rank; i-- > 0;) {
        uint32_t axis = like->order[i];
        int32_t into = like->into[i];
        if (into >= 0 && into != entered) {
            int64_t merged = merged_stride(like, access, shape, into);
            if (merged != 0) natural = merged;
            entered = into;
        }
        if (shape->dim[axis] == 1)
            access->stride[axis] = into >= 0 && model[into] != 0 ? natural : 0;
        if (access->stride[axis] != 0) natural = access->stride[axis] * shape->dim[axis];
    }
}

static void fit_single(const Plan *like, const Plan *plan, const Type *shape) {
    for (uint32_t k = 0; k < planning_count(plan); k++)
        fit_access(like, planning_access(plan, k), planning_access(like, k)->stride, shape);
}

/* The axes that the other merged can be merged here, the ones it dropped are 1. */
static bool collapses(const Plan *plan, const Type *shape) {
    int32_t last = PLAN_DROPPED;
    for (uint32_t i = 0; i < plan->full_rank; i++) {
        uint32_t axis = plan->order[i];
        if (plan->into[i] < 0 && shape->dim[axis] != 1) return false;
        if (plan->into[i] < 0) continue;
        bool merged = last >= 0 && plan->into[last] == plan->into[i];
        if (merged && !merges(plan, plan->order[last], axis, shape->dim[axis])) return false;
        last = (int32_t)i;
    }
    return true;
}

/* Whether code made for `a` of the other plan also walks `b`. */
static bool access_like(const Plan *like, const Access *a, const Plan *plan, const Access *b) {
    if (a->class == ACCESS_DENSE) return is_dense(plan, b);
    for (uint32_t axis = 0; axis < like->rank; axis++)
        if (!plan_stride_given(like, a, axis) && a->stride[axis] != b->stride[axis]) return false;
    return true;
}

static bool accesses_like(const Plan *like, const Plan *plan) {
    for (uint32_t i = 0; i < planning_count(plan); i++) {
        Access *access = planning_access(plan, i);
        const Access *other = planning_access(like, i);
        if (plan->count > 0 && !access_like(like, other, plan, access)) return false;
        access->class = other->class;
    }
    return true;
}

/* With extents of 1 a group may look like another kind; it is then walked as the other was. */
static bool is_like(const Group *like, Group *group) {
    if (group->kind == GROUP_NONE || group->shape.rank != like->shape.rank) return false;
    group->kind = like->kind;
    group->axes = like->axes;
    return true;
}

Plan *plan_like(Arena *arena, const Plan *like, const Ir *ir) {
    Group group = group_find(ir);
    if (!is_like(&like->group, &group)) return NULL;
    Plan *plan = start(arena, ir, &group);
    const Type *shape = &plan->group.shape;
    if (plan->full_rank != like->full_rank || planning_count(plan) != planning_count(like))
        return NULL;
    plan->rank = like->rank;
    plan->reduced = like->reduced;
    memcpy(plan->order, like->order, sizeof plan->order);
    memcpy(plan->into, like->into, sizeof plan->into);
    fit_single(like, plan, shape);
    if (plan->count > 0 && !collapses(plan, shape)) return NULL;
    collapse(plan, shape);
    if (!accesses_like(like, plan)) return NULL;
    if (plan_needs_index64(plan) && !like->index64) return NULL;
    plan->index64 = like->index64;
    plan->name = like->name;
    plan->text = like->text;
    return finish(arena, plan);
}
