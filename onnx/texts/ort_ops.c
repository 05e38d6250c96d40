/* Custom operators for ONNX Runtime on the CPU: each calls one kernel that kfuse made.
 * In: ort_regions.h, a table of kernels with the arrays they take. Out: a library that
 * SessionOptions.register_custom_ops_library takes.
 *
 * Of ONNX Runtime's C interface what is used is declared here. The table of its functions is read by
 * position: entries are only ever added at its end, from version 1 on. What is used of OrtCustomOp is
 * there since version 16 of the interface. Both are tried when the library is loaded. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_COUNT */
#endif
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_regions.h"

enum {
    INTERFACE = 16,
    INTERFACE_OF_POOLS = 17,
    INTERFACE_OF_SIZES = 23,
    FAILED = 1,
    WORKSPACE_ALIGNMENT = 256
};

typedef struct OrtStatus OrtStatus;
typedef struct OrtApiBase {
    const void *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;

/* Positions in OrtApi. */
enum {
    CREATE_STATUS = 0,
    CREATE_CUSTOM_OP_DOMAIN = 26,
    CUSTOM_OP_DOMAIN_ADD = 27,
    ADD_CUSTOM_OP_DOMAIN = 28,
    GET_TENSOR_MUTABLE_DATA = 51,
    CREATE_TYPE_AND_SHAPE = 57,
    SET_DIMENSIONS = 59,
    GET_ELEMENT_COUNT = 64,
    GET_TYPE_AND_SHAPE = 65,
    CONTEXT_GET_INPUT = 90,
    CONTEXT_GET_OUTPUT = 91,
    RELEASE_STATUS = 93,
    RELEASE_TYPE_AND_SHAPE = 99,
    PARALLEL_FOR = 274,   /* since version 17 */
    GET_TENSOR_SIZE = 318 /* since version 23 */
};

typedef OrtStatus *CreateStatus(int code, const char *message);
typedef OrtStatus *CreateCustomOpDomain(const char *name, void **domain);
typedef OrtStatus *CustomOpDomainAdd(void *domain, const void *op);
typedef OrtStatus *AddCustomOpDomain(void *options, void *domain);
typedef OrtStatus *GetTensorMutableData(void *value, void **data);
typedef OrtStatus *CreateTypeAndShape(void **info);
typedef OrtStatus *SetDimensions(void *info, const int64_t *dim, size_t rank);
typedef OrtStatus *GetElementCount(const void *info, size_t *count);
typedef OrtStatus *GetTypeAndShape(const void *value, void **info);
typedef OrtStatus *ContextGetInput(const void *context, size_t index, const void **value);
typedef OrtStatus *ContextGetOutput(void *context, size_t index, const int64_t *dim, size_t rank,
                                    void **value);
typedef void ReleaseStatus(OrtStatus *status);
typedef void ReleaseTypeAndShape(void *info);
typedef OrtStatus *ParallelFor(const void *context, void (*run)(void *data, size_t i), size_t count,
                               size_t batches, void *data);
typedef OrtStatus *GetTensorSize(const void *value, size_t *bytes);

typedef struct Op Op;
/* The layout of OrtCustomOp; fields that are NULL have defaults. */
struct Op {
    uint32_t version;
    void *(*CreateKernel)(const Op *op, const void *api, const void *info);
    const char *(*GetName)(const Op *op);
    const char *(*GetExecutionProviderType)(const Op *op);
    int (*GetInputType)(const Op *op, size_t index);
    size_t (*GetInputTypeCount)(const Op *op);
    int (*GetOutputType)(const Op *op, size_t index);
    size_t (*GetOutputTypeCount)(const Op *op);
    void (*KernelCompute)(void *kernel, void *context);
    void (*KernelDestroy)(void *kernel);
    int (*GetInputCharacteristic)(const Op *op, size_t index);
    int (*GetOutputCharacteristic)(const Op *op, size_t index);
    int (*GetInputMemoryType)(const Op *op, size_t index);
    int (*GetVariadicInputMinArity)(const Op *op);
    int (*GetVariadicInputHomogeneity)(const Op *op);
    int (*GetVariadicOutputMinArity)(const Op *op);
    int (*GetVariadicOutputHomogeneity)(const Op *op);
    OrtStatus *(*CreateKernelV2)(const Op *op, const void *api, const void *info, void **kernel);
    OrtStatus *(*KernelComputeV2)(void *kernel, void *context);
    void *later[16]; /* of newer versions */
    const Region *region;
};

enum { REGIONS = sizeof regions / sizeof *regions };
static Op ops[REGIONS];
/* The same for all sessions of a process. */
static void *const *api;
static int has_pools, has_sizes;

#define CALL(position, Type) ((Type *)api[position])

static OrtStatus *failed(const Region *region, const char *what) {
    char text[256];
    snprintf(text, sizeof text, "kfuse kernel %s: %s", region->name, what);
    return CALL(CREATE_STATUS, CreateStatus)(FAILED, text);
}

/* --- a kernel: what is the same in all calls */

typedef struct Kernel {
    const Region *region;
    int threads;
    size_t workspace;      /* bytes, whole alignments */
    _Atomic(void *) spare; /* a workspace that no call uses, or NULL */
    KfView views[PORTS];   /* inputs, outputs; without data */
} Kernel;

static KfView view_of(const Port *port) {
    KfView view = {.type = port->type, .rank = port->rank, .strides = port->strides};
    memcpy(view.dim, port->dim, sizeof view.dim);
    return view;
}

/* KFUSE_THREADS, or all that this process may run on. */
static int thread_count(void) {
    const char *wanted = getenv("KFUSE_THREADS");
    long count = wanted ? strtol(wanted, NULL, 10) : 0;
    cpu_set_t set;
    if (count < 1 && sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > INT_MAX ? INT_MAX : (int)count;
}

static OrtStatus *create(const Op *op, const void *table, const void *info, void **made) {
    const Region *region = op->region;
    Kernel *kernel = calloc(1, sizeof *kernel);
    (void)table, (void)info;
    if (!kernel) return failed(region, "out of memory");
    kernel->region = region;
    kernel->threads = thread_count();
    for (size_t i = 0; i < region->input_count; i++) kernel->views[i] = view_of(&region->inputs[i]);
    for (size_t i = 0; i < region->output_count; i++)
        kernel->views[region->input_count + i] = view_of(&region->outputs[i]);
    int64_t bytes = region->workspace(kernel->views, kernel->threads);
    if (bytes < 0) {
        free(kernel);
        return failed(region, "these shapes are not taken");
    }
    kernel->workspace =
        ((size_t)bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
    *made = kernel;
    return NULL;
}

static void destroy(void *state) {
    Kernel *kernel = state;
    free(atomic_load(&kernel->spare));
    free(kernel);
}

/* --- one call */

/* Before version 23 only a copy of the shape tells. */
static OrtStatus *tensor_bytes(const Port *port, const void *value, size_t *bytes) {
    void *info = NULL;
    if (has_sizes) return CALL(GET_TENSOR_SIZE, GetTensorSize)(value, bytes);
    OrtStatus *status = CALL(GET_TYPE_AND_SHAPE, GetTypeAndShape)(value, &info);
    if (status) return status;
    status = CALL(GET_ELEMENT_COUNT, GetElementCount)(info, bytes);
    CALL(RELEASE_TYPE_AND_SHAPE, ReleaseTypeAndShape)(info);
    *bytes *= port->element_bytes;
    return status;
}

static OrtStatus *take_input(const Region *region, void *context, size_t i, void **data) {
    const Port *port = &region->inputs[i];
    const void *value = NULL;
    size_t bytes = 0;
    OrtStatus *status = CALL(CONTEXT_GET_INPUT, ContextGetInput)(context, i, &value);
    if (!status && !value) return failed(region, "an input is missing");
    if (!status) status = tensor_bytes(port, value, &bytes);
    if (!status && bytes != port->bytes)
        return failed(region, "an input has another shape than the model was rewritten for");
    if (!status)
        status =
            CALL(GET_TENSOR_MUTABLE_DATA, GetTensorMutableData)((void *)(uintptr_t)value, data);
    return status;
}

static OrtStatus *make_output(const Region *region, void *context, size_t i, void **data) {
    const Port *port = &region->outputs[i];
    void *value = NULL;
    OrtStatus *status = CALL(CONTEXT_GET_OUTPUT, ContextGetOutput)(
        context, i, port->shape, (size_t)port->shape_rank, &value);
    if (!status && !value) return failed(region, "an output is missing");
    if (!status) status = CALL(GET_TENSOR_MUTABLE_DATA, GetTensorMutableData)(value, data);
    return status;
}

typedef struct Shares {
    void (*share)(void *shares, int64_t i);
    void *shares;
} Shares;

static void run_share(void *data, size_t i) {
    const Shares *all = data;
    all->share(all->shares, (int64_t)i);
}

/* On the session's threads, as many as it was given. */
static void run_in_session(void *context, void (*share)(void *shares, int64_t i), void *shares,
                           int64_t count) {
    Shares all = {share, shares};
    OrtStatus *status = CALL(PARALLEL_FOR, ParallelFor)(context, run_share, (size_t)count, 0, &all);
    if (!status) return;
    CALL(RELEASE_STATUS, ReleaseStatus)(status); /* it has run none */
    for (int64_t i = 0; i < count; i++) share(shares, i);
}

/* A session may run in several threads at once: the first call takes the spare workspace, each other
 * makes one, and the last to end leaves its own. */
static OrtStatus *launch(Kernel *kernel, const KfView *views, void *context) {
    const Region *region = kernel->region;
    size_t bytes = kernel->workspace;
    void *workspace = bytes ? atomic_exchange(&kernel->spare, NULL) : NULL;
    if (bytes && !workspace) workspace = aligned_alloc(WORKSPACE_ALIGNMENT, bytes);
    if (bytes && !workspace) return failed(region, "out of memory");
    int code = region->launch(views, views + region->input_count, workspace, bytes, kernel->threads,
                              has_pools ? run_in_session : NULL, context);
    if (bytes) free(atomic_exchange(&kernel->spare, workspace));
    return code ? failed(region, region->error(code)) : NULL;
}

static OrtStatus *compute(void *state, void *context) {
    Kernel *kernel = state;
    const Region *region = kernel->region;
    size_t inputs = region->input_count, outputs = region->output_count;
    KfView views[PORTS];
    OrtStatus *status = NULL;
    memcpy(views, kernel->views, (inputs + outputs) * sizeof *views);
    for (size_t i = 0; i < inputs && !status; i++)
        status = take_input(region, context, i, &views[i].data);
    for (size_t i = 0; i < outputs && !status; i++)
        status = make_output(region, context, i, &views[inputs + i].data);
    return status ? status : launch(kernel, views, context);
}

/* --- what an operator says of itself */

static const char *name(const Op *op) {
    return op->region->name;
}

static const char *provider(const Op *op) {
    (void)op;
    return "CPUExecutionProvider";
}

static int input_type(const Op *op, size_t index) {
    return op->region->inputs[index].element;
}

static size_t input_count(const Op *op) {
    return op->region->input_count;
}

static int output_type(const Op *op, size_t index) {
    return op->region->outputs[index].element;
}

static size_t output_count(const Op *op) {
    return op->region->output_count;
}

static int required(const Op *op, size_t index) {
    (void)op, (void)index;
    return 0;
}

static int default_memory(const Op *op, size_t index) {
    (void)op, (void)index;
    return 0;
}

static int variadic(const Op *op) {
    (void)op;
    return 1;
}

static void describe(Op *op, const Region *region) {
    *op = (Op){.version = INTERFACE,
               .GetName = name,
               .GetExecutionProviderType = provider,
               .GetInputType = input_type,
               .GetInputTypeCount = input_count,
               .GetOutputType = output_type,
               .GetOutputTypeCount = output_count,
               .KernelDestroy = destroy,
               .GetInputCharacteristic = required,
               .GetOutputCharacteristic = required,
               .GetInputMemoryType = default_memory,
               .GetVariadicInputMinArity = variadic,
               .GetVariadicInputHomogeneity = variadic,
               .GetVariadicOutputMinArity = variadic,
               .GetVariadicOutputHomogeneity = variadic,
               .CreateKernelV2 = create,
               .KernelComputeV2 = compute,
               .region = region};
}

/* --- loading */

/* Whether the positions hold what they are taken for, as far as that can be asked without a tensor: a
 * shape of 3x5 has 15 elements. */
static int is_as_declared(void *const *table) {
    static const int used[] = {
        CREATE_STATUS,         CREATE_CUSTOM_OP_DOMAIN, CUSTOM_OP_DOMAIN_ADD,
        ADD_CUSTOM_OP_DOMAIN,  GET_TENSOR_MUTABLE_DATA, CREATE_TYPE_AND_SHAPE,
        SET_DIMENSIONS,        GET_ELEMENT_COUNT,       GET_TYPE_AND_SHAPE,
        CONTEXT_GET_INPUT,     CONTEXT_GET_OUTPUT,      RELEASE_STATUS,
        RELEASE_TYPE_AND_SHAPE};
    const int64_t shape[] = {3, 5};
    void *info = NULL;
    size_t count = 0;
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        if (!table[used[i]]) return 0;
    if (((CreateTypeAndShape *)table[CREATE_TYPE_AND_SHAPE])(&info) || !info) return 0;
    int right = !((SetDimensions *)table[SET_DIMENSIONS])(info, shape, 2) &&
                !((GetElementCount *)table[GET_ELEMENT_COUNT])(info, &count) && count == 15;
    ((ReleaseTypeAndShape *)table[RELEASE_TYPE_AND_SHAPE])(info);
    return right;
}

/* Version 1.N has interface N. To ask for one that it has not would make it write to stderr. */
static long interface_of(const OrtApiBase *base) {
    const char *version = base->GetVersionString();
    return strncmp(version, "1.", 2) == 0 ? strtol(version + 2, NULL, 10) : 0;
}

__attribute__((visibility("default"))) OrtStatus *RegisterCustomOps(void *options,
                                                                    const OrtApiBase *base) {
    void *domain = NULL;
    void *const *table = base->GetApi(INTERFACE);
    if (!table || !is_as_declared(table)) {
        void *const *oldest = base->GetApi(1);
        fprintf(stderr, "kfuse: ONNX Runtime %s has not interface %d\n", base->GetVersionString(),
                INTERFACE);
        return oldest ? ((CreateStatus *)oldest[CREATE_STATUS])(
                            FAILED, "these operators need ONNX Runtime 1.16 or newer")
                      : NULL;
    }
    api = table;
    has_pools = interface_of(base) >= INTERFACE_OF_POOLS && table[PARALLEL_FOR];
    has_sizes = interface_of(base) >= INTERFACE_OF_SIZES && table[GET_TENSOR_SIZE];
    OrtStatus *status = CALL(CREATE_CUSTOM_OP_DOMAIN, CreateCustomOpDomain)("ai.kfuse", &domain);
    for (size_t i = 0; i < REGIONS && !status; i++) {
        describe(&ops[i], &regions[i]);
        status = CALL(CUSTOM_OP_DOMAIN_ADD, CustomOpDomainAdd)(domain, &ops[i]);
    }
    return status ? status : CALL(ADD_CUSTOM_OP_DOMAIN, AddCustomOpDomain)(options, domain);
}
