/* One timing at a time on a device, across processes: each slice of timing holds the device's lock
 * file. */
#ifndef KF_BENCH_LOCK_H
#define KF_BENCH_LOCK_H

/* Takes the lock of "cpu:0"; waits while another process times, but not for ever: a stopped process
 * must not stop everyone. Gives what bench_unlock takes; -1: gone on without. */
int bench_lock(const char *device, int index);
void bench_unlock(int lock);

#endif
