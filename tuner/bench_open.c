/* In: a device. Out: its state, for the thread that asks for it. The idea: a driver takes as long to
 * start as everything else that comes before the first measurement, so that it starts first. */
#include "tuner/bench_rig.h"
#include "tuner/wire.h"

static void open_now(Opening *opening) {
    double begin = wire_now();
    opening->state = opening->device->open(opening->index, false, &opening->why);
    opening->seconds = wire_now() - begin;
    opening->done = true;
}

static void *run(void *argument) {
    open_now(argument);
    return NULL;
}

void opening_begin(Opening *opening) {
    opening->running =
        opening->device->enter && pthread_create(&opening->thread, NULL, run, opening) == 0;
}

DeviceState *opening_end(Opening *opening, Why *why) {
    if (opening->running) {
        pthread_join(opening->thread, NULL);
        opening->running = false;
        if (opening->state && !opening->device->enter(opening->state, &opening->why)) {
            opening->device->close(opening->state);
            opening->state = NULL;
        }
    }
    if (!opening->done) open_now(opening);
    if (!opening->state) *why = opening->why;
    return opening->state;
}

void opening_close(Opening *opening) {
    Why ignored;
    if (opening->running) opening_end(opening, &ignored);
    if (opening->state) opening->device->close(opening->state);
    opening->state = NULL;
}
