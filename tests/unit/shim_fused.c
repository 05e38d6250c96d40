/* What fusegen writes for CUDA, run on the host: every layout class, three types, several points,
 * through the whole gate. KF_CHECK_ALL=1 takes every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "planned.h"
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

/* Inputs whose type is not said are of the type under test. */
static const char *const programs[][2] = {
    {"relu(x+res)", "5x1003"},
    {"gelu(x+b)+res", "x=7x333 b=333 res=7x333"},
    {"tanh(x*res+b)*sigmoid(x)+0.5*res", "x=16x64 res=16x64 b=64"},
    {"relu(x*s + b) + c", "x=37x32 s=37x1 b=32 c=scalar"},
    {"x + y - z", "x=4x1x6x5 y=3x1x5 z=4x3x6x1"},
    {"x + y.T", "x=10x12 y=12x10"},
    {"x * 2", "x=10x10@128,1"},
    {"x - y", "x=300@2 y=300"},
    {"x = x * 2 + y", "x=1000 y=1000"},
    {"s = x + res; out = relu(s); return s, out", "33x5"},
    {"x + f32(k) * 0.5 - f32(m)", "x=1023 k=1023:i32 m=1023:bool"},
    {"param eps = 1e-5; x > 0 ? x / (eps + fabs(y)) : silu(y)", "x=65x17 y=65x17"},
};

static const char *typed(Arena *arena, const char *inputs, DType dtype) {
    Text text = {0};
    char *copy = arena_copy(arena, inputs, strlen(inputs)), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        text_printf(&text, strchr(word, ':') ? "%s " : "%s:%s ", word, dtype_name(dtype));
    const char *result = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return result;
}

/* Shapes without names stand for every input: the type cannot stand there. */
static const char *inputs_of(Arena *arena, const char *inputs, const Program *names, DType dtype) {
    Text text = {0};
    if (strchr(inputs, '=')) return typed(arena, inputs, dtype);
    for (uint32_t i = 0; i < names->ir->inputs.count; i++)
        text_printf(&text, "%s=%s:%s ", names->ir->inputs.data[i].name, inputs, dtype_name(dtype));
    const char *result = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return result;
}

static void add_program(Arena *arena, Subjects *subjects, const char *const program[2],
                        DType dtype) {
    Program plain = program_make(arena, program[0], program[1]);
    Program p = program_make(arena, program[0], inputs_of(arena, program[1], &plain, dtype));
    const Library *library = library_open(arena, "cuda", p.registry);
    Kernels kernels = kernels_find(arena, library, p.ir);
    assert_non_null(kernels.list.data[0].plan); /* the generated one comes first */
    subject_add(arena, subjects, arena_printf(arena, "%s %s", program[0], dtype_name(dtype)), p.ir,
                &kernels.list.data[0], getenv("KF_CHECK_ALL") ? 1000 : POINTS, dtype);
}

static void programs_are_right(void **state) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16};
    Arena *arena = arena_open();
    Subjects subjects = {0};
    JudgeCounts counts = {0};
    Why why = {""};
    (void)state;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            add_program(arena, &subjects, programs[p], dtypes[d]);
    if (!judge_compile(&subjects, &why) || !judge_all(&subjects, &counts, &why))
        fail_msg("%s", why.text);
    printf("shim: %u fused programs, %u points, %u edges\n", counts.programs, counts.points,
           counts.edges);
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_right)};
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
