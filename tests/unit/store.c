/* The store: what is put comes back, in this process and in others, wherever its folder is. Numbers
 * in names are those of the field reports. */
#include "tests/unit/store_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* --- what is put comes back */

static void gives_back_what_was_put(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    Store *store = open_clean(fixture->folder);
    assert_true(store_keeps(store));
    uint32_t count;
    const StoredTrial *trials = store_trials(store, &key, fixture->arena, &count);
    assert_int_equal(count, 3);
    const char *points[] = {"VEC=4", "VEC=1", "VEC=8"}; /* best first */
    for (int i = 0; i < 3; i++) assert_string_equal(trials[i].point, points[i]);
    Result expected = sample_result(4e-5);
    assert_same(&trials[0].result, &expected);
    assert_string_equal(trials[0].shape, key.shape);
    assert_int_equal(trials[2].result.outcome, OUTCOME_COMPILE);
    assert_string_equal(trials[2].result.message, "error: 'é' is no identifier");
    assert_true(has_binary(fixture, store, "VEC=4"));
    assert_false(has_binary(fixture, store, "VEC=8"));
    assert_false(has_binary(fixture, store, "VEC=2"));
    const char *answer;
    int64_t date;
    assert_true(store_answer(store, &key, fixture->arena, &answer, &date));
    assert_string_equal(answer, "expression relu(x + res)\ntime 4e-05\n");
    assert_true(date > 1700000000);
    double roof;
    assert_true(store_figure(store, "roof:1", &roof) && roof == 4.37e12);
    assert_false(store_figure(store, "roof:2", &roof));
    store_close(store);
}

static void sees_what_is_queued(void **state) {
    Fixture *fixture = *state;
    Store *store = open_clean(fixture->folder);
    Result result = sample_result(1);
    store_put_trial(store, &key, "VEC=1", &result, NULL, 0);
    assert_int_equal(count_trials(fixture, store), 1);
    store_put_trial(store, &key, "VEC=1", &result, NULL, 0); /* the same one again */
    assert_int_equal(count_trials(fixture, store), 1);
    store_close(store);
}

/* Within a second after the last transaction a put waits; the next call after it writes. */
static void writes_once_a_second(void **state) {
    Fixture *fixture = *state;
    Store *store = open_clean(fixture->folder), *other = open_clean(fixture->folder);
    Result result = sample_result(1);
    store_put_trial(store, &key, "VEC=1", &result, NULL, 0);
    assert_int_equal(count_trials(fixture, other), 0);
    usleep(1050000);
    store_put_trial(store, &key, "VEC=2", &result, NULL, 0);
    assert_int_equal(count_trials(fixture, other), 2);
    store_close(store);
    store_close(other);
}

/* The exact shape's trials stand first, whatever their times. */
static void puts_the_exact_shape_first(void **state) {
    Fixture *fixture = *state;
    Store *store = open_clean(fixture->folder);
    StoreKey sibling = {key.text, "4000x4096; 4096"};
    Result fast = sample_result(1e-6), slow = sample_result(1e-3);
    store_put_trial(store, &sibling, "VEC=1", &fast, NULL, 0);
    store_put_trial(store, &key, "VEC=1", &slow, NULL, 0);
    uint32_t count;
    const StoredTrial *trials = store_trials(store, &key, fixture->arena, &count);
    assert_int_equal(count, 2);
    assert_string_equal(trials[0].shape, key.shape);
    assert_string_equal(trials[1].shape, sibling.shape);
    store_close(store);
}

static void keeps_a_binary_for_its_machine_code_only(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    Store *store = open_clean(fixture->folder);
    Result again = sample_result(6e-5);
    store_put_trial(store, &key, "VEC=4", &again, NULL, 0);
    assert_true(has_binary(fixture, store, "VEC=4"));
    again.machine_code++;
    store_put_trial(store, &key, "VEC=4", &again, NULL, 0);
    assert_false(has_binary(fixture, store, "VEC=4"));
    store_close(store);
}

static void report_91_other_compiler_is_a_miss(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    Store *store = open_clean(fixture->folder);
    StoreKey other = {"template=t1\nir=%0 = input\ncompiler=NVRTC 13.1", key.shape};
    uint32_t count;
    store_trials(store, &other, fixture->arena, &count);
    assert_int_equal(count, 0);
    store_close(store);
}

/* --- places */

static void report_89_makes_missing_parents(void **state) {
    Fixture *fixture = *state;
    const char *folder = below(fixture, "a/b//c/");
    fill(folder);
    Store *store = open_clean(folder);
    assert_int_equal(count_trials(fixture, store), 3);
    store_close(store);
}

/* A store that cannot be there says so, answers nothing, and takes every call. */
static void assert_unusable(Fixture *fixture, const char *folder, const char *complaint) {
    Store *store = store_open(folder);
    assert_false(store_keeps(store));
    assert_non_null(store_complaint(store));
    if (!strstr(store_complaint(store), complaint)) fail_msg("%s", store_complaint(store));
    Result result = sample_result(1);
    store_put_trial(store, &key, "VEC=1", &result, binary, sizeof binary);
    store_put_figure(store, "roof:1", 1);
    store_flush(store);
    assert_int_equal(count_trials(fixture, store), 0);
    double roof;
    assert_false(store_figure(store, "roof:1", &roof));
    Text text = {0};
    store_list(store, &text);
    assert_false(store_show(store, "", &text));
    text_free(&text);
    store_close(store);
}

static void report_89_no_place_for_a_store(void **state) {
    Fixture *fixture = *state;
    assert_unusable(fixture, NULL, "no folder for the store");
    write_file(below(fixture, "file"), "x", 1);
    assert_unusable(fixture, below(fixture, "file/kfuse"), "Not a directory");
    assert_unusable(fixture, below(fixture, "file"), "file/kfuse.db");
    assert_int_equal(mkdir(below(fixture, "kfuse.db"), 0700), 0);
    assert_unusable(fixture, fixture->folder, "kfuse.db");
}

static void report_89_folder_by_environment(void **state) {
    Fixture *fixture = *state;
    const char *home = getenv("HOME") ? arena_printf(fixture->arena, "%s", getenv("HOME")) : "/";
    unsetenv("KFUSE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_null(store_folder(fixture->arena));
    setenv("HOME", "/home/u", 1);
    assert_string_equal(store_folder(fixture->arena), "/home/u/.cache/kfuse");
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_string_equal(store_folder(fixture->arena), "/home/u/.cache/kfuse");
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_string_equal(store_folder(fixture->arena), "/x/kfuse");
    setenv("KFUSE_CACHE", "/k", 1);
    assert_string_equal(store_folder(fixture->arena), "/k");
    unsetenv("KFUSE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
}

/* Root may write everywhere, so this is somebody else. */
static void read_as_stranger(Fixture *fixture) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(77);
    Store *store = store_open(fixture->folder);
    if (store_keeps(store) || !strstr(store_complaint(store), "cannot be written")) _exit(1);
    Result result = sample_result(1);
    store_put_trial(store, &key, "VEC=2", &result, NULL, 0);
    if (count_trials(fixture, store) != 3 || !has_binary(fixture, store, "VEC=4")) _exit(2);
    store_close(store);
    store = store_open(below(fixture, "below"));
    if (store_keeps(store) || !strstr(store_complaint(store), "Permission denied")) _exit(3);
    store_close(store);
}

static void report_89_read_only_folder_still_answers(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    assert_int_equal(chmod(below(fixture, "kfuse.db"), 0444), 0);
    assert_int_equal(chmod(fixture->folder, 0555), 0);
    int status = in_child(read_as_stranger, fixture);
    assert_int_equal(chmod(fixture->folder, 0755), 0);
    if (status == 77) skip();
    assert_int_equal(status, 0);
}

static void fill_disk(Fixture *fixture) {
    signal(SIGXFSZ, SIG_IGN);
    Store *store = store_open(fixture->folder);
    struct rlimit limit = {200 << 10, 200 << 10};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(77);
    Result result = sample_result(1);
    static char large[64 << 10];
    for (int i = 0; i < 20; i++) {
        store_put_trial(store, &key, arena_printf(fixture->arena, "VEC=%d", i + 100), &result,
                        large, sizeof large);
        store_flush(store);
    }
    if (store_keeps(store) || !store_complaint(store)) _exit(1);
    store_close(store);
}

static void full_disk(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    int status = in_child(fill_disk, fixture);
    if (status == 77) skip();
    assert_int_equal(status, 0);
    Store *store = open_clean(fixture->folder);
    assert_true(count_trials(fixture, store) >= 3);
    store_close(store);
}

/* --- kfuse cache */

static void lists_shows_clears(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    Store *store = open_clean(fixture->folder);
    Text text = {0};
    store_list(store, &text);
    assert_non_null(strstr(text_string(&text), "3 trials"));
    assert_non_null(strstr(text_string(&text), "relu(x + res)"));
    char prefix[8];
    snprintf(prefix, sizeof prefix, "%.7s", text_string(&text));
    text_clear(&text);
    assert_true(store_show(store, prefix, &text));
    assert_non_null(strstr(text_string(&text), "compiler=NVRTC 13.0"));
    assert_non_null(strstr(text_string(&text), "VEC=8"));
    assert_false(store_show(store, "no such key", &text));
    text_free(&text);
    char why[256] = "";
    assert_false(store_clear(fixture->folder, why, sizeof why));
    assert_non_null(strstr(why, "another kfuse uses it"));
    store_close(store);
    assert_true(store_clear(fixture->folder, why, sizeof why));
    assert_true(store_clear(fixture->folder, why, sizeof why));
    assert_true(store_clear(below(fixture, "nothing"), why, sizeof why));
    store = open_clean(fixture->folder);
    assert_int_equal(count_trials(fixture, store), 0);
    store_close(store);
}

/* --- other processes and threads */

enum { WRITERS = 4, PUTS = 25 };

static void write_many(const char *folder, int writer, int puts) {
    Store *store = store_open(folder);
    if (store_complaint(store)) fprintf(stderr, "%s\n", store_complaint(store)), _exit(1);
    for (int i = 0; i < puts; i++) {
        char point[32];
        snprintf(point, sizeof point, "VEC=%d",
                 i % 5 ? writer * PUTS + i : 0); /* some are the same */
        Result result = sample_result(writer + 1);
        result.machine_code = (uint64_t)writer;
        char own[64];
        memset(own, writer, sizeof own);
        store_put_trial(store, &key, point, &result, own, sizeof own);
        store_flush(store);
    }
    if (store_complaint(store)) fprintf(stderr, "%s\n", store_complaint(store)), _exit(2);
    store_close(store);
}

/* Binary and figures of every row are of one writer. */
static void check_writers(Fixture *fixture) {
    Store *store = open_clean(fixture->folder);
    uint32_t count;
    const StoredTrial *trials = store_trials(store, &key, fixture->arena, &count);
    assert_int_equal(count, WRITERS * PUTS * 4 / 5 + 1);
    for (uint32_t i = 0; i < count; i++) {
        const void *bytes;
        size_t size;
        assert_true(store_binary(store, &key, trials[i].point, fixture->arena, &bytes, &size));
        assert_int_equal(*(const char *)bytes, trials[i].result.machine_code);
    }
    store_close(store);
}

static void run_writers(const char *folder, int puts) {
    pid_t children[WRITERS];
    fflush(NULL);
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            write_many(folder, i, puts);
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void report_86_processes_write_one_key(void **state) {
    Fixture *fixture = *state;
    run_writers(fixture->folder, PUTS);
    check_writers(fixture);
}

/* Nobody takes a database that another one is just making for a damaged one. */
static void processes_make_one_store(void **state) {
    Fixture *fixture = *state;
    for (int round = 0; round < 100; round++)
        run_writers(below(fixture, arena_printf(fixture->arena, "%d", round)), 1);
}

typedef struct Writer {
    const char *folder;
    int number;
} Writer;

static void *write_in_thread(void *context) {
    const Writer *writer = context;
    write_many(writer->folder, writer->number, PUTS);
    return NULL;
}

static void threads_hold_stores_of_their_own(void **state) {
    Fixture *fixture = *state;
    pthread_t threads[WRITERS];
    Writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (Writer){fixture->folder, i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_in_thread, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
    check_writers(fixture);
}

/* What was stored before the kill is there, and the store is as good as ever. */
static void report_80_killed_in_the_middle(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    uint32_t before = 3;
    for (int round = 0; round < 10; round++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0)
            for (int i = 0;; i++) {
                Store *store = store_open(fixture->folder);
                Result result = sample_result(1);
                char point[32];
                snprintf(point, sizeof point, "VEC=%d", 10000 * (round + 1) + i);
                store_put_trial(store, &key, point, &result, binary, sizeof binary);
                store_close(store);
            }
        usleep(20000 + 7919 * (unsigned)round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        Store *store = open_clean(fixture->folder);
        uint32_t now = count_trials(fixture, store);
        assert_true(now > before);
        before = now;
        store_close(store);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(gives_back_what_was_put),
        STORE_TEST(sees_what_is_queued),
        STORE_TEST(writes_once_a_second),
        STORE_TEST(puts_the_exact_shape_first),
        STORE_TEST(keeps_a_binary_for_its_machine_code_only),
        STORE_TEST(report_91_other_compiler_is_a_miss),
        STORE_TEST(report_89_makes_missing_parents),
        STORE_TEST(report_89_no_place_for_a_store),
        STORE_TEST(report_89_folder_by_environment),
        STORE_TEST(report_89_read_only_folder_still_answers),
        STORE_TEST(full_disk),
        STORE_TEST(report_86_processes_write_one_key),
        STORE_TEST(processes_make_one_store),
        STORE_TEST(threads_hold_stores_of_their_own),
        STORE_TEST(report_80_killed_in_the_middle),
        STORE_TEST(lists_shows_clears),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
