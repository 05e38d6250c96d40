/* For tests of hand-written templates: a program that a template computes, with sizes for its names.
 */
#ifndef TEST_TEMPLATES_H
#define TEST_TEMPLATES_H

#include <stdlib.h>
#include <string.h>

#include "compiler/kernel.h"
#include "compiler/lower.h"
#include "compiler/simplify.h"

enum { SIZES = 4, SHAPES = 2 };

/* What a template's sizes are, in the order in which its inputs name them. */
static const int64_t template_sizes[SHAPES][SIZES] = {{37, 264, 40, 16}, {3, 1003, 129, 5}};

typedef struct TemplateNames {
    const char *list[SIZES];
    uint32_t count;
} TemplateNames;

static inline int64_t template_size(TemplateNames *names, const char *name, const int64_t *values) {
    uint32_t i = 0;
    if (*name >= '0' && *name <= '9') return atoll(name);
    while (i < names->count && strcmp(names->list[i], name) != 0) i++;
    assert_true(i < SIZES);
    if (i == names->count) names->list[names->count++] = name;
    return values[i];
}

/* The template's `computes` lines with inputs of these sizes. */
static inline const Ir *template_program(Arena *arena, const Registry *registry,
                                         const Template *template, const int64_t *values,
                                         DType dtype) {
    InputSpec *specs = arena_array(arena, InputSpec, template->inputs.count);
    Diags diags = {.arena = arena};
    TemplateNames names = {0};
    for (uint32_t i = 0; i < template->inputs.count; i++) {
        const TemplateTensor *tensor = &template->inputs.data[i];
        specs[i] = (InputSpec){.name = tensor->name, .has_shape = true, .has_dtype = true};
        specs[i].type = (Type){.dtype = dtype, .rank = tensor->rank};
        for (uint32_t d = 0; d < tensor->rank; d++)
            specs[i].type.dim[d] = template_size(&names, tensor->dims[d], values);
    }
    LowerOptions options = {.inputs = specs, .input_count = template->inputs.count};
    const Ir *ir = lower(arena, template->computes, registry, &options, &diags);
    assert_non_null(ir);
    return simplify(arena, ir, true);
}

static inline const Kernel *template_kernel(const Kernels *kernels, const char *name) {
    for (uint32_t i = 0; i < kernels->list.count; i++)
        if (strcmp(kernels->list.data[i].name, name) == 0) return &kernels->list.data[i];
    fail_msg("%s does not match its own program", name);
    return NULL;
}

#endif
