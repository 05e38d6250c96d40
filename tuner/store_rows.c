/* In: trials, answers, figures. Out: rows, and back. The one idea: a cursor passes the columns in
 * the same order in both directions and sums them on the way, so that a row is trusted only if it
 * is the row that was written. */
#include "tuner/store_db.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define COLUMN(name, field) #name ", "
#define MARK(name, field) "?, "
#define TRIAL_COLUMNS \
    "key, shape, point, date, outcome, " TRIAL_FIELDS(COLUMN, COLUMN) "samples, message, sum"

const char row_tables[] =
    "CREATE TABLE IF NOT EXISTS key(hash, text, sum, PRIMARY KEY(hash));"
    "CREATE TABLE IF NOT EXISTS trial(" TRIAL_COLUMNS
    ", binary, binary_sum, PRIMARY KEY(key, shape, point));"
    "CREATE TABLE IF NOT EXISTS answer(key, shape, date, text, sum, PRIMARY KEY(key, shape));"
    "CREATE TABLE IF NOT EXISTS figure(name, value, date, sum, PRIMARY KEY(name));";

const char row_trials[] = "SELECT " TRIAL_COLUMNS " FROM trial WHERE key = ?1"
                          " ORDER BY shape <> ?2, outcome <> 'ok', time";
const char row_binary[] = "SELECT " TRIAL_COLUMNS ", binary, binary_sum FROM trial WHERE key = ?1"
                          " AND point = ?3 AND binary IS NOT NULL ORDER BY shape <> ?2, date DESC";
const char row_answer[] = "SELECT key, shape, date, text, sum FROM answer WHERE key = ?1"
                          " AND shape = ifnull(?2, shape) ORDER BY date DESC";
const char *const row_all[] = {
    [PUT_TRIAL] = "SELECT " TRIAL_COLUMNS ", binary, binary_sum FROM trial"
                  " ORDER BY key, shape, point",
    [PUT_ANSWER] = "SELECT key, shape, date, text, sum FROM answer ORDER BY key, shape",
    [PUT_FIGURE] = "SELECT name, value, date, sum FROM figure ORDER BY name"};
const char row_figure[] = "SELECT name, value, date, sum FROM figure WHERE name = ?1";
const char row_key[] = "SELECT hash, text, sum FROM key WHERE substr(hash, 1, length(?1)) = ?1";

void row_hash(const char *key, char hash[STORE_HASH]) {
    XXH128_hash_t value = XXH3_128bits(key, strlen(key));
    snprintf(hash, STORE_HASH, "%016llx%016llx", (unsigned long long)value.high64,
             (unsigned long long)value.low64);
}

/* --- the cursor */

/* A failed bind leaves NULL, which the row's sum does not allow. */
Row row_open(Store *store, const char *sql, const char *a, const char *b, const char *c) {
    Row row = {.statement = NULL};
    store->steps = 0;
    row.rc = sqlite3_prepare_v2(store->db, sql, -1, &row.statement, NULL);
    const char *texts[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        if (texts[i]) sqlite3_bind_text(row.statement, i + 1, texts[i], -1, SQLITE_STATIC);
    return row;
}

bool row_next(Row *row) {
    row->column = 0;
    row->sum = STORE_SCHEMA;
    return row->rc == SQLITE_OK && sqlite3_step(row->statement) == SQLITE_ROW;
}

int row_close(Row *row) {
    int rc = sqlite3_finalize(row->statement);
    return row->rc == SQLITE_OK ? rc : row->rc;
}

/* Kind and bytes go into the sum, seeded by the sum so far. */
static void add(Row *row, char kind, const void *bytes, size_t size) {
    row->sum = XXH3_64bits_withSeed(bytes, size, XXH3_64bits_withSeed(&kind, 1, row->sum));
}

int64_t row_whole(Row *row) {
    int64_t value = sqlite3_column_int64(row->statement, row->column++);
    add(row, 'w', &value, sizeof value);
    return value;
}

/* SQLite keeps no NaN; it comes back as NULL. */
static double get_real(Row *row) {
    bool null = sqlite3_column_type(row->statement, row->column) == SQLITE_NULL;
    double value = null ? (double)NAN : sqlite3_column_double(row->statement, row->column);
    row->column++;
    add(row, null ? 'n' : 'r', &value, null ? 0 : sizeof value);
    return value;
}

static const void *get_bytes(Row *row, size_t *size) {
    const void *bytes = sqlite3_column_blob(row->statement, row->column);
    *size = (size_t)sqlite3_column_bytes(row->statement, row->column++);
    add(row, 'b', bytes, *size);
    return bytes;
}

const char *row_text(Row *row) {
    const char *text = (const char *)sqlite3_column_text(row->statement, row->column);
    size_t length = (size_t)sqlite3_column_bytes(row->statement, row->column++);
    add(row, 't', text, length);
    return text ? text : "";
}

/* The next column must be the sum of those before it. */
static bool check_sum(Row *row) {
    uint64_t sum = row->sum;
    return (uint64_t)row_whole(row) == sum;
}

static void put_whole(Row *row, int64_t value) {
    sqlite3_bind_int64(row->statement, ++row->column, value);
    add(row, 'w', &value, sizeof value);
}

static void put_real(Row *row, double value) {
    sqlite3_bind_double(row->statement, ++row->column, value);
    add(row, isnan(value) ? 'n' : 'r', &value, isnan(value) ? 0 : sizeof value);
}

static void put_bytes(Row *row, const void *bytes, size_t size) {
    sqlite3_bind_blob64(row->statement, ++row->column, size ? bytes : "", size, SQLITE_STATIC);
    add(row, 'b', bytes, size);
}

static void put_text(Row *row, const char *text, size_t length) {
    sqlite3_bind_text64(row->statement, ++row->column, text, length, SQLITE_STATIC, SQLITE_UTF8);
    add(row, 't', text, length);
}

static void put_string(Row *row, const char *text) {
    put_text(row, text, strlen(text));
}

static void put_sum(Row *row) {
    put_whole(row, (int64_t)row->sum);
}

static Row begin(Store *store, const char *sql) {
    Row row = row_open(store, sql, NULL, NULL, NULL);
    row.sum = STORE_SCHEMA;
    return row;
}

static int finish(Row *row) {
    if (row->rc == SQLITE_OK) sqlite3_step(row->statement);
    return row_close(row);
}

/* --- reading */

static bool outcome_find(const char *name, Outcome *outcome) {
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (strcmp(name, outcome_name((Outcome)i)) != 0) continue;
        *outcome = (Outcome)i;
        return true;
    }
    return false;
}

static char *copy(Arena *arena, const char *text) {
    return arena_copy(arena, text, strlen(text));
}

static void read_samples(Row *row, Result *result) {
    size_t size;
    const void *samples = get_bytes(row, &size);
    result->sample_count = (uint32_t)(size / sizeof *result->samples);
    if (result->sample_count > RESULT_SAMPLES) result->sample_count = RESULT_SAMPLES;
    if (result->sample_count)
        memcpy(result->samples, samples, result->sample_count * sizeof *result->samples);
}

bool row_read_trial(Row *row, Arena *arena, StoredTrial *trial) {
    *trial = (StoredTrial){0};
    Result *result = &trial->result;
    trial->hash = copy(arena, row_text(row));
    trial->shape = copy(arena, row_text(row));
    trial->point = copy(arena, row_text(row));
    trial->date = row_whole(row);
    bool known = outcome_find(row_text(row), &result->outcome);
#define GET_WHOLE(name, field) result->field = (__typeof__(result->field))row_whole(row);
#define GET_REAL(name, field) result->field = get_real(row);
    TRIAL_FIELDS(GET_WHOLE, GET_REAL)
#undef GET_WHOLE
#undef GET_REAL
    read_samples(row, result);
    snprintf(result->message, sizeof result->message, "%s", row_text(row));
    return check_sum(row) && known;
}

/* The binary's sum goes on from its trial's: bytes of one writer beside the figures of another do
 * not pass. */
bool row_read_binary(Row *row, Arena *arena, StoredTrial *trial, const void **bytes, size_t *size) {
    if (!row_read_trial(row, arena, trial)) return false;
    const void *binary = get_bytes(row, size);
    if (!check_sum(row)) return false;
    *bytes = arena_copy(arena, binary ? binary : "", *size);
    return true;
}

bool row_read_answer(Row *row, Arena *arena, const char **shape, int64_t *date, const char **text) {
    row_text(row);
    *shape = copy(arena, row_text(row));
    *date = row_whole(row);
    *text = copy(arena, row_text(row));
    return check_sum(row);
}

bool row_read_figure(Row *row, double *value) {
    row_text(row);
    *value = get_real(row);
    row_whole(row);
    return check_sum(row);
}

bool row_read_key(Row *row, Arena *arena, const char **hash, const char **text) {
    *hash = copy(arena, row_text(row));
    *text = copy(arena, row_text(row));
    return check_sum(row);
}

static bool read_put_trial(Row *row, Arena *arena, Put *put) {
    StoredTrial trial;
    if (!row_read_trial(row, arena, &trial)) return false;
    *put = (Put){PUT_TRIAL,           .key = trial.hash,      .shape = trial.shape,
                 .name = trial.point, .result = trial.result, .date = trial.date};
    if (sqlite3_column_type(row->statement, row->column) == SQLITE_NULL) return true;
    size_t size;
    const void *bytes = get_bytes(row, &size);
    if (!check_sum(row)) return true;
    put->binary = arena_copy(arena, bytes ? bytes : "", size);
    put->size = size;
    return true;
}

static bool read_put_answer(Row *row, Arena *arena, Put *put) {
    *put = (Put){.kind = PUT_ANSWER, .key = copy(arena, row_text(row))};
    put->shape = copy(arena, row_text(row));
    put->date = row_whole(row);
    put->answer = copy(arena, row_text(row));
    return check_sum(row);
}

static bool read_put_figure(Row *row, Arena *arena, Put *put) {
    *put = (Put){.kind = PUT_FIGURE, .name = copy(arena, row_text(row))};
    put->value = get_real(row);
    put->date = row_whole(row);
    return check_sum(row);
}

bool row_read_put(Row *row, Arena *arena, PutKind kind, Put *put) {
    switch (kind) {
    case PUT_TRIAL: return read_put_trial(row, arena, put);
    case PUT_ANSWER: return read_put_answer(row, arena, put);
    case PUT_FIGURE: return read_put_figure(row, arena, put);
    }
    return false;
}

/* --- writing */

static int write_key(Store *store, const char *hash, const char *text) {
    Row row = begin(store, "INSERT OR REPLACE INTO key VALUES(?, ?, ?)");
    put_string(&row, hash);
    put_string(&row, text);
    put_sum(&row);
    return finish(&row);
}

/* The binary that the row has, if it is of the machine code of `put`. */
static int keep_binary(Store *store, const char *hash, Put *put) {
    Row row = row_open(store, row_binary, hash, put->shape, put->name);
    while (row_next(&row)) {
        StoredTrial old;
        const void *bytes;
        size_t size;
        if (!row_read_binary(&row, store->arena, &old, &bytes, &size)) continue;
        if (strcmp(old.shape, put->shape) != 0) break;
        if (old.result.machine_code == put->result.machine_code) {
            put->binary = bytes;
            put->size = size;
        }
    }
    return row_close(&row);
}

static int write_trial(Store *store, const char *hash, Put put) {
    const Result *result = &put.result;
    if (!put.binary && result->machine_code) {
        int rc = keep_binary(store, hash, &put);
        if (rc != SQLITE_OK) return rc;
    }
    Row row = begin(store, "INSERT OR REPLACE INTO trial VALUES(?, ?, ?, ?, ?, " TRIAL_FIELDS(
                               MARK, MARK) "?, ?, ?, ?, ?)");
    put_string(&row, hash);
    put_string(&row, put.shape);
    put_string(&row, put.name);
    put_whole(&row, put.date);
    put_string(&row, outcome_name(result->outcome));
#define PUT_WHOLE(name, field) put_whole(&row, (int64_t)result->field);
#define PUT_REAL(name, field) put_real(&row, result->field);
    TRIAL_FIELDS(PUT_WHOLE, PUT_REAL)
#undef PUT_WHOLE
#undef PUT_REAL
    put_bytes(&row, result->samples, result->sample_count * sizeof *result->samples);
    put_text(&row, result->message, strnlen(result->message, sizeof result->message - 1));
    put_sum(&row);
    if (put.binary) {
        put_bytes(&row, put.binary, put.size);
        put_sum(&row);
    }
    return finish(&row);
}

static int write_answer(Store *store, const char *hash, const Put *put) {
    Row row = begin(store, "INSERT OR REPLACE INTO answer VALUES(?, ?, ?, ?, ?)");
    put_string(&row, hash);
    put_string(&row, put->shape);
    put_whole(&row, put->date);
    put_string(&row, put->answer);
    put_sum(&row);
    return finish(&row);
}

static int write_figure(Store *store, const Put *put) {
    Row row = begin(store, "INSERT OR REPLACE INTO figure VALUES(?, ?, ?, ?)");
    put_string(&row, put->name);
    put_real(&row, put->value);
    put_whole(&row, put->date);
    put_sum(&row);
    return finish(&row);
}

int row_write(Store *store, const Put *put) {
    if (put->kind == PUT_FIGURE) return write_figure(store, put);
    char hash[STORE_HASH];
    row_hash(put->key, hash);
    int rc = write_key(store, hash, put->key);
    if (rc != SQLITE_OK) return rc;
    return put->kind == PUT_TRIAL ? write_trial(store, hash, *put) : write_answer(store, hash, put);
}
