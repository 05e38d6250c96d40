/* Any lines, with the checksums they should have, as an import: refused with a line that says why, or taken;
 * what was taken is listed, and exported as what can be imported. */
#include <stdlib.h>
#include <string.h>

#include "tuner/store_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Store *store;

/* One store for all inputs, so that they meet what others left. */
static void open_once(void) {
    static char folder[] = "/tmp/kfuse-fuzz-XXXXXX";
    if (store) return;
    if (!mkdtemp(folder)) abort();
    store = store_open(folder);
}

static void sign(Text *out, const char *line, size_t length) {
    char tail[LINES_TAIL + 1];
    lines_tail(line, length, tail);
    text_add_bytes(out, line, length);
    text_printf(out, "%s\n", tail);
}

static ExchangeStatus import(char *text, size_t length, Exchange *exchange) {
    FILE *file = fmemopen(text, length, "rb");
    if (!file) abort();
    ExchangeStatus status = store_import(store, file, "in", true, exchange);
    fclose(file);
    return status;
}

static void check_taken(void) {
    Exchange exchange;
    Text shown = {0};
    char *text = NULL;
    size_t length;
    store_list(store, &shown);
    store_show(store, "", &shown);
    text_free(&shown);
    FILE *file = open_memstream(&text, &length);
    if (store_export(store, "0", true, file, &exchange) != EXCHANGE_OK) abort();
    fclose(file);
    if (import(text, length, &exchange) != EXCHANGE_OK) abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Text text = {0};
    Exchange exchange;
    open_once();
    for (const uint8_t *end = data + size, *next; data < end; data = next + 1) {
        next = memchr(data, '\n', (size_t)(end - data));
        if (!next) next = end;
        sign(&text, (const char *)data, (size_t)(next - data));
    }
    if (text.length > 0 && import(text.data, text.length, &exchange) == EXCHANGE_OK)
        check_taken();
    else if (text.length > 0 && !*exchange.why)
        abort();
    text_free(&text);
    return 0;
}
