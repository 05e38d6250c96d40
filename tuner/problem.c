/* In: an elementwise program and a device. Out: a TuneProblem. The idea: every kernel of the run,
 * the fused one, each eager step and the roof's stream, goes through the same plan, emit and
 * tune_run. */
#include "tuner/problem.h"

#include <inttypes.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

const Template *problem_template(Arena *arena, const Device *device, const Plan *plan) {
    return strcmp(device->language, "cuda") == 0 ? emit_cuda(arena, plan) : emit_c(arena, plan);
}

static const char *keep(Arena *arena, Text *text) {
    const char *copy = arena_copy(arena, text_string(text), text->length);
    text_free(text);
    return copy;
}

const char *problem_shape(Arena *arena, const Ir *ir) {
    Text text = {0};
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        if (i > 0) text_add(&text, "; ");
        shape_print(&text, &ir->inputs.data[i].type);
        for (uint32_t d = 0; d < ir->inputs.data[i].type.rank; d++)
            text_printf(&text, "%c%" PRId64, d == 0 ? '/' : ',', ir->inputs.data[i].strides[d]);
    }
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        text_add(&text, i == 0 ? " -> " : "; ");
        shape_print(&text, &ir->outputs.data[i].type);
    }
    return keep(arena, &text);
}

const char *problem_space(Arena *arena, const Ir *ir) {
    const Type *widest = &ir->outputs.data[0].type;
    for (uint32_t i = 1; i < ir->outputs.count; i++)
        if (type_count(&ir->outputs.data[i].type) > type_count(widest))
            widest = &ir->outputs.data[i].type;
    Text text = {0};
    shape_print(&text, widest);
    return keep(arena, &text);
}

/* --- the edges */

static bool bind_edges(Arena *arena, const Ir *ir, const Plan *main, TuneProblem *problem) {
    uint32_t count;
    const Ir *const *edges = gate_shapes(arena, ir, &count);
    const Plan **plans = arena_array(arena, const Plan *, count + 1);
    plans[0] = main;
    for (uint32_t i = 0; i < count; i++) {
        plans[i + 1] = plan_like(arena, main, edges[i]);
        if (!plans[i + 1]) return false;
    }
    problem->plans = plans;
    problem->plan_count = count + 1;
    return true;
}

/* --- companions */

/* A longer chain is not timed: its temporaries alone would not fit. */
enum { EAGER_STEPS = 64, ROOFS = 4 };

/* One step of the eager chain: its template at the analytic default, launched on the whole
 * program's buffers. */
static uint32_t buffer_of(const Ir *ir, EagerRef ref) {
    switch (ref.place) {
    case EAGER_INPUT: return ref.index;
    case EAGER_OUTPUT: return ir->inputs.count + ref.index;
    case EAGER_TEMPORARY: break;
    }
    return ir->inputs.count + ir->outputs.count + ref.index;
}

static void rename_buffers(const TuneProblem *problem, const EagerStep *step, Launch *launch) {
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        Arg *arg = &launch->args[i];
        if (arg->kind != ARG_BUFFER) continue;
        bool result = arg->buffer >= step->ir->inputs.count;
        arg->buffer =
            buffer_of(problem->ir, result ? step->result : step->operands.data[arg->buffer]);
    }
}

static const char *instance(Arena *arena, const Template *template, const Point *point) {
    Text source = {0};
    template_instantiate(&source, template, point, tune_suffix(arena, &template->space, point));
    return keep(arena, &source);
}

/* The analytic default where it is legal for this shape, else the first point that is. */
static Point default_point(Arena *arena, const Template *template, const Plan *plan,
                           const DeviceIdentity *identity) {
    Point point = space_fallback(&template->space);
    Bindings bindings = tune_bindings(arena, plan, identity);
    uint64_t *indices;
    if (space_allows(&template->space, &point, bindings, false) ||
        space_allowed(&template->space, bindings, true, arena, 1, 0, &indices) == 0)
        return point;
    return space_point(&template->space, indices[0]);
}

/* Steps of one kernel share its module. */
static bool eager_run(Arena *arena, const TuneProblem *problem, const Eager *eager, Run *run,
                      const char **sources, uint32_t *modules, Why *why) {
    for (uint32_t t = 0; t < eager->temporaries.count; t++)
        array_push(arena, &run->temporaries, type_bytes(&eager->temporaries.data[t]));
    for (uint32_t s = 0; s < eager->steps.count; s++) {
        const EagerStep *step = &eager->steps.data[s];
        Groups groups = fuse(arena, step->ir);
        if (groups.list.data[0].kind != GROUP_ELEMENTWISE)
            return why_set(why, "no kernel for the eager step '%s'", step->label);
        const Plan *step_plan = plan(arena, step->ir, &groups.list.data[0]);
        const Template *template = problem_template(arena, problem->device, step_plan);
        Point point = default_point(arena, template, step_plan, problem->identity);
        const char *reason = "";
        uint32_t first = run->launches.count;
        if (!tune_run(arena, template, step_plan, &point, problem->identity, run, &reason))
            return why_set(why, "eager step '%s': %s", step->label, reason);
        const char *source = instance(arena, template, &point);
        uint32_t module = 0;
        while (module < *modules && strcmp(sources[module], source) != 0) module++;
        if (module == *modules) sources[(*modules)++] = source;
        for (uint32_t i = first; i < run->launches.count; i++) {
            run->launches.data[i].module = module;
            rename_buffers(problem, step, &run->launches.data[i]);
        }
    }
    return true;
}

/* Inputs and outputs of full size: what a stream of this mix reads and writes. */
static uint32_t full_size(const Plan *p, bool stores) {
    uint32_t count = 0;
    uint32_t total = stores ? p->stores.count : p->loads.count;
    const Access *list = stores ? p->stores.data : p->loads.data;
    for (uint32_t i = 0; i < total; i++) count += stores || list[i].class == ACCESS_DENSE;
    return count;
}

static int64_t stream_bytes(const Plan *p, const Access *access) {
    return p->count * dtype_info(access->dtype)->bytes / 16 * 16;
}

int64_t problem_roof_bytes(const Plan *p) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < p->loads.count; i++)
        if (p->loads.data[i].class == ACCESS_DENSE) bytes += stream_bytes(p, &p->loads.data[i]);
    for (uint32_t i = 0; i < p->stores.count; i++) bytes += stream_bytes(p, &p->stores.data[i]);
    return bytes;
}

const char *problem_roof_text(Arena *arena, const Plan *p) {
    uint32_t reads = full_size(p, false), writes = full_size(p, true);
    return arena_printf(arena, "%u read%s and %u write%s", reads, reads == 1 ? "" : "s", writes,
                        writes == 1 ? "" : "s");
}

/* The stream's parameters are its arrays, reads first, then the bytes of each. */
static Plan *stream_plan(Arena *arena, const Plan *p) {
    Plan *stream = arena_new(arena, Plan);
    Binding *bytes = arena_array(arena, Binding, p->loads.count + p->stores.count);
    uint32_t n = 0;
    *stream = (Plan){.ir = p->ir};
    for (uint32_t i = 0; i < p->loads.count; i++) {
        Access access = p->loads.data[i];
        if (access.class != ACCESS_DENSE) continue;
        access.name = arena_printf(arena, "in%u", n);
        array_push(arena, &stream->loads, access);
        bytes[n] = (Binding){arena_printf(arena, "bytes%u", n), stream_bytes(p, &access)};
        n++;
    }
    for (uint32_t i = 0; i < p->stores.count; i++) {
        Access access = p->stores.data[i];
        access.name = arena_printf(arena, "out%u", i);
        array_push(arena, &stream->stores, access);
        bytes[n] = (Binding){arena_printf(arena, "bytes%u", n), stream_bytes(p, &access)};
        n++;
    }
    stream->bindings = (Bindings){bytes, n};
    return stream;
}

/* Several points of the stream's template; the fastest is the roof. */
static bool add_roofs(Arena *arena, TuneProblem *problem, Companion *list, Why *why) {
    const Plan *p = problem->plans[0], *stream = stream_plan(arena, p);
    const Template *template =
        emit_stream(arena, problem->device->language, full_size(p, false), full_size(p, true));
    uint64_t size = space_size(&template->space);
    uint64_t roofs = size < ROOFS ? size : ROOFS;
    for (uint64_t i = 0; i < roofs; i++) {
        Run *run = arena_new(arena, Run);
        const char **source = arena_new(arena, const char *), *reason = "";
        Point point = space_point(&template->space, i * size / roofs);
        if (!tune_run(arena, template, stream, &point, problem->identity, run, &reason))
            return why_set(why, "roof: %s", reason);
        *source = instance(arena, template, &point);
        list[problem->companion_count++] = (Companion){
            COMPANION_ROOF, arena_printf(arena, "roof.%u", (unsigned)i), run, source, 1};
    }
    return true;
}

bool problem_companions(Arena *arena, const Eager *eager, TuneProblem *problem, Why *why) {
    Companion *list = arena_array(arena, Companion, ROOFS + 1);
    Run *run = arena_new(arena, Run);
    const char **sources = arena_array(arena, const char *, eager ? eager->steps.count + 1 : 1);
    problem->companions = list;
    if (eager && eager->steps.count > 0 && eager->steps.count <= EAGER_STEPS) {
        uint32_t modules = 0;
        if (!eager_run(arena, problem, eager, run, sources, &modules, why)) return false;
        list[problem->companion_count++] =
            (Companion){COMPANION_EAGER, "eager", run, sources, modules};
    }
    return problem->plan_count == 0 || problem_roof_bytes(problem->plans[0]) == 0 ||
           add_roofs(arena, problem, list, why);
}

/* --- the key */

static int64_t bucket(int64_t extent) {
    int64_t power = 1;
    while (power < extent) power *= 2;
    return power;
}

static const char *key_text(Arena *arena, const TuneProblem *p, const ProblemOptions *options) {
    const Plan *main = p->plans[0];
    Text text = {0}, canonical = {0};
    ir_print(&canonical, p->ir, true);
    text_printf(&text, "template=%016" PRIx64 "\n", p->template->hash);
    text_printf(&text, "ir=%016" PRIx64 "\n",
                (uint64_t)XXH3_64bits(canonical.data, canonical.length));
    text_add(&text, "class=");
    plan_class_print(&text, main);
    text_add(&text, "\nbucket=");
    for (uint32_t i = 0; i < main->rank; i++)
        text_printf(&text, "%s%" PRId64, i ? "x" : "",
                    options->exact ? main->extent[i] : bucket(main->extent[i]));
    text_printf(&text, "%s\nmath=%s\nmode=%s\ndevice=%s\ncompiler=%s\n",
                options->exact ? " exact" : "", options->math, options->hot ? "hot" : "cold",
                p->identity->key, p->identity->compiler);
    text_free(&canonical);
    return keep(arena, &text);
}

bool problem_build(Arena *arena, const Device *device, int index, const DeviceIdentity *identity,
                   const Ir *ir, const Ir *rounded, const Eager *eager,
                   const ProblemOptions *options, Store *store, TuneProblem *problem, Why *why) {
    *problem = (TuneProblem){.device = device,
                             .index = index,
                             .identity = identity,
                             .ir = ir,
                             .rounded = rounded,
                             .store = store};
    Groups groups = fuse(arena, ir);
    const Plan *main = plan(arena, ir, &groups.list.data[0]);
    problem->template = problem_template(arena, device, main);
    if (!bind_edges(arena, ir, main, problem))
        return why_set(why, "an edge shape does not fit the plan's class");
    problem->key = (StoreKey){key_text(arena, problem, options), problem_shape(arena, ir)};
    return !options->companions || problem_companions(arena, eager, problem, why);
}
