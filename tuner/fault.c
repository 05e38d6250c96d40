/* In: rules and a candidate's label. Out: the fault that it is to have. */
#include "tuner/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    Fault fault;
    int attempts; /* strikes at tries below this */
} kinds[] = {
    {"crash", FAULT_CRASH, 1 << 30},     {"crash-once", FAULT_CRASH, 1},
    {"hang", FAULT_HANG, 1 << 30},       {"wrong", FAULT_WRONG, 1 << 30},
    {"compile", FAULT_COMPILE, 1 << 30}, {"compile-hang", FAULT_COMPILE_HANG, 1 << 30},
};

static bool has_part(const char *label, const char *part, size_t length) {
    for (;; label++) {
        size_t size = strcspn(label, ", ");
        if (size == length && strncmp(label, part, length) == 0) return true;
        label += size;
        if (!*label) return false;
    }
}

/* All parts of [parts, parts+length) are in the label. */
static bool meets(const char *label, const char *parts, size_t length) {
    if (length == 1 && *parts == '*') return true;
    for (const char *at = parts, *end = parts + length; at < end;) {
        size_t size = strcspn(at, ",;");
        if (!has_part(label, at, size)) return false;
        at += size + 1;
    }
    return length > 0;
}

static Fault kind_of(const char *name, size_t length, int attempt) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, name, length) == 0)
            return attempt < kinds[i].attempts ? kinds[i].fault : FAULT_NONE;
    return FAULT_NONE;
}

Fault fault_find(int stage, const char *label, int attempt) {
    for (const char *rules = getenv("KFUSE_FAULT"); rules && *rules;) {
        size_t length = strcspn(rules, ";"), kind = strcspn(rules, "@");
        if (kind < length && meets(label, rules + kind + 1, length - kind - 1)) {
            Fault fault = kind_of(rules, kind, attempt);
            if (stage >> fault & 1) return fault;
        }
        rules += length + (rules[length] == ';');
    }
    return FAULT_NONE;
}

void fault_strike(Fault fault) {
    if (fault == FAULT_CRASH) abort();
    while (fault == FAULT_HANG || fault == FAULT_COMPILE_HANG) pause();
}
