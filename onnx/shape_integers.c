/* Values of small integer tensors: a model that computes the shape of a Reshape from a Shape has its
 * answer here. What is not understood has no values, which is no error. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/shape.h"

enum { VALUES_MOST = 1024 };

typedef struct Values {
    const int64_t *list;
    uint32_t count;
    int rank; /* 0 or 1 */
} Values;

static Values operand(const OnnxInfer *infer, uint32_t index) {
    Values values = {0};
    values.list = onnx_infer_integers(infer, index, &values.count);
    const OnnxShape *shape = onnx_infer_shape(infer, index);
    if (!shape || shape->rank > 1) values.list = NULL;
    if (shape) values.rank = shape->rank;
    return values;
}

static void fold_shape(const OnnxInfer *infer) {
    const OnnxShape *shape = onnx_infer_shape(infer, 0);
    if (!shape) return;
    int64_t from = onnx_attribute_int(infer->node, "start", 0);
    int64_t to = onnx_attribute_int(infer->node, "end", shape->rank);
    if (from < 0) from += shape->rank;
    if (to < 0) to += shape->rank;
    if (from < 0) from = 0;
    if (to > shape->rank) to = shape->rank;
    if (to < from) to = from;
    int64_t *list = arena_array(infer->graph->arena, int64_t, KF_RANK_MAX);
    for (int64_t i = from; i < to; i++) list[i - from] = shape->dim[i];
    onnx_infer_values(infer, list, (uint32_t)(to - from), 1);
}

static void fold_gather(const OnnxInfer *infer) {
    Values data = operand(infer, 0), index = operand(infer, 1);
    if (!data.list || !index.list || data.rank != 1 ||
        onnx_axis(onnx_attribute_int(infer->node, "axis", 0), 1) != 0)
        return;
    int64_t *list = arena_array(infer->graph->arena, int64_t, index.count);
    for (uint32_t i = 0; i < index.count; i++) {
        int64_t at = index.list[i] < 0 ? index.list[i] + data.count : index.list[i];
        if (at < 0 || at >= data.count) return;
        list[i] = data.list[at];
    }
    onnx_infer_values(infer, list, index.count, index.rank);
}

static void fold_concat(const OnnxInfer *infer) {
    int64_t *list = arena_array(infer->graph->arena, int64_t, VALUES_MOST);
    uint32_t count = 0;
    for (uint32_t i = 0; i < infer->node->input_count; i++) {
        Values part = operand(infer, i);
        if (!part.list || part.rank != 1 || part.count > VALUES_MOST - count) return;
        if (part.count) memcpy(list + count, part.list, part.count * sizeof *list);
        count += part.count;
    }
    onnx_infer_values(infer, list, count, 1);
}

static void fold_slice(const OnnxInfer *infer) {
    Values data = operand(infer, 0), from = operand(infer, 1), to = operand(infer, 2);
    Values step = operand(infer, 4);
    if (!data.list || data.rank != 1 || !from.list || from.count != 1 || !to.list ||
        to.count != 1 || (infer->node->input_count > 4 && !step.list) ||
        (step.list && (step.count != 1 || step.list[0] != 1)))
        return;
    int64_t n = data.count, a = from.list[0], z = to.list[0];
    if (a < 0) a = a < -n ? 0 : a + n;
    if (z < 0) z = z < -n ? 0 : z + n;
    if (z > n) z = n;
    if (a > z) a = z;
    onnx_infer_values(infer, data.list + a, (uint32_t)(z - a), 1);
}

static bool calculate(const char *op, int64_t a, int64_t b, int64_t *result) {
    if (strcmp(op, "Add") == 0) return !__builtin_add_overflow(a, b, result);
    if (strcmp(op, "Sub") == 0) return !__builtin_sub_overflow(a, b, result);
    if (strcmp(op, "Mul") == 0) return !__builtin_mul_overflow(a, b, result);
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    return *result = a / b, true;
}

static void fold_arithmetic(const OnnxInfer *infer) {
    Values a = operand(infer, 0), b = operand(infer, 1);
    if (!a.list || !b.list || (a.count != b.count && a.count != 1 && b.count != 1)) return;
    uint32_t count = a.count == 1 ? b.count : a.count;
    int64_t *list = arena_array(infer->graph->arena, int64_t, count);
    for (uint32_t i = 0; i < count; i++)
        if (!calculate(infer->node->op, a.list[a.count == 1 ? 0 : i], b.list[b.count == 1 ? 0 : i],
                       &list[i]))
            return;
    onnx_infer_values(infer, list, count, a.rank > b.rank ? a.rank : b.rank);
}

/* The same values, perhaps in another shape. */
static void fold_same(const OnnxInfer *infer) {
    Values data = operand(infer, 0);
    const OnnxTensor *result = onnx_output(infer->graph, infer->node, 0);
    if (!data.list || !result || !result->shape.known || result->shape.rank > 1 ||
        onnx_count(&result->shape) != data.count)
        return;
    onnx_infer_values(infer, data.list, data.count, result->shape.rank);
}

static bool is_wide(const OnnxTensor *tensor) {
    return tensor && (tensor->type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 ||
                      tensor->type == ONNX__TENSOR_PROTO__DATA_TYPE__INT32);
}

void onnx_infer_fold(const OnnxInfer *infer) {
    static const struct {
        const char *op;
        void (*fold)(const OnnxInfer *infer);
    } table[] = {{"Shape", fold_shape},    {"Gather", fold_gather},  {"Concat", fold_concat},
                 {"Slice", fold_slice},    {"Add", fold_arithmetic}, {"Sub", fold_arithmetic},
                 {"Mul", fold_arithmetic}, {"Div", fold_arithmetic}, {"Unsqueeze", fold_same},
                 {"Squeeze", fold_same},   {"Reshape", fold_same},   {"Identity", fold_same},
                 {"Cast", fold_same}};
    const OnnxTensor *result = onnx_output(infer->graph, infer->node, 0);
    for (size_t i = 0; result && is_wide(result) && i < sizeof table / sizeof *table; i++)
        if (strcmp(infer->node->op, table[i].op) == 0) table[i].fold(infer);
}
