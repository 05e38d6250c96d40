/* In: a store. Out: its results as lines of JSON, in a fixed order. Results from elsewhere that are not
 * judged yet are among them: so stores are gathered where no device is. */
#include "tuner/store_lines.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tuner/report.h"

void lines_tail(const char *line, size_t length, char tail[LINES_TAIL + 1]) {
    snprintf(tail, LINES_TAIL + 1, ",\"sum\":\"%016llx\"}",
             (unsigned long long)XXH3_64bits(line, length));
}

typedef struct Export {
    FILE *file;
    bool binaries;
    Store *here; /* what it has is not written a second time; NULL: nothing is left out */
    Exchange *exchange;
} Export;

static void write_line(FILE *file, Text *line) {
    char tail[LINES_TAIL + 1];
    lines_tail(line->data, line->length, tail);
    fwrite(line->data, 1, line->length, file);
    fprintf(file, "%s\n", tail);
    text_free(line);
}

/* --- fields */

static void add_text(Text *line, const char *name, const char *value) {
    text_printf(line, ",\"%s\":", name);
    text_add_json(line, value);
}

static void add_whole(Text *line, const char *name, int64_t value) {
    text_printf(line, ",\"%s\":%" PRId64, name, value);
}

/* JSON knows no NaN; what is too large for any double reads as infinity. */
static void add_number(Text *line, double value) {
    if (isnan(value))
        text_add(line, "null");
    else if (isinf(value))
        text_add(line, value > 0 ? "1e999" : "-1e999");
    else
        text_printf(line, "%.17g", value);
}

static void add_real(Text *line, const char *name, double value) {
    text_printf(line, ",\"%s\":", name);
    add_number(line, value);
}

static void add_samples(Text *line, const Result *result) {
    text_add(line, ",\"samples\":[");
    for (uint32_t i = 0; i < result->sample_count; i++) {
        if (i) text_add(line, ",");
        add_number(line, (double)result->samples[i]);
    }
    text_add(line, "]");
}

static void add_binary(Text *line, const Put *put) {
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = put->binary;
    text_add(line, ",\"binary\":\"");
    for (size_t i = 0; i < put->size; i++)
        text_add_bytes(line, (char[]){digits[bytes[i] >> 4], digits[bytes[i] & 15]}, 2);
    text_add(line, "\"");
}

/* The value of the key's first line "name=…". */
static void add_of_key(Text *line, const char *name, const char *key) {
    int length;
    const char *found = store_key_value(key, name, 0, &length);
    Text value = {0};
    if (!found) return;
    text_add_bytes(&value, found, (size_t)length);
    add_text(line, name, text_string(&value));
    text_free(&value);
}

/* --- lines */

static void add_where(Text *line, const char *kind, const Put *put) {
    text_printf(line, "{\"kind\":\"%s\"", kind);
    add_text(line, "key", put->key);
    add_text(line, "shape", put->shape);
    if (put->kind == PUT_TRIAL) add_text(line, "point", put->name);
    add_of_key(line, "device", put->key);
    add_of_key(line, "compiler", put->key);
    add_whole(line, "date", put->date);
}

static void add_trial(Text *line, const Put *put, bool binaries) {
    const Result *result = &put->result;
    add_where(line, "trial", put);
    add_text(line, "outcome", outcome_name(result->outcome));
#define ADD_WHOLE(name, field) add_whole(line, #name, (int64_t)result->field);
#define ADD_REAL(name, field) add_real(line, #name, result->field);
    TRIAL_FIELDS(ADD_WHOLE, ADD_REAL)
#undef ADD_WHOLE
#undef ADD_REAL
    add_samples(line, result);
    add_text(line, "message", result->message);
    if (binaries && put->binary && put->size <= LINES_BINARY) add_binary(line, put);
}

/* "name value" lines as an object. False: it is no report. */
static bool add_answer(Text *line, const Put *put) {
    Arena *arena = arena_open();
    Report report;
    bool is_report = report_load(arena, put->answer, &report);
    const char *separator = "";
    if (is_report) add_where(line, "answer", put), text_add(line, ",\"report\":{");
    for (const char *at = put->answer; is_report && *at; separator = ",") {
        size_t length = strcspn(at, "\n"), name = strcspn(at, " ");
        text_add(line, separator);
        text_add_json(line, arena_copy(arena, at, name));
        text_add(line, ":");
        text_add_json(line, arena_copy(arena, at + name + 1, length - name - 1));
        at += length + 1;
    }
    if (is_report) text_add(line, "}");
    arena_close(arena);
    return is_report;
}

static void add_figure(Text *line, const Put *put) {
    text_add(line, "{\"kind\":\"figure\"");
    add_text(line, "name", put->name);
    add_whole(line, "date", put->date);
    add_real(line, "value", put->value);
}

static bool export_row(void *context, const Put *put) {
    Export *export = context;
    Text line = {0};
    if (export->here && imported_known(export->here, put)) return true;
    switch (put->kind) {
    case PUT_TRIAL: add_trial(&line, put, export->binaries); break;
    case PUT_ANSWER:
        if (!add_answer(&line, put)) return true;
        break;
    case PUT_FIGURE: add_figure(&line, put); break;
    }
    write_line(export->file, &line);
    export->exchange->results++;
    return !ferror(export->file);
}

static void write_head(FILE *file, const char *version) {
    Text line = {0};
    text_printf(&line, "{\"kfuse_export\":%d", LINES_VERSION);
    add_text(&line, "kfuse", version);
    add_whole(&line, "schema", STORE_SCHEMA);
    write_line(file, &line);
}

static void write_end(FILE *file, uint32_t results) {
    Text line = {0};
    text_printf(&line, "{\"results\":%u", results);
    write_line(file, &line);
}

ExchangeStatus store_export(Store *store, const char *version, bool binaries, FILE *file,
                            Exchange *exchange) {
    Store *imported = store_imported(store);
    Export export = {file, binaries, NULL, exchange};
    *exchange = (Exchange){0};
    write_head(file, version);
    int rc = store_walk(store, export_row, &export, &exchange->damaged);
    export.here = store;
    if (rc == SQLITE_OK && imported)
        rc = store_walk(imported, export_row, &export, &exchange->damaged);
    write_end(file, exchange->results);
    if (rc == SQLITE_OK) return EXCHANGE_OK;
    snprintf(exchange->why, sizeof exchange->why, "%s: %s", store->path, sqlite3_errstr(rc));
    return EXCHANGE_STUCK;
}
