/* A plan in, the loops over a piece of a result's elements, or over lines across several results, out.
 * One idea: whole vectors lie in memory as they are used; what does not, and the last of a run, goes
 * through buffers and then the same way. */
#include <string.h>

#include "compiler/reduce_c.h"

static const EmitLanguage *const C = &emit_language_c;

/* --- lists */

bool reduce_c_reads(const ReduceC *e, uint32_t load) {
    return e->reduce->read[load];
}

/* The stride along the last axis, NULL where it is 0 or 1. */
static const char *inner_stride(const ReduceC *e, const Access *access) {
    uint32_t inner = e->plan->rank - 1;
    if (!plan_stride_given(e->plan, access, inner)) return NULL;
    return plan_stride_name(e->scratch, access, inner);
}

static bool is_inner(const ReduceC *e, const Parameter *parameter) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        const char *name = reduce_c_reads(e, i) ? inner_stride(e, access) : NULL;
        if (name && strcmp(name, parameter->name) == 0) return true;
    }
    return false;
}

static bool passes(const ReduceC *e, const Parameter *parameter, ReduceWhich which) {
    return which == REDUCE_ALL || parameter_is_scalar(parameter) ||
           (which == REDUCE_RUN && is_inner(e, parameter));
}

void reduce_c_parameters(const ReduceC *e, ReduceWhich which) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        if (which != REDUCE_ALL && (access_is_store(e->plan, i) || !reduce_c_reads(e, i))) continue;
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

/* Arguments without arrays, of which `count` stand there already. */
static void print_rest(const ReduceC *e, uint32_t count, ReduceWhich which) {
    for (uint32_t i = 0; i < e->reduce->parameters.list.count; i++) {
        const Parameter *parameter = &e->reduce->parameters.list.data[i];
        if (passes(e, parameter, which)) emit_next(e->out, count++, "%s", parameter->name);
    }
    if (count) text_add(e->out, ", ");
}

void reduce_c_arguments(const ReduceC *e) {
    for (uint32_t i = 0; i < access_count(e->plan); i++)
        emit_next(e->out, i, "%s", access_at(e->plan, i)->name);
    print_rest(e, access_count(e->plan), REDUCE_ALL);
}

/* --- elements along the last axis */

static bool is_spread(const ReduceC *e, const Access *access) {
    return access->class != ACCESS_DENSE && access->stride[e->plan->rank - 1] == 0;
}

static bool any_strided(const ReduceC *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (reduce_c_reads(e, i) && inner_stride(e, &e->plan->loads.data[i])) return true;
    return false;
}

static void print_buffers(const ReduceC *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!reduce_c_reads(e, i)) continue;
        text_printf(e->out, "    %s %s_v[K_LANES] = {0};\n", language_storage(C, access->dtype),
                    access->name);
        if (is_spread(e, access))
            text_printf(e->out, "    k_spread(%s_v, %s, sizeof *%s);\n", access->name, access->name,
                        access->name);
    }
}

static void print_fetch(const ReduceC *e, int indent) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        const char *step = reduce_c_reads(e, i) ? inner_stride(e, access) : NULL;
        if (!reduce_c_reads(e, i) || is_spread(e, access)) continue;
        if (step)
            text_printf(e->out, "%*sfor (int l = 0; l < n; l++) %s_v[l] = %s[(i + l) * %s];\n",
                        indent, "", access->name, access->name, step);
        else
            text_printf(e->out, "%*s__builtin_memcpy(%s_v, %s + i, n * sizeof *%s_v);\n", indent,
                        "", access->name, access->name, access->name);
    }
}

/* `offset`: of the vector from the arrays' first elements, NULL: it lies in buffers. */
static void print_vector_call(const ReduceC *e, const char *offset, const char *rest) {
    uint32_t count = 0;
    text_add(e->out, "k_vector(");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        bool buffered = !offset || is_spread(e, access);
        if (reduce_c_reads(e, i))
            emit_next(e->out, count++, "%s%s%s", access->name, buffered ? "_v" : " + ",
                      buffered ? "" : offset);
    }
    print_rest(e, count, REDUCE_VECTOR);
    text_printf(e->out, "%s);\n", rest);
}

static void print_direct(const ReduceC *e) {
    text_add(e->out,
             "    k_sums sums[__UNROLL__];\n"
             "    for (int u = 0; u < __UNROLL__; u++) sums[u] = k_start();\n"
             "    for (; i + __UNROLL__ * K_LANES <= count; i += __UNROLL__ * K_LANES, step++)\n"
             "#pragma GCC unroll 16\n"
             "        for (int u = 0; u < __UNROLL__; u++)\n            ");
    print_vector_call(e, "i + u * K_LANES", "&sums[u], step");
    text_add(e->out,
             "    for (int u = 0; u < __UNROLL__ && step > 0; u++) k_fold_all(to, &sums[u], "
             "step);\n");
}

static void print_run(const ReduceC *e) {
    text_add(e->out, "\n/* `count` elements along the last axis. */\nstatic void KF_ENTRY(k_run)(");
    reduce_c_parameters(e, REDUCE_RUN);
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
    text_add(e->out, "    }\n"
                     "    if (step > 0) k_fold_all(to, &last, step);\n"
                     "    if (i == count) return;\n"
                     "    const int n = count - i;\n"
                     "    last = k_start();\n");
    print_fetch(e, 4);
    text_add(e->out, "    ");
    print_vector_call(e, NULL, "&last, 0");
    text_add(e->out, "    for (int l = 0; l < n; l++) k_fold(to, &last, 1, l);\n}\n");
}

static void print_line(const ReduceC *e) {
    text_add(e->out, "\n/* An element of each of `count` results side by side. */\n"
                     "static void KF_ENTRY(k_line)(");
    reduce_c_parameters(e, REDUCE_RUN);
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
static void print_placed_call(const ReduceC *e, const char *function, const char *line,
                              const char *rest) {
    uint32_t count = 0;
    text_printf(e->out, "KF_ENTRY(%s)(", function);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!reduce_c_reads(e, i)) continue;
        emit_next(e->out, count++, "%s + ", access->name);
        reduce_offset(e->out, e->reduce, access, REDUCE_ELEMENT, line);
    }
    print_rest(e, count, REDUCE_RUN);
    text_printf(e->out, "%s);\n", rest);
}

/* --- pieces */

static void print_row_piece(const ReduceC *e) {
    bool lines = e->reduce->depth.end - e->reduce->depth.first > 1;
    text_add(e->out, "\n/* Elements [d, end) of result o. */\nstatic void KF_ENTRY(k_piece)(");
    reduce_c_parameters(e, REDUCE_ALL);
    text_add(e->out, "int64_t o, int64_t d, int64_t end, k_partial *to) {\n    *to = k_none();\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    text_printf(e->out,
                "    for (int64_t count; d < end; d += count) {\n"
                "        count = k_least(end - d, K_STEPS * __UNROLL__ * K_LANES);\n%s",
                lines ? "        count = k_least(count, kf_cols - d % kf_cols);\n" : "");
    reduce_coordinates(e->out, e->reduce, e->reduce->depth, "d", 8);
    text_add(e->out, "        ");
    print_placed_call(e, "k_run", "o * kf_depth + d", "count, to");
    text_add(e->out, "    }\n}\n");
}

static void print_column_piece(const ReduceC *e) {
    text_add(
        e->out,
        "\n/* Elements [d, end) of results (o, c) to (o, c + count), `high` lines as one; the last "
        "by themselves,\n * since of a vector all lanes are added. */\n"
        "static void KF_ENTRY(k_piece)(");
    reduce_c_parameters(e, REDUCE_ALL);
    text_add(e->out, "int64_t o, int64_t c, int64_t count, int64_t d, int64_t end, int64_t high,\n"
                     "        k_partial *to) {\n"
                     "    k_sums sums[(__ACROSS__ + K_LANES - 1) / K_LANES];\n"
                     "    for (int64_t i = 0; i < count; i++) to[i] = k_none();\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    reduce_coordinates(e->out, e->reduce, e->reduce->inner, "c", 4);
    text_add(e->out,
             "    while (d < end) {\n"
             "        const int64_t lines = k_least(high, end - d);\n"
             "        const int64_t steps = k_least((end - d) / lines, 8 * K_STEPS);\n"
             "        for (int64_t i = 0; i < count * lines; i += K_LANES) sums[i / K_LANES] = "
             "k_start();\n"
             "        for (int64_t step = 0; step < steps; d += lines, step++) {\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->depth, "d", 12);
    text_add(e->out, "            ");
    print_placed_call(e, "k_line", "(o * kf_depth + d) * kf_inner + c",
                      "count * lines, sums, step");
    text_add(e->out, "        }\n"
                     "        for (int64_t line = 0, i = 0; line < lines; line++)\n"
                     "            for (int64_t r = 0; r < count; r++, i++)\n"
                     "                k_fold(&to[r], &sums[i / K_LANES], steps, i % K_LANES);\n"
                     "    }\n}\n");
}

void reduce_c_walk(const ReduceC *e) {
    if (e->columns) {
        print_line(e);
        print_column_piece(e);
    } else {
        print_run(e);
        print_row_piece(e);
    }
}
