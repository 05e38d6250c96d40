/* In: measured candidates. Out: the winner. Finalists, the eager chain and the roof are timed in
 * turn, paired, and only that decides; inside the noise a fixed rule does, so that ties do not flip
 * from run to run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/tuning.h"

enum { FINALISTS = 6, COMPANIONS = 2 };
static const double FINAL_RATIO = 1.04;

static int by_time(const void *a, const void *b) {
    const Candidate *x = *(Candidate *const *)a, *y = *(Candidate *const *)b;
    if (x->result.time != y->result.time) return x->result.time < y->result.time ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Right candidates of this run, fastest first. */
Candidate **tuning_right(Tuning *t, uint32_t *count) {
    Candidate **list = arena_array(t->arena, Candidate *, t->tuned->candidates.count + 1);
    *count = 0;
    for (uint32_t i = 0; i < t->tuned->candidates.count; i++) {
        Candidate *c = tuning_candidate(t, i);
        if (c->done && c->result.outcome == OUTCOME_OK && c->twin_of < 0 && c->result.time > 0)
            list[(*count)++] = c;
    }
    qsort(list, *count, sizeof *list, by_time);
    return list;
}

/* Finalists in order of preference: the analytic default, then the order in which they were asked
 * for. The fastest wins unless one before it is inside the noise of the pair: a fixed rule, so that
 * ties do not flip. */
static void decide(Tuning *t, Candidate **finalists, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (finalists[i]->result.time < finalists[best]->result.time) best = i;
    uint32_t chosen = best;
    t->tuned->tie = -1;
    for (uint32_t i = 0; i < count; i++) {
        if (i == best) continue;
        Pair pair = pair_ratio(&finalists[best]->result, &finalists[i]->result);
        if (pair.ratio - 1 > (pair.high - pair.low) / 2 && pair.ratio > 1.002) continue;
        bool preferred = finalists[i] < finalists[chosen];
        Candidate *second = preferred ? finalists[chosen] : finalists[i];
        if (preferred) chosen = i;
        t->tuned->tie = (int32_t)(second - t->tuned->candidates.data);
    }
    t->tuned->winner = (int32_t)(finalists[chosen] - t->tuned->candidates.data);
    if (t->tuned->tie >= 0)
        t->tuned->tie_ratio = tuning_candidate(t, (uint32_t)t->tuned->tie)->result.time /
                              finalists[chosen]->result.time;
}

bool tuning_revive_finalists(Tuning *t) {
    uint32_t count, revived = 0;
    Candidate **list = tuning_right(t, &count);
    for (uint32_t i = 0;
         i < count && i < FINALISTS && list[i]->result.time <= FINAL_RATIO * list[0]->result.time;
         i++) {
        if (list[i]->measured) continue;
        tuning_revive(t, (uint32_t)(list[i] - t->tuned->candidates.data));
        revived++;
    }
    return revived > 0;
}

/* What takes part in the last rounds: the finalists, the eager chain, the fastest roof. */
typedef struct Round {
    Candidate *finalists[FINALISTS];
    Result *results[FINALISTS + COMPANIONS];
    uint64_t ids[FINALISTS + COMPANIONS];
    uint32_t finalist_count, count;
} Round;

static void enter(Round *round, uint64_t id, Result *result) {
    round->ids[round->count] = id;
    round->results[round->count++] = result;
}

/* No faster one of its kernel stands before it. */
static bool is_best_of_kernel(Candidate *const *list, uint32_t index) {
    for (uint32_t i = 0; i < index; i++)
        if (list[i]->kernel == list[index]->kernel) return false;
    return true;
}

/* The fastest, and the best of every kernel. */
static void enter_all(Tuning *t, Round *round) {
    uint32_t right, kernels = t->problem->kernel_count;
    Candidate **list = tuning_right(t, &right);
    for (uint32_t i = 0; i < right && round->finalist_count < FINALISTS; i++) {
        bool slow = list[i]->result.time > FINAL_RATIO * list[0]->result.time;
        bool room = round->finalist_count + kernels <= FINALISTS;
        if (!list[i]->measured || ((slow || !room) && !is_best_of_kernel(list, i))) continue;
        round->finalists[round->finalist_count++] = list[i];
        enter(round, (uint64_t)(list[i] - t->tuned->candidates.data), &list[i]->result);
    }
    for (uint32_t i = 0; i < t->problem->companion_count; i++) {
        bool wanted =
            t->problem->companions[i].kind == COMPANION_EAGER || (int32_t)i == t->tuned->roof;
        if (wanted && t->tuned->companions[i].outcome == OUTCOME_OK &&
            round->count < FINALISTS + COMPANIONS)
            enter(round, COMPANION_ID + i, &t->tuned->companions[i]);
    }
}

static void take_times(Result *into, const Result *from) {
    into->outcome = from->outcome;
    into->time = from->time;
    into->spread = from->spread;
    into->sample_count = from->sample_count;
    memcpy(into->samples, from->samples, sizeof into->samples);
}

/* The best of every kernel against the winner. */
static void pair_rivals(Tuning *t, Candidate *const *finalists, uint32_t count) {
    const Candidate *winner = tuning_candidate(t, (uint32_t)t->tuned->winner);
    for (uint32_t i = 0; i < count; i++) {
        const Candidate *c = finalists[i];
        Rival *rival = &t->tuned->rivals[c->kernel];
        int32_t index = (int32_t)(c - t->tuned->candidates.data);
        if (c->kernel == winner->kernel ? c != winner : rival->best >= 0) continue;
        *rival = (Rival){index, pair_ratio(&winner->result, &c->result)};
    }
}

void tuning_rank(Tuning *t) {
    Round round = {.count = 0};
    Result results[FINALISTS + COMPANIONS] = {0};
    double budget = fmax(0.05, fmin(0.1 * t->options->budget, tuning_left(t)));
    Phase before = workers_phase(t->workers, PHASE_RANK);
    t->tuned->roof = tuning_best_roof(t);
    enter_all(t, &round);
    if (round.finalist_count > 0 && !tuning_interrupted(t) &&
        bench_rank(t->bench, round.ids, round.count, budget, results, &t->why))
        for (uint32_t i = 0; i < round.count; i++) take_times(round.results[i], &results[i]);
    workers_phase(t->workers, before);
    uint32_t right = 0, known;
    for (uint32_t i = 0; i < round.finalist_count; i++)
        if (round.finalists[i]->result.outcome == OUTCOME_OK)
            round.finalists[right++] = round.finalists[i];
    Candidate **list = tuning_right(t, &known);
    for (uint32_t i = 0; i < t->problem->kernel_count; i++) t->tuned->rivals[i].best = -1;
    if (right > 0) {
        decide(t, round.finalists, right);
        pair_rivals(t, round.finalists, right);
    } else if (known > 0)
        t->tuned->winner = (int32_t)(list[0] - t->tuned->candidates.data);
}
