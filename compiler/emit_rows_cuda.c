/* A plan of reductions over rows in, CUDA C++ out. One idea: passes over a row stand one below the
 * other, each a loop over what its threads keep of it; what a pass gathers is joined once, in one
 * struct, and what is one value a row is computed between passes by every thread. */
#include "compiler/rows_cuda_code.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- one row */

static void print_uniform(const RowsEmitter *e, uint32_t pass) {
    Values values = rows_uniform(e->scratch, e->facts->rows, e->plan, pass);
    for (uint32_t i = 0; i < values.count; i++) {
        if (!e->facts->read[values.at[i]]) continue;
        emit_statement(e->out, e->plan, CUDA, values.at[i], 4);
        rows_print_divisor(e, values.at[i]);
    }
}

static void print_uniform_loads(const RowsEmitter *e) {
    const Access *access;
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_UNIFORM, &i));)
        cuda_get(e->out, e->plan, access, rows_single(e, access), 4);
    for (uint32_t i = 0; (access = rows_next_load(e, ROWS_UNIFORM, &i));)
        rows_print_divisor(e, access->value);
    for (uint32_t i = 0; i < e->plan->scalars.count; i++)
        rows_print_divisor(e, e->plan->scalars.data[i].value);
}

static void print_row_stores(const RowsEmitter *e) {
    bool any = false;
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (!plan_is_reduced(e->plan, access)) continue;
        if (!any) text_add(e->out, "    if (row.lane == 0 && at < kf_rows) {\n");
        cuda_put(e->out, e->plan, access, rows_single(e, access), 8);
        any = true;
    }
    if (any) text_add(e->out, "    }\n");
}

static void print_row(const RowsEmitter *e) {
    const RowsCuda *facts = e->facts;
    text_printf(e->out,
                "\n// Row `at`, if there is one: all threads of the block are here.\n"
                "template <typename ROW, typename KEPT%s>\n"
                "K_INLINE void KF_ENTRY(k_one_row)(const ROW &row, const k_index at, KEPT &kept%s,"
                "\n        ",
                facts->columns ? ", typename AHEAD" : "",
                facts->columns ? ", const AHEAD &ahead" : "");
    cuda_parameters(e->out, e->plan, &e->parameters, "k_index");
    text_add(e->out,
             ") {\n    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;\n");
    emit_coordinates(e->out, CUDA, e->plan, "place", 4);
    text_add(e->out, "    kept.begin(row);\n");
    if (facts->means)
        text_printf(e->out, "    const %s share = 1 / (%s)kf_cols;\n", rows_real(e), rows_real(e));
    print_uniform_loads(e);
    text_add(e->out, "    if (ROW::BLOCKS > 1) k_cluster_wait();\n");
    for (uint32_t pass = 0; pass < facts->rows->passes; pass++) {
        print_uniform(e, pass);
        rows_print_pass(e, pass);
    }
    print_uniform(e, facts->rows->passes);
    print_row_stores(e);
    text_add(e->out, "}\n");
}

/* --- entries */

static void print_call(const RowsEmitter *e, int indent) {
    text_printf(e->out, "%*sKF_ENTRY(k_one_row)(row, at, kept%s, ", indent, "",
                e->facts->columns ? ", ahead" : "");
    cuda_arguments(e->out, e->plan, &e->parameters);
    text_add(e->out, ");\n");
}

static void print_keep(const RowsEmitter *e, const char *keep, int indent) {
    text_printf(
        e->out,
        "%*sk_kept<%s, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, ",
        indent, "", keep);
    cuda_arguments(e->out, e->plan, &e->parameters);
    text_add(e->out, "));\n");
}

/* In shared memory, a row is on its way while others are summed up: as many threads as there may be,
 * or 3/4 of them and more registers, which columns need. Where large blocks keep up to 32 words a thread, 1024 threads fit
 * a multiprocessor if each has 64 registers; a compiler that may read columns ahead takes more, and half
 * the blocks fit. */
static const char *blocks_of(const RowsEmitter *e) {
    const char *threads = "__TPR__ * __RPB__", *shared = "(__ITEMS__ > 2 ? 1536 : 2048)";
    if (!e->facts->keeps) return "";
    if (e->facts->columns) shared = "(__ITEMS__ > 2 ? 1024 : 1536)";
    if (!e->facts->columns)
        return arena_printf(e->scratch, ",\n        __KEEP__ == 1 ? %s / (%s) : 1", shared,
                            threads);
    const char *words =
        arena_printf(e->scratch, "__VEC__ * __ITEMS__ * %u", rows_cuda_words(e->facts));
    return arena_printf(e->scratch,
                        ",\n        __KEEP__ == 1 ? %s / (%s) : __KEEP__ == 0 && __EARLY__ == 0 &&"
                        " %s > 16 && %s <= 32 && %s >= 256 ? 1024 / (%s) : 1",
                        shared, threads, words, words, threads, threads);
}

static void print_begin(const RowsEmitter *e, const char *suffix, const char *blocks) {
    text_printf(e->out,
                "extern \"C\" __global__ void __launch_bounds__(__TPR__ * __RPB__%s)\n"
                "KF_ENTRY(%s%s)(",
                blocks, e->plan->name, suffix);
    cuda_parameters(e->out, e->plan, &e->parameters, "long long");
    text_printf(e->out, ") {\n    k_begin<%s>();\n", *suffix ? "false" : "__NEXT__");
}

/* Columns are read ahead for all rows that a thread goes through: odd rows begin elsewhere in a
 * vector, so for one. */
static const char *ahead_type(const RowsEmitter *e) {
    const char *early = e->facts->keeps ? "__KEEP__ == 0 && __EARLY__" : "false";
    const char *odd =
        e->facts->keeps && rows_cuda_peels(e->facts) ? " && !(__PEEL__ && __GRID__)" : "";
    return arena_printf(e->scratch, "k_ahead<%s%s, __ITEMS__, Row>", early, odd);
}

static const char FIRST_ROW[] = "Row(top + threadIdx.x / __TPR__, kf_rows, kf_cols)";

static void print_rounds(const RowsEmitter *e) {
    text_add(e->out, "    for (;;) {\n"
                     "        const k_index at = top + threadIdx.x / __TPR__;\n"
                     "        const Row row(at, kf_rows, kf_cols);\n");
    print_keep(e, e->facts->keeps ? "__KEEP__" : "2", 8);
    print_call(e, 8);
    text_add(e->out, "        top += (k_index)gridDim.x * __RPB__;\n"
                     "        if (__GRID__ == 0 || top >= kf_rows) break;\n"
                     "        if (__TPR__ > 32) __syncthreads();\n    }\n");
}

static void print_one(const RowsEmitter *e) {
    text_add(e->out, "    const k_index at = top + threadIdx.x / __TPR__;\n"
                     "    const Row row(at, kf_rows, kf_cols);\n");
    print_keep(e, e->facts->keeps ? "__KEEP__" : "2", 4);
    print_call(e, 4);
}

static void print_entry(const RowsEmitter *e) {
    text_add(e->out, "\n");
    print_begin(e, "", blocks_of(e));
    text_printf(e->out,
                "    typedef k_row<__VEC__, %s, __TPR__, __RPB__, __CLUSTER__, int> Row;\n"
                "    k_index top = (k_index)(blockIdx.x / __CLUSTER__) * __RPB__;\n"
                "    if (__CLUSTER__ > 1) k_meet_begin();\n",
                rows_cuda_peels(e->facts) ? "!__PEEL__" : "true");
    rows_print_make_ahead(e, ahead_type(e), FIRST_ROW, 4);
    if (e->facts->columns)
        print_rounds(e);
    else
        print_one(e);
    text_add(e->out, "}\n");
}

static void print_twin(const RowsEmitter *e) {
    text_add(e->out, "\n// The same for any row, and arrays aligned to no more than an element; "
                     "long rows are not\n"
                     "// summed up by one thread.\n");
    print_begin(e, "_any", "");
    text_add(e->out,
             "    enum { TPR = __TPR__ < 32 ? 32 : __TPR__, RPB = __TPR__ * __RPB__ / TPR };\n"
             "    typedef k_row<1, true, TPR, RPB, 1, long long> Row;\n"
             "    k_index top = (k_index)blockIdx.x * RPB;\n"
             "    for (; top < kf_rows; top += (k_index)gridDim.x * RPB) {\n"
             "        const k_index at = top + threadIdx.x / TPR;\n"
             "        const Row row(at, kf_rows, kf_cols);\n");
    rows_print_make_ahead(e, "k_ahead<false, 1, Row>", "row", 8);
    print_keep(e, "2", 8);
    print_call(e, 8);
    text_add(e->out, "        __syncthreads();\n    }\n}\n");
}

/* --- the file */

static void print_structs(const RowsEmitter *e) {
    for (uint32_t pass = 0; pass < e->facts->rows->passes; pass++) rows_print_struct(e, pass);
}

static void print_code(const RowsEmitter *split, const RowsEmitter *online) {
    rows_print_source(split);
    print_structs(split);
    if (online) print_structs(online);
    rows_print_ahead(split);
    text_add(split->out, SHARED_END);
    rows_print_find_source(split);
    if (online) text_add(split->out, "\n#if __ONLINE__ && __KEEP__ != 0");
    if (online) print_row(online);
    if (online) text_add(split->out, "\n#else");
    print_row(split);
    if (online) text_add(split->out, "\n#endif\n");
    print_entry(split);
    print_twin(split);
}

const Template *emit_rows_cuda(Arena *arena, const Plan *plan) {
    KnobText knobs[ROWS_CUDA_KNOBS];
    Text text = {0}, code = {0};
    Arena *scratch = arena_open();
    RowsCuda facts = rows_cuda_find(scratch, plan, ROWS_SPLIT);
    RowsCuda online = rows_cuda_find(scratch, plan, ROWS_ONLINE);
    RowsEmitter e = {plan,  &facts,  "pass",
                     &code, scratch, language_parameters(CUDA, plan, scratch)};
    RowsEmitter o = {plan, &online, "online", &code, scratch, e.parameters};
    uint32_t count = rows_cuda_knobs(&facts, &online, knobs);
    print_code(&e, rows_cuda_offers(&facts, &online) ? &o : NULL);
    emit_head(&text, CUDA, plan, knobs, count);
    rows_cuda_rules(&text, &facts, &online);
    emit_defaults(&text, plan, knobs, count);
    cuda_types(&text, plan);
    const Template *template = emit_file(arena, CUDA, plan->name, &text, &code);
    arena_close(scratch);
    return template;
}
