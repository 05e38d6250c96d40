/* Golden files: tests/golden/NAME.kf with siblings, one per stage that it is meant for; NAME.err
 * holds what is said where the text is refused, NAME.c and NAME.cu what is compiled for CPUs and GPUs,
 * without the prelude, for the inputs that the first line says ("# x=64x32 b=32"). A stage is a line of
 * `stages`. `golden --update` rewrites the siblings there are, and gives a NAME.kf without one an .ast
 * or an .err. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/near.h"
#include "planned.h"

#define FOLDER TEST_SOURCE "/tests/golden"

static bool updating;
static int mismatches;

/* --- Stages: the text of one; where the case is refused, `diags` says why. */

static void print_ast(Arena *arena, const Source *source, Diags *diags, Text *out) {
    const Ast *ast = parse_program(arena, source, diags);
    if (!ast) return;
    ast_print(out, ast);
    text_add(out, "\n");
    ast_dump(out, ast);
}

static void print_errors(Arena *arena, const Source *source, Diags *diags, Text *out) {
    if (!parse_program(arena, source, diags)) diags_print(out, diags);
}

/* Behind the helpers. */
static const char *code_of(const Template *template) {
    static const char *const begins[] = {"\ntypedef struct Row {", "\n/* K_LANES elements",
                                         "\n// What is read of a vector", "\n// One element."};
    const char *code = NULL;
    for (size_t i = 0; i < sizeof begins / sizeof *begins && !code; i++)
        code = strstr(template->source->text, begins[i]);
    assert_non_null(code);
    return code + 1;
}

static void print_code(Arena *arena, const Source *source, const char *language, Text *out) {
    const char *text = source->text, *end = strchr(text, '\n');
    assert_true(text[0] == '#' && end);
    Program p = program_make(arena, text, arena_copy(arena, text + 2, (size_t)(end - text - 2)));
    const Ir *ir = strcmp(language, "cuda") == 0 ? near(arena, p.ir, NULL) : p.ir;
    Group group = group_find(ir);
    text_add(out, code_of(emit(arena, language, plan(arena, ir, &group))));
}

static void print_c(Arena *arena, const Source *source, Diags *diags, Text *out) {
    (void)diags;
    print_code(arena, source, "c", out);
}

static void print_cu(Arena *arena, const Source *source, Diags *diags, Text *out) {
    (void)diags;
    print_code(arena, source, "cuda", out);
}

static const struct Stage {
    const char *extension;
    void (*print)(Arena *arena, const Source *source, Diags *diags, Text *out);
} stages[] = {
    {"ast", print_ast},
    {"err", print_errors},
    {"c", print_c},
    {"cu", print_cu},
};
enum { STAGES = sizeof stages / sizeof *stages };

/* --- Files */

static const char *path_of(Arena *arena, const char *name, const char *extension) {
    return arena_printf(arena, "%s/%s.%s", FOLDER, name, extension);
}

static const Source *read_case(Arena *arena, const char *name) {
    const char *why = NULL;
    const Source *file = source_read(arena, path_of(arena, name, "kf"), &why);
    if (!file) fail_msg("%s", why);
    return source_new(arena, arena_printf(arena, "%s.kf", name), file->text, file->length);
}

static void write_file(const char *path, const Text *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text_string(text), 1, text->length, file), text->length);
    assert_int_equal(fclose(file), 0);
}

static void each_case(void (*check)(const char *name)) {
    struct dirent **entries;
    int count = scandir(FOLDER, &entries, NULL, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char *dot = strrchr(entries[i]->d_name, '.');
        if (dot && !strcmp(dot, ".kf")) {
            *dot = 0;
            check(entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
}

/* --- Siblings */

static bool same_as_file(Arena *arena, const char *path, const Text *text) {
    const char *why;
    const Source *file = source_read(arena, path, &why);
    return file && file->length == text->length &&
           !memcmp(file->text, text_string(text), text->length);
}

static void check_stage(Arena *arena, const char *name, const struct Stage *stage) {
    const char *path = path_of(arena, name, stage->extension);
    Diags diags = {.arena = arena};
    Text now = {0};
    stage->print(arena, read_case(arena, name), &diags, &now);
    if (updating) {
        write_file(path, &now);
    } else if (!same_as_file(arena, path, &now)) {
        mismatches++;
        if (!now.length) diags_print(&now, &diags);
        print_error("%s.%s differs; now it is\n%s", name, stage->extension, text_string(&now));
    }
    text_free(&now);
}

static void check_siblings(const char *name) {
    Arena *arena = arena_open();
    int siblings = 0;
    for (int i = 0; i < STAGES; i++) {
        if (access(path_of(arena, name, stages[i].extension), F_OK)) continue;
        check_stage(arena, name, &stages[i]);
        siblings++;
    }
    if (!siblings && updating) {
        Diags diags = {.arena = arena};
        check_stage(arena, name,
                    &stages[parse_program(arena, read_case(arena, name), &diags) ? 0 : 1]);
    } else if (!siblings) {
        mismatches++;
        print_error("%s.kf has no sibling; --update makes one\n", name);
    }
    arena_close(arena);
}

static void test_siblings(void **state) {
    (void)state;
    mismatches = 0;
    each_case(check_siblings);
    assert_int_equal(mismatches, 0);
}

/* --- Printing: what is printed reads back as the same tree, and prints as the same text. */

static void check_round_trip(const char *name) {
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    const Ast *ast = parse_program(arena, read_case(arena, name), &diags), *again;
    Text text = {0}, text_again = {0};
    if (ast) {
        ast_print(&text, ast);
        const Source *printed = source_new(arena, name, text_string(&text), text.length);
        again = parse_program(arena, printed, &diags);
        if (!again) fail_msg("%s: its print is refused:\n%s", name, text_string(&text));
        if (!ast_equal(ast, again)) fail_msg("%s: another tree\n%s", name, text_string(&text));
        ast_print(&text_again, again);
        assert_string_equal(text_string(&text), text_string(&text_again));
    }
    text_free(&text);
    text_free(&text_again);
    arena_close(arena);
}

static void test_round_trip(void **state) {
    (void)state;
    each_case(check_round_trip);
}

int main(int count, char **arguments) {
    updating = count > 1 && !strcmp(arguments[1], "--update");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siblings),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
