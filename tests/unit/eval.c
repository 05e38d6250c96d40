/* The oracle's values against tests/eval.test, and its parts against each other: blocks, lists,
 * threads, the compute type's chain inside the intervals, simplified programs with the same
 * bits. */
#include "compiler/eval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lowered.h"

/* --- eval.test: three lines a case */

enum { LINE = 4096, ELEMENTS = 4096 };

typedef struct Case {
    char text[3]
             [LINE]; /* "expression :: x f32 2x3, y i8 scalar :: out bf16 round", inputs, results */
    int line;
    InputSpec inputs[16];
    uint32_t input_count;
    LowerOptions options;
} Case;

static char *trim(char *text) {
    while (*text == ' ') text++;
    for (size_t n = strlen(text); n > 0 && strchr(" \n", text[n - 1]); n--) text[n - 1] = '\0';
    return text;
}

static void read_input(Arena *arena, Case *test, char *text) {
    char name[64], dtype[16], shape[64];
    const char *why;
    InputSpec *spec = &test->inputs[test->input_count++];
    assert_int_equal(sscanf(text, "%63s %15s %63s", name, dtype, shape), 3);
    *spec = (InputSpec){
        .name = arena_copy(arena, name, strlen(name)), .has_shape = true, .has_dtype = true};
    assert_true(dtype_find(dtype, &spec->type.dtype) && shape_parse(shape, &spec->type, &why));
}

static void read_options(Case *test, char *text) {
    char dtype[16];
    char *out = strstr(text, "out ");
    test->options.round_each_op = strstr(text, "round") != NULL;
    if (out == NULL) return;
    assert_int_equal(sscanf(out, "out %15s", dtype), 1);
    test->options.has_out_dtype = true;
    assert_true(dtype_find(dtype, &test->options.out_dtype));
}

/* The first line's parts; what is left is the expression. */
static char *read_head(Arena *arena, Case *test) {
    char *inputs = strstr(test->text[0], "::"), *options = inputs ? strstr(inputs + 2, "::") : NULL;
    test->options =
        (LowerOptions){.has_shape = true, .plain = {.dtype = DT_F32, .rank = 1, .dim = {1}}};
    test->input_count = 0;
    if (options) *options = '\0', read_options(test, options + 2);
    if (inputs) *inputs = '\0';
    for (char *part = inputs ? strtok(inputs + 2, ",") : NULL; part; part = strtok(NULL, ","))
        if (*trim(part) != '\0') read_input(arena, test, part);
    test->options.inputs = test->inputs;
    test->options.input_count = test->input_count;
    return trim(test->text[0]);
}

static Scalar read_scalar(DType type, const char *word) {
    if (dtype_is_float(type)) return (Scalar){.real = dtype_round(type, strtod(word, NULL))};
    return (Scalar){.whole = strtoll(word, NULL, 0)};
}

/* "x = 1 2; y = 3" into storage by input. */
static const void **read_values(Arena *arena, const Ir *ir, char *text) {
    const void **inputs = arena_array(arena, const void *, ir->inputs.count);
    for (char *end, *part = trim(text); *part; part = end) {
        end = part + strcspn(part, ";");
        if (*end) *end++ = '\0';
        char *equals = strchr(part, '=');
        assert_non_null(equals);
        *equals = '\0';
        for (uint32_t i = 0; i < ir->inputs.count; i++) {
            const Type *type = &ir->inputs.data[i].type;
            uint8_t *bytes = arena_alloc(arena, ELEMENTS * 8);
            int64_t n = 0;
            if (strcmp(trim(part), ir->inputs.data[i].name) != 0) continue;
            for (char *word = strtok(equals + 1, " "); word; word = strtok(NULL, " "), n++)
                dtype_store(type->dtype, bytes + n * (int64_t)dtype_info(type->dtype)->bytes,
                            read_scalar(type->dtype, word));
            assert_int_equal(n, type_count(type));
            inputs[i] = bytes;
        }
    }
    return inputs;
}

static bool same_scalar(DType type, Scalar a, Scalar b) {
    if (!dtype_is_float(type)) return a.whole == b.whole;
    if (isnan(a.real) || isnan(b.real)) return isnan(a.real) && isnan(b.real);
    return a.real == b.real && !signbit(a.real) == !signbit(b.real);
}

/* "~1.5" is right to 1e-5 relative, a number bit for bit. */
static void compare(const Case *test, const IrOutput *output, const uint8_t *values, char *text) {
    DType type = output->type.dtype;
    int64_t n = 0;
    for (char *save, *word = strtok_r(text, " ", &save); word;
         word = strtok_r(NULL, " ", &save), n++) {
        Scalar value = dtype_load(type, values + n * (int64_t)dtype_info(type)->bytes);
        Scalar wanted = read_scalar(type, word[0] == '~' ? word + 1 : word);
        bool close = word[0] == '~' && fabs(value.real - wanted.real) <= 1e-5 * fabs(wanted.real);
        if (close || same_scalar(type, value, wanted)) continue;
        if (dtype_is_float(type))
            printf("line %d, %s[%d]: %.9g, wanted %s\n", test->line, output->name, (int)n,
                   value.real, word);
        else
            printf("line %d, %s[%d]: %lld, wanted %s\n", test->line, output->name, (int)n,
                   (long long)value.whole, word);
        fail();
    }
    assert_int_equal(n, type_count(&output->type));
}

static void check_values(Eval *eval, uint32_t output, int64_t count, const uint8_t *values,
                         const Case *test) {
    Check check = check_none();
    check_block(eval_range(eval, 0, output, 0, count), values, 0, &check);
    if (check.wrong > 0)
        printf("line %d: element %d outside its interval\n", test->line, (int)check.first_wrong);
    assert_int_equal(check.wrong, 0);
}

static void run_case(Case *test) {
    Arena *arena = arena_open();
    Ir *ir = lowered(arena, read_head(arena, test), &test->options);
    if (ir == NULL) printf("line %d\n", test->line);
    assert_non_null(ir);
    Eval *eval = eval_open(ir, read_values(arena, ir, test->text[1]), ACCURACY_C, NULL);
    char *result = test->text[2];
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        int64_t count = type_count(&ir->outputs.data[i].type);
        uint8_t *values = arena_alloc(arena, (size_t)count * 8);
        char *end = result + strcspn(result, ";");
        if (*end) *end++ = '\0';
        eval_values(eval, i, values);
        compare(test, &ir->outputs.data[i], values, trim(result));
        check_values(eval, i, count, values, test);
        eval_chain(eval, i, 0, count, values);
        check_values(eval, i, count, values, test);
        result = end;
    }
    eval_close(eval);
    arena_close(arena);
}

static void three_line_cases(void **unused) {
    FILE *file = fopen(TEST_SOURCE "/tests/eval.test", "r");
    Case test = {0};
    int line = 0, part = 0, cases = 0;
    (void)unused;
    assert_non_null(file);
    while (fgets(test.text[part], LINE, file)) {
        char *text = trim(test.text[part]);
        line++;
        if (part == 0 && (*text == '\0' || *text == '#')) continue;
        if (part == 0) test.line = line;
        if (++part < 3) continue;
        run_case(&test);
        part = 0;
        cases++;
    }
    fclose(file);
    assert_int_equal(part, 0);
    assert_true(cases > 80);
}

/* --- blocks, lists and threads give the same */

static const void **sample_inputs(Arena *arena, const Ir *ir) {
    const void **inputs = arena_array(arena, const void *, ir->inputs.count);
    uint32_t state = 1;
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const Type *type = &ir->inputs.data[i].type;
        uint8_t *bytes = arena_alloc(arena, (size_t)type_count(type) * 8);
        for (int64_t n = 0; n < type_count(type); n++) {
            state = state * 1664525u + 1013904223u;
            int32_t whole = (int32_t)(state >> 20) - 2048;
            Scalar value = {.whole = whole % 100};
            if (dtype_is_float(type->dtype)) value.real = dtype_round(type->dtype, whole / 512.0);
            dtype_store(type->dtype, bytes + n * (int64_t)dtype_info(type->dtype)->bytes, value);
        }
        inputs[i] = bytes;
    }
    return inputs;
}

static void expect_same(const Expected *a, int64_t at, const Expected *b, int64_t other) {
    int64_t bytes = dtype_info(a->dtype)->bytes;
    assert_memory_equal((uint8_t *)a->lo + at * bytes, (uint8_t *)b->lo + other * bytes, bytes);
    assert_memory_equal((uint8_t *)a->hi + at * bytes, (uint8_t *)b->hi + other * bytes, bytes);
    assert_int_equal(a->may_nan[at], b->may_nan[other]);
}

static void any_way_of_asking(void **unused) {
    static const char *const texts[] = {
        "gelu(x + b) + c * x",          "x.T.T * x",     "exp(x - max(x)) / sum(exp(x - max(x)))",
        "sum(x, axis=0) + (x + b).T.T", "x @ (x + b).T", "var(x, axis=all) + mean(x)",
    };
    InputSpec specs[] = {
        {.name = "b", .has_shape = true, .type = {.dtype = DT_F32, .rank = 1, .dim = {37}}},
        {.name = "c", .has_shape = true, .type = {.dtype = DT_F32, .rank = 2, .dim = {29, 1}}}};
    LowerOptions options = {
        .has_shape = true, .plain = {.dtype = DT_F32, .rank = 2, .dim = {29, 37}}, .inputs = specs};
    (void)unused;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        Arena *arena = arena_open();
        Team *team = team_open(3);
        options.input_count = t == 0 ? 2 : strchr(texts[t], 'b') != NULL;
        Ir *ir = lowered(arena, texts[t], &options);
        assert_non_null(ir);
        const void **inputs = sample_inputs(arena, ir);
        Eval *one = eval_open(ir, inputs, ACCURACY_CUDA, NULL),
             *many = eval_open(ir, inputs, ACCURACY_CUDA, team);
        int64_t count = type_count(&ir->outputs.data[0].type), list[50];
        const Expected *whole = eval_range(one, 0, 0, 0, count);
        for (int64_t begin = 0; begin < count; begin += 97) {
            int64_t n = count - begin < 50 ? count - begin : 50;
            const Expected *part = eval_range(many, (int)(begin % team_size(team)), 0, begin, n);
            for (int64_t i = 0; i < n; i++)
                expect_same(whole, begin + i, part, i), list[i] = (begin + i * 31) % count;
            part = eval_gather(many, 1, 0, list, n);
            for (int64_t i = 0; i < n; i++) expect_same(whole, list[i], part, i);
        }
        eval_close(one);
        eval_close(many);
        team_close(team);
        arena_close(arena);
    }
}

/* --- strides */

static void strides_are_followed(void **unused) {
    Arena *arena = arena_open();
    LowerOptions options = {.has_shape = true,
                            .plain = {.dtype = DT_F32, .rank = 2, .dim = {7, 9}}};
    Ir *ir = lowered(arena, "x * 2 + y.T.T - z", &options);
    float *memory = arena_array(arena, float, 2000), *x = memory + 300, *y = memory + 1000,
          *z = memory + 1500;
    const int64_t strides[3][2] = {{-20, 2}, {1, 7}, {0, -1}};
    const void *inputs[] = {x, y, z};
    (void)unused;
    assert_non_null(ir);
    for (int i = 0; i < 2000; i++) memory[i] = (float)(i * 37 % 101);
    for (int i = 0; i < 3; i++)
        for (int axis = 0; axis < 2; axis++) ir->inputs.data[i].strides[axis] = strides[i][axis];
    Eval *eval = eval_open(ir, inputs, ACCURACY_C, NULL);
    float *out = arena_array(arena, float, 63);
    eval_values(eval, 0, out);
    for (int r = 0; r < 7; r++)
        for (int c = 0; c < 9; c++)
            assert_true(out[r * 9 + c] == x[-20 * r + 2 * c] * 2 + y[r + 7 * c] - z[-c]);
    eval_close(eval);
    arena_close(arena);
}

/* --- long programs */

static void ten_thousand_terms(void **unused) {
    Arena *arena = arena_open();
    Text text = {0};
    LowerOptions options = {.has_shape = true, .plain = {.dtype = DT_F32, .rank = 1, .dim = {100}}};
    (void)unused;
    text_add(&text, "x");
    for (int i = 1; i < 10000; i++) text_printf(&text, " + x * %d", i);
    Ir *ir = lowered(arena, text_string(&text), &options);
    assert_non_null(ir);
    const void **inputs = sample_inputs(arena, ir);
    Eval *eval = eval_open(ir, inputs, ACCURACY_C, NULL);
    const float *x = inputs[0], *lo = eval_range(eval, 0, 0, 0, 100)->lo;
    for (int n = 0; n < 100; n++) {
        float sum = x[n];
        for (int i = 1; i < 10000; i++) sum += x[n] * (float)i;
        assert_true(sum == lo[n]);
    }
    eval_close(eval);
    text_free(&text);
    arena_close(arena);
}

/* --- judging */

static void check_sees_one_element(void **unused) {
    Arena *arena = arena_open();
    LowerOptions options = {.has_shape = true,
                            .plain = {.dtype = DT_F32, .rank = 1, .dim = {3000}}};
    Ir *ir = lowered(arena, "exp(x)", &options);
    Eval *eval = eval_open(ir, sample_inputs(arena, ir), ACCURACY_C, NULL);
    float *out = arena_array(arena, float, 3000);
    Check check = check_none(), other = check_none();
    (void)unused;
    eval_values(eval, 0, out);
    check_block(eval_range(eval, 0, 0, 0, 3000), out, 100, &check);
    assert_true(check.wrong == 0 && check.checked == 3000 && check.worst_ulp <= 0.5 &&
                check.worst_bound < 1);
    out[1700] = nextafterf(nextafterf(out[1700], INFINITY), INFINITY);
    check_block(eval_range(eval, 0, 0, 0, 3000), out, 0, &other);
    assert_true(other.wrong == 0 && other.worst_ulp_at == 1700 && other.worst_ulp > 1.4);
    out[1700] *= 1.00001f;
    out[2999] = NAN;
    check_block(eval_range(eval, 0, 0, 0, 3000), out, 5000, &other);
    assert_true(other.wrong == 2 && other.first_wrong == 6700);
    check_merge(&check, &other);
    assert_true(check.checked == 9000 && check.first_wrong == 6700 && check.worst_ulp > 1.4);
    eval_close(eval);
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_line_cases),       cmocka_unit_test(any_way_of_asking),
        cmocka_unit_test(strides_are_followed),   cmocka_unit_test(ten_thousand_terms),
        cmocka_unit_test(check_sees_one_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
