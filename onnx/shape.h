/* Types and shapes of all tensors, as far as they follow from the inputs'. */
#ifndef KF_ONNX_SHAPE_H
#define KF_ONNX_SHAPE_H

#include "onnx/graph.h"

/* What does not follow keeps what the model declares, or stays unknown; that is no error. Shapes that
 * contradict an operator are: KF_INPUT with model->why. */
KfStatus onnx_shapes(OnnxGraph *graph);

/* --- for shape_*.c: one node */

typedef struct OnnxInfer {
    OnnxGraph *graph;
    OnnxModel *model;
    const OnnxNode *node;
} OnnxInfer;

/* NULL where the operand is left out or its shape is not known. */
const OnnxShape *onnx_infer_shape(const OnnxInfer *infer, uint32_t operand);
/* The elements of an operand that is a list of integers known by now. */
const int64_t *onnx_infer_integers(const OnnxInfer *infer, uint32_t operand, uint32_t *count);
/* Gives result 0 its shape and type (0: as operand 0). */
void onnx_infer_set(const OnnxInfer *infer, const OnnxShape *shape, int32_t type);
/* Gives result 0 the values of its elements, too. */
void onnx_infer_values(const OnnxInfer *infer, const int64_t *values, uint32_t count, int rank);
/* KF_INPUT: "Add 'x': …" */
KfStatus onnx_infer_wrong(const OnnxInfer *infer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* An axis of that rank, negative ones counted from the end; -1 where there is none such. */
int onnx_axis(int64_t axis, int rank);
/* NumPy's rule; false where sizes differ. */
bool onnx_broadcast(const OnnxShape *a, const OnnxShape *b, OnnxShape *both);

/* shape_other.c: operators that are not in ops.def. */
KfStatus onnx_infer_other(const OnnxInfer *infer);
/* shape_views.c: Reshape and its like. */
KfStatus onnx_infer_view(const OnnxInfer *infer);
/* shape_integers.c: values of small integer tensors: what a model computes shapes by. */
void onnx_infer_fold(const OnnxInfer *infer);

#endif
