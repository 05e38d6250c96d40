/* The list of regions, and of what is left, as text or JSON. */
#ifndef KF_ONNX_LIST_H
#define KF_ONNX_LIST_H

#include "onnx/region.h"

void onnx_list(FILE *out, const OnnxRegions *regions, bool json);

#endif
