/* The parts of rows in C that do not depend on knobs. One idea: a sweep's step takes n elements, at
 * most a vector of them, from memory or from what was kept, to its sums or to the outputs; what it
 * needs of which a row has one comes from the Row. */
#include "compiler/emit_rows_c.h"

static const EmitLanguage *const C = &emit_language_c;

const char *rows_c_type(const RowsC *e, Value value) {
    return language_type(C, e->plan, value_kind(ir_dtype(e->plan->ir, value)));
}

/* The array that the value is an element of, or NULL. */
static const Access *load_of(const RowsC *e, Value value) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->plan->loads.data[i].value == value) return &e->plan->loads.data[i];
    return NULL;
}

static bool contains(Values values, Value value) {
    for (uint32_t i = 0; i < values.count; i++)
        if (values.at[i] == value) return true;
    return false;
}

bool rows_c_ahead(const RowsC *e, const Access *access) {
    if (!rows_c_full(e, access) || access->class == ACCESS_STRIDED) return false;
    return access->class == ACCESS_DENSE || access->stride[e->plan->rank - 2] != 0;
}

const char *rows_c_step(const RowsC *e, const Access *access) {
    uint32_t inner = e->plan->rank - 1;
    if (!plan_stride_given(e->plan, access, inner)) return NULL;
    return plan_stride_name(e->scratch, access, inner);
}

static void print_sum_comment(const RowsC *e, Value value) {
    text_printf(e->out, "t%u = %s(t%u)", value, ir_op_name(rows_c_node(e, value)),
                rows_c_node(e, value)->arg[0]);
}
/* --- the row */

/* One value a row, given by some k_values or pass. */
static bool is_row_value(const RowsC *e, Value value) {
    Scalar constant;
    if (!rows_c_uniform(e, value) || plan_constant(e->plan, value, &constant)) return false;
    if (load_of(e, value)) return true;
    for (uint32_t i = 0; i < e->plan->body.count; i++)
        if (e->plan->body.data[i] == value) return true;
    return false;
}

static bool names(const RowsC *e, Values values, Value value) {
    for (uint32_t i = 0; i < values.count; i++) {
        const IrNode *node = rows_c_node(e, values.at[i]);
        for (uint32_t k = 0; k < node->count; k++)
            if (node->arg[k] == value) return true;
    }
    return false;
}

static bool is_needed_by_sweep(const RowsC *e, Value value) {
    for (uint32_t at = 0; at < e->sweeps->list.count; at++) {
        const Sweep *sweep = &e->sweeps->list.data[at];
        if (contains(sweep->roots, value) || names(e, sweep->elements, value)) return true;
    }
    return false;
}

/* Needed by another function than the one that gives it. */
static bool stands_in_row(const RowsC *e, Value value) {
    if (!is_row_value(e, value)) return false;
    if (ir_is_reduction(rows_c_node(e, value)) || is_needed_by_sweep(e, value)) return true;
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        if (e->plan->stores.data[i].value == value) return true;
    for (uint32_t pass = 0; pass <= e->sweeps->rows->passes; pass++) {
        Values values = rows_c_values(e, pass);
        if (!contains(values, value) && names(e, values, value)) return true;
    }
    return false;
}

static void print_row_arrays(const RowsC *e) {
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        const char *type = language_storage(C, access->dtype);
        bool store = access_is_store(e->plan, i);
        text_printf(e->out, "    %s%s *%s;\n", store ? "" : "const ", type, access->name);
        if (!store && rows_c_ahead(e, access))
            text_printf(e->out, "    const %s *%s_next; /* in the row behind */\n", type,
                        access->name);
        if (rows_c_step(e, access))
            text_printf(e->out, "    int64_t %s;\n", rows_c_step(e, access));
    }
}

static void print_row_type(const RowsC *e) {
    text_add(e->out, "/* What a row has one of: its place in each array, and values. */\n"
                     "typedef struct Row {\n");
    print_row_arrays(e);
    text_add(e->out, "    int64_t cols;\n");
    for (uint32_t i = 0; i < e->plan->scalars.count; i++)
        text_printf(e->out, "    %s %s;\n", dtype_info(e->plan->scalars.data[i].dtype)->c,
                    e->plan->scalars.data[i].name);
    for (Value v = 1; v < e->plan->ir->nodes.count; v++) {
        if (stands_in_row(e, v)) text_printf(e->out, "    %s t%u;\n", rows_c_type(e, v), v);
        if (e->sweeps->centred[v])
            text_printf(e->out, "    k_real rest%u; /* the mean is t%u + rest%u */\n", v, v, v);
        if (e->sweeps->mean_of[v])
            text_printf(e->out, "    k_real near%u, off%u; /* a block's mean: near + off */\n", v,
                        v);
    }
    for (uint32_t i = 0; i < e->sweeps->kept.count; i++)
        text_printf(e->out, "    k_number *kept%u;\n", e->sweeps->kept.at[i]);
    text_add(e->out, "} Row;\n");
}

/* --- statements */

/* What `values` and `roots` name that is not among them: from the row. */
static void print_from_row(const RowsC *e, Values values, Values roots) {
    bool *named = arena_array(e->scratch, bool, e->plan->ir->nodes.count);
    for (uint32_t i = 0; i < roots.count; i++) named[roots.at[i]] = true;
    for (uint32_t i = 0; i < values.count; i++) {
        const IrNode *node = rows_c_node(e, values.at[i]);
        for (uint32_t k = 0; k < node->count; k++) named[node->arg[k]] = true;
        if (sweeps_is_centred(e->sweeps, values.at[i]))
            text_printf(e->out, "    const k_real rest%u = row->rest%u;\n", node->arg[1],
                        node->arg[1]);
    }
    for (Value v = 1; v < e->plan->ir->nodes.count; v++) {
        const PlanScalar *scalar = plan_scalar(e->plan, v);
        if (!named[v]) continue;
        if (scalar)
            text_printf(e->out, "    const %s %s = row->%s;\n", dtype_info(scalar->dtype)->c,
                        scalar->name, scalar->name);
        else if (is_row_value(e, v) && !contains(values, v))
            text_printf(e->out, "    const %s t%u = row->t%u;\n", rows_c_type(e, v), v, v);
    }
}

static void print_load(const RowsC *e, const Access *access) {
    const char *step = rows_c_step(e, access), *get = dtype_name(access->dtype);
    text_printf(e->out, "    const %s t%u = ", rows_c_type(e, access->value), access->value);
    if (rows_c_uniform(e, access->value))
        text_printf(e->out, "K_COPIES(k_get_%s, row->%s);\n", get, access->name);
    else if (step)
        text_printf(e->out, "K_GATHER(k_get_%s, row->%s + i * row->%s, row->%s, n);\n", get,
                    access->name, step, step);
    else
        text_printf(e->out, "K_FETCH(k_get_%s, row->%s + i, n);\n", get, access->name);
}

static bool is_real_op(const RowsC *e, Value value, Primitive primitive) {
    const IrNode *node = rows_c_node(e, value);
    return node->op == IR_PRIMITIVE + (uint32_t)primitive && dtype_is_float(node->type.dtype);
}

/* What takes less time in a row: a - mean(a), more exactly, with the mean in two parts; exp(a -
 * max(a)), which is below 1; a division by what the row has one of. */
static void print_computed(const RowsC *e, Value value) {
    const IrNode *node = rows_c_node(e, value);
    if (sweeps_is_centred(e->sweeps, value)) {
        text_printf(e->out, "    const k_real t%u = t%u - t%u - rest%u;\n", value, node->arg[0],
                    node->arg[1], node->arg[1]);
        return;
    }
    if (is_real_op(e, value, P_EXP) && rows_power(e->plan->ir, value)) {
        text_printf(e->out, "    const k_real t%u = k_exp_below(t%u);\n", value, node->arg[0]);
        return;
    }
    if (is_real_op(e, value, P_DIV) && is_row_value(e, node->arg[1]) && e->copied) {
        text_printf(e->out, "    const k_real t%u = k_over(", value);
        emit_operand(e->out, e->plan, C, node->arg[0], true);
        text_printf(e->out, ", t%u);\n", node->arg[1]);
        return;
    }
    emit_statement(e->out, e->plan, C, value, 4);
}

static void print_elements(const RowsC *e, uint32_t at, bool kept) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    Values values = kept ? sweep->again : sweep->elements;
    print_from_row(e, values, sweep->roots);
    for (uint32_t i = 0; i < values.count; i++) {
        Value v = values.at[i];
        bool keeps = kept && sweeps_keep(e->sweeps, v);
        if (keeps && e->sweeps->first[v] < at)
            text_printf(e->out, "    const k_real t%u = *(const k_real_at *)(row->kept%u + i);\n",
                        v, v);
        else if (load_of(e, v))
            print_load(e, load_of(e, v));
        else
            print_computed(e, v);
        if (keeps && e->sweeps->first[v] == at)
            text_printf(e->out, "    *(k_real_at *)(row->kept%u + i) = t%u;\n", v, v);
    }
}

/* --- sums */

/* One value that changes nothing. */
static const char *neutral(const RowsC *e, Value value) {
    const IrNode *node = rows_c_node(e, value);
    const DTypeInfo *info = dtype_info(node->type.dtype);
    bool real = dtype_is_float(node->type.dtype);
    if (node->op == IR_PROD) return "1";
    if (node->op != IR_MAX && node->op != IR_MIN) return "0";
    if (real) return node->op == IR_MAX ? "-K_INF" : "K_INF";
    int64_t end = node->op == IR_MAX ? info->low : info->high;
    if (end == INT64_MIN || end == INT32_MIN)
        return arena_printf(e->scratch, "(%lld - 1)", (long long)(end + 1));
    return arena_printf(e->scratch, "%lld", (long long)end);
}

const char *rows_c_suffix(const RowsC *e, Value value) {
    static const char *const suffix[] = {"", "_i32", "_i64", "_bool"};
    return suffix[value_kind(ir_dtype(e->plan->ir, value))];
}

/* "k_all_i64(0)" */
const char *rows_c_start(const RowsC *e, Value value) {
    return arena_printf(e->scratch, "k_all%s(%s)", rows_c_suffix(e, value), neutral(e, value));
}

/* "k_join_max_i32": of two vectors. */
const char *rows_c_join(const RowsC *e, Value value) {
    return arena_printf(e->scratch, "k_join_%s%s", ir_op_name(rows_c_node(e, value)),
                        rows_c_suffix(e, value));
}

bool rows_c_adds(const RowsC *e, const Sweep *sweep, Value value) {
    return sweep->kind != SWEEP_ADD || sweeps_form(e->sweeps, value) != SUM_SHARED;
}

bool rows_c_wide(const RowsC *e, const Sweep *sweep, Value value) {
    return sweep->kind == SWEEP_ADD && sweeps_form(e->sweeps, value) == SUM_WIDE;
}

bool rows_c_fold(const RowsC *e, const Sweep *sweep, Value value) {
    return sweep->kind == SWEEP_ADD && sweeps_form(e->sweeps, value) == SUM_FOLD;
}

static void print_sums_type(const RowsC *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_printf(e->out, "\ntypedef struct Sums%u {\n", at);
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!rows_c_adds(e, sweep, v)) continue;
        if (rows_c_wide(e, sweep, v))
            text_printf(e->out, "    k_wide t%u[2];\n", v);
        else
            text_printf(e->out, "    %s t%u;\n", rows_c_type(e, v), v);
    }
    text_printf(e->out, "} Sums%u;\n", at);
}

/* The operand in `n` lanes, what changes nothing in the others. */
static const char *counted(const RowsC *e, Value reduction) {
    Text text = {0};
    text_printf(&text, "k_within%s(", rows_c_suffix(e, reduction));
    emit_operand(&text, e->plan, C, rows_c_node(e, reduction)->arg[0], true);
    text_printf(&text, ", n, %s)", neutral(e, reduction));
    const char *result = arena_copy(e->scratch, text_string(&text), text.length);
    text_free(&text);
    return result;
}

static void print_adding(const RowsC *e, const Sweep *sweep, Value v) {
    Value operand = rows_c_node(e, v)->arg[0];
    if (sweep->kind == SWEEP_SQUARES)
        text_printf(e->out,
                    "    const k_real d%u = k_within(t%u - row->near%u - row->off%u, n, 0);\n"
                    "    sums->t%u = k_multiply_add(d%u, d%u, sums->t%u);\n",
                    v, operand, v, v, v, v, v, v);
    else if (sweep->kind == SWEEP_SHIFT)
        text_printf(e->out, "    sums->t%u += k_within(t%u - row->near%u, n, 0);\n", v, operand, v);
    else if (rows_c_wide(e, sweep, v))
        text_printf(e->out,
                    "    const k_real w%u = %s;\n"
                    "    sums->t%u[0] += k_widen(w%u, 0);\n    sums->t%u[1] += k_widen(w%u, 1);\n",
                    v, counted(e, v), v, v, v, v);
    else if (rows_c_fold(e, sweep, v))
        text_printf(e->out, "    sums->t%u = %s(sums->t%u, %s);\n", v, rows_c_join(e, v), v,
                    counted(e, v));
    else
        text_printf(e->out, "    sums->t%u += %s;\n", v, counted(e, v));
}

static void print_store(const RowsC *e, const Access *access) {
    const char *step = rows_c_step(e, access), *put = dtype_name(access->dtype);
    if (step)
        text_printf(e->out, "    K_SCATTER(k_put_%s, row->%s + i * row->%s, row->%s, ", put,
                    access->name, step, step);
    else
        text_printf(e->out, "    K_PLACE(k_put_%s, row->%s + i, ", put, access->name);
    emit_operand(e->out, e->plan, C, access->value, true);
    text_add(e->out, step ? ", n);\n" : ", n, stream);\n");
}

/* n elements from i on, at most K_LANES. */
static void print_step(const RowsC *e, uint32_t at, bool kept) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    bool stores = sweep->kind == SWEEP_STORE;
    text_printf(e->out, "%s void k_step%u%s(const Row *row, int64_t i, int64_t n, ",
                e->copied ? "K_INLINE" : "static __attribute__((noinline))", at,
                kept ? "_kept" : "");
    if (stores)
        text_add(e->out, "int stream) {\n");
    else
        text_printf(e->out, "Sums%u *sums) {\n", at);
    print_elements(e, at, kept);
    for (uint32_t i = 0; i < sweep->reductions.count; i++)
        if (rows_c_adds(e, sweep, sweep->reductions.at[i]))
            print_adding(e, sweep, sweep->reductions.at[i]);
    for (uint32_t i = 0; stores && i < e->plan->stores.count; i++)
        if (rows_c_full(e, &e->plan->stores.data[i])) print_store(e, &e->plan->stores.data[i]);
    text_add(e->out, "}\n");
}

static void print_step_comment(const RowsC *e, const Sweep *sweep) {
    static const char *const says[] = {"",
                                       "Distances from the mean: ", "Their squares: ", "Results."};
    text_printf(e->out, "\n/* %s", says[sweep->kind]);
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        text_add(e->out, i ? ", " : "");
        print_sum_comment(e, sweep->reductions.at[i]);
    }
    text_add(e->out, " */\n");
}

bool rows_c_keeps(const RowsC *e, uint32_t at) {
    Values values = e->sweeps->list.data[at].again;
    for (uint32_t i = 0; i < values.count; i++)
        if (sweeps_keep(e->sweeps, values.at[i])) return true;
    return false;
}

static void print_steps(const RowsC *e) {
    for (uint32_t at = 0; at < e->sweeps->list.count; at++) {
        const Sweep *sweep = &e->sweeps->list.data[at];
        if (sweep->kind != SWEEP_STORE) print_sums_type(e, at);
        print_step_comment(e, sweep);
        print_step(e, at, false);
        if (rows_c_keeps(e, at)) print_step(e, at, true);
    }
}

/* --- values of the row, between sweeps */

Values rows_c_values(const RowsC *e, uint32_t pass) {
    Values body = rows_uniform(e->scratch, e->sweeps->rows, e->plan, pass);
    Value *list = arena_array(e->scratch, Value, e->plan->loads.count + body.count);
    uint32_t count = 0;
    for (uint32_t i = 0; pass == 0 && i < e->plan->loads.count; i++)
        if (rows_c_uniform(e, e->plan->loads.data[i].value))
            list[count++] = e->plan->loads.data[i].value;
    for (uint32_t i = 0; i < body.count; i++) list[count++] = body.at[i];
    return (Values){list, count};
}

static void print_uniform(const RowsC *e, uint32_t pass) {
    Values values = rows_c_values(e, pass);
    if (values.count == 0) return;
    text_printf(e->out, "\n/* Values of the row, before pass %u. */\n", pass);
    text_printf(e->out, "K_INLINE void k_values%u(Row *row) {\n", pass);
    print_from_row(e, values, (Values){NULL, 0});
    for (uint32_t i = 0; i < values.count; i++)
        if (load_of(e, values.at[i]))
            print_load(e, load_of(e, values.at[i]));
        else
            emit_statement(e->out, e->plan, C, values.at[i], 4);
    for (uint32_t i = 0; i < values.count; i++)
        if (stands_in_row(e, values.at[i]))
            text_printf(e->out, "    row->t%u = t%u;\n", values.at[i], values.at[i]);
    text_add(e->out, "}\n");
}

/* Outputs of one value a row. */
static void print_results(const RowsC *e) {
    struct {
        ARRAY(Value) list;
    } values = {0};
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!rows_c_full(e, access)) array_push(e->scratch, &values.list, access->value);
    }
    if (values.list.count == 0) return;
    text_add(e->out, "\nK_INLINE void k_results(const Row *row) {\n");
    print_from_row(e, (Values){NULL, 0}, (Values){values.list.data, values.list.count});
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (rows_c_full(e, access)) continue;
        text_printf(e->out, "    K_PLACE(k_put_%s, row->%s, ", dtype_name(access->dtype),
                    access->name);
        emit_operand(e->out, e->plan, C, access->value, true);
        text_add(e->out, ", 1, 0);\n");
    }
    text_add(e->out, "}\n");
}

void rows_c_steps(const RowsC *e) {
    print_row_type(e);
    print_steps(e);
    for (uint32_t pass = 0; pass <= e->sweeps->rows->passes; pass++) print_uniform(e, pass);
    print_results(e);
}
