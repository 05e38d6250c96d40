/* A plan with reductions over rows in, C for the host compiler out. One idea: a thread does whole rows,
 * in as many sweeps as its reductions need (compiler/sweeps.h), each a function of one vector of
 * elements; all that a row has besides its elements, values of which there is one, stands in a Row,
 * K_LANES copies each, so that they come from the same vector functions. */
#include <string.h>

#include "compiler/emit_c.h"
#include "compiler/sweeps.h"

static const EmitLanguage *const C = &emit_language_c;

typedef struct Emitter {
    const Plan *plan;
    const Sweeps *sweeps;
    Text *out;
    Arena *scratch;
    Parameters parameters;
} Emitter;

static const IrNode *node_of(const Emitter *e, Value value) {
    return ir_node(e->plan->ir, value);
}

static const char *type_of(const Emitter *e, Value value) {
    return language_type(C, e->plan, value_kind(ir_dtype(e->plan->ir, value)));
}

static bool is_uniform(const Emitter *e, Value value) {
    return e->sweeps->rows->uniform[value];
}

static const Access *load_of(const Emitter *e, Value value) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->plan->loads.data[i].value == value) return &e->plan->loads.data[i];
    return NULL;
}

static bool contains(Values values, Value value) {
    for (uint32_t i = 0; i < values.count; i++)
        if (values.at[i] == value) return true;
    return false;
}

static bool is_full(const Emitter *e, const Access *access) {
    return !plan_is_reduced(e->plan, access);
}

/* An input of which the next row may be fetched ahead. */
static bool is_ahead(const Emitter *e, const Access *access) {
    return access_walks_rows(e->plan, access) && is_full(e, access) &&
           access->class != ACCESS_STRIDED;
}

static const char *step_name(const Emitter *e, const Access *access) {
    uint32_t inner = e->plan->rank - 1;
    if (!plan_stride_given(e->plan, access, inner)) return NULL;
    return plan_stride_name(e->scratch, access, inner);
}

static void print_sum_comment(const Emitter *e, Value value) {
    text_printf(e->out, "t%u = %s(t%u)", value, ir_op_name(node_of(e, value)),
                node_of(e, value)->arg[0]);
}

/* --- the row */

static bool is_row_value(const Emitter *e, Value value) {
    Scalar constant;
    if (!is_uniform(e, value) || plan_constant(e->plan, value, &constant)) return false;
    if (load_of(e, value)) return true;
    for (uint32_t i = 0; i < e->plan->body.count; i++)
        if (e->plan->body.data[i] == value) return true;
    return false;
}

static void print_row_arrays(const Emitter *e) {
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        const char *type = language_storage(C, access->dtype);
        bool store = access_is_store(e->plan, i);
        text_printf(e->out, "    %s%s *%s;\n", store ? "" : "const ", type, access->name);
        if (!store && is_ahead(e, access))
            text_printf(e->out, "    const %s *%s_next; /* in the row behind */\n", type,
                        access->name);
        if (step_name(e, access)) text_printf(e->out, "    int64_t %s;\n", step_name(e, access));
    }
}

static void print_row_type(const Emitter *e) {
    text_add(e->out, "/* What a row has one of: its place in each array, and values. */\n"
                     "typedef struct Row {\n");
    print_row_arrays(e);
    text_add(e->out, "    int64_t cols;\n");
    for (uint32_t i = 0; i < e->plan->scalars.count; i++)
        text_printf(e->out, "    %s %s;\n", dtype_info(e->plan->scalars.data[i].dtype)->c,
                    e->plan->scalars.data[i].name);
    for (Value v = 1; v < e->plan->ir->nodes.count; v++) {
        if (is_row_value(e, v)) text_printf(e->out, "    %s t%u;\n", type_of(e, v), v);
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
static void print_from_row(const Emitter *e, Values values, Values roots) {
    bool *named = arena_array(e->scratch, bool, e->plan->ir->nodes.count);
    for (uint32_t i = 0; i < roots.count; i++) named[roots.at[i]] = true;
    for (uint32_t i = 0; i < values.count; i++) {
        const IrNode *node = node_of(e, values.at[i]);
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
            text_printf(e->out, "    const %s t%u = row->t%u;\n", type_of(e, v), v, v);
    }
}

static void print_load(const Emitter *e, const Access *access) {
    const char *step = step_name(e, access), *get = dtype_name(access->dtype);
    text_printf(e->out, "    const %s t%u = ", type_of(e, access->value), access->value);
    if (is_uniform(e, access->value))
        text_printf(e->out, "K_COPIES(k_get_%s, row->%s);\n", get, access->name);
    else if (step)
        text_printf(e->out, "K_GATHER(k_get_%s, row->%s + i * row->%s, row->%s, n);\n", get,
                    access->name, step, step);
    else
        text_printf(e->out, "K_FETCH(k_get_%s, row->%s + i, n);\n", get, access->name);
}

/* a - mean(a) with the mean in two parts; exp(a - max(a)) by what knows that it is not positive. */
static void print_computed(const Emitter *e, Value value) {
    const IrNode *node = node_of(e, value);
    if (sweeps_is_centred(e->sweeps, value)) {
        text_printf(e->out, "    const k_real t%u = t%u - t%u - rest%u;\n", value, node->arg[0],
                    node->arg[1], node->arg[1]);
        return;
    }
    if (node->op == IR_PRIMITIVE + P_EXP && e->plan->compute == DT_F32 &&
        sweeps_is_below(e->sweeps, node->arg[0])) {
        text_printf(e->out, "    const k_real t%u = k_exp_below(t%u);\n", value, node->arg[0]);
        return;
    }
    emit_values(e->out, e->plan, C, &value, 1, 4);
}

static void print_elements(const Emitter *e, uint32_t at, bool kept) {
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
static const char *neutral(const Emitter *e, Value value) {
    const IrNode *node = node_of(e, value);
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

static const char *kind_suffix(const Emitter *e, Value value) {
    static const char *const suffix[] = {"", "_i32", "_i64", "_bool"};
    return suffix[value_kind(ir_dtype(e->plan->ir, value))];
}

/* "k_all_i64(0)" */
static const char *start_of(const Emitter *e, Value value) {
    return arena_printf(e->scratch, "k_all%s(%s)", kind_suffix(e, value), neutral(e, value));
}

/* "k_join_max_i32": of two vectors. */
static const char *join_of(const Emitter *e, Value value) {
    return arena_printf(e->scratch, "k_join_%s%s", ir_op_name(node_of(e, value)),
                        kind_suffix(e, value));
}

static bool adds(const Emitter *e, const Sweep *sweep, Value value) {
    return sweep->kind != SWEEP_ADD || sweeps_form(e->sweeps, value) != SUM_SHARED;
}

static bool is_wide(const Emitter *e, const Sweep *sweep, Value value) {
    return sweep->kind == SWEEP_ADD && sweeps_form(e->sweeps, value) == SUM_WIDE;
}

static bool is_fold(const Emitter *e, const Sweep *sweep, Value value) {
    return sweep->kind == SWEEP_ADD && sweeps_form(e->sweeps, value) == SUM_FOLD;
}

static void print_sums_type(const Emitter *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_printf(e->out, "\ntypedef struct Sums%u {\n", at);
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!adds(e, sweep, v)) continue;
        if (is_wide(e, sweep, v))
            text_printf(e->out, "    k_wide t%u[2];\n", v);
        else
            text_printf(e->out, "    %s t%u;\n", type_of(e, v), v);
    }
    text_printf(e->out, "} Sums%u;\n", at);
}

/* The operand in `n` lanes, what changes nothing in the others. */
static const char *counted(const Emitter *e, Value reduction) {
    Text text = {0};
    text_printf(&text, "k_within%s(", kind_suffix(e, reduction));
    emit_operand(&text, e->plan, C, node_of(e, reduction)->arg[0], true);
    text_printf(&text, ", n, %s)", neutral(e, reduction));
    const char *result = arena_copy(e->scratch, text_string(&text), text.length);
    text_free(&text);
    return result;
}

static void print_adding(const Emitter *e, const Sweep *sweep, Value v) {
    Value operand = node_of(e, v)->arg[0];
    if (sweep->kind == SWEEP_SQUARES)
        text_printf(e->out,
                    "    const k_real d%u = k_within(t%u - row->near%u - row->off%u, n, 0);\n"
                    "    sums->t%u = k_multiply_add(d%u, d%u, sums->t%u);\n",
                    v, operand, v, v, v, v, v, v);
    else if (sweep->kind == SWEEP_SHIFT)
        text_printf(e->out, "    sums->t%u += k_within(t%u - row->near%u, n, 0);\n", v, operand, v);
    else if (is_wide(e, sweep, v))
        text_printf(e->out,
                    "    const k_real w%u = %s;\n"
                    "    sums->t%u[0] += k_widen(w%u, 0);\n    sums->t%u[1] += k_widen(w%u, 1);\n",
                    v, counted(e, v), v, v, v, v);
    else if (is_fold(e, sweep, v))
        text_printf(e->out, "    sums->t%u = %s(sums->t%u, %s);\n", v, join_of(e, v), v,
                    counted(e, v));
    else
        text_printf(e->out, "    sums->t%u += %s;\n", v, counted(e, v));
}

static void print_store(const Emitter *e, const Access *access) {
    const char *step = step_name(e, access), *put = dtype_name(access->dtype);
    if (step)
        text_printf(e->out, "    K_SCATTER(k_put_%s, row->%s + i * row->%s, row->%s, ", put,
                    access->name, step, step);
    else
        text_printf(e->out, "    K_PLACE(k_put_%s, row->%s + i, ", put, access->name);
    emit_operand(e->out, e->plan, C, access->value, true);
    text_add(e->out, step ? ", n);\n" : ", n, stream);\n");
}

/* n elements from i on, at most K_LANES. */
static void print_step(const Emitter *e, uint32_t at, bool kept) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    bool stores = sweep->kind == SWEEP_STORE;
    text_printf(e->out, "%s void k_step%u%s(const Row *row, int64_t i, int64_t n, ",
                emit_c_function(e->plan), at, kept ? "_kept" : "");
    if (stores)
        text_add(e->out, "int stream) {\n");
    else
        text_printf(e->out, "Sums%u *sums) {\n", at);
    print_elements(e, at, kept);
    for (uint32_t i = 0; i < sweep->reductions.count; i++)
        if (adds(e, sweep, sweep->reductions.at[i]))
            print_adding(e, sweep, sweep->reductions.at[i]);
    for (uint32_t i = 0; stores && i < e->plan->stores.count; i++)
        if (is_full(e, &e->plan->stores.data[i])) print_store(e, &e->plan->stores.data[i]);
    text_add(e->out, "}\n");
}

static void print_step_comment(const Emitter *e, const Sweep *sweep) {
    static const char *const says[] = {"",
                                       "Distances from the mean: ", "Their squares: ", "Results."};
    text_printf(e->out, "\n/* %s", says[sweep->kind]);
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        text_add(e->out, i ? ", " : "");
        print_sum_comment(e, sweep->reductions.at[i]);
    }
    text_add(e->out, " */\n");
}

static void print_steps(const Emitter *e) {
    for (uint32_t at = 0; at < e->sweeps->list.count; at++) {
        const Sweep *sweep = &e->sweeps->list.data[at];
        if (sweep->kind != SWEEP_STORE) print_sums_type(e, at);
        print_step_comment(e, sweep);
        print_step(e, at, false);
        if (e->sweeps->kept.count) print_step(e, at, true);
    }
}

/* --- values of the row, between sweeps */

static Values uniform_of(const Emitter *e, uint32_t pass) {
    Values body = rows_uniform(e->scratch, e->sweeps->rows, e->plan, pass);
    Value *list = arena_array(e->scratch, Value, e->plan->loads.count + body.count);
    uint32_t count = 0;
    for (uint32_t i = 0; pass == 0 && i < e->plan->loads.count; i++)
        if (is_uniform(e, e->plan->loads.data[i].value))
            list[count++] = e->plan->loads.data[i].value;
    for (uint32_t i = 0; i < body.count; i++) list[count++] = body.at[i];
    return (Values){list, count};
}

static void print_uniform(const Emitter *e, uint32_t pass) {
    Values values = uniform_of(e, pass);
    if (values.count == 0) return;
    text_printf(e->out, "\n/* Values of the row, before pass %u. */\n", pass);
    text_printf(e->out, "K_INLINE void k_values%u(Row *row) {\n", pass);
    print_from_row(e, values, (Values){NULL, 0});
    for (uint32_t i = 0; i < values.count; i++)
        if (load_of(e, values.at[i]))
            print_load(e, load_of(e, values.at[i]));
        else
            emit_values(e->out, e->plan, C, &values.at[i], 1, 4);
    for (uint32_t i = 0; i < values.count; i++)
        text_printf(e->out, "    row->t%u = t%u;\n", values.at[i], values.at[i]);
    text_add(e->out, "}\n");
}

/* Outputs of one value a row. */
static void print_results(const Emitter *e) {
    struct {
        ARRAY(Value) list;
    } values = {0};
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!is_full(e, access)) array_push(e->scratch, &values.list, access->value);
    }
    if (values.list.count == 0) return;
    text_add(e->out, "\nK_INLINE void k_results(const Row *row) {\n");
    print_from_row(e, (Values){NULL, 0}, (Values){values.list.data, values.list.count});
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (is_full(e, access)) continue;
        text_printf(e->out, "    K_PLACE(k_put_%s, row->%s, ", dtype_name(access->dtype),
                    access->name);
        emit_operand(e->out, e->plan, C, access->value, true);
        text_add(e->out, ", 1, 0);\n");
    }
    text_add(e->out, "}\n");
}

static bool has_results(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        if (!is_full(e, &e->plan->stores.data[i])) return true;
    return false;
}

/* --- a sweep over elements [from, to) */

static void print_starts(const Emitter *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_printf(e->out,
                "        Sums%u sums%u[__UNROLL__];\n#pragma GCC unroll 16\n"
                "        for (int u = 0; u < __UNROLL__; u++) {\n",
                at, at);
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!adds(e, sweep, v)) continue;
        if (is_wide(e, sweep, v))
            text_printf(e->out, "            sums%u[u].t%u[0] = sums%u[u].t%u[1] = (k_wide){0};\n",
                        at, v, at, v);
        else
            text_printf(e->out, "            sums%u[u].t%u = %s;\n", at, v,
                        is_fold(e, sweep, v) ? start_of(e, v) : "k_all(0)");
    }
    text_add(e->out, "        }\n");
}

static void print_call(const Emitter *e, uint32_t at, const char *variant) {
    text_printf(e->out, "K_SWEEP(k_step%u%s, KF_ENTRY(k_ahead), %u, row, from, to, sums%u);\n", at,
                variant, at, at);
}

static void print_joins(const Emitter *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_add(e->out, "#pragma GCC unroll 16\n        for (int u = 1; u < __UNROLL__; u++) {\n");
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!adds(e, sweep, v)) continue;
        for (uint32_t half = 0; is_wide(e, sweep, v) && half < 2; half++)
            text_printf(e->out, "            sums%u[0].t%u[%u] += sums%u[u].t%u[%u];\n", at, v,
                        half, at, v, half);
        if (is_fold(e, sweep, v))
            text_printf(e->out, "            sums%u[0].t%u = %s(sums%u[0].t%u, sums%u[u].t%u);\n",
                        at, v, join_of(e, v), at, v, at, v);
        else if (!is_wide(e, sweep, v))
            text_printf(e->out, "            sums%u[0].t%u += sums%u[u].t%u;\n", at, v, at, v);
    }
    text_add(e->out, "        }\n");
}

static void print_sweep(const Emitter *e, uint32_t at, bool may_keep) {
    print_starts(e, at);
    if (may_keep && e->sweeps->kept.count) {
        text_add(e->out, "        if (kept) ");
        print_call(e, at, "_kept");
        text_add(e->out, "        else ");
    } else {
        text_add(e->out, "        ");
    }
    print_call(e, at, "");
    print_joins(e, at);
}

/* --- a pass: pieces of a row, and what they come to */

static void print_totals(const Emitter *e, const Sweep *sweep) {
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (node_of(e, v)->op == IR_VAR)
            text_printf(e->out, "    k_moments all%u = {0, 0, 0};\n", v);
        else if (is_fold(e, sweep, v))
            text_printf(e->out, "    %s all%u = %s;\n", type_of(e, v), v, start_of(e, v));
        else
            text_printf(e->out, "    double all%u = 0;\n", v);
    }
}

/* Of a piece, to what came before. */
static void print_additions(const Emitter *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!adds(e, sweep, v)) continue;
        if (is_fold(e, sweep, v)) {
            text_printf(e->out, "        all%u = %s(all%u, sums%u[0].t%u);\n", v, join_of(e, v), v,
                        at, v);
            continue;
        }
        if (is_wide(e, sweep, v))
            text_printf(e->out,
                        "        const double sum%u = k_sum_wide(sums%u[0].t%u[0] + "
                        "sums%u[0].t%u[1]);\n",
                        v, at, v, at, v);
        else
            text_printf(e->out, "        const double sum%u = k_sum(sums%u[0].t%u);\n", v, at, v);
        if (node_of(e, v)->op != IR_VAR) text_printf(e->out, "        all%u += sum%u;\n", v, v);
    }
}

static void print_block_means(const Emitter *e, const Sweep *vars) {
    for (uint32_t i = 0; i < vars->reductions.count; i++) {
        Value v = vars->reductions.at[i];
        text_printf(e->out,
                    "        double mean%u = sum%u / (to - from);\n"
                    "        row->near%u = k_all(mean%u);\n"
                    "        row->off%u = k_all(k_rest(mean%u));\n",
                    v, e->sweeps->mean_of[v], v, v, v, v);
    }
}

static void print_shifts(const Emitter *e, uint32_t at) {
    const Sweep *vars = &e->sweeps->list.data[at];
    for (uint32_t i = 0; i < vars->reductions.count; i++) {
        Value v = vars->reductions.at[i];
        text_printf(e->out,
                    "        const double off%u = k_sum(sums%u[0].t%u) / (to - from);\n"
                    "        row->off%u = k_all(off%u);\n        mean%u += off%u;\n",
                    v, at, v, v, v, v, v);
    }
}

static void print_moments(const Emitter *e, uint32_t at) {
    const Sweep *vars = &e->sweeps->list.data[at];
    for (uint32_t i = 0; i < vars->reductions.count; i++) {
        Value v = vars->reductions.at[i];
        text_printf(e->out,
                    "        all%u = k_merge(all%u, (k_moments){to - from, mean%u, "
                    "k_sum(sums%u[0].t%u)});\n",
                    v, v, v, at, v);
    }
}

/* The sweeps of a var behind that of its sum. */
static void print_var_sweeps(const Emitter *e, uint32_t at) {
    for (; at < e->sweeps->list.count; at++) {
        const Sweep *sweep = &e->sweeps->list.data[at];
        if (sweep->kind != SWEEP_SHIFT && sweep->kind != SWEEP_SQUARES) return;
        if (e->sweeps->list.data[at - 1].kind == SWEEP_ADD) print_block_means(e, sweep);
        print_sweep(e, at, true);
        if (sweep->kind == SWEEP_SHIFT)
            print_shifts(e, at);
        else
            print_moments(e, at);
    }
}

static void print_final(const Emitter *e, const Sweep *sweep, Value v) {
    bool mean = node_of(e, v)->op == IR_MEAN;
    if (node_of(e, v)->op == IR_VAR)
        text_printf(e->out, "    row->t%u = k_all(all%u.squares / all%u.count);\n", v, v, v);
    else if (is_fold(e, sweep, v))
        text_printf(e->out, "    row->t%u = k_fold_%s%s(all%u);\n", v, ir_op_name(node_of(e, v)),
                    kind_suffix(e, v), v);
    else
        text_printf(e->out, "    row->t%u = k_all(all%u%s);\n", v, v, mean ? " / row->cols" : "");
    if (e->sweeps->centred[v])
        text_printf(e->out, "    row->rest%u = k_all(k_rest(all%u / row->cols));\n", v, v);
}

static void print_finals(const Emitter *e, const Sweep *sweep) {
    for (uint32_t i = 0; i < sweep->reductions.count; i++)
        print_final(e, sweep, sweep->reductions.at[i]);
}

static uint32_t sweep_of(const Emitter *e, uint32_t pass) {
    uint32_t at = 0;
    while (e->sweeps->list.data[at].pass != pass) at++;
    return at;
}

static void print_pieces(const Emitter *e, const char *size) {
    text_printf(e->out,
                "    for (int64_t from = 0; from < row->cols; from += %s) {\n"
                "        const int64_t to = k_least(from + %s, row->cols);\n",
                size, size);
}

static bool has_vars(const Emitter *e, uint32_t at) {
    return at + 1 < e->sweeps->list.count && (e->sweeps->list.data[at + 1].kind == SWEEP_SHIFT ||
                                              e->sweeps->list.data[at + 1].kind == SWEEP_SQUARES);
}

static void print_pass(const Emitter *e, uint32_t pass) {
    uint32_t at = sweep_of(e, pass);
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_printf(e->out, "\nK_INLINE void KF_ENTRY(k_pass%u)(Row *row, const int kept) {\n", pass);
    print_totals(e, sweep);
    print_pieces(e, has_vars(e, at) ? "__BLOCK__" : "K_PIECE");
    print_sweep(e, at, true);
    print_additions(e, at);
    print_var_sweeps(e, at + 1);
    text_add(e->out, "    }\n");
    print_finals(e, sweep);
    text_add(e->out, "}\n");
}

/* --- two passes as one: sums of exp(x - max(x)), in terms of the largest so far */

static bool first_of_max(const Emitter *e, Values sums, uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (sweeps_online(e->sweeps, sums.at[k]) == sweeps_online(e->sweeps, sums.at[i]))
            return false;
    return true;
}

static void print_seen(const Emitter *e, Values sums) {
    for (uint32_t i = 0; i < sums.count; i++)
        if (first_of_max(e, sums, i))
            text_printf(e->out, "    k_real seen%u = k_all(-K_INF);\n",
                        sweeps_online(e->sweeps, sums.at[i]));
}

/* Where there was nothing but -inf so far, exp(x - 0) is as good, and no NaN. */
static void print_rescaling(const Emitter *e, Values sums) {
    const char *exp = e->plan->compute == DT_F32 ? "k_exp_below" : "k_exp";
    for (uint32_t i = 0; i < sums.count; i++) {
        Value most = sweeps_online(e->sweeps, sums.at[i]);
        if (first_of_max(e, sums, i))
            text_printf(e->out,
                        "        const k_real most%u = k_fold_max(all%u);\n"
                        "        row->t%u = k_select(most%u == -K_INF, k_all(0), most%u);\n"
                        "        const double scale%u = %s(seen%u - row->t%u)[0];\n"
                        "        seen%u = most%u;\n",
                        most, most, most, most, most, most, exp, most, most, most, most);
        text_printf(e->out, "        all%u *= scale%u;\n", sums.at[i], most);
    }
}

/* -inf throughout: the definition's exp(-inf - -inf). */
static void print_undefined(const Emitter *e, Values sums) {
    for (uint32_t i = 0; i < sums.count; i++)
        text_printf(e->out, "    if (row->cols > 0 && seen%u[0] == -K_INF) all%u = K_NAN;\n",
                    sweeps_online(e->sweeps, sums.at[i]), sums.at[i]);
}

static void print_joined(const Emitter *e, uint32_t pass) {
    uint32_t at = sweep_of(e, pass), behind = sweep_of(e, pass + 1);
    const Sweep *first = &e->sweeps->list.data[at], *second = &e->sweeps->list.data[behind];
    text_printf(
        e->out,
        "\n/* Passes %u and %u in one: what is summed is rescaled when a larger one comes. */\n"
        "K_INLINE void KF_ENTRY(k_joined%u)(Row *row) {\n",
        pass, pass + 1, pass);
    print_totals(e, first);
    print_totals(e, second);
    print_seen(e, second->reductions);
    print_pieces(e, "__BLOCK__");
    print_sweep(e, at, false);
    print_additions(e, at);
    print_rescaling(e, second->reductions);
    print_sweep(e, behind, false);
    print_additions(e, behind);
    text_add(e->out, "    }\n");
    print_undefined(e, second->reductions);
    print_finals(e, first);
    print_finals(e, second);
    text_add(e->out, "}\n");
}

/* --- the row in all */

static void print_stores_aligned(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!is_full(e, access) || step_name(e, access)) continue;
        text_printf(e->out, " && k_fits(row->%s + from)", access->name);
    }
}

static const Access *first_stream(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (is_full(e, access) && !step_name(e, access)) return access;
    }
    return NULL;
}

/* Elements before the first output is aligned by themselves. */
static void print_finish(const Emitter *e) {
    uint32_t at = e->sweeps->list.count - 1;
    const Access *first = first_stream(e);
    const char *variants[] = {"_kept", ""};
    bool keeps = e->sweeps->kept.count > 0;
    if (!e->sweeps->rows->stores) return;
    text_add(e->out, "\nK_INLINE void KF_ENTRY(k_finish)(Row *row, const int kept) {\n"
                     "    int64_t from = 0;\n");
    if (first)
        text_printf(e->out, "    if (__STREAM__) from = k_least(k_before(row->%s), row->cols);\n",
                    first->name);
    text_printf(e->out, "    const int stream = %s", first ? "__STREAM__" : "0");
    print_stores_aligned(e);
    text_add(e->out, ";\n");
    for (uint32_t i = !keeps; i < 2; i++)
        text_printf(e->out,
                    "    %s%sK_STORES(k_step%u%s, KF_ENTRY(k_ahead), %u, row, from, stream);\n",
                    keeps && i ? "else " : "", i ? "" : "if (kept) ", at, variants[i], at);
    text_add(e->out, "}\n");
}

static void print_pass_calls(const Emitter *e, uint32_t pass, int indent) {
    text_printf(e->out, "%*sKF_ENTRY(k_pass%u)(row, kept);\n", indent, "", pass);
    if (uniform_of(e, pass + 1).count)
        text_printf(e->out, "%*sk_values%u(row);\n", indent, "", pass + 1);
}

static void print_joined_calls(const Emitter *e, uint32_t pass) {
    text_printf(e->out, "    if (!kept && __ONLINE__) {\n        KF_ENTRY(k_joined%u)(row);\n",
                pass);
    for (uint32_t k = 1; k <= 2; k++)
        if (uniform_of(e, pass + k).count)
            text_printf(e->out, "        k_values%u(row);\n", pass + k);
    text_add(e->out, "    } else {\n");
    print_pass_calls(e, pass, 8);
    print_pass_calls(e, pass + 1, 8);
    text_add(e->out, "    }\n");
}

static void print_row(const Emitter *e) {
    uint32_t passes = e->sweeps->rows->passes - e->sweeps->rows->stores;
    text_add(e->out, "\nK_INLINE void KF_ENTRY(k_row)(Row *row, const int kept) {\n");
    if (uniform_of(e, 0).count) text_add(e->out, "    k_values0(row);\n");
    for (uint32_t pass = 0; pass < passes; pass++)
        if (sweeps_join(e->sweeps, pass))
            print_joined_calls(e, pass++);
        else
            print_pass_calls(e, pass, 4);
    if (e->sweeps->rows->stores) text_add(e->out, "    KF_ENTRY(k_finish)(row, kept);\n");
    if (has_results(e)) text_add(e->out, "    k_results(row);\n");
    text_add(e->out, "}\n");
}

/* A row of which values are kept, and one that is too long for it. */
static void print_short_row(const Emitter *e) {
    Values kept = e->sweeps->kept;
    if (kept.count == 0) return;
    text_add(e->out, "\nstatic void KF_ENTRY(k_short_row)(Row row) {\n");
    for (uint32_t i = 0; i < kept.count; i++)
        text_printf(e->out,
                    "    k_number kept%u[__BLOCK__ + K_LANES] __attribute__((aligned(K_WIDTH)));\n"
                    "    row.kept%u = kept%u;\n",
                    kept.at[i], kept.at[i], kept.at[i]);
    text_add(e->out, "    KF_ENTRY(k_row)(&row, 1);\n}\n");
}

static void print_ahead(const Emitter *e) {
    text_printf(e->out,
                "\n/* Each of the sweeps fetches its part of the next row. */\n"
                "K_INLINE void KF_ENTRY(k_ahead)(const Row *row, int64_t sweep, int64_t i) {\n"
                "    i = (sweep * row->cols + i) / %u;\n",
                e->sweeps->list.count);
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (is_ahead(e, &e->plan->loads.data[i]))
            text_printf(e->out,
                        "    if (__AHEAD__) __builtin_prefetch(row->%s_next + i, 0, __AHEAD__);\n",
                        e->plan->loads.data[i].name);
    text_add(e->out, "}\n");
}

/* --- the entry */

static void print_place(const Emitter *e, const Access *access, bool store) {
    const char *step = step_name(e, access);
    text_printf(e->out, "        row.%s = %s + ", access->name, access->name);
    emit_offset(e->out, e->plan, access, "r", NULL);
    text_add(e->out, ";\n");
    if (step) text_printf(e->out, "        row.%s = %s;\n", step, step);
    if (store || !is_ahead(e, access)) return;
    text_printf(e->out, "        row.%s_next = row.%s + %s;\n", access->name, access->name,
                access->class == ACCESS_DENSE
                    ? "kf_cols"
                    : plan_stride_name(e->scratch, access, e->plan->rank - 2));
}

static void print_entry(const Emitter *e) {
    text_printf(e->out, "\nvoid KF_ENTRY(%s)(void *const *args, int64_t part, int64_t parts) {\n",
                e->plan->name);
    emit_c_unpack(e->out, e->plan, &e->parameters);
    text_add(
        e->out,
        "    for (int64_t r = kf_rows * part / parts; r < kf_rows * (part + 1) / parts; r++) {\n"
        "        Row row;\n        row.cols = kf_cols;\n");
    emit_coordinates(e->out, C, e->plan, "r", 8);
    for (uint32_t i = 0; i < access_count(e->plan); i++)
        print_place(e, access_at(e->plan, i), access_is_store(e->plan, i));
    for (uint32_t i = 0; i < e->plan->scalars.count; i++)
        text_printf(e->out, "        row.%s = %s;\n", e->plan->scalars.data[i].name,
                    e->plan->scalars.data[i].name);
    if (e->sweeps->kept.count)
        text_add(e->out,
                 "        if (__KEEP__ && kf_cols <= __BLOCK__) KF_ENTRY(k_short_row)(row);\n"
                 "        else ");
    else
        text_add(e->out, "        ");
    text_add(e->out, "KF_ENTRY(k_row)(&row, 0);\n    }\n    if (__STREAM__) k_fence();\n}\n");
}

/* --- the file */

static bool any_join(const Emitter *e) {
    for (uint32_t pass = 0; pass < e->sweeps->rows->passes; pass++)
        if (sweeps_join(e->sweeps, pass)) return true;
    return false;
}

static bool any_vars(const Emitter *e) {
    for (uint32_t at = 0; at < e->sweeps->list.count; at++)
        if (e->sweeps->list.data[at].kind == SWEEP_SQUARES) return true;
    return false;
}

static bool has_blocks(const Emitter *e) {
    return e->sweeps->kept.count || any_join(e) || any_vars(e);
}

enum { ROWS_KNOBS = 7, STREAM_BYTES = 16 << 20 };

static uint32_t choose_knobs(const Emitter *e, KnobText knobs[ROWS_KNOBS]) {
    const Plan *plan = e->plan;
    uint32_t count = 0;
    bool streams = plan->bytes_read + plan->bytes_written > STREAM_BYTES && first_stream(e);
    knobs[count++] = (KnobText){"UNROLL", {4, 2, 1}, 3};
    knobs[count++] = (KnobText){"AHEAD", {2, 3, 0}, 3};
    knobs[count++] = (KnobText){"STREAM", {streams, !streams}, first_stream(e) ? 2 : 1};
    if (has_blocks(e)) knobs[count++] = (KnobText){"BLOCK", {16384, 4096, 65536}, 3};
    if (e->sweeps->kept.count) knobs[count++] = (KnobText){"KEEP", {1, 0}, 2};
    if (any_join(e)) knobs[count++] = (KnobText){"ONLINE", {1, 0}, 2};
    knobs[count++] = (KnobText){"THREADS", {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, 10};
    return count;
}

static void print_rules(const Emitter *e) {
    text_add(e->out, "//! require  __THREADS__ <= cpus\n");
    if (has_blocks(e))
        text_add(e->out, "//! prefer   __BLOCK__ == 16384 || kf_cols > min(__BLOCK__, 16384)\n");
    if (any_join(e))
        text_printf(e->out, "//! prefer   __ONLINE__ == 1 || kf_cols > __BLOCK__%s\n",
                    e->sweeps->kept.count ? " || __KEEP__ == 0" : "");
    text_add(e->out, "//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && kf_rows * kf_cols <= "
                     "262144)\n"
                     "//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(min(cpus, "
                     "kf_rows), kf_rows * kf_cols // 8192))\n");
}

static void print_code(const Emitter *e) {
    uint32_t passes = e->sweeps->rows->passes;
    print_row_type(e);
    print_steps(e);
    for (uint32_t pass = 0; pass <= passes; pass++) print_uniform(e, pass);
    print_results(e);
    text_add(e->out, SHARED_END);
    print_ahead(e);
    for (uint32_t pass = 0; pass + e->sweeps->rows->stores < passes; pass++) print_pass(e, pass);
    for (uint32_t pass = 0; pass < passes; pass++)
        if (sweeps_join(e->sweeps, pass)) print_joined(e, pass++);
    print_finish(e);
    print_row(e);
    print_short_row(e);
    print_entry(e);
}

const Template *emit_rows_c(Arena *arena, const Plan *plan) {
    KnobText knobs[ROWS_KNOBS];
    Text text = {0}, code = {0};
    Emitter e = {.plan = plan, .out = &code, .scratch = arena_open()};
    e.parameters = language_parameters(C, plan, e.scratch);
    e.sweeps = sweeps_find(e.scratch, plan);
    uint32_t count = choose_knobs(&e, knobs);
    print_code(&e);
    e.out = &text;
    emit_head(&text, C, plan, knobs, count);
    print_rules(&e);
    emit_defaults(&text, plan, knobs, count);
    text_printf(&text, SHARED_BEGIN "#define K_BYTES %d\n#define K_F64 %d\n", emit_c_bytes(plan),
                plan->compute == DT_F64);
    emit_prelude(&text, C, text_string(&code));
    text_add(&text, text_string(&code));
    const Template *template = emit_finish(arena, plan->name, C->name, &text);
    text_free(&text);
    text_free(&code);
    arena_close(e.scratch);
    return template;
}
