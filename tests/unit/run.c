/* Launches from a template's expressions, refused where no device could run them; Runs as bytes,
 * whole and damaged. */
#include "tuner/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEAD                         \
    "//! kernel   scale\n"           \
    "//! input    x[n] : f32\n"      \
    "//! output   y[n] : like x\n"   \
    "//! args     x y s_a n\n"       \
    "//! knob     __VEC__ 1 2 4 8\n" \
    "//! knob     __BLOCK__ 128 1024\n"

#define LAUNCH                                                                                 \
    "//! launch   scale grid = ceildiv(n, __VEC__ * __BLOCK__) block = __BLOCK__ twin = slow " \
    "dependent = __VEC__ == 4\n"

#define BODY                                                                               \
    "extern \"C\" __global__ void scale(const float *x, float *y, float a, long long n) {" \
    " asm(\"griddepcontrol.wait;\"); }\n"

typedef struct Case {
    Arena *arena;
    const Template *template;
    Ir ir;
    Bound bound;
    Run run;
    const char *why;
} Case;

/* x is input 0, y output 0 of one input, one output. */
static void open_case(Case *c, const char *text) {
    *c = (Case){.arena = arena_open()};
    Diags diags = {.arena = c->arena};
    const Source *source = source_new(c->arena, "scale.cu", text, strlen(text));
    c->template = template_parse(c->arena, source, "cuda", &diags);
    if (!c->template) {
        Text message = {0};
        diags_print(&message, &diags);
        fail_msg("%s", text_string(&message));
    }
    array_push(c->arena, &c->ir.inputs, (IrInput){.name = "x"});
    array_push(c->arena, &c->ir.outputs, (IrOutput){.name = "y"});
    array_push(c->arena, &c->bound.tensors, (BoundTensor){.name = "x", .dtype = DT_F32});
    array_push(c->arena, &c->bound.tensors,
               (BoundTensor){.name = "y", .dtype = DT_F32, .buffer = 1, .output = true});
    array_push(c->arena, &c->bound.scalars, (BoundScalar){"s_a", DT_F32, {.real = 1.5}});
    c->bound.ir = &c->ir;
}

static bool add(Case *c, int64_t vec, int64_t block, int64_t n) {
    const Binding list[] = {{"n", n}};
    Point point = {{vec, block}};
    return run_add(c->arena, &c->run, c->template, &point, &c->bound, (Bindings){list, 1}, 3,
                   &c->why);
}

static void makes_every_extent_a_number(void **state) {
    (void)state;
    Case c;
    open_case(&c, HEAD LAUNCH BODY);
    assert_true(add(&c, 4, 128, 1000));
    const Launch *launch = &c.run.launches.data[0];
    assert_int_equal(launch->module, 3);
    assert_string_equal(launch->entry, "scale");
    assert_string_equal(launch->twin, "slow");
    assert_int_equal(launch->grid[0], 2);
    assert_int_equal(launch->grid[1], 1);
    assert_int_equal(launch->block[0], 128);
    assert_int_equal(launch->block[2], 1);
    assert_int_equal(launch->cluster, 1);
    assert_int_equal(launch->shared, 0);
    assert_true(launch->dependent);
    assert_true(add(&c, 8, 128, 1000));
    assert_false(c.run.launches.data[1].dependent);
    launch = &c.run.launches.data[0];
    assert_int_equal(launch->arg_count, 4);
    assert_int_equal(launch->args[0].kind, ARG_BUFFER);
    assert_int_equal(launch->args[1].buffer, 1);
    assert_int_equal(launch->args[2].kind, ARG_F32);
    assert_true(launch->args[2].value.real == 1.5);
    assert_int_equal(launch->args[3].kind, ARG_I64);
    assert_int_equal(launch->args[3].value.whole, 1000);
    arena_close(c.arena);
}

static void knows_the_alignment_of_a_vector(void **state) {
    (void)state;
    Case c;
    open_case(&c, HEAD LAUNCH BODY);
    for (int64_t vec = 1; vec <= 8; vec *= 2) assert_true(add(&c, vec, 128, 8));
    assert_int_equal(c.run.launches.data[0].alignment, 4);
    assert_int_equal(c.run.launches.data[1].alignment, 8);
    assert_int_equal(c.run.launches.data[2].alignment, 16);
    assert_int_equal(c.run.launches.data[3].alignment, 16);
    arena_close(c.arena);
}

static void launches_nothing_for_nothing(void **state) {
    (void)state;
    Case c;
    open_case(&c, HEAD LAUNCH BODY);
    assert_true(add(&c, 4, 128, 0));
    assert_int_equal(c.run.launches.data[0].grid[0], 0);
    arena_close(c.arena);
}

static void refuses(const char *launch, int64_t n, const char *reason) {
    Case c;
    Text text = {0};
    text_printf(&text, HEAD "//! launch   %s\n" BODY, launch);
    open_case(&c, text_string(&text));
    bool added = add(&c, 4, 128, n);
    if (added || !strstr(c.why, reason)) fail_msg("%s: %s", launch, added ? "accepted" : c.why);
    assert_int_equal(c.run.launches.count, 0);
    text_free(&text);
    arena_close(c.arena);
}

static void refuses_what_no_device_can(void **state) {
    (void)state;
    refuses("grid = n block = 128", (int64_t)1 << 31, "grid x of 2147483648");
    refuses("grid = 1, 65536 block = 128", 1, "grid y of 65536");
    refuses("grid = 1, 1, n block = 128", 65536, "grid z of 65536");
    refuses("grid = 0 - n block = 128", 1, "grid x of -1");
    refuses("grid = 1 block = 2048", 1, "block x of 2048");
    refuses("grid = 1 block = 0", 1, "block x of 0");
    refuses("grid = 1 block = 64, 32", 1, "block of 2048");
    refuses("grid = 1 block = 1, 1, 65", 1, "block z of 65");
    refuses("grid = 1 block = 32 shared = 300000", 1, "shared memory of 300000");
    refuses("grid = 1 block = 32 cluster = 2", 1, "not divisible by the cluster of 2");
    refuses("grid = n * n block = 32", INT64_MAX, "overflow");
    refuses("grid = 1 // (n - n) block = 32", 1, "zero");
}

static void names_what_is_unknown(void **state) {
    (void)state;
    Case c;
    open_case(&c, HEAD LAUNCH BODY);
    c.bound.scalars.count = 0;
    assert_false(add(&c, 4, 128, 10));
    assert_non_null(strstr(c.why, "nothing is named 's_a'"));
    arena_close(c.arena);
}

/* Every shorter piece is refused; changed bytes are refused or read as some other Run, without
 * harm. */
static void survives_damage(void **state) {
    (void)state;
    Case c;
    Text text = {0};
    size_t used;
    open_case(&c, HEAD LAUNCH BODY);
    assert_true(add(&c, 4, 128, 1000) && add(&c, 8, 1024, 77));
    array_push(c.arena, &c.run.temporaries, 4096);
    run_write(&text, &c.run);
    const Run *read = run_read(c.arena, text.data, text.length, &used);
    assert_non_null(read);
    assert_int_equal(used, text.length);
    assert_int_equal(read->launches.count, 2);
    assert_int_equal(read->temporaries.data[0], 4096);
    assert_true(read->launches.data[0].args[2].value.real == 1.5);
    for (int i = 0; i < 2; i++)
        assert_int_equal(read->launches.data[i].dependent, c.run.launches.data[i].dependent);
    Text again = {0};
    run_write(&again, read);
    assert_memory_equal(again.data, text.data, text.length);
    for (size_t cut = 0; cut < text.length; cut++) {
        char *piece = malloc(cut ? cut : 1);
        memcpy(piece, text.data, cut);
        assert_null(run_read(c.arena, piece, cut, &used));
        free(piece);
    }
    for (size_t at = 0; at < text.length; at++) {
        again.data[at] = (char)~again.data[at];
        run_read(c.arena, again.data, again.length, &used);
        again.data[at] = text.data[at];
    }
    text_free(&text);
    text_free(&again);
    arena_close(c.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_every_extent_a_number),
        cmocka_unit_test(knows_the_alignment_of_a_vector),
        cmocka_unit_test(launches_nothing_for_nothing),
        cmocka_unit_test(refuses_what_no_device_can),
        cmocka_unit_test(names_what_is_unknown),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
