/* Arguments: what a launch hands its kernel, a pointer to the value of each. Between two launches of one Run only
 * the addresses of its buffers differ, so that all else is laid out once. */
#ifndef KF_ARGUMENTS_H
#define KF_ARGUMENTS_H

#include "tuner/device.h"

typedef union Argument {
    Address address;
    int64_t i64;
    int32_t i32;
    float f32;
    double f64;
} Argument;

typedef struct Arguments {
    uint32_t count;
    const void **constants; /* per argument its value; NULL: a buffer's address */
    const uint32_t *buffers;
} Arguments;

/* Every byte is set, also of what is shorter. */
Argument argument_value(const Arg *arg, const Address *buffers);
Arguments arguments_lay(Arena *arena, const Launch *launch);

/* Points at the values; `buffers` must outlive the launch. All addresses' bits together, for their alignment. */
static inline Address arguments_point(const Arguments *arguments, const Address *buffers,
                                      const void **pointers) {
    Address bits = 0;
    for (uint32_t i = 0; i < arguments->count; i++) {
        pointers[i] = arguments->constants[i];
        if (pointers[i]) continue;
        pointers[i] = &buffers[arguments->buffers[i]];
        bits |= buffers[arguments->buffers[i]];
    }
    return bits;
}

#endif
