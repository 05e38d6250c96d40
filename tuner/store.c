/* In: trials, answers, figures, by the text of a key. Out: the same, later and in other processes.
 * The one idea: what is put waits in a queue and goes to the database in one transaction a second,
 * so that a store costs a tuning run nothing, and a crash at most a second of it. */
#include "tuner/store_db.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *store_folder(Arena *arena) {
    const char *own = getenv("KFUSE_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (own && *own) return arena_printf(arena, "%s", own);
    if (xdg && *xdg == '/')
        return arena_printf(arena, "%s/kfuse", xdg); /* a relative one does not count */
    if (home && *home) return arena_printf(arena, "%s/.cache/kfuse", home);
    return NULL;
}

Store *store_open(const char *folder) {
    Store *store = calloc(1, sizeof *store);
    if (!store) abort();
    store->lock = -1;
    store->arena = arena_open();
    store->written = db_clock();
    store->folder = strdup(folder ? folder : "");
    Text path = {0};
    if (folder)
        text_printf(&path, "%s/kfuse.db", folder);
    else
        text_add(&path, "");
    store->path = path.data;
    if (folder && *folder)
        db_open(store);
    else
        db_complain(store,
                    "no folder for the store: none of KFUSE_CACHE, XDG_CACHE_HOME and HOME is set;"
                    " running without one");
    return store;
}

void store_close(Store *store) {
    if (!store) return;
    store_flush(store);
    store_close(store->imported);
    db_close(store);
    arena_close(store->arena);
    free(store->folder);
    free(store->path);
    free(store->complaint);
    free(store);
}

const char *store_complaint(const Store *store) {
    return store->complaint;
}

const char *store_path(const Store *store) {
    return store->path;
}

bool store_keeps(const Store *store) {
    return store->db && store->writes;
}

bool store_is_readable(const Store *store) {
    return store->db;
}

bool store_is_new(const Store *store) {
    return !store->db || store->fresh;
}

/* --- putting */

static int write_queue(Store *store) {
    int rc = db_exec(store, "BEGIN IMMEDIATE");
    for (uint32_t i = 0; i < store->queue.count && rc == SQLITE_OK; i++)
        rc = row_write(store, &store->queue.data[i]);
    if (rc == SQLITE_OK) rc = db_exec(store, "COMMIT");
    if (rc != SQLITE_OK) db_exec(store, "ROLLBACK");
    return rc;
}

void store_flush(Store *store) {
    if (!store->queue.count) return;
    if (store_keeps(store)) {
        int rc = write_queue(store);
        if (rc != SQLITE_OK && db_failed(store, rc) && (rc = write_queue(store)) != SQLITE_OK)
            db_failed(store, rc);
    }
    arena_close(store->arena);
    store->arena = arena_open();
    memset(&store->queue, 0, sizeof store->queue);
    store->written = db_clock();
}

static const char *copy(Store *store, const char *text) {
    return text ? arena_copy(store->arena, text, strlen(text)) : NULL;
}

static void queue(Store *store, Put put) {
    if (!store_keeps(store)) return;
    put.key = copy(store, put.key);
    put.shape = copy(store, put.shape);
    put.name = copy(store, put.name);
    put.answer = copy(store, put.answer);
    put.binary = put.binary && put.size ? arena_copy(store->arena, put.binary, put.size) : NULL;
    put.date = time(NULL);
    array_push(store->arena, &store->queue, put);
    if (db_clock() - store->written >= 1) store_flush(store);
}

void store_put_trial(Store *store, const StoreKey *key, const char *point, const Result *result,
                     const void *binary, size_t size) {
    queue(store, (Put){.kind = PUT_TRIAL,
                       .key = key->text,
                       .shape = key->shape,
                       .name = point,
                       .result = *result,
                       .binary = binary,
                       .size = size});
}

void store_put_answer(Store *store, const StoreKey *key, const char *answer) {
    imported_drop(store, key);
    queue(store,
          (Put){.kind = PUT_ANSWER, .key = key->text, .shape = key->shape, .answer = answer});
}

void store_put_figure(Store *store, const char *name, double value) {
    queue(store, (Put){.kind = PUT_FIGURE, .name = name, .value = value});
}

/* --- getting: what is queued is written first, so that it is seen */

static bool ready(Store *store) {
    store_flush(store);
    return store->db;
}

static void finish(Store *store, Row *row) {
    int rc = row_close(row);
    if (rc != SQLITE_OK) db_failed(store, rc);
}

typedef struct Trials {
    ARRAY(StoredTrial) list;
} Trials;

static void add_trials(Store *store, const StoreKey *key, Arena *arena, bool imported,
                       Trials *trials) {
    char hash[STORE_HASH];
    if (!ready(store)) return;
    row_hash(key->text, hash);
    Row row = row_open(store, row_trials, hash, key->shape, NULL);
    while (row_next(&row)) {
        StoredTrial trial;
        if (!row_read_trial(&row, arena, &trial)) continue;
        trial.imported = imported;
        array_push(arena, &trials->list, trial);
    }
    finish(store, &row);
}

const StoredTrial *store_trials(Store *store, const StoreKey *key, Arena *arena, uint32_t *count) {
    Trials trials = {0};
    add_trials(store, key, arena, false, &trials);
    if (store_imported(store)) add_trials(store_imported(store), key, arena, true, &trials);
    *count = trials.list.count;
    return trials.list.data;
}

bool store_binary(Store *store, const StoreKey *key, const char *point, Arena *arena,
                  const void **bytes, size_t *size) {
    if (!ready(store)) return false;
    char hash[STORE_HASH];
    row_hash(key->text, hash);
    Row row = row_open(store, row_binary, hash, key->shape, point);
    bool found = false;
    while (!found && row_next(&row)) {
        StoredTrial trial;
        found = row_read_binary(&row, arena, &trial, bytes, size);
    }
    finish(store, &row);
    return found;
}

bool store_answer(Store *store, const StoreKey *key, Arena *arena, const char **answer,
                  int64_t *date) {
    if (!ready(store)) return false;
    char hash[STORE_HASH];
    row_hash(key->text, hash);
    Row row = row_open(store, row_answer, hash, key->shape, NULL);
    const char *shape;
    bool found = row_next(&row) && row_read_answer(&row, arena, &shape, date, answer);
    finish(store, &row);
    return found;
}

bool store_figure(Store *store, const char *name, double *value) {
    if (!ready(store)) return false;
    Row row = row_open(store, row_figure, name, NULL, NULL);
    bool found = row_next(&row) && row_read_figure(&row, value);
    finish(store, &row);
    return found;
}
