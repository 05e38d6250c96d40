/* In: points of the search. Out: candidates with a binary, ready to measure, or with the reason why
 * not. Points are compiled a few to a unit; a unit that fails is tried one by one. */
#include <string.h>

#include "tuner/tuning.h"

/* A unit of 3 to 6 small kernels costs a third of as many single ones (48 kernels on 16 processes:
 * 0.27 s alone, 0.17 s by threes). */
enum { UNIT_POINTS = 4 };

bool tuning_run(Tuning *t, const Candidate *c, uint32_t shape, Run *run, const char **why) {
    const TuneKernel *k = &t->problem->kernels[c->kernel];
    if (!k->bounds[shape]) return *why = "the kernel does not run on this shape", false;
    return tune_run(t->arena, k->kernel.template, k->bounds[shape], &c->point, t->problem->identity,
                    run, why);
}

/* Among those from the store, which were measured and did not do; of a binary from elsewhere that does not work
 * the point is compiled here. */
static bool is_tried(const Tuning *t, const char *label) {
    for (uint32_t i = 0; i < t->tried; i++) {
        const Candidate *c = &t->tuned->candidates.data[i];
        bool refused = c->foreign && c->result.outcome != OUTCOME_OK;
        if (!refused && strcmp(c->label, label) == 0) return true;
    }
    return false;
}

/* A new candidate; false where it is already decided (known from the store, or infeasible). */
static bool add_candidate(Tuning *t, uint32_t kernel, const Point *point) {
    Candidate c = {.kernel = kernel,
                   .point = *point,
                   .twin_of = -1,
                   .label = tune_label(t->arena, t->problem, kernel, point, ",")};
    if (is_tried(t, c.label)) {
        t->total--;
        return false;
    }
    array_push(t->arena, &t->tuned->candidates, c);
    Candidate *added = tuning_candidate(t, t->tuned->candidates.count - 1);
    const StoredTrial *trial = t->options->retune ? NULL : tuning_known(t, added->label);
    if (trial) {
        added->result = trial->result;
        tuning_finish(t, added);
        return false;
    }
    const char *why = "";
    if (!tuning_run(t, added, 0, &added->run, &why)) {
        tuning_fail(t, added, OUTCOME_INFEASIBLE, why);
        return false;
    }
    return true;
}

static void add_unit(Tuning *t, const Unit *unit) {
    if (unit->members.count > 0) array_push(t->arena, &t->units, *unit);
}

/* The next unit of a kernel's points; false where it has no more. */
static bool ask_unit(Tuning *t, uint32_t kernel, uint32_t points) {
    KernelSearch *k = &t->searches[kernel];
    Unit unit = {0};
    Point point;
    while (unit.members.count < points && k->left > 0 && k->strategy->ask(k->search, &point)) {
        k->left--;
        if (add_candidate(t, kernel, &point))
            array_push(t->arena, &unit.members, t->tuned->candidates.count - 1);
    }
    add_unit(t, &unit);
    return unit.members.count == points;
}

/* A hand-written kernel is a unit of its own: it is large, and little of it is shared. */
static uint32_t unit_points(const Tuning *t, uint32_t kernel) {
    return kernel_is_written(&t->problem->kernels[kernel].kernel) ? 1 : UNIT_POINTS;
}

/* Those that the store had no binaries for. Without a search there is nothing to compare. */
static void companion_units(Tuning *t) {
    for (uint32_t i = 0; i < t->problem->companion_count; i++) {
        t->companion_missing[i] = 0;
        for (uint32_t m = 0; m < t->problem->companions[i].source_count; m++) {
            if (t->companion_binaries[i][m].bytes) continue;
            t->companion_missing[i]++;
            if (t->options->search)
                array_push(t->arena, &t->units, (Unit){.companion = i, .module = m});
        }
    }
}

/* The kernels take turns, so that each has been tried when the search stops early. The analytic
 * defaults come first and alone: the bench can begin with them, and goes on with the companions. */
void tuning_ask(Tuning *t) {
    uint32_t kernels = t->problem->kernel_count;
    bool more = false;
    for (uint32_t i = 0; i < kernels; i++) more |= ask_unit(t, i, 1);
    companion_units(t);
    while (more) {
        more = false;
        for (uint32_t i = 0; i < kernels; i++) more |= ask_unit(t, i, unit_points(t, i));
    }
}

void tuning_ask_default(Tuning *t) {
    ask_unit(t, 0, 1);
    companion_units(t);
}

void tuning_ask_missing(Tuning *t) {
    for (uint32_t i = 0; i < t->tuned->candidates.count; i++) {
        Unit alone = {0};
        if (tuning_candidate(t, i)->binary.bytes) continue;
        array_push(t->arena, &alone.members, i);
        add_unit(t, &alone);
    }
    companion_units(t);
}

void tuning_ask_only(Tuning *t) {
    Unit unit = {0};
    if (add_candidate(t, t->options->only_kernel, t->options->only))
        array_push(t->arena, &unit.members, 0);
    add_unit(t, &unit);
    companion_units(t);
}

/* Returns what the unit is called in messages. */
static const char *unit_source(Text *out, const Tuning *t, const Unit *unit) {
    const Template *template = NULL;
    for (uint32_t i = 0; i < unit->members.count; i++) {
        const Candidate *c = &t->tuned->candidates.data[unit->members.data[i]];
        template = t->problem->kernels[c->kernel].kernel.template;
        template_instantiate(out, template, &c->point,
                             tune_suffix(t->arena, &template->space, &c->point));
    }
    if (template) return template->name;
    const Companion *companion = &t->problem->companions[unit->companion];
    text_add(out, companion->sources[unit->module]);
    return companion->label;
}

static void submit_unit(Tuning *t, uint32_t index) {
    const Unit *unit = &t->units.data[index];
    Text source = {0};
    const char *name = unit_source(&source, t, unit);
    CompileUnit compile = {text_string(&source), name, false};
    if (!workers_submit(t->workers, t->owner, index, &compile, &t->why)) t->compiles = false;
    text_free(&source);
}

static void submit_alone(Tuning *t, uint32_t candidate) {
    Unit alone = {0};
    array_push(t->arena, &alone.members, candidate);
    array_push(t->arena, &t->units, alone);
    submit_unit(t, t->units.count - 1);
}

void tuning_revive(Tuning *t, uint32_t index) {
    Candidate *c = tuning_candidate(t, index);
    const char *why;
    if (t->compiles && tuning_run(t, c, 0, &c->run, &why)) submit_alone(t, index);
}

void tuning_submit(Tuning *t, uint32_t first) {
    for (uint32_t i = first; i < t->units.count; i++) submit_unit(t, i);
}

static bool same_launch(const Run *a, const Run *b) {
    if (a->launches.count != b->launches.count) return false;
    for (uint32_t i = 0; i < a->launches.count; i++) {
        const Launch *x = &a->launches.data[i], *y = &b->launches.data[i];
        if (memcmp(x->grid, y->grid, sizeof x->grid) ||
            memcmp(x->block, y->block, sizeof x->block) || x->shared != y->shared ||
            x->cluster != y->cluster || x->dependent != y->dependent)
            return false;
    }
    return true;
}

static int32_t find_twin(const Tuning *t, const Candidate *c) {
    for (uint32_t i = 0; i < t->tuned->candidates.count; i++) {
        const Candidate *other = &t->tuned->candidates.data[i];
        if (other == c || other->twin_of >= 0 || !other->binary.bytes || other->foreign) continue;
        if (other->result.machine_code == c->result.machine_code &&
            same_launch(&other->run, &c->run))
            return (int32_t)i;
    }
    return -1;
}

/* Registers are given out to warps in eights a thread. */
static bool launch_fits(const DeviceIdentity *identity, const Launch *launch, const Resources *r) {
    enum { WARP = 32, UNIT = 8 };
    int64_t threads = (int64_t)launch->block[0] * launch->block[1] * launch->block[2];
    int64_t warps = (threads + WARP - 1) / WARP;
    int64_t registers = (r->registers + UNIT - 1) / UNIT * UNIT * warps * WARP;
    return (identity->registers_per_block <= 0 || registers <= identity->registers_per_block) &&
           (identity->shared_per_block <= 0 ||
            r->shared_bytes + launch->shared <= identity->shared_per_block);
}

/* Resources and machine code of all launches, those of the first in the report. False where one
 * cannot be launched: the compiler says so, nothing is launched to find out. */
static bool inspect(const TuneProblem *p, Candidate *c, Binary binary) {
    bool fits = true;
    for (uint32_t i = 0; i < c->run.launches.count; i++) {
        const Launch *launch = &c->run.launches.data[i];
        Resources resources = {0};
        uint64_t code = 0;
        bool known =
            p->device->resources(binary.bytes, binary.size, launch->entry, &resources, &code);
        if (i == 0) c->result.resources = resources;
        c->result.machine_code = c->result.machine_code * UINT64_C(0x9e3779b97f4a7c15) + code;
        fits &= !known || launch_fits(p->identity, launch, &resources);
    }
    return fits;
}

void tuning_accept(Tuning *t, uint32_t index, Binary binary) {
    Candidate *c = tuning_candidate(t, index);
    c->compiled = true;
    c->result.machine_code = 0;
    bool fits = inspect(t->problem, c, binary);
    c->twin_of = find_twin(t, c);
    c->binary = binary;
    if (c->twin_of >= 0) return; /* its result is filled in at the end */
    if (!fits) {
        tuning_fail(t, c, OUTCOME_INFEASIBLE,
                    "needs more registers or shared memory than a block has");
        return;
    }
    array_push(t->arena, &t->ready, index);
}

static void companion_compiled(Tuning *t, const Unit *unit, Binary binary) {
    t->companion_binaries[unit->companion][unit->module] = binary;
    if (binary.bytes) t->companion_missing[unit->companion]--;
}

static void candidates_compiled(Tuning *t, const Unit *unit, Binary binary,
                                const Compiled *compiled) {
    if (binary.bytes) {
        t->tuned->compiled += unit->members.count;
        for (uint32_t i = 0; i < unit->members.count; i++)
            tuning_accept(t, unit->members.data[i], binary);
    } else if (unit->members.count == 1) {
        tuning_fail(t, tuning_candidate(t, unit->members.data[0]), compiled->outcome,
                    compiled->message);
    } else { /* one bad member fails them all: one by one */
        for (uint32_t i = 0; i < unit->members.count; i++) submit_alone(t, unit->members.data[i]);
    }
}

void tuning_take(void *tuning, uint32_t id, const Compiled *compiled) {
    Tuning *t = tuning;
    Unit unit = t->units.data[id];
    Binary binary = workers_binary(t->arena, compiled);
    if (unit.members.count == 0)
        companion_compiled(t, &unit, binary);
    else
        candidates_compiled(t, &unit, binary, compiled);
}
