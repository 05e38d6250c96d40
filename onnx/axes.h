/* Axes of a program: those that all tensors have in full, or not at all, are one. */
#ifndef KF_ONNX_AXES_H
#define KF_ONNX_AXES_H

#include "onnx/graph.h"

/* Sizes in the rank of the program, 1 where a tensor has no such axis. */
typedef struct OnnxDims {
    int64_t dim[KF_RANK_MAX];
} OnnxDims;

typedef struct OnnxAxes {
    int rank;                  /* before */
    int merged;                /* after */
    int to[KF_RANK_MAX];       /* the merged axis of each; -1: of size 1, and left out */
    int64_t full[KF_RANK_MAX]; /* the largest sizes */
} OnnxAxes;

typedef ARRAY(OnnxDims) OnnxDimsList;
typedef ARRAY(uint32_t) OnnxMaskList;

/* Sizes of a shape, aligned right. */
OnnxDims onnx_dims(const OnnxShape *shape, int rank);
/* `masks`: the axes of each reduction, bits from the last axis. */
OnnxAxes onnx_axes(int rank, const OnnxDimsList *tensors, const OnnxMaskList *masks);
/* Each by itself. */
OnnxAxes onnx_axes_apart(int rank);
/* A tensor in merged axes, without leading ones beyond `least` axes. */
int onnx_axes_apply(const OnnxAxes *axes, const OnnxDims *dims, int least, int64_t *to);
/* The merged axis of a reduction, counted from the last as -1; 1: all of them; 0: it is several. */
int onnx_axes_reduced(const OnnxAxes *axes, uint32_t mask);

#endif
