/* In: a function over parts. Out: all parts done. The one idea: a team waits until the generation
 * changes, a moment awake and then asleep on one condition, and takes parts from one counter (or its
 * own part, where there are few). */
#include "compiler/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct Member {
    Team *team;
    int index;
    pthread_t thread;
} Member;

struct Team {
    int size; /* the caller counts: members 1 … size-1 are threads of their own */
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    atomic_uint_fast64_t generation;
    atomic_int busy;
    bool closing; /* changes the generation, too */
    int64_t parts;
    atomic_int_fast64_t next;
    void (*work)(void *context, int64_t part);
    void *context;
    Member members[];
};

static void take_parts(Team *team, int index) {
    if (team->parts <= team->size) {
        if (index < team->parts) team->work(team->context, index);
        return;
    }
    for (int64_t part; (part = atomic_fetch_add(&team->next, 1)) < team->parts;)
        team->work(team->context, part);
}

/* Some 20 us: waking a thread takes as long, and a kernel that takes no longer is often followed by
 * the next. */
enum { LOOKS = 1000 };

static void pause_moment(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void await_start(Team *team, uint64_t seen) {
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load(&team->generation) != seen) return;
        pause_moment();
    }
    pthread_mutex_lock(&team->lock);
    while (atomic_load(&team->generation) == seen) pthread_cond_wait(&team->start, &team->lock);
    pthread_mutex_unlock(&team->lock);
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

/* Under the lock: who has just looked and is about to sleep would miss it. */
static void next_generation(Team *team) {
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->generation, 1);
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
}

static void leave(Team *team) {
    if (atomic_fetch_sub(&team->busy, 1) > 1) return;
    pthread_mutex_lock(&team->lock);
    pthread_cond_signal(&team->done);
    pthread_mutex_unlock(&team->lock);
}

static void *member_run(void *argument) {
    Member *member = argument;
    Team *team = member->team;
    for (uint64_t seen = 0;; seen++) {
        await_start(team, seen);
        if (team->closing) return NULL;
        take_parts(team, member->index);
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
        *member = (Member){.team = team, .index = team->size};
        if (pthread_create(&member->thread, NULL, member_run, member)) break;
    }
    return team;
}

int team_size(const Team *team) {
    return team->size;
}

void team_close(Team *team) {
    if (!team) return;
    team->closing = true;
    next_generation(team);
    for (int i = 1; i < team->size; i++) pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->start);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

void team_run(Team *team, int64_t parts, void (*work)(void *context, int64_t part), void *context) {
    team->parts = parts;
    team->work = work;
    team->context = context;
    atomic_store(&team->next, 0);
    atomic_store(&team->busy, team->size - 1);
    next_generation(team);
    take_parts(team, 0);
    await_done(team);
}
