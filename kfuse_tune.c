/* What stands around the stages of tuning: identity, options, the store's answer, the report. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "kfuse_objects.h"

double tuning_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Where identities are on record: by the kernel driver's files. */
static bool record_key(const Device *device, int index, Arena *arena, StoreKey *key,
                       DeviceIdentity *quick) {
    Why ignored;
    *quick = (DeviceIdentity){0};
    if (!device->identify(index, false, quick, &ignored)) return false;
    *key = (StoreKey){
        arena_printf(arena, "identity of %s:%d\n%s\n", device->name, index, quick->key), "1"};
    return true;
}

bool tuning_recall(KfSession *session, const Device *device, int index, Arena *arena,
                   DeviceIdentity *identity, bool *unseen) {
    StoreKey key;
    const char *record;
    int64_t date;
    *unseen = false;
    if (!record_key(device, index, arena, &key, identity)) return false;
    if (identity->sms > 0) return true; /* complete without a driver: the cpu */
    *unseen = !store_answer(session->store, &key, arena, &record, &date);
    return !*unseen && identity_load(record, identity);
}

bool tuning_identify(KfSession *session, const Device *device, int index, Bench *bench,
                     Arena *arena, DeviceIdentity *identity, Why *why) {
    StoreKey key;
    DeviceIdentity quick;
    Text text = {0};
    bool unseen;
    if (!bench && tuning_recall(session, device, index, arena, identity, &unseen)) return true;
    if (!(bench ? bench_identify(bench, identity, why)
                : device->identify(index, true, identity, why)))
        return false;
    identity_save(&text, identity);
    if (record_key(device, index, arena, &key, &quick))
        store_put_answer(session->store, &key, text_string(&text));
    text_free(&text);
    return true;
}

bool tuning_workers(KfKernel *kernel, int jobs, Why *why) {
    return kernel->workers.arena || workers_open(&kernel->workers, kernel->device, kernel->index,
                                                 jobs, &kernel->phases, why);
}

static void report_progress(void *context, uint32_t finished, uint32_t total, double best,
                            double left) {
    KfSession *session = context;
    KfProgress progress = {"tune", finished, total, best, left > 0 ? left : 0};
    if (session->options.progress) session->options.progress(session->options.context, &progress);
}

/* Trials and minimum by effort: command-line.md. */
bool tuning_options(KfProgram *program, const KfTuneOptions *in, TuneOptions *out) {
    KfSession *session = program->session;
    static const uint32_t trials[] = {64, 16, 0}, minimum[] = {30, 8, UINT32_MAX};
    if ((unsigned)in->effort > KF_FULL)
        return session_say(session, KF_USAGE, "unknown effort"), false;
    *out = (TuneOptions){.trials = in->trials ? in->trials : trials[in->effort],
                         .minimum = in->complete ? UINT32_MAX : minimum[in->effort],
                         .sensible = in->effort != KF_FULL,
                         .budget = in->budget > 0 ? in->budget : 20,
                         .seed = in->seed,
                         .hot = in->hot,
                         .retune = in->retune || in->point,
                         .search = !in->no_tune,
                         .interrupt = &session->interrupt,
                         .progress = report_progress,
                         .context = session};
    if (in->strategy && strcmp(in->strategy, "auto") != 0 &&
        !(out->strategy = strategy_find(in->strategy))) {
        Text names = {0};
        for (const Strategy *const *s = strategy_table; *s; s++)
            text_printf(&names, " %s", (*s)->name);
        session_say(session, KF_USAGE, "unknown strategy '%s'; choose auto%s", in->strategy,
                    text_string(&names));
        text_free(&names);
        return false;
    }
    return true;
}

/* The options without which the same line would be another program. */
static void print_options(Text *out, const KfProgram *program) {
    const LowerOptions *lower = &program->lower;
    for (uint32_t i = 0; i < program->ir->inputs.count; i++)
        if (program->ir->inputs.data[i].type.dtype == DT_BF16) /* in a file it is uint16 */
            text_printf(out, " --dtype %s=bf16", program->ir->inputs.data[i].name);
    for (uint32_t i = 0; i < lower->param_count; i++) {
        text_printf(out, " --param %s=", lower->params[i].name);
        number_print(out, lower->params[i].value);
    }
    if (lower->has_out_dtype) text_printf(out, " --out-dtype %s", dtype_name(lower->out_dtype));
    if (lower->round_each_op) text_add(out, " --round-each-op");
    if (strcmp(program->math, "default") != 0) text_printf(out, " --math %s", program->math);
}

static void print_references(Text *out, const KfProgram *program) {
    for (uint32_t o = 0; program->reference && o < program->ir->outputs.count; o++)
        text_printf(out, " --reference %s=reference.npy", program->ir->outputs.data[o].name);
}

static const char *use_text(Arena *arena, const KfProgram *program) {
    Text text = {0};
    if (program->template)
        text_printf(&text, "kfuse tune %s", program->template->command);
    else
        text_printf(&text, "kfuse run '%s'", program->expression);
    for (uint32_t i = 0; i < program->ir->inputs.count; i++)
        text_printf(&text, " %s=%s.npy", program->ir->inputs.data[i].name,
                    program->ir->inputs.data[i].name);
    for (uint32_t o = 0; o < program->ir->outputs.count; o++) {
        const char *name = program->ir->outputs.data[o].name;
        if (program->ir->outputs.count == 1)
            text_printf(&text, " -o %s.npy", name);
        else
            text_printf(&text, " -o %s=%s.npy", name, name);
    }
    print_references(&text, program);
    print_options(&text, program);
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

/* What the program says of itself, wherever its figures come from. */
static void program_fields(const KfKernel *kernel, Report *r) {
    const KfProgram *program = kernel->program;
    r->expression = program->expression;
    r->shape = problem_space(kernel->arena, program->ir);
    r->dtype = dtype_name(program->ir->outputs.data[0].type.dtype);
    r->inputs = program->ir->inputs.count; /* a kernel may read one twice, or not at all */
    r->outputs = program->ir->outputs.count;
    r->elements = 0; /* of the program's outputs alone */
    for (uint32_t o = 0; o < program->ir->outputs.count; o++)
        r->elements += type_count(&program->ir->outputs.data[o].type);
    r->math = program->math;
    r->math_done = program_done(program, kernel->arena, kernel->device->language);
    r->use = use_text(kernel->arena, program);
    r->reference = program->reference ? program->reference : "";
}

static void store_fields(KfKernel *kernel, Report *r) {
    const Store *store = kernel->program->session->store;
    bool keeps = store_keeps(store);
    r->store_note = keeps || !store_complaint(store) ? "" : store_complaint(store);
    r->store = keeps ? store_path(store) : "";
}

/* Gives the kernel the Run of the partition's parts. */
static void assemble(KfKernel *kernel, const Partition *partition) {
    kernel->partition = partition;
    kernel->run = partition_run(kernel->arena,
                                program_ir(kernel->program, kernel->device->language), partition);
    kernel->binaries = partition_binaries(kernel->arena, partition);
    kernel->binary_count = partition_count(partition);
}

static bool all_searched(const Partitions *partitions, const TuneOptions *options) {
    for (uint32_t p = 0; p < partitions->list.count; p++)
        for (uint32_t i = 0; i < partition_count(&partitions->list.data[p]); i++)
            if (!tune_searched(&partitions->list.data[p].parts[i]->problem, options)) return false;
    return true;
}

/* Run and binaries from an earlier answer, without any driver. */
bool tuning_answer(KfKernel *kernel, const Partitions *partitions, const TuneOptions *options,
                   double began) {
    Arena *arena = kernel->arena;
    const char *text;
    int64_t date;
    StoreKey key = partitions_key(arena, partitions);
    if (!store_answer(kernel->program->session->store, &key, arena, &text, &date) ||
        !report_load(arena, text, &kernel->report) || !all_searched(partitions, options) ||
        kernel->report.way < 0 || kernel->report.way >= partitions->list.count)
        return false;
    const Partition *partition = &partitions->list.data[kernel->report.way];
    if (!partition_stored(arena, partition, kernel->report.winner)) return false;
    assemble(kernel, partition);
    program_fields(kernel, &kernel->report);
    kernel->report.cached = 1;
    kernel->report.compiled = 0;
    kernel->report.date = date;
    kernel->report.took = tuning_clock() - began;
    kernel->report.phases = kernel->phases;
    store_fields(kernel, &kernel->report);
    return true;
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

static void keep_answer(Arena *arena, const Partitions *partitions, const Report *report,
                        Store *store) {
    StoreKey key = partitions_key(arena, partitions);
    Text text = {0};
    report_save(&text, report);
    store_put_answer(store, &key, text_string(&text));
    store_flush(store);
    text_free(&text);
}

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
    assemble(kernel, partition);
    kernel->report = join_reports(kernel->arena, partition);
    kernel->report.way = ways[best];
    const char *losers = losers_text(kernel->arena, runners, results, count, best);
    if (*losers) kernel->report.rivals = losers;
    kernel->report.partition = partition_text(kernel->arena, partition, r->partitions->list.count);
    summary_race(&kernel->report, &results[best], eager ? &results[count] : NULL);
    return KF_OK;
}

/* Parts, then ways. */
static KfStatus measure(KfKernel *kernel, Racing *r, const TuneOptions *options, const Chain *eager,
                        bool only) {
    const Partition *first = &r->partitions->list.data[0];
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
        assemble(kernel, first), kernel->report = first->parts[0]->report;
    return status;
}

/* Seconds by what they went to, of the phases, that add up to the wall time. */
static void took(Report *report, const Phases *phases, double seconds) {
    const double *s = phases->seconds;
    report->phases = *phases;
    report->took = seconds;
    report->took_start = s[PHASE_SPAWN] + s[PHASE_IDENTITY] + s[PHASE_DEVICE];
    report->took_compile = s[PHASE_PLAN] + s[PHASE_COMPILE];
    report->took_check = s[PHASE_EDGES] + s[PHASE_WHOLE];
    report->took_measure =
        s[PHASE_CANDIDATES] + s[PHASE_COMPANIONS] + s[PHASE_RANK] - report->took_check;
}

KfStatus tuning_kernel(KfKernel *kernel, const TuneProblem *whole, const Partitions *partitions,
                       const TuneOptions *options, const Chain *eager, double began) {
    const Partition *first = &partitions->list.data[0];
    KfSession *session = kernel->program->session;
    bool only = partitions->list.count == 1 && partition_is_whole(first, whole->ir);
    Racing racing = {.whole = whole,
                     .partitions = partitions,
                     .tuned = arena_array(kernel->arena, bool, partitions->list.count),
                     .key = partitions_key(kernel->arena, partitions)};
    KfStatus status = measure(kernel, &racing, options, eager, only);
    workers_close(&kernel->workers);
    if (status == KF_INTERRUPTED && !only && session->message.length == 0)
        session_say(session, status, "interrupted before every kernel was tuned");
    if (status != KF_OK && (status != KF_INTERRUPTED || !kernel->run)) return status;
    Report *report = &kernel->report;
    report->kernels = partition_count(kernel->partition);
    program_fields(kernel, report);
    report->date = (int64_t)time(NULL);
    store_fields(kernel, report);
    phases_stop(&kernel->phases);
    took(report, &kernel->phases, tuning_clock() - began);
    if (status == KF_OK && !first->parts[0]->only && options->search)
        keep_answer(kernel->arena, partitions, report, session->store);
    return status;
}

KfStatus tuning_nothing(KfKernel *kernel, const DeviceIdentity *identity, double began) {
    Report *report = &kernel->report;
    program_fields(kernel, report);
    report->device = identity->title;
    report->software = identity->software;
    report->mode = "nothing to time";
    report->took = tuning_clock() - began;
    kernel->run = arena_new(kernel->arena, Run);
    return KF_OK;
}

KfStatus tuning_fits_memory(KfProgram *program, const DeviceIdentity *identity) {
    double bytes = 0;
    for (uint32_t i = 0; i < program->ir->inputs.count; i++) {
        int64_t before;
        bytes += (double)launcher_extent(&program->ir->inputs.data[i].type,
                                         program->ir->inputs.data[i].strides, &before);
    }
    for (uint32_t o = 0; o < program->ir->outputs.count; o++)
        bytes += (double)type_bytes(&program->ir->outputs.data[o].type);
    if (bytes <= (double)identity->memory) return KF_OK;
    return session_say(program->session, KF_INPUT, "the arrays take %.1f GiB; %s has %.1f GiB",
                       bytes / 1073741824.0, identity->title,
                       (double)identity->memory / 1073741824.0);
}
