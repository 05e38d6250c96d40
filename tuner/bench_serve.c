/* The measuring worker's loop. In: a setup, then jobs. Out: an answer to each. It ends when its
 * parent does, and by a signal when a candidate crashes it or outlasts its limit (rig_limit): the
 * parent reads which. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tuner/bench_wire.h"

typedef struct Announced { /* a program between its SETUP and its TOOLS */
    Arena *arena;
    Rig *rig; /* NULL: `why` */
    Why why;
} Announced;

typedef struct Served {
    Opening opening; /* the device's: begun with the process, for all programs */
    Announced now, next;
    bool ready; /* jobs of `now` are taken */
    Text answer;
} Served;

static void message(Result *result, const Why *why) {
    snprintf(result->message, sizeof result->message, "%.*s", (int)sizeof result->message - 1,
             why->text);
}

static Outcome judge(Rig *rig, const Mounted *mounted, const BenchJob *job, int attempt,
                     Check *check, Why *why) {
    Outcome outcome = OUTCOME_OK;
    if (rig->device->imaginary) return judge_imaginary(rig, mounted, job, attempt, why);
    double begin = wire_now();
    if (job->judge_edges) outcome = judge_edges(rig, mounted, job, check, why);
    rig_charge(rig, PHASE_EDGES, &begin);
    if (job->judge && outcome == OUTCOME_OK)
        outcome = judge_whole(rig, mounted, job, attempt, check, why);
    rig_charge(rig, PHASE_WHOLE, &begin);
    return outcome;
}

static void do_job(Rig *rig, const BenchJob *job, int attempt, Result *result, Why *why) {
    Mounted mounted;
    double begin = wire_now();
    *result = (Result){.resources = {-1, -1, -1, -1}, .check = check_none()};
    Outcome outcome = mount_run(rig, &mounted, job->run, job->binaries, job->binary_count, why);
    rig_charge(rig, PHASE_LOAD, &begin);
    if (outcome == OUTCOME_OK) outcome = judge(rig, &mounted, job, attempt, &result->check, why);
    if (outcome == OUTCOME_OK && job->budget > 0)
        outcome = time_run(rig, &mounted, job, result, why);
    unmount(rig, &mounted);
    result->outcome = outcome;
    if (outcome != OUTCOME_OK) message(result, why);
}

static void serve_job(Served *served, WireReader *reader) {
    Arena *arena = arena_open();
    BenchJob job;
    Result result = {.outcome = OUTCOME_CRASH, .check = check_none()};
    uint32_t attempt;
    Why why = {""};
    if (bench_get_job(arena, reader, &job, &attempt))
        do_job(served->now.rig, &job, (int)attempt, &result, &why);
    else
        snprintf(result.message, sizeof result.message, "a damaged job came over the wire");
    bench_put_answer(&served->answer, result.outcome, &why, &served->now.rig->report);
    wire_put_bytes(&served->answer, &result, sizeof result);
    arena_close(arena);
}

/* --- finalists */

static Outcome mount_all(Rig *rig, Arena *arena, WireReader *reader, Mounted *mounted,
                         uint32_t count, uint32_t *done, Why *why) {
    for (*done = 0; *done < count;) {
        BenchJob *job = arena_new(arena, BenchJob);
        size_t length;
        uint32_t attempt;
        const void *bytes = wire_get_bytes(reader, &length);
        WireReader inner = wire_reader(bytes, length);
        if (!bytes || !bench_get_job(arena, &inner, job, &attempt)) {
            why_set(why, "a damaged finalist came over the wire");
            return OUTCOME_CRASH;
        }
        Mounted *one = &mounted[(*done)++];
        Outcome outcome = mount_run(rig, one, job->run, job->binaries, job->binary_count, why);
        if (outcome != OUTCOME_OK) return outcome;
    }
    return OUTCOME_OK;
}

static void serve_rank(Served *served, WireReader *reader) {
    Arena *arena = arena_open();
    Rig *rig = served->now.rig;
    Why why = {""};
    double budget = wire_get_f64(reader);
    uint32_t count = wire_get_u32(reader), mounted_count = 0;
    if (count > reader->left) count = 0;
    Mounted *mounted = arena_array(arena, Mounted, count);
    Result *results = arena_array(arena, Result, count);
    Outcome outcome = mount_all(rig, arena, reader, mounted, count, &mounted_count, &why);
    if (outcome == OUTCOME_OK) outcome = time_rank(rig, mounted, count, budget, results, &why);
    for (uint32_t i = 0; i < mounted_count; i++) unmount(rig, &mounted[i]);
    bench_put_answer(&served->answer, outcome, &why, &rig->report);
    for (uint32_t i = 0; i < count; i++)
        wire_put_bytes(&served->answer, &results[i], sizeof *results);
    arena_close(arena);
}

/* --- the loop */

static void serve_identify(Served *served) {
    DeviceIdentity identity = {0};
    BenchReport report = {0};
    Why why = {""};
    const Opening *opening = &served->opening;
    bool good = opening->device->identify(opening->index, true, &identity, &why);
    bench_put_answer(&served->answer, good ? OUTCOME_OK : OUTCOME_LAUNCH, &why, &report);
    wire_put_bytes(&served->answer, &identity, sizeof identity);
}

static void drop(Announced *program) {
    if (program->rig) rig_close(program->rig);
    if (program->arena) arena_close(program->arena);
    *program = (Announced){0};
}

/* No answer yet: what is wrong is said when the tools come. Jobs of the program before go on. */
static void serve_setup(Served *served, WireReader *reader) {
    Announced *next = &served->next;
    BenchSetup setup;
    const Ir *ir, *rounded;
    drop(next);
    next->arena = arena_open();
    why_set(&next->why, "a damaged program came over the wire");
    if (bench_get_setup(next->arena, reader, &setup, &ir, &rounded) &&
        given_get(next->arena, reader, ir, &setup.given, &next->why))
        next->rig = rig_begin(next->arena, &served->opening, &setup, ir, rounded);
}

static void serve_tools(Served *served, WireReader *reader) {
    BenchReport none = {0};
    Binary tools[BENCH_TOOLS_MAX] = {{0}};
    Announced *now = &served->now;
    drop(now);
    *now = served->next;
    served->next = (Announced){0};
    served->ready = now->rig && bench_get_tools(now->arena, reader, tools) &&
                    rig_finish(now->rig, tools, &now->why);
    bench_put_answer(&served->answer, served->ready ? OUTCOME_OK : OUTCOME_LAUNCH, &now->why,
                     now->rig ? &now->rig->report : &none);
}

/* The kind of the answer; BENCH_SETUP: none is due; 0: the message makes no sense. */
static uint32_t serve(Served *served, const Frame *frame) {
    WireReader reader = wire_reader(frame->body.data, frame->body.length);
    text_clear(&served->answer);
    switch (frame->kind) {
    case BENCH_IDENTIFY: serve_identify(served); return BENCH_IDENTITY;
    case BENCH_SETUP: serve_setup(served, &reader); return BENCH_SETUP;
    case BENCH_TOOLS: serve_tools(served, &reader); return BENCH_READY;
    case BENCH_JOB:
        if (!served->ready) return 0;
        serve_job(served, &reader);
        return BENCH_RESULT;
    case BENCH_RANK:
        if (!served->ready) return 0;
        serve_rank(served, &reader);
        return BENCH_RANKED;
    }
    return 0;
}

/* A crash is the parent's to report: no core file, and no handler of a sanitizer or a preloaded
 * library. */
static void die_plainly(void) {
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
}

int bench_serve(const Device *device, int index, int fd) {
    Served served = {.opening = {.device = device, .index = index}};
    Frame frame = {0};
    uint32_t kind = BENCH_READY;
    die_plainly();
    opening_begin(&served.opening);
    while (kind != 0 && wire_receive(fd, &frame, -1) == WIRE_OK) {
        kind = serve(&served, &frame);
        if (kind == 0 || kind == BENCH_SETUP) continue;
        if (wire_send(fd, kind, frame.id, served.answer.data, served.answer.length, -1) != WIRE_OK)
            kind = 0;
    }
    drop(&served.now);
    drop(&served.next);
    opening_close(&served.opening);
    text_free(&frame.body);
    text_free(&served.answer);
    return kind == 0;
}
