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

typedef struct Finder {
    const Plan *plan;
    RowsForm form;
    uint32_t *pass;
    bool *uniform;
    Value *power, *largest;
    Value *factor; /* by Value: the exp(a - max(a)) that it is a multiple of, or 0 */
} Finder;

/* By Value, whether it is made of `largest`. */
static bool *find_dependents(Arena *scratch, const Ir *ir, Value largest, Value last) {
    bool *depends = arena_array(scratch, bool, ir->nodes.count);
    depends[largest] = true;
    for (Value v = largest + 1; v <= last; v++)
        for (uint32_t i = 0; i < ir_node(ir, v)->count; i++)
            depends[v] |= depends[ir_node(ir, v)->arg[i]];
    return depends;
}

static bool depends_on(const Ir *ir, Value value, Value largest) {
    Arena *scratch = arena_open();
    bool result = value >= largest && find_dependents(scratch, ir, largest, value)[value];
    arena_close(scratch);
    return result;
}

Value rows_distance(const Ir *ir, const IrNode *node) {
    if (!ir_is_primitive(node) || ir_primitive(node) != P_SUB) return 0;
    const IrNode *top = ir_node(ir, node->arg[1]);
    return top->op == IR_MAX && top->arg[0] == node->arg[0] ? node->arg[1] : 0;
}

Value rows_power(const Ir *ir, Value value) {
    const IrNode *node = ir_node(ir, value);
    if (!ir_is_primitive(node)) return 0;
    if (ir_meaning(node) != P_EXP && ir_meaning(node) != P_EXP2) return 0;
    return rows_distance(ir, ir_node(ir, node->arg[0]));
}

/* A power of a distance, or the one in a product with what does not depend on its max. */
static void find_factor(Finder *f, Value value) {
    const Ir *ir = f->plan->ir;
    const IrNode *node = ir_node(ir, value);
    bool quotient = ir_is_primitive(node) && ir_meaning(node) == P_DIV;
    bool product = ir_is_primitive(node) && ir_primitive(node) == P_MUL;
    Value power = rows_power(ir, value) ? value : 0;
    for (uint32_t i = 0; i < 2 && !power && (product || (quotient && i == 0)); i++) {
        power = f->factor[node->arg[i]];
        if (power && depends_on(ir, node->arg[1 - i], rows_power(ir, power))) power = 0;
    }
    f->factor[value] = power;
}

/* Whatever else `value` is made of must be there in the max's pass. */
static bool is_ready(const Finder *f, Value value, Value largest) {
    const Ir *ir = f->plan->ir;
    Arena *scratch = arena_open();
    const bool *depends = find_dependents(scratch, ir, largest, value);
    bool *needed = arena_array(scratch, bool, ir->nodes.count), ready = true;
    needed[value] = true;
    for (Value v = value; v > largest; v--)
        for (uint32_t i = 0; needed[v] && depends[v] && i < ir_node(ir, v)->count; i++) {
            Value arg = ir_node(ir, v)->arg[i];
            needed[arg] = true;
            ready &= depends[arg] ||
                     f->pass[arg] + ir_is_reduction(ir_node(ir, arg)) <= f->pass[largest];
        }
    arena_close(scratch);
    return ready;
}

static void place_reduction(Finder *f, Value value) {
    const IrNode *node = ir_node(f->plan->ir, value);
    f->uniform[value] = true;
    if (node->op == IR_VAR && f->form == ROWS_SPLIT) f->pass[value]++;
    if (f->form != ROWS_ONLINE || (node->op != IR_SUM && node->op != IR_MEAN)) return;
    Value power = f->factor[node->arg[0]], largest = power ? rows_power(f->plan->ir, power) : 0;
    if (!power || !is_ready(f, node->arg[0], largest)) return;
    f->power[value] = power;
    f->largest[value] = largest;
    f->pass[value] = f->pass[largest];
}

static void place(Finder *f, Value value) {
    const IrNode *node = ir_node(f->plan->ir, value);
    const Access *access;
    f->uniform[value] = true;
    if (needs_nothing(f->plan, value)) return;
    if (is_load(f->plan, value, &access)) {
        f->uniform[value] = plan_is_reduced(f->plan, access);
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        Value arg = node->arg[i];
        uint32_t behind = f->pass[arg] + ir_is_reduction(ir_node(f->plan->ir, arg));
        if (behind > f->pass[value]) f->pass[value] = behind;
        f->uniform[value] &= f->uniform[arg];
    }
    if (ir_is_reduction(node))
        place_reduction(f, value);
    else if (dtype_is_float(node->type.dtype))
        find_factor(f, value);
}

/* Says where outputs are stored; whether that takes a pass of its own. */
static bool place_stores(const Finder *f, uint32_t passes, uint32_t *stored) {
    bool own = false;
    for (uint32_t i = 0; i < f->plan->stores.count; i++) {
        const Access *access = &f->plan->stores.data[i];
        Value v = access->value;
        uint32_t there = f->pass[v] + ir_is_reduction(ir_node(f->plan->ir, v));
        bool wait = f->form == ROWS_WHOLE || there >= passes;
        stored[i] = wait ? passes : access->alias ? passes - 1 : there;
        if (plan_is_reduced(f->plan, access)) stored[i] = UINT32_MAX;
        own |= stored[i] == passes;
    }
    return own;
}

const Rows *rows_form(Arena *arena, const Plan *plan, RowsForm form) {
    Rows *rows = arena_new(arena, Rows);
    uint32_t count = plan->ir->nodes.count;
    uint32_t *stored = arena_array(arena, uint32_t, plan->stores.count + 1);
    Finder f = {.plan = plan,
                .form = form,
                .pass = arena_array(arena, uint32_t, count),
                .uniform = arena_array(arena, bool, count),
                .power = arena_array(arena, Value, count),
                .largest = arena_array(arena, Value, count),
                .factor = arena_array(arena, Value, count)};
    for (Value v = 1; v < count; v++) place(&f, v);
    *rows = (Rows){.form = form,
                   .pass = f.pass,
                   .uniform = f.uniform,
                   .stored = stored,
                   .power = f.power,
                   .largest = f.largest};
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        if (ir_is_reduction(ir_node(plan->ir, v)) && f.pass[v] >= rows->passes)
            rows->passes = f.pass[v] + 1;
    }
    rows->stores = place_stores(&f, rows->passes, stored);
    rows->passes += rows->stores;
    return rows;
}

const Rows *rows_find(Arena *arena, const Plan *plan) {
    return rows_form(arena, plan, ROWS_WHOLE);
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
static bool reads_operand(const Rows *rows, const IrNode *node, Value v, uint32_t pass) {
    return rows->pass[v] == pass ||
           (rows->form == ROWS_SPLIT && node->op == IR_VAR && rows->pass[v] == pass + 1);
}

/* What reductions and stores are made of directly. */
static void mark_roots(const Rows *rows, const Plan *plan, uint32_t pass, bool *roots) {
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        const IrNode *node = ir_node(plan->ir, v);
        if (ir_is_reduction(node) && reads_operand(rows, node, v, pass)) roots[node->arg[0]] = true;
    }
    for (uint32_t i = 0; i < plan->stores.count; i++)
        if (rows->stored[i] == pass) roots[plan->stores.data[i].value] = true;
}

Values rows_made_of(Arena *arena, const Rows *rows, const Plan *plan, const bool *roots) {
    Arena *scratch = arena_open();
    bool *needed = arena_array(scratch, bool, plan->ir->nodes.count);
    ValueList found = {0};
    const Access *access;
    for (Value v = plan->ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(plan->ir, v);
        needed[v] = (needed[v] || roots[v]) && !rows->uniform[v];
        if (!needed[v] || is_load(plan, v, &access)) continue;
        for (uint32_t i = 0; i < node->count; i++) needed[node->arg[i]] = true;
    }
    for (Value v = 1; v < plan->ir->nodes.count; v++)
        if (needed[v]) array_push(arena, &found.list, v);
    arena_close(scratch);
    return finish(&found);
}

Values rows_elements(Arena *arena, const Rows *rows, const Plan *plan, uint32_t pass) {
    Arena *scratch = arena_open();
    bool *roots = arena_array(scratch, bool, plan->ir->nodes.count);
    mark_roots(rows, plan, pass, roots);
    Values values = rows_made_of(arena, rows, plan, roots);
    arena_close(scratch);
    return values;
}
