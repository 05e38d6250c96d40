/* A device with memory of its own judges reductions and products, on the shim: its oracle's kernels
 * in real blocks, from values in pieces to rows that stand for a product that is too large. Naive
 * CUDA kernels, right ones and ones with a single wrong element. */
#include "tests/unit/program.h"

#include <stdio.h>

#include "compiler/simplify.h"
#include "tests/shim/device_shim.h"
#include "tests/unit/rigged.h"

typedef struct Subject {
    const char *text, *about;
    const char *kernel; /* body of the thread of element i of `count`; sets `float r` */
    int64_t count;
    bool dear; /* as if it were too large to be judged in full */
} Subject;

#define X_ROW                                                              \
    "const float *row = x + i / 300 * 300; float most = row[0], sum = 0; " \
    "for (int k = 1; k < 300; k++) most = most > row[k] ? most : row[k]; "

static const Subject subjects[] = {
    {"exp(x - max(x)) / sum(exp(x - max(x)))", "9x300",
     X_ROW "for (int k = 0; k < 300; k++) sum += expf(row[k] - most); r = expf(x[i] - most) / sum;",
     2700, false},
    {"(x - mean(x)) / sqrt(var(x) + 1e-5)", "9x300",
     X_ROW
     "float squares = 0; for (int k = 0; k < 300; k++) sum += row[k]; float mean = sum / 300; "
     "for (int k = 0; k < 300; k++) squares += (row[k] - mean) * (row[k] - mean); "
     "r = most != most ? most : (x[i] - mean) / sqrtf(squares / 300 + 1e-5f);",
     2700, false},
    {"sum(x * 2, axis=0)", "300x37", "r = 0; for (int k = 0; k < 300; k++) r += x[k * 37 + i] * 2;",
     37, false},
    {"x @ y", "x=171x170 y=170x169",
     "r = 0; for (int k = 0; k < 170; k++) r += x[i / 169 * 170 + k] * y[k * 169 + i % 169];",
     171 * 169, false},
    {"x @ y", "x=171x170 y=170x169",
     "r = 0; for (int k = 0; k < 170; k++) r += x[i / 169 * 170 + k] * y[k * 169 + i % 169];",
     171 * 169, true},
};

static Binary compile(Arena *arena, const Device *device, const DeviceIdentity *identity,
                      const Subject *s, int64_t wrong) {
    const char *source = arena_printf(
        arena,
        "extern \"C\" __global__ void k(const float *x, const float *y, float *out) {\n"
        "    long long i = blockIdx.x * 256ll + threadIdx.x;\n    float r;\n"
        "    if (i >= %lld) return;\n    %s\n    out[i] = i == %lld ? r * 1.25f + 1 : r;\n}\n",
        (long long)s->count, s->kernel, (long long)wrong);
    CompileUnit unit = {source, "test", false};
    Text object = {0};
    Why why;
    if (device->compile(&unit, identity, &object, &why) != OUTCOME_OK) fail_msg("%s", why.text);
    Binary binary = {arena_copy(arena, object.data, object.length), object.length};
    text_free(&object);
    return binary;
}

/* x, then y (or x again), then the output. */
static Run *run_of(Arena *arena, const Ir *ir, int64_t count) {
    Run *run = arena_new(arena, Run);
    Launch launch = {.entry = "k", .alignment = 1, .grid = {(count + 255) / 256, 1, 1}};
    launch.block[0] = 256;
    launch.block[1] = launch.block[2] = launch.cluster = 1;
    launch.args = arena_array(arena, Arg, 3);
    launch.arg_count = 3;
    launch.args[0] = launch.args[1] = (Arg){.kind = ARG_BUFFER, .buffer = 0};
    if (ir->inputs.count > 1) launch.args[1].buffer = 1;
    launch.args[2] = (Arg){.kind = ARG_BUFFER, .buffer = ir->inputs.count};
    array_push(arena, &run->launches, launch);
    return run;
}

static void judge(Rig *rig, const Subject *s, int64_t wrong) {
    Arena *arena = arena_open();
    Mounted mounted;
    Why why = {""};
    Check check = check_none();
    Binary binary = compile(arena, rig->device, &rig->setup.identity, s, wrong);
    BenchJob job = {.label = "test", .run = run_of(arena, rig->ir, s->count)};
    assert_int_equal(mount_run(rig, &mounted, job.run, &binary, 1, &why), OUTCOME_OK);
    Outcome outcome = judge_whole(rig, &mounted, &job, 0, &check, &why);
    if (outcome != (wrong < 0 ? OUTCOME_OK : OUTCOME_WRONG))
        fail_msg("%s, %d wrong: %s %s", s->text, (int)wrong, outcome_name(outcome), why.text);
    if (wrong < 0) assert_int_equal(check.checked, s->count);
    assert_true(rig->plain.trusted);
    unmount(rig, &mounted);
    arena_close(arena);
}

/* As NVRTC has it, but for the shim's own 64-bit integers. */
static void write_oracle(Text *out, const Ir *ir) {
    text_add(out, "#define __CUDACC_RTC__\n#define int64_t kernel_int64_t\n"
                  "#define uint64_t kernel_uint64_t\n#define frexp __builtin_frexp\n");
    oracle_cuda(out, ir);
}

static void check_subject(const Subject *s) {
    Arena *arena = arena_open();
    Device device = device_shim;
    BenchSetup setup = {.seed = 5, .run_limit = 60};
    Why why = {""};
    Program program = program_open(s->text, s->about);
    assert_non_null(program.ir);
    const Ir *ir = simplify(arena, program.ir, true);
    device.oracle = write_oracle;
    device.accuracy = ACCURACY_CUDA;
    assert_true(device.identify(0, true, &setup.identity, &why));
    Opening opening = {.device = &device};
    Rig *rig = rigged_open(arena, &opening, &setup, ir, &why);
    if (!rig) fail_msg("%s: %s", s->text, why.text);
    if (s->dear) rig->plain.work = (int64_t)1 << 45;
    judge(rig, s, s->count / 2 + 1); /* by the oracle alone */
    judge(rig, s, -1);
    judge(rig, s, -1); /* by its bits */
    judge(rig, s, s->count - 1);
    judge(rig, s, s->count / 3);
    rigged_close(rig);
    program_close(&program);
    arena_close(arena);
}

static void sums_and_products(void **unused) {
    Why why;
    (void)unused;
    if (device_shim.count(&why) == 0) skip();
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) check_subject(&subjects[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_and_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
