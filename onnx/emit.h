/* Kernels for regions, as files. */
#ifndef KF_ONNX_EMIT_H
#define KF_ONNX_EMIT_H

#include "onnx/region.h"

typedef struct OnnxFiles {
    ARRAY(const char *) sources; /* C to compile, paths */
} OnnxFiles;

/* Tunes each different kernel and writes it to options->folder: NAME.c, NAME.h, NAME.json and the
 * kernel, as `kfuse emit` does. A line each goes to `out`. Regions for which no kernel works, or
 * none that would gain anything in ONNX Runtime, are regions no more; KF_NO_KERNEL where none is left. */
KfStatus onnx_emit(OnnxRegions *regions, const OnnxTarget *target, const OnnxOptions *options,
                   FILE *out, OnnxFiles *files);

#endif
