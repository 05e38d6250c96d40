/* Shapes of results that hold the operand's elements: Reshape, Flatten, Squeeze, Unsqueeze, Identity. */
#include <string.h>

#include "onnx/shape.h"

static bool is(const OnnxInfer *infer, const char *op) {
    return strcmp(infer->node->op, op) == 0;
}

/* Axes: an attribute up to set 12, then operand 1. */
static const int64_t *list(const OnnxInfer *infer, const char *attribute, uint32_t operand,
                           uint32_t *count) {
    static const int64_t none[1];
    const Onnx__AttributeProto *found =
        onnx_attribute(infer->node, attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    if (!found) return onnx_infer_integers(infer, operand, count);
    *count = (uint32_t)found->n_ints;
    return found->ints ? found->ints : none;
}

/* Whether the elements of `from` fill a shape; the one size -1 is what is left. */
static bool complete(const OnnxShape *from, OnnxShape *shape) {
    int64_t total = onnx_count(from), rest = 1;
    int open = -1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] == -1 && open < 0)
            open = i;
        else if (shape->dim[i] < 0 || __builtin_mul_overflow(rest, shape->dim[i], &rest))
            return false;
    }
    if (total < 0 || open < 0) return total == rest;
    if (rest == 0 || total % rest != 0) return false;
    shape->dim[open] = total / rest;
    return true;
}

static KfStatus reshape(const OnnxInfer *infer) {
    const OnnxShape *from = onnx_infer_shape(infer, 0);
    uint32_t count;
    const int64_t *wanted = list(infer, "shape", 1, &count);
    bool zero_is_zero = onnx_attribute_int(infer->node, "allowzero", 0) != 0;
    if (!from || !wanted || count > KF_RANK_MAX) return KF_OK;
    OnnxShape shape = {.known = true, .rank = (int)count};
    for (uint32_t i = 0; i < count; i++) {
        shape.dim[i] = wanted[i];
        if (wanted[i] != 0 || zero_is_zero) continue;
        if ((int)i >= from->rank)
            return onnx_infer_wrong(infer, "0 stands for size %u of %s", i,
                                    onnx_shape_text(infer->graph->arena, from));
        shape.dim[i] = from->dim[i];
    }
    if (!complete(from, &shape))
        return onnx_infer_wrong(infer, "%s has not as many elements as its new shape",
                                onnx_shape_text(infer->graph->arena, from));
    onnx_infer_set(infer, &shape, 0);
    return KF_OK;
}

static KfStatus flatten(const OnnxInfer *infer) {
    const OnnxShape *from = onnx_infer_shape(infer, 0);
    if (!from) return KF_OK;
    int64_t axis = onnx_attribute_int(infer->node, "axis", 1);
    if (axis < 0) axis += from->rank;
    if (axis < 0 || axis > from->rank) return onnx_infer_wrong(infer, "it has no such axis");
    OnnxShape shape = {.known = true, .rank = 2, .dim = {1, 1}};
    for (int i = 0; i < from->rank; i++) shape.dim[i < axis ? 0 : 1] *= from->dim[i];
    onnx_infer_set(infer, &shape, 0);
    return KF_OK;
}

/* Bits of the axes that are named, counted from the first; false: one is there twice or not at all. */
static bool axis_bits(const int64_t *axes, uint32_t count, int rank, uint32_t *bits) {
    *bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        int axis = onnx_axis(axes[i], rank);
        if (axis < 0 || *bits >> axis & 1) return false;
        *bits |= 1u << axis;
    }
    return true;
}

static KfStatus squeeze(const OnnxInfer *infer) {
    const OnnxShape *from = onnx_infer_shape(infer, 0);
    uint32_t count = 0, bits = 0;
    const int64_t *axes = list(infer, "axes", 1, &count);
    if (!from || (!axes && infer->node->input_count > 1)) return KF_OK;
    if (axes && !axis_bits(axes, count, from->rank, &bits))
        return onnx_infer_wrong(infer, "%s has no such axes",
                                onnx_shape_text(infer->graph->arena, from));
    OnnxShape shape = {.known = true};
    for (int i = 0; i < from->rank; i++) {
        bool gone = axes ? bits >> i & 1 : from->dim[i] == 1;
        if (gone && from->dim[i] != 1)
            return onnx_infer_wrong(infer, "axis %d of %s is not 1", i,
                                    onnx_shape_text(infer->graph->arena, from));
        if (!gone) shape.dim[shape.rank++] = from->dim[i];
    }
    onnx_infer_set(infer, &shape, 0);
    return KF_OK;
}

static KfStatus unsqueeze(const OnnxInfer *infer) {
    const OnnxShape *from = onnx_infer_shape(infer, 0);
    uint32_t count, bits;
    const int64_t *axes = list(infer, "axes", 1, &count);
    if (!from || !axes || (uint32_t)from->rank + count > KF_RANK_MAX) return KF_OK;
    OnnxShape shape = {.known = true, .rank = from->rank + (int)count};
    if (!axis_bits(axes, count, shape.rank, &bits))
        return onnx_infer_wrong(infer, "its axes are none of the new shape");
    for (int i = 0, k = 0; i < shape.rank; i++) shape.dim[i] = bits >> i & 1 ? 1 : from->dim[k++];
    onnx_infer_set(infer, &shape, 0);
    return KF_OK;
}

KfStatus onnx_infer_view(const OnnxInfer *infer) {
    onnx_infer_set(infer, NULL, 0);
    if (is(infer, "Reshape")) return reshape(infer);
    if (is(infer, "Flatten")) return flatten(infer);
    if (is(infer, "Squeeze")) return squeeze(infer);
    if (is(infer, "Unsqueeze")) return unsqueeze(infer);
    if (is(infer, "Transpose")) return onnx_infer_other(infer);
    onnx_infer_set(infer, onnx_infer_shape(infer, 0), 0);
    return KF_OK;
}
