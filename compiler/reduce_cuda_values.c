/* The plan's values in, the functions of one element and of one result out, and what lies between: a
 * part, with a field for each reduction. */
#include "compiler/reduce_cuda_code.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- values of one element, of one result */

static const char *value_type(const ReduceCuda *e, Value value) {
    return language_type(CUDA, e->plan, value_kind(ir_dtype(e->plan->ir, value)));
}

/* A truth value is carried as a word. */
static const char *part_type(const ReduceCuda *e, Value value) {
    bool truth = value_kind(ir_dtype(e->plan->ir, value)) == VALUE_BOOL;
    return truth ? "int" : value_type(e, value);
}

static void print_terms(const ReduceCuda *e) {
    text_add(e->out, "// What the reductions take of N elements.\n"
                     "template <int N> struct k_terms {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_printf(e->out, "    %s t%u[N];\n", part_type(e, v), v);
    }
    text_add(e->out, "};\n");
}

static void print_scalars(const ReduceCuda *e) {
    for (uint32_t i = 0; i < e->plan->scalars.count; i++) {
        const PlanScalar *scalar = &e->plan->scalars.data[i];
        emit_next(e->out, 1, "const %s %s", dtype_info(scalar->dtype)->cuda, scalar->name);
    }
}

static void print_element(const ReduceCuda *e) {
    text_add(e->out, "\n// One element, the n-th of N.\n"
                     "template <int N> K_INLINE void k_element(k_terms<N> &terms, const int n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (reduce_cuda_reads(e, i))
            emit_next(e->out, 1, "const %s %s", cuda_storage(&e->plan->loads.data[i]),
                      e->plan->loads.data[i].name);
    print_scalars(e);
    text_add(e->out, ") {\n");
    for (uint32_t i = 0; i < e->plan->loads.count; i++)
        if (reduce_cuda_reads(e, i))
            cuda_get(e->out, e->plan, &e->plan->loads.data[i], e->plan->loads.data[i].name, 4);
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

uint32_t reduce_cuda_part_bytes(const ReduceCuda *e) {
    return reduce_part_bytes(e->reduce, e->plan->compute == DT_F64 ? 8 : 4);
}

static void print_part(const ReduceCuda *e) {
    text_add(e->out, "\n// What they have come to.\nstruct k_part {\n");
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++) {
        Value v = e->reduce->reductions.at[i];
        text_printf(e->out, "    %s<%s> t%u;\n", reducer(ir_node(e->plan->ir, v)), part_type(e, v),
                    v);
    }
    text_printf(e->out,
                "};\nstatic_assert(sizeof(k_part) == %u, \"as the workspace has room for\");\n"
                "K_INLINE k_part k_none() {\n    return {",
                reduce_cuda_part_bytes(e));
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

static void print_reduced(const ReduceCuda *e, Value v) {
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

static void print_finish(const ReduceCuda *e) {
    text_add(e->out, "\n// Result t, of the part that has seen all its elements.\n"
                     "K_INLINE void k_finish(const k_part &part, const k_index t, ");
    reduce_cuda_parameters(e);
    text_add(e->out, ") {\n");
    if (e->across) {
        text_add(e->out, "    const k_index o = ");
        emit_quotient(e->out, CUDA, "t", "kf_inner");
        text_add(e->out, ", c = t - o * kf_inner;\n");
    }
    reduce_coordinates(e->out, e->reduce, e->reduce->outer, e->across ? "o" : "t", 4);
    reduce_coordinates(e->out, e->reduce, e->reduce->inner, "c", 4);
    for (uint32_t i = 0; i < e->plan->loads.count; i++) {
        const Access *access = &e->plan->loads.data[i];
        if (e->reduce->finished[i])
            cuda_get(e->out, e->plan, access, reduce_cuda_place(e, access, REDUCE_RESULT, "t"), 4);
    }
    for (uint32_t i = 0; i < e->reduce->reductions.count; i++)
        print_reduced(e, e->reduce->reductions.at[i]);
    emit_values(e->out, e->plan, CUDA, e->reduce->behind.at, e->reduce->behind.count, 4);
    for (uint32_t i = 0; i < e->plan->stores.count; i++) {
        const Access *access = &e->plan->stores.data[i];
        cuda_put(e->out, e->plan, access, reduce_cuda_place(e, access, REDUCE_RESULT, "t"), 4);
    }
    text_add(e->out, "}\n");
}

void reduce_cuda_values(const ReduceCuda *e) {
    print_terms(e);
    print_element(e);
    print_part(e);
    print_finish(e);
}
