/* In: a plan, and which of its loads hold still. Out: its body in two pieces. One idea: walking from
 * the stores towards the loads stops at values that hold still and cost something; these are what
 * is kept. */
#include "compiler/hoist.h"

#include <string.h>

typedef struct Search {
    const Plan *plan;
    bool *still, *costly, *kept; /* by Value */
    Arena *arena;
} Search;

static bool is_costly(const IrNode *node) {
    if (!ir_is_primitive(node)) return false;
    switch (ir_meaning(node)) {
    case P_DIV:
    case P_FLOORDIV:
    case P_MOD:
    case P_SQRT:
    case P_FMOD: return true;
    default: return primitive_errs(ir_meaning(node));
    }
}

/* Of the body's values: those that depend on what holds still alone and cost something are kept. A
 * bool is not: what it compares may be. */
static void mark(const Search *s) {
    for (uint32_t i = 0; i < s->plan->body.count; i++) {
        Value v = s->plan->body.data[i];
        const IrNode *node = ir_node(s->plan->ir, v);
        s->still[v] = true;
        s->costly[v] = is_costly(node);
        for (uint32_t k = 0; k < node->count; k++) {
            s->still[v] &= s->still[node->arg[k]];
            s->costly[v] |= s->costly[node->arg[k]];
        }
        s->kept[v] = s->still[v] && s->costly[v] && node->type.dtype != DT_BOOL;
    }
}

/* needed[] of roots, down to the loads or to what is kept. */
static void need(const Search *s, bool *needed, bool stop) {
    for (uint32_t i = s->plan->body.count; i-- > 0;) {
        Value v = s->plan->body.data[i];
        const IrNode *node = ir_node(s->plan->ir, v);
        if (!needed[v] || (stop && s->kept[v])) continue;
        for (uint32_t k = 0; k < node->count; k++) needed[node->arg[k]] = true;
    }
}

static Piece piece(const Search *s, const bool *needed, bool stop) {
    Piece result = {0};
    for (uint32_t i = 0; i < s->plan->loads.count; i++)
        if (needed[s->plan->loads.data[i].value]) array_push(s->arena, &result.loads, i);
    for (uint32_t i = 0; i < s->plan->body.count; i++) {
        Value v = s->plan->body.data[i];
        if (needed[v] && !(stop && s->kept[v])) array_push(s->arena, &result.body, v);
    }
    return result;
}

/* What the stores need, down to what is kept. */
static bool *find_after(const Search *s) {
    bool *after = arena_array(s->arena, bool, s->plan->ir->nodes.count);
    for (uint32_t i = 0; i < s->plan->stores.count; i++)
        after[s->plan->stores.data[i].value] = true;
    need(s, after, true);
    return after;
}

Hoist hoist(Arena *arena, const Plan *plan, const bool *still) {
    Hoist result = {0};
    uint32_t count = plan->ir->nodes.count;
    Search s = {plan, arena_array(arena, bool, count), arena_array(arena, bool, count),
                arena_array(arena, bool, count), arena};
    bool *before = arena_array(arena, bool, count);
    memset(s.still, still != NULL, count); /* literals and scalars */
    for (uint32_t i = 0; still && i < plan->loads.count; i++)
        s.still[plan->loads.data[i].value] = still[i];
    mark(&s);
    const bool *after = find_after(&s);
    for (uint32_t i = 0; i < plan->body.count; i++)
        if (s.kept[plan->body.data[i]] && after[plan->body.data[i]])
            array_push(arena, &result.values, plan->body.data[i]);
    if (result.values.count > HOIST_MOST) {
        result.values.count = 0;
        memset(s.kept, false, count);
        after = find_after(&s);
    }
    for (uint32_t i = 0; i < result.values.count; i++) before[result.values.data[i]] = true;
    need(&s, before, false);
    result.before = piece(&s, before, false);
    result.after = piece(&s, after, true);
    return result;
}
