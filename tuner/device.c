/* The table of devices: by name, by the user's choice, and the default where there is no choice. */
#include "tuner/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool why_set(Why *why, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return false;
}

const Device *device_find(const char *name) {
    for (const Device *const *device = device_table; *device; device++)
        if (strcmp((*device)->name, name) == 0) return *device;
    return NULL;
}

/* "cuda:1" -> cuda, 1; "cpu" -> cpu, 0. False if the text names no device. */
static bool parse(const char *text, const Device **device, int *index) {
    char name[32];
    size_t length = strcspn(text, ":");
    if (length >= sizeof name) return false;
    memcpy(name, text, length);
    name[length] = 0;
    *device = device_find(name);
    *index = 0;
    if (text[length] == 0) return *device != NULL;
    char *end;
    long number = strtol(text + length + 1, &end, 10);
    if (end == text + length + 1 || *end || number < 0 || number > 1023) return false;
    *index = (int)number;
    return *device != NULL;
}

static bool refuse_name(const char *text, Why *why) {
    why_set(why, "unknown device '%.40s' (choices:", text);
    for (const Device *const *device = device_table; *device; device++) {
        if ((*device)->imaginary) continue;
        size_t used = strlen(why->text);
        snprintf(why->text + used, sizeof why->text - used, " %s", (*device)->name);
    }
    size_t used = strlen(why->text);
    snprintf(why->text + used, sizeof why->text - used, "; a number may follow, as in cuda:0)");
    return false;
}

/* A GPU if there is one, else the CPU. */
static bool select_default(const Device **device, int *index, Why *why) {
    const char *const preference[] = {"cuda", "cpu"};
    *index = 0;
    for (size_t i = 0; i < sizeof preference / sizeof *preference; i++) {
        *device = device_find(preference[i]);
        if (*device && (*device)->count(why) > 0) return true;
    }
    return false;
}

bool device_select(const char *text, const Device **device, int *index, Why *why) {
    if (!text) return select_default(device, index, why);
    if (!parse(text, device, index)) return refuse_name(text, why);
    int count = (*device)->count(why);
    if (count <= 0) return false; /* the device said what is missing */
    if (*index < count) return true;
    return why_set(why, "there is no device %s: this machine has %d (%s:0%s)", text, count,
                   (*device)->name, count > 1 ? " and so on" : "");
}
