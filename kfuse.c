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

#include "compiler/contract.h"
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
    if (program->fast) program->simplified = contract(arena, program->simplified);
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

/* Outputs without elements need no kernel. */
static void drop_empty(const Ir *ir, Groups *groups) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < groups->list.count; i++)
        if (type_count(&ir->outputs.data[groups->list.data[i].outputs.data[0]].type) > 0)
            groups->list.data[kept++] = groups->list.data[i];
    groups->list.count = kept;
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
    if (!narrow) return NULL;
    return simplify(arena, lower(arena, program->ast, program->session->registry, &options, &diags),
                    true);
}

/* Whether one kernel is the whole program: no other group, no output without elements. */
static bool is_whole(const Groups *groups, const Ir *ir) {
    return groups->list.count == 1 && groups->list.data[0].outputs.count == ir->outputs.count;
}

/* One problem a group: its template, bound to this shape and to the gate's edges. */
static bool build_parts(KfKernel *kernel, TuneProblem *whole, const Groups *groups,
                        const Eager *chain, const ProblemOptions *options, Part *parts, Why *why) {
    bool only = is_whole(groups, whole->ir);
    for (uint32_t i = 0; i < groups->list.count; i++) {
        const Ir *ir =
            only ? whole->ir : fuse_part(kernel->arena, whole->ir, &groups->list.data[i]);
        parts[i].group = &groups->list.data[i];
        if (!problem_build(kernel->arena, whole->device, whole->index, whole->identity, ir,
                           only ? whole->rounded : NULL, only ? chain : NULL, options, whole->store,
                           &parts[i].problem, why))
            return false;
        parts[i].problem.journal = whole->journal;
    }
    return only || problem_companions(kernel->arena, chain, whole, why);
}

KfStatus pipeline_tune(KfKernel *kernel, const KfTuneOptions *in) {
    KfProgram *program = kernel->program;
    KfSession *session = program->session;
    Arena *arena = kernel->arena;
    double began = tuning_clock();
    Diags diags = {.arena = arena};
    DeviceIdentity *identity = arena_new(arena, DeviceIdentity);
    TuneOptions options;
    Groups groups;
    Why why;
    KfStatus status = pipeline_groups(program, &groups);
    if (status != KF_OK) return status;
    drop_empty(program->simplified, &groups);
    if (!device_select(program->device, &kernel->device, &kernel->index, &why) ||
        !tuning_identify(session, kernel->device, kernel->index, arena, identity, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    if ((status = tuning_fits_memory(program, identity)) != KF_OK) return status;
    if (groups.list.count == 0) return tuning_nothing(kernel, identity, began);

    TuneProblem whole = {
        .device = kernel->device,
        .index = kernel->index,
        .identity = identity,
        .ir = program->simplified,
        .rounded = rounded_program(program, arena),
        .store = session->store,
        .journal = session->journal,
    };
    const Eager *chain =
        eager(arena, program->ast, session->registry, &program->lower, program->ir, &diags);
    Part *parts = arena_array(arena, Part, groups.list.count);
    ProblemOptions how = {program->math, in->hot, in->exact, true};
    if (!build_parts(kernel, &whole, &groups, chain, &how, parts, &why))
        return session_say(session, KF_NO_KERNEL, "%s", why.text);
    if (!tuning_options(program, in, parts[0].problem.template, arena, &options)) return KF_USAGE;
    if (!options.retune && tuning_answer(kernel, parts, groups.list.count, &options, began))
        return KF_OK;
    return tuning_kernel(kernel, &whole, parts, groups.list.count, &options, chain, began);
}
