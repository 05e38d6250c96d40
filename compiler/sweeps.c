/* A plan with reductions in, its loops over a row out. One idea: a sweep is known by its roots, the
 * values of elements that it adds up or stores; what it computes is what they are made of. */
#include "compiler/sweeps.h"

#include <string.h>

typedef struct ValueList {
    ARRAY(Value) list;
} ValueList;

static Values finish(const ValueList *list) {
    return (Values){list->list.data, list->list.count};
}

static const IrNode *node_of(const Sweeps *s, Value value) {
    return ir_node(s->plan->ir, value);
}

static bool is_load(const Plan *plan, Value value) {
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (plan->loads.data[i].value == value) return true;
    return false;
}

/* --- patterns */

/* An element less a mean. */
static bool is_off_mean(const Sweeps *s, Value value) {
    const IrNode *node = node_of(s, value);
    return node->op == IR_PRIMITIVE + P_SUB && dtype_is_float(node->type.dtype) &&
           node_of(s, node->arg[1])->op == IR_MEAN && !s->rows->uniform[node->arg[0]];
}

bool sweeps_is_centred(const Sweeps *s, Value value) {
    return is_off_mean(s, value) && sweeps_form(s, node_of(s, value)->arg[1]) == SUM_WIDE;
}

Value sweeps_online(const Sweeps *s, Value reduction) {
    Value most = s->online->largest[reduction];
    return most && s->rows->pass[most] + 1 == s->rows->pass[reduction] ? most : 0;
}

static bool has_var(const Sweeps *s, Values reductions) {
    for (uint32_t i = 0; i < reductions.count; i++)
        if (node_of(s, reductions.at[i])->op == IR_VAR) return true;
    return false;
}

bool sweeps_join(const Sweeps *s, uint32_t pass) {
    bool all = pass + 1 < s->rows->passes - s->rows->stores;
    for (uint32_t i = 0; i < s->list.count; i++) {
        const Sweep *sweep = &s->list.data[i];
        if (sweep->kind != SWEEP_ADD) continue;
        if (sweep->pass == pass) all &= !has_var(s, sweep->reductions);
        for (uint32_t k = 0; sweep->pass == pass + 1 && k < sweep->reductions.count; k++)
            all &= sweeps_online(s, sweep->reductions.at[k]) != 0;
    }
    return all;
}

/* --- how each reduction is added up */

SumForm sweeps_form(const Sweeps *s, Value reduction) {
    const IrNode *node = node_of(s, reduction);
    bool sum = node->op == IR_SUM || node->op == IR_MEAN || node->op == IR_VAR;
    if (!sum || !dtype_is_float(node->type.dtype)) return SUM_FOLD;
    if (node->op == IR_VAR && s->mean_of[reduction] != reduction) return SUM_SHARED;
    bool wide = s->centred[reduction] || node->op == IR_VAR;
    return wide && s->plan->compute == DT_F32 ? SUM_WIDE : SUM_PIECES;
}

/* Vars and the means they share; means that are subtracted from elements, by a var at least. */
static void pair_means(Arena *arena, Sweeps *s) {
    const Ir *ir = s->plan->ir;
    Value *mean_of = arena_array(arena, Value, ir->nodes.count);
    bool *centred = arena_array(arena, bool, ir->nodes.count);
    for (uint32_t i = 0; i < s->plan->body.count; i++) {
        Value v = s->plan->body.data[i];
        if (is_off_mean(s, v)) centred[node_of(s, v)->arg[1]] = true;
        if (node_of(s, v)->op != IR_VAR) continue;
        mean_of[v] = v;
        for (uint32_t k = 0; k < s->plan->body.count; k++) {
            Value mean = s->plan->body.data[k];
            if (node_of(s, mean)->op != IR_MEAN ||
                node_of(s, mean)->arg[0] != node_of(s, v)->arg[0])
                continue;
            mean_of[v] = mean;
            centred[mean] = true;
        }
    }
    s->mean_of = mean_of;
    s->centred = centred;
}

/* --- what a sweep computes */

static bool contains(Values values, Value value) {
    for (uint32_t i = 0; i < values.count; i++)
        if (values.at[i] == value) return true;
    return false;
}

bool sweeps_keep(const Sweeps *s, Value value) {
    return contains(s->kept, value);
}

/* Values of elements below the roots; below what `stops`, none. */
static Values cone(Arena *arena, const Sweeps *s, Values roots, const bool *stops) {
    Arena *scratch = arena_open();
    const Ir *ir = s->plan->ir;
    bool *needed = arena_array(scratch, bool, ir->nodes.count);
    ValueList found = {0};
    for (uint32_t i = 0; i < roots.count; i++) needed[roots.at[i]] = true;
    for (Value v = ir->nodes.count; v-- > 1;) {
        needed[v] &= !s->rows->uniform[v];
        if (!needed[v] || is_load(s->plan, v) || (stops && stops[v])) continue;
        for (uint32_t i = 0; i < ir_node(ir, v)->count; i++) needed[ir_node(ir, v)->arg[i]] = true;
    }
    for (Value v = 1; v < ir->nodes.count; v++)
        if (needed[v]) array_push(arena, &found.list, v);
    arena_close(scratch);
    return finish(&found);
}

static void add_sweep(Arena *arena, Sweeps *s, SweepKind kind, uint32_t pass, Values reductions) {
    Sweep sweep = {.kind = kind, .pass = pass, .reductions = reductions};
    ValueList roots = {0};
    for (uint32_t i = 0; i < reductions.count; i++)
        array_push(arena, &roots.list, node_of(s, reductions.at[i])->arg[0]);
    for (uint32_t i = 0; kind == SWEEP_STORE && i < s->plan->stores.count; i++)
        if (!plan_is_reduced(s->plan, &s->plan->stores.data[i]))
            array_push(arena, &roots.list, s->plan->stores.data[i].value);
    sweep.roots = finish(&roots);
    sweep.elements = sweep.again = cone(arena, s, sweep.roots, NULL);
    array_push(arena, &s->list, sweep);
}

static void add_pass(Arena *arena, Sweeps *s, uint32_t pass) {
    Values reductions = rows_reductions(arena, s->rows, s->plan, pass);
    ValueList vars = {0};
    for (uint32_t i = 0; i < reductions.count; i++)
        if (node_of(s, reductions.at[i])->op == IR_VAR)
            array_push(arena, &vars.list, reductions.at[i]);
    add_sweep(arena, s, SWEEP_ADD, pass, reductions);
    if (vars.list.count && s->plan->compute == DT_F64)
        add_sweep(arena, s, SWEEP_SHIFT, pass, finish(&vars));
    if (vars.list.count) add_sweep(arena, s, SWEEP_SQUARES, pass, finish(&vars));
}

/* --- what is kept */

/* A function of an element, or of what lies far apart. */
static bool is_costly(const Sweeps *s, Value value) {
    const IrNode *node = node_of(s, value);
    for (uint32_t i = 0; i < s->plan->loads.count; i++)
        if (s->plan->loads.data[i].value == value)
            return s->plan->loads.data[i].class == ACCESS_STRIDED;
    return ir_is_primitive(node) && primitive_errs(ir_primitive(node));
}

static void find_first(Arena *arena, Sweeps *s) {
    uint32_t *first = arena_array(arena, uint32_t, s->plan->ir->nodes.count);
    for (Value v = 0; v < s->plan->ir->nodes.count; v++) first[v] = UINT32_MAX;
    for (uint32_t i = s->list.count; i-- > 0;)
        for (uint32_t k = 0; k < s->list.data[i].elements.count; k++)
            first[s->list.data[i].elements.at[k]] = i;
    s->first = first;
}

/* Values computed before and needed again, of the compute type. */
static bool *computed_before(Arena *scratch, const Sweeps *s, uint32_t at) {
    bool *before = arena_array(scratch, bool, s->plan->ir->nodes.count);
    Values elements = s->list.data[at].elements;
    for (uint32_t i = 0; i < elements.count; i++) {
        Value v = elements.at[i];
        before[v] = s->first[v] < at && dtype_is_float(ir_dtype(s->plan->ir, v));
    }
    return before;
}

static bool costs(Arena *scratch, const Sweeps *s, Value value) {
    Values below = cone(scratch, s, (Values){&value, 1}, NULL);
    for (uint32_t i = 0; i < below.count; i++)
        if (is_costly(s, below.at[i])) return true;
    return false;
}

/* Of what was computed before, the last ones that a sweep needs. */
static void mark_kept(Arena *scratch, const Sweeps *s, uint32_t at, bool *kept) {
    const bool *before = computed_before(scratch, s, at);
    Values needed = cone(scratch, s, s->list.data[at].roots, before);
    for (uint32_t i = 0; i < needed.count; i++)
        if (before[needed.at[i]] && costs(scratch, s, needed.at[i])) kept[needed.at[i]] = true;
}

enum { KEPT = 4 }; /* buffers of a row */

static void keep(Arena *arena, Sweeps *s) {
    Arena *scratch = arena_open();
    uint32_t values = s->plan->ir->nodes.count;
    bool *kept = arena_array(scratch, bool, values), *stops = arena_array(scratch, bool, values);
    ValueList list = {0};
    for (uint32_t at = 1; at < s->list.count; at++) mark_kept(scratch, s, at, kept);
    for (Value v = 1; v < values; v++)
        if (kept[v] && list.list.count < KEPT) array_push(arena, &list.list, v);
    s->kept = finish(&list);
    for (uint32_t at = 1; s->kept.count && at < s->list.count; at++) {
        for (Value v = 1; v < values; v++) stops[v] = sweeps_keep(s, v) && s->first[v] < at;
        s->list.data[at].again = cone(arena, s, s->list.data[at].roots, stops);
    }
    arena_close(scratch);
}

const Sweeps *sweeps_find(Arena *arena, const Plan *plan) {
    Sweeps *s = arena_new(arena, Sweeps);
    s->plan = plan;
    s->rows = rows_find(arena, plan);
    s->online = rows_form(arena, plan, ROWS_ONLINE);
    pair_means(arena, s);
    for (uint32_t pass = 0; pass + s->rows->stores < s->rows->passes; pass++)
        add_pass(arena, s, pass);
    if (s->rows->stores) add_sweep(arena, s, SWEEP_STORE, s->rows->passes - 1, (Values){NULL, 0});
    find_first(arena, s);
    keep(arena, s);
    return s;
}
