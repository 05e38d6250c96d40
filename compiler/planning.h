/* What the parts of plan share: plan.c (axes, and the stage), plan_values.c (arrays and values),
 * plan_sizes.c (index width, traffic, what names stand for). */
#ifndef KF_PLANNING_H
#define KF_PLANNING_H

#include "compiler/plan.h"

static inline uint32_t planning_count(const Plan *plan) {
    return plan->loads.count + plan->stores.count;
}
static inline Access *planning_access(const Plan *plan, uint32_t i) {
    return i < plan->loads.count ? &plan->loads.data[i] : &plan->stores.data[i - plan->loads.count];
}

/* plan_values.c */
/* The input that `value` is, transposed or not; 0 if it is computed. */
Value plan_input_behind(const Ir *ir, Value value, bool *transposed);
void plan_collect_values(Arena *arena, Plan *plan); /* loads, scalars, body */
void plan_collect_stores(Arena *arena, Plan *plan);

/* plan_sizes.c; strides and extents are final */
bool plan_needs_index64(const Plan *plan);
int64_t plan_distinct_bytes(const Plan *plan, const Access *access);
int64_t plan_read_bytes(const Plan *plan); /* each input once */
void plan_bind(Arena *arena, Plan *plan);

#endif
