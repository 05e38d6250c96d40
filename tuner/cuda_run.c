/* In: a Run, its modules, the buffers' addresses. Out: launches on a stream, or the seconds that
 * many of them take. The idea of timing: a graph of the runs with its events inside, so that
 * neither launching nor starting the graph is in the figure. */
#include "tuner/cuda_run.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tuner/arguments.h"

enum { ARGS_MAX = 256, CLUSTER_PORTABLE = 8 };

static Outcome fail(Why *why, Outcome outcome, const char *what, const char *entry) {
    why_set(why, "%s: %s", entry, what);
    return outcome;
}

/* --- kernels */

static Outcome find_kernel(DeviceState *state, Module *module, const char *entry,
                           CudaKernel **kernel, Why *why) {
    for (uint32_t i = 0; i < module->kernels.count; i++) {
        *kernel = &module->kernels.data[i];
        if (strcmp((*kernel)->entry, entry) == 0) return OUTCOME_OK;
    }
    CUfunction function;
    CUresult error = state->cuda.ModuleGetFunction(&function, module->handle, entry);
    if (!cuda_check(&state->cuda, error, entry, why)) return cuda_outcome(error);
    const char *copy = arena_copy(module->arena, entry, strlen(entry));
    array_push(module->arena, &module->kernels, (CudaKernel){copy, function, 0});
    *kernel = &module->kernels.data[module->kernels.count - 1];
    return OUTCOME_OK;
}

/* Above 48 KiB of shared memory, static and dynamic, and in clusters of more than 8 blocks, a
 * kernel must be told first. */
static Outcome allow(DeviceState *state, CudaKernel *kernel, const Launch *launch, Why *why) {
    const Cuda *cuda = &state->cuda;
    CUresult error = CUDA_SUCCESS;
    if (launch->shared > kernel->shared) {
        error = cuda->FuncSetAttribute(
            kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch->shared);
        if (error == CUDA_ERROR_INVALID_VALUE)
            return fail(why, OUTCOME_INFEASIBLE, "needs more shared memory than the device has",
                        kernel->entry);
        kernel->shared = launch->shared;
    }
    if (error == CUDA_SUCCESS && launch->cluster > CLUSTER_PORTABLE)
        error = cuda->FuncSetAttribute(kernel->function,
                                       CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    return cuda_check(cuda, error, kernel->entry, why) ? OUTCOME_OK : cuda_outcome(error);
}

/* A kernel by name, that may be launched so; NULL where there is no name. */
static Outcome find(DeviceState *state, const Launch *launch, Module *const *modules,
                    const char *entry, CUfunction *function, Why *why) {
    CudaKernel *kernel = NULL;
    *function = NULL;
    if (!entry) return OUTCOME_OK;
    Outcome outcome = find_kernel(state, modules[launch->module], entry, &kernel, why);
    if (outcome == OUTCOME_OK) outcome = allow(state, kernel, launch, why);
    if (outcome == OUTCOME_OK) *function = kernel->function;
    return outcome;
}

/* --- what launches share */

typedef struct Ready {
    const Launch *launch;
    Arguments arguments;
    CUfunction function, twin; /* the twin takes any alignment; NULL: there is none */
    CUlaunchConfig config;     /* but for the stream */
    CUlaunchAttribute attributes[2];
} Ready;

struct Prepared {
    Arena *arena;
    DeviceState *state;
    uint32_t count;
    Ready *list; /* those that launch anything */
};

/* Compute capability 9.0 is the first that has clusters and dependent launches. */
static void set_attributes(Ready *ready, bool dependent) {
    const Launch *launch = ready->launch;
    if (launch->cluster > 1) {
        CUlaunchAttribute *cluster = &ready->attributes[ready->config.numAttrs++];
        *cluster = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
        cluster->value.clusterDim.x = (unsigned)launch->cluster;
        cluster->value.clusterDim.y = cluster->value.clusterDim.z = 1;
    }
    if (dependent) {
        CUlaunchAttribute *early = &ready->attributes[ready->config.numAttrs++];
        *early = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
        early->value.programmaticStreamSerializationAllowed = 1;
    }
    ready->config.attrs = ready->attributes;
}

static void set_config(Ready *ready, const DeviceState *state) {
    const Launch *launch = ready->launch;
    ready->config = (CUlaunchConfig){.gridDimX = (unsigned)launch->grid[0],
                                     .gridDimY = (unsigned)launch->grid[1],
                                     .gridDimZ = (unsigned)launch->grid[2],
                                     .blockDimX = (unsigned)launch->block[0],
                                     .blockDimY = (unsigned)launch->block[1],
                                     .blockDimZ = (unsigned)launch->block[2],
                                     .sharedMemBytes = (unsigned)launch->shared};
    set_attributes(ready, launch->dependent && state->dependent && state->cuda.LaunchKernelEx);
}

static Outcome make_ready(Prepared *prepared, const Launch *launch, Module *const *modules,
                          Ready *ready, Why *why) {
    DeviceState *state = prepared->state;
    ready->launch = launch;
    if (launch->arg_count > ARGS_MAX)
        return fail(why, OUTCOME_LAUNCH, "too many arguments", launch->entry);
    Outcome outcome = find(state, launch, modules, launch->entry, &ready->function, why);
    if (outcome == OUTCOME_OK && launch->alignment > 1)
        outcome = find(state, launch, modules, launch->twin, &ready->twin, why);
    if (outcome != OUTCOME_OK) return outcome;
    ready->arguments = arguments_lay(prepared->arena, launch);
    set_config(ready, state);
    if (ready->config.numAttrs > 0 && !state->cuda.LaunchKernelEx)
        return fail(why, OUTCOME_LAUNCH, "this driver has no clusters", launch->entry);
    return OUTCOME_OK;
}

Outcome cuda_prepare(DeviceState *state, const Run *run, Module *const *modules,
                     Prepared **prepared, Why *why) {
    Arena *arena = arena_open();
    Outcome outcome = OUTCOME_OK;
    Prepared *p = *prepared = arena_new(arena, Prepared);
    CUstreamCaptureMode mode = cuda_capture_mode(&state->cuda, CU_STREAM_CAPTURE_MODE_RELAXED);
    *p = (Prepared){arena, state, 0, arena_array(arena, Ready, run->launches.count)};
    for (uint32_t i = 0; outcome == OUTCOME_OK && i < run->launches.count; i++)
        if (!launch_is_empty(&run->launches.data[i]))
            outcome = make_ready(p, &run->launches.data[i], modules, &p->list[p->count++], why);
    cuda_capture_mode(&state->cuda, mode);
    if (outcome == OUTCOME_OK) return outcome;
    cuda_discard(p);
    *prepared = NULL;
    return outcome;
}

void cuda_discard(Prepared *prepared) {
    if (prepared) arena_close(prepared->arena);
}

/* --- one launch */

/* The kernel that these addresses take. */
static CUfunction choose(const Ready *ready, Address bits) {
    uint32_t alignment = ready->launch->alignment;
    return alignment <= 1 || bits % alignment == 0 ? ready->function : ready->twin;
}

static Outcome start(const Ready *ready, const DeviceState *state, const Address *buffers,
                     CUstream stream, Why *why) {
    const Cuda *cuda = &state->cuda;
    const void *pointers[ARGS_MAX];
    CUlaunchConfig config = ready->config;
    CUfunction function = choose(ready, arguments_point(&ready->arguments, buffers, pointers));
    CUresult error;
    if (!function)
        return fail(why, OUTCOME_LAUNCH, "a buffer is not aligned as it needs, and it has no twin",
                    ready->launch->entry);
    config.hStream = stream;
    if (config.numAttrs > 0)
        error = cuda->LaunchKernelEx(&config, function, (void **)pointers, NULL);
    else
        error = cuda->LaunchKernel(function, config.gridDimX, config.gridDimY, config.gridDimZ,
                                   config.blockDimX, config.blockDimY, config.blockDimZ,
                                   config.sharedMemBytes, stream, (void **)pointers, NULL);
    if (error == CUDA_SUCCESS) return OUTCOME_OK;
    cuda_check(cuda, error, ready->launch->entry, why);
    return cuda_outcome(error);
}

Outcome cuda_start(const Prepared *prepared, const Address *buffers, void *stream, Why *why) {
    const DeviceState *state = prepared->state;
    Outcome outcome = OUTCOME_OK;
    for (uint32_t i = 0; outcome == OUTCOME_OK && i < prepared->count; i++)
        outcome = start(&prepared->list[i], state, buffers, stream ? stream : state->stream, why);
    return outcome;
}

Outcome cuda_launch(DeviceState *state, const Run *run, Module *const *modules,
                    const Address *buffers, void *stream, Why *why) {
    Prepared *prepared;
    Outcome outcome = cuda_prepare(state, run, modules, &prepared, why);
    if (outcome == OUTCOME_OK) outcome = cuda_start(prepared, buffers, stream, why);
    cuda_discard(prepared);
    return outcome;
}

Outcome cuda_finish(DeviceState *state, Why *why) {
    CUresult error = state->cuda.StreamSynchronize(state->stream);
    return cuda_check(&state->cuda, error, "the kernel failed", why) ? OUTCOME_OK
                                                                     : cuda_outcome(error);
}

/* --- timing */

/* Kernels that one graph holds at most: enough that its start does not show, few enough that making
 * it takes a millisecond or two. */
enum { GRAPH_KERNELS = 1024 };

static void hash_ready(XXH3_state_t *hash, const Ready *ready, const Address *buffers) {
    const void *pointers[ARGS_MAX];
    const Launch *launch = ready->launch;
    CUfunction function = choose(ready, arguments_point(&ready->arguments, buffers, pointers));
    XXH3_64bits_update(hash, &function, sizeof function);
    XXH3_64bits_update(hash, launch->grid, sizeof launch->grid);
    XXH3_64bits_update(hash, launch->block, sizeof launch->block);
    XXH3_64bits_update(hash, &launch->cluster, sizeof launch->cluster);
    XXH3_64bits_update(hash, &launch->shared, sizeof launch->shared);
    XXH3_64bits_update(hash, &launch->dependent, sizeof launch->dependent);
    for (uint32_t i = 0; i < launch->arg_count; i++)
        XXH3_64bits_update(hash, pointers[i], sizeof(Argument));
}

static uint64_t hash_runs(const Prepared *prepared, const Address *const *buffers, uint32_t sets,
                          uint32_t runs) {
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    XXH3_64bits_update(&hash, &runs, sizeof runs);
    for (uint32_t set = 0; set < sets && set < runs; set++)
        for (uint32_t i = 0; i < prepared->count; i++)
            hash_ready(&hash, &prepared->list[i], buffers[set]);
    return XXH3_64bits_digest(&hash);
}

/* Enqueues event, runs, event into a capture. */
static Outcome enqueue(const Prepared *prepared, const Address *const *buffers, uint32_t sets,
                       uint32_t runs, Why *why) {
    const DeviceState *state = prepared->state;
    const Cuda *cuda = &state->cuda;
    CUresult error = cuda->EventRecord(state->begin, state->stream, CU_EVENT_RECORD_EXTERNAL);
    Outcome outcome = cuda_check(cuda, error, "event", why) ? OUTCOME_OK : cuda_outcome(error);
    for (uint32_t i = 0; outcome == OUTCOME_OK && i < runs; i++)
        outcome = cuda_start(prepared, buffers[i % sets], state->stream, why);
    if (outcome != OUTCOME_OK) return outcome;
    error = cuda->EventRecord(state->end, state->stream, CU_EVENT_RECORD_EXTERNAL);
    return cuda_check(cuda, error, "event", why) ? OUTCOME_OK : cuda_outcome(error);
}

static Outcome capture(const Prepared *prepared, const Address *const *buffers, uint32_t sets,
                       uint32_t runs, CUgraphExec *exec, Why *why) {
    const DeviceState *state = prepared->state;
    const Cuda *cuda = &state->cuda;
    CUgraph graph = NULL;
    CUresult error = cuda->StreamBeginCapture(state->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (!cuda_check(cuda, error, "cannot make a graph", why)) return cuda_outcome(error);
    Outcome outcome = enqueue(prepared, buffers, sets, runs, why);
    error = cuda->StreamEndCapture(state->stream, &graph);
    if (outcome == OUTCOME_OK && !cuda_check(cuda, error, "cannot make a graph", why))
        outcome = cuda_outcome(error);
    if (outcome == OUTCOME_OK) {
        error = cuda->GraphInstantiate(exec, graph, 0);
        if (!cuda_check(cuda, error, "cannot make a graph", why)) outcome = cuda_outcome(error);
    }
    if (graph) cuda->GraphDestroy(graph);
    if (outcome == OUTCOME_OK) cuda->GraphUpload(*exec, state->stream);
    return outcome;
}

/* The graph from the ring, or a new one in place of the oldest. */
static Outcome graph_of(const Prepared *prepared, const Address *const *buffers, uint32_t sets,
                        uint32_t runs, CUgraphExec *exec, Why *why) {
    DeviceState *state = prepared->state;
    uint64_t hash = hash_runs(prepared, buffers, sets, runs);
    for (uint32_t i = 0; i < TIMED_GRAPHS; i++) {
        *exec = state->graphs[i].exec;
        if (*exec && state->graphs[i].hash == hash) return OUTCOME_OK;
    }
    Outcome outcome = capture(prepared, buffers, sets, runs, exec, why);
    if (outcome != OUTCOME_OK) return outcome;
    TimedGraph *graph = &state->graphs[state->graph_next];
    if (graph->exec) state->cuda.GraphExecDestroy(graph->exec);
    *graph = (TimedGraph){hash, *exec};
    state->graph_next = (state->graph_next + 1) % TIMED_GRAPHS;
    return OUTCOME_OK;
}

void cuda_drop_graphs(DeviceState *state) {
    for (uint32_t i = 0; i < TIMED_GRAPHS; i++) {
        if (state->graphs[i].exec) state->cuda.GraphExecDestroy(state->graphs[i].exec);
        state->graphs[i].exec = NULL;
    }
}

static Outcome replay(DeviceState *state, CUgraphExec exec, double *seconds, Why *why) {
    const Cuda *cuda = &state->cuda;
    float milliseconds = 0;
    CUresult error = cuda->GraphLaunch(exec, state->stream);
    if (!cuda_check(cuda, error, "the graph did not start", why)) return cuda_outcome(error);
    Outcome outcome = cuda_finish(state, why);
    if (outcome != OUTCOME_OK) return outcome;
    error = cuda->EventElapsedTime(&milliseconds, state->begin, state->end);
    if (!cuda_check(cuda, error, "no time", why)) return cuda_outcome(error);
    *seconds += 1e-3 * (double)milliseconds;
    return OUTCOME_OK;
}

/* Runs of one graph: all that are left, or as many as keep the rotation over the sets whole. */
static uint32_t graph_runs(const Run *run, uint32_t sets, uint32_t left) {
    uint32_t most = GRAPH_KERNELS / (run->launches.count ? run->launches.count : 1);
    if (most < sets) most = sets;
    return left <= most ? left : most - most % sets;
}

/* Kernels are found before a capture begins: loading one inside is not allowed. */
Outcome cuda_time(DeviceState *state, const Run *run, Module *const *modules,
                  const Address *const *buffers, uint32_t sets, uint32_t repeats, double *seconds,
                  Why *why) {
    Prepared *prepared;
    Outcome outcome = cuda_prepare(state, run, modules, &prepared, why);
    *seconds = 0;
    for (uint32_t done = 0, runs; outcome == OUTCOME_OK && done < repeats; done += runs) {
        CUgraphExec exec;
        runs = graph_runs(run, sets, repeats - done);
        outcome = graph_of(prepared, buffers, sets, runs, &exec, why);
        if (outcome == OUTCOME_OK) outcome = replay(state, exec, seconds, why);
    }
    cuda_discard(prepared);
    return outcome;
}
