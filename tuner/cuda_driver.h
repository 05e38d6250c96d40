/* The CUDA driver's library, loaded when it is wanted: kfuse starts on machines without one. */
#ifndef KF_CUDA_DRIVER_H
#define KF_CUDA_DRIVER_H

#include "tuner/cuda_api.h"
#include "tuner/device.h"

typedef struct Cuda {
#define CUDA_MEMBER(name, symbol, arguments) CUresult(*name) arguments;
    CUDA_FUNCTIONS(CUDA_MEMBER)
#undef CUDA_MEMBER
} Cuda;

/* Loads the library; starts nothing. It stays loaded. */
bool cuda_load(Cuda *cuda, Why *why);
/* CUDA version the driver speaks, 13000 for 13.0; 0: no driver. Starts nothing. */
int cuda_driver_version(void);

/* Lets this thread load and allocate while a stream is captured; gives the mode that it had, to be put back. */
CUstreamCaptureMode cuda_capture_mode(const Cuda *cuda, CUstreamCaptureMode mode);

/* What an error of a launch, or of waiting for one, means for the candidate. */
Outcome cuda_outcome(CUresult error);
/* "what: CUDA_ERROR_NAME (description)". Returns error == CUDA_SUCCESS, where `why` stays as it is.
 */
bool cuda_check(const Cuda *cuda, CUresult error, const char *what, Why *why);

#endif
