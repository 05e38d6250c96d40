/* Generated CUDA reductions, run on the host: every class of axes and arrays, several types, points
 * of the whole space, through the whole gate. KF_CHECK_ALL=1 takes every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reduced.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"

enum { POINTS = 4 };

static int find_compiler(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) > 0) return 0;
    printf("no shim here: %s\n", why.text);
    return -1;
}

static void reductions_are_right(void **state) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16, DT_F64};
    const char *only = getenv("KF_TEST_PROGRAM");
    Arena *arena = arena_open();
    Subjects subjects = {0};
    JudgeCounts counts = {0};
    Why why = {""};
    (void)state;
    for (uint32_t p = 0; p < REDUCED_PROGRAMS; p++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            if (only && !strstr(reduced_programs[p][0], only)) continue;
            if (d > 0 && !getenv("KF_CHECK_ALL") && (p + d) % 3 != 0) continue;
            Program program = reduced_program(arena, p, dtypes[d]);
            subject_add(arena, &subjects,
                        arena_printf(arena, "%s %s", reduced_programs[p][0], dtype_name(dtypes[d])),
                        program.ir, reduced_kernel(arena, "cuda", &program),
                        getenv("KF_CHECK_ALL") ? 1000 : POINTS, p * 31 + dtypes[d]);
        }
    if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
        fail_msg("%s", why.text);
    printf("shim: %u reductions, %u points, %u edges\n", counts.programs, counts.points,
           counts.edges);
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reductions_are_right)};
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
