/* The pipeline behind kfuse.h: a flat list of stage calls.
 *
 *     text --parse_program--> Ast --lower--> Ir --simplify, fuse--> Group --problem_build (plan, emit)-->
 *     TuneProblem --tune--> Tuned --summary--> Report, Launcher
 *
 * The objects stand in kfuse_objects.h; what callers do with them in kfuse_session.c, kfuse_program.c and
 * kfuse_kernel.c; what stands around the stages of tuning in kfuse_tune.c. kfuse_info.c answers questions. */
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
    program->simplified = simplify(arena, ir, true);
    const char *broken = verify(program->simplified, arena);
    if (broken) fprintf(stderr, "kfuse: internal error: %s\n", broken), abort();
    program->expression = program_one_line(arena, program->ast);
    return KF_OK;
}

KfStatus pipeline_groups(KfProgram *program, Groups *groups) {
    *groups = fuse(program->arena, program->simplified);
    for (uint32_t i = 0; i < groups->list.count; i++) {
        const Group *group = &groups->list.data[i];
        if (group->kind == GROUP_ELEMENTWISE) continue;
        const IrNode *culprit = ir_node(program->simplified, group->culprit);
        Diags diags = {.arena = program->arena};
        diag_error(&diags, program->ir->source, culprit->span, NULL,
                   "no kernel covers %s yet ('%s')",
                   group->kind == GROUP_PRODUCT ? "a product" : "a reduction", ir_op_name(culprit));
        diags_print(&program->session->message, &diags);
        return KF_NO_KERNEL;
    }
    return KF_OK;
}

KfStatus pipeline_tune(KfKernel *kernel, const KfTuneOptions *in) {
    KfProgram *program = kernel->program;
    KfSession *session = program->session;
    Arena *arena = kernel->arena;
    double began = tuning_clock();
    Why why;
    Groups groups;
    KfStatus status = pipeline_groups(program, &groups);
    if (status != KF_OK) return status;
    if (groups.list.count != 1)
        return session_say(session, KF_NO_KERNEL,
                           "outputs of different shapes need %u kernels: not covered yet",
                           groups.list.count);
    if (!device_select(program->device, &kernel->device, &kernel->index, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    DeviceIdentity *identity = arena_new(arena, DeviceIdentity);
    if (!tuning_identify(session, kernel->device, kernel->index, arena, identity, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    if ((status = tuning_fits_memory(program, identity)) != KF_OK) return status;

    Diags diags = {.arena = arena};
    LowerOptions each = program->lower;
    each.round_each_op = true;
    const Ir *rounded =
        simplify(arena, lower(arena, program->ast, session->registry, &each, &diags), true);
    const Eager *chain =
        eager(arena, program->ast, session->registry, &program->lower, program->ir, &diags);
    ProblemOptions options = {program->math, in->hot, in->exact, true};
    TuneProblem problem;
    if (!problem_build(arena, kernel->device, kernel->index, identity, program->simplified, rounded,
                       chain, &options, session->store, &problem, &why))
        return session_say(session, KF_NO_KERNEL, "%s", why.text);
    problem.fast_math = strcmp(program->math, "fast") == 0;
    TuneOptions tuning;
    if (!tuning_options(program, in, problem.template, arena, &tuning)) return KF_USAGE;
    if (!tuning.retune && tuning_answer(kernel, &problem, began)) return KF_OK;
    return tuning_kernel(kernel, &problem, &tuning, chain, began);
}
