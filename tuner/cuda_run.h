/* Launching and timing Runs on a CUDA device. */
#ifndef KF_CUDA_RUN_H
#define KF_CUDA_RUN_H

#include "tuner/cuda_driver.h"

typedef struct CudaKernel {
    const char *entry; /* a copy */
    CUfunction function;
    int32_t shared; /* dynamic shared memory allowed so far */
} CudaKernel;

struct Module {
    CUmodule handle;
    Arena *arena; /* the module and all its names */
    ARRAY(CudaKernel) kernels;
};

/* A graph of `runs` runs with an event before and one behind. */
typedef struct TimedGraph {
    uint64_t hash; /* of all that its launches are made of */
    CUgraphExec exec;
} TimedGraph;

enum { TIMED_GRAPHS = 64 };

struct DeviceState {
    Cuda cuda;
    CUdevice device;
    CUcontext context;
    bool own;       /* context, stream and events are ours */
    bool dependent; /* the device has dependent launches */
    CUstream stream;
    CUevent begin, end;
    TimedGraph graphs[TIMED_GRAPHS]; /* a ring: graphs[graph_next] is the oldest */
    uint32_t graph_next;
    struct Nvml *nvml; /* opened when first asked for */
};

/* See Device. */
Outcome cuda_launch(DeviceState *state, const Run *run, Module *const *modules,
                    const Address *buffers, void *stream, Why *why);
Outcome cuda_prepare(DeviceState *state, const Run *run, Module *const *modules,
                     Prepared **prepared, Why *why);
Outcome cuda_start(const Prepared *prepared, const Address *buffers, void *stream, Why *why);
void cuda_discard(Prepared *prepared);
Outcome cuda_finish(DeviceState *state, Why *why);
Outcome cuda_time(DeviceState *state, const Run *run, Module *const *modules,
                  const Address *const *buffers, uint32_t sets, uint32_t repeats, double *seconds,
                  Why *why);
/* Graphs hold kernels of loaded modules: dropped before any of these goes. */
void cuda_drop_graphs(DeviceState *state);

#endif
