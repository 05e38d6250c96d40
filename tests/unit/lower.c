/* Programs to Ir: what they compute, of which type, and what is said about wrong ones. Field
 * reports 13 14 17 19 20 34 35 40 43 44 113 115 stand here by their programs. */
#include "program.h"

#include <stdio.h>

#include "compiler/simplify.h"

typedef struct Case {
    const char *text, *about, *expected;
} Case;

#define COUNT(list) (sizeof list / sizeof *list)

static void check(const Case *cases, size_t count, bool whole) {
    for (size_t i = 0; i < count; i++) {
        Program program = program_open(cases[i].text, cases[i].about);
        const char *text = program_text(&program, program.ir);
        bool good =
            whole ? strcmp(text, cases[i].expected) == 0 : strstr(text, cases[i].expected) != NULL;
        if (!good)
            fail_msg("%s (%s) gives\n%s\nnot\n%s", cases[i].text, cases[i].about, text,
                     cases[i].expected);
        program_close(&program);
    }
}

static void programs_become_ir(void **state) {
    (void)state;
    static const Case cases[] = {
        {"relu(x + b)", "4x8 b=8",
         "%1 = input f32[4x8] x\n%2 = input f32[8] b\n%3 = add f32[4x8] %1 %2\n%4 = const f32 0\n"
         "%5 = lt bool[4x8] %3 %4\n%6 = select f32[4x8] %5 %4 %3\n%7 = call f32[4x8] %6 relu(%3)\n"
         "output f32[4x8] out = %7\n"},
        {"s = x + res; out = relu(s); return s, out", "4",
         "%1 = input f32[4] x\n%2 = input f32[4] res\n%3 = add f32[4] %1 %2\n%4 = const f32 0\n"
         "%5 = lt bool[4] %3 %4\n%6 = select f32[4] %5 %4 %3\n%7 = call f32[4] %6 relu(%3)\n"
         "output f32[4] s = %3\noutput f32[4] out = %7\n"},
        {"out = 1.5", "4", "%1 = const f32 1.5\noutput f32[4] out = %1\n"},
        {"out = 1.5", "4:f16", "%1 = const f16 1.5\noutput f16[4] out = %1\n"},
        {"out = 1.5", "4:i32", "%1 = const f32 1.5\noutput f32[4] out = %1\n"},
        {"x * g", "64x2 g=64x2/0/0",
         "%1 = input f32[64x2] x\n%2 = input f32[64x2] g strides 0,0\n%3 = mul f32[64x2] %1 %2\n"
         "output f32[64x2] out = %3\n"},
        {"x * (2.0 * h)", "4",
         "%1 = input f32[4] x\n%2 = input f32[4] h\n%3 = const f32 2\n%4 = mul f32[4] %3 %2\n"
         "%5 = mul f32[4] %1 %4\noutput f32[4] out = %5\n"},
        {"-3 // 2 + x", "4:i32",
         "%1 = input i32[4] x\n%2 = const i32 -2\n%3 = add i32[4] %2 %1\noutput i32[4] out = %3\n"},
        {"a ** b", "4",
         "%1 = input f32[4] a\n%2 = input f32[4] b\n%3 = pow f32[4] %1 %2\noutput f32[4] out = "
         "%3\n"},
        {"x ** 3", "4",
         "%1 = input f32[4] x\n%2 = mul f32[4] %1 %1\n%3 = mul f32[4] %1 %2\noutput f32[4] out = "
         "%3\n"},
        {"x ** -1", "4:i32",
         "%1 = input i32[4] x\n%2 = convert f32[4] %1\n%3 = const f32 1\n%4 = div f32[4] %3 %2\n"
         "output f32[4] out = %4\n"},
        {"(x + c) - x", "4:bf16",
         "%1 = input bf16[4] x\n%2 = input bf16[4] c\n%3 = add bf16[4] %1 %2\n%4 = sub bf16[4] %3 "
         "%1\n"
         "output bf16[4] out = %4\n"},
        {"(x + c) - x", "4:bf16 round",
         "%1 = input bf16[4] x\n%2 = input bf16[4] c\n%3 = add bf16[4] %1 %2\n%4 = cast bf16[4] "
         "%3\n"
         "%5 = sub bf16[4] %4 %1\n%6 = cast bf16[4] %5\noutput bf16[4] out = %6\n"},
        {"f(x) = x * addcmul(x, x, x); f(x) + 1", "4:f16 round",
         "%1 = input f16[4] x\n%2 = const number 1\n%3 = mul f16[4] %1 %1\n%4 = const f16 1\n"
         "%5 = mul f16[4] %4 %3\n%6 = add f16[4] %1 %5\n"
         "%7 = call f16[4] %6 addcmul(%1 %1 %1 %2)\n%8 = cast f16[4] %7\n%9 = mul f16[4] %1 %8\n"
         "%10 = cast f16[4] %9\n%11 = add f16[4] %10 %4\n%12 = cast f16[4] %11\n"
         "output f16[4] out = %12\n"},
        {"f32(bf16(x))", "4",
         "%1 = input f32[4] x\n%2 = cast bf16[4] %1\n%3 = cast f32[4] %2\noutput f32[4] out = "
         "%3\n"},
        {"x * 0.1", "4 out=f64",
         "%1 = input f32[4] x\n%2 = const f32 0.1\n%3 = mul f32[4] %1 %2\n%4 = cast f64[4] %3\n"
         "output f64[4] out = %4\n"},
        {"param eps = 1e-5; y = x / (eps * 2)", "4 @eps=3",
         "param eps = 3\n%1 = param number eps\n%2 = input f32[4] x\n%3 = const number 2\n"
         "%4 = mul number %1 %3\n%5 = cast f32 %4\n%6 = div f32[4] %2 %5\noutput f32[4] y = %6\n"},
        {"y = x * 2; x = x + 1", "4",
         "%1 = input f32[4] x\n%2 = const f32 2\n%3 = mul f32[4] %1 %2\n%4 = const f32 1\n"
         "%5 = add f32[4] %1 %4\noutput f32[4] y = %3\noutput f32[4] x = %5 updates x\n"},
        {"x = x + 1; y = x * 2; return y", "4:f32 x=4/2",
         "%1 = input f32[4] x strides 2\n%2 = const f32 1\n%3 = add f32[4] %1 %2\n%4 = const f32 "
         "2\n"
         "%5 = mul f32[4] %3 %4\noutput f32[4] y = %5\noutput f32[4] x = %3 strides 2 updates x\n"},
        {"f(a, b=2) = a * b; f(x) + f(x, b=y)", "4",
         "%1 = input f32[4] x\n%2 = const f32 2\n%3 = mul f32[4] %1 %2\n%4 = input f32[4] y\n"
         "%5 = mul f32[4] %1 %4\n%6 = add f32[4] %3 %5\noutput f32[4] out = %6\n"},
        {"mean(x.T, axis=0) @ max(x, axis=-1)", "4x5:f16",
         "%1 = input f16[4x5] x\n%2 = transpose f16[5x4] %1\n%3 = mean f16[1x4] %2 axis=0\n"
         "%4 = max f16[4x1] %1 axis=1\n%5 = cast f16[1x4] %3\n%6 = matmul f16[1x1] %5 %4\noutput "
         "f16[1x1] out = %6\n"},
    };
    check(cases, COUNT(cases), true);
}

static void results_have_types(void **state) {
    (void)state;
    static const Case cases[] = {
        {"x + y", "4 x=:u8 y=:i8", "output i32[4]"},
        {"x + y", "4 x=:u8 y=:u8", "output u8[4]"},
        {"x + y", "4:bool", "output i32[4]"},
        {"x + y", "4 x=:f16 y=:bf16", "output f32[4]"},
        {"x + y", "4 x=:f16 y=:i64", "output f16[4]"},
        {"x * 0.5", "4:i8", "output f32[4]"},
        {"x * 2", "4:i8", "output i8[4]"},
        {"x * 2", "4:bool", "output i32[4]"},
        {"x / 2", "4:i64", "output f32[4]"},
        {"x // 2", "4:i64", "output i64[4]"},
        {"-x", "4:i64", "output i64[4]"},
        {"-x", "4:bool", "output i32[4]"},
        {"exp(x)", "4:i8", "output f32[4]"},
        {"floor(x)", "4:i8", "output i8[4]"},
        {"fabs(x)", "4:i8", "output i8[4]"},
        {"fmax(x, y)", "4 x=:i8 y=:i32", "output i32[4]"},
        {"sqrt(x)", "4:i8", "output f32[4]"},
        {"sqrt(x)", "4:bf16", "output bf16[4]"},
        {"x < y", "4", "output bool[4]"},
        {"!x || y", "4", "output bool[4]"},
        {"x > 0 ? 1 : 0", "4:f16", "output f16[4]"},
        {"x > 0 && y ? 1 : 0", "4 x=:i8 y=:bool", "output i32[4]"},
        {"x > 0 ? 1.5 : 0", "4:i8", "output f32[4]"},
        {"c ? x : y", "4 c=3x1 x=:f16", "output f32[3x4]"},
        {"c ? x : y", "4:bool", "output bool[4]"},
        {"x ** 2", "4:u8", "output u8[4]"},
        {"x ** 0", "4:i8", "output i8[4]"},
        {"x ** 40", "4:i32", "output i32[4]"},
        {"x ** 0.5", "4:i8", "output f32[4]"},
        {"x ** y", "4:i8", "output f32[4]"},
        {"sum(x)", "4x5:u8", "output i64[4x1]"},
        {"max(x, axis=all)", "4x5:bool", "output bool[1x1]"},
        {"mean(x, axis=0)", "4x5:i32", "output f32[1x5]"},
        {"var(x)", "4x5:bf16", "output bf16[4x1]"},
        {"a @ b", "a=2x3:i8 b=3x4:f16", "output f16[2x4]"},
        {"a @ b", "3", "output f32 out"},
        {"x.T", "2x3x4:i8", "output i8[2x4x3]"},
        {"i8(x)", "4", "output i8[4]"},
        {"bool(x)", "4", "output bool[4]"},
        {"f16(x)", "4:i64", "output f16[4]"},
        {"sigmoid(x)", "4:u8", "%3 = convert f32[4] %1"}, /* before anything can wrap */
        {"abs(x)", "4:u8", "output u8[4]"},
        {"max(x, y)", "4 x=:u8 y=:i64", "output i64[4]"},
        {"x", "4:u8 out=bf16", "output bf16[4]"},
        {"x + y", "4 x=:f64 y=:f16", "output f64[4]"},
    };
    check(cases, COUNT(cases), false);
}

static void errors_are_said(void **state) {
    (void)state;
    static const Case cases[] = {
        {"y = gleu(x)", "4",
         "<expr>:1:5: error: unknown function 'gleu'\n   1 | y = gleu(x)\n     |     ^~~~ did you "
         "mean 'gelu'?"},
        {"x + y", "x=4096x4096 y=4095", "1:3: error: shapes 4096x4096 and 4095 do not broadcast"},
        {"c ? x : y", "c=2 x=3 y=1", "1:3: error: shapes 2 and 3 do not broadcast"},
        {"swiglu(x, y)", "x=3 y=4", "1:1: error: in 'swiglu': shapes 3 and 4 do not broadcast"},
        {"f(a, b) = a + b; f(x, y)", "x=3 y=4", "1:18: note: in this call of 'f'"},
        {"a @ b", "a=2x3 b=4x5", "error: shapes 2x3 and 4x5 do not fit '@'"},
        {"x.T", "4", "error: '.T' swaps the last two axes, but the shape is 4"},
        {"sum(x, axis=2)", "4x5", "error: 'sum' runs over axis 2, but the shape is 4x5"},
        {"sum(x, axis=cols)", "4x5", "error: an axis is a whole number or the word 'all'"},
        {"sum(3)", "4", "error: 'sum' reduces an array"},
        {"x + y", "x=4294967296x1 y=1x4294967296",
         "error: the result, 4294967296x4294967296, exceeds 2^62 bytes"},
        {"x * 300", "4:u8", "1:3: error: 300 does not fit u8"},
        {"x > -1", "4:u8", "error: -1 does not fit u8"},
        {"param k = 2; x * k", "4:i32 @k=2.5", "error: k = 2.5 does not fit i32"},
        {"param k = x", "4", "error: a constant expression reads no names"},
        {"param k = i8(3); x", "4", "error: a param is a number without a type"},
        {"y = x; y = 2", "4", "1:8: error: 'y' is bound twice"},
        {"y = x + h; h = 2 * x", "4", "1:9: error: 'h' is read before it is bound"},
        {"y = 2 * x; x = 3", "4", "1:9: error: 'x' is read before it is bound"},
        {"out = x", "", "1:7: error: no shape for 'x'"},
        {"out = x + y", "x=3", "1:11: error: no shape for 'y'"},
        {"out = 1", "", "error: a program that reads no input has no shape of its own"},
        {"f(x) = x", "4", "error: the program has no output"},
        {"return x", "4", "error: the output 'x' has the name of an input"},
        {"y = x; return y, y", "4", "error: two outputs are called 'y'"},
        {"y = x + scale", "4 scal=3",
         "error: --shape names 'scal', but the program has no such input (did you mean 'scale'?)"},
        {"y = x", "4 z=:f16", "error: --dtype names 'z', but the program has no such input"},
        {"param eps = 1; y = x * eps", "4 @epz=3",
         "error: --param names 'epz', but the program has no such param (did you mean 'eps'?)"},
        {"c = c + 1; out = a + c * b", "8 c=scalar",
         "1:22: error: this reads other elements of 'c' than the one it updates in place"},
        {"x = x / sum(x)", "4x4", "error: this reads other elements of 'x'"},
        {"x = x + x.T", "4x4", "error: this reads other elements of 'x'"},
        {"x = x + 1; y = x @ x", "4x4", "error: this reads other elements of 'x'"},
        {"x = x + y", "4 y=3x4",
         "error: 'x' cannot be updated in place: it has the shape 4, its new value 3x4"},
        {"x = x + y", "4 x=:f16",
         "error: 'x' cannot be updated in place: it is f16, its new value f32"},
        {"x = x + 1", "4x4 x=4x4/0/1",
         "error: 'x' cannot be updated in place: some of its elements share a place"},
        {"f(x) = g(x); g(x) = f(x); y = f(x) + nope(x)", "4", "error: unknown function 'nope'"},
        {"f(x) = g(x); g(x) = f(x); y = f(x)", "4", "error: 'f' calls itself: f -> g -> f"},
    };
    check(cases, COUNT(cases), false);
}

static void independent_errors_are_collected(void **state) {
    (void)state;
    Program program = program_open("a = foo(x) + bar(y); b = x + z; c = a * b", "x=3 y=3 z=4");
    assert_null(program.ir);
    assert_non_null(strstr(text_string(&program.said), "'foo'"));
    assert_non_null(strstr(text_string(&program.said), "'bar'"));
    assert_non_null(strstr(text_string(&program.said), "shapes 3 and 4"));
    program_close(&program);
}

static void a_near_name_earns_a_warning(void **state) {
    (void)state;
    Program program = program_open("out = x + hidde; hidden = x * 2; h1 = x; y = h2 + x1", "4");
    assert_non_null(
        strstr(text_string(&program.said), "warning: 'hidde' is bound nowhere, so it is an input"));
    assert_null(strstr(text_string(&program.said), "'h2'"));
    program_close(&program);
}

/* `prefix`, then `format` of 0 to count - 1, with `between`. */
static char *repeat(const char *prefix, const char *format, const char *between, int count) {
    Text text = {0};
    text_add(&text, prefix);
    for (int i = 0; i < count; i++) {
        char piece[128];
        snprintf(piece, sizeof piece, format, i, i + 1);
        text_printf(&text, "%s%s", i > 0 ? between : "", piece);
    }
    return text.data;
}

static Program open_and_free(char *text, const char *about) {
    Program program = program_open(text, about);
    free(text);
    return program;
}

static void large_programs_work(void **state) {
    (void)state;
    Program sum = open_and_free(repeat("out = ", "x * %d.5", " + ", 10000), "4");
    assert_int_equal(sum.ir->nodes.count, 1 + 1 + 3 * 10000 - 1);
    Ir *simple = simplify(sum.arena, sum.ir, true);
    assert_int_equal(simple->nodes.count, sum.ir->nodes.count);
    program_close(&sum);
    Program chain = open_and_free(repeat("h0 = x\n", "h%2$d = h%1$d * 1.5 + b", "\n", 9999), "4");
    assert_int_equal(chain.ir->outputs.count, 1);
    program_close(&chain);
    Program inputs = open_and_free(repeat("out = ", "x%d", " + ", 256), "4");
    assert_int_equal(inputs.ir->inputs.count, 256);
    program_close(&inputs);
}

static void limits_are_said(void **state) {
    (void)state;
    Program inputs = open_and_free(repeat("out = ", "x%d", " + ", 300), "4");
    assert_non_null(strstr(text_string(&inputs.said), "more than 256 inputs"));
    program_close(&inputs);
    Program outputs = open_and_free(repeat("", "y%d = x * %d", "; ", 65), "4");
    assert_non_null(strstr(text_string(&outputs.said), "more than 64 outputs"));
    program_close(&outputs);
    char *text = repeat("out = g60(a, b)\ng0(x, y) = x * y\n",
                        "g%2$d(x, y) = g%1$d(x + 1, y) * g%1$d(y, x * 3)", "\n", 60);
    Program expanding = open_and_free(text, "4");
    assert_non_null(strstr(text_string(&expanding.said), "expand to more than"));
    program_close(&expanding);
}

/* Equal calls are expanded once: 2^200 operations are 200. */
static void doublings_stay_small(void **state) {
    (void)state;
    char *text =
        repeat("out = d200(x)\nd0(x) = x + 1\n", "d%2$d(x) = d%1$d(x) + d%1$d(x)", "\n", 200);
    Program program = open_and_free(text, "4");
    assert_in_range(program.ir->nodes.count, 200, 210);
    program_close(&program);
}

static const char *const dtypes[] = {"bool", "u8", "i8", "i32", "i64", "f16", "bf16", "f32", "f64"};

/* Calls `name` with `count` inputs of one type, and with its rounding after each operation. */
static void check_call(const char *name, uint32_t count, const char *dtype) {
    static const char *const rounding[] = {"", " round"};
    for (size_t i = 0; i < COUNT(rounding); i++) {
        Text text = {0}, about = {0};
        text_printf(&text, "out = %s(", name);
        for (uint32_t j = 0; j < count; j++) text_printf(&text, "%sx%u", j > 0 ? ", " : "", j);
        text_add(&text, ")");
        text_printf(&about, "3x4:f32%s", rounding[i]);
        for (uint32_t j = 0; j < count; j++) text_printf(&about, " x%u=3x4:%s", j, dtype);
        Program program = program_open(text_string(&text), text_string(&about)); /* verifies */
        if (program.ir == NULL)
            fail_msg("%s of %s: %s", text_string(&text), dtype, text_string(&program.said));
        const char *why = verify(simplify(program.arena, program.ir, true), program.arena);
        if (why != NULL) fail_msg("%s of %s simplified: %s", text_string(&text), dtype, why);
        program_close(&program);
        text_free(&text);
        text_free(&about);
    }
}

static void every_function_takes_every_type(void **state) {
    (void)state;
    Arena *arena = arena_open();
    uint32_t count;
    const Function *const *list = registry_list(registry_open(arena), arena, &count);
    for (size_t d = 0; d < COUNT(dtypes); d++) {
        for (uint32_t i = 0; i < count; i++)
            check_call(list[i]->name, list[i]->def->parameter_count, dtypes[d]);
        for (int p = 0; p < PRIMITIVE_COUNT; p++) {
            const PrimitiveInfo *info = primitive_info((Primitive)p);
            if (info->class != CLASS_OPERATOR)
                check_call(info->name, (uint32_t)info->arity, dtypes[d]);
        }
        for (int r = 0; r < REDUCTION_COUNT; r++)
            check_call(reduction_name((Reduction)r), 1, dtypes[d]);
        for (size_t to = 0; to < COUNT(dtypes); to++) check_call(dtypes[to], 1, dtypes[d]);
    }
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_become_ir),
        cmocka_unit_test(results_have_types),
        cmocka_unit_test(errors_are_said),
        cmocka_unit_test(independent_errors_are_collected),
        cmocka_unit_test(a_near_name_earns_a_warning),
        cmocka_unit_test(large_programs_work),
        cmocka_unit_test(limits_are_said),
        cmocka_unit_test(doublings_stay_small),
        cmocka_unit_test(every_function_takes_every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
