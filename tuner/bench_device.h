/* Calling the kernels of a device's oracle (oracle_cuda.h). */
#ifndef KF_BENCH_DEVICE_H
#define KF_BENCH_DEVICE_H

#include "tuner/bench_rig.h"

static inline Arg arg_whole(int64_t value) {
    return (Arg){.kind = ARG_I64, .value = {.whole = value}};
}
static inline Arg arg_small(int64_t value) {
    return (Arg){.kind = ARG_I32, .value = {.whole = value}};
}
static inline Arg arg_address(Address value) {
    return arg_whole((int64_t)value);
}

/* Enqueues a grid for `threads` elements: its threads walk on where they are fewer. */
bool device_call(Rig *rig, Module *module, const char *entry, Arg *args, uint32_t count,
                 int64_t threads, Why *why);
#define CALL(rig, module, entry, threads, why, ...)       \
    device_call(rig, module, entry, (Arg[]){__VA_ARGS__}, \
                sizeof((Arg[]){__VA_ARGS__}) / sizeof(Arg), threads, why)

/* Memory for the values of an oracle's steps, but for products that are too dear to compute in full.
 * False if there is not enough: then the oracle cannot be asked. */
bool values_allocate(Rig *rig, Oracle *oracle);
/* Computes them; the kernels' `in` is at `in`. */
bool values_compute(Rig *rig, Oracle *oracle, Address in, Why *why);
void values_release(Rig *rig, Oracle *oracle);
/* Whether all elements of all products are at hand. */
bool values_complete(const Oracle *oracle);

#endif
