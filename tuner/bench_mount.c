/* In: a Run and its binaries. Out: the Run on the rig: modules loaded, temporaries allocated, and a
 * table of addresses per buffer set, which timing walks through. */
#include <stdlib.h>

#include "tuner/bench_rig.h"

enum { SLAB_UNIT = 256 };

static size_t slab_size(int64_t bytes) {
    return ((size_t)bytes + SLAB_UNIT - 1) / SLAB_UNIT * SLAB_UNIT;
}

static size_t temporaries_size(const Run *run) {
    size_t size = 0;
    for (uint32_t i = 0; i < run->temporaries.count; i++)
        size += slab_size(run->temporaries.data[i]);
    return size;
}

/* Fills the rows of `sets` sets, twice over; `copies` of the temporaries take turns. */
static bool make_table(Rig *rig, Mounted *mounted, uint32_t sets, uint32_t copies) {
    const Run *run = mounted->run;
    size_t width = rig->tensor_count + run->temporaries.count, slab = temporaries_size(run);
    Address *rows = calloc(sets * width + 1, sizeof *rows);
    const Address **table = calloc(2 * (size_t)sets, sizeof *table);
    free(mounted->rows);
    free(mounted->table);
    mounted->rows = rows;
    mounted->table = table;
    if (!rows || !table) return false;
    for (uint32_t set = 0; set < sets; set++) {
        uint32_t copy = set % copies;
        Address *row = rows + set * width, at = mounted->slab + (copy - 1) * slab;
        table[set] = table[set + sets] = row;
        for (uint32_t i = 0; i < rig->tensor_count; i++)
            row[i] = tensor_zero(&rig->tensors[i], rig_storage(rig, i, set));
        for (uint32_t i = 0; i < run->temporaries.count; i++) {
            row[rig->tensor_count + i] = copy ? at : mounted->temporaries[i].data;
            at += slab_size(run->temporaries.data[i]);
        }
    }
    mounted->sets = sets;
    return true;
}

static bool load_all(Rig *rig, Mounted *mounted, const Binary *binaries, uint32_t count, Why *why) {
    mounted->modules = calloc(count + 1, sizeof(Module *));
    if (!mounted->modules) return why_set(why, "out of memory");
    for (uint32_t i = 0; i < count; i++, mounted->module_count++) {
        mounted->modules[i] =
            rig->device->load(rig->state, binaries[i].bytes, binaries[i].size, why);
        if (!mounted->modules[i]) return false;
    }
    return true;
}

static bool allocate_temporaries(Rig *rig, Mounted *mounted, Why *why) {
    const Run *run = mounted->run;
    mounted->temporaries = calloc(run->temporaries.count + 1, sizeof(Guarded));
    if (!mounted->temporaries) return why_set(why, "out of memory");
    for (uint32_t i = 0; i < run->temporaries.count; i++)
        if (!rig_allocate(rig, (size_t)run->temporaries.data[i], &mounted->temporaries[i], why))
            return false;
    return true;
}

Outcome mount_run(Rig *rig, Mounted *mounted, const Run *run, const Binary *binaries,
                  uint32_t count, Why *why) {
    *mounted = (Mounted){.run = run};
    if (!load_all(rig, mounted, binaries, count, why)) return OUTCOME_LAUNCH;
    if (!allocate_temporaries(rig, mounted, why)) return OUTCOME_INFEASIBLE;
    if (make_table(rig, mounted, 1, 1)) return OUTCOME_OK;
    why_set(why, "out of memory");
    return OUTCOME_INFEASIBLE;
}

/* As often as their own size needs to leave the cache, and as memory allows: a large workspace beside
 * small tensors would else be there thousands of times. */
static uint32_t temporary_copies(const Rig *rig, size_t size) {
    uint32_t wanted = rig_rotation(rig, size);
    return wanted < rig->sets ? wanted : rig->sets;
}

bool mount_sets(Rig *rig, Mounted *mounted, Why *why) {
    size_t size = temporaries_size(mounted->run);
    if (!rig_make_sets(rig, why)) return false;
    if (mounted->slab || mounted->sets == rig->sets) return true;
    uint32_t copies = temporary_copies(rig, size);
    while (copies > 1 &&
           !rig->device->allocate(rig->state, (copies - 1) * size, &mounted->slab, why))
        copies -= copies / 4 + 1;
    if (copies > 1 && !rig->hands->poison(rig, mounted->slab, 0, (copies - 1) * size, why))
        return false;
    return make_table(rig, mounted, rig->sets, copies) || why_set(why, "out of memory");
}

void unmount(Rig *rig, Mounted *mounted) {
    for (uint32_t i = 0; mounted->modules && i < mounted->module_count; i++)
        rig->device->unload(rig->state, mounted->modules[i]);
    for (uint32_t i = 0; mounted->temporaries && i < mounted->run->temporaries.count; i++)
        rig_release(rig, &mounted->temporaries[i]);
    if (mounted->slab) rig->device->release(rig->state, mounted->slab);
    free(mounted->modules);
    free(mounted->temporaries);
    free(mounted->rows);
    free(mounted->table);
    *mounted = (Mounted){0};
}
