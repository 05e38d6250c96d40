/* Products at real sizes: too large to be judged element by element, and yet no single wrong element
 * is accepted. Hand-written C kernels, right ones and wrong ones, on the CPU device: through the
 * measuring worker at 2048 x 2048 x 520, and by the exact check alone at small sizes, however the
 * operands lie. */
#include "tests/unit/program.h"

#include <stdio.h>

#include "compiler/factors.h"
#include "tests/unit/rigged.h"

extern const Device device_cpu;

/* --- small kernels on a rig of this process */

typedef struct Small {
    const char *text, *about;
    int64_t batches, rows, columns, depth;
    const char *a, *b, *out; /* offsets of (b, i, k), (b, k, j), (b, i, j) */
} Small;

static const Small smalls[] = {
    {"out = x @ y", "x=37x50 y=50x29", 1, 37, 29, 50, "i * 50 + k", "k * 29 + j", "i * 29 + j"},
    {"out = (x @ y).T", "x=37x50 y=50x29", 1, 37, 29, 50, "i * 50 + k", "k * 29 + j", "j * 37 + i"},
    {"out = x.T @ y", "x=50x37 y=50x29", 1, 37, 29, 50, "k * 37 + i", "k * 29 + j", "i * 29 + j"},
    {"out = x @ x.T", "x=37x50", 1, 37, 37, 50, "i * 50 + k", "j * 50 + k", "i * 37 + j"},
    {"out = x @ y.T", "x=3x37x50 y=29x50", 3, 37, 29, 50, "(b * 37 + i) * 50 + k", "j * 50 + k",
     "(b * 37 + i) * 29 + j"},
    {"out = x @ y", "x=50 y=50x29", 1, 1, 29, 50, "k", "k * 29 + j", "j"},
    {"out = x @ y", "x=37x3000 y=3000", 1, 37, 1, 3000, "i * 3000 + k", "k", "i"},
};

static const struct {
    const char *name, *stored, *sum, *load, *store;
} types[] = {
    {"f32", "float", "float", "(v)", "(v)"},
    {"bf16", "uint16_t", "float", "from_bf16(v)", "to_bf16(v)"},
    {"i32", "int32_t", "int32_t", "(v)", "(v)"},
};

static const char *kernel_source(Arena *arena, const Small *s, size_t type, int64_t wrong) {
    return arena_printf(
        arena,
        "#include <stdint.h>\n#include <string.h>\n"
        "static float from_bf16(uint16_t h) { uint32_t b = (uint32_t)h << 16; float x; memcpy(&x, "
        "&b, 4); return x; }\n"
        "static uint16_t to_bf16(float x) { uint32_t b; memcpy(&b, &x, 4); return (uint16_t)((b + "
        "0x7fff + (b >> 16 & 1)) >> 16); }\n"
        "#define LOAD(v) %s\n#define STORE(v) %s\n"
        "void k(void *const *args, int64_t part, int64_t parts) {\n"
        "    const %s *x = *(void **)args[0], *y = *(void **)args[1];\n"
        "    %s *out = *(void **)args[%d];\n"
        "    (void)from_bf16, (void)to_bf16, (void)parts;\n    if (part > 0) return;\n"
        "    for (int64_t b = 0; b < %lld; b++) for (int64_t i = 0; i < %lld; i++)\n"
        "        for (int64_t j = 0; j < %lld; j++) {\n            %s sum = 0;\n"
        "            for (int64_t k = 0; k < %lld; k++) sum += LOAD(x[%s]) * LOAD(%s[%s]);\n"
        "            if ((%s) == %lld) sum += 1;\n"
        "            out[%s] = STORE(sum);\n        }\n}\n",
        types[type].load, types[type].store, types[type].stored, types[type].stored,
        strchr(s->text, 'y') ? 2 : 1, (long long)s->batches, (long long)s->rows,
        (long long)s->columns, types[type].sum, (long long)s->depth, s->a,
        strchr(s->text, 'y') ? "y" : "x", s->b, s->out, (long long)wrong, s->out);
}

static Binary compile(Arena *arena, const DeviceIdentity *identity, const char *source) {
    CompileUnit unit = {source, "test", false};
    Text object = {0};
    Why why;
    if (device_cpu.compile(&unit, identity, &object, &why) != OUTCOME_OK) fail_msg("%s", why.text);
    Binary binary = {arena_copy(arena, object.data, object.length), object.length};
    text_free(&object);
    return binary;
}

static Run *run_of(Arena *arena, const Ir *ir, int32_t parts) {
    Run *run = arena_new(arena, Run);
    uint32_t buffers = ir->inputs.count + ir->outputs.count;
    Launch launch = {.entry = "k", .alignment = 1, .grid = {1, 1, 1}, .block = {parts, 1, 1}};
    launch.cluster = 1;
    launch.args = arena_array(arena, Arg, buffers);
    launch.arg_count = buffers;
    for (uint32_t i = 0; i < buffers; i++) launch.args[i] = (Arg){.kind = ARG_BUFFER, .buffer = i};
    array_push(arena, &run->launches, launch);
    return run;
}

static void expect_exact(Rig *rig, const Small *small, size_t type, int64_t wrong) {
    Arena *arena = arena_open();
    Mounted mounted;
    Why why = {""};
    Binary binary = compile(arena, &rig->setup.identity, kernel_source(arena, small, type, wrong));
    Run *run = run_of(arena, rig->ir, 1);
    assert_int_equal(mount_run(rig, &mounted, run, &binary, 1, &why), OUTCOME_OK);
    Outcome outcome = judge_exact(rig, &mounted, &why);
    if (outcome != (wrong < 0 ? OUTCOME_OK : OUTCOME_WRONG))
        fail_msg("%s %s, %d wrong: %s %s", small->text, types[type].name, (int)wrong,
                 outcome_name(outcome), why.text);
    unmount(rig, &mounted);
    arena_close(arena);
}

static void check_small(const Small *small, size_t type) {
    Arena *arena = arena_open();
    BenchSetup setup = {.seed = 5, .run_limit = 10};
    Text about = {0};
    Why why;
    text_printf(&about, ":%s %s", types[type].name, small->about);
    Program program = program_open(small->text, text_string(&about));
    assert_non_null(program.ir);
    assert_true(device_cpu.identify(0, true, &setup.identity, &why));
    Opening opening = {.device = &device_cpu};
    Rig *rig = rigged_open(arena, &opening, &setup, program.ir, &why);
    if (!rig) fail_msg("%s", why.text);
    int64_t count = type_count(&program.ir->outputs.data[0].type);
    assert_true(exact_applies(rig));
    expect_exact(rig, small, type, -1);
    expect_exact(rig, small, type, 0);
    expect_exact(rig, small, type, count / 2 + 3);
    expect_exact(rig, small, type, count - 1);
    rigged_close(rig);
    text_free(&about);
    program_close(&program);
    arena_close(arena);
}

static void exact_sees_one_element(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) check_small(&smalls[i], t);
}

/* What is no product of two inputs, or may wrap, has no exact second set. */
static void others_are_no_products(void **unused) {
    static const char *const cases[][2] = {
        {"out = x @ y + 1", "x=8x8 y=8x8"}, {"out = x @ (y * 2)", "x=8x8 y=8x8"},
        {"out = x + y", "x=8x8 y=8x8"},     {"out = x @ y", ":u8 x=8x8 y=8x8"},
        {"out = x @ y", "x=8x8 y=8x8/0/1"},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Program program = program_open(cases[i][0], cases[i][1]);
        Factors factors;
        assert_non_null(program.ir);
        assert_false(factors_find(program.ir, 0, &factors));
        program_close(&program);
    }
}

/* Sums of the thinned signs stay exact in the output's type, whatever the depth. */
static void deep_products_are_thinned_out(void **unused) {
    static const struct {
        const char *text, *about;
        int a, b;
    } cases[] = {
        {"out = x @ y", "x=8x64 y=64x8", 0, 0},
        {"out = x @ y", ":bf16 x=8x16384 y=16384x8", 3, 3},
        {"out = x @ y", ":f16 x=8x65536 y=65536x8", 1, 1},
        {"out = x @ y", "x=8x1048576 y=1048576x8", 0, 0},
        {"out = x @ x.T", ":bf16 x=8x16384", 7, 7},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Program program = program_open(cases[i].text, cases[i].about);
        Factors factors;
        assert_true(factors_find(program.ir, 0, &factors));
        assert_int_equal(factors.a_sparse, cases[i].a);
        assert_int_equal(factors.b_sparse, cases[i].b);
        program_close(&program);
    }
}

/* --- at real size, by the worker */

enum { M = 2048, N = 2048, K = 520 }; /* past 2^31 multiplications */

#define REAL(depth, wrong)                                                                         \
    "#include <stdint.h>\n"                                                                        \
    "enum { M = 2048, N = 2048, K = 520 };\n"                                                      \
    "static void tile(const float *a, const float *b, float *restrict out) {\n"                    \
    "    for (int64_t j = 0; j < 4 * N; j++) out[j] = 0;\n"                                        \
    "    for (int64_t n = 0; n < K; n++) {\n"                                                      \
    "        int64_t k = " depth ";\n"                                                             \
    "        if (k < 0) continue;\n"                                                               \
    "        for (int64_t j = 0; j < N; j++) {\n"                                                  \
    "            float y = b[k * N + j];\n"                                                        \
    "            out[j] += a[k] * y;\n"                                                            \
    "            out[N + j] += a[K + k] * y;\n"                                                    \
    "            out[2 * N + j] += a[2 * K + k] * y;\n"                                            \
    "            out[3 * N + j] += a[3 * K + k] * y;\n"                                            \
    "        }\n    }\n}\n"                                                                        \
    "void k(void *const *args, int64_t part, int64_t parts) {\n"                                   \
    "    const float *a = *(float **)args[0], *b = *(float **)args[1];\n"                          \
    "    float *out = *(float **)args[2];\n"                                                       \
    "    for (int64_t i = M / 4 * part / parts * 4; i < M / 4 * (part + 1) / parts * 4; i += 4)\n" \
    "        tile(a + i * K, b, out + i * N);\n"                                                   \
    "    if (part == parts - 1) { " wrong "; }\n}\n"

static Result judge(Arena *arena, Bench *bench, const DeviceIdentity *identity, const Ir *ir,
                    const char *source) {
    Binary binary = compile(arena, identity, source);
    BenchJob job = {.id = 1,
                    .label = "test",
                    .run = run_of(arena, ir, 2),
                    .binaries = &binary,
                    .binary_count = 1,
                    .judge = true};
    Result result;
    Why why;
    if (!bench_submit(bench, &job, &why)) fail_msg("%s", why.text);
    bench_result(bench, &result);
    return result;
}

/* What the last part does wrong lies among its own rows: others may still be at work. */
static void one_element_of_four_million(void **unused) {
    static const struct {
        const char *source, *said; /* NULL: right */
    } cases[] = {
        {REAL("n", "out[2035 * N + 777] += 1"), "row 2035"},
        {REAL("n", ""), NULL},
        {REAL("n", ""), NULL},         /* the golden bits */
        {REAL("K - 1 - n", ""), NULL}, /* others */
        {REAL("n", "out[2044 * N + 5] = 0.0f / 0.0f"), "out"},
        {REAL("n < K - 1 ? n : -1", ""), "out[0, "},
        {REAL("n", "for (int j = 64; j < 128; j++) { float t = out[2036 * N + j]; out[2036 * N + "
                   "j] = out[2036 * N + j + 64]; out[2036 * N + j + 64] = t; }"),
         "row 2036"},
    };
    BenchOptions options = {.seed = 7, .run_limit = 60};
    DeviceIdentity identity;
    Why why;
    (void)unused;
    Arena *arena = arena_open();
    Program program = program_open("out = x @ y", "x=2048x520 y=520x2048");
    assert_true(device_cpu.identify(0, true, &identity, &why));
    Bench *bench = bench_open(&device_cpu, 0, &why);
    assert_true(bench && bench_setup(bench, &identity, program.ir, NULL, &options, &why));
    bench_tools(bench, NULL, 0, NULL);
    assert_non_null(bench);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Result result = judge(arena, bench, &identity, program.ir, cases[i].source);
        bool right = cases[i].said == NULL;
        if (result.outcome != (right ? OUTCOME_OK : OUTCOME_WRONG) ||
            (!right && !strstr(result.message, cases[i].said)))
            fail_msg("case %d: %s %s", (int)i, outcome_name(result.outcome), result.message);
        if (right) assert_int_equal(result.check.checked, (int64_t)M * N);
    }
    bench_close(bench);
    program_close(&program);
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_sees_one_element),
        cmocka_unit_test(others_are_no_products),
        cmocka_unit_test(deep_products_are_thinned_out),
        cmocka_unit_test(one_element_of_four_million),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
