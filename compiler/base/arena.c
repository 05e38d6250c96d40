/* In: sizes. Out: zeroed memory that lives as long as its arena. The one idea: chunks that double
 * in size up to a bound, a pointer that moves through the newest, and one release for all of them.
 */
#include "compiler/base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"

enum { ALIGNMENT = 16, CHUNK_FIRST = 4 << 10, CHUNK_MAX = 1 << 20 };

typedef struct Chunk Chunk;
struct Chunk {
    Chunk *next;
    size_t size; /* of data, to keep it aligned */
    _Alignas(ALIGNMENT) char data[];
};

struct Arena {
    Chunk *chunks;
    char *at, *end; /* the free part of the newest ordinary chunk */
    size_t next_size;
};

static _Noreturn void out_of_memory(size_t size) {
    fprintf(stderr, "kfuse: out of memory (%zu bytes asked for)\n", size);
    abort();
}

static char *add_chunk(Arena *arena, size_t size) {
    if (size > SIZE_MAX - sizeof(Chunk)) out_of_memory(size);
    Chunk *chunk = calloc(1, sizeof(Chunk) + size);
    if (!chunk) out_of_memory(size);
    chunk->next = arena->chunks;
    chunk->size = size;
    arena->chunks = chunk;
    return chunk->data;
}

Arena *arena_open(void) {
    Arena *arena = calloc(1, sizeof *arena);
    if (!arena) out_of_memory(sizeof *arena);
    arena->next_size = CHUNK_FIRST;
    return arena;
}

void arena_close(Arena *arena) {
    if (!arena) return;
    for (Chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(arena);
}

void *arena_alloc(Arena *arena, size_t size) {
    if (size > SIZE_MAX - ALIGNMENT) out_of_memory(size);
    size = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    if (size > arena->next_size / 4) return add_chunk(arena, size);
    if ((size_t)(arena->end - arena->at) < size) {
        arena->at = add_chunk(arena, arena->next_size);
        arena->end = arena->at + arena->next_size;
        if (arena->next_size < CHUNK_MAX) arena->next_size *= 2;
    }
    void *result = arena->at;
    arena->at += size;
    return result;
}

char *arena_copy(Arena *arena, const char *text, size_t length) {
    char *copy = arena_alloc(arena, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *arena_vprintf(Arena *arena, const char *format, va_list args) {
    Text text = {0};
    text_vprintf(&text, format, args);
    char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

char *arena_printf(Arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

void array_grow(Arena *arena, void **data, uint32_t count, uint32_t *room, size_t size) {
    if (count < *room) return;
    if (*room > UINT32_MAX / 2) out_of_memory(SIZE_MAX);
    uint32_t larger = *room ? *room * 2 : 8;
    void *moved = arena_alloc(arena, larger * size);
    if (count) memcpy(moved, *data, count * size);
    *data = moved;
    *room = larger;
}
