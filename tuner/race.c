/* In: Runs. Out: which is how fast, in pairs. Compiling comes first, since it may share the
 * timings' cores. */
#include "tuner/race.h"

static const double RUN_LIMIT = 20;
enum { RUNNERS_MAX = 16 };

/* --- compiling */

static void take(void *owner, uint32_t id, const Compiled *compiled) {
    Race *race = owner;
    race->chain[id] = workers_binary(race->arena, compiled);
    race->chain_missing -= compiled->outcome == OUTCOME_OK;
}

void race_begin(Race *race, Arena *arena, Workers *workers, const TuneProblem *problem,
                const TuneOptions *options, const Companion *chain) {
    BenchOptions bench = {options->seed, options->hot, RUN_LIMIT, problem->journal, problem->given};
    *race = (Race){.arena = arena, .workers = workers};
    tools_begin(&race->tools, arena, workers, problem->ir, problem->rounded, &bench);
    race->owner = workers_enter(workers, race, take);
    race->chain_count = race->chain_missing = chain ? chain->source_count : 0;
    race->chain = arena_array(arena, Binary, race->chain_count + 1);
    for (uint32_t m = 0; m < race->chain_count; m++)
        workers_submit(workers, race->owner, m,
                       &(CompileUnit){chain->sources[m], chain->label, false}, &race->why);
}

const Binary *race_chain(Race *race) {
    Phase before = workers_phase(race->workers, PHASE_COMPILE);
    while (workers_pending(race->workers, race->owner) > 0) workers_wait(race->workers, 60);
    workers_phase(race->workers, before);
    return race->chain_count > 0 && race->chain_missing == 0 ? race->chain : NULL;
}

/* --- measuring */

static void run_one(Workers *workers, uint32_t id, const Runner *runner, Result *result) {
    Why why;
    BenchJob job = {.id = id,
                    .label = runner->label,
                    .run = runner->run,
                    .binaries = runner->binaries,
                    .binary_count = runner->module_count,
                    .judge = true,
                    .rounded = runner->rounded,
                    .budget = 0.2};
    result->outcome = OUTCOME_COMPILE;
    if (!runner->binaries || !bench_submit(workers->bench, &job, &why)) return;
    workers_attend(workers);
    bench_result(workers->bench, result);
}

/* Only those that are right are timed in turn. */
static void rank(Bench *bench, uint32_t count, double budget, Result *results) {
    uint64_t ids[RUNNERS_MAX];
    Result ranked[RUNNERS_MAX];
    Why why;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (results[i].outcome == OUTCOME_OK) ids[n++] = i;
    if (n < 2 || !bench_rank(bench, ids, n, budget, ranked, &why)) return;
    for (uint32_t i = 0; i < n; i++) {
        Check check = results[ids[i]].check;
        results[ids[i]] = ranked[i];
        results[ids[i]].outcome = OUTCOME_OK;
        results[ids[i]].check = check;
    }
}

static void run_all(Race *race, const TuneOptions *options, const Runner *runners, uint32_t count,
                    Result *results) {
    Workers *workers = race->workers;
    Phase before = workers_phase(workers, PHASE_DEVICE);
    workers_attend(workers);
    bench_ready(workers->bench);
    workers_phase(workers, PHASE_COMPANIONS);
    for (uint32_t i = 0; i < count; i++) run_one(workers, i, &runners[i], &results[i]);
    workers_phase(workers, PHASE_RANK);
    rank(workers->bench, count, 0.1 * options->budget, results);
    workers_phase(workers, before);
}

bool race_end(Race *race, const TuneOptions *options, const Runner *runners, uint32_t count,
              Result *results, BenchReport *report, Why *why) {
    if (count > RUNNERS_MAX) count = RUNNERS_MAX;
    if (race->why.text[0]) return why_set(why, "%s", race->why.text);
    if (!tools_set_up(&race->tools, why)) return false;
    run_all(race, options, runners, count, results);
    bench_report(race->workers->bench, report, why);
    return true;
}
