/* In: results from elsewhere. Out: those that this store does not know, in the store beside it, all of one
 * file in one transaction. */
#include "tuner/store_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tuner/report.h"

/* --- what is worth keeping */

/* Seconds of a report; a huge number where there is none. */
static double answer_time(const char *text) {
    Arena *arena = arena_open();
    Report report;
    double time =
        text && report_load(arena, text, &report) && report.time > 0 ? report.time : 1e300;
    arena_close(arena);
    return time;
}

/* Of answers the faster one counts, by what they say. */
static bool is_answered(Store *store, const Put *put, Exchange *exchange) {
    Arena *arena = arena_open();
    const StoreKey key = {put->key, put->shape};
    const char *text;
    int64_t date;
    bool answered = store_answer(store, &key, arena, &text, &date);
    double here = answered ? answer_time(text) : 0, there = answer_time(put->answer);
    arena_close(arena);
    answered = answered && here <= there;
    if (answered) ++*(here == there ? &exchange->known : &exchange->slower);
    return answered;
}

int exchange_take(Store *store, const Put *put, Exchange *exchange) {
    Store *imported = store->imported;
    if (put->kind == PUT_ANSWER && is_answered(store, put, exchange)) return SQLITE_OK;
    if ((put->kind != PUT_ANSWER && imported_known(store, put)) || imported_known(imported, put))
        return exchange->known++, SQLITE_OK;
    exchange->results++;
    return row_write(imported, put);
}

/* --- one transaction */

/* A complaint names the database. */
static void keep_why(Exchange *exchange, Store *imported, int rc) {
    const char *complaint = store_complaint(imported);
    if (complaint)
        snprintf(exchange->why, sizeof exchange->why, "%s; nothing was imported", complaint);
    else
        snprintf(exchange->why, sizeof exchange->why, "%s: %s; nothing was imported",
                 store_path(imported), sqlite3_errstr(rc));
}

bool exchange_begin(Store *store, Exchange *exchange) {
    Store *imported = imported_open(store);
    *exchange = (Exchange){0};
    int rc = store_keeps(imported) ? db_exec(imported, "BEGIN IMMEDIATE") : SQLITE_READONLY;
    if (rc == SQLITE_OK) return true;
    keep_why(exchange, imported, rc);
    return false;
}

ExchangeStatus exchange_end(Store *store, ExchangeStatus status, int rc, Exchange *exchange) {
    Store *imported = store->imported;
    if (status == EXCHANGE_OK && rc == SQLITE_OK) rc = db_exec(imported, "COMMIT");
    if (status == EXCHANGE_OK && rc != SQLITE_OK) {
        keep_why(exchange, imported, rc);
        status = EXCHANGE_STUCK;
    }
    if (status != EXCHANGE_OK) db_exec(imported, "ROLLBACK");
    return status;
}

/* --- a database */

typedef struct Merge {
    Store *store;
    Exchange *exchange;
    int rc;
} Merge;

/* An answer that is no report is a note about its machine. */
static bool merge_row(void *context, const Put *put) {
    Merge *merge = context;
    if (put->kind == PUT_ANSWER && answer_time(put->answer) >= 1e300) return true;
    merge->rc = exchange_take(merge->store, put, merge->exchange);
    return merge->rc == SQLITE_OK;
}

static Store *open_foreign(const char *path) {
    Store *from = calloc(1, sizeof *from);
    if (!from) abort();
    from->lock = -1;
    from->arena = arena_open();
    from->folder = strdup(".");
    from->path = strdup(path);
    from->imported_sought = true;
    if (!from->folder || !from->path) abort();
    db_open_foreign(from);
    return from;
}

/* SQLite does not say why it cannot open one. */
static bool is_file(const char *path, Exchange *exchange) {
    struct stat status;
    const char *why = stat(path, &status) != 0   ? strerror(errno)
                      : !S_ISREG(status.st_mode) ? "is no file"
                                                 : NULL;
    if (why) snprintf(exchange->why, sizeof exchange->why, "%s: %s", path, why);
    return !why;
}

ExchangeStatus store_merge(Store *store, const char *path, Exchange *exchange) {
    if (!is_file(path, exchange)) return EXCHANGE_BAD;
    Store *from = open_foreign(path);
    Merge merge = {store, exchange, SQLITE_OK};
    ExchangeStatus status = EXCHANGE_BAD;
    if (!from->db) {
        snprintf(exchange->why, sizeof exchange->why, "%s", store_complaint(from));
    } else if (!exchange_begin(store, exchange)) {
        status = EXCHANGE_STUCK;
    } else {
        int rc = store_walk(from, merge_row, &merge, &exchange->damaged);
        status = rc == SQLITE_OK ? EXCHANGE_OK : EXCHANGE_BAD;
        if (rc != SQLITE_OK)
            snprintf(exchange->why, sizeof exchange->why, "%s: %s; nothing was merged", path,
                     sqlite3_errstr(rc));
        status = exchange_end(store, status, merge.rc, exchange);
    }
    store_close(from);
    return status;
}
