/* A plan of reductions in, CUDA C++ out. One idea: each thread has a part of its own in registers,
 * of one result (rows) or of VEC neighbouring ones (columns); a block joins its threads' parts in a
 * tree, and where SPLIT blocks share a result, they leave what they have in the workspace and
 * NAME_join joins that. No atomics: a point's results have the same bits in every run. */
#include <string.h>

#include "compiler/cuda_space.h"
#include "compiler/emit.h"
#include "compiler/reduce_cuda.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

typedef struct Emitter {
    const Reduce *reduce;
    const Plan *plan;
    Text *out;
    Arena *scratch;
    bool columns; /* something is kept inside the reduced axes */
} Emitter;

static const char *storage(const Access *access) {
    return language_storage(CUDA, access->dtype);
}

/* --- lists */

/* Arrays that a function gets: those that elements are read from, or all. */
typedef enum Which { READ, ALL } Which;

static bool passes(const Emitter *e, uint32_t i, Which which) {
    return which == ALL || (!access_is_store(e->plan, i) && e->reduce->read[i]);
}

/* The entries take sizes as they come, the functions below them in the index type. */
static void print_parameters(const Emitter *e, Which which, const char *whole) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < access_count(e->plan); i++) {
        const Access *access = access_at(e->plan, i);
        if (!passes(e, i, which)) continue;
        emit_next(e->out, count++, "%s%s *%s%s", access_is_store(e->plan, i) ? "" : "const ",
                  storage(access), access->alias ? "" : "__restrict__ ", access->name);
    }
    if (which == ALL) emit_next(e->out, count++, "k_part *__restrict__ workspace");
    for (uint32_t i = 0; i < e->reduce->parameters.list.count; i++) {
        const Parameter *parameter = &e->reduce->parameters.list.data[i];
        size_t length = strlen(parameter->name);
        bool inverse = length > 4 && strcmp(parameter->name + length - 4, "_div") == 0;
        bool size = strncmp(parameter->name, "kf_", 3) == 0 && !inverse;
        emit_next(e->out, count++, "const %s %s", size ? whole : dtype_info(parameter->dtype)->cuda,
                  parameter->name);
    }
}

static void print_arguments(const Emitter *e, Which which) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < access_count(e->plan); i++)
        if (passes(e, i, which)) emit_next(e->out, count++, "%s", access_at(e->plan, i)->name);
    if (which == ALL) emit_next(e->out, count++, "workspace");
    for (uint32_t i = 0; i < e->reduce->parameters.list.count; i++)
        emit_next(e->out, count++, "%s", e->reduce->parameters.list.data[i].name);
}

static void print_scalars(const Emitter *e, bool declare) {
    for (uint32_t i = 0; i < e->plan->scalars.count; i++) {
        const PlanScalar *scalar = &e->plan->scalars.data[i];
        if (declare)
            emit_next(e->out, 1, "const %s %s", dtype_info(scalar->dtype)->cuda, scalar->name);
        else
            emit_next(e->out, 1, "%s", scalar->name);
    }
}

/* --- values of one element, of one result */

static const char *value_type(const Emitter *e, Value value) {
    return language_type(CUDA, e->plan, value_kind(ir_dtype(e->plan->ir, value)));
}

/* A truth value is carried as a word. */
static const char *part_type(const Emitter *e, Value value) {
    bool truth = value_kind(ir_dtype(e->plan->ir, value)) == VALUE_BOOL;
    return truth ? "int" : value_type(e, value);
}

static void print_get(const Emitter *e, const Access *access, const char *from) {
    static const char *const forms[] = {"%s", "%s != 0", "k_from_f16(%s)", "k_from_bf16(%s)"};
    int form = access->dtype == DT_BOOL   ? 1
               : access->dtype == DT_F16  ? 2
               : access->dtype == DT_BF16 ? 3
                                          : 0;
    text_printf(e->out, "    const %s t%u = ", value_type(e, access->value), access->value);
    text_printf(e->out, forms[form], from);
    text_add(e->out, ";\n");
}

static void print_terms(const Emitter *e) {
    text_add(e->out, "// What the reductions take of N elements.\n"
                     "template <int N> struct k_terms {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_printf(e->out, "    %s t%u[N];\n", part_type(e, v), v);
    }
    text_add(e->out, "};\n");
}

static void print_element(const Emitter *e) {
    text_add(e->out, "\n// One element, the n-th of N.\n"
                     "template <int N> K_INLINE void k_element(k_terms<N> &terms, const int n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->reduce->read[i])
            emit_next(e->out, 1, "const %s %s", storage(&e->plan->loads.data[i]),
                      e->plan->loads.data[i].name);
    print_scalars(e, true);
    text_add(e->out, ") {\n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->reduce->read[i]) print_get(e, &e->plan->loads.data[i], e->plan->loads.data[i].name);
    emit_values(e->out, e->plan, CUDA, e->reduce->elements.at, e->reduce->elements.count, 4);
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_printf(e->out, "    terms.t%u[n] = ", v);
        emit_operand(e->out, e->plan, CUDA, ir_node(e->plan->ir, v)->arg[0], false);
        text_add(e->out, ";\n");
    }
    text_add(e->out, "}\n");
}

/* --- parts */

static const char *reducer(const IrNode *node) {
    static const char *const names[] = {
        [IR_SUM - IR_SUM] = "k_total",   [IR_PROD - IR_SUM] = "k_product",
        [IR_MAX - IR_SUM] = "k_largest", [IR_MIN - IR_SUM] = "k_smallest",
        [IR_MEAN - IR_SUM] = "k_total",  [IR_VAR - IR_SUM] = "k_moments",
    };
    return names[node->op - IR_SUM];
}

static uint32_t part_bytes(const Emitter *e) {
    return reduce_part_bytes(e->reduce, e->plan->compute == DT_F64 ? 8 : 4);
}

static void print_part(const Emitter *e) {
    text_add(e->out, "\n// What they have come to.\nstruct k_part {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_printf(e->out, "    %s<%s> t%u;\n", reducer(ir_node(e->plan->ir, v)), part_type(e, v),
                    v);
    }
    text_printf(e->out,
                "};\nstatic_assert(sizeof(k_part) == %u, \"as the workspace has room for\");\n"
                "K_INLINE k_part k_none() {\n    return {",
                part_bytes(e));
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Text nothing = {0};
        reduce_nothing(&nothing, e->reduce, e->reduce->reductions.at[i]);
        emit_next(e->out, i, "{%s}", text_string(&nothing));
        text_free(&nothing);
    }
    text_add(e->out, "};\n}\n"
                     "K_INLINE k_part k_join(const k_part &a, const k_part &b) {\n    return {");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        emit_next(e->out, i, "k_join(a.t%u, b.t%u)", v, v);
    }
    text_add(e->out, "};\n}\n"
                     "template <int N> K_INLINE void k_take(k_part &part, const k_terms<N> &terms) "
                     "{\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_printf(e->out, "    k_take(part.t%u, terms.t%u);\n", v, v);
    }
    text_add(e->out, "}\n");
}

/* --- results */

static void print_reduced(const Emitter *e, Value v) {
    const IrNode *node = ir_node(e->plan->ir, v);
    const char *type = value_type(e, v);
    if (node->op == IR_VAR) {
        text_printf(e->out, "    const %s t%u = k_variance(part.t%u);\n", type, v, v);
        return;
    }
    text_printf(e->out, "    const %s t%u = part.t%u", type, v, v);
    if (node->op == IR_MEAN)
        text_printf(e->out, ".x / (%s)kf_depth;\n", type);
    else
        text_add(e->out, ".x;\n");
}

/* "in_s[i0 * kf_in_s_s0]" */
static const char *place(const Emitter *e, const Access *access, ReduceWhere where,
                         const char *line) {
    Text text = {0};
    text_printf(&text, "%s[", access->name);
    reduce_offset(&text, e->reduce, access, where, line);
    text_add(&text, "]");
    const char *result = arena_copy(e->scratch, text_string(&text), text.length);
    text_free(&text);
    return result;
}

static void print_put(const Emitter *e, const Access *access) {
    const char *helper = access->dtype == DT_F16    ? "k_to_f16("
                         : access->dtype == DT_BF16 ? "k_to_bf16("
                                                    : "";
    text_printf(e->out, "    %s = %s", place(e, access, REDUCE_RESULT, "t"), helper);
    emit_operand(e->out, e->plan, CUDA, access->value, false);
    text_add(e->out, *helper ? ");\n" : ";\n");
}

static void print_finish(const Emitter *e) {
    text_add(e->out, "\n// Result t, of the part that has seen all its elements.\n"
                     "K_INLINE void k_finish(const k_part &part, const k_index t, ");
    print_parameters(e, ALL, "k_index");
    text_add(e->out, ") {\n");
    if (e->columns) {
        text_add(e->out, "    const k_index o = ");
        emit_quotient(e->out, CUDA, "t", "kf_inner");
        text_add(e->out, ", c = t - o * kf_inner;\n");
    }
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, e->columns ? "o" : "t", 4);
    reduce_coordinates(e->out, e->reduce, e->reduce->inner, "c", 4);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (e->reduce->finished[i]) print_get(e, access, place(e, access, REDUCE_RESULT, "t"));
    }
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++)
        print_reduced(e, e->reduce->reductions.at[i]);
    emit_values(e->out, e->plan, CUDA, e->reduce->behind.at, e->reduce->behind.count, 4);
    for (uint32_t i = 0; i < e->plan->stores.count; i++) print_put(e, &e->plan->stores.data[i]);
    text_add(e->out, "}\n");
}

/* --- how elements are read */

/* ONCE: one value for all elements of a result; LINE: one for each step along the depth, where a
 * thread has several columns; COLUMNS: likewise, one for each column. */
typedef enum Reach { REACH_VECTOR, REACH_EACH, REACH_ONCE, REACH_LINE, REACH_COLUMNS } Reach;

static Reach reach_of(const Emitter *e, const Access *access) {
    Section last = e->columns ? e->reduce->inner : e->reduce->depth;
    bool deep = reduce_walks(access, e->reduce->depth), wide = reduce_walks(access, last);
    bool unit = access->class == ACCESS_DENSE ||
                (access->class == ACCESS_ROWS && last.end - last.first == 1);
    if (!deep) return e->columns && wide ? REACH_COLUMNS : REACH_ONCE;
    if (e->columns && !wide) return REACH_LINE;
    return unit ? REACH_VECTOR : REACH_EACH;
}

static bool is_vector(const Emitter *e, uint32_t i) {
    return e->reduce->read[i] && reach_of(e, &e->plan->loads.data[i]) == REACH_VECTOR;
}

bool reduce_cuda_has_vectors(const Reduce *reduce) {
    const Emitter e = {
        .reduce = reduce, .plan = reduce->plan, .columns = reduce->inner.end > reduce->inner.first};
    for (uint32_t i = 0; i < e.plan->loads.count; i++)
        if (is_vector(&e, i)) return true;
    return false;
}

/* In a list, what a thread has read once. */
static void print_kept(const Emitter *e, bool declare) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = reach_of(e, access);
        if (!e->reduce->read[i] || (reach != REACH_ONCE && reach != REACH_COLUMNS)) continue;
        if (!declare)
            emit_next(e->out, 1, "%s_v", access->name);
        else if (reach == REACH_ONCE)
            emit_next(e->out, 1, "const %s %s_v", storage(access), access->name);
        else
            emit_next(e->out, 1, "const k_pack<%s, N> &%s_v", storage(access), access->name);
    }
}

static void print_flight(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = reach_of(e, access);
        if (!e->reduce->read[i]) continue;
        if (reach == REACH_VECTOR || reach == REACH_EACH)
            text_printf(e->out, "    k_pack<%s, N> %s_v[U];\n", storage(access), access->name);
        if (reach == REACH_LINE)
            text_printf(e->out, "    %s %s_v[U];\n", storage(access), access->name);
    }
}

/* k_element of element j of the vectors of step u. */
static void print_element_call(const Emitter *e, const char *n) {
    static const char *const forms[] = {[REACH_VECTOR] = "[u].at[j]",
                                        [REACH_EACH] = "[u].at[j]",
                                        [REACH_ONCE] = "",
                                        [REACH_LINE] = "[u]",
                                        [REACH_COLUMNS] = ".at[j]"};
    text_printf(e->out, "k_element(terms, %s", n);
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (e->reduce->read[i])
            emit_next(e->out, 1, "%s_v%s", e->plan->loads.data[i].name,
                      forms[reach_of(e, &e->plan->loads.data[i])]);
    print_scalars(e, false);
    text_add(e->out, ");\n");
}

/* The array at the first of its elements in `place`, a subscription: "in_x + …". */
static const char *begin(const Emitter *e, const Access *access, ReduceWhere where,
                         const char *line) {
    Text text = {0};
    text_printf(&text, "%s + ", access->name);
    reduce_offset(&text, e->reduce, access, where, line);
    const char *result = arena_copy(e->scratch, text_string(&text), text.length);
    text_free(&text);
    return result;
}

/* --- rows: threads side by side along the depth */

static void print_row_loads(const Emitter *e) {
    const char *const line = "o * kf_depth + d";
    Section depth = e->reduce->depth;
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = reach_of(e, access);
        if (!e->reduce->read[i] || reach == REACH_ONCE) continue;
        if (reach == REACH_VECTOR) {
            text_printf(e->out, "        %s_v[u] = %s<N>(%s);\n", access->name,
                        access->class == ACCESS_DENSE ? "k_load_once" : "k_load",
                        begin(e, access, REDUCE_ELEMENT, line));
            continue;
        }
        text_add(e->out, "#pragma unroll\n        for (int j = 0; j < N; j++) {\n");
        reduce_coordinates(e->out, e->reduce, depth, "(d + j)", 12);
        text_printf(e->out, "            %s_v[u].at[j] = %s;\n        }\n", access->name,
                    place(e, access, REDUCE_ELEMENT, line));
    }
}

static void print_vectors(const Emitter *e) {
    Section depth = e->reduce->depth;
    text_add(e->out, "\n// Vectors v, v + step … of result o, U of them.\n"
                     "template <int N, int U> K_INLINE void k_vectors(k_part &part, ");
    print_parameters(e, READ, "k_index");
    print_kept(e, true);
    text_add(e->out, ", const k_index o, const k_index v, const k_index step, const k_index lead,\n"
                     "        const k_index gap) {\n");
    print_flight(e);
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    text_add(e->out, "#pragma unroll\n    for (int u = 0; u < U; u++) {\n"
                     "        const k_index d = k_place<N>(v + u * step, lead, gap);\n");
    if (depth.end - depth.first == 1) reduce_coordinates(e->out, e->reduce, depth, "d", 8);
    print_row_loads(e);
    text_add(e->out, "    }\n    k_terms<U * N> terms;\n"
                     "#pragma unroll\n    for (int u = 0; u < U; u++)\n"
                     "#pragma unroll\n        for (int j = 0; j < N; j++) ");
    print_element_call(e, "u * N + j");
    text_add(e->out, "    k_take(part, terms);\n}\n");
}

static void print_vectors_call(const Emitter *e, const char *step) {
    text_printf(e->out, "k_vectors<N, %s>(part, ", step);
    print_arguments(e, READ);
    print_kept(e, false);
    text_add(e->out, ", o, v, step, lead, gap);\n");
}

static void print_walk(const Emitter *e) {
    text_add(e->out, "\ntemplate <int N, int U> K_INLINE void k_walk(k_part &part, ");
    print_parameters(e, READ, "k_index");
    print_kept(e, true);
    text_add(e->out, ", const k_index o, const k_index lane, const k_index step,\n"
                     "        const k_index lead, const k_index gap, const k_index count) {\n"
                     "    k_index v = lane;\n"
                     "    for (; v + (U - 1) * step < count; v += U * step) ");
    print_vectors_call(e, "U");
    text_add(e->out, "    for (; v < count; v += step) ");
    print_vectors_call(e, "1");
    text_add(e->out, "}\n");
}

static void print_once(const Emitter *e) {
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (e->reduce->read[i] && reach_of(e, access) == REACH_ONCE)
            text_printf(e->out, "    const %s %s_v = %s;\n", storage(access), access->name,
                        place(e, access, REDUCE_RESULT, "o"));
    }
}

static void print_walk_call(const Emitter *e, const char *width, const char *count) {
    text_printf(e->out, "k_walk<%s, U>(part, ", width);
    print_arguments(e, READ);
    print_kept(e, false);
    text_printf(e->out, ", o, lane, step, lead, gap, %s);\n", count);
}

/* The array whose vectors begin most seldom leads; the others may or may not begin there too. */
static void print_lead(const Emitter *e) {
    const char *const line = "o * kf_depth";
    uint32_t leader = 0, found = 0;
    for (uint32_t i = e->plan->loads.count; i-- > 0;) {
        uint32_t bytes = dtype_info(e->plan->loads.data[i].dtype)->bytes;
        if (!is_vector(e, i)) continue;
        if (!found++ || bytes <= dtype_info(e->plan->loads.data[leader].dtype)->bytes) leader = i;
    }
    text_printf(e->out,
                "    if constexpr (N > 1) {\n"
                "        const k_index ahead = k_lead<N>(%s);\n"
                "        if (ahead + N <= kf_depth",
                begin(e, &e->plan->loads.data[leader], REDUCE_RESULT, line));
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (i != leader && is_vector(e, i))
            text_printf(e->out, "\n            && k_aligned<N>(%s + ahead)",
                        begin(e, &e->plan->loads.data[i], REDUCE_RESULT, line));
    text_add(e->out, ") {\n            lead = ahead;\n"
                     "            gap = (kf_depth - ahead) / N * N;\n        }\n        ");
    print_walk_call(e, "N", "gap / N");
    text_add(e->out, "    }\n");
}

static void print_row(const Emitter *e) {
    text_add(e->out,
             "\n// A thread's share of result o: every step-th vector of N elements, and of the "
             "elements before\n// and behind those.\n"
             "template <int N, int U> K_INLINE void k_share(k_part &part, ");
    print_parameters(e, READ, "k_index");
    text_add(e->out, ", const k_index o, const k_index lane, const k_index step) {\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    print_once(e);
    text_add(e->out, "    k_index lead = kf_depth, gap = 0;\n");
    if (reduce_cuda_has_vectors(e->reduce)) print_lead(e);
    text_add(e->out, "    ");
    print_walk_call(e, "1", "kf_depth - gap");
    text_add(e->out, "}\n");
}

static void print_rows(const Emitter *e) {
    text_add(e->out,
             "\n// TPR threads in each of SPLIT blocks share a result, a block has RPB of them.\n"
             "template <int VEC, int TPR, int RPB, int UNROLL, int SPLIT> K_INLINE void k_along(");
    print_parameters(e, ALL, "k_index");
    text_add(e->out, ") {\n"
                     "    const int split = blockIdx.x % SPLIT, lane = threadIdx.x % TPR;\n"
                     "    long long top = (long long)(blockIdx.x / SPLIT) * RPB;\n"
                     "    for (; top < kf_outer; top += (long long)(gridDim.x / SPLIT) * RPB) {\n"
                     "        const k_index o = (k_index)top + threadIdx.x / TPR;\n"
                     "        k_part part = k_none();\n"
                     "        if (o < kf_outer) k_share<VEC, UNROLL>(part, ");
    print_arguments(e, READ);
    text_add(e->out, ", o, split * TPR + lane, SPLIT * TPR);\n"
                     "        part = k_row_reduce<TPR, RPB, 1>(part);\n"
                     "        if (o < kf_outer && lane == 0) {\n"
                     "            if (SPLIT > 1) workspace[(long long)o * SPLIT + split] = part;\n"
                     "            else k_finish(part, o, ");
    print_arguments(e, ALL);
    text_add(e->out, ");\n        }\n        __syncthreads();\n    }\n}\n");
}

static void print_rows_join(const Emitter *e) {
    text_add(e->out, "\n// A warp for each result.\n"
                     "template <int SPLIT> K_INLINE void k_along_join(");
    print_parameters(e, ALL, "k_index");
    text_add(e->out, ") {\n"
                     "    const int lane = threadIdx.x % 32;\n"
                     "    long long o = (long long)blockIdx.x * 4 + threadIdx.x / 32;\n"
                     "    for (; o < kf_outer; o += (long long)gridDim.x * 4) {\n"
                     "        k_part part = k_none();\n"
                     "        for (int s = lane; s < SPLIT; s += 32) part = k_join(part, "
                     "workspace[o * SPLIT + s]);\n"
                     "        part = k_row_reduce<32, 4, 1>(part);\n"
                     "        if (lane == 0) k_finish(part, (k_index)o, ");
    print_arguments(e, ALL);
    text_add(e->out, ");\n    }\n}\n");
}

/* --- columns: threads side by side along what is kept inside */

static void print_column_load(const Emitter *e, const Access *access, const char *to, int indent) {
    Reach reach = reach_of(e, access);
    ReduceWhere where = reach == REACH_COLUMNS ? REDUCE_RESULT : REDUCE_ELEMENT;
    const char *line =
        reach == REACH_COLUMNS ? "o * kf_inner + c" : "(o * kf_depth + d) * kf_inner + c";
    if (reach == REACH_VECTOR) {
        if (access->class != ACCESS_DENSE)
            reduce_coordinates(e->out, e->reduce, e->reduce->inner, "c", indent);
        text_printf(e->out, "%*s%s = k_load_some<WIDE, N>(%s, kf_inner - c);\n", indent, "", to,
                    begin(e, access, where, line));
        return;
    }
    text_printf(e->out, "#pragma unroll\n%*sfor (int j = 0; j < N; j++) {\n", indent, "");
    reduce_coordinates(e->out, e->reduce, e->reduce->inner, "(c + j)", indent + 4);
    text_printf(e->out, "%*s%s.at[j] = c + j < kf_inner ? ", indent + 4, "", to);
    text_printf(e->out, "%s : 0;\n%*s}\n",
                place(e, access, where,
                      reach == REACH_COLUMNS ? "o * kf_inner + c + j"
                                             : "(o * kf_depth + d) * kf_inner + c + j"),
                indent, "");
}

static void print_lines(const Emitter *e) {
    text_add(e->out,
             "\n// Lines d, d + step … of columns c to c + N, U of them.\n"
             "template <bool WIDE, int N, int U> K_INLINE void k_lines(k_part (&part)[N], ");
    print_parameters(e, READ, "k_index");
    print_kept(e, true);
    text_add(e->out, ", const k_index o, const k_index c, const k_index from,\n"
                     "        const k_index step) {\n");
    print_flight(e);
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    text_add(e->out, "#pragma unroll\n    for (int u = 0; u < U; u++) {\n"
                     "        const k_index d = from + u * step;\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->depth, "d", 8);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        Reach reach = reach_of(e, access);
        if (!e->reduce->read[i] || reach == REACH_ONCE || reach == REACH_COLUMNS) continue;
        if (reach == REACH_LINE)
            text_printf(e->out, "        %s_v[u] = %s;\n", access->name,
                        place(e, access, REDUCE_ELEMENT, ""));
        else
            print_column_load(e, access, arena_printf(e->scratch, "%s_v[u]", access->name), 8);
    }
    text_add(e->out, "    }\n#pragma unroll\n    for (int j = 0; j < N; j++) {\n"
                     "        k_terms<U> terms;\n"
                     "#pragma unroll\n        for (int u = 0; u < U; u++) ");
    print_element_call(e, "u");
    text_add(e->out, "        k_take(part[j], terms);\n    }\n}\n");
}

static void print_lines_call(const Emitter *e, const char *lines) {
    text_printf(e->out, "k_lines<WIDE, N, %s>(part, ", lines);
    print_arguments(e, READ);
    print_kept(e, false);
    text_add(e->out, ", o, c, d, step);\n");
}

static void print_column(const Emitter *e) {
    text_add(e->out,
             "\n// A thread's share of columns c to c + N: every step-th line.\n"
             "template <bool WIDE, int N, int U> K_INLINE void k_share(k_part (&part)[N], ");
    print_parameters(e, READ, "k_index");
    text_add(e->out, ", const k_index o, const k_index c, k_index d, const k_index step) {\n");
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, "o", 4);
    print_once(e);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!e->reduce->read[i] || reach_of(e, access) != REACH_COLUMNS) continue;
        text_printf(e->out, "    k_pack<%s, N> %s_v;\n", storage(access), access->name);
        print_column_load(e, access, arena_printf(e->scratch, "%s_v", access->name), 4);
    }
    text_add(e->out, "    for (; d + (U - 1) * step < kf_depth; d += U * step) ");
    print_lines_call(e, "U");
    text_add(e->out, "    for (; d < kf_depth; d += step) ");
    print_lines_call(e, "1");
    text_add(e->out, "}\n");
}

static void print_columns(const Emitter *e) {
    text_add(
        e->out,
        "\n// A block is ACROSS threads of VEC columns each, as many lines as it has threads for,\n"
        "// of one of SPLIT shares of the lines.\n"
        "template <bool WIDE, int VEC, int ACROSS, int BLOCK, int UNROLL, int SPLIT>\n"
        "K_INLINE void k_across(");
    print_parameters(e, ALL, "k_index");
    text_add(
        e->out,
        ") {\n"
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
    print_arguments(e, READ);
    text_add(
        e->out,
        ", o, c, split * DOWN + line, SPLIT * DOWN);\n"
        "#pragma unroll\n        for (int j = 0; j < VEC; j++) {\n"
        "            const k_part all = k_column_reduce<ACROSS, DOWN>(part[j]);\n"
        "            if (c + j >= kf_inner || line > 0) continue;\n"
        "            const k_index t = o * kf_inner + c + j;\n"
        "            if (SPLIT > 1) workspace[(long long)split * kf_outer * kf_inner + t] = all;\n"
        "            else k_finish(all, t, ");
    print_arguments(e, ALL);
    text_add(e->out, ");\n        }\n    }\n}\n");
}

static void print_columns_join(const Emitter *e) {
    text_add(e->out, "\n// 32 results side by side, 8 threads for each.\n"
                     "template <int SPLIT> K_INLINE void k_across_join(");
    print_parameters(e, ALL, "k_index");
    text_add(e->out,
             ") {\n"
             "    const long long results = (long long)kf_outer * kf_inner;\n"
             "    for (long long left = (long long)blockIdx.x * 32; left < results; left += (long "
             "long)gridDim.x * 32) {\n"
             "        const long long t = left + threadIdx.x % 32;\n"
             "        k_part part = k_none();\n"
             "        for (int s = threadIdx.x / 32; s < SPLIT && t < results; s += 8)\n"
             "            part = k_join(part, workspace[s * results + t]);\n"
             "        part = k_column_reduce<32, 8>(part);\n"
             "        if (t < results && threadIdx.x < 32) k_finish(part, (k_index)t, ");
    print_arguments(e, ALL);
    text_add(e->out, ");\n    }\n}\n");
}

/* Every vector of VEC columns may be read at once. */
static void print_is_wide(const Emitter *e) {
    text_add(e->out, "\ntemplate <int N> K_INLINE bool k_is_wide(");
    print_parameters(e, ALL, "k_index");
    text_add(e->out, ") {\n    return N > 1 && kf_inner % N == 0");
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (!is_vector(e, i)) continue;
        text_printf(e->out, "\n        && k_aligned<N>(%s)", access->name);
        for (uint32_t axis = 0; axis < e->plan->rank; axis++)
            if (plan_stride_given(e->plan, access, axis))
                text_printf(e->out, " && %s %% N == 0", plan_stride_name(e->scratch, access, axis));
    }
    text_add(e->out, ";\n}\n");
}

/* --- entries */

static void print_entry(const Emitter *e, const char *suffix, const char *threads) {
    text_printf(e->out, "\nextern \"C\" __global__ void __launch_bounds__(%s)\nKF_ENTRY(%s%s)(",
                threads, e->plan->name, suffix);
    print_parameters(e, ALL, "long long");
    text_add(e->out, ") {\n");
}

static void print_call(const Emitter *e, const char *function) {
    text_printf(e->out, "    %s(", function);
    print_arguments(e, ALL);
    text_add(e->out, ");\n");
}

static void print_entries(const Emitter *e) {
    print_entry(e, "", e->columns ? "__BLOCK__" : "__TPR__ * __RPB__");
    if (e->columns) {
        text_add(e->out, "    if (k_is_wide<__VEC__>(");
        print_arguments(e, ALL);
        text_add(e->out, "))\n    ");
        print_call(e, "k_across<true, __VEC__, __ACROSS__, __BLOCK__, __UNROLL__, __SPLIT__>");
        text_add(e->out, "    else\n    ");
        print_call(e, "k_across<false, __VEC__, __ACROSS__, __BLOCK__, __UNROLL__, __SPLIT__>");
    } else {
        print_call(e, "k_along<__VEC__, __TPR__, __RPB__, __UNROLL__, __SPLIT__>");
    }
    text_add(e->out, "}\n");
    print_entry(e, "_join", e->columns ? "256" : "128");
    print_call(e, e->columns ? "k_across_join<__SPLIT__>" : "k_along_join<__SPLIT__>");
    text_add(e->out, "}\n");
}

/* --- the file */

static void print_code(const Emitter *e) {
    print_terms(e);
    print_element(e);
    print_part(e);
    print_finish(e);
    if (e->columns) {
        print_lines(e);
        print_column(e);
        print_columns(e);
        print_columns_join(e);
        print_is_wide(e);
    } else {
        print_vectors(e);
        print_walk(e);
        print_row(e);
        print_rows(e);
        print_rows_join(e);
    }
    text_add(e->out, SHARED_END);
    print_entries(e);
}

const Template *emit_reduce_cuda(Arena *arena, const Plan *plan) {
    KnobText knobs[REDUCE_KNOBS];
    Text text = {0}, code = {0};
    Emitter e = {.plan = plan, .out = &code, .scratch = arena_open()};
    e.reduce = reduce_open(e.scratch, plan, CUDA);
    e.columns = e.reduce->inner.end > e.reduce->inner.first;
    uint32_t count = reduce_cuda_knobs(e.reduce, knobs);
    print_code(&e);
    reduce_head(&text, e.reduce, knobs, count);
    reduce_cuda_rules(&text, e.reduce, part_bytes(&e));
    emit_defaults(&text, plan, knobs, count);
    text_printf(&text, SHARED_BEGIN "#define K_F64 %d\n#define K_INDEX64 %d\n",
                plan->compute == DT_F64, plan->index64);
    text_printf(&text, "typedef %s k_index; // reaches every byte of every array\n",
                plan->index64 ? "long long" : "int");
    emit_prelude(&text, CUDA, text_string(&code));
    text_add(&text, text_string(&code));
    const Template *template = emit_finish(arena, plan->name, CUDA->name, &text);
    text_free(&text);
    text_free(&code);
    arena_close(e.scratch);
    return template;
}
