/* Workers: the processes that one run has for all its kernels: compilers and one that measures. Whoever
 * has units compiled is an owner; units of owners are compiled in the owners' order, and what becomes of
 * one is handed to its owner whenever anybody waits. */
#ifndef KF_WORKERS_H
#define KF_WORKERS_H

#include "tuner/bench.h"
#include "tuner/pool.h"

/* What `compiled` points to is gone afterwards. */
typedef void WorkersTake(void *owner, uint32_t id, const Compiled *compiled);

typedef struct Owner {
    void *owner;
    WorkersTake *take;
    uint32_t pending;
    bool gone; /* what is still in flight is nobody's */
} Owner;

typedef struct Workers {
    Arena *arena;
    const Device *device;
    int index, jobs;
    DeviceIdentity identity; /* once known */
    Bench *bench;
    const void *announced; /* whose program the bench was told of last, and has not turned to yet */
    Pool *pool;            /* NULL: nothing was to be compiled yet */
    ARRAY(Owner) owners;
    Phases *phases; /* of the run, or NULL */
    double first;   /* when the first unit was handed out */
} Workers;

/* The measuring worker, which starts the device meanwhile; `jobs` compile workers (0: what the machine
 * has) come when they are needed. False with `why`. */
bool workers_open(Workers *workers, const Device *device, int index, int jobs, Phases *phases,
                  Why *why);
/* All compile workers, to get warm before there is work. */
bool workers_warm(Workers *workers, Why *why);
void workers_identify(Workers *workers, const DeviceIdentity *identity);
void workers_close(Workers *workers);
uint32_t workers_compilers(const Workers *workers);

/* A number to submit by. */
uint32_t workers_enter(Workers *workers, void *owner, WorkersTake *take);
bool workers_submit(Workers *workers, uint32_t owner, uint32_t id, const CompileUnit *unit,
                    Why *why);
uint32_t workers_pending(const Workers *workers, uint32_t owner);
/* Its units are forgotten. On a device whose timings share the compilers' cores none is in flight any
 * more. */
void workers_cancel(Workers *workers, uint32_t owner);
/* One finished unit, anyone's, to its owner; false if none came within `seconds`. */
bool workers_wait(Workers *workers, double seconds);
/* Units to their owners until the measuring worker has something to say. */
void workers_attend(Workers *workers);
/* A unit's binary, copied; no bytes where it does not compile. */
Binary workers_binary(Arena *arena, const Compiled *compiled);
/* The parent's clock, where the run has one. */
Phase workers_phase(Workers *workers, Phase phase);

#endif
