/* Small questions to a graph: operands, attributes, shapes. */
#include <string.h>

#include "compiler/base/text.h"
#include "onnx/graph.h"

static OnnxTensor *tensor_of(const OnnxGraph *graph, const uint32_t *list, uint32_t count,
                             uint32_t index) {
    return index < count && list[index] != ONNX_NONE ? &graph->tensors.data[list[index]] : NULL;
}

OnnxTensor *onnx_input(const OnnxGraph *graph, const OnnxNode *node, uint32_t index) {
    return tensor_of(graph, node->inputs, node->input_count, index);
}

OnnxTensor *onnx_output(const OnnxGraph *graph, const OnnxNode *node, uint32_t index) {
    return tensor_of(graph, node->outputs, node->output_count, index);
}

/* Models of the first versions give no type. */
const Onnx__AttributeProto *onnx_attribute(const OnnxNode *node, const char *name,
                                           Onnx__AttributeProto__AttributeType type) {
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->proto->attribute[i];
        if (strcmp(onnx_text(attribute->name), name) != 0) continue;
        return !attribute->has_type || attribute->type == type ? attribute : NULL;
    }
    return NULL;
}

int64_t onnx_attribute_int(const OnnxNode *node, const char *name, int64_t otherwise) {
    const Onnx__AttributeProto *attribute =
        onnx_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    return attribute ? attribute->i : otherwise;
}

float onnx_attribute_float(const OnnxNode *node, const char *name, float otherwise) {
    const Onnx__AttributeProto *attribute =
        onnx_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    return attribute ? attribute->f : otherwise;
}

bool onnx_attribute_is(const OnnxNode *node, const char *name, const char *value) {
    const Onnx__AttributeProto *attribute =
        onnx_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    size_t length = strlen(value);
    return attribute && attribute->s.len == length &&
           (!length || memcmp(attribute->s.data, value, length) == 0);
}

int64_t onnx_count(const OnnxShape *shape) {
    int64_t count = 1;
    bool none = false;
    for (int i = 0; i < shape->rank; i++) {
        none |= shape->dim[i] == 0;
        if (shape->dim[i] != 0 &&
            (__builtin_mul_overflow(count, shape->dim[i], &count) || count > INT64_MAX / 16))
            return -1;
    }
    return none ? 0 : count;
}

const char *onnx_shape_text(Arena *arena, const OnnxShape *shape) {
    Text text = {0};
    if (!shape->known)
        text_add(&text, "?");
    else if (shape->rank == 0)
        text_add(&text, "scalar");
    for (int i = 0; shape->known && i < shape->rank; i++)
        text_printf(&text, "%s%lld", i ? "x" : "", (long long)shape->dim[i]);
    const char *result = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return result;
}
