/* In: a kernel of a program. Out: points of it, as sources and Runs. */
#include <stdlib.h>

#include "compiler/gate.h"
#include "tests/shim/device_shim.h"
#include "tests/shim/judge.h"
#include "tuner/problem.h"

/* Larger edges are left to GPUs and to KF_CHECK_ALL=1: a thread that waits costs a microsecond, a
 * multiplication of a tile 5 ns. */
enum { UNIT_POINTS = 6, POINTS_MAX = 4096, EDGE_THREADS = 1 << 16, EDGE_OPERATIONS = 1 << 19 };

typedef struct Sampler {
    Arena *arena;
    Subject *subject;
    const Kernel *kernel;
    const Bound *bound;
    DeviceIdentity identity;
    const char *where; /* "KEEP=1": the only points, or NULL */
    Text source;       /* of the unit in the making */
    uint32_t in_unit;
} Sampler;

/* Where rows are summed up, a block's threads wait for one another in each, however many rows a
 * block has. */
static bool has_rows(const Ir *ir) {
    for (Value v = 1; v < ir->nodes.count; v++)
        if (ir_node(ir, v)->op >= IR_SUM && ir_node(ir, v)->op <= IR_VAR) return true;
    return false;
}

static int64_t threads_of(const Run *run, const Ir *ir) {
    const Type *type = &ir->outputs.data[0].type;
    int64_t threads = 0, last = type->rank ? type->dim[type->rank - 1] : 1;
    int64_t rows = has_rows(ir) && last > 0 ? type_count(type) / last : 0;
    for (uint32_t i = 0; i < run->launches.count; i++) {
        const Launch *l = &run->launches.data[i];
        int64_t blocks = l->grid[0] * l->grid[1] * l->grid[2];
        threads += (blocks > rows ? blocks : rows) * l->block[0] * l->block[1] * l->block[2];
    }
    return threads;
}

static bool is_small(const Run *run, const Ir *ir) {
    int64_t threads = threads_of(run, ir);
    if (getenv("KF_CHECK_ALL")) return threads <= 16 * EDGE_THREADS;
    return threads <= EDGE_THREADS && problem_operations(ir) <= EDGE_OPERATIONS;
}

static const Run *edge_runs(Sampler *s, const Point *point) {
    const Template *template = s->kernel->template;
    const Ir *const *shapes = gate_shapes(s->arena, s->subject->ir, &s->subject->edge_count);
    Run *runs = arena_array(s->arena, Run, s->subject->edge_count);
    for (uint32_t i = 0; i < s->subject->edge_count; i++) {
        const Bound *bound = kernel_bound(s->arena, s->kernel, shapes[i]);
        const char *why;
        if (!bound || !tune_run(s->arena, template, bound, point, &s->identity, &runs[i], &why) ||
            !is_small(&runs[i], shapes[i]))
            runs[i].launches.count = 0;
    }
    return runs;
}

static void end_unit(Sampler *s) {
    if (s->in_unit == 0) return;
    Unit unit = {.label = s->subject->label};
    unit.source = arena_copy(s->arena, text_string(&s->source), s->source.length);
    array_push(s->arena, &s->subject->units, unit);
    text_clear(&s->source);
    s->in_unit = 0;
}

/* Generated points share units, as they do in the tuner. */
static void add_source(Sampler *s, const Point *point, const char *suffix) {
    template_instantiate(&s->source, s->kernel->template, point, suffix);
    if (++s->in_unit == UNIT_POINTS || kernel_is_written(s->kernel)) end_unit(s);
}

static bool has_clusters(const Run *run) {
    for (uint32_t i = 0; i < run->launches.count; i++)
        if (run->launches.data[i].cluster > 1) return true;
    return false;
}

static bool is_wanted(const Sampler *s, const Point *point) {
    const Space *space = &s->kernel->template->space;
    Point moved;
    const char *why;
    return !s->where || (point_parse(space, s->where, point, s->arena, &moved, &why) &&
                         space_index(space, &moved) == space_index(space, point));
}

/* False: the point does not run here. */
static bool add_point(Sampler *s, const Point *point) {
    const Template *template = s->kernel->template;
    const char *why, *suffix = tune_suffix(s->arena, &template->space, point);
    Trial trial = {.label = suffix + 2, .unit = s->subject->units.count};
    if (!is_wanted(s, point) ||
        !tune_run(s->arena, template, s->bound, point, &s->identity, &trial.run, &why) ||
        has_clusters(&trial.run))
        return false;
    trial.edge_runs = edge_runs(s, point);
    array_push(s->arena, &s->subject->trials, trial);
    add_source(s, point, suffix);
    return true;
}

static void add_points(Sampler *s, uint32_t sample, uint64_t seed) {
    const Space *space = &s->kernel->template->space;
    uint64_t *indices;
    Bindings bindings = tune_bindings(s->arena, s->bound, &s->identity);
    uint32_t count = space_allowed(space, bindings, false, s->arena, POINTS_MAX, seed, &indices);
    uint32_t step = count / (sample + 1) + 1;
    Point fallback = space_fallback(space);
    add_point(s, &fallback);
    for (uint64_t i = seed % step, added = 0; i < count && added < sample; i += step) {
        Point point = space_point(space, indices[i]);
        while (indices[i] == space_index(space, &fallback) || !add_point(s, &point)) {
            if (++i == count) return;
            point = space_point(space, indices[i]);
        }
        added++;
    }
}

void subject_add(Arena *arena, Subjects *subjects, const char *label, const Ir *ir,
                 const Kernel *kernel, const char *where, uint32_t sample, uint64_t seed) {
    Subject subject = {
        .device = subjects->device ? subjects->device : &device_shim, .label = label, .ir = ir};
    Sampler s = {.arena = arena, .subject = &subject, .kernel = kernel, .where = where};
    Why why;
    s.bound = kernel_bound(arena, kernel, ir);
    subject.device->identify(0, true, &s.identity, &why);
    add_points(&s, sample, seed);
    end_unit(&s);
    text_free(&s.source);
    array_push(arena, &subjects->list, subject);
}
