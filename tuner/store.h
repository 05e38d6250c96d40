/* Store: every trial ever made, the winners and their binaries, in one SQLite database in the
 * user's cache folder. Only parents write. Damaged, read-only or missing: the run goes on uncached
 * and says so in one line. Rows carry checksums; a row that does not match is ignored. */
#ifndef KF_STORE_H
#define KF_STORE_H

#include "tuner/result.h"

typedef struct Store Store;

/* $KFUSE_CACHE, $XDG_CACHE_HOME/kfuse, ~/.cache/kfuse; NULL if none can be named. In `arena`. */
const char *store_folder(Arena *arena);

/* Opens or makes it (like mkdir -p). Never NULL: a store that cannot be used answers nothing and
 * keeps nothing; store_complaint says why, once. */
Store *store_open(const char *folder);
void store_close(Store *store);
const char *store_complaint(const Store *store); /* NULL: none */
const char *store_path(const Store *store); /* of the database file; "" if there is no folder */
bool store_keeps(const Store *store);       /* what is put now will be kept */
bool store_is_readable(const Store *store); /* what is there is answered, be it kept or not */
bool store_is_new(const Store *store);      /* it was empty when it was opened, or there is none */

/* Key of a problem (all but the exact shape): hashes and texts as architecture.md lists them,
 * joined by the caller into one canonical text; the store keys by its hash and keeps the text for
 * `why` and `cache show`. */
typedef struct StoreKey {
    const char *text;  /* "template=…\nir=…\ndevice=…\n…" one field a line */
    const char *shape; /* the exact shape "4096x4096; 4096" */
} StoreKey;

/* A line "device=cpu …" of a key's text. */
typedef struct StoreKeyField {
    const char *name, *value;
    int name_length, value_length;
} StoreKeyField;
/* The next field from *at on, which moves behind it; false at the end. */
bool store_key_next(const char **at, StoreKeyField *field);
bool store_key_is(const StoreKeyField *field, const char *name);
/* The value of the nth field of that name, up to the line's end; NULL: there is none. `length` may be NULL. */
const char *store_key_value(const char *text, const char *name, uint32_t nth, int *length);

typedef struct StoredTrial {
    const char *point; /* "VEC=4,BLOCK=256" */
    const char *shape;
    const char *hash; /* of its key */
    Result result;
    int64_t date;  /* Unix */
    bool imported; /* measured elsewhere: to be judged here before it counts */
} StoredTrial;

/* The last trial of each point and shape of a key: those of key->shape first, then best first;
 * imported ones behind. Arrays live in `arena`. */
const StoredTrial *store_trials(Store *store, const StoreKey *key, Arena *arena, uint32_t *count);
/* The binary of a point with what it was made from; false: none or damaged. */
bool store_binary(Store *store, const StoreKey *key, const char *point, Arena *arena,
                  const void **bytes, size_t *size);
/* The finished answer of a key and exact shape: the report as report_save writes it, and its date
 * (Unix). */
bool store_answer(Store *store, const StoreKey *key, Arena *arena, const char **answer,
                  int64_t *date);

/* The texts of all keys that have results, in the order in which they were first kept, those of imported
 * ones alone behind. In `arena`. */
const char *const *store_keys(Store *store, Arena *arena, uint32_t *count);

/* Queued, written in one transaction a second (by the next call) and at store_flush / store_close.
 * A trial without a binary keeps the stored one if the machine code is the same. */
void store_put_trial(Store *store, const StoreKey *key, const char *point, const Result *result,
                     const void *binary, size_t size);
void store_put_answer(Store *store, const StoreKey *key, const char *answer);
void store_flush(Store *store);

/* What was measured elsewhere (store_exchange.h), in a store of its own below this one's folder, so
 * that it can neither answer nor replace anything here; NULL: there is nothing. Of its answer to a key
 * nothing is left once this store has one. */
Store *store_imported(Store *store);

/* Figures kept per device and size: the roof. name "roof:…". */
bool store_figure(Store *store, const char *name, double *value);
void store_put_figure(Store *store, const char *name, double value);

/* `kfuse cache ls|show|clear`. Prints to `out`. Answers are shown as reports (report_load). False:
 * no key begins so. */
void store_list(Store *store, Text *out);
bool store_show(Store *store, const char *hash_prefix, Text *out);
/* Removes the database and those set aside; nothing there is fine. False with `why`, if another
 * process uses it. */
bool store_clear(const char *folder, char *why, size_t size);

#endif
