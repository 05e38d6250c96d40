/* Where kfuse-worker is: $KFUSE_WORKER, beside the program or the library that this code is in,
 * PATH. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/pool.h"

#define WORKER "kfuse-worker"

/* Below the folder of `file`: beside it, or where an installation puts programs and libraries
 * apart. */
static const char *beside(Arena *arena, const char *file) {
    static const char *const places[] = {"", "../libexec/kfuse/", "../bin/"};
    const char *slash = strrchr(file, '/');
    int folder = slash ? (int)(slash - file) : 0;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        const char *path = arena_printf(arena, "%.*s/%s" WORKER, folder, file, places[i]);
        if (access(path, X_OK) == 0) return path;
    }
    return NULL;
}

static const char *beside_program(Arena *arena) {
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return NULL;
    path[length] = 0;
    return beside(arena, path);
}

static const char *beside_library(Arena *arena) {
    static const char here = 0;
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr(&here, &info) || !info.dli_fname || !realpath(info.dli_fname, path)) return NULL;
    return beside(arena, path);
}

static const char *on_path(Arena *arena) {
    for (const char *at = getenv("PATH"); at && *at;) {
        int length = (int)strcspn(at, ":");
        const char *path = arena_printf(arena, "%.*s/" WORKER, length, at);
        if (length > 0 && access(path, X_OK) == 0) return path;
        at += length;
        at += *at == ':';
    }
    return NULL;
}

const char *worker_path(Arena *arena, Why *why) {
    const char *named = getenv("KFUSE_WORKER");
    if (named && *named) {
        if (access(named, X_OK) == 0) return arena_copy(arena, named, strlen(named));
        why_set(why, "KFUSE_WORKER names %s, which is no program", named);
        return NULL;
    }
    const char *path = beside_program(arena);
    if (!path) path = beside_library(arena);
    if (!path) path = on_path(arena);
    if (!path)
        why_set(why,
                WORKER " not found beside the program or on PATH: install it with kfuse, or name "
                       "it in KFUSE_WORKER");
    return path;
}
