/* Launches on the cuda device through a driver of the tests' own (tests/driver): contexts, streams, threads, twins,
 * and what is refused. y = 2x + 1 by two kernels with a temporary between. */
#include "tuner/launcher.h"

#include <dlfcn.h>
#include <pthread.h>

#include "program.h"
#include "tests/driver/driver.h"

enum { N = 61, TIMES = 3000 };

typedef struct Bed {
    const Driver *driver;
    CUresult (*push)(CUcontext context);
    CUresult (*pop)(CUcontext *context);
    Program program;
    Run run;
    Binary binary;
    Launcher *launcher;
} Bed;

static const char ptx[] = "// a module\n";

static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(function, &symbol, sizeof symbol);
}

static Arg buffer_arg(uint32_t buffer) {
    return (Arg){ARG_BUFFER, buffer, {0}};
}

/* `inputs` arrays before the output: the first is x. */
static void make_run(Bed *b) {
    Arena *arena = b->program.arena;
    uint32_t inputs = b->program.ir->inputs.count;
    const Arg length = {ARG_I64, 0, {.whole = N}}, one = {ARG_F32, 0, {.real = 1}};
    const Arg first[] = {buffer_arg(0), buffer_arg(inputs + 1), length};
    const Arg second[] = {buffer_arg(inputs + 1), buffer_arg(inputs), one, length};
    Launch launch = {.entry = "twice",
                     .twin = "twice_any",
                     .alignment = 16,
                     .grid = {1, 1, 1},
                     .block = {32, 1, 1},
                     .cluster = 1,
                     .shared = 64 << 10,
                     .dependent = true};
    launch.args = memcpy(arena_array(arena, Arg, 3), first, sizeof first);
    launch.arg_count = 3;
    array_push(arena, &b->run.launches, launch);
    launch.entry = "plus";
    launch.twin = "plus_any";
    launch.dependent = false;
    launch.args = memcpy(arena_array(arena, Arg, 4), second, sizeof second);
    launch.arg_count = 4;
    array_push(arena, &b->run.launches, launch);
    array_push(arena, &b->run.temporaries, (int64_t)(N * sizeof(float)));
}

static void open_bed(Bed *b, const char *text, bool current) {
    void *library = dlopen(TEST_DRIVER, RTLD_NOW | RTLD_LOCAL); /* found by its name afterwards */
    if (!library) fail_msg("%s", dlerror());
    *b = (Bed){.driver = dlsym(library, "kf_test_driver"),
               .program = program_open(text, "61"),
               .binary = {ptx, sizeof ptx}};
    assert_non_null(b->driver);
    assert_non_null(b->program.ir);
    find(library, "cuCtxPushCurrent_v2", &b->push);
    find(library, "cuCtxPopCurrent_v2", &b->pop);
    make_run(b);
    b->launcher =
        launcher_open(device_find("cuda"), 0, current, b->program.ir, &b->run, &b->binary, 1);
    assert_non_null(b->launcher);
}

/* Nothing is left, and nothing was done in a wrong context. */
static void close_bed(Bed *b) {
    launcher_close(b->launcher);
    arena_close(b->program.arena);
    text_free(&b->program.said);
    assert_int_equal(b->driver->modules(), 0);
    assert_int_equal(b->driver->allocations(), 0);
    assert_int_equal(b->driver->faults(), 0);
}

static CUcontext enter(Bed *b) {
    CUcontext context = b->driver->context();
    b->push(context);
    return context;
}

static void leave(Bed *b) {
    CUcontext context;
    b->pop(&context);
}

/* An array on the heap: vectors are aligned as malloc aligns. */
typedef struct Arrays {
    float *x, *y;
} Arrays;

static Arrays arrays_new(float seed) {
    Arrays a = {calloc(N + 4, sizeof(float)), calloc(N + 4, sizeof(float))};
    for (int i = 0; i < N + 4; i++) a.x[i] = seed + (float)i;
    return a;
}

static void arrays_free(Arrays *a) {
    free(a->x);
    free(a->y);
}

static bool launch(Bed *b, const float *x, float *y, void *stream, bool *refused, Why *why) {
    const void *inputs[] = {x};
    void *outputs[] = {y};
    why->text[0] = 0;
    return launcher_launch(b->launcher, inputs, outputs, stream, refused, why);
}

static void check(Bed *b, Arrays *a, int shift, void *stream) {
    bool refused;
    Why why;
    memset(a->y, 0, (N + 4) * sizeof(float));
    if (!launch(b, a->x + shift, a->y, stream, &refused, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < N; i++) assert_true(a->y[i] == 2 * a->x[i + shift] + 1);
}

static void is_refused(Bed *b, const float *x, float *y, const char *says) {
    bool refused;
    Why why;
    int before = b->driver->launches();
    assert_false(launch(b, x, y, NULL, &refused, &why));
    assert_true(refused);
    if (!strstr(why.text, says)) fail_msg("'%s' lacks '%s'", why.text, says);
    assert_int_equal(b->driver->launches(), before);
}

static void pointers_are_looked_at(void **state) {
    (void)state;
    Bed b;
    Arrays a = arrays_new(3);
    open_bed(&b, "x * 2 + 1", true);
    enter(&b);
    check(&b, &a, 0, NULL);
    assert_int_equal(b.driver->twins(), 0);
    check(&b, &a, 1, NULL);
    assert_int_equal(b.driver->twins(), 1); /* the temporary and y are aligned */
    check(&b, &a, 4, NULL);
    assert_int_equal(b.driver->twins(), 1);
    is_refused(&b, a.x, a.x, "output 'out' overlaps input 'x'");
    is_refused(&b, a.x, a.x + N - 1, "overlaps");
    is_refused(&b, a.x + N - 1, a.x, "overlaps");
    is_refused(&b, NULL, a.y, "'x' is NULL");
    is_refused(&b, a.x, NULL, "'out' is NULL");
    is_refused(&b, (const float *)(const void *)((const char *)a.x + 2), a.y,
               "'x' is not aligned to its elements");
    close_bed(&b);
    leave(&b);
    arrays_free(&a);
}

static void each_context_has_its_own(void **state) {
    (void)state;
    Bed b;
    Why why;
    bool refused;
    Arrays a = arrays_new(3);
    open_bed(&b, "x * 2 + 1", true);
    assert_false(launch(&b, a.x, a.y, NULL, &refused, &why));
    assert_false(refused);
    assert_non_null(strstr(why.text, "no current CUDA context"));
    CUcontext first = enter(&b);
    check(&b, &a, 0, NULL);
    enter(&b);
    check(&b, &a, 0, NULL);
    assert_int_equal(b.driver->modules(), 2);
    b.push(first);
    check(&b, &a, 0, NULL);
    assert_int_equal(b.driver->modules(), 2);
    leave(&b), leave(&b), leave(&b);
    assert_false(launch(&b, a.x, a.y, NULL, &refused, &why));
    close_bed(&b); /* in none of them */
    arrays_free(&a);
}

static void each_stream_has_its_temporaries(void **state) {
    (void)state;
    Bed b;
    Arrays a = arrays_new(3);
    char streams[2];
    open_bed(&b, "x * 2 + 1", true);
    enter(&b);
    for (int i = 0; i < 6; i++) check(&b, &a, 0, &streams[i % 2]);
    assert_int_equal(b.driver->allocations(), 2);
    check(&b, &a, 0, NULL);
    check(&b, &a, 0, NULL);
    assert_int_equal(b.driver->allocations(), 3);
    close_bed(&b);
    leave(&b);
    arrays_free(&a);
}

/* Loads and allocates while a stream is captured, and leaves the thread's mode as it was. */
static void a_first_launch_may_be_captured(void **state) {
    (void)state;
    Bed b;
    Arrays a = arrays_new(3);
    char streams[2];
    open_bed(&b, "x * 2 + 1", true);
    enter(&b);
    b.driver->capture(1);
    check(&b, &a, 0, &streams[0]);
    check(&b, &a, 0, &streams[1]);
    b.driver->capture(0);
    assert_int_equal(b.driver->mode(), 0);
    close_bed(&b);
    leave(&b);
    arrays_free(&a);
}

typedef struct Thread {
    Bed *bed;
    CUcontext context;
    void *stream;
    float seed;
    bool good;
} Thread;

static void *work(void *argument) {
    Thread *w = argument;
    Bed *b = w->bed;
    Arrays a = arrays_new(w->seed);
    bool refused;
    Why why;
    b->push(w->context);
    w->good = true;
    for (int i = 0; i < TIMES && w->good; i++) {
        w->good = launch(b, a.x, a.y, w->stream, &refused, &why);
        for (int k = 0; k < N && w->good; k++) w->good = a.y[k] == 2 * a.x[k] + 1;
    }
    leave(b);
    arrays_free(&a);
    return NULL;
}

static void launch_at_once(Bed *b, Thread *list, int count) {
    pthread_t threads[4];
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &list[i]), 0);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++) assert_true(list[i].good);
    close_bed(b);
}

/* Two in one context, and one in another. */
static void threads_launch_at_once(void **state) {
    (void)state;
    Bed b;
    char streams[2];
    open_bed(&b, "x * 2 + 1", true);
    CUcontext context = b.driver->context();
    Thread list[] = {{&b, context, &streams[0], 1000, false},
                     {&b, context, &streams[1], 2000, false},
                     {&b, b.driver->context(), NULL, 3000, false}};
    launch_at_once(&b, list, 3);
}

/* One name, but a queue for each thread. */
static void the_threads_own_stream_is_many(void **state) {
    (void)state;
    Bed b;
    open_bed(&b, "x * 2 + 1", true);
    CUcontext context = b.driver->context();
    Thread list[] = {{&b, context, CU_STREAM_PER_THREAD, 1000, false},
                     {&b, context, CU_STREAM_PER_THREAD, 2000, false}};
    launch_at_once(&b, list, 2);
}

static void run_on_host(Bed *b, float seed) {
    Arrays a = arrays_new(seed);
    const void *inputs[] = {a.x};
    void *outputs[] = {a.y};
    bool refused;
    Why why;
    for (int times = 0; times < 100; times++) {
        if (!launcher_run(b->launcher, inputs, outputs, &refused, &why)) fail_msg("%s", why.text);
        for (int i = 0; i < N; i++) assert_true(a.y[i] == 2 * a.x[i] + 1);
    }
    inputs[0] = NULL;
    assert_false(launcher_run(b->launcher, inputs, outputs, &refused, &why));
    assert_true(refused);
    arrays_free(&a);
}

static void *run_in_thread(void *bed) {
    run_on_host(bed, 700);
    return NULL;
}

/* A context of its own, which is not left current. */
static void host_arrays_run_anywhere(void **state) {
    (void)state;
    Bed b;
    pthread_t thread;
    CUcontext before, after;
    open_bed(&b, "x * 2 + 1", false);
    before = enter(&b);
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &b), 0);
    run_on_host(&b, 40);
    pthread_join(thread, NULL);
    b.pop(&after);
    assert_ptr_equal(before, after);
    assert_true(b.pop(&after) != CUDA_SUCCESS);
    close_bed(&b);
}

/* More arrays than a launch keeps on the stack. */
static void many_arrays(void **state) {
    (void)state;
    enum { INPUTS = 40 };
    Bed b;
    Text text = {0};
    Arrays a = arrays_new(3);
    Why why;
    bool refused;
    const void *inputs[INPUTS];
    void *outputs[] = {a.y};
    text_add(&text, "x");
    for (int i = 1; i < INPUTS; i++) text_printf(&text, " + a%d", i);
    for (int i = 0; i < INPUTS; i++) inputs[i] = a.x;
    open_bed(&b, text_string(&text), true);
    enter(&b);
    if (!launcher_launch(b.launcher, inputs, outputs, NULL, &refused, &why))
        fail_msg("%s", why.text);
    for (int i = 0; i < N; i++) assert_true(a.y[i] == 2 * a.x[i] + 1);
    inputs[INPUTS - 1] = a.y;
    assert_false(launcher_launch(b.launcher, inputs, outputs, NULL, &refused, &why));
    assert_true(refused);
    close_bed(&b);
    leave(&b);
    arrays_free(&a);
    text_free(&text);
}

/* What cannot be had is said, the next try begins anew, and nothing stays behind. */
static void what_fails_leaves_nothing(void **state) {
    (void)state;
    Bed b;
    Arrays a = arrays_new(3);
    Why why;
    bool refused;
    open_bed(&b, "x * 2 + 1", true);
    enter(&b);
    b.run.launches.data[1].entry = "absent";
    assert_false(launch(&b, a.x, a.y, NULL, &refused, &why));
    assert_false(refused);
    assert_non_null(strstr(why.text, "absent"));
    assert_int_equal(b.driver->modules(), 0);
    b.run.launches.data[1].entry = "plus";
    b.run.temporaries.data[0] = (int64_t)1 << 50;
    assert_false(launch(&b, a.x, a.y, NULL, &refused, &why));
    assert_non_null(strstr(why.text, "device memory"));
    assert_int_equal(b.driver->allocations(), 0);
    b.run.temporaries.data[0] = N * (int64_t)sizeof(float);
    check(&b, &a, 0, NULL);
    close_bed(&b);
    leave(&b);
    arrays_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_are_looked_at),
        cmocka_unit_test(each_context_has_its_own),
        cmocka_unit_test(each_stream_has_its_temporaries),
        cmocka_unit_test(a_first_launch_may_be_captured),
        cmocka_unit_test(threads_launch_at_once),
        cmocka_unit_test(the_threads_own_stream_is_many),
        cmocka_unit_test(host_arrays_run_anywhere),
        cmocka_unit_test(many_arrays),
        cmocka_unit_test(what_fails_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
