/* Shapes: counting, broadcasting, products, text. Types: promotion, by every pair. */
#include "compiler/type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static Type shape(const char *text, DType dtype) {
    Type type = {.dtype = dtype};
    const char *why;
    if (!shape_parse(text, &type, &why)) fail_msg("%s: %s", text, why);
    return type;
}

static void assert_shape(const Type *type, const char *expected) {
    Text text = {0};
    shape_print(&text, type);
    assert_string_equal(text_string(&text), expected);
    text_free(&text);
}

static void shapes_read_and_print(void **state) {
    (void)state;
    static const char *const same[] = {"4096x4096", "0", "300x0", "scalar", "1x2x3x4x5x6x7x8"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        Type type = shape(same[i], DT_F32);
        assert_shape(&type, same[i]);
    }
}

static void wrong_shapes_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "x",
                                        "4x",
                                        "x4",
                                        "4xx4",
                                        "-1",
                                        "4 4",
                                        "4.5",
                                        "a",
                                        "scalarx4",
                                        "1x1x1x1x1x1x1x1x1",
                                        "9223372036854775808",
                                        "4611686018427387904x2",
                                        "99999999999999999999999",
                                        "4X4",
                                        "2147483648x2147483648x2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Type type = {.dtype = DT_F32};
        const char *why = NULL;
        if (shape_parse(wrong[i], &type, &why)) fail_msg("'%s' is read", wrong[i]);
        assert_non_null(why);
    }
}

static void counts_do_not_overflow(void **state) {
    (void)state;
    Type large = {.dtype = DT_F32, .rank = 2, .dim = {(int64_t)1 << 31, (int64_t)1 << 29}};
    assert_int_equal(type_count(&large), (int64_t)1 << 60);
    assert_int_equal(type_bytes(&large), (int64_t)1 << 62);
    large.dtype = DT_F64;
    assert_int_equal(type_count(&large), -1);
    Type empty = {.dtype = DT_F64, .rank = 3, .dim = {INT64_MAX, INT64_MAX, 0}};
    assert_int_equal(type_count(&empty), 0);
    Type scalar = {.dtype = DT_BF16};
    assert_int_equal(type_bytes(&scalar), 2);
}

typedef struct Row {
    const char *a, *b, *result; /* NULL: they do not fit */
} Row;

static void check_rows(const Row *rows, size_t count,
                       bool combine(const Type *, const Type *, Type *)) {
    for (size_t i = 0; i < count; i++) {
        Type a = shape(rows[i].a, DT_F32), b = shape(rows[i].b, DT_F32), result = {.dtype = DT_I8};
        bool fits = combine(&a, &b, &result);
        if (fits != (rows[i].result != NULL)) fail_msg("%s and %s", rows[i].a, rows[i].b);
        if (fits) assert_shape(&result, rows[i].result);
        assert_int_equal(result.dtype, DT_I8);
    }
}

static void shapes_broadcast_like_numpy(void **state) {
    (void)state;
    static const Row rows[] = {
        {"4x8", "8", "4x8"},       {"4x8", "4", NULL},
        {"4x1", "1x8", "4x8"},     {"scalar", "3", "3"},
        {"0", "1", "0"},           {"0", "2", NULL},
        {"3x1x5", "4x1", "3x4x5"}, {"scalar", "scalar", "scalar"},
        {"1", "scalar", "1"},      {"4096", "4095", NULL},
    };
    check_rows(rows, sizeof rows / sizeof *rows, type_broadcast);
}

static void products_fit_like_numpy(void **state) {
    (void)state;
    static const Row rows[] = {
        {"2x3", "3x4", "2x4"},
        {"3", "3", "scalar"},
        {"3", "3x4", "4"},
        {"2x3", "3", "2"},
        {"7x2x3", "3x4", "7x2x4"},
        {"3", "7x3x4", "7x4"},
        {"7x1x2x3", "5x3x4", "7x5x2x4"},
        {"2x3", "2x3", NULL},
        {"scalar", "3", NULL},
        {"2x2x3", "3x3x4", NULL},
        {"2x0", "0x3", "2x3"},
        {"3x2", "4", NULL},
    };
    check_rows(rows, sizeof rows / sizeof *rows, type_matmul);
}

static void strides_tell_shared_places(void **state) {
    (void)state;
    Type type = shape("4x5", DT_F32);
    int64_t strides[RANK_MAX];
    type_strides(&type, strides);
    assert_int_equal(strides[0], 5);
    assert_true(type_is_full(&type, strides));
    assert_true(type_is_full(&type, (int64_t[RANK_MAX]){1, 4}));
    assert_true(type_is_full(&type, (int64_t[RANK_MAX]){-8, 1}));
    assert_false(type_is_full(&type, (int64_t[RANK_MAX]){4, 1}));
    assert_false(type_is_full(&type, (int64_t[RANK_MAX]){0, 1}));
    Type row = shape("1x5", DT_F32), empty = shape("0x5", DT_F32);
    assert_true(type_is_full(&row, (int64_t[RANK_MAX]){0, 1}));
    assert_true(type_is_full(&empty, (int64_t[RANK_MAX]){0, 0}));
}

/* Rows and columns: bool u8 i8 i32 i64 f16 bf16 f32 f64. */
static void types_promote(void **state) {
    (void)state;
    static const char *const names[] = {"bool", "u8",   "i8",  "i32", "i64",
                                        "f16",  "bf16", "f32", "f64"};
    static const char *const table[9][9] = {
        {"i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
        {"i32", "u8", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
        {"i32", "i32", "i8", "i32", "i64", "f16", "bf16", "f32", "f64"},
        {"i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
        {"i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64"},
        {"f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
        {"bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64"},
        {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
        {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
    };
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++) {
            DType a, b;
            assert_true(dtype_find(names[i], &a));
            assert_true(dtype_find(names[j], &b));
            assert_string_equal(dtype_name(type_promote(a, b)), table[i][j]);
            assert_int_equal(type_promote(a, DT_WEAK), a);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_read_and_print),   cmocka_unit_test(wrong_shapes_are_refused),
        cmocka_unit_test(counts_do_not_overflow),  cmocka_unit_test(shapes_broadcast_like_numpy),
        cmocka_unit_test(products_fit_like_numpy), cmocka_unit_test(strides_tell_shared_places),
        cmocka_unit_test(types_promote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
