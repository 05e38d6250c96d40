/* In: the kernel's files. Out: how many workers fit. Containers limit memory as they do CPUs, and a
 * machine that swaps compiles nothing faster. */
#include "tuner/jobs.h"

#include <stdio.h>
#include <string.h>

#include "compiler/base/parallel.h"
#include "compiler/base/text.h"

enum { JOBS_MAX = 128 };

static FILE *open_below(const char *root, const char *folder, const char *file) {
    Text path = {0};
    text_printf(&path, "%s%s%s", root, folder, file);
    FILE *stream = fopen(text_string(&path), "re");
    text_free(&path);
    return stream;
}

/* The first number of a file, -1 if there is none ("max"). */
static int64_t read_number(const char *root, const char *folder, const char *file) {
    long long number = -1;
    FILE *stream = open_below(root, folder, file);
    if (!stream) return -1;
    if (fscanf(stream, "%lld", &number) != 1) number = -1;
    fclose(stream);
    return number;
}

static int64_t smaller(int64_t a, int64_t limit) {
    return limit >= 0 && limit < a ? limit : a;
}

static int64_t free_memory(const char *root) {
    char line[256];
    long long kilobytes;
    int64_t bytes = INT64_MAX;
    FILE *stream = open_below(root, "", "/proc/meminfo");
    while (stream && fgets(line, sizeof line, stream))
        if (sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) bytes = kilobytes * 1024;
    if (stream) fclose(stream);
    return bytes;
}

/* The tightest limit from the process's own group up to the mount (version 2). */
static int64_t group_limit(const char *root) {
    char line[4096] = "", folder[4200];
    int64_t limit = INT64_MAX;
    FILE *stream = open_below(root, "", "/proc/self/cgroup");
    while (stream && strncmp(line, "0::", 3) != 0 && fgets(line, sizeof line, stream)) {
    }
    if (stream) fclose(stream);
    if (strncmp(line, "0::", 3) != 0) return limit;
    line[strcspn(line, "\n")] = 0;
    snprintf(folder, sizeof folder, "/sys/fs/cgroup%s", line + 3);
    for (char *slash;
         (slash = strrchr(folder, '/')) && strlen(folder) >= strlen("/sys/fs/cgroup");) {
        limit = smaller(limit, read_number(root, folder, "/memory.max"));
        *slash = 0;
    }
    return limit;
}

int64_t jobs_memory(const char *root) {
    int64_t limit = group_limit(root);
    limit = smaller(limit, read_number(root, "/sys/fs/cgroup/memory", "/memory.limit_in_bytes"));
    return smaller(free_memory(root), limit / 4 * 3);
}

int jobs_limit(int asked, int64_t bytes_each) {
    int64_t jobs = jobs_memory("") / bytes_each;
    jobs = smaller(jobs, parallel_cpus());
    if (asked > 0) jobs = smaller(jobs, asked);
    return jobs < 1 ? 1 : jobs > JOBS_MAX ? JOBS_MAX : (int)jobs;
}
