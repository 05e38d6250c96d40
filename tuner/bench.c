/* The parent's end of the measuring worker. In: jobs. Out: what became of them, whatever happens to
 * the worker. The idea: a job is kept as the bytes that were sent, so that after a crash or a hang
 * the same bytes go to a fresh worker, once; then the outcome is final. A crash is a socket that
 * closes: the wait status says whether the candidate crashed or outlasted its limit (the worker's
 * own SIGALRM). */
#include "tuner/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <uthash.h>

#include "tuner/bench_wire.h"
#include "tuner/pool.h"

/* Tries of a candidate that ends its worker; seconds that our own code may take besides a
 * candidate. */
enum { ATTEMPTS = 2, GREET_SECONDS = 30, DRIVER_SECONDS = 120, OWN_SECONDS = 900 };

typedef struct Kept { /* a job that went well: what ranking sends again */
    uint64_t id;
    char label[128];
    Text body;
    UT_hash_handle hh;
} Kept;

typedef struct Announced { /* a program */
    uint64_t id;           /* counts them, from 1; 0: none */
    Text setup;
    int given; /* the caller's data; -1: none */
} Announced;

struct Bench {
    Arena *arena;
    const Device *device;
    char index[16];
    const char *path;
    double run_limit;
    int journal; /* -1: none */
    Announced now, next;
    Text tools;
    bool has_tools;
    Worker worker; /* pid 0: to be started */
    bool ready;    /* the data of `now` are prepared */
    bool broken;   /* it cannot work at all: `why` */
    Why why;
    bool busy;
    uint64_t id;
    char label[128];
    double budget;
    Text job;
    Kept *kept;
    BenchReport report;
    Phases past; /* of workers of this program before this one */
    Frame frame;
};

static bool fail(Bench *bench, const char *what, const char *detail) {
    bench->broken = true;
    return why_set(&bench->why, "%s%s", what, detail);
}

/* --- the worker */

static void send_tools(Bench *bench) {
    if (bench->has_tools)
        wire_send(bench->worker.fd, BENCH_TOOLS, bench->now.id, bench->tools.data,
                  bench->tools.length, GREET_SECONDS);
}

static void send_setup(Bench *bench, const Announced *program) {
    if (program->id > 0)
        wire_send(bench->worker.fd, BENCH_SETUP, program->id, program->setup.data,
                  program->setup.length, GREET_SECONDS);
}

static bool start(Bench *bench) {
    const char *const arguments[] = {"measure", bench->device->name, bench->index, NULL};
    bench->ready = false;
    if (!wire_spawn(&bench->worker, bench->path, arguments, &bench->why) ||
        !wire_greet(&bench->worker, GREET_SECONDS, &bench->why)) {
        wire_end(&bench->worker);
        bench->broken = true;
        return false;
    }
    send_setup(bench, &bench->now);
    send_tools(bench);
    send_setup(bench, &bench->next);
    return true;
}

/* What the ended worker had done stays in the report. */
static int end(Bench *bench) {
    phases_add(&bench->past, &bench->report.phases);
    bench->report.phases = (Phases){0};
    return wire_end(&bench->worker);
}

Bench *bench_open(const Device *device, int index, Why *why) {
    Arena *arena = arena_open();
    Bench *bench = arena_new(arena, Bench);
    bench->arena = arena;
    bench->device = device;
    bench->worker.fd = bench->journal = bench->now.given = bench->next.given = -1;
    snprintf(bench->index, sizeof bench->index, "%d", index);
    bench->path = worker_path(arena, why);
    if (bench->path && start(bench)) return bench;
    if (bench->path) *why = bench->why;
    bench_close(bench);
    return NULL;
}

static bool take_identity(Bench *bench, DeviceIdentity *identity, Why *why) {
    Outcome outcome;
    BenchReport report;
    WireReader reader = wire_reader(bench->frame.body.data, bench->frame.body.length);
    if (!bench_get_answer(&reader, &outcome, why, &report) ||
        !wire_get_struct(&reader, identity, sizeof *identity))
        return why_set(why, "the measuring worker's answer is damaged");
    return outcome == OUTCOME_OK;
}

bool bench_identify(Bench *bench, DeviceIdentity *identity, Why *why) {
    char text[96];
    WireStatus status = wire_send(bench->worker.fd, BENCH_IDENTIFY, 0, NULL, 0, GREET_SECONDS);
    if (status == WIRE_OK) status = wire_receive(bench->worker.fd, &bench->frame, DRIVER_SECONDS);
    if (status == WIRE_OK && bench->frame.kind == BENCH_IDENTITY)
        return take_identity(bench, identity, why);
    wire_describe(end(bench), text, sizeof text);
    return why_set(why, "the measuring worker does not say what the device is: it %s", text);
}

static void forget(Announced *program) {
    if (program->given >= 0) close(program->given);
    text_free(&program->setup);
    *program = (Announced){.given = -1};
}

static void forget_jobs(Bench *bench) {
    Kept *kept, *next;
    HASH_ITER(hh, bench->kept, kept, next) {
        HASH_DEL(bench->kept, kept);
        text_free(&kept->body);
        free(kept);
    }
    bench->ready = bench->broken = bench->has_tools = false;
    bench->report = (BenchReport){0};
    bench->past = (Phases){0};
}

bool bench_setup(Bench *bench, const DeviceIdentity *identity, const Ir *ir, const Ir *rounded,
                 const BenchOptions *options, Why *why) {
    BenchSetup setup = {*identity, options->seed, options->run_limit, options->hot, 0, NULL};
    Announced *next = &bench->next;
    uint64_t id = (next->id > bench->now.id ? next->id : bench->now.id) + 1;
    forget(next);
    if (options->given && (next->given = given_share(options->given, ir, why)) < 0) return false;
    if (options->journal && bench->journal < 0)
        bench->journal = open(options->journal, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    bench->run_limit = options->run_limit;
    next->id = id;
    bench_put_setup(&next->setup, &setup, ir, rounded);
    given_put(&next->setup, options->given, ir, next->given);
    if (bench->worker.pid != 0) send_setup(bench, next); /* else when a job starts one */
    return true;
}

void bench_tools(Bench *bench, const Binary *tools, uint32_t count, const Why *why) {
    forget(&bench->now);
    forget_jobs(bench);
    bench->now = bench->next;
    bench->next = (Announced){.given = -1};
    if (why) {
        fail(bench, "the oracle's kernels do not compile: ", why->text);
        return;
    }
    text_clear(&bench->tools);
    bench_put_tools(&bench->tools, tools, count);
    bench->has_tools = true;
    if (bench->worker.pid != 0) send_tools(bench);
}

int bench_descriptor(const Bench *bench) {
    return bench->worker.fd;
}

void bench_kill(Bench *bench) {
    wire_kill(&bench->worker);
}

void bench_close(Bench *bench) {
    if (!bench) return;
    wire_end(&bench->worker);
    forget_jobs(bench);
    forget(&bench->now);
    forget(&bench->next);
    if (bench->journal >= 0) close(bench->journal);
    text_free(&bench->tools);
    text_free(&bench->job);
    text_free(&bench->frame.body);
    arena_close(bench->arena);
}

/* --- the journal */

/* One line, one write: lines of several processes do not mix, and what was running when all died is
 * the last "launch" without an end. A journal that cannot be written stops nothing. */
static void journal(const Bench *bench, const char *what) {
    char line[256];
    if (bench->journal < 0) return;
    int length = snprintf(line, sizeof line, "%lld %d %s %llu %s\n", (long long)time(NULL),
                          (int)getpid(), what, (unsigned long long)bench->id, bench->label);
    while (write(bench->journal, line, (size_t)length) < 0 && errno == EINTR) {
    }
}

/* --- jobs */

/* bench->job holds the bytes. */
static bool submit(Bench *bench, uint64_t id, const char *label, double budget, Why *why) {
    if (!bench->broken && bench->worker.pid == 0) start(bench);
    if (bench->broken) {
        *why = bench->why;
        return false;
    }
    bench->busy = true;
    bench->id = id;
    bench->budget = budget;
    snprintf(bench->label, sizeof bench->label, "%s", label);
    journal(bench, "launch");
    /* A worker that is gone is noticed where its answer is waited for. */
    wire_send(bench->worker.fd, BENCH_JOB, id, bench->job.data, bench->job.length, OWN_SECONDS);
    return true;
}

bool bench_submit(Bench *bench, const BenchJob *job, Why *why) {
    text_clear(&bench->job);
    bench_put_job(&bench->job, job);
    return submit(bench, job->id, job->label, job->budget, why);
}

/* --- answers */

/* READY: false if the worker could not prepare. */
static bool take_ready(Bench *bench) {
    Outcome outcome;
    Why why;
    WireReader reader = wire_reader(bench->frame.body.data, bench->frame.body.length);
    if (!bench_get_answer(&reader, &outcome, &why, &bench->report))
        return fail(bench, "the measuring worker's answer is damaged", "");
    bench->ready = outcome == OUTCOME_OK;
    return bench->ready || fail(bench, why.text, "");
}

/* The answer of `kind`, READY on the way. Not WIRE_OK if the worker is gone, or broken. */
static WireStatus receive(Bench *bench, uint32_t kind) {
    double seconds = OWN_SECONDS + 8 * bench->run_limit + 8 * bench->budget;
    for (;;) {
        WireStatus status = wire_receive(bench->worker.fd, &bench->frame, seconds);
        if (status != WIRE_OK) return status;
        if (bench->frame.kind == BENCH_READY && bench->frame.id != bench->now.id) continue;
        if (bench->frame.kind == BENCH_READY && !take_ready(bench)) return WIRE_CLOSED;
        if (bench->frame.kind == kind) return WIRE_OK;
        if (bench->frame.kind != BENCH_READY) return WIRE_CLOSED;
    }
}

/* A worker that is gone is noticed by the next job. */
void bench_ready(Bench *bench) {
    if (bench->worker.pid != 0 && bench->has_tools && !bench->ready && !bench->broken)
        receive(bench, BENCH_READY);
}

static bool take_result(Bench *bench, Result *result) {
    Outcome outcome;
    Why why;
    WireReader reader = wire_reader(bench->frame.body.data, bench->frame.body.length);
    return bench_get_answer(&reader, &outcome, &why, &bench->report) &&
           wire_get_struct(&reader, result, sizeof *result);
}

/* The worker is gone: by the candidate, or before it was ready. */
static void explain(Bench *bench, WireStatus how, Result *result) {
    char text[96];
    bool ready = bench->ready;
    int status = end(bench);
    bool late =
        how == WIRE_TIMEOUT || (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    wire_describe(status, text, sizeof text);
    *result =
        (Result){.outcome = OUTCOME_CRASH, .resources = {-1, -1, -1, -1}, .check = check_none()};
    if (bench->broken) {
        result->outcome = OUTCOME_LAUNCH;
        snprintf(result->message, sizeof result->message, "%.250s", bench->why.text);
    } else if (!ready) {
        fail(bench, "the measuring worker could not prepare its data: it ", text);
        result->outcome = OUTCOME_LAUNCH;
        snprintf(result->message, sizeof result->message, "%.250s", bench->why.text);
    } else if (late) {
        result->outcome = OUTCOME_TIMEOUT;
        snprintf(result->message, sizeof result->message, "ran for over %g s", bench->run_limit);
    } else {
        snprintf(result->message, sizeof result->message, "its process %s", text);
    }
}

/* One try. True if its result is final whatever the number of the try. */
static bool try_once(Bench *bench, Result *result) {
    WireStatus status = receive(bench, BENCH_RESULT);
    if (status == WIRE_OK && take_result(bench, result)) {
        if (result->outcome != OUTCOME_CRASH) return true;
        end(bench); /* the device reported a fault: its context is of no more use */
        return false;
    }
    explain(bench, status, result);
    return bench->broken;
}

static bool send_again(Bench *bench, uint32_t attempt) {
    if (!start(bench)) return false;
    bench_set_attempt(&bench->job, attempt);
    journal(bench, "again");
    wire_send(bench->worker.fd, BENCH_JOB, bench->id, bench->job.data, bench->job.length,
              OWN_SECONDS);
    return true;
}

/* Keeps the bytes of a job that was timed. */
static void keep(Bench *bench) {
    Kept *kept;
    HASH_FIND(hh, bench->kept, &bench->id, sizeof bench->id, kept);
    if (!kept) {
        kept = calloc(1, sizeof *kept);
        if (!kept) return;
        kept->id = bench->id;
        HASH_ADD(hh, bench->kept, id, sizeof kept->id, kept);
    }
    bench_set_attempt(&bench->job, 0);
    memcpy(kept->label, bench->label, sizeof kept->label);
    text_clear(&kept->body);
    text_add_bytes(&kept->body, bench->job.data, bench->job.length);
}

void bench_result(Bench *bench, Result *result) {
    for (uint32_t attempt = 1; !try_once(bench, result) && attempt < ATTEMPTS; attempt++)
        if (!send_again(bench, attempt)) break;
    bench->busy = false;
    journal(bench, outcome_name(result->outcome));
    if (result->outcome == OUTCOME_OK && bench->budget > 0) keep(bench);
}

/* --- finalists */

static bool put_rank(Bench *bench, const uint64_t *ids, uint32_t count, double budget, Text *out,
                     Why *why) {
    wire_put_f64(out, budget);
    wire_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        Kept *kept;
        HASH_FIND(hh, bench->kept, &ids[i], sizeof ids[i], kept);
        if (!kept) return why_set(why, "job %llu was not timed", (unsigned long long)ids[i]);
        wire_put_bytes(out, kept->body.data, kept->body.length);
    }
    return true;
}

static bool take_ranked(Bench *bench, uint32_t count, Result *results, Why *why) {
    Outcome outcome;
    WireReader reader = wire_reader(bench->frame.body.data, bench->frame.body.length);
    if (!bench_get_answer(&reader, &outcome, why, &bench->report) || outcome != OUTCOME_OK)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!wire_get_struct(&reader, &results[i], sizeof *results)) return false;
    return true;
}

/* In the worker that is there, or a fresh one. False if that did not survive, or could not. */
static bool rank_once(Bench *bench, const uint64_t *ids, uint32_t count, double budget,
                      Result *results, Why *why) {
    Text message = {0};
    Result gone;
    bool good = put_rank(bench, ids, count, budget, &message, why);
    if (good && bench->worker.pid == 0) good = !bench->broken && start(bench);
    if (good) {
        bench->budget = budget;
        wire_send(bench->worker.fd, BENCH_RANK, 0, message.data, message.length, OWN_SECONDS);
        WireStatus status = receive(bench, BENCH_RANKED);
        good = status == WIRE_OK && take_ranked(bench, count, results, why);
        if (status != WIRE_OK) {
            explain(bench, status, &gone);
            why_set(why, "%s", gone.message);
        }
    }
    text_free(&message);
    return good;
}

/* Times one alone, as if new. */
static void rank_alone(Bench *bench, uint64_t id, double budget, Result *result) {
    Kept *kept;
    Why why;
    HASH_FIND(hh, bench->kept, &id, sizeof id, kept);
    *result = (Result){.outcome = OUTCOME_LAUNCH, .message = "was never timed"};
    if (!kept) return;
    text_clear(&bench->job);
    text_add_bytes(&bench->job, kept->body.data, kept->body.length);
    if (submit(bench, id, kept->label, budget, &why)) bench_result(bench, result);
}

/* Where a finalist ends the worker, each is tried alone, and those that survive are ranked. */
bool bench_rank(Bench *bench, const uint64_t *ids, uint32_t count, double budget, Result *results,
                Why *why) {
    if (rank_once(bench, ids, count, budget, results, why)) return true;
    if (bench->broken) return false;
    uint64_t *left = calloc(count + 1, sizeof *left);
    Result *ranked = calloc(count + 1, sizeof *ranked);
    uint32_t survivors = 0;
    for (uint32_t i = 0; left && ranked && i < count; i++) {
        rank_alone(bench, ids[i], budget / count, &results[i]);
        if (results[i].outcome == OUTCOME_OK) left[survivors++] = ids[i];
    }
    bool good = survivors > 0 && rank_once(bench, left, survivors, budget, ranked, why);
    for (uint32_t i = 0, next = 0; good && i < count; i++)
        if (results[i].outcome == OUTCOME_OK) results[i] = ranked[next++];
    free(left);
    free(ranked);
    return good;
}

/* --- the report */

bool bench_report(Bench *bench, BenchReport *report, Why *why) {
    *report = bench->report;
    phases_add(&report->phases, &bench->past);
    if (bench->broken) *why = bench->why;
    return !bench->broken;
}
