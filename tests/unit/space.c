/* Spaces: index and point are a bijection, print and parse an identity, constraints exact. */
#include "registry/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "grammar/parse.h"

static Arena *arena;

static int open_arena(void **state) {
    (void)state;
    arena = arena_open();
    return 0;
}

static int close_arena(void **state) {
    (void)state;
    arena_close(arena);
    return 0;
}

static uint32_t next(uint32_t *random) {
    *random = *random * 1664525u + 1013904223u;
    return *random >> 16;
}

/* Knobs K0 …, each with a few values out of order. */
static Space random_space(uint32_t *random) {
    Space space = {.arena = arena};
    uint32_t knobs = next(random) % 5;
    for (uint32_t k = 0; k < knobs; k++) {
        int64_t values[8];
        uint32_t count = 1 + next(random) % 8;
        for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)(i * 37 % 11) * (k % 2 ? -3 : 5);
        assert_true(space_add_knob(&space, arena_printf(arena, "__K%u__", k), values, count,
                                   values[next(random) % count]));
    }
    return space;
}

static const Ast *expression(const char *text) {
    Diags diags = {.arena = arena};
    const Ast *ast =
        parse_expression(arena, source_new(arena, "<expr>", text, strlen(text)), &diags);
    if (!ast) fail_msg("'%s' does not parse", text);
    return ast;
}

static void require(Space *space, const char *text, bool hard) {
    const Ast *ast = expression(text);
    Constraint constraint = {ast, ast->statements.data[0].value, hard};
    array_push(arena, &space->constraints, constraint);
}

static const Binding facts[] = {{"rows", 100}, {"cols", 37}, {"sms", 132}, {"VEC", 1000}};
static const Bindings bindings = {facts, 4};

static Space vec_block(void) {
    static const int64_t vec[] = {1, 2, 4, 8}, block[] = {64, 128, 256};
    Space space = {.arena = arena};
    assert_true(space_add_knob(&space, "__VEC__", vec, 4, 4));
    assert_true(space_add_knob(&space, "__BLOCK__", block, 3, 128));
    return space;
}

static void index_and_point_are_a_bijection(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int round = 0; round < 200; round++) {
        Space space = random_space(&random);
        for (uint64_t index = 0; index < space_size(&space); index++) {
            Point point = space_point(&space, index);
            assert_true(space_index(&space, &point) == index);
        }
        Point fallback = space_fallback(&space);
        assert_true(space_index(&space, &fallback) < space_size(&space));
    }
}

static void printing_and_parsing_are_an_identity(void **state) {
    (void)state;
    uint32_t random = 2;
    for (int round = 0; round < 100; round++) {
        Space space = random_space(&random);
        Point point = space_point(&space, next(&random) % space_size(&space)), again;
        Point base = space_fallback(&space);
        const char *why;
        Text text = {0};
        point_print(&text, &space, &point, round % 2 ? "," : " ");
        assert_true(point_parse(&space, text_string(&text), &base, arena, &again, &why));
        assert_true(space_index(&space, &again) == space_index(&space, &point));
        text_free(&text);
    }
}

static void parses_points(void **state) {
    (void)state;
    Space space = vec_block();
    Point base = space_fallback(&space), point;
    const char *why;
    assert_true(point_parse(&space, "", &base, arena, &point, &why));
    assert_true(point.value[0] == 4 && point.value[1] == 128);
    assert_true(point_parse(&space, " __VEC__=8,", &base, arena, &point, &why));
    assert_true(point.value[0] == 8 && point.value[1] == 128);
    const char *const wrong[][2] = {
        {"VEK=4", "no knob is called 'VEK'; the knobs are VEC BLOCK"},
        {"VEC=3", "VEC cannot be '3'; its values are 1 2 4 8"},
        {"VEC", "VEC cannot be ''; its values are 1 2 4 8"},
        {"VEC=", "VEC cannot be ''; its values are 1 2 4 8"},
        {"VEC=4x", "VEC cannot be '4x'; its values are 1 2 4 8"},
        {"VEC=99999999999999999999",
         "VEC cannot be '99999999999999999999'; its values are 1 2 4 8"},
        {"VEC=4,__VEC__=8", "VEC is given twice"},
        {"=4", "no knob is called ''; the knobs are VEC BLOCK"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(point_parse(&space, wrong[i][0], &base, arena, &point, &why));
        assert_string_equal(why, wrong[i][1]);
    }
}

static void refuses_bad_knobs(void **state) {
    (void)state;
    static const int64_t values[] = {1, 2, 1};
    Space space = vec_block();
    assert_false(space_add_knob(&space, "__A__", values, 3, 1));
    assert_false(space_add_knob(&space, "__A__", values, 2, 3));
    assert_false(space_add_knob(&space, "__A__", values, 0, 1));
    assert_false(space_add_knob(&space, "__VEC__", values, 2, 1));
    assert_false(space_add_knob(&space, "VEC", values, 2, 1));
    assert_false(space_add_knob(&space, "____", values, 2, 1));
    assert_int_equal(space.knob_count, 2);
    for (uint32_t i = 2; i < SPACE_KNOBS; i++)
        assert_true(space_add_knob(&space, arena_printf(arena, "k%u", i), values, 2, 2));
    assert_false(space_add_knob(&space, "more", values, 2, 1));
}

static void knows_a_product_too_large_to_count(void **state) {
    (void)state;
    Space space = {.arena = arena};
    int64_t values[SPACE_VALUES];
    for (int64_t i = 0; i < SPACE_VALUES; i++) values[i] = i;
    for (uint32_t k = 0; k < 10; k++)
        assert_true(space_add_knob(&space, arena_printf(arena, "k%u", k), values, SPACE_VALUES, 0));
    assert_true(space_size(&space) == UINT64_C(1) << 60);
    assert_true(space_add_knob(&space, "k10", values, SPACE_VALUES, 0));
    assert_true(space_size(&space) == UINT64_MAX);
}

static void evaluates(void **state) {
    (void)state;
    const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"__VEC__ * __BLOCK__ + 1", 513},
        {"VEC", 4},
        {"ceildiv(rows, cols)", 3},
        {"ceildiv(-7, 2)", -3},
        {"ceildiv(7, -2)", -3},
        {"ceildiv(-7, -2)", 4},
        {"-7 // 2", -4},
        {"-7 % 2", 1},
        {"7 % -2", -1},
        {"7 // -1", -7},
        {"7 % -1", 0},
        {"min(3, max(1, 2))", 2},
        {"abs(-5) - -3", 8},
        {"2 ** 62", INT64_C(1) << 62},
        {"(-1) ** 1001", -1},
        {"0 ** 0", 1},
        {"!rows", 0},
        {"+rows", 100},
        {"rows > cols && cols != 37", 0},
        {"rows == 100 ? sms : 1 // 0", 132},
        {"rows == 0 && 1 // 0", 0},
        {"rows || 1 % 0", 1},
        {"7 && 5", 1},
        {"0 || 5", 1},
        {"1 <= 1", 1},
        {"2 >= 3", 0},
    };
    Space space = vec_block();
    Point point = space_fallback(&space);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Ast *ast = expression(cases[i].text);
        int64_t value;
        const char *why;
        bool fine =
            space_eval(&space, &point, bindings, ast, ast->statements.data[0].value, &value, &why);
        if (!fine || value != cases[i].value)
            fail_msg("%s = %lld %s", cases[i].text, (long long)value, why ? why : "");
    }
}

static void fails_to_evaluate(void **state) {
    (void)state;
    const char *const cases[][2] = {
        {"9007199254740992 * 9007199254740992", "overflow"},
        {"2 ** 63", "overflow"},
        {"-2 ** 63 < 0 || 1", "overflow"},
        {"2 ** 62 + 2 ** 62", "overflow"},
        {"0 - 2 ** 62 - 2 ** 62 - 1", "overflow"},
        {"(0 - 2 ** 62 - 2 ** 62) // -1", "overflow"},
        {"abs(0 - 2 ** 62 - 2 ** 62)", "overflow"},
        {"10 ** 1000000", "overflow"},
        {"2 ** -1", "negative exponent"},
        {"1 // (rows - 100)", "division by zero"},
        {"1 % 0", "division by zero"},
        {"ceildiv(1, 0)", "division by zero"},
        {"1 // 0 ? 1 : 2", "division by zero"},
        {"1 && 1 // 0", "division by zero"},
        {"min(1, 1 // 0)", "division by zero"},
        {"lines + 1", "unknown name"},
        {"sqrt(4)", "unknown function"},
        {"min(a=1, b=2)", "unknown function"},
        {"rows / 2", "'/' is no division of integers: write '//'"},
        {"rows @ cols", "no operator of integers"},
        {"rows.T", "no operator of integers"},
        {"0.5", "no whole number up to 2**53"},
        {"inf", "no whole number up to 2**53"},
        {"nan", "no whole number up to 2**53"},
    };
    Space space = vec_block();
    Point point = space_fallback(&space);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Ast *ast = expression(cases[i][0]);
        int64_t value;
        const char *why = NULL;
        assert_false(
            space_eval(&space, &point, bindings, ast, ast->statements.data[0].value, &value, &why));
        assert_string_equal(why, cases[i][1]);
    }
}

static const char *repeat(const char *piece, int count, const char *end) {
    Text text = {0};
    for (int i = 0; i < count; i++) text_add(&text, piece);
    text_add(&text, end);
    const char *copy = arena_copy(arena, text.data, text.length);
    text_free(&text);
    return copy;
}

static void bounds_the_size_of_expressions(void **state) {
    (void)state;
    Space space = vec_block();
    Point point = space_fallback(&space);
    Diags diags = {.arena = arena};
    int64_t value;
    const char *why;
    const Ast *ast = expression(repeat("1 + ", 500, "1"));
    Node root = ast->statements.data[0].value;
    assert_true(space_eval(&space, &point, bindings, ast, root, &value, &why) && value == 501);
    ast = expression(repeat("1 + ", 9000, "1"));
    root = ast->statements.data[0].value;
    assert_false(space_eval(&space, &point, bindings, ast, root, &value, &why));
    assert_false(space_check(&space, bindings, ast, root, &diags));
}

static void checks_expressions_ahead(void **state) {
    (void)state;
    const char *const cases[][2] = {
        {"ceildiv(rows, VEC) * __BLOCK__ ** 2", ""},
        {"rows * __BLOK__", "did you mean '__BLOCK__'?"},
        {"rows / 2", "write '//'"},
        {"1 && cells", "'cells' is no knob, size or fact of the machine"},
        {"floor(rows)", "a function here is ceildiv(a, b)"},
        {"0.5 * rows", "no whole number"},
        {"rows.T", "no operator of integers"},
    };
    Space space = vec_block();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Ast *ast = expression(cases[i][0]);
        Diags diags = {.arena = arena};
        Text text = {0};
        bool fine = space_check(&space, bindings, ast, ast->statements.data[0].value, &diags);
        diags_print(&text, &diags);
        assert_int_equal(fine, !*cases[i][1]);
        assert_int_equal(diags.errors, !fine);
        assert_non_null(strstr(text_string(&text), cases[i][1]));
        text_free(&text);
    }
}

static void allows_what_constraints_say(void **state) {
    (void)state;
    Space space = vec_block();
    require(&space, "VEC * BLOCK <= 512", true);
    require(&space, "cols % VEC == 0 || VEC >= 4", false);
    uint64_t *indices;
    uint32_t hard = space_allowed(&space, bindings, false, arena, 100, 0, &indices);
    assert_int_equal(hard, 3 + 3 + 2 + 1);
    uint32_t sensible = space_allowed(&space, bindings, true, arena, 100, 0, &indices);
    assert_int_equal(sensible, 3 + 0 + 2 + 1);
    for (uint32_t i = 0; i < sensible; i++) {
        Point point = space_point(&space, indices[i]);
        assert_true(space_allows(&space, &point, bindings, true));
        assert_true(i == 0 || indices[i - 1] < indices[i]);
    }
    require(&space, "1 // (rows - 100)", true);
    assert_int_equal(space_allowed(&space, bindings, false, arena, 100, 0, &indices), 0);
}

static void samples_what_is_too_much(void **state) {
    (void)state;
    Space space = {.arena = arena};
    int64_t values[SPACE_VALUES];
    uint64_t *some, *again, *others;
    for (int64_t i = 0; i < SPACE_VALUES; i++) values[i] = i;
    for (uint32_t k = 0; k < 9; k++)
        assert_true(space_add_knob(&space, arena_printf(arena, "k%u", k), values, SPACE_VALUES, 0));
    require(&space, "k0 % 2 == 0", true);
    uint32_t count = space_allowed(&space, bindings, true, arena, 1000, 7, &some);
    assert_int_equal(count, 1000);
    for (uint32_t i = 0; i < count; i++) assert_true(i == 0 || some[i - 1] < some[i]);
    space_allowed(&space, bindings, true, arena, 1000, 7, &again);
    space_allowed(&space, bindings, true, arena, 1000, 8, &others);
    assert_memory_equal(some, again, count * sizeof *some);
    assert_memory_not_equal(some, others, count * sizeof *some);
}

/* The walk over knobs finds what trying every point finds. */
static void walks_to_every_allowed_point(void **state) {
    (void)state;
    Space space = {.arena = arena};
    const int64_t a[] = {1, 2, 3, 4, 5}, b[] = {8, 0, 16}, c[] = {7, 1, 3, 9};
    assert_true(space_add_knob(&space, "__A__", a, 5, 1) &&
                space_add_knob(&space, "__B__", b, 3, 8));
    assert_true(space_add_knob(&space, "__C__", c, 4, 7));
    require(&space, "8 % A == 0 || C > 3", true);
    require(&space, "B == 0 || B // A >= 4", true);
    require(&space, "A + C != B", false);
    require(&space, "2 > 1", true);
    for (int sensible = 0; sensible < 2; sensible++) {
        uint64_t *indices;
        uint32_t found = 0;
        uint32_t count = space_allowed(&space, bindings, sensible, arena, 1000, 0, &indices);
        for (uint64_t i = 0; i < space_size(&space); i++) {
            Point point = space_point(&space, i);
            if (!space_allows(&space, &point, bindings, sensible)) continue;
            assert_true(found < count && indices[found] == i);
            found++;
        }
        assert_int_equal(found, count);
    }
}

static void the_default_is_near_the_first_values(void **state) {
    (void)state;
    const int64_t powers[] = {256, 1, 2, 4, 8, 16, 32, 64, 128}, few[] = {1, 2, 4};
    Space space = {.arena = arena};
    Point point;
    assert_true(space_add_knob(&space, "__T__", powers, 9, 256));
    assert_true(space_add_knob(&space, "__R__", few, 3, 1));
    assert_true(space_default(&space, bindings, &point));
    assert_int_equal(point.value[0], 256);
    require(&space, "T <= 100", false);
    assert_true(space_default(&space, bindings, &point));
    assert_int_equal(point.value[0], 64);
    assert_int_equal(point.value[1], 1);
    require(&space, "T * R == 64", true);
    require(&space, "T != 64", true);
    assert_true(space_default(&space, bindings, &point));
    assert_int_equal(point.value[0], 32);
    require(&space, "T == 256 && R == 1 || T > 1000", false); /* nothing is sensible */
    assert_true(space_default(&space, bindings, &point));
    assert_int_equal(point.value[0], 32);
    require(&space, "R > 4", true);
    assert_false(space_default(&space, bindings, &point));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_and_point_are_a_bijection),
        cmocka_unit_test(printing_and_parsing_are_an_identity),
        cmocka_unit_test(parses_points),
        cmocka_unit_test(refuses_bad_knobs),
        cmocka_unit_test(knows_a_product_too_large_to_count),
        cmocka_unit_test(evaluates),
        cmocka_unit_test(fails_to_evaluate),
        cmocka_unit_test(bounds_the_size_of_expressions),
        cmocka_unit_test(checks_expressions_ahead),
        cmocka_unit_test(allows_what_constraints_say),
        cmocka_unit_test(samples_what_is_too_much),
        cmocka_unit_test(walks_to_every_allowed_point),
        cmocka_unit_test(the_default_is_near_the_first_values),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
