/* How many compile workers this process may have. */
#ifndef KF_JOBS_H
#define KF_JOBS_H

#include <stdint.h>

/* Bytes that workers may take: what the machine has free, and three quarters of a control group's
 * limit. `root` stands before /proc and /sys: "" but in tests. */
int64_t jobs_memory(const char *root);
/* The smallest of `asked` (0: no wish), CPUs (affinity, quota), memory over `bytes_each`; 1 to 128.
 */
int jobs_limit(int asked, int64_t bytes_each);

#endif
