/* Results from store to store: what is exported and imported is the same, whatever it holds, and counts once it
 * has been judged. */
#include "kfuse.h"
#include "tests/unit/exchange_fixture.h"

/* What is in `folder` beside the store, as an export. */
static char *imported_of(Fixture *fixture, const char *folder) {
    Exchange exchange;
    Store *store = open_clean(arena_printf(fixture->arena, "%s/imported", folder));
    char *text = export_of(store, true, &exchange);
    store_close(store);
    return text;
}

/* --- identity */

static uint64_t state_of_random = 1;
static uint64_t random_bits(void) {
    state_of_random = state_of_random * 6364136223846793005 + 1442695040888963407;
    return state_of_random ^ state_of_random >> 29;
}

static double random_real(void) {
    uint64_t bits = random_bits();
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Any bytes but NUL. */
static const char *random_text(Arena *arena, size_t longest) {
    char bytes[256];
    size_t length = random_bits() % longest;
    for (size_t i = 0; i < length; i++) bytes[i] = (char)(1 + random_bits() % 255);
    return arena_copy(arena, bytes, length);
}

static Result random_result(Arena *arena) {
    Result result = {.outcome = (Outcome)(random_bits() % OUTCOME_COUNT)};
    result.time = result.outcome == OUTCOME_OK ? fabs(random_real()) : random_real();
    if (!isfinite(result.time)) result.time = 1;
    result.spread = random_real();
    result.machine_code = random_bits();
    result.resources = (Resources){(int32_t)random_bits(), -1, 0, INT32_MIN};
    result.check.worst_ulp = random_real();
    result.check.checked = (int64_t)random_bits();
    result.sample_count = (uint32_t)(random_bits() % (RESULT_SAMPLES + 1));
    for (uint32_t i = 0; i < result.sample_count; i++)
        result.samples[i] =
            (float)ldexp((double)(random_bits() >> 40), (int)(random_bits() % 60) - 70);
    snprintf(result.message, sizeof result.message, "%s", random_text(arena, 256));
    return result;
}

static void fill_randomly(Store *store, Arena *arena) {
    for (int i = 0; i < 300; i++) {
        StoreKey own = {random_text(arena, 200), random_text(arena, 40)};
        Result result = random_result(arena);
        char bytes[64];
        for (size_t b = 0; b < sizeof bytes; b++) bytes[b] = (char)random_bits();
        store_put_trial(store, &own, random_text(arena, 40), &result, bytes,
                        i % 3 ? random_bits() % sizeof bytes : 0);
        store_put_answer(
            store, &own,
            arena_printf(arena, "expression x\ntime %.17g\nuse \\\"\t\x7f %d\n", random_real(), i));
        store_put_figure(store, random_text(arena, 90), random_real());
    }
    store_flush(store);
}

static void export_then_import_is_identity(void **state) {
    Fixture *fixture = *state;
    Exchange out, in;
    Store *from = open_clean(below(fixture, "a")), *to = open_clean(below(fixture, "b"));
    fill_randomly(from, fixture->arena);
    char *text = export_of(from, true, &out);
    assert_true(out.results > 600 && out.damaged == 0);
    import_all(to, text, true, &in);
    assert_int_equal(in.results, out.results);
    assert_int_equal(in.known + in.slower, 0);
    char *again = export_of(to, true, &out);
    assert_string_equal(again, text); /* what waits to be judged is passed on, too */
    free(again);
    import_all(to, text, true, &in);
    assert_int_equal(in.results, 0);
    store_close(to);
    again = imported_of(fixture, below(fixture, "b"));
    assert_string_equal(again, text);
    free(again);
    free(text);
    store_close(from);
}

static void trials_come_back_as_they_were(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    fill(below(fixture, "a"));
    Store *from = open_clean(below(fixture, "a")), *to = open_clean(below(fixture, "b"));
    char *text = export_of(from, true, &exchange);
    import_all(to, text, true, &exchange);
    uint32_t count, imported;
    const StoredTrial *expected = store_trials(from, &key, fixture->arena, &count),
                      *trials = store_trials(to, &key, fixture->arena, &imported);
    assert_int_equal(imported, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(trials[i].imported && !expected[i].imported);
        assert_string_equal(trials[i].point, expected[i].point);
        assert_true(trials[i].date == expected[i].date);
        assert_same(&trials[i].result, &expected[i].result);
    }
    assert_true(has_binary(fixture, store_imported(to), "VEC=4"));
    assert_false(has_binary(fixture, to, "VEC=4")); /* not one of here */
    free(text);
    store_close(from);
    store_close(to);
}

static void binaries_only_where_both_sides_want_them(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    fill(below(fixture, "a"));
    Store *from = open_clean(below(fixture, "a"));
    char *with = export_of(from, true, &exchange), *without = export_of(from, false, &exchange);
    assert_null(strstr(without, "\"binary\""));
    const char *const texts[] = {with, with, without};
    for (int i = 0; i < 3; i++) {
        Store *to = open_clean(below(fixture, arena_printf(fixture->arena, "b%d", i)));
        import_all(to, texts[i], i != 1, &exchange);
        assert_int_equal(exchange.results, 5);
        assert_true(has_binary(fixture, store_imported(to), "VEC=4") == (i == 0));
        store_close(to);
    }
    free(with);
    free(without);
    store_close(from);
}

/* --- what is here stays */

static void put_answer(const char *folder, double time) {
    Store *store = open_clean(folder);
    char text[64];
    snprintf(text, sizeof text, "expression x\ntime %.17g\n", time);
    store_put_answer(store, &key, text);
    store_close(store);
}

static bool has_imported_answer(Fixture *fixture, Store *store) {
    const char *answer;
    int64_t date;
    return store_answer(store_imported(store), &key, fixture->arena, &answer, &date);
}

static void only_a_faster_answer_is_kept_beside_one_of_here(void **state) {
    Fixture *fixture = *state;
    const double elsewhere[] = {2e-5, 5e-5, 4e-5};
    for (int i = 0; i < 3; i++) {
        const char *from = below(fixture, arena_printf(fixture->arena, "a%d", i)),
                   *here = below(fixture, arena_printf(fixture->arena, "b%d", i));
        Exchange exchange;
        const char *answer;
        int64_t date;
        put_answer(from, elsewhere[i]);
        put_answer(here, 4e-5);
        Store *store = open_clean(here);
        assert_int_equal(
            store_merge(store, arena_printf(fixture->arena, "%s/kfuse.db", from), &exchange),
            EXCHANGE_OK);
        assert_true(store_answer(store, &key, fixture->arena, &answer, &date));
        assert_non_null(strstr(answer, "time 4.0000000000000003e-05"));
        assert_int_equal(exchange.results, elsewhere[i] < 4e-5);
        assert_int_equal(exchange.slower, elsewhere[i] > 4e-5);
        assert_int_equal(exchange.known, elsewhere[i] == 4e-5);
        store_close(store);
    }
}

/* Once there is an answer of here, the one from elsewhere has done its part. */
static void an_answer_of_here_ends_the_imported_one(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    put_answer(below(fixture, "a"), 4e-5);
    Store *store = open_clean(below(fixture, "b"));
    assert_int_equal(store_merge(store, below(fixture, "a/kfuse.db"), &exchange), EXCHANGE_OK);
    assert_true(has_imported_answer(fixture, store));
    Text text = {0};
    store_list(store, &text);
    assert_non_null(strstr(text_string(&text), "imported"));
    text_free(&text);
    store_put_answer(store, &key, "expression x\ntime 1\n");
    assert_false(has_imported_answer(fixture, store));
    store_list(store, &text);
    assert_null(strstr(text_string(&text), "imported"));
    text_free(&text);
    store_close(store);
}

static void notes_about_a_machine_stay_there(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    Store *store = open_clean(below(fixture, "a")), *to = open_clean(below(fixture, "b"));
    store_put_answer(store, &key, "title NVIDIA H200\nsms 132\n");
    char *text = export_of(store, true, &exchange);
    assert_int_equal(exchange.results, 0);
    free(text);
    assert_int_equal(store_merge(to, below(fixture, "a/kfuse.db"), &exchange), EXCHANGE_OK);
    assert_int_equal(exchange.results, 0);
    store_close(store);
    store_close(to);
}

/* --- what is told */

/* A file from elsewhere may say anything; a terminal gets text. */
static void what_is_shown_has_no_control_bytes(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    Store *from = open_clean(below(fixture, "a")), *store = open_clean(below(fixture, "b"));
    const StoreKey hostile = {"template=\x1b[2J\nir=\r\nblank \a", "4\n\x1b]0;4"};
    Result result = sample_result(1e-5);
    snprintf(result.message, sizeof result.message, "\x1b[31m");
    store_put_trial(from, &hostile, "VEC=\x1b[1m", &result, NULL, 0);
    store_put_answer(from, &hostile, "expression \x1b[5mx\ndevice \b\nwinner \x1b[0m\ntime 1e-5\n");
    char *text = export_of(from, true, &exchange);
    import_all(store, text, true, &exchange);
    assert_int_equal(exchange.results, 2);
    Text shown = {0};
    store_list(store, &shown);
    assert_true(store_show(store, "", &shown));
    for (size_t i = 0; i < shown.length; i++)
        assert_true((unsigned char)shown.data[i] >= ' ' || shown.data[i] == '\n');
    text_free(&shown);
    free(text);
    store_close(from);
    store_close(store);
}

/* --- claims */

/* Every time of a trial becomes a nanosecond, and the sums are right. */
static void claim_more(Text *out, const char *text) {
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        Text line = {0}, rest = {0};
        text_add_bytes(&line, text, (size_t)(end - text) - LINES_TAIL);
        char *time = strstr(line.data, "\"time\":");
        if (time && strstr(line.data, "\"kind\":\"trial\"")) {
            time += strlen("\"time\":");
            text_add(&rest, strpbrk(time, ",}"));
            line.length = (size_t)(time - line.data);
            text_printf(&line, "1e-9%s", rest.data);
        }
        add_signed(out, line.data);
        text_free(&rest);
        text_free(&line);
    }
}

static KfResult tune_in(const char *folder) {
    KfSession *session;
    KfProgram *program;
    KfKernel *kernel;
    KfProblem problem = {.has_plain_shape = true,
                         .plain = {.type = KF_F32, .rank = 1, .dim = {1000}},
                         .device = "null"};
    assert_int_equal(kf_session_open(&session, &(KfSessionOptions){.cache = folder}), KF_OK);
    assert_int_equal(kf_program_open(session, "tanh(x)", SIZE_MAX, &problem, &program), KF_OK);
    if (kf_tune(program, NULL, &kernel) != KF_OK) fail_msg("%s", kf_session_message(session));
    KfResult result = kf_kernel_result(kernel);
    kf_kernel_close(kernel);
    kf_program_close(program);
    kf_session_close(session);
    return result;
}

/* A point that is as fast as it is said to be is the answer; one that is not is where a search begins, and it
 * is not tried a second time. */
static void a_claim_that_is_not_met_is_searched(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    KfResult first = tune_in(below(fixture, "a"));
    assert_true(first.candidates > 1);
    Store *from = open_clean(below(fixture, "a"));
    char *text = export_of(from, false, &exchange);
    Text more = {0};
    claim_more(&more, text);
    const char *const texts[] = {text, more.data};
    const uint32_t candidates[] = {1, first.candidates};
    for (int i = 0; i < 2; i++) {
        const char *folder = below(fixture, arena_printf(fixture->arena, "b%d", i));
        Store *to = open_clean(folder);
        import_all(to, texts[i], false, &exchange);
        store_close(to);
        KfResult result = tune_in(folder);
        assert_int_equal(result.candidates, candidates[i]);
        assert_false(result.cached);
        assert_true(tune_in(folder).cached);
    }
    store_close(from);
    text_free(&more);
    free(text);
}

/* --- databases that are wrong */

static void refuse_merge(Store *store, const char *path, const char *why) {
    Exchange exchange;
    assert_int_equal(store_merge(store, path, &exchange), EXCHANGE_BAD);
    if (!strstr(exchange.why, why)) fail_msg("%s, expected %s", exchange.why, why);
}

static void what_is_no_store_is_not_merged_and_not_touched(void **state) {
    Fixture *fixture = *state;
    size_t size;
    Store *store = open_clean(below(fixture, "here"));
    refuse_merge(store, below(fixture, "nowhere.db"), "No such file");
    refuse_merge(store, fixture->folder, "is no file");
    write_file(below(fixture, "text.db"), "no database, but of the length of one header or more",
               52);
    refuse_merge(store, below(fixture, "text.db"), "is no store of kfuse");
    write_file(below(fixture, "empty.db"), "", 0);
    refuse_merge(store, below(fixture, "empty.db"), "is no store of kfuse");
    read_file(fixture, below(fixture, "text.db"), &size);
    assert_int_equal(size, 52);
    fill(fixture->folder);
    edit(fixture, "PRAGMA user_version = 99");
    refuse_merge(store, below(fixture, "kfuse.db"), "has schema 99");
    store_close(store);
}

static void damaged_rows_are_left_out_and_counted(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    fill(fixture->folder);
    edit(fixture, "UPDATE trial SET time = 1e-9 WHERE point = 'VEC=4';"
                  "UPDATE trial SET binary = x'00' WHERE point = 'VEC=1'");
    Store *store = open_clean(below(fixture, "here"));
    assert_int_equal(store_merge(store, below(fixture, "kfuse.db"), &exchange), EXCHANGE_OK);
    assert_int_equal(exchange.results, 4);
    assert_int_equal(exchange.damaged, 1);
    assert_false(has_binary(fixture, store_imported(store), "VEC=1"));
    store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(export_then_import_is_identity),
        STORE_TEST(trials_come_back_as_they_were),
        STORE_TEST(binaries_only_where_both_sides_want_them),
        STORE_TEST(only_a_faster_answer_is_kept_beside_one_of_here),
        STORE_TEST(an_answer_of_here_ends_the_imported_one),
        STORE_TEST(notes_about_a_machine_stay_there),
        STORE_TEST(what_is_shown_has_no_control_bytes),
        STORE_TEST(a_claim_that_is_not_met_is_searched),
        STORE_TEST(what_is_no_store_is_not_merged_and_not_touched),
        STORE_TEST(damaged_rows_are_left_out_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
