/* In: messages and a worker's path. Out: messages, and workers that start, greet and end. The idea:
 * all descriptors here are non-blocking in effect (MSG_DONTWAIT and poll), so that a deadline
 * always holds. */
#include "tuner/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern const char build_id[];
extern char **environ;

enum { WIRE_MAGIC = 0x6b667573, WIRE_MAX = 1 << 30 };

typedef struct Head {
    uint32_t magic, kind;
    uint64_t id, length;
} Head;

double wire_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Milliseconds for poll, rounded up; -1: for ever. */
static int poll_time(double deadline) {
    if (deadline < 0) return -1;
    double left = deadline - wire_now();
    if (left <= 0) return 0;
    return left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1;
}

static double deadline_of(double seconds) {
    return seconds < 0 ? -1 : wire_now() + seconds;
}

/* Waits for an event on one descriptor; false at the deadline. */
static bool await(int fd, short events, double deadline) {
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = events};
        int count = poll(&wait, 1, poll_time(deadline));
        if (count > 0) return true;
        if (count < 0 && errno != EINTR) return true; /* the transfer will say why */
        if (deadline >= 0 && wire_now() >= deadline) return false;
    }
}

/* What follows a call that moved nothing: wait and go on, or the status to return. */
static bool go_on(int fd, short events, double deadline, WireStatus *status) {
    if (errno == EINTR) return true;
    *status = WIRE_CLOSED;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    *status = WIRE_TIMEOUT;
    return await(fd, events, deadline);
}

static WireStatus send_all(int fd, const void *bytes, size_t length, double deadline) {
    const char *at = bytes;
    WireStatus status = WIRE_OK;
    while (length > 0) {
        ssize_t sent = send(fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            at += sent;
            length -= (size_t)sent;
        } else if (!go_on(fd, POLLOUT, deadline, &status)) {
            return status;
        }
    }
    return WIRE_OK;
}

static WireStatus receive_all(int fd, void *bytes, size_t length, double deadline) {
    char *at = bytes;
    WireStatus status = WIRE_OK;
    while (length > 0) {
        ssize_t got = recv(fd, at, length, MSG_DONTWAIT);
        if (got == 0) return WIRE_CLOSED;
        if (got > 0) {
            at += got;
            length -= (size_t)got;
        } else if (!go_on(fd, POLLIN, deadline, &status)) {
            return status;
        }
    }
    return WIRE_OK;
}

WireStatus wire_send(int fd, uint32_t kind, uint64_t id, const void *bytes, size_t length,
                     double seconds) {
    Head head = {WIRE_MAGIC, kind, id, length};
    double deadline = deadline_of(seconds);
    if (length > WIRE_MAX) return WIRE_CLOSED;
    WireStatus status = send_all(fd, &head, sizeof head, deadline);
    return status == WIRE_OK ? send_all(fd, bytes, length, deadline) : status;
}

WireStatus wire_receive(int fd, Frame *frame, double seconds) {
    Head head;
    char part[16384];
    double deadline = deadline_of(seconds);
    WireStatus status = receive_all(fd, &head, sizeof head, deadline);
    if (status != WIRE_OK) return status;
    if (head.magic != WIRE_MAGIC || head.length > WIRE_MAX) return WIRE_CLOSED;
    frame->kind = head.kind;
    frame->id = head.id;
    text_clear(&frame->body);
    for (uint64_t left = head.length; left > 0;) {
        size_t length = left < sizeof part ? (size_t)left : sizeof part;
        status = receive_all(fd, part, length, deadline);
        if (status != WIRE_OK) return status;
        text_add_bytes(&frame->body, part, length);
        left -= length;
    }
    return WIRE_OK;
}

/* --- payloads */

void wire_put_u32(Text *out, uint32_t value) {
    text_add_bytes(out, &value, sizeof value);
}

void wire_put_u64(Text *out, uint64_t value) {
    text_add_bytes(out, &value, sizeof value);
}

void wire_put_f64(Text *out, double value) {
    text_add_bytes(out, &value, sizeof value);
}

void wire_put_bytes(Text *out, const void *bytes, size_t length) {
    wire_put_u64(out, length);
    if (length) text_add_bytes(out, bytes, length);
}

void wire_put_string(Text *out, const char *string) {
    wire_put_u32(out, string != NULL);
    if (string) wire_put_bytes(out, string, strlen(string));
}

static const void *take(WireReader *reader, size_t length) {
    const void *at = reader->at;
    if (reader->damaged || length > reader->left) {
        reader->damaged = true;
        return NULL;
    }
    reader->at += length;
    reader->left -= length;
    return at;
}

static bool take_into(WireReader *reader, void *value, size_t length) {
    const void *at = take(reader, length);
    if (at && length) memcpy(value, at, length);
    return at != NULL;
}

uint32_t wire_get_u32(WireReader *reader) {
    uint32_t value = 0;
    take_into(reader, &value, sizeof value);
    return value;
}

uint64_t wire_get_u64(WireReader *reader) {
    uint64_t value = 0;
    take_into(reader, &value, sizeof value);
    return value;
}

double wire_get_f64(WireReader *reader) {
    double value = 0;
    take_into(reader, &value, sizeof value);
    return value;
}

const void *wire_get_bytes(WireReader *reader, size_t *length) {
    uint64_t size = wire_get_u64(reader);
    const void *at = take(reader, size);
    *length = at ? (size_t)size : 0;
    return at;
}

const char *wire_get_string(WireReader *reader, Arena *arena) {
    size_t length;
    if (!wire_get_u32(reader)) return NULL;
    const char *at = wire_get_bytes(reader, &length);
    return at ? arena_copy(arena, at, length) : NULL;
}

bool wire_get_struct(WireReader *reader, void *bytes, size_t length) {
    size_t size;
    const void *at = wire_get_bytes(reader, &size);
    if (size != length) reader->damaged = true;
    if (!reader->damaged) memcpy(bytes, at, length);
    return !reader->damaged;
}

/* --- a worker's life, the parent's side */

/* The worker's descriptors: 0 and 1 to /dev/null, 2 as it is, its socket as 3, nothing else. */
static int set_files(posix_spawn_file_actions_t *files, int socket) {
    int error = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_addopen(files, 1, "/dev/null", O_WRONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(files, socket, WIRE_FD);
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(files, WIRE_FD + 1);
    return error;
}

/* A group of its own and no signal blocked or ignored, whatever the host program does. */
static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
}

static int start(pid_t *pid, const char *path, const char *const *arguments, int socket) {
    const char *argv[16] = {path};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    for (int i = 0; i < 14 && arguments[i]; i++) argv[i + 1] = arguments[i];
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    int error = set_files(&files, socket);
    if (!error) error = set_attributes(&attributes);
    if (!error) error = posix_spawn(pid, path, &files, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool wire_spawn(Worker *worker, const char *path, const char *const *arguments, Why *why) {
    int pair[2];
    *worker = (Worker){0, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return why_set(why, "cannot make a socket for a worker: %s", strerror(errno));
    /* The child's end above 3, so that opening 0 and 1 and the copy to 3 cannot hit it. */
    int end = fcntl(pair[1], F_DUPFD_CLOEXEC, WIRE_FD + 1);
    int error = end < 0 ? errno : start(&worker->pid, path, arguments, end);
    if (end >= 0) close(end);
    close(pair[1]);
    if (error) {
        close(pair[0]);
        worker->pid = 0;
        return why_set(why, "cannot start %s: %s", path, strerror(error));
    }
    worker->fd = pair[0];
    return true;
}

bool wire_check_hello(const Frame *frame, Why *why) {
    const char *theirs = text_string(&frame->body);
    if (frame->kind != WIRE_HELLO) return why_set(why, "the worker did not greet");
    if (strcmp(theirs, build_id) == 0) return true;
    return why_set(why,
                   "kfuse-worker is of another build (%.16s, not %.16s): install both together",
                   theirs, build_id);
}

bool wire_greet(Worker *worker, double seconds, Why *why) {
    Frame frame = {0};
    char end[96];
    WireStatus status = wire_receive(worker->fd, &frame, seconds);
    bool good = status == WIRE_OK && wire_check_hello(&frame, why);
    if (status != WIRE_OK) {
        wire_describe(wire_end(worker), end, sizeof end);
        why_set(why, "kfuse-worker did not start: it %s",
                status == WIRE_TIMEOUT ? "said nothing in time" : end);
    }
    text_free(&frame.body);
    return good;
}

void wire_kill(const Worker *worker) {
    if (worker->pid <= 0) return;
    kill(-worker->pid, SIGKILL);
    kill(worker->pid, SIGKILL);
}

int wire_end(Worker *worker) {
    int status = -1;
    if (worker->fd >= 0) close(worker->fd);
    wire_kill(worker);
    if (worker->pid > 0) {
        while (waitpid(worker->pid, &status, 0) < 0) {
            if (errno == EINTR) continue;
            status = -1;
            break;
        }
    }
    *worker = (Worker){0, -1};
    return status;
}

void wire_describe(int status, char *text, size_t size) {
    if (status == -1)
        snprintf(text, size, "is gone");
    else if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with status %d", WEXITSTATUS(status));
}

/* --- the worker's side */

static pid_t parent; /* read by the signal handler alone; set once, before it is installed */

/* The kernel signals when the thread that spawned us ends; only where the whole parent is gone are
 * we. Takes the group along: a host compiler that we run. */
static void on_parent_death(int number) {
    (void)number;
    if (getppid() != parent) kill(0, SIGKILL);
}

bool wire_enter(void) {
    int type;
    socklen_t length = sizeof type;
    if (getsockopt(WIRE_FD, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
        return false;
    fcntl(WIRE_FD, F_SETFD, FD_CLOEXEC);
    parent = getppid();
    struct sigaction action = {.sa_handler = on_parent_death, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGUSR1) != 0) return false;
    return wire_send(WIRE_FD, WIRE_HELLO, 0, build_id, strlen(build_id), 10) == WIRE_OK;
}
