/* In: /proc and /sys. Out: the machine's model, caches and memory. A file that cannot be read is a
 * fact that is not known, never an error. */
#include "tuner/host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_line(const char *path, char *line, int size) {
    FILE *stream = fopen(path, "r");
    bool good = stream && fgets(line, size, stream);
    if (stream) fclose(stream);
    if (good) line[strcspn(line, "\n")] = 0;
    return good;
}

void host_model(char *text, size_t size) {
    char line[256];
    FILE *stream = fopen("/proc/cpuinfo", "r");
    snprintf(text, size, "%s", host_arch());
    while (stream && fgets(line, sizeof line, stream)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value += 1 + (value[1] == ' ');
        snprintf(text, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (stream) fclose(stream);
}

const char *host_arch(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return "x86-64-v2";
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") ? "x86-64-v4"
                                                                                   : "x86-64-v3";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "unknown";
#endif
}

/* Each has what those before it have; host_arch names the last that this machine has. */
static const char *const isa_levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
enum { ISA_LEVELS = sizeof isa_levels / sizeof *isa_levels };

static int isa_level(const char *name) {
    int level = 0;
    while (level < ISA_LEVELS && strcmp(isa_levels[level], name) != 0) level++;
    return level;
}

bool host_isa(const char **isa, Why *why) {
    const char *wanted = getenv("KFUSE_CPU_ISA"), *most = host_arch();
    *isa = NULL;
    if (!wanted || !*wanted) return true;
    if (isa_level(most) == ISA_LEVELS)
        return why_set(why, "KFUSE_CPU_ISA is for x86-64; this machine is %s", most);
    if (isa_level(wanted) == ISA_LEVELS)
        return why_set(
            why, "KFUSE_CPU_ISA='%.100s' is none of x86-64 x86-64-v2 x86-64-v3 x86-64-v4", wanted);
    if (isa_level(wanted) > isa_level(most))
        return why_set(why, "KFUSE_CPU_ISA=%s, and this machine has %s at most", wanted, most);
    *isa = isa_levels[isa_level(wanted)];
    return true;
}

/* --- caches */

typedef struct Cache {
    int level; /* 0: none */
    int64_t bytes;
    int first_cpu; /* of those that share it: names it */
} Cache;

static bool read_cache(int cpu, int index, Cache *cache) {
    char path[128], line[256];
    int used =
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/", cpu, index);
    char *file = path + used;
    size_t room = sizeof path - (size_t)used;
    snprintf(file, room, "level");
    if (!read_line(path, line, sizeof line)) return false;
    cache->level = atoi(line);
    snprintf(file, room, "size");
    if (!read_line(path, line, sizeof line)) return false;
    char *unit;
    cache->bytes = strtoll(line, &unit, 10) * (*unit == 'K' ? 1024 : *unit == 'M' ? 1 << 20 : 1);
    snprintf(file, room, "shared_cpu_list");
    cache->first_cpu = read_line(path, line, sizeof line) ? atoi(line) : cpu;
    return true;
}

static Cache last_level(int cpu) {
    Cache best = {0}, cache;
    for (int index = 0; read_cache(cpu, index, &cache); index++)
        if (cache.level > best.level) best = cache;
    return best;
}

int64_t host_cache(void) {
    cpu_set_t allowed, seen;
    int64_t bytes = 0;
    CPU_ZERO(&seen);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        Cache cache = last_level(cpu);
        if (cache.level == 0 || cache.first_cpu < 0 || cache.first_cpu >= CPU_SETSIZE ||
            CPU_ISSET(cache.first_cpu, &seen))
            continue;
        CPU_SET(cache.first_cpu, &seen);
        bytes += cache.bytes;
    }
    return bytes;
}

int64_t host_memory(void) {
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}
