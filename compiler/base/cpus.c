/* In: the kernel's files. Out: how many CPUs this process may use. The one idea: the affinity mask
 * says which, a control group's quota says how much time; the smaller counts. */
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/parallel.h"
#include "compiler/base/text.h"

/* Of the affinity mask; machines with more CPUs than a cpu_set_t holds need a larger one. */
static int affinity(void) {
    for (int room = CPU_SETSIZE; room <= CPU_SETSIZE << 8; room *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE((size_t)room);
        int count = sched_getaffinity(0, size, set) ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0) return count;
    }
    return 1;
}

/* Reads up to two numbers from ROOT/FOLDER/FILE; how many there were. "max" is none. */
static int read_numbers(const char *folder, const char *file, double numbers[2]) {
    Text path = {0};
    text_printf(&path, "%s/%s", folder, file);
    FILE *stream = fopen(text_string(&path), "r");
    text_free(&path);
    if (!stream) return 0;
    int count = fscanf(stream, "%lf %lf", &numbers[0], &numbers[1]);
    fclose(stream);
    return count > 0 ? count : 0;
}

/* Of one control group, in CPUs; 0 if it has none. Version 2 has one file, version 1 two. */
static double group_quota(const char *folder) {
    double numbers[2] = {0, 0}, period[2] = {0, 0};
    if (read_numbers(folder, "cpu.max", numbers) == 2 && numbers[1] > 0)
        return numbers[0] / numbers[1];
    if (read_numbers(folder, "cpu.cfs_quota_us", numbers) && numbers[0] > 0 &&
        read_numbers(folder, "cpu.cfs_period_us", period) && period[0] > 0)
        return numbers[0] / period[0];
    return 0;
}

/* The tightest quota from ROOT + MOUNT + PATH up to the mount: a parent's limit binds its children,
 * and inside a container the path may not exist below the mount at all. */
static double path_quota(const char *root, const char *mount, const char *path) {
    double tightest = 0;
    Text folder = {0};
    text_printf(&folder, "%s/sys/fs/cgroup%s", root, mount);
    size_t top = folder.length;
    text_add(&folder, path);
    for (;;) {
        double quota = group_quota(text_string(&folder));
        if (quota > 0 && (tightest <= 0 || quota < tightest)) tightest = quota;
        if (folder.length <= top) break;
        char *slash = strrchr(folder.data + top, '/');
        folder.length = slash ? (size_t)(slash - folder.data) : top;
        folder.data[folder.length] = 0;
    }
    text_free(&folder);
    return tightest;
}

/* Whether "cpu" is one of the controllers ("cpuset" and "cpuacct" are others). */
static bool lists_cpu(const char *controllers) {
    for (const char *at = controllers; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == 3 && !strncmp(at, "cpu", 3)) return true;
    return false;
}

/* A line of /proc/self/cgroup: "0::/path" (version 2) or "4:cpu,cpuacct:/path". */
static double line_quota(const char *root, char *line) {
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) return 0;
    controllers++;
    *path++ = 0;
    path[strcspn(path, "\n")] = 0;
    if (!*controllers) return path_quota(root, "", path);
    if (!lists_cpu(controllers)) return 0;
    double quota = path_quota(root, "/cpu", path);
    return quota > 0 ? quota : path_quota(root, "/cpu,cpuacct", path);
}

int parallel_quota(const char *root) {
    Text name = {0};
    text_printf(&name, "%s/proc/self/cgroup", root);
    FILE *stream = fopen(text_string(&name), "r");
    text_free(&name);
    if (!stream) return 0;
    double tightest = 0;
    char line[4096];
    while (fgets(line, sizeof line, stream)) {
        double quota = line_quota(root, line);
        if (quota > 0 && (tightest <= 0 || quota < tightest)) tightest = quota;
    }
    fclose(stream);
    if (tightest > INT_MAX / 2) return 0;
    int whole = (int)tightest;
    return whole < tightest ? whole + 1 : whole;
}

int parallel_cpus(void) {
    int cpus = affinity(), quota = parallel_quota("");
    return quota > 0 && quota < cpus ? quota : cpus;
}
