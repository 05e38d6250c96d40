/* In: a graph that is to run in ONNX Runtime, pieces. Out: those left that the runtime's own optimiser
 * takes into the convolution or product before them, where they cost no pass over memory: a kernel in their
 * place makes a model slower, and keeps convolutions from passing on their blocked layout. The one idea:
 * what may follow is told by what stands before, a kernel whose constants can take a factor and a summand
 * for each channel, or one that ends.
 *
 * The lists are what 1.32.0 writes as its optimised model of each of these pairs; of the activations, 1.16.3
 * lacks HardSwish behind Conv and LeakyRelu behind Gemm. */
#include "onnx/folded.h"

#include <string.h>

static const char *const conv_ends[] = {"Relu",        "Sigmoid",   "Tanh", "LeakyRelu",
                                        "HardSigmoid", "HardSwish", "Clip", NULL};
static const char *const gemm_ends[] = {"Relu",        "Sigmoid",         "Tanh",     "Elu",
                                        "Selu",        "LeakyRelu",       "Softplus", "Softsign",
                                        "HardSigmoid", "ThresholdedRelu", NULL};

static bool is(const OnnxNode *node, const char *op) {
    return node->standard && strcmp(node->op, op) == 0;
}

static bool is_among(const OnnxNode *node, const char *const *list) {
    for (; node->standard && *list; list++)
        if (strcmp(node->op, *list) == 0) return true;
    return false;
}

/* Operands from `first` on are left out, constants, or computed from these alone. */
static bool has_constants(const OnnxGraph *graph, const OnnxPiece *pieces, const OnnxNode *node,
                          uint32_t first) {
    for (uint32_t i = first; i < node->input_count; i++) {
        const OnnxTensor *tensor = onnx_input(graph, node, i);
        if (!tensor || tensor->constant) continue;
        if (tensor->producer == ONNX_NONE || pieces[tensor->producer].fold != ONNX_FOLD_CONSTANT)
            return false;
    }
    return true;
}

/* One number for each channel of an array like `result`: Cx1x1 or 1xCx1x1 for NxCxHxW. */
static bool is_by_channel(const OnnxShape *shape, const OnnxShape *result) {
    int missing = result->rank - shape->rank;
    if (!shape->known || !result->known || result->rank < 3 || missing < 0 || missing > 1)
        return false;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] != (i + missing == 1 ? result->dim[1] : 1)) return false;
    return true;
}

/* The second operand of two, where it is a constant of a known shape. */
static const OnnxShape *constant_behind(const OnnxGraph *graph, const OnnxPiece *pieces,
                                        const OnnxNode *node) {
    const OnnxTensor *tensor = onnx_input(graph, node, 1);
    bool fits = tensor && tensor->shape.known && has_constants(graph, pieces, node, 1);
    return fits && node->input_count == 2 ? &tensor->shape : NULL;
}

static bool joins_conv(const OnnxGraph *graph, const OnnxPiece *pieces, const OnnxNode *node) {
    if (is(node, "BatchNormalization")) return has_constants(graph, pieces, node, 1);
    const OnnxShape *other = constant_behind(graph, pieces, node);
    bool factor = is(node, "Mul");
    if (!other || (!factor && !is(node, "Add"))) return false;
    return is_by_channel(other, &onnx_output(graph, node, 0)->shape) ||
           (factor && onnx_count(other) == 1);
}

/* The bias of a product of matrices. */
static bool joins_product(const OnnxGraph *graph, const OnnxPiece *pieces, const OnnxNode *node) {
    const OnnxShape *other = constant_behind(graph, pieces, node);
    return is(node, "Add") && other && other->rank == 1 &&
           onnx_input(graph, node, 0)->shape.rank == 2;
}

/* A number that a product is multiplied with, or divided by. */
static bool scales_product(const OnnxGraph *graph, const OnnxPiece *pieces, const OnnxNode *node) {
    const OnnxShape *other = constant_behind(graph, pieces, node);
    return (is(node, "Mul") || is(node, "Div")) && other && onnx_count(other) == 1;
}

/* What its first operand comes from, if nobody else reads that. */
static OnnxFold before(const OnnxGraph *graph, const OnnxPiece *pieces, const OnnxNode *node) {
    const OnnxTensor *tensor = onnx_input(graph, node, 0);
    bool alone = tensor && tensor->producer != ONNX_NONE && tensor->readers.count == 1 &&
                 !tensor->kept && onnx_output(graph, node, 0);
    return alone ? pieces[tensor->producer].fold : ONNX_FOLD_NOTHING;
}

static OnnxFold begin(const OnnxGraph *graph, const OnnxPiece *pieces, const OnnxNode *node) {
    if (is(node, "Conv") && has_constants(graph, pieces, node, 1)) return ONNX_FOLD_CONV;
    if (is(node, "MatMul")) return ONNX_FOLD_MATMUL;
    if (node->input_count && has_constants(graph, pieces, node, 0)) return ONNX_FOLD_CONSTANT;
    return is(node, "Gemm") ? ONNX_FOLD_GEMM : ONNX_FOLD_NOTHING;
}

/* Above so many multiplications the runtime's own product and one kernel for what follows it are faster
 * than a kernel of both, which packs its matrices at each call: on an AMD EPYC (AVX-512), ONNX Runtime 1.32,
 * one thread, x*tanh(x) behind 32x32x32 takes 2.7 us as one operator and 2.8 as two, behind 64x64x64 5.4 and
 * 5.0, behind 256x256x256 161 and 140. */
static bool is_large_product(const OnnxGraph *graph, const OnnxNode *node) {
    enum { PRODUCT_MOST = 32 * 32 * 32 };
    if (!is(node, "MatMul") && !is(node, "Gemm")) return false;
    const OnnxShape *left = &onnx_input(graph, node, 0)->shape;
    bool turned = is(node, "Gemm") && onnx_attribute_int(node, "transA", 0);
    double inner = (double)left->dim[turned ? 0 : left->rank - 1];
    return inner * (double)onnx_count(&onnx_output(graph, node, 0)->shape) > PRODUCT_MOST;
}

void onnx_fold(const OnnxGraph *graph, OnnxPiece *pieces, uint32_t index) {
    const OnnxNode *node = &graph->nodes.data[index];
    OnnxPiece *piece = &pieces[index];
    OnnxFold with = before(graph, pieces, node), own = begin(graph, pieces, node);
    bool ends = (with == ONNX_FOLD_CONV && is_among(node, conv_ends)) ||
                (with == ONNX_FOLD_GEMM && is_among(node, gemm_ends)) ||
                (with == ONNX_FOLD_MATMUL && scales_product(graph, pieces, node));
    piece->fold = own;
    if (piece->text && is_large_product(graph, node)) {
        piece->text = NULL;
        piece->why = "a product that ONNX Runtime computes faster";
    }
    if (with == ONNX_FOLD_CONV && joins_conv(graph, pieces, node)) piece->fold = with;
    if (with == ONNX_FOLD_MATMUL && joins_product(graph, pieces, node))
        piece->fold = ONNX_FOLD_GEMM;
    if (piece->fold == own && !(ends && has_constants(graph, pieces, node, 1))) return;
    piece->text = NULL;
    piece->why = with == ONNX_FOLD_CONV ? "ONNX Runtime computes it in the Conv before it"
                                        : "ONNX Runtime computes it in the product before it";
}
