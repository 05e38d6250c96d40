/* Keys with arguments in, values out. One idea: the table holds hashes, the entries the rest. */
#include "compiler/memo.h"

#include <string.h>

static uint64_t hash_of(const void *key, const uint32_t *args, uint32_t count) {
    uint64_t hash = table_mix(0, (uintptr_t)key);
    for (uint32_t i = 0; i < count; i++) hash = table_mix(hash, args[i]);
    return hash;
}

bool memo_recall(const Memo *memo, const void *key, const uint32_t *args, uint32_t count,
                 uint32_t *value) {
    uint64_t hash = hash_of(key, args, count);
    uint32_t found;
    for (uint32_t at = 0; (found = table_next(&memo->table, hash, &at)) != 0;) {
        const MemoEntry *entry = &memo->entries.data[found];
        if (entry->key != key || entry->count != count) continue;
        if (count > 0 && memcmp(entry->args, args, count * sizeof *args) != 0) continue;
        *value = entry->value;
        return true;
    }
    return false;
}

void memo_keep(Arena *arena, Memo *memo, const void *key, const uint32_t *args, uint32_t count,
               uint32_t value) {
    if (memo->entries.count == 0) array_push(arena, &memo->entries, (MemoEntry){0});
    table_add(arena, &memo->table, hash_of(key, args, count), memo->entries.count);
    array_push(arena, &memo->entries, (MemoEntry){key, args, count, value});
}
