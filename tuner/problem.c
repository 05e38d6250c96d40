/* In: a program, its kernels and a device. Out: a TuneProblem. The idea: every kernel of the run,
 * the fused one, each eager step and the roof's stream, goes through the same kernel_bound and
 * tune_run. */
#include "tuner/problem.h"

#include <inttypes.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static const char *keep(Arena *arena, Text *text) {
    const char *copy = arena_copy(arena, text_string(text), text->length);
    text_free(text);
    return copy;
}

/* All axes of the shape's text, "4096x4096; 4096", as the store tells exact shapes apart. */
static const char *exact_shape(Arena *arena, const Ir *ir) {
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

/* --- the kernels, bound to the real shape and to the edges */

static const Bound *const *bind_shapes(Arena *arena, const Kernel *kernel, const Ir *ir,
                                       const Ir *const *edges, uint32_t count) {
    const Bound **bounds = arena_array(arena, const Bound *, count + 1);
    bounds[0] = kernel_bound(arena, kernel, ir);
    for (uint32_t i = 0; i < count; i++) bounds[i + 1] = kernel_bound(arena, kernel, edges[i]);
    return bounds;
}

static void bind_kernels(Arena *arena, const Kernels *kernels, TuneProblem *problem) {
    const Ir *const *edges = gate_shapes(arena, problem->ir, &problem->edge_count);
    if (problem->given && problem->given->references) problem->edge_count = 0;
    TuneKernel *list = arena_array(arena, TuneKernel, kernels->list.count);
    for (uint32_t i = 0; i < kernels->list.count; i++) {
        const Kernel *kernel = &kernels->list.data[i];
        list[i] = (TuneKernel){*kernel,
                               bind_shapes(arena, kernel, problem->ir, edges, problem->edge_count)};
    }
    problem->kernels = list;
    problem->kernel_count = kernels->list.count;
}

/* --- companions */

/* A longer chain is not timed: its temporaries alone would not fit. */
enum { EAGER_STEPS = 64, ROOFS = 4 };

static void rename_buffers(const TuneProblem *problem, const Step *step, Launch *launch) {
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        Arg *arg = &launch->args[i];
        if (arg->kind == ARG_BUFFER) arg->buffer = chain_rename(problem->ir, step, 0, arg->buffer);
    }
}

static const char *instance(Arena *arena, const Template *template, const Point *point) {
    Text source = {0};
    template_instantiate(&source, template, point, tune_suffix(arena, &template->space, point));
    return keep(arena, &source);
}

/* The module with this source; steps of one kernel share it. */
static uint32_t module_of(const char **sources, uint32_t *modules, const char *source) {
    uint32_t module = 0;
    while (module < *modules && strcmp(sources[module], source) != 0) module++;
    if (module == *modules) sources[(*modules)++] = source;
    return module;
}

/* One step of the eager chain: its kernel at the analytic default, launched on the whole program's
 * buffers; its workspace is one of the run's temporaries already. */
static bool add_step(Arena *arena, const TuneProblem *problem, const Step *step,
                     const Kernel *kernel, Run *run, const char **sources, uint32_t *modules,
                     Why *why) {
    const Bound *bound = kernel_bound(arena, kernel, step->ir);
    const Template *template = kernel->template;
    Bindings bindings = tune_bindings(arena, bound, problem->identity);
    Point point = space_fallback(&template->space); /* illegal here: its twin runs */
    const char *reason = "";
    uint32_t first = run->launches.count;
    space_default(&template->space, bindings, &point);
    if (!tune_run(arena, template, bound, &point, problem->identity, run, &reason))
        return why_set(why, "eager step '%s': %s", step->label, reason);
    uint32_t module = module_of(sources, modules, instance(arena, template, &point));
    for (uint32_t i = first; i < run->launches.count; i++) {
        run->launches.data[i].module = module;
        rename_buffers(problem, step, &run->launches.data[i]);
    }
    return true;
}

/* The chain's kernels, step by step; NULL where one has none. */
static const Kernel *step_kernels(Arena *arena, const Library *library, const Chain *eager) {
    Kernel *kernels = arena_array(arena, Kernel, eager->steps.count);
    for (uint32_t s = 0; s < eager->steps.count; s++) {
        Kernels found = kernels_find(arena, library, eager->steps.data[s].ir);
        if (found.list.count == 0) return NULL;
        kernels[s] = found.list.data[0];
    }
    return kernels;
}

static bool eager_run(Arena *arena, const TuneProblem *problem, const Chain *eager,
                      const Kernel *kernels, Run *run, const char **sources, uint32_t *modules,
                      Why *why) {
    for (uint32_t t = 0; t < eager->temporaries.count; t++)
        array_push(arena, &run->temporaries, eager->temporaries.data[t]);
    for (uint32_t s = 0; s < eager->steps.count; s++)
        if (!add_step(arena, problem, &eager->steps.data[s], &kernels[s], run, sources, modules,
                      why))
            return false;
    return true;
}

/* Inputs and outputs of full size: what a stream of this mix reads and writes. */
static uint32_t full_size(const Bound *bound, bool outputs) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        count += bound->tensors.data[i].full && bound->tensors.data[i].output == outputs;
    return count;
}

static int64_t stream_bytes(const BoundTensor *tensor) {
    return tensor->count * dtype_info(tensor->dtype)->bytes / 16 * 16;
}

/* A stream that only reads has nothing to show for it: a compiler leaves its loads out. */
int64_t problem_roof_bytes(const Bound *bound) {
    int64_t bytes = 0;
    if (full_size(bound, true) == 0) return 0;
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        if (bound->tensors.data[i].full) bytes += stream_bytes(&bound->tensors.data[i]);
    return bytes;
}

const char *problem_roof_text(Arena *arena, const Bound *bound) {
    uint32_t reads = full_size(bound, false), writes = full_size(bound, true);
    return arena_printf(arena, "%u read%s and %u write%s", reads, reads == 1 ? "" : "s", writes,
                        writes == 1 ? "" : "s");
}

int64_t problem_operations(const Ir *ir) {
    int64_t operations = 0;
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        if (node->op != IR_MATMUL) continue;
        const Type *a = &ir_node(ir, node->arg[0])->type;
        operations += 2 * type_count(&node->type) * a->dim[a->rank - 1];
    }
    return operations;
}

/* The stream's parameters are its arrays, reads first, then the bytes of each. */
static Bound *stream_bound(Arena *arena, const Bound *bound) {
    Bound *stream = arena_new(arena, Bound);
    Binding *bytes = arena_array(arena, Binding, bound->tensors.count);
    uint32_t n = 0, reads = 0, writes = 0;
    *stream = (Bound){.ir = bound->ir};
    for (uint32_t i = 0; i < bound->tensors.count; i++) {
        BoundTensor tensor = bound->tensors.data[i];
        if (!tensor.full) continue;
        tensor.name = tensor.output ? arena_printf(arena, "out%u", writes++)
                                    : arena_printf(arena, "in%u", reads++);
        array_push(arena, &stream->tensors, tensor);
        bytes[n] = (Binding){arena_printf(arena, "bytes%u", n), stream_bytes(&tensor)};
        n++;
    }
    stream->sizes = (Bindings){bytes, n};
    return stream;
}

/* Several points of the stream's template; the fastest is the roof. */
static bool add_roofs(Arena *arena, TuneProblem *problem, Companion *list, Why *why) {
    const Bound *main = problem->kernels[0].bounds[0], *stream = stream_bound(arena, main);
    const Template *template = emit_stream(arena, problem->device->language, full_size(main, false),
                                           full_size(main, true));
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

bool problem_companions(Arena *arena, const Chain *eager, const Library *library,
                        TuneProblem *problem, Why *why) {
    Companion *list = arena_array(arena, Companion, ROOFS + 1);
    Run *run = arena_new(arena, Run);
    const char **sources = arena_array(arena, const char *, eager ? eager->steps.count + 1 : 1);
    bool timed = eager && eager->steps.count > 0 && eager->steps.count <= EAGER_STEPS;
    const Kernel *kernels = timed ? step_kernels(arena, library, eager) : NULL;
    problem->companions = list;
    if (kernels) {
        uint32_t modules = 0;
        if (!eager_run(arena, problem, eager, kernels, run, sources, &modules, why)) return false;
        list[problem->companion_count++] =
            (Companion){COMPANION_EAGER, "eager", run, sources, modules};
    }
    return problem->kernel_count == 0 || problem_roof_bytes(problem->kernels[0].bounds[0]) == 0 ||
           add_roofs(arena, problem, list, why);
}

/* --- the key */

int64_t problem_bucket(int64_t extent) {
    int64_t power = 1;
    while (power < extent) power *= 2;
    return power;
}

static void key_kernel(Text *text, const TuneKernel *k, bool exact) {
    const Bound *bound = k->bounds[0];
    text_printf(text, "template=%016" PRIx64 "\nclass=", k->kernel.template->hash);
    kernel_class_print(text, &k->kernel);
    text_add(text, "\nbucket=");
    for (uint32_t i = 0; i < bound->rank; i++)
        text_printf(text, "%s%" PRId64, i ? "x" : "",
                    exact ? bound->extent[i] : problem_bucket(bound->extent[i]));
    text_add(text, exact ? " exact\n" : "\n");
}

static const char *key_text(Arena *arena, const TuneProblem *p, const ProblemOptions *options) {
    Text text = {0}, canonical = {0};
    for (uint32_t i = 0; i < p->kernel_count; i++)
        key_kernel(&text, &p->kernels[i], options->exact);
    ir_print(&canonical, p->ir, true);
    if (p->given) text_printf(&text, "data=%016" PRIx64 "\n", p->given->hash);
    text_printf(&text, "ir=%016" PRIx64 "\nmath=%s\nmode=%s\ndevice=%s\ncompiler=%s\n",
                (uint64_t)XXH3_64bits(canonical.data, canonical.length), options->math,
                options->hot ? "hot" : "cold", p->identity->key, p->identity->compiler);
    text_free(&canonical);
    return keep(arena, &text);
}

void problem_build(Arena *arena, const TuneProblem *where, const Ir *ir, const Ir *rounded,
                   const Kernels *kernels, const ProblemOptions *options, TuneProblem *problem) {
    *problem = *where;
    problem->ir = ir;
    problem->rounded = rounded;
    bind_kernels(arena, kernels, problem);
    problem->key = (StoreKey){key_text(arena, problem, options), exact_shape(arena, ir)};
}
