/* In: candidates and companions with binaries. Out: their results, one at a time from the bench. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/tuning.h"

/* A candidate ends when its median is known to half a per cent; on a machine that never settles, by
 * time: the finalists get more. */
static const double GIVE_UP_RATIO = 3, CANDIDATE_SECONDS = 0.3;
/* Twice as far from the best as a finalist may be. */
static const double ENOUGH_RATIO = 1.08;

static Run *edge_runs(Tuning *t, const Candidate *c) {
    uint32_t count = t->problem->edge_count;
    Run *runs = arena_array(t->arena, Run, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const char *why;
        if (!tuning_run(t, c, i + 1, &runs[i], &why)) runs[i] = (Run){0};
    }
    return runs;
}

/* The bench's answer; compilers are attended to meanwhile. */
static void take_result(Tuning *t, const BenchJob *job, Result *result) {
    Why why;
    if (!bench_submit(t->bench, job, &why)) {
        result->outcome = OUTCOME_CRASH;
        snprintf(result->message, sizeof result->message, "%.200s", why.text);
        return;
    }
    workers_attend(t->workers);
    bench_result(t->bench, result);
}

/* Before the first measurement. */
static void prepare(Tuning *t) {
    Phase before = workers_phase(t->workers, PHASE_DEVICE);
    workers_attend(t->workers);
    bench_ready(t->bench);
    if (t->next) tools_announce(t->next);
    workers_phase(t->workers, before);
    t->prepared = true;
}

static void measure_candidate(Tuning *t, uint32_t index) {
    Candidate *c = tuning_candidate(t, index);
    BenchJob job = {
        .id = index,
        .label = c->label,
        .run = &c->run,
        .binaries = &c->binary,
        .binary_count = 1,
        .judge_edges = t->problem->edge_count > 0,
        .edge_runs = edge_runs(t, c),
        .edge_count = t->problem->edge_count,
        .judge = true,
        .budget = fmin(CANDIDATE_SECONDS, 0.02 + 0.2 * t->options->budget / (t->total + 1)),
        .give_up_over = t->best * GIVE_UP_RATIO,
        .enough_over = t->best * ENOUGH_RATIO,
    };
    Resources resources = c->result.resources;
    uint64_t code = c->result.machine_code;
    take_result(t, &job, &c->result);
    c->result.resources = resources;
    c->result.machine_code = code;
    c->measured = true;
    KernelSearch *search = &t->searches[c->kernel];
    search->strategy->tell(search->search, &c->point, &c->result);
    tuning_finish(t, c);
    bool refused = c->foreign && c->result.outcome != OUTCOME_OK;
    if (!refused && tuning_decided(&c->result) &&
        (c->result.outcome != OUTCOME_OK || !t->options->retune))
        store_put_trial(t->problem->store, &t->problem->key, c->label, &c->result, NULL, 0);
}

static void measure_companion(Tuning *t, uint32_t index) {
    const Companion *companion = &t->problem->companions[index];
    Result *result = &t->tuned->companions[index];
    result->outcome = OUTCOME_COMPILE;
    if (t->companion_missing[index] > 0) return;
    BenchJob job = {.id = COMPANION_ID + index,
                    .label = companion->label,
                    .run = companion->run,
                    .binaries = t->companion_binaries[index],
                    .binary_count = companion->source_count,
                    .judge = companion->kind == COMPANION_EAGER,
                    .rounded = companion->kind == COMPANION_EAGER,
                    .budget = 0.1};
    take_result(t, &job, result);
}

/* The roof is what the best of several streaming kernels reaches. */
int32_t tuning_best_roof(const Tuning *t) {
    int32_t best = -1;
    const Result *results = t->tuned->companions;
    for (uint32_t i = 0; i < t->problem->companion_count; i++)
        if (t->problem->companions[i].kind == COMPANION_ROOF && results[i].outcome == OUTCOME_OK &&
            results[i].time > 0 && (best < 0 || results[i].time < results[best].time))
            best = (int32_t)i;
    return best;
}

double tuning_roof(const Tuning *t) {
    int32_t best = tuning_best_roof(t);
    return best < 0 ? 0 : t->tuned->companions[best].time;
}

static bool companions_compiled(const Tuning *t, uint32_t index) {
    return t->companion_missing[index] == 0 || workers_pending(t->workers, t->owner) == 0;
}

/* Takes one thing that can be measured; false if there is none yet. */
bool tuning_measure_next(Tuning *t) {
    /* The first candidate that passes the oracle sets the golden output; companions come right
     * behind it. */
    bool companion = t->ready_next > 0 && t->companion_next < t->problem->companion_count &&
                     companions_compiled(t, t->companion_next);
    if (!companion && t->ready_next == t->ready.count) return false;
    if (!t->prepared) prepare(t);
    Phase before = workers_phase(t->workers, companion ? PHASE_COMPANIONS : PHASE_CANDIDATES);
    if (companion)
        measure_companion(t, t->companion_next++);
    else
        measure_candidate(t, t->ready.data[t->ready_next++]);
    workers_phase(t->workers, before);
    return true;
}
