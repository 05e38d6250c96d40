/* In: a tensor's label. Out: a name of the language that no other value of the program has. */
#include "onnx/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 32 };

static bool is_taken(const OnnxNames *names, const char *name) {
    static const char *const reserved[] = {"param", "return", "inf", "nan", "pi", "def"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(name, reserved[i]) == 0) return true;
    for (uint32_t i = 0; i < names->taken.count; i++)
        if (strcmp(name, names->taken.data[i]) == 0) return true;
    return false;
}

/* Letters, digits and single underscores; of a long one its end. */
static char *cleaned(Arena *arena, const char *label) {
    char *name = arena_alloc(arena, strlen(label) + 2);
    size_t length = 0;
    for (const char *at = label; *at; at++) {
        bool fits = isalnum((unsigned char)*at) && (unsigned char)*at < 0x80;
        if (fits && length == 0 && isdigit((unsigned char)*at)) name[length++] = 'v';
        if (fits || (length > 0 && name[length - 1] != '_')) name[length++] = fits ? *at : '_';
    }
    while (length > 0 && name[length - 1] == '_') name[--length] = '\0';
    char *end = length > LONGEST ? name + length - LONGEST : name;
    while (*end == '_' || (end > name && isdigit((unsigned char)*end))) end++;
    return end;
}

const char *onnx_name_next(OnnxNames *names, const char *prefix) {
    const char *name;
    do name = arena_printf(names->arena, "%s%u", prefix, ++names->count);
    while (is_taken(names, name));
    array_push(names->arena, &names->taken, name);
    return name;
}

const char *onnx_name(OnnxNames *names, const char *label) {
    const char *name = cleaned(names->arena, label);
    if (!*name) return onnx_name_next(names, "v");
    const char *unique = name;
    for (unsigned k = 2; is_taken(names, unique); k++)
        unique = arena_printf(names->arena, "%s_%u", name, k);
    array_push(names->arena, &names->taken, unique);
    return unique;
}
