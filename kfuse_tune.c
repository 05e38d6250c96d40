/* What stands around the stages of tuning: identity, options, the store's answer, the report. */
#include <string.h>
#include <time.h>

#include "kfuse_objects.h"

double tuning_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What results depend on, without starting a driver where an earlier start is on record. */
bool tuning_identify(KfSession *session, const Device *device, int index, Arena *arena,
                     DeviceIdentity *identity, Why *why) {
    DeviceIdentity quick = {0};
    Why ignored;
    if (!device->identify(index, false, &quick, &ignored))
        return device->identify(index, true, identity, why);
    if (quick.sms > 0) return *identity = quick, true; /* complete without a driver: the cpu */
    StoreKey key = {arena_printf(arena, "identity of %s:%d\n%s\n", device->name, index, quick.key),
                    "1"};
    const char *record;
    int64_t date;
    if (store_answer(session->store, &key, arena, &record, &date) &&
        identity_load(record, identity))
        return true;
    if (!device->identify(index, true, identity, why)) return false;
    Text text = {0};
    identity_save(&text, identity);
    store_put_answer(session->store, &key, text_string(&text));
    text_free(&text);
    return true;
}

static void report_progress(void *context, uint32_t finished, uint32_t total, double best,
                            double left) {
    KfSession *session = context;
    KfProgress progress = {"tune", finished, total, best, left > 0 ? left : 0};
    if (session->options.progress) session->options.progress(session->options.context, &progress);
}

/* Trials and minimum by effort: command-line.md. */
bool tuning_options(KfProgram *program, const KfTuneOptions *in, const TuneProblem *problem,
                    Arena *arena, TuneOptions *out) {
    KfSession *session = program->session;
    static const uint32_t trials[] = {64, 16, 0}, minimum[] = {30, 8, UINT32_MAX};
    if ((unsigned)in->effort > KF_FULL)
        return session_say(session, KF_USAGE, "unknown effort"), false;
    *out = (TuneOptions){.trials = in->trials ? in->trials : trials[in->effort],
                         .minimum = in->complete ? UINT32_MAX : minimum[in->effort],
                         .sensible = in->effort != KF_FULL,
                         .budget = in->budget > 0 ? in->budget : 20,
                         .seed = in->seed,
                         .jobs = in->jobs,
                         .hot = in->hot,
                         .retune = in->retune,
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
    if (in->point) {
        Point *only = arena_new(arena, Point);
        const char *why;
        if (!tune_find(arena, problem, in->point, &out->only_kernel, only, &why))
            return session_say(session, KF_USAGE, "%s", why), false;
        out->only = only;
        out->retune = true;
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
    r->inputs = program->ir->inputs.count; /* a kernel may read one twice, or not at all */
    r->outputs = program->ir->outputs.count;
    r->math = program->math;
    r->math_done = program->math_done;
    r->use = use_text(kernel->arena, program);
    r->reference = program->reference ? program->reference : "";
}

static void store_fields(KfKernel *kernel, Report *r) {
    const Store *store = kernel->program->session->store;
    bool keeps = store_keeps(store);
    r->store_note = keeps || !store_complaint(store) ? "" : store_complaint(store);
    r->store = keeps ? store_path(store) : "";
}

/* Run and binaries from an earlier answer, without any driver. */
bool tuning_answer(KfKernel *kernel, const Part *parts, uint32_t count, const TuneOptions *options,
                   double began) {
    Arena *arena = kernel->arena;
    const char *text;
    int64_t date;
    StoreKey key = parts_key(arena, parts, count);
    Binary *binaries = arena_array(arena, Binary, count);
    const Run **runs = arena_array(arena, const Run *, count);
    if (!store_answer(parts[0].problem.store, &key, arena, &text, &date) ||
        !report_load(arena, text, &kernel->report))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        Run *run = arena_new(arena, Run);
        if (!tune_searched(&parts[i].problem, options)) return false;
        if (!parts_stored(arena, &parts[i], parts_winner(arena, kernel->report.winner, i), run,
                          &binaries[i]))
            return false;
        runs[i] = run;
    }
    parts_assemble(kernel, parts, count, runs, binaries);
    program_fields(kernel, &kernel->report);
    kernel->report.cached = 1;
    kernel->report.compiled = 0;
    kernel->report.date = date;
    kernel->report.took = tuning_clock() - began;
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

static void keep_answer(Arena *arena, const Part *parts, uint32_t count, const Report *report) {
    StoreKey key = parts_key(arena, parts, count);
    Text text = {0};
    report_save(&text, report);
    store_put_answer(parts[0].problem.store, &key, text_string(&text));
    store_flush(parts[0].problem.store);
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

/* Several kernels in a row are one Run, judged and timed as a whole beside the eager chain. */
static KfStatus race_parts(KfKernel *kernel, const TuneProblem *whole, const StoreKey *key,
                           const TuneOptions *options) {
    Result results[2] = {0};
    BenchReport bench;
    Why why;
    const Companion *chain = whole->companion_count > 0 ? &whole->companions[0] : NULL;
    Runner runners[2] = {{.label = "fused",
                          .run = kernel->run,
                          .binaries = kernel->binaries,
                          .module_count = kernel->binary_count}};
    if (chain)
        runners[1] = (Runner){.label = chain->label,
                              .run = chain->run,
                              .binaries = stored_chain(kernel->arena, whole->store, key, chain),
                              .sources = chain->sources,
                              .module_count = chain->source_count,
                              .rounded = true};
    if (!race(kernel->arena, whole, options, runners, chain ? 2 : 1, results, &bench, &why))
        return session_say(kernel->program->session, KF_ENVIRONMENT, "%s", why.text);
    if (results[0].outcome != OUTCOME_OK)
        return session_say(kernel->program->session, KF_NO_KERNEL, "the kernels together: %s: %s",
                           outcome_phrase(results[0].outcome), results[0].message);
    if (chain) keep_chain(kernel->arena, whole->store, key, &runners[1], &results[1]);
    summary_race(&kernel->report, &results[0], chain ? &results[1] : NULL, &bench);
    return KF_OK;
}

/* Tunes the parts one after another; their Runs and binaries become the kernel's. */
static KfStatus tune_parts(KfKernel *kernel, Part *parts, uint32_t count,
                           const TuneOptions *options, const Eager *eager) {
    Arena *arena = kernel->arena;
    Binary *binaries = arena_array(arena, Binary, count);
    const Run **runs = arena_array(arena, const Run *, count);
    KfStatus status = KF_OK;
    Why why;
    for (uint32_t i = 0; i < count; i++) {
        Tuned *tuned = arena_new(arena, Tuned);
        if (!tune(arena, &parts[i].problem, options, tuned, &why))
            return session_say(kernel->program->session, KF_ENVIRONMENT, "%s", why.text);
        if (tuned->winner < 0) return no_winner(kernel->program, tuned);
        if (tuned->interrupted) status = KF_INTERRUPTED;
        const Candidate *winner = &tuned->candidates.data[tuned->winner];
        runs[i] = &winner->run;
        binaries[i] = winner->binary;
        Report report = summary(arena, &parts[i].problem, tuned, eager);
        if (i == 0)
            kernel->report = report;
        else
            summary_join(arena, &kernel->report, &report);
    }
    parts_assemble(kernel, parts, count, runs, binaries);
    return status;
}

KfStatus tuning_kernel(KfKernel *kernel, const TuneProblem *whole, Part *parts, uint32_t count,
                       const TuneOptions *options, const Eager *eager, double began) {
    KfStatus status = tune_parts(kernel, parts, count, options, eager);
    StoreKey key = parts_key(kernel->arena, parts, count);
    if (status == KF_OK && count > 1) status = race_parts(kernel, whole, &key, options);
    if (status != KF_OK && status != KF_INTERRUPTED) return status;
    Report *report = &kernel->report;
    if (count > 1) report->partition = arena_printf(kernel->arena, "%u kernels", count);
    program_fields(kernel, report);
    report->took = tuning_clock() - began;
    report->date = (int64_t)time(NULL);
    store_fields(kernel, report);
    if (status == KF_OK && !options->only && options->search)
        keep_answer(kernel->arena, parts, count, report);
    return status;
}

KfStatus tuning_nothing(KfKernel *kernel, const DeviceIdentity *identity, double began) {
    Report *report = &kernel->report;
    program_fields(kernel, report);
    report->dtype = dtype_name(kernel->program->ir->outputs.data[0].type.dtype);
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
