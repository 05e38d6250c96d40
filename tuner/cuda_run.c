/* In: a Run, its modules, the buffers' addresses. Out: launches on a stream, or the seconds that
 * many of them take. The idea of timing: a graph of the runs with its events inside, so that
 * neither launching nor starting the graph is in the figure. */
#include "tuner/cuda_run.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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

static bool aligned(const Launch *launch, const Address *buffers) {
    Address bits = 0;
    for (uint32_t i = 0; i < launch->arg_count; i++)
        if (launch->args[i].kind == ARG_BUFFER) bits |= buffers[launch->args[i].buffer];
    return launch->alignment <= 1 || bits % launch->alignment == 0;
}

/* The kernel that these addresses take: the entry, or its twin for any alignment. */
static Outcome choose(DeviceState *state, const Launch *launch, Module *const *modules,
                      const Address *buffers, CudaKernel **kernel, Why *why) {
    const char *entry = aligned(launch, buffers) ? launch->entry : launch->twin;
    if (!entry)
        return fail(why, OUTCOME_LAUNCH, "a buffer is not aligned as it needs, and it has no twin",
                    launch->entry);
    Outcome outcome = find_kernel(state, modules[launch->module], entry, kernel, why);
    return outcome == OUTCOME_OK ? allow(state, *kernel, launch, why) : outcome;
}

/* --- one launch */

typedef union Parameter {
    Address address;
    int64_t i64;
    int32_t i32;
    float f32;
    double f64;
} Parameter;

static Parameter parameter(const Arg *arg, const Address *buffers) {
    Parameter value = {.i64 = 0}; /* every byte set: it is hashed */
    switch (arg->kind) {
    case ARG_BUFFER: value.address = buffers[arg->buffer]; break;
    case ARG_I64: value.i64 = arg->value.whole; break;
    case ARG_I32: value.i32 = (int32_t)arg->value.whole; break;
    case ARG_F32: value.f32 = (float)arg->value.real; break;
    case ARG_F64: value.f64 = arg->value.real; break;
    }
    return value;
}

static bool nothing(const Launch *launch) {
    return launch->grid[0] == 0 || launch->grid[1] == 0 || launch->grid[2] == 0;
}

static uint32_t launch_attributes(const Launch *launch, bool dependent,
                                  CUlaunchAttribute attributes[2]) {
    uint32_t count = 0;
    if (launch->cluster > 1) {
        CUlaunchAttribute *cluster = &attributes[count++];
        *cluster = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
        cluster->value.clusterDim.x = (unsigned)launch->cluster;
        cluster->value.clusterDim.y = cluster->value.clusterDim.z = 1;
    }
    if (dependent) {
        CUlaunchAttribute *early = &attributes[count++];
        *early = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
        early->value.programmaticStreamSerializationAllowed = 1;
    }
    return count;
}

/* Compute capability 9.0 is the first that has clusters and dependent launches. */
static CUresult launch_kernel(const DeviceState *state, const Launch *launch, CUfunction function,
                              CUstream stream, void **parameters) {
    const Cuda *cuda = &state->cuda;
    CUlaunchAttribute attributes[2];
    bool dependent = launch->dependent && state->dependent && cuda->LaunchKernelEx;
    CUlaunchConfig config = {(unsigned)launch->grid[0],
                             (unsigned)launch->grid[1],
                             (unsigned)launch->grid[2],
                             (unsigned)launch->block[0],
                             (unsigned)launch->block[1],
                             (unsigned)launch->block[2],
                             (unsigned)launch->shared,
                             stream,
                             attributes,
                             launch_attributes(launch, dependent, attributes)};
    if (config.numAttrs == 0)
        return cuda->LaunchKernel(function, config.gridDimX, config.gridDimY, config.gridDimZ,
                                  config.blockDimX, config.blockDimY, config.blockDimZ,
                                  config.sharedMemBytes, stream, parameters, NULL);
    if (!cuda->LaunchKernelEx) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return cuda->LaunchKernelEx(&config, function, parameters, NULL);
}

static Outcome launch_one(DeviceState *state, const Launch *launch, Module *const *modules,
                          const Address *buffers, CUstream stream, Why *why) {
    const Cuda *cuda = &state->cuda;
    Parameter values[ARGS_MAX];
    void *parameters[ARGS_MAX];
    CudaKernel *kernel;
    if (launch->arg_count > ARGS_MAX)
        return fail(why, OUTCOME_LAUNCH, "too many arguments", launch->entry);
    Outcome outcome = choose(state, launch, modules, buffers, &kernel, why);
    if (outcome != OUTCOME_OK) return outcome;
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        values[i] = parameter(&launch->args[i], buffers);
        parameters[i] = &values[i];
    }
    CUresult error = launch_kernel(state, launch, kernel->function, stream, parameters);
    return cuda_check(cuda, error, kernel->entry, why) ? OUTCOME_OK : cuda_outcome(error);
}

Outcome cuda_launch(DeviceState *state, const Run *run, Module *const *modules,
                    const Address *buffers, void *stream, Why *why) {
    Outcome outcome = OUTCOME_OK;
    for (uint32_t i = 0; outcome == OUTCOME_OK && i < run->launches.count; i++)
        if (!nothing(&run->launches.data[i]))
            outcome = launch_one(state, &run->launches.data[i], modules, buffers,
                                 stream ? stream : state->stream, why);
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

static void hash_launch(XXH3_state_t *hash, const Launch *launch, const CudaKernel *kernel,
                        const Address *buffers) {
    XXH3_64bits_update(hash, &kernel->function, sizeof kernel->function);
    XXH3_64bits_update(hash, launch->grid, sizeof launch->grid);
    XXH3_64bits_update(hash, launch->block, sizeof launch->block);
    XXH3_64bits_update(hash, &launch->cluster, sizeof launch->cluster);
    XXH3_64bits_update(hash, &launch->shared, sizeof launch->shared);
    XXH3_64bits_update(hash, &launch->dependent, sizeof launch->dependent);
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        Parameter value = parameter(&launch->args[i], buffers);
        XXH3_64bits_update(hash, &value, sizeof value);
    }
}

/* Also finds every kernel before a capture begins: loading one inside is not allowed. */
static Outcome hash_runs(DeviceState *state, const Run *run, Module *const *modules,
                         const Address *const *buffers, uint32_t sets, uint32_t runs,
                         uint64_t *digest, Why *why) {
    XXH3_state_t hash;
    XXH3_64bits_reset(&hash);
    XXH3_64bits_update(&hash, &runs, sizeof runs);
    for (uint32_t set = 0; set < sets && set < runs; set++) {
        for (uint32_t i = 0; i < run->launches.count; i++) {
            const Launch *launch = &run->launches.data[i];
            CudaKernel *kernel;
            if (nothing(launch)) continue;
            Outcome outcome = choose(state, launch, modules, buffers[set], &kernel, why);
            if (outcome != OUTCOME_OK) return outcome;
            hash_launch(&hash, launch, kernel, buffers[set]);
        }
    }
    *digest = XXH3_64bits_digest(&hash);
    return OUTCOME_OK;
}

/* Enqueues event, runs, event into a capture. */
static Outcome enqueue(DeviceState *state, const Run *run, Module *const *modules,
                       const Address *const *buffers, uint32_t sets, uint32_t runs, Why *why) {
    const Cuda *cuda = &state->cuda;
    CUresult error = cuda->EventRecord(state->begin, state->stream, CU_EVENT_RECORD_EXTERNAL);
    Outcome outcome = cuda_check(cuda, error, "event", why) ? OUTCOME_OK : cuda_outcome(error);
    for (uint32_t i = 0; outcome == OUTCOME_OK && i < runs; i++)
        outcome = cuda_launch(state, run, modules, buffers[i % sets], state->stream, why);
    if (outcome != OUTCOME_OK) return outcome;
    error = cuda->EventRecord(state->end, state->stream, CU_EVENT_RECORD_EXTERNAL);
    return cuda_check(cuda, error, "event", why) ? OUTCOME_OK : cuda_outcome(error);
}

static Outcome capture(DeviceState *state, const Run *run, Module *const *modules,
                       const Address *const *buffers, uint32_t sets, uint32_t runs,
                       CUgraphExec *exec, Why *why) {
    const Cuda *cuda = &state->cuda;
    CUgraph graph = NULL;
    CUresult error = cuda->StreamBeginCapture(state->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (!cuda_check(cuda, error, "cannot make a graph", why)) return cuda_outcome(error);
    Outcome outcome = enqueue(state, run, modules, buffers, sets, runs, why);
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
static Outcome graph_of(DeviceState *state, const Run *run, Module *const *modules,
                        const Address *const *buffers, uint32_t sets, uint32_t runs,
                        CUgraphExec *exec, Why *why) {
    uint64_t hash;
    Outcome outcome = hash_runs(state, run, modules, buffers, sets, runs, &hash, why);
    if (outcome != OUTCOME_OK) return outcome;
    for (uint32_t i = 0; i < TIMED_GRAPHS; i++) {
        *exec = state->graphs[i].exec;
        if (*exec && state->graphs[i].hash == hash) return OUTCOME_OK;
    }
    outcome = capture(state, run, modules, buffers, sets, runs, exec, why);
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

Outcome cuda_time(DeviceState *state, const Run *run, Module *const *modules,
                  const Address *const *buffers, uint32_t sets, uint32_t repeats, double *seconds,
                  Why *why) {
    Outcome outcome = OUTCOME_OK;
    *seconds = 0;
    for (uint32_t done = 0, runs; outcome == OUTCOME_OK && done < repeats; done += runs) {
        CUgraphExec exec;
        runs = graph_runs(run, sets, repeats - done);
        outcome = graph_of(state, run, modules, buffers, sets, runs, &exec, why);
        if (outcome == OUTCOME_OK) outcome = replay(state, exec, seconds, why);
    }
    return outcome;
}
