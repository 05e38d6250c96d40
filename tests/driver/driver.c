/* In: the calls of cuda_api.h. Out: what they would do, with a list of contexts for each thread and counts. */
#include "tests/driver/driver.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
/* Also where the toolkit's header is not there to declare them. */
#define CALL(symbol, ...)                \
    EXPORT CUresult symbol(__VA_ARGS__); \
    EXPORT CUresult symbol(__VA_ARGS__)

enum {
    STACK = 16,
    NAME = 32,
    INVALID_CONTEXT = 201,
    CAPTURE_UNSUPPORTED = 900,
    NOT_SUPPORTED = 801
};

struct CUctx_st {
    int unused;
};
struct CUmod_st {
    CUcontext context;
};
struct CUfunc_st {
    CUcontext context;
    char name[NAME];
    struct CUfunc_st *next;
};
typedef struct Block { /* before each allocation */
    CUcontext context;
    char pad[8];
} Block;

static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;
static _Thread_local CUstreamCaptureMode mode;
static struct CUctx_st primary;
static atomic_int modules, allocations, launches, twins, faults, capturing;
static _Atomic(CUfunction) functions; /* kept for ever: a test's process is short */

static CUcontext current(void) {
    return depth > 0 ? stack[depth - 1] : NULL;
}

static CUresult in_context(CUcontext context) {
    if (context && context == current()) return CUDA_SUCCESS;
    atomic_fetch_add(&faults, 1);
    return (CUresult)INVALID_CONTEXT;
}

/* What a capture forbids to threads that have not said that they know. */
static CUresult in_capture(void) {
    if (!atomic_load(&capturing) || mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    atomic_fetch_add(&faults, 1);
    return (CUresult)CAPTURE_UNSUPPORTED;
}

CALL(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *exchanged) {
    CUstreamCaptureMode before = mode;
    mode = *exchanged;
    *exchanged = before;
    return CUDA_SUCCESS;
}

/* --- what it is */

CALL(cuInit, unsigned int flags) {
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CALL(cuGetErrorName, CUresult error, const char **name) {
    *name = (int)error == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT" : "CUDA_ERROR";
    return CUDA_SUCCESS;
}
CALL(cuGetErrorString, CUresult error, const char **text) {
    *text = error == CUDA_SUCCESS ? "no error" : "an error";
    return CUDA_SUCCESS;
}
CALL(cuDeviceGet, CUdevice *device, int ordinal) {
    *device = ordinal;
    return CUDA_SUCCESS;
}
CALL(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
}

/* --- contexts */

CALL(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device) {
    (void)device;
    *context = &primary;
    return CUDA_SUCCESS;
}
CALL(cuDevicePrimaryCtxRelease_v2, CUdevice device) {
    (void)device;
    return CUDA_SUCCESS;
}
CALL(cuCtxPushCurrent_v2, CUcontext context) {
    if (!context || depth == STACK) return CUDA_ERROR_INVALID_VALUE;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}
CALL(cuCtxPopCurrent_v2, CUcontext *context) {
    if (depth == 0) return (CUresult)INVALID_CONTEXT;
    *context = stack[--depth];
    return CUDA_SUCCESS;
}
CALL(cuCtxGetCurrent, CUcontext *context) {
    *context = current();
    return CUDA_SUCCESS;
}
CALL(cuCtxGetDevice, CUdevice *device) {
    *device = 0;
    return current() ? CUDA_SUCCESS : (CUresult)INVALID_CONTEXT;
}

/* --- memory */

CALL(cuMemAlloc_v2, CUdeviceptr *pointer, size_t bytes) {
    if (in_capture() != CUDA_SUCCESS) return in_capture();
    if (!current() || bytes > (size_t)1 << 40) return CUDA_ERROR_OUT_OF_MEMORY;
    Block *block = calloc(1, sizeof *block + bytes);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    block->context = current();
    atomic_fetch_add(&allocations, 1);
    *pointer = (CUdeviceptr)(uintptr_t)(block + 1);
    return CUDA_SUCCESS;
}
CALL(cuMemFree_v2, CUdeviceptr pointer) {
    Block *block = (Block *)(uintptr_t)pointer - 1;
    CUresult result = in_context(block->context);
    if (result != CUDA_SUCCESS) return result;
    atomic_fetch_sub(&allocations, 1);
    free(block);
    return CUDA_SUCCESS;
}
CALL(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}
CALL(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

/* --- modules */

CALL(cuModuleLoadData, CUmodule *module, const void *image) {
    (void)image;
    if (in_capture() != CUDA_SUCCESS) return in_capture();
    *module = calloc(1, sizeof **module);
    if (!*module || !current()) return CUDA_ERROR_OUT_OF_MEMORY;
    (*module)->context = current();
    atomic_fetch_add(&modules, 1);
    return CUDA_SUCCESS;
}
CALL(cuModuleUnload, CUmodule module) {
    CUresult result = in_context(module->context);
    if (result != CUDA_SUCCESS) return result;
    atomic_fetch_sub(&modules, 1);
    free(module);
    return CUDA_SUCCESS;
}
CALL(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name) {
    if (in_capture() != CUDA_SUCCESS) return in_capture();
    if (strncmp(name, "twice", 5) != 0 && strncmp(name, "plus", 4) != 0)
        return CUDA_ERROR_NOT_FOUND;
    CUfunction made = calloc(1, sizeof *made);
    if (!made || strlen(name) >= NAME) abort();
    made->context = module->context;
    strcpy(made->name, name);
    made->next = atomic_exchange(&functions, made);
    *function = made;
    return in_context(module->context);
}
CALL(cuFuncSetAttribute, CUfunction function, CUfunction_attribute attribute, int value) {
    (void)attribute;
    if (in_capture() != CUDA_SUCCESS) return in_capture();
    return value > 227 << 10 ? CUDA_ERROR_INVALID_VALUE : in_context(function->context);
}

/* --- launches */

/* twice(const float *x, float *t, int64_t n) */
static void twice(void **parameters) {
    const float *x = *(const float **)parameters[0];
    float *t = *(float **)parameters[1];
    for (int64_t i = 0; i < *(int64_t *)parameters[2]; i++) t[i] = 2 * x[i];
}

/* plus(const float *t, float *y, float a, int64_t n) */
static void plus(void **parameters) {
    const float *t = *(const float **)parameters[0];
    float *y = *(float **)parameters[1];
    for (int64_t i = 0; i < *(int64_t *)parameters[3]; i++) y[i] = t[i] + *(float *)parameters[2];
}

static CUresult run(CUfunction function, void **parameters) {
    CUresult result = in_context(function->context);
    if (result != CUDA_SUCCESS) return result;
    atomic_fetch_add(&launches, 1);
    if (strstr(function->name, "_any")) atomic_fetch_add(&twins, 1);
    (strncmp(function->name, "twice", 5) == 0 ? twice : plus)(parameters);
    sched_yield(); /* another thread's launches come between */
    return CUDA_SUCCESS;
}

CALL(cuLaunchKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y,
     unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
     unsigned int shared, CUstream stream, void **parameters, void **extra) {
    (void)shared, (void)stream, (void)extra;
    if (grid_x * grid_y * grid_z * block_x * block_y * block_z == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return run(function, parameters);
}
CALL(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function, void **parameters,
     void **extra) {
    (void)extra;
    return config->numAttrs > 0 && config->attrs ? run(function, parameters)
                                                 : CUDA_ERROR_INVALID_VALUE;
}
CALL(cuStreamCreate, CUstream *stream, unsigned int flags) {
    static char streams[64];
    static atomic_int count;
    (void)flags;
    *stream = (CUstream)(void *)&streams[atomic_fetch_add(&count, 1) % 64];
    return CUDA_SUCCESS;
}
CALL(cuStreamDestroy_v2, CUstream stream) {
    return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CALL(cuStreamSynchronize, CUstream stream) {
    (void)stream;
    return CUDA_SUCCESS;
}
CALL(cuEventCreate, CUevent *event, unsigned int flags) {
    (void)flags;
    *event = (CUevent)(void *)&primary;
    return CUDA_SUCCESS;
}
CALL(cuEventDestroy_v2, CUevent event) {
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- what no test calls */

#define ABSENT(symbol)                  \
    CALL(symbol, void) {                \
        return (CUresult)NOT_SUPPORTED; \
    }
ABSENT(cuDriverGetVersion)
ABSENT(cuDeviceGetCount)
ABSENT(cuDeviceGetName)
ABSENT(cuDeviceGetPCIBusId)
ABSENT(cuDeviceTotalMem_v2)
ABSENT(cuStreamBeginCapture_v2)
ABSENT(cuStreamEndCapture)
ABSENT(cuGraphInstantiateWithFlags)
ABSENT(cuGraphUpload)
ABSENT(cuGraphLaunch)
ABSENT(cuGraphDestroy)
ABSENT(cuGraphExecDestroy)
ABSENT(cuEventRecordWithFlags)
ABSENT(cuEventElapsedTime)

/* --- for tests */

static CUcontext make_context(void) {
    static struct CUctx_st contexts[64];
    static atomic_int count;
    return &contexts[atomic_fetch_add(&count, 1) % 64];
}
static int count_modules(void) {
    return atomic_load(&modules);
}
static int count_allocations(void) {
    return atomic_load(&allocations);
}
static int count_launches(void) {
    return atomic_load(&launches);
}
static int count_twins(void) {
    return atomic_load(&twins);
}
static int count_faults(void) {
    return atomic_load(&faults);
}
static void set_capture(int on) {
    atomic_store(&capturing, on);
}
static int get_mode(void) {
    return (int)mode;
}

EXPORT const Driver kf_test_driver = {make_context,   count_modules, count_allocations,
                                      count_launches, count_twins,   count_faults,
                                      set_capture,    get_mode};
