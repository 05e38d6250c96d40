/* In: sources, binaries, Runs. Out: cubins by NVRTC, launches and times by the driver. Both are
 * loaded when first wanted (cuda_nvrtc, cuda_driver); this file opens and closes, moves bytes, and
 * names the rest: cuda_identity says what there is, cuda_run launches and times, cubin reads
 * resources. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/oracle_cuda.h"
#include "tuner/cubin.h"
#include "tuner/cuda_identity.h"
#include "tuner/cuda_nvrtc.h"
#include "tuner/cuda_run.h"

/* --- compiling */

static Outcome compile(const CompileUnit *unit, const DeviceIdentity *identity, Text *binary,
                       Why *why) {
    Nvrtc nvrtc;
    if (!nvrtc_load(&nvrtc, why)) return OUTCOME_COMPILE;
    return nvrtc_compile(&nvrtc, unit, identity->arch, binary, why);
}

/* The first compile in a process takes 30 ms longer than the rest: an empty one takes that ahead.
 */
static bool warm(Why *why) {
    const CompileUnit unit = {"extern \"C\" __global__ void warm() {}", "warm.cu", false};
    Nvrtc nvrtc;
    Text binary = {0};
    bool good = nvrtc_load(&nvrtc, why) &&
                nvrtc_compile(&nvrtc, &unit, "sm_90", &binary, why) == OUTCOME_OK;
    text_free(&binary);
    return good;
}

/* PTX, which the driver is yet to compile: its text stands for the code. */
static bool is_ptx(const void *binary, size_t size) {
    return size > 0 && memchr(binary, 0, size) == (const char *)binary + size - 1;
}

static bool resources(const void *binary, size_t size, const char *entry, Resources *resources,
                      uint64_t *machine_code) {
    if (!is_ptx(binary, size)) return cubin_resources(binary, size, entry, resources, machine_code);
    *resources = (Resources){-1, -1, -1, -1};
    *machine_code = XXH3_64bits(binary, size);
    return strstr(binary, entry) != NULL;
}

/* --- opening */

static bool enter(DeviceState *state, Why *why) {
    CUresult error = state->cuda.CtxPushCurrent(state->context);
    return cuda_check(&state->cuda, error, "no CUDA context", why);
}

static void leave(DeviceState *state) {
    CUcontext context;
    state->cuda.CtxPopCurrent(&context);
}

static uintptr_t here(const DeviceState *state) {
    CUcontext context = NULL;
    return state->cuda.CtxGetCurrent(&context) == CUDA_SUCCESS ? (uintptr_t)context : 0;
}

static bool by_thread(const void *stream) {
    return stream == (const void *)CU_STREAM_PER_THREAD;
}

static bool use_current(DeviceState *state, Why *why) {
    CUresult error = state->cuda.CtxGetCurrent(&state->context);
    if (error == CUDA_ERROR_NOT_INITIALIZED || (error == CUDA_SUCCESS && !state->context))
        return why_set(why, "this thread has no current CUDA context: make one first");
    return cuda_check(&state->cuda, error, "no CUDA context", why) &&
           cuda_check(&state->cuda, state->cuda.CtxGetDevice(&state->device), "no CUDA device",
                      why);
}

/* The primary context: 0.36 s with cuInit, and what the runtime API's users have as well. */
static bool use_own(DeviceState *state, int index, Why *why) {
    const Cuda *cuda = &state->cuda;
    if (!cuda_check(cuda, cuda->Init(0), "the NVIDIA driver does not start", why)) return false;
    if (!cuda_check(cuda, cuda->DeviceGet(&state->device, index), "no such CUDA device", why))
        return false;
    CUresult error = cuda->DevicePrimaryCtxRetain(&state->context, state->device);
    if (!cuda_check(cuda, error, "no CUDA context", why)) return false;
    state->own = true;
    if (!enter(state, why)) return false;
    error = cuda->StreamCreate(&state->stream, CU_STREAM_NON_BLOCKING);
    if (error == CUDA_SUCCESS) error = cuda->EventCreate(&state->begin, CU_EVENT_DEFAULT);
    if (error == CUDA_SUCCESS) error = cuda->EventCreate(&state->end, CU_EVENT_DEFAULT);
    if (error != CUDA_SUCCESS) leave(state);
    return cuda_check(cuda, error, "no CUDA stream", why);
}

static void close_device(DeviceState *state);

static DeviceState *open_device(int index, bool current, Why *why) {
    DeviceState *state = calloc(1, sizeof *state);
    if (!state) abort();
    if (!cuda_load(&state->cuda, why)) {
        free(state);
        return NULL;
    }
    if (current ? use_current(state, why) : use_own(state, index, why)) {
        int major = 0;
        state->cuda.DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                       state->device);
        state->dependent = major >= 9;
        return state;
    }
    close_device(state);
    return NULL;
}

static void close_device(DeviceState *state) {
    const Cuda *cuda = &state->cuda;
    cuda_drop_graphs(state);
    if (state->begin) cuda->EventDestroy(state->begin);
    if (state->end) cuda->EventDestroy(state->end);
    if (state->stream) cuda->StreamDestroy(state->stream);
    if (state->own) cuda->DevicePrimaryCtxRelease(state->device);
    free(state->nvml);
    free(state);
}

/* --- memory */

static bool allocate(DeviceState *state, size_t bytes, Address *address, Why *why) {
    CUdeviceptr pointer = 0;
    char what[64];
    snprintf(what, sizeof what, "%zu bytes of device memory", bytes);
    CUstreamCaptureMode mode = cuda_capture_mode(&state->cuda, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult error = state->cuda.MemAlloc(&pointer, bytes ? bytes : 1);
    cuda_capture_mode(&state->cuda, mode);
    *address = pointer;
    return cuda_check(&state->cuda, error, what, why);
}

static void release(DeviceState *state, Address address) {
    state->cuda.MemFree(address);
}

static bool wait(DeviceState *state, CUresult error, const char *what, Why *why) {
    if (error == CUDA_SUCCESS) error = state->cuda.StreamSynchronize(state->stream);
    return cuda_check(&state->cuda, error, what, why);
}

static bool upload(DeviceState *state, Address to, const void *from, size_t bytes, Why *why) {
    CUresult error = state->cuda.MemcpyHtoDAsync(to, from, bytes, state->stream);
    return wait(state, error, "copy to the device", why);
}

static bool download(DeviceState *state, void *to, Address from, size_t bytes, Why *why) {
    CUresult error = state->cuda.MemcpyDtoHAsync(to, from, bytes, state->stream);
    return wait(state, error, "copy from the device", why);
}

/* --- modules */

/* The driver reads the image in place: what came in a message is not aligned as it expects. */
static CUresult load_image(const Cuda *cuda, CUmodule *handle, const void *binary, size_t size) {
    void *image = malloc(size);
    if (!image) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(image, binary, size);
    CUstreamCaptureMode mode = cuda_capture_mode(cuda, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUresult error = cuda->ModuleLoadData(handle, image);
    cuda_capture_mode(cuda, mode);
    free(image);
    return error;
}

static Module *load(DeviceState *state, const void *binary, size_t size, Why *why) {
    CUmodule handle;
    if (!is_ptx(binary, size) && !cubin_valid(binary, size)) {
        why_set(why, "the binary is damaged");
        return NULL;
    }
    if (!cuda_check(&state->cuda, load_image(&state->cuda, &handle, binary, size), "load", why))
        return NULL;
    Arena *arena = arena_open();
    Module *module = arena_new(arena, Module);
    module->arena = arena;
    module->handle = handle;
    return module;
}

static void unload(DeviceState *state, Module *module) {
    if (!module) return;
    cuda_drop_graphs(state);
    state->cuda.ModuleUnload(module->handle);
    arena_close(module->arena);
}

/* --- conditions, by NVML where it is there */

typedef struct Nvml {
    void *device; /* NULL: no NVML */
    int (*clock)(void *device, int kind, unsigned int *megahertz);
    int (*temperature)(void *device, int sensor, unsigned int *celsius);
} Nvml;

enum { NVML_CLOCK_SM = 1, NVML_TEMPERATURE_GPU = 0 };

static void find(void *library, const char *symbol, void *function) {
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
}

static void open_nvml(DeviceState *state, Nvml *nvml) {
    int (*init)(void);
    int (*by_bus)(const char *bus, void **device);
    char bus[32];
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return;
    find(library, "nvmlInit_v2", &init);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus);
    find(library, "nvmlDeviceGetClockInfo", &nvml->clock);
    find(library, "nvmlDeviceGetTemperature", &nvml->temperature);
    if (!init || !by_bus || !nvml->clock || !nvml->temperature || init() != 0) return;
    if (state->cuda.DeviceGetPCIBusId(bus, sizeof bus, state->device) != CUDA_SUCCESS) return;
    if (by_bus(bus, &nvml->device) != 0) nvml->device = NULL;
}

static void conditions(DeviceState *state, char *text, size_t size) {
    unsigned int clock, temperature;
    text[0] = 0;
    if (!state->nvml) {
        state->nvml = calloc(1, sizeof *state->nvml);
        if (!state->nvml) abort();
        open_nvml(state, state->nvml);
    }
    Nvml *nvml = state->nvml;
    if (!nvml->device || nvml->clock(nvml->device, NVML_CLOCK_SM, &clock) != 0) return;
    if (nvml->temperature(nvml->device, NVML_TEMPERATURE_GPU, &temperature) != 0) return;
    snprintf(text, size, "SM %u MHz, %u C", clock, temperature);
}

const Device device_cuda = {
    .name = "cuda",
    .language = "cuda",
    .host_exclusive = false,
    .accuracy = ACCURACY_CUDA,
    .count = cuda_count,
    .identify = cuda_identify,
    .warm = warm,
    .compile = compile,
    .resources = resources,
    .open = open_device,
    .enter = enter,
    .leave = leave,
    .here = here,
    .by_thread = by_thread,
    .close = close_device,
    .allocate = allocate,
    .release = release,
    .upload = upload,
    .download = download,
    .load = load,
    .unload = unload,
    .launch = cuda_launch,
    .prepare = cuda_prepare,
    .start = cuda_start,
    .discard = cuda_discard,
    .finish = cuda_finish,
    .time = cuda_time,
    .oracle = oracle_cuda,
    .conditions = conditions,
};
