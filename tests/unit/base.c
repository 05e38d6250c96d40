/* Base: the arena, text, places and the printed form of diagnostics, teams of threads. */
#include <locale.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/base/parallel.h"
#include "compiler/base/source.h"

/* --- Arena */

static void test_arena_gives_zeroed_aligned_memory(void **state) {
    (void)state;
    Arena *arena = arena_open();
    for (size_t size = 0; size < 5000; size += 7) {
        unsigned char *memory = arena_alloc(arena, size);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < size; i++) assert_int_equal(memory[i], 0);
        memset(memory, 0xff, size);
    }
    unsigned char *large = arena_alloc(arena, 5 << 20);
    assert_int_equal(large[(5 << 20) - 1], 0);
    arena_close(arena);
    arena_close(NULL);
}

static void test_arrays_grow(void **state) {
    (void)state;
    Arena *arena = arena_open();
    ARRAY(int) list = {0};
    for (int i = 0; i < 100000; i++) array_push(arena, &list, i);
    assert_int_equal(list.count, 100000);
    for (int i = 0; i < 100000; i++) assert_int_equal(list.data[i], i);
    arena_close(arena);
}

static void test_arena_strings(void **state) {
    (void)state;
    Arena *arena = arena_open();
    assert_string_equal(arena_copy(arena, "abcdef", 3), "abc");
    assert_string_equal(arena_copy(arena, NULL, 0), "");
    assert_string_equal(arena_printf(arena, "%s-%d", "x", 7), "x-7");
    arena_close(arena);
}

/* --- Text */

static void test_text(void **state) {
    (void)state;
    Text text = {0};
    assert_string_equal(text_string(&text), "");
    text_add(&text, "");
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++) text_printf(&text, "%d,", i);
    text_add_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4 + 3);
    assert_memory_equal(text.data + text.length - 3, "a\0b", 4);
    text_clear(&text);
    assert_string_equal(text_string(&text), "");
    text_free(&text);
    assert_null(text.data);
}

/* A host program may have set a locale with a decimal comma. */
static void test_words_of_a_shell(void **state) {
    static const char *const cases[][2] = {
        {"my.kf", "my.kf"}, {"/a-b/c_1.kf", "/a-b/c_1.kf"}, {"", "''"}, {"my own", "'my own'"},
        {"-x", "'-x'"},     {"it's", "'it'\\''s'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Text text = {0};
        text_add_word(&text, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(text_string(&text), cases[i][1]);
        text_free(&text);
    }
}

static void test_text_ignores_the_locale(void **state) {
    (void)state;
    bool comma = setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8");
    Text text = {0};
    text_printf(&text, "%g", 1.5);
    assert_string_equal(text_string(&text), "1.5");
    text_free(&text);
    setlocale(LC_ALL, "C");
    if (!comma) skip();
}

static void test_text_distance(void **state) {
    (void)state;
    assert_int_equal(text_distance("gelu", "gelu", 9), 0);
    assert_int_equal(text_distance("gleu", "gelu", 9), 2);
    assert_int_equal(text_distance("", "abc", 9), 3);
    assert_int_equal(text_distance("kitten", "sitting", 9), 3);
    assert_int_equal(text_distance("kitten", "sitting", 2), 2);
    char longest[300];
    memset(longest, 'x', sizeof longest);
    longest[299] = 0;
    assert_int_equal(text_distance(longest, "x", 4), 4);
}

/* --- Sources */

static void test_places(void **state) {
    (void)state;
    Arena *arena = arena_open();
    const Source *source = source_new(arena, "in.kf", "ab\n\ncd", 6);
    const uint32_t places[][3] = {{0, 1, 1}, {2, 1, 3}, {3, 2, 1},
                                  {4, 3, 1}, {6, 3, 3}, {99, 3, 3}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        uint32_t line, column;
        source_place(source, places[i][0], &line, &column);
        assert_int_equal(line, places[i][1]);
        assert_int_equal(column, places[i][2]);
    }
    arena_close(arena);
}

static void test_reading(void **state) {
    (void)state;
    Arena *arena = arena_open();
    const char *why = NULL;
    assert_null(source_read(arena, "/nonexistent/in.kf", &why));
    assert_string_equal(why, "cannot open '/nonexistent/in.kf': No such file or directory");
    assert_null(source_read(arena, "/", &why));
    assert_string_equal(why, "cannot read '/': Is a directory");
    assert_null(source_read(arena, "/dev/zero", &why));
    assert_string_equal(why, "'/dev/zero' is larger than 16 MiB");
    const Source *empty = source_read(arena, "/dev/null", &why);
    assert_non_null(empty);
    assert_int_equal(empty->length, 0);
    arena_close(arena);
}

/* --- Diagnostics */

static void expect_diag(const char *text, Span span, const char *hint, const char *expected) {
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    const Source *source = source_new(arena, "in.kf", text, strlen(text));
    diag_error(&diags, source, span, hint, "no %s", "good");
    Text out = {0};
    diags_print(&out, &diags);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    arena_close(arena);
}

static void test_caret(void **state) {
    (void)state;
    expect_diag("a\nb\nout = gleu(x + b)\nc", (Span){10, 14}, "did you mean 'gelu'?",
                "in.kf:3:7: error: no good\n"
                "   3 | out = gleu(x + b)\n"
                "     |       ^~~~ did you mean 'gelu'?\n");
    expect_diag("ab\n", (Span){2, 2}, NULL,
                "in.kf:1:3: error: no good\n"
                "   1 | ab\n"
                "     |   ^\n");
    expect_diag("", (Span){0, 0}, NULL,
                "in.kf:1:1: error: no good\n"
                "   1 | \n"
                "     | ^\n");
    expect_diag("x = (a\n  + b)", (Span){4, 12}, NULL,
                "in.kf:1:5: error: no good\n"
                "   1 | x = (a\n"
                "     |     ^~\n");
    expect_diag("ab\r\ncd", (Span){1, 9}, NULL,
                "in.kf:1:2: error: no good\n"
                "   1 | ab\n"
                "     |  ^\n");
}

static void test_caret_below_tabs_and_wide_characters(void **state) {
    (void)state;
    expect_diag("\ta\tbc", (Span){3, 5}, NULL,
                "in.kf:1:4: error: no good\n"
                "   1 |         a       bc\n"
                "     |                 ^~\n");
    expect_diag("é温 x", (Span){6, 7}, NULL,
                "in.kf:1:7: error: no good\n"
                "   1 | é温 x\n"
                "     |     ^\n");
    expect_diag("温 x", (Span){0, 3}, NULL,
                "in.kf:1:1: error: no good\n"
                "   1 | 温 x\n"
                "     | ^~\n");
    expect_diag("e\xcc\x81x", (Span){3, 4}, NULL, /* e and a combining accent: one column */
                "in.kf:1:4: error: no good\n"
                "   1 | e\xcc\x81x\n"
                "     |  ^\n");
}

static void test_unprintable_bytes(void **state) {
    (void)state;
    expect_diag("a\x1b[31m\x7f\xffz", (Span){8, 9}, NULL,
                "in.kf:1:9: error: no good\n"
                "   1 | a?[31m??z\n"
                "     |         ^\n");
    /* a mark that turns the direction of the text; an overlong form; a surrogate; a cut sequence */
    expect_diag("\xe2\x80\xae\xc0\xaf\xed\xa0\x80\xe6\xb8", (Span){3, 4}, NULL,
                "in.kf:1:4: error: no good\n"
                "   1 | ????????\n"
                "     |  ^\n");
}

static void test_long_lines_are_cut(void **state) {
    (void)state;
    char line[1001];
    for (int i = 0; i < 1000; i++) line[i] = (char)('0' + i % 10);
    line[1000] = 0;
    expect_diag(
        line, (Span){500, 502}, "here",
        "in.kf:1:501: error: no good\n"
        "   1 | ...8901234567890123456789012345678901234567890123456789012345678901234567890123"
        "45678901234567890123...\n"
        "     |                                    ^~ here\n");
    expect_diag(
        line, (Span){2, 900}, NULL,
        "in.kf:1:3: error: no good\n"
        "   1 | 0123456789012345678901234567890123456789012345678901234567890123456789012345678"
        "90123456789012345...\n"
        "     |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
        "~~~~~~~~~~~~~~~~~\n");
    expect_diag(line, (Span){1000, 1000}, NULL,
                "in.kf:1:1001: error: no good\n"
                "   1 | ...89012345678901234567890123456789\n"
                "     |                                    ^\n");
}

static void test_large_line_numbers(void **state) {
    (void)state;
    Text text = {0};
    for (int i = 0; i < 12344; i++) text_add(&text, "\n");
    text_add(&text, "x y");
    expect_diag(text_string(&text), (Span){12346, 12347}, NULL,
                "in.kf:12345:3: error: no good\n"
                "12345 | x y\n"
                "      |   ^\n");
    text_free(&text);
}

static void test_diagnostics_without_text_and_beyond_the_limit(void **state) {
    (void)state;
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    for (int i = 0; i < DIAG_MAX + 3; i++)
        diag_error(&diags, NULL, (Span){0, 0}, i ? NULL : "did you mean 'cuda'?", "error %d", i);
    diag_warning(&diags, NULL, (Span){0, 0}, NULL, "still said");
    assert_int_equal(diags.errors, DIAG_MAX + 3);
    assert_int_equal(diags.warnings, 1);
    assert_int_equal(diags.list.count, DIAG_MAX + 1);
    Text out = {0};
    diags_print(&out, &diags);
    assert_non_null(strstr(out.data, "error: error 0 (did you mean 'cuda'?)\nerror: error 1\n"));
    assert_non_null(strstr(out.data, "warning: still said\n3 more errors are not shown\n"));
    text_free(&out);
    arena_close(arena);
}

/* --- Threads */

enum { PARTS_MAX = 10000 };

typedef struct Calls {
    _Atomic int counts[PARTS_MAX];
} Calls;

static void count_call(void *context, int64_t part) {
    ((Calls *)context)->counts[part]++;
}

static void test_team_runs_every_part_once(void **state) {
    (void)state;
    const int64_t parts[] = {0, 1, 2, 3, 4, 5, 17, PARTS_MAX};
    for (int threads = 0; threads <= 5; threads++) {
        Team *team = team_open(threads);
        assert_int_equal(team_size(team), threads ? threads : 1);
        for (int round = 0; round < 50; round++)
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                static Calls calls;
                memset(&calls, 0, sizeof calls);
                team_run(team, parts[i], count_call, &calls);
                for (int part = 0; part < PARTS_MAX; part++)
                    assert_int_equal(calls.counts[part], part < parts[i]);
            }
        team_close(team);
    }
    team_close(NULL);
}

typedef struct Owners {
    _Atomic int begun;
    _Atomic(uintptr_t) threads[4];
} Owners;

/* No part ends before all have begun: else the caller might do what another thread is late for. */
static void note_owner(void *context, int64_t part) {
    static _Thread_local char mine;
    Owners *owners = context;
    owners->threads[part] = (uintptr_t)&mine;
    owners->begun++;
    while (owners->begun < 4) sched_yield();
}

static void test_a_part_stays_on_its_thread(void **state) {
    (void)state;
    Team *team = team_open(4);
    Owners first = {0};
    team_run(team, 4, note_owner, &first);
    for (int round = 0; round < 100; round++) {
        Owners again = {0};
        team_run(team, 4, note_owner, &again);
        for (int i = 0; i < 4; i++) assert_true(first.threads[i] == again.threads[i]);
    }
    for (int i = 1; i < 4; i++) assert_true(first.threads[i] != first.threads[0]);
    team_close(team);
}

static void write_line(const char *root, const char *path, const char *line) {
    Text name = {0};
    text_printf(&name, "%s%s", root, path);
    for (char *slash = name.data + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(name.data, 0777);
        *slash = '/';
    }
    FILE *file = fopen(name.data, "w");
    assert_non_null(file);
    fputs(line, file);
    fclose(file);
    text_free(&name);
}

static void test_quota(void **state) {
    (void)state;
    char two[] = "/tmp/kfuse-quota-XXXXXX", one[] = "/tmp/kfuse-quota-XXXXXX", command[256];
    assert_non_null(mkdtemp(two));
    assert_int_equal(parallel_quota(two), 0);
    write_line(two, "/proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(parallel_quota(two), 0);
    write_line(two, "/sys/fs/cgroup/cpu.max", "800000 100000\n"); /* as a container sees it */
    assert_int_equal(parallel_quota(two), 8);
    write_line(two, "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    write_line(two, "/sys/fs/cgroup/a/cpu.max", "250000 100000\n"); /* the parent's binds */
    assert_int_equal(parallel_quota(two), 3);

    assert_non_null(mkdtemp(one));
    write_line(one, "/proc/self/cgroup", "7:cpuset:/x\n4:cpu,cpuacct:/job\n1:memory:/job\n");
    write_line(one, "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n"); /* not ours */
    write_line(one, "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    write_line(one, "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    write_line(one, "/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(parallel_quota(one), 0);
    write_line(one, "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n");
    assert_int_equal(parallel_quota(one), 2);
    snprintf(command, sizeof command, "rm -r %s %s", one, two);
    assert_int_equal(system(command), 0);
    assert_true(parallel_cpus() >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(test_arrays_grow),
        cmocka_unit_test(test_arena_strings),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_words_of_a_shell),
        cmocka_unit_test(test_text_ignores_the_locale),
        cmocka_unit_test(test_text_distance),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_caret),
        cmocka_unit_test(test_caret_below_tabs_and_wide_characters),
        cmocka_unit_test(test_unprintable_bytes),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_large_line_numbers),
        cmocka_unit_test(test_diagnostics_without_text_and_beyond_the_limit),
        cmocka_unit_test(test_team_runs_every_part_once),
        cmocka_unit_test(test_a_part_stays_on_its_thread),
        cmocka_unit_test(test_quota),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
