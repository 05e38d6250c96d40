/* Text: a string that grows (malloc, because it grows large and goes early). Always NUL-terminated
 * once something was added; `{0}` is an empty one. */
#ifndef KF_TEXT_H
#define KF_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Text {
    char *data; /* NULL while empty */
    size_t length, room;
} Text;

void text_add(Text *text, const char *string);
void text_add_bytes(Text *text, const void *bytes, size_t length);
void text_printf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(Text *text, const char *format, va_list args);
/* As a string of JSON, in quotes. */
void text_add_json(Text *text, const char *string);
/* As a word of a shell, in quotes where it needs them. */
void text_add_word(Text *text, const char *word, size_t length);
void text_clear(Text *text); /* keeps the room */
void text_free(Text *text);

/* What a terminal may obey, a line's end among it. */
static inline bool text_is_control(char c) {
    return (unsigned char)c < ' ' || c == 0x7f;
}
/* With a blank in the place of each of these: for what comes from elsewhere. */
void text_add_plain(Text *text, const char *bytes, size_t length);

/* The text, "" where empty. Valid until the next change. */
const char *text_string(const Text *text);

/* Levenshtein distance, for "did you mean"; stops counting at `limit`. */
int text_distance(const char *a, const char *b, int limit);

#endif
