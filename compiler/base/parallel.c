/* In: a function over parts. Out: all parts done. The one idea: a team sleeps on one condition
 * until the generation changes, then takes parts from one counter (or its own part, where there are
 * few). */
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
    uint64_t generation;
    int busy;
    bool closing;
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

static void *member_run(void *argument) {
    Member *member = argument;
    Team *team = member->team;
    uint64_t seen = 0;
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (team->generation == seen && !team->closing)
            pthread_cond_wait(&team->start, &team->lock);
        if (team->closing) break;
        seen = team->generation;
        pthread_mutex_unlock(&team->lock);
        take_parts(team, member->index);
        pthread_mutex_lock(&team->lock);
        if (--team->busy == 0) pthread_cond_signal(&team->done);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
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
    pthread_mutex_lock(&team->lock);
    team->closing = true;
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
    for (int i = 1; i < team->size; i++) pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->start);
    pthread_mutex_destroy(&team->lock);
    free(team);
}

void team_run(Team *team, int64_t parts, void (*work)(void *context, int64_t part), void *context) {
    pthread_mutex_lock(&team->lock);
    team->parts = parts;
    team->work = work;
    team->context = context;
    atomic_store(&team->next, 0);
    team->busy = team->size - 1;
    team->generation++;
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
    take_parts(team, 0);
    pthread_mutex_lock(&team->lock);
    while (team->busy > 0) pthread_cond_wait(&team->done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}
