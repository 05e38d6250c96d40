/* What fusegen writes for CUDA, run on the host: every layout class, three types, several points,
 * through the whole gate. KF_CHECK_ALL=1 takes every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compiler/near.h"
#include "fused.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"

enum { POINTS = 3 };

static int find_compiler(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) > 0) return 0;
    printf("no shim here: %s\n", why.text);
    return -1;
}

static void add_program(Arena *arena, Subjects *subjects, const char *const program[2],
                        const char *where, DType dtype) {
    Program plain = program_make(arena, program[0], program[1]);
    Program p = program_make(arena, program[0], fused_inputs(arena, program[1], &plain, dtype));
    const Library *library = library_open(arena, "cuda", p.registry);
    const Ir *ir = near(arena, p.ir, NULL);
    Kernels kernels = kernels_find(arena, library, ir);
    assert_non_null(kernels.list.data[0].plan); /* the generated one comes first */
    subject_add(arena, subjects, arena_printf(arena, "%s %s", program[0], dtype_name(dtype)), ir,
                &kernels.list.data[0], where, getenv("KF_CHECK_ALL") ? 1000 : POINTS, dtype);
}

enum { DTYPES = 3 };

/* Each program in each type, at points of `where`. */
static JudgeCounts judged(const char *const (*programs)[2], size_t count,
                          const DType dtypes[DTYPES], const char *where) {
    Arena *arena = arena_open();
    Subjects subjects = {0};
    JudgeCounts counts = {0};
    Why why = {""};
    for (size_t p = 0; p < count; p++)
        for (size_t d = 0; d < DTYPES; d++)
            add_program(arena, &subjects, programs[p], where, dtypes[d]);
    if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
        fail_msg("%s", why.text);
    arena_close(arena);
    return counts;
}

static void programs_are_right(void **state) {
    static const DType dtypes[DTYPES] = {DT_F32, DT_F16, DT_BF16};
    (void)state;
    JudgeCounts counts =
        judged(fused_programs, sizeof fused_programs / sizeof *fused_programs, dtypes, NULL);
    printf("shim: %u fused programs, %u points, %u edges\n", counts.programs, counts.points,
           counts.edges);
}

/* Arrays that are contiguous down the rows: by vectors down the rows, and through shared memory. */
static void tiles_are_right(void **state) {
    static const char *const programs[][2] = {
        {"x.T + y", "x=32x64 y=64x32"},
        {"relu(x.T)", "x=72x40"},
        {"(x.T + y) * b", "x=3x48x16 y=3x16x48 b=48"},
        {"x.T * s + y.T", "x=2x24x8 y=2x24x8 s=8x1"},
        {"x.T + y * exp(b)", "x=70x33 y=33x70 b=70"},
        {"x.T - y", "x=3x5x37 y=3x37x5"},
    };
    static const DType dtypes[DTYPES] = {DT_F64, DT_F32, DT_BF16};
    (void)state;
    JudgeCounts counts = judged(programs, sizeof programs / sizeof *programs, dtypes, "INDEX=2");
    printf("shim: %u programs in tiles, %u points\n", counts.programs, counts.points);
    assert_true(counts.points >= counts.programs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_right),
                                       cmocka_unit_test(tiles_are_right)};
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
