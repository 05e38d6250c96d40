/* In: the text of a key (tuner/problem.c writes them), which may come from anywhere. Out: its fields. */
#include <string.h>

#include "tuner/store.h"

bool store_key_next(const char **at, StoreKeyField *field) {
    while (**at) {
        const char *line = *at;
        size_t length = strcspn(line, "\n");
        const char *equals = memchr(line, '=', length);
        *at += length + (line[length] == '\n');
        if (!equals) continue;
        *field = (StoreKeyField){line, equals + 1, (int)(equals - line),
                                 (int)(line + length - equals - 1)};
        return true;
    }
    return false;
}

bool store_key_is(const StoreKeyField *field, const char *name) {
    return strlen(name) == (size_t)field->name_length &&
           memcmp(name, field->name, (size_t)field->name_length) == 0;
}

const char *store_key_value(const char *text, const char *name, uint32_t nth, int *length) {
    StoreKeyField field;
    while (store_key_next(&text, &field)) {
        if (!store_key_is(&field, name) || nth-- > 0) continue;
        if (length) *length = field.value_length;
        return field.value;
    }
    return NULL;
}
