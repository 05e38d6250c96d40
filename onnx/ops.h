/* What kfuse makes of one node: a line of ops.def with the node's attributes filled in. */
#ifndef KF_ONNX_OPS_H
#define KF_ONNX_OPS_H

#include "onnx/graph.h"

typedef enum OnnxTypes {
    ONNX_FLOATS = 1,
    ONNX_INTEGERS = 2,
    ONNX_NUMBERS = 3,
    ONNX_BOOLEANS = 4,
    ONNX_ANY = 7
} OnnxTypes;
typedef enum OnnxResult { ONNX_SAME, ONNX_BOOLEAN, ONNX_SECOND, ONNX_TARGET } OnnxResult;
typedef enum OnnxForm {
    ONNX_ELEMENTWISE,
    ONNX_VARIADIC,
    ONNX_ROWS,
    ONNX_NORM,
    ONNX_CHANNEL,
    ONNX_INSTANCE,
    ONNX_POOL,
    ONNX_REDUCE,
    ONNX_PRODUCT,
    ONNX_VIEW
} OnnxForm;

/* A line of ops.def. */
typedef struct OnnxOp {
    const char *name;
    int since;
    uint32_t least, most;
    OnnxTypes types;
    OnnxResult result;
    OnnxForm form;
    const char *text, *along;
} OnnxOp;

/* What of a node's readers ONNX Runtime would compute with it (folded.c). */
typedef enum OnnxFold {
    ONNX_FOLD_NOTHING,
    ONNX_FOLD_CONSTANT, /* it is computed once, when the model is loaded */
    ONNX_FOLD_CONV,     /* a factor and a summand for each channel, then an activation */
    ONNX_FOLD_MATMUL,   /* a number that it is multiplied with; or a bias, then as behind Gemm */
    ONNX_FOLD_GEMM      /* an activation */
} OnnxFold;

/* Axes are bits counted from the last axis, so that they mean the same whatever stands before. */
typedef struct OnnxPiece {
    const char *text;  /* with $0 and {axis} alone to be filled in; NULL: it is left as it is */
    const char *along; /* the same where the reduced axis is the last */
    const char *why;   /* it is left: "a MatMul is no kernel of kfuse's" */
    uint32_t reduced;
    uint32_t channel; /* operands, bit by bit, that lie along axis 1 of the first */
    uint32_t operands;
    bool drops;   /* the reduced axes: they are size 1, or gone, in the result */
    bool product; /* its axes are none of the others' */
    bool view;    /* nothing is computed */
    OnnxFold fold;
} OnnxPiece;

/* The first line of that name, whatever the types; NULL: none. */
const OnnxOp *onnx_op(const OnnxNode *node);
/* Axes that a node of such a form reduces; false with a reason where they are not known. */
bool onnx_reduced(const OnnxGraph *graph, const OnnxNode *node, const OnnxOp *op, uint32_t *axes,
                  const char **why);
/* Whether a reduction keeps its axes as size 1. */
bool onnx_keeps(const OnnxNode *node, const OnnxOp *op);
/* Shapes are known; `why` where it is left. Whether kfuse has a kernel for it is not asked here. */
OnnxPiece onnx_piece(const OnnxGraph *graph, const OnnxNode *node);

#endif
