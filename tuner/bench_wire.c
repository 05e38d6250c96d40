/* Jobs and answers to bytes and back. Both ends are one build (wire.h): plain structs travel as
 * they are. */
#include "tuner/bench_wire.h"

#include <string.h>

static void put_ir(Text *out, const Ir *ir) {
    Text bytes = {0};
    ir_write(&bytes, ir);
    wire_put_bytes(out, bytes.data, bytes.length);
    text_free(&bytes);
}

static const Ir *get_ir(Arena *arena, WireReader *reader) {
    size_t length;
    const void *bytes = wire_get_bytes(reader, &length);
    return bytes ? ir_read(arena, bytes, length) : NULL;
}

void bench_put_setup(Text *out, const BenchSetup *setup, const Ir *ir, const Ir *rounded) {
    wire_put_bytes(out, setup, sizeof *setup);
    put_ir(out, ir);
    wire_put_u32(out, rounded != NULL && rounded != ir);
    if (rounded != NULL && rounded != ir) put_ir(out, rounded);
}

bool bench_get_setup(Arena *arena, WireReader *reader, BenchSetup *setup, const Ir **ir,
                     const Ir **rounded) {
    *rounded = NULL;
    if (!wire_get_struct(reader, setup, sizeof *setup)) return false;
    *ir = get_ir(arena, reader);
    if (!wire_get_u32(reader)) return *ir && !reader->damaged;
    *rounded = get_ir(arena, reader);
    return *ir && *rounded;
}

static void put_run(Text *out, const Run *run) {
    Text bytes = {0};
    run_write(&bytes, run);
    wire_put_bytes(out, bytes.data, bytes.length);
    text_free(&bytes);
}

static const Run *get_run(Arena *arena, WireReader *reader) {
    size_t length, used;
    const void *bytes = wire_get_bytes(reader, &length);
    const Run *run = bytes ? run_read(arena, bytes, length, &used) : NULL;
    if (!run) reader->damaged = true;
    return run;
}

static Binary get_binary(Arena *arena, WireReader *reader) {
    Binary binary = {0};
    const void *bytes = wire_get_bytes(reader, &binary.size);
    void *copy = arena_alloc(arena, binary.size + 1);
    if (bytes) memcpy(copy, bytes, binary.size);
    binary.bytes = copy;
    return binary;
}

void bench_put_tools(Text *out, const Binary *tools, uint32_t count) {
    wire_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) wire_put_bytes(out, tools[i].bytes, tools[i].size);
}

bool bench_get_tools(Arena *arena, WireReader *reader, Binary tools[BENCH_TOOLS_MAX]) {
    uint32_t count = wire_get_u32(reader);
    if (count > BENCH_TOOLS_MAX) reader->damaged = true;
    for (uint32_t i = 0; i < count && !reader->damaged; i++) tools[i] = get_binary(arena, reader);
    return !reader->damaged;
}

enum { FLAG_EDGES = 1, FLAG_JUDGE = 2, FLAG_ROUNDED = 4 };

void bench_put_job(Text *out, const BenchJob *job) {
    wire_put_u32(out, 0);
    wire_put_string(out, job->label);
    wire_put_u32(out, (job->judge_edges ? FLAG_EDGES : 0) | (job->judge ? FLAG_JUDGE : 0) |
                          (job->rounded ? FLAG_ROUNDED : 0));
    wire_put_f64(out, job->budget);
    wire_put_f64(out, job->give_up_over);
    wire_put_f64(out, job->enough_over);
    put_run(out, job->run);
    wire_put_u32(out, job->binary_count);
    for (uint32_t i = 0; i < job->binary_count; i++)
        wire_put_bytes(out, job->binaries[i].bytes, job->binaries[i].size);
    wire_put_u32(out, job->judge_edges ? job->edge_count : 0);
    for (uint32_t i = 0; job->judge_edges && i < job->edge_count; i++)
        put_run(out, &job->edge_runs[i]);
}

void bench_set_attempt(Text *job, uint32_t attempt) {
    memcpy(job->data, &attempt, sizeof attempt);
}

/* A number of things that take at least 8 bytes each. */
static uint32_t get_count(WireReader *reader) {
    uint32_t count = wire_get_u32(reader);
    if (count > reader->left / 8) reader->damaged = true;
    return reader->damaged ? 0 : count;
}

static void get_binaries(Arena *arena, WireReader *reader, BenchJob *job) {
    job->binary_count = get_count(reader);
    Binary *binaries = arena_array(arena, Binary, job->binary_count);
    for (uint32_t i = 0; i < job->binary_count; i++) binaries[i] = get_binary(arena, reader);
    job->binaries = binaries;
}

static void get_edges(Arena *arena, WireReader *reader, BenchJob *job) {
    job->edge_count = get_count(reader);
    Run *runs = arena_array(arena, Run, job->edge_count);
    for (uint32_t i = 0; i < job->edge_count; i++) {
        const Run *run = get_run(arena, reader);
        if (run) runs[i] = *run;
    }
    job->edge_runs = runs;
}

bool bench_get_job(Arena *arena, WireReader *reader, BenchJob *job, uint32_t *attempt) {
    *job = (BenchJob){0};
    *attempt = wire_get_u32(reader);
    job->label = wire_get_string(reader, arena);
    uint32_t flags = wire_get_u32(reader);
    job->judge_edges = flags & FLAG_EDGES;
    job->judge = flags & FLAG_JUDGE;
    job->rounded = flags & FLAG_ROUNDED;
    job->budget = wire_get_f64(reader);
    job->give_up_over = wire_get_f64(reader);
    job->enough_over = wire_get_f64(reader);
    job->run = get_run(arena, reader);
    get_binaries(arena, reader, job);
    get_edges(arena, reader, job);
    if (!job->label) job->label = "";
    return !reader->damaged;
}

void bench_put_answer(Text *out, Outcome outcome, const Why *why, const BenchReport *report) {
    wire_put_u32(out, outcome);
    wire_put_bytes(out, why, sizeof *why);
    wire_put_bytes(out, report, sizeof *report);
}

bool bench_get_answer(WireReader *reader, Outcome *outcome, Why *why, BenchReport *report) {
    uint32_t code = wire_get_u32(reader);
    *outcome = code < OUTCOME_COUNT ? (Outcome)code : OUTCOME_CRASH;
    return wire_get_struct(reader, why, sizeof *why) &&
           wire_get_struct(reader, report, sizeof *report);
}
