/* A plan with reductions over rows in, C for the host compiler out. One idea: a thread does whole
 * rows, in as many sweeps as its reductions need (compiler/sweeps.h), each by a function of one
 * vector of elements; all that a row has one of stands in a Row, values as K_LANES copies, so that
 * they come from the same vector functions. */
#include "compiler/emit_rows_c.h"

static const EmitLanguage *const C = &emit_language_c;

/* --- the row in all */

static void print_stores_aligned(const RowsC *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!rows_c_full(e, access) || rows_c_step(e, access)) continue;
        text_printf(e->out, " && k_fits(row->%s + from)", access->name);
    }
}

static const Access *first_stream(const RowsC *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (rows_c_full(e, access) && !rows_c_step(e, access)) return access;
    }
    return NULL;
}

/* Elements before the first output is aligned by themselves. */
static void print_finish(const RowsC *e) {
    uint32_t at = e->sweeps->list.count - 1;
    const Access *first = first_stream(e);
    const char *variants[] = {"_kept", ""};
    bool keeps = rows_c_keeps(e, at);
    if (!e->sweeps->rows->stores) return;
    text_printf(e->out, "\nK_INLINE void KF_ENTRY(k_finish)(Row *row%s) {\n    int64_t from = 0;\n",
                rows_c_kept(e, ", const int kept"));
    if (first)
        text_printf(e->out, "    if (__STREAM__) from = k_least(k_before(row->%s), row->cols);\n",
                    first->name);
    text_printf(e->out, "    const int stream = %s", first ? "__STREAM__" : "0");
    print_stores_aligned(e);
    text_add(e->out, ";\n");
    for (uint32_t i = !keeps; i < 2; i++)
        text_printf(e->out, "    %s%sK_STORES(k_step%u%s, %s, %u, row, from, stream);\n",
                    keeps && i ? "else " : "", i ? "" : "if (kept) ", at, variants[i],
                    rows_c_fetch(e), at);
    text_add(e->out, "}\n");
}

static void print_pass_calls(const RowsC *e, uint32_t pass, int indent) {
    text_printf(e->out, "%*sKF_ENTRY(k_pass%u)(row%s);\n", indent, "", pass,
                rows_c_kept(e, ", kept"));
    if (rows_c_values(e, pass + 1).count)
        text_printf(e->out, "%*sk_values%u(row);\n", indent, "", pass + 1);
}

static void print_joined_calls(const RowsC *e, uint32_t pass) {
    text_printf(e->out, "    if (%s__ONLINE__) {\n        KF_ENTRY(k_joined%u)(row);\n",
                rows_c_kept(e, "!kept && "), pass);
    for (uint32_t k = 1; k <= 2; k++)
        if (rows_c_values(e, pass + k).count)
            text_printf(e->out, "        k_values%u(row);\n", pass + k);
    text_add(e->out, "    } else {\n");
    print_pass_calls(e, pass, 8);
    print_pass_calls(e, pass + 1, 8);
    text_add(e->out, "    }\n");
}

static bool has_results(const RowsC *e) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        if (!rows_c_full(e, &e->plan->stores.data[i])) return true;
    return false;
}

static void print_row(const RowsC *e) {
    uint32_t passes = e->sweeps->rows->passes - e->sweeps->rows->stores;
    text_printf(e->out, "\nK_INLINE void KF_ENTRY(k_row)(Row *row%s) {\n",
                rows_c_kept(e, ", const int kept"));
    if (rows_c_values(e, 0).count) text_add(e->out, "    k_values0(row);\n");
    for (uint32_t pass = 0; pass < passes; pass++)
        if (sweeps_join(e->sweeps, pass))
            print_joined_calls(e, pass++);
        else
            print_pass_calls(e, pass, 4);
    if (e->sweeps->rows->stores)
        text_printf(e->out, "    KF_ENTRY(k_finish)(row%s);\n", rows_c_kept(e, ", kept"));
    if (has_results(e)) text_add(e->out, "    k_results(row);\n");
    text_add(e->out, "}\n");
}

/* A row of which values are kept, and one that is too long for it. */
static void print_short_row(const RowsC *e) {
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

static bool any_ahead(const RowsC *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (rows_c_ahead(e, &e->plan->loads.data[i])) return true;
    return false;
}

const char *rows_c_fetch(const RowsC *e) {
    return any_ahead(e) ? "KF_ENTRY(k_ahead)" : "K_NOT_AHEAD";
}

static void print_ahead(const RowsC *e) {
    if (!any_ahead(e)) return;
    text_printf(e->out,
                "\n/* Each of the sweeps fetches its part of the next row. */\n"
                "K_INLINE void KF_ENTRY(k_ahead)(const Row *row, int64_t sweep, int64_t i) {\n"
                "    i = (sweep * row->cols + i) / %u;\n",
                e->sweeps->list.count);
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (rows_c_ahead(e, &e->plan->loads.data[i]))
            text_printf(e->out,
                        "    if (__AHEAD__) __builtin_prefetch(row->%s_next + i, 0, __AHEAD__);\n",
                        e->plan->loads.data[i].name);
    text_add(e->out, "}\n");
}

/* --- the entry */

static void print_place(const RowsC *e, const Access *access, bool store) {
    const char *step = rows_c_step(e, access);
    text_printf(e->out, "        row.%s = %s", access->name, access->name);
    if (access_walks_rows(e->plan, access)) {
        text_add(e->out, " + ");
        emit_offset(e->out, e->plan, access, "r", NULL);
    }
    text_add(e->out, ";\n");
    if (step) text_printf(e->out, "        row.%s = %s;\n", step, step);
    if (store || !rows_c_ahead(e, access)) return;
    text_printf(e->out, "        row.%s_next = row.%s + %s;\n", access->name, access->name,
                access->class == ACCESS_DENSE
                    ? "kf_cols"
                    : plan_stride_name(e->scratch, access, e->plan->rank - 2));
}

static void print_entry(const RowsC *e) {
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
    text_add(e->out,
             rows_c_kept(e, "        if (__KEEP__ && kf_cols <= __BLOCK__) {\n"
                            "            KF_ENTRY(k_short_row)(row);\n            continue;\n"
                            "        }\n"));
    text_printf(e->out, "        KF_ENTRY(k_row)(&row%s);\n    }\n", rows_c_kept(e, ", 0"));
    text_add(e->out, "    if (__STREAM__) k_fence();\n}\n");
}

/* --- the file */

static bool any_join(const RowsC *e) {
    for (uint32_t pass = 0; pass < e->sweeps->rows->passes; pass++)
        if (sweeps_join(e->sweeps, pass)) return true;
    return false;
}

static bool any_vars(const RowsC *e) {
    for (uint32_t at = 0; at < e->sweeps->list.count; at++)
        if (e->sweeps->list.data[at].kind == SWEEP_SQUARES) return true;
    return false;
}

static bool has_blocks(const RowsC *e) {
    return e->sweeps->kept.count || any_join(e) || any_vars(e);
}

enum { ROWS_KNOBS = 7, STREAM_BYTES = 16 << 20 };

/* Of an element, in buffers on a thread's stack. */
static uint32_t kept_bytes(const RowsC *e) {
    return e->sweeps->kept.count * (uint32_t)dtype_info(e->plan->compute)->bytes;
}

static uint32_t choose_knobs(const RowsC *e, KnobText knobs[ROWS_KNOBS]) {
    const Plan *plan = e->plan;
    uint32_t count = 0;
    bool streams = plan->bytes_read + plan->bytes_written > STREAM_BYTES && first_stream(e);
    knobs[count++] = e->copied ? (KnobText){"UNROLL", {4, 2, 1}, 3} : (KnobText){"UNROLL", {1}, 1};
    if (any_ahead(e)) knobs[count++] = (KnobText){"AHEAD", {2, 3, 0}, 3};
    knobs[count++] = (KnobText){"STREAM", {streams, !streams}, first_stream(e) ? 2 : 1};
    if (has_blocks(e))
        knobs[count++] = (KnobText){"BLOCK", {16384, 4096, 65536}, kept_bytes(e) > 4 ? 2 : 3};
    if (e->sweeps->kept.count) knobs[count++] = (KnobText){"KEEP", {1, 0}, 2};
    if (any_join(e)) knobs[count++] = (KnobText){"ONLINE", {1, 0}, 2};
    knobs[count++] = (KnobText){"THREADS", {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, 10};
    return count;
}

/* Elements for which one thread is enough, where rows are read several times and where but once: 65536
 * take 12 us then, less than waking another may. */
enum { ALONE = 8192, ALONE_ONCE = 65536 };

static void print_rules(const RowsC *e) {
    text_add(e->out, "//! require  __THREADS__ <= cpus\n");
    if (has_blocks(e))
        text_add(e->out, "//! prefer   __BLOCK__ == 16384 || kf_cols > min(__BLOCK__, 16384)\n");
    if (any_join(e))
        text_printf(e->out, "//! prefer   __ONLINE__ == 1 || kf_cols > __BLOCK__%s\n",
                    e->sweeps->kept.count ? " || __KEEP__ == 0" : "");
    text_printf(e->out,
                "//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && kf_rows * kf_cols <= "
                "262144)\n"
                "//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(min(cpus, "
                "kf_rows), kf_rows * kf_cols // %d))\n",
                e->sweeps->list.count == 1 ? ALONE_ONCE : ALONE);
}

static void print_code(const RowsC *e) {
    rows_c_steps(e);
    text_add(e->out, SHARED_END);
    print_ahead(e);
    rows_c_passes(e);
    print_finish(e);
    print_row(e);
    print_short_row(e);
    print_entry(e);
}

const Template *emit_rows_c(Arena *arena, const Plan *plan) {
    KnobText knobs[ROWS_KNOBS];
    Text text = {0}, code = {0};
    RowsC e = {.plan = plan, .out = &code, .scratch = arena_open()};
    e.parameters = language_parameters(C, plan, e.scratch);
    e.sweeps = sweeps_find(e.scratch, plan);
    e.copied = emit_c_copies(plan);
    uint32_t count = choose_knobs(&e, knobs);
    print_code(&e);
    e.out = &text;
    emit_head(&text, C, plan, knobs, count);
    print_rules(&e);
    emit_defaults(&text, plan, knobs, count);
    emit_c_types(&text, plan);
    const Template *template = emit_file(arena, C, plan->name, &text, &code);
    arena_close(e.scratch);
    return template;
}
