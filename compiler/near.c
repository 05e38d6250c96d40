/* In: an Ir. Out: the same in near forms. One idea: first what may carry no error at all is found, from what jumps back
 * to what leads there; then forms are tried at the probes, all at once, and one by one where that is too much. */
#include "compiler/near.h"

#include "compiler/probes.h"

typedef struct Near {
    Arena *scratch;
    const Ir *ir;
    bool *exact;      /* by value: no error may reach it */
    Primitive *form;  /* by value: what it is computed by, or 0 */
    Value *condition; /* by bool: the comparison that it is, but for NaN; or 0 */
    bool *smooth;     /* by comparison: where it flips, what it chooses does not jump */
    Probes *probes;
} Near;

static const IrNode *node_of(const Near *n, Value value) {
    return ir_node(n->ir, value);
}

/* --- what a comparison chooses */

static bool is_order(const IrNode *node) {
    return ir_is_primitive(node) && ir_primitive(node) >= P_LT && ir_primitive(node) <= P_GE &&
           node->count == 2;
}

static bool is_nan_test(const Near *n, Value value) {
    const IrNode *node = node_of(n, value);
    return ir_is(n->ir, value, P_NE) && node->arg[0] == node->arg[1];
}

/* c, or c || x != x. */
static Value find_condition(const Near *n, Value value) {
    const IrNode *node = node_of(n, value);
    if (is_order(node)) return value;
    if (!ir_is(n->ir, value, P_OR)) return 0;
    for (uint32_t i = 0; i < 2; i++)
        if (is_nan_test(n, node->arg[1 - i])) return n->condition[node->arg[i]];
    return 0;
}

static bool is_number(const Near *n, Value value, double *number) {
    *number = node_of(n, value)->real;
    return node_of(n, value)->op == IR_CONST && dtype_is_float(ir_dtype(n->ir, value));
}

static bool holds(Primitive order, double a, double b) {
    switch (order) {
    case P_LT: return a < b;
    case P_LE: return a <= b;
    case P_GT: return a > b;
    default: return a >= b;
    }
}

/* x > high ? high : x, at x = low: the inner half of a clamp. */
static bool is_clamp(const Near *n, Value arm, Value x, Value low) {
    const IrNode *node = node_of(n, arm);
    double bound, other;
    if (!ir_is(n->ir, arm, P_SELECT) || !is_order(node_of(n, node->arg[0]))) return false;
    const IrNode *order = node_of(n, node->arg[0]);
    if (order->arg[0] != x || !is_number(n, low, &bound) || !is_number(n, order->arg[1], &other))
        return false;
    return node->arg[holds(ir_primitive(order), bound, other) ? 1 : 2] == x;
}

/* Both arms are what is compared, where that is equal. */
static bool meets(const Near *n, const IrNode *select, Value condition) {
    const IrNode *order = node_of(n, condition);
    Value a = order->arg[0], b = order->arg[1];
    for (uint32_t i = 1; i < 3; i++) {
        Value arm = select->arg[i];
        if (arm != a && arm != b && !is_clamp(n, arm, a, b)) return false;
    }
    return true;
}

/* What reads a comparison otherwise than to choose smoothly makes it a jump. */
static void find_smooth(const Near *n) {
    for (Value v = 1; v < n->ir->nodes.count; v++) n->smooth[v] = true;
    for (Value v = 1; v < n->ir->nodes.count; v++) {
        const IrNode *node = node_of(n, v);
        n->condition[v] = find_condition(n, v);
        for (uint32_t i = 0; i < node->count; i++) {
            Value c = n->condition[node->arg[i]];
            bool chooses = ir_is(n->ir, v, P_SELECT) && i == 0 && c && meets(n, node, c);
            if (c && !chooses && !(n->condition[v] == c && c != v)) n->smooth[c] = false;
        }
    }
    for (uint32_t i = 0; i < n->ir->outputs.count; i++)
        n->smooth[n->condition[n->ir->outputs.data[i].value]] = false;
}

/* --- what may carry no error */

static bool primitive_jumps(Primitive primitive, uint32_t operand) {
    switch (primitive) {
    case P_FLOOR:
    case P_CEIL:
    case P_TRUNC:
    case P_ROUND:
    case P_FLOORDIV:
    case P_MOD:
    case P_FMOD:
    case P_ATAN2:
    case P_EQ:
    case P_NE: return true;
    case P_SIN:
    case P_COS:
    case P_TAN:
    case P_ACOS: return true; /* they pass 0 somewhere */
    case P_COPYSIGN: return operand == 1;
    default: return false;
    }
}

/* A small error of the operand may be any of the value, relatively. */
static bool jumps(const Near *n, Value value, uint32_t operand) {
    const IrNode *node = node_of(n, value);
    if (node->op == IR_MATMUL || node->op == IR_VAR || node->op == IR_PROD) return true;
    if (node->op == IR_CAST) return !dtype_is_float(node->type.dtype);
    if (!ir_is_primitive(node) || is_nan_test(n, value)) return false;
    if (is_order(node)) return !n->smooth[value];
    return primitive_jumps(ir_primitive(node), operand);
}

/* From what is exact to what it is made of; `crossing`: and from what passes 0. */
static void spread_exact(const Near *n, bool crossing) {
    for (Value v = n->ir->nodes.count; v-- > 1;) {
        const IrNode *node = node_of(n, v);
        bool crosses = crossing && probes_cross(n->probes, v);
        bool all = (n->exact[v] && !probes_is_rounding(n->ir, node)) || crosses;
        for (uint32_t i = 0; i < node->count; i++) n->exact[node->arg[i]] |= all || jumps(n, v, i);
    }
}

static void find_exact(const Near *n) {
    for (uint32_t i = 0; i < n->ir->outputs.count; i++)
        n->exact[n->ir->outputs.data[i].value] |=
            !probes_is_half(n->ir->outputs.data[i].type.dtype);
    spread_exact(n, false);
}

/* --- forms */

static bool may_be_near(const Near *n, Value value) {
    const IrNode *node = node_of(n, value);
    return !n->exact[value] && ir_is_primitive(node) && dtype_is_float(node->type.dtype) &&
           primitive_near(ir_primitive(node), (Primitive)0);
}

static uint32_t count_candidates(const Near *n) {
    uint32_t count = 0;
    for (Value v = 1; v < n->ir->nodes.count; v++) count += may_be_near(n, v);
    return count;
}

static Primitive finest(Primitive primitive) {
    Primitive form = (Primitive)0, next = primitive_near(primitive, (Primitive)0);
    for (; next; next = primitive_near(primitive, form)) form = next;
    return form;
}

/* All candidates in their finest forms, or in none. */
static bool try_all(const Near *n) {
    for (Value v = 1; v < n->ir->nodes.count; v++)
        n->form[v] = may_be_near(n, v) ? finest(ir_primitive(node_of(n, v))) : (Primitive)0;
    if (probes_allow(n->probes, n->form)) return true;
    for (Value v = 1; v < n->ir->nodes.count; v++) n->form[v] = (Primitive)0;
    return false;
}

/* Candidates of one primitive, or one of them alone, in `form`. */
static void put(const Near *n, Value only, Primitive plain, Primitive form) {
    for (Value v = only ? only : 1; v < (only ? only + 1 : n->ir->nodes.count); v++)
        if (may_be_near(n, v) && ir_primitive(node_of(n, v)) == plain) n->form[v] = form;
}

typedef void Improve(const Near *n, Value only, Primitive plain);

static void add_finest(const Near *n, Value only, Primitive plain) {
    put(n, only, plain, finest(plain));
    if (!probes_allow(n->probes, n->form)) put(n, only, plain, (Primitive)0);
}

/* To the cheapest form that is allowed. */
static void coarsen(const Near *n, Value only, Primitive plain) {
    Primitive last = finest(plain), form = primitive_near(plain, (Primitive)0);
    if (only && !n->form[only]) return;
    for (; form != last; form = primitive_near(plain, form)) {
        put(n, only, plain, form);
        if (probes_allow(n->probes, n->form)) return;
    }
    put(n, only, plain, last);
}

/* Candidates are tried alone where their number times the program's values is no more: each try is a walk over the
 * program, of some 5 us a value. */
enum { ALONE = 4096 };

/* Each candidate, or all of one primitive, in the order of the table. */
static void improve_each(const Near *n, bool few, Improve *improve) {
    for (uint32_t form = NEAR_BEFORE + 1; form < NEAR_BEHIND; form++) {
        Primitive plain = primitive_plain((Primitive)form);
        if (primitive_near(plain, (Primitive)0) != (Primitive)form) continue;
        for (Value v = 1; few && v < n->ir->nodes.count; v++)
            if (may_be_near(n, v) && ir_primitive(node_of(n, v)) == plain) improve(n, v, plain);
        if (!few) improve(n, 0, plain);
    }
}

static void improve_all(const Near *n, bool all) {
    bool few = (uint64_t)count_candidates(n) * n->ir->nodes.count <= ALONE;
    if (!all) improve_each(n, few, add_finest);
    if (all || few) improve_each(n, few, coarsen);
}

/* --- the stage */

static const Ir *rewrite(Arena *arena, const Near *n, NearDone *done) {
    const Ir *ir = n->ir;
    Ir *to = ir_like(arena, ir);
    Value *map = arena_array(n->scratch, Value, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        IrNode node = *ir_node(ir, v);
        for (uint32_t i = 0; i < node.count; i++) node.arg[i] = map[node.arg[i]];
        if (n->form[v]) {
            done->count[ir_primitive(&node)]++;
            node.op = (uint16_t)(IR_PRIMITIVE + n->form[v]);
        }
        map[v] = ir_value(to, node);
    }
    ir_copy_interface(to, ir, map);
    return to;
}

static bool is_any(const Near *n) {
    for (Value v = 1; v < n->ir->nodes.count; v++)
        if (n->form[v]) return true;
    return false;
}

/* Values. Larger programs are left as they are: each value takes 35 KB while forms are tried. */
enum { LARGEST = 2048 };

static void choose(Near *n) {
    find_smooth(n);
    find_exact(n);
    if (count_candidates(n) == 0) return;
    n->probes = probes_open(n->scratch, n->ir);
    spread_exact(n, true);
    improve_all(n, try_all(n));
}

const Ir *near(Arena *arena, const Ir *ir, NearDone *done) {
    NearDone counts = {{0}};
    if (done) *done = counts;
    if (ir->compute != DT_F32 || ir->nodes.count > LARGEST) return ir;
    Arena *scratch = arena_open();
    Near n = {.scratch = scratch, .ir = ir};
    n.exact = arena_array(scratch, bool, ir->nodes.count);
    n.form = arena_array(scratch, Primitive, ir->nodes.count);
    n.condition = arena_array(scratch, Value, ir->nodes.count);
    n.smooth = arena_array(scratch, bool, ir->nodes.count);
    choose(&n);
    const Ir *result = is_any(&n) ? rewrite(arena, &n, &counts) : ir;
    if (done) *done = counts;
    arena_close(scratch);
    return result;
}

void near_print(Text *out, const NearDone *done) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < PRIMITIVE_COUNT; i++) total += done->count[i];
    if (total)
        text_printf(out, "%u primitive%s in near form%s: ", total, total > 1 ? "s" : "",
                    total > 1 ? "s" : "");
    const char *separator = "";
    for (uint32_t i = 0; i < PRIMITIVE_COUNT; i++) {
        if (done->count[i] == 0) continue;
        text_printf(out, "%s%s", separator, primitive_info((Primitive)i)->name);
        separator = " ";
    }
}
