/* What the tests of exports and imports share. */
#ifndef KF_EXCHANGE_FIXTURE_H
#define KF_EXCHANGE_FIXTURE_H

#include "tests/unit/store_fixture.h"
#include "tuner/store_lines.h"

static inline char *export_of(Store *store, bool binaries, Exchange *exchange) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_int_equal(store_export(store, "0.1.0", binaries, file, exchange), EXCHANGE_OK);
    fclose(file);
    return text;
}

static inline ExchangeStatus import_of(Store *store, const char *text, size_t size, bool binaries,
                                       Exchange *exchange) {
    FILE *file = fmemopen((void *)(uintptr_t)text, size, "rb");
    assert_non_null(file);
    ExchangeStatus status = store_import(store, file, "lines", binaries, exchange);
    fclose(file);
    return status;
}

static inline void import_all(Store *store, const char *text, bool binaries, Exchange *exchange) {
    if (import_of(store, text, strlen(text), binaries, exchange) != EXCHANGE_OK)
        fail_msg("%s", exchange->why);
}

/* With the checksum that it should have. */
static inline void add_signed(Text *out, const char *line) {
    char tail[LINES_TAIL + 1];
    lines_tail(line, strlen(line), tail);
    text_printf(out, "%s%s\n", line, tail);
}

#endif
