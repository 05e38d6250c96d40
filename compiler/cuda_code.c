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
        size_t length = strlen(parameter->name);
        bool inverse = length > 4 && strcmp(parameter->name + length - 4, "_div") == 0;
        bool size = strncmp(parameter->name, "kf_", 3) == 0 && !inverse;
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

void cuda_types(Text *out, const Plan *plan) {
    text_printf(out, SHARED_BEGIN "#define K_F64 %d\n#define K_INDEX64 %d\n",
                plan->compute == DT_F64, plan->index64);
    text_printf(out, "typedef %s k_index; // reaches every byte of every array\n",
                plan->index64 ? "long long" : "int");
}
