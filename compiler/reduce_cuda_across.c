/* A plan in, the kernel of results that lie side by side out: a thread has N of them and walks down
 * lines of one element of each. */
#include "compiler/reduce_cuda_code.h"

static void print_column_load(const ReduceCuda *e, const Access *access, const char *to,
                              int indent) {
    ReduceReach reach = reduce_cuda_reach(e, access);
    ReduceWhere where = reach == REACH_COLUMNS ? REDUCE_RESULT : REDUCE_ELEMENT;
    const char *line =
        reach == REACH_COLUMNS ? "o * kf_inner + c" : "(o * kf_depth + d) * kf_inner + c";
    if (reach == REACH_VECTOR) {
        if (access->class != ACCESS_DENSE)
            reduce_coordinates(e->out, e->reduce, e->reduce->inner, "c", indent);
        text_printf(e->out, "%*s%s = k_load_some<WIDE, N>(%s, kf_inner - c);\n", indent, "", to,
                    reduce_cuda_begin(e, access, where, line));
        return;
    }
    text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < N; j++) {\n", indent, "");
    reduce_coordinates(e->out, e->reduce, e->reduce->inner, "(c + j)", indent + 4);
    text_printf(e->out, "%*s%s.at[j] = c + j < kf_inner ? ", indent + 4, "", to);
    text_printf(e->out, "%s : 0;\n%*s}\n",
                reduce_cuda_place(e, access, where,
                                  reach == REACH_COLUMNS ? "o * kf_inner + c + j"
                                                         : "(o * kf_depth + d) * kf_inner + c + j"),
                indent, "");
}

static void print_lines(const ReduceCuda *e) {
    text_add(e->out,
             "\n// Lines d, d + step … of columns c to c + N, U of them.\n"
             "template <bool WIDE, int N, int U> K_INLINE void k_lines(k_part (&part)[N], ");
    reduce_cuda_parameters(e);
    reduce_cuda_kept(e, true);
    text_add(e->out, ", const k_index o, const k_index c, const k_index from,\n"
                     "        const k_index step) {\n");
    reduce_cuda_flight(e);
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    text_add(e->out, "#pragma unroll\n    for (int u = 0; u < U; u++) {\n"
                     "        const k_index d = from + u * step;\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->depth, "d", 8);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        ReduceReach reach = reduce_cuda_reach(e, access);
        if (!reduce_cuda_reads(e, i) || reach == REACH_ONCE || reach == REACH_COLUMNS) continue;
        if (reach == REACH_LINE)
            text_printf(e->out, "        %s_v[u] = %s;\n", access->name,
                        reduce_cuda_place(e, access, REDUCE_ELEMENT, ""));
        else
            print_column_load(e, access, arena_printf(e->scratch, "%s_v[u]", access->name), 8);
    }
    text_add(e->out, "    }\n#pragma unroll\n    for (int j = 0; j < N; j++) {\n"
                     "        k_terms<U> terms;\n"
                     "#pragma unroll\n        for (int u = 0; u < U; u++) ");
    reduce_cuda_element(e, "u");
    text_add(e->out, "        k_take(part[j], terms);\n    }\n}\n");
}

static void print_lines_call(const ReduceCuda *e, const char *lines) {
    text_printf(e->out, "k_lines<WIDE, N, %s>(part, ", lines);
    reduce_cuda_arguments(e);
    reduce_cuda_kept(e, false);
    text_add(e->out, ", o, c, d, step);\n");
}

static void print_column(const ReduceCuda *e) {
    text_add(e->out,
             "\n// A thread's share of columns c to c + N: every step-th line.\n"
             "template <bool WIDE, int N, int U> K_INLINE void k_share(k_part (&part)[N], ");
    reduce_cuda_parameters(e);
    text_add(e->out, ", const k_index o, const k_index c, k_index d, const k_index step) {\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    reduce_cuda_once(e);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!reduce_cuda_reads(e, i) || reduce_cuda_reach(e, access) != REACH_COLUMNS) continue;
        text_printf(e->out, "    k_pack<%s, N> %s_v;\n", cuda_storage(access), access->name);
        print_column_load(e, access, arena_printf(e->scratch, "%s_v", access->name), 4);
    }
    text_add(e->out, "    for (; d + (U - 1) * step < kf_depth; d += U * step) ");
    print_lines_call(e, "U");
    text_add(e->out, "    for (; d < kf_depth; d += step) ");
    print_lines_call(e, "1");
    text_add(e->out, "}\n");
}

static void print_columns(const ReduceCuda *e) {
    text_add(
        e->out,
        "\n// A block is ACROSS threads of VEC columns each, as many lines as it has threads for,\n"
        "// of one of SPLIT shares of the lines.\n"
        "template <bool WIDE, int VEC, int ACROSS, int BLOCK, int UNROLL, int SPLIT>\n"
        "K_INLINE void k_across(");
    reduce_cuda_parameters(e);
    text_add(
        e->out,
        ", k_part *__restrict__ workspace) {\n"
        "    enum { DOWN = BLOCK / ACROSS };\n"
        "    const long long tiles = ((long long)kf_inner + ACROSS * VEC - 1) / (ACROSS * VEC);\n"
        "    const int line = threadIdx.x / ACROSS;\n"
        "    for (long long at = blockIdx.x; at < tiles * SPLIT * kf_outer; at += gridDim.x) {\n"
        "        const int split = (int)(at / tiles % SPLIT);\n"
        "        const k_index o = (k_index)(at / tiles / SPLIT);\n"
        "        const k_index c = (k_index)(at % tiles * ACROSS + threadIdx.x % ACROSS) * VEC;\n"
        "        k_part part[VEC];\n"
        "#pragma unroll\n        for (int j = 0; j < VEC; j++) part[j] = k_none();\n"
        "        if (c < kf_inner) k_share<WIDE, VEC, UNROLL>(part, ");
    reduce_cuda_arguments(e);
    text_add(
        e->out,
        ", o, c, split * DOWN + line, SPLIT * DOWN);\n"
        "#pragma unroll\n        for (int j = 0; j < VEC; j++) {\n"
        "            const k_part all = k_column_reduce<ACROSS, DOWN>(part[j]);\n"
        "            if (c + j >= kf_inner || line > 0) continue;\n"
        "            const k_index t = o * kf_inner + c + j;\n"
        "            if (SPLIT > 1) workspace[(long long)split * kf_outer * kf_inner + t] = all;\n"
        "            else k_finish(all, t, ");
    reduce_cuda_arguments(e);
    text_add(e->out, ");\n        }\n    }\n}\n");
}

static void print_columns_join(const ReduceCuda *e) {
    text_add(e->out, "\n// 32 results side by side, 8 threads for each.\n"
                     "template <int SPLIT> K_INLINE void k_across_join(");
    reduce_cuda_parameters(e);
    text_add(e->out,
             ", k_part *__restrict__ workspace) {\n"
             "    const long long results = (long long)kf_outer * kf_inner;\n"
             "    for (long long left = (long long)blockIdx.x * 32; left < results; left += (long "
             "long)gridDim.x * 32) {\n"
             "        const long long t = left + threadIdx.x % 32;\n"
             "        k_part part = k_none();\n"
             "        for (int s = threadIdx.x / 32; s < SPLIT && t < results; s += 8)\n"
             "            part = k_join(part, workspace[s * results + t]);\n"
             "        part = k_column_reduce<32, 8>(part);\n"
             "        if (t < results && threadIdx.x < 32) k_finish(part, (k_index)t, ");
    reduce_cuda_arguments(e);
    text_add(e->out, ");\n    }\n}\n");
}

/* Every vector of VEC columns may be read at once. */
static void print_is_wide(const ReduceCuda *e) {
    text_add(e->out, "\ntemplate <int N> K_INLINE bool k_is_wide(");
    reduce_cuda_parameters(e);
    text_add(e->out, ") {\n    return N > 1 && kf_inner % N == 0");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!reduce_cuda_is_vector(e, i)) continue;
        text_printf(e->out, "\n        && k_aligned<N>(%s)", access->name);
        for (uint32_t axis = 0; axis < e->plan->rank; axis++)
            if (plan_stride_given(e->plan, access, axis))
                text_printf(e->out, " && %s %% N == 0", plan_stride_name(e->scratch, access, axis));
    }
    text_add(e->out, ";\n}\n");
}

void reduce_cuda_across(const ReduceCuda *e) {
    print_lines(e);
    print_column(e);
    print_columns(e);
    print_columns_join(e);
    print_is_wide(e);
}
