/* Simplifying: what goes away, what must stay, and that no bit changes: random expressions over
 * special values are computed before and after. */
#include "program.h"

#include <math.h>
#include <stdio.h>

#include "compiler/fold.h"
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

static void rules_apply(void **state) {
    (void)state;
    static const Case cases[] = {
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
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_same(&cases[i]);
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

/* --- The same bits: a small evaluator of scalar programs */

static Scalar evaluate_node(const Ir *ir, const IrNode *node, const Scalar *values,
                            const Scalar *inputs) {
    Scalar value;
    if (node->op == IR_INPUT) return inputs[node->index];
    if (node->op == IR_CONST) return (Scalar){.whole = node->whole};
    if (node->op == IR_CALL) return values[node->arg[0]];
    Arena *scratch = arena_open();
    Ir *constants = ir_open(scratch, NULL);
    IrNode copy = *node;
    constants->compute = ir->compute;
    for (uint32_t i = 0; i < node->count; i++)
        copy.arg[i] = ir_const(constants, ir_dtype(ir, node->arg[i]), values[node->arg[i]]);
    fold_node(constants, &copy, &value); /* with a value even where it would not fold */
    arena_close(scratch);
    return value;
}

static Scalar evaluate(const Ir *ir, const Scalar *inputs) {
    Scalar *values = calloc(ir->nodes.count, sizeof *values), result;
    for (Value v = 1; v < ir->nodes.count; v++)
        values[v] = evaluate_node(ir, ir_node(ir, v), values, inputs);
    result = values[ir->outputs.data[0].value];
    free(values);
    return result;
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void add_random(Text *text, uint32_t *seed, int depth) {
    static const char *const leaves[] = {"x", "y", "h",    "i", "u",   "m",
                                         "1", "0", "-0.0", "2", "0.5", "3"};
    static const char *const unary[] = {"-",    "!",    "fabs(", "floor(", "round(",
                                        "f16(", "i32(", "f32(",  "abs(",   "u8("};
    static const char *const binary[] = {" + ", " - ", " * ",  " / ",  " // ",
                                         " % ", " < ", " == ", " && ", " || "};
    uint32_t choice = next_random(seed) % 8;
    if (depth == 0 || choice == 0) {
        text_add(text, leaves[next_random(seed) % 12]);
    } else if (choice < 3) {
        const char *op = unary[next_random(seed) % 10];
        text_printf(text, "%s%s", op, strchr(op, '(') != NULL ? "" : "(");
        add_random(text, seed, depth - 1);
        text_add(text, ")");
    } else if (choice < 7) {
        text_add(text, "(");
        add_random(text, seed, depth - 1);
        text_add(text, binary[next_random(seed) % 10]);
        add_random(text, seed, depth - 1);
        text_add(text, ")");
    } else {
        text_add(text, "(");
        add_random(text, seed, depth - 1);
        text_add(text, " ? ");
        add_random(text, seed, depth - 1);
        text_add(text, " : ");
        add_random(text, seed, depth - 1);
        text_add(text, ")");
    }
}

static Scalar random_input(const IrInput *input, uint32_t *seed) {
    static const double reals[] = {
        0.0,         -0.0,  1,    -1, 0.5, 3, (double)INFINITY, -(double)INFINITY,
        (double)NAN, 65504, 1e-7, 2.5};
    static const int64_t wholes[] = {0, 1, 2, 255, -1, 127, -128, INT32_MIN, INT32_MAX, 7};
    DType type = input->type.dtype;
    if (dtype_is_float(type))
        return (Scalar){.real = dtype_round(type, reals[next_random(seed) % 12])};
    int64_t whole = wholes[next_random(seed) % 10];
    return (Scalar){.whole = type == DT_BOOL ? whole & 1 : dtype_wrap(type, whole)};
}

static void assert_same_bits(const char *text, const Ir *before, const Ir *after, uint32_t *seed) {
    Scalar inputs[8];
    DType type = before->outputs.data[0].type.dtype;
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < before->inputs.count; i++)
            inputs[i] = random_input(&before->inputs.data[i], seed);
        Scalar a = evaluate(before, inputs), b = evaluate(after, inputs);
        bool both_nan = dtype_is_float(type) && isnan(a.real) && isnan(b.real);
        if (!both_nan && a.whole != b.whole) fail_msg("%s: %a becomes %a", text, a.real, b.real);
    }
}

static void no_bit_changes(void **state) {
    (void)state;
    uint32_t seed = 1, lowered = 0;
    for (int i = 0; i < 1500; i++) {
        Text text = {0};
        add_random(&text, &seed, 5);
        Program program =
            program_open(text_string(&text), i % 3 == 0 ? "scalar h=:f16 i=:i32 u=:u8 m=:bool round"
                                                        : "scalar h=:bf16 i=:i64 u=:u8 m=:i8");
        if (program.ir != NULL) {
            Ir *simple = simplify(program.arena, program.ir, true);
            const char *why = verify(simple, program.arena);
            if (why != NULL) fail_msg("%s: %s", text_string(&text), why);
            assert_same_bits(text_string(&text), program.ir, simple, &seed);
            Ir *again = simplify(program.arena, simple, true);
            assert_string_equal(program_text(&program, again), program_text(&program, simple));
            lowered++;
        }
        program_close(&program);
        text_free(&text);
    }
    assert_true(lowered > 300);
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
