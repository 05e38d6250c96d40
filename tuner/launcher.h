/* Launcher: a tuned Run that is launched again and again on a caller's buffers. */
#ifndef KF_LAUNCHER_H
#define KF_LAUNCHER_H

#include "tuner/bench.h"

typedef struct Launcher Launcher;

/* `current`: in the caller's current context (and stream, at launch), else in one of its own.
 * Nothing is loaded before the first launch. Copies nothing: run and binaries must outlive it. NULL: out of
 * memory. */
Launcher *launcher_open(const Device *device, int index, bool current, const Ir *ir, const Run *run,
                        const Binary *binaries, uint32_t binary_count);
void launcher_close(Launcher *launcher);

/* Both may be called from several threads at once. What overlaps or is NULL is refused. */

/* Enqueues once on device pointers. An output may overlap nothing other than exactly the input that it
 * updates. */
bool launcher_launch(Launcher *launcher, const void *const *inputs, void *const *outputs,
                     void *stream, bool *refused, Why *why);
/* On host arrays: copies in, launches, copies out; one run after the other. */
bool launcher_run(Launcher *launcher, const void *const *inputs, void *const *outputs,
                  bool *refused, Why *why);

/* Bytes from the first to past the last element reached by a shape with strides, and how many of
 * them lie before element 0 (negative strides). */
int64_t launcher_extent(const Type *type, const int64_t *strides, int64_t *before);

#endif
