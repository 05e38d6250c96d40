/* In: Runs. Out: which is how fast, in pairs. Compiling comes first, since it may share the
 * timings' cores. */
#include "tuner/race.h"

#include <stdlib.h>
#include <string.h>

static const double COMPILE_LIMIT = 60, RUN_LIMIT = 20;
enum { RUNNERS_MAX = 16 };

/* Sources of one runner through the pool; false if one does not compile. */
static bool compile_runner(Arena *arena, Pool *pool, const Runner *runner, Binary *binaries) {
    bool ok = true;
    for (uint32_t m = 0; m < runner->module_count; m++)
        pool_submit(pool, m, &(CompileUnit){runner->sources[m], runner->label, false});
    while (pool_pending(pool) > 0) {
        Compiled compiled;
        if (!pool_wait(pool, COMPILE_LIMIT, -1, &compiled)) continue;
        ok &= compiled.outcome == OUTCOME_OK;
        if (compiled.outcome == OUTCOME_OK) {
            void *copy = arena_alloc(arena, compiled.size);
            memcpy(copy, compiled.binary, compiled.size);
            binaries[compiled.id] = (Binary){copy, compiled.size};
        }
        free(compiled.binary);
    }
    return ok;
}

static bool compile_all(Arena *arena, const TuneProblem *problem, int jobs, Runner *runners,
                        uint32_t count, Why *why) {
    Pool *pool = NULL;
    for (uint32_t i = 0; i < count; i++) {
        Binary *made = arena_array(arena, Binary, runners[i].module_count + 1);
        if (runners[i].binaries) continue;
        if (!pool) pool = pool_open(problem->device, problem->identity, jobs, COMPILE_LIMIT, why);
        if (!pool) return false;
        if (compile_runner(arena, pool, &runners[i], made)) runners[i].binaries = made;
    }
    if (pool) pool_close(pool);
    return true;
}

static void run_one(Bench *bench, uint32_t id, const Runner *runner, Result *result) {
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
    if (runner->binaries && bench_submit(bench, &job, &why)) bench_result(bench, result);
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

bool race(Arena *arena, const TuneProblem *problem, const TuneOptions *options, Runner *runners,
          uint32_t count, Result *results, BenchReport *report, Why *why) {
    BenchOptions bench_options = {options->seed, options->hot, RUN_LIMIT, problem->journal,
                                  problem->given};
    if (count > RUNNERS_MAX) count = RUNNERS_MAX;
    if (!compile_all(arena, problem, options->jobs, runners, count, why)) return false;
    Bench *bench = bench_open(problem->device, problem->index, problem->identity, problem->ir,
                              problem->rounded, &bench_options, why);
    if (!bench) return false;
    for (uint32_t i = 0; i < count; i++) run_one(bench, i, &runners[i], &results[i]);
    rank(bench, count, 0.1 * options->budget, results);
    bench_report(bench, report, why);
    bench_close(bench);
    return true;
}
