/* What ONNX Runtime computes within the node before it. */
#ifndef KF_ONNX_FOLDED_H
#define KF_ONNX_FOLDED_H

#include "onnx/ops.h"

/* Leaves piece `index` to the runtime where it would cost nothing of its own there. Pieces before it are
 * settled: nodes come in order. */
void onnx_fold(const OnnxGraph *graph, OnnxPiece *pieces, uint32_t index);

#endif
