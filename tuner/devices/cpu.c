/* The host's CPUs as a device. In: C text with entries `void NAME(void *const *args, int64_t part,
 * int64_t parts)`, args[i] pointing at the value of parameter i. Out: shared objects that a team of
 * threads runs, part by part. Addresses are pointers. A kernel that faults ends the process it runs
 * in: the bench's worker is there for that.
 *
 * Memory: every allocation ends at the end of a page with inaccessible ones behind (and before), so
 * that an access behind a tensor faults. Large ones are asked to be huge pages. */
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/base/parallel.h"
#include "tuner/arguments.h"
#include "tuner/elf_code.h"
#include "tuner/host.h"
#include "tuner/hostcc.h"
#include "tuner/jobs.h"

enum { PAGE = 4096, HUGE_PAGE = 2 << 20, FENCE = 4 << 20, ARGS_MAX = 1024, PARTS_MAX = 1024 };

typedef void Entry(void *const *args, int64_t part, int64_t parts);

typedef struct Block { /* an allocation */
    struct Block *next;
    Address address;
    char *mapping;
    size_t length, size; /* of the mapping; of what is not fence */
} Block;

struct DeviceState {
    Team *team;
    pthread_mutex_t calls; /* held by who runs on the team */
    Block *blocks;
    int64_t room; /* bytes that may still be allocated */
};

struct Module {
    void *library;
    int fd; /* kept while loaded: dlopen knows libraries by path, and the number is in it */
};

/* --- identity */

static int count(Why *why) {
    HostCompiler compiler;
    return hostcc_find(&compiler, why) ? 1 : 0;
}

/* What its kernels may use is part of what the device is. */
static void name_device(DeviceIdentity *identity, const char *isa) {
    char model[96];
    host_model(model, sizeof model);
    snprintf(identity->arch, sizeof identity->arch, "%s", isa ? isa : host_arch());
    snprintf(identity->title, sizeof identity->title, "%.64s (cpu, %s%s, %d CPU%s)", model,
             isa ? "held to " : "", identity->arch, identity->sms, identity->sms == 1 ? "" : "s");
    snprintf(identity->key, sizeof identity->key, "cpu %s %s%s cpus=%d glibc=%s", model,
             isa ? "held to " : "", identity->arch, identity->sms, gnu_get_libc_version());
}

static bool identify(int index, bool start, DeviceIdentity *identity, Why *why) {
    HostCompiler compiler;
    const char *isa;
    (void)start;
    *identity = (DeviceIdentity){0};
    if (index != 0) return why_set(why, "there is one cpu device, cpu:0");
    if (!hostcc_find(&compiler, why) || !hostcc_version(&compiler, why)) return false;
    if (!host_isa(&isa, why)) return false;
    Text options = {0};
    hostcc_options(&compiler, &options);
    identity->sms = parallel_cpus();
    identity->threads_per_block = PARTS_MAX;
    identity->memory = host_memory();
    identity->cache = host_cache();
    name_device(identity, isa);
    snprintf(identity->software, sizeof identity->software, "%s, glibc %s", compiler.version,
             gnu_get_libc_version());
    snprintf(identity->compiler, sizeof identity->compiler, "%s, options %016llx", compiler.version,
             (unsigned long long)XXH3_64bits(options.data, options.length));
    text_free(&options);
    return true;
}

/* --- compiling */

static bool warm(Why *why) {
    HostCompiler compiler;
    return hostcc_find(&compiler, why);
}

static Outcome compile(const CompileUnit *unit, const DeviceIdentity *identity, Text *binary,
                       Why *why) {
    HostCompiler compiler;
    if (!hostcc_find(&compiler, why)) return OUTCOME_COMPILE;
    compiler.clang = strncmp(identity->compiler, "clang", 5) == 0;
    return hostcc_compile(&compiler, unit->source, binary, why);
}

static bool resources(const void *binary, size_t size, const char *entry, Resources *out,
                      uint64_t *machine_code) {
    *out = (Resources){-1, -1, -1, -1};
    if (!elf_code_hash(binary, size, machine_code)) return false;
    /* Entries of a unit call what they share, so the whole object counts, and which of them it
     * is. */
    *machine_code ^= XXH3_64bits(entry, strlen(entry));
    return true;
}

/* --- memory */

static DeviceState *open(int index, bool current, Why *why) {
    (void)index, (void)current;
    DeviceState *state = calloc(1, sizeof *state);
    if (state) state->team = team_open(parallel_cpus());
    if (state && state->team) {
        state->room = jobs_memory("") / 10 * 9;
        pthread_mutex_init(&state->calls, NULL);
        return state;
    }
    free(state);
    why_set(why, "out of memory");
    return NULL;
}

static void drop(DeviceState *state, Block **link) {
    Block *block = *link;
    *link = block->next;
    state->room += (int64_t)block->size;
    munmap(block->mapping, block->length);
    free(block);
}

static void close_state(DeviceState *state) {
    if (!state) return;
    while (state->blocks) drop(state, &state->blocks);
    team_close(state->team);
    pthread_mutex_destroy(&state->calls);
    free(state);
}

static size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

/* Maps `size` bytes (whole pages) with a fence on both sides. NULL: no memory. */
static char *map_fenced(size_t size, char **mapping, size_t *length) {
    size_t unit = size >= HUGE_PAGE ? HUGE_PAGE : PAGE;
    *length = FENCE + size + unit + FENCE;
    *mapping = mmap(NULL, *length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*mapping == MAP_FAILED) return NULL;
    char *start = (char *)round_up((size_t)*mapping + FENCE, unit);
    if (size == 0 || mprotect(start, size, PROT_READ | PROT_WRITE) == 0) {
        if (unit == HUGE_PAGE) madvise(start, size, MADV_HUGEPAGE);
        return start;
    }
    munmap(*mapping, *length);
    return NULL;
}

static bool allocate(DeviceState *state, size_t bytes, Address *address, Why *why) {
    Block *block = calloc(1, sizeof *block);
    size_t size = round_up(bytes, PAGE);
    if (!block || bytes > PTRDIFF_MAX / 2 || (int64_t)size > state->room) {
        free(block);
        return why_set(why, "%zu MiB of memory are needed, %lld MiB are free", bytes >> 20,
                       (long long)state->room >> 20);
    }
    char *start = map_fenced(size, &block->mapping, &block->length);
    if (!start) {
        free(block);
        return why_set(why, "cannot map %zu MiB: %s", bytes >> 20, strerror(errno));
    }
    *address = block->address = (Address)(uintptr_t)(start + size - bytes);
    block->size = size;
    block->next = state->blocks;
    state->blocks = block;
    state->room -= (int64_t)size;
    return true;
}

static void release(DeviceState *state, Address address) {
    for (Block **link = &state->blocks; *link; link = &(*link)->next)
        if ((*link)->address == address) {
            drop(state, link);
            return;
        }
}

static bool upload(DeviceState *state, Address to, const void *from, size_t bytes, Why *why) {
    (void)state, (void)why;
    if (bytes > 0) memcpy((void *)(uintptr_t)to, from, bytes);
    return true;
}

static bool download(DeviceState *state, void *to, Address from, size_t bytes, Why *why) {
    (void)state, (void)why;
    if (bytes > 0) memcpy(to, (const void *)(uintptr_t)from, bytes);
    return true;
}

/* --- modules */

static bool fill(int fd, const char *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t written = write(fd, bytes + done, size - done);
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) done += (size_t)written;
    }
    return true;
}

static void unload(DeviceState *state, Module *module) {
    (void)state;
    if (!module) return;
    if (module->library) dlclose(module->library);
    if (module->fd >= 0) close(module->fd);
    free(module);
}

/* Reads a byte of every page of the library at `address`. */
static int touch(struct dl_phdr_info *info, size_t size, void *address) {
    (void)size;
    if (info->dlpi_addr != *(const ElfW(Addr) *)address) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const volatile char *begin = (const char *)(info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R)) continue;
        for (size_t at = 0; at < segment->p_memsz; at += PAGE) (void)begin[at];
    }
    return 1;
}

/* A constant read under a mask that is always empty never brings its page in, and each such read of a
 * missing page costs a hundred times an ordinary one: x + z in bf16 took 10 ms in place of 0.2. */
static void bring_in(void *library) {
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) dl_iterate_phdr(touch, &map->l_addr);
}

static Module *load(DeviceState *state, const void *binary, size_t size, Why *why) {
    char path[64];
    Module *module = calloc(1, sizeof *module);
    if (!module) return why_set(why, "out of memory"), NULL;
    module->fd = memfd_create("kfuse-kernel", MFD_CLOEXEC);
    if (module->fd < 0 || !fill(module->fd, binary, size)) {
        why_set(why, "no memory for a kernel: %s", strerror(errno));
        unload(state, module);
        return NULL;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", module->fd);
    module->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module->library) return bring_in(module->library), module;
    why_set(why, "cannot load a kernel: %s", dlerror());
    unload(state, module);
    return NULL;
}

/* --- running */

typedef struct Ready {
    const Launch *launch;
    Arguments arguments;
    Entry *entry, *twin; /* the twin takes any alignment; NULL: so does the entry */
    int64_t parts;
} Ready;

struct Prepared {
    Arena *arena;
    DeviceState *state;
    uint32_t count;
    Ready *list; /* those that launch anything */
};

static bool find_entry(Module *module, const char *name, Entry **entry, Why *why) {
    void *symbol = dlsym(module->library, name);
    memcpy(entry, &symbol, sizeof symbol);
    return symbol || why_set(why, "the kernel has no entry '%.100s'", name);
}

static bool make_ready(Arena *arena, const Launch *launch, Module *const *modules, Ready *ready,
                       Why *why) {
    Module *module = modules[launch->module];
    if (launch->arg_count > ARGS_MAX)
        return why_set(why, "%u arguments, %d are possible", launch->arg_count, ARGS_MAX);
    ready->launch = launch;
    ready->parts = launch->block[0] < 1 ? 1 : launch->block[0];
    ready->arguments = arguments_lay(arena, launch);
    return find_entry(module, launch->entry, &ready->entry, why) &&
           (!launch->twin || launch->alignment <= 1 ||
            find_entry(module, launch->twin, &ready->twin, why));
}

static void discard(Prepared *prepared) {
    if (prepared) arena_close(prepared->arena);
}

static Outcome prepare(DeviceState *state, const Run *run, Module *const *modules,
                       Prepared **prepared, Why *why) {
    Arena *arena = arena_open();
    Prepared *p = *prepared = arena_new(arena, Prepared);
    *p = (Prepared){arena, state, 0, arena_array(arena, Ready, run->launches.count)};
    for (uint32_t i = 0; i < run->launches.count; i++) {
        const Launch *launch = &run->launches.data[i];
        if (launch_is_empty(launch)) continue;
        if (make_ready(arena, launch, modules, &p->list[p->count++], why)) continue;
        discard(p);
        *prepared = NULL;
        return OUTCOME_LAUNCH;
    }
    return OUTCOME_OK;
}

typedef struct Call {
    Entry *entry;
    int64_t parts;
    const void *pointers[ARGS_MAX];
} Call;

static void run_part(void *context, int64_t part) {
    Call *call = context;
    call->entry((void *const *)call->pointers, part, call->parts);
}

/* The team does one call at a time. */
static void run_ready(DeviceState *state, const Ready *ready, const Address *buffers) {
    Call call;
    Address bits = arguments_point(&ready->arguments, buffers, call.pointers);
    call.entry = ready->twin && bits % ready->launch->alignment != 0 ? ready->twin : ready->entry;
    call.parts = ready->parts;
    if (call.parts == 1) {
        run_part(&call, 0);
        return;
    }
    pthread_mutex_lock(&state->calls);
    team_run(state->team, call.parts, run_part, &call);
    pthread_mutex_unlock(&state->calls);
}

static Outcome start(const Prepared *prepared, const Address *buffers, void *stream, Why *why) {
    (void)stream, (void)why;
    for (uint32_t i = 0; i < prepared->count; i++)
        run_ready(prepared->state, &prepared->list[i], buffers);
    return OUTCOME_OK;
}

static Outcome launch_run(DeviceState *state, const Run *run, Module *const *modules,
                          const Address *buffers, void *stream, Why *why) {
    Prepared *prepared;
    Outcome outcome = prepare(state, run, modules, &prepared, why);
    if (outcome == OUTCOME_OK) outcome = start(prepared, buffers, stream, why);
    discard(prepared);
    return outcome;
}

static Outcome finish(DeviceState *state, Why *why) {
    (void)state, (void)why;
    return OUTCOME_OK;
}

static double now(void) {
    struct timespec time_now;
    clock_gettime(CLOCK_MONOTONIC, &time_now);
    return (double)time_now.tv_sec + 1e-9 * (double)time_now.tv_nsec;
}

static Outcome time_run(DeviceState *state, const Run *run, Module *const *modules,
                        const Address *const *buffers, uint32_t sets, uint32_t repeats,
                        double *seconds, Why *why) {
    Prepared *prepared;
    Outcome outcome = prepare(state, run, modules, &prepared, why);
    double begin = now();
    for (uint32_t r = 0; r < repeats && outcome == OUTCOME_OK; r++)
        outcome = start(prepared, buffers[r % sets], NULL, why);
    *seconds = now() - begin;
    discard(prepared);
    return outcome;
}

static void conditions(DeviceState *state, char *text, size_t size) {
    (void)state;
    if (size > 0) text[0] = 0;
}

const Device device_cpu = {
    .name = "cpu",
    .language = "c",
    .host_exclusive = true,
    .fenced = true,
    .accuracy = ACCURACY_C,
    .count = count,
    .identify = identify,
    .warm = warm,
    .compile = compile,
    .resources = resources,
    .open = open,
    .close = close_state,
    .allocate = allocate,
    .release = release,
    .upload = upload,
    .download = download,
    .load = load,
    .unload = unload,
    .launch = launch_run,
    .prepare = prepare,
    .start = start,
    .discard = discard,
    .finish = finish,
    .time = time_run,
    .oracle = NULL,
    .conditions = conditions,
};
