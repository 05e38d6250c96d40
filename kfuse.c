/* The pipeline behind kfuse.h: a flat list of stage calls.
 *
 *     text --parse_program--> Ast --lower--> Ir --simplify, fuse--> Group --problem_build (plan, emit)-->
 *     TuneProblem --tune--> Tuned --summary--> Report, Launcher
 *
 * The objects stand in kfuse_objects.h; what callers do with them in kfuse_session.c,
 * kfuse_program.c and kfuse_kernel.c; what stands around the stages of tuning in kfuse_tune.c and
 * kfuse_race.c.
 * kfuse_info.c answers questions. */
#include "kfuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/near.h"
#include "compiler/simplify.h"
#include "compiler/splice.h"
#include "compiler/verify.h"
#include "grammar/parse.h"
#include "kfuse_objects.h"

_Static_assert((int)KF_BOOL == (int)DT_BOOL && (int)KF_F64 == (int)DT_F64,
               "KfType and DType agree");

KfStatus pipeline_compile(KfProgram *program, const Source *source, const KfProblem *problem) {
    Arena *arena = program->arena;
    KfSession *session = program->session;
    Diags diags = {.arena = arena};
    Ir *ir = NULL;
    program->ast = parse_program(arena, source, &diags);
    if (program->ast) ir = lower(arena, program->ast, session->registry, &program->lower, &diags);
    diags_print(&session->message, &diags);
    if (!ir || !program_output_strides(session, problem, ir)) return KF_INPUT;
    program->ir = ir;
    program_simplify(program);
    const char *broken = verify(program->simplified, arena);
    if (broken) fprintf(stderr, "kfuse: internal error: %s\n", broken), abort();
    program->expression = program_one_line(arena, program->ast);
    return KF_OK;
}

const Library *pipeline_library(KfProgram *program, const char *language) {
    const Library **slot = &program->libraries[strcmp(language, "cuda") == 0];
    if (!*slot) *slot = library_open(program->arena, language, program->session->registry);
    return *slot;
}

/* "products are of two arrays of one type: f32 f16" */
static const char *covered(KfProgram *program, const char *language) {
    const Library *templates = pipeline_library(program, language);
    const char *types = "products are of two arrays of one type:";
    for (uint32_t i = 0; i < templates->templates.count; i++) {
        const Template *template = templates->templates.data[i];
        const TemplateTensor *a = &template->inputs.data[0];
        for (uint32_t t = 0; splice_takes(template) && t < a->type_count; t++)
            types = arena_printf(program->arena, "%s %s", types, dtype_name(a->types[t]));
    }
    return types;
}

/* Says at which value no kernel could be had, and what can be. */
static KfStatus refuse(KfProgram *program, const char *language, const Uncovered *uncovered) {
    Diags diags = {.arena = program->arena};
    if (!uncovered->ir)
        return session_say(program->session, KF_NO_KERNEL,
                           "no order of at most %d kernels computes the program", FUSE_MOST);
    const IrNode *culprit = ir_node(uncovered->ir, uncovered->culprit);
    bool product = culprit->op == IR_MATMUL;
    diag_error(&diags, program->ir->source, culprit->span,
               product ? covered(program, language) : NULL, "no kernel covers this %s ('%s')",
               product ? "product" : "reduction", ir_op_name(culprit));
    diags_print(&program->session->message, &diags);
    return KF_NO_KERNEL;
}

static bool has_elements(const Ir *ir) {
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (type_count(&ir->outputs.data[i].type) > 0) return true;
    return false;
}

KfStatus pipeline_partitions(KfProgram *program, Arena *arena, const char *language,
                             Partitions *partitions) {
    Uncovered uncovered = {0};
    if (program->template) return template_partitions(program, arena, language, partitions);
    const Ir *ir = program_ir(program, language);
    if (!has_elements(ir)) return KF_OK;
    Chains chains = fuse(arena, pipeline_library(program, language), ir, &uncovered);
    if (chains.list.count == 0) return refuse(program, language, &uncovered);
    for (uint32_t i = 0; i < chains.list.count; i++)
        partition_add(arena, partitions, chains.list.data[i]);
    return KF_OK;
}

/* The program as the eager chain computes it, rounding after every operation, products among them;
 * NULL where that changes nothing, since no float is narrower than the compute type. */
static const Ir *rounded_program(const KfProgram *program, Arena *arena, const char *language) {
    const Ir *ir = program->simplified;
    LowerOptions options = program->lower;
    Diags diags = {.arena = arena};
    bool narrow = program->fast;
    for (Value v = 1; v < ir->nodes.count; v++)
        narrow |=
            dtype_is_float(ir_node(ir, v)->type.dtype) && ir_node(ir, v)->type.dtype < ir->compute;
    options.round_each_op = true;
    if (!narrow || !program->ast) return NULL;
    ir = simplify(arena, lower(arena, program->ast, program->session->registry, &options, &diags),
                  true);
    return program_takes_near(program, language) ? near(arena, ir, NULL) : ir;
}

/* A way that moves more than this many times the bytes of the first is tried only where the first
 * lacks work for all processors; where there are products, bytes are not what time goes by. */
static const double BYTES_WORTH = 1.1, BYTES_WORTH_PRODUCTS = 1.5;

/* Rows of whole kernels are what processors share. A short row is no work for several, and cut it
 * would lose what one kernel keeps of a mean beyond its f32. */
enum { LONG_ROW = 16384 };
static bool lacks_work(const Chain *chain, const DeviceIdentity *identity) {
    for (uint32_t i = 0; i < chain->steps.count; i++) {
        const Plan *plan = chain->steps.data[i].kernels.list.data[0].plan;
        if (plan && plan->group.kind == GROUP_ROWS && plan->extent[plan->rank - 1] >= LONG_ROW &&
            plan->count / plan->extent[plan->rank - 1] < 2 * identity->sms)
            return true;
    }
    return false;
}

/* Which ways race: all of them on full effort, and where points say which. */
static void choose_partitions(Partitions *partitions, const Ir *ir, const KfTuneOptions *in,
                              const DeviceIdentity *identity) {
    const Chain *first = partitions->list.data[0].chain;
    bool all = in->effort == KF_FULL || in->point || lacks_work(first, identity);
    double worth = problem_operations(ir) > 0 ? BYTES_WORTH_PRODUCTS : BYTES_WORTH;
    uint32_t count = 1;
    for (uint32_t i = 1; i < partitions->list.count; i++) {
        Partition *partition = &partitions->list.data[i];
        if (all || (double)partition->chain->bytes <= worth * (double)first->bytes)
            partitions->list.data[count++] = *partition;
    }
    partitions->list.count = count;
}

/* An equal step before step `step` of way `way`, which is tuned once. */
static Part *find_equal(const Partitions *partitions, uint32_t way, uint32_t step,
                        const Part *part) {
    for (uint32_t p = 0; p <= way; p++)
        for (uint32_t i = 0; i < (p < way ? partition_count(&partitions->list.data[p]) : step);
             i++) {
            Part *other = partitions->list.data[p].parts[i];
            if (strcmp(other->problem.key.text, part->problem.key.text) == 0 &&
                strcmp(other->problem.key.shape, part->problem.key.shape) == 0)
                return other;
        }
    return NULL;
}

/* The parts of one way as problems of their own. */
static KfStatus build_partition(KfKernel *kernel, const TuneProblem *whole,
                                const Partitions *partitions, uint32_t index,
                                const KfTuneOptions *in) {
    const ProblemOptions options = {kernel->program->math, in->hot, in->exact};
    const Partition *partition = &partitions->list.data[index];
    for (uint32_t i = 0; i < partition_count(partition); i++) {
        Part *part = partition->parts[i];
        const Ir *rounded = part->ir == whole->ir ? whole->rounded : NULL;
        problem_build(kernel->arena, whole, part->ir, rounded, &part->kernels, &options,
                      &part->problem);
        KfStatus status = space_check_points(kernel->program, part);
        if (status != KF_OK) return status;
        Part *equal = find_equal(partitions, index, in->point ? 0 : i, part);
        if (equal) partition->parts[i] = equal;
    }
    return KF_OK;
}

/* Of the ways besides the first, one without a legal point for each kernel is left out. */
static KfStatus build_problems(KfKernel *kernel, const TuneProblem *whole, Partitions *partitions,
                               const KfTuneOptions *in) {
    KfSession *session = kernel->program->session;
    uint32_t given = partitions->list.count, count = 0;
    for (uint32_t p = 0; p < given; p++) {
        size_t said = session->message.length;
        partitions->list.data[count] = partitions->list.data[p];
        KfStatus status = build_partition(kernel, whole, partitions, count, in);
        if (status != KF_OK && p == 0) return status;
        if (status == KF_OK)
            count++;
        else
            session_unsay(session, said);
    }
    partitions->list.count = count;
    kernel->partition = &partitions->list.data[0];
    return KF_OK;
}

/* The chain that the program is compared with, or NULL. An only part is judged and timed against it
 * by itself; of several, the whole is, and each has its roof. */
static bool add_companions(KfKernel *kernel, TuneProblem *whole, const Partitions *partitions,
                           const Chain *chain, Why *why) {
    const Library *kernels = pipeline_library(kernel->program, kernel->device->language);
    bool only =
        partitions->list.count == 1 && partition_is_whole(&partitions->list.data[0], whole->ir);
    for (uint32_t p = 0; p < partitions->list.count; p++)
        for (uint32_t i = 0; i < partition_count(&partitions->list.data[p]); i++) {
            TuneProblem *problem = &partitions->list.data[p].parts[i]->problem;
            if (!problem->companions &&
                !problem_companions(kernel->arena, only ? chain : NULL, kernels, problem, why))
                return false;
        }
    return only || problem_companions(kernel->arena, chain, kernels, whole, why);
}

/* Each operation by near forms where its own result, rounded as it is, leaves room. */
const Chain *pipeline_eager(const KfProgram *program, Arena *arena, const char *language) {
    Diags diags = {.arena = arena};
    if (!program->ast) return NULL;
    Chain *chain = eager(arena, program->ast, program->session->registry, &program->lower,
                         program->ir, &diags);
    for (uint32_t i = 0; chain && program_takes_near(program, language) && i < chain->steps.count;
         i++)
        chain->steps.data[i].ir = near(arena, chain->steps.data[i].ir, NULL);
    return chain;
}

/* What the device is. Where only its driver can tell, the measuring worker starts it now, and the
 * program is cut into kernels meanwhile; where the store has nothing of it the compilers get warm, too.
 */
static KfStatus start(KfKernel *kernel, const KfTuneOptions *in, DeviceIdentity *identity,
                      bool *known) {
    KfSession *session = kernel->program->session;
    bool unseen;
    Why why;
    phases_enter(&kernel->phases, PHASE_STORE);
    if (!device_select(kernel->program->device, &kernel->device, &kernel->index, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    unseen = kernel->device->enter && store_is_new(session->store); /* no need to ask */
    *known = !unseen && tuning_recall(session, kernel->device, kernel->index, kernel->arena,
                                      identity, &unseen);
    bool good = *known || (tuning_workers(kernel, in->jobs, &why) &&
                           (!unseen || workers_warm(&kernel->workers, &why)));
    phases_enter(&kernel->phases, PHASE_PLAN);
    return good ? KF_OK : session_say(session, KF_ENVIRONMENT, "%s", why.text);
}

static KfStatus identify(KfKernel *kernel, DeviceIdentity *identity) {
    KfSession *session = kernel->program->session;
    Why why;
    phases_enter(&kernel->phases, PHASE_IDENTITY);
    bool good = tuning_identify(session, kernel->device, kernel->index, kernel->workers.bench,
                                kernel->arena, identity, &why);
    phases_enter(&kernel->phases, PHASE_PLAN);
    return good ? KF_OK : session_say(session, KF_ENVIRONMENT, "%s", why.text);
}

KfStatus pipeline_problems(KfKernel *kernel, const KfTuneOptions *in, TuneProblem *whole,
                           Partitions *partitions) {
    KfProgram *program = kernel->program;
    Arena *arena = kernel->arena;
    DeviceIdentity *identity = arena_new(arena, DeviceIdentity);
    bool known;
    KfStatus status = start(kernel, in, identity, &known);
    if (status == KF_OK)
        status = pipeline_partitions(program, arena, kernel->device->language, partitions);
    if (status == KF_OK && !known) status = identify(kernel, identity);
    if (status == KF_OK) status = tuning_fits_memory(program, identity);
    if (status != KF_OK) return status;
    *whole = (TuneProblem){
        .device = kernel->device,
        .index = kernel->index,
        .identity = identity,
        .ir = program_ir(program, kernel->device->language),
        .rounded = rounded_program(program, arena, kernel->device->language),
        .store = program->session->store,
        .journal = program->session->journal,
        .given = program->given,
    };
    if (partitions->list.count == 0) return KF_OK;
    choose_partitions(partitions, whole->ir, in, identity);
    return build_problems(kernel, whole, partitions, in);
}

/* The store's answer, or a race. */
static KfStatus answer_or_tune(KfKernel *kernel, const KfTuneOptions *in, TuneProblem *whole,
                               Partitions *partitions, double began) {
    KfProgram *program = kernel->program;
    TuneOptions options;
    Why why;
    if (!tuning_options(program, in, &options)) return KF_USAGE;
    if (in->point && !partition_fix(program->session, kernel->arena, partitions, in->point))
        return KF_USAGE;
    phases_enter(&kernel->phases, PHASE_STORE);
    if (!options.retune && tuning_answer(kernel, partitions, &options, began)) return KF_OK;
    phases_enter(&kernel->phases, PHASE_PLAN);
    if (in->no_tune) partitions->list.count = 1; /* a race would be a search */
    if (!tuning_workers(kernel, in->jobs, &why))
        return session_say(program->session, KF_ENVIRONMENT, "%s", why.text);
    workers_identify(&kernel->workers, whole->identity);
    const Chain *chain = pipeline_eager(program, kernel->arena, kernel->device->language);
    if (!add_companions(kernel, whole, partitions, chain, &why))
        return session_say(program->session, KF_NO_KERNEL, "%s", why.text);
    return tuning_kernel(kernel, whole, partitions, &options, chain, began);
}

KfStatus pipeline_tune(KfKernel *kernel, const KfTuneOptions *in) {
    double began = tuning_clock();
    Partitions partitions = {0};
    TuneProblem whole;
    kernel->phases.seconds[PHASE_OPEN] = kernel->program->session->opening;
    kernel->phases.seconds[PHASE_PARSE] = kernel->program->parsing;
    KfStatus status = pipeline_problems(kernel, in, &whole, &partitions);
    if (status != KF_OK) return status;
    if (partitions.list.count == 0) return tuning_nothing(kernel, whole.identity, began);
    return answer_or_tune(kernel, in, &whole, &partitions, began);
}
