/* Arena: memory by lifetime. Everything a stage makes lives in the arena it was given and goes with
 * it; nothing is freed alone. Running out of memory aborts (arena_limit bounds what text can
 * ask). */
#ifndef KF_ARENA_H
#define KF_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

Arena *arena_open(void);
void arena_close(Arena *arena); /* NULL is accepted */

/* Zeroed, aligned to 16 bytes; size 0 gives a valid pointer. */
void *arena_alloc(Arena *arena, size_t size);
/* `length` bytes of `text`, NUL-terminated. */
char *arena_copy(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args);

#define arena_new(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define arena_array(arena, Type, count) \
    ((Type *)arena_alloc((arena), sizeof(Type) * (size_t)(count)))

/* Growable array in an arena: `ARRAY(int) list = {0}; array_push(arena, &list, 3);`
 * Elements move when it grows: keep indices, not pointers. */
#define ARRAY(Type)           \
    struct {                  \
        Type *data;           \
        uint32_t count, room; \
    }
#define array_push(arena, array, ...)                                             \
    (array_grow((arena), (void **)&(array)->data, (array)->count, &(array)->room, \
                sizeof *(array)->data),                                           \
     (array)->data[(array)->count++] = (__VA_ARGS__))
/* Makes room for one element more. */
void array_grow(Arena *arena, void **data, uint32_t count, uint32_t *room, size_t size);

#endif
