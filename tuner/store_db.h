/* The database under the store, for store*.c alone: opened, locked, set aside when damaged; and its
 * rows, each read and written through one cursor that sums what it passes. */
#ifndef KF_STORE_DB_H
#define KF_STORE_DB_H

#include <sqlite3.h>
#include <sys/types.h>

#include "tuner/store.h"

/* The form of the tables below; a database of another one is never read. */
enum { STORE_SCHEMA = 1 };

enum { STORE_HASH = 33 }; /* 128 bits in hexadecimal, and the NUL */

/* name in the database, field of Result. Columns have no type, so that SQLite converts nothing. */
#define TRIAL_FIELDS(WHOLE, REAL)               \
    REAL(time, time)                            \
    REAL(spread, spread)                        \
    WHOLE(registers, resources.registers)       \
    WHOLE(spill_bytes, resources.spill_bytes)   \
    WHOLE(stack_bytes, resources.stack_bytes)   \
    WHOLE(shared_bytes, resources.shared_bytes) \
    WHOLE(machine_code, machine_code)           \
    WHOLE(checked, check.checked)               \
    WHOLE(unchecked, check.unchecked)           \
    WHOLE(ambiguous, check.ambiguous)           \
    WHOLE(wrong, check.wrong)                   \
    WHOLE(first_wrong, check.first_wrong)       \
    REAL(worst_bound, check.worst_bound)        \
    WHOLE(worst_bound_at, check.worst_bound_at) \
    REAL(worst_ulp, check.worst_ulp)            \
    WHOLE(worst_ulp_at, check.worst_ulp_at)

typedef enum PutKind { PUT_TRIAL, PUT_ANSWER, PUT_FIGURE } PutKind;

/* A queued change. */
typedef struct Put {
    PutKind kind;
    const char *key, *shape; /* the key's text; trial and answer */
    const char *name;        /* the trial's point, the figure's name */
    const char *answer;      /* answer */
    double value;            /* figure */
    Result result;           /* trial */
    const void *binary;      /* trial; NULL: none */
    size_t size;
    int64_t date; /* Unix seconds */
} Put;

struct Store {
    sqlite3 *db;    /* NULL: answers nothing, keeps nothing */
    bool writes;    /* what is put is kept */
    bool fresh;     /* its tables were made just now */
    bool renewed;   /* a damaged database was set aside: once is enough */
    bool foreign;   /* merged from, and only read */
    bool abandoned; /* a statement took too long */
    uint32_t steps; /* of the running statement */
    int lock;       /* the lock file, held shared; -1: none could be had */
    ino_t inode;    /* of the open database */
    char *folder, *path, *complaint;
    Arena *arena; /* of the queue */
    ARRAY(Put) queue;
    double written;  /* when, by db_clock */
    Store *imported; /* opened when first asked for; NULL: none, or not asked for */
    bool imported_sought;
};

/* --- store_db.c */

/* Opens the database of store->folder; sets db, writes, complaint. */
void db_open(Store *store);
void db_close(Store *store);
/* The first complaint stays. */
void db_complain(Store *store, const char *format, ...) __attribute__((format(printf, 2, 3)));
int db_exec(Store *store, const char *sql);
/* Answers a failed call: a damaged database is set aside and begun anew, and true says to try
 * again; after anything else the store keeps nothing more, with a complaint. */
bool db_failed(Store *store, int rc);
/* The lock file of `folder`, locked within `seconds`; -1 with errno. Closing it unlocks. */
int db_lock(const char *folder, bool exclusive, double seconds);
double db_clock(void); /* seconds, monotonic */
/* Opens a database that is somebody else's, at store->path: it is read, and never set aside. */
void db_open_foreign(Store *store);

/* --- store_rows.c */

typedef struct Row {
    sqlite3_stmt *statement;
    int column;
    uint64_t sum; /* of the columns so far */
    int rc;
} Row;

extern const char row_tables[]; /* CREATE TABLE … */
/* Queries, by ?1 key's hash, ?2 shape, ?3 point; `row_figure` by ?1 name, `row_key` by ?1 start of
 * the hash. */
extern const char row_trials[], row_binary[], row_answer[], row_figure[], row_key[];
extern const char *const row_all[]; /* all rows of a kind, in a fixed order: by PutKind */

void row_hash(const char *key, char hash[STORE_HASH]);
/* The texts are bound to ?1 ?2 ?3 where they are not NULL. */
Row row_open(Store *store, const char *sql, const char *a, const char *b, const char *c);
bool row_next(Row *row);
int row_close(Row *row); /* SQLite's code of the first failure */

/* Columns in order; a text lives until row_next and is never NULL. */
int64_t row_whole(Row *row);
const char *row_text(Row *row);

/* A row of the query of that name. False: its sum is wrong, it is no result. */
bool row_read_trial(Row *row, Arena *arena, StoredTrial *trial);
bool row_read_binary(Row *row, Arena *arena, StoredTrial *trial, const void **bytes, size_t *size);
bool row_read_answer(Row *row, Arena *arena, const char **shape, int64_t *date,
                     const char **answer);
bool row_read_figure(Row *row, double *value);
bool row_read_key(Row *row, Arena *arena, const char **hash, const char **text);
/* A row of row_all[kind]; `key` is the key's hash. A damaged binary is left out. */
bool row_read_put(Row *row, Arena *arena, PutKind kind, Put *put);

/* Inserts or replaces; SQLite's code. A trial without a binary keeps the one of the same machine
 * code that its row already has. */
int row_write(Store *store, const Put *put);

/* --- store_walk.c */

/* Calls `visit` with every row whose sum is right, in a fixed order, until it gives false; what it is
 * given lives until it returns. SQLite's code. */
typedef bool StoreVisit(void *context, const Put *put);
int store_walk(Store *store, StoreVisit *visit, void *context, uint32_t *damaged);

/* --- store_imported.c */

/* The store that store_imported gives, made if need be. Never NULL; store_keeps says whether it can be
 * used. */
Store *imported_open(Store *store);
/* Forgets the imported answer of a key and shape. */
void imported_drop(Store *store, const StoreKey *key);
/* Whether a store has what `put` is about, of the same date or a later one. */
bool imported_known(Store *store, const Put *put);

#endif
