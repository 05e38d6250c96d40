/* In: lines of JSON, from anywhere. Out: their results in the store beside this one, or one line that says
 * which line is wrong and why.
 *
 * The one idea: a line's checksum is looked at before its text is, and SQLite reads the JSON; what it
 * gives must have the types of a row. Nothing here is believed further: what a line claims is judged on
 * this device before it counts. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/store_lines.h"

typedef struct Import {
    Store *store;
    FILE *file;
    const char *name;
    bool binaries;
    Exchange *exchange;
    Text line; /* without its end */
    uint32_t number, results;
    bool ended; /* the line that counts results was there */
    int rc;     /* of writing */
    Arena *arena;
    Row row; /* what SQLite found in the line */
} Import;

static bool wrong(Import *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(Import *in, const char *format, ...) {
    char reason[256];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    snprintf(in->exchange->why, sizeof in->exchange->why, "%.200s:%u: %s; nothing was imported",
             in->name, in->number, reason);
    return false;
}

/* --- lines */

/* False at the end, or where the file is wrong. */
static bool next_line(Import *in) {
    int c;
    text_clear(&in->line);
    in->number++;
    while ((c = getc_unlocked(in->file)) != EOF && c != '\n') {
        if (c == '\0') return wrong(in, "a NUL byte is no text");
        if (in->line.length >= LINES_LONGEST)
            return wrong(in, "longer than %d MiB", LINES_LONGEST >> 20);
        text_add_bytes(&in->line, &(char){(char)c}, 1);
    }
    if (c == EOF && in->line.length > 0) return wrong(in, "the file ends inside this line");
    bool windows = in->line.length > 0 && in->line.data[in->line.length - 1] == '\r';
    if (windows) in->line.data[--in->line.length] = '\0'; /* some transfers change line ends */
    return c != EOF;
}

/* The sum comes off; what is left is an object again. */
static bool check_sum(Import *in) {
    char tail[LINES_TAIL + 1];
    if (in->line.length <= LINES_TAIL) return wrong(in, "this is no line of an export");
    size_t length = in->line.length - LINES_TAIL;
    lines_tail(in->line.data, length, tail);
    if (strncmp(in->line.data + length, tail, 8) != 0)
        return wrong(in, "this is no line of an export");
    if (strcmp(in->line.data + length, tail) != 0) return wrong(in, "its checksum is wrong");
    in->line.data[length] = '}';
    in->line.data[in->line.length = length + 1] = '\0';
    return true;
}

/* --- what is in a line: columns of a query, each of its type */

static void close_fields(Import *in) {
    row_close(&in->row);
    in->row = (Row){0};
}

static bool open_fields(Import *in, const char *sql) {
    in->row = row_open(in->store->imported, sql, in->line.data, NULL, NULL);
    return row_next(&in->row) || wrong(in, "this is no JSON");
}

static bool is_type(Import *in, int type, const char *name, const char *kind) {
    if (sqlite3_column_type(in->row.statement, in->row.column) == type) return true;
    return wrong(in, "'%s' is missing or no %s", name, kind);
}

static bool read_text(Import *in, const char *name, const char **text) {
    if (!is_type(in, SQLITE_TEXT, name, "text")) return false;
    *text = row_text(&in->row);
    *text = arena_copy(in->arena, *text, strlen(*text));
    return true;
}

static bool read_whole(Import *in, const char *name, int64_t *value) {
    if (!is_type(in, SQLITE_INTEGER, name, "whole number")) return false;
    *value = row_whole(&in->row);
    return true;
}

/* "[4e-05,null]": SQLite hands on a list's numbers as they are written; its own reading of them is not
 * exact to the last bit. */
static bool read_reals(Import *in, const char *name, double *values, uint32_t most,
                       uint32_t *count) {
    if (!is_type(in, SQLITE_TEXT, name, "list of numbers")) return false;
    const char *at = row_text(&in->row), *end;
    for (*count = 0; *at && *at != ']' && at[1] != ']'; at = end) {
        at++; /* '[' or ',' */
        bool null = strncmp(at, "null", 4) == 0;
        double value = null ? (double)NAN : strtod(at, (char **)&end);
        if (null) end = at + 4;
        if (end == at || (*end != ',' && *end != ']'))
            return wrong(in, "'%s' is no list of numbers", name);
        if (*count == most) return wrong(in, "'%s' has more than %u numbers", name, most);
        values[(*count)++] = value;
    }
    return true;
}

/* --- results */

static bool read_outcome(Import *in, Result *result) {
    const char *name;
    if (!read_text(in, "outcome", &name)) return false;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (strcmp(name, outcome_name((Outcome)i)) == 0) return result->outcome = (Outcome)i, true;
    return wrong(in, "unknown outcome");
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The last column; missing, where the file has no binaries. */
static bool read_binary(Import *in, Put *put) {
    const char *text;
    if (sqlite3_column_type(in->row.statement, in->row.column) == SQLITE_NULL) return true;
    if (!read_text(in, "binary", &text)) return false;
    size_t length = strlen(text);
    unsigned char *bytes = arena_alloc(in->arena, length / 2 + 1);
    for (size_t i = 0; i + 1 < length; i += 2) {
        int high = digit(text[i]), low = digit(text[i + 1]);
        if (high < 0 || low < 0) return wrong(in, "'binary' is not hexadecimal");
        bytes[i / 2] = (unsigned char)(high * 16 + low);
    }
    if (length == 0 || length % 2) return wrong(in, "'binary' is not hexadecimal");
    if (in->binaries) put->binary = bytes, put->size = length / 2;
    return true;
}

#define FIELD(name) "json_extract(?1,'$." #name "'),"
#define WHOLE(name, field) FIELD(name)
#define PATH(name, field) ",'$." #name "'"
#define NOTHING(name, field)
/* Of several paths json_extract makes a list; the first is there so that a comma can follow it. */
static const char trial_sql[] =
    "SELECT " FIELD(key) FIELD(shape) FIELD(point) FIELD(date) FIELD(outcome) FIELD(message)
        TRIAL_FIELDS(WHOLE, NOTHING) "json_extract(?1,'$.date'" TRIAL_FIELDS(
            NOTHING, PATH) ")," FIELD(samples) "json_extract(?1,'$.binary')";

static bool read_trial_figures(Import *in, Result *result) {
    enum { MOST = 16 };
    double reals[MOST], samples[RESULT_SAMPLES];
    uint32_t count, next = 1;
    int64_t whole;
#define READ_WHOLE(name, field)                       \
    if (!read_whole(in, #name, &whole)) return false; \
    result->field = (__typeof__(result->field))whole;
#define READ_REAL(name, field) result->field = next < count ? reals[next++] : (double)NAN;
    TRIAL_FIELDS(READ_WHOLE, NOTHING)
    if (!read_reals(in, "time", reals, MOST, &count)) return false;
    TRIAL_FIELDS(NOTHING, READ_REAL)
#undef READ_WHOLE
#undef READ_REAL
    if (!read_reals(in, "samples", samples, RESULT_SAMPLES, &result->sample_count)) return false;
    for (uint32_t i = 0; i < result->sample_count; i++) result->samples[i] = (float)samples[i];
    if (result->outcome == OUTCOME_OK && !(isfinite(result->time) && result->time >= 0))
        return wrong(in, "'time' is no time");
    return true;
}

static bool read_trial(Import *in, Put *put) {
    const char *message;
    put->kind = PUT_TRIAL;
    bool ok = open_fields(in, trial_sql) && read_text(in, "key", &put->key) &&
              read_text(in, "shape", &put->shape) && read_text(in, "point", &put->name) &&
              read_whole(in, "date", &put->date) && read_outcome(in, &put->result) &&
              read_text(in, "message", &message) && read_trial_figures(in, &put->result) &&
              read_binary(in, put);
    if (ok) snprintf(put->result.message, sizeof put->result.message, "%s", message);
    return ok;
}

/* An object of texts as "name value" lines, as report_load takes them. */
static bool read_report(Import *in, Put *put) {
    Text text = {0};
    const char *name, *value;
    bool ok = true;
    close_fields(in);
    in->row = row_open(in->store->imported, "SELECT key, value FROM json_each(?1, '$.report')",
                       in->line.data, NULL, NULL);
    while (ok && row_next(&in->row)) {
        ok = read_text(in, "report", &name) && read_text(in, "report", &value);
        if (ok && (strpbrk(name, " \n") || strchr(value, '\n')))
            ok = wrong(in, "'report' has a name or value of several lines");
        if (ok) text_printf(&text, "%s %s\n", name, value);
    }
    if (ok && text.length == 0) ok = wrong(in, "'report' is missing or no object of texts");
    put->answer = arena_copy(in->arena, text_string(&text), text.length);
    text_free(&text);
    return ok;
}

static bool read_answer(Import *in, Put *put) {
    put->kind = PUT_ANSWER;
    return open_fields(in, "SELECT " FIELD(key) FIELD(shape) "json_extract(?1,'$.date')") &&
           read_text(in, "key", &put->key) && read_text(in, "shape", &put->shape) &&
           read_whole(in, "date", &put->date) && read_report(in, put);
}

static bool read_figure(Import *in, Put *put) {
    double values[2];
    uint32_t count;
    put->kind = PUT_FIGURE;
    bool ok =
        open_fields(in, "SELECT " FIELD(name) FIELD(date) "json_extract(?1,'$.date','$.value')") &&
        read_text(in, "name", &put->name) && read_whole(in, "date", &put->date) &&
        read_reals(in, "value", values, 2, &count);
    if (ok) put->value = values[1];
    return ok;
}

/* --- the file */

static bool read_head(Import *in) {
    int64_t version, schema;
    if (!next_line(in) && !*in->exchange->why)
        wrong(in, ferror(in->file) ? "the file cannot be read" : "the file is empty");
    if (*in->exchange->why) return false;
    if (!check_sum(in)) return false;
    bool ok = open_fields(in, "SELECT " FIELD(kfuse_export) "json_extract(?1,'$.schema')") &&
              read_whole(in, "kfuse_export", &version) && read_whole(in, "schema", &schema);
    close_fields(in);
    if (ok && (version != LINES_VERSION || schema != STORE_SCHEMA))
        return wrong(in,
                     "an export of version %" PRId64 ", schema %" PRId64
                     "; this kfuse reads version %d, schema %d",
                     version, schema, LINES_VERSION, STORE_SCHEMA);
    return ok;
}

/* The last line. */
static bool read_end(Import *in) {
    int64_t results;
    bool ok = open_fields(in, "SELECT json_extract(?1,'$.results')") &&
              read_whole(in, "results", &results);
    if (ok && results != in->results)
        ok = wrong(in, "%" PRId64 " results were written, and here are %u", results, in->results);
    in->ended = ok;
    return ok;
}

static bool read_kind(Import *in, char *kind, size_t size) {
    const char *text = "";
    if (!open_fields(in, "SELECT json_extract(?1,'$.kind')")) return false;
    if (sqlite3_column_type(in->row.statement, 0) != SQLITE_NULL && !read_text(in, "kind", &text))
        return false;
    snprintf(kind, size, "%s", text);
    close_fields(in);
    return true;
}

static bool read_result(Import *in) {
    Put put = {0};
    char kind[16];
    if (in->ended) return wrong(in, "behind the last line");
    if (!check_sum(in) || !read_kind(in, kind, sizeof kind)) return false;
    if (!*kind) return read_end(in);
    bool ok = strcmp(kind, "trial") == 0    ? read_trial(in, &put)
              : strcmp(kind, "answer") == 0 ? read_answer(in, &put)
              : strcmp(kind, "figure") == 0 ? read_figure(in, &put)
                                            : wrong(in, "unknown kind of result");
    in->results++;
    if (ok) in->rc = exchange_take(in->store, &put, in->exchange);
    return ok && in->rc == SQLITE_OK;
}

static bool read_all(Import *in) {
    bool ok = true;
    while (ok && next_line(in)) {
        in->arena = arena_open();
        ok = read_result(in);
        close_fields(in);
        arena_close(in->arena);
    }
    if (*in->exchange->why || in->rc != SQLITE_OK) return false;
    if (ferror(in->file)) return wrong(in, "the file cannot be read");
    return in->ended || wrong(in, "the file ends early");
}

ExchangeStatus store_import(Store *store, FILE *file, const char *name, bool binaries,
                            Exchange *exchange) {
    Import in = {
        .store = store, .file = file, .name = name, .binaries = binaries, .exchange = exchange};
    if (!exchange_begin(store, exchange)) return EXCHANGE_STUCK;
    bool ok = read_head(&in) && read_all(&in);
    ExchangeStatus status = ok || in.rc != SQLITE_OK ? EXCHANGE_OK : EXCHANGE_BAD;
    text_free(&in.line);
    return exchange_end(store, status, in.rc, exchange);
}
