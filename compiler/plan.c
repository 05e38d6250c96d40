/* Plan: a group of outputs in, one loop nest out. One idea: every array is a pointer and a stride
 * for each axis of the group's shape (0 where it is broadcast); axes that all arrays walk as one
 * are merged, so that what is left is as few axes as the data allows. */
#include "compiler/plan.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/canonical.h"

/* A thread's next element may lie as far behind the last one as there are elements. */
static const int64_t INDEX32_BYTES = INT32_MAX - (1 << 20), INDEX32_COUNT = 1 << 30;

/* --- values */

/* The input that `value` is, transposed or not; 0 if it is computed. */
static Value input_behind(const Ir *ir, Value value, bool *transposed) {
    *transposed = false;
    for (; ir_node(ir, value)->op == IR_TRANSPOSE; value = ir_node(ir, value)->arg[0])
        *transposed = !*transposed;
    return ir_node(ir, value)->op == IR_INPUT ? value : 0;
}

static bool is_weak_cast(const Ir *ir, const IrNode *node) {
    return node->count == 1 && node->type.dtype != DT_WEAK &&
           ir_node(ir, node->arg[0])->type.dtype == DT_WEAK;
}

static bool *mark_params(Arena *scratch, const Ir *ir) {
    bool *depends = arena_array(scratch, bool, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        depends[v] = node->op == IR_PARAM;
        for (uint32_t i = 0; i < node->count; i++) depends[v] |= depends[node->arg[i]];
    }
    return depends;
}

enum { NAME_SHOWN = 200 };

/* A private name for the user's, as a header's names may be long: the number tells cut ones apart.
 */
static const char *private_name(Arena *arena, const char *prefix, uint32_t number,
                                const char *name) {
    if (strlen(name) <= NAME_SHOWN) return arena_printf(arena, "%s_%s", prefix, name);
    return arena_printf(arena, "%s%u_%.*s", prefix, number, NAME_SHOWN, name);
}

static void add_load(Arena *arena, Plan *plan, Value value) {
    bool transposed;
    Value source = input_behind(plan->ir, value, &transposed);
    uint32_t slot = ir_node(plan->ir, source)->index;
    const IrInput *input = &plan->ir->inputs.data[slot];
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (plan->loads.data[i].value == value) return;
    Access access = {
        .name = private_name(arena, transposed ? "inT" : "in", slot, input->name),
        .user = input->name,
        .dtype = input->type.dtype,
        .slot = slot,
        .value = value,
        .alias = input->updated_by >= 0,
    };
    array_push(arena, &plan->loads, access);
}

static Scalar convert_weak(DType compute, DType type, double value) {
    if (dtype_is_float(type)) return (Scalar){.real = dtype_round(compute, value)};
    return (Scalar){.whole = dtype_saturate(type, value)};
}

static void add_scalar(Arena *arena, Plan *plan, Value value) {
    const IrNode *node = ir_node(plan->ir, value), *weak = ir_node(plan->ir, node->arg[0]);
    const char *name = arena_printf(arena, "s_%u", value);
    if (weak->op == IR_PARAM)
        name = private_name(arena, "s", weak->index, plan->ir->params.data[weak->index].name);
    for (uint32_t i = 0; i < plan->scalars.count; i++) /* the same param as another type */
        if (strcmp(plan->scalars.data[i].name, name) == 0)
            name = arena_printf(arena, "s_%u", value);
    PlanScalar scalar = {
        .name = name,
        .value = value,
        .dtype = dtype_is_float(node->type.dtype) ? plan->compute : DT_I64,
        .argument = convert_weak(plan->compute, node->type.dtype, ir_weak(plan->ir, node->arg[0])),
    };
    array_push(arena, &plan->scalars, scalar);
}

static void add_value(Arena *arena, Plan *plan, Value value, bool depends) {
    const IrNode *node = ir_node(plan->ir, value);
    bool transposed;
    if (input_behind(plan->ir, value, &transposed))
        add_load(arena, plan, value);
    else if (is_weak_cast(plan->ir, node) && depends)
        add_scalar(arena, plan, value);
    else if (node->op == IR_CONST || node->type.dtype == DT_WEAK || is_weak_cast(plan->ir, node))
        return;
    else if (node->op == IR_CAST || node->op == IR_CONVERT || node->op == IR_BROADCAST ||
             ir_is_primitive(node) || ir_is_reduction(node))
        array_push(arena, &plan->body, value);
    else
        abort(); /* a group has no others */
}

/* Loads, scalars and body: what the outputs need. */
static void collect_values(Arena *arena, Plan *plan) {
    const Ir *ir = plan->ir;
    Arena *scratch = arena_open();
    bool *needed = arena_array(scratch, bool, ir->nodes.count);
    bool *depends = mark_params(scratch, ir), transposed;
    for (uint32_t i = 0; i < ir->outputs.count; i++) needed[ir->outputs.data[i].value] = true;
    for (Value v = ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(ir, v);
        if (!needed[v] || input_behind(ir, v, &transposed)) continue;
        for (uint32_t i = 0; i < node->count; i++) needed[node->arg[i]] = true;
    }
    for (Value v = 1; v < ir->nodes.count; v++)
        if (needed[v]) add_value(arena, plan, v, depends[v]);
    arena_close(scratch);
}

static void collect_stores(Arena *arena, Plan *plan) {
    for (uint32_t i = 0; i < plan->ir->outputs.count; i++) {
        const IrOutput *output = &plan->ir->outputs.data[i];
        Access access = {
            .name = private_name(arena, "out", i, output->name),
            .user = output->name,
            .dtype = output->type.dtype,
            .slot = i,
            .value = output->value,
            .alias = output->updates >= 0,
        };
        array_push(arena, &plan->stores, access);
    }
}

bool plan_is_reduced(const Plan *plan, const Access *access) {
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        if (plan->reduced >> axis & 1 && access->stride[axis] != 0) return false;
    return plan->reduced != 0;
}

const PlanScalar *plan_scalar(const Plan *plan, Value value) {
    for (uint32_t i = 0; i < plan->scalars.count; i++)
        if (plan->scalars.data[i].value == value) return &plan->scalars.data[i];
    return NULL;
}

bool plan_constant(const Plan *plan, Value value, Scalar *constant) {
    const IrNode *node = ir_node(plan->ir, value);
    if (node->op == IR_CONST && dtype_is_float(node->type.dtype))
        constant->real = node->real;
    else if (node->op == IR_CONST)
        constant->whole = node->whole;
    else if (is_weak_cast(plan->ir, node) && !plan_scalar(plan, value))
        *constant = convert_weak(plan->compute, node->type.dtype, ir_weak(plan->ir, node->arg[0]));
    else
        return false;
    return true;
}

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
    input_behind(plan->ir, access->value, &transposed);
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

static uint32_t access_count(const Plan *plan) {
    return plan->loads.count + plan->stores.count;
}

static Access *access_at(const Plan *plan, uint32_t i) {
    return i < plan->loads.count ? &plan->loads.data[i] : &plan->stores.data[i - plan->loads.count];
}

/* Strides of access `i` over the group's axes, right-aligned; a missing or broadcast axis has
 * stride 0, and one that the group does not have, extent 1. */
static void spread(const Plan *plan, const Type *shape, uint32_t i) {
    Access *access = access_at(plan, i);
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
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const int64_t *stride = access_at(plan, i)->stride;
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
    for (uint32_t k = 0; k < access_count(plan); k++) {
        Access *access = access_at(plan, k);
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

static AccessClass classify(const Plan *plan, const Access *access) {
    int64_t inner = access->stride[plan->rank - 1], outer = 0;
    for (uint32_t axis = 0; axis + 1 < plan->rank; axis++) outer |= access->stride[axis];
    if (is_dense(plan, access)) return ACCESS_DENSE;
    if (inner == 1) return ACCESS_ROWS;
    if (inner != 0) return ACCESS_STRIDED;
    return outer != 0 ? ACCESS_SPLAT : ACCESS_SCALAR;
}

/* --- sizes, traffic, bindings */

static int64_t byte_reach(const Plan *plan, const Access *access) {
    int64_t up = 0, down = 0;
    for (uint32_t axis = 0; axis < plan->rank; axis++) {
        int64_t reach = access->stride[axis] * (plan->extent[axis] - 1);
        if (reach > 0)
            up += reach;
        else
            down -= reach;
    }
    return (up > down ? up : down) * dtype_info(access->dtype)->bytes;
}

static bool needs_index64(const Plan *plan) {
    if (plan->count > INDEX32_COUNT) return true;
    for (uint32_t i = 0; i < access_count(plan); i++)
        if (byte_reach(plan, access_at(plan, i)) > INDEX32_BYTES) return true;
    return false;
}

static int64_t distinct_bytes(const Plan *plan, const Access *access) {
    int64_t count = 1;
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        if (access->stride[axis] != 0) count *= plan->extent[axis];
    return count * dtype_info(access->dtype)->bytes;
}

/* An input read plain and transposed is one array. */
static int64_t read_bytes(const Plan *plan) {
    int64_t total = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i; k++)
            seen |= plan->loads.data[k].slot == plan->loads.data[i].slot;
        if (!seen && plan->count > 0) total += distinct_bytes(plan, &plan->loads.data[i]);
    }
    return total;
}

uint32_t plan_sizes(const Plan *plan, Arena *arena, const char **names) {
    uint32_t count = 0;
    if (plan->rank == 1) names[count++] = "kf_n";
    if (plan->rank >= 2) names[count++] = "kf_rows";
    if (plan->rank >= 2) names[count++] = "kf_cols";
    for (uint32_t axis = 1; axis + 1 < plan->rank; axis++)
        names[count++] = arena_printf(arena, "kf_e%u", axis);
    return count;
}

bool plan_stride_given(const Plan *plan, const Access *access, uint32_t axis) {
    if (access->class == ACCESS_DENSE || access->stride[axis] == 0) return false;
    return axis + 1 < plan->rank ||
           access->class == ACCESS_STRIDED; /* by 1 as well, in a like one */
}

const char *plan_stride_name(Arena *arena, const Access *access, uint32_t axis) {
    return arena_printf(arena, "kf_%s_s%u", access->name, axis);
}

/* (multiplier | shift << 32): i / divisor is (i * multiplier) >> shift for all i below 2^31,
 * because the multiplier is 2^shift / divisor, rounded up, by an error of at most divisor, and
 * divisor <= 2^(shift-31). */
static int64_t reciprocal(int64_t divisor) {
    uint32_t shift = 31;
    if (divisor <= 0 || divisor > INT32_MAX)
        return 0; /* then indices are 64 bits and divided as usual */
    while ((int64_t)1 << (shift - 31) < divisor) shift++;
    uint64_t multiplier = ((uint64_t)1 << shift) / (uint64_t)divisor + 1;
    return (int64_t)(multiplier | (uint64_t)shift << 32);
}

typedef struct BindingList {
    ARRAY(Binding) list;
} BindingList;

static void bind_extent(Arena *arena, BindingList *out, const char *name, int64_t extent) {
    const char *inverse = arena_printf(arena, "%s_div", name);
    array_push(arena, &out->list, (Binding){name, extent});
    array_push(arena, &out->list, (Binding){inverse, reciprocal(extent)});
}

static void bind_strides(Arena *arena, BindingList *out, const Plan *plan, const Access *access) {
    for (uint32_t axis = 0; axis < plan->rank; axis++) {
        if (!plan_stride_given(plan, access, axis)) continue;
        const char *name = plan_stride_name(arena, access, axis);
        array_push(arena, &out->list, (Binding){name, access->stride[axis]});
    }
}

/* Without columns there is no row to walk, but there may be results of rows. */
static int64_t rows_of(const Plan *plan) {
    int64_t rows = plan->count == 0 && !plan->reduced ? 0 : 1;
    for (uint32_t axis = 0; axis + 1 < plan->rank; axis++) rows *= plan->extent[axis];
    return rows;
}

/* A reduction's three axes: what is kept outside, reduced, kept inside. */
static void bind_sections(Arena *arena, BindingList *out, const Plan *plan) {
    int64_t outer = 1, depth = 1, inner = 1;
    for (uint32_t axis = 0; axis < plan->rank; axis++) {
        bool reduced = plan->reduced >> axis & 1;
        *(reduced ? &depth : plan->reduced >> axis ? &outer : &inner) *= plan->extent[axis];
    }
    bind_extent(arena, out, "kf_outer", outer);
    bind_extent(arena, out, "kf_depth", depth);
    bind_extent(arena, out, "kf_inner", inner);
}

static void bind(Arena *arena, Plan *plan) {
    BindingList out = {0};
    int64_t cols = plan->extent[plan->rank - 1];
    array_push(arena, &out.list, (Binding){"kf_n", plan->count});
    if (plan->rank >= 2) {
        array_push(arena, &out.list, (Binding){"kf_rows", rows_of(plan)});
        bind_extent(arena, &out, "kf_cols", cols);
    }
    for (uint32_t axis = 1; axis + 1 < plan->rank; axis++)
        bind_extent(arena, &out, arena_printf(arena, "kf_e%u", axis), plan->extent[axis]);
    for (uint32_t i = 0; i < access_count(plan); i++)
        bind_strides(arena, &out, plan, access_at(plan, i));
    if (plan->reduced) bind_sections(arena, &out, plan);
    plan->bindings = (Bindings){out.list.data, out.list.count};
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
    collect_values(arena, plan);
    collect_stores(arena, plan);
    plan->full_rank = shape->rank;
    plan->count = 1;
    for (uint32_t axis = 0; axis < shape->rank; axis++) plan->count *= shape->dim[axis];
    for (uint32_t i = 0; i < access_count(plan); i++) spread(plan, shape, i);
    return plan;
}

static Plan *finish(Arena *arena, Plan *plan) {
    plan->bytes_read = read_bytes(plan);
    for (uint32_t i = 0; i < plan->stores.count; i++)
        plan->bytes_written += distinct_bytes(plan, &plan->stores.data[i]);
    bind(arena, plan);
    return plan;
}

static Plan *make(Arena *arena, const Ir *ir, const Group *group, bool rows) {
    Plan *plan = start(arena, ir, group);
    order_axes(plan, &plan->group.shape, rows);
    choose_axes(plan, &plan->group.shape, rows);
    collapse(plan, &plan->group.shape);
    for (uint32_t i = 0; i < access_count(plan); i++) {
        Access *access = access_at(plan, i);
        if (!rows) simplify_strides(plan, access);
        access->class = classify(plan, access);
    }
    plan->index64 = needs_index64(plan);
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
    for (uint32_t k = 0; k < access_count(plan); k++)
        fit_access(like, access_at(plan, k), access_at(like, k)->stride, shape);
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
    for (uint32_t i = 0; i < access_count(plan); i++) {
        Access *access = access_at(plan, i);
        const Access *other = access_at(like, i);
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
    if (plan->full_rank != like->full_rank || access_count(plan) != access_count(like)) return NULL;
    plan->rank = like->rank;
    plan->reduced = like->reduced;
    memcpy(plan->order, like->order, sizeof plan->order);
    memcpy(plan->into, like->into, sizeof plan->into);
    fit_single(like, plan, shape);
    if (plan->count > 0 && !collapses(plan, shape)) return NULL;
    collapse(plan, shape);
    if (!accesses_like(like, plan)) return NULL;
    if (needs_index64(plan) && !like->index64) return NULL;
    plan->index64 = like->index64;
    plan->name = like->name;
    plan->text = like->text;
    return finish(arena, plan);
}
