/* Nodes in, one program of kfuse out: what they compute together, in its language. */
#ifndef KF_ONNX_EXPRESS_H
#define KF_ONNX_EXPRESS_H

#include "onnx/ops.h"

/* A tensor that the program reads or leaves. */
typedef struct OnnxPort {
    uint32_t tensor;
    const char *name; /* in the program */
    KfType type;
    int rank; /* as the program sees it: axes that go together are one */
    int64_t dim[KF_RANK_MAX];
} OnnxPort;

typedef struct OnnxProgram {
    const char *text;
    OnnxPort *inputs, *outputs;
    uint32_t input_count, output_count;
    uint32_t computed; /* nodes that are more than a view */
} OnnxProgram;

typedef struct OnnxExpress {
    const OnnxGraph *graph;
    const OnnxPiece *pieces; /* by node */
    uint32_t *slots;         /* by tensor, all 0 between calls */
    bool *inside;            /* by node, all false between calls */
    bool plain; /* names x1, y1 … in place of the model's: the same for what is the same */
} OnnxExpress;

/* The nodes in order. False, and why, where their results do not fit into one program. */
bool onnx_express(const OnnxExpress *express, Arena *arena, const uint32_t *nodes, uint32_t count,
                  OnnxProgram *program, const char **why);

#endif
