/* A plan in, the names of its template out. */
#include "compiler/bound.h"

#include <string.h>

static int64_t distinct(const Plan *plan, const Access *access) {
    int64_t count = 1;
    if (access->class == ACCESS_DENSE) return plan->count;
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        if (access->stride[axis] != 0) count *= plan->extent[axis];
    return count;
}

static void add_tensor(Arena *arena, Bound *bound, const Plan *plan, const Access *access,
                       bool output) {
    BoundTensor tensor = {.name = access->name,
                          .dtype = access->dtype,
                          .buffer = access->slot + (output ? plan->ir->inputs.count : 0),
                          .output = output,
                          .full = access->class == ACCESS_DENSE ||
                                  (output && !plan_is_reduced(plan, access)),
                          .count = distinct(plan, access)};
    array_push(arena, &bound->tensors, tensor);
}

const Bound *plan_bound(Arena *arena, const Plan *plan) {
    Bound *bound = arena_new(arena, Bound);
    *bound = (Bound){.ir = plan->ir,
                     .sizes = plan->bindings,
                     .rank = plan->rank,
                     .bytes = plan->bytes_read + plan->bytes_written};
    memcpy(bound->extent, plan->extent, sizeof bound->extent);
    for (uint32_t i = 0; i < plan->loads.count; i++)
        add_tensor(arena, bound, plan, &plan->loads.data[i], false);
    for (uint32_t i = 0; i < plan->stores.count; i++)
        add_tensor(arena, bound, plan, &plan->stores.data[i], true);
    for (uint32_t i = 0; i < plan->scalars.count; i++) {
        const PlanScalar *scalar = &plan->scalars.data[i];
        array_push(arena, &bound->scalars,
                   (BoundScalar){scalar->name, scalar->dtype, scalar->argument});
    }
    return bound;
}
