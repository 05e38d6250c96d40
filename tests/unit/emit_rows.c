/* Emitted kernels of several passes over rows, on every device present (emitted.h). */
#include "emitted.h"

/* Short and odd rows, none, empty ones, rows longer than a piece, more than fit a cache. */
#define SHAPES                                                                            \
    "33x127", "0x7", "7x0", "1x1", "5x1", "1x2", "3x15", "3x16", "3x17", "9x64", "70x65", \
        "3x1000", "2x16385", "1x70001"

static void row_values(void **state) {
    (void)state;
    CHECK("softmax(x)", SHAPES);
    CHECK("x - max(x) - log(sum(exp(x - max(x))))", SHAPES);
    CHECK("log(sum(exp(x - max(x)))) + max(x)", SHAPES);
    CHECK("x / sqrt(sum(x * x) + 1e-12)", SHAPES);
    CHECK("(x - mean(x)) / sqrt(var(x) + 1e-5)", SHAPES);
    CHECK("param eps = 1e-5; x * rsqrt(mean(x * x) + eps)", SHAPES);
    CHECK("tanh(x) - mean(tanh(x)) + var(tanh(x))", SHAPES);
    CHECK("var(x - max(x)) * var(x)", SHAPES);
    CHECK("a = softmax(x); b = softmax(a * 2); b", SHAPES);
    CHECK("e = exp(x - max(x)); sum(e * y) / sum(e)", SHAPES);
    CHECK("m = max(x); return sum(exp2(x - m)), mean(exp(x - m) * x), m", SHAPES);
}

static void row_results(void **state) {
    (void)state;
    CHECK("a = max(x); b = min(x); c = sum(x); d = prod(x); e = mean(x); f = var(x);"
          "return a, b, c, d, e, f",
          SHAPES);
    CHECK("s = max(abs(x)) / 127; q = i8(x / s); return q, s", SHAPES);
    CHECK("m = mean(x); v = var(x); y = (x - m) * rsqrt(v + 1e-5); return y, m, v", SHAPES);
    CHECK("m = max(x); l = log(sum(exp(x - m))); return l, m, x - m - l", SHAPES);
}

static void row_layouts(void **state) {
    (void)state;
    CHECK("layernorm(x, g, b)", "x=33x127 g=127 b=127", "x=3x1000 g=1000 b=1000", "x=5x1 g=1 b=1");
    CHECK("h = x + res; y = layernorm(h, g, b); return y, h", "x=33x64 res=33x64 g=64 b=64",
          "x=2x9000 res=2x9000 g=9000 b=9000");
    CHECK("softmax(x * s + mask)", "x=3x4x33 s=3x1x1 mask=4x33", "x=2x3x100 s=2x1x1 mask=3x100");
    CHECK("softmax(x.T)", "x=33x20", "x=1000x3", "x=1x7");
    CHECK("sum(x + y.T)", "x=10x12 y=12x10", "x=33x5 y=5x33");
    CHECK("a = x - mean(x); b = sum(y); return a, b", "x=10x10@128,1 y=10x10",
          "x=3x33@128,1 y=3x33");
    CHECK("max(x - y)", "x=30x20@-20,-1 y=30x20", "x=5x7@-7,-1 y=5x7");
    CHECK("sum(x * g)", "x=64x2 g=64x2@0,0", "x=3x5 g=3x5@0,0");
    CHECK("y = x * 2; s = sum(x); return y, s", "x=5x1 @2,0", "x=3x1 @3,0");
    CHECK("y = x * 2; s = sum(x); return y, s", "x=5x1@1,0 @1,0", "x=3x1@1,0 @1,0");
    CHECK("y = x * 2; s = sum(x); return y, s", "x=5x1@1,0", "x=3x1@1,0");
    CHECK("s = sum(x); y = x * 2; return s, y", "x=5x1 @3,0", "x=3x1 @3,0");
    CHECK("s = sum(x); y = x * 2; return s, y", "x=5x7 @3,0", "x=3x1 @3,0");
    CHECK("sum(x)", "x=8", "x=0", "x=1", "x=70001");
    CHECK("softmax(x)", "x=6x30 @64,1", "x=3x5 @9,1");
    CHECK("softmax(x)", "x=6x30 @1,6", "x=3x5 @1,3");
    CHECK("m = mean(y); x = x - m * softmax(y); return x, m", "x=33x127 y=33x127", "x=3x16 y=3x16",
          "x=2x17000 y=2x17000");
    CHECK("s = s + sum(x); y = x - max(x); return y, s", "x=33x127 s=33x1", "x=3x16 s=3x1");
}

static void row_types(void **state) {
    static const char *const names[] = {"f64", "f32", "f16", "bf16", "bool",
                                        "u8",  "i8",  "i32", "i64"};
    char shapes[3][64];
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        snprintf(shapes[0], sizeof shapes[0], "x=17x257:%s", names[i]);
        snprintf(shapes[1], sizeof shapes[1], "x=3x0:%s", names[i]);
        snprintf(shapes[2], sizeof shapes[2], "x=2x20000:%s", names[i]);
        CHECK("a = max(x); b = min(x); c = sum(x); d = mean(x); e = var(x); return a, b, c, d, e",
              shapes[0], shapes[1], shapes[2]);
        CHECK("prod(x)", shapes[0], shapes[1], shapes[2]);
        CHECK("y = softmax(f32(x) * 0.25); z = x - max(x); return y, z", shapes[0], shapes[2]);
    }
    CHECK("softmax(x)", "x=17x257:f64", "x=3x0:f64", "x=2x17001:f64");
    CHECK("(x - mean(x)) / sqrt(var(x) + 1e-5)", "x=17x257:f64", "x=2x17001:f64");
    CHECK("softmax(x)", "x=17x257:bf16", "x=2x70001:bf16");
    CHECK("layernorm(x, g, b)", "x=17x257:f16 g=257:f16 b=257:f16",
          "x=2x17001:f16 g=17001:f16 b=17001:f16");
    CHECK("sum(x * f32(y)) + f32(k)", "x=17x257:bf16 y=17x257:i64 k=17x1:u8");
    CHECK("x > mean(x) ? x : max(x)", "x=17x257", "x=1x3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_values),
        cmocka_unit_test(row_results),
        cmocka_unit_test(row_layouts),
        cmocka_unit_test(row_types),
    };
    return cmocka_run_group_tests(tests, open_targets, close_targets);
}
