/* The pipeline behind kfuse.h: a flat list of stage calls.
 *
 *     text --parse_program--> Ast --lower--> Ir --simplify, fuse--> Group --problem_build (plan, emit)-->
 *     TuneProblem --tune--> Tuned --summary--> Report, Launcher                                        */
#include "kfuse.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/simplify.h"
#include "compiler/verify.h"
#include "grammar/parse.h"
#include "session.h"
#include "tuner/launcher.h"
#include "tuner/summary.h"

_Static_assert((int)KF_BOOL == (int)DT_BOOL && (int)KF_F64 == (int)DT_F64, "KfType and DType agree");

struct KfProgram {
    KfSession *session;
    Arena *arena;
    const Ast *ast;
    LowerOptions lower;
    const Ir *ir;         /* as lowered */
    const Ir *simplified; /* calls inlined */
    const char *device, *math;
    const char *expression; /* canonical, on one line */
};

struct KfKernel {
    KfProgram *program;
    Arena *arena;
    const Device *device;
    int index;
    const Run *run;
    const Binary *binaries;
    uint32_t binary_count;
    Launcher *current, *own; /* in the caller's context, in ours */
    Report report;
    Text text, json;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

KfStatus session_say(KfSession *session, KfStatus status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add(&session->message, "kfuse: ");
    text_vprintf(&session->message, format, args);
    text_add(&session->message, "\n");
    va_end(args);
    return status;
}

KfStatus session_give(Text *text, char **out) {
    if (!text->data) text_add(text, "");
    *out = text->data; /* malloc'd: the caller's now */
    return KF_OK;
}

/* --- session */

/* Every *.kf in $XDG_CONFIG_HOME/kfuse or ~/.config/kfuse, in the order of their names. */
static KfStatus add_user_ops(KfSession *session) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (!config && !home) return KF_OK;
    const char *pattern = config ? arena_printf(session->arena, "%s/kfuse/*.kf", config)
                                 : arena_printf(session->arena, "%s/.config/kfuse/*.kf", home);
    glob_t found = {0};
    KfStatus status = KF_OK;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && status == KF_OK; i++)
            status = kf_session_add_ops(session, found.gl_pathv[i]);
    globfree(&found);
    return status;
}

KfStatus kf_session_open(KfSession **out, const KfSessionOptions *options) {
    KfSession *session = *out = calloc(1, sizeof *session);
    if (!session) return KF_ENVIRONMENT;
    session->arena = arena_open();
    if (options) session->options = *options;
    session->registry = registry_open(session->arena);
    session->folder = session->options.cache ? session->options.cache : store_folder(session->arena);
    session->store = store_open(session->folder);
    return session->options.no_user_ops ? KF_OK : add_user_ops(session);
}

void kf_session_close(KfSession *session) {
    if (!session) return;
    store_close(session->store);
    arena_close(session->arena);
    text_free(&session->message);
    free(session);
}

bool session_clear_store(KfSession *session, char *why, size_t size) {
    store_close(session->store);
    bool ok = store_clear(session->folder, why, size);
    session->store = store_open(session->folder);
    return ok;
}

const char *kf_session_message(const KfSession *session) {
    return text_string(&session->message);
}

void kf_session_interrupt(KfSession *session) {
    session->interrupt = 1;
}

KfStatus kf_session_add_ops(KfSession *session, const char *path) {
    const char *why;
    const Source *source = source_read(session->arena, path, &why);
    if (!source) return session_say(session, KF_INPUT, "cannot read '%s': %s", path, why);
    Diags diags = {.arena = session->arena};
    const Ast *ast = parse_definitions(session->arena, source, &diags);
    bool ok = ast && registry_add(session->registry, ast, LAYER_USER, &diags);
    diags_print(&session->message, &diags);
    return ok ? KF_OK : KF_INPUT;
}

/* --- program */

static Type type_of(const KfTensor *tensor, DType fallback) {
    Type type = {.dtype = tensor->type == KF_PLAIN_TYPE ? fallback : (DType)tensor->type};
    type.rank = tensor->rank > 0 ? (uint32_t)tensor->rank : 0;
    for (uint32_t d = 0; d < type.rank; d++) type.dim[d] = tensor->dim[d];
    return type;
}

static const char *check_tensor(const KfTensor *tensor) {
    if (tensor->rank > RANK_MAX || tensor->rank < KF_PLAIN_SHAPE) return "the rank is not between 0 and 8";
    if ((unsigned)tensor->type > KF_F64) return "unknown type";
    for (int d = 0; d < tensor->rank; d++)
        if (tensor->dim[d] < 0) return "a dimension is negative";
    return NULL;
}

static LowerOptions lower_options(Arena *arena, const KfProblem *problem) {
    LowerOptions options = {.has_shape = problem->has_plain_shape, .plain = type_of(&problem->plain, DT_F32),
                            .has_out_dtype = problem->out_type != KF_PLAIN_TYPE,
                            .out_dtype = (DType)problem->out_type, .round_each_op = problem->round_each_op};
    InputSpec *inputs = arena_array(arena, InputSpec, problem->input_count);
    for (size_t i = 0; i < problem->input_count; i++) {
        const KfTensor *t = &problem->inputs[i];
        inputs[i] = (InputSpec){.name = arena_copy(arena, t->name, strlen(t->name)),
                                .has_shape = t->rank != KF_PLAIN_SHAPE, .has_dtype = t->type != KF_PLAIN_TYPE,
                                .has_strides = t->strides != NULL, .type = type_of(t, options.plain.dtype)};
        for (uint32_t d = 0; t->strides && d < inputs[i].type.rank; d++) inputs[i].strides[d] = t->strides[d];
    }
    ParamSpec *params = arena_array(arena, ParamSpec, problem->param_count);
    for (size_t i = 0; i < problem->param_count; i++)
        params[i] = (ParamSpec){arena_copy(arena, problem->params[i].name, strlen(problem->params[i].name)),
                                problem->params[i].value};
    options.inputs = inputs;
    options.input_count = (uint32_t)problem->input_count;
    options.params = params;
    options.param_count = (uint32_t)problem->param_count;
    return options;
}

static const char *one_line(Arena *arena, const Ast *ast) {
    Text text = {0};
    ast_print(&text, ast);
    while (text.length > 0 && text.data[text.length - 1] == '\n') text.data[--text.length] = '\0';
    Text line = {0};
    for (const char *c = text_string(&text); *c; c++) *c == '\n' ? text_add(&line, "; ") : text_add_bytes(&line, c, 1);
    const char *copy = arena_copy(arena, text_string(&line), line.length);
    text_free(&text);
    text_free(&line);
    return copy;
}

static bool output_strides(KfSession *session, const KfProblem *problem, Ir *ir) {
    for (size_t i = 0; i < problem->output_count; i++) {
        const KfTensor *t = &problem->outputs[i];
        uint32_t o = 0;
        while (o < ir->outputs.count && strcmp(ir->outputs.data[o].name, t->name) != 0) o++;
        if (o == ir->outputs.count) return session_say(session, KF_INPUT, "the program has no output '%s'", t->name), false;
        if (!t->strides) continue;
        for (uint32_t d = 0; d < ir->outputs.data[o].type.rank; d++) {
            if (t->strides[d] == 0 && ir->outputs.data[o].type.dim[d] > 1)
                return session_say(session, KF_INPUT, "output '%s' has stride 0: elements would overlap", t->name), false;
            ir->outputs.data[o].strides[d] = t->strides[d];
        }
    }
    return true;
}

static KfStatus compile(KfProgram *program, const Source *source, const KfProblem *problem) {
    Arena *arena = program->arena;
    KfSession *session = program->session;
    Diags diags = {.arena = arena};
    Ir *ir = NULL;
    program->ast = parse_program(arena, source, &diags);
    if (program->ast) ir = lower(arena, program->ast, session->registry, &program->lower, &diags);
    diags_print(&session->message, &diags);
    if (!ir || !output_strides(session, problem, ir)) return KF_INPUT;
    program->ir = ir;
    program->simplified = simplify(arena, ir, true);
    const char *broken = verify(program->simplified, arena);
    if (broken) fprintf(stderr, "kfuse: internal error: %s\n", broken), abort();
    program->expression = one_line(arena, program->ast);
    return KF_OK;
}

KfStatus kf_program_open(KfSession *session, const char *text, size_t length, const KfProblem *problem,
                         KfProgram **out) {
    static const char *const math[] = {"default", "strict", "fast"};
    text_clear(&session->message);
    *out = NULL;
    if (!text || !problem || (unsigned)problem->math > KF_MATH_FAST) return session_say(session, KF_USAGE, "no program, or an unknown math mode");
    if (length == SIZE_MAX) length = strlen(text);
    const char *wrong = problem->has_plain_shape ? check_tensor(&problem->plain) : NULL;
    for (size_t i = 0; i < problem->input_count && !wrong; i++) wrong = problem->inputs[i].name ? check_tensor(&problem->inputs[i]) : "an input without a name";
    if (wrong) return session_say(session, KF_USAGE, "%s", wrong);
    if (length > SOURCE_MAX) return session_say(session, KF_INPUT, "the program is longer than 16 MiB");
    KfProgram *program = calloc(1, sizeof *program);
    if (!program) return session_say(session, KF_ENVIRONMENT, "out of memory");
    program->session = session;
    program->arena = arena_open();
    program->lower = lower_options(program->arena, problem);
    program->math = math[problem->math];
    if (problem->device) program->device = arena_copy(program->arena, problem->device, strlen(problem->device));
    const char *name = problem->source ? problem->source : "<expr>";
    KfStatus status = compile(program, source_new(program->arena, name, text, length), problem);
    if (status == KF_OK) *out = program;
    else kf_program_close(program);
    return status;
}

void kf_program_close(KfProgram *program) {
    if (!program) return;
    arena_close(program->arena);
    free(program);
}

size_t kf_program_input_count(const KfProgram *program) {
    return program->ir->inputs.count;
}

size_t kf_program_output_count(const KfProgram *program) {
    return program->ir->outputs.count;
}

static KfTensor tensor_of(const char *name, const Type *type, const int64_t *strides) {
    KfTensor tensor = {.name = name, .type = (KfType)type->dtype, .rank = (int)type->rank, .strides = strides};
    memcpy(tensor.dim, type->dim, sizeof tensor.dim);
    return tensor;
}

KfTensor kf_program_input(const KfProgram *program, size_t index) {
    const IrInput *input = &program->ir->inputs.data[index];
    return tensor_of(input->name, &input->type, input->strides);
}

KfTensor kf_program_output(const KfProgram *program, size_t index) {
    const IrOutput *output = &program->ir->outputs.data[index];
    return tensor_of(output->name, &output->type, output->strides);
}

int kf_program_updates(const KfProgram *program, size_t index) {
    return program->ir->outputs.data[index].updates;
}

/* The groups, if all are elementwise; else a diagnostic at what no kernel covers yet. */
static KfStatus groups_of(KfProgram *program, Groups *groups) {
    *groups = fuse(program->arena, program->simplified);
    for (uint32_t i = 0; i < groups->list.count; i++) {
        const Group *group = &groups->list.data[i];
        if (group->kind == GROUP_ELEMENTWISE) continue;
        const IrNode *culprit = ir_node(program->simplified, group->culprit);
        Diags diags = {.arena = program->arena};
        diag_error(&diags, program->ir->source, culprit->span, NULL, "no kernel covers %s yet ('%s')",
                   group->kind == GROUP_PRODUCT ? "a product" : "a reduction", ir_op_name(culprit));
        diags_print(&program->session->message, &diags);
        return KF_NO_KERNEL;
    }
    return KF_OK;
}

static KfStatus dump_groups(KfProgram *program, KfStage stage, const char *point_text, Text *out) {
    Groups groups;
    KfStatus status = groups_of(program, &groups);
    for (uint32_t i = 0; i < groups.list.count && status == KF_OK; i++) {
        const Plan *p = plan(program->arena, program->simplified, &groups.list.data[i]);
        if (stage == KF_STAGE_PLAN) {
            plan_print(out, p);
            continue;
        }
        const Template *template = stage == KF_STAGE_CUDA ? emit_cuda(program->arena, p) : emit_c(program->arena, p);
        Point point = space_fallback(&template->space);
        const char *why;
        if (point_text && !point_parse(&template->space, point_text, &point, program->arena, &point, &why))
            return session_say(program->session, KF_USAGE, "%s", why);
        template_instantiate(out, template, &point, "");
    }
    return status;
}

KfStatus kf_program_dump(KfProgram *program, KfStage stage, const char *point, char **text) {
    Text out = {0};
    KfStatus status = KF_OK;
    text_clear(&program->session->message);
    switch (stage) {
    case KF_STAGE_AST: ast_dump(&out, program->ast); break;
    case KF_STAGE_IR: ir_print(&out, program->ir, false); break;
    default: status = dump_groups(program, stage, point, &out); break;
    }
    if (status == KF_OK) return session_give(&out, text);
    text_free(&out);
    return status;
}

KfStatus kf_program_evaluate(KfProgram *program, const void *const *inputs, void *const *outputs) {
    text_clear(&program->session->message);
    Team *team = team_open(parallel_cpus());
    Eval *eval = eval_open(program->simplified, inputs, ACCURACY_C, team);
    if (eval)
        for (uint32_t o = 0; o < program->ir->outputs.count; o++) eval_values(eval, o, outputs[o]);
    eval_close(eval);
    team_close(team);
    return eval ? KF_OK : session_say(program->session, KF_ENVIRONMENT, "the program's values do not fit in memory");
}

/* --- tuning */

/* What results depend on, without starting a driver where an earlier start is on record. */
static bool identify(KfSession *session, const Device *device, int index, Arena *arena, DeviceIdentity *identity, Why *why) {
    DeviceIdentity quick = {0};
    Why ignored;
    if (!device->identify(index, false, &quick, &ignored)) return device->identify(index, true, identity, why);
    if (quick.sms > 0) return *identity = quick, true; /* complete without a driver: the cpu */
    StoreKey key = {arena_printf(arena, "identity of %s:%d\n%s\n", device->name, index, quick.key), "1"};
    const char *record;
    int64_t date;
    if (store_answer(session->store, &key, arena, &record, &date) && identity_load(record, identity)) return true;
    if (!device->identify(index, true, identity, why)) return false;
    Text text = {0};
    identity_save(&text, identity);
    store_put_answer(session->store, &key, text_string(&text));
    text_free(&text);
    return true;
}

static void report_progress(void *context, uint32_t finished, uint32_t total, double best, double left) {
    KfSession *session = context;
    KfProgress progress = {"tune", finished, total, best, left > 0 ? left : 0};
    if (session->options.progress) session->options.progress(session->options.context, &progress);
}

/* Trials and minimum by effort: command-line.md. */
static bool tune_options(KfProgram *program, const KfTuneOptions *in, const Template *template, Arena *arena,
                         TuneOptions *out) {
    KfSession *session = program->session;
    static const uint32_t trials[] = {64, 16, 0}, minimum[] = {30, 8, UINT32_MAX};
    if ((unsigned)in->effort > KF_FULL) return session_say(session, KF_USAGE, "unknown effort"), false;
    *out = (TuneOptions){.trials = in->trials ? in->trials : trials[in->effort], .minimum = minimum[in->effort],
                         .sensible = in->effort != KF_FULL, .budget = in->budget > 0 ? in->budget : 20,
                         .seed = in->seed, .jobs = in->jobs, .hot = in->hot, .retune = in->retune,
                         .interrupt = &session->interrupt, .progress = report_progress, .context = session};
    if (in->strategy && strcmp(in->strategy, "auto") != 0 && !(out->strategy = strategy_find(in->strategy))) {
        Text names = {0};
        for (const Strategy *const *s = strategy_table; *s; s++) text_printf(&names, " %s", (*s)->name);
        session_say(session, KF_USAGE, "unknown strategy '%s'; choose auto%s", in->strategy, text_string(&names));
        text_free(&names);
        return false;
    }
    if (in->point) {
        Point *only = arena_new(arena, Point), base = space_fallback(&template->space);
        const char *why;
        if (!point_parse(&template->space, in->point, &base, arena, only, &why)) return session_say(session, KF_USAGE, "%s", why), false;
        out->only = only;
        out->retune = true;
    }
    return true;
}

static const char *use_text(Arena *arena, const KfProgram *program) {
    Text text = {0};
    text_printf(&text, "kfuse run '%s'", program->expression);
    for (uint32_t i = 0; i < program->ir->inputs.count; i++)
        text_printf(&text, " %s=%s.npy", program->ir->inputs.data[i].name, program->ir->inputs.data[i].name);
    for (uint32_t o = 0; o < program->ir->outputs.count; o++) {
        const char *name = program->ir->outputs.data[o].name;
        if (program->ir->outputs.count == 1) text_printf(&text, " -o %s.npy", name);
        else text_printf(&text, " -o %s=%s.npy", name, name);
    }
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static void store_fields(KfKernel *kernel, Report *r) {
    const char *complaint = store_complaint(kernel->program->session->store);
    r->store_note = complaint ? complaint : "";
    r->store = complaint ? "" : store_path(kernel->program->session->store);
}

/* A Run and its binary from an earlier answer, without any driver. */
static bool from_store(KfKernel *kernel, const TuneProblem *problem) {
    Arena *arena = kernel->arena;
    const char *text, *why;
    int64_t date;
    Binary *binary = arena_new(arena, Binary);
    Run *run = arena_new(arena, Run);
    Point point = space_fallback(&problem->template->space);
    Text label = {0};
    if (!store_answer(problem->store, &problem->key, arena, &text, &date) || !report_load(arena, text, &kernel->report) ||
        !point_parse(&problem->template->space, kernel->report.winner, &point, arena, &point, &why))
        return false;
    point_print(&label, &problem->template->space, &point, ",");
    bool ok = store_binary(problem->store, &problem->key, text_string(&label), arena, &binary->bytes, &binary->size) &&
              tune_run(arena, problem->template, problem->plans[0], &point, problem->identity, run, &why);
    text_free(&label);
    kernel->report.cached = 1;
    kernel->report.candidates = kernel->report.compiled = 0;
    kernel->report.date = date;
    kernel->run = run;
    kernel->binaries = binary;
    kernel->binary_count = 1;
    return ok;
}

static KfStatus no_winner(KfProgram *program, const Tuned *tuned) {
    const Candidate *first = tuned->candidates.count ? &tuned->candidates.data[0] : NULL;
    if (tuned->interrupted) return session_say(program->session, KF_INTERRUPTED, "interrupted before any candidate was right");
    if (!tuned->bench.self_test && *tuned->bench.self_test_message)
        return session_say(program->session, KF_NO_KERNEL, "nothing was tuned: %s", tuned->bench.self_test_message);
    return session_say(program->session, KF_NO_KERNEL, "none of %u candidates is right; the first, %s: %s: %s", tuned->candidates.count,
               first ? first->label : "", first ? outcome_phrase(first->result.outcome) : "", first ? first->result.message : "");
}

static void keep_answer(const TuneProblem *problem, const Report *report) {
    Text text = {0};
    report_save(&text, report);
    store_put_answer(problem->store, &problem->key, text_string(&text));
    store_flush(problem->store);
    text_free(&text);
}

static KfStatus tune_kernel(KfKernel *kernel, const TuneProblem *problem, const TuneOptions *options, const Eager *eager,
                            double began) {
    KfProgram *program = kernel->program;
    Tuned *tuned = arena_new(kernel->arena, Tuned);
    Why why;
    if (!tune(kernel->arena, problem, options, tuned, &why)) return session_say(program->session, KF_ENVIRONMENT, "%s", why.text);
    if (tuned->winner < 0) return no_winner(program, tuned);
    const Candidate *winner = &tuned->candidates.data[tuned->winner];
    kernel->run = &winner->run;
    kernel->binaries = &winner->binary;
    kernel->binary_count = 1;
    kernel->report = summary(kernel->arena, problem, tuned, eager);
    kernel->report.expression = program->expression;
    kernel->report.math = program->math;
    kernel->report.use = use_text(kernel->arena, program);
    kernel->report.took = now() - began;
    kernel->report.date = (int64_t)time(NULL);
    store_fields(kernel, &kernel->report);
    if (!tuned->interrupted && !options->only) keep_answer(problem, &kernel->report);
    return tuned->interrupted ? KF_INTERRUPTED : KF_OK;
}

static KfStatus fits_memory(KfProgram *program, const DeviceIdentity *identity) {
    double bytes = 0;
    for (uint32_t i = 0; i < program->ir->inputs.count; i++) {
        int64_t before;
        bytes += (double)launcher_extent(&program->ir->inputs.data[i].type, program->ir->inputs.data[i].strides, &before);
    }
    for (uint32_t o = 0; o < program->ir->outputs.count; o++) bytes += (double)type_bytes(&program->ir->outputs.data[o].type);
    if (bytes <= (double)identity->memory) return KF_OK;
    return session_say(program->session, KF_INPUT, "the arrays take %.1f GiB; %s has %.1f GiB", bytes / 1073741824.0, identity->title,
               (double)identity->memory / 1073741824.0);
}

static KfStatus run_pipeline(KfKernel *kernel, const KfTuneOptions *in) {
    KfProgram *program = kernel->program;
    KfSession *session = program->session;
    Arena *arena = kernel->arena;
    double began = now();
    Why why;
    Groups groups;
    KfStatus status = groups_of(program, &groups);
    if (status != KF_OK) return status;
    if (groups.list.count != 1) return session_say(session, KF_NO_KERNEL, "outputs of different shapes need %u kernels: not covered yet", groups.list.count);
    if (!device_select(program->device, &kernel->device, &kernel->index, &why)) return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    DeviceIdentity *identity = arena_new(arena, DeviceIdentity);
    if (!identify(session, kernel->device, kernel->index, arena, identity, &why)) return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    if ((status = fits_memory(program, identity)) != KF_OK) return status;

    Diags diags = {.arena = arena};
    LowerOptions each = program->lower;
    each.round_each_op = true;
    const Ir *rounded = simplify(arena, lower(arena, program->ast, session->registry, &each, &diags), true);
    const Eager *chain = eager(arena, program->ast, session->registry, &program->lower, program->ir, &diags);
    ProblemOptions options = {program->math, in->hot, in->exact, true};
    TuneProblem problem;
    if (!problem_build(arena, kernel->device, kernel->index, identity, program->simplified, rounded, chain, &options, session->store, &problem, &why))
        return session_say(session, KF_NO_KERNEL, "%s", why.text);
    problem.fast_math = strcmp(program->math, "fast") == 0;
    TuneOptions tuning;
    if (!tune_options(program, in, problem.template, arena, &tuning)) return KF_USAGE;
    if (!tuning.retune && from_store(kernel, &problem)) {
        kernel->report.took = now() - began;
        store_fields(kernel, &kernel->report);
        return KF_OK;
    }
    return tune_kernel(kernel, &problem, &tuning, chain, began);
}

KfStatus kf_tune(KfProgram *program, const KfTuneOptions *options, KfKernel **out) {
    static const KfTuneOptions none = {0};
    KfKernel *kernel = calloc(1, sizeof *kernel);
    text_clear(&program->session->message);
    program->session->interrupt = 0;
    *out = NULL;
    if (!kernel) return session_say(program->session, KF_ENVIRONMENT, "out of memory");
    kernel->program = program;
    kernel->arena = arena_open();
    kernel->report = report_none();
    KfStatus status = run_pipeline(kernel, options ? options : &none);
    if (status == KF_OK || (status == KF_INTERRUPTED && kernel->run)) *out = kernel;
    else kf_kernel_close(kernel);
    return status;
}

/* --- kernel */

void kf_kernel_close(KfKernel *kernel) {
    if (!kernel) return;
    launcher_close(kernel->current);
    launcher_close(kernel->own);
    arena_close(kernel->arena);
    text_free(&kernel->text);
    text_free(&kernel->json);
    free(kernel);
}

static KfStatus launched(KfKernel *kernel, bool ok, bool refused, const Why *why) {
    return ok ? KF_OK : session_say(kernel->program->session, refused ? KF_INPUT : KF_ENVIRONMENT, "%s", why->text);
}

static Launcher *launcher(KfKernel *kernel, Launcher **slot, bool current) {
    if (!*slot)
        *slot = launcher_open(kernel->device, kernel->index, current, kernel->program->ir, kernel->run, kernel->binaries, kernel->binary_count);
    return *slot;
}

KfStatus kf_launch(KfKernel *kernel, const void *const *inputs, void *const *outputs, void *stream) {
    Why why = {"out of memory"};
    bool refused = false;
    Launcher *l = launcher(kernel, &kernel->current, true);
    return launched(kernel, l && launcher_launch(l, inputs, outputs, stream, &refused, &why), refused, &why);
}

KfStatus kf_run(KfKernel *kernel, const void *const *inputs, void *const *outputs) {
    Why why = {"out of memory"};
    bool refused = false;
    Launcher *l = launcher(kernel, &kernel->own, false);
    return launched(kernel, l && launcher_run(l, inputs, outputs, &refused, &why), refused, &why);
}

const char *kf_kernel_report(KfKernel *kernel, KfFormat format) {
    Text *text = format == KF_JSON ? &kernel->json : &kernel->text;
    text_clear(text);
    (format == KF_JSON ? report_json : report_text)(text, &kernel->report);
    return text_string(text);
}

static double or_zero(double value) {
    return isnan(value) ? 0 : value;
}

KfResult kf_kernel_result(const KfKernel *kernel) {
    const Report *r = &kernel->report;
    return (KfResult){r->winner, or_zero(r->time), or_zero(r->eager_time), or_zero((double)r->bytes / r->time / r->roof),
                      or_zero(r->eager_time / r->time), or_zero(r->max_ulp), (uint32_t)r->candidates,
                      (uint32_t)r->compiled, r->cached != 0};
}
