/* A template and what is said of its tensors in; all their types out. One idea: what is said binds
 * sizes first, and what is not said is read off them. */
#include "compiler/infer.h"

#include <stdlib.h>
#include <string.h>

#define complain(in, tensor, hint, ...) \
    diag_error((in)->diags, (tensor)->said, (tensor)->mark, hint, __VA_ARGS__)

/* --- sizes */

static bool is_number(const char *dim) {
    return *dim >= '0' && *dim <= '9';
}

static const Size *find_size(const Inference *in, const char *name) {
    for (uint32_t i = 0; i < in->sizes.count; i++)
        if (strcmp(in->sizes.data[i].name, name) == 0) return &in->sizes.data[i];
    return NULL;
}

static bool bind(Inference *in, const TemplateTensor *tensor, const char *name, int64_t value) {
    if (is_number(name)) {
        if (strtoll(name, NULL, 10) == value) return true;
        complain(in, tensor, NULL, "'%s' has %lld where its line says %s", tensor->name,
                 (long long)value, name);
        return false;
    }
    const Size *size = find_size(in, name);
    if (!size) array_push(in->arena, &in->sizes, (Size){name, value, tensor->name});
    if (!size || size->value == value) return true;
    complain(in, tensor, NULL, "'%s' is %lld by '%s', but %lld by '%s'", name,
             (long long)size->value, size->by, (long long)value, tensor->name);
    return false;
}

/* The first name takes all leading dimensions; a vector is one row. */
static bool bind_shape(Inference *in, const TemplateTensor *tensor, const Type *type) {
    uint32_t rank = tensor->rank;
    int64_t leading = 1;
    bool ok = true;
    if (rank == 0 && type_count(type) == 1) return true;
    if (rank == 0 || type->rank + 1 < rank) {
        complain(in, tensor, NULL, "'%s' has %u dimensions here, its line names %u", tensor->name,
                 type->rank, rank);
        return false;
    }
    uint32_t first = type->rank + 1 - rank;
    for (uint32_t i = 0; i < first; i++) leading *= type->dim[i];
    ok = bind(in, tensor, tensor->dims[0], leading);
    for (uint32_t i = 1; i < rank; i++)
        ok &= bind(in, tensor, tensor->dims[i], type->dim[first + i - 1]);
    return ok;
}

static bool same_dims(const TemplateTensor *a, const TemplateTensor *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (strcmp(a->dims[i], b->dims[i]) != 0) return false;
    return true;
}

/* The shape of an input whose line names the same dimensions: its first stands for all that lead. Else
 * the one that known sizes give; false where a size is not known. */
static bool read_shape(const Inference *in, const TemplateTensor *tensor, Type *type) {
    for (uint32_t i = 0; i < in->template->inputs.count; i++) {
        if (!in->shaped[i] || !same_dims(&in->template->inputs.data[i], tensor)) continue;
        type->rank = in->inputs[i].rank;
        memcpy(type->dim, in->inputs[i].dim, sizeof type->dim);
        return true;
    }
    type->rank = tensor->rank;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const Size *size = is_number(tensor->dims[i]) ? NULL : find_size(in, tensor->dims[i]);
        if (!size && !is_number(tensor->dims[i])) return false;
        type->dim[i] = size ? size->value : strtoll(tensor->dims[i], NULL, 10);
    }
    return true;
}

/* --- types */

static const Type *type_of_input(const Inference *in, const char *name) {
    uint32_t i = 0;
    while (strcmp(in->template->inputs.data[i].name, name) != 0) i++;
    return &in->inputs[i];
}

static bool allows(const TemplateTensor *tensor, DType type) {
    for (uint32_t i = 0; i < tensor->type_count; i++)
        if (tensor->types[i] == type) return true;
    return false;
}

static DType default_type(const Inference *in, const TemplateTensor *tensor, DType plain) {
    if (tensor->like) return type_of_input(in, tensor->like)->dtype;
    return allows(tensor, plain) ? plain : tensor->types[0];
}

static bool check_type(Inference *in, const TemplateTensor *tensor, DType type) {
    const char *choices = "";
    if (tensor->like ? type_of_input(in, tensor->like)->dtype == type : allows(tensor, type))
        return true;
    for (uint32_t i = 0; i < tensor->type_count; i++)
        choices = arena_printf(in->arena, "%s %s", choices, dtype_name(tensor->types[i]));
    complain(in, tensor, NULL, "'%s' is %s here, its line says%s%s", tensor->name, dtype_name(type),
             tensor->like ? " like " : choices, tensor->like ? tensor->like : "");
    return false;
}

/* --- inputs */

static const InputSpec *find_spec(const LowerOptions *said, const char *name) {
    for (uint32_t i = 0; i < said->input_count; i++)
        if (strcmp(said->inputs[i].name, name) == 0) return &said->inputs[i];
    return NULL;
}

static bool check_names(Inference *in, const LowerOptions *said) {
    const Template *template = in->template;
    uint32_t errors = in->diags->errors;
    for (uint32_t i = 0; i < said->input_count; i++) {
        const char *names = "its inputs are";
        bool found = false;
        for (uint32_t k = 0; k < template->inputs.count; k++) {
            const char *name = template->inputs.data[k].name;
            found |= strcmp(said->inputs[i].name, name) == 0;
            names = arena_printf(in->arena, "%s %s", names, name);
        }
        if (!found)
            diag_error(in->diags, NULL, (Span){0}, names, "the template has no input '%s'",
                       said->inputs[i].name);
    }
    return in->diags->errors == errors;
}

static bool shape_input(Inference *in, uint32_t index, const LowerOptions *said) {
    const TemplateTensor *tensor = &in->template->inputs.data[index];
    Type *type = &in->inputs[index];
    if (read_shape(in, tensor, type)) return in->shaped[index] = true;
    if (!said->has_shape) {
        complain(in, tensor, arena_printf(in->arena, "--shape %s=...", tensor->name),
                 "nothing says what shape '%s' has", tensor->name);
        return false;
    }
    type->rank = said->plain.rank;
    memcpy(type->dim, said->plain.dim, sizeof type->dim);
    return in->shaped[index] = bind_shape(in, tensor, type);
}

static bool type_input(Inference *in, uint32_t index, const LowerOptions *said) {
    const TemplateTensor *tensor = &in->template->inputs.data[index];
    const InputSpec *spec = find_spec(said, tensor->name);
    bool given = spec && spec->has_dtype;
    in->inputs[index].dtype =
        given ? spec->type.dtype : default_type(in, tensor, said->plain.dtype);
    return !given || check_type(in, tensor, spec->type.dtype);
}

/* A plain type that was asked for has to be somebody's. */
static bool check_plain(Inference *in, DType plain) {
    const Template *template = in->template;
    for (uint32_t i = 0; i < template->inputs.count; i++)
        if (in->inputs[i].dtype == plain) return true;
    return template->inputs.count == 0 || check_type(in, &template->inputs.data[0], plain);
}

bool infer_inputs(Inference *in, const LowerOptions *said, bool typed) {
    uint32_t count = in->template->inputs.count, errors = in->diags->errors;
    in->inputs = arena_array(in->arena, Type, count + 1);
    in->shaped = arena_array(in->arena, bool, count + 1);
    if (!check_names(in, said)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const InputSpec *spec = find_spec(said, in->template->inputs.data[i].name);
        if (!spec || !spec->has_shape) continue;
        in->inputs[i] = spec->type;
        in->shaped[i] = bind_shape(in, &in->template->inputs.data[i], &spec->type);
    }
    for (uint32_t i = 0; i < count; i++) {
        const InputSpec *spec = find_spec(said, in->template->inputs.data[i].name);
        if (!spec || !spec->has_shape) shape_input(in, i, said);
        type_input(in, i, said);
    }
    if (typed && in->diags->errors == errors) check_plain(in, said->plain.dtype);
    return in->diags->errors == errors;
}

DType infer_output_type(const Inference *in, uint32_t index, DType type) {
    return default_type(in, &in->template->outputs.data[index], type);
}

bool infer_output(Inference *in, uint32_t index, bool has_shape, bool has_dtype, Type *type) {
    const TemplateTensor *tensor = &in->template->outputs.data[index];
    if (!has_dtype) type->dtype = default_type(in, tensor, DT_F32);
    if (has_dtype && !check_type(in, tensor, type->dtype)) return false;
    if (has_shape) return bind_shape(in, tensor, type);
    if (read_shape(in, tensor, type)) return true;
    complain(in, tensor, NULL, "nothing says what shape '%s' has", tensor->name);
    return false;
}
