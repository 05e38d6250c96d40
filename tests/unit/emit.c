/* Emitted elementwise kernels, on every device present (emitted.h). */
#include "emitted.h"

static void dense(void **state) {
    (void)state;
    CHECK("relu(x+res)", "4096", "0", "1", "2", "3", "5", "7", "127", "1023", "1025", "70001");
}

static void rows(void **state) {
    (void)state;
    CHECK("relu(x*s + b) + c", "x=64x32 s=64x1 b=32 c=scalar", "x=3x5 s=3x1 b=5 c=scalar",
          "x=1x7 s=1x1 b=7 c=scalar", "x=5x1 s=5x1 b=1 c=scalar", "x=0x7 s=0x1 b=7 c=scalar",
          "x=7x0 s=7x1 b=0 c=scalar", "x=33x127 s=33x1 b=127 c=scalar",
          "x=2x70001 s=2x1 b=70001 c=scalar", "x=9000x3 s=9000x1 b=3 c=scalar");
}

static void deep(void **state) {
    (void)state;
    CHECK("x + y - z", "x=4x1x6x5 y=3x1x5 z=4x3x6x1", "x=2x1x3x7 y=2x1x7 z=2x2x3x1",
          "x=3x1x5x17 y=2x1x17 z=3x2x5x1");
}

static void strided(void **state) {
    (void)state;
    CHECK("x * 2", "x=10x10@128,1", "x=3x33@128,1");
    CHECK("x + y.T", "x=10x12 y=12x10", "x=33x5 y=5x33");
    CHECK("x.T * y + b", "x=64x96 y=96x64 b=64", "x=8x200 y=200x8 b=8", "x=3x5 y=5x3 b=3");
    CHECK("x.T - y", "x=3x16x32 y=3x32x16", "x=2x8x8 y=2x8x8", "x=2x5x3 y=2x3x5");
    CHECK("x - y", "x=300@2 y=300", "x=5@-3 y=5");
    CHECK("x - y", "x=30x20@-20,-1 y=30x20", "x=5x7@-7,-1 y=5x7");
}

/* More rows than a grid's y has, an operand without memory of its own, many inputs: field reports
 * 10, 13, 20. */
static void awkward(void **state) {
    Text sum = {0};
    (void)state;
    CHECK("x * s", "x=70000x8 s=70000x1", "x=65536x1 s=65536x1");
    if (getenv("KF_CHECK_ALL")) CHECK("x * s", "x=70000x128 s=70000x1");
    CHECK("x * g", "x=64x2 g=64x2@0,0", "x=3x5 g=3x5@0,0");
    for (int i = 0; i < 200; i++) text_printf(&sum, "%sx%d", i ? " + " : "", i);
    CHECK(text_string(&sum), "300", "3");
    text_free(&sum);
}

static void strided_outputs(void **state) {
    (void)state;
    CHECK("relu(x + b)", "x=10x12 b=12 @128,1", "x=33x4 b=4 @64,1", "x=5x7 b=7 @9,1");
    CHECK("relu(x + b)", "x=12x16 b=16 @1,12", "x=9x5 b=5 @1,9");
    CHECK("x * 2", "x=300 @2", "x=5 @3", "x=70001 @2");
    CHECK("x - y", "x=6x4x8 y=4x8 @-64,8,1", "x=3x5x4 y=5x4 @-32,4,1");
}

static void types(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shapes[2][64];
    (void)state;
    for (uint32_t i = 0; i < 9; i++)
        for (uint32_t k = 0; k < 9; k++) {
            if (k > 1 && k != i && k != 6 && k != 8) continue; /* a sample of the pairs */
            snprintf(shapes[0], sizeof shapes[0], "x=257:%s y=257:%s", names[i], names[k]);
            snprintf(shapes[1], sizeof shapes[1], "x=3:%s y=3:%s", names[i], names[k]);
            CHECK("a = x + y; b = x > y ? x : y; c = x // y; d = x % y; e = x * y - x", shapes[0],
                  shapes[1]);
        }
}

static void casts(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shape[32];
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        snprintf(shape, sizeof shape, "x=513:%s", names[i]);
        CHECK("a = f32(x); b = f16(x); c = bf16(x); d = bool(x); e = u8(x); f = i8(x); g = i32(x); "
              "h = i64(x);"
              "i = f32(bf16(x)) + 1; j = f32(i32(x)) * 0.5; k = i8(i64(x)) + 1",
              shape);
    }
}

/* What gathers is written by hand. */
static bool is_elementwise(const char *text) {
    Arena *arena = arena_open();
    Program p = program_make(arena, text, "5");
    bool result = p.group.kind == GROUP_ELEMENTWISE;
    arena_close(arena);
    return result;
}

static void functions(void **state) {
    uint32_t count;
    Arena *arena = arena_open();
    const Function *const *list = registry_list(registry_open(arena), arena, &count);
    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        char call[256];
        int length = snprintf(call, sizeof call, "%s(", list[i]->name);
        for (uint32_t k = 0; k < list[i]->required; k++)
            length += snprintf(call + length, sizeof call - (size_t)length, "%s%c", k ? ", " : "",
                               'a' + (int)k);
        snprintf(call + length, sizeof call - (size_t)length, ")");
        if (is_elementwise(call)) check(call, 1, (const char *const[]){"1025", "5", NULL});
    }
    arena_close(arena);
}

static void in_place(void **state) {
    (void)state;
    CHECK("x = x * 2 + y", "x=1000 y=1000", "x=3 y=3");
    CHECK("s = x + res; out = relu(s); return s, out", "x=33x5 res=33x5", "x=3x1 res=3x1");
}

static void scalars(void **state) {
    (void)state;
    CHECK("param eps = 1e-5; param k = 3; out = x * eps + eps / 2 > 0 ? x : y // k",
          "x=100 y=100:i32", "x=3 y=3:i32");
    CHECK("1.5", "4", "1");
    CHECK("x", "x=100:bf16", "x=3:bf16");
    CHECK("n + i", "100", "3");
    CHECK("float + threadIdx * kf_n", "100", "3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense),
        cmocka_unit_test(rows),
        cmocka_unit_test(deep),
        cmocka_unit_test(strided),
        cmocka_unit_test(strided_outputs),
        cmocka_unit_test(awkward),
        cmocka_unit_test(types),
        cmocka_unit_test(casts),
        cmocka_unit_test(functions),
        cmocka_unit_test(in_place),
        cmocka_unit_test(scalars),
    };
    return cmocka_run_group_tests(tests, open_targets, close_targets);
}
