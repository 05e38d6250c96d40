/* What stands around the stages of tuning: identity, options, the store's answer, the report. */
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
    bool lasts = record_key(device, index, arena, &key, &quick); /* before the wait */
    if (!(bench ? bench_identify(bench, identity, why)
                : device->identify(index, true, identity, why)))
        return false;
    identity_save(&text, identity);
    if (lasts) store_put_answer(session->store, &key, text_string(&text));
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
    if (!(in->stop_at >= 0 && in->stop_at <= 1))
        return session_say(session, KF_USAGE, "stop_at is a part of the roof, from 0 to 1"), false;
    *out = (TuneOptions){.trials = in->trials ? in->trials : trials[in->effort],
                         .minimum = in->complete ? UINT32_MAX : minimum[in->effort],
                         .stop_at = in->stop_at,
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
    text_add(&text, text_string(&program->session->ops));
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

static const char ANSWERED[] = "next run: no compile, no measurement";

static void store_fields(KfKernel *kernel, Report *r, const char *next) {
    const Store *store = kernel->program->session->store;
    bool keeps = store_keeps(store);
    r->store_next = next;
    r->store_note = keeps || !store_complaint(store) ? "" : store_complaint(store);
    r->store = keeps ? store_path(store) : "";
}

void tuning_assemble(KfKernel *kernel, const Partition *partition) {
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

/* Whether an answer from elsewhere says that it is faster than the one here: then both race first. */
static bool is_challenged(Store *store, const StoreKey *key, Arena *arena, double time) {
    const char *text;
    int64_t date;
    Report report;
    Store *imported = store_imported(store);
    return imported && store_answer(imported, key, arena, &text, &date) &&
           report_load(arena, text, &report) && report.time < time;
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
    if (options->search &&
        is_challenged(kernel->program->session->store, &key, arena, kernel->report.time))
        return false;
    if (!partition_stored(arena, partition, kernel->report.winner)) return false;
    tuning_assemble(kernel, partition);
    workers_close(&kernel->workers); /* one may have said what the device is */
    program_fields(kernel, &kernel->report);
    kernel->report.cached = 1;
    kernel->report.compiled = 0;
    kernel->report.date = date;
    phases_stop(&kernel->phases);
    kernel->report.took = tuning_clock() - began;
    kernel->report.phases = kernel->phases;
    store_fields(kernel, &kernel->report, ANSWERED);
    return true;
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
    KfStatus status = race_ways(kernel, whole, partitions, options, eager);
    workers_close(&kernel->workers);
    if (status == KF_INTERRUPTED && !only && session->message.length == 0)
        session_say(session, status, "interrupted before every kernel was tuned");
    if (status != KF_OK && (status != KF_INTERRUPTED || !kernel->run)) return status;
    Report *report = &kernel->report;
    report->kernels = partition_count(kernel->partition);
    program_fields(kernel, report);
    report->date = (int64_t)time(NULL);
    bool answers = status == KF_OK && !first->parts[0]->only && options->search;
    store_fields(kernel, report,
                 answers           ? ANSWERED
                 : status != KF_OK ? "next run: the search goes on from there"
                                   : "this point alone, which is measured anew each time");
    phases_stop(&kernel->phases);
    took(report, &kernel->phases, tuning_clock() - began);
    if (answers) keep_answer(kernel->arena, partitions, report, session->store);
    return status;
}

KfStatus tuning_nothing(KfKernel *kernel, const DeviceIdentity *identity, double began) {
    Report *report = &kernel->report;
    workers_close(&kernel->workers);
    program_fields(kernel, report);
    report->device = identity->title;
    report->software = identity->software;
    report->mode = "nothing to time";
    phases_stop(&kernel->phases);
    report->phases = kernel->phases;
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
