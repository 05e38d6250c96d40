/* kf_program_names beside kf_program_input and kf_program_output: what a caller binds arguments by is what the
 * program has. */
#include "kfuse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int open_session(void **state) {
    KfSessionOptions options = {.cache = "", .no_user_ops = true};
    return kf_session_open((KfSession **)state, &options) == KF_OK ? 0 : -1;
}

static int close_session(void **state) {
    kf_session_close(*state);
    return 0;
}

/* As kf_program_names writes the inputs, or the outputs. */
static void write_names(const KfProgram *program, bool inputs, char *out, size_t size) {
    size_t at = (size_t)snprintf(out, size, inputs ? "{\"inputs\":[" : ",\"outputs\":[");
    size_t count = inputs ? kf_program_input_count(program) : kf_program_output_count(program);
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(
            out + at, size - at, "%s\"%s\"", i ? "," : "",
            (inputs ? kf_program_input(program, i) : kf_program_output(program, i)).name);
    snprintf(out + at, size - at, "]");
}

static void names_are_the_programs(void **state) {
    static const char *const texts[] = {
        "x",
        "gelu(x + b) + res",
        "u = b * x; a - u",
        "h = x + b; y = silu(h) * g; return y, h",
        "x = x * 2",
        "m = 0.9 * m + g; p = p - m",
        "y = x + 1; x = x * z",
        "gated(a, b) = silu(a) * b; gated(v, u)",
        "param eps = 1e-5; y = x / sqrt(mean(x * x, axis=0) + eps) * g",
        "param a = 1; param b = 2; a * x + b * y",
        "x @ w.T + b",
        "sum(x, axis=all) + all",
        "all = x; sum(y * all, axis=all)",
        "c > 0 ? x : y",
        "sum_to(e, x) * count(z)",
        "pi * x + inf",
        "(x # a comment with y\n + z)",
        "f(x, axis=2) = x * axis; f(a, axis=k)",
        "return u + v, v * w",
        "y = u + v; return w * 2, y, v * y",
        "h = x + b; p = p - h; return h",
        "h = x + b; p = p - h; return p, h * 2",
        "a = x + 1; b = a * 2; c = x * 3; b + y",
        "out = out * k",
    };
    KfProblem problem = {.has_plain_shape = true, .plain = {.rank = 2, .dim = {4, 4}}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        KfProgram *program;
        char inputs[512], outputs[512], *names;
        if (kf_program_open(*state, texts[i], SIZE_MAX, &problem, &program) != KF_OK)
            fail_msg("%s", kf_session_message(*state));
        write_names(program, true, inputs, sizeof inputs);
        write_names(program, false, outputs, sizeof outputs);
        kf_program_close(program);
        assert_int_equal(kf_program_names(*state, texts[i], SIZE_MAX, NULL, &names), KF_OK);
        if (!strstr(names, inputs) || !strstr(names, outputs))
            fail_msg("%s: %s, the program has %s%s", texts[i], names, inputs, outputs);
        kf_free(names);
    }
}

static void params_are_told(void **state) {
    char *names;
    const char *text = "param a = 1; y = a * x; param b = 2; return b * y";
    assert_int_equal(kf_program_names(*state, text, SIZE_MAX, NULL, &names), KF_OK);
    assert_string_equal(names,
                        "{\"inputs\":[\"x\"],\"params\":[\"a\",\"b\"],\"outputs\":[\"out\"]}\n");
    kf_free(names);
}

static void refuse(KfSession *session, const char *text, KfStatus status, const char *says) {
    char *names = (char *)"";
    assert_int_equal(kf_program_names(session, text, SIZE_MAX, "in.kf", &names), status);
    assert_null(names);
    if (!strstr(kf_session_message(session), says))
        fail_msg("%s lacks %s", kf_session_message(session), says);
}

static void what_cannot_be_parsed_is_refused(void **state) {
    refuse(*state, "x +", KF_INPUT, "in.kf:1:");
    refuse(*state, NULL, KF_USAGE, "no program");
    char *names;
    assert_int_equal(kf_program_names(*state, "x + y garbage", 5, NULL, &names), KF_OK);
    kf_free(names);
}

/* Ten thousand names take no longer than they should. */
static void many_names(void **state) {
    enum { COUNT = 10000, LINE = 32 };
    char *text = calloc(COUNT, LINE), *at = text, *names;
    assert_non_null(text);
    for (int i = 0; i < COUNT; i++) at += sprintf(at, "y%d = x%d + 1\n", i, i);
    assert_int_equal(kf_program_names(*state, text, SIZE_MAX, NULL, &names), KF_OK);
    assert_non_null(strstr(names, "\"x9999\"],\"params\":[],\"outputs\":[\"y0\","));
    kf_free(names);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_the_programs),
        cmocka_unit_test(params_are_told),
        cmocka_unit_test(what_cannot_be_parsed_is_refused),
        cmocka_unit_test(many_names),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
