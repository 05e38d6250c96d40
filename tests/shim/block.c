/* In: a unit, an entry and its arguments, a grid. Out: every thread has run, or why not. */
#include "tests/shim/block.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/shim/fiber.h"

enum { STACK = 256 << 10, STACK_FENCE = 4096, WARPS = BLOCK_THREADS / BLOCK_WARP };

typedef struct Thread {
    int fiber; /* whose stack it is on */
    BlockIndex index;
    bool ended;
    BlockWait wait;
    unsigned int mask;
    uint64_t value, result;
    int source, line;
} Thread;

struct Block {
    Fiber main, fibers[BLOCK_THREADS];
    int made, idle[BLOCK_THREADS], idle_count; /* fibers; those without a thread */
    char *stacks;
    Thread threads[BLOCK_THREADS];
    int count, begun, current, fiber; /* of this block; the thread and fiber that run */
    bool backwards, failed;
    int ready[BLOCK_THREADS], ready_first, ready_count; /* a ring of threads */
    int waiting;                                        /* at the barrier */
    unsigned int lanes[WARPS], come[WARPS];             /* not ended; waiting for lanes */
    uint64_t waits, launches;
    BlockUnit *unit;
    const BlockCall *call;
    char *why;
};

/* --- ends that nobody returns from */

static void stop(Block *block) {
    block->failed = true;
    fiber_switch(&block->fibers[block->fiber], &block->main);
    abort();
}

static void add_place(const Block *block, char *text, size_t size, int thread) {
    const BlockIndex *at = &block->unit->block, *shape = &block->unit->block_size;
    unsigned int x = (unsigned int)thread % shape->x, rest = (unsigned int)thread / shape->x;
    snprintf(text, size, "thread (%u, %u, %u) of block (%u, %u, %u)", x, rest % shape->y,
             rest / shape->y, at->x, at->y, at->z);
}

static void fault(Block *block, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(block->why, BLOCK_WHY - 120, format, args);
    va_end(args);
    length += snprintf(block->why + length, 4, ": ");
    add_place(block, block->why + length, (size_t)(BLOCK_WHY - length), block->current);
    stop(block);
}

/* --- waiting */

static void leave(Block *block) {
    fiber_switch(&block->fibers[block->fiber], &block->main);
}

static void make_ready(Block *block, int thread) {
    int at = (block->ready_first + block->ready_count++) % BLOCK_THREADS;
    block->threads[thread].wait = WAIT_NONE;
    block->ready[at] = thread;
}

static void set_thread(Block *block, int thread) {
    block->current = thread;
    block->unit->thread = block->threads[thread].index;
}

static Thread *wait_for(Block *block, BlockWait kind, int line) {
    Thread *thread = &block->threads[block->current];
    thread->wait = kind;
    thread->line = line;
    block->waits++;
    return thread;
}

/* --- the barrier */

static void release_barrier(Block *block) {
    uint64_t sum = 0;
    int line = block->threads[0].line;
    for (int i = 0; i < block->count; i++) {
        sum += block->threads[i].value;
        if (block->threads[i].line != line)
            fault(block, "threads wait at different barriers, in lines %d and %d", line,
                  block->threads[i].line);
    }
    for (int i = 0; i < block->count; i++) {
        block->threads[i].result = sum;
        make_ready(block, i);
    }
    block->waiting = 0;
}

static int barrier(Block *block, bool predicate, int line) {
    Thread *thread = wait_for(block, WAIT_BARRIER, line);
    thread->value = predicate;
    if (++block->waiting == block->count) release_barrier(block);
    leave(block);
    return (int)thread->result;
}

/* --- collectives of a warp */

static unsigned int active(Block *block) {
    return block->lanes[block->current / BLOCK_WARP];
}

/* All lanes of the mask that have not ended have come, to the same place. */
static bool complete(const Block *block, int first, unsigned int mask, const Thread *like) {
    unsigned int wanted = mask & block->lanes[first / BLOCK_WARP];
    if (wanted & ~block->come[first / BLOCK_WARP]) return false;
    for (; wanted; wanted &= wanted - 1) {
        const Thread *lane = &block->threads[first + __builtin_ctz(wanted)];
        if (lane->wait != like->wait || lane->mask != mask || lane->line != like->line)
            return false;
    }
    return true;
}

static uint64_t ballot(const Block *block, int first, unsigned int lanes) {
    uint64_t bits = 0;
    for (; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        if (block->threads[first + lane].value) bits |= 1u << lane;
    }
    return bits;
}

static uint64_t shuffled(Block *block, int first, unsigned int lanes, const Thread *reader) {
    if (!(lanes >> reader->source & 1)) {
        block->current = (int)(reader - block->threads);
        fault(block, "line %d reads lane %d, which does not take part", reader->line,
              reader->source);
    }
    return block->threads[first + reader->source].value;
}

static void release_lanes(Block *block, int first, unsigned int mask, BlockWait kind) {
    unsigned int lanes = mask & block->lanes[first / BLOCK_WARP];
    uint64_t bits = kind == WAIT_BALLOT ? ballot(block, first, lanes) : 0;
    block->come[first / BLOCK_WARP] &= ~lanes;
    for (unsigned int left = lanes; left; left &= left - 1) {
        Thread *lane = &block->threads[first + __builtin_ctz(left)];
        lane->result = kind == WAIT_SHUFFLE ? shuffled(block, first, lanes, lane) : bits;
    }
    for (unsigned int left = lanes; left; left &= left - 1)
        make_ready(block, first + __builtin_ctz(left));
}

static uint64_t collective(Block *block, BlockWait kind, unsigned int mask, uint64_t value,
                           int source, int line) {
    int lane = block->current % BLOCK_WARP, first = block->current - lane;
    if (!(mask >> lane & 1))
        fault(block, "line %d: lane %d is not in its own mask %08x", line, lane, mask);
    Thread *thread = wait_for(block, kind, line);
    thread->mask = mask;
    thread->value = value;
    thread->source = source;
    block->come[first / BLOCK_WARP] |= 1u << lane;
    if (complete(block, first, mask, thread)) release_lanes(block, first, mask, kind);
    leave(block);
    return thread->result;
}

/* A lane that ends is no longer waited for. */
static void end_thread(Block *block) {
    int first = block->current / BLOCK_WARP * BLOCK_WARP;
    block->threads[block->current].ended = true;
    block->lanes[first / BLOCK_WARP] &= ~(1u << (block->current - first));
    for (unsigned int left = block->come[first / BLOCK_WARP]; left; left &= left - 1) {
        const Thread *lane = &block->threads[first + __builtin_ctz(left)];
        if (lane->wait > WAIT_BARRIER && complete(block, first, lane->mask, lane))
            release_lanes(block, first, lane->mask, lane->wait);
    }
}

/* --- running */

#define WORDS_8(from) from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]
#define TYPES_8(type) type, type, type, type, type, type, type, type
#define STACK_WORDS(from) \
    WORDS_8(from), WORDS_8((from + 8)), WORDS_8((from + 16)), WORDS_8((from + 24))
#define STACK_TYPES TYPES_8(uint64_t), TYPES_8(uint64_t), TYPES_8(uint64_t), TYPES_8(uint64_t)
#if defined(__x86_64__)
#define WHOLE_TYPES uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define WHOLE_WORDS(from) from[0], from[1], from[2], from[3], from[4], from[5]
#else
#define WHOLE_TYPES TYPES_8(uint64_t)
#define WHOLE_WORDS(from) WORDS_8(from)
#endif

/* Arguments of each class fill that class's registers in order and what is left goes to the stack:
 * with all registers given, a kernel of any parameters finds its own. */
static void call_entry(const BlockCall *call) {
    void (*entry)(WHOLE_TYPES, TYPES_8(double), STACK_TYPES);
    memcpy(&entry, &call->entry, sizeof entry);
    entry(WHOLE_WORDS(call->whole), WORDS_8(call->real), STACK_WORDS(call->stack));
}

static void begin_thread(Block *block) {
    int order = block->begun++;
    int thread = block->backwards ? block->count - 1 - order : order;
    unsigned int x = block->unit->block_size.x, y = block->unit->block_size.y;
    unsigned int t = (unsigned int)thread;
    block->threads[thread].fiber = block->fiber;
    block->threads[thread].index = (BlockIndex){t % x, t / x % y, t / x / y};
    set_thread(block, thread);
}

/* What a fiber does: threads that have not begun, one after another; then it is idle. */
static void work(void *argument) {
    Block *block = argument;
    for (;;) {
        while (block->begun < block->count) {
            begin_thread(block);
            call_entry(block->call);
            end_thread(block);
        }
        block->idle[block->idle_count++] = block->fiber;
        leave(block);
    }
}

static void resume(Block *block, int fiber) {
    block->fiber = fiber;
    fiber_switch(&block->main, &block->fibers[fiber]);
}

static int take_fiber(Block *block) {
    if (block->idle_count > 0) return block->idle[--block->idle_count];
    int fiber = block->made++;
    fiber_make(&block->fibers[fiber], block->stacks + (size_t)(fiber + 1) * STACK, work, block);
    return fiber;
}

static void run_ready(Block *block) {
    int thread = block->ready[block->ready_first];
    block->ready_first = (block->ready_first + 1) % BLOCK_THREADS;
    block->ready_count--;
    set_thread(block, thread);
    resume(block, block->threads[thread].fiber);
}

/* Nobody can go on: whoever waits waits for one that ended or waits elsewhere. */
static bool explain(Block *block, int waiter) {
    const Thread *thread = &block->threads[waiter];
    int other = 0;
    char place[120], other_place[120];
    if (thread->wait == WAIT_BARRIER) {
        while (!block->threads[other].ended && block->threads[other].wait == WAIT_BARRIER) other++;
    } else {
        int first = other = waiter / BLOCK_WARP * BLOCK_WARP;
        while (!(thread->mask >> (other - first) & 1) || block->threads[other].ended ||
               (block->threads[other].wait == thread->wait &&
                block->threads[other].mask == thread->mask &&
                block->threads[other].line == thread->line))
            other++;
    }
    const Thread *absent = &block->threads[other];
    add_place(block, place, sizeof place, waiter);
    add_place(block, other_place, sizeof other_place, other);
    int length = snprintf(block->why, BLOCK_WHY, "%s waits at line %d for %s, which ", place,
                          thread->line, other_place);
    if (absent->ended)
        snprintf(block->why + length, (size_t)(BLOCK_WHY - length), "has ended");
    else
        snprintf(block->why + length, (size_t)(BLOCK_WHY - length), "waits at line %d",
                 absent->line);
    return false;
}

static bool all_ended(Block *block) {
    for (int i = 0; i < block->count; i++)
        if (!block->threads[i].ended) return explain(block, i);
    return true;
}

static void set_lanes(Block *block) {
    for (int first = 0; first < block->count; first += BLOCK_WARP) {
        int lanes = block->count - first < BLOCK_WARP ? block->count - first : BLOCK_WARP;
        block->lanes[first / BLOCK_WARP] = ~0u >> (BLOCK_WARP - lanes);
        block->come[first / BLOCK_WARP] = 0;
    }
}

static bool run_block(Block *block) {
    set_lanes(block);
    block->begun = block->ready_count = block->waiting = 0;
    block->backwards = !block->backwards;
    memset(block->threads, 0, (size_t)block->count * sizeof *block->threads);
    if (block->unit->shared_size > 0) memset(block->unit->shared, 0xFF, block->unit->shared_size);
    for (;;) {
        if (block->ready_count > 0)
            run_ready(block);
        else if (block->begun < block->count)
            resume(block, take_fiber(block));
        else
            return all_ended(block);
        if (block->failed) return false;
    }
}

bool block_launch(Block *block, BlockUnit *unit, const BlockCall *call, const int64_t grid[3],
                  const int32_t size[3], char *why) {
    bool good = true;
    block->unit = unit;
    block->call = call;
    block->why = why;
    block->count = size[0] * size[1] * size[2];
    block->backwards = block->launches++ % 2 != 0;
    unit->runner = block;
    unit->barrier = barrier;
    unit->collective = collective;
    unit->active = active;
    unit->fault = fault;
    unit->grid = (BlockIndex){(unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2]};
    unit->block_size =
        (BlockIndex){(unsigned int)size[0], (unsigned int)size[1], (unsigned int)size[2]};
    BlockIndex *at = &unit->block;
    for (at->z = 0; at->z < unit->grid.z && good; at->z++)
        for (at->y = 0; at->y < unit->grid.y && good; at->y++)
            for (at->x = 0; at->x < unit->grid.x && good; at->x++) good = run_block(block);
    if (!good) block->made = block->idle_count = 0; /* stacks that threads were left on */
    block->failed = false;
    return good;
}

uint64_t block_waits(const Block *block) {
    return block->waits;
}

/* --- opening */

Block *block_open(void) {
    Block *block = calloc(1, sizeof *block);
    if (!block) return NULL;
    block->stacks = mmap(NULL, (size_t)BLOCK_THREADS * STACK, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block->stacks == MAP_FAILED) {
        free(block);
        return NULL;
    }
    for (int i = 0; i < BLOCK_THREADS; i++)
        mprotect(block->stacks + (size_t)i * STACK, STACK_FENCE, PROT_NONE);
    return block;
}

void block_close(Block *block) {
    munmap(block->stacks, (size_t)BLOCK_THREADS * STACK);
    free(block);
}
