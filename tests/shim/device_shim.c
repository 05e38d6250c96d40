/* In: CUDA source, Runs. Out: results, or what a kernel did that CUDA does not allow. The idea:
 * memory is one reserved range with a byte beside each of its bytes that says whether kernels may
 * touch it, and the compiler's address sanitizer asks before every access (shim.h). */
#include "tests/shim/device_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/shim/block.h"
#include "tests/shim/fiber.h"
#include "tuner/hostcc.h"

enum { ALIGNMENT = 256 };
static const size_t memory_size = (size_t)4 << 30; /* reserved; what is touched is used */

struct DeviceState {
    char *memory;
    unsigned char *allowed;
    size_t used;
    Address shared; /* dynamic shared memory of the launch */
    size_t shared_size;
    Block *block;
};

struct Module {
    void *library;
    BlockUnit *unit;
    int fd;
};

/* --- compiling */

static const char *const options[] = {
    "-xc++",
    "-std=c++17",
    "-O1",
    "-w",
    "-pipe",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-I" TEST_SOURCE "/tests/shim",
    "-fsanitize=kernel-address",
    "--param=asan-instrumentation-with-call-threshold=0",
    "--param=asan-stack=0",
    "--param=asan-globals=0",
    "-fsanitize=alignment,bounds",
    "-fno-sanitize-recover=alignment,bounds",
    NULL,
};

static void set_compiler(HostCompiler *compiler) {
    *compiler = (HostCompiler){.text = "g++", .options = options};
    compiler->words[0] = compiler->text;
}

static bool warm(Why *why) {
    const CompileUnit unit = {"", "warm.cu", false};
    DeviceIdentity identity;
    Text binary = {0};
    bool good = device_shim.compile(&unit, &identity, &binary, why) == OUTCOME_OK;
    text_free(&binary);
    return good;
}

static int count(Why *why) {
    if (!FIBER_KNOWN) return why_set(why, "the shim knows x86-64 and aarch64");
    return warm(why);
}

static bool identify(int index, bool start, DeviceIdentity *identity, Why *why) {
    (void)index, (void)start, (void)why;
    *identity = (DeviceIdentity){.title = "shim", .key = "shim", .arch = "shim", .sms = 2};
    identity->threads_per_block = BLOCK_THREADS;
    identity->shared_per_block = 227 << 10;
    return true;
}

static Outcome compile(const CompileUnit *unit, const DeviceIdentity *identity, Text *binary,
                       Why *why) {
    HostCompiler compiler;
    Text source = {0};
    (void)identity;
    set_compiler(&compiler);
    text_printf(&source, "#include \"shim.h\"\n#line 1 \"%s\"\n%s", unit->name, unit->source);
    Outcome outcome = hostcc_compile(&compiler, text_string(&source), binary, why);
    text_free(&source);
    return outcome;
}

static bool resources(const void *binary, size_t size, const char *entry, Resources *resources,
                      uint64_t *machine_code) {
    (void)binary, (void)size, (void)entry;
    *resources = (Resources){-1, -1, -1, -1};
    *machine_code = 0;
    return true;
}

/* --- memory */

void shim_forbid(DeviceState *state, Address from, size_t bytes) {
    memset(state->allowed + ((char *)(uintptr_t)from - state->memory), 0, bytes);
}

void shim_allow(DeviceState *state, Address from, size_t bytes) {
    memset(state->allowed + ((char *)(uintptr_t)from - state->memory), 1, bytes);
}

uint64_t shim_waits(const DeviceState *state) {
    return block_waits(state->block);
}

static void *reserve(void) {
    void *memory = mmap(NULL, memory_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void close_state(DeviceState *state) {
    if (!state) return;
    if (state->memory) munmap(state->memory, memory_size);
    if (state->allowed) munmap(state->allowed, memory_size);
    if (state->block) block_close(state->block);
    free(state);
}

static DeviceState *open(int index, bool current, Why *why) {
    (void)index, (void)current;
    DeviceState *state = calloc(1, sizeof *state);
    if (!state) abort();
    state->memory = reserve();
    state->allowed = reserve();
    state->block = block_open();
    if (state->memory && state->allowed && state->block) return state;
    why_set(why, "no address space for the shim: %s", strerror(errno));
    close_state(state);
    return NULL;
}

/* The size stands before the first byte. */
static bool allocate(DeviceState *state, size_t bytes, Address *address, Why *why) {
    size_t begin = (state->used + sizeof bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes > memory_size - begin) return why_set(why, "the shim's memory is used up");
    *address = (Address)(uintptr_t)(state->memory + begin);
    memcpy(state->memory + begin - sizeof bytes, &bytes, sizeof bytes);
    state->used = begin + bytes;
    shim_allow(state, *address, bytes);
    return true;
}

/* Addresses are not given twice: what is used after its release faults. */
static void release(DeviceState *state, Address address) {
    size_t bytes;
    memcpy(&bytes, (char *)(uintptr_t)address - sizeof bytes, sizeof bytes);
    shim_forbid(state, address, bytes);
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

static void unload(DeviceState *state, Module *module) {
    (void)state;
    if (!module) return;
    if (module->library) dlclose(module->library);
    if (module->fd >= 0) close(module->fd);
    free(module);
}

static bool find_unit(Module *module) {
    BlockUnit *(*unit)(void);
    void *symbol = dlsym(module->library, "block_unit");
    memcpy(&unit, &symbol, sizeof unit);
    if (symbol) module->unit = unit();
    return symbol != NULL;
}

static Module *load(DeviceState *state, const void *binary, size_t size, Why *why) {
    char path[64];
    Module *module = calloc(1, sizeof *module);
    if (!module) abort();
    module->fd = memfd_create("shim-kernel", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", module->fd);
    if (module->fd >= 0 && write(module->fd, binary, size) == (ssize_t)size)
        module->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module->library && find_unit(module)) return module;
    why_set(why, "cannot load a kernel: %s", module->library ? "no unit in it" : dlerror());
    unload(state, module);
    return NULL;
}

/* --- running */

#if defined(__x86_64__)
enum { WHOLE_REGISTERS = 6, REAL_REGISTERS = 8, STACK_WORDS = 32 };
#else
enum { WHOLE_REGISTERS = 8, REAL_REGISTERS = 8, STACK_WORDS = 32 };
#endif

typedef union Word {
    uint64_t bits;
    Address address;
    int64_t i64;
    int32_t i32;
    float f32;
    double f64;
} Word;

static Word word_of(const Arg *arg, const Address *buffers) {
    Word word = {0};
    switch (arg->kind) {
    case ARG_BUFFER: word.address = buffers[arg->buffer]; break;
    case ARG_I64: word.i64 = arg->value.whole; break;
    case ARG_I32: word.i32 = (int32_t)arg->value.whole; break;
    case ARG_F32: word.f32 = (float)arg->value.real; break;
    case ARG_F64: word.f64 = arg->value.real; break;
    }
    return word;
}

static bool set_args(BlockCall *call, const Launch *launch, const Address *buffers, Why *why) {
    int wholes = 0, reals = 0, stacked = 0;
    for (uint32_t i = 0; i < launch->arg_count; i++) {
        Word word = word_of(&launch->args[i], buffers);
        bool real = launch->args[i].kind == ARG_F32 || launch->args[i].kind == ARG_F64;
        if (real && reals < REAL_REGISTERS)
            call->real[reals++] = word.f64;
        else if (!real && wholes < WHOLE_REGISTERS)
            call->whole[wholes++] = word.bits;
        else if (stacked < STACK_WORDS)
            call->stack[stacked++] = word.bits;
        else
            return why_set(why, "%u arguments are too many for the shim", launch->arg_count);
    }
    return true;
}

static bool aligned(const Launch *launch, const Address *buffers) {
    for (uint32_t i = 0; i < launch->arg_count; i++)
        if (launch->args[i].kind == ARG_BUFFER &&
            buffers[launch->args[i].buffer] % launch->alignment != 0)
            return false;
    return true;
}

/* Dynamic shared memory is the device's, as long as this launch wants it. */
static bool set_shared(DeviceState *state, BlockUnit *unit, const Launch *launch, Why *why) {
    size_t size = (size_t)launch->shared;
    if (size > state->shared_size) {
        if (!allocate(state, size, &state->shared, why)) return false;
        state->shared_size = size;
    }
    if (state->shared_size > 0) shim_forbid(state, state->shared, state->shared_size);
    if (size > 0) shim_allow(state, state->shared, size);
    unit->shared = (void *)(uintptr_t)state->shared;
    unit->shared_size = size;
    return true;
}

static Outcome launch_one(DeviceState *state, const Launch *launch, const Module *module,
                          const Address *buffers, Why *why) {
    BlockCall call = {0};
    if (launch->cluster > 1) {
        why_set(why, "the shim has no clusters");
        return OUTCOME_INFEASIBLE;
    }
    bool twin = launch->alignment > 1 && !aligned(launch, buffers);
    const char *entry = twin ? launch->twin : launch->entry;
    void *symbol = entry ? dlsym(module->library, entry) : NULL;
    if (!symbol) {
        why_set(why, "no entry '%.200s'", entry ? entry : "for what is not aligned");
        return OUTCOME_LAUNCH;
    }
    memcpy(&call.entry, &symbol, sizeof symbol);
    module->unit->memory = (uintptr_t)state->memory;
    module->unit->size = memory_size;
    module->unit->allowed = state->allowed;
    if (!set_args(&call, launch, buffers, why) || !set_shared(state, module->unit, launch, why))
        return OUTCOME_LAUNCH;
    return block_launch(state->block, module->unit, &call, launch->grid, launch->block, why->text)
               ? OUTCOME_OK
               : OUTCOME_CRASH;
}

static bool is_empty(const Launch *launch) {
    return launch->grid[0] == 0 || launch->grid[1] == 0 || launch->grid[2] == 0;
}

static Outcome launch_run(DeviceState *state, const Run *run, Module *const *modules,
                          const Address *buffers, void *stream, Why *why) {
    Outcome outcome = OUTCOME_OK;
    (void)stream;
    for (uint32_t i = 0; i < run->launches.count && outcome == OUTCOME_OK; i++) {
        const Launch *launch = &run->launches.data[i];
        if (!is_empty(launch))
            outcome = launch_one(state, launch, modules[launch->module], buffers, why);
    }
    return outcome;
}

static Outcome finish(DeviceState *state, Why *why) {
    (void)state, (void)why;
    return OUTCOME_OK;
}

const Device device_shim = {
    .name = "shim",
    .language = "cuda",
    .fenced = true,
    .accuracy = ACCURACY_CUDA,
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
    .finish = finish,
};
