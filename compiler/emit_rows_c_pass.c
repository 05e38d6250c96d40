/* Passes of rows in C. One idea: a row goes by pieces; what a piece comes to in UNROLL vectors of
 * sums is added to that of the pieces before, in f64 where it is a sum. */
#include "compiler/emit_rows_c.h"

/* --- a sweep over elements [from, to) */

static void print_starts(const RowsC *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_printf(e->out,
                "        Sums%u sums%u[__UNROLL__];\n#pragma GCC unroll 16\n"
                "        for (int u = 0; u < __UNROLL__; u++) {\n",
                at, at);
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!rows_c_adds(e, sweep, v)) continue;
        if (rows_c_wide(e, sweep, v))
            text_printf(e->out, "            sums%u[u].t%u[0] = sums%u[u].t%u[1] = (k_wide){0};\n",
                        at, v, at, v);
        else
            text_printf(e->out, "            sums%u[u].t%u = %s;\n", at, v,
                        rows_c_fold(e, sweep, v) ? rows_c_start(e, v) : "k_all(0)");
    }
    text_add(e->out, "        }\n");
}

static void print_call(const RowsC *e, uint32_t at, const char *variant) {
    text_printf(e->out, "K_SWEEP(k_step%u%s, %s, %u, row, from, to, sums%u);\n", at, variant,
                rows_c_fetch(e), at, at);
}

static void print_joins(const RowsC *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_add(e->out, "#pragma GCC unroll 16\n        for (int u = 1; u < __UNROLL__; u++) {\n");
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!rows_c_adds(e, sweep, v)) continue;
        for (uint32_t half = 0; rows_c_wide(e, sweep, v) && half < 2; half++)
            text_printf(e->out, "            sums%u[0].t%u[%u] += sums%u[u].t%u[%u];\n", at, v,
                        half, at, v, half);
        if (rows_c_fold(e, sweep, v))
            text_printf(e->out, "            sums%u[0].t%u = %s(sums%u[0].t%u, sums%u[u].t%u);\n",
                        at, v, rows_c_join(e, v), at, v, at, v);
        else if (!rows_c_wide(e, sweep, v))
            text_printf(e->out, "            sums%u[0].t%u += sums%u[u].t%u;\n", at, v, at, v);
    }
    text_add(e->out, "        }\n");
}

static void print_sweep(const RowsC *e, uint32_t at, bool may_keep) {
    print_starts(e, at);
    if (may_keep && rows_c_keeps(e, at)) {
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

static void print_totals(const RowsC *e, const Sweep *sweep) {
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (rows_c_node(e, v)->op == IR_VAR)
            text_printf(e->out, "    k_moments all%u = {0, 0, 0};\n", v);
        else if (rows_c_fold(e, sweep, v))
            text_printf(e->out, "    %s all%u = %s;\n", rows_c_type(e, v), v, rows_c_start(e, v));
        else
            text_printf(e->out, "    double all%u = 0;\n", v);
    }
}

/* Of a piece, to what came before. */
static void print_additions(const RowsC *e, uint32_t at) {
    const Sweep *sweep = &e->sweeps->list.data[at];
    for (uint32_t i = 0; i < sweep->reductions.count; i++) {
        Value v = sweep->reductions.at[i];
        if (!rows_c_adds(e, sweep, v)) continue;
        if (rows_c_fold(e, sweep, v)) {
            text_printf(e->out, "        all%u = %s(all%u, sums%u[0].t%u);\n", v, rows_c_join(e, v),
                        v, at, v);
            continue;
        }
        if (rows_c_wide(e, sweep, v))
            text_printf(e->out,
                        "        const double sum%u = k_sum_wide(sums%u[0].t%u[0] + "
                        "sums%u[0].t%u[1]);\n",
                        v, at, v, at, v);
        else
            text_printf(e->out, "        const double sum%u = k_sum(sums%u[0].t%u);\n", v, at, v);
        if (rows_c_node(e, v)->op != IR_VAR) text_printf(e->out, "        all%u += sum%u;\n", v, v);
    }
}

static void print_block_means(const RowsC *e, const Sweep *vars) {
    for (uint32_t i = 0; i < vars->reductions.count; i++) {
        Value v = vars->reductions.at[i];
        text_printf(e->out,
                    "        double mean%u = sum%u / (to - from);\n"
                    "        row->near%u = k_all(mean%u);\n"
                    "        row->off%u = k_all(k_rest(mean%u));\n",
                    v, e->sweeps->mean_of[v], v, v, v, v);
    }
}

static void print_shifts(const RowsC *e, uint32_t at) {
    const Sweep *vars = &e->sweeps->list.data[at];
    for (uint32_t i = 0; i < vars->reductions.count; i++) {
        Value v = vars->reductions.at[i];
        text_printf(e->out,
                    "        const double off%u = k_sum(sums%u[0].t%u) / (to - from);\n"
                    "        row->off%u = k_all(off%u);\n        mean%u += off%u;\n",
                    v, at, v, v, v, v, v);
    }
}

static void print_moments(const RowsC *e, uint32_t at) {
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
static void print_var_sweeps(const RowsC *e, uint32_t at) {
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

static void print_final(const RowsC *e, const Sweep *sweep, Value v) {
    bool mean = rows_c_node(e, v)->op == IR_MEAN;
    if (rows_c_node(e, v)->op == IR_VAR)
        text_printf(e->out, "    row->t%u = k_all(all%u.squares / all%u.count);\n", v, v, v);
    else if (rows_c_fold(e, sweep, v))
        text_printf(e->out, "    row->t%u = k_fold_%s%s(all%u);\n", v,
                    ir_op_name(rows_c_node(e, v)), rows_c_suffix(e, v), v);
    else
        text_printf(e->out, "    row->t%u = k_all(all%u%s);\n", v, v, mean ? " / row->cols" : "");
    if (e->sweeps->centred[v])
        text_printf(e->out, "    row->rest%u = k_all(k_rest(all%u / row->cols));\n", v, v);
}

static void print_finals(const RowsC *e, const Sweep *sweep) {
    for (uint32_t i = 0; i < sweep->reductions.count; i++)
        print_final(e, sweep, sweep->reductions.at[i]);
}

static uint32_t sweep_of(const RowsC *e, uint32_t pass) {
    uint32_t at = 0;
    while (e->sweeps->list.data[at].pass != pass) at++;
    return at;
}

static void print_pieces(const RowsC *e, const char *size) {
    text_printf(e->out,
                "    for (int64_t from = 0; from < row->cols; from += %s) {\n"
                "        const int64_t to = k_least(from + %s, row->cols);\n",
                size, size);
}

static bool has_vars(const RowsC *e, uint32_t at) {
    return at + 1 < e->sweeps->list.count && (e->sweeps->list.data[at + 1].kind == SWEEP_SHIFT ||
                                              e->sweeps->list.data[at + 1].kind == SWEEP_SQUARES);
}

static void print_pass(const RowsC *e, uint32_t pass) {
    uint32_t at = sweep_of(e, pass);
    const Sweep *sweep = &e->sweeps->list.data[at];
    text_printf(e->out, "\nK_INLINE void KF_ENTRY(k_pass%u)(Row *row%s) {\n", pass,
                rows_c_kept(e, ", const int kept"));
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

static bool first_of_max(const RowsC *e, Values sums, uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (sweeps_online(e->sweeps, sums.at[k]) == sweeps_online(e->sweeps, sums.at[i]))
            return false;
    return true;
}

static void print_seen(const RowsC *e, Values sums) {
    for (uint32_t i = 0; i < sums.count; i++)
        if (first_of_max(e, sums, i))
            text_printf(e->out, "    k_real seen%u = k_all(-K_INF);\n",
                        sweeps_online(e->sweeps, sums.at[i]));
}

static const char *power_of(const RowsC *e, Value sum) {
    Primitive primitive = ir_primitive(rows_c_node(e, e->sweeps->online->power[sum]));
    return primitive == P_EXP2 ? "k_exp2" : "k_exp_below";
}

/* Where there was nothing but -inf so far, exp(x - 0) is as good, and no NaN. */
static void print_rescaling(const RowsC *e, Values sums) {
    for (uint32_t i = 0; i < sums.count; i++) {
        Value most = sweeps_online(e->sweeps, sums.at[i]);
        if (first_of_max(e, sums, i))
            text_printf(e->out,
                        "        const k_real most%u = k_fold_max(all%u);\n"
                        "        row->t%u = k_select(most%u == -K_INF, k_all(0), most%u);\n",
                        most, most, most, most, most);
        text_printf(e->out, "        all%u *= %s(seen%u - row->t%u)[0];\n", sums.at[i],
                    power_of(e, sums.at[i]), most, most);
    }
    for (uint32_t i = 0; i < sums.count; i++) {
        Value most = sweeps_online(e->sweeps, sums.at[i]);
        if (first_of_max(e, sums, i)) text_printf(e->out, "        seen%u = most%u;\n", most, most);
    }
}

/* -inf throughout: the definition's exp(-inf - -inf). */
static void print_undefined(const RowsC *e, Values sums) {
    for (uint32_t i = 0; i < sums.count; i++)
        text_printf(e->out, "    if (row->cols > 0 && seen%u[0] == -K_INF) all%u = K_NAN;\n",
                    sweeps_online(e->sweeps, sums.at[i]), sums.at[i]);
}

static void print_joined(const RowsC *e, uint32_t pass) {
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

void rows_c_passes(const RowsC *e) {
    uint32_t passes = e->sweeps->rows->passes - e->sweeps->rows->stores;
    for (uint32_t pass = 0; pass < passes; pass++) print_pass(e, pass);
    for (uint32_t pass = 0; pass < passes; pass++)
        if (sweeps_join(e->sweeps, pass)) print_joined(e, pass++);
}
