/* No device: for tests of the engine. In: any source text. Out: a "binary" that lists the knobs' values, and
 * costs that follow from them alone: a smooth bowl whose bottom differs by knob, with noise of a third of a
 * per cent that is the same in every run. Nothing is executed and there are no results to judge
 * (`imaginary`); failures come from KFUSE_FAULT (fault.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tuner/device.h"
#include "tuner/fault.h"

struct DeviceState {
    Address next; /* of the next allocation */
};

struct Module {
    char *text;
    uint64_t calls;
};

static int count(Why *why) {
    (void)why;
    return 1;
}

static bool identify(int index, bool start, DeviceIdentity *identity, Why *why) {
    (void)start;
    if (index != 0) return why_set(why, "there is one null device, null:0");
    *identity = (DeviceIdentity){
        .title = "no device (null)",
        .software = "no compiler",
        .key = "null",
        .compiler = "null 1",
        .arch = "null",
        .sms = 8,
        .registers_per_block = 65536,
        .shared_per_block = 48 << 10,
        .threads_per_block = 1024,
        .memory = (int64_t)1 << 40,
        .cache = 1 << 20,
    };
    return true;
}

/* --- compiling */

/* At "#define __KEY__ 12": its label "KEY" and value; the position behind it. NULL: no more. */
static const char *next_knob(const char *text, char label[32], double *value) {
    static const char mark[] = "#define __";
    int used = 0;
    while (text && (text = strstr(text, mark))) {
        text += sizeof mark - 1;
        if (sscanf(text, "%31[A-Za-z0-9_] %lf%n", label, value, &used) != 2) continue;
        size_t length = strlen(label);
        if (length < 3 || strcmp(label + length - 2, "__") != 0) continue;
        label[length - 2] = 0;
        return text + used;
    }
    return NULL;
}

/* "VEC=4,BLOCK=256" */
static void add_label(Text *out, const char *source) {
    char label[32];
    double value;
    for (const char *at = source; (at = next_knob(at, label, &value));)
        text_printf(out, "%s%s=%.0f", out->length ? "," : "", label, value);
}

static bool warm(Why *why) {
    (void)why;
    return true;
}

static Outcome compile(const CompileUnit *unit, const DeviceIdentity *identity, Text *binary, Why *why) {
    (void)identity;
    size_t begin = binary->length;
    add_label(binary, unit->source);
    text_printf(binary, ",TEXT=%d", (int)(XXH3_64bits(unit->source, strlen(unit->source)) % 97));
    Fault fault = fault_find(FAULT_COMPILING, text_string(binary) + begin, 0);
    fault_strike(fault);
    if (fault == FAULT_NONE) return OUTCOME_OK;
    why_set(why, "%s:1: error: KFUSE_FAULT", unit->name);
    return OUTCOME_COMPILE;
}

static bool resources(const void *binary, size_t size, const char *entry, Resources *out,
                      uint64_t *machine_code) {
    (void)entry;
    *out = (Resources){32, 0, 0, 0};
    *machine_code = XXH3_64bits(binary, size);
    return true;
}
