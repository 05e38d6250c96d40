/* Table: from 64-bit hashes to the caller's 32-bit indices (0 is none), by open addressing in an
 * arena. The caller keeps the keys and compares them:
 *
 *     for (uint32_t at = 0, i; (i = table_next(&table, hash, &at)) != 0;)
 *         if (equal(key, list.data[i])) return i; */
#ifndef KF_TABLE_H
#define KF_TABLE_H

#include "compiler/base/arena.h"

typedef struct Table {
    uint64_t *hashes;
    uint32_t *indices;
    uint32_t room, count; /* room is a power of two, at most half full */
} Table;

/* The next index that stands under `hash`, 0 after the last; *at starts as 0. */
uint32_t table_next(const Table *table, uint64_t hash, uint32_t *at);
void table_add(Arena *arena, Table *table, uint64_t hash, uint32_t index);

/* Takes one word more into a hash. */
static inline uint64_t table_mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}
uint64_t table_hash_name(const char *name);

#endif
