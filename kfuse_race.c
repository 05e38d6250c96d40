/* In: the ways to cut a program, its parts as problems. Out: the way that won, with its parts' winners.
 * The idea: all that will be measured is compiled at once, parts are measured one after another, and
 * only whole ways are compared. */
#include <math.h>
#include <string.h>

#include "kfuse_objects.h"

/* --- the eager chain in the store */

/* The eager chain's binaries from an earlier race in this bucket, or NULL. */
static const Binary *stored_chain(Arena *arena, Store *store, const StoreKey *key,
                                  const Companion *chain) {
    Binary *binaries = arena_array(arena, Binary, chain->source_count);
    for (uint32_t m = 0; m < chain->source_count; m++)
        if (!store_binary(store, key, arena_printf(arena, "eager.%u", m), arena, &binaries[m].bytes,
                          &binaries[m].size))
            return NULL;
    return binaries;
}

static void keep_chain(Arena *arena, Store *store, const StoreKey *key, const Runner *runner,
                       const Result *result) {
    for (uint32_t m = 0; runner->binaries && m < runner->module_count; m++)
        store_put_trial(store, key, arena_printf(arena, "eager.%u", m), result,
                        runner->binaries[m].bytes, runner->binaries[m].size);
}

static bool compiles_never(const Tuned *tuned) {
    uint32_t refused = 0;
    for (uint32_t i = 0; i < tuned->candidates.count; i++)
        refused += tuned->candidates.data[i].result.outcome == OUTCOME_COMPILE;
    return refused > 0 && refused == tuned->candidates.count;
}

static KfStatus no_winner(KfProgram *program, const Tuned *tuned) {
    const Candidate *first = tuned->candidates.count ? &tuned->candidates.data[0] : NULL;
    if (tuned->interrupted)
        return session_say(program->session, KF_INTERRUPTED,
                           "interrupted before any candidate was right");
    if (!tuned->bench.self_test && *tuned->bench.self_test_message)
        return session_say(program->session, KF_NO_KERNEL, "nothing was tuned: %s",
                           tuned->bench.self_test_message);
    if (program->template && compiles_never(tuned))
        return session_say(program->session, KF_NO_KERNEL, "%s compiles in no variant; %s:\n%s",
                           program->template->path, first->label, first->result.message);
    return session_say(
        program->session, KF_NO_KERNEL, "none of %u candidates is right; the first, %s: %s: %s",
        tuned->candidates.count, first ? first->label : "",
        first ? outcome_phrase(first->result.outcome) : "", first ? first->result.message : "");
}

/* --- the parts, measured one after another */

enum { RUNNERS = 8 };

typedef struct Racing {
    const TuneProblem *whole;
    const Partitions *partitions;
    bool *tuned; /* per partition */
    StoreKey key;
    const Binary *chain; /* the eager chain's, from the store; NULL: the race compiles it */
    Race race;
} Racing;

/* What one part of several may take of the time for all. */
static double share_budget(const Partitions *partitions, double budget) {
    static const double least = 2; /* seconds */
    uint32_t parts = 0;
    for (uint32_t p = 0; p < partitions->list.count; p++)
        parts += partition_count(&partitions->list.data[p]);
    return fmin(budget, fmax(budget / parts, least));
}

static void begin_part(KfKernel *kernel, Part *part, const TuneOptions *options, double budget) {
    TuneOptions *own = arena_new(kernel->arena, TuneOptions);
    *own = *options;
    own->budget = budget;
    own->only = part->only;
    own->only_kernel = part->only_kernel;
    part->tuned = arena_new(kernel->arena, Tuned);
    part->tuning = tune_begin(kernel->arena, &part->problem, own, &kernel->workers, part->tuned);
}

/* All that will be measured goes to the compilers at once. */
static void begin_parts(KfKernel *kernel, const Partitions *partitions,
                        const TuneOptions *options) {
    double budget = share_budget(partitions, options->budget);
    for (uint32_t p = 0; p < partitions->list.count; p++)
        for (uint32_t i = 0; i < partition_count(&partitions->list.data[p]); i++) {
            Part *part = partitions->list.data[p].parts[i];
            if (!part->tuned) begin_part(kernel, part, options, budget);
        }
}

/* A part that several ways share is measured once. */
static KfStatus tune_part(KfKernel *kernel, Part *part, Tools *next, const Chain *eager) {
    const Tuned *tuned = part->tuned;
    Tuning *tuning = part->tuning;
    Why why;
    part->tuning = NULL;
    if (tuning && !tune_end(tuning, next, &why))
        return session_say(kernel->program->session, KF_ENVIRONMENT, "%s", why.text);
    phases_add(&kernel->phases, &tuned->bench.phases);
    if (tuned->winner < 0) return no_winner(kernel->program, tuned);
    const Candidate *winner = &tuned->candidates.data[tuned->winner];
    part->binary = winner->binary;
    part->report = summary(kernel->arena, &part->problem, tuned, eager);
    part->run = &winner->run;
    return tuned->interrupted ? KF_INTERRUPTED : KF_OK;
}

/* Where one of them ended all, or its way. */
static void drop_parts(const Partitions *partitions) {
    for (uint32_t p = 0; p < partitions->list.count; p++)
        for (uint32_t i = 0; i < partition_count(&partitions->list.data[p]); i++) {
            Part *part = partitions->list.data[p].parts[i];
            if (part->tuning) tune_drop(part->tuning);
            part->tuning = NULL;
        }
}

/* What the bench will be asked behind part `index` of way `way`, or NULL. */
static Tools *next_tools(Racing *r, uint32_t way, uint32_t index) {
    for (uint32_t p = way; p < r->partitions->list.count; p++) {
        const Partition *partition = &r->partitions->list.data[p];
        for (uint32_t i = p == way ? index + 1 : 0; i < partition_count(partition); i++)
            if (partition->parts[i]->tuning) return tune_tools(partition->parts[i]->tuning);
    }
    return r->race.workers ? &r->race.tools : NULL;
}

static KfStatus tune_partition(KfKernel *kernel, Racing *r, uint32_t way, const Chain *eager) {
    const Partition *partition = &r->partitions->list.data[way];
    KfStatus status = KF_OK;
    for (uint32_t i = 0; i < partition_count(partition) && status == KF_OK; i++)
        if (!partition->parts[i]->run)
            status = tune_part(kernel, partition->parts[i], next_tools(r, way, i), eager);
    return status;
}

/* Those of which every part has a right kernel; the first's complaint where there are none. */
static KfStatus tune_all(KfKernel *kernel, Racing *r, const Chain *eager) {
    KfSession *session = kernel->program->session;
    const Partitions *partitions = r->partitions;
    bool *tuned = r->tuned;
    KfStatus first = KF_OK;
    bool any = false;
    for (uint32_t p = 0; p < partitions->list.count; p++) {
        size_t said = session->message.length;
        KfStatus status = tune_partition(kernel, r, p, eager);
        if (p == 0) first = status;
        tuned[p] = status == KF_OK || (status == KF_INTERRUPTED && partitions->list.count == 1);
        any |= tuned[p];
        if (status == KF_ENVIRONMENT || status == KF_INTERRUPTED)
            return any && status == KF_INTERRUPTED ? KF_INTERRUPTED : status;
        if (status == KF_OK || !any) continue;
        session_unsay(session, said);
        session_say(session, KF_OK, "'%s' does not race: not every kernel of it is right",
                    partitions->list.data[p].chain->name);
    }
    return any ? KF_OK : first;
}

/* --- the race of the ways */

static Report join_reports(Arena *arena, const Partition *partition) {
    Report report = partition->parts[0]->report;
    for (uint32_t i = 1; i < partition_count(partition); i++)
        summary_join(arena, &report, &partition->parts[i]->report);
    return report;
}

/* The chain that all ways race against, or NULL. */
static const Companion *chain_of(const TuneProblem *whole) {
    const Companion *chain = whole->companion_count > 0 ? &whole->companions[0] : NULL;
    return chain && chain->kind == COMPANION_EAGER ? chain : NULL;
}

/* Compiles what it can ahead: the whole program's oracle, and the chain if the store has it not. */
static void begin_race(KfKernel *kernel, Racing *r, const TuneOptions *options) {
    const Companion *chain = chain_of(r->whole);
    if (chain) r->chain = stored_chain(kernel->arena, r->whole->store, &r->key, chain);
    race_begin(&r->race, kernel->arena, &kernel->workers, r->whole, options,
               r->chain ? NULL : chain);
}

/* The tuned partitions, then the eager chain. */
static uint32_t list_runners(KfKernel *kernel, Racing *r, Runner runners[RUNNERS],
                             uint32_t ways[RUNNERS]) {
    Arena *arena = kernel->arena;
    const Companion *chain = chain_of(r->whole);
    uint32_t count = 0;
    for (uint32_t p = 0; p < r->partitions->list.count && count + 1 < RUNNERS; p++) {
        const Partition *partition = &r->partitions->list.data[p];
        if (!r->tuned[p]) continue;
        ways[count] = p;
        runners[count++] = (Runner){.label = partition->chain->name,
                                    .run = partition_run(arena, r->whole->ir, partition),
                                    .binaries = partition_binaries(arena, partition),
                                    .module_count = partition_count(partition)};
    }
    if (chain)
        runners[count] = (Runner){.label = chain->label,
                                  .run = chain->run,
                                  .binaries = r->chain ? r->chain : race_chain(&r->race),
                                  .module_count = chain->source_count,
                                  .rounded = true};
    return count;
}

/* The fastest right one, or -1. */
static int32_t find_fastest(const Result *results, uint32_t count) {
    int32_t best = -1;
    for (uint32_t i = 0; i < count; i++)
        if (results[i].outcome == OUTCOME_OK && (best < 0 || results[i].time < results[best].time))
            best = (int32_t)i;
    return best;
}

/* "a kernel for each reduction 1.62 (1.60 to 1.65)" */
static const char *losers_text(Arena *arena, const Runner *runners, const Result *results,
                               uint32_t count, int32_t best) {
    Text text = {0};
    for (uint32_t i = 0; i < count; i++) {
        if ((int32_t)i == best || results[i].outcome != OUTCOME_OK) continue;
        Pair pair = pair_ratio(&results[best], &results[i]);
        text_printf(&text, "%s%s %.3f (%.3f to %.3f)", text.length ? ", " : "", runners[i].label,
                    pair.ratio, pair.low, pair.high);
    }
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static const char *partition_text(Arena *arena, const Partition *partition, uint32_t ways) {
    uint32_t count = partition_count(partition);
    const char *kernels = arena_printf(arena, "%u kernel%s", count, count == 1 ? "" : "s");
    return ways == 1 ? kernels : arena_printf(arena, "%s, %s", kernels, partition->chain->name);
}

/* Every way is one Run, judged and timed as a whole beside the eager chain. */
static KfStatus race_partitions(KfKernel *kernel, Racing *r, const TuneOptions *options) {
    Runner runners[RUNNERS] = {0};
    Result results[RUNNERS] = {0};
    uint32_t ways[RUNNERS];
    BenchReport bench;
    Why why;
    uint32_t count = list_runners(kernel, r, runners, ways);
    bool eager = runners[count].run != NULL;
    if (!race_end(&r->race, options, runners, count + eager, results, &bench, &why))
        return session_say(kernel->program->session, KF_ENVIRONMENT, "%s", why.text);
    phases_add(&kernel->phases, &bench.phases);
    int32_t best = find_fastest(results, count);
    if (best < 0)
        return session_say(kernel->program->session, KF_NO_KERNEL, "the kernels together: %s: %s",
                           outcome_phrase(results[0].outcome), results[0].message);
    const Partition *partition = &r->partitions->list.data[ways[best]];
    if (eager)
        keep_chain(kernel->arena, r->whole->store, &r->key, &runners[count], &results[count]);
    tuning_assemble(kernel, partition);
    kernel->report = join_reports(kernel->arena, partition);
    kernel->report.way = ways[best];
    const char *losers = losers_text(kernel->arena, runners, results, count, best);
    if (*losers) kernel->report.rivals = losers;
    kernel->report.partition = partition_text(kernel->arena, partition, r->partitions->list.count);
    summary_race(&kernel->report, &results[best], eager ? &results[count] : NULL);
    return KF_OK;
}

/* Parts, then ways. */
static KfStatus measure(KfKernel *kernel, Racing *r, const TuneOptions *options,
                        const Chain *eager) {
    const Partition *first = &r->partitions->list.data[0];
    bool only = r->partitions->list.count == 1 && partition_is_whole(first, r->whole->ir);
    bool ahead = !kernel->device->host_exclusive;
    begin_parts(kernel, r->partitions, options);
    if (!only && ahead) begin_race(kernel, r, options);
    KfStatus status = tune_all(kernel, r, eager);
    drop_parts(r->partitions);
    if (status == KF_OK && !only) {
        if (!ahead) begin_race(kernel, r, options);
        return race_partitions(kernel, r, options);
    }
    if (first->parts[0]->run && only)
        tuning_assemble(kernel, first), kernel->report = first->parts[0]->report;
    return status;
}

KfStatus race_ways(KfKernel *kernel, const TuneProblem *whole, const Partitions *partitions,
                   const TuneOptions *options, const Chain *eager) {
    Racing racing = {.whole = whole,
                     .partitions = partitions,
                     .tuned = arena_array(kernel->arena, bool, partitions->list.count),
                     .key = partitions_key(kernel->arena, partitions)};
    return measure(kernel, &racing, options, eager);
}
