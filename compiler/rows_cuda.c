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

uint32_t rows_reads(const Plan *plan, const Rows *rows, const Access *access) {
    Arena *scratch = arena_open();
    uint32_t count = 0;
    for (uint32_t pass = 0; pass < rows->passes; pass++) {
        Values values = rows_elements(scratch, rows, plan, pass);
        for (uint32_t i = 0; i < values.count; i++) count += values.at[i] == access->value;
    }
    arena_close(scratch);
    return count;
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

/* x - max(x) where x is -inf: exp of it is 0, but for a row that is -inf (or NaN), which is NaN
 * anyway. */
static bool is_below_all(const Plan *plan, const IrNode *node, const double *known) {
    const IrNode *top = ir_node(plan->ir, node->arg[1]);
    return ir_is_primitive(node) && ir_primitive(node) == P_SUB && top->op == IR_MAX &&
           top->arg[0] == node->arg[0] && known[node->arg[0]] == LOWEST;
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
    if (is_below_all(plan, node, known)) return LOWEST;
    for (uint32_t i = 0; i < node->count; i++)
        if (isnan(args[i])) return UNKNOWN;
    return fold_real(ir_primitive(node), args, plan->compute);
}

static bool is_neutral(const IrNode *node, double value) {
    bool real = dtype_is_float(node->type.dtype);
    switch (node->op) {
    case IR_SUM:
    case IR_MEAN:
    case IR_VAR: return value == 0;
    case IR_PROD: return value == 1;
    case IR_MAX: return real && value == LOWEST;
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
            count += harmless[v] = is_neutral(node, operand_value(plan, known, node->arg[0]));
    }
    arena_close(scratch);
    return count;
}

/* --- all of it */

RowsCuda rows_cuda_find(Arena *arena, const Plan *plan, const Rows *rows) {
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
        facts.means |= op == IR_MEAN || op == IR_VAR;
    }
    facts.keeps = kept && rows->passes > 1;
    facts.low = find_harmless(plan, LOWEST, low) > find_harmless(plan, 0, zero);
    facts.harmless = facts.low ? low : zero;
    return facts;
}
