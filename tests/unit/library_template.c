/* Kernels of the user's own, spaces and bare searches, through kfuse.h alone; and what a compiler says
 * of such a kernel. Runs on the cpu device. */
#include "kfuse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "registry/template.h"
#include "tuner/cuda_nvrtc.h"
#include "tuner/given.h"

enum { N = 3000 };

static const KfTuneOptions quick = {.effort = KF_QUICK, .trials = 2, .budget = 20};
static char cache[64];
static KfSession *session;

static int open_session(void **state) {
    (void)state;
    strcpy(cache, "/tmp/kfuse-test-XXXXXX");
    KfSessionOptions options = {.cache = cache, .no_user_ops = true};
    return mkdtemp(cache) && kf_session_open(&session, &options) == KF_OK ? 0 : -1;
}

static int close_session(void **state) {
    (void)state;
    char command[128];
    kf_session_close(session);
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command);
}

static void require(KfStatus status) {
    if (status != KF_OK) fail_msg("%d: %s", (int)status, kf_session_message(session));
}

static void assert_says(const char *words) {
    if (!strstr(kf_session_message(session), words))
        fail_msg("'%s' is not in: %s", words, kf_session_message(session));
}

static KfTemplate *open_template(const char *name, const char *lines) {
    KfTemplate *template;
    char path[512];
    snprintf(path, sizeof path, TEST_SOURCE "/tests/templates/%s", name);
    require(kf_template_open(session, path, lines, &template));
    return template;
}

static const char *const plain_lines = "kernel twice\n"
                                       "input x[n] : f32\n"
                                       "output y[n] : like x\n"
                                       "args x y n\n"
                                       "knob __STEP__ 64 1024\n"
                                       "launch block = cpus\n";

static KfTensor vector(const char *name, const float *data) {
    return (KfTensor){.name = name, .type = KF_F32, .rank = 1, .dim = {N}, .data = data};
}

/* --- as a program */

static void a_template_is_a_program(void **state) {
    (void)state;
    KfTemplate *template = open_template("saxpy.c", NULL);
    KfParam params[] = {{"a", 3}};
    KfTensor inputs[] = {vector("x", NULL)}; /* y has the size of x */
    KfProblem problem = {.inputs = inputs, .input_count = 1, .params = params, .param_count = 1};
    KfProgram *program;
    KfKernel *kernel;
    require(kf_template_program(template, &problem, &program));
    assert_int_equal(kf_program_input_count(program), 2);
    assert_int_equal(kf_program_input(program, 1).dim[0], N);
    assert_string_equal(kf_program_output(program, 0).name, "out");
    require(kf_tune(program, &quick, &kernel));
    assert_non_null(strstr(kf_kernel_result(kernel).winner, "saxpy:STEP="));
    static float x[N], y[N], out[N];
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 0.5f;
    const void *in[] = {x, y};
    void *outputs[] = {out};
    require(kf_launch(kernel, in, outputs, NULL));
    for (int i = 0; i < N; i++) assert_true(out[i] == 3 * (float)i + 0.5f);
    memset(out, 0, sizeof out);
    require(kf_run(kernel, in, outputs));
    assert_true(out[N - 1] == 3 * (float)(N - 1) + 0.5f);
    char *text;
    require(kf_program_dump(program, KF_STAGE_C, "STEP=4096", &text));
    assert_non_null(strstr(text, "#define __STEP__ 4096"));
    kf_free(text);
    assert_int_equal(kf_program_dump(program, KF_STAGE_CUDA, NULL, &text), KF_USAGE);
    require(kf_program_evaluate(program, in, outputs));
    kf_kernel_close(kernel);
    kf_program_close(program);
    kf_template_close(template);
}

/* What a manifest says makes the program again. */
static void expect_command(KfProgram *program, const char *words) {
    const KfEmitOptions options = {.folder = cache, .name = "shipped"};
    char path[128], text[8192], *summary;
    require(kf_emit(program, NULL, &options, &summary));
    kf_free(summary);
    snprintf(path, sizeof path, "%s/shipped.json", cache);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    if (!strstr(text, words)) fail_msg("'%s' is not in: %s", words, text);
}

static void what_no_command_line_says_is_told(void **state) {
    (void)state;
    KfTemplate *template = open_template("saxpy.c", NULL);
    static const int64_t turned[] = {1, 2};
    KfTensor inputs[] = {vector("x", NULL)};
    KfProblem problem = {.inputs = inputs, .input_count = 1, .device = "cpu"};
    KfProgram *program;
    require(kf_template_program(template, &problem, &program));
    expect_command(program, "saxpy.c --shape x=3000 --dtype x=f32");
    kf_program_close(program);
    kf_template_close(template);
    inputs[0] = (KfTensor){
        .name = "x", .type = KF_F32, .rank = 2, .dim = {2, 3}, .strides = turned, .data = NULL};
    require(kf_program_open(session, "x * 2", 5, &problem, &program));
    expect_command(program, "\"kf_emit of kfuse.h, with these strides, which no command line says");
    kf_program_close(program);
    inputs[0].strides = NULL;
    require(kf_program_open(session, "x * 2", 5, &problem, &program));
    expect_command(program, "\"kfuse emit 'x * 2' --shape x=2x3 ");
    kf_program_close(program);
}

static void calls_that_make_no_sense_are_refused(void **state) {
    (void)state;
    KfTemplate *template;
    assert_int_equal(kf_template_open(session, NULL, NULL, &template), KF_USAGE);
    assert_int_equal(kf_template_open(session, "x.txt", NULL, &template), KF_INPUT);
    assert_null(template);
    template = open_template("scale.c", NULL);
    static const int64_t backwards[] = {-1};
    KfTensor x = vector("x", NULL);
    KfProblem problem = {.inputs = &x, .input_count = 1};
    KfProgram *program;
    assert_int_equal(kf_template_program(template, NULL, &program), KF_USAGE);
    x.strides = backwards;
    assert_int_equal(kf_template_program(template, &problem, &program), KF_USAGE);
    assert_says("dense");
    x.strides = NULL;
    problem.device = "quantum";
    KfKernel *kernel;
    require(kf_template_program(template, &problem, &program));
    assert_int_equal(kf_tune(program, &quick, &kernel), KF_ENVIRONMENT);
    kf_program_close(program);
    kf_template_close(template);
    kf_template_close(NULL);
}

/* --- data */

static KfStatus tune_silent(const float *x, const float *y, KfProblem problem, KfKernel **kernel,
                            KfProgram **program) {
    KfTemplate *template = open_template("plain.c", plain_lines);
    KfTensor input = vector("x", x), output = vector("y", y);
    problem.inputs = &input;
    problem.outputs = &output;
    problem.input_count = problem.output_count = 1;
    *kernel = NULL;
    KfStatus status = kf_template_program(template, &problem, program);
    if (status == KF_OK) status = kf_tune(*program, &quick, kernel);
    if (*kernel) assert_non_null(strstr(kf_kernel_report(*kernel, KF_TEXT), "no edge cases"));
    kf_kernel_close(*kernel);
    kf_program_close(*program);
    kf_template_close(template);
    return status;
}

static void references_judge_what_says_nothing(void **state) {
    (void)state;
    static float x[N], y[N];
    KfProgram *program;
    KfKernel *kernel;
    for (int i = 0; i < N; i++) x[i] = (float)i - 7, y[i] = 2 * x[i];
    x[5] = y[5] = NAN;
    x[6] = y[6] = INFINITY;
    require(tune_silent(x, y, (KfProblem){0}, &kernel, &program));
    y[N - 1] += 1;
    assert_int_equal(tune_silent(x, y, (KfProblem){0}, &kernel, &program), KF_NO_KERNEL);
    assert_says("y[2999] is 5984, expected 5984.9");
    KfProblem loose = {.has_tolerance = true, .atol = 1};
    require(tune_silent(x, y, loose, &kernel, &program));
    y[6] = 1e30f; /* infinity is near to nothing finite */
    assert_int_equal(tune_silent(x, y, loose, &kernel, &program), KF_NO_KERNEL);
    assert_says("y[6] is inf");
    assert_int_equal(tune_silent(NULL, y, loose, &kernel, &program), KF_INPUT);
    assert_int_equal(tune_silent(x, NULL, loose, &kernel, &program), KF_INPUT);
}

/* A kernel that is right but for one value is refused where that value is given. */
static void given_inputs_are_judged_on(void **state) {
    (void)state;
    static float x[N];
    char path[96];
    snprintf(path, sizeof path, "%s/odd.c", cache);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#include <stdint.h>\nenum { STEP = __STEP__ };\n"
          "void twice(void *const *args, int64_t part, int64_t parts) {\n"
          "    const float *x = *(float *const *)args[0];\n"
          "    float *y = *(float *const *)args[1];\n"
          "    for (int64_t i = part; i < *(int64_t *)args[2]; i += parts)\n"
          "        y[i] = x[i] * (x[i] == 1234.5f ? 3 : 2);\n"
          "}\n",
          file);
    fclose(file);
    for (int given = 0; given < 2; given++) {
        char *lines;
        assert_true(asprintf(&lines, "%scomputes y = x * 2\n", plain_lines) > 0);
        KfTemplate *template;
        require(kf_template_open(session, path, lines, &template));
        free(lines);
        KfTensor input = vector("x", given ? x : NULL);
        KfProblem problem = {.inputs = &input, .input_count = 1};
        KfProgram *program;
        KfKernel *kernel;
        x[77] = 1234.5f;
        require(kf_template_program(template, &problem, &program));
        KfStatus status = kf_tune(program, &quick, &kernel);
        assert_int_equal(status, given ? KF_NO_KERNEL : KF_OK);
        if (given) assert_says("y[77] is 3703.5, expected 2469");
        kf_kernel_close(kernel);
        kf_program_close(program);
        kf_template_close(template);
    }
}

static void tolerances_are_by_type(void **state) {
    (void)state;
    double rtol, atol;
    for (int t = 0; t < DTYPE_COUNT; t++) {
        given_tolerance((DType)t, &rtol, &atol);
        assert_true(dtype_is_float((DType)t) ? rtol > 0 && atol > 0 : rtol == 0 && atol == 0);
    }
    given_tolerance(DT_BF16, &rtol, &atol);
    assert_true(rtol == 1.6e-2 && atol == 1e-5);
}

/* --- spaces and searches */

static const char *point_at(KfSpace *space, size_t index) {
    const char *point = kf_space_point(space, index);
    return point ? point : "none";
}

static void a_space_is_pruned(void **state) {
    (void)state;
    static const char lines[] = "knob __VEC__ 1 2 4\n"
                                "knob __BLOCK__ 128 256\n"
                                "require n % __VEC__ == 0\n"
                                "prefer BLOCK == 128 || VEC > 1\n";
    const KfSize sizes[] = {{"n", 6}};
    KfSpace *space;
    require(kf_space_open(session, lines, sizes, 1, false, &space));
    assert_int_equal(kf_space_count(space), 4);
    assert_string_equal(point_at(space, 0), "VEC=1,BLOCK=128");
    assert_string_equal(point_at(space, 3), "VEC=2,BLOCK=256");
    assert_null(kf_space_point(space, 4));
    kf_space_close(space);
    require(kf_space_open(session, lines, sizes, 1, true, &space));
    assert_int_equal(kf_space_count(space), 3);
    assert_string_equal(point_at(space, 1), "VEC=2,BLOCK=128");
    kf_space_close(space);
    assert_int_equal(kf_space_open(session, lines, NULL, 0, true, &space), KF_INPUT);
    assert_says("<space>:3:9: error: ");
    assert_int_equal(kf_space_open(session, "args x y", NULL, 0, true, &space), KF_INPUT);
    assert_int_equal(kf_space_open(session, NULL, NULL, 0, true, &space), KF_USAGE);
    assert_null(space);
    kf_space_close(NULL);
}

static void bare_searches_try_what_the_space_has(void **state) {
    (void)state;
    KfTemplate *template = open_template("scale.c", "knob __STEP__ 512 1024 2048\n"
                                                    "prefer __STEP__ < n // 2\n");
    KfTensor input = vector("x", NULL);
    KfProblem problem = {.inputs = &input, .input_count = 1};
    KfProgram *program;
    KfKernel *kernel;
    KfSpace *space;
    require(kf_template_program(template, &problem, &program));
    require(kf_program_space(program, NULL, false, &space));
    assert_int_equal(kf_space_count(space), 3);
    kf_space_close(space);
    require(kf_program_space(program, "scale", true, &space));
    assert_int_equal(kf_space_count(space), 2);
    kf_space_close(space);
    assert_int_equal(kf_program_space(program, "generated", true, &space), KF_USAGE);
    for (int again = 0; again < 2; again++) { /* nothing is answered from the store */
        require(kf_grid(program, NULL, &kernel));
        assert_int_equal(kf_kernel_result(kernel).candidates, 2);
        assert_int_equal(kf_kernel_result(kernel).compiled, 2);
        kf_kernel_close(kernel);
    }
    require(kf_random(program, 1, 7, &quick, &kernel));
    assert_int_equal(kf_kernel_result(kernel).candidates, 1);
    kf_kernel_close(kernel);
    require(kf_program_space(program, NULL, false, &space));
    kf_program_close(program);
    kf_template_close(template);
    assert_string_equal(point_at(space, 0), "STEP=512"); /* a space outlives what it was made of */
    kf_space_close(space);
}

static void generated_kernels_have_a_space_too(void **state) {
    (void)state;
    KfProblem problem = {
        .has_plain_shape = true, .plain = {.rank = 1, .dim = {64}}, .device = "cpu"};
    KfProgram *program;
    KfSpace *space;
    require(kf_program_open(session, "x + 1", SIZE_MAX, &problem, &program));
    require(kf_program_space(program, "generated", true, &space));
    assert_true(kf_space_count(space) > 1);
    kf_space_close(space);
    kf_program_close(program);
}

/* --- CUDA, where there is a compiler for it */

static Outcome compile_cuda(const char *from, const char *to, Why *why) {
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    Nvrtc nvrtc;
    const char *reason;
    if (!nvrtc_load(&nvrtc, why)) {
        arena_close(arena);
        skip();
    }
    const Source *source = source_read(arena, TEST_SOURCE "/tests/templates/scale.cu", &reason);
    const char *at = strstr(source->text, from);
    assert_non_null(at);
    const char *text = arena_printf(arena, "%.*s%s%s", (int)(at - source->text), source->text, to,
                                    at + strlen(from));
    source = source_new(arena, "dir/my scale.cu", text, strlen(text));
    const Template *template = template_parse(arena, source, "cuda", &diags);
    assert_non_null(template);
    Point point = space_fallback(&template->space);
    Text instance = {0}, binary = {0};
    template_instantiate(&instance, template, &point, "__BLOCK256");
    CompileUnit unit = {text_string(&instance), "scale", false};
    Outcome outcome = nvrtc_compile(&nvrtc, &unit, "sm_90", &binary, why);
    if (outcome == OUTCOME_OK)
        assert_non_null(memmem(binary.data, binary.length, "scale__BLOCK256", 15));
    text_free(&instance);
    text_free(&binary);
    arena_close(arena);
    return outcome;
}

static void a_compiler_names_the_line_of_the_file(void **state) {
    (void)state;
    Why why;
    assert_int_equal(compile_cuda("x[i] * 2", "x[i] * 2", &why), OUTCOME_OK);
    assert_int_equal(compile_cuda("x[i] * 2", "z[i] * 2", &why), OUTCOME_COMPILE);
    if (strncmp(why.text, "dir/my scale.cu(10): error: ", 28) != 0) fail_msg("%s", why.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_is_a_program),
        cmocka_unit_test(what_no_command_line_says_is_told),
        cmocka_unit_test(calls_that_make_no_sense_are_refused),
        cmocka_unit_test(references_judge_what_says_nothing),
        cmocka_unit_test(given_inputs_are_judged_on),
        cmocka_unit_test(tolerances_are_by_type),
        cmocka_unit_test(a_space_is_pruned),
        cmocka_unit_test(bare_searches_try_what_the_space_has),
        cmocka_unit_test(generated_kernels_have_a_space_too),
        cmocka_unit_test(a_compiler_names_the_line_of_the_file),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
