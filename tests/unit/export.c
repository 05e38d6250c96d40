/* What is written into files that are compiled elsewhere, from texts that may be anybody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "export/formula.h"

static void expect_comment(const char *text, const char *expected) {
    Text out = {0};
    export_comment(&out, text);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

static void test_comments_stay_comments(void **state) {
    (void)state;
    expect_comment("x + y at 3x4", "x + y at 3x4");
    expect_comment("8x8 */ int evil; /*", "8x8 * / int evil; / *");
    expect_comment("/*/", "/ * /");
    expect_comment("**/", "** /");
    expect_comment("one\ntwo\r\033[2J\177", "one two  [2J ");
    expect_comment("\303\274", "\303\274");
    expect_comment("", "");
}

static void expect_name(const char *name, const char *expected) {
    Text out = {0};
    formula_name(&out, name);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}

/* A hand-written kernel may call a size as the launcher calls its axes, or C a type. */
static void test_sizes_are_no_other_names(void **state) {
    (void)state;
    expect_name("kf_rows", "kf_rows");
    expect_name("s_eps", "s_eps");
    expect_name("d", "u_d");
    expect_name("int", "u_int");
    expect_name("u_d", "u_u_d");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comments_stay_comments),
                                       cmocka_unit_test(test_sizes_are_no_other_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
