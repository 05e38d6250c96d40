/* In: an unpacked model, sizes of its symbolic dimensions. Out: its graph by number, in order. The one
 * idea: all names that are made are entered first, so that a name that is read and not there is wrong. */
#include "onnx/graph.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "compiler/base/text.h"
#include "onnx/constant.h"

enum { SUBGRAPHS = 100 /* as deep as the wire format may nest */ };

typedef struct Name {
    const char *name;
    uint32_t tensor;
    UT_hash_handle hh;
} Name;

typedef struct Build {
    OnnxGraph *graph;
    OnnxModel *model;
    Arena *arena;
    const OnnxOptions *options;
    Name *names;
    bool *used;   /* by dimension of the options */
    Text named;   /* " 'batch'" for each of the inputs' that has no size in the model */
    Text missing; /* " --dim 'batch=N'" for each of these that is not given */
} Build;

/* --- names */

static uint32_t find(const Build *b, const char *name) {
    Name *found;
    HASH_FIND_STR(b->names, name, found);
    return found ? found->tensor : ONNX_NONE;
}

static OnnxTensor *tensor_at(const Build *b, uint32_t index) {
    return &b->graph->tensors.data[index];
}

static uint32_t add(Build *b, const char *name) {
    OnnxTensor tensor = {.name = name, .label = onnx_label(b->arena, name), .producer = ONNX_NONE};
    Name *entry = arena_new(b->arena, Name);
    *entry = (Name){.name = name, .tensor = b->graph->tensors.count};
    array_push(b->arena, &b->graph->tensors, tensor);
    HASH_ADD_KEYPTR(hh, b->names, entry->name, strlen(entry->name), entry);
    return entry->tensor;
}

/* --- types and shapes that the model declares */

static const OnnxDim *given(Build *b, const char *name) {
    for (size_t i = 0; i < b->options->dim_count; i++) {
        const OnnxDim *dim = &b->options->dims[i];
        if (strlen(name) != dim->length || memcmp(name, dim->name, dim->length) != 0) continue;
        b->used[i] = true;
        return dim;
    }
    return NULL;
}

static void add_once(Text *text, const char *word) {
    if (!text->data || !strstr(text->data, word)) text_add(text, word);
}

/* A dimension without a name is called by its tensor's: "x.0". */
static bool dimension(Build *b, const Onnx__TensorShapeProto__Dimension *proto, const char *tensor,
                      int index, bool ask, int64_t *size) {
    if (proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
        proto->dim_value >= 0)
        return *size = proto->dim_value, true;
    const char *name = proto->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                           ? onnx_text(proto->dim_param)
                           : "";
    if (!*name) name = arena_printf(b->arena, "%s.%d", tensor, index);
    const OnnxDim *dim = given(b, name);
    const char *label = onnx_label(b->arena, name);
    if (ask) add_once(&b->named, arena_printf(b->arena, " '%s'", label));
    if (dim) return *size = dim->size, true;
    if (ask) add_once(&b->missing, arena_printf(b->arena, " --dim '%s=N'", label));
    return false;
}

/* `ask`: what has no size is told. */
static void declare(Build *b, OnnxTensor *tensor, const Onnx__TypeProto *type, bool ask) {
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type)
        return;
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    tensor->type = type->tensor_type->elem_type;
    if (!shape || shape->n_dim > KF_RANK_MAX) return;
    tensor->shape = (OnnxShape){.known = true, .rank = (int)shape->n_dim};
    for (int i = 0; i < tensor->shape.rank; i++)
        if (!dimension(b, shape->dim[i], tensor->name, i, ask, &tensor->shape.dim[i]))
            tensor->shape.known = false;
}

/* --- what is there before any node runs */

static KfStatus constant(Build *b, OnnxTensor *tensor, const Onnx__TensorProto *proto) {
    const char *why;
    if (!onnx_constant_check(proto, &why))
        return onnx_wrong(b->model, KF_INPUT, "constant '%s' %s", tensor->label, why);
    tensor->type = proto->data_type;
    tensor->shape = onnx_constant_shape(proto);
    tensor->constant = proto;
    return KF_OK;
}

static KfStatus add_initializer(Build *b, const Onnx__TensorProto *proto) {
    const char *name = onnx_text(proto->name);
    uint32_t index = find(b, name);
    if (!*name) return onnx_wrong(b->model, KF_INPUT, "an initializer has no name");
    /* Since IR version 4 an input's initializer is its default alone. */
    if (index != ONNX_NONE && b->model->proto->ir_version >= 4) return KF_OK;
    if (index != ONNX_NONE && tensor_at(b, index)->constant)
        return onnx_wrong(b->model, KF_INPUT, "two initializers are called '%s'",
                          onnx_label(b->arena, name));
    if (index == ONNX_NONE) index = add(b, name);
    return constant(b, tensor_at(b, index), proto);
}

static KfStatus add_given(Build *b) {
    const Onnx__GraphProto *proto = b->model->proto->graph;
    for (size_t i = 0; i < proto->n_input; i++) {
        const char *name = onnx_text(proto->input[i]->name);
        if (!*name) return onnx_wrong(b->model, KF_INPUT, "an input has no name");
        if (find(b, name) != ONNX_NONE)
            return onnx_wrong(b->model, KF_INPUT, "two inputs are called '%s'",
                              onnx_label(b->arena, name));
        add(b, name);
    }
    KfStatus status = KF_OK;
    for (size_t i = 0; i < proto->n_initializer && status == KF_OK; i++)
        status = add_initializer(b, proto->initializer[i]);
    for (size_t i = 0; i < proto->n_sparse_initializer; i++) {
        const Onnx__TensorProto *values = proto->sparse_initializer[i]->values;
        const char *name = values ? onnx_text(values->name) : "";
        if (*name && find(b, name) == ONNX_NONE) add(b, name);
    }
    for (size_t i = 0; i < proto->n_input; i++) {
        OnnxTensor *tensor = tensor_at(b, find(b, onnx_text(proto->input[i]->name)));
        if (!tensor->constant) declare(b, tensor, proto->input[i]->type, true);
    }
    return status;
}

/* --- nodes */

static const char *operator_name(const Build *b, const Onnx__NodeProto *proto, bool standard) {
    const char *op = onnx_text(proto->op_type), *domain = onnx_text(proto->domain);
    return onnx_label(b->arena, standard ? op : arena_printf(b->arena, "%s::%s", domain, op));
}

static KfStatus add_output(Build *b, OnnxNode *node, uint32_t number, uint32_t k) {
    const char *name = onnx_text(node->proto->output[k]);
    node->outputs[k] = ONNX_NONE;
    if (!*name) return KF_OK;
    if (find(b, name) != ONNX_NONE)
        return onnx_wrong(b->model, KF_INPUT, "%s makes '%s', which is made already", node->label,
                          onnx_label(b->arena, name));
    node->outputs[k] = add(b, name);
    tensor_at(b, node->outputs[k])->producer = number;
    return KF_OK;
}

static KfStatus add_node(Build *b, const Onnx__NodeProto *proto, uint32_t number) {
    const char *domain = onnx_text(proto->domain), *name = onnx_text(proto->name);
    bool standard = !*domain || strcmp(domain, "ai.onnx") == 0;
    OnnxNode node = {.proto = proto,
                     .standard = standard,
                     .op = operator_name(b, proto, standard),
                     .input_count = (uint32_t)proto->n_input,
                     .output_count = (uint32_t)proto->n_output};
    node.label = *name ? arena_printf(b->arena, "%s '%s'", node.op, onnx_label(b->arena, name))
                       : arena_printf(b->arena, "node %u (%s)", number + 1, node.op);
    node.inputs = arena_array(b->arena, uint32_t, proto->n_input);
    node.outputs = arena_array(b->arena, uint32_t, proto->n_output);
    KfStatus status = KF_OK;
    for (uint32_t k = 0; k < node.output_count && status == KF_OK; k++)
        status = add_output(b, &node, number, k);
    array_push(b->arena, &b->graph->nodes, node);
    return status;
}

static KfStatus connect(Build *b, uint32_t number) {
    OnnxNode *node = &b->graph->nodes.data[number];
    for (uint32_t k = 0; k < node->input_count; k++) {
        const char *name = onnx_text(node->proto->input[k]);
        node->inputs[k] = *name ? find(b, name) : ONNX_NONE;
        if (*name && node->inputs[k] == ONNX_NONE)
            return onnx_wrong(b->model, KF_INPUT, "%s reads '%s', which nothing makes", node->label,
                              onnx_label(b->arena, name));
        if (*name) array_push(b->arena, &tensor_at(b, node->inputs[k])->readers, number);
    }
    return KF_OK;
}

/* What graphs inside nodes read from outside. */
static void keep_captured(Build *b, const Onnx__NodeProto *node, int depth);

static void keep_read(Build *b, const Onnx__GraphProto *graph, int depth) {
    if (!graph || depth > SUBGRAPHS) return;
    for (size_t i = 0; i < graph->n_node; i++) {
        for (size_t k = 0; k < graph->node[i]->n_input; k++) {
            uint32_t index = find(b, onnx_text(graph->node[i]->input[k]));
            if (index != ONNX_NONE) tensor_at(b, index)->kept = true;
        }
        keep_captured(b, graph->node[i], depth);
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        uint32_t index = find(b, onnx_text(graph->output[i]->name));
        if (index != ONNX_NONE) tensor_at(b, index)->kept = true;
    }
}

static void keep_captured(Build *b, const Onnx__NodeProto *node, int depth) {
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        keep_read(b, attribute->g, depth + 1);
        for (size_t k = 0; k < attribute->n_graphs; k++)
            keep_read(b, attribute->graphs[k], depth + 1);
    }
}

static KfStatus keep_outputs(Build *b) {
    const Onnx__GraphProto *proto = b->model->proto->graph;
    for (size_t i = 0; i < proto->n_output; i++) {
        const char *name = onnx_text(proto->output[i]->name);
        uint32_t index = find(b, name);
        if (index == ONNX_NONE)
            return onnx_wrong(b->model, KF_INPUT, "nothing makes the output '%s'",
                              onnx_label(b->arena, name));
        tensor_at(b, index)->kept = true;
    }
    return KF_OK;
}

static void declare_inner(Build *b, Onnx__ValueInfoProto **list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t index = find(b, onnx_text(list[i]->name));
        if (index != ONNX_NONE && tensor_at(b, index)->producer != ONNX_NONE)
            declare(b, tensor_at(b, index), list[i]->type, false);
    }
}

/* --- order */

/* How many of a node's operands other nodes make. */
static uint32_t count_waits(const OnnxGraph *graph, const OnnxNode *node) {
    uint32_t waits = 0;
    for (uint32_t k = 0; k < node->input_count; k++)
        if (node->inputs[k] != ONNX_NONE)
            waits += graph->tensors.data[node->inputs[k]].producer != ONNX_NONE;
    return waits;
}

/* Takes one wait from each reader; those that wait no more join the queue. */
static uint32_t release(const OnnxGraph *graph, uint32_t number, uint32_t *waits, uint32_t *queue,
                        uint32_t length) {
    const OnnxNode *node = &graph->nodes.data[number];
    for (uint32_t k = 0; k < node->output_count; k++) {
        const OnnxTensor *tensor = onnx_output(graph, node, k);
        for (uint32_t r = 0; tensor && r < tensor->readers.count; r++)
            if (--waits[tensor->readers.data[r]] == 0) queue[length++] = tensor->readers.data[r];
    }
    return length;
}

static void renumber(OnnxGraph *graph, const uint32_t *order) {
    uint32_t count = graph->nodes.count;
    OnnxNode *nodes = arena_array(graph->arena, OnnxNode, count);
    uint32_t *to = arena_array(graph->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) nodes[i] = graph->nodes.data[order[i]], to[order[i]] = i;
    for (uint32_t t = 0; t < graph->tensors.count; t++) {
        OnnxTensor *tensor = &graph->tensors.data[t];
        if (tensor->producer != ONNX_NONE) tensor->producer = to[tensor->producer];
        for (uint32_t r = 0; r < tensor->readers.count; r++)
            tensor->readers.data[r] = to[tensor->readers.data[r]];
    }
    graph->nodes.data = nodes;
}

static bool is_ordered(const OnnxGraph *graph) {
    for (uint32_t t = 0; t < graph->tensors.count; t++) {
        const OnnxTensor *tensor = &graph->tensors.data[t];
        for (uint32_t r = 0; tensor->producer != ONNX_NONE && r < tensor->readers.count; r++)
            if (tensor->readers.data[r] <= tensor->producer) return false;
    }
    return true;
}

static KfStatus sort(Build *b) {
    OnnxGraph *graph = b->graph;
    uint32_t count = graph->nodes.count, length = 0;
    if (is_ordered(graph)) return KF_OK;
    uint32_t *waits = arena_array(b->arena, uint32_t, count);
    uint32_t *queue = arena_array(b->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        waits[i] = count_waits(graph, &graph->nodes.data[i]);
        if (waits[i] == 0) queue[length++] = i;
    }
    for (uint32_t i = 0; i < length; i++) length = release(graph, queue[i], waits, queue, length);
    for (uint32_t i = 0; i < count && length < count; i++)
        if (waits[i] > 0)
            return onnx_wrong(b->model, KF_INPUT, "%s waits for itself: the graph has a cycle",
                              graph->nodes.data[i].label);
    renumber(graph, queue);
    return KF_OK;
}

/* --- all together */

static KfStatus check_dims(Build *b) {
    for (size_t i = 0; i < b->options->dim_count; i++)
        if (!b->used[i])
            return onnx_wrong(b->model, KF_USAGE, "it has no dimension '%.*s'; to be given:%s",
                              (int)b->options->dims[i].length, b->options->dims[i].name,
                              b->named.length ? b->named.data : " none");
    if (b->missing.length)
        return onnx_wrong(b->model, KF_USAGE, "its inputs have no sizes yet: give%s",
                          b->missing.data);
    return KF_OK;
}

static KfStatus build(Build *b) {
    const Onnx__GraphProto *proto = b->model->proto->graph;
    KfStatus status = add_given(b);
    for (size_t i = 0; i < proto->n_node && status == KF_OK; i++)
        status = add_node(b, proto->node[i], (uint32_t)i);
    for (uint32_t i = 0; i < proto->n_node && status == KF_OK; i++) status = connect(b, i);
    if (status == KF_OK) status = keep_outputs(b);
    if (status != KF_OK) return status;
    for (size_t i = 0; i < proto->n_node; i++) keep_captured(b, proto->node[i], 0);
    declare_inner(b, proto->value_info, proto->n_value_info);
    declare_inner(b, proto->output, proto->n_output);
    status = sort(b);
    return status == KF_OK ? check_dims(b) : status;
}

KfStatus onnx_graph(OnnxModel *model, const OnnxOptions *options, OnnxGraph *graph) {
    *graph = (OnnxGraph){.model = model, .arena = model->arena, .products = options->products};
    Build b = {.graph = graph, .model = model, .arena = model->arena, .options = options};
    b.used = arena_array(b.arena, bool, options->dim_count);
    KfStatus status = build(&b);
    HASH_CLEAR(hh, b.names);
    text_free(&b.named);
    text_free(&b.missing);
    return status;
}
