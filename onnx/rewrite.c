/* In: a model, its regions. Out: the model with a node in the place of each. Nothing of the model that was
 * read is changed: what differs is copied as far as the difference goes. */
#include "onnx/rewrite.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DOMAIN "ai.kfuse"

typedef struct Rewrite {
    const OnnxRegions *regions;
    const OnnxGraph *graph;
    const OnnxOptions *options;
    Arena *arena;
    bool *read; /* by tensor: what is left reads it */
} Rewrite;

/* --- files */

KfStatus onnx_write(const char *path, const void *data, size_t size) {
    Arena *scratch = arena_open();
    const char *beside = arena_printf(scratch, "%s.%ld.new", path, (long)getpid());
    FILE *file = fopen(beside, "wb");
    bool ok = file && fwrite(data, 1, size, file) == size;
    if (file && fclose(file) != 0) ok = false;
    if (ok) ok = rename(beside, path) == 0;
    if (!ok) fprintf(stderr, "kfuse: cannot write '%s': %s\n", path, strerror(errno));
    if (!ok && file) remove(beside);
    arena_close(scratch);
    return ok ? KF_OK : KF_ENVIRONMENT;
}

static bool folder_of(const char *path, char *folder) {
    Arena *scratch = arena_open();
    const char *slash = strrchr(path, '/');
    const char *name = !slash          ? "."
                       : slash == path ? "/"
                                       : arena_copy(scratch, path, (size_t)(slash - path));
    bool ok = realpath(name, folder) != NULL;
    arena_close(scratch);
    return ok;
}

static KfStatus refuse(const OnnxOptions *options, KfStatus status, const char *why) {
    fprintf(stderr, "kfuse: %s: %s\n", options->path, why);
    return status;
}

KfStatus onnx_rewritable(const OnnxGraph *graph, const OnnxOptions *options) {
    char from[PATH_MAX], to[PATH_MAX];
    bool elsewhere = false;
    if (graph->model->proto->ir_version < 3)
        return refuse(options, KF_INPUT, "before IR version 3 a model has ONNX's operators alone");
    for (size_t i = 0; i < graph->model->proto->n_opset_import; i++)
        if (strcmp(onnx_text(graph->model->proto->opset_import[i]->domain), DOMAIN) == 0)
            return refuse(options, KF_INPUT, "it has operators of " DOMAIN " already");
    bool made = !folder_of(options->rewritten, to) &&
                mkdir(options->folder, 0777) == 0; /* it may go there */
    if (!folder_of(options->rewritten, to) || access(to, W_OK) != 0) {
        fprintf(stderr, "kfuse: cannot write '%s': %s\n", options->rewritten, strerror(errno));
        if (made) rmdir(options->folder);
        return KF_ENVIRONMENT;
    }
    /* Data in other files are found by their path from the model. */
    for (uint32_t t = 0; t < graph->tensors.count; t++) {
        const Onnx__TensorProto *constant = graph->tensors.data[t].constant;
        elsewhere |= constant && constant->n_external_data > 0;
    }
    if (!elsewhere || (folder_of(options->path, from) && strcmp(from, to) == 0)) return KF_OK;
    return refuse(options, KF_INPUT,
                  "some of its data are in other files: write the new model beside it");
}

/* --- order: nodes that are left by their number, regions behind them */

static uint32_t place_of(const Rewrite *r, uint32_t node) {
    uint32_t region = r->regions->of[node];
    return region == ONNX_NONE ? node : r->graph->nodes.count + region;
}

static uint32_t members(const Rewrite *r, uint32_t place, const uint32_t **nodes, uint32_t *own) {
    uint32_t count = r->graph->nodes.count;
    const OnnxRegion *region = place < count ? NULL : &r->regions->list.data[place - count];
    *own = place;
    *nodes = region ? region->nodes : own;
    return region ? region->node_count : 1;
}

/* Operands that other places make. */
static uint32_t count_waits(const Rewrite *r, uint32_t place) {
    const uint32_t *nodes;
    uint32_t own, waits = 0, count = members(r, place, &nodes, &own);
    for (uint32_t i = 0; i < count; i++) {
        const OnnxNode *node = &r->graph->nodes.data[nodes[i]];
        for (uint32_t k = 0; k < node->input_count; k++) {
            const OnnxTensor *tensor = onnx_input(r->graph, node, k);
            waits +=
                tensor && tensor->producer != ONNX_NONE && place_of(r, tensor->producer) != place;
        }
    }
    return waits;
}

static uint32_t release(const Rewrite *r, uint32_t place, uint32_t *waits, uint32_t *queue,
                        uint32_t length) {
    const uint32_t *nodes;
    uint32_t own, count = members(r, place, &nodes, &own);
    for (uint32_t i = 0; i < count; i++) {
        const OnnxNode *node = &r->graph->nodes.data[nodes[i]];
        for (uint32_t k = 0; k < node->output_count; k++) {
            const OnnxTensor *tensor = onnx_output(r->graph, node, k);
            for (uint32_t q = 0; tensor && q < tensor->readers.count; q++) {
                uint32_t next = place_of(r, tensor->readers.data[q]);
                if (next != place && --waits[next] == 0) queue[length++] = next;
            }
        }
    }
    return length;
}

static uint32_t sort(const Rewrite *r, uint32_t *queue) {
    uint32_t count = r->graph->nodes.count + r->regions->list.count, length = 0;
    uint32_t *waits = arena_array(r->arena, uint32_t, count);
    for (uint32_t p = 0; p < count; p++) {
        bool gone = p < r->graph->nodes.count && r->regions->of[p] != ONNX_NONE;
        waits[p] = gone ? UINT32_MAX : count_waits(r, p);
        if (waits[p] == 0) queue[length++] = p;
    }
    for (uint32_t i = 0; i < length; i++) length = release(r, queue[i], waits, queue, length);
    return length;
}

/* --- nodes */

static char **port_names(const Rewrite *r, const OnnxPort *ports, uint32_t count) {
    char **names = arena_array(r->arena, char *, count);
    for (uint32_t i = 0; i < count; i++)
        names[i] = (char *)(uintptr_t)r->graph->tensors.data[ports[i].tensor].name;
    return names;
}

static Onnx__NodeProto *region_node(const Rewrite *r, const OnnxRegion *region) {
    const OnnxProgram *program = &region->program;
    Onnx__NodeProto *node = arena_new(r->arena, Onnx__NodeProto);
    onnx__node_proto__init(node);
    node->name = arena_printf(r->arena, "kfuse_%s", region->name);
    node->domain = arena_printf(r->arena, "%s", DOMAIN);
    node->op_type = arena_printf(r->arena, "%s", r->regions->list.data[region->same_op].name);
    node->doc_string = arena_printf(r->arena, "%s", program->text);
    node->input = port_names(r, program->inputs, program->input_count);
    node->n_input = program->input_count;
    node->output = port_names(r, program->outputs, program->output_count);
    node->n_output = program->output_count;
    return node;
}

static void mark_read(Rewrite *r) {
    for (uint32_t i = 0; i < r->graph->nodes.count; i++) {
        const OnnxNode *node = &r->graph->nodes.data[i];
        for (uint32_t k = 0; k < node->input_count && r->regions->of[i] == ONNX_NONE; k++)
            if (node->inputs[k] != ONNX_NONE) r->read[node->inputs[k]] = true;
    }
    for (uint32_t i = 0; i < r->regions->list.count; i++) {
        const OnnxProgram *program = &r->regions->list.data[i].program;
        for (uint32_t k = 0; k < program->input_count; k++)
            r->read[program->inputs[k].tensor] = true;
    }
    for (uint32_t t = 0; t < r->graph->tensors.count; t++)
        r->read[t] |= r->graph->tensors.data[t].kept;
}

/* A constant that has become a number in all that read it. */
static bool is_unread_constant(const Rewrite *r, uint32_t place) {
    if (place >= r->graph->nodes.count) return false;
    const OnnxNode *node = &r->graph->nodes.data[place];
    return node->standard && strcmp(node->op, "Constant") == 0 && node->output_count == 1 &&
           node->outputs[0] != ONNX_NONE && !r->read[node->outputs[0]] &&
           r->graph->tensors.data[node->outputs[0]].readers.count > 0;
}

static void set_nodes(const Rewrite *r, Onnx__GraphProto *proto) {
    uint32_t count = r->graph->nodes.count + r->regions->list.count;
    uint32_t *queue = arena_array(r->arena, uint32_t, count), length = sort(r, queue);
    proto->node = arena_array(r->arena, Onnx__NodeProto *, length);
    proto->n_node = 0;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t place = queue[i], nodes = r->graph->nodes.count;
        if (is_unread_constant(r, place)) continue;
        proto->node[proto->n_node++] =
            place < nodes ? (Onnx__NodeProto *)(uintptr_t)r->graph->nodes.data[place].proto
                          : region_node(r, &r->regions->list.data[place - nodes]);
    }
}

/* --- the rest of the graph */

static const OnnxTensor *tensor_called(const Rewrite *r, const char *name) {
    for (uint32_t t = 0; t < r->graph->tensors.count; t++)
        if (strcmp(r->graph->tensors.data[t].name, name) == 0) return &r->graph->tensors.data[t];
    return NULL;
}

/* Initializers that have become numbers go; before IR version 4 they are inputs, too, and stay. */
static void drop_initializers(const Rewrite *r, Onnx__GraphProto *proto) {
    Onnx__TensorProto **kept = arena_array(r->arena, Onnx__TensorProto *, proto->n_initializer);
    size_t count = 0;
    if (r->graph->model->proto->ir_version < 4) return;
    for (size_t i = 0; i < proto->n_initializer; i++) kept[count++] = proto->initializer[i];
    for (uint32_t t = 0; t < r->graph->tensors.count; t++) {
        const OnnxTensor *tensor = &r->graph->tensors.data[t];
        bool unread = tensor->constant && !r->read[t] && tensor->readers.count > 0;
        for (size_t i = 0; unread && i < count; i++)
            if (kept[i] == tensor->constant) kept[i--] = kept[--count];
    }
    proto->initializer = kept;
    proto->n_initializer = count;
}

/* What is inside a region is no value of the new graph. */
static void drop_inner(const Rewrite *r, Onnx__GraphProto *proto) {
    Onnx__ValueInfoProto **kept =
        arena_array(r->arena, Onnx__ValueInfoProto *, proto->n_value_info);
    size_t count = 0;
    for (size_t i = 0; i < proto->n_value_info; i++) {
        const OnnxTensor *tensor = tensor_called(r, onnx_text(proto->value_info[i]->name));
        bool inner = tensor && tensor->producer != ONNX_NONE &&
                     r->regions->of[tensor->producer] != ONNX_NONE &&
                     !r->read[tensor - r->graph->tensors.data];
        if (!inner) kept[count++] = proto->value_info[i];
    }
    proto->value_info = kept;
    proto->n_value_info = count;
}

/* An input whose sizes were given: kernels were made for these. */
static Onnx__ValueInfoProto *sized(const Rewrite *r, Onnx__ValueInfoProto *input) {
    const OnnxTensor *tensor = tensor_called(r, onnx_text(input->name));
    if (!tensor || !tensor->shape.known || tensor->constant || !input->type ||
        input->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return input;
    Onnx__ValueInfoProto *copy = arena_new(r->arena, Onnx__ValueInfoProto);
    Onnx__TypeProto *type = arena_new(r->arena, Onnx__TypeProto);
    Onnx__TypeProto__Tensor *inner = arena_new(r->arena, Onnx__TypeProto__Tensor);
    Onnx__TensorShapeProto *shape = arena_new(r->arena, Onnx__TensorShapeProto);
    *copy = *input;
    *type = *input->type;
    *inner = *input->type->tensor_type;
    *shape = *inner->shape;
    copy->type = type;
    type->tensor_type = inner;
    inner->shape = shape;
    shape->dim = arena_array(r->arena, Onnx__TensorShapeProto__Dimension *, shape->n_dim);
    for (int i = 0; i < tensor->shape.rank; i++) {
        shape->dim[i] = arena_new(r->arena, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
        shape->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape->dim[i]->dim_value = tensor->shape.dim[i];
    }
    return copy;
}

static void set_inputs(const Rewrite *r, Onnx__GraphProto *proto) {
    Onnx__ValueInfoProto **inputs = arena_array(r->arena, Onnx__ValueInfoProto *, proto->n_input);
    for (size_t i = 0; i < proto->n_input; i++) inputs[i] = sized(r, proto->input[i]);
    proto->input = inputs;
}

static void import_domain(const Rewrite *r, Onnx__ModelProto *proto) {
    Onnx__OperatorSetIdProto *set = arena_new(r->arena, Onnx__OperatorSetIdProto);
    Onnx__OperatorSetIdProto **sets =
        arena_array(r->arena, Onnx__OperatorSetIdProto *, proto->n_opset_import + 1);
    onnx__operator_set_id_proto__init(set);
    set->domain = arena_printf(r->arena, "%s", DOMAIN);
    set->has_version = true;
    set->version = 1;
    for (size_t i = 0; i < proto->n_opset_import; i++) sets[i] = proto->opset_import[i];
    sets[proto->n_opset_import++] = set;
    proto->opset_import = sets;
}

/* --- all together */

static KfStatus write_model(const Rewrite *r, const Onnx__ModelProto *proto) {
    size_t size = onnx__model_proto__get_packed_size(proto);
    uint8_t *data = size <= INT32_MAX ? malloc(size) : NULL;
    if (!data)
        return refuse(r->options, KF_INPUT,
                      "the new model would be larger than 2 GiB, or than memory");
    onnx__model_proto__pack(proto, data);
    KfStatus status = onnx_write(r->options->rewritten, data, size);
    free(data);
    return status;
}

KfStatus onnx_rewrite(const OnnxRegions *regions, const OnnxOptions *options, FILE *out,
                      const OnnxFiles *files) {
    const OnnxGraph *graph = regions->graph;
    Rewrite r = {regions, graph, options, graph->arena,
                 arena_array(graph->arena, bool, graph->tensors.count)};
    Onnx__ModelProto model = *graph->model->proto;
    Onnx__GraphProto proto = *model.graph;
    const char *library;
    KfStatus status = onnx_build_ops(regions, options, files, &library);
    if (status != KF_OK) return status;
    mark_read(&r);
    set_nodes(&r, &proto);
    drop_initializers(&r, &proto);
    drop_inner(&r, &proto);
    set_inputs(&r, &proto);
    model.graph = &proto;
    import_domain(&r, &model);
    status = write_model(&r, &model);
    if (status == KF_OK)
        fprintf(out,
                "\nmodel   %s   %zu nodes\nlibrary %s   for "
                "SessionOptions.register_custom_ops_library\n",
                options->rewritten, proto.n_node, library);
    return status;
}
