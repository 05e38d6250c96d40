/* Fence: an edge's tensors each in memory that ends with its last byte, on a device where an access
 * behind an allocation faults. The image's own tensors have guards, which show a write and no read. */
#ifndef KF_BENCH_FENCE_H
#define KF_BENCH_FENCE_H

#include "tuner/bench_rig.h"

typedef struct Fence {
    Rig *rig;
    const Edge *edge;
    Address *blocks; /* per tensor, inputs first; 0: none of its own */
    uint32_t count;
} Fence;

/* Copies the edge's tensors out of the rig's image; `addresses`, inputs then outputs, then lead to the
 * copies, which go with fence_close, also where this fails (false with `why`). */
bool fence_open(Rig *rig, const Edge *edge, Arena *arena, Address *addresses, Fence *fence,
                Why *why);
/* Once the device is idle. */
void fence_close(Fence *fence);

#endif
