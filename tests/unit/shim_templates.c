/* Every hand-written CUDA template, run on the host: found by listing, at two shapes, in three
 * types, at the default point and a sample of others, through the whole gate. KF_CHECK_ALL=1 takes
 * more points. Points with clusters run on GPUs alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compiler/lower.h"
#include "compiler/simplify.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"

enum { POINTS = 3, POINTS_ALL = 40, SIZES = 4, SHAPES = 2 };

/* What a template's sizes are, in the order in which its inputs name them. */
static const int64_t sizes[SHAPES][SIZES] = {{37, 264, 40, 16}, {3, 1003, 129, 5}};

static int find_compiler(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) > 0) return 0;
    printf("no shim here: %s\n", why.text);
    return -1;
}

typedef struct Names {
    const char *list[SIZES];
    uint32_t count;
} Names;

static int64_t size_of(Names *names, const char *name, const int64_t *values) {
    uint32_t i = 0;
    if (*name >= '0' && *name <= '9') return atoll(name);
    while (i < names->count && strcmp(names->list[i], name) != 0) i++;
    assert_true(i < SIZES);
    if (i == names->count) names->list[names->count++] = name;
    return values[i];
}

/* The template's `computes` lines with inputs of these sizes; NULL where it has not the type. */
static const Ir *program_of(Arena *arena, const Registry *registry, const Template *template,
                            const int64_t *values, DType dtype) {
    InputSpec *specs = arena_array(arena, InputSpec, template->inputs.count);
    Diags diags = {.arena = arena};
    Names names = {0};
    for (uint32_t i = 0; i < template->inputs.count; i++) {
        const TemplateTensor *tensor = &template->inputs.data[i];
        specs[i] = (InputSpec){.name = tensor->name, .has_shape = true, .has_dtype = true};
        specs[i].type = (Type){.dtype = dtype, .rank = tensor->rank};
        for (uint32_t d = 0; d < tensor->rank; d++)
            specs[i].type.dim[d] = size_of(&names, tensor->dims[d], values);
    }
    LowerOptions options = {.inputs = specs, .input_count = template->inputs.count};
    const Ir *ir = lower(arena, template->computes, registry, &options, &diags);
    assert_non_null(ir);
    return simplify(arena, ir, true);
}

static const Kernel *kernel_of(const Kernels *kernels, const char *name) {
    for (uint32_t i = 0; i < kernels->list.count; i++)
        if (strcmp(kernels->list.data[i].name, name) == 0) return &kernels->list.data[i];
    fail_msg("%s does not match its own program", name);
    return NULL;
}

static void add_template(Arena *arena, Subjects *subjects, const Library *library,
                         const Template *template) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16};
    for (uint32_t s = 0; s < SHAPES; s++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            const Ir *ir = program_of(arena, library->registry, template, sizes[s], dtypes[d]);
            Kernels kernels = kernels_find(arena, library, ir);
            const char *label =
                arena_printf(arena, "%s %s, shape %u", template->name, dtype_name(dtypes[d]), s);
            subject_add(arena, subjects, label, ir, kernel_of(&kernels, template->name),
                        getenv("KF_CHECK_ALL") ? POINTS_ALL : POINTS, 31 * s + d);
        }
}

static void templates_are_right(void **state) {
    Arena *arena = arena_open();
    const Library *library = library_open(arena, "cuda", registry_open(arena));
    Subjects subjects = {0};
    JudgeCounts counts = {0};
    Why why = {""};
    (void)state;
    for (uint32_t i = 0; i < library->templates.count; i++)
        add_template(arena, &subjects, library, library->templates.data[i]);
    if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
        fail_msg("%s", why.text);
    printf("shim: %u templates, %u programs, %u points, %u edges\n", library->templates.count,
           counts.programs, counts.points, counts.edges);
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(templates_are_right)};
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
