/* In: nothing. Out: the driver's functions by name, or what to install; errors as outcomes and
 * words. */
#include "tuner/cuda_driver.h"

#include <dlfcn.h>
#include <string.h>

/* dlsym gives an object pointer where a function's is wanted; POSIX makes the two alike. */
static bool find(void *library, const char *symbol, void *function) {
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

bool cuda_load(Cuda *cuda, Why *why) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;
    if (!library)
        return why_set(
            why, "no NVIDIA driver: libcuda.so.1 not found; install it (Debian: nvidia-driver, "
                 "Ubuntu: nvidia-driver-580), or start the container with --gpus all");
#define CUDA_FIND(name, symbol, arguments)                                                \
    if (!find(library, #symbol, &cuda->name) && strcmp(#symbol, "cuLaunchKernelEx") != 0) \
        missing = #symbol;
    CUDA_FUNCTIONS(CUDA_FIND)
#undef CUDA_FIND
    if (!missing) return true;
    return why_set(why, "the NVIDIA driver is too old: it has no %s; install version 525 or newer",
                   missing);
}

int cuda_driver_version(void) {
    Cuda cuda;
    Why why;
    int version = 0;
    if (!cuda_load(&cuda, &why) || cuda.DriverGetVersion(&version) != CUDA_SUCCESS) return 0;
    return version;
}

CUstreamCaptureMode cuda_capture_mode(const Cuda *cuda, CUstreamCaptureMode mode) {
    cuda->ThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

/* Errors from 700 on come from a running kernel and take the context with them, but for a refused
 * launch. What is not known is taken for the worst: a fresh worker costs little. */
Outcome cuda_outcome(CUresult error) {
    switch ((int)error) {
    case CUDA_SUCCESS: return OUTCOME_OK;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: return OUTCOME_INFEASIBLE;
    case CUDA_ERROR_LAUNCH_TIMEOUT: return OUTCOME_TIMEOUT;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE: return OUTCOME_LAUNCH;
    default: return OUTCOME_CRASH;
    }
}

bool cuda_check(const Cuda *cuda, CUresult error, const char *what, Why *why) {
    const char *name = NULL, *text = NULL;
    if (error == CUDA_SUCCESS) return true;
    cuda->GetErrorName(error, &name);
    cuda->GetErrorString(error, &text);
    return why_set(why, "%s: %s (%s)", what, name ? name : "unknown CUDA error", text ? text : "?");
}
