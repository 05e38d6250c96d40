/* Block: runs the threads of a CUDA block on the host, one at a time. A thread that waits (for the
 * block's barrier, for the other lanes of a warp) leaves its stack for another; until one waits,
 * threads run one behind the other on one stack, so that a kernel without barriers is a loop. What
 * CUDA leaves undefined is an error here: a barrier that some threads do not reach, or reach at
 * another line; a lane that others wait for in vain, or read although it does not take part.
 *
 * This header is read by the kernels' side (shim.h, C++) and by the runner (block.c). */
#ifndef SHIM_BLOCK_H
#define SHIM_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BLOCK_THREADS = 1024, BLOCK_WARP = 32, BLOCK_WORDS = 40, BLOCK_WHY = 400 };

typedef enum BlockWait {
    WAIT_NONE,
    WAIT_BARRIER, /* the rest: for lanes of the warp */
    WAIT_SHUFFLE,
    WAIT_BALLOT,
    WAIT_WARP,
} BlockWait;

typedef struct BlockIndex {
    unsigned int x, y, z;
} BlockIndex;

typedef struct Block Block;

/* A unit's side: one such struct lies in every compiled unit, `block_unit()` gives its address. */
typedef struct BlockUnit {
    BlockIndex thread, block, block_size, grid; /* threadIdx … of the thread that runs */
    Block *runner;
    void *shared; /* dynamic; filled with 0xFF, which no number is, for each block */
    size_t shared_size;
    /* A byte of `allowed` for each of `memory`: 0 where kernels must not read or write. */
    uintptr_t memory;
    size_t size;
    const unsigned char *allowed;
    /* Waits for all threads; of their predicates, how many are true. */
    int (*barrier)(Block *runner, bool predicate, int line);
    /* Waits for the lanes of `mask`. Shuffle: the value of lane `source`; ballot: a bit a lane. */
    uint64_t (*collective)(Block *runner, BlockWait kind, unsigned int mask, uint64_t value,
                           int source, int line);
    unsigned int (*active)(Block *runner); /* lanes of this warp that have not ended */
    void (*fault)(Block *runner, const char *format, ...); /* ends the launch */
} BlockUnit;

/* A kernel's arguments by class, as both machines pass them. */
typedef struct BlockCall {
    void (*entry)(void);
    uint64_t whole[BLOCK_WORDS], stack[BLOCK_WORDS];
    double real[BLOCK_WORDS];
} BlockCall;

Block *block_open(void);
void block_close(Block *block);
/* All blocks of a grid, one after another. Every other one runs its threads from the last to the
 * first, so that a barrier that is not there is missed in one of the two. False with the reason in
 * `why` (BLOCK_WHY bytes). */
bool block_launch(Block *block, BlockUnit *unit, const BlockCall *call, const int64_t grid[3],
                  const int32_t size[3], char *why);
/* Times a thread has waited so far. */
uint64_t block_waits(const Block *block);

#ifdef __cplusplus
}
#endif

#endif
