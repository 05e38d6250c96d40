/* A plan of reductions in, C for the host compiler out. One idea: elements are summed in fixed
 * pieces, BLOCK elements of a result or DOWN elements of each of ACROSS results side by side, lane by
 * lane in registers, and then in double; pieces are joined in their order. So results depend on the
 * point but never on the number of threads, and 2^24 equal numbers keep their digits. */
#include <string.h>

#include "compiler/emit.h"
#include "compiler/reduce.h"

static const EmitLanguage *const C = &emit_language_c;

/* Above this many operations the vector function is called, not copied to its places. */
enum { INLINE_OPERATIONS = 200 };

typedef struct Emitter {
    const Reduce *reduce;
    const Plan *plan;
    Text *out;
    Arena *scratch;
    bool columns; /* something is kept inside the reduced axes */
} Emitter;

/* --- lists */

/* What a function gets. RUN: arrays that elements are read from, strides along the last axis and
 * scalars; VECTOR: without the strides; ALL: everything. */
typedef enum Which { VECTOR, RUN, ALL } Which;

static bool is_read(const Emitter *e, uint32_t i) {
    return !access_is_store(e->plan, i) && e->reduce->read[i];
}

static const char *inner_stride(const Emitter *e, const Access *access) {
    uint32_t inner = e->plan->rank - 1;
    if (!plan_stride_given(e->plan, access, inner)) return NULL;
    return plan_stride_name(e->scratch, access, inner);
}

static bool is_inner(const Emitter *e, const Parameter *parameter) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const char *name = is_read(e, i) ? inner_stride(e, access_at(e->plan, i)) : NULL;
        if (name && strcmp(name, parameter->name) == 0) return true;
    }
    return false;
}

static bool passes(const Emitter *e, const Parameter *parameter, Which which) {
    return which == ALL || parameter_is_scalar(parameter) ||
           (which == RUN && is_inner(e, parameter));
}

static void print_parameters(const Emitter *e, Which which) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        if (which != ALL && !is_read(e, i)) continue;
        emit_next(e->out, count++, "%s%s *%s%s", access_is_store(e->plan, i) ? "" : "const ",
                  language_storage(C, access->dtype), access->alias ? "" : "restrict ",
                  access->name);
    }
    for (uint32_t i = 0; i < e->reduce->parameters.list.count; i++) {
        const Parameter *parameter = &e->reduce->parameters.list.data[i];
        if (passes(e, parameter, which))
            emit_next(e->out, count++, "%s %s", dtype_info(parameter->dtype)->c, parameter->name);
    }
    if (count) text_add(e->out, ", ");
}

static void print_rest(const Emitter *e, uint32_t count, Which which) {
    for (uint32_t i = 0; i < e->reduce->parameters.list.count; i++) {
        const Parameter *parameter = &e->reduce->parameters.list.data[i];
        if (passes(e, parameter, which)) emit_next(e->out, count++, "%s", parameter->name);
    }
    if (count) text_add(e->out, ", ");
}

static void print_all(const Emitter *e) {
    for (uint32_t i = 0; i < access_count(e->plan); i++)
        emit_next(e->out, i, "%s", access_at(e->plan, i)->name);
    print_rest(e, access_count(e->plan), ALL);
}

/* --- parts: a field of each for every reduction */

static const IrNode *node_of(const Emitter *e, Value v) {
    return ir_node(e->plan->ir, v);
}

static ValueKind kind_of(const Emitter *e, Value v) {
    return value_kind(node_of(e, v)->type.dtype);
}

static const char *part_type(const Emitter *e, Value v) {
    static const char *const types[] = {[VALUE_REAL] = "double",
                                        [VALUE_I32] = "int32_t",
                                        [VALUE_I64] = "int64_t",
                                        [VALUE_BOOL] = "int32_t"};
    return node_of(e, v)->op == IR_VAR ? "k_deviation" : types[kind_of(e, v)];
}

static const char *sums_type(const Emitter *e, Value v) {
    return node_of(e, v)->op == IR_VAR ? "k_deviations" : language_type(C, e->plan, kind_of(e, v));
}

static void print_structs(const Emitter *e) {
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

static void print_nothings(const Emitter *e) {
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
static void print_update(const Emitter *e, Value v, const char *from) {
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

static void print_joins(const Emitter *e) {
    text_add(e->out, "\nK_INLINE void k_join(k_partial *to, const k_partial *from) {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        print_update(e, v, arena_printf(e->scratch, "from->t%u", v));
    }
    text_add(e->out,
             "}\n\n/* A lane that has seen `steps` elements. */\n"
             "K_INLINE void k_fold(k_partial *to, const k_sums *sums, int64_t steps, int lane) "
             "{\n    (void)steps;\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        bool real = kind_of(e, v) == VALUE_REAL, truth = kind_of(e, v) == VALUE_BOOL;
        const char *lane =
            arena_printf(e->scratch, "%s%ssums->t%u[lane]%s%s", truth ? "(" : "",
                         real ? "(double)" : "", v, truth ? " != 0" : "", truth ? ")" : "");
        if (node_of(e, v)->op == IR_VAR)
            lane = arena_printf(e->scratch,
                                "(k_deviation){(double)steps, sums->t%u.first[lane], "
                                "sums->t%u.mean[lane], sums->t%u.squares[lane]}",
                                v, v, v);
        print_update(e, v, lane);
    }
    text_add(e->out, "}\n");
}

/* --- one vector of elements */

static void print_get(const Emitter *e, const Access *access, const char *from) {
    const char *type = language_type(C, e->plan, value_kind(access->dtype));
    text_printf(e->out, "    const %s t%u = k_get_%s(%s);\n", type, access->value,
                dtype_name(access->dtype), from);
}

/* "sums->t6 = k_join_max(sums->t6, t5);" */
static void print_take(const Emitter *e, Value v) {
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

static void print_vector(const Emitter *e) {
    bool copied = e->reduce->elements.count <= INLINE_OPERATIONS;
    text_add(e->out,
             "\n/* K_LANES elements that lie next to each other, the step-th of their lanes. "
             "*/\n");
    text_add(e->out, copied ? "K_INLINE" : "static __attribute__((noinline))");
    text_add(e->out, " void k_vector(");
    print_parameters(e, VECTOR);
    text_add(e->out, "k_sums *sums, int64_t step) {\n    (void)step;\n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (is_read(e, i)) print_get(e, &e->plan->loads.data[i], e->plan->loads.data[i].name);
    emit_values(e->out, e->plan, C, e->reduce->elements.at, e->reduce->elements.count, 4);
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++)
        print_take(e, e->reduce->reductions.at[i]);
    text_add(e->out, "}\n");
}

/* --- elements along the last axis */

static bool is_spread(const Emitter *e, const Access *access) {
    return access->class != ACCESS_DENSE && access->stride[e->plan->rank - 1] == 0;
}

static bool any_strided(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (is_read(e, i) && inner_stride(e, &e->plan->loads.data[i])) return true;
    return false;
}

static void print_buffers(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!is_read(e, i)) continue;
        text_printf(e->out, "    %s %s_v[K_LANES] = {0};\n", language_storage(C, access->dtype),
                    access->name);
        if (is_spread(e, access))
            text_printf(e->out, "    k_spread(%s_v, %s, sizeof *%s);\n", access->name, access->name,
                        access->name);
    }
}

static void print_fetch(const Emitter *e, int indent) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        const char *step = is_read(e, i) ? inner_stride(e, access) : NULL;
        if (!is_read(e, i) || is_spread(e, access)) continue;
        if (step)
            text_printf(e->out, "%*sfor (int l = 0; l < n; l++) %s_v[l] = %s[(i + l) * %s];\n",
                        indent, "", access->name, access->name, step);
        else
            text_printf(e->out, "%*s__builtin_memcpy(%s_v, %s + i, n * sizeof *%s_v);\n", indent,
                        "", access->name, access->name, access->name);
    }
}

/* `offset`: of the vector from the arrays' first elements, NULL: it lies in buffers. */
static void print_vector_call(const Emitter *e, const char *offset, const char *rest) {
    uint32_t count = 0;
    text_add(e->out, "k_vector(");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        bool buffered = !offset || is_spread(e, access);
        if (is_read(e, i))
            emit_next(e->out, count++, "%s%s%s", access->name, buffered ? "_v" : " + ",
                      buffered ? "" : offset);
    }
    print_rest(e, count, VECTOR);
    text_printf(e->out, "%s);\n", rest);
}

static void print_direct(const Emitter *e) {
    text_add(e->out,
             "    k_sums sums[__UNROLL__];\n"
             "    for (int u = 0; u < __UNROLL__; u++) sums[u] = k_start();\n"
             "    for (; i + __UNROLL__ * K_LANES <= count; i += __UNROLL__ * K_LANES, step++)\n"
             "#pragma GCC unroll 16\n"
             "        for (int u = 0; u < __UNROLL__; u++)\n            ");
    print_vector_call(e, "i + u * K_LANES", "&sums[u], step");
    text_add(e->out, "    for (int u = 0; u < __UNROLL__ && step > 0; u++)\n"
                     "        for (int l = 0; l < K_LANES; l++) k_fold(to, &sums[u], step, l);\n");
}

static void print_run(const Emitter *e) {
    text_add(e->out, "\n/* `count` elements along the last axis. */\nstatic void KF_ENTRY(k_run)(");
    print_parameters(e, RUN);
    text_add(e->out, "int64_t count, k_partial *to) {\n");
    print_buffers(e);
    text_add(e->out, "    int64_t i = 0, step = 0;\n");
    if (!any_strided(e)) print_direct(e);
    text_add(e->out, "    k_sums last = k_start();\n"
                     "    for (step = 0; i + K_LANES <= count; i += K_LANES, step++) {\n"
                     "        const int n = K_LANES;\n");
    print_fetch(e, 8);
    text_add(e->out, "        ");
    print_vector_call(e, NULL, "&last, step");
    text_add(e->out,
             "    }\n"
             "    for (int l = 0; l < K_LANES && step > 0; l++) k_fold(to, &last, step, l);\n"
             "    if (i == count) return;\n"
             "    const int n = count - i;\n"
             "    last = k_start();\n");
    print_fetch(e, 4);
    text_add(e->out, "    ");
    print_vector_call(e, NULL, "&last, 0");
    text_add(e->out, "    for (int l = 0; l < n; l++) k_fold(to, &last, 1, l);\n}\n");
}

static void print_line(const Emitter *e) {
    text_add(e->out, "\n/* An element of each of `count` results side by side. */\n"
                     "static void KF_ENTRY(k_line)(");
    print_parameters(e, RUN);
    text_add(e->out, "int64_t count, k_sums *sums, int64_t step) {\n");
    print_buffers(e);
    text_add(e->out, "    int64_t i = 0;\n");
    if (!any_strided(e)) {
        text_add(e->out, "    for (; i + K_LANES <= count; i += K_LANES) ");
        print_vector_call(e, "i", "sums++, step");
    }
    text_add(e->out, "    for (; i < count; i += K_LANES) {\n"
                     "        const int n = k_least(count - i, K_LANES);\n");
    print_fetch(e, 8);
    text_add(e->out, "        ");
    print_vector_call(e, NULL, "sums++, step");
    text_add(e->out, "    }\n}\n");
}

/* A call with every array at the place that the coordinates say. */
static void print_placed_call(const Emitter *e, const char *function, const char *line,
                              const char *rest) {
    uint32_t count = 0;
    text_printf(e->out, "KF_ENTRY(%s)(", function);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!is_read(e, i)) continue;
        emit_next(e->out, count++, "%s + ", access->name);
        reduce_offset(e->out, e->reduce, access, REDUCE_ELEMENT, line);
    }
    print_rest(e, count, RUN);
    text_printf(e->out, "%s);\n", rest);
}

/* --- pieces */

static void print_row_piece(const Emitter *e) {
    bool lines = e->reduce->depth.end - e->reduce->depth.first > 1;
    text_add(e->out, "\n/* Elements [d, end) of result o. */\nstatic void KF_ENTRY(k_piece)(");
    print_parameters(e, ALL);
    text_add(e->out, "int64_t o, int64_t d, int64_t end, k_partial *to) {\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    text_printf(e->out, "    for (int64_t count; d < end; d += count) {\n        count = %s;\n",
                lines ? "k_least(end - d, kf_cols - d % kf_cols)" : "end - d");
    reduce_coordinates(e->out, e->reduce, e->reduce->depth, "d", 8);
    text_add(e->out, "        ");
    print_placed_call(e, "k_run", "o * kf_depth + d", "count, to");
    text_add(e->out, "    }\n}\n");
}

static void print_column_piece(const Emitter *e) {
    text_add(e->out, "\n/* Elements [d, end) of results (o, c) to (o, c + count). */\n"
                     "static void KF_ENTRY(k_piece)(");
    print_parameters(e, ALL);
    text_add(e->out,
             "int64_t o, int64_t c, int64_t count, int64_t d, int64_t end, k_sums *sums) {\n"
             "    for (int64_t i = 0; i < count; i += K_LANES) sums[i / K_LANES] = k_start();\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    reduce_coordinates(e->out, e->reduce, e->reduce->inner, "c", 4);
    text_add(e->out, "    for (int64_t first = d; d < end; d++) {\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->depth, "d", 8);
    text_add(e->out, "        ");
    print_placed_call(e, "k_line", "(o * kf_depth + d) * kf_inner + c", "count, sums, d - first");
    text_add(e->out, "    }\n}\n");
}

/* --- results */

/* `statement` for each of n results; "%s" in it is the array's element. */
static void print_places(const Emitter *e, bool stores) {
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

static void print_reduced(const Emitter *e) {
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

static void print_finish(const Emitter *e) {
    text_add(e->out, "\n/* Results t to t + n, at most K_LANES. */\nstatic void k_finish(");
    print_parameters(e, ALL);
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

/* --- entries */

static void print_unpacking(const Emitter *e) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        const char *constant = access_is_store(e->plan, i) ? "" : "const ";
        const char *type = language_storage(C, access->dtype);
        text_printf(e->out, "    %s%s *const %s = *(%s%s *const *)args[%u];\n", constant, type,
                    access->name, constant, type, at++);
    }
    text_printf(e->out, "    k_partial *const workspace = *(k_partial *const *)args[%u];\n", at++);
    for (uint32_t i = 0; i < e->reduce->parameters.list.count; i++) {
        Parameter parameter = e->reduce->parameters.list.data[i];
        const char *type = dtype_info(parameter.dtype)->c;
        text_printf(e->out, "    const %s %s = *(const %s *)args[%u];\n", type, parameter.name,
                    type, at++);
    }
}

static void print_entry(const Emitter *e, const char *suffix) {
    text_printf(e->out, "\nvoid KF_ENTRY(%s%s)(void *const *args, int64_t part, int64_t parts) {\n",
                e->plan->name, suffix);
    print_unpacking(e);
}

static void print_finish_call(const Emitter *e, const char *rest) {
    text_add(e->out, "k_finish(");
    print_all(e);
    text_printf(e->out, "%s);\n", rest);
}

static void print_rows_entry(const Emitter *e) {
    print_entry(e, "");
    text_add(e->out,
             "    const int64_t pieces = kf_depth > __BLOCK__ ? (kf_depth + __BLOCK__ - 1) / "
             "__BLOCK__ : 1;\n"
             "    const int64_t total = kf_outer * pieces, end = total * (part + 1) / parts;\n"
             "    k_partial all[K_LANES];\n"
             "    int n = 0;\n"
             "    for (int64_t at = total * part / parts; at < end; at++) {\n"
             "        const int64_t o = at / pieces, piece = at % pieces, d = piece * __BLOCK__;\n"
             "        all[n] = k_none();\n"
             "        KF_ENTRY(k_piece)(");
    print_all(e);
    text_add(e->out, "o, d, k_least(d + __BLOCK__, kf_depth), &all[n]);\n"
                     "        if (pieces > 1) {\n"
                     "            workspace[piece * kf_outer + o] = all[0];\n"
                     "        } else if (++n == K_LANES || at + 1 == end) {\n            ");
    print_finish_call(e, "all, at + 1 - n, n");
    text_add(e->out, "            n = 0;\n        }\n    }\n}\n");
}

static void print_columns_entry(const Emitter *e) {
    bool lines = e->reduce->inner.end - e->reduce->inner.first > 1;
    const char *cols = lines ? "kf_cols" : "kf_inner";
    print_entry(e, "");
    text_printf(
        e->out,
        "    const int64_t pieces = kf_depth > __DOWN__ ? (kf_depth + __DOWN__ - 1) / __DOWN__ : "
        "1;\n"
        "    const int64_t strips = (%s + __ACROSS__ - 1) / __ACROSS__, results = kf_outer * "
        "kf_inner;\n"
        "    const int64_t wide = strips * %s;\n"
        "    const int64_t total = kf_outer * pieces * wide, end = total * (part + 1) / parts;\n"
        "    k_sums sums[(__ACROSS__ + K_LANES - 1) / K_LANES];\n"
        "    for (int64_t at = total * part / parts; at < end; at++) {\n"
        "        const int64_t o = at / wide / pieces, piece = at / wide %% pieces, d = piece * "
        "__DOWN__;\n"
        "        const int64_t left = at %% wide %% strips * __ACROSS__, c = at %% wide / strips * "
        "%s "
        "+ left;\n"
        "        const int64_t count = k_least(%s - left, __ACROSS__);\n"
        "        const int64_t below = k_least(d + __DOWN__, kf_depth);\n"
        "        KF_ENTRY(k_piece)(",
        cols, lines ? "(kf_inner / (kf_cols ? kf_cols : 1))" : "1", cols, cols);
    print_all(e);
    text_add(
        e->out,
        "o, c, count, d, below, sums);\n"
        "        for (int64_t i = 0; i < count; i += K_LANES) {\n"
        "            const int n = k_least(count - i, K_LANES);\n"
        "            k_partial all[K_LANES];\n"
        "            for (int l = 0; l < n; l++) {\n"
        "                all[l] = k_none();\n"
        "                if (below > d) k_fold(&all[l], &sums[i / K_LANES], below - d, l);\n"
        "                if (pieces > 1) workspace[piece * results + o * kf_inner + c + i + l] = "
        "all[l];\n"
        "            }\n"
        "            if (pieces == 1) ");
    print_finish_call(e, "all, o * kf_inner + c + i, n");
    text_add(e->out, "        }\n    }\n}\n");
}

static void print_join_entry(const Emitter *e) {
    const char *size = e->columns ? "__DOWN__" : "__BLOCK__";
    print_entry(e, "_join");
    text_printf(
        e->out,
        "    const int64_t pieces = (kf_depth + %s - 1) / %s, results = kf_outer%s;\n"
        "    const int64_t groups = (results + K_LANES - 1) / K_LANES;\n"
        "    for (int64_t g = groups * part / parts; g < groups * (part + 1) / parts; g++) {\n"
        "        const int64_t t = g * K_LANES;\n"
        "        const int n = k_least(results - t, K_LANES);\n"
        "        k_partial all[K_LANES];\n"
        "        for (int l = 0; l < n; l++) all[l] = k_none();\n"
        "        for (int64_t piece = 0; piece < pieces; piece++)\n"
        "            for (int l = 0; l < n; l++) k_join(&all[l], &workspace[piece * results + "
        "t + l]);\n        ",
        size, size, e->columns ? " * kf_inner" : "");
    print_finish_call(e, "all, t, n");
    text_add(e->out, "    }\n}\n");
}

/* --- the file */

static uint32_t choose_knobs(const Emitter *e, KnobText knobs[4]) {
    uint32_t count = 0;
    bool big = e->reduce->elements.count > INLINE_OPERATIONS;
    if (e->columns) {
        knobs[count++] = (KnobText){"ACROSS", {512, 128, 2048}, 3};
        knobs[count++] = (KnobText){"DOWN", {512, 128, 2048}, 3};
    } else {
        knobs[count++] = (KnobText){"BLOCK", {16384, 4096, 65536}, 3};
        knobs[count++] = (KnobText){"UNROLL", {4, 1, 2, 8}, big ? 1 : 4};
        if (big) knobs[count - 1].values[0] = 1;
    }
    knobs[count++] = (KnobText){"THREADS", {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}, 10};
    return count;
}

static void print_rules(const Emitter *e) {
    const char *size = e->columns ? "kf_outer * kf_depth * kf_inner" : "kf_outer * kf_depth";
    const char *results = e->columns ? "kf_outer * kf_inner" : "kf_outer";
    const char *piece = e->columns ? "__DOWN__" : "__BLOCK__";
    text_printf(
        e->out,
        "//! require  __THREADS__ <= cpus\n"
        "//! prefer   __THREADS__ != cpus && (__THREADS__ == 0 || __THREADS__ * 4 >= cpus || "
        "%s < 262144)\n"
        "//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, ceildiv(%s, "
        "16384)))\n"
        "//! launch   %s_join  grid = kf_depth > %s ? 1 : 0  block = __THREADS__ ? "
        "__THREADS__ : max(1, min(cpus, ceildiv(kf_depth, %s) * %s // 16384))\n"
        "//! workspace kf_depth > %s ? ceildiv(kf_depth, %s) * %s * %u : 0\n",
        size, size, e->plan->name, piece, piece, results, piece, piece, results,
        reduce_part_bytes(e->reduce, 8));
}

static int widest(const Plan *plan) {
    bool wide = plan->compute == DT_F64;
    for (uint32_t i = 0; i < plan->loads.count; i++) wide |= plan->loads.data[i].dtype == DT_I64;
    for (uint32_t i = 0; i < plan->stores.count; i++) wide |= plan->stores.data[i].dtype == DT_I64;
    for (uint32_t i = 0; i < plan->body.count; i++)
        wide |= ir_dtype(plan->ir, plan->body.data[i]) == DT_I64;
    return wide ? 8 : 4;
}

static void print_code(const Emitter *e) {
    print_structs(e);
    print_nothings(e);
    print_joins(e);
    print_vector(e);
    print_finish(e);
    text_add(e->out, SHARED_END);
    if (e->columns) {
        print_line(e);
        print_column_piece(e);
        print_columns_entry(e);
    } else {
        print_run(e);
        print_row_piece(e);
        print_rows_entry(e);
    }
    print_join_entry(e);
}

const Template *emit_reduce_c(Arena *arena, const Plan *plan) {
    KnobText knobs[4];
    Text text = {0}, code = {0};
    Emitter e = {.plan = plan, .out = &code, .scratch = arena_open()};
    e.reduce = reduce_open(e.scratch, plan, C);
    e.columns = e.reduce->inner.end > e.reduce->inner.first;
    uint32_t count = choose_knobs(&e, knobs);
    print_code(&e);
    e.out = &text;
    reduce_head(&text, e.reduce, knobs, count);
    print_rules(&e);
    emit_defaults(&text, plan, knobs, count);
    text_printf(&text, SHARED_BEGIN "#define K_BYTES %d\n#define K_F64 %d\n", widest(plan),
                plan->compute == DT_F64);
    emit_prelude(&text, C, text_string(&code));
    text_add(&text, text_string(&code));
    const Template *template = emit_finish(arena, plan->name, C->name, &text);
    text_free(&text);
    text_free(&code);
    arena_close(e.scratch);
    return template;
}
