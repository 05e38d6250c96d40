/* In: keys of the store, which may come from anywhere. Out: what emit asks of them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfuse_objects.h"

#define BUCKET_MOST ((int64_t)1 << 62)

static bool is_loose(const char *line) {
    return strncmp(line, "bucket=", 7) == 0 || strncmp(line, "device=", 7) == 0 ||
           strncmp(line, "compiler=", 9) == 0;
}

bool keys_are_alike(const char *a, const char *b) {
    while (*a && *b) {
        size_t na = strcspn(a, "\n"), nb = strcspn(b, "\n");
        bool same = na == nb && memcmp(a, b, na) == 0;
        if (!same && !(is_loose(a) && is_loose(b))) return false;
        a += na + (a[na] == '\n'), b += nb + (b[nb] == '\n');
    }
    return *a == *b;
}

int key_arch(const char *text) {
    const char *device = store_key_value(text, "device", 0, NULL);
    int major, minor;
    if (device && strncmp(device, "cpu ", 4) == 0) return 0;
    return device && sscanf(device, "cuda %2d.%1d", &major, &minor) == 2 && major > 0 && minor >= 0
               ? 10 * major + minor
               : -1;
}

bool key_bucket(const char *text, uint32_t rank, int64_t *extent) {
    for (uint32_t i = 0; i < rank; i++) {
        char *end;
        extent[i] = isdigit((unsigned char)*text) ? strtoll(text, &end, 10) : 0;
        if (extent[i] < 1 || extent[i] > BUCKET_MOST || *end != (i + 1 < rank ? 'x' : '\n'))
            return false;
        text = end + 1;
    }
    return true;
}
