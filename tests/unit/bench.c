/* The measuring worker judges real kernels: hand-written C for relu(x + res) and x * 2 in place,
 * right ones and every way to be wrong. Names of cases are those of the field reports (53, 52, 58,
 * 59, 62). */
#include "tests/unit/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "compiler/gate.h"
#include "tuner/bench.h"

extern const Device device_cpu;

enum { N = 100003 }; /* odd: the last vector is not full */

typedef struct Fixture {
    const Device *device;
    Program program;
    DeviceIdentity identity;
    Bench *bench;
    Arena *arena;
} Fixture;

static Binary compile(Fixture *f, const char *source) {
    CompileUnit unit = {source, "test", false};
    Text object = {0};
    Why why;
    if (f->device->compile(&unit, &f->identity, &object, &why) != OUTCOME_OK)
        fail_msg("%s", why.text);
    void *copy = arena_alloc(f->arena, object.length);
    memcpy(copy, object.data, object.length);
    Binary binary = {copy, object.length};
    text_free(&object);
    return binary;
}

/* The oracle of a device with memory of its own. */
static void give_tools(Fixture *f) {
    Text sources[2] = {{0}, {0}};
    Binary tools[2];
    for (int i = 0; i < 2 && f->device->oracle; i++) {
        f->device->oracle(&sources[i], i == 0 ? NULL : f->program.ir);
        tools[i] = compile(f, text_string(&sources[i]));
        text_free(&sources[i]);
    }
    bench_tools(f->bench, tools, f->device->oracle ? 2 : 0, NULL);
}

static Fixture open_on(const Device *device, const char *text, double run_limit,
                       const char *journal) {
    Fixture f = {.device = device, .program = program_open(text, "100003"), .arena = arena_open()};
    BenchOptions options = {.seed = 7, .run_limit = run_limit, .journal = journal};
    Why why;
    assert_non_null(f.program.ir);
    assert_true(device->identify(0, true, &f.identity, &why));
    f.bench = bench_open(device, 0, &why);
    if (!f.bench || !bench_setup(f.bench, &f.identity, f.program.ir, NULL, &options, &why))
        fail_msg("%s", why.text);
    give_tools(&f);
    return f;
}

static Fixture open_fixture(const char *text, double run_limit, const char *journal) {
    return open_on(&device_cpu, text, run_limit, journal);
}

static void close_fixture(Fixture *f) {
    bench_close(f->bench);
    arena_close(f->arena);
    program_close(&f->program);
}

/* One launch of "k" over the program's buffers, then `count`, the number of elements. */
static Run *run_of(Fixture *f, int32_t parts, int64_t count) {
    Run *run = arena_new(f->arena, Run);
    uint32_t buffers = f->program.ir->inputs.count + f->program.ir->outputs.count;
    Launch launch = {.entry = "k", .alignment = 1, .grid = {1, 1, 1}, .block = {parts, 1, 1}};
    if (f->device != &device_cpu) {
        launch.grid[0] = (count + 255) / 256;
        launch.block[0] = 256;
    }
    launch.cluster = 1;
    launch.args = arena_array(f->arena, Arg, buffers + 1);
    for (uint32_t i = 0; i < buffers; i++) launch.args[i] = (Arg){.kind = ARG_BUFFER, .buffer = i};
    launch.args[buffers] = (Arg){.kind = ARG_I64, .value = {.whole = count}};
    launch.arg_count = buffers + 1;
    array_push(f->arena, &run->launches, launch);
    return run;
}

#define KERNEL(statement)                                                                    \
    "#include <stdint.h>\n"                                                                  \
    "void k(void *const *args, int64_t part, int64_t parts) {\n"                             \
    "    const float *x = *(float **)args[0], *r = *(float **)args[1];\n"                    \
    "    float *out = *(float **)args[2];\n"                                                 \
    "    int64_t n = *(int64_t *)args[3], begin = n * part / parts, end = n * (part + 1) / " \
    "parts;\n"                                                                               \
    "    (void)x, (void)r, (void)out, (void)begin, (void)end;\n"                             \
    "    " statement "\n"                                                                    \
    "}\n"
#define RELU "{ float s = x[i] + r[i]; out[i] = s < 0 ? 0 : s; }"
#define RIGHT KERNEL("for (int64_t i = begin; i < end; i++) " RELU)

static BenchJob job_of(Fixture *f, const char *source, const char *label) {
    Binary *binary = arena_new(f->arena, Binary);
    *binary = compile(f, source);
    return (BenchJob){.id = 1,
                      .label = label,
                      .run = run_of(f, 2, N),
                      .binaries = binary,
                      .binary_count = 1,
                      .judge = true};
}

static Result submit(Fixture *f, const BenchJob *job) {
    Result result;
    Why why;
    if (!bench_submit(f->bench, job, &why)) fail_msg("%s", why.text);
    bench_result(f->bench, &result);
    return result;
}

static Result judge(Fixture *f, const char *source) {
    BenchJob job = job_of(f, source, "test");
    return submit(f, &job);
}

static void expect(Result result, Outcome outcome, const char *words) {
    if (result.outcome != outcome || !strstr(result.message, words))
        fail_msg("%s: %s, expected %s: %s", outcome_name(result.outcome), result.message,
                 outcome_name(outcome), words);
}

static const char relu_add[] = "out = relu(x + res)";

static void right_passes(void **state) {
    (void)state;
    Fixture f = open_fixture(relu_add, 10, NULL);
    Result result = judge(&f, RIGHT);
    expect(result, OUTCOME_OK, "");
    assert_int_equal(result.check.checked, N);
    assert_int_equal(result.check.wrong, 0);
    expect(judge(&f, RIGHT), OUTCOME_OK, ""); /* now against the golden output */
    close_fixture(&f);
}

static void wrong_is_refused(void **state) {
    static const char *const sources[][2] = {
        {KERNEL("for (int64_t i = 0; part == 0 && i < n / 2; i++) " RELU), "out[50001]"}, /* 53 */
        {KERNEL("for (int64_t i = begin; i < end && i < n - 1; i++) " RELU), "out[100002]"},
        {KERNEL("for (int64_t i = begin; i < end; i++) { " RELU " if (i == 777) out[i] += 1; }"),
         "out[777]"}, /* 55 */
        {KERNEL("for (int64_t i = begin; i < end; i++) " RELU " if (part == 0) out[-1] = 0;"),
         "wrote before out"},
        {KERNEL("for (int64_t i = begin; i < end; i++) " RELU " if (part == 0) out[n] = 0;"),
         "wrote behind out"},
        {KERNEL("for (int64_t i = begin; i < end; i++) out[i] = 0.0f / 0.0f;"), "out[0] is nan"},
    };
    (void)state;
    /* Alone, against the oracle; then behind a right one, against its bits. */
    for (int golden = 0; golden < 2; golden++) {
        Fixture f = open_fixture(relu_add, 10, NULL);
        if (golden) expect(judge(&f, RIGHT), OUTCOME_OK, "");
        for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
            expect(judge(&f, sources[i][0]), OUTCOME_WRONG, sources[i][1]);
        expect(judge(&f, RIGHT), OUTCOME_OK, "");
        close_fixture(&f);
    }
}

static Run *edge_runs_of(Fixture *f, uint32_t *count) {
    const Ir *const *shapes = gate_shapes(f->arena, f->program.ir, count);
    Run *runs = arena_array(f->arena, Run, *count);
    for (uint32_t i = 0; i < *count; i++)
        runs[i] = *run_of(f, 2, type_count(&shapes[i]->outputs.data[0].type));
    return runs;
}

/* Edges: special values and awkward sizes, on which kernels fail that pass on the real problem. */
static void edges_are_judged(void **state) {
    static const struct {
        const char *source;
        Outcome outcome;
        const char *words;
    } cases[] = {
        {RIGHT, OUTCOME_OK, ""},
        /* 25: relu(NaN) = 0 */
        {KERNEL("for (int64_t i = begin; i < end; i++) { float s = x[i] + r[i]; out[i] = s > 0 ? s "
                ": 0; }"),
         OUTCOME_WRONG, "edge"},
        /* 4: four at a time whatever is left */
        {KERNEL("for (int64_t i = 0; part == 0 && i < (n + 3) / 4 * 4; i++) " RELU), OUTCOME_WRONG,
         "touched"},
        {KERNEL("for (int64_t i = begin; i < end; i++) " RELU " if (n == 7) ((float *)x)[3] = 1;"),
         OUTCOME_WRONG, "x was written"},
    };
    uint32_t count;
    (void)state;
    Fixture f = open_fixture(relu_add, 10, NULL);
    Run *runs = edge_runs_of(&f, &count);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BenchJob job = job_of(&f, cases[i].source, "test");
        job.judge = false;
        job.judge_edges = true;
        job.edge_runs = runs;
        job.edge_count = count;
        expect(submit(&f, &job), cases[i].outcome, cases[i].words);
    }
    close_fixture(&f);
}

/* What wants alignment and has no twin is not launched without. */
static void alignment_is_kept_at_edges(void **state) {
    static const char source[] = KERNEL("for (int64_t i = begin; i < end; i++) " RELU
                                        " if (((uintptr_t)x | (uintptr_t)r | (uintptr_t)out) % 16"
                                        " && begin < end) out[begin] += 1;");
    uint32_t count;
    (void)state;
    Fixture f = open_fixture(relu_add, 10, NULL);
    BenchJob job = job_of(&f, source, "test");
    job.judge = false;
    job.judge_edges = true;
    Run *runs = edge_runs_of(&f, &count);
    job.edge_runs = runs;
    job.edge_count = count;
    expect(submit(&f, &job), OUTCOME_WRONG, "misaligned");
    for (uint32_t i = 0; i < count; i++) runs[i].launches.data[0].alignment = 16;
    expect(submit(&f, &job), OUTCOME_OK, "");
    for (uint32_t i = 0; i < count; i++) runs[i].launches.data[0].twin = "k";
    expect(submit(&f, &job), OUTCOME_WRONG, "misaligned");
    close_fixture(&f);
}

/* 58, 59, 62: a candidate that takes its worker along costs itself alone, and the journal names it.
 */
static void crash_and_hang_cost_one_worker(void **state) {
    char path[] = "/tmp/kfuse-test-XXXXXX", text[4096] = "";
    (void)state;
    close(mkstemp(path));
    Fixture f = open_fixture(relu_add, 0.5, path);
    expect(judge(&f, RIGHT), OUTCOME_OK, "");
    expect(judge(&f, KERNEL("*(volatile int *)8 = 1;")), OUTCOME_CRASH, "signal 11");
    expect(judge(&f, KERNEL("out[n + 16384] = 1;")), OUTCOME_CRASH, "signal 11"); /* the fence */
    expect(judge(&f, RIGHT), OUTCOME_OK, "");
    expect(judge(&f, KERNEL("for (volatile int i = 0;;) i++;")), OUTCOME_TIMEOUT, "0.5 s");
    expect(judge(&f, RIGHT), OUTCOME_OK, "");
    close_fixture(&f);
    int fd = open(path, O_RDONLY);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "launch 1 test"));
    assert_non_null(strstr(text, "timeout 1 test"));
    close(fd);
    unlink(path);
}

static void faults_on_demand(void **state) {
    (void)state;
    setenv("KFUSE_FAULT", "crash@VEC=4,BLOCK=256;wrong@VEC=2;crash-once@VEC=8;hang@VEC=1", 1);
    Fixture f = open_fixture(relu_add, 0.3, NULL);
    const struct {
        const char *label;
        Outcome outcome;
    } cases[] = {
        {"VEC=4,BLOCK=128", OUTCOME_OK},      {"VEC=4,BLOCK=256", OUTCOME_CRASH},
        {"VEC=2,BLOCK=256", OUTCOME_WRONG},   {"VEC=8,BLOCK=256", OUTCOME_OK},
        {"VEC=1,BLOCK=256", OUTCOME_TIMEOUT}, {"VEC=16,BLOCK=256", OUTCOME_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BenchJob job = job_of(&f, RIGHT, cases[i].label);
        expect(submit(&f, &job), cases[i].outcome, "");
    }
    close_fixture(&f);
    unsetenv("KFUSE_FAULT");
}

#define TWICE                                                                              \
    "#include <stdint.h>\n"                                                                \
    "void k(void *const *args, int64_t part, int64_t parts) {\n"                           \
    "    float *x = *(float **)args[0];\n"                                                 \
    "    int64_t n = *(int64_t *)args[2];\n"                                               \
    "    for (int64_t i = n * part / parts; i < n * (part + 1) / parts; i++) x[i] *= 2;\n" \
    "}\n"

/* 52: every candidate, timed too, starts from the first values. */
static void in_place_is_doubled_once(void **state) {
    (void)state;
    Fixture f = open_fixture("x = x * 2", 10, NULL);
    BenchJob job = job_of(&f, TWICE, "test");
    job.budget = 0.05;
    for (int i = 0; i < 4; i++) expect(submit(&f, &job), OUTCOME_OK, "");
    close_fixture(&f);
}

static void timing_rotates_and_ranks(void **state) {
    Result results[2];
    BenchReport report;
    Why why;
    (void)state;
    Fixture f = open_fixture(relu_add, 10, NULL);
    BenchJob job = job_of(&f, RIGHT, "fast");
    job.budget = 0.2;
    Result fast = submit(&f, &job);
    expect(fast, OUTCOME_OK, "");
    assert_true(fast.time > 1e-6 && fast.time < 0.05 && fast.sample_count >= 3);
    BenchJob slow =
        job_of(&f,
               KERNEL("for (int k = 0; k < 40; k++) { for (int64_t i = begin; i < end; i++) " RELU
                      " __asm__ volatile(\"\" ::: \"memory\"); }"),
               "slow");
    slow.id = 2;
    slow.budget = 0.2;
    expect(submit(&f, &slow), OUTCOME_OK, "");
    slow.give_up_over = 2 * fast.time;
    assert_int_equal(submit(&f, &slow).sample_count, 1);
    assert_true(bench_rank(f.bench, (const uint64_t[]){1, 2}, 2, 0.3, results, &why));
    assert_int_equal(results[0].sample_count, results[1].sample_count);
    assert_true(results[0].time < results[1].time);
    assert_true(bench_report(f.bench, &report, &why));
    assert_true(report.sets >= 256000000 / (12 * N)); /* past the cache (70, 71) */
    assert_true(report.self_test && report.phases.seconds[PHASE_TIMING] > 0);
    close_fixture(&f);
}

/* 59: a finalist that crashes only when it is timed again; the others are still ranked. */
static void crash_while_ranking(void **state) {
    char path[] = "/tmp/kfuse-test-XXXXXX", source[4096];
    Result results[2];
    Why why;
    (void)state;
    close(mkstemp(path));
    unlink(path);
    snprintf(source, sizeof source, "extern int access(const char *, int);\n%s",
             KERNEL("if (access(PATH, 0) == 0) *(volatile int *)8 = 1;"
                    "for (int64_t i = begin; i < end; i++) " RELU));
    Fixture f = open_fixture(relu_add, 10, NULL);
    BenchJob good = job_of(&f, RIGHT, "good");
    char defined[5000];
    snprintf(defined, sizeof defined, "#define PATH \"%s\"\n%s", path, source);
    BenchJob bad = job_of(&f, defined, "bad");
    bad.id = 2;
    good.budget = bad.budget = 0.05;
    expect(submit(&f, &good), OUTCOME_OK, "");
    expect(submit(&f, &bad), OUTCOME_OK, "");
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_true(bench_rank(f.bench, (const uint64_t[]){2, 1}, 2, 0.1, results, &why));
    unlink(path);
    expect(results[0], OUTCOME_CRASH, "signal 11");
    expect(results[1], OUTCOME_OK, "");
    assert_true(results[1].time > 0);
    assert_true(bench_rank(f.bench, (const uint64_t[]){1, 7}, 2, 0.1, results, &why));
    expect(results[0], OUTCOME_OK, "");
    expect(results[1], OUTCOME_LAUNCH, "never timed");
    close_fixture(&f);
}

/* A second program is announced while jobs are of the first: it changes nothing for them, outlasts a
 * crash, and takes over when its tools come. One that was announced in between is forgotten. */
static void a_program_is_announced_ahead(void **state) {
    Fixture f = open_fixture(relu_add, 10, NULL), g = f;
    BenchOptions options = {.seed = 7, .run_limit = 10};
    Why why;
    (void)state;
    g.program = program_open("out = x * res", "100003");
    assert_true(bench_setup(f.bench, &f.identity, f.program.ir, NULL, &options, &why));
    assert_true(bench_setup(f.bench, &f.identity, g.program.ir, NULL, &options, &why));
    expect(judge(&f, RIGHT), OUTCOME_OK, "");
    expect(judge(&f, KERNEL("*(volatile int *)8 = 1;")), OUTCOME_CRASH, "signal 11");
    expect(judge(&f, RIGHT), OUTCOME_OK, "");
    bench_tools(f.bench, NULL, 0, NULL);
    bench_ready(f.bench);
    expect(judge(&g, RIGHT), OUTCOME_WRONG, "out[");
    expect(judge(&g, KERNEL("for (int64_t i = begin; i < end; i++) out[i] = x[i] * r[i];")),
           OUTCOME_OK, "");
    program_close(&g.program);
    close_fixture(&f);
}

/* A device that cannot be opened: the first job says why, and no further one is taken. */
static void no_device(void **state) {
    const Device *cuda = device_find("cuda");
    Fixture f = open_fixture(relu_add, 10, NULL);
    BenchOptions options = {.seed = 7, .run_limit = 1};
    BenchReport report;
    Result result;
    Why why = {""};
    (void)state;
    if (cuda && cuda->count(&why) == 0) {
        Bench *bench = bench_open(cuda, 0, &why);
        BenchJob job = job_of(&f, RIGHT, "test");
        assert_non_null(bench);
        assert_true(bench_setup(bench, &f.identity, f.program.ir, NULL, &options, &why));
        bench_tools(bench, job.binaries, 1, NULL);
        assert_true(bench_submit(bench, &job, &why));
        bench_result(bench, &result);
        expect(result, OUTCOME_LAUNCH, "");
        assert_true(result.message[0] != 0);
        assert_false(bench_submit(bench, &job, &why));
        assert_false(bench_report(bench, &report, &why));
        bench_close(bench);
    }
    close_fixture(&f);
}

#define CUDA_KERNEL(type, statement)                                                       \
    "extern \"C\" __global__ void k(const " type " *x, const " type " *r, " type " *out, " \
    "long long n) {\n    long long i = blockIdx.x * 256ll + threadIdx.x;\n    " statement "\n}\n"
#define CUDA_RELU "if (i < n) { float s = x[i] + r[i]; out[i] = s < 0 ? 0 : s; }"

/* The same on a GPU, where the device's own kernels judge. */
static void a_gpu_judges(void **state) {
    static const struct {
        const char *source;
        Outcome outcome;
        const char *words;
    } cases[] = {
        {CUDA_KERNEL("float", CUDA_RELU), OUTCOME_OK, ""},
        {CUDA_KERNEL("float", CUDA_RELU), OUTCOME_OK, ""},
        {CUDA_KERNEL("float", "n /= 2;" CUDA_RELU), OUTCOME_WRONG, "out[50001]"},
        {CUDA_KERNEL("float", CUDA_RELU "if (i == 777) out[i] += 1;"), OUTCOME_WRONG, "out[777]"},
        {CUDA_KERNEL("float", CUDA_RELU "if (i == 0) out[-1] = 0;"), OUTCOME_WRONG, "before out"},
        {CUDA_KERNEL("float", CUDA_RELU "if (i == 0) out[n + 3] = 0;"), OUTCOME_WRONG,
         "behind out"},
        {CUDA_KERNEL("float", CUDA_RELU "if (i == 0) out[n << 30] = 0;"), OUTCOME_CRASH, ""},
        {CUDA_KERNEL("float", CUDA_RELU), OUTCOME_OK, ""},
        {CUDA_KERNEL("float", "for (volatile int k = 0; i == 0;) k++;"), OUTCOME_TIMEOUT, "2 s"},
        {CUDA_KERNEL("float", CUDA_RELU), OUTCOME_OK, ""},
    };
    const Device *cuda = device_find("cuda");
    Why why;
    (void)state;
    if (!cuda || cuda->count(&why) == 0) skip();
    Fixture f = open_on(cuda, relu_add, 2, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Result result = judge(&f, cases[i].source);
        expect(result, cases[i].outcome, cases[i].words);
        if (result.outcome == OUTCOME_OK) assert_int_equal(result.check.checked, N);
    }
    close_fixture(&f);
}

static void a_gpu_times(void **state) {
    const Device *cuda = device_find("cuda");
    BenchReport report;
    Result results[2];
    Why why;
    (void)state;
    if (!cuda || cuda->count(&why) == 0) skip();
    Fixture f = open_on(cuda, relu_add, 5, NULL);
    BenchJob job = job_of(&f, CUDA_KERNEL("float", CUDA_RELU), "fast");
    job.budget = 0.2;
    Result fast = submit(&f, &job);
    expect(fast, OUTCOME_OK, "");
    assert_true(fast.time > 5e-7 && fast.time < 1e-4);
    BenchJob slow =
        job_of(&f, CUDA_KERNEL("float", "for (int k = 0; k < 40; k++) " CUDA_RELU), "slow");
    slow.id = 2;
    slow.budget = 0.2;
    expect(submit(&f, &slow), OUTCOME_OK, "");
    assert_true(bench_rank(f.bench, (const uint64_t[]){1, 2}, 2, 0.3, results, &why));
    assert_true(bench_report(f.bench, &report, &why));
    assert_true(report.sets > 100 && report.self_test);
    print_message("%.2f us, spread %.2f; %u sets; start %.2f s, check %.3f s; %s; %s\n",
                  fast.time * 1e6, fast.spread * 1e6, report.sets,
                  report.phases.seconds[PHASE_DATA], report.phases.seconds[PHASE_WHOLE],
                  report.conditions, report.self_test_message);
    close_fixture(&f);
}

/* f64 is judged on the host; in place starts from the first values. */
static void a_gpu_judges_f64_and_in_place(void **state) {
    const Device *cuda = device_find("cuda");
    Why why;
    (void)state;
    if (!cuda || cuda->count(&why) == 0) skip();
    Fixture f = open_on(cuda, "out = relu(f64(x) + f64(res))", 5, NULL);
    expect(judge(&f, "extern \"C\" __global__ void k(const float *x, const float *r, double *out, "
                     "long long n) {\n"
                     "    long long i = blockIdx.x * 256ll + threadIdx.x;\n"
                     "    if (i < n) { double s = (double)x[i] + r[i]; out[i] = s < 0 ? 0 : s; }\n"
                     "}\n"),
           OUTCOME_OK, "");
    close_fixture(&f);
    f = open_on(cuda, "x = x * 2", 5, NULL);
    BenchJob job = job_of(&f,
                          "extern \"C\" __global__ void k(float *x, float *, long long n) {\n"
                          "    long long i = blockIdx.x * 256ll + threadIdx.x;\n"
                          "    if (i < n) x[i] *= 2;\n"
                          "}\n",
                          "test");
    job.budget = 0.05;
    for (int i = 0; i < 3; i++) expect(submit(&f, &job), OUTCOME_OK, "");
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_passes),
        cmocka_unit_test(wrong_is_refused),
        cmocka_unit_test(edges_are_judged),
        cmocka_unit_test(alignment_is_kept_at_edges),
        cmocka_unit_test(crash_and_hang_cost_one_worker),
        cmocka_unit_test(faults_on_demand),
        cmocka_unit_test(in_place_is_doubled_once),
        cmocka_unit_test(timing_rotates_and_ranks),
        cmocka_unit_test(crash_while_ranking),
        cmocka_unit_test(a_program_is_announced_ahead),
        cmocka_unit_test(no_device),
        cmocka_unit_test(a_gpu_judges),
        cmocka_unit_test(a_gpu_times),
        cmocka_unit_test(a_gpu_judges_f64_and_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
