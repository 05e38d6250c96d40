/* The library as its users see it: kfuse.h alone. Field reports 1, 2, 4, 11, 16, 23 and 94 are here
 * by what they do to pointers and strides. Runs on the cpu device. */
#include "kfuse.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { GUARD = 64 };
static const unsigned char guard_byte = 0xA5;

typedef struct Opened {
    KfSession *session;
    KfProgram *program;
    KfKernel *kernel;
} Opened;

static const KfTuneOptions quick = {.effort = KF_QUICK, .trials = 2, .budget = 20};

static char cache[64];

static int make_cache(void **state) {
    (void)state;
    strcpy(cache, "/tmp/kfuse-test-XXXXXX");
    return mkdtemp(cache) ? 0 : -1;
}

static int remove_cache(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command);
}

static KfSession *open_session(void) {
    KfSession *session;
    KfSessionOptions options = {.cache = cache, .no_user_ops = true};
    assert_int_equal(kf_session_open(&session, &options), KF_OK);
    return session;
}

static KfProblem vector(KfType type, int64_t n) {
    return (KfProblem){
        .has_plain_shape = true, .plain = {.type = type, .rank = 1, .dim = {n}}, .device = "cpu"};
}

static void require(KfSession *session, KfStatus status) {
    if (status != KF_OK) fail_msg("%d: %s", (int)status, kf_session_message(session));
}

static Opened open_kernel(const char *text, const KfProblem *problem) {
    Opened o = {.session = open_session()};
    require(o.session, kf_program_open(o.session, text, SIZE_MAX, problem, &o.program));
    require(o.session, kf_tune(o.program, &quick, &o.kernel));
    return o;
}

static void close_kernel(Opened *o) {
    kf_kernel_close(o->kernel);
    kf_program_close(o->program);
    kf_session_close(o->session);
}

/* --- pointers */

/* An array of `bytes` that starts `offset` bytes behind a 64-byte boundary, with guards around. */
typedef struct Guarded {
    unsigned char *all, *data;
    size_t bytes, size;
} Guarded;

static Guarded guarded(size_t bytes, size_t offset) {
    Guarded g = {.bytes = bytes, .size = (2 * GUARD + bytes + offset + 63) / 64 * 64};
    g.all = aligned_alloc(64, g.size);
    assert_non_null(g.all);
    memset(g.all, guard_byte, g.size);
    g.data = g.all + GUARD + offset;
    return g;
}

static void check_guards(const Guarded *g) {
    for (unsigned char *at = g->all; at < g->all + g->size; at++)
        if (at < g->data || at >= g->data + g->bytes) assert_int_equal(*at, guard_byte);
}

/* Reports 1, 2, 4, 94: views that begin anywhere, every length, nothing outside is touched. */
static void pointers_are_aligned_to_one_element(void **state) {
    (void)state;
    static const int64_t lengths[] = {1, 2, 3, 5, 7, 127, 1023, 1024, 1025};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        size_t n = (size_t)lengths[l];
        KfProblem problem = vector(KF_F32, lengths[l]);
        Opened o = open_kernel("2*x + y", &problem);
        for (size_t shift = 0; shift < 20; shift++) {
            Guarded x = guarded(4 * n, 4 * (shift % 16)), y = guarded(4 * n, 4 * (shift % 3)),
                    out = guarded(4 * n, 4 * (shift % 5));
            for (size_t i = 0; i < n; i++) {
                ((float *)x.data)[i] = (float)i;
                ((float *)y.data)[i] = 1;
            }
            const void *inputs[] = {x.data, y.data};
            void *outputs[] = {out.data};
            require(o.session, kf_launch(o.kernel, inputs, outputs, NULL));
            for (size_t i = 0; i < n; i++) assert_true(((float *)out.data)[i] == 2 * (float)i + 1);
            check_guards(&x), check_guards(&y), check_guards(&out);
            free(x.all), free(y.all), free(out.all);
        }
        close_kernel(&o);
    }
}

/* Report 16: exact alias of the input that is updated, and no other overlap. */
static void overlap_is_refused_but_for_updates(void **state) {
    (void)state;
    float x[40], y[40];
    KfProblem problem = vector(KF_F32, 32);
    Opened o = open_kernel("x = x * 2", &problem);
    assert_int_equal(kf_program_updates(o.program, 0), 0);
    for (int i = 0; i < 40; i++) x[i] = y[i] = (float)i;
    const void *inputs[] = {x};
    void *outputs[] = {x};
    require(o.session, kf_launch(o.kernel, inputs, outputs, NULL));
    for (int i = 0; i < 32; i++) assert_true(x[i] == 2 * (float)i);
    outputs[0] = x + 1;
    assert_int_equal(kf_launch(o.kernel, inputs, outputs, NULL), KF_INPUT);
    outputs[0] = y;
    KfStatus elsewhere = kf_launch(o.kernel, inputs, outputs, NULL);
    assert_true(elsewhere == KF_INPUT || elsewhere == KF_OK);
    close_kernel(&o);

    o = open_kernel("x * 2", &problem);
    assert_int_equal(kf_program_updates(o.program, 0), -1);
    for (int i = 0; i < 40; i++) x[i] = (float)i;
    outputs[0] = x + 4;
    assert_int_equal(kf_launch(o.kernel, inputs, outputs, NULL), KF_INPUT);
    char first[256];
    snprintf(first, sizeof first, "%s", kf_session_message(o.session));
    assert_string_not_equal(first, "");
    assert_int_equal(kf_launch(o.kernel, inputs, outputs, NULL), KF_INPUT);
    assert_string_equal(kf_session_message(o.session), first); /* the last call's alone */
    assert_true(x[4] == 4);
    outputs[0] = y;
    require(o.session, kf_launch(o.kernel, inputs, outputs, NULL));
    close_kernel(&o);
}

/* Report 23: an output with room between its rows. */
static void output_strides_are_kept(void **state) {
    (void)state;
    enum { ROWS = 10, COLS = 10, PITCH = 128 };
    static const int64_t strides[] = {PITCH, 1};
    KfTensor out = {.name = "out", .strides = strides};
    KfProblem problem = {.has_plain_shape = true,
                         .plain = {.type = KF_F32, .rank = 2, .dim = {ROWS, COLS}},
                         .outputs = &out,
                         .output_count = 1,
                         .device = "cpu"};
    Opened o = open_kernel("x + 1", &problem);
    float x[ROWS * COLS], to[ROWS * PITCH];
    for (int i = 0; i < ROWS * COLS; i++) x[i] = (float)i;
    for (int i = 0; i < ROWS * PITCH; i++) to[i] = -7;
    const void *inputs[] = {x};
    void *outputs[] = {to};
    require(o.session, kf_launch(o.kernel, inputs, outputs, NULL));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < PITCH; c++)
            assert_true(to[r * PITCH + c] == (c < COLS ? (float)(r * COLS + c + 1) : -7));
    close_kernel(&o);
}

static void input_strides_are_read(void **state) {
    (void)state;
    static const int64_t backwards[] = {-1}, every_other[] = {2};
    KfTensor inputs[] = {
        {.name = "x", .type = KF_F32, .rank = 1, .dim = {8}, .strides = backwards},
        {.name = "y", .type = KF_F32, .rank = 1, .dim = {8}, .strides = every_other}};
    KfProblem problem = vector(KF_F32, 8);
    problem.inputs = inputs;
    problem.input_count = 2;
    Opened o = open_kernel("x + y", &problem);
    float x[8], y[16], out[8];
    for (int i = 0; i < 16; i++) x[i % 8] = (float)(i % 8), y[i] = 100 * (float)i;
    const void *in[] = {x + 7, y};
    void *outputs[] = {out};
    require(o.session, kf_launch(o.kernel, in, outputs, NULL));
    for (int i = 0; i < 8; i++) assert_true(out[i] == (float)(7 - i) + 200 * (float)i);
    close_kernel(&o);
}

/* Report 11: nothing to do is done, whatever the pointers. */
static void empty_arrays_need_no_pointers(void **state) {
    (void)state;
    KfProblem problem = vector(KF_F32, 0);
    Opened o = open_kernel("x + 1", &problem);
    const void *inputs[] = {NULL};
    void *outputs[] = {NULL};
    require(o.session, kf_launch(o.kernel, inputs, outputs, NULL));
    require(o.session, kf_run(o.kernel, inputs, outputs));
    assert_int_equal(kf_kernel_result(o.kernel).candidates, 0);
    close_kernel(&o);
}

/* --- errors are values */

static void errors_are_values_with_a_message(void **state) {
    (void)state;
    static const struct {
        const char *text, *device, *says;
        KfStatus status;
    } cases[] = {
        {"relu(x", "cpu", "is not closed", KF_INPUT},
        {"gleu(x)", "cpu", "did you mean 'gelu'", KF_INPUT},
        {"i32(x) @ i32(x)", "cpu", "no kernel covers", KF_NO_KERNEL},
        {"x + 1", "quantum", "unknown device", KF_ENVIRONMENT},
    };
    KfSession *session = open_session();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        KfProblem problem = vector(KF_F32, 8);
        KfProgram *program;
        KfKernel *kernel = NULL;
        problem.device = cases[i].device;
        KfStatus status = kf_program_open(session, cases[i].text, SIZE_MAX, &problem, &program);
        if (status == KF_OK) {
            status = kf_tune(program, &quick, &kernel);
            assert_null(kernel);
        } else
            assert_null(program);
        assert_int_equal(status, cases[i].status);
        if (!strstr(kf_session_message(session), cases[i].says))
            fail_msg("%s: %s", cases[i].text, kf_session_message(session));
        kf_program_close(program);
    }
    kf_session_close(session);
}

static void wrong_calls_are_refused(void **state) {
    (void)state;
    KfSession *session = open_session();
    KfProgram *program;
    KfProblem problem = vector(KF_F32, 8);
    assert_int_equal(kf_program_open(session, NULL, 0, &problem, &program), KF_USAGE);
    assert_int_equal(kf_program_open(session, "x", SIZE_MAX, NULL, &program), KF_USAGE);
    problem.plain.dim[0] = -1;
    assert_int_equal(kf_program_open(session, "x", SIZE_MAX, &problem, &program), KF_USAGE);
    problem.plain.rank = KF_RANK_MAX + 1;
    assert_int_equal(kf_program_open(session, "x", SIZE_MAX, &problem, &program), KF_USAGE);
    problem = vector((KfType)99, 8);
    assert_int_equal(kf_program_open(session, "x", SIZE_MAX, &problem, &program), KF_USAGE);
    problem = vector(KF_F32, 8);
    require(session, kf_program_open(session, "x + 1; never read", 5, &problem, &program));
    KfKernel *kernel;
    KfTuneOptions options = quick;
    options.strategy = "clever";
    assert_int_equal(kf_tune(program, &options, &kernel), KF_USAGE);
    options = quick;
    options.point = "SPEED=9";
    assert_int_equal(kf_tune(program, &options, &kernel), KF_USAGE);
    options = quick;
    options.effort = (KfEffort)7;
    assert_int_equal(kf_tune(program, &options, &kernel), KF_USAGE);
    options = quick;
    options.stop_at = 90;
    assert_int_equal(kf_tune(program, &options, &kernel), KF_USAGE);
    assert_null(kernel);
    kf_program_close(program);
    kf_session_close(session);
    kf_session_close(NULL);
    kf_program_close(NULL);
    kf_kernel_close(NULL);
}

/* --- the rest of the header */

static void evaluates_what_no_kernel_covers(void **state) {
    (void)state;
    KfSession *session = open_session();
    KfProblem problem = {.has_plain_shape = true, .plain = {.rank = 2, .dim = {2, 3}}};
    KfProgram *program;
    require(session, kf_program_open(session, "sum(x)", SIZE_MAX, &problem, &program));
    KfTensor out = kf_program_output(program, 0);
    assert_int_equal(out.rank, 2);
    assert_int_equal(out.dim[1], 1);
    float x[] = {1, 2, 3, 4, 5, 6}, sums[2];
    const void *inputs[] = {x};
    void *outputs[] = {sums};
    require(session, kf_program_evaluate(program, inputs, outputs));
    assert_true(sums[0] == 6 && sums[1] == 15);
    kf_program_close(program);
    kf_session_close(session);
}

/* 0/0 is NaN also where rounding might have made the divisor something. */
static void evaluation_gives_nan(void **state) {
    (void)state;
    KfSession *session = open_session();
    KfProgram *program;
    KfProblem problem = vector(KF_F64, 2);
    require(session, kf_program_open(session, "x / (exp(y) - 1)", SIZE_MAX, &problem, &program));
    double x[] = {0, 1}, y[] = {0, 1}, out[2];
    const void *inputs[] = {x, y};
    void *outputs[] = {out};
    require(session, kf_program_evaluate(program, inputs, outputs));
    assert_true(out[0] != out[0] && out[1] > 0.58 && out[1] < 0.59);
    kf_program_close(program);
    kf_session_close(session);
}

static void expect_why(KfProgram *program, const char *expected) {
    char *text = NULL;
    assert_int_equal(kf_why(program, NULL, &text), KF_OK);
    assert_non_null(strstr(text, expected));
    kf_free(text);
}

static void a_second_session_is_answered_from_the_store(void **state) {
    (void)state;
    KfProblem problem = vector(KF_F64, 50);
    Opened o = open_kernel("exp(x) - 1", &problem);
    expect_why(o.program, "answer     stored: ");
    assert_false(kf_kernel_result(o.kernel).cached);
    assert_true(kf_kernel_result(o.kernel).compiled > 0);
    close_kernel(&o);
    o = open_kernel("exp(x) - 1", &problem);
    KfResult result = kf_kernel_result(o.kernel);
    assert_true(result.cached);
    assert_int_equal(result.compiled, 0);
    assert_true(result.time > 0 && result.eager_time > 0);
    assert_non_null(strstr(kf_kernel_report(o.kernel, KF_TEXT), "answered from the store"));
    assert_non_null(strstr(kf_kernel_report(o.kernel, KF_JSON), "\"cached\":true"));
    close_kernel(&o);
}

static void interrupt_now(void *context, const KfProgress *progress) {
    assert_true(progress->finished <= progress->total);
    kf_session_interrupt(*(KfSession **)context);
}

static void an_interrupt_keeps_what_is_right(void **state) {
    (void)state;
    KfSession *session;
    KfSessionOptions options = {
        .cache = cache, .no_user_ops = true, .progress = interrupt_now, .context = &session};
    assert_int_equal(kf_session_open(&session, &options), KF_OK);
    KfProblem problem = vector(KF_F32, 999);
    KfProgram *program;
    require(session, kf_program_open(session, "cos(x) * 3", SIZE_MAX, &problem, &program));
    KfKernel *kernel;
    KfTuneOptions many = {.trials = 40, .budget = 30};
    assert_int_equal(kf_tune(program, &many, &kernel), KF_INTERRUPTED);
    assert_non_null(kernel);
    assert_true(kf_kernel_result(kernel).candidates <= 40);
    float x[999] = {0}, out[999];
    const void *inputs[] = {x};
    void *outputs[] = {out};
    require(session, kf_launch(kernel, inputs, outputs, NULL));
    assert_true(out[0] == 3 && out[998] == 3);
    kf_kernel_close(kernel);
    kf_program_close(program);
    kf_session_close(session);
}

static void *tune_in_thread(void *text) {
    KfProblem problem = vector(KF_F32, 77);
    Opened o = open_kernel(text, &problem);
    float x[77], out[77];
    for (int i = 0; i < 77; i++) x[i] = (float)i;
    const void *inputs[] = {x};
    void *outputs[] = {out};
    require(o.session, kf_launch(o.kernel, inputs, outputs, NULL));
    static float last[2];
    float *mine = &last[strchr(text, '5') != NULL];
    *mine = out[76];
    close_kernel(&o);
    return mine;
}

static void two_threads_hold_two_sessions(void **state) {
    (void)state;
    char *texts[] = {"x * 4", "x * 5"};
    pthread_t threads[2];
    void *result;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, tune_in_thread, texts[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_true(*(float *)result == 76 * (float)(4 + i));
    }
}

/* Launches one kernel again and again on arrays of its own, with one in between that is refused. */
typedef struct Caller {
    KfKernel *kernel;
    float seed;
    int wrong;
} Caller;

enum { CALLER_ROWS = 40, CALLER_COLS = 500, CALLS = 200 };

static void *call_often(void *argument) {
    Caller *caller = argument;
    float(*x)[CALLER_COLS] = calloc(CALLER_ROWS, sizeof *x),
    (*y)[CALLER_COLS] = calloc(CALLER_ROWS, sizeof *y);
    const void *inputs[] = {x};
    void *outputs[] = {y}, *overlap[] = {x};
    for (int i = 0; i < CALLER_ROWS * CALLER_COLS; i++)
        x[i / CALLER_COLS][i % CALLER_COLS] = caller->seed * (float)(i / CALLER_COLS);
    for (int call = 0; call < CALLS; call++) {
        KfStatus status = call % 3 ? kf_launch(caller->kernel, inputs, outputs, NULL)
                                   : kf_run(caller->kernel, inputs, outputs);
        caller->wrong += status != KF_OK;
        for (int r = 0; r < CALLER_ROWS; r++)
            for (int c = 0; c < CALLER_COLS; c++)
                caller->wrong += y[r][c] != x[r][c] - caller->seed * (CALLER_ROWS - 1);
        caller->wrong += kf_launch(caller->kernel, inputs, overlap, NULL) != KF_INPUT;
    }
    free(x);
    free(y);
    return NULL;
}

/* Two kernels of two threads each, with the columns' maxima between them. */
static void threads_launch_one_kernel(void **state) {
    (void)state;
    KfProblem problem = {.has_plain_shape = true,
                         .plain = {.type = KF_F32, .rank = 2, .dim = {CALLER_ROWS, CALLER_COLS}},
                         .device = "cpu"};
    Opened o = {.session = open_session()};
    KfTuneOptions options = quick;
    options.point =
        "reduce:ACROSS=4096,DOWN=256,THREADS=2 | BLOCK=4096,UNROLL=1,STREAM=0,THREADS=2";
    require(o.session,
            kf_program_open(o.session, "x - max(x, axis=0)", SIZE_MAX, &problem, &o.program));
    require(o.session, kf_tune(o.program, &options, &o.kernel));
    Caller callers[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        callers[i] = (Caller){.kernel = o.kernel, .seed = (float)(i + 1)};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    assert_string_equal(kf_session_message(o.session), "kfuse: output 'out' overlaps input 'x'\n");
    close_kernel(&o);
}

/* What is no list, no pointer and no address of an element. */
static void wrong_pointers_are_refused(void **state) {
    (void)state;
    KfProblem problem = vector(KF_F32, 8);
    Opened o = open_kernel("x + y", &problem);
    float x[9] = {0}, y[9] = {0}, out[9];
    const void *inputs[] = {x, y};
    void *outputs[] = {out};
    assert_int_equal(kf_launch(o.kernel, NULL, outputs, NULL), KF_USAGE);
    assert_int_equal(kf_launch(o.kernel, inputs, NULL, NULL), KF_USAGE);
    assert_int_equal(kf_run(o.kernel, NULL, NULL), KF_USAGE);
    inputs[1] = NULL;
    assert_int_equal(kf_launch(o.kernel, inputs, outputs, NULL), KF_INPUT);
    assert_string_equal(kf_session_message(o.session), "kfuse: 'y' is NULL\n");
    assert_int_equal(kf_run(o.kernel, inputs, outputs), KF_INPUT);
    inputs[1] = (char *)y + 2;
    assert_int_equal(kf_launch(o.kernel, inputs, outputs, NULL), KF_INPUT);
    assert_string_equal(kf_session_message(o.session),
                        "kfuse: 'y' is not aligned to its elements\n");
    inputs[1] = y;
    require(o.session, kf_launch(o.kernel, inputs, outputs, NULL));
    close_kernel(&o);
}

static void words_of_shapes_and_types(void **state) {
    (void)state;
    KfTensor tensor;
    KfType type;
    const char *why;
    assert_int_equal(kf_parse_shape("3x4096", &tensor, &why), KF_OK);
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.dim[1], 4096);
    assert_int_equal(kf_parse_shape("scalar", &tensor, &why), KF_OK);
    assert_int_equal(tensor.rank, 0);
    assert_int_equal(kf_parse_shape("3x", &tensor, &why), KF_USAGE);
    for (int t = KF_BOOL; t <= KF_F64; t++) {
        assert_int_equal(kf_parse_type(kf_type_name((KfType)t), &type, &why), KF_OK);
        assert_int_equal(type, t);
        assert_true(kf_type_size(type) >= 1 && kf_type_size(type) <= 8);
    }
    assert_int_equal(kf_parse_type("float", &type, &why), KF_USAGE);
    assert_string_equal(kf_version(), KF_VERSION);
}

static void answers_in_text(void **state) {
    (void)state;
    KfSession *session = open_session();
    char *text;
    require(session, kf_devices(session, &text));
    assert_non_null(strstr(text, "cpu"));
    kf_free(text);
    require(session, kf_ops(session, NULL, &text));
    assert_non_null(strstr(text, "relu(x)"));
    kf_free(text);
    assert_int_equal(kf_ops(session, "relux", &text), KF_INPUT);
    require(session, kf_cache(session, "path", NULL, &text));
    assert_non_null(strstr(text, cache));
    kf_free(text);
    KfProblem problem = vector(KF_BF16, 8);
    KfProgram *program;
    require(session, kf_program_open(session, "relu(x)", SIZE_MAX, &problem, &program));
    for (int stage = KF_STAGE_AST; stage <= KF_STAGE_C; stage++) {
        require(session, kf_program_dump(program, (KfStage)stage, NULL, &text));
        assert_true(strlen(text) > 10);
        kf_free(text);
    }
    kf_program_close(program);
    kf_session_close(session);
}

/* As few kernels as `text` can be, and the bytes that they move. */
static void check_cut(KfSession *session, const char *text, int64_t extent, const char *device,
                      uint32_t expected, int64_t moved) {
    KfProblem problem = vector(KF_F32, extent);
    KfProgram *program;
    uint32_t kernels;
    int64_t bytes;
    problem.device = device;
    require(session, kf_program_open(session, text, SIZE_MAX, &problem, &program));
    require(session, kf_program_cut(program, &kernels, &bytes));
    assert_int_equal(kernels, expected);
    assert_int_equal(bytes, moved);
    kf_program_close(program);
}

static void a_cut_needs_no_device(void **state) {
    (void)state;
    KfSession *session = open_session();
    check_cut(session, "relu(x + 1)", 64, "cpu", 1, 512);
    check_cut(session, "relu(x + 1)", 64, "cuda:7", 1, 512);
    check_cut(session, "y = x / sum(x); z = y / sum(y / 2); return z", 64, "cpu", 1, 512);
    check_cut(session, "relu(x + 1)", 0, "cpu", 0, 0);
    KfProblem problem = vector(KF_F32, 8);
    problem.device = "tpu";
    KfProgram *program;
    uint32_t kernels;
    int64_t bytes;
    require(session, kf_program_open(session, "x + 1", SIZE_MAX, &problem, &program));
    assert_int_equal(kf_program_cut(program, &kernels, &bytes), KF_ENVIRONMENT);
    assert_int_equal(kernels, 0);
    kf_program_close(program);
    kf_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_are_aligned_to_one_element),
        cmocka_unit_test(overlap_is_refused_but_for_updates),
        cmocka_unit_test(output_strides_are_kept),
        cmocka_unit_test(input_strides_are_read),
        cmocka_unit_test(empty_arrays_need_no_pointers),
        cmocka_unit_test(errors_are_values_with_a_message),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(evaluates_what_no_kernel_covers),
        cmocka_unit_test(evaluation_gives_nan),
        cmocka_unit_test(a_second_session_is_answered_from_the_store),
        cmocka_unit_test(an_interrupt_keeps_what_is_right),
        cmocka_unit_test(two_threads_hold_two_sessions),
        cmocka_unit_test(threads_launch_one_kernel),
        cmocka_unit_test(wrong_pointers_are_refused),
        cmocka_unit_test(words_of_shapes_and_types),
        cmocka_unit_test(answers_in_text),
        cmocka_unit_test(a_cut_needs_no_device),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
