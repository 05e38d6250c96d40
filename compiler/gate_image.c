/* Edges in, one image out: data, poison, guards. One idea: everything that no kernel may write
 * keeps its bytes, so that one comparison of whole images finds every stray write. */
#include <stdlib.h>
#include <string.h>

#include "compiler/gate_image.h"

#define KF_COMPUTE_BITS 64
#include "compiler/storage.h"
#include "compiler/sample.h"

void gate_fill(void *bytes, DType dtype, uint64_t seed, uint32_t slot, int64_t begin, int64_t count,
               int domain) {
    uint64_t key = sample_key(seed, slot);
    for (int64_t i = 0; i < count; i++)
        sample_store((int)dtype, bytes, i, sample_hash(key, begin + i), domain);
}

/* --- places */

/* Element 0 of a new tensor; the image grows by it and its guards. */
static int64_t place(Gate *gate, const Type *type, const int64_t *strides, bool misaligned) {
    int64_t before, count, bytes = dtype_info(type->dtype)->bytes;
    edge_extent(type, strides, &before, &count);
    int64_t start = (int64_t)(gate->size + GATE_GUARD - 1) / GATE_GUARD * GATE_GUARD + GATE_GUARD;
    if (misaligned) start += bytes;
    gate->size = (size_t)(start + count * bytes + GATE_GUARD);
    return start + before * bytes;
}

static void place_edge(Arena *arena, Gate *gate, const EdgeShape *shape) {
    const Ir *ir = shape->ir;
    Edge edge = {.label = shape->label, .ir = ir, .misaligned = shape->misaligned};
    edge.inputs = arena_array(arena, int64_t, ir->inputs.count);
    edge.outputs = arena_array(arena, int64_t, ir->outputs.count);
    edge.expected = arena_array(arena, Expected, ir->outputs.count);
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        edge.inputs[i] =
            place(gate, &ir->inputs.data[i].type, ir->inputs.data[i].strides, edge.misaligned);
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        edge.outputs[i] = output->updates >= 0
                              ? edge.inputs[output->updates]
                              : place(gate, &output->type, output->strides, edge.misaligned);
    }
    array_push(arena, &gate->edges, edge);
}

void image_place(Arena *arena, Gate *gate, const EdgeShapes *shapes) {
    for (uint32_t i = 0; i < shapes->list.count; i++)
        place_edge(arena, gate, &shapes->list.data[i]);
}

/* --- data */

typedef struct Filler {
    const IrInput *input;
    uint8_t *zero; /* element 0 */
    int64_t before;
    uint64_t key;
    int domain;
    int64_t factor[RANK_MAX]; /* of coordinates, for special values */
    int64_t split;            /* or of the one coordinate's quotient by SPECIALS */
    bool special, pattern;
    int32_t spike_axis, row_axis; /* -1: none */
} Filler;

/* Where vectors, warps, blocks and rows begin and end. */
static int64_t spike_near(int64_t row, int64_t length) {
    static const int64_t places[SPIKES] = {0,   1,   2,   3,   4,   5,  7,  8,   9,   15,  16,
                                           17,  31,  32,  33,  63,  64, 65, 127, 128, 129, 255,
                                           256, 257, 511, 512, 513, -9, -8, -5,  -4,  -2,  -1};
    int64_t place = places[row % SPIKES];
    return (place < 0 ? length + place : place) % length;
}

static int64_t spike_far(int64_t row) {
    static const int64_t places[SPIKES_FAR] = {1023, 1024, 1025, 2047, 2048, 2049, 4095,
                                               4096, 4097, 8191, 8192, 8193, 8207, 8208,
                                               0,    511,  3071, 3072, 6143, 6144};
    return places[row % SPIKES_FAR];
}

static int64_t spike_place(int64_t row, int64_t length) {
    return length > 8208 ? spike_far(row) : spike_near(row, length);
}

static bool is_spike(const Filler *filler, const int64_t *coordinate) {
    if (filler->spike_axis < 0 || filler->pattern) return false;
    int64_t length = filler->input->type.dim[filler->spike_axis];
    int64_t row = filler->row_axis < 0 ? SPIKES - 1 : coordinate[filler->row_axis];
    return coordinate[filler->spike_axis] == spike_place(row, length);
}

static void store_spike(DType type, void *bytes) {
    if (dtype_is_float(type))
        storage_store_real((int)type, bytes, 0, 64);
    else
        storage_store_whole((int)type, bytes, 0, storage_clamp((int)type, 64));
}

static void store_row(const Filler *filler, int64_t offset, const int64_t *coordinate,
                      void *bytes) {
    double small = (double)sample_small(sample_hash(filler->key, offset + filler->before));
    row_store(filler->input->type.dtype, coordinate[filler->row_axis],
              coordinate[filler->spike_axis], filler->input->type.dim[filler->spike_axis], small,
              bytes);
}

static void fill_element(void *context, int64_t n, int64_t offset, const int64_t *coordinate) {
    const Filler *filler = context;
    DType type = filler->input->type.dtype;
    void *bytes = filler->zero + offset * (int64_t)dtype_info(type)->bytes;
    uint64_t index = 0;
    (void)n;
    if (is_spike(filler, coordinate)) {
        store_spike(type, bytes);
        return;
    }
    if (filler->pattern) {
        store_row(filler, offset, coordinate, bytes);
        return;
    }
    if (!filler->special) {
        sample_store((int)type, bytes, 0, sample_hash(filler->key, offset + filler->before),
                     filler->domain);
        return;
    }
    for (uint32_t i = 0; i < filler->input->type.rank; i++) {
        index += (uint64_t)(coordinate[i] * filler->factor[i]);
        if (filler->factor[i] != 0) index += (uint64_t)(coordinate[i] / SPECIALS * filler->split);
    }
    special_store(type, index % SPECIALS, bytes, 0);
}

/* Input `slot` walks the special values along a direction of its own in the plane of the two main
 * axes, so that any two inputs that both fill it meet in all pairs. */
static void set_direction(Filler *filler, const EdgeShapes *shapes, const Ir *ir, uint32_t slot) {
    const IrInput *input = filler->input;
    bool plane = !shapes->axes->flat && shapes->axes->count > 1;
    int64_t inner = slot == 0 ? 1 : (int64_t)(slot - 1) % SPECIALS, outer = slot == 0 ? 0 : 1;
    if (plane) inner = slot % (SPECIALS - 1) + 1, outer = 1;
    for (uint32_t i = 0; i < input->type.rank; i++) {
        int axis = axes_of_value(shapes->axes, ir, input->value, i);
        if (axis < 0 || input->strides[i] == 0) continue;
        filler->factor[i] = axis == 0 ? inner : axis == 1 ? outer : 3;
        if (!plane)
            filler->factor[i] = inner == 0 ? SPECIALS : inner; /* counts as its own multiple */
    }
    filler->split = plane ? 0 : outer;
}

/* Along the longest axis, each place on a row of its own. */
static void set_spikes(Filler *filler) {
    const IrInput *input = filler->input;
    const int64_t *dim = input->type.dim;
    for (int32_t i = 0; i < (int32_t)input->type.rank; i++) {
        if (input->strides[i] == 0 || dim[i] == 1) continue;
        if (filler->spike_axis < 0 || dim[i] > dim[filler->spike_axis]) {
            filler->row_axis = filler->spike_axis;
            filler->spike_axis = i;
        } else if (filler->row_axis < 0 || dim[i] > dim[filler->row_axis]) {
            filler->row_axis = i;
        }
    }
}

/* An input that has rows of the length that is reduced. */
static bool set_rows(Filler *filler, const EdgeShapes *shapes, const Ir *ir) {
    const IrInput *input = filler->input;
    for (int32_t i = 0; i < (int32_t)input->type.rank; i++) {
        int axis = axes_of_value(shapes->axes, ir, input->value, (uint32_t)i);
        if (axis < 0 || input->strides[i] == 0) continue;
        if (axis == shapes->length) filler->spike_axis = i;
        if (axis == shapes->rows) filler->row_axis = i;
    }
    filler->pattern = filler->spike_axis >= 0 && filler->row_axis >= 0;
    if (!filler->pattern) filler->spike_axis = filler->row_axis = -1;
    return filler->pattern;
}

void image_fill(Gate *gate, uint32_t index, const EdgeShapes *shapes, uint64_t seed, int domain) {
    const Edge *edge = &gate->edges.data[index];
    const EdgeShape *shape = &shapes->list.data[index];
    bool patterned = false;
    for (uint32_t i = 0; i < edge->ir->inputs.count; i++) {
        const IrInput *input = &edge->ir->inputs.data[i];
        Filler filler = {.input = input, .zero = gate->image + edge->inputs[i]};
        filler.spike_axis = filler.row_axis = -1;
        int64_t count;
        edge_extent(&input->type, input->strides, &filler.before, &count);
        filler.key = sample_key(seed + index, i);
        filler.domain = shape->data >= EDGE_WHOLE ? SAMPLE_WHOLE : domain;
        filler.special = shape->data == EDGE_SPECIAL && count > 1;
        if (shape->data == EDGE_SPIKES) set_spikes(&filler);
        if (shape->data == EDGE_ROWS && !patterned) patterned = set_rows(&filler, shapes, edge->ir);
        if (filler.special) set_direction(&filler, shapes, edge->ir, i);
        edge_visit(&input->type, input->strides, fill_element, &filler);
    }
}

/* --- outputs */

typedef struct Mover {
    uint8_t *strided, *dense;
    uint32_t bytes;
    bool gather;
} Mover;

static void move_element(void *context, int64_t n, int64_t offset, const int64_t *coordinate) {
    const Mover *mover = context;
    uint8_t *at = mover->strided + offset * (int64_t)mover->bytes,
            *dense = mover->dense + n * (int64_t)mover->bytes;
    (void)coordinate;
    memcpy(mover->gather ? dense : at, mover->gather ? at : dense, mover->bytes);
}

static bool is_row_major(const IrOutput *output) {
    int64_t strides[RANK_MAX];
    type_strides(&output->type, strides);
    for (uint32_t i = 0; i < output->type.rank; i++)
        if (output->type.dim[i] > 1 && strides[i] != output->strides[i]) return false;
    return true;
}

static void move_output(const Edge *edge, uint8_t *image, uint32_t index, uint8_t *dense,
                        bool gather) {
    const IrOutput *output = &edge->ir->outputs.data[index];
    if (is_row_major(output)) {
        uint8_t *at = image + edge->outputs[index];
        memcpy(gather ? dense : at, gather ? at : dense, (size_t)type_bytes(&output->type));
        return;
    }
    Mover mover = {image + edge->outputs[index], dense, dtype_info(output->type.dtype)->bytes,
                   gather};
    edge_visit(&output->type, output->strides, move_element, &mover);
}

void image_gather(const Edge *edge, const uint8_t *image, uint32_t output, uint8_t *dense) {
    move_output(edge, (uint8_t *)(uintptr_t)image, output, dense, true);
}

void image_scatter(const Edge *edge, uint8_t *image, uint32_t output, const uint8_t *dense) {
    move_output(edge, image, output, (uint8_t *)(uintptr_t)dense, false);
}

/* The complement of the lower end; where that is the value itself, a byte that no bool has is still
 * wrong. */
void image_poison(Gate *gate, uint32_t index) {
    const Edge *edge = &gate->edges.data[index];
    for (uint32_t i = 0; i < edge->ir->outputs.count; i++) {
        const Expected *expected = &edge->expected[i];
        size_t bytes = (size_t)expected->count * dtype_info(expected->dtype)->bytes;
        uint8_t *poison = malloc(bytes + 1);
        if (edge->ir->outputs.data[i].updates >= 0 || poison == NULL) {
            free(poison);
            continue;
        }
        for (size_t k = 0; k < bytes; k++)
            poison[k] = (uint8_t) ~((const uint8_t *)expected->lo)[k];
        image_scatter(edge, gate->image, i, poison);
        free(poison);
    }
}

const void **image_inputs(Arena *arena, const Edge *edge, const uint8_t *image) {
    const void **inputs = arena_array(arena, const void *, edge->ir->inputs.count);
    for (uint32_t i = 0; i < edge->ir->inputs.count; i++) inputs[i] = image + edge->inputs[i];
    return inputs;
}

/* --- names of places */

static const char *name_within(size_t at, int64_t zero, const Type *type, const int64_t *strides,
                               const char *name, Arena *arena) {
    int64_t before, count, bytes = dtype_info(type->dtype)->bytes;
    edge_extent(type, strides, &before, &count);
    int64_t begin = zero - before * bytes, end = begin + count * bytes, place_at = (int64_t)at;
    if (place_at < begin - 2 * GATE_GUARD || place_at >= end + GATE_GUARD) return NULL;
    if (place_at < begin) return arena_printf(arena, "guard before %s touched", name);
    if (place_at >= end) return arena_printf(arena, "guard behind %s touched", name);
    return arena_printf(arena, "%s was written", name);
}

const char *image_place_name(const Gate *gate, size_t at, Arena *arena) {
    for (uint32_t e = 0; e < gate->edges.count; e++) {
        const Edge *edge = &gate->edges.data[e];
        const char *name = NULL;
        for (uint32_t i = 0; name == NULL && i < edge->ir->inputs.count; i++) {
            const IrInput *input = &edge->ir->inputs.data[i];
            name =
                name_within(at, edge->inputs[i], &input->type, input->strides, input->name, arena);
        }
        for (uint32_t i = 0; name == NULL && i < edge->ir->outputs.count; i++) {
            const IrOutput *output = &edge->ir->outputs.data[i];
            name = name_within(at, edge->outputs[i], &output->type, output->strides, output->name,
                               arena);
        }
        if (name != NULL) return arena_printf(arena, "edge '%s': %s", edge->label, name);
    }
    return "memory between tensors touched";
}
