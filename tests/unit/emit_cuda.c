/* The CUDA that emit_cuda writes, compiled by NVRTC (no GPU is needed): every op, types, layouts
 * and points, for the architectures there are; small chains do not spill. KF_CHECK_ALL=1 compiles
 * more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "fused.h"
#include "tuner/tune.h"

static const Device *cuda;

static int find_compiler(void **state) {
    Why why;
    (void)state;
    cuda = device_find("cuda");
    if (cuda && cuda->warm(&why)) return 0;
    printf("no NVRTC here: %s\n", why.text);
    cuda = NULL;
    return 0;
}

static bool thorough(void) {
    return getenv("KF_CHECK_ALL") != NULL;
}

/* Compiles one point; the entry's and the twin's resources must be readable. */
static Resources compile(const char *arch, const Template *template, const Point *point) {
    DeviceIdentity identity = {0};
    Resources resources = {0};
    uint64_t code;
    Text source = {0}, binary = {0};
    Why why = {""};
    const TemplateLaunch *launch = &template->launches.data[0];
    snprintf(identity.arch, sizeof identity.arch, "%s", arch);
    template_instantiate(&source, template, point, "");
    CompileUnit unit = {text_string(&source), template->name, false};
    if (cuda->compile(&unit, &identity, &binary, &why) != OUTCOME_OK)
        fail_msg("%s: %s\n%s", template->name, why.text, thorough() ? text_string(&source) : "");
    if (launch->twin)
        assert_true(cuda->resources(binary.data, binary.length, launch->twin, &resources, &code));
    assert_true(cuda->resources(binary.data, binary.length, launch->entry, &resources, &code));
    text_free(&source);
    text_free(&binary);
    return resources;
}

static const Template *make(Arena *arena, const char *text, const char *inputs) {
    Program p = program_make(arena, text, inputs);
    return emit_cuda(arena, program_plan(&p));
}

/* The default and `points` more. */
static void check_on(const char *arch, const char *text, const char *inputs, uint64_t points) {
    Arena *arena = arena_open();
    if (!cuda) skip();
    const Template *template = make(arena, text, inputs);
    Point point = space_fallback(&template->space);
    Resources resources = compile(arch, template, &point);
    if (resources.spill_bytes > 0) fail_msg("%s: spills at the default point", text);
    uint64_t size = space_size(&template->space);
    for (uint64_t k = 0; k < points; k++) {
        point = space_point(&template->space, (k * 7919 + 5) % size);
        compile(arch, template, &point);
    }
    arena_close(arena);
}

static void check(const char *text, const char *inputs, uint64_t points) {
    check_on("sm_90", text, inputs, points);
}

/* What sums rows is written by hand. */
static bool is_elementwise(Arena *arena, const char *text) {
    Program p = program_make(arena, text, "4096");
    return p.group.kind == GROUP_ELEMENTWISE;
}

static void functions(void **state) {
    uint32_t count;
    Arena *arena = arena_open();
    const Function *const *list = registry_list(registry_open(arena), arena, &count);
    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        Text call = {0};
        text_printf(&call, "%s(", list[i]->name);
        for (uint32_t k = 0; k < list[i]->required; k++)
            text_printf(&call, "%s%c", k ? ", " : "", 'a' + (int)k);
        text_add(&call, ")");
        if (!is_elementwise(arena, text_string(&call))) {
            text_free(&call);
            continue;
        }
        check(text_string(&call), "4096", 0);
        if (thorough()) check(text_string(&call), "4096:f64", 1);
        text_free(&call);
    }
    arena_close(arena);
}

static void layouts(void **state) {
    (void)state;
    check("relu(x+res)", "4096x4096", 3);
    check("relu(x*s + b) + c", "x=64x32 s=64x1 b=32 c=scalar", 6);
    check("x + y - z", "x=4x1x6x5 y=3x1x5 z=4x3x6x1", 4);
    check("x * 2", "x=10x10@128,1", 2);
    check("x + y.T", "x=10x12 y=12x10", 2);
    check("x - y", "x=300@2 y=300", 2);
    check("x = x * 2 + y", "x=1000 y=1000", 1);
    check("s = x + res; out = relu(s); return s, out", "33x5", 1);
    check("relu(x)", "x=2147483656:u8", 2);
    check("x + b", "x=65536x16392 b=16392", 3);
    check("out = 1.5", "4", 1);
    check("x + log1p(f32(3))", "33x5", 1); /* a function of a literal, that is not folded */
    check("mish(f32(3))", "33x5", 1);
    check("param eps = 1e-5; param k = 3; out = x * eps > 0 ? x : y // k", "x=100 y=100:i32", 1);
    check("float1 + threadIdx * kf_n + n", "100", 0);
}

static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool", "u8", "i8", "i32", "i64"};

static void types(void **state) {
    char inputs[64];
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        snprintf(inputs, sizeof inputs, "x=257:%s y=257:%s", names[i], names[(i * 2 + 1) % 9]);
        check("a = x + y; b = x > y ? x : y; c = x // y; d = x % y; e = x * y - x", inputs, 1);
        snprintf(inputs, sizeof inputs, "x=513:%s", names[i]);
        check("a = f32(x); b = f16(x); c = bf16(x); d = bool(x); e = u8(x); f = i8(x); g = i32(x); "
              "h = i64(x);"
              "i = f32(bf16(x)) + 1; j = f32(i32(x)) * 0.5; k = i8(i64(x)) + 1",
              inputs, 1);
    }
}

static void architectures(void **state) {
    static const char *const archs[] = {"sm_75", "sm_80", "sm_89", "sm_100", "sm_120"};
    Arena *arena = arena_open();
    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        for (size_t p = 0; p < sizeof fused_programs / sizeof *fused_programs; p++) {
            Program plain = program_make(arena, fused_programs[p][0], fused_programs[p][1]);
            check_on(archs[i], fused_programs[p][0],
                     fused_inputs(arena, fused_programs[p][1], &plain, p % 2 ? DT_F16 : DT_F32), 0);
        }
        check_on(archs[i], "gelu(x+b)+res", "x=64x32:bf16 b=32:f16 res=64x32:bf16", 1);
        check_on(archs[i], "tanh(x*res+b)*sigmoid(x)+0.5*res", "x=64x32:f16 b=32:f16 res=64x32:f16",
                 1);
        if (thorough()) check_on(archs[i], "relu(x+res)", "x=64:f64 res=64:bf16", 1);
    }
    arena_close(arena);
}

/* A text without `times` copies of anything, so that equal values do not make it small. */
static const char *long_sum(Arena *arena, uint32_t terms, uint32_t inputs) {
    Text text = {0};
    for (uint32_t i = 0; i < terms; i++)
        text_printf(&text, "%sx%u*%u.5", i ? " + " : "", i % inputs, i / inputs);
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

/* A literal does not bring double arithmetic into an f32 kernel: field report 44. */
static void no_double(void **state) {
    Arena *arena = arena_open();
    (void)state;
    const Template *template = make(arena, "x * (2.0 * h) + 1/3 - pi * floor(x % 0.1)", "64");
    assert_null(strstr(strstr(template->source->text, "k_element"), "double"));
    arena_close(arena);
}

static int conditions_of(const Template *template) {
    int count = 0;
    for (const char *at = template->source->text; (at = strstr(at, "const bool t")); at++) count++;
    return count;
}

/* The condition of max(a, c) is printed where something reads it, in every kind of kernel. */
static void conditions(void **state) {
    static const struct {
        const char *text, *inputs;
        int printed;
    } cases[] = {
        {"max(x, 5) * min(x, -2)", "64", 0},
        {"max(x, 0)", "64", 3},
        {"max(x, 5) * f32(x > 5)", "64", 1},
        {"a = x > 5; y = max(x, 5); return a, y", "64", 1},
        {"max(exp(b), 5) + x", "x=64x64 b=64", 0},
        {"sum(max(x, 5))", "33x64", 0},
        {"max(sum(x, axis=0), 5)", "33x64", 0},
        {"sum(max(x, 5), axis=0)", "33x64", 0},
        {"max(sum(x), 5) * x", "33x64", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_open();
        Program p = program_make(arena, cases[i].text, cases[i].inputs);
        const Plan *plan = program_plan(&p);
        if (p.group.one_pass) assert_int_equal(conditions_of(emit_reduce_cuda(arena, plan)), 0);
        if (p.group.kind != GROUP_REDUCTION)
            assert_int_equal(conditions_of(emit(arena, "cuda", plan)), cases[i].printed);
        arena_close(arena);
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void large(void **state) {
    static const struct {
        uint32_t terms, inputs;
        double limit;
    } cases[] = {{256, 256, 20}, {1000, 3, 20}, {10000, 2, 120}};
    (void)state;
    if (!cuda) skip();
    for (uint32_t i = 0; i < 3; i++) {
        Arena *arena = arena_open();
        double start = seconds();
        const Template *template =
            make(arena, long_sum(arena, cases[i].terms, cases[i].inputs), "4096");
        Point point = space_fallback(&template->space);
        Resources resources = compile("sm_90", template, &point);
        printf("%u terms of %u inputs: %.2f s, %d registers, %d bytes spilled\n", cases[i].terms,
               cases[i].inputs, seconds() - start, resources.registers, resources.spill_bytes);
        assert_true(seconds() - start < cases[i].limit);
        arena_close(arena);
    }
}

/* Whole vectors, but where narrower ones give multiprocessors that would not be full more threads.
 * A set of VEC's values: bit v is 1 << v elements. */
static uint32_t widths(Arena *arena, const Program *p, const DeviceIdentity *device) {
    const Plan *plan = program_plan(p);
    const Template *template = emit_cuda(arena, plan);
    Bindings bindings = tune_bindings(arena, plan_bound(arena, plan), device);
    uint64_t *indices;
    uint32_t found = 0, knob = 0;
    uint32_t count = space_allowed(&template->space, bindings, true, arena, 4096, 0, &indices);
    while (strcmp(template->space.knobs[knob].label, "VEC") != 0) knob++;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t v = 0; v < 5; v++)
            if (space_point(&template->space, indices[i]).value[knob] == 1 << v) found |= 1u << v;
    return found;
}

static void vectors_leave_threads_enough(void **state) {
    static const struct {
        const char *text, *inputs;
        uint32_t widths;
    } cases[] = {
        {"tanh(x + b)", "x=128x128:bf16 b=128:bf16", 1},
        {"tanh(x + b)", "x=1024x1024:bf16 b=1024:bf16", 4 + 2},
        {"tanh(x + b)", "x=2048x1024:bf16 b=1024:bf16", 8 + 4},
        {"tanh(x + b)", "x=2048x2048:bf16 b=2048:bf16", 8},
        {"tanh(x + b)", "x=1024x1024:f32 b=1024:f32", 4 + 2},
        {"tanh(x + b)", "x=2048x2048:f32 b=2048:f32", 4},
        {"tanh(x + b)", "x=4096x4096:f16 b=4096:f16", 8},
        {"tanh(x + b)", "x=4095x4097:f16 b=4097:f16", 15},
        {"x.T + y", "x=4096x4096:bf16 y=4096x4096:bf16", 8 + 4 + 1}, /* tiles */
        {"x.T + y", "x=4095x4097:bf16 y=4097x4095:bf16", 1},
    };
    const DeviceIdentity device = {.arch = "sm_90", .sms = 132};
    (void)state;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_open();
        Program p = program_make(arena, cases[i].text, cases[i].inputs);
        uint32_t found = widths(arena, &p, &device);
        if (found != cases[i].widths) fail_msg("%s %s: %u", cases[i].text, cases[i].inputs, found);
        arena_close(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),    cmocka_unit_test(types),
        cmocka_unit_test(functions),  cmocka_unit_test(architectures),
        cmocka_unit_test(large),      cmocka_unit_test(no_double),
        cmocka_unit_test(conditions), cmocka_unit_test(vectors_leave_threads_enough),
    };
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
