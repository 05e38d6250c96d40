/* In: a store. Out: its rows, one after another, each whole: a trial with the text of its key and its
 * binary. The one idea: what is exported or merged is what would be put, so that both directions
 * know one form. */
#include "tuner/store_db.h"

#include <string.h>

typedef struct Walk {
    Store *store;
    StoreVisit *visit;
    void *context;
    uint32_t *damaged;
    char hash[STORE_HASH]; /* of the key that `text` is */
    Text text;
} Walk;

/* Rows come in the order of their keys. False: the key is not there, or another one. */
static bool find_key(Walk *walk, Arena *arena, const char *hash) {
    if (strcmp(walk->hash, hash) == 0) return true;
    const char *found, *text;
    char own[STORE_HASH] = "";
    Row row = row_open(walk->store, row_key, hash, NULL, NULL);
    if (row_next(&row) && row_read_key(&row, arena, &found, &text)) row_hash(text, own);
    row_close(&row);
    if (strcmp(own, hash) != 0) return false;
    memcpy(walk->hash, own, sizeof own);
    text_clear(&walk->text);
    text_add(&walk->text, text);
    return true;
}

/* False: the visitor wants no more. */
static bool visit_row(Walk *walk, Row *row, PutKind kind) {
    Arena *arena = arena_open();
    Put put;
    bool right = row_read_put(row, arena, kind, &put), more = true;
    if (right && kind != PUT_FIGURE) {
        right = find_key(walk, arena, put.key);
        put.key = text_string(&walk->text);
    }
    if (right)
        more = walk->visit(walk->context, &put);
    else
        ++*walk->damaged;
    arena_close(arena);
    return more;
}

int store_walk(Store *store, StoreVisit *visit, void *context, uint32_t *damaged) {
    Walk walk = {store, visit, context, damaged, "", {0}};
    store_flush(store);
    int rc = store->db ? db_exec(store, "BEGIN") : SQLITE_CANTOPEN; /* all of one moment */
    bool more = true;
    for (int kind = PUT_TRIAL; kind <= PUT_FIGURE && more && rc == SQLITE_OK; kind++) {
        Row row = row_open(store, row_all[kind], NULL, NULL, NULL);
        while (more && row_next(&row)) more = visit_row(&walk, &row, (PutKind)kind);
        rc = row_close(&row);
    }
    if (store->db) db_exec(store, "ROLLBACK");
    text_free(&walk.text);
    return rc;
}
