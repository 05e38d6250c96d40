/* What is written into files that are compiled elsewhere, from texts that may be anybody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "export/export.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comments_stay_comments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
