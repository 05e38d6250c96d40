/* The walk along the linear index: one division a vector finds its row, then elements wrap one by one. */
#include "compiler/cuda_walk.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* Coordinates of the vector's first element. */
static void print_line_start(const Emitter *e) {
    uint32_t inner = e->plan->rank - 1;
    text_add(e->out, "            k_index row = ");
    emit_quotient(e->out, CUDA, "i", "kf_cols");
    text_printf(e->out, ", i%u = i - row * kf_cols;\n", inner);
    for (uint32_t axis = inner - 1; axis > 0; axis--) {
        text_printf(e->out, "            k_index i%u = row;\n            row = ", axis);
        emit_quotient(e->out, CUDA, "row", arena_printf(e->scratch, "kf_e%u", axis));
        text_printf(e->out, ";\n            i%u -= row * kf_e%u;\n", axis, axis);
    }
    text_add(e->out, "            k_index i0 = row;\n");
}

/* The next element's coordinates. */
static void print_line_next(const Emitter *e) {
    uint32_t inner = e->plan->rank - 1;
    text_printf(e->out, "                    if (++i%u < kf_cols) continue;\n", inner);
    for (uint32_t axis = inner - 1; axis > 0; axis--)
        text_printf(e->out,
                    "                    i%u = 0;\n"
                    "                    if (++i%u < kf_e%u) continue;\n",
                    axis + 1, axis, axis);
    text_add(e->out, "                    i1 = 0;\n                    i0++;\n");
}

static void print_line_elements(const Emitter *e, const char *column, int indent) {
    text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < __VEC__; j++) {\n", indent, "");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (walk_reach_in_line(e->plan, access) != REACH_EACH) continue;
        text_printf(e->out, "%*s%s_v[u].at[j] = ", indent + 4, "", access->name);
        walk_place(e, access, "i0", column);
        text_add(e->out, ";\n");
    }
}

static bool any_each(const Plan *plan) {
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (walk_reach_in_line(plan, &plan->loads.data[i]) == REACH_EACH) return true;
    return false;
}

/* Element by element. Most vectors lie inside one row: they need not look for its end. */
static void print_line_each(const Emitter *e) {
    const char *column = arena_printf(e->scratch, "i%u", e->plan->rank - 1);
    if (!any_each(e->plan)) return;
    if (e->plan->rank == 1) {
        print_line_elements(e, "(i + j)", 12);
        text_add(e->out, "            }\n");
        return;
    }
    print_line_start(e);
    text_printf(e->out, "            if (__VEC__ == 1 || %s + __VEC__ <= kf_cols) {\n", column);
    print_line_elements(e, arena_printf(e->scratch, "(%s + j)", column), 16);
    text_add(e->out, "                }\n            } else {\n");
    print_line_elements(e, column, 16);
    print_line_next(e);
    text_add(e->out, "                }\n            }\n");
}

static void print_line_loads(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (walk_reach_in_line(e->plan, access) == REACH_VECTOR)
            walk_vector_load(e, access, NULL, "i", 12);
    }
    print_line_each(e);
}

static const char line_step[] = "#pragma unroll\n"
                                "        for (int u = 0; u < __UNROLL__; u++) {\n"
                                "            const k_index i = (first + u * __BLOCK__) * __VEC__;\n"
                                "            if (first + u * __BLOCK__ >= vectors) continue;\n";

static void print_tail(const Emitter *e) {
    if (e->vec == 1) return;
    text_add(
        e->out,
        "    const k_index i = vectors * __VEC__ + (k_index)blockIdx.x * __BLOCK__ + threadIdx.x;\n"
        "    if (__VEC__ > 1 && i < n) k_single(");
    print_arguments(e);
    text_add(e->out, ", i);\n");
}

void walk_line(const Emitter *e) {
    walk_function(e, "// Vectors along the linear index; rows end where they will.");
    text_printf(
        e->out,
        "    const k_index n = %s, vectors = n / __VEC__;\n"
        "    k_index first = (k_index)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;\n",
        language_total(e->plan));
    walk_once(e, &e->line, 4);
    text_add(
        e->out,
        "    for (; first < vectors; first += (k_index)gridDim.x * (__BLOCK__ * __UNROLL__)) {\n");
    walk_flight(e, &e->line, 8);
    text_add(e->out, line_step);
    print_line_loads(e);
    text_printf(e->out, "        }\n%s", line_step);
    walk_compute(e, &e->line, 12);
    walk_stores(e, e->plan->rank == 1 ? "" : NULL, "i", 12);
    text_add(e->out, "        }\n        if (__GRID__ == 0) break; // one tile a block\n    }\n");
    print_tail(e);
    text_add(e->out, "}\n");
}
