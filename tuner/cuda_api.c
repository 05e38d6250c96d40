/* Checks of cuda_api.h; see there. */
#include "tuner/cuda_api.h"

#ifdef KF_HAVE_CUDA_HEADERS
#define CHECK_DRIVER(name, symbol, arguments)                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) arguments), \
                   #symbol);
CUDA_FUNCTIONS(CHECK_DRIVER)
#define CHECK_NVRTC(name, symbol, arguments)                                                    \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), nvrtcResult(*) arguments), \
                   #symbol);
NVRTC_FUNCTIONS(CHECK_NVRTC)
#endif

#define FACT(expression) {#expression, (long)(expression)},
const CudaFact cuda_api_facts[] = {CUDA_FACTS(FACT){NULL, 0}};
