/* In: an outcome. Out: its name in the store and in JSON, and its words in the report. */
#include "tuner/result.h"

static const struct {
    const char *name, *phrase;
} outcomes[OUTCOME_COUNT] = {
    [OUTCOME_OK] = {"ok", "right"},
    [OUTCOME_INFEASIBLE] = {"infeasible", "needs too many resources"},
    [OUTCOME_COMPILE] = {"compile", "did not compile"},
    [OUTCOME_LAUNCH] = {"launch", "could not be launched"},
    [OUTCOME_WRONG] = {"wrong", "gave a wrong result"},
    [OUTCOME_TIMEOUT] = {"timeout", "timed out"},
    [OUTCOME_CRASH] = {"crash", "crashed"},
};

const char *outcome_name(Outcome outcome) {
    return outcomes[outcome].name;
}

const char *outcome_phrase(Outcome outcome) {
    return outcomes[outcome].phrase;
}
