/* Wire: how a parent and its workers (kfuse-worker processes) talk. Framed messages over a
 * socketpair, every wait with a deadline, and the life of a worker from spawn to reaping. A worker
 * is this program's own: both ends are one build on one machine (the greeting checks it), so
 * payloads are the machine's own bytes.
 *
 * A worker leads a process group of its own: Ctrl-C is the parent's decision, and ending a worker
 * ends what it started (a host compiler). Workers end with their parent, whatever ends it. */
#ifndef KF_WIRE_H
#define KF_WIRE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tuner/device.h"

typedef struct Frame {
    uint32_t kind; /* the protocol's own, from 1 on */
    uint64_t id;
    Text body; /* reused by the next wire_receive; text_free when done */
} Frame;

enum { WIRE_HELLO = 0 };

typedef enum WireStatus {
    WIRE_OK,
    WIRE_TIMEOUT, /* if part of a message has passed, the stream is of no more use: wire_end */
    WIRE_CLOSED,  /* the other end is gone, or what came is no message */
} WireStatus;

/* `seconds` for the whole message; negative: for ever. */
WireStatus wire_send(int fd, uint32_t kind, uint64_t id, const void *bytes, size_t length,
                     double seconds);
WireStatus wire_receive(int fd, Frame *frame, double seconds);
double wire_now(void); /* monotonic clock, seconds */

/* Payloads. A reader past its end, or with a length beyond it, gives 0 and stays `damaged`. */
void wire_put_u32(Text *out, uint32_t value);
void wire_put_u64(Text *out, uint64_t value);
void wire_put_f64(Text *out, double value);
void wire_put_bytes(Text *out, const void *bytes, size_t length); /* length first */
void wire_put_string(Text *out, const char *string);              /* NULL stays NULL */

typedef struct WireReader {
    const unsigned char *at;
    size_t left;
    bool damaged;
} WireReader;

static inline WireReader wire_reader(const void *bytes, size_t length) {
    return (WireReader){bytes, length, false};
}
uint32_t wire_get_u32(WireReader *reader);
uint64_t wire_get_u64(WireReader *reader);
double wire_get_f64(WireReader *reader);
const void *wire_get_bytes(WireReader *reader, size_t *length); /* inside the message, unaligned */
const char *wire_get_string(WireReader *reader, Arena *arena);
/* A plain struct put with wire_put_bytes; false if the length differs. */
bool wire_get_struct(WireReader *reader, void *bytes, size_t length);

/* The parent's side. */
typedef struct Worker {
    pid_t pid; /* 0: none */
    int fd;    /* -1: none */
} Worker;

/* Starts `path` with `arguments` (argv[1] on, NULL-terminated); its end of the socket is descriptor
 * 3, its stdin and stdout are /dev/null. Returns before the worker has greeted. */
bool wire_spawn(Worker *worker, const char *path, const char *const *arguments, Why *why);
/* Receives the worker's greeting; refuses another build's. */
bool wire_greet(Worker *worker, double seconds, Why *why);
/* Checks a greeting already received. */
bool wire_check_hello(const Frame *frame, Why *why);
/* Kills its group and does not wait: many end sooner together than one after another. */
void wire_kill(const Worker *worker);
/* Kills its group, reaps it, closes the socket. The wait status is its own where it had ended
 * before; -1 if not known. Safe on an ended or never started worker. */
int wire_end(Worker *worker);
/* "killed by signal 11 (Segmentation fault)", "ended with status 2". */
void wire_describe(int status, char *text, size_t size);

/* The worker's side: takes descriptor 3, ties its life to the parent's, greets. False where there
 * is no parent (run by hand). Call it first in main. */
enum { WIRE_FD = 3 };
bool wire_enter(void);

#endif
