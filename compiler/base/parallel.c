/* In: a function over parts. Out: all parts done. The one idea: a run has a slot for each thread, and a slot is claimed
 * by whoever comes first, its own thread or the caller that has nothing left to do: nobody waits for a thread that
 * was not woken in time. A slot is one part, or takes parts from one counter where there are more than threads. */
#include "compiler/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct Member {
    Team *team;
    int index;
    pthread_t thread;
    atomic_uint_fast64_t claimed; /* the last generation in which this thread's slot was */
} Member;

struct Team {
    int size; /* the caller counts: members 1 … size-1 are threads of their own */
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    atomic_uint_fast64_t generation; /* of runs; odd while one is set up */
    atomic_int slots, busy;          /* of this run; not yet done */
    atomic_bool closing;
    int64_t parts;
    atomic_int_fast64_t next;
    void (*work)(void *context, int64_t part);
    void *context;
    Member members[];
};

/* Some 20 us: waking a thread takes as long, and a kernel that takes no longer is often followed by
 * the next. */
enum { LOOKS = 1000 };

static void pause_moment(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* --- slots */

/* A slot that was claimed holds its run up, so that only a claim of a later one can be found where this one has ended
 * meanwhile. */
static bool claim(Member *member, uint64_t generation) {
    uint_fast64_t last = atomic_load(&member->claimed);
    return last < generation && atomic_compare_exchange_strong(&member->claimed, &last, generation);
}

static void work_off(Team *team, int slot) {
    if (team->parts <= team->size) {
        team->work(team->context, slot);
        return;
    }
    for (int64_t part; (part = atomic_fetch_add(&team->next, 1)) < team->parts;)
        team->work(team->context, part);
}

static void leave(Team *team) {
    if (atomic_fetch_sub(&team->busy, 1) > 1) return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_signal(&team->done);
    pthread_mutex_unlock(&team->lock);
}

/* --- members */

static bool is_new(uint64_t generation, uint64_t seen) {
    return generation != seen && generation % 2 == 0;
}

static uint64_t await_start(Team *team, uint64_t seen) {
    uint64_t found;
    for (int i = 0; i < LOOKS; i++) {
        if (is_new(found = atomic_load(&team->generation), seen)) return found;
        pause_moment();
    }
    pthread_mutex_lock(&team->lock);
    while (!is_new(found = atomic_load(&team->generation), seen))
        pthread_cond_wait(&team->start, &team->lock);
    pthread_mutex_unlock(&team->lock);
    return found;
}

static void *member_run(void *argument) {
    Member *member = argument;
    Team *team = member->team;
    for (uint64_t seen = 0;;) {
        seen = await_start(team, seen);
        const bool has_slot = member->index < atomic_load(&team->slots);
        if (atomic_load(&team->generation) != seen) continue; /* the slots may be another run's */
        if (atomic_load(&team->closing)) return NULL;
        if (!has_slot || !claim(member, seen)) continue;
        work_off(team, member->index);
        leave(team);
    }
}

Team *team_open(int threads) {
    if (threads < 1) threads = 1;
    Team *team = calloc(1, sizeof(Team) + (size_t)threads * sizeof(Member));
    if (!team) return NULL;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->start, NULL);
    pthread_cond_init(&team->done, NULL);
    for (team->size = 1; team->size < threads; team->size++) {
        Member *member = &team->members[team->size];
        member->team = team;
        member->index = team->size;
        if (pthread_create(&member->thread, NULL, member_run, member)) break;
    }
    return team;
}

int team_size(const Team *team) {
    return team->size;
}

/* --- runs */

/* Under the lock: who has just looked and is about to sleep would miss it. */
static uint64_t announce(Team *team) {
    pthread_mutex_lock(&team->lock);
    uint64_t generation = atomic_fetch_add(&team->generation, 1) + 1;
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
    return generation;
}

void team_close(Team *team) {
    if (!team) return;
    atomic_fetch_add(&team->generation, 1);
    atomic_store(&team->closing, true);
    announce(team);
    for (int i = 1; i < team->size; i++) pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->start);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

static void await_done(Team *team) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load(&team->busy) == 0) return;
        pause_moment();
    }
    pthread_mutex_lock(&team->lock);
    while (atomic_load(&team->busy) > 0) pthread_cond_wait(&team->done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

void team_run(Team *team, int64_t parts, void (*work)(void *context, int64_t part), void *context) {
    const int slots = parts < team->size ? (int)parts : team->size;
    if (slots < 1) return;
    atomic_fetch_add(&team->generation, 1);
    team->parts = parts;
    team->work = work;
    team->context = context;
    atomic_store(&team->next, 0);
    atomic_store(&team->slots, slots);
    atomic_store(&team->busy, slots);
    const uint64_t generation = announce(team);
    for (int slot = 0; slot < slots; slot++) {
        if (slot > 0 && !claim(&team->members[slot], generation)) continue;
        work_off(team, slot);
        leave(team);
    }
    await_done(team);
}
