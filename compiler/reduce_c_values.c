/* The plan's values in, the functions of a vector of elements and of some results out, and what lies
 * between: sums by lanes, and what a result's have come to. */
#include <string.h>

#include "compiler/reduce_c.h"

static const EmitLanguage *const C = &emit_language_c;

/* --- parts: a field of each for every reduction */

static const IrNode *node_of(const ReduceC *e, Value v) {
    return ir_node(e->plan->ir, v);
}

static ValueKind kind_of(const ReduceC *e, Value v) {
    return value_kind(node_of(e, v)->type.dtype);
}

static const char *part_type(const ReduceC *e, Value v) {
    static const char *const types[] = {[VALUE_REAL] = "double",
                                        [VALUE_I32] = "int32_t",
                                        [VALUE_I64] = "int64_t",
                                        [VALUE_BOOL] = "int32_t"};
    return node_of(e, v)->op == IR_VAR ? "k_deviation" : types[kind_of(e, v)];
}

static const char *sums_type(const ReduceC *e, Value v) {
    return node_of(e, v)->op == IR_VAR ? "k_deviations" : language_type(C, e->plan, kind_of(e, v));
}

static void print_structs(const ReduceC *e) {
    text_add(e->out, "/* What the reductions have come to, lane by lane. */\n"
                     "typedef struct k_sums {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++)
        text_printf(e->out, "    %s t%u;\n", sums_type(e, e->reduce->reductions.at[i]),
                    e->reduce->reductions.at[i]);
    text_add(e->out, "} k_sums;\n/* Of one result. */\ntypedef struct k_partial {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++)
        text_printf(e->out, "    %s t%u;\n", part_type(e, e->reduce->reductions.at[i]),
                    e->reduce->reductions.at[i]);
    text_printf(e->out,
                "} k_partial;\n_Static_assert(sizeof(k_partial) == %u, \"as the workspace has room "
                "for\");\n",
                reduce_part_bytes(e->reduce, 8));
}

static void print_nothings(const ReduceC *e) {
    static const char *const all[] = {"k_all", "k_all_i32", "k_all_i64", "k_all_bool"};
    text_add(e->out, "\nK_INLINE k_partial k_none(void) {\n    return (k_partial){");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_add(e->out, i ? ", " : "");
        if (node_of(e, v)->op == IR_VAR) text_add(e->out, "{");
        reduce_nothing(e->out, e->reduce, v);
        if (node_of(e, v)->op == IR_VAR) text_add(e->out, "}");
    }
    text_add(e->out, "};\n}\nK_INLINE k_sums k_start(void) {\n    return (k_sums){");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_add(e->out, i ? ", " : "");
        if (node_of(e, v)->op == IR_VAR) {
            text_add(e->out, "{{0}}");
            continue;
        }
        text_printf(e->out, "%s(", all[kind_of(e, v)]);
        reduce_nothing(e->out, e->reduce, v);
        text_add(e->out, ")");
    }
    text_add(e->out, "};\n}\n");
}

/* "to.t6 += from;" */
static void print_update(const ReduceC *e, Value v, const char *from) {
    const IrNode *node = node_of(e, v);
    bool real = kind_of(e, v) == VALUE_REAL;
    text_printf(e->out, "    ");
    if (node->op == IR_VAR)
        text_printf(e->out, "k_unite(&to->t%u, %s);\n", v, from);
    else if (node->op == IR_MAX || node->op == IR_MIN)
        text_printf(e->out, "to->t%u = %s(to->t%u, %s);\n", v,
                    node->op == IR_MAX ? "K_MORE" : "K_LESS", v, from);
    else if (real)
        text_printf(e->out, "to->t%u %s= %s;\n", v, node->op == IR_PROD ? "*" : "+", from);
    else
        text_printf(e->out, "to->t%u = (int64_t)((uint64_t)to->t%u %s (uint64_t)%s);\n", v, v,
                    node->op == IR_PROD ? "*" : "+", from);
}

/* What lane `lane` of the sums has come to, as a part. */
static const char *lane_of(const ReduceC *e, Value v) {
    if (node_of(e, v)->op == IR_VAR)
        return arena_printf(e->scratch,
                            "(k_deviation){(double)steps, sums->t%u.first[lane], "
                            "sums->t%u.mean[lane], sums->t%u.squares[lane]}",
                            v, v, v);
    if (kind_of(e, v) == VALUE_BOOL) return arena_printf(e->scratch, "(sums->t%u[lane] != 0)", v);
    bool real = kind_of(e, v) == VALUE_REAL;
    return arena_printf(e->scratch, "%ssums->t%u[lane]", real ? "(double)" : "", v);
}

static bool adds_reals(const ReduceC *e, Value v) {
    uint16_t op = node_of(e, v)->op;
    return kind_of(e, v) == VALUE_REAL && (op == IR_SUM || op == IR_MEAN);
}

static void print_fold(const ReduceC *e) {
    text_add(e->out,
             "}\n\n/* A lane that has seen `steps` elements; all of them. */\n"
             "K_INLINE void k_fold(k_partial *to, const k_sums *sums, int64_t steps, int lane) {\n"
             "    (void)steps;\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++)
        print_update(e, e->reduce->reductions.at[i], lane_of(e, e->reduce->reductions.at[i]));
    text_add(e->out,
             "}\nK_INLINE void k_fold_all(k_partial *to, const k_sums *sums, int64_t steps) "
             "{\n    (void)steps;\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        if (!adds_reals(e, v))
            text_add(e->out, "    for (int lane = 0; lane < K_LANES; lane++)\n    ");
        print_update(e, v,
                     adds_reals(e, v) ? arena_printf(e->scratch, "k_sum_lanes(sums->t%u)", v)
                                      : lane_of(e, v));
    }
    text_add(e->out, "}\n");
}

static void print_joins(const ReduceC *e) {
    text_add(e->out, "\nK_INLINE void k_join(k_partial *to, const k_partial *from) {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        print_update(e, v, arena_printf(e->scratch, "from->t%u", v));
    }
    print_fold(e);
}

/* --- one vector of elements */

static void print_get(const ReduceC *e, const Access *access, const char *from) {
    const char *type = language_type(C, e->plan, value_kind(access->dtype));
    text_printf(e->out, "    const %s t%u = k_get_%s(%s);\n", type, access->value,
                dtype_name(access->dtype), from);
}

/* "sums->t6 = k_join_max(sums->t6, t5);" */
static void print_take(const ReduceC *e, Value v) {
    static const char *const reals[] = {"%s + %s", "%s * %s", "k_join_max(%s, %s)",
                                        "k_join_min(%s, %s)", "%s + %s"};
    static const char *const wholes[][4] = {
        [VALUE_I32] = {"k_add_i32(%s, %s)", "k_mul_i32(%s, %s)", "k_fmax_i32(%s, %s)",
                       "k_fmin_i32(%s, %s)"},
        [VALUE_I64] = {"k_add_i64(%s, %s)", "k_mul_i64(%s, %s)", "k_fmax_i64(%s, %s)",
                       "k_fmin_i64(%s, %s)"},
        [VALUE_BOOL] = {"%s", "%s", "%s | %s", "%s & %s"}};
    const IrNode *node = node_of(e, v);
    ValueKind kind = kind_of(e, v);
    const char *form = kind == VALUE_REAL ? reals[node->op == IR_VAR ? 0 : node->op - IR_SUM]
                                          : wholes[kind][node->op - IR_SUM];
    const char *before = arena_printf(e->scratch, "sums->t%u", v);
    Text operand = {0};
    emit_operand(&operand, e->plan, C, node->arg[0], true);
    if (node->op == IR_VAR) {
        text_printf(e->out, "    k_deviate(&sums->t%u, %s, step);\n", v, text_string(&operand));
    } else {
        text_printf(e->out, "    sums->t%u = ", v);
        text_printf(e->out, form, before, text_string(&operand));
        text_add(e->out, ";\n");
    }
    text_free(&operand);
}

static void print_vector(const ReduceC *e) {
    text_add(e->out,
             "\n/* K_LANES elements that lie next to each other, the step-th of their lanes. "
             "*/\n");
    text_add(e->out, emit_c_copies(e->plan) ? "K_INLINE" : "static __attribute__((noinline))");
    text_add(e->out, " void k_vector(");
    reduce_c_parameters(e, REDUCE_VECTOR);
    text_add(e->out, "k_sums *sums, int64_t step) {\n    (void)step;\n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (reduce_c_reads(e, i))
            print_get(e, &e->plan->loads.data[i], e->plan->loads.data[i].name);
    emit_values(e->out, e->plan, C, e->reduce->elements.at, e->reduce->elements.count, 4);
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++)
        print_take(e, e->reduce->reductions.at[i]);
    text_add(e->out, "}\n");
}

/* --- results */

/* `statement` for each of n results; "%s" in it is the array's element. */
static void print_places(const ReduceC *e, bool stores) {
    text_add(e->out, "    for (int l = 0; l < n; l++) {\n");
    text_printf(e->out, "        const int64_t r = t + l;\n");
    if (e->columns) text_add(e->out, "        const int64_t o = r / kf_inner, c = r % kf_inner;\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, e->columns ? "o" : "r", 8);
    reduce_coordinates(e->out, e->reduce, e->reduce->inner, "c", 8);
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        bool store = access_is_store(e->plan, i);
        if (store != stores || (!store && !e->reduce->finished[i])) continue;
        if (!store) text_printf(e->out, "        %s_v[l] = ", access->name);
        text_printf(e->out, "%s%s[", store ? "        " : "", access->name);
        reduce_offset(e->out, e->reduce, access, REDUCE_RESULT, "r");
        text_add(e->out, "]");
        if (store) text_printf(e->out, " = %s_v[l]", access->name);
        text_add(e->out, ";\n");
    }
    text_add(e->out, "    }\n");
}

static void print_reduced(const ReduceC *e) {
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        const char *type = language_type(C, e->plan, kind_of(e, v));
        const char *form = node_of(e, v)->op == IR_VAR    ? "all[l].t%u.squares / (double)kf_depth"
                           : node_of(e, v)->op == IR_MEAN ? "all[l].t%u / (double)kf_depth"
                           : kind_of(e, v) == VALUE_BOOL  ? "-all[l].t%u"
                                                          : "all[l].t%u";
        text_printf(e->out, "    %s t%u = {0};\n    for (int l = 0; l < n; l++) t%u[l] = ", type, v,
                    v);
        text_printf(e->out, form, v);
        text_add(e->out, ";\n");
    }
}

static void print_finish(const ReduceC *e) {
    text_add(e->out, "\n/* Results t to t + n, at most K_LANES. */\nstatic void k_finish(");
    reduce_c_parameters(e, REDUCE_ALL);
    text_add(e->out, "const k_partial *all, int64_t t, int n) {\n");
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        if (access_is_store(e->plan, i) || e->reduce->finished[i])
            text_printf(e->out, "    %s %s_v[K_LANES] = {0};\n", language_storage(C, access->dtype),
                        access->name);
    }
    print_places(e, false);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (e->reduce->finished[i])
            print_get(e, access, arena_printf(e->scratch, "%s_v", access->name));
    }
    print_reduced(e);
    emit_values(e->out, e->plan, C, e->reduce->behind.at, e->reduce->behind.count, 4);
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        text_printf(e->out, "    k_put_%s(%s_v, ", dtype_name(access->dtype), access->name);
        emit_operand(e->out, e->plan, C, access->value, true);
        text_add(e->out, ", 0);\n");
    }
    print_places(e, true);
    text_add(e->out, "}\n");
}

void reduce_c_values(const ReduceC *e) {
    print_structs(e);
    print_nothings(e);
    print_joins(e);
    print_vector(e);
    print_finish(e);
}
