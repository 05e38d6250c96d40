/* In: a tuned Run, pointers. Out: the launch. The one idea: device and modules are opened at the
 * first launch, in the context they are launched in. */
#include "tuner/launcher.h"

#include <stdlib.h>
#include <string.h>

struct Launcher {
    const Device *device;
    int index;
    bool current;
    const Ir *ir;
    const Run *run;
    const Binary *binaries;
    uint32_t binary_count;
    DeviceState *state;
    Module **modules;
    Address *temporaries;
    Address *buffers; /* inputs, outputs, temporaries */
};

Launcher *launcher_open(const Device *device, int index, bool current, const Ir *ir, const Run *run,
                        const Binary *binaries, uint32_t binary_count) {
    Launcher *l = calloc(1, sizeof *l);
    uint32_t buffers = ir->inputs.count + ir->outputs.count + run->temporaries.count;
    if (!l) return NULL;
    *l = (Launcher){.device = device,
                    .index = index,
                    .current = current,
                    .ir = ir,
                    .run = run,
                    .binaries = binaries,
                    .binary_count = binary_count};
    l->modules = calloc(binary_count + 1, sizeof(Module *));
    l->temporaries = calloc(run->temporaries.count + 1, sizeof(Address));
    l->buffers = calloc(buffers + 1, sizeof(Address));
    if (l->modules && l->temporaries && l->buffers) return l;
    launcher_close(l);
    return NULL;
}

void launcher_close(Launcher *l) {
    if (!l) return;
    for (uint32_t i = 0; l->state && i < l->run->temporaries.count; i++)
        if (l->temporaries[i]) l->device->release(l->state, l->temporaries[i]);
    for (uint32_t i = 0; l->state && i < l->binary_count; i++)
        if (l->modules[i]) l->device->unload(l->state, l->modules[i]);
    if (l->state) l->device->close(l->state);
    free(l->modules);
    free(l->temporaries);
    free(l->buffers);
    free(l);
}

static bool prepare(Launcher *l, Why *why) {
    if (!l->state) l->state = l->device->open(l->index, l->current, why);
    if (!l->state) return false;
    for (uint32_t i = 0; i < l->binary_count; i++) {
        if (l->modules[i]) continue;
        l->modules[i] = l->device->load(l->state, l->binaries[i].bytes, l->binaries[i].size, why);
        if (!l->modules[i]) return false;
    }
    for (uint32_t i = 0; i < l->run->temporaries.count; i++)
        if (!l->temporaries[i] &&
            !l->device->allocate(l->state, (size_t)l->run->temporaries.data[i], &l->temporaries[i],
                                 why))
            return false;
    return true;
}

int64_t launcher_extent(const Type *type, const int64_t *strides, int64_t *before) {
    int64_t low = 0, high = 0;
    for (uint32_t d = 0; d < type->rank; d++) {
        if (type->dim[d] == 0) return *before = 0, 0;
        int64_t reach = strides[d] * (type->dim[d] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    int64_t size = dtype_info(type->dtype)->bytes;
    *before = -low * size;
    return (high - low + 1) * size;
}

typedef struct Range {
    uint64_t begin, end;
} Range;

static Range range_of(const void *pointer, const Type *type, const int64_t *strides) {
    int64_t before, bytes = launcher_extent(type, strides, &before);
    uint64_t begin = (uint64_t)(uintptr_t)pointer - (uint64_t)before;
    return (Range){begin, begin + (uint64_t)bytes};
}

static bool overlap(Range a, Range b) {
    return a.begin < b.end && b.begin < a.end;
}

static bool may_alias(Launcher *l, const void *const *inputs, void *const *outputs, Why *why) {
    for (uint32_t o = 0; o < l->ir->outputs.count; o++) {
        const IrOutput *out = &l->ir->outputs.data[o];
        Range range = range_of(outputs[o], &out->type, out->strides);
        for (uint32_t i = 0; i < l->ir->inputs.count; i++) {
            const IrInput *in = &l->ir->inputs.data[i];
            bool updated = out->updates == (int32_t)i;
            if (updated && inputs[i] != outputs[o])
                return why_set(why,
                               "output '%s' updates input '%s' in place: give both one pointer",
                               out->name, in->name);
            if (!updated && overlap(range, range_of(inputs[i], &in->type, in->strides)))
                return why_set(why, "output '%s' overlaps input '%s'", out->name, in->name);
        }
        for (uint32_t p = 0; p < o; p++)
            if (overlap(range, range_of(outputs[p], &l->ir->outputs.data[p].type,
                                        l->ir->outputs.data[p].strides)))
                return why_set(why, "outputs '%s' and '%s' overlap", l->ir->outputs.data[p].name,
                               out->name);
    }
    return true;
}

static Outcome enqueue(Launcher *l, void *stream, Why *why) {
    for (uint32_t i = 0; i < l->run->temporaries.count; i++)
        l->buffers[l->ir->inputs.count + l->ir->outputs.count + i] = l->temporaries[i];
    return l->device->launch(l->state, l->run, l->modules, l->buffers, stream, why);
}

bool launcher_launch(Launcher *l, const void *const *inputs, void *const *outputs, void *stream,
                     bool *refused, Why *why) {
    *refused = !may_alias(l, inputs, outputs, why);
    if (*refused || !prepare(l, why)) return false;
    for (uint32_t i = 0; i < l->ir->inputs.count; i++)
        l->buffers[i] = (Address)(uintptr_t)inputs[i];
    for (uint32_t o = 0; o < l->ir->outputs.count; o++)
        l->buffers[l->ir->inputs.count + o] = (Address)(uintptr_t)outputs[o];
    return enqueue(l, stream, why) == OUTCOME_OK;
}

/* --- on host arrays */

static bool copy_in(Launcher *l, uint32_t i, const void *host, Address *base, Why *why) {
    const IrInput *in = &l->ir->inputs.data[i];
    int64_t before, bytes = launcher_extent(&in->type, in->strides, &before);
    if (!l->device->allocate(l->state, (size_t)bytes, base, why)) return false;
    l->buffers[i] = *base + (uint64_t)before;
    return l->device->upload(l->state, *base, (const char *)host - before, (size_t)bytes, why);
}

static bool copies(Launcher *l, const void *const *inputs, void *const *outputs, Address *owned,
                   Why *why) {
    const Ir *ir = l->ir;
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        if (!copy_in(l, i, inputs[i], &owned[i], why)) return false;
    for (uint32_t o = 0; o < ir->outputs.count; o++) {
        const IrOutput *out = &ir->outputs.data[o];
        int64_t before, bytes = launcher_extent(&out->type, out->strides, &before);
        uint32_t b = ir->inputs.count + o;
        if (out->updates >= 0) {
            l->buffers[b] = l->buffers[out->updates];
            continue;
        }
        if (!l->device->allocate(l->state, (size_t)bytes, &owned[b], why)) return false;
        l->buffers[b] = owned[b] + (uint64_t)before;
        /* Strided outputs keep what lies between their elements. */
        if (!l->device->upload(l->state, owned[b], (char *)outputs[o] - before, (size_t)bytes, why))
            return false;
    }
    if (enqueue(l, NULL, why) != OUTCOME_OK || l->device->finish(l->state, why) != OUTCOME_OK)
        return false;
    for (uint32_t o = 0; o < ir->outputs.count; o++) {
        const IrOutput *out = &ir->outputs.data[o];
        int64_t before, bytes = launcher_extent(&out->type, out->strides, &before);
        if (!l->device->download(l->state, (char *)outputs[o] - before,
                                 l->buffers[ir->inputs.count + o] - (uint64_t)before, (size_t)bytes,
                                 why))
            return false;
    }
    return true;
}

bool launcher_run(Launcher *l, const void *const *inputs, void *const *outputs, bool *refused,
                  Why *why) {
    uint32_t count = l->ir->inputs.count + l->ir->outputs.count;
    *refused = false;
    if (!prepare(l, why)) return false;
    Address *owned = calloc(count + 1, sizeof *owned);
    bool ok = owned && copies(l, inputs, outputs, owned, why);
    for (uint32_t b = 0; owned && b < count; b++)
        if (owned[b]) l->device->release(l->state, owned[b]);
    free(owned);
    return ok;
}
