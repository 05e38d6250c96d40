/* NVRTC, CUDA's run-time compiler, loaded when it is wanted. */
#ifndef KF_CUDA_NVRTC_H
#define KF_CUDA_NVRTC_H

#include "tuner/cuda_api.h"
#include "tuner/device.h"

typedef struct Nvrtc {
#define NVRTC_MEMBER(name, symbol, arguments) nvrtcResult(*name) arguments;
    NVRTC_FUNCTIONS(NVRTC_MEMBER)
#undef NVRTC_MEMBER
    int major, minor;
    char file[256]; /* the library's path, links resolved */
} Nvrtc;

/* Loads the newest NVRTC whose binaries the driver (if any) runs. It stays loaded. */
bool nvrtc_load(Nvrtc *nvrtc, Why *why);
/* What its binaries depend on: version and the library's size (builds of one version differ). */
void nvrtc_print(const Nvrtc *nvrtc, char *text, size_t size);

/* The architecture option for "sm_90": a cubin; for "compute_90": PTX; or, for a GPU newer than NVRTC, PTX of the newest
 * it knows, which the driver finishes. False for one that it no longer knows. */
typedef struct NvrtcTarget {
    char option[48];
    bool ptx;
} NvrtcTarget;
bool nvrtc_target(const Nvrtc *nvrtc, const char *arch, NvrtcTarget *target, Why *why);

/* Appends a cubin, or PTX with its NUL, to `binary`. COMPILE with the first error line in `why`. */
Outcome nvrtc_compile(const Nvrtc *nvrtc, const CompileUnit *unit, const char *arch, Text *binary,
                      Why *why);

#endif
