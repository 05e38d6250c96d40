/* In: units of several owners. Out: each one's results to its owner. The idea: compilers never wait for
 * the measuring worker, nor it for them, since whoever waits for one attends to the other. */
#include "tuner/workers.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/base/parallel.h"
#include "tuner/wire.h"

static const double COMPILE_LIMIT = 60; /* seconds a unit may take */

bool workers_open(Workers *workers, const Device *device, int index, int jobs, Phases *phases,
                  Why *why) {
    *workers = (Workers){
        .arena = arena_open(), .device = device, .index = index, .jobs = jobs, .phases = phases};
    Phase before = workers_phase(workers, PHASE_SPAWN);
    workers->bench = bench_open(device, index, why);
    workers_phase(workers, before);
    if (!workers->bench) workers_close(workers);
    return workers->arena != NULL;
}

/* Those asked for; else what the machine has, less a CPU for the bench that works beside them. */
static int jobs(const Workers *workers) {
    int cpus = parallel_cpus();
    if (workers->jobs > 0 || workers->device->host_exclusive || cpus < 3) return workers->jobs;
    return cpus - 1;
}

static bool open_pool(Workers *workers, Why *why) {
    if (workers->pool) return true;
    Phase before = workers_phase(workers, PHASE_SPAWN);
    workers->pool =
        pool_open(workers->device, &workers->identity, jobs(workers), COMPILE_LIMIT, why);
    workers_phase(workers, before);
    return workers->pool != NULL;
}

bool workers_warm(Workers *workers, Why *why) {
    if (!open_pool(workers, why)) return false;
    Phase before = workers_phase(workers, PHASE_SPAWN);
    pool_warm(workers->pool);
    workers_phase(workers, before);
    return true;
}

void workers_identify(Workers *workers, const DeviceIdentity *identity) {
    workers->identity = *identity;
    if (workers->pool) pool_identify(workers->pool, identity);
}

/* All are told to end before any is waited for. */
void workers_close(Workers *workers) {
    if (!workers->arena) return;
    Phase before = workers_phase(workers, PHASE_CLOSE);
    if (workers->bench) bench_kill(workers->bench);
    if (workers->pool) pool_close(workers->pool);
    if (workers->bench) bench_close(workers->bench);
    workers_phase(workers, before);
    arena_close(workers->arena);
    *workers = (Workers){0};
}

uint32_t workers_compilers(const Workers *workers) {
    return workers->pool ? (uint32_t)pool_size(workers->pool) : 0;
}

/* --- units */

uint32_t workers_enter(Workers *workers, void *owner, WorkersTake *take) {
    array_push(workers->arena, &workers->owners, (Owner){owner, take, 0, false});
    return workers->owners.count - 1;
}

bool workers_submit(Workers *workers, uint32_t owner, uint32_t id, const CompileUnit *unit,
                    Why *why) {
    if (!open_pool(workers, why)) return false;
    if (workers->first == 0) workers->first = wire_now();
    workers->owners.data[owner].pending++;
    pool_submit(workers->pool, (uint64_t)owner << 32 | id, unit);
    return true;
}

uint32_t workers_pending(const Workers *workers, uint32_t owner) {
    return workers->owners.data[owner].pending;
}

void workers_cancel(Workers *workers, uint32_t number) {
    Owner *owner = &workers->owners.data[number];
    if (owner->pending > 0) pool_forget(workers->pool, number);
    if (owner->pending > 0 && workers->device->host_exclusive) pool_stop(workers->pool, number);
    owner->pending = 0;
    owner->gone = true;
}

static void charge(Workers *workers, const Compiled *compiled) {
    if (!workers->phases) return;
    workers->phases->seconds[PHASE_COMPILERS] += compiled->seconds;
    workers->phases->seconds[PHASE_LAST] = wire_now() - workers->first;
}

static void hand_out(Workers *workers, Compiled *compiled) {
    Owner *owner = &workers->owners.data[compiled->id >> 32];
    charge(workers, compiled);
    if (!owner->gone) owner->pending--;
    if (!owner->gone) owner->take(owner->owner, (uint32_t)compiled->id, compiled);
    free(compiled->binary);
}

bool workers_wait(Workers *workers, double seconds) {
    Compiled compiled;
    if (!workers->pool || pool_pending(workers->pool) == 0) return false;
    if (!pool_wait(workers->pool, seconds, -1, &compiled)) return false;
    hand_out(workers, &compiled);
    return true;
}

void workers_attend(Workers *workers) {
    int fd = bench_descriptor(workers->bench);
    while (fd >= 0 && workers->pool && pool_pending(workers->pool) > 0) {
        Compiled compiled;
        if (!pool_wait(workers->pool, -1, fd, &compiled)) return;
        hand_out(workers, &compiled);
    }
}

Binary workers_binary(Arena *arena, const Compiled *compiled) {
    if (compiled->outcome != OUTCOME_OK) return (Binary){0};
    void *copy = arena_alloc(arena, compiled->size + 1);
    memcpy(copy, compiled->binary, compiled->size);
    return (Binary){copy, compiled->size};
}

Phase workers_phase(Workers *workers, Phase phase) {
    return workers->phases ? phases_enter(workers->phases, phase) : phase;
}
