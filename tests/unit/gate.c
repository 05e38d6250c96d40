/* The gate refuses no right implementation and accepts no wrong one: the compute type's chain of
 * many programs, special values included, and mutants of it; stray writes; whole families of random
 * programs, simplified or not. */
#include "compiler/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lowered.h"

static InputSpec spec(const char *name, DType type, uint32_t rank, int64_t rows, int64_t columns) {
    return (InputSpec){.name = name,
                       .has_shape = true,
                       .type = {.dtype = type, .rank = rank, .dim = {rows, columns}}};
}

/* x y z of 48x32; where the text names them: b a row, c a column, s a scalar. */
static Ir *program(Arena *arena, const char *text, DType type) {
    InputSpec all[] = {spec("b", type, 1, 32, 0), spec("c", type, 2, 48, 1),
                       spec("s", type, 0, 0, 0)},
              used[3];
    LowerOptions options = {
        .has_shape = true, .plain = {.dtype = type, .rank = 2, .dim = {48, 32}}, .inputs = used};
    static const char *const signs[] = {"{b}", "{c}", "{s}"};
    char plain[4096];
    size_t length = 0;
    for (int i = 0; i < 3; i++)
        if (strstr(text, signs[i])) used[options.input_count++] = all[i];
    for (const char *at = text; *at; at++)
        if (*at != '{' && *at != '}') plain[length++] = *at;
    plain[length] = '\0';
    return lowered(arena, plain, &options);
}

static void expect_good(const char *text, DType type, Accuracy accuracy) {
    Arena *arena = arena_open();
    const char *why = "";
    Ir *ir = program(arena, text, type);
    assert_non_null(ir);
    Gate *gate = gate_open(arena, simplify(arena, ir, true), 7, accuracy, NULL);
    bool good = gate_self_test(gate, arena, &why);
    if (!good) printf("%s %s: %s\n", text, dtype_name(type), why);
    assert_true(good);
    arena_close(arena);
}

static const char *const chains[] = {
    "relu(x + y)",
    "silu(x)",
    "1 / (x - y)",
    "round(clamp(x / 0.1, -127, 127)) * 0.1",
    "fake_quant(x, 0.05)",
    "gelu(x + {b}) + y",
    "tanh(x * y + {b}) * sigmoid(x) + 0.5 * y",
    "gelu_tanh(x) * {c} + {s}",
    "softplus(x) - log1p(exp(-abs(y)))",
    "x % y + x // y",
    "sin(x) * cos(y) + tan(z)",
    "x ** y",
    "atan2(x, y) + hypot(x, y)",
    "log(x) * sqrt(y)",
    "x < y && y <= z || !(x == z)",
    "erfc(x) / erf(y) + expm1(z) - cbrt(x)",
    "asin(x) + acos(y) + atan(z)",
    "sinh(x) + cosh(y)",
    "bf16(x * y) + f16(z)",
    "i32(x) // 3 + i32(y * 2) % 7",
    "x.T + 1",
    "(x + 1).T * 2",
    "exp(x - max(x)) / sum(exp(x - max(x)))",
    "(x - mean(x)) / sqrt(var(x) + 1e-5) * {b}",
    "sum(x * y, axis=0)",
    "x @ y.T",
    "relu(x @ (y + 1).T) + {c}",
    "x = x * 2 + y",
    "h = x + {b}; y2 = silu(h) * y; return y2, h",
};

static void no_right_chain_is_refused(void **unused) {
    const DType types[] = {DT_F32, DT_F16, DT_BF16, DT_F64};
    (void)unused;
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
            for (int accuracy = ACCURACY_CUDA; accuracy <= ACCURACY_C; accuracy++)
                expect_good(chains[i], types[t], (Accuracy)accuracy);
}

static void integers_too(void **unused) {
    static const char *const texts[] = {"x + y * z",  "x // y - x % z", "max(x, y) == z",
                                        "x / y",      "abs(x) - y",     "u8(x) + i8(y)",
                                        "sum(x * y)", "x @ y.T"};
    const DType types[] = {DT_BOOL, DT_U8, DT_I8, DT_I32, DT_I64};
    (void)unused;
    for (size_t t = 0; t < 5; t++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            expect_good(texts[i], types[t], ACCURACY_C);
}

/* --- shapes keep their class */

static bool same_class(const Ir *a, const Ir *b) {
    for (uint32_t i = 0; i < a->inputs.count; i++) {
        const IrInput *x = &a->inputs.data[i], *y = &b->inputs.data[i];
        if (x->type.rank != y->type.rank) return false;
        for (uint32_t axis = 0; axis < x->type.rank; axis++) {
            if (x->type.dim[axis] == 1 && y->type.dim[axis] != 1) return false;
            if ((x->strides[axis] == 0) != (y->strides[axis] == 0)) return false;
        }
        uint32_t last = x->type.rank - 1;
        if (x->type.rank > 0 && x->strides[last] != y->strides[last]) return false;
    }
    return true;
}

static void shapes_keep_their_class(void **unused) {
    Arena *arena = arena_open();
    uint32_t count;
    Ir *ir = program(arena, "gelu(x + {b}) * {c} + {s}", DT_F32);
    const Ir *const *shapes = gate_shapes(arena, ir, &count);
    (void)unused;
    assert_true(count > 12);
    for (uint32_t i = 0; i < count; i++) assert_true(same_class(ir, shapes[i]));
    /* x padded: a gap stays a gap; y reversed and every other element; z transposed */
    ir = program(arena, "x + y * z", DT_F32);
    ir->inputs.data[0].strides[0] = 40;
    ir->inputs.data[1].strides[0] = -64;
    ir->inputs.data[1].strides[1] = 2;
    ir->inputs.data[2].strides[0] = 1;
    ir->inputs.data[2].strides[1] = 48;
    shapes = gate_shapes(arena, ir, &count);
    for (uint32_t i = 0; i < count; i++) {
        const IrInput *inputs = shapes[i]->inputs.data;
        int64_t rows = inputs[0].type.dim[0], columns = inputs[0].type.dim[1];
        assert_true(inputs[0].strides[0] > columns && inputs[0].strides[1] == 1);
        assert_true(inputs[1].strides[0] == -2 * (columns > 0 ? columns : 1) &&
                    inputs[1].strides[1] == 2);
        assert_true(inputs[2].strides[0] == 1 && inputs[2].strides[1] == (rows > 0 ? rows : 1));
    }
    const char *why = "";
    Gate *gate = gate_open(arena, ir, 3, ACCURACY_C, NULL);
    assert_true(gate_self_test(gate, arena, &why));
    arena_close(arena);
}

/* --- stray writes */

/* What a right kernel leaves. */
static uint8_t *right_image(Arena *arena, const Gate *gate) {
    uint8_t *image = arena_alloc(arena, gate->size);
    memcpy(image, gate->image, gate->size);
    for (uint32_t e = 0; e < gate->edges.count; e++) {
        const Edge *edge = &gate->edges.data[e];
        memcpy(image + edge->outputs[0], edge->expected[0].lo,
               (size_t)edge->expected[0].count * dtype_info(edge->expected[0].dtype)->bytes);
    }
    return image;
}

static void stray_writes_are_seen(void **unused) {
    Arena *arena = arena_open();
    Gate *gate = gate_open(arena, program(arena, "x + y", DT_F32), 3, ACCURACY_C, NULL);
    uint8_t *image = right_image(arena, gate);
    Check check = check_none();
    const char *why = "";
    (void)unused;
    assert_true(gate_judge(gate, image, arena, &check, &why));
    assert_true(check.wrong == 0 && check.checked > 900 && check.unchecked == 0);
    const Edge *edge = &gate->edges.data[4];
    int64_t end = edge->outputs[0] + edge->expected[0].count * 4;
    const struct {
        int64_t at;
        const char *message;
    } strays[] = {{end, "guard behind out touched"},
                  {edge->outputs[0] - 1, "guard before out touched"},
                  {edge->inputs[1], "y was written"},
                  {edge->outputs[0] + 2, "out[0] is"}};
    for (size_t i = 0; i < sizeof strays / sizeof *strays; i++) {
        image[strays[i].at] ^= 0x41;
        assert_false(gate_judge(gate, image, arena, &check, &why));
        assert_non_null(strstr(why, strays[i].message));
        assert_non_null(strstr(why, edge->label));
        image[strays[i].at] ^= 0x41;
    }
    assert_false(gate_judge(gate, gate->image, arena, &check, &why)); /* poison is no result */
    arena_close(arena);
}

/* Every edge's poison is refused, also of bools and of what is a legal value of any kind. */
static void poison_is_wrong(void **unused) {
    static const char *const texts[] = {"x < y", "u8(x)", "i32(x)", "x * 0", "x / y"};
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Arena *arena = arena_open();
        Gate *gate = gate_open(arena, program(arena, texts[i], DT_F32), 3, ACCURACY_C, NULL);
        for (uint32_t e = 0; e < gate->edges.count; e++) {
            const Edge *edge = &gate->edges.data[e];
            Check check = check_none();
            check_block(&edge->expected[0], gate->image + edge->outputs[0], 0, &check);
            assert_int_equal(check.wrong, check.checked);
        }
        arena_close(arena);
    }
}

/* --- rows */

/* A softmax that forgets one element of a row, in bf16, where the others' rounding hides it: spikes
 * do not. */
static void a_forgotten_element_is_seen(void **unused) {
    Arena *arena = arena_open();
    Ir *ir = program(arena, "exp(x - max(x)) / sum(exp(x - max(x)))", DT_BF16);
    Gate *gate = gate_open(arena, simplify(arena, ir, true), 3, ACCURACY_C, NULL);
    const Edge *edge = NULL;
    (void)unused;
    for (uint32_t e = 0; e < gate->edges.count; e++)
        if (strcmp(gate->edges.data[e].label, "spikes 33x1031") == 0) edge = &gate->edges.data[e];
    assert_non_null(edge);
    for (int64_t forgotten = 0; forgotten < 1031; forgotten++) {
        bool seen = false;
        for (int64_t row = 0; row < 33; row++) {
            const uint8_t *x = gate->image + edge->inputs[0] + row * 1031 * 2;
            seen |= dtype_load(DT_BF16, x + forgotten * 2).real == 64;
        }
        bool watched = forgotten < 6 || forgotten == 128 || forgotten == 1030 || forgotten == 513;
        assert_true(seen || !watched);
        if (!seen) continue;
        uint16_t *out = arena_array(arena, uint16_t, 33 * 1031);
        for (int64_t row = 0; row < 33; row++) {
            float sum = 0, most = -INFINITY;
            const uint8_t *x = gate->image + edge->inputs[0] + row * 1031 * 2;
            for (int64_t i = 0; i < 1031; i++)
                if (i != forgotten) most = fmaxf(most, (float)dtype_load(DT_BF16, x + i * 2).real);
            for (int64_t i = 0; i < 1031; i++)
                if (i != forgotten) sum += expf((float)dtype_load(DT_BF16, x + i * 2).real - most);
            for (int64_t i = 0; i < 1031; i++) {
                float y = expf((float)dtype_load(DT_BF16, x + i * 2).real - most) / sum;
                dtype_store(DT_BF16, &out[row * 1031 + i], (Scalar){.real = (double)y});
            }
        }
        Check check = check_none();
        check_block(&edge->expected[0], out, 0, &check);
        assert_true(check.wrong > 0);
    }
    arena_close(arena);
}

/* --- random programs */

typedef struct Random {
    uint64_t state;
    Text text;
    int depth;
} Random;

static uint64_t draw(Random *random, uint64_t below) {
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return (random->state >> 11) % below;
}

static void write_expression(Random *random, int depth);

static void write_call(Random *random, int depth) {
    static const char *const unary[] = {"relu", "abs",   "floor",  "sqrt", "exp",     "tanh",
                                        "silu", "round", "log1p",  "bf16", "sigmoid", "-",
                                        "f16",  "erf",   "square", "trunc"};
    static const char *const binary[] = {"+", "-", "*", "/", "*", "+", "%", "//"};
    static const char *const calls[] = {"max", "min", "fmod", "copysign", "fmax", "atan2"};
    uint64_t kind = draw(random, 9);
    if (kind < 3) {
        text_printf(&random->text, "%s(", unary[draw(random, sizeof unary / sizeof *unary)]);
        write_expression(random, depth - 1);
    } else if (kind < 7) {
        text_add(&random->text, "(");
        write_expression(random, depth - 1);
        text_printf(&random->text, " %s ", binary[draw(random, sizeof binary / sizeof *binary)]);
        write_expression(random, depth - 1);
    } else if (kind < 8) {
        text_printf(&random->text, "%s(", calls[draw(random, sizeof calls / sizeof *calls)]);
        write_expression(random, depth - 1);
        text_add(&random->text, ", ");
        write_expression(random, depth - 1);
    } else {
        text_add(&random->text, "(");
        write_expression(random, depth - 1);
        text_add(&random->text, draw(random, 2) ? " < " : " == ");
        write_expression(random, depth - 1);
        text_add(&random->text, " ? ");
        write_expression(random, depth - 1);
        text_add(&random->text, " : ");
        write_expression(random, depth - 1);
    }
    text_add(&random->text, ")");
}

static void write_expression(Random *random, int depth) {
    static const char *const leaves[] = {"x",   "y",  "x",   "{b}",  "1",          "0",
                                         "0.5", "-2", "x*1", "3.25", "(x + -0.0)", "1e-3"};
    if (depth == 0 || draw(random, 7) == 0)
        text_add(&random->text, leaves[draw(random, sizeof leaves / sizeof *leaves)]);
    else
        write_call(random, depth);
}

static void expect_same_values(const Ir *a, const Ir *b, const Gate *gate, const char *text) {
    Arena *arena = arena_open();
    const Edge *edge = &gate->edges.data[0];
    const void **inputs = arena_array(arena, const void *, a->inputs.count);
    size_t bytes = 48 * 32 * 8;
    uint8_t *values_a = arena_alloc(arena, bytes), *values_b = arena_alloc(arena, bytes);
    for (uint32_t i = 0; i < a->inputs.count; i++) inputs[i] = gate->image + edge->inputs[i];
    Eval *one = eval_open(a, inputs, ACCURACY_C, NULL),
         *other = eval_open(b, inputs, ACCURACY_C, NULL);
    for (int chain = 0; chain < 2; chain++) {
        int64_t count = type_count(&a->outputs.data[0].type);
        if (chain)
            eval_chain(one, 0, 0, count, values_a), eval_chain(other, 0, 0, count, values_b);
        else
            eval_values(one, 0, values_a), eval_values(other, 0, values_b);
        Check check = check_none();
        Expected same = {
            .dtype = a->outputs.data[0].type.dtype, .count = count, .lo = values_b, .hi = values_b};
        same.may_nan = arena_alloc(arena, (size_t)count);
        same.value = arena_array(arena, double, count);
        check_block(&same, values_a, 0, &check);
        if (check.wrong) printf("%s differs at %d when simplified\n", text, (int)check.first_wrong);
        assert_int_equal(check.wrong, 0);
    }
    eval_close(one);
    eval_close(other);
    arena_close(arena);
}

static void random_programs(void **unused) {
    const DType types[] = {DT_F32, DT_BF16, DT_F16, DT_F64};
    Random random = {.state = 88172645463325252u};
    (void)unused;
    for (int trial = 0; trial < 300; trial++) {
        Arena *arena = arena_open();
        const char *why = "";
        text_clear(&random.text);
        text_add(&random.text, "x + 0 * y + ");
        write_expression(&random, 4);
        const char *text = text_string(&random.text);
        Ir *ir = program(arena, text, types[trial % 4]);
        assert_non_null(ir);
        Ir *simple = simplify(arena, ir, true);
        Gate *gate = gate_open(arena, simple, (uint64_t)trial, ACCURACY_C, NULL);
        bool good = gate_self_test(gate, arena, &why);
        if (!good) printf("%s %s: %s\n", dtype_name(types[trial % 4]), text, why);
        assert_true(good);
        if (gate->edges.data[0].ir->inputs.count == ir->inputs.count) {
            Gate *raw = gate_open(arena, ir, (uint64_t)trial, ACCURACY_C, NULL);
            expect_same_values(raw->edges.data[0].ir, gate->edges.data[0].ir, gate, text);
        }
        arena_close(arena);
    }
    text_free(&random.text);
}

/* --- data */

static void data_is_the_same_in_any_pieces(void **unused) {
    const DType types[] = {DT_BOOL, DT_U8, DT_I8, DT_I32, DT_I64, DT_F16, DT_BF16, DT_F32, DT_F64};
    (void)unused;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int domain = 0; domain < 3; domain++) {
            uint8_t whole[800], part[800];
            uint32_t bytes = dtype_info(types[t])->bytes;
            gate_fill(whole, types[t], 5, 2, 1000, 100, domain);
            for (int i = 0; i < 100; i += 10)
                gate_fill(part + i * (int)bytes, types[t], 5, 2, 1000 + i, 10, domain);
            assert_memory_equal(whole, part, 100 * bytes);
            for (int i = 0; i < 100; i++) {
                Scalar value = dtype_load(types[t], whole + i * (int)bytes);
                double x = dtype_is_float(types[t]) ? value.real : (double)value.whole;
                assert_true(x - x == 0 && (domain != 1 || types[t] == DT_BOOL || x > 0));
                assert_true(domain != 2 || (x > 0 && x <= 1));
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_right_chain_is_refused),
        cmocka_unit_test(integers_too),
        cmocka_unit_test(shapes_keep_their_class),
        cmocka_unit_test(stray_writes_are_seen),
        cmocka_unit_test(poison_is_wrong),
        cmocka_unit_test(a_forgotten_element_is_seen),
        cmocka_unit_test(random_programs),
        cmocka_unit_test(data_is_the_same_in_any_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
