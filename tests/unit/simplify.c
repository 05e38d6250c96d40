/* Simplifying: what goes away, what must stay, and that no bit changes: random expressions over
 * special values are computed before and after by the oracle's chain. */
#include "program.h"

#include <math.h>

#include "compiler/eval.h"
#include "compiler/simplify.h"

typedef struct Case {
    const char *text, *about, *same_as;
} Case;

/* `text` simplifies to what `same_as` is, untouched. */
static void assert_same(const Case *c) {
    Program program = program_open(c->text, c->about), other = program_open(c->same_as, c->about);
    if (program.ir == NULL) fail_msg("%s: %s", c->text, text_string(&program.said));
    Ir *simple = simplify(program.arena, program.ir, true);
    Ir *expected = ir_copy(other.arena, other.ir, true);
    if (strcmp(program_text(&program, simple), program_text(&other, expected)) != 0)
        fail_msg("%s (%s) gives\n%s\nnot\n%s", c->text, c->about, program_text(&program, simple),
                 program_text(&other, expected));
    program_close(&program);
    program_close(&other);
}

static const Case rules[] = {
    {"x * 1", "4", "x"},
    {"1 * x", "4", "x"},
    {"x / 1", "4", "x"},
    {"x - 0", "4", "x"},
    {"x + -0.0", "4", "x"},
    {"x + 0", "4:i32", "x"},
    {"x // 1", "4:i32", "x"},
    {"-(-x)", "4", "x"},
    {"!!x", "4:bool", "x"},
    {"x.T.T", "4x4", "x"},
    {"x / 4", "4", "x * 0.25"},
    {"x / -0.5", "4", "x * -2"},
    {"fabs(-x)", "4", "fabs(x)"},
    {"abs(abs(x))", "4", "fabs(x)"},
    {"round(floor(x))", "4", "floor(x)"},
    {"bf16(x)", "4:bf16", "x"},
    {"bf16(bf16(x))", "4", "bf16(x)"},
    {"f32(f32(x))", "4", "x"},
    {"x * 1 / 1 - 0", "4:f16", "x"},
    {"bf16(x.T)", "4x4:bf16", "x.T"},
    {"relu(x)", "4", "x < 0 ? 0 : x"},
    {"x * -1", "4", "-x"},
    {"-1 * x / -1", "4", "x"},
    {"-0.0 - x", "4", "-x"},
    {"0 - x", "4:i32", "-x"},
    {"x + -y", "4", "x - y"},
    {"-x + y", "4", "a = x; return y - a"},
    {"x - -y", "4", "x + y"},
    {"-x * -y", "4", "x * y"},
    {"-x / -y", "4", "x / y"},
    {"a = x * 3; return exp(a), exp(x * -3)", "4", "a = x * 3; return exp(a), exp(-a)"},
    {"a = x * -3; return exp(a), exp(x * 3), a", "4", "a = x * -3; return exp(a), exp(-a), a"},
    {"a = -(x * 3); return exp(a), exp(x * -3)", "4", "a = x * -3; return exp(a), exp(a)"},
    {"a = x * -3; return exp(a), exp(-(x * 3))", "4", "a = x * -3; return exp(a), exp(a)"},
    {"a = x * 3; return exp(-a), exp(x * -3), a", "4", "a = x * 3; return exp(-a), exp(-a), a"},
    {"-x * 3", "4", "x * -3"},
    {"3 / -x", "4", "-3 / x"},
    {"-(x * 3)", "4", "x * -3"},
    {"-(x / 3)", "4", "x / -3"},
    {"-(3 * x)", "4:u8", "253 * x"},
    {"fma(x, 1, y)", "4", "x + y"},
    {"fma(-1, x, y)", "4", "a = x; return y - a"},
    {"fma(x, y, -0.0)", "4", "x * y"},
    {"fma(-x, -y, z)", "4", "fma(x, y, z)"},
    {"k = 2; pow(x, k)", "4", "x * x"},
    {"pow(x, -1.0 + 2)", "4", "x"},
    {"pow(x, 0 - 1)", "4", "1 / x"},
    {"x // 1", "4", "floor(x)"},
    {"fabs(copysign(x, 3 * x))", "4", "fabs(x)"},
    {"copysign(-x, y)", "4", "copysign(x, y)"},
    {"copysign(x, x)", "4", "x"},
    {"fmax(x, x)", "4", "x"},
    {"x && x", "4:bool", "x"},
    {"x || 0 > 1", "4:bool", "x"},
    {"!(x == y)", "4", "x != y"},
    {"!(x < y)", "4:i32", "x >= y"},
    {"x != 0", "4:bool", "x"},
    {"x == 0", "4:bool", "!x"},
    {"max(x, y)", "4:i32", "x > y ? x : y"},
    {"max(0, x)", "4", "0 > x ? 0 : x"},
    {"a = x; return !c ? a : y", "4 c=4:bool", "a = x; return c ? y : a"},
    {"c ? (c ? x : y) : y", "4", "c ? x : y"},
    {"c ? x : (c ? y + x : y)", "4", "c ? x : y"},
    {"floor(f32(x))", "4:i8", "f32(x)"},
    {"bf16(f32(x))", "4:bf16", "x"},
    {"f16(-floor(x))", "4:f16", "-floor(x)"},
    {"bf16(relu(x))", "4:bf16", "x < 0 ? 0 : x"},
    {"i8(f32(x))", "4:i8", "x"},
    {"i8(i32(x))", "4:i8", "x"},
    {"bool(f32(x))", "4:bool", "x"},
    {"i8(round(x))", "4", "i8(x)"},
    {"i8(clamp(round(x / 3), -128, 127))", "4", "i8(x / 3)"},
    {"u8(min(max(x, 0), 255))", "4", "u8(x)"},
    {"u8(max(0, min(300, x)))", "4", "u8(x)"},
    {"sum(x)", "4x1", "x"},
    {"max(x) + mean(x) * prod(x) - min(x)", "4x1", "x + x * x - x"},
    {"var(x)", "4x1", "x - x"},
    {"mean(x, axis=all)", "1x1", "x"},
    {"max(max(x), axis=0)", "4x4", "max(x, axis=all)"},
    {"max(max(x, axis=2), axis=0)", "4x1x4", "max(x, axis=all)"},
    {"sum(sum(x), axis=0)", "4x4:i32", "sum(x, axis=all)"},
    {"x @ y", "x=4x1 y=1x5", "x * y + 0"},
    {"x.T", "1x1", "x"},
};

static void rules_apply(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) assert_same(&rules[i]);
}

/* These look like rules, and would change a zero's sign, a NaN, or a shape. */
static void what_changes_bits_stays(void **state) {
    (void)state;
    static const Case cases[] = {
        {"x + 0", "4", "x + 0"},
        {"x * 0", "4", "x * 0"},
        {"x - x", "4", "x - x"},
        {"x - -0.0", "4", "x - -0.0"},
        {"x / 3", "4", "x / 3"},
        {"x / 0", "4", "x / 0"},
        {"0 - x", "4", "0 - x"},
        {"x == x", "4", "x == x"},
        {"fabs(-x)", "4:u8", "fabs(-x)"},
        {"x + y * 0", "4 x=1", "x + y * 0"},
        {"bf16(x * 3)", "4:bf16", "bf16(x * 3)"},
        {"f32(bf16(x))", "4", "f32(bf16(x))"},
        {"x / 0x1p-130", "4", "x / 0x1p-130"},
        {"0 - x", "4", "0 - x"},
        {"-(x - y)", "4", "-(x - y)"},
        {"-(x + 1)", "4", "-(x + 1)"},
        {"fma(x, y, 0)", "4", "fma(x, y, 0)"},
        {"pow(x, 3.0)", "4", "pow(x, 3.0)"},
        {"k = 0.5; pow(x, k)", "4", "pow(x, 0.5)"},
        {"!(x < y)", "4", "!(x < y)"},
        {"x != x", "4", "x != x"},
        {"max(x, y)", "4", "x > y || x != x ? x : y"},
        {"b = y; return !(x < 0) ? x : b", "4", "b = y; return x < 0 ? b : x"},
        {"x * y / y", "4", "x * y / y"},
        {"i32(f32(x))", "4:i32", "i32(f32(x))"},
        {"bool(round(x))", "4", "bool(round(x))"},
        {"i8(floor(x))", "4", "i8(floor(x))"},
        {"i8(clamp(x, -127, 127))", "4", "i8(clamp(x, -127, 127))"},
        {"i8(x < -128 || x != x ? -128 : x)", "4", "i8(x < -128 || x != x ? -128 : x)"},
        {"i8(x > -128 ? x : -128)", "4", "i8(x > -128 ? x : -128)"},
        {"f16(bf16(x))", "4", "f16(bf16(x))"},
        {"sum(sum(x), axis=0)", "4x4", "sum(sum(x), axis=0)"},
        {"max(max(x, axis=0))", "4x4", "max(max(x, axis=0))"},
        {"m = max(x); return m, max(m, axis=0)", "4x4", "m = max(x); return m, max(m, axis=0)"},
        {"sum(x)", "1x4", "sum(x)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_same(&cases[i]);
}

static void equal_arms_and_dead_values_go(void **state) {
    (void)state;
    Program program = program_open("a = c ? x : x; b = 2 > 1 ? x : y", "4");
    Ir *simple = simplify(program.arena, program.ir, true);
    assert_int_equal(simple->outputs.data[0].value, simple->outputs.data[1].value);
    assert_int_equal(simple->inputs.count, 3); /* all stay: they are the program's signature */
    assert_int_equal(simple->nodes.count, 4);
    program_close(&program);
}

static void calls_stay_where_asked(void **state) {
    (void)state;
    Program program = program_open("gelu(x * 1)", "4");
    const Ir *kept = simplify(program.arena, program.ir, false);
    const IrNode *call = ir_node(kept, kept->outputs.data[0].value);
    assert_int_equal(call->op, IR_CALL);
    assert_string_equal(call->function->name, "gelu");
    assert_int_equal(ir_node(kept, kept->list.data[call->first])->op, IR_INPUT);
    assert_null(verify(kept, program.arena));
    program_close(&program);
}

/* --- The same bits: random programs of everything that there is, on special values */

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const char *pick(uint32_t *seed, const char *const *list, uint32_t count) {
    return list[next_random(seed) % count];
}
#define PICK(seed, ...)                            \
    pick(seed, (const char *const[]){__VA_ARGS__}, \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void add_random(Text *text, uint32_t *seed, int depth);

/* Of a NaN's sign, which copysign alone sees, nothing is promised: it gets an input there. */
static void add_call(Text *text, uint32_t *seed, int depth) {
    Primitive primitive;
    do primitive = (Primitive)(next_random(seed) % PRIMITIVE_COUNT);
    while (primitive_info(primitive)->class == CLASS_OPERATOR);
    text_printf(text, "%s(", primitive_info(primitive)->name);
    for (int i = 0; i < primitive_info(primitive)->arity; i++) {
        if (i > 0) text_add(text, ", ");
        add_random(text, seed, primitive == P_COPYSIGN && i == 1 ? 0 : depth - 1);
    }
    text_add(text, ")");
}

static void add_row(Text *text, uint32_t *seed, int depth) {
    text_printf(text, "%s(", reduction_name((Reduction)(next_random(seed) % REDUCTION_COUNT)));
    add_random(text, seed, depth - 1);
    text_add(text, PICK(seed, ")", ", axis=0)", ", axis=all)"));
}

static void add_pair(Text *text, uint32_t *seed, int depth) {
    text_add(text, "(");
    add_random(text, seed, depth - 1);
    text_add(text, PICK(seed, " + ", " - ", " * ", " / ", " // ", " % ", " + ", " * ", " @ ", " < ",
                        " <= ", " > ", " >= ", " == ", " != ", " && ", " || "));
    add_random(text, seed, depth - 1);
    text_add(text, ")");
}

static void add_choice(Text *text, uint32_t *seed, int depth) {
    text_add(text, "(");
    add_random(text, seed, depth - 1);
    text_add(text, " ? ");
    add_random(text, seed, depth - 1);
    text_add(text, " : ");
    add_random(text, seed, depth - 1);
    text_add(text, ")");
}

static void add_random(Text *text, uint32_t *seed, int depth) {
    uint32_t choice = next_random(seed) % 16;
    if (depth == 0 || choice == 0) {
        text_add(text, PICK(seed, "x", "y", "h", "i", "u", "m", "r", "c", "1", "0", "-0.0", "2",
                            "-1", "0.5", "3"));
    } else if (choice < 5) {
        text_add(text, PICK(seed, "-(", "-(", "!(", "f16(", "bf16(", "i8(", "i32(", "f32(", "u8(",
                            "bool(", "relu(", "abs(", "square("));
        add_random(text, seed, depth - 1);
        text_add(text, ")");
    } else if (choice == 5) {
        text_add(text, "(");
        add_random(text, seed, depth - 1);
        text_add(text, ").T");
    } else if (choice < 8) {
        add_call(text, seed, depth);
    } else if (choice == 8) {
        add_row(text, seed, depth);
    } else if (choice == 9) {
        add_choice(text, seed, depth);
    } else if (choice == 10) {
        text_add(text, PICK(seed, "max(", "min("));
        add_random(text, seed, depth - 1);
        text_add(text, PICK(seed, ", -128)", ", 127)", ", 0)", ", x)"));
    } else {
        add_pair(text, seed, depth);
    }
}

static Scalar random_element(DType type, uint32_t *seed) {
    static const double reals[] = {
        0.0,         -0.0,  1,    -1,       0.5,   3,   (double)INFINITY, -(double)INFINITY,
        (double)NAN, 65504, 1e-7, 0x1p-149, 127.5, 2.5, -128.5,           3e38};
    static const int64_t wholes[] = {0, 1, 2, 255, -1, 127, -128, INT32_MIN, INT32_MAX, 7};
    if (dtype_is_float(type))
        return (Scalar){.real = dtype_round(type, reals[next_random(seed) % 16])};
    int64_t whole = wholes[next_random(seed) % 10];
    return (Scalar){.whole = type == DT_BOOL ? whole & 1 : dtype_wrap(type, whole)};
}

enum { ELEMENTS = 16 };

/* Output 0 in the compute type, operation by operation. */
static void evaluate(const Ir *ir, const void *const *inputs, void *out) {
    Eval *eval = eval_open(ir, inputs, ACCURACY_C, NULL);
    eval_chain(eval, 0, 0, type_count(&ir->outputs.data[0].type), out);
    eval_close(eval);
}

static void assert_same_bits(const char *text, const Ir *before, const Ir *after, uint32_t *seed) {
    uint64_t data[8][ELEMENTS], a[ELEMENTS] = {0}, b[ELEMENTS] = {0};
    const void *inputs[8];
    const Type *type = &before->outputs.data[0].type;
    for (uint32_t i = 0; i < before->inputs.count; i++) {
        const Type *own = &before->inputs.data[i].type;
        inputs[i] = data[i];
        for (int64_t k = 0; k < type_count(own); k++)
            dtype_store(own->dtype, (char *)data[i] + k * dtype_info(own->dtype)->bytes,
                        random_element(own->dtype, seed));
    }
    evaluate(before, inputs, a);
    evaluate(after, inputs, b);
    for (int64_t k = 0; k < type_count(type); k++) {
        size_t at = (size_t)k * dtype_info(type->dtype)->bytes;
        Scalar old = dtype_load(type->dtype, (char *)a + at);
        Scalar new = dtype_load(type->dtype, (char *)b + at);
        bool both_nan = dtype_is_float(type->dtype) && isnan(old.real) && isnan(new.real);
        if (!both_nan && old.whole != new.whole)
            fail_msg("%s: [%d] %a becomes %a", text, (int)k, old.real, new.real);
    }
}

static void no_bit_changes(void **state) {
    (void)state;
    static const char *const abouts[] = {
        "4x4 h=:f16 i=:i32 u=:u8 m=:bool r=1x4 c=4x1",
        "4x4 h=4x4:bf16 i=4x4:i64 u=1x1:u8 m=:i8 r=1x4:bf16 c=4x1:f16",
        "4x1 h=4x1:f16 i=:i8 u=:u8 m=:bool r=1x1 c=4x1:bf16 round",
        "1x1 x=1x4 h=:bf16 i=:i32 u=:u8 m=4x1:bool",
        "4x4:f64 h=:f32 i=:i64 u=1x4:u8 m=:bool r=1x4:f64 c=4x1:f16",
    };
    uint32_t seed = 1, lowered = 0, simpler = 0;
    for (int i = 0; i < 12000; i++) {
        Text text = {0};
        text_add(&text, "return ");
        add_random(&text, &seed, 2 + i % 4);
        text_add(&text,
                 ", -x, -y, -h, -i, -u, -m, -r, -c"); /* that each has the type it is given */
        Program program = program_open(text_string(&text), abouts[i % 5]);
        if (program.ir != NULL) {
            Ir *simple = simplify(program.arena, program.ir, true);
            const char *why = verify(simple, program.arena);
            if (why != NULL) fail_msg("%s: %s", text_string(&text), why);
            for (int round = 0; round < 3; round++)
                assert_same_bits(text_string(&text), program.ir, simple, &seed);
            Ir *again = simplify(program.arena, simple, true);
            assert_string_equal(program_text(&program, again), program_text(&program, simple));
            lowered++;
            simpler += simple->nodes.count < ir_copy(program.arena, program.ir, true)->nodes.count;
        }
        program_close(&program);
        text_free(&text);
    }
    assert_true(lowered > 5000 && simpler > 3000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_apply),
        cmocka_unit_test(what_changes_bits_stays),
        cmocka_unit_test(equal_arms_and_dead_values_go),
        cmocka_unit_test(calls_stay_where_asked),
        cmocka_unit_test(no_bit_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
