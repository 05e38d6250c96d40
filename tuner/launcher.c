/* In: a tuned Run, pointers. Out: the launch. The one idea: a context has its modules loaded and its launches
 * prepared when it is launched in for the first time, so that a launch looks at its pointers and starts. What is
 * found so never changes and is only added to: threads need no lock to launch. */
#include "tuner/launcher.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Temporaries of one queue of launches: those of another may run at the same time. */
typedef struct Workspace {
    struct Workspace *next;
    uintptr_t queue;
    Address temporaries[];
} Workspace;

/* A context that the Run is loaded in. */
typedef struct Home {
    struct Home *next;
    uintptr_t here;
    DeviceState *state;
    Module **modules;
    Prepared *prepared;
    _Atomic(Workspace *) workspaces;
} Home;

typedef struct Array {
    const char *name;
    uint64_t before, bytes; /* from the lowest address to element 0, and in all */
    Address odd;            /* bits that no address of an element has */
    int64_t updates;        /* of an output: the input that it updates, or -1 */
} Array;

struct Launcher {
    const Device *device;
    int index;
    bool current;
    const Ir *ir;
    const Run *run;
    const Binary *binaries;
    uint32_t binary_count, inputs, arrays,
        buffers; /* arrays: and outputs; buffers: and temporaries */
    Array *list;
    pthread_mutex_t opening, running;
    _Atomic(Home *) homes;
};

/* --- arrays */

int64_t launcher_extent(const Type *type, const int64_t *strides, int64_t *before) {
    int64_t low = 0, high = 0;
    for (uint32_t d = 0; d < type->rank; d++) {
        if (type->dim[d] == 0) return *before = 0, 0;
        int64_t reach = strides[d] * (type->dim[d] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    int64_t size = dtype_info(type->dtype)->bytes;
    *before = -low * size;
    return (high - low + 1) * size;
}

static Array array_of(const char *name, const Type *type, const int64_t *strides, int64_t updates) {
    int64_t before, bytes = launcher_extent(type, strides, &before);
    return (Array){name, (uint64_t)before, (uint64_t)bytes,
                   (Address)dtype_info(type->dtype)->bytes - 1, updates};
}

static void list_arrays(Launcher *l) {
    for (uint32_t i = 0; i < l->inputs; i++) {
        const IrInput *in = &l->ir->inputs.data[i];
        l->list[i] = array_of(in->name, &in->type, in->strides, -1);
    }
    for (uint32_t o = 0; o < l->ir->outputs.count; o++) {
        const IrOutput *out = &l->ir->outputs.data[o];
        l->list[l->inputs + o] = array_of(out->name, &out->type, out->strides, out->updates);
    }
}

/* Inputs, then outputs. */
static bool take(const Launcher *l, const void *const *inputs, void *const *outputs,
                 Address *buffers, Why *why) {
    for (uint32_t a = 0; a < l->arrays; a++) {
        const Array *array = &l->list[a];
        const void *pointer = a < l->inputs ? inputs[a] : outputs[a - l->inputs];
        buffers[a] = (Address)(uintptr_t)pointer;
        if (!pointer && array->bytes > 0) return why_set(why, "'%s' is NULL", array->name);
    }
    return true;
}

static bool are_apart(const Array *a, Address at_a, const Array *b, Address at_b) {
    Address begin_a = at_a - a->before, begin_b = at_b - b->before;
    Address end_a = begin_a + a->bytes, end_b = begin_b + b->bytes;
    return (begin_a > begin_b ? begin_a : begin_b) >= (end_a < end_b ? end_a : end_b);
}

/* Why output `o` cannot be launched on these. */
static bool refuse(const Launcher *l, uint32_t o, uint32_t other, Why *why) {
    const char *output = l->list[o].name, *name = l->list[other].name;
    if (l->list[o].updates == (int64_t)other)
        return why_set(why, "output '%s' updates input '%s' in place: give both one pointer",
                       output, name);
    if (other < l->inputs) return why_set(why, "output '%s' overlaps input '%s'", output, name);
    return why_set(why, "outputs '%s' and '%s' overlap", name, output);
}

static bool may_launch(const Launcher *l, const Address *buffers, Why *why) {
    for (uint32_t a = 0; a < l->arrays; a++) {
        const Array *array = &l->list[a];
        if (buffers[a] & array->odd)
            return why_set(why, "'%s' is not aligned to its elements", array->name);
        for (uint32_t b = 0; a >= l->inputs && b < a; b++)
            if (array->updates == (int64_t)b
                    ? buffers[a] != buffers[b]
                    : !are_apart(array, buffers[a], &l->list[b], buffers[b]))
                return refuse(l, a, b, why);
    }
    return true;
}

/* --- contexts */

static void close_workspace(const Launcher *l, const Home *home, Workspace *w) {
    for (uint32_t i = 0; i < l->run->temporaries.count; i++)
        if (w->temporaries[i]) l->device->release(home->state, w->temporaries[i]);
    free(w);
}

static void close_home(Launcher *l, Home *home) {
    const Device *device = l->device;
    Why ignored;
    bool inside = home->state && (!device->enter || device->enter(home->state, &ignored));
    for (Workspace *w = atomic_load(&home->workspaces), *next; w; w = next) {
        next = w->next;
        if (inside)
            close_workspace(l, home, w);
        else
            free(w); /* its memory went with the context */
    }
    if (home->prepared) device->discard(home->prepared);
    for (uint32_t i = 0; inside && home->modules && i < l->binary_count; i++)
        device->unload(home->state, home->modules[i]);
    if (inside && device->leave) device->leave(home->state);
    if (home->state) device->close(home->state);
    free(home->modules);
    free(home);
}

static bool load(Launcher *l, Home *home, Why *why) {
    for (uint32_t i = 0; i < l->binary_count; i++) {
        const Binary *binary = &l->binaries[i];
        home->modules[i] = l->device->load(home->state, binary->bytes, binary->size, why);
        if (!home->modules[i]) return false;
    }
    return l->device->prepare(home->state, l->run, home->modules, &home->prepared, why) ==
           OUTCOME_OK;
}

static bool fill_home(Launcher *l, Home *home, Why *why) {
    const Device *device = l->device;
    home->modules = calloc(l->binary_count + 1, sizeof(Module *));
    if (!home->modules) return why_set(why, "out of memory");
    home->state = device->open(l->index, l->current, why);
    if (!home->state) return false;
    if (l->current && device->here) home->here = device->here(home->state);
    if (!l->current && device->leave) device->leave(home->state);
    if (device->enter && !device->enter(home->state, why)) return false;
    bool loaded = load(l, home, why);
    if (device->leave) device->leave(home->state);
    return loaded;
}

static Home *open_home(Launcher *l, Why *why) {
    Home *home = calloc(1, sizeof *home);
    if (!home) return why_set(why, "out of memory"), NULL;
    if (fill_home(l, home, why)) return home;
    close_home(l, home);
    return NULL;
}

/* That of the context which the thread is in; NULL: it has not been launched in. */
static Home *find_home(Launcher *l) {
    Home *home = atomic_load_explicit(&l->homes, memory_order_acquire);
    if (!home || !l->current || !l->device->here) return home;
    for (uintptr_t here = l->device->here(home->state); home && home->here != here;)
        home = home->next;
    return home;
}

static Home *home_of(Launcher *l, Why *why) {
    Home *home = find_home(l);
    if (home) return home;
    pthread_mutex_lock(&l->opening);
    home = find_home(l);
    if (!home && (home = open_home(l, why))) {
        home->next = atomic_load(&l->homes);
        atomic_store_explicit(&l->homes, home, memory_order_release);
    }
    pthread_mutex_unlock(&l->opening);
    return home;
}

/* --- temporaries */

/* Launches that run one after the other may share theirs. */
static uintptr_t queue_of(const Launcher *l, const void *stream) {
    static _Thread_local char thread;
    return !l->device->by_thread || l->device->by_thread(stream) ? (uintptr_t)&thread
                                                                 : (uintptr_t)stream;
}

static Workspace *find_workspace(Home *home, uintptr_t queue) {
    Workspace *w = atomic_load_explicit(&home->workspaces, memory_order_acquire);
    while (w && w->queue != queue) w = w->next;
    return w;
}

static Workspace *open_workspace(const Launcher *l, Home *home, uintptr_t queue, Why *why) {
    uint32_t count = l->run->temporaries.count;
    Workspace *w = calloc(1, sizeof *w + count * sizeof(Address));
    if (!w) return why_set(why, "out of memory"), NULL;
    w->queue = queue;
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = (size_t)l->run->temporaries.data[i];
        if (l->device->allocate(home->state, bytes, &w->temporaries[i], why)) continue;
        w->temporaries[i] = 0;
        close_workspace(l, home, w);
        return NULL;
    }
    return w;
}

static Workspace *workspace_of(Launcher *l, Home *home, uintptr_t queue, Why *why) {
    Workspace *w = find_workspace(home, queue);
    if (w) return w;
    pthread_mutex_lock(&l->opening);
    w = find_workspace(home, queue);
    if (!w && (w = open_workspace(l, home, queue, why))) {
        w->next = atomic_load(&home->workspaces);
        atomic_store_explicit(&home->workspaces, w, memory_order_release);
    }
    pthread_mutex_unlock(&l->opening);
    return w;
}

static bool add_temporaries(Launcher *l, Home *home, const void *stream, Address *buffers,
                            Why *why) {
    uint32_t count = l->run->temporaries.count;
    if (count == 0) return true;
    const Workspace *w = workspace_of(l, home, queue_of(l, stream), why);
    if (w) memcpy(&buffers[l->arrays], w->temporaries, count * sizeof(Address));
    return w != NULL;
}

/* --- the launcher */

Launcher *launcher_open(const Device *device, int index, bool current, const Ir *ir, const Run *run,
                        const Binary *binaries, uint32_t binary_count) {
    Launcher *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    *l = (Launcher){.device = device,
                    .index = index,
                    .current = current,
                    .ir = ir,
                    .run = run,
                    .binaries = binaries,
                    .binary_count = binary_count,
                    .inputs = ir->inputs.count,
                    .arrays = ir->inputs.count + ir->outputs.count};
    l->buffers = l->arrays + run->temporaries.count;
    l->list = calloc(l->arrays + 1, sizeof *l->list);
    if (!l->list) return free(l), NULL;
    pthread_mutex_init(&l->opening, NULL);
    pthread_mutex_init(&l->running, NULL);
    list_arrays(l);
    return l;
}

void launcher_close(Launcher *l) {
    if (!l) return;
    for (Home *home = atomic_load(&l->homes), *next; home; home = next) {
        next = home->next;
        close_home(l, home);
    }
    pthread_mutex_destroy(&l->opening);
    pthread_mutex_destroy(&l->running);
    free(l->list);
    free(l);
}

static bool launch(Launcher *l, const void *const *inputs, void *const *outputs, Address *buffers,
                   void *stream, bool *refused, Why *why) {
    *refused = !take(l, inputs, outputs, buffers, why) || !may_launch(l, buffers, why);
    if (*refused) return false;
    Home *home = home_of(l, why);
    return home && add_temporaries(l, home, stream, buffers, why) &&
           l->device->start(home->prepared, buffers, stream, why) == OUTCOME_OK;
}

enum { FEW_BUFFERS = 32 };

bool launcher_launch(Launcher *l, const void *const *inputs, void *const *outputs, void *stream,
                     bool *refused, Why *why) {
    Address few[FEW_BUFFERS], *many;
    *refused = false;
    if (l->buffers <= FEW_BUFFERS) return launch(l, inputs, outputs, few, stream, refused, why);
    many = malloc(l->buffers * sizeof *many);
    if (!many) return why_set(why, "out of memory");
    bool ok = launch(l, inputs, outputs, many, stream, refused, why);
    free(many);
    return ok;
}

/* --- on host arrays */

typedef struct Copies {
    Launcher *launcher;
    DeviceState *state;
    Address *host, *owned, *buffers; /* arrays there; allocations here; element 0 here */
} Copies;

/* Strided outputs keep what lies between their elements. */
static bool copy_in(Copies *c, uint32_t a, Why *why) {
    const Launcher *l = c->launcher;
    const Array *array = &l->list[a];
    if (a >= l->inputs && array->updates >= 0) {
        c->buffers[a] = c->buffers[array->updates];
        return true;
    }
    if (!l->device->allocate(c->state, array->bytes, &c->owned[a], why)) return false;
    c->buffers[a] = c->owned[a] + array->before;
    return l->device->upload(c->state, c->owned[a],
                             (const void *)(uintptr_t)(c->host[a] - array->before), array->bytes,
                             why);
}

static bool copy_out(Copies *c, uint32_t a, Why *why) {
    const Array *array = &c->launcher->list[a];
    return c->launcher->device->download(c->state, (void *)(uintptr_t)(c->host[a] - array->before),
                                         c->buffers[a] - array->before, array->bytes, why);
}

static bool copy_and_launch(Copies *c, Home *home, Why *why) {
    Launcher *l = c->launcher;
    for (uint32_t a = 0; a < l->arrays; a++)
        if (!copy_in(c, a, why)) return false;
    if (!add_temporaries(l, home, NULL, c->buffers, why) ||
        l->device->start(home->prepared, c->buffers, NULL, why) != OUTCOME_OK ||
        l->device->finish(c->state, why) != OUTCOME_OK)
        return false;
    for (uint32_t a = l->inputs; a < l->arrays; a++)
        if (!copy_out(c, a, why)) return false;
    return true;
}

static bool run_in(Launcher *l, Home *home, Address *room, Why *why) {
    Copies copies = {l, home->state, room, room + l->buffers, room + 2 * l->buffers};
    const Device *device = l->device;
    if (device->enter && !device->enter(home->state, why)) return false;
    bool ok = copy_and_launch(&copies, home, why);
    for (uint32_t a = 0; a < l->arrays; a++)
        if (copies.owned[a]) device->release(home->state, copies.owned[a]);
    if (device->leave) device->leave(home->state);
    return ok;
}

bool launcher_run(Launcher *l, const void *const *inputs, void *const *outputs, bool *refused,
                  Why *why) {
    Address *room = calloc(3 * (size_t)l->buffers + 1, sizeof *room);
    *refused = false;
    if (!room) return why_set(why, "out of memory");
    *refused = !take(l, inputs, outputs, room, why);
    pthread_mutex_lock(&l->running);
    Home *home = *refused ? NULL : home_of(l, why);
    bool ok = home && run_in(l, home, room, why);
    pthread_mutex_unlock(&l->running);
    free(room);
    return ok;
}
