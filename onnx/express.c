/* In: nodes in order, what each computes. Out: one program. Twice over the nodes: first sizes, from which
 * follow the axes that may be one; then the text, a statement for what is read more than once. */
#include "onnx/express.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/text.h"
#include "onnx/axes.h"
#include "onnx/constant.h"
#include "onnx/level.h"
#include "onnx/names.h"

enum { INLINE_MOST = 72 /* a longer expression gets a name, to be read */ };

/* A tensor as the program has it: read from outside in one shape, or computed. */
typedef struct Value {
    uint32_t tensor;
    uint32_t dims; /* in Writer.dims */
    int rank;      /* its own */
    bool computed;
    uint32_t same_as; /* a view: the value whose elements it has; else itself */
    uint32_t uses;    /* in the text */
    const char *text; /* once written */
    bool leaves;      /* it is a result of the program */
} Value;

typedef struct Writer {
    const OnnxExpress *express;
    const OnnxGraph *graph;
    Arena *arena;
    const uint32_t *nodes;
    uint32_t count;
    int rank;
    bool product; /* axes are as they are */
    ARRAY(Value) values;
    OnnxDimsList dims;
    OnnxMaskList masks;
    OnnxAxes axes;
    OnnxNames names;
    Text text;
    const char *why;
} Writer;

static bool refuse(Writer *w, const char *why) {
    w->why = why;
    return false;
}

static const OnnxPiece *piece_of(const Writer *w, uint32_t node) {
    return &w->express->pieces[node];
}

static const OnnxTensor *tensor_at(const Writer *w, uint32_t index) {
    return &w->graph->tensors.data[index];
}

/* --- first: sizes */

static bool is_inside(const Writer *w, uint32_t tensor) {
    uint32_t producer = tensor_at(w, tensor)->producer;
    return producer != ONNX_NONE && w->express->inside[producer];
}

static int largest_rank(const Writer *w) {
    int rank = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const OnnxNode *node = &w->graph->nodes.data[w->nodes[i]];
        const OnnxPiece *piece = piece_of(w, w->nodes[i]);
        const OnnxTensor *result = onnx_output(w->graph, node, 0);
        if (result->shape.rank > rank) rank = result->shape.rank;
        for (uint32_t k = 0; k < piece->operands && !piece->view; k++) {
            const OnnxTensor *operand = onnx_input(w->graph, node, k);
            if (operand && operand->shape.rank > rank) rank = operand->shape.rank;
        }
    }
    return rank;
}

static uint32_t add_dims(Writer *w, const OnnxDims *dims) {
    array_push(w->arena, &w->dims, *dims);
    return w->dims.count - 1;
}

static uint32_t add_value(Writer *w, uint32_t tensor, const OnnxDims *dims, bool computed) {
    uint32_t index = w->values.count;
    Value value = {.tensor = tensor, .computed = computed, .same_as = index};
    value.rank = tensor_at(w, tensor)->shape.rank;
    value.dims = add_dims(w, dims);
    array_push(w->arena, &w->values, value);
    return index;
}

static bool same_dims(const Writer *w, uint32_t dims, const OnnxDims *other) {
    return memcmp(w->dims.data[dims].dim, other->dim, (size_t)w->rank * sizeof *other->dim) == 0;
}

/* What is read from outside, in one shape. */
static bool outside(Writer *w, uint32_t tensor, const OnnxDims *dims, uint32_t *index) {
    if (onnx_type(tensor_at(w, tensor)->type) == KF_PLAIN_TYPE)
        return refuse(w, "an operand is of a type that kfuse does not have");
    for (uint32_t i = 0; i < w->values.count; i++) {
        const Value *value = &w->values.data[i];
        if (value->tensor == tensor && !value->computed && value->same_as == i &&
            same_dims(w, value->dims, dims))
            return *index = i, true;
    }
    return *index = add_value(w, tensor, dims, false), true;
}

/* The shape in which a node reads its operand. */
static OnnxDims wanted(const Writer *w, const OnnxNode *node, const OnnxPiece *piece, uint32_t k) {
    const OnnxShape *shape = &onnx_input(w->graph, node, k)->shape;
    if (!(piece->channel >> k & 1)) return onnx_dims(shape, w->rank);
    OnnxShape along = {.known = true, .rank = onnx_input(w->graph, node, 0)->shape.rank};
    for (int i = 0; i < along.rank; i++) along.dim[i] = i == 1 ? onnx_count(shape) : 1;
    return onnx_dims(&along, w->rank);
}

/* A constant of one element is a number in the text. A whole one beyond 2^53 is not, as the language's
 * numbers are doubles. */
static bool is_number(const Writer *w, const OnnxNode *node, uint32_t k, double *value) {
    const OnnxTensor *tensor = onnx_input(w->graph, node, k);
    if (!tensor->constant || !onnx_constant_number(tensor->constant, value)) return false;
    return tensor->type != ONNX__TENSOR_PROTO__DATA_TYPE__INT64 || fabs(*value) <= 0x1p53;
}

/* The value that a node reads. */
static bool operand_value(Writer *w, const OnnxNode *node, const OnnxPiece *piece, uint32_t k,
                          uint32_t *index) {
    uint32_t tensor = node->inputs[k];
    OnnxDims dims = wanted(w, node, piece, k);
    if (!is_inside(w, tensor)) return outside(w, tensor, &dims, index);
    *index = w->express->slots[tensor] - 1;
    const Value *value = &w->values.data[*index];
    if (!same_dims(w, value->dims, &dims))
        return refuse(w, "a result inside would be read in another shape");
    return true;
}

static bool measure_view(Writer *w, const OnnxNode *node) {
    uint32_t from, to = node->outputs[0];
    if (is_inside(w, node->inputs[0])) {
        from = w->express->slots[node->inputs[0]] - 1;
        from = w->values.data[from].same_as;
    } else {
        OnnxDims dims = onnx_dims(&tensor_at(w, to)->shape, w->rank);
        if (!outside(w, node->inputs[0], &dims, &from)) return false;
        w->values.data[from].rank = tensor_at(w, to)->shape.rank;
    }
    OnnxDims dims = w->dims.data[w->values.data[from].dims];
    uint32_t view = add_value(w, to, &dims, true);
    w->values.data[view].same_as = from;
    return w->express->slots[to] = view + 1, true;
}

static OnnxDims result_dims(Writer *w, const OnnxNode *node, const OnnxPiece *piece) {
    const OnnxTensor *result = onnx_output(w->graph, node, 0);
    OnnxDims dims = onnx_dims(&result->shape, w->rank);
    if (!piece->drops) return dims;
    dims = onnx_dims(&onnx_input(w->graph, node, 0)->shape, w->rank);
    for (int i = 0; i < w->rank; i++)
        if (piece->reduced >> (w->rank - 1 - i) & 1) dims.dim[i] = 1;
    return dims;
}

static bool measure_node(Writer *w, uint32_t number) {
    const OnnxNode *node = &w->graph->nodes.data[number];
    const OnnxPiece *piece = piece_of(w, number);
    uint32_t index;
    double value;
    w->product |= piece->product;
    if (piece->view) return measure_view(w, node);
    for (uint32_t k = 0; k < piece->operands; k++)
        if (onnx_input(w->graph, node, k) && !is_number(w, node, k, &value) &&
            !operand_value(w, node, piece, k, &index))
            return false;
    OnnxDims dims = result_dims(w, node, piece);
    w->express->slots[node->outputs[0]] = add_value(w, node->outputs[0], &dims, true) + 1;
    if (piece->reduced) array_push(w->arena, &w->masks, piece->reduced);
    return true;
}

/* --- second: text */

static bool axis_text(Writer *w, const OnnxPiece *piece, const char **text, const char **axis) {
    *text = piece->text;
    *axis = "";
    if (!piece->reduced && strstr(piece->text, "{axis}")) return refuse(w, "it reduces no axis");
    if (!piece->reduced) return true;
    int along = onnx_axes_reduced(&w->axes, piece->reduced);
    if (along == 0) return refuse(w, "it reduces axes that are not next to each other");
    if (along == -1) *text = piece->along;
    if (along != -1) *axis = along > 0 ? ", axis=all" : arena_printf(w->arena, ", axis=%d", along);
    return true;
}

/* "$12" at `at`: its number; moves behind it. */
static uint32_t dollar(const char **at) {
    char *end;
    uint32_t k = (uint32_t)strtoul(*at + 1, &end, 10);
    *at = end;
    return k;
}

static Value *read_value(Writer *w, const OnnxNode *node, const OnnxPiece *piece, uint32_t k) {
    uint32_t index = ONNX_NONE;
    if (!operand_value(w, node, piece, k, &index)) abort(); /* the first pass has looked */
    return &w->values.data[w->values.data[index].same_as];
}

static bool count_uses(Writer *w, uint32_t number) {
    const OnnxNode *node = &w->graph->nodes.data[number];
    const OnnxPiece *piece = piece_of(w, number);
    const char *text, *axis;
    double value;
    if (piece->view) return true;
    if (!axis_text(w, piece, &text, &axis)) return false;
    for (const char *at = text; *at;) {
        if (*at != '$') {
            at++;
            continue;
        }
        uint32_t k = dollar(&at);
        if (!is_number(w, node, k, &value)) read_value(w, node, piece, k)->uses++;
    }
    return true;
}

/* A number takes the type of what it meets; where it meets none of its type and the result has it, it
 * brings its own. */
static bool brings_type(const Writer *w, const OnnxNode *node, const OnnxPiece *piece, uint32_t k) {
    int32_t type = onnx_input(w->graph, node, k)->type;
    double value;
    if (onnx_output(w->graph, node, 0)->type != type) return false;
    for (uint32_t i = 0; i < piece->operands; i++) {
        const OnnxTensor *other = onnx_input(w->graph, node, i);
        if (other && other->type == type && !is_number(w, node, i, &value)) return false;
    }
    return true;
}

static const char *number_text(Writer *w, const OnnxNode *node, const OnnxPiece *piece, uint32_t k,
                               double value) {
    const OnnxTensor *tensor = onnx_input(w->graph, node, k);
    bool wide = tensor->type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE ||
                tensor->type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    const char *text = onnx_number_text(w->arena, value, wide);
    if (brings_type(w, node, piece, k))
        return arena_printf(w->arena, "%s(%s)", onnx_type_text(tensor->type), text);
    return text;
}

static void write_operand(Writer *w, Text *out, const OnnxNode *node, const OnnxPiece *piece,
                          uint32_t k, int needed) {
    double number;
    const char *text = is_number(w, node, k, &number) ? number_text(w, node, piece, k, number)
                                                      : read_value(w, node, piece, k)->text;
    text_printf(out, onnx_level(text) >= needed ? "%s" : "(%s)", text);
}

static const char *expression(Writer *w, const OnnxNode *node, const OnnxPiece *piece) {
    Text out = {0};
    const char *text, *axis;
    if (!axis_text(w, piece, &text, &axis)) abort();
    for (const char *at = text; *at;) {
        const char *from = at;
        if (strncmp(at, "{axis}", 6) == 0) {
            text_add(&out, axis);
            at += 6;
        } else if (*at == '$') {
            uint32_t k = dollar(&at);
            write_operand(w, &out, node, piece, k, onnx_level_needed(text, from, at));
        } else {
            text_add_bytes(&out, at++, 1);
        }
    }
    const char *result = arena_copy(w->arena, text_string(&out), out.length);
    text_free(&out);
    return result;
}

static const char *name_of(Writer *w, const Value *value) {
    const char *prefix = !value->computed ? "x" : value->leaves ? "y" : "t";
    if (w->express->plain || strcmp(prefix, "t") == 0) return onnx_name_next(&w->names, prefix);
    return onnx_name(&w->names, tensor_at(w, value->tensor)->label);
}

static void write_node(Writer *w, uint32_t number) {
    const OnnxNode *node = &w->graph->nodes.data[number];
    const OnnxPiece *piece = piece_of(w, number);
    if (piece->view) return;
    Value *value = &w->values.data[w->express->slots[node->outputs[0]] - 1];
    const char *text = expression(w, node, piece);
    value->text = text;
    if (!value->leaves && value->uses <= 1 && strlen(text) <= INLINE_MOST) return;
    value->text = name_of(w, value);
    text_printf(&w->text, "%s%s = %s", w->text.length ? "; " : "", value->text, text);
}

/* --- results */

static bool is_read_outside(const Writer *w, const OnnxTensor *tensor) {
    if (tensor->kept) return true;
    for (uint32_t r = 0; r < tensor->readers.count; r++)
        if (!w->express->inside[tensor->readers.data[r]]) return true;
    return false;
}

/* Tells values that leave, and refuses what would be a copy. */
static bool find_results(Writer *w) {
    for (uint32_t i = 0; i < w->values.count; i++) {
        Value *value = &w->values.data[i];
        if (!value->computed || !is_read_outside(w, tensor_at(w, value->tensor))) continue;
        Value *from = &w->values.data[value->same_as];
        if (!from->computed || from->leaves)
            return refuse(w, "it would copy what is there already");
        from->leaves = true;
    }
    return true;
}

static void add_port(Writer *w, OnnxPort *list, uint32_t *count, uint32_t tensor,
                     const Value *value, int least) {
    OnnxPort *port = &list[(*count)++];
    *port = (OnnxPort){tensor, value->text, onnx_type(tensor_at(w, tensor)->type), 0, {0}};
    if (w->product) least = value->rank;
    port->rank = onnx_axes_apply(&w->axes, &w->dims.data[value->dims], least, port->dim);
}

/* One result that nothing reads is the program's without being told. */
static bool is_plain_end(const Writer *w, const OnnxProgram *program) {
    bool read = false;
    for (uint32_t i = 0; i < w->values.count; i++)
        read |= w->values.data[i].leaves && w->values.data[i].uses > 0;
    return program->output_count == 1 && !read;
}

static void add_ports(Writer *w, OnnxProgram *program) {
    int least = w->masks.count ? w->axes.merged : 0;
    program->inputs = arena_array(w->arena, OnnxPort, w->values.count);
    program->outputs = arena_array(w->arena, OnnxPort, w->values.count);
    for (uint32_t i = 0; i < w->values.count; i++) {
        const Value *value = &w->values.data[i], *from = &w->values.data[value->same_as];
        if (!value->computed)
            add_port(w, program->inputs, &program->input_count, value->tensor, value, least);
        else if (is_read_outside(w, tensor_at(w, value->tensor)))
            add_port(w, program->outputs, &program->output_count, value->tensor, from, least);
    }
    for (uint32_t i = 0; i < program->output_count && !is_plain_end(w, program); i++)
        text_printf(&w->text, "%s%s", i ? ", " : "; return ", program->outputs[i].name);
    program->text = arena_copy(w->arena, text_string(&w->text), w->text.length);
}

/* --- all together */

static bool write_program(Writer *w, OnnxProgram *program) {
    w->rank = largest_rank(w);
    for (uint32_t i = 0; i < w->count; i++)
        if (!measure_node(w, w->nodes[i])) return false;
    if (!find_results(w)) return false;
    w->axes = w->product ? onnx_axes_apart(w->rank) : onnx_axes(w->rank, &w->dims, &w->masks);
    for (uint32_t i = 0; i < w->count; i++)
        if (!count_uses(w, w->nodes[i])) return false;
    for (uint32_t i = 0; i < w->values.count; i++)
        if (!w->values.data[i].computed) w->values.data[i].text = name_of(w, &w->values.data[i]);
    for (uint32_t i = 0; i < w->count; i++) {
        write_node(w, w->nodes[i]);
        program->computed += !piece_of(w, w->nodes[i])->view;
    }
    if (w->text.length == 0) return refuse(w, "it computes nothing");
    add_ports(w, program);
    return true;
}

bool onnx_express(const OnnxExpress *express, Arena *arena, const uint32_t *nodes, uint32_t count,
                  OnnxProgram *program, const char **why) {
    Writer w = {.express = express,
                .graph = express->graph,
                .arena = arena,
                .nodes = nodes,
                .count = count,
                .names = {.arena = arena}};
    *program = (OnnxProgram){0};
    for (uint32_t i = 0; i < count; i++) express->inside[nodes[i]] = true;
    bool ok = write_program(&w, program);
    for (uint32_t i = 0; i < count; i++) {
        express->inside[nodes[i]] = false;
        express->slots[w.graph->nodes.data[nodes[i]].outputs[0]] = 0;
    }
    text_free(&w.text);
    *why = w.why;
    return ok;
}
