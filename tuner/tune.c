/* In: a template bound to shapes, an oracle, options. Out: candidates with what became of them, and a winner.
 *
 * The idea: one loop that keeps three things busy: the search (ask), the compile workers (units of a few
 * points), the bench (one candidate at a time). Where timings share the compilers' cores, compiling ends before
 * measuring begins. Finalists, the eager chain and the roof are then timed in turn, paired, and only that
 * decides. */
#include "tuner/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A unit of 3 to 6 small kernels costs a third of as many single ones (facts: 48 kernels on 16 processes 0.27 s
 * alone, 0.17 s by threes). */
enum { UNIT_POINTS = 4, FINALISTS = 6, STORED_BINARIES = 8 };
static const double GIVE_UP_RATIO = 3, FINAL_RATIO = 1.04, ROOF_MARGIN = 1.01;
static const double COMPILE_LIMIT = 60, RUN_LIMIT = 20;

typedef struct Unit {
    ARRAY(uint32_t) members; /* candidates; none: a companion's module */
    uint32_t companion, module;
} Unit;

typedef struct Tuning {
    Arena *arena;
    const TuneProblem *problem;
    const TuneOptions *options;
    Tuned *tuned;
    const Strategy *strategy;
    Search *search;
    bool exhausted;
    Pool *pool;
    Bench *bench;
    ARRAY(Unit) units;
    ARRAY(uint32_t) ready; /* candidates to measure, in order */
    uint32_t ready_next;
    Binary **companion_binaries; /* [companion][module] */
    uint32_t *companion_missing;
    uint32_t companion_next, finished, total;
    double began, best;
    const StoredTrial *trials;
    uint32_t trial_count;
    Why why;
} Tuning;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double left(const Tuning *t) {
    return t->began + t->options->budget - now();
}

static bool interrupted(const Tuning *t) {
    return t->options->interrupt && *t->options->interrupt;
}

const char *tune_suffix(Arena *arena, const Space *space, const Point *point) {
    Text text = {0};
    text_add(&text, "__");
    point_print(&text, space, point, "_");
    char *suffix = arena_copy(arena, text.data, text.length);
    text_free(&text);
    char *to = suffix;
    for (const char *from = suffix; *from; from++) /* "VEC=4" -> "VEC4", "-1" -> "m1" */
        if (*from != '=') *to++ = *from == '-' ? 'm' : *from;
    *to = '\0';
    return suffix;
}

static BufferName *buffer_names(Arena *arena, const Plan *plan, uint32_t *count) {
    BufferName *names = arena_array(arena, BufferName, plan->loads.count + plan->stores.count);
    *count = 0;
    for (uint32_t i = 0; i < plan->loads.count; i++)
        names[(*count)++] = (BufferName){plan->loads.data[i].name, plan->loads.data[i].slot};
    for (uint32_t i = 0; i < plan->stores.count; i++)
        names[(*count)++] = (BufferName){plan->stores.data[i].name,
                                         plan->ir->inputs.count + plan->stores.data[i].slot};
    return names;
}

bool tune_run(Arena *arena, const Template *template, const Plan *plan, const Point *point,
              const DeviceIdentity *identity, Run *run, const char **why) {
    uint32_t count, first = run->launches.count;
    const BufferName *names = buffer_names(arena, plan, &count);
    Binding *list = arena_array(arena, Binding, plan->bindings.count + 2);
    memcpy(list, plan->bindings.list, plan->bindings.count * sizeof *list);
    list[plan->bindings.count] = (Binding){"sms", identity->sms};
    list[plan->bindings.count + 1] = (Binding){"cpus", identity->sms};
    Bindings bindings = {list, plan->bindings.count + 2};
    if (!run_add(arena, run, template, point, bindings, names, count, plan, 0, why)) return false;
    const char *suffix = tune_suffix(arena, &template->space, point);
    bool legal = space_allows(&template->space, point, bindings, false);
    for (uint32_t i = first; i < run->launches.count; i++) {
        Launch *launch = &run->launches.data[i];
        launch->entry = arena_printf(arena, "%s%s", launch->entry, suffix);
        if (launch->twin) launch->twin = arena_printf(arena, "%s%s", launch->twin, suffix);
        if (!legal && !launch->twin) return *why = "not legal for this shape", false;
        if (!legal) launch->entry = launch->twin;
    }
    return true;
}

/* --- candidates */

static void finish_candidate(Tuning *t, Candidate *c) {
    t->finished++;
    if (c->result.outcome == OUTCOME_OK && (t->best == 0 || c->result.time < t->best))
        t->best = c->result.time;
    if (t->options->progress)
        t->options->progress(t->options->context, t->finished, t->total, t->best, left(t));
}

static void fail_candidate(Tuning *t, Candidate *c, Outcome outcome, const char *message) {
    c->result.outcome = outcome;
    snprintf(c->result.message, sizeof c->result.message, "%s", message ? message : "");
    finish_candidate(t, c);
}

static const StoredTrial *known_trial(const Tuning *t, const char *label) {
    for (uint32_t i = 0; i < t->trial_count; i++)
        if (strcmp(t->trials[i].point, label) == 0 &&
            strcmp(t->trials[i].shape, t->problem->key.shape) == 0)
            return &t->trials[i];
    return NULL;
}

static Candidate *candidate(Tuning *t, uint32_t index) {
    return &t->tuned->candidates.data[index];
}

/* A new candidate; false where it is already decided (known from the store, or infeasible). */
static bool add_candidate(Tuning *t, const Point *point) {
    const TuneProblem *p = t->problem;
    Text label = {0};
    point_print(&label, &p->template->space, point, ",");
    Candidate c = {.point = *point, .twin_of = -1, .label = arena_copy(t->arena, text_string(&label), label.length)};
    text_free(&label);
    array_push(t->arena, &t->tuned->candidates, c);
    Candidate *added = candidate(t, t->tuned->candidates.count - 1);
    const StoredTrial *trial = t->options->retune ? NULL : known_trial(t, added->label);
    if (trial) {
        added->result = trial->result;
        finish_candidate(t, added);
        return false;
    }
    const char *why = "";
    if (!tune_run(t->arena, p->template, p->plans[0], point, p->identity, &added->run, &why)) {
        fail_candidate(t, added, OUTCOME_INFEASIBLE, why);
        return false;
    }
    return true;
}

/* Asks for up to `limit` points and submits them as units. */
static void submit_more(Tuning *t, uint32_t limit) {
    while (!t->exhausted && limit > 0) {
        Unit unit = {0};
        Point point;
        while (unit.members.count < UNIT_POINTS && limit > 0) {
            if (t->tuned->candidates.count >= t->total || !t->strategy->ask(t->search, &point)) {
                t->exhausted = true;
                break;
            }
            limit--;
            if (add_candidate(t, &point)) array_push(t->arena, &unit.members, t->tuned->candidates.count - 1);
            /* The analytic default compiles alone: the bench can begin with it. */
            if (t->tuned->candidates.count == 1) break;
        }
        if (unit.members.count == 0) continue;
        array_push(t->arena, &t->units, unit);
    }
}

static void unit_source(Text *out, const Tuning *t, const Unit *unit) {
    const Template *template = t->problem->template;
    for (uint32_t i = 0; i < unit->members.count; i++) {
        const Point *point = &t->tuned->candidates.data[unit->members.data[i]].point;
        template_instantiate(out, template, point, tune_suffix(t->arena, &template->space, point));
    }
}

static void submit_unit(Tuning *t, uint32_t index) {
    const Unit *unit = &t->units.data[index];
    Text source = {0};
    if (unit->members.count > 0) unit_source(&source, t, unit);
    else text_add(&source, t->problem->companions[unit->companion].sources[unit->module]);
    pool_submit(t->pool, index, &(CompileUnit){text_string(&source), t->problem->template->name, t->problem->fast_math});
    text_free(&source);
}

static void submit_units_from(Tuning *t, uint32_t first) {
    for (uint32_t i = first; i < t->units.count; i++) submit_unit(t, i);
}

/* --- compiled units */

static bool same_launch(const Run *a, const Run *b) {
    if (a->launches.count != b->launches.count) return false;
    for (uint32_t i = 0; i < a->launches.count; i++) {
        const Launch *x = &a->launches.data[i], *y = &b->launches.data[i];
        if (memcmp(x->grid, y->grid, sizeof x->grid) || memcmp(x->block, y->block, sizeof x->block) ||
            x->shared != y->shared || x->cluster != y->cluster)
            return false;
    }
    return true;
}

static int32_t find_twin(const Tuning *t, const Candidate *c) {
    for (uint32_t i = 0; i < t->tuned->candidates.count; i++) {
        const Candidate *other = &t->tuned->candidates.data[i];
        if (other == c || other->twin_of >= 0 || !other->binary.bytes) continue;
        if (other->result.machine_code == c->result.machine_code && same_launch(&other->run, &c->run))
            return (int32_t)i;
    }
    return -1;
}

static bool fits(const DeviceIdentity *identity, const Candidate *c) {
    const Launch *launch = &c->run.launches.data[0];
    int64_t threads = (int64_t)launch->block[0] * launch->block[1] * launch->block[2];
    const Resources *r = &c->result.resources;
    return (identity->registers_per_block <= 0 || r->registers * threads <= identity->registers_per_block) &&
           (identity->shared_per_block <= 0 || r->shared_bytes + launch->shared <= identity->shared_per_block);
}

static void accept_binary(Tuning *t, uint32_t index, Binary binary) {
    const TuneProblem *p = t->problem;
    Candidate *c = candidate(t, index);
    c->compiled = true;
    if (c->run.launches.count > 0)
        p->device->resources(binary.bytes, binary.size, c->run.launches.data[0].entry, &c->result.resources,
                             &c->result.machine_code);
    c->twin_of = find_twin(t, c);
    c->binary = binary;
    if (c->twin_of >= 0) return; /* its result is filled in at the end */
    t->tuned->distinct++;
    if (c->run.launches.count > 0 && !fits(p->identity, c)) {
        fail_candidate(t, c, OUTCOME_INFEASIBLE, "needs more registers or shared memory than a block has");
        return;
    }
    array_push(t->arena, &t->ready, index);
}

static void companion_compiled(Tuning *t, const Unit *unit, Binary binary) {
    t->companion_binaries[unit->companion][unit->module] = binary;
    if (binary.bytes) t->companion_missing[unit->companion]--;
}

static void unit_compiled(Tuning *t, Compiled *compiled) {
    Unit unit = t->units.data[compiled->id];
    t->tuned->compile_seconds += compiled->seconds;
    Binary binary = {0};
    if (compiled->outcome == OUTCOME_OK) {
        binary = (Binary){arena_alloc(t->arena, compiled->size), compiled->size};
        memcpy((void *)(uintptr_t)binary.bytes, compiled->binary, compiled->size);
    }
    free(compiled->binary);
    if (unit.members.count == 0) {
        companion_compiled(t, &unit, binary);
    } else if (binary.bytes) {
        t->tuned->compiled += unit.members.count;
        for (uint32_t i = 0; i < unit.members.count; i++) accept_binary(t, unit.members.data[i], binary);
    } else if (unit.members.count == 1) {
        fail_candidate(t, candidate(t, unit.members.data[0]), compiled->outcome, compiled->message);
    } else { /* one bad member fails them all: one by one */
        for (uint32_t i = 0; i < unit.members.count; i++) {
            Unit alone = {0};
            array_push(t->arena, &alone.members, unit.members.data[i]);
            array_push(t->arena, &t->units, alone);
            submit_unit(t, t->units.count - 1);
        }
    }
}

/* --- measuring */

static Run *edge_runs(Tuning *t, const Candidate *c) {
    const TuneProblem *p = t->problem;
    Run *runs = arena_array(t->arena, Run, p->plan_count);
    for (uint32_t i = 1; i < p->plan_count; i++) {
        const char *why;
        if (!tune_run(t->arena, p->template, p->plans[i], &c->point, p->identity, &runs[i - 1], &why))
            runs[i - 1] = (Run){0};
    }
    return runs;
}

enum { COMPANION_ID = 1 << 24 }; /* job ids of companions; candidates use their index */

static void measure_candidate(Tuning *t, uint32_t index) {
    Candidate *c = candidate(t, index);
    BenchJob job = {
        .id = index, .label = c->label, .run = &c->run, .binaries = &c->binary, .binary_count = 1,
        .judge_edges = t->problem->plan_count > 1, .edge_runs = edge_runs(t, c),
        .edge_count = t->problem->plan_count - 1, .judge = true,
        .budget = 0.02 + 0.2 * t->options->budget / (t->total + 1),
        .give_up_over = t->best * GIVE_UP_RATIO,
    };
    Resources resources = c->result.resources;
    uint64_t code = c->result.machine_code;
    if (bench_submit(t->bench, &job, &t->why)) bench_result(t->bench, &c->result);
    else c->result.outcome = OUTCOME_CRASH, snprintf(c->result.message, sizeof c->result.message, "%.200s", t->why.text);
    c->result.resources = resources;
    c->result.machine_code = code;
    c->measured = true;
    t->strategy->tell(t->search, &c->point, &c->result);
    finish_candidate(t, c);
    if (c->result.outcome != OUTCOME_OK || !t->options->retune)
        store_put_trial(t->problem->store, &t->problem->key, c->label, &c->result, NULL, 0);
}

static void measure_companion(Tuning *t, uint32_t index) {
    const Companion *companion = &t->problem->companions[index];
    Result *result = &t->tuned->companions[index];
    result->outcome = OUTCOME_COMPILE;
    if (t->companion_missing[index] > 0) return;
    BenchJob job = {.id = COMPANION_ID + index, .label = companion->label, .run = companion->run,
                    .binaries = t->companion_binaries[index], .binary_count = companion->source_count,
                    .judge = companion->judge, .rounded = companion->judge, .budget = 0.1};
    if (bench_submit(t->bench, &job, &t->why)) bench_result(t->bench, result);
}

static double roof_time(const Tuning *t) {
    for (uint32_t i = 0; i < t->problem->companion_count; i++)
        if (strcmp(t->problem->companions[i].label, "roof") == 0 && t->tuned->companions[i].outcome == OUTCOME_OK)
            return t->tuned->companions[i].time;
    return 0;
}

/* Why to stop now, or NULL. */
static const char *stop(const Tuning *t) {
    if (interrupted(t)) return "interrupted";
    if (t->best > 0 && left(t) < 0.15 * t->options->budget) return "the time budget was used up";
    double roof = roof_time(t);
    if (t->best > 0 && roof > 0 && t->finished >= t->options->minimum && t->finished < t->total &&
        t->best <= roof * ROOF_MARGIN)
        return "within 1 % of the roof";
    return NULL;
}

static bool companions_compiled(const Tuning *t, uint32_t index) {
    return t->companion_missing[index] == 0 || !t->pool || pool_pending(t->pool) == 0;
}

/* Takes one thing that can be measured; false if there is none yet. */
static bool measure_next(Tuning *t) {
    /* The first candidate that passes the oracle sets the golden output; companions come right behind it. */
    if (t->ready_next > 0 && t->companion_next < t->problem->companion_count &&
        companions_compiled(t, t->companion_next)) {
        measure_companion(t, t->companion_next++);
        return true;
    }
    if (t->ready_next == t->ready.count) return false;
    measure_candidate(t, t->ready.data[t->ready_next++]);
    return true;
}

static void loop(Tuning *t) {
    const Device *device = t->problem->device;
    while (!(t->tuned->stopped = stop(t))) {
        Compiled compiled;
        bool compiling = t->pool && pool_pending(t->pool) > 0;
        bool may_measure = !compiling || !device->host_exclusive;
        if (compiling && pool_wait(t->pool, 0, -1, &compiled)) unit_compiled(t, &compiled);
        else if (may_measure && measure_next(t)) continue;
        else if (compiling) {
            if (pool_wait(t->pool, 0.05, -1, &compiled)) unit_compiled(t, &compiled);
        } else break;
    }
}

/* --- the end: finalists, twins, the store */

static int by_time(const void *a, const void *b) {
    const Candidate *x = *(Candidate *const *)a, *y = *(Candidate *const *)b;
    if (x->result.time != y->result.time) return x->result.time < y->result.time ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Right candidates of this run, fastest first. */
static Candidate **right_ones(Tuning *t, uint32_t *count) {
    Candidate **list = arena_array(t->arena, Candidate *, t->tuned->candidates.count + 1);
    *count = 0;
    for (uint32_t i = 0; i < t->tuned->candidates.count; i++) {
        Candidate *c = candidate(t, i);
        if (c->result.outcome == OUTCOME_OK && c->twin_of < 0 && c->result.time > 0) list[(*count)++] = c;
    }
    qsort(list, *count, sizeof *list, by_time);
    return list;
}

/* Median and half-width of the 95 % interval of b/a over paired samples (order statistics; normal
 * approximation of the binomial: ranks n/2 ± 0.98 sqrt(n)). */
static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double paired_ratio(const Result *a, const Result *b, double *half) {
    double ratios[RESULT_SAMPLES];
    uint32_t n = a->sample_count < b->sample_count ? a->sample_count : b->sample_count;
    if (n < 5) return *half = 1, b->time / a->time;
    for (uint32_t i = 0; i < n; i++) ratios[i] = (double)b->samples[i] / (double)a->samples[i];
    qsort(ratios, n, sizeof *ratios, by_value);
    double reach = 0.98 * sqrt((double)n);
    int32_t low = (int32_t)floor(n / 2.0 - reach), high = (int32_t)ceil(n / 2.0 + reach);
    low = low < 0 ? 0 : low;
    high = high >= (int32_t)n ? (int32_t)n - 1 : high;
    *half = (ratios[high] - ratios[low]) / 2;
    return ratios[n / 2];
}

/* Finalists in order of preference: the analytic default, then the order in which they were asked for. The
 * fastest wins unless one before it is inside the noise of the pair: a fixed rule, so that ties do not flip. */
static void decide(Tuning *t, Candidate **finalists, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (finalists[i]->result.time < finalists[best]->result.time) best = i;
    uint32_t chosen = best;
    t->tuned->tie = -1;
    for (uint32_t i = 0; i < count; i++) {
        double half, ratio;
        if (i == best) continue;
        ratio = paired_ratio(&finalists[best]->result, &finalists[i]->result, &half);
        if (ratio - 1 > half && ratio - 1 > 0.002) continue;
        bool preferred = finalists[i] < finalists[chosen];
        Candidate *second = preferred ? finalists[chosen] : finalists[i];
        if (preferred) chosen = i;
        t->tuned->tie = (int32_t)(second - t->tuned->candidates.data);
    }
    t->tuned->winner = (int32_t)(finalists[chosen] - t->tuned->candidates.data);
    if (t->tuned->tie >= 0)
        t->tuned->tie_ratio = candidate(t, (uint32_t)t->tuned->tie)->result.time / finalists[chosen]->result.time;
}

static void rank(Tuning *t) {
    uint32_t count, n = 0;
    Candidate **list = right_ones(t, &count);
    Candidate *finalists[FINALISTS];
    uint64_t ids[FINALISTS + 8];
    Result results[FINALISTS + 8] = {0};
    if (count == 0) return;
    for (uint32_t i = 0; i < count && n < FINALISTS; i++)
        if (list[i]->measured && list[i]->result.time <= FINAL_RATIO * list[0]->result.time) finalists[n++] = list[i];
    for (uint32_t i = 0; i < n; i++) ids[i] = (uint64_t)(finalists[i] - t->tuned->candidates.data);
    uint32_t total = n;
    for (uint32_t i = 0; i < t->problem->companion_count && i < 8; i++)
        if (t->tuned->companions[i].outcome == OUTCOME_OK) ids[total++] = COMPANION_ID + i;
    double budget = fmax(0.05, fmin(0.1 * t->options->budget, left(t)));
    if (n > 0 && !interrupted(t) && bench_rank(t->bench, ids, total, budget, results, &t->why)) {
        for (uint32_t i = 0; i < total; i++) {
            Result *into = i < n ? &finalists[i]->result : &t->tuned->companions[ids[i] - COMPANION_ID];
            into->time = results[i].time;
            into->spread = results[i].spread;
            into->sample_count = results[i].sample_count;
            memcpy(into->samples, results[i].samples, sizeof into->samples);
        }
    }
    if (n > 0) decide(t, finalists, n);
    else t->tuned->winner = (int32_t)(list[0] - t->tuned->candidates.data);
}

static void fill_twins(Tuning *t) {
    for (uint32_t i = 0; i < t->tuned->candidates.count; i++) {
        Candidate *c = candidate(t, i);
        if (c->twin_of < 0) continue;
        Resources resources = c->result.resources;
        c->result = candidate(t, (uint32_t)c->twin_of)->result;
        c->result.resources = resources;
        finish_candidate(t, c);
    }
}

static void keep(Tuning *t) {
    const TuneProblem *p = t->problem;
    uint32_t count;
    Candidate **list = right_ones(t, &count);
    for (uint32_t i = 0; i < count && i < STORED_BINARIES; i++)
        if (list[i]->binary.bytes)
            store_put_trial(p->store, &p->key, list[i]->label, &list[i]->result, list[i]->binary.bytes,
                            list[i]->binary.size);
    Candidate *first = t->tuned->candidates.count ? candidate(t, 0) : NULL;
    if (first && first->binary.bytes && first->result.outcome == OUTCOME_OK)
        store_put_trial(p->store, &p->key, first->label, &first->result, first->binary.bytes, first->binary.size);
    for (uint32_t i = 0; i < p->companion_count; i++)
        for (uint32_t m = 0; m < p->companions[i].source_count; m++)
            if (t->companion_binaries[i][m].bytes)
                store_put_trial(p->store, &p->key, arena_printf(t->arena, "%s.%u", p->companions[i].label, m),
                                &t->tuned->companions[i], t->companion_binaries[i][m].bytes,
                                t->companion_binaries[i][m].size);
    store_flush(p->store);
}

/* --- what the store already has */

static bool companion_from_store(Tuning *t, uint32_t index) {
    const Companion *companion = &t->problem->companions[index];
    for (uint32_t m = 0; m < companion->source_count; m++) {
        Binary *binary = &t->companion_binaries[index][m];
        const char *label = arena_printf(t->arena, "%s.%u", companion->label, m);
        if (!store_binary(t->problem->store, &t->problem->key, label, t->arena, &binary->bytes, &binary->size))
            return false;
    }
    t->companion_missing[index] = 0;
    return true;
}

/* Another shape of this bucket was tuned: its best point that is legal here becomes the only candidate, with
 * its stored binary. */
static bool candidate_from_store(Tuning *t) {
    const TuneProblem *p = t->problem;
    for (uint32_t i = 0; i < t->trial_count; i++) {
        Binary binary;
        const char *why;
        Candidate c = {.twin_of = -1, .label = t->trials[i].point};
        Point base = space_fallback(&p->template->space);
        if (t->trials[i].result.outcome != OUTCOME_OK ||
            !point_parse(&p->template->space, c.label, &base, t->arena, &c.point, &why) ||
            !space_allows(&p->template->space, &c.point, p->plans[0]->bindings, false) ||
            !store_binary(p->store, &p->key, c.label, t->arena, &binary.bytes, &binary.size) ||
            !tune_run(t->arena, p->template, p->plans[0], &c.point, p->identity, &c.run, &why))
            continue;
        array_push(t->arena, &t->tuned->candidates, c);
        accept_binary(t, t->tuned->candidates.count - 1, binary);
        candidate(t, t->tuned->candidates.count - 1)->compiled = false;
        return true;
    }
    return false;
}

static bool load_stored(Tuning *t) {
    bool all = !t->options->retune && !t->options->only;
    if (all) t->trials = store_trials(t->problem->store, &t->problem->key, t->arena, &t->trial_count);
    all = all && candidate_from_store(t);
    for (uint32_t i = 0; all && i < t->problem->companion_count; i++) all = companion_from_store(t, i);
    if (all) {
        t->exhausted = true;
        t->total = 1;
        t->tuned->from_store = true;
        return true;
    }
    t->tuned->candidates.count = 0;
    t->ready.count = 0;
    t->tuned->distinct = 0;
    return false;
}

/* --- the whole */

static void companion_units(Tuning *t) {
    for (uint32_t i = 0; i < t->problem->companion_count; i++) {
        t->companion_missing[i] = t->problem->companions[i].source_count;
        for (uint32_t m = 0; m < t->problem->companions[i].source_count; m++)
            array_push(t->arena, &t->units, (Unit){.companion = i, .module = m});
    }
}

static void open_search(Tuning *t) {
    const TuneOptions *o = t->options;
    const Space *space = &t->problem->template->space;
    Bindings bindings = t->problem->plans[0]->bindings;
    uint64_t *indices;
    uint32_t allowed = space_allowed(space, bindings, o->sensible, t->arena, 1 << 16, o->seed, &indices);
    t->total = o->only ? 1 : o->trials && o->trials < allowed ? o->trials : allowed;
    t->strategy = o->strategy ? o->strategy : strategy_auto(allowed, t->total);
    SearchProblem problem = {space, bindings, o->sensible, o->seed, t->total};
    t->search = t->strategy->open(t->arena, &problem);
}

static bool open_workers(Tuning *t, Why *why) {
    const TuneProblem *p = t->problem;
    double start = now();
    BenchOptions options = {t->options->seed, t->options->hot, RUN_LIMIT, p->journal};
    t->bench = bench_open(p->device, p->index, p->identity, p->ir, p->rounded, &options, why);
    if (!t->bench) return false;
    if (!t->tuned->from_store) {
        t->pool = pool_open(p->device, p->identity, t->options->jobs, COMPILE_LIMIT, why);
        if (!t->pool) return false;
        t->tuned->workers = (uint32_t)pool_size(t->pool);
    }
    t->tuned->start_seconds = now() - start;
    return true;
}

static void first_units(Tuning *t) {
    if (t->options->only) {
        if (add_candidate(t, t->options->only)) {
            Unit unit = {0};
            array_push(t->arena, &unit.members, 0);
            array_push(t->arena, &t->units, unit);
        }
        t->exhausted = true;
    } else {
        submit_more(t, t->total);
    }
    companion_units(t);
    submit_units_from(t, 0);
}

bool tune(Arena *arena, const TuneProblem *problem, const TuneOptions *options, Tuned *tuned, Why *why) {
    Tuning t = {.arena = arena, .problem = problem, .options = options, .tuned = tuned, .began = now()};
    *tuned = (Tuned){.winner = -1, .tie = -1};
    tuned->companions = arena_array(arena, Result, problem->companion_count + 1);
    t.companion_binaries = arena_array(arena, Binary *, problem->companion_count + 1);
    t.companion_missing = arena_array(arena, uint32_t, problem->companion_count + 1);
    for (uint32_t i = 0; i < problem->companion_count; i++)
        t.companion_binaries[i] = arena_array(arena, Binary, problem->companions[i].source_count + 1);
    open_search(&t);
    load_stored(&t);
    bool ok = open_workers(&t, why);
    if (ok) {
        if (!tuned->from_store) first_units(&t);
        loop(&t);
        fill_twins(&t);
        rank(&t);
        Why ignored;
        bench_report(t.bench, &tuned->bench, &ignored);
        keep(&t);
    }
    tuned->interrupted = interrupted(&t);
    if (t.pool) pool_close(t.pool);
    if (t.bench) bench_close(t.bench);
    t.strategy->close(t.search);
    return ok;
}
