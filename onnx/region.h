/* Regions: sets of nodes that would become one kernel each. */
#ifndef KF_ONNX_REGION_H
#define KF_ONNX_REGION_H

#include "onnx/express.h"

typedef struct OnnxRegion {
    const char *name; /* "r1" */
    uint32_t *nodes;  /* in order */
    uint32_t node_count;
    OnnxProgram program;
    const char *kernel;   /* the program with plain names and its arrays: equal for equal kernels */
    const char *shapes;   /* of the tensors */
    uint32_t same_as;     /* the first region with that kernel; its own number */
    uint32_t same_op;     /* the first of these whose tensors have the same shapes, too */
    int64_t fused, apart; /* bytes moved by the one kernel, by a kernel for each node */
} OnnxRegion;

typedef struct OnnxRegions {
    const OnnxGraph *graph;
    OnnxPiece *pieces; /* by node; `why` is set for all that are in no region */
    uint32_t *of;      /* by node: region, or ONNX_NONE */
    ARRAY(OnnxRegion) list;
} OnnxRegions;

/* What a program is compiled for. */
typedef struct OnnxTarget {
    KfSession *session;
    const char *device;
    KfMath math;
    bool round_each_op;
    bool runtime; /* kernels become operators of ONNX Runtime */
} OnnxTarget;

/* KF_ENVIRONMENT, KF_INTERRUPTED… as the library's calls give it, the message in the session. */
KfStatus onnx_regions(const OnnxGraph *graph, const OnnxTarget *target, OnnxRegions *regions);
/* The region's program, opened; close it. */
KfStatus onnx_open(const OnnxTarget *target, const OnnxProgram *program, KfProgram **opened);
/* Bytes of a tensor; 0 where its type is none of kfuse's. */
int64_t onnx_bytes(const OnnxTensor *tensor);

#endif
