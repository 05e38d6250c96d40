/* In: pieces of text. Out: one string. The one idea: room that doubles, so that adding is cheap,
 * and the C locale for every number, so that a host program's decimal comma never reaches our
 * output. */
#include "compiler/base/text.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(Text *text, size_t more) {
    size_t need = text->length + more + 1;
    if (need <= text->room) return;
    size_t room = text->room ? text->room : 64;
    while (room < need) room *= 2;
    char *data = realloc(text->data, room);
    if (!data) {
        fprintf(stderr, "kfuse: out of memory (%zu bytes asked for)\n", room);
        abort();
    }
    text->data = data;
    text->room = room;
}

void text_add_bytes(Text *text, const void *bytes, size_t length) {
    reserve(text, length);
    if (length) memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void text_add(Text *text, const char *string) {
    text_add_bytes(text, string, strlen(string));
}

static void print(Text *text, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length > 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_vprintf(Text *text, const char *format, va_list args) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t callers = uselocale(c);
    print(text, format, args);
    uselocale(callers);
    freelocale(c);
}

void text_printf(Text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_vprintf(text, format, args);
    va_end(args);
}

void text_add_json(Text *out, const char *string) {
    text_add(out, "\"");
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\')
            text_printf(out, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            text_printf(out, "\\u%04x", *c);
        else
            text_add_bytes(out, c, 1);
    }
    text_add(out, "\"");
}

void text_add_plain(Text *text, const char *bytes, size_t length) {
    text_add_bytes(text, bytes, length);
    for (char *c = text->data + text->length - length; *c; c++)
        if (text_is_control(*c)) *c = ' ';
}

static bool is_plain(const char *word, size_t length) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
    for (size_t i = 0; i < length; i++)
        if (!word[i] || !strchr(plain, word[i])) return false;
    return length > 0 && *word != '-';
}

void text_add_word(Text *text, const char *word, size_t length) {
    if (is_plain(word, length)) {
        text_add_bytes(text, word, length);
        return;
    }
    text_add(text, "'");
    for (size_t i = 0; i < length; i++)
        text_printf(text, word[i] == '\'' ? "'\\%c'" : "%c", word[i]);
    text_add(text, "'");
}

void text_clear(Text *text) {
    text->length = 0;
    if (text->data) text->data[0] = 0;
}

void text_free(Text *text) {
    free(text->data);
    *text = (Text){0};
}

const char *text_string(const Text *text) {
    return text->data ? text->data : "";
}

static int least(int a, int b, int c) {
    int low = a < b ? a : b;
    return low < c ? low : c;
}

int text_distance(const char *a, const char *b, int limit) {
    enum { LONGEST = 255 };
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > LONGEST || columns > LONGEST) return limit;
    int row[LONGEST + 1];
    for (size_t j = 0; j <= columns; j++) row[j] = (int)j;
    for (size_t i = 1; i <= rows; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= columns; j++) {
            int above = row[j];
            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[columns] < limit ? row[columns] : limit;
}
