/* No device: for tests of the engine. In: any source text. Out: a "binary" that nobody can run, and
 * costs that follow from the point alone, as it stands in the entry's suffix (tune_suffix): a
 * smooth bowl whose bottom differs by knob, with noise of a third of a per cent that is the same in
 * every run. There are no results to judge (`imaginary`); failures come from KFUSE_FAULT (fault.h).
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tuner/device.h"
#include "tuner/fault.h"

struct DeviceState {
    Address next;   /* of the next allocation */
    uint64_t calls; /* timed so far: the noise's counter */
};

struct Module {
    DeviceState *state;
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
        .compiler = "null",
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

static bool warm(Why *why) {
    (void)why;
    return true;
}

/* The knobs of a source's first point as a label, "VEC=4,BLOCK=256": what KFUSE_FAULT's rules name.
 */
static void label_of(const char *source, Text *label) {
    char name[32];
    long long value;
    for (const char *at = source; (at = strstr(at, "#define __")); at++) {
        if (sscanf(at, "#define __%31[A-Za-z0-9]__ %lld", name, &value) == 2)
            text_printf(label, "%s%s=%lld", label->length ? "," : "", name, value);
    }
}

static Outcome compile(const CompileUnit *unit, const DeviceIdentity *identity, Text *binary,
                       Why *why) {
    Text label = {0};
    if (strcmp(identity->arch, "null") != 0) { /* as NVRTC would */
        why_set(why, "%s: no such architecture: '%s'", unit->name, identity->arch);
        return OUTCOME_COMPILE;
    }
    label_of(unit->source, &label);
    Fault fault = fault_find(FAULT_COMPILING, text_string(&label), 0);
    text_free(&label);
    fault_strike(fault);
    if (fault != FAULT_NONE) {
        why_set(why, "%s:1: error: KFUSE_FAULT", unit->name);
        return OUTCOME_COMPILE;
    }
    text_printf(binary, "null %016llx",
                (unsigned long long)XXH3_64bits(unit->source, strlen(unit->source)));
    return OUTCOME_OK;
}

static bool resources(const void *binary, size_t size, const char *entry, Resources *out,
                      uint64_t *machine_code) {
    (void)binary, (void)size;
    *out = (Resources){32, 0, 0, 0};
    *machine_code = XXH3_64bits(entry, strlen(entry));
    return true;
}

/* --- memory: addresses without bytes */

static DeviceState *open(int index, bool current, Why *why) {
    (void)index, (void)current;
    DeviceState *state = calloc(1, sizeof *state);
    if (!state) why_set(why, "out of memory");
    return state;
}

static void close_state(DeviceState *state) {
    free(state);
}

static bool allocate(DeviceState *state, size_t bytes, Address *address, Why *why) {
    (void)why;
    *address = (state->next += 256);
    state->next += bytes;
    return true;
}

static void release(DeviceState *state, Address address) {
    (void)state, (void)address;
}

static bool upload(DeviceState *state, Address to, const void *from, size_t bytes, Why *why) {
    (void)state, (void)to, (void)from, (void)bytes, (void)why;
    return true;
}

static bool download(DeviceState *state, void *to, Address from, size_t bytes, Why *why) {
    (void)state, (void)from, (void)why;
    memset(to, 0, bytes);
    return true;
}

/* --- running */

static Module *load(DeviceState *state, const void *binary, size_t size, Why *why) {
    Module *module = size >= 4 && memcmp(binary, "null", 4) == 0 ? calloc(1, sizeof *module) : NULL;
    if (module)
        module->state = state;
    else
        why_set(why, "no binary of the null device");
    return module;
}

static void unload(DeviceState *state, Module *module) {
    (void)state;
    free(module);
}

static Outcome launch(DeviceState *state, const Run *run, Module *const *modules,
                      const Address *buffers, void *stream, Why *why) {
    (void)state, (void)run, (void)modules, (void)buffers, (void)stream, (void)why;
    return OUTCOME_OK;
}

static Outcome finish(DeviceState *state, Why *why) {
    (void)state, (void)why;
    return OUTCOME_OK;
}

/* In [0, 1), from a hash of the text. */
static double fraction(const char *text, size_t length, uint64_t seed) {
    return (double)(XXH3_64bits_withSeed(text, length, seed) >> 11) * 0x1p-53;
}

/* One knob's part of the cost: the distance of log2(value) from a bottom between 1 and 9. */
static double bowl(const char *name, size_t length, double value) {
    double distance = log2(value < 1 ? 0.5 : value) - (1 + 8 * fraction(name, length, 1));
    return (0.01 + 0.03 * fraction(name, length, 2)) * distance * distance;
}

/* 50 microseconds and each knob's part: "kf_relu__VEC4_BLOCK256" has VEC and BLOCK. */
static double cost(const char *entry) {
    double sum = 1;
    const char *at = strstr(entry, "__");
    while (at && *at) {
        while (*at == '_') at++;
        size_t length = 0;
        while (isalpha((unsigned char)at[length])) length++;
        sum += bowl(at, length, strtod(at + length, NULL));
        at = strchr(at, '_');
    }
    return 50e-6 * sum;
}

static Outcome time_run(DeviceState *state, const Run *run, Module *const *modules,
                        const Address *const *buffers, uint32_t sets, uint32_t repeats,
                        double *seconds, Why *why) {
    (void)modules, (void)buffers, (void)sets, (void)why;
    *seconds = 0;
    for (uint32_t i = 0; i < run->launches.count; i++)
        *seconds += cost(run->launches.data[i].entry);
    double noise = fraction((const char *)&state->calls, sizeof state->calls, 3) - 0.5;
    state->calls++;
    *seconds *= repeats * (1 + noise / 150);
    return OUTCOME_OK;
}

static void conditions(DeviceState *state, char *text, size_t size) {
    (void)state;
    if (size > 0) text[0] = 0;
}

const Device device_null = {
    .name = "null",
    .language = "c",
    .imaginary = true,
    .accuracy = ACCURACY_C,
    .count = count,
    .identify = identify,
    .warm = warm,
    .compile = compile,
    .resources = resources,
    .open = open,
    .close = close_state,
    .allocate = allocate,
    .release = release,
    .upload = upload,
    .download = download,
    .load = load,
    .unload = unload,
    .launch = launch,
    .finish = finish,
    .time = time_run,
    .oracle = NULL,
    .conditions = conditions,
};
