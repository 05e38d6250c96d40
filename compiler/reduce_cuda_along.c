/* A plan in, the kernel of results whose elements lie side by side out: threads take vectors of them,
 * which begin at multiples in memory wherever the result's elements begin. */
#include "compiler/reduce_cuda_code.h"

/* Not in vectors of its own: elements a step apart, as far as they are in one line of the last axis,
 * where most vectors are. */
static void print_each(const ReduceCuda *e, const Access *access) {
    Section depth = e->reduce->depth;
    uint32_t last = e->plan->rank - 1;
    const char *step = plan_stride_given(e->plan, access, last)
                           ? plan_stride_name(e->scratch, access, last)
                       : access->stride[last] ? "1"
                                              : "0";
    bool lines = depth.end - depth.first > 1;
    if (lines) text_printf(e->out, "        if (N == 1 || i%u + N <= kf_cols)\n    ", last);
    text_printf(e->out, "        %s_v[u] = k_load_each<N>(%s, %s);\n", access->name,
                reduce_cuda_begin(e, access, REDUCE_ELEMENT, ""), step);
    if (!lines) return;
    text_add(e->out, "        else\n#pragma unroll\n"
                     "            for (int j = 0; j < N; j++) {\n");
    reduce_coordinates(e->out, e->reduce, depth, "(d + j)", 16);
    text_printf(e->out, "                %s_v[u].at[j] = %s;\n            }\n", access->name,
                reduce_cuda_place(e, access, REDUCE_ELEMENT, ""));
}

static void print_row_loads(const ReduceCuda *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (reduce_cuda_is_vector(e, i))
            text_printf(e->out, "        %s_v[u] = k_load<N>(%s);\n", access->name,
                        reduce_cuda_begin(e, access, REDUCE_ELEMENT, "o * kf_depth + d"));
        else if (reduce_cuda_reads(e, i) && reduce_cuda_reach(e, access) == REACH_EACH)
            print_each(e, access);
    }
}

static void print_vectors(const ReduceCuda *e) {
    text_add(e->out, "\n// Vectors v, v + step … of result o, U of them.\n"
                     "template <int N, int U> K_INLINE void k_vectors(k_part &part, ");
    reduce_cuda_parameters(e);
    reduce_cuda_kept(e, true);
    text_add(e->out, ", const k_index o, const k_index v, const k_index step, const k_index lead,\n"
                     "        const k_index gap) {\n");
    reduce_cuda_flight(e);
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    text_add(e->out, "#pragma unroll\n    for (int u = 0; u < U; u++) {\n"
                     "        const k_index d = k_place<N>(v + u * step, lead, gap);\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->depth, "d", 8);
    print_row_loads(e);
    text_add(e->out, "    }\n    k_terms<U * N> terms;\n"
                     "#pragma unroll\n    for (int u = 0; u < U; u++)\n"
                     "#pragma unroll\n        for (int j = 0; j < N; j++) ");
    reduce_cuda_element(e, "u * N + j");
    text_add(e->out, "    k_take(part, terms);\n}\n");
}

static void print_vectors_call(const ReduceCuda *e, const char *step) {
    text_printf(e->out, "k_vectors<N, %s>(part, ", step);
    reduce_cuda_arguments(e);
    reduce_cuda_kept(e, false);
    text_add(e->out, ", o, v, step, lead, gap);\n");
}

static void print_walk(const ReduceCuda *e) {
    text_add(e->out, "\ntemplate <int N, int U> K_INLINE void k_walk(k_part &part, ");
    reduce_cuda_parameters(e);
    reduce_cuda_kept(e, true);
    text_add(e->out, ", const k_index o, const k_index lane, const k_index step,\n"
                     "        const k_index lead, const k_index gap, const k_index count) {\n"
                     "    k_index v = lane;\n"
                     "    for (; v + (U - 1) * step < count; v += U * step) ");
    print_vectors_call(e, "U");
    text_add(e->out, "    for (; v < count; v += step) ");
    print_vectors_call(e, "1");
    text_add(e->out, "}\n");
}

static void print_walk_call(const ReduceCuda *e, const char *width, const char *count) {
    text_printf(e->out, "k_walk<%s, U>(part, ", width);
    reduce_cuda_arguments(e);
    reduce_cuda_kept(e, false);
    text_printf(e->out, ", o, lane, step, lead, gap, %s);\n", count);
}

/* The array whose vectors begin most seldom leads; the others may or may not begin there too. */
static void print_lead(const ReduceCuda *e) {
    const char *const line = "o * kf_depth";
    uint32_t leader = 0, found = 0;
    for (uint32_t i = e->plan->loads.count; i-- > 0;) {
        uint32_t bytes = dtype_info(e->plan->loads.data[i].dtype)->bytes;
        if (!reduce_cuda_is_vector(e, i)) continue;
        if (!found++ || bytes <= dtype_info(e->plan->loads.data[leader].dtype)->bytes) leader = i;
    }
    text_printf(e->out,
                "    if constexpr (N > 1) {\n"
                "        const k_index ahead = k_lead<N>(%s);\n"
                "        if (ahead + N <= kf_depth",
                reduce_cuda_begin(e, &e->plan->loads.data[leader], REDUCE_RESULT, line));
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (i != leader && reduce_cuda_is_vector(e, i))
            text_printf(e->out, "\n            && k_aligned<N>(%s + ahead)",
                        reduce_cuda_begin(e, &e->plan->loads.data[i], REDUCE_RESULT, line));
    text_add(e->out, ") {\n            lead = ahead;\n"
                     "            gap = (kf_depth - ahead) / N * N;\n        }\n        ");
    print_walk_call(e, "N", "gap / N");
    text_add(e->out, "    }\n");
}

static void print_row(const ReduceCuda *e) {
    text_add(e->out,
             "\n// A thread's share of result o: every step-th vector of N elements, and of the "
             "elements before\n// and behind those.\n"
             "template <int N, int U> K_INLINE void k_share(k_part &part, ");
    reduce_cuda_parameters(e);
    text_add(e->out, ", const k_index o, const k_index lane, const k_index step) {\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    reduce_cuda_once(e);
    text_add(e->out, "    k_index lead = kf_depth, gap = 0;\n");
    if (reduce_cuda_has_vectors(e->reduce)) print_lead(e);
    text_add(e->out, "    ");
    print_walk_call(e, "1", "kf_depth - gap");
    text_add(e->out, "}\n");
}

static void print_rows(const ReduceCuda *e) {
    text_add(e->out,
             "\n// TPR threads in each of SPLIT blocks share a result, a block has RPB of them.\n"
             "template <int VEC, int TPR, int RPB, int UNROLL, int SPLIT> K_INLINE void k_along(");
    reduce_cuda_parameters(e);
    text_add(e->out, ", k_part *__restrict__ workspace) {\n"
                     "    const int split = blockIdx.x % SPLIT, lane = threadIdx.x % TPR;\n"
                     "    long long top = (long long)(blockIdx.x / SPLIT) * RPB;\n"
                     "    for (; top < kf_outer; top += (long long)(gridDim.x / SPLIT) * RPB) {\n"
                     "        const k_index o = (k_index)top + threadIdx.x / TPR;\n"
                     "        k_part part = k_none();\n"
                     "        if (o < kf_outer) k_share<VEC, UNROLL>(part, ");
    reduce_cuda_arguments(e);
    text_add(e->out, ", o, split * TPR + lane, SPLIT * TPR);\n"
                     "        part = k_row_reduce<TPR, RPB, 1>(part);\n"
                     "        if (o < kf_outer && lane == 0) {\n"
                     "            if (SPLIT > 1) workspace[(long long)o * SPLIT + split] = part;\n"
                     "            else k_finish(part, o, ");
    reduce_cuda_arguments(e);
    text_add(e->out, ");\n        }\n        __syncthreads();\n    }\n}\n");
}

static void print_rows_join(const ReduceCuda *e) {
    text_add(e->out, "\n// A warp for each result.\n"
                     "template <int SPLIT> K_INLINE void k_along_join(");
    reduce_cuda_parameters(e);
    text_add(e->out, ", k_part *__restrict__ workspace) {\n"
                     "    const int lane = threadIdx.x % 32;\n"
                     "    long long o = (long long)blockIdx.x * 4 + threadIdx.x / 32;\n"
                     "    for (; o < kf_outer; o += (long long)gridDim.x * 4) {\n"
                     "        k_part part = k_none();\n"
                     "        for (int s = lane; s < SPLIT; s += 32) part = k_join(part, "
                     "workspace[o * SPLIT + s]);\n"
                     "        part = k_row_reduce<32, 4, 1>(part);\n"
                     "        if (lane == 0) k_finish(part, (k_index)o, ");
    reduce_cuda_arguments(e);
    text_add(e->out, ");\n    }\n}\n");
}

void reduce_cuda_along(const ReduceCuda *e) {
    print_vectors(e);
    print_walk(e);
    print_row(e);
    print_rows(e);
    print_rows_join(e);
}
