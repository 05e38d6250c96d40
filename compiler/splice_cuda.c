/* An epilogue in, CUDA C++ out: a function that takes a pack of each product's elements to all that
 * the outputs get of them. What lies as the product does is read in vectors. */
#include "compiler/cuda_code.h"
#include "compiler/emit.h"
#include "compiler/splice_text.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

/* --- lists */

static void print_parameter(Text *out, const Parameter *parameter, const char *whole) {
    bool scalar = parameter_is_scalar(parameter);
    emit_next(out, 1, "const %s %s", scalar ? dtype_info(parameter->dtype)->cuda : whole,
              parameter->name);
}

/* With sizes of type `whole`; reciprocals of extents are 64 bits in any case. */
static void print_epilogue_parameters(Text *out, const SpliceText *s, const char *whole) {
    const Plan *plan = s->epilogue;
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        if (splice_product(s, i) >= 0) continue;
        emit_next(out, 1, "%s%s *%s%s", access_is_store(plan, i) ? "" : "const ",
                  language_storage(CUDA, access->dtype), access->alias ? "" : "__restrict__ ",
                  access->name);
    }
    for (uint32_t i = 0; i < s->parameters.list.count; i++) {
        const Parameter *parameter = &s->parameters.list.data[i];
        print_parameter(out, parameter, parameter_is_reciprocal(parameter) ? "long long" : whole);
    }
}

static void print_epilogue_arguments(Text *out, const SpliceText *s) {
    for (uint32_t i = 0; i < access_count(s->epilogue); i++) {
        if (splice_product(s, i) < 0) emit_next(out, 1, "%s", access_at(s->epilogue, i)->name);
    }
    for (uint32_t i = 0; i < s->parameters.list.count; i++)
        emit_next(out, 1, "%s", s->parameters.list.data[i].name);
}

static void print_lists(Text *out, const SpliceText *s) {
    Text parameters = {0}, arguments = {0};
    if (s->core->count > 1) {
        emit_next(&parameters, 1, "const T_%s *%s1", s->b, s->b);
        emit_next(&arguments, 1, "%s1", s->b);
    }
    for (uint32_t i = 0; i < s->batch.list.count; i++) {
        print_parameter(&parameters, &s->batch.list.data[i], "long long");
        emit_next(&arguments, 1, "%s", s->batch.list.data[i].name);
    }
    print_epilogue_parameters(&parameters, s, "long long");
    print_epilogue_arguments(&arguments, s);
    splice_define(out, "KF_PARAMS", text_string(&parameters));
    splice_define(out, "KF_ARGS", text_string(&arguments));
    text_free(&parameters);
    text_free(&arguments);
}

/* --- the chain */

typedef enum Reach { REACH_PRODUCT, REACH_VECTOR, REACH_ONE, REACH_EACH } Reach;

/* How an array is read by a pack of elements along a row. */
static Reach reach_of(const SpliceText *s, uint32_t i) {
    const Access *access = access_at(s->epilogue, i);
    if (splice_product(s, i) >= 0) return REACH_PRODUCT;
    switch (access->class) {
    case ACCESS_DENSE: return REACH_VECTOR;
    case ACCESS_ROWS: return access_walks_rows(s->epilogue, access) ? REACH_EACH : REACH_VECTOR;
    case ACCESS_SPLAT:
    case ACCESS_SCALAR: return REACH_ONE;
    case ACCESS_STRIDED: break;
    }
    return REACH_EACH;
}

static void print_load(Text *out, const SpliceText *s, uint32_t i) {
    const Access *access = access_at(s->epilogue, i);
    const char *type = language_storage(CUDA, access->dtype), *name = access->name;
    switch (reach_of(s, i)) {
    case REACH_PRODUCT: break;
    case REACH_VECTOR:
        text_printf(out, "    const k_pack<%s, N> %s_v = k_load<N>(%s);\n", type, name,
                    splice_place(s, access));
        break;
    case REACH_ONE:
        text_printf(out, "    const %s %s_v = *(%s);\n", type, name, splice_place(s, access));
        break;
    case REACH_EACH:
        text_printf(out,
                    "    k_pack<%s, N> %s_v;\n#pragma unroll\n"
                    "    for (int j = 0; j < N; j++) %s_v.at[j] = %s[",
                    type, name, name, name);
        emit_offset(out, s->epilogue, access, "row", "(column + j)");
        text_add(out, "];\n");
    }
}

static void print_element_call(Text *out, const SpliceText *s) {
    text_add(out, "#pragma unroll\n    for (int j = 0; j < N; j++)\n        k_element(");
    const Plan *plan = s->epilogue;
    uint32_t at = 0;
    for (uint32_t k = 0; k < s->whole.after.loads.count; k++) {
        uint32_t i = s->whole.after.loads.data[k];
        if (splice_product(s, i) >= 0)
            emit_next(out, at++, "product[%d].at[j]", splice_product(s, i));
        else
            emit_next(out, at++, "%s_v%s", plan->loads.data[i].name,
                      reach_of(s, i) == REACH_ONE ? "" : ".at[j]");
    }
    for (uint32_t i = 0; i < plan->stores.count; i++)
        emit_next(out, at++, "%s_v.at[j]", plan->stores.data[i].name);
    cuda_scalars(out, &s->parameters);
}

static void print_epilogue(Text *out, const SpliceText *s) {
    const Plan *plan = s->epilogue;
    text_printf(
        out,
        "\n// N elements of a row.\ntemplate <int N> K_INLINE void k_epilogue(const k_index "
        "i, const k_index row, const k_index column,\n        const k_pack<ACC, N> "
        "(&product)[%u]",
        s->core->count);
    print_epilogue_parameters(out, s, "k_index");
    text_add(out, ") {\n");
    emit_coordinates(out, CUDA, plan, "row", 4);
    for (uint32_t i = 0; i < plan->loads.count; i++) print_load(out, s, i);
    for (uint32_t i = 0; i < plan->stores.count; i++) {
        const Access *access = &plan->stores.data[i];
        text_printf(out, "    k_pack<%s, N> %s_v;\n", language_storage(CUDA, access->dtype),
                    access->name);
    }
    print_element_call(out, s);
    for (uint32_t i = 0; i < plan->stores.count; i++) {
        const Access *access = &plan->stores.data[i];
        text_printf(out, "    k_store<N>(%s, %s_v);\n", splice_place(s, access), access->name);
    }
    text_add(out, "}\n");
}

void splice_cuda(Text *out, const SpliceText *s) {
    print_lists(out, s);
    splice_print_factors(out, s);
    const CudaElement element = {.name = "k_element", .piece = &s->whole.after};
    cuda_element(out, s->epilogue, &s->parameters, &element);
    print_epilogue(out, s);
    Text call = {0};
    text_add(&call, "k_epilogue((k_index)(i), (k_index)(row), (k_index)(column), sums");
    print_epilogue_arguments(&call, s);
    text_add(&call, ")");
    splice_define(out, arena_printf(s->arena, "KF_STORE_%s(i, row, column, sums)", s->y),
                  text_string(&call));
    text_free(&call);
}
