/* What the bench and its worker say to each other, as bytes (wire.h).
 *
 *   parent   IDENTIFY                SETUP   TOOLS           JOB             RANK
 *   worker             IDENTITY                      READY           RESULT           RANKED
 *
 * A SETUP announces a program; its TOOLS bring it in place of the one before; READY, with the id of
 * both, comes once the data are prepared; jobs may be sent before. The answers carry the worker's
 * report. */
#ifndef KF_BENCH_WIRE_H
#define KF_BENCH_WIRE_H

#include "tuner/bench_rig.h"
#include "tuner/wire.h"

enum {
    BENCH_IDENTIFY = 1,
    BENCH_IDENTITY,
    BENCH_SETUP,
    BENCH_TOOLS,
    BENCH_READY,
    BENCH_JOB,
    BENCH_RESULT,
    BENCH_RANK,
    BENCH_RANKED
};

/* SETUP. `rounded` NULL: the same program. */
void bench_put_setup(Text *out, const BenchSetup *setup, const Ir *ir, const Ir *rounded);
bool bench_get_setup(Arena *arena, WireReader *reader, BenchSetup *setup, const Ir **ir,
                     const Ir **rounded);

/* TOOLS: binaries, copied into the arena. */
void bench_put_tools(Text *out, const Binary *tools, uint32_t count);
bool bench_get_tools(Arena *arena, WireReader *reader, Binary tools[BENCH_TOOLS_MAX]);

/* JOB; a RANK holds several. The number of the try stands first, so that it can be raised in place.
 */
void bench_put_job(Text *out, const BenchJob *job);
void bench_set_attempt(Text *job, uint32_t attempt);
/* Binaries are copied into the arena: aligned. False if damaged. */
bool bench_get_job(Arena *arena, WireReader *reader, BenchJob *job, uint32_t *attempt);

/* Every answer: did it work, else why; the worker's report. Then RESULT's one, or RANKED's results.
 */
void bench_put_answer(Text *out, Outcome outcome, const Why *why, const BenchReport *report);
bool bench_get_answer(WireReader *reader, Outcome *outcome, Why *why, BenchReport *report);

#endif
