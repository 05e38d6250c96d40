/* Tools: the kernels by which a device with memory of its own fills, poisons, compares and judges
 * (Device.oracle), of one program. They are compiled by the compile workers like any other unit, before
 * the program's candidates, and handed to the measuring worker when both are there. */
#ifndef KF_TOOLS_H
#define KF_TOOLS_H

#include "tuner/workers.h"

typedef struct Tools {
    Arena *arena;
    Workers *workers;
    const Ir *ir, *rounded; /* rounded: NULL if the same */
    BenchOptions options;
    uint32_t owner;
    Binary made[BENCH_TOOLS_MAX];
    uint32_t count, missing;
    bool wanted; /* the measuring worker waits for them */
    Why why;     /* why one could not be made, or "" */
} Tools;

/* Hands them to the compilers; a device whose memory is the host's needs none. */
void tools_begin(Tools *tools, Arena *arena, Workers *workers, const Ir *ir, const Ir *rounded,
                 const BenchOptions *options);
/* The measuring worker may prepare the program while it measures the one before. Nothing where that
 * would disturb what it measures, or take much of the host's memory. */
void tools_announce(Tools *tools);
/* The measuring worker turns to the program as soon as the tools are compiled: somebody must wait for the
 * workers. */
bool tools_set_up(Tools *tools, Why *why);

#endif
