/* A plan of reductions in, C for the host compiler out. One idea: elements are summed in fixed
 * pieces, BLOCK elements of a result or DOWN lines of ACROSS results side by side, lane by lane in
 * registers, and then in double; pieces are joined in their order. So results depend on the point but
 * never on the number of threads, and 2^24 equal numbers keep their digits. */
#include "compiler/reduce_c.h"

static const EmitLanguage *const C = &emit_language_c;

/* --- entries */

static void print_entry(const ReduceC *e, const char *suffix) {
    text_printf(e->out, "\nvoid KF_ENTRY(%s%s)(void *const *args, int64_t part, int64_t parts) {\n",
                e->plan->name, suffix);
    emit_c_unpack(e->out, e->plan, &e->reduce->parameters);
    text_printf(e->out, "    k_partial *const workspace = *(k_partial *const *)args[%u];\n",
                access_count(e->plan) + e->reduce->parameters.list.count);
}

static void print_finish_call(const ReduceC *e, const char *rest) {
    text_add(e->out, "k_finish(");
    reduce_c_arguments(e);
    text_printf(e->out, "%s);\n", rest);
}

/* Elements of a result that are one piece, as an expression of the header and of C. */
static const char *piece(const ReduceC *e, bool header) {
    if (!e->columns) return "__BLOCK__";
    if (!e->flat) return "__DOWN__";
    return header ? "(__DOWN__ * max(1, min(__ACROSS__, 512) // max(1, kf_inner)))"
                  : "__DOWN__ * high";
}

/* Lines of few results are taken as one, as many as make up 512 sums: what they come to at the end is added
 * one by one. */
static void print_pieces(const ReduceC *e) {
    if (e->flat)
        text_add(e->out,
                 "    const int64_t fit = k_least(__ACROSS__, 512) / (kf_inner ? kf_inner : 1);\n"
                 "    const int64_t high = fit ? fit : 1;\n");
    else if (e->columns)
        text_add(e->out, "    const int64_t high = 1;\n");
    text_printf(e->out,
                "    const int64_t size = %s, results = kf_outer%s;\n"
                "    const int64_t pieces = kf_depth > size ? (kf_depth + size - 1) / size : 1;\n",
                piece(e, false), e->columns ? " * kf_inner" : "");
}

static void print_rows_entry(const ReduceC *e) {
    print_entry(e, "");
    print_pieces(e);
    text_add(e->out,
             "    const int64_t total = results * pieces, end = total * (part + 1) / parts;\n"
             "    k_partial all[K_LANES];\n"
             "    int n = 0;\n"
             "    for (int64_t at = total * part / parts; at < end; at++) {\n"
             "        const int64_t o = at / pieces, d = at % pieces * size;\n"
             "        k_partial *const to = pieces > 1 ? workspace + at % pieces * results + o : "
             "&all[n];\n"
             "        KF_ENTRY(k_piece)(");
    reduce_c_arguments(e);
    text_add(e->out, "o, d, k_least(d + size, kf_depth), to);\n"
                     "        if (pieces > 1 || (++n < K_LANES && at + 1 < end)) continue;\n"
                     "        ");
    print_finish_call(e, "all, at + 1 - n, n");
    text_add(e->out, "        n = 0;\n    }\n}\n");
}

static void print_columns_entry(const ReduceC *e) {
    bool lines = e->reduce->inner.end - e->reduce->inner.first > 1;
    const char *cols = lines ? "kf_cols" : "kf_inner";
    print_entry(e, "");
    print_pieces(e);
    text_printf(
        e->out,
        "    const int64_t strips = (%s + __ACROSS__ - 1) / __ACROSS__, wide = strips * %s;\n"
        "    const int64_t total = kf_outer * pieces * wide, end = total * (part + 1) / parts;\n"
        "    k_partial all[__ACROSS__];\n"
        "    for (int64_t at = total * part / parts; at < end; at++) {\n"
        "        const int64_t o = at / wide / pieces, piece = at / wide %% pieces, d = piece * "
        "size;\n"
        "        const int64_t left = at %% wide %% strips * __ACROSS__;\n"
        "        const int64_t c = at %% wide / strips * %s + left, t = o * kf_inner + c;\n"
        "        const int64_t count = k_least(%s - left, __ACROSS__);\n"
        "        KF_ENTRY(k_piece)(",
        cols, lines ? "(kf_inner / (kf_cols ? kf_cols : 1))" : "1", cols, cols);
    reduce_c_arguments(e);
    text_add(e->out,
             "o, c, count, d, k_least(d + size, kf_depth), high,\n"
             "            pieces > 1 ? workspace + piece * results + t : all);\n"
             "        for (int64_t i = 0; i < count && pieces == 1; i += K_LANES)\n            ");
    print_finish_call(e, "all + i, t + i, k_least(count - i, K_LANES)");
    text_add(e->out, "    }\n}\n");
}

static void print_join_entry(const ReduceC *e) {
    print_entry(e, "_join");
    print_pieces(e);
    text_add(
        e->out,
        "    const int64_t groups = (results + K_LANES - 1) / K_LANES;\n"
        "    for (int64_t g = groups * part / parts; g < groups * (part + 1) / parts; g++) {\n"
        "        const int64_t t = g * K_LANES;\n"
        "        const int n = k_least(results - t, K_LANES);\n"
        "        k_partial all[K_LANES];\n"
        "        for (int l = 0; l < n; l++) all[l] = k_none();\n"
        "        for (int64_t piece = 0; piece < pieces; piece++)\n"
        "            for (int l = 0; l < n; l++) k_join(&all[l], &workspace[piece * results + t + "
        "l]);\n        ");
    print_finish_call(e, "all, t, n");
    text_add(e->out, "    }\n}\n");
}

/* --- the space */

enum { C_KNOBS = 4 };

static uint32_t choose_knobs(const ReduceC *e, KnobText knobs[C_KNOBS]) {
    uint32_t count = 0;
    if (e->columns) { /* long pieces of lines: 4096x4096 f32 took 6.2 ms by 512, 3.6 by 4096 */
        knobs[count++] = (KnobText){"ACROSS", {4096, 512, 128}, 3};
        knobs[count++] = (KnobText){"DOWN", {256, 64, 1024}, 3};
    } else {
        knobs[count++] = (KnobText){"BLOCK", {16384, 4096, 65536}, 3};
        knobs[count++] = (KnobText){"UNROLL", {4, 1, 2, 8}, 4};
    }
    knobs[count++] = (KnobText){"THREADS", {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, 10};
    return count;
}

/* 65536 elements take one thread 12 us, less than waking another may. */
static void print_rules(const ReduceC *e) {
    const char *size = e->columns ? "kf_outer * kf_depth * kf_inner" : "kf_outer * kf_depth";
    const char *results = e->columns ? "kf_outer * kf_inner" : "kf_outer";
    text_printf(
        e->out,
        "//! require  __THREADS__ <= cpus\n"
        "//! prefer   __THREADS__ != cpus && (__THREADS__ == 0 || __THREADS__ * 4 >= cpus || "
        "%s < 262144)\n"
        "//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, %s // 65536))\n"
        "//! launch   %s_join  grid = kf_depth > %s ? 1 : 0  block = __THREADS__ ? "
        "__THREADS__ : max(1, min(cpus, ceildiv(kf_depth, %s) * %s // 16384))\n"
        "//! workspace kf_depth > %s ? ceildiv(kf_depth, %s) * %s * %u : 0\n",
        size, size, e->plan->name, piece(e, true), piece(e, true), results, piece(e, true),
        piece(e, true), results, reduce_part_bytes(e->reduce, 8));
}

/* --- the file */

static void print_code(const ReduceC *e) {
    reduce_c_values(e);
    text_add(e->out, SHARED_END);
    reduce_c_walk(e);
    if (e->columns)
        print_columns_entry(e);
    else
        print_rows_entry(e);
    print_join_entry(e);
}

/* What is read lies line behind line, or is one value for all of them. */
static bool is_flat(const ReduceC *e) {
    const Reduce *r = e->reduce;
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        bool one = !reduce_walks(access, r->depth) && !reduce_walks(access, r->inner);
        if (reduce_c_reads(e, i) && access->class != ACCESS_DENSE && !one) return false;
    }
    return r->depth.end - r->depth.first == 1 && r->inner.end - r->inner.first == 1;
}

const Template *emit_reduce_c(Arena *arena, const Plan *plan) {
    KnobText knobs[C_KNOBS];
    Text text = {0}, code = {0};
    ReduceC e = {.plan = plan, .out = &code, .scratch = arena_open()};
    e.reduce = reduce_open(e.scratch, plan, C);
    e.columns = reduce_has_inner(e.reduce);
    e.flat = is_flat(&e);
    uint32_t count = choose_knobs(&e, knobs);
    print_code(&e);
    e.out = &text;
    reduce_head(&text, e.reduce, knobs, count);
    print_rules(&e);
    emit_defaults(&text, plan, knobs, count);
    emit_c_types(&text, plan);
    const Template *template = emit_file(arena, C, plan->name, &text, &code);
    arena_close(e.scratch);
    return template;
}
