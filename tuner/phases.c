/* In: what a run is doing now. Out: seconds by phase, as text and JSON. */
#include "tuner/phases.h"

#include <stdbool.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

Phase phases_enter(Phases *phases, Phase phase) {
    Phase before = phases->current;
    double at = now();
    if (phases->since > 0) phases->seconds[before] += at - phases->since;
    phases->since = at;
    phases->current = phase;
    return before;
}

void phases_stop(Phases *phases) {
    phases_enter(phases, phases->current);
    phases->since = 0;
}

void phases_add(Phases *into, const Phases *phases) {
    for (int i = 0; i < PHASE_COUNT; i++) into->seconds[i] += phases->seconds[i];
}

static double total(const Phases *phases) {
    double sum = 0;
    for (int i = 0; i <= PHASE_CLOSE; i++) sum += phases->seconds[i];
    return sum;
}

static void line(Text *out, const char *name, double seconds, const char *text) {
    if (seconds >= 5e-5) text_printf(out, "  %-14s%8.4f   %s\n", name, seconds, text);
}

void phases_text(Text *out, const Phases *phases) {
    text_printf(out, "phases     %.4f s, one after another\n", total(phases));
#define PHASE_LINE(id, name, text) line(out, #name, phases->seconds[PHASE_##id], text);
#define PHASE_SKIP(id, name, text)
    PHASES(PHASE_LINE, PHASE_SKIP)
    text_add(out, "beside     what workers did meanwhile\n");
    PHASES(PHASE_SKIP, PHASE_LINE)
#undef PHASE_SKIP
#undef PHASE_LINE
}

static void field(Text *out, const char *name, double seconds) {
    bool first = out->length > 0 && out->data[out->length - 1] == '{';
    text_printf(out, "%s\"%s\":%.6f", first ? "" : ",", name, seconds);
}

void phases_json(Text *out, const Phases *phases) {
    text_add(out, "\"phases\":{");
#define PHASE_FIELD(id, name, text) field(out, #name, phases->seconds[PHASE_##id]);
#define PHASE_SKIP(id, name, text)
    PHASES(PHASE_FIELD, PHASE_SKIP)
    text_add(out, "},\"beside\":{");
    PHASES(PHASE_SKIP, PHASE_FIELD)
#undef PHASE_SKIP
#undef PHASE_FIELD
    text_add(out, "}");
}
