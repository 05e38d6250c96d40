/* Arrays and sizes in, the CUDA C++ that names, reads and writes them out. */
#include "compiler/cuda_code.h"

#include <string.h>

#include "compiler/emit.h"

static const EmitLanguage *const CUDA = &emit_language_cuda;

const char *cuda_storage(const Access *access) {
    return language_storage(CUDA, access->dtype);
}

void cuda_parameters(Text *out, const Plan *plan, const Parameters *parameters, const char *whole) {
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        emit_next(out, i, "%s%s *%s%s", access_is_store(plan, i) ? "" : "const ",
                  cuda_storage(access), access->alias ? "" : "__restrict__ ", access->name);
    }
    for (uint32_t i = 0; i < parameters->list.count; i++) {
        const Parameter *parameter = &parameters->list.data[i];
        bool size = !parameter_is_scalar(parameter) && !parameter_is_reciprocal(parameter);
        emit_next(out, 1, "const %s %s", size ? whole : dtype_info(parameter->dtype)->cuda,
                  parameter->name);
    }
}

void cuda_arguments(Text *out, const Plan *plan, const Parameters *parameters) {
    for (uint32_t i = 0; i < access_count(plan); i++)
        emit_next(out, i, "%s", access_at(plan, i)->name);
    for (uint32_t i = 0; i < parameters->list.count; i++)
        emit_next(out, 1, "%s", parameters->list.data[i].name);
}

static void print_stored(Text *out, DType type, const char *from) {
    if (type == DT_F16)
        text_printf(out, "k_from_f16(%s);\n", from);
    else if (type == DT_BF16)
        text_printf(out, "k_from_bf16(%s);\n", from);
    else
        text_printf(out, "%s%s;\n", from, type == DT_BOOL ? " != 0" : "");
}

void cuda_get(Text *out, const Plan *plan, const Access *access, const char *from, int indent) {
    const char *type = language_type(CUDA, plan, value_kind(access->dtype));
    text_printf(out, "%*sconst %s t%u = ", indent, "", type, access->value);
    print_stored(out, access->dtype, from);
}

void cuda_set(Text *out, const Access *access, const char *to, const char *from, int indent) {
    text_printf(out, "%*s%s = ", indent, "", to);
    print_stored(out, access->dtype, from);
}

void cuda_put(Text *out, const Plan *plan, const Access *access, const char *to, int indent) {
    const char *helper = access->dtype == DT_F16    ? "k_to_f16("
                         : access->dtype == DT_BF16 ? "k_to_bf16("
                                                    : "";
    text_printf(out, "%*s%s = %s", indent, "", to, helper);
    emit_operand(out, plan, CUDA, access->value, false);
    text_add(out, *helper ? ");\n" : ";\n");
}

static const char *value_type(const Plan *plan, Value value) {
    return language_type(CUDA, plan, value_kind(ir_dtype(plan->ir, value)));
}

static void print_head(Text *out, const Plan *plan, const Parameters *parameters,
                       const CudaElement *element) {
    uint32_t at = 0;
    text_printf(out, "K_INLINE void %s(", element->name);
    for (uint32_t i = 0; i < element->piece->loads.count; i++) {
        const Access *access = &plan->loads.data[element->piece->loads.data[i]];
        emit_next(out, at++, "const %s %s", cuda_storage(access), access->name);
    }
    for (uint32_t i = 0; i < element->given_count; i++)
        emit_next(out, at++, "const %s t%u", value_type(plan, element->given[i]),
                  element->given[i]);
    for (uint32_t i = 0; i < element->result_count; i++)
        emit_next(out, at++, "%s &h%u", value_type(plan, element->results[i]), element->results[i]);
    for (uint32_t i = 0; i < plan->stores.count && element->result_count == 0; i++)
        emit_next(out, at++, "%s &%s", cuda_storage(&plan->stores.data[i]),
                  plan->stores.data[i].name);
    for (uint32_t i = 0; i < parameters->list.count; i++) {
        const Parameter *parameter = &parameters->list.data[i];
        if (parameter_is_scalar(parameter))
            emit_next(out, at++, "const %s %s", dtype_info(parameter->dtype)->cuda,
                      parameter->name);
    }
    text_add(out, ") {\n");
}

void cuda_element(Text *out, const Plan *plan, const Parameters *parameters,
                  const CudaElement *element) {
    const Piece *piece = element->piece;
    print_head(out, plan, parameters, element);
    for (uint32_t i = 0; i < piece->loads.count; i++) {
        const Access *access = &plan->loads.data[piece->loads.data[i]];
        cuda_get(out, plan, access, access->name, 4);
    }
    emit_values(out, plan, CUDA, piece->body.data, piece->body.count, 4);
    for (uint32_t i = 0; i < element->result_count; i++)
        text_printf(out, "    h%u = t%u;\n", element->results[i], element->results[i]);
    for (uint32_t i = 0; i < plan->stores.count && element->result_count == 0; i++)
        cuda_put(out, plan, &plan->stores.data[i], plan->stores.data[i].name, 4);
    text_add(out, "}\n");
}

void cuda_hoisted(Text *out, const Plan *plan, const Parameters *parameters, const Hoist *hoist,
                  const char *name) {
    const Value *values = hoist->values.data;
    uint32_t count = hoist->values.count;
    Arena *scratch = arena_open();
    const CudaElement first = {
        arena_printf(scratch, "k_hoist_%s", name), &hoist->before, NULL, values, 0, count};
    const CudaElement rest = {
        arena_printf(scratch, "k_rest_%s", name), &hoist->after, values, NULL, count, 0};
    if (count > 0) {
        text_add(out, "\n// What a thread computes once.\n");
        cuda_element(out, plan, parameters, &first);
        text_add(out, "\n// The rest of an element.\n");
        cuda_element(out, plan, parameters, &rest);
    }
    arena_close(scratch);
}

void cuda_scalars(Text *out, const Parameters *parameters) {
    for (uint32_t i = 0; i < parameters->list.count; i++) {
        const Parameter *parameter = &parameters->list.data[i];
        if (parameter_is_scalar(parameter)) emit_next(out, 1, "%s", parameter->name);
    }
    text_add(out, ");\n");
}

void cuda_types(Text *out, const Plan *plan) {
    text_printf(out, SHARED_BEGIN "#define K_F64 %d\n#define K_INDEX64 %d\n",
                plan->compute == DT_F64, plan->index64);
    text_printf(out, "typedef %s k_index; // reaches every byte of every array\n",
                plan->index64 ? "long long" : "int");
}
