/* DeviceIdentity to lines of text and back, field by field from one table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/device.h"

/* clang-format off */
#define IDENTITY_FIELDS(STRING, WHOLE)                                              \
    STRING(title)                                                                   \
    STRING(software)                                                                \
    STRING(key) STRING(compiler) STRING(arch) WHOLE(sms) WHOLE(registers_per_block) \
        WHOLE(shared_per_block) WHOLE(threads_per_block) WHOLE(memory) WHOLE(cache)
/* clang-format on */

void identity_save(Text *out, const DeviceIdentity *identity) {
#define STRING(name) text_printf(out, #name " %s\n", identity->name);
#define WHOLE(name) text_printf(out, #name " %" PRId64 "\n", (int64_t)identity->name);
    IDENTITY_FIELDS(STRING, WHOLE)
#undef STRING
#undef WHOLE
}

/* The value of the line "name value", NULL if there is none. */
static const char *line_value(const char *text, const char *name, size_t *length) {
    size_t n = strlen(name);
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        if (strncmp(text, name, n) != 0 || text[n] != ' ') continue;
        *length = strcspn(text + n + 1, "\n");
        return text + n + 1;
    }
    return NULL;
}

static bool load_string(const char *text, const char *name, char *into, size_t size) {
    size_t length;
    const char *value = line_value(text, name, &length);
    if (!value || length >= size) return false;
    memcpy(into, value, length);
    into[length] = '\0';
    return true;
}

static bool load_whole(const char *text, const char *name, int64_t *value) {
    size_t length;
    const char *digits = line_value(text, name, &length);
    if (digits) *value = strtoll(digits, NULL, 10);
    return digits != NULL;
}

bool identity_load(const char *text, DeviceIdentity *identity) {
    bool ok = true;
    int64_t value = 0;
    memset(identity, 0, sizeof *identity);
#define STRING(name) ok &= load_string(text, #name, identity->name, sizeof identity->name);
#define WHOLE(name) \
    ok &= load_whole(text, #name, &value), identity->name = (__typeof__(identity->name))value;
    IDENTITY_FIELDS(STRING, WHOLE)
#undef STRING
#undef WHOLE
    return ok;
}
