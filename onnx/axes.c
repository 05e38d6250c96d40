/* In: sizes of the tensors of a program, the axes that are reduced. Out: which axes may be one. Each
 * tensor is row-major, so neighbours that it has both in full, or both not at all, are one loop. */
#include "onnx/axes.h"

OnnxDims onnx_dims(const OnnxShape *shape, int rank) {
    OnnxDims dims;
    for (int i = 0; i < rank; i++) {
        int k = i - (rank - shape->rank);
        dims.dim[i] = k >= 0 ? shape->dim[k] : 1;
    }
    return dims;
}

static bool bit(uint32_t mask, int rank, int axis) {
    return mask >> (rank - 1 - axis) & 1;
}

/* Axes i and k, with nothing but ones between them. */
static bool go_together(const OnnxAxes *axes, int i, int k, const OnnxDimsList *tensors,
                        const OnnxMaskList *masks) {
    for (uint32_t t = 0; t < tensors->count; t++) {
        const int64_t *dim = tensors->data[t].dim;
        bool full = dim[i] == axes->full[i] && dim[k] == axes->full[k];
        if (!full && (dim[i] != 1 || dim[k] != 1)) return false;
    }
    for (uint32_t m = 0; m < masks->count; m++)
        if (bit(masks->data[m], axes->rank, i) != bit(masks->data[m], axes->rank, k)) return false;
    return true;
}

static bool is_reduced(int rank, int axis, const OnnxMaskList *masks) {
    for (uint32_t m = 0; m < masks->count; m++)
        if (bit(masks->data[m], rank, axis)) return true;
    return false;
}

OnnxAxes onnx_axes(int rank, const OnnxDimsList *tensors, const OnnxMaskList *masks) {
    OnnxAxes axes = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        axes.full[i] = 1;
        for (uint32_t t = 0; t < tensors->count; t++)
            if (tensors->data[t].dim[i] != 1) axes.full[i] = tensors->data[t].dim[i];
    }
    for (int i = 0, last = -1; i < rank; i++) {
        axes.to[i] = -1;
        if (axes.full[i] == 1 && !is_reduced(rank, i, masks)) continue;
        bool one = last >= 0 && go_together(&axes, last, i, tensors, masks);
        axes.to[i] = one ? axes.merged - 1 : axes.merged++;
        last = i;
    }
    return axes;
}

OnnxAxes onnx_axes_apart(int rank) {
    OnnxAxes axes = {.rank = rank, .merged = rank};
    for (int i = 0; i < rank; i++) axes.to[i] = i;
    return axes;
}

int onnx_axes_apply(const OnnxAxes *axes, const OnnxDims *dims, int least, int64_t *to) {
    int64_t all[KF_RANK_MAX] = {0};
    int skip = 0;
    for (int i = 0; i < axes->merged; i++) all[i] = 1;
    for (int i = 0; i < axes->rank; i++)
        if (axes->to[i] >= 0) all[axes->to[i]] *= dims->dim[i];
    while (skip < axes->merged - least && all[skip] == 1) skip++;
    for (int i = skip; i < axes->merged; i++) to[i - skip] = all[i];
    return axes->merged - skip;
}

int onnx_axes_reduced(const OnnxAxes *axes, uint32_t mask) {
    uint32_t merged = 0;
    for (int i = 0; i < axes->rank; i++)
        if (bit(mask, axes->rank, i)) merged |= 1u << (axes->merged - 1 - axes->to[i]);
    if (merged && (merged & (merged - 1)) == 0) return -1 - __builtin_ctz(merged);
    return merged && merged == (1u << axes->merged) - 1 ? 1 : 0;
}
