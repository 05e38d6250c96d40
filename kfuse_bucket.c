/* In: a tuned kernel. Out: what it loses at the ends of its bucket. Each end is a problem of its own,
 * searched under its exact key; then its winner and the kernel's point are timed in turn. */
#include <string.h>

#include "compiler/gate.h"
#include "kfuse_objects.h"

/* --- the ends: all axes at theirs, or, where the bucket is that of several axes together, the
 * outermost alone as far as it reaches. */

typedef struct End {
    bool high, all;
    uint32_t outermost;
    int64_t extent; /* of the outermost, unless `all` */
} End;

static int64_t extent(void *context, uint32_t axis, int64_t old) {
    const End *end = context;
    int64_t high = problem_bucket(old);
    if (end->all) return end->high ? high : high / 2 + (high > 1);
    return axis == end->outermost ? end->extent : old;
}

static bool in_bucket(Arena *arena, const TuneProblem *problem, const Ir *ir) {
    for (uint32_t k = 0; k < problem->kernel_count; k++) {
        const Bound *here = problem->kernels[k].bounds[0];
        const Bound *there = kernel_bound(arena, &problem->kernels[k].kernel, ir);
        if (!there || there->rank != here->rank) return false;
        for (uint32_t i = 0; i < here->rank; i++)
            if (problem_bucket(here->extent[i]) != problem_bucket(there->extent[i])) return false;
    }
    return true;
}

/* Axes of the first output that have elements: the last of them is the outermost. */
static uint32_t outermost(const Ir *ir, int64_t *old) {
    const Type *type = &ir->outputs.data[0].type;
    uint32_t axes = 0;
    *old = 1;
    for (uint32_t i = type->rank; i-- > 0;)
        if (type->dim[i] != 1) axes++, *old = type->dim[i];
    return axes > 0 ? axes - 1 : 0;
}

/* The extent furthest from `old` that is still in the bucket, between it and `limit`. */
static int64_t reach(Arena *arena, const TuneProblem *problem, End end, int64_t old,
                     int64_t limit) {
    int64_t inside = old, outside = limit;
    while (inside - outside > 1 || outside - inside > 1) {
        end.extent = inside + (outside - inside) / 2;
        if (in_bucket(arena, problem, gate_reshape(arena, problem->ir, extent, &end)))
            inside = end.extent;
        else
            outside = end.extent;
    }
    return inside;
}

static const Ir *find_end(Arena *arena, const TuneProblem *problem, bool high) {
    int64_t old;
    End end = {.high = high, .all = true, .outermost = outermost(problem->ir, &old)};
    const Ir *ir = gate_reshape(arena, problem->ir, extent, &end);
    if (in_bucket(arena, problem, ir)) return ir;
    end.all = false;
    end.extent = reach(arena, problem, end, old, high ? 2 * old + 1 : 0);
    return gate_reshape(arena, problem->ir, extent, &end);
}

static bool is_same_shape(const Ir *a, const Ir *b) {
    for (uint32_t o = 0; o < a->outputs.count; o++)
        if (!type_same_shape(&a->outputs.data[o].type, &b->outputs.data[o].type)) return false;
    for (uint32_t i = 0; i < a->inputs.count; i++)
        if (!type_same_shape(&a->inputs.data[i].type, &b->inputs.data[i].type)) return false;
    return true;
}

/* --- one end */

static void same_point(KfBucketEnd *end, const Candidate *best) {
    end->time = end->best_time = best->result.time;
    end->ratio = end->low = end->high = 1;
}

/* The kernel's point beside the best one of this shape. */
static KfStatus race_points(KfKernel *kernel, const TuneProblem *problem,
                            const TuneOptions *options, const Candidate *best, const Run *run,
                            KfBucketEnd *end) {
    Result results[2] = {0};
    BenchReport bench;
    Race points;
    Why why;
    Runner runners[2] = {
        {.label = best->label, .run = &best->run, .binaries = &best->binary, .module_count = 1},
        {.label = "bucket", .run = run, .binaries = kernel->binaries, .module_count = 1}};
    race_begin(&points, kernel->arena, &kernel->workers, problem, options, NULL);
    if (!race_end(&points, options, runners, 2, results, &bench, &why))
        return session_say(kernel->program->session, KF_ENVIRONMENT, "%s", why.text);
    if (results[1].outcome != OUTCOME_OK)
        return session_say(kernel->program->session, KF_NO_KERNEL, "at %s the kernel is %s: %s",
                           end->shape, outcome_phrase(results[1].outcome), results[1].message);
    Pair pair = pair_ratio(&results[0], &results[1]);
    end->best_time = results[0].time;
    end->time = results[1].time;
    end->ratio = pair.ratio;
    end->low = pair.low;
    end->high = pair.high;
    return KF_OK;
}

static KfStatus verify_end(KfKernel *kernel, const KfTuneOptions *in, const Ir *ir,
                           KfBucketEnd *end) {
    const Part *part = kernel->partition->parts[0];
    const TuneProblem *home = &part->problem;
    KfSession *session = kernel->program->session;
    Arena *arena = kernel->arena;
    ProblemOptions how = {.math = kernel->program->math, .hot = in->hot, .exact = true};
    TuneProblem problem, where = {.device = home->device,
                                  .index = home->index,
                                  .identity = home->identity,
                                  .store = home->store,
                                  .journal = home->journal};
    TuneOptions options;
    Tuned *tuned = arena_new(arena, Tuned);
    Run *run = arena_new(arena, Run);
    uint32_t index;
    Point point;
    Why why;
    const char *reason;
    end->shape = problem_space(arena, ir);
    problem_build(arena, &where, ir, NULL, &part->kernels, &how, &problem);
    if (!tuning_options(kernel->program, in, &options)) return KF_USAGE;
    if (!tuning_workers(kernel, in->jobs, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    workers_identify(&kernel->workers, home->identity);
    if (!tune(arena, &problem, &options, &kernel->workers, tuned, &why))
        return session_say(session, KF_ENVIRONMENT, "%s", why.text);
    if (tuned->winner < 0)
        return session_say(session, KF_NO_KERNEL, "no candidate is right at %s", end->shape);
    const Candidate *best = &tuned->candidates.data[tuned->winner];
    end->best = best->label;
    if (!tune_find(arena, &problem, kernel->report.winner, &index, &point, &reason))
        return session_say(session, KF_NO_KERNEL, "%s", reason);
    if (strcmp(best->label, tune_label(arena, &problem, index, &point, ",")) == 0)
        return same_point(end, best), KF_OK;
    const TuneKernel *k = &problem.kernels[index];
    if (!tune_run(arena, k->kernel.template, k->bounds[0], &point, home->identity, run, &reason))
        return session_say(session, KF_NO_KERNEL, "at %s: %s", end->shape, reason);
    return race_points(kernel, &problem, &options, best, run, end);
}

KfStatus kf_verify_bucket(KfKernel *kernel, const KfTuneOptions *options, KfBucketEnd ends[2],
                          size_t *count) {
    KfSession *session = kernel->program->session;
    KfTuneOptions search = options ? *options : (KfTuneOptions){0};
    search.no_tune = false; /* what was asked of the kernel: an end is compared with its best */
    search.point = NULL;
    text_clear(&session->message);
    *count = 0;
    if (!kernel->partition ||
        !partition_is_whole(kernel->partition,
                            program_ir(kernel->program, kernel->device->language)))
        return session_say(
            session, KF_USAGE,
            "a bucket is of one kernel, and this program has another number of them");
    const TuneProblem *home = &kernel->partition->parts[0]->problem;
    if (home->given && home->given->references)
        return session_say(session, KF_USAGE, "a reference is of one shape, a bucket of many");
    for (int high = 0; high < 2; high++) {
        const Ir *ir = find_end(kernel->arena, home, high != 0);
        if (is_same_shape(ir, home->ir)) continue;
        KfBucketEnd *end = &ends[*count];
        *end = (KfBucketEnd){.shape = ""};
        KfStatus status = verify_end(kernel, &search, ir, end);
        workers_close(&kernel->workers);
        if (status != KF_OK) return status;
        ++*count;
    }
    return KF_OK;
}
