/* Hashes in, the indices that stand under them out. One idea: linear probing over a power of two,
 * with the full hash beside each index, so that a caller rarely compares keys in vain. */
#include "compiler/table.h"

static uint32_t slot(const Table *table, uint64_t hash, uint32_t step) {
    return ((uint32_t)hash + step) & (table->room - 1);
}

uint32_t table_next(const Table *table, uint64_t hash, uint32_t *at) {
    while (table->room > 0) {
        uint32_t i = slot(table, hash, (*at)++);
        if (table->indices[i] == 0) return 0;
        if (table->hashes[i] == hash) return table->indices[i];
    }
    return 0;
}

static void put(Table *table, uint64_t hash, uint32_t index) {
    uint32_t step = 0;
    while (table->indices[slot(table, hash, step)] != 0) step++;
    table->hashes[slot(table, hash, step)] = hash;
    table->indices[slot(table, hash, step)] = index;
}

static void widen(Arena *arena, Table *table) {
    Table wide = {.room = table->room > 0 ? table->room * 2 : 64, .count = table->count};
    wide.hashes = arena_array(arena, uint64_t, wide.room);
    wide.indices = arena_array(arena, uint32_t, wide.room);
    for (uint32_t i = 0; i < table->room; i++)
        if (table->indices[i] != 0) put(&wide, table->hashes[i], table->indices[i]);
    *table = wide;
}

void table_add(Arena *arena, Table *table, uint64_t hash, uint32_t index) {
    if (table->count * 2 >= table->room) widen(arena, table);
    put(table, hash, index);
    table->count++;
}

uint64_t table_hash_name(const char *name) {
    uint64_t hash = 0;
    for (; *name != '\0'; name++) hash = table_mix(hash, (unsigned char)*name);
    return hash;
}
