/* The Ir: equal values are one, canonical text, bytes and back, damaged bytes, groups. */
#include "program.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/group.h"
#include "compiler/simplify.h"

static void equal_values_are_one(void **state) {
    (void)state;
    Program program = program_open("(x + y) * (x + y) + sum(x + y) - sum(x + y)", "4x4");
    assert_int_equal(program.ir->nodes.count, 1 + 2 + 1 + 1 + 1 + 1 + 1);
    program_close(&program);
    Program zeros = program_open("a = x * 0; b = x * -0.0; return a, b", "4");
    assert_int_not_equal(zeros.ir->outputs.data[0].value, zeros.ir->outputs.data[1].value);
    program_close(&zeros);
}

static char *canonical(const char *text, const char *about) {
    Text out = {0};
    Program program = program_open(text, about);
    assert_non_null(program.ir);
    ir_print(&out, simplify(program.arena, program.ir, true), true);
    program_close(&program);
    return out.data;
}

static void assert_canonical(const char *a, const char *about_a, const char *b, const char *about_b,
                             bool same) {
    char *left = canonical(a, about_a), *right = canonical(b, about_b);
    if ((strcmp(left, right) == 0) != same) fail_msg("%s\n%s\n%s\n%s", a, left, b, right);
    free(left);
    free(right);
}

static void keys_depend_on_meaning_alone(void **state) {
    (void)state;
    assert_canonical("out = gelu(x + b) # here", "4x8 b=8", "y=gelu( a+c )", "40x80 c=80", true);
    assert_canonical("x * 1 + y", "4", "a + b", "4", true);
    assert_canonical("param e = 1.5; x * e", "4", "param f = 2.5; x * f", "4", true);
    assert_canonical("param e = 1; x * e", "4", "param f = 2.5; x * f", "4", false);
    assert_canonical("x + y", "4", "x - y", "4", false);
    assert_canonical("x + y", "4", "x + x", "4", false);
    assert_canonical("x + y", "4x4", "x + y", "4x4 y=4x1", false);
    assert_canonical("x + y", "4", "x + y", "4:f16", false);
    assert_canonical("x * 0.5", "4", "x * 0.25", "4", false);
    assert_canonical("sum(x, axis=0)", "4x4", "sum(x, axis=1)", "4x4", false);
    assert_canonical("x = x + 1", "4", "y = x + 1", "4", false);
}

static const char *const programs[][2] = {
    {"out = gelu(x + b) + res", "4x8 b=8"},
    {"h = x + b; y = silu(h) * gate; return y, h", "4x8:f16"},
    {"param eps = 1e-5; y = x / sqrt(mean(x * x) + eps)", "4x8:bf16"},
    {"x = x * 2; y = a @ b.T", "x=4 a=3x4 b=5x4/1/5"},
    {"i8(x) // 3 + (x > 0 ? 1 : 0)", "4:i64"},
    {"out = 1.5", "0"},
    {"x + f64(y)", "scalar"},
};

static void bytes_come_back(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        Program program = program_open(programs[i][0], programs[i][1]);
        Text bytes = {0};
        assert_non_null(program.ir);
        ir_write(&bytes, program.ir);
        Ir *back = ir_read(program.arena, bytes.data, bytes.length);
        assert_non_null(back);
        const Ir *flat = ir_copy(program.arena, program.ir, true);
        assert_string_equal(program_text(&program, back), program_text(&program, flat));
        assert_int_equal(back->compute, flat->compute);
        text_free(&bytes);
        program_close(&program);
    }
}

static void damaged_bytes_are_refused(void **state) {
    (void)state;
    Program program = program_open(programs[1][0], programs[1][1]);
    Text bytes = {0};
    ir_write(&bytes, program.ir);
    for (size_t cut = 0; cut < bytes.length; cut++)
        assert_null(ir_read(program.arena, bytes.data, cut));
    for (size_t bit = 0; bit < bytes.length * 8; bit++) {
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        assert_null(ir_read(program.arena, bytes.data, bytes.length));
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    text_free(&bytes);
    program_close(&program);
}

/* Bytes that lie with a right checksum give NULL or a sound Ir, never worse. */
static void lying_bytes_do_no_harm(void **state) {
    (void)state;
    static const unsigned char lies[] = {0, 1, 2, 7, 9, 60, 127, 255};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        Program program = program_open(programs[i][0], programs[i][1]);
        Text bytes = {0};
        ir_write(&bytes, program.ir);
        for (size_t at = 16; at < bytes.length * sizeof lies; at++) {
            size_t place = 16 + at % (bytes.length - 16);
            char kept = bytes.data[place];
            bytes.data[place] = (char)lies[at % sizeof lies];
            uint64_t sum = XXH3_64bits(bytes.data + 16, bytes.length - 16);
            memcpy(bytes.data + 8, &sum, sizeof sum);
            Arena *arena = arena_open();
            Ir *ir = ir_read(arena, bytes.data, bytes.length);
            if (ir != NULL) assert_null(verify(simplify(arena, ir, true), arena));
            arena_close(arena);
            bytes.data[place] = kept;
        }
        text_free(&bytes);
        program_close(&program);
    }
}

static void params_are_evaluated_on_the_host(void **state) {
    (void)state;
    Program program = program_open(
        "param a = 2; param b = 0.5; y = x * (sqrt(a * 8) - b ** 2 > 3 ? a : b)", "4 @a=3");
    const IrNode *product = ir_node(program.ir, program.ir->outputs.data[0].value);
    const IrNode *cast = ir_node(program.ir, product->arg[1]);
    assert_int_equal(cast->op, IR_CAST);
    assert_true(ir_weak(program.ir, cast->arg[0]) == 3);
    program.ir->params.data[0].value = 0.1;
    assert_true(ir_weak(program.ir, cast->arg[0]) == 0.5);
    program_close(&program);
}

typedef struct Kind {
    const char *text, *about;
    GroupKind kind;
    bool one_pass;
} Kind;

static void programs_are_groups(void **state) {
    (void)state;
    static const Kind rows[] = {
        {"s = x + y; out = relu(s); return s, out", "4", GROUP_ELEMENTWISE, false},
        {"a = x + 1; b = y + 1", "4 y=4x4", GROUP_NONE, false},
        {"a = x + 1; b = x / sum(x)", "4x4", GROUP_ROWS, false},
        {"a = x / sum(x); b = max(x)", "4x4", GROUP_ROWS, false},
        {"max(x) - min(x)", "4x4", GROUP_ROWS, true},
        {"sum(exp(x - max(x)))", "4x4", GROUP_ROWS, false},
        {"sum(x * y, axis=all) + 1", "4x4 y=4", GROUP_REDUCTION, true},
        {"sum(x, axis=0)", "4x4", GROUP_REDUCTION, true},
        {"x - sum(x, axis=0)", "4x4", GROUP_NONE, false},
        {"sum(x) + sum(y, axis=0)", "4x4", GROUP_NONE, false},
        {"sum(x) * sum(y)", "4x4 y=4x5", GROUP_NONE, false},
        {"x * sum(y)", "4x4 y=5", GROUP_NONE, false},
        {"a = x @ y + mean(x)", "4x4", GROUP_NONE, false},
        {"a = x.T + y", "4x4", GROUP_ELEMENTWISE, false},
        {"a = (x + 1).T", "4x4", GROUP_NONE, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Program program = program_open(rows[i].text, rows[i].about);
        assert_non_null(program.ir);
        Group group = group_find(simplify(program.arena, program.ir, true));
        if (group.kind != rows[i].kind || group.one_pass != rows[i].one_pass)
            fail_msg("%s: kind %d, one pass %d", rows[i].text, group.kind, group.one_pass);
        program_close(&program);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_values_are_one),
        cmocka_unit_test(keys_depend_on_meaning_alone),
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(lying_bytes_do_no_harm),
        cmocka_unit_test(params_are_evaluated_on_the_host),
        cmocka_unit_test(programs_are_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
