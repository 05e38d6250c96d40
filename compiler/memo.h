/* Memo: the value that a function, or anything else, gave for the same arguments before. */
#ifndef KF_MEMO_H
#define KF_MEMO_H

#include <stdbool.h>

#include "compiler/table.h"

typedef struct MemoEntry {
    const void *key;
    const uint32_t *args; /* kept by the caller */
    uint32_t count, value;
} MemoEntry;

typedef struct Memo {
    ARRAY(MemoEntry) entries; /* [0] is none */
    Table table;
} Memo;

/* False where it is not known yet. */
bool memo_recall(const Memo *memo, const void *key, const uint32_t *args, uint32_t count,
                 uint32_t *value);
void memo_keep(Arena *arena, Memo *memo, const void *key, const uint32_t *args, uint32_t count,
               uint32_t value);

#endif
