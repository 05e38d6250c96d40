/* Shapes of what operators give that kfuse leaves to the runtime, so that what follows them is known:
 * products, convolutions, pools, what moves elements about. */
#include <string.h>

#include "onnx/constant.h"
#include "onnx/shape.h"

#define INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64

static const Onnx__AttributeProto *ints(const OnnxInfer *infer, const char *name) {
    return onnx_attribute(infer->node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
}

/* Element i of an attribute, `otherwise` where it has none. */
static int64_t element(const Onnx__AttributeProto *list, int i, int64_t otherwise) {
    return list && (size_t)i < list->n_ints ? list->ints[i] : otherwise;
}

static KfStatus contradicts(const OnnxInfer *infer, const OnnxShape *a, const OnnxShape *b) {
    return onnx_infer_wrong(infer, "%s and %s do not go together",
                            onnx_shape_text(infer->graph->arena, a),
                            onnx_shape_text(infer->graph->arena, b));
}

/* --- products */

static KfStatus infer_matmul(const OnnxInfer *infer) {
    const OnnxShape *a = onnx_infer_shape(infer, 0), *b = onnx_infer_shape(infer, 1);
    if (!a || !b) return KF_OK;
    OnnxShape left = *a, right = *b, shape;
    if (a->rank == 0 || b->rank == 0) return contradicts(infer, a, b);
    int64_t rows = a->rank > 1 ? a->dim[a->rank - 2] : 1, cols = b->dim[b->rank - 1];
    if (a->dim[a->rank - 1] != b->dim[b->rank > 1 ? b->rank - 2 : 0])
        return contradicts(infer, a, b);
    left.rank = a->rank > 2 ? a->rank - 2 : 0;
    right.rank = b->rank > 2 ? b->rank - 2 : 0;
    if (!onnx_broadcast(&left, &right, &shape) || shape.rank + 2 > KF_RANK_MAX)
        return contradicts(infer, a, b);
    if (a->rank > 1) shape.dim[shape.rank++] = rows;
    if (b->rank > 1) shape.dim[shape.rank++] = cols;
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

static KfStatus infer_gemm(const OnnxInfer *infer) {
    const OnnxShape *a = onnx_infer_shape(infer, 0), *b = onnx_infer_shape(infer, 1);
    if (!a || !b) return KF_OK;
    bool across_a = onnx_attribute_int(infer->node, "transA", 0) != 0;
    bool across_b = onnx_attribute_int(infer->node, "transB", 0) != 0;
    if (a->rank != 2 || b->rank != 2 || a->dim[!across_a] != b->dim[across_b])
        return contradicts(infer, a, b);
    OnnxShape shape = {.known = true, .rank = 2, .dim = {a->dim[across_a], b->dim[!across_b]}};
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

/* --- windows: convolutions and pools */

typedef struct Window {
    int64_t kernel, stride, dilation, before, after;
    bool same, up; /* padded so that strides alone decide; rounded up */
} Window;

static int64_t windows(int64_t size, const Window *w) {
    int64_t extent, span, total, next;
    if (w->kernel < 1 || w->stride < 1 || w->dilation < 1) return -1;
    if (w->same) return size / w->stride + (size % w->stride != 0);
    if (__builtin_mul_overflow(w->kernel - 1, w->dilation, &extent) ||
        __builtin_add_overflow(size, w->before, &total) ||
        __builtin_add_overflow(total, w->after, &total) ||
        __builtin_sub_overflow(total, extent, &span) || span < 1)
        return -1;
    span -= 1;
    int64_t count = span / w->stride + 1;
    /* The last window begins inside the operand or what is padded before it. */
    if (w->up && span % w->stride != 0 && !__builtin_mul_overflow(count, w->stride, &next) &&
        next < size + w->before)
        count++;
    return count;
}

static bool is_auto(const OnnxInfer *infer) {
    return onnx_attribute_is(infer->node, "auto_pad", "SAME_UPPER") ||
           onnx_attribute_is(infer->node, "auto_pad", "SAME_LOWER");
}

/* `kernel`: sizes of the window; NULL: the attribute's. */
static KfStatus infer_windows(const OnnxInfer *infer, int64_t channels, const int64_t *kernel) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    const Onnx__AttributeProto *sizes = ints(infer, "kernel_shape"), *pads = ints(infer, "pads");
    const Onnx__AttributeProto *strides = ints(infer, "strides");
    const Onnx__AttributeProto *dilations = ints(infer, "dilations");
    OnnxShape shape = {.known = true, .rank = x->rank, .dim = {x->dim[0], channels}};
    for (int i = 2; i < x->rank; i++) {
        int k = i - 2;
        Window w = {kernel ? kernel[k] : element(sizes, k, 0),
                    element(strides, k, 1),
                    element(dilations, k, 1),
                    element(pads, k, 0),
                    element(pads, k + x->rank - 2, 0),
                    is_auto(infer),
                    onnx_attribute_int(infer->node, "ceil_mode", 0) != 0};
        shape.dim[i] = windows(x->dim[i], &w);
        if (shape.dim[i] < 0) return onnx_infer_wrong(infer, "no window fits axis %d", i);
    }
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

static KfStatus infer_conv(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0), *w = onnx_infer_shape(infer, 1);
    if (!x || !w) return KF_OK;
    int64_t group = onnx_attribute_int(infer->node, "group", 1);
    if (x->rank < 3 || w->rank != x->rank || group < 1 || x->dim[1] % group != 0 ||
        x->dim[1] / group != w->dim[1])
        return contradicts(infer, x, w);
    return infer_windows(infer, w->dim[0], w->dim + 2);
}

static KfStatus infer_pool(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    if (!x) return KF_OK;
    if (x->rank < 3) return onnx_infer_wrong(infer, "its operand has less than 3 axes");
    return infer_windows(infer, x->dim[1], NULL);
}

/* --- what moves elements */

static KfStatus infer_transpose(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    const Onnx__AttributeProto *perm = ints(infer, "perm");
    if (!x) return KF_OK;
    OnnxShape shape = {.known = true, .rank = x->rank};
    uint32_t seen = 0;
    if (perm && perm->n_ints != (size_t)x->rank)
        return onnx_infer_wrong(infer, "perm has not as many axes as its operand");
    for (int i = 0; i < x->rank; i++) {
        int axis = perm ? onnx_axis(perm->ints[i], x->rank) : x->rank - 1 - i;
        if (axis < 0 || seen >> axis & 1) return onnx_infer_wrong(infer, "perm is no permutation");
        seen |= 1u << axis;
        shape.dim[i] = x->dim[axis];
    }
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

static KfStatus infer_concat(const OnnxInfer *infer) {
    const OnnxShape *first = onnx_infer_shape(infer, 0);
    if (!first) return KF_OK;
    OnnxShape shape = *first;
    int axis = onnx_axis(onnx_attribute_int(infer->node, "axis", 1), first->rank);
    if (axis < 0) return onnx_infer_wrong(infer, "it has no such axis");
    for (uint32_t i = 1; i < infer->node->input_count; i++) {
        const OnnxShape *next = onnx_infer_shape(infer, i);
        if (!next) return KF_OK;
        if (next->rank != shape.rank) return contradicts(infer, &shape, next);
        for (int k = 0; k < shape.rank; k++)
            if (k != axis && next->dim[k] != shape.dim[k]) return contradicts(infer, &shape, next);
        if (__builtin_add_overflow(shape.dim[axis], next->dim[axis], &shape.dim[axis]))
            return contradicts(infer, first, next);
    }
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

static KfStatus infer_gather(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0), *index = onnx_infer_shape(infer, 1);
    if (!x || !index || x->rank + index->rank - 1 > KF_RANK_MAX) return KF_OK;
    int axis = onnx_axis(onnx_attribute_int(infer->node, "axis", 0), x->rank);
    if (axis < 0) return onnx_infer_wrong(infer, "it has no such axis");
    OnnxShape shape = {.known = true};
    for (int i = 0; i < axis; i++) shape.dim[shape.rank++] = x->dim[i];
    for (int i = 0; i < index->rank; i++) shape.dim[shape.rank++] = index->dim[i];
    for (int i = axis + 1; i < x->rank; i++) shape.dim[shape.rank++] = x->dim[i];
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

/* Elements that a slice takes of an axis. */
static int64_t slice(int64_t size, int64_t from, int64_t to, int64_t step) {
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    if (from < 0) from = from < -size ? low : from + size;
    if (to < 0) to = to < -size ? low : to + size;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    int64_t span = step < 0 ? from - to : to - from;
    uint64_t stride = step < 0 ? -(uint64_t)step : (uint64_t)step;
    return span <= 0 ? 0 : (int64_t)(((uint64_t)span - 1) / stride + 1);
}

/* Operand `index`, before set 10 an attribute. */
static const int64_t *slice_list(const OnnxInfer *infer, const char *name, uint32_t index,
                                 uint32_t *count) {
    const Onnx__AttributeProto *list = ints(infer, name);
    if (!list) return onnx_infer_integers(infer, index, count);
    *count = (uint32_t)list->n_ints;
    return list->ints;
}

static KfStatus infer_slice(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    uint32_t count = 0, ends = 0, named = 0, strides = 0;
    const int64_t *from = slice_list(infer, "starts", 1, &count);
    const int64_t *to = slice_list(infer, "ends", 2, &ends);
    const int64_t *axes = slice_list(infer, "axes", 3, &named);
    const int64_t *steps = slice_list(infer, "steps", 4, &strides);
    bool open = (onnx_input(infer->graph, infer->node, 3) && !axes) ||
                (onnx_input(infer->graph, infer->node, 4) && !steps);
    if (!x || !from || !to || open) return KF_OK;
    if (ends != count || (axes && named != count) || (steps && strides != count))
        return onnx_infer_wrong(infer, "its lists differ in length");
    OnnxShape shape = *x;
    for (uint32_t i = 0; i < count; i++) {
        int axis = onnx_axis(axes ? axes[i] : i, x->rank);
        int64_t step = steps ? steps[i] : 1;
        if (axis < 0 || step == 0) return onnx_infer_wrong(infer, "no such axis, or a step of 0");
        shape.dim[axis] = slice(x->dim[axis], from[i], to[i], step);
    }
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

static KfStatus infer_split(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    uint32_t count = 0, parts = infer->node->output_count;
    const int64_t *sizes = slice_list(infer, "split", 1, &count);
    if (!x || parts == 0 || (!sizes && onnx_input(infer->graph, infer->node, 1))) return KF_OK;
    int axis = onnx_axis(onnx_attribute_int(infer->node, "axis", 0), x->rank);
    if (axis < 0 || (sizes && count != parts))
        return onnx_infer_wrong(infer, "no such axis, or not as many parts as results");
    int64_t each = x->dim[axis] / parts + (x->dim[axis] % parts != 0), left = x->dim[axis];
    for (uint32_t k = 0; k < parts; k++) {
        OnnxTensor *part = onnx_output(infer->graph, infer->node, k);
        int64_t size = sizes ? sizes[k] : left < each ? left : each;
        if (size < 0 || size > left) return onnx_infer_wrong(infer, "its parts are more than all");
        left -= size;
        if (!part) continue;
        part->type = onnx_input(infer->graph, infer->node, 0)->type;
        part->shape = *x;
        part->shape.dim[axis] = size;
    }
    return KF_OK;
}

/* The operand broadcast to, or repeated as often as, operand 1 says. */
static KfStatus infer_spread(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    uint32_t count;
    const int64_t *list = onnx_infer_integers(infer, 1, &count);
    bool tile = strcmp(infer->node->op, "Tile") == 0;
    if (!x || !list || count > KF_RANK_MAX) return KF_OK;
    OnnxShape shape = {.known = true, .rank = (int)count}, both;
    for (uint32_t i = 0; i < count; i++) {
        shape.dim[i] = list[i];
        if (list[i] < 0) return onnx_infer_wrong(infer, "a size is negative");
    }
    if (!tile && !onnx_broadcast(x, &shape, &both)) return contradicts(infer, x, &shape);
    if (tile && shape.rank != x->rank) return contradicts(infer, x, &shape);
    for (int i = 0; tile && i < x->rank; i++)
        if (__builtin_mul_overflow(x->dim[i], list[i], &shape.dim[i]))
            return contradicts(infer, x, &shape);
    return onnx_infer_set(infer, tile ? &shape : &both, 0), KF_OK;
}

static KfStatus infer_pad(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    uint32_t count = 0;
    const int64_t *pads = slice_list(infer, "pads", 1, &count);
    if (!x || !pads || infer->node->input_count > 3) return KF_OK;
    if (count != 2 * (uint32_t)x->rank) return onnx_infer_wrong(infer, "pads are not two an axis");
    OnnxShape shape = *x;
    for (int i = 0; i < x->rank; i++)
        if (__builtin_add_overflow(shape.dim[i], pads[i], &shape.dim[i]) ||
            __builtin_add_overflow(shape.dim[i], pads[i + x->rank], &shape.dim[i]) ||
            shape.dim[i] < 0)
            return onnx_infer_wrong(infer, "axis %d has no size", i);
    return onnx_infer_set(infer, &shape, 0), KF_OK;
}

/* --- what is known without elements */

static KfStatus infer_shape_of(const OnnxInfer *infer) {
    const OnnxShape *x = onnx_infer_shape(infer, 0);
    const OnnxShape shape = {.known = true, .rank = 1, .dim = {x ? x->rank : 0}};
    bool part = onnx_attribute_int(infer->node, "start", 0) != 0 ||
                onnx_attribute_int(infer->node, "end", INT64_MAX) != INT64_MAX;
    return onnx_infer_set(infer, x && !part ? &shape : NULL, INT64), KF_OK;
}

static KfStatus infer_filled(const OnnxInfer *infer) {
    uint32_t count;
    const int64_t *list = onnx_infer_integers(infer, 0, &count);
    const Onnx__AttributeProto *value =
        onnx_attribute(infer->node, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
    int32_t type = value && value->t ? value->t->data_type : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    onnx_infer_set(infer, NULL, type);
    if (!list || count > KF_RANK_MAX) return KF_OK;
    OnnxShape shape = {.known = true, .rank = (int)count};
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < 0) return onnx_infer_wrong(infer, "a size is negative");
        shape.dim[i] = list[i];
    }
    return onnx_infer_set(infer, &shape, type), KF_OK;
}

/* A number, or a list of them, as a tensor that an initializer could be. */
static const Onnx__TensorProto *tensor_of(const OnnxInfer *infer,
                                          const Onnx__AttributeProto *attribute) {
    Onnx__TensorProto *proto = arena_new(infer->graph->arena, Onnx__TensorProto);
    const char *name = onnx_text(attribute->name);
    bool list = strcmp(name, "value_ints") == 0 || strcmp(name, "value_floats") == 0;
    bool whole = strncmp(name, "value_int", 9) == 0;
    onnx__tensor_proto__init(proto);
    proto->has_data_type = true;
    proto->data_type = whole ? INT64 : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    proto->n_int64_data = whole ? (list ? attribute->n_ints : 1) : 0;
    proto->int64_data = list ? attribute->ints : (int64_t *)(uintptr_t)&attribute->i;
    proto->n_float_data = whole ? 0 : list ? attribute->n_floats : 1;
    proto->float_data = list ? attribute->floats : (float *)(uintptr_t)&attribute->f;
    proto->dims = arena_new(infer->graph->arena, int64_t);
    proto->n_dims = list;
    proto->dims[0] = (int64_t)(whole ? proto->n_int64_data : proto->n_float_data);
    return proto;
}

static KfStatus infer_constant(const OnnxInfer *infer) {
    OnnxTensor *result = onnx_output(infer->graph, infer->node, 0);
    const Onnx__TensorProto *proto = NULL;
    const char *why;
    for (size_t i = 0; i < infer->node->proto->n_attribute && !proto; i++) {
        const Onnx__AttributeProto *attribute = infer->node->proto->attribute[i];
        const char *name = onnx_text(attribute->name);
        if (strcmp(name, "value") == 0)
            proto = attribute->t;
        else if (strncmp(name, "value_int", 9) == 0 || strncmp(name, "value_float", 11) == 0)
            proto = tensor_of(infer, attribute);
    }
    if (!result || !proto) return KF_OK;
    if (!onnx_constant_check(proto, &why)) return onnx_infer_wrong(infer, "its value %s", why);
    const OnnxShape shape = onnx_constant_shape(proto);
    onnx_infer_set(infer, &shape, proto->data_type);
    result->constant = proto;
    return KF_OK;
}

static KfStatus infer_same(const OnnxInfer *infer) {
    return onnx_infer_set(infer, onnx_infer_shape(infer, 0), 0), KF_OK;
}

KfStatus onnx_infer_other(const OnnxInfer *infer) {
    static const struct {
        const char *op;
        KfStatus (*infer)(const OnnxInfer *infer);
    } table[] = {
        {"MatMul", infer_matmul},
        {"Gemm", infer_gemm},
        {"Conv", infer_conv},
        {"MaxPool", infer_pool},
        {"AveragePool", infer_pool},
        {"LpPool", infer_pool},
        {"Transpose", infer_transpose},
        {"Concat", infer_concat},
        {"Gather", infer_gather},
        {"Slice", infer_slice},
        {"Split", infer_split},
        {"Expand", infer_spread},
        {"Tile", infer_spread},
        {"Pad", infer_pad},
        {"Shape", infer_shape_of},
        {"ConstantOfShape", infer_filled},
        {"Constant", infer_constant},
        {"LRN", infer_same},
        {"CumSum", infer_same},
        {"Hardmax", infer_same},
        {"Trilu", infer_same},
        {"ScatterND", infer_same},
        {"ScatterElements", infer_same},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(infer->node->op, table[i].op) == 0) return table[i].infer(infer);
    return KF_OK;
}
