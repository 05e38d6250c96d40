/* Pool: compile workers. Processes (exec'd kfuse-worker, warm), as many as CPUs and memory allow; a
 * hung compile is killed alone; they end with their parent, whatever ends it. */
#ifndef KF_POOL_H
#define KF_POOL_H

#include "tuner/device.h"

typedef struct Pool Pool;

typedef struct Compiled {
    uint64_t id;     /* as submitted */
    Outcome outcome; /* OK, COMPILE, TIMEOUT, CRASH */
    void *binary;    /* malloc'd, the caller frees; NULL unless OK */
    size_t size;
    char message[512]; /* the compiler's first error */
    double seconds;    /* of the worker's time */
} Compiled;

/* NULL with `why` if no worker can be started. One is; the others come with the units. `jobs` 0: CPUs
 * (cgroup, affinity) and memory decide. */
Pool *pool_open(const Device *device, const DeviceIdentity *identity, int jobs, double timeout,
                Why *why);
/* Starts them all, to get warm before there are units. */
void pool_warm(Pool *pool);
/* In place of the identity that it was opened with; before the first unit. */
void pool_identify(Pool *pool, const DeviceIdentity *identity);
int pool_size(const Pool *pool);
/* Queues a unit (copied): behind those of its owner and of owners before it. The owner is the upper
 * half of the id. */
void pool_submit(Pool *pool, uint64_t id, const CompileUnit *unit);
uint32_t pool_pending(const Pool *pool);
/* Forgets an owner's queued units; how many. Those in flight go on, or end with their workers. */
uint32_t pool_forget(Pool *pool, uint32_t owner);
uint32_t pool_stop(Pool *pool, uint32_t owner);
/* Next finished unit; false when none is done within `seconds` (0: no wait). `fd` (or -1): returns
 * early, false, when it becomes readable, so that one loop can wait for compilers and the bench. */
bool pool_wait(Pool *pool, double seconds, int fd, Compiled *compiled);
/* Kills what still runs; safe at any time. */
void pool_close(Pool *pool);

/* The path of kfuse-worker: beside the running program or library, $KFUSE_WORKER, PATH. NULL with
 * `why`. */
const char *worker_path(Arena *arena, Why *why);
/* In the worker's main: `kfuse-worker compile DEVICE`. Returns its exit status. */
int pool_serve(const Device *device, int fd);

#endif
