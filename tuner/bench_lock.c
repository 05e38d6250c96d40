/* In: a device's name. Out: a held flock, which the kernel drops when its holder ends, however it
 * ends. The one idea: who waits for the device holds the place next to it, so that a process that
 * has just timed a slice comes after it, and none starves beside another that times slice after
 * slice. */
#include "tuner/bench_lock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 2000, PAUSE_NS = 5000000 }; /* 10 s: slices are fractions of a second */

/* In /tmp, where every user's kfuse finds it, whatever TMPDIR says. Made by whoever comes first; a
 * flock needs no right to write. */
static int open_file(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
}

static bool take(int fd, int *tries) {
    const struct timespec pause = {0, PAUSE_NS};
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (--*tries <= 0) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static int open_lock(const char *device, int index, const char *suffix) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/kfuse-%s-%d.%s", device, index, suffix);
    return open_file(path);
}

int bench_lock(const char *device, int index) {
    int tries = TRIES, next = open_lock(device, index, "next"),
        fd = open_lock(device, index, "lock");
    bool taken = next >= 0 && fd >= 0 && take(next, &tries) && take(fd, &tries);
    if (next >= 0) close(next);
    if (taken) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

void bench_unlock(int lock) {
    if (lock >= 0) close(lock);
}
