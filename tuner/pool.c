/* In: compile units. Out: binaries or messages, in the order they finish. The idea: the parent
 * waits in one poll for all workers and for whatever else it has, so that a worker that hangs or
 * dies is one unit's outcome and nobody else's. */
#include "tuner/pool.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/jobs.h"
#include "tuner/wire.h"

/* Messages of the protocol. */
enum {
    POOL_READY = 1, /* worker: string, why it cannot compile at all; NULL: it can */
    POOL_COMPILE,   /* parent: identity, fast math, name, source */
    POOL_DONE,      /* worker: outcome, message, seconds, binary */
};

enum { START_FAILURES = 3 };

/* Measured resident size of a warm worker: 150 to 280 MB with NVRTC; a host compiler takes under
 * 100. */
enum { NVRTC_BYTES = 300 << 20, HOST_BYTES = 100 << 20 };

typedef struct Job {
    struct Job *next;
    uint64_t id;
    Text message; /* POOL_COMPILE's body */
} Job;

typedef enum SlotState { SLOT_EMPTY, SLOT_STARTING, SLOT_IDLE, SLOT_BUSY } SlotState;

typedef struct Slot {
    SlotState state;
    Worker worker;
    uint64_t id;  /* of the unit in flight */
    double since; /* when it began, or the start */
} Slot;

struct Pool {
    const Device *device;
    DeviceIdentity identity;
    Arena *arena;
    const char *path;
    double timeout;
    int size, failures;  /* failures: starts in a row that came to nothing */
    char fault[WHY_MAX]; /* why no worker can compile; "" while one may */
    char start[WHY_MAX]; /* why the last start came to nothing */
    Job *first;          /* queue */
    uint32_t pending;    /* queued and in flight */
    Slot *slots;
    struct pollfd *polls; /* size + 1 */
    Frame frame;
};

/* --- slots */

static void set_fault(Pool *pool, const char *text) {
    snprintf(pool->fault, sizeof pool->fault, "%s", text);
}

/* After some starts in a row that came to nothing no more are tried; where that leaves no worker,
 * the reason is everyone's. */
static bool gives_up(Pool *pool) {
    if (pool->failures < START_FAILURES) return false;
    for (int i = 0; i < pool->size; i++)
        if (pool->slots[i].state != SLOT_EMPTY) return true;
    set_fault(pool, pool->start);
    return true;
}

static void count_failure(Pool *pool, const char *text) {
    pool->failures++;
    snprintf(pool->start, sizeof pool->start, "%s", text);
    gives_up(pool);
}

static void start_slot(Pool *pool, Slot *slot) {
    const char *const arguments[] = {"compile", pool->device->name, NULL};
    Why why;
    *slot = (Slot){SLOT_EMPTY, {0, -1}, 0, wire_now()};
    if (pool->fault[0] || gives_up(pool)) return;
    if (wire_spawn(&slot->worker, pool->path, arguments, &why))
        slot->state = SLOT_STARTING;
    else
        count_failure(pool, why.text);
}

/* A worker that did not get ready, or died without work. */
static void fail_start(Pool *pool, Slot *slot, const char *what) {
    char text[WHY_MAX], end[96];
    wire_describe(wire_end(&slot->worker), end, sizeof end);
    snprintf(text, sizeof text, "kfuse-worker did not start: %s%s", what ? "" : "it ",
             what ? what : end);
    slot->state = SLOT_EMPTY;
    count_failure(pool, text);
    start_slot(pool, slot);
}

static void finish(Pool *pool, Compiled *compiled, uint64_t id, Outcome outcome, double since) {
    *compiled = (Compiled){.id = id, .outcome = outcome, .seconds = wire_now() - since};
    pool->pending--;
}

/* Ends the slot's worker and with it its unit; a fresh one takes its place. */
static void lose(Pool *pool, Slot *slot, Outcome outcome, const char *what, Compiled *compiled) {
    char end[96];
    wire_describe(wire_end(&slot->worker), end, sizeof end);
    finish(pool, compiled, slot->id, outcome, slot->since);
    snprintf(compiled->message, sizeof compiled->message, "%s%s", what,
             outcome == OUTCOME_CRASH ? end : "");
    start_slot(pool, slot);
}

/* --- queue */

static uint32_t owner(uint64_t id) {
    return (uint32_t)(id >> 32);
}

static void drop(Job **at) {
    Job *job = *at;
    *at = job->next;
    text_free(&job->message);
    free(job);
}

/* Units that no worker is there or on its way for. */
static uint32_t unserved(const Pool *pool) {
    uint32_t busy = 0, coming = 0;
    for (int i = 0; i < pool->size; i++) {
        busy += pool->slots[i].state == SLOT_BUSY;
        coming += pool->slots[i].state == SLOT_STARTING;
    }
    return pool->pending - busy > coming ? pool->pending - busy - coming : 0;
}

/* Hands queued units to idle workers, and starts workers for the rest. One that does not take it is
 * seen as closed by the next poll. */
static void assign(Pool *pool) {
    for (int i = 0; i < pool->size && pool->first; i++) {
        Slot *slot = &pool->slots[i];
        Job *job = pool->first;
        if (slot->state != SLOT_IDLE) continue;
        slot->state = SLOT_BUSY;
        slot->id = job->id;
        slot->since = wire_now();
        wire_send(slot->worker.fd, POOL_COMPILE, job->id, job->message.data, job->message.length,
                  5);
        drop(&pool->first);
    }
    for (int i = 0; i < pool->size && pool->first && unserved(pool) > 0; i++)
        if (pool->slots[i].state == SLOT_EMPTY) start_slot(pool, &pool->slots[i]);
}

void pool_submit(Pool *pool, uint64_t id, const CompileUnit *unit) {
    Job *job = calloc(1, sizeof *job);
    if (!job) abort();
    job->id = id;
    wire_put_bytes(&job->message, &pool->identity, sizeof pool->identity);
    wire_put_u32(&job->message, unit->quick);
    wire_put_string(&job->message, unit->name);
    wire_put_string(&job->message, unit->source);
    Job **at = &pool->first;
    while (*at && owner((*at)->id) <= owner(id)) at = &(*at)->next;
    job->next = *at;
    *at = job;
    pool->pending++;
    assign(pool);
}

uint32_t pool_forget(Pool *pool, uint32_t whose) {
    uint32_t count = 0;
    for (Job **at = &pool->first; *at;) {
        if (owner((*at)->id) == whose)
            drop(at), count++;
        else
            at = &(*at)->next;
    }
    pool->pending -= count;
    return count;
}

/* Others take the workers' places when there is work. */
uint32_t pool_stop(Pool *pool, uint32_t whose) {
    uint32_t count = 0;
    for (int i = 0; i < pool->size; i++) {
        Slot *slot = &pool->slots[i];
        if (slot->state != SLOT_BUSY || owner(slot->id) != whose) continue;
        wire_end(&slot->worker);
        slot->state = SLOT_EMPTY;
        count++;
    }
    pool->pending -= count;
    return count;
}

/* --- what workers say */

static bool read_done(Pool *pool, Slot *slot, Compiled *compiled) {
    WireReader reader = wire_reader(pool->frame.body.data, pool->frame.body.length);
    Outcome outcome = (Outcome)wire_get_u32(&reader);
    size_t length, size;
    const char *message = wire_get_bytes(&reader, &length);
    double seconds = wire_get_f64(&reader);
    const void *binary = wire_get_bytes(&reader, &size);
    if (reader.damaged || pool->frame.id != slot->id || outcome >= OUTCOME_COUNT) return false;
    finish(pool, compiled, slot->id, outcome, slot->since);
    compiled->seconds = seconds;
    snprintf(compiled->message, sizeof compiled->message, "%.*s", (int)length, message);
    if (outcome == OUTCOME_OK) {
        compiled->binary = malloc(size ? size : 1);
        if (!compiled->binary) abort();
        memcpy(compiled->binary, binary, size);
        compiled->size = size;
    }
    slot->state = SLOT_IDLE;
    return true;
}

static void read_ready(Pool *pool, Slot *slot) {
    WireReader reader = wire_reader(pool->frame.body.data, pool->frame.body.length);
    const char *why = wire_get_string(&reader, pool->arena);
    if (why) set_fault(pool, why);
    slot->state = SLOT_IDLE;
    pool->failures = 0;
}

/* Takes a message from a worker; true if it ends a unit. */
static bool hear(Pool *pool, Slot *slot, Compiled *compiled) {
    Why why;
    bool starting = slot->state == SLOT_STARTING;
    bool good = wire_receive(slot->worker.fd, &pool->frame, 5) == WIRE_OK;
    uint32_t kind = good ? pool->frame.kind : POOL_COMPILE;
    if (starting && kind == WIRE_HELLO) {
        if (!wire_check_hello(&pool->frame, &why)) fail_start(pool, slot, why.text);
        return false;
    }
    if (starting && kind == POOL_READY) {
        read_ready(pool, slot);
        return false;
    }
    if (slot->state == SLOT_BUSY && kind == POOL_DONE && read_done(pool, slot, compiled))
        return true;
    if (slot->state == SLOT_BUSY) {
        lose(pool, slot, OUTCOME_CRASH, "the compiler ", compiled);
        return true;
    }
    fail_start(pool, slot, NULL);
    return false;
}

/* --- waiting */

/* A unit over its time is killed with its worker; true if there was one. */
static bool kill_late(Pool *pool, Compiled *compiled) {
    char what[96];
    snprintf(what, sizeof what, "compiling took over %g s and was stopped", pool->timeout);
    for (int i = 0; i < pool->size; i++) {
        Slot *slot = &pool->slots[i];
        if (slot->state == SLOT_BUSY && wire_now() - slot->since > pool->timeout) {
            lose(pool, slot, OUTCOME_TIMEOUT, what, compiled);
            return true;
        }
        if (slot->state == SLOT_STARTING && wire_now() - slot->since > 30)
            fail_start(pool, slot, "it said nothing for 30 s");
    }
    return false;
}

static int poll_time(const Pool *pool, double deadline) {
    double first = deadline;
    for (int i = 0; i < pool->size; i++) {
        SlotState state = pool->slots[i].state;
        double end = pool->slots[i].since + (state == SLOT_BUSY ? pool->timeout : 30);
        bool limited = state == SLOT_BUSY || state == SLOT_STARTING;
        if (limited && (first < 0 || end < first)) first = end;
    }
    double left = first - wire_now();
    return first < 0 ? -1 : left <= 0 ? 0 : (int)(left * 1e3) + 1;
}

/* Polls once; true if a unit ended. `*other`: the caller's descriptor has something. */
static bool poll_once(Pool *pool, double deadline, int fd, bool *other, Compiled *compiled) {
    for (int i = 0; i < pool->size; i++)
        pool->polls[i] = (struct pollfd){.fd = pool->slots[i].worker.fd, .events = POLLIN};
    pool->polls[pool->size] = (struct pollfd){.fd = fd, .events = POLLIN};
    int count = poll(pool->polls, (nfds_t)pool->size + 1, poll_time(pool, deadline));
    for (int i = 0; count > 0 && i < pool->size; i++)
        if (pool->polls[i].revents && hear(pool, &pool->slots[i], compiled)) return true;
    *other = count > 0 && pool->polls[pool->size].revents;
    return kill_late(pool, compiled);
}

/* Where no worker can compile, queued units fail with the reason. */
static bool refuse(Pool *pool, Compiled *compiled) {
    if (!pool->fault[0] || !pool->first) return false;
    finish(pool, compiled, pool->first->id, OUTCOME_COMPILE, wire_now());
    snprintf(compiled->message, sizeof compiled->message, "%s", pool->fault);
    drop(&pool->first);
    return true;
}

bool pool_wait(Pool *pool, double seconds, int fd, Compiled *compiled) {
    double deadline = seconds < 0 ? -1 : wire_now() + seconds;
    for (;;) {
        bool other = false;
        if (refuse(pool, compiled)) return true;
        if (pool->pending == 0 && fd < 0) return false;
        assign(pool);
        if (poll_once(pool, deadline, fd, &other, compiled)) {
            assign(pool); /* the worker goes on while the caller looks at this one */
            return true;
        }
        if (other) return false;
        if (deadline >= 0 && wire_now() >= deadline) return false;
    }
}

/* --- opening and closing */

Pool *pool_open(const Device *device, const DeviceIdentity *identity, int jobs, double timeout,
                Why *why) {
    Arena *arena = arena_open();
    Pool *pool = arena_new(arena, Pool);
    *pool = (Pool){.device = device, .arena = arena, .timeout = timeout};
    if (identity) pool->identity = *identity;
    pool->path = worker_path(arena, why);
    if (!pool->path) {
        arena_close(arena);
        return NULL;
    }
    pool->size = jobs_limit(jobs, strcmp(device->language, "cuda") == 0 ? NVRTC_BYTES : HOST_BYTES);
    pool->slots = arena_array(arena, Slot, pool->size);
    pool->polls = arena_array(arena, struct pollfd, pool->size + 1);
    for (int i = 0; i < pool->size; i++) pool->slots[i].worker.fd = -1;
    start_slot(pool, &pool->slots[0]);
    /* The first one's greeting at once: a worker of another build is refused before any work. */
    if (pool->slots[0].state == SLOT_STARTING && wire_greet(&pool->slots[0].worker, 30, why))
        return pool;
    if (pool->slots[0].state == SLOT_EMPTY) why_set(why, "%s cannot be started", pool->path);
    pool_close(pool);
    return NULL;
}

void pool_warm(Pool *pool) {
    for (int i = 0; i < pool->size; i++)
        if (pool->slots[i].state == SLOT_EMPTY) start_slot(pool, &pool->slots[i]);
}

void pool_identify(Pool *pool, const DeviceIdentity *identity) {
    pool->identity = *identity;
}

int pool_size(const Pool *pool) {
    return pool->size;
}

uint32_t pool_pending(const Pool *pool) {
    return pool->pending;
}

void pool_close(Pool *pool) {
    if (!pool) return;
    for (int i = 0; i < pool->size; i++) wire_kill(&pool->slots[i].worker);
    for (int i = 0; i < pool->size; i++) wire_end(&pool->slots[i].worker);
    while (pool->first) drop(&pool->first);
    text_free(&pool->frame.body);
    arena_close(pool->arena);
}

/* --- the worker's side */

static bool serve_one(const Device *device, int fd, const Frame *frame, Arena *arena) {
    WireReader reader = wire_reader(frame->body.data, frame->body.length);
    DeviceIdentity identity;
    CompileUnit unit;
    Text binary = {0}, reply = {0};
    Why why = {""};
    wire_get_struct(&reader, &identity, sizeof identity);
    unit.quick = wire_get_u32(&reader) != 0;
    unit.name = wire_get_string(&reader, arena);
    unit.source = wire_get_string(&reader, arena);
    if (reader.damaged || !unit.name || !unit.source) return false;
    double begin = wire_now();
    Outcome outcome = device->compile(&unit, &identity, &binary, &why);
    wire_put_u32(&reply, outcome);
    wire_put_bytes(&reply, why.text, outcome == OUTCOME_OK ? 0 : strlen(why.text));
    wire_put_f64(&reply, wire_now() - begin);
    wire_put_bytes(&reply, binary.data, outcome == OUTCOME_OK ? binary.length : 0);
    bool sent = wire_send(fd, POOL_DONE, frame->id, reply.data, reply.length, -1) == WIRE_OK;
    text_free(&binary);
    text_free(&reply);
    return sent;
}

int pool_serve(const Device *device, int fd) {
    Frame frame = {0};
    Text ready = {0};
    Why why;
    wire_put_string(&ready, device->warm(&why) ? NULL : why.text);
    bool good = wire_send(fd, POOL_READY, 0, ready.data, ready.length, -1) == WIRE_OK;
    text_free(&ready);
    while (good && wire_receive(fd, &frame, -1) == WIRE_OK) {
        Arena *arena = arena_open();
        good = frame.kind == POOL_COMPILE && serve_one(device, fd, &frame, arena);
        arena_close(arena);
    }
    text_free(&frame.body);
    return 0;
}
