/* In: a device's name. Out: a held flock, which the kernel drops when its holder ends, however it
 * ends. */
#include "tuner/bench_lock.h"

#include <fcntl.h>
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

int bench_lock(const char *device, int index) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/kfuse-%s-%d.lock", device, index);
    int fd = open_file(path);
    for (int i = 0; fd >= 0 && i < TRIES; i++) {
        const struct timespec pause = {0, PAUSE_NS};
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
        nanosleep(&pause, NULL);
    }
    if (fd >= 0) close(fd);
    return -1;
}

void bench_unlock(int lock) {
    if (lock >= 0) close(lock);
}
