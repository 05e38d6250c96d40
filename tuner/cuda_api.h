/* The part of CUDA's driver interface and of NVRTC that kfuse uses: the toolkit's own headers where
 * the build found them, else the same declared here. cuda_api.c checks one against the other:
 * prototypes when it is compiled with the headers, values and layouts by cuda_api_facts in a test.
 */
#ifndef KF_CUDA_API_H
#define KF_CUDA_API_H

#include <stddef.h>

#ifdef KF_HAVE_CUDA_HEADERS
#include <cuda.h>
#include <nvrtc.h>
#else
typedef int CUresult, CUdevice, CUdevice_attribute, CUfunction_attribute, CUstreamCaptureMode;
typedef int CUlaunchAttributeID, nvrtcResult;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct _nvrtcProgram *nvrtcProgram;

typedef union CUlaunchAttributeValue {
    char pad[64];
    struct {
        unsigned int x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
} CUlaunchAttributeValue;
typedef struct CUlaunchAttribute {
    CUlaunchAttributeID id;
    char pad[4];
    CUlaunchAttributeValue value;
} __attribute__((aligned(8))) CUlaunchAttribute;
typedef struct CUlaunchConfig {
    unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned int numAttrs;
} CUlaunchConfig;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_ERROR_LAUNCH_TIMEOUT = 702,
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
    CU_STREAM_NON_BLOCKING = 1,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2,
    CU_EVENT_DEFAULT = 0,
    CU_EVENT_RECORD_EXTERNAL = 1,
    NVRTC_SUCCESS = 0,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_COMPILATION = 6,
};
#define CU_STREAM_PER_THREAD ((CUstream)0x2)
#endif

/* Every value and layout above. */
/* clang-format off */
#define CUDA_FACTS(X) \
    X(CUDA_SUCCESS) X(CUDA_ERROR_INVALID_VALUE) X(CUDA_ERROR_OUT_OF_MEMORY) \
    X(CUDA_ERROR_NOT_INITIALIZED) X(CUDA_ERROR_NO_DEVICE) X(CUDA_ERROR_INVALID_IMAGE) \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU) X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION) X(CUDA_ERROR_NOT_FOUND) \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) X(CUDA_ERROR_LAUNCH_TIMEOUT) \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE) X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK) X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) \
    X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) X(CU_STREAM_NON_BLOCKING) \
    X(CU_STREAM_CAPTURE_MODE_RELAXED) X(CU_EVENT_DEFAULT) X(CU_EVENT_RECORD_EXTERNAL) \
    X(CU_STREAM_PER_THREAD) \
    X(NVRTC_SUCCESS) X(NVRTC_ERROR_INVALID_OPTION) X(NVRTC_ERROR_COMPILATION) X(sizeof(CUresult)) \
    X(sizeof(CUdevice)) X(sizeof(CUdeviceptr)) X(sizeof(CUdevice_attribute)) \
    X(sizeof(CUfunction_attribute)) X(sizeof(CUstreamCaptureMode)) X(sizeof(nvrtcResult)) \
    X(sizeof(CUlaunchAttribute)) X(offsetof(CUlaunchAttribute, value)) \
    X(offsetof(CUlaunchAttributeValue, clusterDim.z)) \
    X(offsetof(CUlaunchAttributeValue, programmaticStreamSerializationAllowed)) \
    X(sizeof(CUlaunchConfig)) \
    X(offsetof(CUlaunchConfig, sharedMemBytes)) X(offsetof(CUlaunchConfig, hStream)) \
    X(offsetof(CUlaunchConfig, attrs)) X(offsetof(CUlaunchConfig, numAttrs))
/* clang-format on */

/* X(our name, symbol as the library exports it, prototype). Symbols carry their versions: the plain
 * name is an older interface. LaunchKernelEx came with CUDA 11.8 and may be absent. */
#define CUDA_FUNCTIONS(X)                                                                          \
    X(Init, cuInit, (unsigned int))                                                                \
    X(DriverGetVersion, cuDriverGetVersion, (int *))                                               \
    X(GetErrorName, cuGetErrorName, (CUresult, const char **))                                     \
    X(GetErrorString, cuGetErrorString, (CUresult, const char **))                                 \
    X(DeviceGetCount, cuDeviceGetCount, (int *))                                                   \
    X(DeviceGet, cuDeviceGet, (CUdevice *, int))                                                   \
    X(DeviceGetName, cuDeviceGetName, (char *, int, CUdevice))                                     \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))             \
    X(DeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *, int, CUdevice))                             \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice))                                   \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                   \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice))                           \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                                            \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *))                                            \
    X(CtxGetCurrent, cuCtxGetCurrent, (CUcontext *))                                               \
    X(CtxGetDevice, cuCtxGetDevice, (CUdevice *))                                                  \
    X(MemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                                            \
    X(MemFree, cuMemFree_v2, (CUdeviceptr))                                                        \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))        \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))              \
    X(ModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))                                \
    X(ModuleUnload, cuModuleUnload, (CUmodule))                                                    \
    X(ModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))              \
    X(FuncSetAttribute, cuFuncSetAttribute, (CUfunction, CUfunction_attribute, int))               \
    X(LaunchKernel, cuLaunchKernel,                                                                \
      (CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,           \
       unsigned int, unsigned int, CUstream, void **, void **))                                    \
    X(LaunchKernelEx, cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))    \
    X(StreamCreate, cuStreamCreate, (CUstream *, unsigned int))                                    \
    X(StreamDestroy, cuStreamDestroy_v2, (CUstream))                                               \
    X(StreamSynchronize, cuStreamSynchronize, (CUstream))                                          \
    X(StreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, CUstreamCaptureMode))                \
    X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)) \
    X(StreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *))                                 \
    X(GraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long)) \
    X(GraphUpload, cuGraphUpload, (CUgraphExec, CUstream))                                         \
    X(GraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                                         \
    X(GraphDestroy, cuGraphDestroy, (CUgraph))                                                     \
    X(GraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))                                         \
    X(EventCreate, cuEventCreate, (CUevent *, unsigned int))                                       \
    X(EventDestroy, cuEventDestroy_v2, (CUevent))                                                  \
    X(EventRecord, cuEventRecordWithFlags, (CUevent, CUstream, unsigned int))                      \
    X(EventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))

#define NVRTC_FUNCTIONS(X)                                                                         \
    X(Version, nvrtcVersion, (int *, int *))                                                       \
    X(GetNumSupportedArchs, nvrtcGetNumSupportedArchs, (int *))                                    \
    X(GetSupportedArchs, nvrtcGetSupportedArchs, (int *))                                          \
    X(CreateProgram, nvrtcCreateProgram,                                                           \
      (nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *)) \
    X(DestroyProgram, nvrtcDestroyProgram, (nvrtcProgram *))                                       \
    X(CompileProgram, nvrtcCompileProgram, (nvrtcProgram, int, const char *const *))               \
    X(GetProgramLogSize, nvrtcGetProgramLogSize, (nvrtcProgram, size_t *))                         \
    X(GetProgramLog, nvrtcGetProgramLog, (nvrtcProgram, char *))                                   \
    X(GetCUBINSize, nvrtcGetCUBINSize, (nvrtcProgram, size_t *))                                   \
    X(GetCUBIN, nvrtcGetCUBIN, (nvrtcProgram, char *))                                             \
    X(GetPTXSize, nvrtcGetPTXSize, (nvrtcProgram, size_t *))                                       \
    X(GetPTX, nvrtcGetPTX, (nvrtcProgram, char *))

typedef struct CudaFact {
    const char *name;
    long value;
} CudaFact;
extern const CudaFact cuda_api_facts[]; /* as the library was built; NULL name ends it */

#endif
