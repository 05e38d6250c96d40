/* In: kernels bound to shapes, an oracle, options. Out: candidates with what became of them, and
 * a winner.
 *
 * The idea: the search is asked for all its points, and one loop keeps the compile workers (units of
 * a few points) and the bench (one candidate at a time) busy. Where timings share the compilers'
 * cores, compiling ends before measuring begins. Finalists, the eager chain and the roof are then
 * timed in turn, paired, and only that decides. */
#include "tuner/tuning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The same kernel on the same kind of device: on two cores that others used too, twelve kernels took 0.3 to
 * 1.13 times what an earlier run had said. */
static const double CLAIM_RATIO = 1.5;
static const double ROOF_MARGIN = 1.01, RUN_LIMIT = 20, COMPILE_SHARE = 0.5;
/* Of less, the start of a kernel is most of its time, and no stream says how good it is. */
enum { ROOF_BYTES = 1 << 20 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double tuning_left(const Tuning *t) {
    return t->began + t->options->budget - now();
}

bool tuning_interrupted(const Tuning *t) {
    return t->options->interrupt && *t->options->interrupt;
}

void tuning_finish(Tuning *t, Candidate *c) {
    if (!c->done) t->finished++;
    c->done = true;
    if (c->result.outcome == OUTCOME_OK && c->result.time > 0 &&
        (t->best == 0 || c->result.time < t->best))
        t->best = c->result.time;
    if (t->options->progress)
        t->options->progress(t->options->context, t->finished, t->total, t->best, tuning_left(t));
}

void tuning_fail(Tuning *t, Candidate *c, Outcome outcome, const char *message) {
    c->result.outcome = outcome;
    snprintf(c->result.message, sizeof c->result.message, "%s", message ? message : "");
    tuning_finish(t, c);
}

/* Whether to end now, and why; else ENDING_DONE. */
static Ending end_early(const Tuning *t) {
    double roof = tuning_roof(t), asked = t->options->stop_at;
    if (tuning_interrupted(t)) return ENDING_INTERRUPTED;
    if (t->best <= 0 || t->finished >= t->total) return ENDING_DONE;
    if (tuning_left(t) < 0.15 * t->options->budget) return ENDING_BUDGET;
    if (roof <= 0) return ENDING_DONE;
    if (asked > 0 && t->best * asked <= roof) return ENDING_ASKED;
    if (t->problem->kernels[0].bounds[0]->bytes >= ROOF_BYTES &&
        t->finished >= t->options->minimum && t->best <= roof * ROOF_MARGIN)
        return ENDING_ROOF;
    return ENDING_DONE;
}

/* Where nothing may be timed while anything compiles, compiling must leave time for measuring. */
static void stop_compiling(Tuning *t) {
    workers_cancel(t->workers, t->owner);
    t->compiles = false;
}

static void wait_for_compilers(Tuning *t) {
    Phase before = workers_phase(t->workers, PHASE_COMPILE);
    workers_wait(t->workers, 0.05);
    workers_phase(t->workers, before);
}

static void loop(Tuning *t) {
    bool exclusive = t->problem->device->host_exclusive;
    while ((t->tuned->ending = end_early(t)) == ENDING_DONE) {
        bool something = t->best > 0 || t->ready_next < t->ready.count;
        if (exclusive && something && tuning_left(t) < COMPILE_SHARE * t->options->budget)
            stop_compiling(t);
        bool compiling = workers_pending(t->workers, t->owner) > 0;
        if (compiling && workers_wait(t->workers, 0)) continue;
        if ((!compiling || !exclusive) && tuning_measure_next(t)) continue;
        if (!compiling) break;
        wait_for_compilers(t);
    }
}

/* A kernel's search, of at most `trials` points (0: all). */
static void open_search(Tuning *t, uint32_t kernel, uint32_t trials) {
    const TuneOptions *o = t->options;
    KernelSearch *k = &t->searches[kernel];
    Bindings bindings =
        tune_bindings(t->arena, t->problem->kernels[kernel].bounds[0], t->problem->identity);
    SearchProblem problem = {tune_space(t->problem, kernel), bindings, o->sensible, o->seed, 0};
    uint64_t *indices; /* the default among them, sensible or not */
    uint32_t points = strategy_points(t->arena, &problem, &indices);
    k->left = problem.budget = trials && trials < points ? trials : points;
    k->strategy = o->strategy ? o->strategy : strategy_auto(points, k->left);
    k->search = k->strategy->open(t->arena, &problem);
}

/* Trials are shared out evenly; what a small space leaves goes to those behind it. */
static void open_searches(Tuning *t) {
    uint32_t count = t->problem->kernel_count, left = t->options->trials;
    t->searches = arena_array(t->arena, KernelSearch, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t share = left / (count - i);
        open_search(t, i, t->options->trials && share == 0 ? 1 : share);
        left -= t->searches[i].left < left ? t->searches[i].left : left;
        t->total += t->searches[i].left;
    }
    if (t->options->only || !t->options->search) t->total = 1;
}

/* What a run begins with; and what follows on it where that did not do. */
static void first_units(Tuning *t) {
    Phase before = workers_phase(t->workers, PHASE_PLAN);
    uint32_t first = t->units.count;
    t->compiles = true;
    if (t->tuned->from_store)
        tuning_ask_missing(t);
    else if (t->options->only)
        tuning_ask_only(t);
    else if (t->options->search)
        tuning_ask(t);
    else
        tuning_ask_default(t);
    tuning_submit(t, first);
    workers_phase(t->workers, before);
}

static void fill_twins(Tuning *t) {
    for (uint32_t i = 0; i < t->tuned->candidates.count; i++) {
        Candidate *c = tuning_candidate(t, i);
        if (c->twin_of < 0 || !tuning_candidate(t, (uint32_t)c->twin_of)->done) continue;
        Resources resources = c->result.resources;
        c->result = tuning_candidate(t, (uint32_t)c->twin_of)->result;
        c->result.resources = resources;
        tuning_finish(t, c);
    }
}

static void find_stored(Tuning *t) {
    Phase before = workers_phase(t->workers, PHASE_STORE);
    tuning_load(t);
    workers_phase(t->workers, before);
}

Tuning *tune_begin(Arena *arena, const TuneProblem *problem, const TuneOptions *options,
                   Workers *workers, Tuned *tuned) {
    Tuning *t = arena_new(arena, Tuning);
    *t = (Tuning){.arena = arena,
                  .problem = problem,
                  .options = options,
                  .tuned = tuned,
                  .workers = workers,
                  .bench = workers->bench,
                  .began = now()};
    *tuned = (Tuned){.winner = -1, .tie = -1, .roof = -1, .hot = options->hot};
    tuned->rivals = arena_array(arena, Rival, problem->kernel_count);
    tuned->companions = arena_array(arena, Result, problem->companion_count + 1);
    t->companion_binaries = arena_array(arena, Binary *, problem->companion_count + 1);
    t->companion_missing = arena_array(arena, uint32_t, problem->companion_count + 1);
    for (uint32_t i = 0; i < problem->companion_count; i++)
        t->companion_binaries[i] =
            arena_array(arena, Binary, problem->companions[i].source_count + 1);
    tools_begin(
        &t->tools, arena, workers, problem->ir, problem->rounded,
        &(BenchOptions){options->seed, options->hot, RUN_LIMIT, problem->journal, problem->given});
    t->owner = workers_enter(workers, t, tuning_take);
    open_searches(t);
    find_stored(t);
    if (!problem->device->host_exclusive) first_units(t);
    return t;
}

static bool is_imported(const Tuned *tuned) {
    bool imported = false;
    for (uint32_t i = 0; i < tuned->candidates.count; i++)
        imported |= tuned->candidates.data[i].imported;
    return imported;
}

/* Of what the store had nothing is right; or all of it came from elsewhere, and is not what was said of
 * it. */
static bool falls_short(const Tuning *t) {
    const Tuned *tuned = t->tuned;
    if (!tuned->from_store || tuning_interrupted(t)) return false;
    if (!t->options->search) return t->best == 0;
    for (uint32_t i = 0; i < tuned->candidates.count; i++) {
        const Candidate *c = &tuned->candidates.data[i];
        if (c->result.outcome == OUTCOME_OK && c->done &&
            (!c->imported || c->claimed == 0 || c->result.time <= CLAIM_RATIO * c->claimed))
            return false;
    }
    return true;
}

static void measure_all(Tuning *t) {
    loop(t);
    if (falls_short(t)) {
        tuning_unload(t);
        first_units(t);
        loop(t);
    }
    if (tuning_revive_finalists(t)) loop(t);
    workers_cancel(t->workers, t->owner);
    t->tuned->untried = t->finished < t->total ? t->total - t->finished : 0;
    fill_twins(t);
    tuning_rank(t);
    if (t->tuned->ending == ENDING_DONE && is_imported(t->tuned))
        t->tuned->ending = ENDING_IMPORTED;
}

static void keep(Tuning *t) {
    Why ignored;
    Phase before = workers_phase(t->workers, PHASE_STORE);
    bench_report(t->bench, &t->tuned->bench, &ignored);
    tuning_keep(t);
    workers_phase(t->workers, before);
}

void tune_drop(Tuning *t) {
    workers_cancel(t->workers, t->owner);
    for (uint32_t i = 0; i < t->problem->kernel_count; i++)
        t->searches[i].strategy->close(t->searches[i].search);
}

Tools *tune_tools(Tuning *t) {
    return &t->tools;
}

bool tune_end(Tuning *t, Tools *next, Why *why) {
    t->began = now();
    t->next = next;
    bool ok = tools_set_up(&t->tools, why);
    if (ok && t->problem->device->host_exclusive) first_units(t);
    if (ok && t->why.text[0]) ok = why_set(why, "%s", t->why.text); /* no compilers */
    if (ok) measure_all(t);
    if (ok) keep(t);
    t->tuned->workers = t->units.count == 0 ? 0 : workers_compilers(t->workers);
    t->tuned->interrupted = tuning_interrupted(t);
    tune_drop(t);
    return ok;
}

bool tune(Arena *arena, const TuneProblem *problem, const TuneOptions *options, Workers *workers,
          Tuned *tuned, Why *why) {
    return tune_end(tune_begin(arena, problem, options, workers, tuned), NULL, why);
}
