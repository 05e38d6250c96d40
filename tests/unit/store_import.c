/* Files that are no exports, or damaged: the line is named, and nothing of the file is kept. */
#include "tests/unit/exchange_fixture.h"

#define HEAD "{\"kfuse_export\":1,\"kfuse\":\"0.1.0\",\"schema\":1"
#define TRIAL(outcome, time, samples, more)                                                     \
    "{\"kind\":\"trial\",\"key\":\"k\",\"shape\":\"4\",\"point\":\"VEC=1\",\"date\":1,"         \
    "\"outcome\":" outcome ",\"time\":" time ",\"spread\":1,\"registers\":1,\"spill_bytes\":1," \
    "\"stack_bytes\":1,\"shared_bytes\":1,\"machine_code\":1,\"checked\":1,\"unchecked\":1,"    \
    "\"ambiguous\":1,\"wrong\":1,\"first_wrong\":1,\"worst_bound\":1,\"worst_bound_at\":1,"     \
    "\"worst_ulp\":1,\"worst_ulp_at\":1,\"samples\":" samples ",\"message\":\"\"" more
#define GOOD TRIAL("\"ok\"", "1e-5", "[1]", "")
#define END(count) "{\"results\":" #count

/* Lines with right sums; what is said of them, or NULL where they are right. */
static const struct {
    const char *lines[4];
    const char *why;
} files[] = {
    {{HEAD, GOOD, END(1)}, NULL},
    {{HEAD, END(0)}, NULL},
    {{HEAD, TRIAL("\"ok\"", "1e-5", "[]", ",\"binary\":\"7f\""), END(1)}, NULL},
    {{"{\"kfuse_export\":2,\"schema\":1"}, "lines:1: an export of version 2, schema 1; this kfuse"},
    {{"{\"kfuse_export\":1,\"schema\":99"}, "lines:1: an export of version 1, schema 99"},
    {{"{\"kfuse_export\":\"1\",\"schema\":1"}, "lines:1: 'kfuse_export' is missing or no whole"},
    {{GOOD, END(1)}, "lines:1: 'kfuse_export' is missing"},
    {{HEAD, GOOD}, "lines:3: the file ends early"},
    {{HEAD}, "lines:2: the file ends early"},
    {{HEAD, END(1)}, "lines:2: 1 results were written, and here are 0"},
    {{HEAD, END(0), GOOD}, "lines:3: behind the last line"},
    {{HEAD, "[1"}, "lines:2: this is no JSON"},
    {{HEAD, "{\"kind\":7"}, "lines:2: 'kind' is missing or no text"},
    {{HEAD, "{\"kind\":\"opinion\""}, "lines:2: unknown kind of result"},
    {{HEAD, "{\"kind\":\"a very long kind of result\""}, "lines:2: unknown kind of result"},
    {{HEAD, "{\"results\":\"many\""}, "lines:2: 'results' is missing or no whole number"},
    {{HEAD, GOOD, TRIAL("\"fine\"", "1", "[]", "")}, "lines:3: unknown outcome"},
    {{HEAD, GOOD, TRIAL("3", "1", "[]", "")}, "lines:3: 'outcome' is missing or no text"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "-1", "[]", "")}, "lines:3: 'time' is no time"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "null", "[]", "")}, "lines:3: 'time' is no time"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1e999", "[]", "")}, "lines:3: 'time' is no time"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "\"soon\"", "[]", "")}, "lines:3: 'time' is no list of numbers"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "[1]", "[]", "")}, "lines:3: 'time' is no list of numbers"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "7", "")}, "lines:3: 'samples' is missing or no list"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "{\"a\":1}", "")}, "lines:3: 'samples' is no list"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "[\"a\"]", "")}, "lines:3: 'samples' is no list"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "[[1]]", "")}, "lines:3: 'samples' is no list"},
    {{HEAD, GOOD,
      TRIAL("\"ok\"", "1",
            "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
            "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
            "")},
     "lines:3: 'samples' has more than 64 numbers"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "[]", ",\"binary\":\"7g\"")},
     "lines:3: 'binary' is not hex"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "[]", ",\"binary\":\"7\"")}, "lines:3: 'binary' is not hex"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "[]", ",\"binary\":\"\"")}, "lines:3: 'binary' is not hex"},
    {{HEAD, GOOD, TRIAL("\"ok\"", "1", "[]", ",\"binary\":7")},
     "lines:3: 'binary' is missing or no"},
    {{HEAD, GOOD, "{\"kind\":\"trial\""}, "lines:3: 'key' is missing or no text"},
    {{HEAD, GOOD, "{\"kind\":\"answer\",\"key\":\"k\",\"shape\":\"4\",\"date\":1e40"},
     "lines:3: 'date' is missing or no whole number"},
    {{HEAD, GOOD,
      "{\"kind\":\"answer\",\"key\":\"k\",\"shape\":\"4\",\"date\":1,\"report\":{\"a b\":\"c\"}"},
     "lines:3: 'report' has a name or value of several"},
    {{HEAD, GOOD,
      "{\"kind\":\"answer\",\"key\":\"k\",\"shape\":\"4\",\"date\":1,\"report\":{\"a\":\"b\\nc "
      "d\"}"},
     "lines:3: 'report' has a name or value of several"},
    {{HEAD, GOOD,
      "{\"kind\":\"answer\",\"key\":\"k\",\"shape\":\"4\",\"date\":1,\"report\":{\"a\":7}"},
     "lines:3: 'report' is missing or no text"},
    {{HEAD, GOOD, "{\"kind\":\"figure\",\"name\":7,\"date\":1,\"value\":1"},
     "lines:3: 'name' is missing or no text"},
};

static void check_file(Fixture *fixture, Store *store, const char *text, size_t size,
                       const char *why) {
    Exchange exchange = {.why = ""};
    ExchangeStatus status = import_of(store, text, size, true, &exchange);
    uint32_t count;
    if (!why && status == EXCHANGE_OK) return;
    if (!why || status != EXCHANGE_BAD || !strstr(exchange.why, why) ||
        !strstr(exchange.why, "; nothing was imported"))
        fail_msg("%s, expected %s", exchange.why, why ? why : "nothing");
    store_trials(store, &(StoreKey){"k", "4"}, fixture->arena, &count);
    assert_int_equal(count, 0);
}

static void a_wrong_line_is_named_and_nothing_is_kept(void **state) {
    Fixture *fixture = *state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        Text text = {0};
        for (int k = 0; k < 4 && files[i].lines[k]; k++) add_signed(&text, files[i].lines[k]);
        Store *store = open_clean(below(fixture, arena_printf(fixture->arena, "%zu", i)));
        check_file(fixture, store, text.data, text.length, files[i].why);
        store_close(store);
        text_free(&text);
    }
}

/* Every byte of a line counts; every place to end early is told. */
static void any_damage_is_told(void **state) {
    Fixture *fixture = *state;
    Text text = {0};
    Store *store = open_clean(fixture->folder);
    add_signed(&text, HEAD);
    add_signed(&text, GOOD);
    add_signed(&text, END(1));
    for (size_t i = 0; i < text.length; i++) {
        char kept = text.data[i];
        if (i > 0)
            check_file(fixture, store, text.data, i, i + 1 == text.length ? "lines:3" : "lines:");
        text.data[i] ^= 1 << (i % 7);
        check_file(fixture, store, text.data, text.length, "lines:");
        text.data[i] = '\0';
        check_file(fixture, store, text.data, text.length, "a NUL byte is no text");
        text.data[i] = kept;
    }
    check_file(fixture, store, "\n", 1, "lines:1: this is no line of an export");
    store_close(store);
    text_free(&text);
}

static void a_line_without_end_is_not_read_to_its_end(void **state) {
    Fixture *fixture = *state;
    Exchange exchange;
    Store *store = open_clean(fixture->folder);
    FILE *zeros = popen("head -c 100000000 /dev/zero | tr '\\0' x", "r");
    assert_non_null(zeros);
    assert_int_equal(store_import(store, zeros, "pipe", true, &exchange), EXCHANGE_BAD);
    assert_string_equal(exchange.why, "pipe:1: longer than 32 MiB; nothing was imported");
    pclose(zeros);
    store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_wrong_line_is_named_and_nothing_is_kept),
        STORE_TEST(any_damage_is_told),
        STORE_TEST(a_line_without_end_is_not_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
