/* In: a node whose shapes are known. Out: its line of ops.def with attributes filled in, or why it is
 * left to the runtime. */
#include "onnx/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "onnx/constant.h"

#define OP(name, since, least, most, types, result, form, text, along) \
    {name, since, least, most, ONNX_##types, ONNX_##result, ONNX_##form, text, along},
static const OnnxOp table[] = {
#include "onnx/ops.def"
};
#undef OP

enum { TABLE = sizeof table / sizeof *table };

const OnnxOp *onnx_op(const OnnxNode *node) {
    for (size_t i = 0; node->standard && i < TABLE; i++)
        if (strcmp(node->op, table[i].name) == 0) return &table[i];
    return NULL;
}

static bool is(const OnnxNode *node, const char *op) {
    return strcmp(node->op, op) == 0;
}

/* --- axes */

/* Bits from the last axis for those that a list names; false: one is none. */
static bool bits_of(const int64_t *axes, uint32_t count, int rank, uint32_t *bits) {
    *bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank) return false;
        *bits |= 1u << (rank - 1 - axis);
    }
    return true;
}

static bool axes_operand(const OnnxGraph *graph, const OnnxNode *node, int rank, uint32_t *axes,
                         const char **why) {
    const OnnxTensor *tensor = onnx_input(graph, node, 1);
    uint32_t count = tensor ? tensor->integer_count : 0;
    const int64_t *list = tensor ? tensor->integers : NULL;
    if (tensor && !list && tensor->constant)
        list = onnx_constant_integers(graph->arena, tensor->constant, &count);
    *why = "which axes are reduced is known at run time only";
    if (tensor && !list) return false;
    *why = "it reduces none, as noop_with_empty_axes says";
    if (count == 0 && onnx_attribute_int(node, "noop_with_empty_axes", 0)) return false;
    *why = "it reduces axes that are not there";
    if (count == 0) return *axes = (1u << rank) - 1, true;
    return bits_of(list, count, rank, axes);
}

static bool listed_axes(const OnnxGraph *graph, const OnnxNode *node, int rank, uint32_t *axes,
                        const char **why) {
    const Onnx__AttributeProto *list =
        onnx_attribute(node, "axes", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    if (!list || list->n_ints == 0) return axes_operand(graph, node, rank, axes, why);
    *why = "it reduces axes that are not there";
    return bits_of(list->ints, (uint32_t)list->n_ints, rank, axes);
}

bool onnx_keeps(const OnnxNode *node, const OnnxOp *op) {
    return op->form == ONNX_POOL || onnx_attribute_int(node, "keepdims", 1) != 0;
}

static bool axis_of(const OnnxNode *node, int64_t otherwise, int rank, uint32_t *bit,
                    const char **why) {
    int64_t axis = onnx_attribute_int(node, "axis", otherwise);
    *why = "it has no such axis";
    return bits_of(&axis, 1, rank, bit);
}

bool onnx_reduced(const OnnxGraph *graph, const OnnxNode *node, const OnnxOp *op, uint32_t *axes,
                  const char **why) {
    int rank = onnx_input(graph, node, 0)->shape.rank;
    bool flat = graph->model->opset < 13 && !is(node, "LpNormalization");
    *axes = 0;
    switch (op->form) {
    case ONNX_ROWS:
        if (!axis_of(node, flat ? 1 : -1, rank, axes, why)) return false;
        if (flat) *axes = *axes * 2 - 1; /* that axis and all behind it */
        return true;
    case ONNX_NORM:
        if (!axis_of(node, -1, rank, axes, why)) return false;
        return *axes = *axes * 2 - 1, true;
    case ONNX_INSTANCE:
    case ONNX_POOL:
        *why = "its operand has less than 3 axes";
        if (rank < 3) return false;
        return *axes = (1u << (rank - 2)) - 1, true;
    case ONNX_REDUCE: return listed_axes(graph, node, rank, axes, why);
    default: return true;
    }
}

/* --- attributes that make an operator another one */

static const char *guard_mod(const OnnxNode *node, KfType type) {
    bool floats = type >= KF_F16;
    return (onnx_attribute_int(node, "fmod", 0) != 0) == floats ? NULL
                                                                : "its fmod is not for this type";
}

static bool is_false(const OnnxTensor *tensor) {
    double value;
    return !tensor ||
           (tensor->constant && onnx_constant_number(tensor->constant, &value) && value == 0);
}

/* Whether the axes that are not of size 1 keep their order. */
static bool keeps_order(const OnnxGraph *graph, const OnnxNode *node) {
    const OnnxShape *shape = &onnx_input(graph, node, 0)->shape;
    const Onnx__AttributeProto *perm =
        onnx_attribute(node, "perm", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    int last = -1;
    for (int i = 0; i < shape->rank; i++) {
        int64_t axis = perm ? perm->ints[i] : shape->rank - 1 - i;
        if (axis < 0) axis += shape->rank;
        if (shape->dim[axis] == 1) continue;
        if (axis < last) return false;
        last = (int)axis;
    }
    return true;
}

static const char *guard(const OnnxGraph *graph, const OnnxNode *node, KfType type) {
    int64_t opset = graph->model->opset;
    if (is(node, "Mod")) return guard_mod(node, type);
    if (is(node, "Dropout") && (!is_false(onnx_input(graph, node, 2)) ||
                                (opset < 7 && !onnx_attribute_int(node, "is_test", 0))))
        return "it may be in training";
    if (is(node, "BatchNormalization") && (onnx_attribute_int(node, "training_mode", 0) ||
                                           (opset < 7 && !onnx_attribute_int(node, "is_test", 0)) ||
                                           !onnx_attribute_int(node, "spatial", 1)))
        return "it is in training, or not by channel";
    if (is(node, "IsInf") && (!onnx_attribute_int(node, "detect_positive", 1) ||
                              !onnx_attribute_int(node, "detect_negative", 1)))
        return "it looks for one sign alone";
    if (is(node, "LpNormalization") && onnx_attribute_int(node, "p", 2) != 2) return "p is not 2";
    if (is(node, "Reshape") && !onnx_output(graph, node, 0)->shape.known)
        return "its shape is known at run time only";
    if (is(node, "MatMul") &&
        (onnx_input(graph, node, 0)->shape.rank < 2 || onnx_input(graph, node, 1)->shape.rank < 2))
        return "an operand is a vector";
    if (is(node, "Transpose") && !keeps_order(graph, node)) return "it moves elements";
    if (opset < 7 && onnx_attribute(node, "axis", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT) &&
        onnx_attribute(node, "broadcast", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT))
        return "it broadcasts along an axis, as before operator set 7";
    return NULL;
}

/* --- texts that depend on more than floating attributes */

/* Bounds are attributes up to set 10, then operands that may be left out. */
static const char *clip_text(const OnnxGraph *graph, const OnnxNode *node) {
    Arena *arena = graph->arena;
    const char *bounds[2] = {NULL, NULL};
    static const char *const names[2] = {"min", "max"};
    for (int i = 0; i < 2; i++) {
        const Onnx__AttributeProto *attribute =
            onnx_attribute(node, names[i], ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
        if (graph->model->opset < 11 && attribute)
            bounds[i] = onnx_number_text(arena, (double)attribute->f, false);
        else if (graph->model->opset >= 11 && onnx_input(graph, node, (uint32_t)i + 1))
            bounds[i] = i ? "$2" : "$1";
    }
    const char *low = bounds[0] ? arena_printf(arena, "max($0, %s)", bounds[0]) : "$0";
    return bounds[1] ? arena_printf(arena, "min(%s, %s)", low, bounds[1]) : low;
}

/* Whether every value of `from` is one of `to`. */
static bool holds(KfType from, KfType to) {
    if (from == to || from == KF_BOOL) return true;
    if (to == KF_I64) return from <= KF_I32;
    return to == KF_I32 && from <= KF_I8;
}

static const char *cast_text(KfType from, KfType to, const char **why) {
    bool whole = to >= KF_U8 && to <= KF_I64;
    *why = "kfuse has no such type";
    if (to == KF_PLAIN_TYPE) return NULL;
    if (to == KF_BOOL) return from == KF_BOOL ? "$0 && $0" : "$0 != 0";
    if (whole && from >= KF_F16) return "{type}(trunc($0))";
    *why = "it wraps where kfuse saturates";
    return whole && !holds(from, to) ? NULL : "{type}($0)";
}

/* "2 * ($0.T @ $1) + $2" */
static const char *gemm_text(const OnnxGraph *graph, const OnnxNode *node) {
    Arena *arena = graph->arena;
    const char *across_a = onnx_attribute_int(node, "transA", 0) ? ".T" : "";
    const char *across_b = onnx_attribute_int(node, "transB", 0) ? ".T" : "";
    float alpha = onnx_attribute_float(node, "alpha", 1),
          beta = onnx_attribute_float(node, "beta", 1);
    const char *text = arena_printf(arena, "$0%s @ $1%s", across_a, across_b);
    if (alpha != 1)
        text =
            arena_printf(arena, "(%s) * %s", text, onnx_number_text(arena, (double)alpha, false));
    if (!onnx_input(graph, node, 2) || beta == 0) return text;
    if (beta == 1) return arena_printf(arena, "%s + $2", text);
    return arena_printf(arena, "%s + $2 * %s", text, onnx_number_text(arena, (double)beta, false));
}

/* $0 + $1 + $2 from "$0 + $1". */
static const char *variadic_text(Arena *arena, const OnnxOp *op, uint32_t operands) {
    const char *text = "$0", *call = strchr(op->text, '(');
    for (uint32_t i = 1; i < operands; i++)
        text = call
                   ? arena_printf(arena, "%.*s(%s, $%u)", (int)(call - op->text), op->text, text, i)
                   : arena_printf(arena, "%s + $%u", text, i);
    bool mean = strcmp(op->name, "Mean") == 0 && operands > 1;
    return mean ? arena_printf(arena, "(%s) / %u", text, operands) : text;
}

static const char *text_of(const OnnxGraph *graph, const OnnxNode *node, const OnnxOp *op,
                           const char **why) {
    const OnnxTensor *result = onnx_output(graph, node, 0);
    KfType from = onnx_type(onnx_input(graph, node, 0)->type), to = onnx_type(result->type);
    if (is(node, "Clip")) return clip_text(graph, node);
    if (is(node, "Gemm")) return gemm_text(graph, node);
    if (op->form == ONNX_VARIADIC) return variadic_text(graph->arena, op, node->input_count);
    if (is(node, "Gelu") && onnx_attribute_is(node, "approximate", "tanh")) return "gelu_tanh($0)";
    if (strcmp(op->text, "{type}($0)") == 0) return cast_text(from, to, why);
    return op->text;
}

/* "{alpha=0.01}" becomes the attribute's value, "{type}" the result's type; "{axis}" stays. */
static const char *fill(const OnnxGraph *graph, const OnnxNode *node, const char *text) {
    Text filled = {0};
    char name[32];
    for (const char *at = text; text && *at;) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL, *equals = strchr(at, '=');
        if (!end) {
            text_add_bytes(&filled, at++, 1);
            continue;
        }
        const char *stop = equals && equals < end ? equals : end;
        snprintf(name, sizeof name, "%.*s", (int)(stop - at - 1), at + 1);
        if (strcmp(name, "type") == 0)
            text_add(&filled, onnx_type_text(onnx_output(graph, node, 0)->type));
        else if (stop == end)
            text_printf(&filled, "{%s}", name);
        else if (onnx_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT))
            text_add(&filled, onnx_number_text(graph->arena,
                                               (double)onnx_attribute_float(node, name, 0), false));
        else
            text_printf(&filled, "%.*s", (int)(end - stop - 1), stop + 1);
        at = end + 1;
    }
    const char *result =
        text ? arena_copy(graph->arena, text_string(&filled), filled.length) : NULL;
    text_free(&filled);
    return result;
}

/* --- all together */

static bool has_type(KfType type, OnnxTypes types) {
    OnnxTypes kind = type == KF_BOOL ? ONNX_BOOLEANS : type >= KF_F16 ? ONNX_FLOATS : ONNX_INTEGERS;
    return type != KF_PLAIN_TYPE && (kind & types);
}

static const OnnxOp *line_of(const OnnxNode *node, uint32_t operands, KfType type,
                             const OnnxOp *first) {
    for (const OnnxOp *op = first; op < table + TABLE && is(node, op->name); op++)
        if (operands >= op->least && operands <= op->most && has_type(type, op->types)) return op;
    return NULL;
}

static const char *missing_shape(const OnnxGraph *graph, const OnnxNode *node) {
    const OnnxTensor *result = onnx_output(graph, node, 0);
    if (!result) return "its result has no name";
    if (!result->shape.known) return "the shape of its result is not known";
    for (uint32_t i = 0; i < node->input_count; i++) {
        const OnnxTensor *tensor = onnx_input(graph, node, i);
        if (tensor && !tensor->shape.known) return "the shape of an operand is not known";
        if (tensor && onnx_count(&tensor->shape) == 0) return "an operand has no elements";
    }
    if (onnx_count(&result->shape) == 0) return "its result has no elements";
    for (uint32_t k = 1; k < node->output_count; k++) {
        const OnnxTensor *other = onnx_output(graph, node, k);
        if (other && (other->readers.count || other->kept)) return "its further results are used";
    }
    return NULL;
}

/* What is a constant already: the runtime computes it when it loads the model. */
static bool is_settled(const OnnxGraph *graph, const OnnxNode *node) {
    bool constant = true;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const OnnxTensor *tensor = onnx_input(graph, node, i);
        constant &= !tensor || tensor->constant || tensor->integers;
    }
    return constant;
}

static const char *unfit(const OnnxGraph *graph, const OnnxNode *node, const OnnxOp *op) {
    if (!node->standard) return "it is of another domain";
    if (!op) return "no kernel of kfuse computes it";
    if (op->form == ONNX_PRODUCT && !graph->products) return "a product: --products takes it";
    if (!onnx_input(graph, node, 0)) return "its operand is left out";
    const char *why = missing_shape(graph, node);
    if (why) return why;
    if (onnx_output(graph, node, 0)->integers) return "it computes a shape, known beforehand";
    return is_settled(graph, node) ? "its operands are constants" : NULL;
}

static uint32_t channels(const OnnxOp *op) {
    return op->form == ONNX_CHANNEL || op->form == ONNX_INSTANCE ? ~1u : 0;
}

OnnxPiece onnx_piece(const OnnxGraph *graph, const OnnxNode *node) {
    OnnxPiece piece = {0};
    const OnnxOp *first = onnx_op(node), *op;
    if ((piece.why = unfit(graph, node, first))) return piece;
    KfType type = onnx_type(onnx_input(graph, node, 0)->type);
    piece.operands = node->input_count;
    while (piece.operands > 1 && !onnx_input(graph, node, piece.operands - 1)) piece.operands--;
    op = line_of(node, piece.operands, type, first);
    piece.why = type == KF_PLAIN_TYPE ? "kfuse has no such type" : "not for such operands";
    if (!op) return piece;
    piece.why = "its operator set is older than what kfuse knows of it";
    if (graph->model->opset < op->since) return piece;
    if ((piece.why = guard(graph, node, type))) return piece;
    if (!onnx_reduced(graph, node, op, &piece.reduced, &piece.why)) return piece;
    piece.text = fill(graph, node, text_of(graph, node, op, &piece.why));
    piece.along = op->along && piece.text ? fill(graph, node, op->along) : piece.text;
    piece.channel = channels(op);
    piece.product = op->form == ONNX_PRODUCT;
    piece.drops = op->form == ONNX_REDUCE || op->form == ONNX_POOL;
    piece.view = op->form == ONNX_VIEW || (piece.text && strcmp(piece.text, "$0") == 0);
    if (piece.view || op->form == ONNX_REDUCE || is(node, "CastLike"))
        piece.operands = 1; /* the others say how */
    if (piece.text) piece.why = NULL;
    return piece;
}
