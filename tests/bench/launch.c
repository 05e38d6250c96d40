/* What a launch through the library costs on the host: bench_launch [DEVICE [EXPRESSION [SHAPE]]]
 *
 * kf_launch beside the driver's own calls (on the CPU: a call of the kernel's function) of the same function with the same
 * arguments, of a tuned kernel that is so short that enqueuing it is what takes time. They take turns, a batch each, that the
 * device has worked off before the next begins; of a batch the time of enqueuing counts alone. A figure is the median over
 * batches, with the quartiles; a difference is that of two batches beside each other. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kfuse_objects.h"
#include "tuner/cuda_driver.h"

enum { BATCH = 200, BATCHES = 100, WARM = 10, ARRAYS_MAX = 32, ARGS = 256, WAYS_MAX = 3 };

typedef void Entry(void *const *args, int64_t part, int64_t parts);

typedef struct Rivals {
    KfSession *session;
    KfProgram *program;
    KfKernel *kernel;
    const Launch *launch;
    bool on_cuda;
    Cuda cuda;
    CUfunction function;
    CUlaunchConfig config;
    CUlaunchAttribute attributes[2];
    Entry *entry;
    const void *inputs[ARRAYS_MAX];
    void *outputs[ARRAYS_MAX];
    uint64_t values[ARGS];
    void *parameters[ARGS];
} Rivals;

typedef struct Way {
    const char *name;
    void (*call)(Rivals *b);
    double batch[BATCHES]; /* ns a launch */
} Way;

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "bench_launch: %s\n", what);
    exit(1);
}

static void check(Rivals *b, CUresult error, const char *what) {
    Why why;
    if (!cuda_check(&b->cuda, error, what, &why)) give_up(why.text);
}

static double nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* --- the kernel */

static void require(Rivals *b, KfStatus status) {
    if (status != KF_OK) give_up(b->session ? kf_session_message(b->session) : "out of memory");
}

static void open_kernel(Rivals *b, const char *device, const char *text, const char *shape) {
    KfProblem problem = {.has_plain_shape = true, .device = device};
    KfTuneOptions options = {.effort = KF_QUICK, .exact = true};
    const char *why;
    if (kf_parse_shape(shape, &problem.plain, &why) != KF_OK) give_up(why);
    require(b, kf_session_open(&b->session, NULL));
    require(b, kf_program_open(b->session, text, SIZE_MAX, &problem, &b->program));
    require(b, kf_tune(b->program, &options, &b->kernel));
    if (b->kernel->run->launches.count != 1 || b->kernel->run->temporaries.count > 0)
        give_up("the program is not one launch: take another");
    b->launch = &b->kernel->run->launches.data[0];
    if (b->launch->arg_count > ARGS) give_up("too many arguments");
    b->on_cuda = strcmp(b->kernel->device->name, "cuda") == 0;
}

/* --- memory and arguments */

static void *allocate(Rivals *b, const KfTensor *tensor) {
    size_t bytes = kf_type_size(tensor->type);
    for (int d = 0; d < tensor->rank; d++) bytes *= (size_t)tensor->dim[d];
    if (b->on_cuda) {
        CUdeviceptr pointer;
        check(b, b->cuda.MemAlloc(&pointer, bytes), "memory");
        return (void *)(uintptr_t)pointer;
    }
    void *pointer = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!pointer) give_up("out of memory");
    return memset(pointer, 0, bytes);
}

static void allocate_all(Rivals *b) {
    size_t inputs = kf_program_input_count(b->program),
           outputs = kf_program_output_count(b->program);
    if (inputs > ARRAYS_MAX || outputs > ARRAYS_MAX) give_up("too many arrays");
    for (size_t i = 0; i < inputs; i++) {
        KfTensor tensor = kf_program_input(b->program, i);
        b->inputs[i] = allocate(b, &tensor);
    }
    for (size_t o = 0; o < outputs; o++) {
        KfTensor tensor = kf_program_output(b->program, o);
        int updates = kf_program_updates(b->program, o);
        b->outputs[o] = updates < 0 ? allocate(b, &tensor) : (void *)(uintptr_t)b->inputs[updates];
    }
}

static uint64_t value_of(const Rivals *b, const Arg *arg) {
    uint64_t value = 0;
    uint32_t inputs = (uint32_t)kf_program_input_count(b->program);
    float f32 = (float)arg->value.real;
    switch (arg->kind) {
    case ARG_BUFFER:
        return (uint64_t)(uintptr_t)(arg->buffer < inputs ? b->inputs[arg->buffer]
                                                          : b->outputs[arg->buffer - inputs]);
    case ARG_I64:
    case ARG_I32: return (uint64_t)arg->value.whole;
    case ARG_F32: memcpy(&value, &f32, sizeof f32); return value;
    case ARG_F64: memcpy(&value, &arg->value.real, sizeof value); return value;
    }
    return value;
}

static void set_parameters(Rivals *b) {
    for (uint32_t i = 0; i < b->launch->arg_count; i++) {
        b->values[i] = value_of(b, &b->launch->args[i]);
        b->parameters[i] = &b->values[i];
    }
}

/* --- the same without the library */

static void open_context(Rivals *b, int index) {
    Why why;
    CUdevice device;
    CUcontext context;
    if (!cuda_load(&b->cuda, &why)) give_up(why.text);
    check(b, b->cuda.Init(0), "the driver does not start");
    check(b, b->cuda.DeviceGet(&device, index), "no such device");
    check(b, b->cuda.DevicePrimaryCtxRetain(&context, device), "no context");
    check(b, b->cuda.CtxPushCurrent(context), "no context");
}

static void find_function(Rivals *b) {
    const Binary *binary = &b->kernel->binaries[b->launch->module];
    CUmodule module;
    void *image = malloc(binary->size); /* aligned, as the driver wants it */
    if (!image) give_up("out of memory");
    memcpy(image, binary->bytes, binary->size);
    check(b, b->cuda.ModuleLoadData(&module, image), "load");
    check(b, b->cuda.ModuleGetFunction(&b->function, module, b->launch->entry), "entry");
    check(b,
          b->cuda.FuncSetAttribute(b->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   b->launch->shared),
          "shared memory");
}

static void set_config(Rivals *b) {
    const Launch *l = b->launch;
    CUlaunchAttribute *a = b->attributes;
    b->config = (CUlaunchConfig){.gridDimX = (unsigned)l->grid[0],
                                 .gridDimY = (unsigned)l->grid[1],
                                 .gridDimZ = (unsigned)l->grid[2],
                                 .blockDimX = (unsigned)l->block[0],
                                 .blockDimY = (unsigned)l->block[1],
                                 .blockDimZ = (unsigned)l->block[2],
                                 .sharedMemBytes = (unsigned)l->shared,
                                 .attrs = a};
    if (l->cluster > 1) {
        a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        a->value.clusterDim.x = (unsigned)l->cluster;
        a->value.clusterDim.y = a->value.clusterDim.z = 1;
        a++;
    }
    if (l->dependent) {
        a->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        a->value.programmaticStreamSerializationAllowed = 1;
        a++;
    }
    b->config.numAttrs = (unsigned)(a - b->attributes);
}

static void find_entry(Rivals *b) {
    const Binary *binary = &b->kernel->binaries[b->launch->module];
    char path[64];
    int fd = memfd_create("bench", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, binary->bytes, binary->size) != (ssize_t)binary->size)
        give_up("no memory for the kernel");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, b->launch->entry) : NULL;
    if (!symbol) give_up("the kernel does not load");
    memcpy(&b->entry, &symbol, sizeof symbol);
    if (b->launch->block[0] > 1) give_up("the kernel has several threads: take a smaller shape");
}

/* --- ways to launch it */

static void by_library(Rivals *b) {
    if (kf_launch(b->kernel, b->inputs, b->outputs, NULL) != KF_OK)
        give_up(kf_session_message(b->session));
}

static void by_driver(Rivals *b) {
    const CUlaunchConfig *c = &b->config;
    CUresult error = b->cuda.LaunchKernel(b->function, c->gridDimX, c->gridDimY, c->gridDimZ,
                                          c->blockDimX, c->blockDimY, c->blockDimZ,
                                          c->sharedMemBytes, NULL, b->parameters, NULL);
    if (error != CUDA_SUCCESS) check(b, error, "cuLaunchKernel");
}

static void by_driver_ex(Rivals *b) {
    CUresult error = b->cuda.LaunchKernelEx(&b->config, b->function, b->parameters, NULL);
    if (error != CUDA_SUCCESS) check(b, error, "cuLaunchKernelEx");
}

static void by_call(Rivals *b) {
    b->entry(b->parameters, 0, 1);
}

static double batch(Rivals *b, const Way *way) {
    double begin = nanoseconds();
    for (int i = 0; i < BATCH; i++) way->call(b);
    double each = (nanoseconds() - begin) / BATCH;
    if (b->on_cuda) check(b, b->cuda.StreamSynchronize(NULL), "the kernel failed");
    return each;
}

/* --- figures */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *list, double q) {
    double sorted[BATCHES];
    memcpy(sorted, list, sizeof sorted);
    qsort(sorted, BATCHES, sizeof *sorted, by_size);
    return sorted[(int)(q * (BATCHES - 1) + 0.5)];
}

static void print(const char *name, const double *list) {
    printf("%-34s %8.0f ns   %.0f to %.0f\n", name, quantile(list, 0.5), quantile(list, 0.25),
           quantile(list, 0.75));
}

static void compare(const Way *library, const Way *other) {
    double difference[BATCHES];
    char name[64];
    for (int i = 0; i < BATCHES; i++) difference[i] = library->batch[i] - other->batch[i];
    snprintf(name, sizeof name, "kf_launch less %s", other->name);
    print(name, difference);
    printf("%-34s %8.2f\n", "  as a ratio",
           quantile(library->batch, 0.5) / quantile(other->batch, 0.5));
}

static void measure(Rivals *b, Way *ways, int count) {
    for (int i = -WARM; i < BATCHES; i++)
        for (int w = 0; w < count; w++) {
            Way *way = &ways[(w + i + WARM) % count]; /* nobody is always first */
            double each = batch(b, way);
            if (i >= 0) way->batch[i] = each;
        }
    printf("%d batches of %d launches each: median and quartiles of the host's time for a launch\n",
           BATCHES, BATCH);
    for (int w = 0; w < count; w++) print(ways[w].name, ways[w].batch);
    for (int w = 1; w < count; w++) compare(&ways[0], &ways[w]);
}

int main(int argc, char **argv) {
    static Rivals b;
    static Way on_cuda[WAYS_MAX] = {{.name = "kf_launch", .call = by_library},
                                    {.name = "cuLaunchKernel", .call = by_driver},
                                    {.name = "cuLaunchKernelEx", .call = by_driver_ex}},
               on_cpu[] = {{.name = "kf_launch", .call = by_library},
                           {.name = "a bare call", .call = by_call}};
    const char *text = argc > 2 ? argv[2] : "relu(x + res)";
    open_kernel(&b, argc > 1 && *argv[1] ? argv[1] : NULL, text, argc > 3 ? argv[3] : "64");
    if (b.on_cuda) open_context(&b, b.kernel->index);
    allocate_all(&b);
    set_parameters(&b);
    set_config(&b);
    b.on_cuda ? find_function(&b) : find_entry(&b);
    printf("%s on %s: %s, %u arguments, %u attributes\n", b.program->expression,
           b.kernel->device->name, b.launch->entry, b.launch->arg_count, b.config.numAttrs);
    measure(&b, b.on_cuda ? on_cuda : on_cpu, b.on_cuda && b.cuda.LaunchKernelEx ? 3 : 2);
    kf_kernel_close(b.kernel);
    kf_program_close(b.program);
    kf_session_close(b.session);
    return 0;
}
