/* In: a graph, what kfuse makes of each node. Out: regions, as large as they may be. The one idea: groups
 * of nodes grow from producers to readers; two become one where no path leaves and comes back, and where
 * the library says that it is one kernel. */
#include "onnx/region.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "onnx/constant.h"
#include "onnx/folded.h"

enum {
    OUTPUTS_MOST = 8, /* each is written; more are a sign that the parts have little in common */
    OPERANDS_MOST = 32,
    NODES_MOST = 200, /* a program this long is asked about in some milliseconds */
};

typedef struct Group {
    ARRAY(uint32_t) nodes; /* in order; none: merged into another */
} Group;

typedef ARRAY(uint32_t) Queue;

typedef struct Grow {
    const OnnxGraph *graph;
    const OnnxTarget *target;
    OnnxRegions *regions;
    OnnxExpress express;
    Arena *arena;
    Group *groups;   /* by number: that of its first node */
    uint32_t *group; /* by node */
    uint32_t *seen;  /* by group: the last walk that came by */
    uint32_t *own;   /* by group: the last walk that began there */
    uint32_t walk;
    KfStatus status; /* of a call that failed for another reason than the program */
} Grow;

/* --- the library's word */

static void set_tensor(KfTensor *tensor, const OnnxPort *port) {
    *tensor = (KfTensor){.name = port->name, .type = port->type, .rank = port->rank};
    memcpy(tensor->dim, port->dim, sizeof tensor->dim);
}

KfStatus onnx_open(const OnnxTarget *target, const OnnxProgram *program, KfProgram **opened) {
    KfTensor *inputs = calloc(program->input_count + 1, sizeof *inputs);
    if (!inputs) return KF_ENVIRONMENT;
    for (uint32_t i = 0; i < program->input_count; i++) set_tensor(&inputs[i], &program->inputs[i]);
    KfProblem problem = {.inputs = inputs,
                         .input_count = program->input_count,
                         .device = target->device,
                         .math = target->math,
                         .round_each_op = target->round_each_op};
    KfStatus status = kf_program_open(target->session, program->text, SIZE_MAX, &problem, opened);
    free(inputs);
    return status;
}

static int64_t count_of(const int64_t *dim, int rank) {
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dim[i];
    return count;
}

static bool has_results(const OnnxProgram *program, const KfProgram *opened) {
    if (kf_program_output_count(opened) != program->output_count) return false;
    for (uint32_t i = 0; i < program->output_count; i++) {
        const OnnxPort *port = &program->outputs[i];
        KfTensor result = kf_program_output(opened, i);
        if (result.type != port->type ||
            count_of(result.dim, result.rank) != count_of(port->dim, port->rank))
            return false;
    }
    return true;
}

/* Whether the program is one kernel; `why` if not. */
static bool is_one_kernel(Grow *g, Arena *arena, const OnnxProgram *program, const char **why) {
    KfProgram *opened = NULL;
    uint32_t kernels = 0;
    int64_t bytes;
    KfStatus status = onnx_open(g->target, program, &opened);
    bool fits = status == KF_OK && has_results(program, opened);
    *why = status == KF_OK ? "kfuse gives another type" : "kfuse does not take its operands";
    if (fits) status = kf_program_cut(opened, &kernels, &bytes);
    kf_program_close(opened);
    if (status != KF_OK && status != KF_INPUT && status != KF_NO_KERNEL) g->status = status;
    if (!fits || kernels == 1) return fits;
    *why = kernels           ? arena_printf(arena, "it would be %u kernels", kernels)
           : status == KF_OK ? "it has no elements"
                             : "no kernel of kfuse computes it";
    return false;
}

static bool becomes_one(Grow *g, Arena *arena, const uint32_t *nodes, uint32_t count,
                        OnnxProgram *program, const char **why) {
    if (!onnx_express(&g->express, arena, nodes, count, program, why)) return false;
    *why = "it has too many results";
    return program->output_count <= OUTPUTS_MOST && is_one_kernel(g, arena, program, why);
}

/* A node alone; a view alone is nothing to compute, and joins others. */
static void ask_alone(Grow *g, uint32_t node) {
    OnnxPiece *piece = &g->regions->pieces[node];
    OnnxProgram program;
    const char *why;
    if (!piece->text || piece->view) return;
    Arena *scratch = arena_open();
    if (!becomes_one(g, scratch, &node, 1, &program, &why)) {
        piece->text = NULL;
        piece->why = arena_copy(g->arena, why, strlen(why));
    }
    arena_close(scratch);
}

/* --- paths */

/* Marks the groups that read a group's results; true where one of them is `walk`'s own, whose first
 * steps outwards are told by `begins`. */
static bool step(Grow *g, Arena *arena, Queue *queue, uint32_t number, bool begins) {
    const Group *group = &g->groups[number];
    for (uint32_t i = 0; i < group->nodes.count; i++) {
        const OnnxNode *node = &g->graph->nodes.data[group->nodes.data[i]];
        for (uint32_t k = 0; k < node->output_count; k++) {
            const OnnxTensor *tensor = onnx_output(g->graph, node, k);
            for (uint32_t r = 0; tensor && r < tensor->readers.count; r++) {
                uint32_t next = g->group[tensor->readers.data[r]];
                if (g->own[next] == g->walk && !begins) return true;
                if (g->own[next] == g->walk || g->seen[next] == g->walk) continue;
                g->seen[next] = g->walk;
                array_push(arena, queue, next);
            }
        }
    }
    return false;
}

/* Whether a path leaves these groups and comes back. */
static bool comes_back(Grow *g, const uint32_t *groups, uint32_t count) {
    Arena *scratch = arena_open();
    Queue queue = {0};
    bool found = false;
    g->walk++;
    for (uint32_t i = 0; i < count; i++) g->own[groups[i]] = g->walk;
    for (uint32_t i = 0; i < count; i++) step(g, scratch, &queue, groups[i], true);
    for (uint32_t q = 0; q < queue.count && !found; q++)
        found = step(g, scratch, &queue, queue.data[q], false);
    arena_close(scratch);
    return found;
}

/* --- growing */

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Makes one group of several if they may be one. */
static bool merge(Grow *g, const uint32_t *groups, uint32_t count) {
    Queue nodes = {0};
    OnnxProgram program;
    const char *why;
    if (count < 2 || g->status != KF_OK || comes_back(g, groups, count)) return false;
    Arena *scratch = arena_open();
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < g->groups[groups[i]].nodes.count; k++)
            array_push(scratch, &nodes, g->groups[groups[i]].nodes.data[k]);
    qsort(nodes.data, nodes.count, sizeof *nodes.data, by_number);
    bool ok = nodes.count <= NODES_MOST &&
              becomes_one(g, scratch, nodes.data, nodes.count, &program, &why);
    for (uint32_t i = 0; ok && i < count; i++) g->groups[groups[i]] = (Group){{0}};
    for (uint32_t i = 0; ok && i < nodes.count; i++) {
        array_push(g->arena, &g->groups[groups[0]].nodes, nodes.data[i]);
        g->group[nodes.data[i]] = groups[0];
    }
    arena_close(scratch);
    return ok;
}

static bool is_covered(const Grow *g, uint32_t node) {
    return g->regions->pieces[node].text != NULL;
}

/* Groups that make what a node reads, each once, behind the node's own. */
static uint32_t producers(const Grow *g, uint32_t number, uint32_t *groups) {
    const OnnxNode *node = &g->graph->nodes.data[number];
    uint32_t count = 0;
    groups[count++] = g->group[number];
    for (uint32_t k = 0; k < node->input_count && count < OPERANDS_MOST; k++) {
        const OnnxTensor *tensor = onnx_input(g->graph, node, k);
        if (!tensor || tensor->producer == ONNX_NONE || !is_covered(g, tensor->producer)) continue;
        bool known = false;
        for (uint32_t i = 0; i < count; i++) known |= groups[i] == g->group[tensor->producer];
        if (!known) groups[count++] = g->group[tensor->producer];
    }
    return count;
}

static void join(Grow *g, uint32_t number) {
    uint32_t groups[OPERANDS_MOST];
    uint32_t count = producers(g, number, groups);
    if (merge(g, groups, count)) return;
    for (uint32_t i = 1; i < count && count > 2; i++) {
        uint32_t pair[2] = {g->group[number], groups[i]};
        merge(g, pair, 2);
    }
}

/* What has grown since it was refused may fit now. */
static bool join_later(Grow *g, const OnnxTensor *tensor, uint64_t *tried) {
    bool merged = false;
    if (tensor->producer == ONNX_NONE || !is_covered(g, tensor->producer)) return false;
    for (uint32_t r = 0; r < tensor->readers.count; r++) {
        uint32_t pair[2] = {g->group[tensor->producer], g->group[tensor->readers.data[r]]};
        uint64_t sizes =
            (uint64_t)g->groups[pair[0]].nodes.count << 32 | g->groups[pair[1]].nodes.count;
        if (pair[0] == pair[1] || !is_covered(g, tensor->readers.data[r]) || *tried == sizes)
            continue;
        *tried = sizes;
        merged |= merge(g, pair, 2);
    }
    return merged;
}

static void grow(Grow *g) {
    uint32_t tensors = g->graph->tensors.count;
    uint64_t *tried = arena_array(g->arena, uint64_t, tensors);
    for (uint32_t i = 0; i < g->graph->nodes.count; i++)
        if (is_covered(g, i)) join(g, i);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t t = 0; t < tensors; t++)
            more |= join_later(g, &g->graph->tensors.data[t], &tried[t]);
    }
}

/* --- what a region saves */

int64_t onnx_bytes(const OnnxTensor *tensor) {
    KfType type = onnx_type(tensor->type);
    return type == KF_PLAIN_TYPE ? 0 : onnx_count(&tensor->shape) * (int64_t)kf_type_size(type);
}

static bool is_number(const OnnxTensor *tensor) {
    double value;
    return tensor->constant && onnx_constant_number(tensor->constant, &value);
}

/* Each tensor once. */
static int64_t node_bytes(const OnnxGraph *graph, const OnnxNode *node, uint32_t operands) {
    int64_t bytes = onnx_bytes(onnx_output(graph, node, 0));
    for (uint32_t k = 0; k < operands; k++) {
        const OnnxTensor *tensor = onnx_input(graph, node, k);
        bool again = !tensor || is_number(tensor);
        for (uint32_t i = 0; i < k; i++) again |= node->inputs[i] == node->inputs[k];
        if (!again) bytes += onnx_bytes(tensor);
    }
    return bytes;
}

static int64_t port_bytes(const OnnxGraph *graph, const OnnxPort *ports, uint32_t count) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i; k++) again |= ports[k].tensor == ports[i].tensor;
        if (!again) bytes += onnx_bytes(&graph->tensors.data[ports[i].tensor]);
    }
    return bytes;
}

static void measure(const Grow *g, OnnxRegion *region) {
    const OnnxProgram *program = &region->program;
    region->fused = port_bytes(g->graph, program->inputs, program->input_count) +
                    port_bytes(g->graph, program->outputs, program->output_count);
    for (uint32_t i = 0; i < region->node_count; i++) {
        const OnnxPiece *piece = &g->regions->pieces[region->nodes[i]];
        if (!piece->view)
            region->apart +=
                node_bytes(g->graph, &g->graph->nodes.data[region->nodes[i]], piece->operands);
    }
}

/* --- the list */

static void add_ports(Text *text, const OnnxPort *ports, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        text_printf(text, "\n%s %s", ports[i].name, kf_type_name(ports[i].type));
        for (int k = 0; k < ports[i].rank; k++)
            text_printf(text, "%c%lld", k ? 'x' : ' ', (long long)ports[i].dim[k]);
    }
}

/* Inputs in the order in which the library takes them: that of the text. */
static bool order_inputs(const Grow *g, OnnxProgram *program) {
    KfProgram *opened = NULL;
    bool ok = onnx_open(g->target, program, &opened) == KF_OK &&
              kf_program_input_count(opened) == program->input_count;
    for (uint32_t i = 0; ok && i < program->input_count; i++) {
        const char *name = kf_program_input(opened, i).name;
        uint32_t k = i;
        while (k < program->input_count && strcmp(program->inputs[k].name, name) != 0) k++;
        if (k == program->input_count) abort(); /* it was said by this name */
        OnnxPort swap = program->inputs[i];
        program->inputs[i] = program->inputs[k];
        program->inputs[k] = swap;
    }
    kf_program_close(opened);
    return ok;
}

static const char *kernel_text(Grow *g, const OnnxRegion *region) {
    OnnxProgram program;
    const char *why;
    Text text = {0};
    g->express.plain = true;
    if (!onnx_express(&g->express, g->arena, region->nodes, region->node_count, &program, &why))
        abort(); /* it could be said with the model's names */
    order_inputs(g, &program);
    g->express.plain = false;
    text_add(&text, program.text);
    add_ports(&text, program.inputs, program.input_count);
    add_ports(&text, program.outputs, program.output_count);
    const char *kernel = arena_copy(g->arena, text_string(&text), text.length);
    text_free(&text);
    return kernel;
}

static const char *shapes_text(Grow *g, const OnnxProgram *program) {
    const char *text = "";
    for (uint32_t i = 0; i < program->input_count + program->output_count; i++) {
        const OnnxPort *port = i < program->input_count
                                   ? &program->inputs[i]
                                   : &program->outputs[i - program->input_count];
        const OnnxShape *shape = &g->graph->tensors.data[port->tensor].shape;
        text = arena_printf(g->arena, "%s %s", text, onnx_shape_text(g->arena, shape));
    }
    return text;
}

/* The first regions that it could share a kernel, and an operator, with. */
static void find_same(const OnnxRegions *regions, OnnxRegion *region) {
    region->same_as = region->same_op = regions->list.count;
    for (uint32_t i = regions->list.count; i-- > 0;) {
        const OnnxRegion *other = &regions->list.data[i];
        if (strcmp(other->kernel, region->kernel) != 0) continue;
        region->same_as = i;
        if (strcmp(other->shapes, region->shapes) == 0) region->same_op = i;
    }
}

static void add_region(Grow *g, const Group *group) {
    OnnxRegions *regions = g->regions;
    OnnxRegion region = {.nodes = group->nodes.data, .node_count = group->nodes.count};
    const char *why;
    if (!onnx_express(&g->express, g->arena, region.nodes, region.node_count, &region.program,
                      &why) ||
        region.program.computed < 2 || !order_inputs(g, &region.program))
        return;
    region.name = arena_printf(g->arena, "r%u", regions->list.count + 1);
    region.kernel = kernel_text(g, &region);
    region.shapes = shapes_text(g, &region.program);
    find_same(regions, &region);
    measure(g, &region);
    for (uint32_t i = 0; i < region.node_count; i++)
        regions->of[region.nodes[i]] = regions->list.count;
    array_push(g->arena, &regions->list, region);
}

/* One node is one kernel either way, of as many bytes: what tuning it would gain cannot be told from
 * these, so it is left. */
static void add_regions(Grow *g) {
    for (uint32_t i = 0; i < g->graph->nodes.count; i++)
        if (is_covered(g, i) && g->groups[i].nodes.count > 1) add_region(g, &g->groups[i]);
    for (uint32_t i = 0; i < g->graph->nodes.count; i++) {
        OnnxPiece *piece = &g->regions->pieces[i];
        if (g->regions->of[i] != ONNX_NONE || piece->why) continue;
        piece->why = piece->view ? "it computes nothing" : "alone it is one kernel either way";
    }
}

KfStatus onnx_regions(const OnnxGraph *graph, const OnnxTarget *target, OnnxRegions *regions) {
    uint32_t nodes = graph->nodes.count;
    Arena *arena = graph->arena;
    *regions = (OnnxRegions){.graph = graph};
    regions->pieces = arena_array(arena, OnnxPiece, nodes);
    regions->of = arena_array(arena, uint32_t, nodes);
    Grow g = {.graph = graph, .target = target, .regions = regions, .arena = arena};
    g.groups = arena_array(arena, Group, nodes);
    g.group = arena_array(arena, uint32_t, nodes);
    g.seen = arena_array(arena, uint32_t, nodes);
    g.own = arena_array(arena, uint32_t, nodes);
    g.express =
        (OnnxExpress){graph, regions->pieces, arena_array(arena, uint32_t, graph->tensors.count),
                      arena_array(arena, bool, nodes), false};
    for (uint32_t i = 0; i < nodes && g.status == KF_OK; i++) {
        regions->of[i] = ONNX_NONE;
        regions->pieces[i] = onnx_piece(graph, &graph->nodes.data[i]);
        if (target->runtime) onnx_fold(graph, regions->pieces, i);
        array_push(arena, &g.groups[i].nodes, i);
        g.group[i] = i;
        ask_alone(&g, i);
    }
    if (g.status == KF_OK) grow(&g);
    if (g.status == KF_OK) add_regions(&g);
    return g.status;
}
