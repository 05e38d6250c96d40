/* In: a store, or its folder. Out: what `kfuse cache` prints, and a folder without a store. */
#include "tuner/store_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tuner/report.h"

enum { HASH_SHOWN = 12 };

/* One line for each problem: key and exact shape. ?1 is not used. */
static const char list_sql[] =
    "SELECT key, shape, (SELECT text FROM answer a WHERE a.key = p.key AND a.shape = p.shape),"
    " (SELECT count(*) FROM trial t WHERE t.key = p.key AND t.shape = p.shape),"
    " max((SELECT ifnull(max(date), 0) FROM trial t WHERE t.key = p.key AND t.shape = p.shape),"
    "     (SELECT ifnull(max(date), 0) FROM answer a WHERE a.key = p.key AND a.shape = p.shape)) "
    "AS last"
    " FROM (SELECT key, shape FROM answer UNION SELECT key, shape FROM trial) p ORDER BY last DESC";

/* A terminal gets no control characters, whatever the database holds. */
static void add_plain(Text *out, const char *text) {
    text_add_plain(out, text, strlen(text));
}

/* The same of several lines. */
static void add_lines(Text *out, const char *text) {
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        text_add_plain(out, text, length);
        if (text[length]) text_add(out, "\n");
    }
}

static void add_date(Text *out, int64_t date) {
    time_t seconds = (time_t)date;
    struct tm parts;
    char text[32] = "?";
    if (localtime_r(&seconds, &parts)) strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
    text_add(out, text);
}

static void end(Store *store, Row *row) {
    int rc = row_close(row);
    if (rc != SQLITE_OK) db_failed(store, rc);
}

static bool has_problem(Store *here, const char *hash, const char *shape) {
    static const char sql[] = "SELECT EXISTS(SELECT 1 FROM answer WHERE key = ?1 AND shape = ?2)"
                              " OR EXISTS(SELECT 1 FROM trial WHERE key = ?1 AND shape = ?2)";
    Row row = row_open(here, sql, hash, shape, NULL);
    bool has = row_next(&row) && row_whole(&row);
    end(here, &row);
    return has;
}

/* An answer that is no report is the pipeline's own note, and no problem. `here`: the store beside which
 * this one is, or NULL; a problem that it has is listed again for an answer that is better there. */
static void list_row(Row *row, Store *here, Text *out) {
    Arena *arena = arena_open();
    Report report = report_none();
    const char *hash = row_text(row), *shape = row_text(row);
    bool answered = report_load(arena, row_text(row), &report);
    int64_t trials = row_whole(row), date = row_whole(row);
    if (answered || (trials && !(here && has_problem(here, hash, shape)))) {
        text_printf(out, "%.*s  ", HASH_SHOWN, hash);
        add_date(out, date);
        text_printf(out, "  %4lld trials  ", (long long)trials);
        if (answered)
            report_time(out, report.time);
        else
            text_add(out, "not finished");
        const char *words[] = {report.expression, shape, report.dtype, report.device};
        for (int i = 0; i < 4; i++) {
            if (*words[i]) text_add(out, "  ");
            add_plain(out, words[i]);
        }
        text_add(out, here ? "  imported\n" : "\n");
    }
    arena_close(arena);
}

static void list(Store *store, Store *here, Text *out) {
    store_flush(store);
    if (!store->db) return;
    Row row = row_open(store, list_sql, NULL, NULL, NULL);
    while (row_next(&row)) list_row(&row, here, out);
    end(store, &row);
}

void store_list(Store *store, Text *out) {
    list(store, NULL, out);
    if (store->db && store_imported(store)) list(store_imported(store), store, out);
}

static void show_trial(Text *out, const StoredTrial *trial) {
    const Result *result = &trial->result;
    text_add(out, "  ");
    if (result->outcome == OUTCOME_OK)
        report_time(out, result->time);
    else
        text_add(out, outcome_name(result->outcome));
    text_add(out, "  ");
    add_plain(out, trial->point);
    if (result->resources.registers >= 0)
        text_printf(out, "  %d registers, %d bytes spilled", (int)result->resources.registers,
                    (int)result->resources.spill_bytes);
    text_add(out, "  ");
    add_plain(out, result->message);
    text_add(out, "\n");
}

static void show_answer(Text *out, Arena *arena, const char *answer) {
    Report report = report_none();
    Text text = {0};
    if (report_load(arena, answer, &report)) report_text(&text, &report);
    add_lines(out, text_string(&text));
    text_free(&text);
}

static void show_key(Store *store, Arena *arena, const char *hash, const char *text, Text *out) {
    text_printf(out, "key        %s\n", hash);
    add_lines(out, text);
    text_add(out, "\n");
    Row row = row_open(store, row_answer, hash, NULL, NULL);
    while (row_next(&row)) {
        const char *shape, *answer;
        int64_t date;
        if (!row_read_answer(&row, arena, &shape, &date, &answer)) continue;
        text_add(out, "\nshape      ");
        add_plain(out, shape);
        text_add(out, ", answered ");
        add_date(out, date);
        text_add(out, "\n");
        show_answer(out, arena, answer);
    }
    end(store, &row);
    if (!store->db) return;
    const char *shape = "";
    row = row_open(store, row_trials, hash, "", NULL);
    while (row_next(&row)) {
        StoredTrial trial;
        if (!row_read_trial(&row, arena, &trial)) continue;
        if (strcmp(shape, trial.shape) != 0) {
            text_add(out, "\ntrials     ");
            add_plain(out, trial.shape);
            text_add(out, "\n");
        }
        shape = trial.shape;
        show_trial(out, &trial);
    }
    end(store, &row);
}

typedef struct Found {
    const char *hash, *text;
} Found;

static bool show(Store *store, const char *hash_prefix, const char *title, Text *out) {
    store_flush(store);
    if (!store->db) return false;
    Arena *arena = arena_open();
    ARRAY(Found) keys = {0};
    Row row = row_open(store, row_key, hash_prefix, NULL, NULL);
    while (row_next(&row)) {
        Found key;
        if (row_read_key(&row, arena, &key.hash, &key.text)) array_push(arena, &keys, key);
    }
    end(store, &row);
    if (keys.count > 0) text_add(out, title);
    for (uint32_t i = 0; i < keys.count && store->db; i++)
        show_key(store, arena, keys.data[i].hash, keys.data[i].text, out);
    arena_close(arena);
    return keys.count > 0;
}

typedef struct Keys {
    ARRAY(const char *) texts;
} Keys;

static void add_keys(Store *store, Arena *arena, Keys *keys) {
    const char *hash, *text;
    store_flush(store);
    if (!store->db) return;
    Row row = row_open(store, row_key, "", NULL, NULL);
    while (row_next(&row)) {
        bool there = !row_read_key(&row, arena, &hash, &text);
        for (uint32_t i = 0; i < keys->texts.count && !there; i++)
            there = strcmp(keys->texts.data[i], text) == 0;
        if (!there) array_push(arena, &keys->texts, text);
    }
    end(store, &row);
}

const char *const *store_keys(Store *store, Arena *arena, uint32_t *count) {
    Keys keys = {0};
    add_keys(store, arena, &keys);
    if (store->db && store_imported(store)) add_keys(store_imported(store), arena, &keys);
    *count = keys.texts.count;
    return keys.texts.data;
}

bool store_show(Store *store, const char *hash_prefix, Text *out) {
    bool found = show(store, hash_prefix, "", out);
    const char *title = found ? "\nimported\n" : "imported\n";
    if (store->db && store_imported(store))
        found |= show(store_imported(store), hash_prefix, title, out);
    return found;
}

/* The lock file stays: another process may be waiting for it. */
static bool clear(const char *folder, char *why, size_t size) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    if (!folder || access(folder, F_OK) != 0) return true;
    int lock = db_lock(folder, true, 2);
    if (lock < 0) {
        snprintf(why, size, "%s: %s", folder,
                 errno == EWOULDBLOCK ? "another kfuse uses it" : strerror(errno));
        return false;
    }
    bool done = true;
    for (int n = 0; n <= 9; n++) {
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
            Text path = {0};
            text_printf(&path, "%s/kfuse.db", folder);
            if (n) text_printf(&path, ".damaged-%d", n);
            text_add(&path, suffixes[i]);
            if (unlink(path.data) != 0 && errno != ENOENT && done) {
                snprintf(why, size, "%s: %s", path.data, strerror(errno));
                done = false;
            }
            text_free(&path);
        }
    }
    close(lock);
    return done;
}

bool store_clear(const char *folder, char *why, size_t size) {
    Text imported = {0};
    text_printf(&imported, "%s/imported", folder ? folder : "");
    bool done = clear(folder, why, size) && (!folder || clear(imported.data, why, size));
    text_free(&imported);
    return done;
}
