/* In: a template's text. Out: its header's lines, one after the other, and what they and the code hash
 * to. */
#include "registry/template_lines.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "registry/template.h"

Span lines_next(const Source *source, bool bare, uint32_t *offset) {
    const char *text = source->text + *offset;
    const char *end = memchr(text, '\n', source->length - *offset);
    uint32_t begin = *offset, stop = end ? (uint32_t)(end - source->text) : source->length;
    *offset = end ? stop + 1 : stop;
    while (begin < stop && strchr(" \t", source->text[begin])) begin++;
    if (!bare)
        begin = stop - begin >= 3 && !memcmp(source->text + begin, "//!", 3) ? begin + 3 : stop;
    while (begin < stop && strchr(" \t\r", source->text[begin])) begin++;
    return (Span){begin, stop};
}

bool lines_name_byte(char byte) {
    return byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z');
}

bool template_has_header(const Source *source) {
    for (uint32_t offset = 0; offset < source->length;) {
        Span span = lines_next(source, false, &offset);
        if (span.begin < span.end) return true;
    }
    return false;
}

/* The text without its knob lines: a value more must not shift what is stored about the others. */
static void add_hashed(Text *text, const Source *source, bool bare) {
    for (uint32_t offset = 0, begin; begin = offset, offset < source->length;) {
        Span span = lines_next(source, bare, &offset);
        bool knob = span.end - span.begin > 4 && !memcmp(source->text + span.begin, "knob", 4) &&
                    !lines_name_byte(source->text[span.begin + 4]);
        if (!knob) text_add_bytes(text, source->text + begin, offset - begin);
    }
}

uint64_t lines_hash(const Source *source, const Source *options) {
    Text text = {0};
    add_hashed(&text, source, false);
    if (options) add_hashed(&text, options, true);
    uint64_t hash = XXH3_64bits(text_string(&text), text.length);
    text_free(&text);
    return hash;
}
