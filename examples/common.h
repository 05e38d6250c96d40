/* What the C examples share. `NAME [DEVICE [small]]`: kfuse's default device, or cpu, cuda:1, …;
 * `small` takes small shapes and few candidates, to try it in seconds. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <kfuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Words {
    const char *device;
    bool small;
} Words;

static inline Words read_words(int count, char **words) {
    return (Words){.device = count > 1 && *words[1] ? words[1] : NULL,
                   .small = count > 2 && strcmp(words[2], "small") == 0};
}

static inline double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void require(KfSession *session, KfStatus status) {
    if (status == KF_OK) return;
    fputs(session ? kf_session_message(session) : "out of memory\n", stderr);
    exit(status);
}

/* A session with an empty store of its own, in `folder`: a name that mkdtemp completes. */
static inline KfSession *open_fresh(char *folder) {
    KfSessionOptions options = {.cache = mkdtemp(folder)};
    KfSession *session;
    require(session, kf_session_open(&session, &options));
    return session;
}

static inline void close_fresh(KfSession *session, const char *folder) {
    char *text;
    require(session, kf_cache(session, "clear", NULL, &text));
    kf_free(text);
    kf_session_close(session);
    rmdir(folder);
}

/* a[m, k] @ b[k, n] in f32. */
static inline KfProgram *open_product(KfSession *session, const char *device, int64_t m, int64_t n,
                                      int64_t k) {
    KfTensor inputs[] = {{.name = "a", .rank = 2, .dim = {m, k}},
                         {.name = "b", .rank = 2, .dim = {k, n}}};
    KfProblem problem = {.inputs = inputs, .input_count = 2, .device = device};
    KfProgram *program;
    require(session, kf_program_open(session, "a @ b", SIZE_MAX, &problem, &program));
    return program;
}

#endif
