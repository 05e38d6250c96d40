/* In: a graph in order, shapes of its inputs. Out: shapes and types of what nodes make. Operators of
 * ops.def by their form; others in shape_other.c. */
#include "onnx/shape.h"

#include <stdio.h>
#include <string.h>

#include "onnx/constant.h"
#include "onnx/ops.h"

/* --- what all of them need */

const OnnxShape *onnx_infer_shape(const OnnxInfer *infer, uint32_t operand) {
    const OnnxTensor *tensor = onnx_input(infer->graph, infer->node, operand);
    return tensor && tensor->shape.known ? &tensor->shape : NULL;
}

const int64_t *onnx_infer_integers(const OnnxInfer *infer, uint32_t operand, uint32_t *count) {
    OnnxTensor *tensor = onnx_input(infer->graph, infer->node, operand);
    if (!tensor) return NULL;
    if (!tensor->integers && tensor->constant)
        tensor->integers =
            onnx_constant_integers(infer->graph->arena, tensor->constant, &tensor->integer_count);
    *count = tensor->integer_count;
    return tensor->integers;
}

void onnx_infer_set(const OnnxInfer *infer, const OnnxShape *shape, int32_t type) {
    OnnxTensor *tensor = onnx_output(infer->graph, infer->node, 0);
    const OnnxTensor *operand = onnx_input(infer->graph, infer->node, 0);
    if (!tensor) return;
    if (type || operand) tensor->type = type ? type : operand->type;
    if (shape) tensor->shape = *shape;
}

void onnx_infer_values(const OnnxInfer *infer, const int64_t *values, uint32_t count, int rank) {
    OnnxTensor *tensor = onnx_output(infer->graph, infer->node, 0);
    if (!tensor) return;
    tensor->integers = values;
    tensor->integer_count = count;
    tensor->shape = (OnnxShape){.known = true, .rank = rank, .dim = {count}};
}

KfStatus onnx_infer_wrong(const OnnxInfer *infer, const char *format, ...) {
    char text[ONNX_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return onnx_wrong(infer->model, KF_INPUT, "%s: %s", infer->node->label, text);
}

int onnx_axis(int64_t axis, int rank) {
    if (axis < 0) axis += rank;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

static int64_t dim_from_end(const OnnxShape *shape, int k) {
    return k < shape->rank ? shape->dim[shape->rank - 1 - k] : 1;
}

bool onnx_broadcast(const OnnxShape *a, const OnnxShape *b, OnnxShape *both) {
    OnnxShape result = {.known = true, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int k = 0; k < result.rank; k++) {
        int64_t x = dim_from_end(a, k), y = dim_from_end(b, k);
        if (x != y && x != 1 && y != 1) return false;
        result.dim[result.rank - 1 - k] = x == 1 ? y : x;
    }
    *both = result;
    return true;
}

/* --- by form */

static KfStatus broadcast_operands(const OnnxInfer *infer, OnnxShape *shape, bool *known) {
    *shape = (OnnxShape){.known = true};
    *known = true;
    for (uint32_t i = 0; i < infer->node->input_count; i++) {
        const OnnxShape *operand = onnx_infer_shape(infer, i);
        if (!operand) return *known = false, KF_OK;
        if (!onnx_broadcast(shape, operand, shape))
            return onnx_infer_wrong(infer, "%s and %s do not broadcast",
                                    onnx_shape_text(infer->graph->arena, shape),
                                    onnx_shape_text(infer->graph->arena, operand));
    }
    return KF_OK;
}

/* Operands that say how, not what. */
static bool first_alone(const OnnxInfer *infer, const OnnxOp *op) {
    bool along_axis =
        infer->model->opset < 7 &&
        onnx_attribute(infer->node, "axis", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    return op->result == ONNX_TARGET || along_axis || strcmp(op->name, "CastLike") == 0 ||
           strcmp(op->name, "Clip") == 0 || strcmp(op->name, "PRelu") == 0;
}

static KfStatus infer_broadcast(const OnnxInfer *infer, const OnnxOp *op, int32_t type) {
    OnnxShape shape;
    bool known;
    if (first_alone(infer, op))
        return onnx_infer_set(infer, onnx_infer_shape(infer, 0), type), KF_OK;
    KfStatus status = broadcast_operands(infer, &shape, &known);
    if (status == KF_OK) onnx_infer_set(infer, known ? &shape : NULL, type);
    return status;
}

static KfStatus infer_reduction(const OnnxInfer *infer, const OnnxOp *op) {
    const OnnxShape *operand = onnx_infer_shape(infer, 0);
    const char *why;
    uint32_t axes;
    onnx_infer_set(infer, NULL, 0);
    if (!operand || !onnx_reduced(infer->graph, infer->node, op, &axes, &why)) return KF_OK;
    OnnxShape shape = {.known = true};
    for (int i = 0; i < operand->rank; i++) {
        bool reduced = axes >> (operand->rank - 1 - i) & 1;
        if (!reduced) shape.dim[shape.rank++] = operand->dim[i];
        if (reduced && onnx_keeps(infer->node, op)) shape.dim[shape.rank++] = 1;
    }
    onnx_infer_set(infer, &shape, 0);
    return KF_OK;
}

static int32_t result_type(const OnnxInfer *infer, const OnnxOp *op) {
    const OnnxTensor *second = onnx_input(infer->graph, infer->node, 1);
    switch (op->result) {
    case ONNX_SAME: return 0;
    case ONNX_BOOLEAN: return ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
    case ONNX_SECOND: return second ? second->type : 0;
    case ONNX_TARGET: return (int32_t)onnx_attribute_int(infer->node, "to", 0);
    }
    return 0;
}

static KfStatus infer_op(const OnnxInfer *infer, const OnnxOp *op) {
    switch (op->form) {
    case ONNX_ELEMENTWISE:
    case ONNX_VARIADIC: return infer_broadcast(infer, op, result_type(infer, op));
    case ONNX_ROWS:
    case ONNX_NORM:
    case ONNX_CHANNEL:
    case ONNX_INSTANCE: return onnx_infer_set(infer, onnx_infer_shape(infer, 0), 0), KF_OK;
    case ONNX_POOL:
    case ONNX_REDUCE: return infer_reduction(infer, op);
    case ONNX_PRODUCT: return onnx_infer_other(infer);
    case ONNX_VIEW: return onnx_infer_view(infer);
    }
    return KF_OK;
}

/* --- all together */

static KfStatus check_sizes(const OnnxInfer *infer) {
    for (uint32_t k = 0; k < infer->node->output_count; k++) {
        const OnnxTensor *tensor = onnx_output(infer->graph, infer->node, k);
        if (tensor && tensor->shape.known && onnx_count(&tensor->shape) < 0)
            return onnx_infer_wrong(infer, "'%s' of %s is larger than memory", tensor->label,
                                    onnx_shape_text(infer->graph->arena, &tensor->shape));
    }
    return KF_OK;
}

static KfStatus check_given(const OnnxGraph *graph) {
    for (uint32_t t = 0; t < graph->tensors.count; t++) {
        const OnnxTensor *tensor = &graph->tensors.data[t];
        if (tensor->shape.known && onnx_count(&tensor->shape) < 0)
            return onnx_wrong(graph->model, KF_INPUT, "'%s' of %s is larger than memory",
                              tensor->label, onnx_shape_text(graph->arena, &tensor->shape));
    }
    return KF_OK;
}

static KfStatus infer_node(const OnnxInfer *infer) {
    const OnnxOp *op = onnx_op(infer->node);
    if (!infer->node->standard) return KF_OK;
    KfStatus status = op ? infer_op(infer, op) : onnx_infer_other(infer);
    if (status == KF_OK) onnx_infer_fold(infer);
    return status == KF_OK ? check_sizes(infer) : status;
}

KfStatus onnx_shapes(OnnxGraph *graph) {
    KfStatus status = check_given(graph);
    for (uint32_t i = 0; i < graph->nodes.count && status == KF_OK; i++) {
        OnnxInfer infer = {graph, graph->model, &graph->nodes.data[i]};
        status = infer_node(&infer);
    }
    return status;
}
