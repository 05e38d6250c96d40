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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_regions.h"

enum { INTERFACE = 16, FAILED = 1, WORKSPACE_ALIGNMENT = 256 };

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
    RELEASE_TYPE_AND_SHAPE = 99,
    ENTRIES = 100
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
typedef void ReleaseTypeAndShape(void *info);

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
static void *const *api; /* the same for all sessions of a process */

#define CALL(position, Type) ((Type *)api[position])

static OrtStatus *failed(const Region *region, const char *what) {
    char text[256];
    snprintf(text, sizeof text, "kfuse kernel %s: %s", region->name, what);
    return CALL(CREATE_STATUS, CreateStatus)(FAILED, text);
}

/* --- one call */

typedef struct Call {
    const Region *region;
    void *context;
    KfView *inputs, *outputs;
} Call;

static KfView view_of(const Port *port, void *data) {
    KfView view = {.data = data, .type = port->type, .rank = port->rank, .strides = port->strides};
    memcpy(view.dim, port->dim, sizeof view.dim);
    return view;
}

static size_t count_of(const Port *port) {
    size_t count = 1;
    for (int i = 0; i < port->rank; i++) count *= (size_t)port->dim[i];
    return count;
}

static OrtStatus *element_count(const void *value, size_t *count) {
    void *info = NULL;
    OrtStatus *status = CALL(GET_TYPE_AND_SHAPE, GetTypeAndShape)(value, &info);
    if (status) return status;
    status = CALL(GET_ELEMENT_COUNT, GetElementCount)(info, count);
    CALL(RELEASE_TYPE_AND_SHAPE, ReleaseTypeAndShape)(info);
    return status;
}

static OrtStatus *take_input(Call *call, size_t i) {
    const Port *port = &call->region->inputs[i];
    const void *value = NULL;
    void *data = NULL;
    size_t count = 0;
    OrtStatus *status = CALL(CONTEXT_GET_INPUT, ContextGetInput)(call->context, i, &value);
    if (!status && !value) return failed(call->region, "an input is missing");
    if (!status) status = element_count(value, &count);
    if (!status && count != count_of(port))
        return failed(call->region, "an input has another shape than the model was rewritten for");
    if (!status)
        status =
            CALL(GET_TENSOR_MUTABLE_DATA, GetTensorMutableData)((void *)(uintptr_t)value, &data);
    call->inputs[i] = view_of(port, data);
    return status;
}

static OrtStatus *make_output(Call *call, size_t i) {
    const Port *port = &call->region->outputs[i];
    void *value = NULL, *data = NULL;
    OrtStatus *status = CALL(CONTEXT_GET_OUTPUT, ContextGetOutput)(
        call->context, i, port->shape, (size_t)port->shape_rank, &value);
    if (!status && !value) return failed(call->region, "an output is missing");
    if (!status) status = CALL(GET_TENSOR_MUTABLE_DATA, GetTensorMutableData)(value, &data);
    call->outputs[i] = view_of(port, data);
    return status;
}

/* KFUSE_THREADS, or all that this process may run on. */
static int thread_count(void) {
    const char *wanted = getenv("KFUSE_THREADS");
    long count = wanted ? strtol(wanted, NULL, 10) : 0;
    cpu_set_t set;
    if (count < 1 && sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > INT_MAX ? INT_MAX : (int)count;
}

static OrtStatus *launch(const Call *call) {
    const Region *region = call->region;
    int threads = thread_count();
    int64_t bytes = region->workspace(call->inputs, threads);
    if (bytes < 0) return failed(region, "these shapes are not taken");
    size_t rounded =
        ((size_t)bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
    void *workspace = bytes ? aligned_alloc(WORKSPACE_ALIGNMENT, rounded) : NULL;
    if (bytes && !workspace) return failed(region, "out of memory");
    int code = region->launch(call->inputs, call->outputs, workspace, (size_t)bytes, threads);
    free(workspace);
    return code ? failed(region, region->error(code)) : NULL;
}

static OrtStatus *compute(void *kernel, void *context) {
    const Region *region = kernel;
    KfView *views = calloc(region->input_count + region->output_count, sizeof *views);
    if (!views) return failed(region, "out of memory");
    Call call = {region, context, views, views + region->input_count};
    OrtStatus *status = NULL;
    for (size_t i = 0; i < region->input_count && !status; i++) status = take_input(&call, i);
    for (size_t i = 0; i < region->output_count && !status; i++) status = make_output(&call, i);
    if (!status) status = launch(&call);
    free(views);
    return status;
}

/* --- what an operator says of itself */

static OrtStatus *create(const Op *op, const void *table, const void *info, void **kernel) {
    (void)table, (void)info;
    *kernel = (void *)(uintptr_t)op->region;
    return NULL;
}

static void destroy(void *kernel) {
    (void)kernel;
}

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
        CREATE_STATUS,        CREATE_CUSTOM_OP_DOMAIN, CUSTOM_OP_DOMAIN_ADD,
        ADD_CUSTOM_OP_DOMAIN, GET_TENSOR_MUTABLE_DATA, CREATE_TYPE_AND_SHAPE,
        SET_DIMENSIONS,       GET_ELEMENT_COUNT,       GET_TYPE_AND_SHAPE,
        CONTEXT_GET_INPUT,    CONTEXT_GET_OUTPUT,      RELEASE_TYPE_AND_SHAPE};
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
    OrtStatus *status = CALL(CREATE_CUSTOM_OP_DOMAIN, CreateCustomOpDomain)("ai.kfuse", &domain);
    for (size_t i = 0; i < REGIONS && !status; i++) {
        describe(&ops[i], &regions[i]);
        status = CALL(CUSTOM_OP_DOMAIN_ADD, CustomOpDomainAdd)(domain, &ops[i]);
    }
    return status ? status : CALL(ADD_CUSTOM_OP_DOMAIN, AddCustomOpDomain)(options, domain);
}
