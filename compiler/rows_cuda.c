/* A plan with its passes in; how arrays are read and what may be read beyond a row's end out. One
 * idea: what stands for elements outside a row is chosen so that most reductions do not notice. */
#include "compiler/rows_cuda.h"

#include <math.h>
#include <string.h>

#include "compiler/fold.h"

static const double UNKNOWN = (double)NAN, LOWEST = -(double)INFINITY;

/* --- roles */

RowsRole rows_role(const Plan *plan, const Access *access) {
    if (plan_is_reduced(plan, access)) return ROWS_UNIFORM;
    bool row = access->class != ACCESS_DENSE && !access_walks_rows(plan, access);
    return row ? ROWS_COLUMN : ROWS_KEPT;
}

/* --- elements outside a row */

/* Every value if all kept elements are `fill`, NaN where that is not known. */
static void fill_values(const Plan *plan, double fill, double *known) {
    for (Value v = 1; v < plan->ir->nodes.count; v++) known[v] = UNKNOWN;
    for (uint32_t i = 0; i < plan->loads.count; i++) {
        const Access *access = &plan->loads.data[i];
        if (rows_role(plan, access) == ROWS_KEPT)
            known[access->value] = dtype_is_float(access->dtype) ? fill : 0;
    }
}

static double operand_value(const Plan *plan, const double *known, Value value) {
    Scalar constant;
    if (ir_dtype(plan->ir, value) == DT_WEAK || !plan_constant(plan, value, &constant))
        return known[value];
    return dtype_is_float(ir_dtype(plan->ir, value)) ? constant.real : (double)constant.whole;
}

/* Of whole numbers only what zeros are converted to is followed. */
static double node_value(const Plan *plan, const IrNode *node, const double *known) {
    double args[3] = {0};
    bool real = dtype_is_float(node->type.dtype);
    for (uint32_t i = 0; i < node->count; i++) args[i] = operand_value(plan, known, node->arg[i]);
    if (node->op == IR_CONVERT || node->op == IR_CAST)
        return args[0] == 0 || (real && isinf(args[0])) ? args[0] : UNKNOWN;
    if (!ir_is_primitive(node) || !real) return UNKNOWN;
    /* exp of it is 0, but for a row of -inf, which is NaN anyway */
    if (rows_distance(plan->ir, node) && args[0] == LOWEST) return LOWEST;
    for (uint32_t i = 0; i < node->count; i++)
        if (isnan(args[i])) return UNKNOWN;
    return fold_real(ir_primitive(node), args, plan->compute);
}

/* Of several, 0 is not the largest. */
static bool is_magnitude(const IrNode *node) {
    return ir_is_primitive(node) && ir_primitive(node) == P_FABS;
}

static bool is_neutral(const Ir *ir, const IrNode *node, double value) {
    bool real = dtype_is_float(node->type.dtype);
    switch (node->op) {
    case IR_SUM:
    case IR_MEAN:
    case IR_VAR: return value == 0;
    case IR_PROD: return value == 1;
    case IR_MAX:
        return real && (value == LOWEST || (value == 0 && is_magnitude(ir_node(ir, node->arg[0]))));
    case IR_MIN: return real && value == -LOWEST;
    default: return false;
    }
}

static uint32_t find_harmless(const Plan *plan, double fill, bool *harmless) {
    Arena *scratch = arena_open();
    double *known = arena_array(scratch, double, plan->ir->nodes.count);
    uint32_t count = 0;
    fill_values(plan, fill, known);
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        const IrNode *node = ir_node(plan->ir, v);
        if (!ir_is_reduction(node))
            known[v] = node_value(plan, node, known);
        else
            count += harmless[v] =
                is_neutral(plan->ir, node, operand_value(plan, known, node->arg[0]));
    }
    arena_close(scratch);
    return count;
}

/* --- quotients */

static bool is_power_sum(const RowsCuda *facts, Value value) {
    const IrNode *sum = ir_node(facts->plan->ir, value);
    return sum->op == IR_SUM && facts->plan->compute == DT_F32 &&
           rows_power(facts->plan->ir, sum->arg[0]);
}

RowsQuotient rows_quotient(const RowsCuda *facts, Value value) {
    const IrNode *node = ir_node(facts->plan->ir, value);
    Scalar constant;
    if (!ir_is_primitive(node) || ir_meaning(node) != P_DIV || facts->rows->uniform[value] ||
        !dtype_is_float(node->type.dtype) || !facts->rows->uniform[node->arg[1]] ||
        plan_constant(facts->plan, node->arg[1], &constant))
        return ROWS_DIVIDED;
    if (is_power_sum(facts, node->arg[1])) return ROWS_MULTIPLIED;
    return ir_primitive(node) == P_DIV ? ROWS_ROUNDED : ROWS_DIVIDED;
}

RowsQuotient rows_divisor(const RowsCuda *facts, Value value) {
    for (uint32_t i = 0; i < facts->plan->body.count; i++) {
        Value v = facts->plan->body.data[i];
        RowsQuotient how = rows_quotient(facts, v);
        if (how != ROWS_DIVIDED && ir_node(facts->plan->ir, v)->arg[1] == value) return how;
    }
    return ROWS_DIVIDED;
}

/* --- squares */

static bool is_square(const Plan *plan, Value value) {
    const IrNode *node = ir_node(plan->ir, value);
    return ir_is_primitive(node) && ir_primitive(node) == P_MUL &&
           dtype_is_float(node->type.dtype) && node->arg[0] == node->arg[1];
}

/* A sum of what is not negative overflows with or without the rounding that fma leaves out. */
static const bool *find_folded(Arena *arena, const Plan *plan, const bool *harmless) {
    bool *folded = arena_array(arena, bool, plan->ir->nodes.count);
    Arena *scratch = arena_open();
    uint32_t *uses = arena_array(scratch, uint32_t, plan->ir->nodes.count);
    for (uint32_t i = 0; i < plan->body.count; i++) {
        const IrNode *node = ir_node(plan->ir, plan->body.data[i]);
        for (uint32_t k = 0; k < node->count; k++) uses[node->arg[k]]++;
    }
    for (uint32_t i = 0; i < plan->stores.count; i++) uses[plan->stores.data[i].value]++;
    for (uint32_t i = 0; i < plan->body.count; i++) {
        const IrNode *node = ir_node(plan->ir, plan->body.data[i]);
        if ((node->op == IR_SUM || node->op == IR_MEAN) && is_square(plan, node->arg[0]))
            folded[node->arg[0]] = uses[node->arg[0]] == 1 && harmless[plan->body.data[i]];
    }
    arena_close(scratch);
    return folded;
}

/* --- all of it */

RowsCuda rows_cuda_find(Arena *arena, const Plan *plan, RowsForm form) {
    const Rows *rows = rows_form(arena, plan, form);
    RowsCuda facts = {.plan = plan, .rows = rows};
    bool *zero = arena_array(arena, bool, plan->ir->nodes.count);
    bool *low = arena_array(arena, bool, plan->ir->nodes.count), kept = false;
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        facts.dense |= access->class == ACCESS_DENSE;
        if (access_is_store(plan, i)) continue;
        RowsRole role = rows_role(plan, access);
        facts.columns |= role == ROWS_COLUMN && access->class == ACCESS_ROWS;
        kept |= role == ROWS_KEPT;
    }
    for (uint32_t i = 0; i < plan->body.count; i++) {
        uint16_t op = ir_node(plan->ir, plan->body.data[i])->op;
        facts.means |= op == IR_MEAN || (op == IR_VAR && form == ROWS_SPLIT);
    }
    facts.keeps = kept && rows->passes > 1;
    facts.low = find_harmless(plan, LOWEST, low) > find_harmless(plan, 0, zero);
    facts.harmless = facts.low ? low : zero;
    facts.read = emit_read(arena, plan, &emit_language_cuda);
    facts.folded = find_folded(arena, plan, facts.harmless);
    return facts;
}
