/* In: what was measured elsewhere. Out: a store of its own below the folder of this machine's. The one
 * idea: what is not of here lies where no answer is looked for, so that nothing of it counts before
 * it has been judged and timed here, and nothing of here is replaced. */
#include "tuner/store_db.h"

#include <stdlib.h>
#include <unistd.h>

static char *below(const Store *store, const char *name) {
    Text path = {0};
    text_printf(&path, "%s/imported%s", store->folder, name);
    return path.data;
}

Store *imported_open(Store *store) {
    char *folder = below(store, "");
    store->imported_sought = true;
    if (!store->imported) store->imported = store_open(folder);
    free(folder);
    return store->imported;
}

Store *store_imported(Store *store) {
    if (!store->imported_sought) {
        char *path = below(store, "/kfuse.db");
        store->imported_sought = true;
        if (store->db && access(path, F_OK) == 0) imported_open(store);
        free(path);
    }
    return store->imported && store->imported->db ? store->imported : NULL;
}

void imported_drop(Store *store, const StoreKey *key) {
    Store *imported = store_imported(store);
    char hash[STORE_HASH];
    if (!imported || !imported->writes) return;
    row_hash(key->text, hash);
    Row row = row_open(imported, "DELETE FROM answer WHERE key = ?1 AND shape = ?2", hash,
                       key->shape, NULL);
    row_next(&row);
    int rc = row_close(&row);
    if (rc != SQLITE_OK) db_failed(imported, rc);
}

/* Date, and whether all that could be there is there. */
static const char *const date_sql[] = {
    [PUT_TRIAL] = "SELECT date, binary IS NOT NULL FROM trial"
                  " WHERE key = ?1 AND shape = ?2 AND point = ?3",
    [PUT_ANSWER] = "SELECT date, 1 FROM answer WHERE key = ?1 AND shape = ?2",
    [PUT_FIGURE] = "SELECT date, 1 FROM figure WHERE name = ?3"};

bool imported_known(Store *store, const Put *put) {
    char hash[STORE_HASH] = "";
    if (put->key) row_hash(put->key, hash);
    Row row = row_open(store, date_sql[put->kind], hash, put->shape, put->name);
    bool known = false;
    if (row_next(&row)) {
        int64_t date = row_whole(&row), whole = row_whole(&row);
        known = date > put->date || (date == put->date && (whole || !put->binary));
    }
    row_close(&row);
    return known;
}
