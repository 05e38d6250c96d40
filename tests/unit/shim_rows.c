/* What emit_rows_cuda writes, run on the host: every layout class, several types and points, through
 * the whole gate. KF_CHECK_ALL=1 takes many more points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/near.h"
#include "fused.h"
#include "row_programs.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"

enum { POINTS = 3, POINTS_ALL = 40 };

static int find_compiler(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) > 0) return 0;
    printf("no shim here: %s\n", why.text);
    return -1;
}

static const Kernel *rows_kernel(const Kernels *kernels) {
    for (uint32_t i = 0; i < kernels->list.count; i++)
        if (strcmp(kernels->list.data[i].name, "rows") == 0) return &kernels->list.data[i];
    fail_msg("no kernel over rows");
    return NULL;
}

static void add_program(Arena *arena, Subjects *subjects, const char *const program[2], DType dtype,
                        const char *where) {
    Program plain = program_make(arena, program[0], program[1]);
    Program p = program_make(arena, program[0], fused_inputs(arena, program[1], &plain, dtype));
    const Ir *ir = near(arena, p.ir, NULL);
    Kernels kernels = kernels_find(arena, library_open(arena, "cuda", p.registry), ir);
    subject_add(arena, subjects, arena_printf(arena, "%s %s", program[0], dtype_name(dtype)), ir,
                rows_kernel(&kernels), where, getenv("KF_CHECK_ALL") ? POINTS_ALL : POINTS, dtype);
}

/* KF_TEST_PROGRAM=N: that one alone. */
static bool wanted(size_t program) {
    const char *only = getenv("KF_TEST_PROGRAM");
    return !only || (size_t)atoi(only) == program;
}

/* Each program in one type, in all with KF_CHECK_ALL=1. */
static void check_programs(const char *where) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16, DT_F64};
    Arena *arena = arena_open();
    Subjects subjects = {0};
    JudgeCounts counts = {0};
    Why why = {""};
    for (size_t p = 0; p < sizeof row_programs / sizeof *row_programs; p++)
        for (size_t d = 0; wanted(p) && d < sizeof dtypes / sizeof *dtypes; d++)
            if (getenv("KF_CHECK_ALL") || (p + p / 4) % 4 == d)
                add_program(arena, &subjects, row_programs[p], dtypes[d], where);
    if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
        fail_msg("%s", why.text);
    printf("shim: %u programs over rows, %u points, %u edges\n", counts.programs, counts.points,
           counts.edges);
    arena_close(arena);
}

static void programs_are_right(void **state) {
    (void)state;
    check_programs(NULL);
}

/* Several rows a block, the next on their way. */
static void rings_are_right(void **state) {
    (void)state;
    check_programs("KEEP=3");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_right),
                                       cmocka_unit_test(rings_are_right)};
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
