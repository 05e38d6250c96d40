/* A plan with its axes in, sizes out: the width of indices, the bytes that are moved, and the numbers
 * behind the names that templates use. */
#include <stdlib.h>

#include "compiler/planning.h"

/* A thread's next element may lie as far behind the last one as there are elements. */
static const int64_t INDEX32_BYTES = INT32_MAX - (1 << 20), INDEX32_COUNT = 1 << 30;

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

int64_t plan_index32_elements(DType type) {
    int64_t count = INDEX32_BYTES / dtype_info(type)->bytes + 1;
    return count < INDEX32_COUNT ? count : INDEX32_COUNT;
}

bool plan_needs_index64(const Plan *plan) {
    if (plan->count > INDEX32_COUNT) return true;
    for (uint32_t i = 0; i < planning_count(plan); i++)
        if (byte_reach(plan, planning_access(plan, i)) > INDEX32_BYTES) return true;
    return false;
}

int64_t plan_distinct_bytes(const Plan *plan, const Access *access) {
    int64_t count = 1;
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        if (access->stride[axis] != 0) count *= plan->extent[axis];
    return count * dtype_info(access->dtype)->bytes;
}

/* An input read plain and transposed is one array. */
int64_t plan_read_bytes(const Plan *plan) {
    int64_t total = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i; k++)
            seen |= plan->loads.data[k].slot == plan->loads.data[i].slot;
        if (!seen && plan->count > 0) total += plan_distinct_bytes(plan, &plan->loads.data[i]);
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

void plan_bind(Arena *arena, Plan *plan) {
    BindingList out = {0};
    int64_t cols = plan->extent[plan->rank - 1];
    array_push(arena, &out.list, (Binding){"kf_n", plan->count});
    if (plan->rank >= 2) {
        array_push(arena, &out.list, (Binding){"kf_rows", rows_of(plan)});
        bind_extent(arena, &out, "kf_cols", cols);
    }
    for (uint32_t axis = 1; axis + 1 < plan->rank; axis++)
        bind_extent(arena, &out, arena_printf(arena, "kf_e%u", axis), plan->extent[axis]);
    for (uint32_t i = 0; i < planning_count(plan); i++)
        bind_strides(arena, &out, plan, planning_access(plan, i));
    if (plan->reduced) bind_sections(arena, &out, plan);
    plan->bindings = (Bindings){out.list.data, out.list.count};
}
