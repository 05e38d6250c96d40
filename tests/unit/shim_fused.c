/* What fusegen writes for CUDA, run on the host: every layout class, three types, several points,
 * through the whole gate. KF_CHECK_ALL=1 takes every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "planned.h"
#include "compiler/gate.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"
#include "tuner/tune.h"

enum { POINTS = 3, POINTS_MAX = 4096 };

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

static const Run *edge_runs(Arena *arena, const Template *template, const Plan *like,
                            const Point *point, const DeviceIdentity *identity, uint32_t *count) {
    const Ir *const *shapes = gate_shapes(arena, like->ir, count);
    Run *runs = arena_array(arena, Run, *count);
    for (uint32_t i = 0; i < *count; i++) {
        const Plan *at = plan_like(arena, like, shapes[i]);
        const char *why;
        assert_non_null(at);
        if (!tune_run(arena, template, at, point, identity, &runs[i], &why))
            runs[i].launches.count = 0;
    }
    return runs;
}

static void add_trial(Arena *arena, Subject *subject, const Template *template, const Plan *plan,
                      const Point *point, const DeviceIdentity *identity) {
    const char *why = "", *suffix = tune_suffix(arena, &template->space, point);
    Trial trial = {.label = suffix + 2};
    if (!tune_run(arena, template, plan, point, identity, &trial.run, &why))
        fail_msg("%s: %s", suffix, why);
    trial.edge_runs = edge_runs(arena, template, plan, point, identity, &subject->edge_count);
    array_push(arena, &subject->trials, trial);
}

/* The default and a sample of the others, or all. */
static void add_points(Arena *arena, Subject *subject, const Template *template, const Plan *plan,
                       const DeviceIdentity *identity) {
    Text source = {0};
    uint64_t *indices;
    const Space *space = &template->space;
    uint32_t limit = getenv("KF_CHECK_ALL") ? POINTS_MAX : POINTS;
    uint32_t count = space_allowed(space, tune_bindings(arena, plan, identity), false, arena, limit,
                                   11, &indices);
    Point fallback = space_fallback(space);
    for (uint32_t i = 0; i <= count; i++) {
        Point point = i == 0 ? fallback : space_point(space, indices[i - 1]);
        if (i > 0 && indices[i - 1] == space_index(space, &fallback)) continue;
        template_instantiate(&source, template, &point, tune_suffix(arena, space, &point));
        add_trial(arena, subject, template, plan, &point, identity);
    }
    subject->source = arena_copy(arena, text_string(&source), source.length);
    text_free(&source);
}

static Subject subject_of(Arena *arena, const char *text, const char *inputs, DType dtype,
                          const DeviceIdentity *identity) {
    Program plain = program_make(arena, text, inputs);
    Program program = program_make(arena, text, inputs_of(arena, inputs, &plain, dtype));
    const Plan *plan = program_plan(&program);
    Subject subject = {.label = arena_printf(arena, "%s %s", text, dtype_name(dtype)),
                       .ir = program.ir};
    add_points(arena, &subject, emit_cuda(arena, plan), plan, identity);
    return subject;
}

static void programs_are_right(void **state) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16};
    Arena *arena = arena_open();
    Subjects subjects = {0};
    JudgeCounts counts = {0};
    DeviceIdentity identity;
    Why why = {""};
    (void)state;
    device_shim.identify(0, true, &identity, &why);
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            array_push(arena, &subjects.list,
                       subject_of(arena, programs[p][0], programs[p][1], dtypes[d], &identity));
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
