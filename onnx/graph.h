/* The graph of a model by number: nodes in an order in which each comes behind those it reads, tensors
 * with who makes and who reads them. */
#ifndef KF_ONNX_GRAPH_H
#define KF_ONNX_GRAPH_H

#include "onnx/model.h"
#include "onnx/onnx.h"

#define ONNX_NONE UINT32_MAX

/* Not known also where the rank is above KF_RANK_MAX. */
typedef struct OnnxShape {
    bool known;
    int rank;
    int64_t dim[KF_RANK_MAX];
} OnnxShape;

typedef struct OnnxTensor {
    const char *name, *label; /* as it stands in the model, as it may be printed */
    int32_t type;             /* ONNX__TENSOR_PROTO__DATA_TYPE__… */
    OnnxShape shape;
    uint32_t producer;                 /* node, or ONNX_NONE: an input, an initializer */
    const Onnx__TensorProto *constant; /* what it always is, or NULL */
    const int64_t *integers;           /* its elements where shape.c knows them, or NULL */
    uint32_t integer_count;
    bool kept; /* an output of the model, or read by a graph inside a node */
    ARRAY(uint32_t) readers;
} OnnxTensor;

typedef struct OnnxNode {
    const Onnx__NodeProto *proto;
    const char *op, *label;     /* "Add", "domain::Op"; how messages call it */
    bool standard;              /* of ONNX's own operators */
    uint32_t *inputs, *outputs; /* tensors; ONNX_NONE: left out */
    uint32_t input_count, output_count;
} OnnxNode;

typedef struct OnnxGraph {
    OnnxModel *model;
    Arena *arena;
    ARRAY(OnnxTensor) tensors;
    ARRAY(OnnxNode) nodes;
    bool products; /* as OnnxOptions has it */
} OnnxGraph;

/* KF_INPUT with model->why: a tensor that nobody makes or two make, a cycle, a constant that is
 * damaged; KF_USAGE: a dimension of an input has no size. */
KfStatus onnx_graph(OnnxModel *model, const OnnxOptions *options, OnnxGraph *graph);

/* Tensor of an operand or result, NULL where it is left out. */
OnnxTensor *onnx_input(const OnnxGraph *graph, const OnnxNode *node, uint32_t index);
OnnxTensor *onnx_output(const OnnxGraph *graph, const OnnxNode *node, uint32_t index);
/* An attribute, NULL where it is not given or of another type. */
const Onnx__AttributeProto *onnx_attribute(const OnnxNode *node, const char *name,
                                           Onnx__AttributeProto__AttributeType type);
int64_t onnx_attribute_int(const OnnxNode *node, const char *name, int64_t otherwise);
float onnx_attribute_float(const OnnxNode *node, const char *name, float otherwise);
/* Whether a string attribute has this value. */
bool onnx_attribute_is(const OnnxNode *node, const char *name, const char *value);

/* Elements; -1 where those of the axes that have any are more than memory holds, so that no product of
 * sizes overflows. */
int64_t onnx_count(const OnnxShape *shape);
/* "8x128", "scalar", "?" */
const char *onnx_shape_text(Arena *arena, const OnnxShape *shape);

#endif
