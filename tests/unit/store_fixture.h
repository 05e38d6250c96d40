/* What the tests of the store share: a folder of their own, a result, a store filled with a little
 * of everything. */
#ifndef KF_STORE_FIXTURE_H
#define KF_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/store.h"

typedef struct Fixture {
    char folder[64];
    Arena *arena;
} Fixture;

static const StoreKey key = {"template=t1\nir=%0 = input\ncompiler=NVRTC 13.0", "4096x4096; 4096"};
static const char binary[] = "\x7f"
                             "ELF, and what else a binary holds: \0\1\2\3";

static inline int set_up(void **state) {
    Fixture *fixture = calloc(1, sizeof *fixture);
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(fixture->folder, sizeof fixture->folder, "%s/kfuse-store-XXXXXX", base);
    assert_non_null(mkdtemp(fixture->folder));
    fixture->arena = arena_open();
    *state = fixture;
    return 0;
}

static inline int tear_down(void **state) {
    Fixture *fixture = *state;
    char command[192];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", fixture->folder,
             fixture->folder);
    assert_int_equal(system(command), 0);
    arena_close(fixture->arena);
    free(fixture);
    return 0;
}

static const char *below(Fixture *fixture, const char *name) {
    return arena_printf(fixture->arena, "%s/%s", fixture->folder, name);
}

static inline Result sample_result(double time) {
    Result result = {
        .outcome = OUTCOME_OK, .time = time, .spread = -0.0, .machine_code = 0xfedcba9876543210};
    result.resources = (Resources){18, 0, -1, 49152};
    result.check = check_none();
    result.check.checked = 16777216;
    result.check.worst_bound = (double)NAN;
    result.check.worst_ulp = (double)INFINITY;
    result.sample_count = 3;
    for (int i = 0; i < 3; i++) result.samples[i] = 1e-5f * (float)(i + 1);
    return result;
}

static inline void assert_same(const Result *a, const Result *b) {
    assert_int_equal(a->outcome, b->outcome);
    assert_memory_equal(&a->resources, &b->resources, sizeof a->resources);
    assert_true(a->machine_code == b->machine_code);
    assert_memory_equal(&a->time, &b->time, sizeof a->time);
    assert_memory_equal(&a->spread, &b->spread, sizeof a->spread);
    assert_int_equal(a->sample_count, b->sample_count);
    assert_memory_equal(a->samples, b->samples, a->sample_count * sizeof *a->samples);
    assert_true(a->check.checked == b->check.checked &&
                a->check.first_wrong == b->check.first_wrong);
    assert_int_equal(isnan(a->check.worst_bound), isnan(b->check.worst_bound));
    assert_true(a->check.worst_ulp == b->check.worst_ulp);
    assert_string_equal(a->message, b->message);
}

static inline Store *open_clean(const char *folder) {
    Store *store = store_open(folder);
    if (store_complaint(store)) fail_msg("%s", store_complaint(store));
    return store;
}

static inline uint32_t count_trials(Fixture *fixture, Store *store) {
    uint32_t count;
    store_trials(store, &key, fixture->arena, &count);
    return count;
}

static inline bool has_binary(Fixture *fixture, Store *store, const char *point) {
    const void *bytes;
    size_t size;
    bool found = store_binary(store, &key, point, fixture->arena, &bytes, &size);
    if (found) assert_memory_equal(bytes, binary, sizeof binary);
    if (found) assert_int_equal(size, sizeof binary);
    return found;
}

/* One trial of each kind, an answer, a figure. */
static inline void fill(const char *folder) {
    Store *store = open_clean(folder);
    Result good = sample_result(5e-5), better = sample_result(4e-5);
    Result bad = {.outcome = OUTCOME_COMPILE, .message = "error: 'é' is no identifier"};
    store_put_trial(store, &key, "VEC=8", &bad, NULL, 0);
    store_put_trial(store, &key, "VEC=1", &good, binary, sizeof binary);
    store_put_trial(store, &key, "VEC=4", &better, binary, sizeof binary);
    store_put_answer(store, &key, "expression relu(x + res)\ntime 4e-05\n");
    store_put_figure(store, "roof:1", 4.37e12);
    store_close(store);
}

/* Runs SQL on the database as a stranger would. */
static inline void edit(Fixture *fixture, const char *sql) {
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(below(fixture, "kfuse.db"), &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s", message);
    sqlite3_close(db);
}

static inline void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static inline char *read_file(Fixture *fixture, const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = arena_alloc(fixture->arena, 1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* Runs `body` in a child and gives its exit status, or -1 if a signal ended it. */
static inline int in_child(void (*body)(Fixture *), Fixture *fixture) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        body(fixture);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
