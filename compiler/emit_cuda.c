/* A plan in, CUDA C++ out. One idea: the chain is written once, for one element; around it stand
 * two ways to walk the index space in vectors of VEC elements, UNROLL of them in flight. Rows: a
 * thread keeps its columns and walks down, which needs rows of whole vectors. Linear: one division
 * a vector finds its row, then elements wrap one by one, so that dense arrays keep wide accesses
 * whatever a row's length. */
#include <string.h>

#include "compiler/cuda_code.h"
#include "compiler/cuda_space.h"
#include "compiler/emit.h"

const EmitLanguage emit_language_cuda = {
    .name = "cuda",
    .preludes = {"registry/templates/prelude_cuda.h", "registry/templates/prelude_cuda_math.h",
                 "registry/templates/prelude_cuda_rows.h",
                 "registry/templates/prelude_cuda_reduce.h"},
    .index = "k_index",
    .divides = true,
    .vector = false,
    .type_f32 = {"float", "int", "long long", "bool"},
    .type_f64 = {"double", "int", "long long", "bool"},
};
static const EmitLanguage *const CUDA = &emit_language_cuda;

/* How an array is read by a vector of elements along the last axis. */
typedef enum Reach { REACH_VECTOR, REACH_FIXED, REACH_ROW, REACH_SCALAR, REACH_EACH } Reach;
typedef Reach ReachOf(const Plan *plan, const Access *access);

/* How a thread walks: how it reads arrays, and what it computes once for all that it meets. */
typedef struct Walk {
    ReachOf *reach_of;
    Hoist hoist;
    const char *name; /* of its pieces, k_hoist_NAME and k_rest_NAME */
    const char *form; /* of what is hoisted: one a column, or one */
} Walk;

typedef struct Emitter {
    const Plan *plan;
    Text *out;
    Arena *scratch;
    Parameters parameters;
    int64_t vec; /* largest VEC */
    Walk rows, line;
} Emitter;

static void print_parameters(const Emitter *e, const char *whole) {
    cuda_parameters(e->out, e->plan, &e->parameters, whole);
}

static void print_arguments(const Emitter *e) {
    cuda_arguments(e->out, e->plan, &e->parameters);
}

/* --- one element */

static void print_element(const Emitter *e) {
    const Hoist whole = hoist(e->scratch, e->plan, NULL);
    const CudaElement element = {.name = "k_element", .piece = &whole.after};
    text_add(e->out, "// One element.\n");
    cuda_element(e->out, e->plan, &e->parameters, &element);
}

/* "in_x[row * kf_cols + column]" */
static void print_place(const Emitter *e, const Access *access, const char *row,
                        const char *column) {
    text_printf(e->out, "%s[", access->name);
    emit_offset(e->out, e->plan, access, row, column);
    text_add(e->out, "]");
}

/* Tails, and pointers that no vector access may touch. */
static void print_single(const Emitter *e) {
    bool line = e->plan->rank == 1;
    text_add(e->out,
             "\n// The element with linear index i, alone: tails, and arrays without alignment.\n"
             "K_INLINE void k_single(");
    print_parameters(e, "k_index");
    text_add(e->out, ", const k_index i) {\n");
    if (!line) {
        text_add(e->out, "    const k_index row = ");
        emit_quotient(e->out, CUDA, "i", "kf_cols");
        text_add(e->out, ", column = i - row * kf_cols;\n");
    }
    emit_coordinates(e->out, CUDA, e->plan, "row", 4);
    text_add(e->out, "    k_element(");
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        emit_next(e->out, i, "%s[", access->name);
        if (access->class == ACCESS_DENSE)
            text_add(e->out, "i");
        else
            emit_offset(e->out, e->plan, access, "row", line ? "i" : "column");
        text_add(e->out, "]");
    }
    cuda_scalars(e->out, &e->parameters);
    text_add(e->out, "}\n");
}

/* --- vectors */

/* While a thread walks down its columns: FIXED is the same in every row, ROW one value a row. */
static Reach reach_in_rows(const Plan *plan, const Access *access) {
    switch (access->class) {
    case ACCESS_DENSE: return REACH_VECTOR;
    case ACCESS_ROWS: return access_walks_rows(plan, access) ? REACH_VECTOR : REACH_FIXED;
    case ACCESS_SPLAT: return REACH_ROW;
    case ACCESS_SCALAR: return REACH_SCALAR;
    case ACCESS_STRIDED: break;
    }
    return REACH_EACH;
}

static Reach reach_in_line(const Plan *plan, const Access *access) {
    (void)plan;
    if (access->class == ACCESS_SCALAR) return REACH_SCALAR;
    return access->class == ACCESS_DENSE ? REACH_VECTOR : REACH_EACH;
}

static const char *reach_form(Reach reach) {
    static const char *const forms[] = {[REACH_VECTOR] = "[u].at[j]",
                                        [REACH_EACH] = "[u].at[j]",
                                        [REACH_FIXED] = ".at[j]",
                                        [REACH_ROW] = "[u]",
                                        [REACH_SCALAR] = ""};
    return forms[reach];
}

/* FIXED and SCALAR hold still. */
static Hoist find_hoist(const Emitter *e, ReachOf *reach_of) {
    bool *still = arena_array(e->scratch, bool, e->plan->loads.count);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        Reach reach = reach_of(e->plan, &e->plan->loads.data[i]);
        still[i] = reach == REACH_FIXED || reach == REACH_SCALAR;
    }
    return hoist(e->scratch, e->plan, still);
}

static void find_walks(Emitter *e) {
    Hoist rows = find_hoist(e, reach_in_rows), line = find_hoist(e, reach_in_line);
    e->rows = (Walk){reach_in_rows, rows, "rows", "[j]"};
    e->line = (Walk){reach_in_line, line, "line", ""};
}

static void print_pack(const Emitter *e, const Access *access, const char *suffix, int indent) {
    text_printf(e->out, "%*sk_pack<%s, __VEC__> %s_v%s;\n", indent, "", cuda_storage(access),
                access->name, suffix);
}

/* The piece's loads, as they were read. Returns their number. */
static uint32_t print_read(const Emitter *e, const Walk *walk, const Piece *piece) {
    for (uint32_t i = 0; i < piece->loads.count; i++) {
        const Access *access = &e->plan->loads.data[piece->loads.data[i]];
        emit_next(e->out, i, "%s_v%s", access->name, reach_form(walk->reach_of(e->plan, access)));
    }
    return piece->loads.count;
}

/* What a thread computes once. */
static void print_hoisted(const Emitter *e, const Walk *walk, int indent) {
    const Hoist *h = &walk->hoist;
    bool columns = *walk->form;
    for (uint32_t i = 0; i < h->values.count; i++) {
        ValueKind kind = value_kind(ir_dtype(e->plan->ir, h->values.data[i]));
        text_printf(e->out, "%*s%s h%u%s;\n", indent, "", language_type(CUDA, e->plan, kind),
                    h->values.data[i], columns ? "[__VEC__]" : "");
    }
    if (h->values.count == 0) return;
    if (columns)
        text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < __VEC__; j++)\n    ", indent,
                    "");
    text_printf(e->out, "%*sk_hoist_%s(", indent, "", walk->name);
    uint32_t at = print_read(e, walk, &h->before);
    for (uint32_t i = 0; i < h->values.count; i++)
        emit_next(e->out, at++, "h%u%s", h->values.data[i], walk->form);
    cuda_scalars(e->out, &e->parameters);
}

/* What a thread reads once. */
static void print_once(const Emitter *e, const Walk *walk, int indent) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = walk->reach_of(e->plan, access);
        if (reach == REACH_SCALAR)
            text_printf(e->out, "%*sconst %s %s_v = %s[0];\n", indent, "", cuda_storage(access),
                        access->name, access->name);
        else if (reach == REACH_FIXED)
            text_printf(e->out,
                        "%*sconst k_pack<%s, __VEC__> %s_v = k_load<__VEC__>(%s + column);\n",
                        indent, "", cuda_storage(access), access->name, access->name);
    }
    print_hoisted(e, walk, indent);
}

/* What the vectors in flight read. */
static void print_flight(const Emitter *e, const Walk *walk, int indent) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = walk->reach_of(e->plan, access);
        if (reach == REACH_VECTOR || reach == REACH_EACH)
            print_pack(e, access, "[__UNROLL__]", indent);
        else if (reach == REACH_ROW)
            text_printf(e->out, "%*s%s %s_v[__UNROLL__];\n", indent, "", cuda_storage(access),
                        access->name);
    }
}

/* Where a vector begins; `row` is NULL where the place is the linear index. */
static void print_begin(const Emitter *e, const Access *access, const char *row,
                        const char *column) {
    text_printf(e->out, "%s + ", access->name);
    if (row)
        emit_offset(e->out, e->plan, access, row, column);
    else
        text_add(e->out, column);
}

static void print_vector_load(const Emitter *e, const Access *access, const char *row,
                              const char *column, int indent) {
    text_printf(e->out, "%*s%s_v[u] = k_load<__VEC__>(", indent, "", access->name);
    print_begin(e, access, row, column);
    text_add(e->out, ");\n");
}

/* The call for one element of the vectors of step u. */
static void print_element_call(const Emitter *e, const Walk *walk, int indent) {
    const Hoist *h = &walk->hoist;
    text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < __VEC__; j++)\n%*s", indent, "",
                indent + 4, "");
    text_printf(e->out, h->values.count ? "k_rest_%s(" : "k_element(", walk->name);
    uint32_t at = print_read(e, walk, &h->after);
    for (uint32_t i = 0; i < h->values.count; i++)
        emit_next(e->out, at++, "h%u%s", h->values.data[i], walk->form);
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        emit_next(e->out, at++, "%s_v%s", e->plan->stores.data[i].name, reach_form(REACH_FIXED));
    cuda_scalars(e->out, &e->parameters);
}

static void print_stores(const Emitter *e, const char *row, const char *column, int indent) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        if (access->class == ACCESS_STRIDED) {
            text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < __VEC__; j++)\n%*s", indent,
                        "", indent + 4, "");
            print_place(e, access, row, arena_printf(e->scratch, "(%s + j)", column));
            text_printf(e->out, " = %s_v.at[j];\n", access->name);
            continue;
        }
        text_printf(e->out, "%*sk_store<__VEC__>(", indent, "");
        print_begin(e, access, row, column);
        text_printf(e->out, ", %s_v);\n", access->name);
    }
}

static void print_compute(const Emitter *e, const Walk *walk, int indent) {
    for (uint32_t i = 0; i < e->plan->stores.count; i++)
        print_pack(e, &e->plan->stores.data[i], "", indent);
    print_element_call(e, walk, indent);
}

static void print_function(const Emitter *e, const char *comment) {
    text_printf(e->out, "\n%s\nK_INLINE void KF_ENTRY(k_all)(", comment);
    print_parameters(e, "k_index");
    text_add(e->out, ") {\n");
}

/* --- rows */

static void print_row_loads(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = reach_in_rows(e->plan, access);
        if (reach == REACH_VECTOR) print_vector_load(e, access, "row", "column", 16);
        if (reach == REACH_ROW) {
            text_printf(e->out, "                %s_v[u] = ", access->name);
            print_place(e, access, "row", "column");
            text_add(e->out, ";\n");
        }
        if (reach == REACH_EACH) {
            text_printf(e->out,
                        "#pragma unroll\n                for (int j = 0; j < __VEC__; j++) "
                        "%s_v[u].at[j] = ",
                        access->name);
            print_place(e, access, "row", "(column + j)");
            text_add(e->out, ";\n");
        }
    }
}

static const char row_step[] = "#pragma unroll\n"
                               "            for (int u = 0; u < __UNROLL__; u++) {\n"
                               "                const k_index row = top + u * blockDim.y;\n"
                               "                if (row >= kf_rows) continue;\n";

static void print_rows(const Emitter *e) {
    print_function(e, "// A thread keeps its columns and walks down the rows.");
    text_add(e->out,
             "    const k_index right = (k_index)gridDim.x * blockDim.x * __VEC__;\n"
             "    const k_index down = (k_index)gridDim.y * blockDim.y * __UNROLL__;\n"
             "    k_index column = ((k_index)blockIdx.x * blockDim.x + threadIdx.x) * __VEC__;\n"
             "    for (; column < kf_cols; column += right) {\n");
    print_once(e, &e->rows, 8);
    text_add(e->out,
             "        k_index top = (k_index)blockIdx.y * blockDim.y * __UNROLL__ + threadIdx.y;\n"
             "        for (; top < kf_rows; top += down) {\n");
    print_flight(e, &e->rows, 12);
    text_add(e->out, row_step);
    emit_coordinates(e->out, CUDA, e->plan, "row", 16);
    print_row_loads(e);
    text_printf(e->out, "            }\n%s", row_step);
    emit_coordinates(e->out, CUDA, e->plan, "row", 16);
    print_compute(e, &e->rows, 16);
    print_stores(e, "row", "column", 16);
    text_add(e->out, "            }\n        }\n    }\n}\n");
}

/* --- linear */

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
        if (reach_in_line(e->plan, access) != REACH_EACH) continue;
        text_printf(e->out, "%*s%s_v[u].at[j] = ", indent + 4, "", access->name);
        print_place(e, access, "i0", column);
        text_add(e->out, ";\n");
    }
}

static bool any_each(const Plan *plan) {
    for (uint32_t i = 0; i < plan->loads.count; i++)
        if (reach_in_line(plan, &plan->loads.data[i]) == REACH_EACH) return true;
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
        if (reach_in_line(e->plan, access) == REACH_VECTOR)
            print_vector_load(e, access, NULL, "i", 12);
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

static void print_line(const Emitter *e) {
    print_function(e, "// Vectors along the linear index; rows end where they will.");
    text_printf(
        e->out,
        "    const k_index n = %s, vectors = n / __VEC__;\n"
        "    k_index first = (k_index)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;\n",
        language_total(e->plan));
    print_once(e, &e->line, 4);
    text_add(
        e->out,
        "    for (; first < vectors; first += (k_index)gridDim.x * (__BLOCK__ * __UNROLL__)) {\n");
    print_flight(e, &e->line, 8);
    text_add(e->out, line_step);
    print_line_loads(e);
    text_printf(e->out, "        }\n%s", line_step);
    print_compute(e, &e->line, 12);
    print_stores(e, e->plan->rank == 1 ? "" : NULL, "i", 12);
    text_add(e->out, "        }\n        if (__GRID__ == 0) break; // one tile a block\n    }\n");
    print_tail(e);
    text_add(e->out, "}\n");
}

/* --- entries */

static void print_entry(const Emitter *e) {
    text_printf(e->out,
                "\nextern \"C\" __global__ void __launch_bounds__(__BLOCK__)\nKF_ENTRY(%s)(",
                e->plan->name);
    print_parameters(e, "long long");
    text_add(e->out, ") {\n    k_begin<__NEXT__>();\n    KF_ENTRY(k_all)(");
    print_arguments(e);
    text_add(e->out, ");\n}\n");
}

static void print_twin(const Emitter *e) {
    text_printf(e->out,
                "\n// The same for arrays aligned to no more than an element.\n"
                "extern \"C\" __global__ void KF_ENTRY(%s_scalar)(",
                e->plan->name);
    print_parameters(e, "long long");
    text_printf(e->out,
                ") {\n"
                "    k_begin<false>();\n"
                "    const k_index n = %s, block = (k_index)blockIdx.y * gridDim.x + blockIdx.x;\n"
                "    const k_index threads = blockDim.x * blockDim.y;\n"
                "    k_index i = block * threads + threadIdx.y * blockDim.x + threadIdx.x;\n"
                "    for (; i < n; i += threads * gridDim.x * gridDim.y) k_single(",
                language_total(e->plan));
    print_arguments(e);
    text_add(e->out, ", i);\n}\n");
}

/* --- the file */

static void print_code(const Emitter *e) {
    bool rows = e->plan->rank >= 2, line = language_linear(e->plan);
    print_element(e);
    if (rows) cuda_hoisted(e->out, e->plan, &e->parameters, &e->rows.hoist, "rows");
    if (line) cuda_hoisted(e->out, e->plan, &e->parameters, &e->line.hoist, "line");
    if (e->vec > 1) print_single(e);
    text_add(e->out, SHARED_END);
    if (rows && line) text_add(e->out, "\n#if __INDEX__ == 1");
    if (rows) print_rows(e);
    if (rows && line) text_add(e->out, "#else");
    if (line) print_line(e);
    if (rows && line) text_add(e->out, "#endif\n");
    print_entry(e);
    if (e->vec > 1) print_twin(e);
}

const Template *emit_cuda(Arena *arena, const Plan *plan) {
    KnobText knobs[CUDA_KNOBS];
    Text text = {0}, code = {0};
    uint32_t count = cuda_knobs(plan, knobs);
    Emitter e = {.plan = plan, .out = &code, .scratch = arena_open()};
    for (uint32_t i = 0; i < knobs[0].count; i++)
        if (knobs[0].values[i] > e.vec) e.vec = knobs[0].values[i];
    e.parameters = language_parameters(CUDA, plan, e.scratch);
    find_walks(&e);
    print_code(&e);
    e.out = &text;
    emit_head(&text, CUDA, plan, knobs, count);
    cuda_rules(&text, plan, e.vec > 1);
    emit_defaults(&text, plan, knobs, count);
    cuda_types(&text, plan);
    const Template *template = emit_file(arena, CUDA, plan->name, &text, &code);
    arena_close(e.scratch);
    return template;
}
