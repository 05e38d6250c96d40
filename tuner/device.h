/* Device: a way to compile and run. A file in devices/ that defines `const Device device_NAME` is
 * registered by being there (device_table). All calls return false (or an Outcome) with a message
 * in `why`; none exits. Compiling happens in compile workers, running in a measuring worker or, for
 * a launch, in the caller. */
#ifndef KF_DEVICE_H
#define KF_DEVICE_H

#include "tuner/result.h"
#include "tuner/run.h"

enum { WHY_MAX = 512 };
typedef struct Why {
    char text[WHY_MAX];
} Why;
bool why_set(Why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* returns false */

typedef struct DeviceIdentity {
    char title[128];    /* "NVIDIA H200 (cuda:0, sm_90, 132 SMs)" */
    char software[128]; /* "NVRTC 13.0, driver 580.159.04", "gcc 12.2.0, glibc 2.36" */
    char key[256];      /* what results depend on; architecture.md, "The store" */
    char compiler[128]; /* what binaries depend on */
    char arch[32];      /* "sm_90", "x86-64-v3" */
    int32_t sms;        /* multiprocessors, or CPUs */
    int32_t registers_per_block, shared_per_block, threads_per_block;
    int64_t memory, cache; /* bytes: device memory, last-level cache */
} DeviceIdentity;

typedef struct CompileUnit {
    const char *source; /* whole translation unit */
    const char *name;   /* for messages */
    bool quick;         /* soon rather than fast: the oracle, which runs a few times */
} CompileUnit;

typedef struct DeviceState
    DeviceState;                  /* an open device; opaque, one per process and thread of use */
typedef struct Module Module;     /* a loaded binary */
typedef struct Prepared Prepared; /* a Run whose launches need nothing more than addresses */
typedef uint64_t Address;         /* in device memory (a pointer on the cpu) */

typedef struct Device {
    const char *name, *language;
    bool host_exclusive; /* its timings share the compilers' cores: never compile while timing */
    bool fenced;         /* an access behind an allocation's end faults: no guard is owed there */
    bool imaginary;      /* runs nothing (null): there are no results to judge */
    Accuracy accuracy;

    /* Devices of this kind; 0 with the reason and what to install in `why`. Must not start a
     * driver's context. */
    int (*count)(Why *why);
    /* `start`: may start the driver; otherwise answers from files (false if it cannot). */
    bool (*identify)(int index, bool start, DeviceIdentity *identity, Why *why);

    /* In a compile worker. `warm` loads the compiler ahead of work. */
    bool (*warm)(Why *why);
    Outcome (*compile)(const CompileUnit *unit, const DeviceIdentity *identity, Text *binary,
                       Why *why);
    /* Per entry of a binary. */
    bool (*resources)(const void *binary, size_t size, const char *entry, Resources *resources,
                      uint64_t *machine_code);

    /* Running. `current`: use the caller's current context and stream (library), else own ones, which
     * the calling thread has then entered. */
    DeviceState *(*open)(int index, bool current, Why *why);
    /* Makes the state's context the calling thread's, whoever opened it, and gives back the one before.
     * NULL: there are no contexts. */
    bool (*enter)(DeviceState *state, Why *why);
    void (*leave)(DeviceState *state);
    /* The context that the calling thread launches in; 0: none. NULL: there are no contexts. */
    uintptr_t (*here)(const DeviceState *state);
    /* Whether it orders launches on this stream for each thread by itself. NULL: it always does. */
    bool (*by_thread)(const void *stream);
    void (*close)(DeviceState *state);
    bool (*allocate)(DeviceState *state, size_t bytes, Address *address, Why *why);
    void (*release)(DeviceState *state, Address address);
    bool (*upload)(DeviceState *state, Address to, const void *from, size_t bytes, Why *why);
    bool (*download)(DeviceState *state, void *to, Address from, size_t bytes, Why *why);
    Module *(*load)(DeviceState *state, const void *binary, size_t size, Why *why);
    void (*unload)(DeviceState *state, Module *module);
    /* Enqueues the run once. `buffers[b]`: address of each buffer of the Run. `stream` NULL: the
     * state's own. */
    Outcome (*launch)(DeviceState *state, const Run *run, Module *const *modules,
                      const Address *buffers, void *stream, Why *why);
    /* The same in two halves: what a launch can have ready, and a launch, which several threads may
     * start at once. Modules and run outlive it. NULL: there is `launch` alone (imaginary devices). */
    Outcome (*prepare)(DeviceState *state, const Run *run, Module *const *modules,
                       Prepared **prepared, Why *why);
    Outcome (*start)(const Prepared *prepared, const Address *buffers, void *stream, Why *why);
    void (*discard)(Prepared *prepared);
    Outcome (*finish)(DeviceState *state, Why *why); /* waits; reports a fault */
    /* Elapsed seconds of `repeats` runs back to back, call i on buffer set i mod `sets`
     * (buffers[set]), as little launch cost inside as the device allows (a graph). */
    Outcome (*time)(DeviceState *state, const Run *run, Module *const *modules,
                    const Address *const *buffers, uint32_t sets, uint32_t repeats, double *seconds,
                    Why *why);
    /* Where whole outputs are judged on the device (cuda): the kernels of an Ir's oracle, or (NULL)
     * those that know none. NULL itself: the host's memory is used directly. */
    void (*oracle)(Text *source, const Ir *ir);
    /* Clocks and temperature for the report: "SM 1980 MHz, 41 C", or "". */
    void (*conditions)(DeviceState *state, char *text, size_t size);
} Device;

extern const Device *const device_table[]; /* NULL-terminated, in name order */
const Device *device_find(const char *name);
/* Identity as lines of text, for the store's record of the last start, and back. */
void identity_save(Text *out, const DeviceIdentity *identity);
bool identity_load(const char *text, DeviceIdentity *identity);
/* "cuda:0", "cpu", NULL (a GPU if there is one, else cpu). False with the choices in `why`. */
bool device_select(const char *text, const Device **device, int *index, Why *why);

#endif
