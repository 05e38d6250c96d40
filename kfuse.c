/* The pipeline behind kfuse.h: a flat list of stage calls.
 *
 *     text --parse_program--> Ast --lower--> Ir --simplify, fuse--> Group --problem_build (plan, emit)-->
 *     TuneProblem --tune--> Tuned --summary--> Report, Launcher
 *
 * The objects stand in kfuse_objects.h; what callers do with them in kfuse_session.c,
 * kfuse_program.c and kfuse_kernel.c; what stands around the stages of tuning in kfuse_tune.c.
 * kfuse_info.c answers questions. */
#include "kfuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/simplify.h"
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

static const Library *library(KfProgram *program, const char *language) {
    const Library **slot = &program->libraries[strcmp(language, "cuda") == 0];
    if (!*slot) *slot = library_open(program->arena, language, program->session->registry);
    return *slot;
}

static bool takes_type(const Template *template, DType type) {
    for (uint32_t i = 0; i < template->inputs.count; i++)
        for (uint32_t t = 0; t < template->inputs.data[i].type_count; t++)
            if (template->inputs.data[i].types[t] == type) return true;
    return false;
}

/* "templates compute gelu, softmax: alone, of dense arrays of f32 f16" */
static const char *covered(KfProgram *program, const char *language) {
    const Library *templates = library(program, language);
    const char *names = "", *types = "";
    bool taken[DTYPE_COUNT] = {false};
    for (uint32_t i = 0; i < templates->templates.count; i++) {
        const Template *template = templates->templates.data[i];
        names = arena_printf(program->arena, "%s%s%s", names, i ? ", " : "", template->name);
        for (int t = 0; t < DTYPE_COUNT; t++) taken[t] |= takes_type(template, (DType)t);
    }
    for (int t = 0; t < DTYPE_COUNT; t++)
        if (taken[t]) types = arena_printf(program->arena, "%s %s", types, dtype_name((DType)t));
    return arena_printf(program->arena, "templates compute %s: alone, of dense arrays of%s", names,
                        types);
}

/* Says at which value no kernel could be had, and what can be. */
static KfStatus uncovered(KfProgram *program, const char *language, const Ir *part) {
    Group group = group_find(part);
    Diags diags = {.arena = program->arena};
    const IrNode *culprit = ir_node(part, group.culprit);
    diag_error(&diags, program->ir->source, culprit->span, covered(program, language),
               "no kernel covers %s ('%s')",
               culprit->op == IR_MATMUL ? "this product" : "this reduction", ir_op_name(culprit));
    diags_print(&program->session->message, &diags);
    return KF_NO_KERNEL;
}

KfStatus pipeline_parts(KfProgram *program, Arena *arena, const char *language, Parts *parts) {
    const Ir *ir = program->simplified;
    if (program->template) return template_parts(program, arena, language, parts);
    Groups groups = fuse(arena, ir);
    bool only = groups.list.count == 1;
    for (uint32_t i = 0; i < groups.list.count; i++) {
        const Outputs *group = &groups.list.data[i];
        Part part = {.group = group, .ir = only ? ir : fuse_part(arena, ir, group)};
        part.kernels = kernels_find(arena, library(program, language), part.ir);
        if (part.kernels.list.count == 0) return uncovered(program, language, part.ir);
        if (type_count(&ir->outputs.data[group->outputs.data[0]].type) > 0)
            array_push(arena, &parts->list, part);
    }
    return KF_OK;
}

/* The program as the eager chain computes it, rounding after every operation, products among them;
 * NULL where that changes nothing, since no float is narrower than the compute type. */
static const Ir *rounded_program(const KfProgram *program, Arena *arena) {
    const Ir *ir = program->simplified;
    LowerOptions options = program->lower;
    Diags diags = {.arena = arena};
    bool narrow = program->fast;
    for (Value v = 1; v < ir->nodes.count; v++)
        narrow |=
            dtype_is_float(ir_node(ir, v)->type.dtype) && ir_node(ir, v)->type.dtype < ir->compute;
    options.round_each_op = true;
    if (!narrow || !program->ast) return NULL;
    return simplify(arena, lower(arena, program->ast, program->session->registry, &options, &diags),
                    true);
}

/* Whether one kernel is the whole program: no other group, no output without elements. */
static bool is_whole(const Parts *parts, const Ir *ir) {
    return parts->list.count == 1 && parts->list.data[0].ir == ir;
}

/* Every part as a problem of its own. */
static KfStatus build_problems(KfKernel *kernel, const TuneProblem *whole, const Parts *parts,
                               const KfTuneOptions *in) {
    ProblemOptions options = {kernel->program->math, in->hot, in->exact};
    const Ir *rounded = is_whole(parts, whole->ir) ? whole->rounded : NULL;
    KfStatus status = KF_OK;
    for (uint32_t i = 0; i < parts->list.count && status == KF_OK; i++) {
        Part *part = &parts->list.data[i];
        problem_build(kernel->arena, whole, part->ir, rounded, &part->kernels, &options,
                      &part->problem);
        status = space_check_points(kernel->program, part);
    }
    kernel->parts = parts->list.data;
    kernel->part_count = parts->list.count;
    return status;
}

/* The chain that the program is compared with, or NULL. An only part is judged and timed against it by
 * itself; of several, the whole is, and each has its roof. */
static bool add_companions(KfKernel *kernel, TuneProblem *whole, const Parts *parts,
                           const Eager **eager_chain, Why *why) {
    const KfProgram *program = kernel->program;
    const Library *kernels = library(kernel->program, kernel->device->language);
    Diags diags = {.arena = kernel->arena};
    const Eager *chain = NULL;
    if (program->ast)
        chain = eager(kernel->arena, program->ast, program->session->registry, &program->lower,
                      program->ir, &diags);
    *eager_chain = chain;
    bool only = is_whole(parts, whole->ir);
    for (uint32_t i = 0; i < parts->list.count; i++)
        if (!problem_companions(kernel->arena, only ? chain : NULL, kernels,
                                &parts->list.data[i].problem, why))
            return false;
    return only || problem_companions(kernel->arena, chain, kernels, whole, why);
}

KfStatus pipeline_tune(KfKernel *kernel, const KfTuneOptions *in) {
    KfProgram *program = kernel->program;
    KfSession *session = program->session;
    Arena *arena = kernel->arena;
    double began = tuning_clock();
    const Eager *chain;
    DeviceIdentity *identity = arena_new(arena, DeviceIdentity);
    TuneOptions options;
    Parts parts = {0};
    Why why;
    if (!device_select(program->device, &kernel->device, &kernel->index, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    KfStatus status = pipeline_parts(program, arena, kernel->device->language, &parts);
    if (status != KF_OK) return status;
    if (!tuning_identify(session, kernel->device, kernel->index, arena, identity, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    if ((status = tuning_fits_memory(program, identity)) != KF_OK) return status;
    if (parts.list.count == 0) return tuning_nothing(kernel, identity, began);

    TuneProblem whole = {
        .device = kernel->device,
        .index = kernel->index,
        .identity = identity,
        .ir = program->simplified,
        .rounded = rounded_program(program, arena),
        .store = session->store,
        .journal = session->journal,
        .given = program->given,
    };
    if ((status = build_problems(kernel, &whole, &parts, in)) != KF_OK) return status;
    Part *list = parts.list.data;
    if (!tuning_options(program, in, &list[0].problem, arena, &options)) return KF_USAGE;
    if (!options.retune && tuning_answer(kernel, list, parts.list.count, &options, began))
        return KF_OK;
    if (!add_companions(kernel, &whole, &parts, &chain, &why))
        return session_say(session, KF_NO_KERNEL, "%s", why.text);
    return tuning_kernel(kernel, &whole, list, parts.list.count, &options, chain, began);
}
