/* The store: nothing that happens to its files aborts, hangs or gives a wrong row. Numbers in names
 * are those of the field reports. */
#include "tests/unit/store_fixture.h"

/* --- damage to rows */

static void report_85_truncated_binary_is_a_miss(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    edit(fixture,
         "UPDATE trial SET binary = substr(binary, 1, length(binary) / 2) WHERE point = 'VEC=4'");
    Store *store = open_clean(fixture->folder);
    assert_false(has_binary(fixture, store, "VEC=4"));
    assert_int_equal(count_trials(fixture, store), 3); /* its figures are still right */
    Result result = sample_result(4e-5);
    store_put_trial(store, &key, "VEC=4", &result, binary, sizeof binary);
    assert_true(has_binary(fixture, store, "VEC=4"));
    store_close(store);
}

static void report_86_binary_of_another_row_is_a_miss(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    edit(fixture, "UPDATE trial SET (binary, binary_sum) = (SELECT binary, binary_sum FROM trial"
                  " WHERE point = 'VEC=1') WHERE point = 'VEC=4'");
    Store *store = open_clean(fixture->folder);
    assert_false(has_binary(fixture, store, "VEC=4"));
    assert_true(has_binary(fixture, store, "VEC=1"));
    store_close(store);
}

static void an_edited_row_is_no_result(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    edit(fixture,
         "UPDATE trial SET time = 1e-9 WHERE point = 'VEC=4'; UPDATE answer SET text = 'faster';"
         "UPDATE figure SET value = 1; UPDATE trial SET shape = '8' WHERE point = 'VEC=1'");
    Store *store = open_clean(fixture->folder);
    assert_int_equal(count_trials(fixture, store), 1);
    const char *answer;
    int64_t date;
    double roof;
    assert_false(store_answer(store, &key, fixture->arena, &answer, &date));
    assert_false(store_figure(store, "roof:1", &roof));
    store_close(store);
}

/* --- damage to the file */

/* Whatever comes back is what was put, and the store can be used again, at once or at the next
 * opening. */
static void use_damaged(Fixture *fixture) {
    Arena *arena = arena_open();
    Store *store = store_open(fixture->folder);
    uint32_t count;
    const StoredTrial *trials = store_trials(store, &key, arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (trials[i].result.outcome != OUTCOME_OK) continue;
        Result expected = sample_result(strcmp(trials[i].point, "VEC=4") == 0 ? 4e-5 : 5e-5);
        assert_same(&trials[i].result, &expected);
    }
    has_binary(fixture, store, "VEC=4");
    const char *answer;
    int64_t date;
    if (store_answer(store, &key, arena, &answer, &date))
        assert_string_equal(answer, "expression relu(x + res)\ntime 4e-05\n");
    double roof;
    if (store_figure(store, "roof:1", &roof)) assert_true(roof == 4.37e12);
    Text text = {0};
    store_list(store, &text);
    store_show(store, "", &text);
    text_free(&text);
    Result again = sample_result(4e-5);
    store_put_trial(store, &key, "VEC=4", &again, binary, sizeof binary);
    store_flush(store);
    const char *complaint = store_complaint(store);
    if (!store_keeps(store)) assert_non_null(complaint);
    if (complaint) assert_null(strchr(complaint, '\n'));
    store_close(store);
    arena_close(arena);
}

static void clear_folder(Fixture *fixture) {
    char why[256] = "";
    assert_true(store_clear(fixture->folder, why, sizeof why));
}

static void report_88_random_bits_flip(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    size_t size;
    char *whole = read_file(fixture, below(fixture, "kfuse.db"), &size);
    assert_in_range(size, 4096, 1 << 19);
    char *bytes = arena_alloc(fixture->arena, size);
    const char *path = below(fixture, "kfuse.db");
    uint64_t random = 88;
    for (int round = 0; round < 1000; round++) {
        clear_folder(fixture);
        memcpy(bytes, whole, size);
        for (int flips = 1 << round % 5; flips > 0; flips--) {
            random = random * 6364136223846793005 + 1442695040888963407;
            size_t at = (size_t)(random >> 20) % size;
            if (round % 3 == 0) at %= 200; /* the header and the root of the schema */
            bytes[at] ^= (char)(1 << (random >> 60) % 8);
        }
        write_file(path, bytes, size);
        use_damaged(fixture);
    }
}

static void truncated_files(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    size_t size;
    const char *path = below(fixture, "kfuse.db");
    char *whole = read_file(fixture, path, &size);
    for (size_t length = 0; length < size; length += 509) {
        clear_folder(fixture);
        write_file(path, whole, length);
        use_damaged(fixture);
        Store *store = store_open(fixture->folder);
        assert_true(store_keeps(store));
        store_close(store);
    }
}

static void a_file_that_is_no_database_is_set_aside(void **state) {
    Fixture *fixture = *state;
    static const char text[] =
        "these are my notes, and long enough to be looked at as a database would be: "
        "the header alone takes a hundred bytes of it";
    write_file(below(fixture, "kfuse.db"), text, sizeof text);
    Store *store = store_open(fixture->folder);
    assert_true(store_keeps(store));
    assert_non_null(strstr(store_complaint(store), "set aside as kfuse.db.damaged-1"));
    store_close(store);
    size_t size;
    assert_memory_equal(read_file(fixture, below(fixture, "kfuse.db.damaged-1"), &size), text,
                        sizeof text);
    fill(fixture->folder);
}

static void leave_running(Fixture *fixture) {
    Store *store = store_open(fixture->folder);
    if (!strstr(store_complaint(store), "cannot be set aside now") || store_keeps(store)) _exit(1);
    store_close(store);
}

/* Who uses the database keeps it; the other one runs without. */
static void damage_in_use_is_not_set_aside(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    Store *store = open_clean(fixture->folder);
    edit(fixture, "PRAGMA user_version = 0");
    assert_int_equal(in_child(leave_running, fixture), 0);
    assert_int_equal(access(below(fixture, "kfuse.db.damaged-1"), F_OK), -1);
    assert_int_equal(count_trials(fixture, store), 3);
    store_close(store);
}

static void report_104_other_schemas_are_not_read(void **state) {
    Fixture *fixture = *state;
    fill(fixture->folder);
    edit(fixture, "PRAGMA user_version = 0");
    Store *store = store_open(fixture->folder);
    assert_true(store_keeps(store));
    assert_non_null(strstr(store_complaint(store), "set aside"));
    assert_int_equal(count_trials(fixture, store), 0);
    store_close(store);
    edit(fixture, "PRAGMA user_version = 999");
    store = store_open(fixture->folder);
    assert_false(store_keeps(store));
    assert_non_null(strstr(store_complaint(store), "schema 999"));
    store_close(store);
    edit(fixture, "PRAGMA user_version = 1"); /* and it was left alone */
    store_close(open_clean(fixture->folder));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(report_85_truncated_binary_is_a_miss),
        STORE_TEST(report_86_binary_of_another_row_is_a_miss),
        STORE_TEST(an_edited_row_is_no_result),
        STORE_TEST(report_88_random_bits_flip),
        STORE_TEST(truncated_files),
        STORE_TEST(a_file_that_is_no_database_is_set_aside),
        STORE_TEST(damage_in_use_is_not_set_aside),
        STORE_TEST(report_104_other_schemas_are_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
