/* Every hand-written CUDA template, run on the host: found by listing, at two shapes, in three
 * types, at the default point and a sample of others, through the whole gate. KF_CHECK_ALL=1 takes
 * more points. Points with clusters run on GPUs alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "templates.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"

enum { POINTS = 3, POINTS_ALL = 12 };

static int find_compiler(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) > 0) return 0;
    printf("no shim here: %s\n", why.text);
    return -1;
}

static void add_template(Arena *arena, Subjects *subjects, const Library *library,
                         const Template *template) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16};
    for (uint32_t s = 0; s < SHAPES; s++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            const Ir *ir =
                template_program(arena, library->registry, template, template_sizes[s], dtypes[d]);
            Kernels kernels = kernels_find(arena, library, ir);
            const char *label =
                arena_printf(arena, "%s %s, shape %u", template->name, dtype_name(dtypes[d]), s);
            subject_add(arena, subjects, label, ir, template_kernel(&kernels, template->name), NULL,
                        getenv("KF_CHECK_ALL") ? POINTS_ALL : POINTS, 31 * s + d);
        }
}

static void add_counts(JudgeCounts *to, const JudgeCounts *from) {
    to->programs += from->programs;
    to->points += from->points;
    to->edges += from->edges;
}

/* KF_TEST_TEMPLATE=NAME: that one alone. */
static void templates_are_right(void **state) {
    const char *only = getenv("KF_TEST_TEMPLATE");
    Arena *arena = arena_open();
    const Library *library = library_open(arena, "cuda", registry_open(arena));
    JudgeCounts all = {0};
    (void)state;
    for (uint32_t i = 0; i < library->templates.count; i++) {
        const Template *template = library->templates.data[i];
        Subjects subjects = {0};
        JudgeCounts counts = {0};
        Why why = {""};
        if (only && strcmp(only, template->name) != 0) continue;
        add_template(arena, &subjects, library, template);
        if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
            fail_msg("%s", why.text);
        printf("%s: %u points, %u edges\n", template->name, counts.points, counts.edges);
        add_counts(&all, &counts);
    }
    printf("shim: %u programs of templates, %u points, %u edges\n", all.programs, all.points,
           all.edges);
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(templates_are_right)};
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
