/* In: the store. Out: candidates that an earlier run measured, with their binaries; and what this
 * run found, kept. */
#include <string.h>

#include "tuner/tuning.h"

enum { STORED_BINARIES = 8 };

const StoredTrial *tuning_known(const Tuning *t, const char *label) {
    for (uint32_t i = 0; i < t->trial_count; i++)
        if (strcmp(t->trials[i].point, label) == 0 &&
            strcmp(t->trials[i].shape, t->problem->key.shape) == 0)
            return &t->trials[i];
    return NULL;
}

static bool companion_from_store(Tuning *t, uint32_t index) {
    const Companion *companion = &t->problem->companions[index];
    for (uint32_t m = 0; m < companion->source_count; m++) {
        Binary *binary = &t->companion_binaries[index][m];
        const char *label = arena_printf(t->arena, "%s.%u", companion->label, m);
        if (!store_binary(t->problem->store, &t->problem->key, label, t->arena, &binary->bytes,
                          &binary->size))
            return false;
    }
    t->companion_missing[index] = 0;
    return true;
}

static bool is_legal(const Tuning *t, const Candidate *c) {
    const Bound *bound = t->problem->kernels[c->kernel].bounds[0];
    return space_allows(tune_space(t->problem, c->kernel), &c->point,
                        tune_bindings(t->arena, bound, t->problem->identity), false);
}

/* Another shape of this bucket was tuned: its best point that is legal here becomes the only
 * candidate, with its stored binary. */
static bool candidate_from_store(Tuning *t) {
    const TuneProblem *p = t->problem;
    for (uint32_t i = 0; i < t->trial_count; i++) {
        Binary binary;
        const char *why;
        Candidate c = {.twin_of = -1, .label = t->trials[i].point};
        if (t->trials[i].result.outcome != OUTCOME_OK ||
            !tune_find(t->arena, p, c.label, &c.kernel, &c.point, &why) || !is_legal(t, &c) ||
            !store_binary(p->store, &p->key, c.label, t->arena, &binary.bytes, &binary.size) ||
            !tuning_run(t, &c, 0, &c.run, &why))
            continue;
        array_push(t->arena, &t->tuned->candidates, c);
        tuning_accept(t, t->tuned->candidates.count - 1, binary);
        tuning_candidate(t, t->tuned->candidates.count - 1)->compiled = false;
        return true;
    }
    return false;
}

/* --- whether a search of this bucket was finished, and left nothing out */

/* The key is without the knobs; a search of other values is another search. */
static const char *searched_name(Arena *arena, const TuneProblem *problem) {
    Text text = {0};
    text_add(&text, "searched\n");
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        const Space *space = tune_space(problem, k);
        for (uint32_t i = 0; i < space->knob_count; i++) {
            text_printf(&text, "%s", space->knobs[i].key);
            for (uint32_t v = 0; v < space->knobs[i].count; v++)
                text_printf(&text, " %lld", (long long)space->knobs[i].values[v]);
            text_add(&text, "\n");
        }
    }
    text_add(&text, problem->key.text);
    const char *name = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return name;
}

bool tune_searched(const TuneProblem *problem, const TuneOptions *options) {
    double everything = 0;
    Arena *arena = arena_open();
    bool found = store_figure(problem->store, searched_name(arena, problem), &everything);
    arena_close(arena);
    return found && (options->trials > 0 || everything != 0);
}

/* A search that ended at the roof has nothing left to find. One that used its budget up did what it was
 * asked for: the next run of the same line is answered. */
static void keep_searched(const Tuning *t) {
    bool everything = t->options->trials == 0 || t->tuned->stopped == TUNE_AT_ROOF;
    if (t->options->only || !t->options->search || t->tuned->from_store || tuning_interrupted(t))
        return;
    store_put_figure(t->problem->store, searched_name(t->arena, t->problem), everything);
}

bool tuning_load(Tuning *t) {
    bool may = !t->options->retune && !t->options->only;
    bool all = may && (!t->options->search || tune_searched(t->problem, t->options));
    if (may)
        t->trials = store_trials(t->problem->store, &t->problem->key, t->arena, &t->trial_count);
    all = all && candidate_from_store(t);
    for (uint32_t i = 0; all && i < t->problem->companion_count; i++)
        all = companion_from_store(t, i) || !t->options->search;
    if (all) {
        t->total = 1;
        t->tuned->from_store = true;
        return true;
    }
    t->tuned->candidates.count = 0;
    t->ready.count = t->finished = 0;
    return false;
}

static void keep_binary(Tuning *t, const Candidate *c) {
    if (c->binary.bytes && c->result.outcome == OUTCOME_OK)
        store_put_trial(t->problem->store, &t->problem->key, c->label, &c->result, c->binary.bytes,
                        c->binary.size);
}

/* Binaries of the fastest, of the winner (the finals may have re-timed it behind others that took
 * no part in them) and of the analytic default. */
void tuning_keep(Tuning *t) {
    const TuneProblem *p = t->problem;
    uint32_t count;
    Candidate **list = tuning_right(t, &count);
    for (uint32_t i = 0; i < count && i < STORED_BINARIES; i++) keep_binary(t, list[i]);
    if (t->tuned->winner >= 0) keep_binary(t, tuning_candidate(t, (uint32_t)t->tuned->winner));
    if (t->tuned->candidates.count > 0) keep_binary(t, tuning_candidate(t, 0));
    for (uint32_t i = 0; i < p->companion_count; i++)
        for (uint32_t m = 0; m < p->companions[i].source_count; m++)
            if (t->companion_binaries[i][m].bytes)
                store_put_trial(p->store, &p->key,
                                arena_printf(t->arena, "%s.%u", p->companions[i].label, m),
                                &t->tuned->companions[i], t->companion_binaries[i][m].bytes,
                                t->companion_binaries[i][m].size);
    keep_searched(t);
    store_flush(p->store);
}
