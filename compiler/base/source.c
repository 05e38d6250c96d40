/* In: a name and its bytes, or a path. Out: a Source. The one idea: a place is a byte offset; lines
 * are counted only when somebody asks. */
#include "compiler/base/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const Source *source_new(Arena *arena, const char *name, const char *text, size_t length) {
    Source *source = arena_new(arena, Source);
    source->name = arena_copy(arena, name, strlen(name));
    source->text = arena_copy(arena, text, length);
    source->length = (uint32_t)length;
    return source;
}

/* Reads at most one byte more than is allowed, which tells "too large" from "just fits". */
static void read_all(Text *text, FILE *file) {
    char block[16 << 10];
    size_t got;
    while (text->length <= SOURCE_MAX && (got = fread(block, 1, sizeof block, file)) > 0)
        text_add_bytes(text, block, got);
}

/* Some editors begin a file with a byte order mark. */
static const Source *without_mark(Arena *arena, const char *name, const char *text, size_t length) {
    size_t mark = length >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
    return source_new(arena, name, text + mark, length - mark);
}

const Source *source_read(Arena *arena, const char *path, const char **why) {
    bool standard = !strcmp(path, "-");
    const char *name = standard ? "<stdin>" : path;
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file) {
        *why = arena_printf(arena, "cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    Text text = {0};
    const Source *source = NULL;
    errno = 0;
    read_all(&text, file);
    if (ferror(file))
        *why = arena_printf(arena, "cannot read '%s': %s", name, strerror(errno));
    else if (text.length > SOURCE_MAX)
        *why = arena_printf(arena, "'%s' is larger than %d MiB", name, SOURCE_MAX >> 20);
    else
        source = without_mark(arena, name, text_string(&text), text.length);
    text_free(&text);
    if (!standard) fclose(file);
    return source;
}

void source_place(const Source *source, uint32_t offset, uint32_t *line, uint32_t *column) {
    if (offset > source->length) offset = source->length;
    uint32_t begin = 0;
    *line = 1;
    for (const char *at; (at = memchr(source->text + begin, '\n', offset - begin));) {
        begin = (uint32_t)(at - source->text) + 1;
        ++*line;
    }
    *column = offset - begin + 1;
}
