/* An edge in, its tensors at the ends of allocations out. An output that updates an input in
 * place has that input's copy. */
#include "tuner/bench_fence.h"

#include "compiler/gate_edge.h"

enum { BLOCK_UNIT = 64 }; /* allocations of whole units end at a fence */

/* A tensor's storage in the image, and how far into it element 0 lies. */
typedef struct Storage {
    Address begin;
    size_t bytes, first;
} Storage;

static Storage storage(const Rig *rig, const Type *type, const int64_t *strides, int64_t offset) {
    int64_t before, count;
    size_t size = dtype_info(type->dtype)->bytes;
    edge_extent(type, strides, &before, &count);
    size_t first = (size_t)before * size;
    return (Storage){rig->image + (Address)offset - first, (size_t)count * size, first};
}

static Storage tensor_storage(const Fence *fence, uint32_t tensor) {
    const Ir *ir = fence->edge->ir;
    uint32_t inputs = ir->inputs.count;
    if (tensor < inputs)
        return storage(fence->rig, &ir->inputs.data[tensor].type, ir->inputs.data[tensor].strides,
                       fence->edge->inputs[tensor]);
    const IrOutput *output = &ir->outputs.data[tensor - inputs];
    return storage(fence->rig, &output->type, output->strides,
                   fence->edge->outputs[tensor - inputs]);
}

static size_t padded(size_t bytes) {
    return (bytes + BLOCK_UNIT - 1) / BLOCK_UNIT * BLOCK_UNIT;
}

static Address copy_of(const Fence *fence, uint32_t tensor, const Storage *from) {
    return fence->blocks[tensor] + padded(from->bytes) - from->bytes;
}

static int32_t updated_input(const Fence *fence, uint32_t tensor) {
    const Ir *ir = fence->edge->ir;
    return tensor < ir->inputs.count ? -1 : ir->outputs.data[tensor - ir->inputs.count].updates;
}

static bool place(Fence *fence, uint32_t tensor, Address *addresses, Why *why) {
    Rig *rig = fence->rig;
    Storage from = tensor_storage(fence, tensor);
    int32_t input = updated_input(fence, tensor);
    if (input >= 0) return addresses[tensor] = addresses[input], true;
    if (from.bytes == 0) return true;
    if (!rig->device->allocate(rig->state, padded(from.bytes), &fence->blocks[tensor], why))
        return false;
    addresses[tensor] = copy_of(fence, tensor, &from) + from.first;
    return rig->hands->copy(rig, copy_of(fence, tensor, &from), from.begin, from.bytes, why);
}

bool fence_open(Rig *rig, const Edge *edge, Arena *arena, Address *addresses, Fence *fence,
                Why *why) {
    *fence = (Fence){rig, edge, arena_array(arena, Address, rig->tensor_count), rig->tensor_count};
    for (uint32_t i = 0; i < fence->count; i++)
        if (!place(fence, i, addresses, why)) return false;
    return true;
}

void fence_close(Fence *fence) {
    for (uint32_t i = 0; i < fence->count; i++)
        if (fence->blocks[i] != 0) fence->rig->device->release(fence->rig->state, fence->blocks[i]);
}
