/* ONNX models: which operators would become one kernel, and what that saves; kernels for them; and a
 * model that calls these kernels. The folder stands between the library and the command line: of kfuse
 * it uses kfuse.h alone, and compiler/base/ for memory and text. */
#ifndef KF_ONNX_H
#define KF_ONNX_H

#include <stdio.h>

#include "kfuse.h"

/* "batch=8": a symbolic dimension of the model. */
typedef struct OnnxDim {
    const char *name; /* not NUL-terminated */
    size_t length;
    int64_t size;
} OnnxDim;

typedef struct OnnxOptions {
    const char *path;
    const OnnxDim *dims;
    size_t dim_count;
    const char *device; /* as KfProblem has it */
    KfMath math;
    bool round_each_op;
    const KfTuneOptions *tune;
    const char *folder;    /* where kernels are written; NULL: the regions are listed only */
    const char *rewritten; /* the model that calls them; NULL: none */
    bool products;         /* matrix products may begin a region */
    bool json;
} OnnxOptions;

/* The list goes to `out`. KF_INPUT with one line on stderr where the model is damaged, or is of a
 * version that is not known; KF_USAGE where a dimension has no size. */
KfStatus onnx_run(KfSession *session, const OnnxOptions *options, FILE *out);

#endif
