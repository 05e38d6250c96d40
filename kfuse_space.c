/* Spaces of points, and the bare searches of them. */
#include <stdlib.h>
#include <string.h>

#include "kfuse_objects.h"

struct KfSpace {
    KfSession *session;
    Arena *arena;
    const Space *space;
    uint64_t *indices;
    uint32_t count;
    Text point;
};

/* --- spaces */

static KfSpace *new_space(KfSession *session) {
    KfSpace *space = calloc(1, sizeof *space);
    if (!space) return NULL;
    space->session = session;
    space->arena = arena_open();
    return space;
}

/* What points are printed by. A kernel's names belong to its template, which may be closed first. */
static const Space *copy_knobs(Arena *arena, const Space *from) {
    Space *copy = arena_new(arena, Space);
    copy->arena = arena;
    for (uint32_t i = 0; i < from->knob_count; i++) {
        Knob *knob = &copy->knobs[i];
        *knob = from->knobs[i];
        knob->key = arena_copy(arena, knob->key, strlen(knob->key));
        knob->label = arena_copy(arena, knob->label, strlen(knob->label));
    }
    copy->knob_count = from->knob_count;
    return copy;
}

static void list_points(KfSpace *space, const Space *from, Bindings bindings, bool sensible) {
    space->count =
        space_allowed(from, bindings, sensible, space->arena, UINT32_MAX, 0, &space->indices);
    space->space = copy_knobs(space->arena, from);
}

KfStatus kf_space_open(KfSession *session, const char *lines, const KfSize *sizes,
                       size_t size_count, bool sensible, KfSpace **out) {
    text_clear(&session->message);
    *out = NULL;
    if (!lines || (size_count > 0 && !sizes)) return session_say(session, KF_USAGE, "no lines");
    KfSpace *space = new_space(session);
    if (!space) return session_say(session, KF_ENVIRONMENT, "out of memory");
    Diags diags = {.arena = space->arena};
    Binding *list = arena_array(space->arena, Binding, size_count + 1);
    Bindings bindings = {list, (uint32_t)size_count};
    for (size_t i = 0; i < size_count; i++) list[i] = (Binding){sizes[i].name, sizes[i].value};
    const Space *read = template_space(
        space->arena, source_new(space->arena, "<space>", lines, strlen(lines)), bindings, &diags);
    diags_print(&session->message, &diags);
    if (read) {
        list_points(space, read, bindings, sensible);
        *out = space;
        return KF_OK;
    }
    kf_space_close(space);
    return KF_INPUT;
}

static const Kernel *find_kernel(const Part *part, const char *name) {
    for (uint32_t k = 0; k < part->kernels.list.count; k++) {
        const Kernel *kernel = &part->kernels.list.data[k];
        if (!name || strcmp(kernel->name, name) == 0) return kernel;
    }
    return NULL;
}

static KfStatus program_space(KfProgram *program, const char *name, bool sensible, KfSpace *space) {
    const Device *device;
    DeviceIdentity identity;
    Partitions partitions = {0};
    Why why;
    int index;
    if (!device_select(program->device, &device, &index, &why) ||
        !tuning_identify(space->session, device, index, NULL, space->arena, &identity, &why))
        return session_say(space->session, KF_ENVIRONMENT, "%s", why.text);
    KfStatus status = pipeline_partitions(program, space->arena, device->language, &partitions);
    if (status != KF_OK) return status;
    if (partitions.list.count == 0 ||
        !partition_is_whole(&partitions.list.data[0], program_ir(program, device->language)))
        return session_say(space->session, KF_USAGE, "the program has not one kernel");
    const Kernel *kernel = find_kernel(partitions.list.data[0].parts[0], name);
    if (!kernel) return session_say(space->session, KF_USAGE, "no such kernel computes this");
    const Bound *bound = kernel_bound(space->arena, kernel, program_ir(program, device->language));
    list_points(space, &kernel->template->space, tune_bindings(space->arena, bound, &identity),
                sensible);
    return KF_OK;
}

KfStatus kf_program_space(KfProgram *program, const char *kernel, bool sensible, KfSpace **out) {
    text_clear(&program->session->message);
    *out = NULL;
    KfSpace *space = new_space(program->session);
    if (!space) return session_say(program->session, KF_ENVIRONMENT, "out of memory");
    KfStatus status = program_space(program, kernel, sensible, space);
    if (status == KF_OK)
        *out = space;
    else
        kf_space_close(space);
    return status;
}

void kf_space_close(KfSpace *space) {
    if (!space) return;
    arena_close(space->arena);
    text_free(&space->point);
    free(space);
}

size_t kf_space_count(const KfSpace *space) {
    return space->count;
}

const char *kf_space_point(KfSpace *space, size_t index) {
    if (index >= space->count) return NULL;
    Point point = space_point(space->space, space->indices[index]);
    text_clear(&space->point);
    point_print(&space->point, space->space, &point, ",");
    return text_string(&space->point);
}

/* --- why there is no point */

static bool holds_somewhere(Arena *arena, const Space *space, const Constraint *constraint,
                            Bindings bindings) {
    Space alone = *space;
    uint64_t *indices;
    alone.constraints.data = (Constraint *)(uintptr_t)constraint;
    alone.constraints.count = 1;
    return space_allowed(&alone, bindings, false, arena, 1, 0, &indices) > 0;
}

/* "cols is 100, rows is 3": what a constraint reads that is no knob. */
static const char *values_text(Arena *arena, const Constraint *constraint, Bindings bindings) {
    const Ast *ast = constraint->ast;
    const char *text = "";
    for (uint32_t b = 0; b < bindings.count; b++) {
        bool read = false;
        for (Node n = ast_first(ast, constraint->value); n <= constraint->value; n++)
            read |= ast->nodes.data[n].kind == AST_NAME &&
                    strcmp(ast->nodes.data[n].name, bindings.list[b].name) == 0;
        if (read)
            text = arena_printf(arena, "%s%s%s is %lld", text, *text ? ", " : "",
                                bindings.list[b].name, (long long)bindings.list[b].value);
    }
    return text;
}

static void blame(const Constraint *constraint, Bindings bindings, const char *what, Diags *diags) {
    const char *values = values_text(diags->arena, constraint, bindings);
    diag_error(diags, constraint->ast->source, constraint->ast->nodes.data[constraint->value].span,
               *values ? values : NULL, "%s", what);
}

/* Those that exclude every point by themselves; where none does, all of them. */
static void explain(const Space *space, Bindings bindings, Diags *diags) {
    for (int alone = 1; alone >= 0 && diags->errors == 0; alone--)
        for (uint32_t i = 0; i < space->constraints.count; i++) {
            const Constraint *constraint = &space->constraints.data[i];
            if (!constraint->hard) continue;
            if (alone && holds_somewhere(diags->arena, space, constraint, bindings)) continue;
            blame(constraint, bindings,
                  alone ? "no point satisfies this" : "no point satisfies this and the others",
                  diags);
        }
}

KfStatus space_check_points(KfProgram *program, const Part *part) {
    const TuneProblem *problem = &part->problem;
    Arena *arena = program->arena;
    Diags diags = {.arena = arena};
    Bindings bindings = {0};
    uint64_t *indices;
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        bindings = tune_bindings(arena, problem->kernels[k].bounds[0], problem->identity);
        if (space_allowed(tune_space(problem, k), bindings, false, arena, 1, 0, &indices) > 0)
            return KF_OK;
    }
    explain(tune_space(problem, problem->kernel_count - 1), bindings, &diags);
    diags_print(&program->session->message, &diags);
    return KF_NO_KERNEL;
}

/* --- bare searches */

static KfStatus search(KfProgram *program, const KfTuneOptions *options, const char *strategy,
                       uint32_t trials, uint64_t seed, KfKernel **kernel) {
    KfTuneOptions how = options ? *options : (KfTuneOptions){0};
    how.strategy = strategy;
    how.trials = trials;
    how.seed = seed;
    how.retune = how.complete = true;
    return kf_tune(program, &how, kernel);
}

KfStatus kf_grid(KfProgram *program, const KfTuneOptions *options, KfKernel **kernel) {
    return search(program, options, "grid", UINT32_MAX, options ? options->seed : 0, kernel);
}

KfStatus kf_random(KfProgram *program, uint32_t trials, uint64_t seed, const KfTuneOptions *options,
                   KfKernel **kernel) {
    return search(program, options, "random", trials, seed, kernel);
}
