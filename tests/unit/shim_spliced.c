/* Products with an epilogue as CUDA, run on the host: every layout, types in turn, the default point
 * and a sample of others, with and without parts of k, through the whole gate. KF_CHECK_ALL=1 takes
 * all types and more points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/kernel.h"
#include "spliced.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"

enum { POINTS = 4, POINTS_ALL = 40 };

static int find_compiler(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) > 0) return 0;
    printf("no shim here: %s\n", why.text);
    return -1;
}

static void add_program(Arena *arena, Subjects *subjects, const char *const program[2], DType dtype,
                        uint64_t seed) {
    Program p = program_make(arena, program[0], fused_typed(arena, program[1], dtype));
    const Library *library = library_open(arena, "cuda", p.registry);
    Kernels kernels = kernels_find(arena, library, p.ir);
    const char *label = arena_printf(arena, "%s %s, %s", program[0], program[1], dtype_name(dtype));
    if (kernels.list.count != 1) fail_msg("%s: %u kernels", label, kernels.list.count);
    subject_add(arena, subjects, label, p.ir, &kernels.list.data[0], NULL,
                getenv("KF_CHECK_ALL") ? POINTS_ALL : POINTS, seed);
}

/* KF_TEST_PROGRAM=N: that one alone. */
static void programs_are_right(void **state) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16};
    const char *only = getenv("KF_TEST_PROGRAM");
    JudgeCounts all = {0};
    (void)state;
    for (size_t p = 0; p < sizeof spliced_programs / sizeof *spliced_programs; p++) {
        Arena *arena = arena_open();
        Subjects subjects = {0};
        JudgeCounts counts = {0};
        Why why = {""};
        if (only && (size_t)atoi(only) != p) continue;
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            if (only || p < 2 || p % 3 == d || getenv("KF_CHECK_ALL"))
                add_program(arena, &subjects, spliced_programs[p], dtypes[d], 17 * p + d);
        if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
            fail_msg("%s", why.text);
        all.programs += counts.programs;
        all.points += counts.points;
        all.edges += counts.edges;
        arena_close(arena);
    }
    printf("shim: %u products, %u points, %u edges\n", all.programs, all.points, all.edges);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_right)};
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
