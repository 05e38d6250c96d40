/* In: a program, and a kernel of it, a point, or what the store has. Out: the variants that are shipped.
 * The first is for any sizes and architecture: the kernel that was tuned now, the point that was given,
 * a stored one, or the analytic default. More come from the store: the same program tuned for other
 * sizes, or on another architecture. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfuse_objects.h"

enum { VARIANTS_MOST = 16 };

typedef struct Points {
    KfProgram *program;
    const KfKernel *kernel;
    Arena *arena;
    Export *e;
    const int *arch;
    const Partition *partition;
} Points;

/* What one step is to be. */
typedef struct Choice {
    uint32_t kernel;
    Point point;
    const char *origin;
    double time, spread;
} Choice;

/* --- without a device */

/* The largest chips of each architecture: what the analytic default and `sms` in constraints look at. */
static int typical_sms(int arch) {
    static const int table[][2] = {{75, 72},  {80, 108},  {86, 84},   {89, 142},
                                   {90, 132}, {100, 148}, {103, 160}, {120, 188}};
    int sms = 108;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i][0] <= arch) sms = table[i][1];
    return sms;
}

static DeviceIdentity *stand_in(Arena *arena, const Device *device, int arch) {
    DeviceIdentity *identity = arena_new(arena, DeviceIdentity);
    Why why;
    if (strcmp(device->language, "c") == 0 && device->identify(0, true, identity, &why))
        return identity;
    identity->sms = typical_sms(arch);
    snprintf(identity->arch, sizeof identity->arch, "sm_%d", arch);
    return identity;
}

/* --- stored points */

/* To be shown: a store from elsewhere may have any bytes. */
static const char *one_line(Arena *arena, const char *text) {
    char *line = arena_copy(arena, text, strcspn(text, "\n"));
    for (char *at = line; *at; at++)
        if (text_is_control(*at)) *at = ' ';
    return line;
}

/* Whether a stored point can be launched, `here`: on the program's own shape. */
static bool runs(Points *p, const TuneProblem *problem, const Choice *choice, bool here) {
    const TuneKernel *k = &problem->kernels[choice->kernel];
    const Template *template = k->kernel.template;
    const Bound *bound = k->bounds[0];
    Run run = {0};
    const char *why;
    if (here)
        return tune_run(p->arena, template, bound, &choice->point, problem->identity, &run, &why);
    return run_add(p->arena, &run, template, &choice->point, bound,
                   tune_bindings(p->arena, bound, problem->identity), 0, &why);
}

/* The fastest right trial of a key: a candidate's, for the eager chain and the roof have trials, too. */
static bool best_trial(Points *p, const TuneProblem *problem, const char *key, bool here,
                       Choice *choice) {
    StoreKey whole = {key, ""};
    uint32_t count;
    const char *why;
    const StoredTrial *trials = store_trials(p->program->session->store, &whole, p->arena, &count);
    choice->time = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Result *result = &trials[i].result;
        Choice found = *choice;
        if (result->outcome != OUTCOME_OK || !(result->time > 0) ||
            (choice->time > 0 && result->time >= choice->time) ||
            !tune_find(p->arena, problem, trials[i].point, &found.kernel, &found.point, &why) ||
            !runs(p, problem, &found, here))
            continue;
        *choice = found;
        choice->time = result->time;
        choice->spread = isfinite(result->spread) ? result->spread : 0;
        choice->origin = arena_printf(p->arena, "%s: tuned on %s at %s",
                                      trials[i].imported ? "imported, not judged here" : "stored",
                                      one_line(p->arena, store_key_value(key, "device", 0, NULL)),
                                      one_line(p->arena, trials[i].shape));
    }
    return choice->time > 0;
}

/* --- instances */

static bool same_point(const Space *space, const Point *a, const Point *b) {
    return memcmp(a->value, b->value, space->knob_count * sizeof *a->value) == 0;
}

/* C's are of 64 bits, as those of hand-written kernels are; but not those of what is generated behind a product. */
static bool has_wide_indices(const Points *p, const Kernel *kernel) {
    if (strcmp(p->e->language, "c") == 0) return true;
    return kernel->splice ? splice_has_index64(kernel->splice)
                          : !kernel->plan || kernel->plan->index64;
}

/* A hand-written kernel is a file for each point: its own helpers have one name in all of them. */
static uint32_t kernel_number(Points *p, uint32_t step, const Choice *choice) {
    const TuneKernel *k = &p->partition->parts[step]->problem.kernels[choice->kernel];
    for (uint32_t i = 0; i < p->e->kernels.count; i++) {
        const ExportKernel *there = &p->e->kernels.data[i];
        if (there->step == step && there->kernel->template == k->kernel.template &&
            (!kernel_is_written(&k->kernel) ||
             same_point(&k->kernel.template->space, &there->instances.data[0].point,
                        &choice->point)))
            return i;
    }
    ExportKernel added = {.kernel = &k->kernel, .step = step, .bound = k->bounds[0]};
    added.wide = has_wide_indices(p, &k->kernel);
    array_push(p->arena, &p->e->kernels, added);
    return p->e->kernels.count - 1;
}

/* Functions of C share one name space with all that they are linked with. */
static const char *suffix(Points *p, uint32_t kernel, const Space *space, const Point *point) {
    bool c = strcmp(p->e->language, "c") == 0;
    const char *of_point = tune_suffix(p->arena, space, point);
    const char *of_name = c ? arena_printf(p->arena, "__%s", p->e->name) : "";
    return kernel ? arena_printf(p->arena, "%s_%u%s", of_name, kernel + 1, of_point)
                  : arena_printf(p->arena, "%s%s", of_name, of_point);
}

static uint32_t instance_number(Points *p, uint32_t number, const Point *point) {
    ExportKernel *kernel = &p->e->kernels.data[number];
    const Space *space = &kernel->kernel->template->space;
    for (uint32_t i = 0; i < kernel->instances.count; i++)
        if (same_point(space, &kernel->instances.data[i].point, point)) return i;
    Text label = {0};
    if (strcmp(kernel->kernel->name, "generated") != 0)
        text_printf(&label, "%s:", kernel->kernel->name);
    point_print(&label, space, point, ",");
    ExportInstance added = {*point, arena_copy(p->arena, text_string(&label), label.length),
                            suffix(p, number, space, point)};
    text_free(&label);
    array_push(p->arena, &kernel->instances, added);
    return kernel->instances.count - 1;
}

static void add_variant(Points *p, int arch, const int64_t *extent, const Choice *choices) {
    uint32_t steps = partition_count(p->partition);
    ExportVariant variant = {.arch = arch,
                             .kernel = arena_array(p->arena, uint32_t, steps),
                             .instance = arena_array(p->arena, uint32_t, steps),
                             .origin = choices[0].origin,
                             .time = choices[0].time,
                             .spread = choices[0].spread};
    for (uint32_t s = 0; s < steps; s++) {
        variant.kernel[s] = kernel_number(p, s, &choices[s]);
        variant.instance[s] = instance_number(p, variant.kernel[s], &choices[s].point);
    }
    const Bound *bound = p->e->kernels.data[variant.kernel[0]].bound;
    int64_t *bucket = arena_array(p->arena, int64_t, RANK_MAX);
    variant.rank = bound->rank;
    for (uint32_t i = 0; i < bound->rank; i++)
        bucket[i] = problem_bucket(extent ? extent[i] : bound->extent[i]);
    variant.extent = bucket;
    array_push(p->arena, &p->e->variants, variant);
}

/* --- the first variant */

static KfStatus choose_label(Points *p, uint32_t step, const char *label, Choice *choice) {
    const char *why;
    if (tune_find(p->arena, &p->partition->parts[step]->problem, label, &choice->kernel,
                  &choice->point, &why))
        return KF_OK;
    return session_say(p->program->session, KF_USAGE, "%s", why);
}

static bool is_listed(const Points *p, int arch) {
    bool listed = false;
    for (const int *a = p->arch; *a; a++) listed |= *a == arch;
    return listed;
}

static bool shipped(const Points *p, int arch) {
    return *p->arch ? is_listed(p, arch) : arch == 0;
}

/* The best that the store has for the bucket, on the newest architecture that is shipped. */
static bool choose_stored(Points *p, const TuneProblem *problem, Choice *choice) {
    uint32_t count;
    int newest = -1;
    const char *const *keys = store_keys(p->program->session->store, p->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        Choice found = *choice;
        int arch = key_arch(keys[i]);
        bool bucket = true;
        if (!shipped(p, arch) || arch <= newest || !keys_are_alike(keys[i], problem->key.text))
            continue;
        for (uint32_t k = 0; k < problem->kernel_count; k++) {
            const char *mine = store_key_value(problem->key.text, "bucket", k, NULL),
                       *other = store_key_value(keys[i], "bucket", k, NULL);
            bucket &= mine && other && strcspn(mine, "\n") == strcspn(other, "\n") &&
                      strncmp(mine, other, strcspn(mine, "\n")) == 0;
        }
        if (!bucket || !best_trial(p, problem, keys[i], true, &found)) continue;
        *choice = found;
        newest = arch;
    }
    return newest >= 0;
}

static KfStatus choose_default(Points *p, const TuneProblem *problem, Choice *choice) {
    const TuneKernel *k = &problem->kernels[0];
    choice->kernel = 0;
    choice->origin = "the analytic default, not tuned";
    if (space_default(&k->kernel.template->space,
                      tune_bindings(p->arena, k->bounds[0], problem->identity), &choice->point))
        return KF_OK;
    return session_say(p->program->session, KF_NO_KERNEL,
                       "no point of the kernel is legal for this shape");
}

static KfStatus choose_step(Points *p, uint32_t step, const char *labels, Choice *choice) {
    const TuneProblem *problem = &p->partition->parts[step]->problem;
    if (labels) return choose_label(p, step, labels_at(p->arena, labels, step), choice);
    return choose_stored(p, problem, choice) ? KF_OK : choose_default(p, problem, choice);
}

static KfStatus choose_steps(Points *p, const char *labels, Choice **choices) {
    uint32_t steps = partition_count(p->partition);
    KfStatus status = KF_OK;
    *choices = arena_array(p->arena, Choice, steps);
    for (uint32_t s = 0; s < steps && status == KF_OK; s++)
        status = choose_step(p, s, labels, &(*choices)[s]);
    return status;
}

static KfStatus add_first(Points *p) {
    Choice *choices;
    KfStatus status = choose_steps(p, p->kernel ? p->kernel->report.winner : NULL, &choices);
    if (status != KF_OK) return status;
    if (p->kernel) {
        const Report *r = &p->kernel->report;
        choices[0].origin =
            arena_printf(p->arena, "tuned on %s (%s) at %s", r->device, r->software, r->shape);
        choices[0].time = r->time;
        choices[0].spread = r->spread;
    }
    add_variant(p, 0, NULL, choices);
    return KF_OK;
}

/* --- points that are given: "A | B; sm_80 4096x64 C | D", variants with what they are for */

/* What stands before the labels, if anything does: "sm_90", "4096x64", a blank behind each. */
static const char *read_target(Arena *arena, const char *text, int *arch, const char **sizes) {
    *arch = 0;
    *sizes = NULL;
    text += strspn(text, " ");
    size_t digits = strncmp(text, "sm_", 3) == 0 ? strspn(text + 3, "0123456789") : 0;
    if ((digits == 2 || digits == 3) && text[3 + digits] == ' ') {
        *arch = (int)strtol(text + 3, NULL, 10);
        text += 3 + digits;
        text += strspn(text, " ");
    }
    if (!isdigit((unsigned char)*text)) return text;
    *sizes = arena_printf(arena, "%.*s\n", (int)strcspn(text, " "), text);
    return text + strcspn(text, " ");
}

/* One of the list; the first is for any sizes and architecture. */
static KfStatus add_given(Points *p, const char *text, bool first) {
    KfSession *session = p->program->session;
    int64_t extent[RANK_MAX];
    Choice *choices;
    int arch = 0;
    const char *sizes = NULL, *labels = text;
    if (!first) labels = read_target(p->arena, text, &arch, &sizes);
    uint32_t steps = partition_count(p->partition), given = labels_count(labels);
    if (given != steps || (!first && !*(labels + strspn(labels, " "))))
        return session_say(session, KF_USAGE, "'%s' is no point for each of %u kernel%s", text,
                           steps, steps == 1 ? "" : "s");
    if (arch && !is_listed(p, arch))
        return session_say(session, KF_USAGE, "a point for sm_%d, which --arch does not list",
                           arch);
    KfStatus status = choose_steps(p, labels, &choices);
    if (status != KF_OK) return status;
    const Bound *bound = p->partition->parts[0]->problem.kernels[choices[0].kernel].bounds[0];
    if (sizes && !key_bucket(sizes, bound->rank, extent))
        return session_say(session, KF_USAGE, "'%s': this kernel is tuned by %u size%s",
                           one_line(p->arena, sizes), bound->rank, bound->rank == 1 ? "" : "s");
    choices[0].origin = "given";
    add_variant(p, arch, sizes ? extent : NULL, choices);
    return KF_OK;
}

static KfStatus add_all_given(Points *p, const char *points) {
    KfStatus status = KF_OK;
    for (bool first = true; points && status == KF_OK; first = false) {
        size_t length = strcspn(points, ";");
        status = add_given(p, arena_copy(p->arena, points, length), first);
        points = points[length] ? points + length + 1 : NULL;
    }
    return status;
}

/* --- more from the store, of programs of one kernel */

static void add_alike(Points *p, const TuneProblem *problem, const char *key) {
    int64_t extent[RANK_MAX];
    Choice choice = {0};
    int arch = key_arch(key);
    if (!shipped(p, arch) || !keys_are_alike(key, problem->key.text) ||
        !best_trial(p, problem, key, false, &choice))
        return;
    const Bound *bound = problem->kernels[choice.kernel].bounds[0];
    const char *bucket = store_key_value(key, "bucket", choice.kernel, NULL);
    if (!bucket || !key_bucket(bucket, bound->rank, extent)) return;
    for (uint32_t v = 0; v < p->e->variants.count; v++) {
        const ExportVariant *other = &p->e->variants.data[v];
        if ((v == 0 || other->arch == arch) && other->rank == bound->rank &&
            memcmp(other->extent, extent, bound->rank * sizeof *extent) == 0)
            return;
    }
    add_variant(p, arch, extent, &choice);
}

static bool has_cluster(const Space *space, const Point *point) {
    for (uint32_t i = 0; i < space->knob_count; i++)
        if (strcmp(space->knobs[i].label, "CLUSTER") == 0 && point->value[i] > 1) return true;
    return false;
}

/* The analytic default, or the first sensible, or else legal, point without a cluster. */
static KfStatus choose_alone(Points *p, const TuneProblem *problem, Choice *choice) {
    enum { MOST = 4096 };
    const TuneKernel *k = &problem->kernels[0];
    const Space *space = &k->kernel.template->space;
    KfStatus status = choose_default(p, problem, choice);
    if (status != KF_OK || !has_cluster(space, &choice->point)) return status;
    for (int sensible = 1; sensible >= 0; sensible--) {
        uint64_t *indices;
        uint32_t count =
            space_allowed(space, tune_bindings(p->arena, k->bounds[0], problem->identity), sensible,
                          p->arena, MOST, 0, &indices);
        for (uint32_t i = 0; i < count; i++) {
            choice->point = space_point(space, indices[i]);
            if (!has_cluster(space, &choice->point)) return KF_OK;
        }
    }
    return session_say(p->program->session, KF_NO_KERNEL,
                       "no point of the kernel does without clusters");
}

/* What a step of the first variant is, where that has no cluster. */
static KfStatus choose_older(Points *p, uint32_t step, Choice *choice, bool *changed) {
    const ExportVariant *first = &p->e->variants.data[0];
    const ExportKernel *kernel = &p->e->kernels.data[first->kernel[step]];
    const Point *point = &kernel->instances.data[first->instance[step]].point;
    const TuneProblem *problem = &p->partition->parts[step]->problem;
    *choice = (Choice){.point = *point, .origin = first->origin};
    if (has_cluster(&kernel->kernel->template->space, point)) {
        *changed = true;
        return choose_alone(p, problem, choice);
    }
    while (problem->kernels[choice->kernel].kernel.template != kernel->kernel->template)
        choice->kernel++;
    return KF_OK;
}

/* Clusters are of compute capability 9.0 and above: what is older gets a point without. */
static KfStatus add_older(Points *p) {
    uint32_t steps = partition_count(p->partition), known = p->e->variants.count;
    for (const int *arch = p->arch; *arch && *arch < 90; arch++) {
        bool own = false, changed = false;
        Choice *choices = arena_array(p->arena, Choice, steps);
        for (uint32_t v = 1; v < known; v++) own |= p->e->variants.data[v].arch == *arch;
        for (uint32_t s = 0; s < steps && !own; s++) {
            KfStatus status = choose_older(p, s, &choices[s], &changed);
            if (status != KF_OK) return status;
        }
        if (changed) choices[0].origin = "the analytic default, not tuned: there are no clusters";
        if (changed) add_variant(p, *arch, NULL, choices);
    }
    return KF_OK;
}

/* --- all together */

/* The problems of a partition that is not tuned. */
static KfStatus build_parts(Points *p) {
    const Device *device = device_find(strcmp(p->e->language, "c") == 0 ? "cpu" : "cuda");
    KfStatus status = KF_OK;
    int newest = 0;
    for (const int *a = p->arch; *a; a++) newest = *a > newest ? *a : newest;
    TuneProblem where = {.device = device,
                         .identity = stand_in(p->arena, device, newest),
                         .ir = p->e->ir,
                         .store = p->program->session->store};
    const ProblemOptions options = {.math = p->program->math};
    for (uint32_t i = 0; i < partition_count(p->partition) && status == KF_OK; i++) {
        Part *part = p->partition->parts[i];
        problem_build(p->arena, &where, part->ir, NULL, &part->kernels, &options, &part->problem);
        status = space_check_points(p->program, part);
    }
    return status;
}

/* The kernel's own, that of the first variant of *points, which a partition's name comes off, or the first. */
static KfStatus find_partition(Points *p, const char **points) {
    KfSession *session = p->program->session;
    Partitions *partitions = arena_new(p->arena, Partitions);
    KfStatus status = KF_OK;
    if (p->kernel)
        array_push(p->arena, &partitions->list, *p->kernel->partition);
    else
        status = pipeline_partitions(p->program, p->arena, p->e->language, partitions);
    if (status != KF_OK) return status;
    if (partitions->list.count == 0)
        return session_say(session, KF_NO_KERNEL,
                           "no output has elements: there is nothing to emit");
    p->partition = &partitions->list.data[0];
    if (*points) {
        const char *first = arena_copy(p->arena, *points, strcspn(*points, ";")), *labels = first;
        p->partition = partition_of(session, p->arena, partitions, &labels);
        *points += labels - first;
    }
    if (!p->partition) return KF_USAGE;
    return p->kernel ? KF_OK : build_parts(p);
}

KfStatus emit_points(KfProgram *program, const KfKernel *kernel, const char *point, const int *arch,
                     Arena *arena, Export *e) {
    Points p = {program, kernel, arena, e, arch, NULL};
    uint32_t count;
    KfStatus status = find_partition(&p, &point);
    if (status == KF_OK) status = point ? add_all_given(&p, point) : add_first(&p);
    if (status != KF_OK) return status;
    e->chain = p.partition->chain;
    e->identity = p.partition->parts[0]->problem.identity;
    const char *const *keys = store_keys(program->session->store, arena, &count);
    bool one = point || (e->header && !export_is_cuda(e)); /* a file of C is one kernel's */
    for (uint32_t i = 0; i < count && !one && partition_count(p.partition) == 1 &&
                         e->variants.count < VARIANTS_MOST;
         i++)
        add_alike(&p, &p.partition->parts[0]->problem, keys[i]);
    if (e->header && !export_is_cuda(e) && e->kernels.count > 1)
        return session_say(
            program->session, KF_USAGE,
            "the program is %u kernels, and each is a file of C: leave --format header out",
            e->kernels.count);
    return add_older(&p);
}
