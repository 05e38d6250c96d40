/* A team of threads that runs one function over parts. The caller is one of them. */
#ifndef KF_PARALLEL_H
#define KF_PARALLEL_H

#include <stdint.h>

typedef struct Team Team;

/* CPUs this process may use: affinity and the cgroup's quota, at least 1. */
int parallel_cpus(void);
/* The cgroup's quota alone, in CPUs rounded up, 0 if there is none. `root` stands before /proc and
 * /sys: "" but in tests. */
int parallel_quota(const char *root);

/* `threads` counts the caller; fewer if the system refuses. NULL only when out of memory. */
Team *team_open(int threads);
int team_size(const Team *team);
void team_close(Team *team);

/* Calls work(context, part) for every part in [0, parts), each once, on the team's threads; part p
 * runs on thread p when parts <= size (so that a static partition stays on its core) unless the caller
 * was done before that thread began. Returns when all are done. One call at a time. */
void team_run(Team *team, int64_t parts, void (*work)(void *context, int64_t part), void *context);

#endif
