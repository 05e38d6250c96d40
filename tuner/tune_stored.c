/* In: the store. Out: candidates that an earlier run measured, with their binaries; and what this
 * run found, kept. */
#include <string.h>

#include "tuner/report.h"
#include "tuner/tuning.h"

enum { STORED_BINARIES = 8 };

const StoredTrial *tuning_known(const Tuning *t, const char *label) {
    for (uint32_t i = 0; i < t->trial_count; i++)
        if (!t->trials[i].imported && tuning_decided(&t->trials[i].result) &&
            strcmp(t->trials[i].point, label) == 0 &&
            strcmp(t->trials[i].shape, t->problem->key.shape) == 0)
            return &t->trials[i];
    return NULL;
}

/* What is imported is asked last; it may have come without its binary. */
static bool stored_binary(const Tuning *t, const char *label, Binary *binary, bool *foreign) {
    const TuneProblem *p = t->problem;
    Store *stores[] = {p->store, store_imported(p->store)};
    for (int i = 0; i < 2 && stores[i]; i++)
        if (store_binary(stores[i], &p->key, label, t->arena, &binary->bytes, &binary->size))
            return *foreign = i == 1, true;
    return false;
}

static void companion_from_store(Tuning *t, uint32_t index) {
    const Companion *companion = &t->problem->companions[index];
    bool foreign;
    for (uint32_t m = 0; m < companion->source_count; m++)
        stored_binary(t, arena_printf(t->arena, "%s.%u", companion->label, m),
                      &t->companion_binaries[index][m], &foreign);
}

static bool is_legal(const Tuning *t, const Candidate *c) {
    const Bound *bound = t->problem->kernels[c->kernel].bounds[0];
    return space_allows(tune_space(t->problem, c->kernel), &c->point,
                        tune_bindings(t->arena, bound, t->problem->identity), false);
}

/* The point of a trial becomes a candidate, if it is legal here: with its stored binary, or, of an imported
 * one that came without, to be compiled. */
static bool take_stored(Tuning *t, const StoredTrial *trial) {
    Binary binary = {0};
    const char *why;
    Candidate c = {.twin_of = -1, .label = trial->point, .imported = trial->imported};
    if (trial->result.outcome != OUTCOME_OK || !tuning_decided(&trial->result) ||
        !tune_find(t->arena, t->problem, c.label, &c.kernel, &c.point, &why) || !is_legal(t, &c) ||
        !tuning_run(t, &c, 0, &c.run, &why))
        return false;
    if (trial->imported && strcmp(trial->shape, t->problem->key.shape) == 0)
        c.claimed = trial->result.time;
    bool compiled = stored_binary(t, c.label, &binary, &c.foreign);
    if (!compiled && !trial->imported) return false;
    array_push(t->arena, &t->tuned->candidates, c);
    uint32_t index = t->tuned->candidates.count - 1;
    if (compiled) tuning_accept(t, index, binary);
    tuning_candidate(t, index)->compiled = false;
    return true;
}

/* Whether an imported point is worth a race against the one of here: it says that it is faster at this very
 * shape, and has not been tried here. */
static bool may_win(const Tuning *t, const StoredTrial *here, const StoredTrial *imported) {
    if (tuning_known(t, imported->point)) return false;
    return !here || (strcmp(imported->shape, t->problem->key.shape) == 0 &&
                     (strcmp(here->shape, imported->shape) != 0 ||
                      imported->result.time < here->result.time));
}

/* The label of the winner elsewhere, at this very shape: races were won by it that single trials do not show.
 * "" where there is none, or it is of several kernels. */
static const char *imported_winner(const Tuning *t) {
    Store *imported = store_imported(t->problem->store);
    const char *text;
    int64_t date;
    Report report;
    if (!imported || !store_answer(imported, &t->problem->key, t->arena, &text, &date) ||
        !report_load(t->arena, text, &report))
        return "";
    char *label = arena_copy(t->arena, report.winner, strlen(report.winner));
    for (char *c = label; *c; c++)
        if (*c == ' ') *c = ',';
    return label;
}

static bool take_imported(Tuning *t, const StoredTrial *here, const char *only) {
    for (uint32_t i = 0; i < t->trial_count; i++) {
        const StoredTrial *trial = &t->trials[i];
        if (trial->imported && (!only || strcmp(trial->point, only) == 0) &&
            may_win(t, here, trial) && take_stored(t, trial))
            return true;
    }
    return false;
}

/* This bucket was tuned, here or elsewhere: its best point that is legal here becomes the only
 * candidate, unless one from elsewhere could be better. */
static bool candidates_from_store(Tuning *t) {
    const StoredTrial *here = NULL;
    for (uint32_t i = 0; i < t->trial_count && !here; i++)
        if (!t->trials[i].imported && take_stored(t, &t->trials[i])) here = &t->trials[i];
    bool imported = take_imported(t, here, imported_winner(t)) || take_imported(t, here, NULL);
    return here || imported;
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

/* What is kept of a finished search: that nothing is left to find, that it ended with its trials, or
 * at which part of the roof it ended, as was asked. */
static const double EVERYTHING = 1, TRIALS = 0;
static double figure_of_part(double stop_at) {
    return -stop_at;
}

static bool is_searched(Store *store, const TuneProblem *problem, const TuneOptions *options) {
    double kept = 0;
    Arena *arena = arena_open();
    bool found = store && store_figure(store, searched_name(arena, problem), &kept);
    arena_close(arena);
    if (!found || kept == EVERYTHING) return found;
    if (options->stop_at > 0 && kept <= figure_of_part(options->stop_at)) return true;
    return kept == TRIALS && options->trials > 0;
}

bool tune_searched(const TuneProblem *problem, const TuneOptions *options) {
    return is_searched(problem->store, problem, options);
}

/* A search that ended at the roof has nothing left to find. One that used its budget up did what it was
 * asked for: the next run of the same line is answered; so is one that ended where --stop-at said, but not a
 * line that asks for more. One that was made elsewhere counts once its result has been judged here, for the
 * line that it answered: it may have ended where --stop-at said, too. */
static void keep_searched(const Tuning *t) {
    Ending ending = t->tuned->ending;
    bool taken = t->tuned->from_store && t->options->stop_at > 0;
    double kept = t->options->trials == 0 || ending == ENDING_ROOF ? EVERYTHING : TRIALS;
    if (taken || ending == ENDING_ASKED) kept = figure_of_part(t->options->stop_at);
    if (t->options->only || !t->options->search || tuning_interrupted(t)) return;
    if (t->tuned->from_store && (t->tuned->winner < 0 || tune_searched(t->problem, t->options)))
        return;
    store_put_figure(t->problem->store, searched_name(t->arena, t->problem), kept);
}

void tuning_load(Tuning *t) {
    const TuneProblem *p = t->problem;
    if (t->options->retune || t->options->only) return;
    t->trials = store_trials(p->store, &p->key, t->arena, &t->trial_count);
    t->tuned->from_store = (!t->options->search || tune_searched(p, t->options) ||
                            is_searched(store_imported(p->store), p, t->options)) &&
                           candidates_from_store(t);
    if (!t->tuned->from_store) return;
    t->total = t->tuned->candidates.count;
    for (uint32_t i = 0; i < p->companion_count; i++) companion_from_store(t, i);
}

void tuning_unload(Tuning *t) {
    t->tuned->from_store = false;
    t->tried = t->tuned->candidates.count;
    t->total = t->tried;
    for (uint32_t i = 0; i < t->problem->kernel_count; i++)
        t->total += t->options->search ? t->searches[i].left : i == 0;
}

static void keep_binary(Tuning *t, const Candidate *c) {
    if (c->binary.bytes && c->result.outcome == OUTCOME_OK && tuning_decided(&c->result))
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
