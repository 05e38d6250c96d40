/* A plan with reductions in, its values by passes out. One idea: a value's pass is the number of
 * reductions, one on top of the other, below it. */
#include "compiler/rows.h"

typedef struct ValueList {
    ARRAY(Value) list;
} ValueList;

static bool is_load(const Plan *plan, Value value, const Access **access) {
    for (uint32_t i = 0; i < plan->loads.count; i++) {
        *access = &plan->loads.data[i];
        if ((*access)->value == value) return true;
    }
    return false;
}

static bool needs_nothing(const Plan *plan, Value value) {
    Scalar constant;
    return ir_dtype(plan->ir, value) == DT_WEAK || plan_scalar(plan, value) ||
           plan_constant(plan, value, &constant);
}

/* --- pass and uniformity of every value */

static void place(const Plan *plan, bool split, uint32_t *pass, bool *uniform, Value value) {
    const IrNode *node = ir_node(plan->ir, value);
    const Access *access;
    uniform[value] = true;
    if (needs_nothing(plan, value)) return;
    if (is_load(plan, value, &access)) {
        uniform[value] = plan_is_reduced(plan, access);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        Value arg = node->arg[i];
        uint32_t behind = pass[arg] + ir_is_reduction(ir_node(plan->ir, arg));
        if (behind > pass[value]) pass[value] = behind;
        uniform[value] &= uniform[arg];
    }
    if (ir_is_reduction(node)) uniform[value] = true;
    if (node->op == IR_VAR) pass[value] += split;
}

static bool stores_elements(const Plan *plan) {
    for (uint32_t i = 0; i < plan->stores.count; i++)
        if (!plan_is_reduced(plan, &plan->stores.data[i])) return true;
    return false;
}

static const Rows *find(Arena *arena, const Plan *plan, bool split) {
    Rows *rows = arena_new(arena, Rows);
    uint32_t *pass = arena_array(arena, uint32_t, plan->ir->nodes.count);
    bool *uniform = arena_array(arena, bool, plan->ir->nodes.count);
    for (Value v = 1; v < plan->ir->nodes.count; v++) place(plan, split, pass, uniform, v);
    *rows =
        (Rows){.stores = stores_elements(plan), .split = split, .pass = pass, .uniform = uniform};
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        if (ir_is_reduction(ir_node(plan->ir, v)) && pass[v] >= rows->passes)
            rows->passes = pass[v] + 1;
    }
    rows->passes += rows->stores;
    return rows;
}

const Rows *rows_find(Arena *arena, const Plan *plan) {
    return find(arena, plan, false);
}

const Rows *rows_split(Arena *arena, const Plan *plan) {
    return find(arena, plan, true);
}

/* --- by pass */

static Values finish(const ValueList *list) {
    return (Values){list->list.data, list->list.count};
}

Values rows_reductions(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass) {
    ValueList found = {0};
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        if (ir_is_reduction(ir_node(plan->ir, v)) && rows->pass[v] == pass)
            array_push(arena, &found.list, v);
    }
    return finish(&found);
}

Values rows_uniform(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass) {
    ValueList found = {0};
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        if (rows->uniform[v] && !ir_is_reduction(ir_node(plan->ir, v)) && rows->pass[v] == pass)
            array_push(arena, &found.list, v);
    }
    return finish(&found);
}

/* The first pass of a split variance reads its operand as well. */
static bool reads_operand(const Rows *rows, const Plan *plan, Value v, uint32_t pass) {
    const IrNode *node = ir_node(plan->ir, v);
    return rows->pass[v] == pass ||
           (rows->split && node->op == IR_VAR && rows->pass[v] == pass + 1);
}

static void mark_roots(const Rows *rows, const Plan *plan, uint32_t pass, bool *needed) {
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        if (ir_is_reduction(ir_node(plan->ir, v)) && reads_operand(rows, plan, v, pass))
            needed[ir_node(plan->ir, v)->arg[0]] = true;
    }
    if (!rows->stores || pass + 1 != rows->passes) return;
    for (uint32_t i = 0; i < plan->stores.count; i++)
        if (!plan_is_reduced(plan, &plan->stores.data[i]))
            needed[plan->stores.data[i].value] = true;
}

Values rows_elements(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass) {
    return rows_elements_from(arena, rows, plan, pass, NULL);
}

Values rows_elements_from(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass,
                          const bool *there) {
    Arena *scratch = arena_open();
    bool *needed = arena_array(scratch, bool, plan->ir->nodes.count);
    ValueList found = {0};
    const Access *access;
    mark_roots(rows, plan, pass, needed);
    for (Value v = plan->ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(plan->ir, v);
        needed[v] &= !rows->uniform[v];
        if (!needed[v] || is_load(plan, v, &access) || (there && there[v])) continue;
        for (uint32_t i = 0; i < node->count; i++) needed[node->arg[i]] = true;
    }
    for (Value v = 1; v < plan->ir->nodes.count; v++)
        if (needed[v]) array_push(arena, &found.list, v);
    arena_close(scratch);
    return finish(&found);
}
