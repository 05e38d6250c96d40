/* The lock under which a device is timed: one at a time, and who waits is next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tuner/bench_lock.h"
#include "tuner/wire.h"

static void *hold_lock(void *argument) {
    int lock = bench_lock("test", 0);
    *(atomic_int *)argument = 1;
    usleep(200000);
    bench_unlock(lock);
    return NULL;
}

static void one_times_at_a_time(void **state) {
    atomic_int held = 0;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, hold_lock, &held), 0);
    while (!held) usleep(1000);
    double begin = wire_now();
    int lock = bench_lock("test", 0);
    assert_true(wire_now() - begin > 0.1);
    bench_unlock(lock);
    pthread_join(thread, NULL);
}

static void *time_slice_after_slice(void *argument) {
    for (atomic_int *slices = argument; *slices < 100; ++*slices) {
        int lock = bench_lock("test", 0);
        usleep(20000);
        bench_unlock(lock);
    }
    return NULL;
}

/* Beside a process that takes the lock again at once: polling alone lost it 100 times running. */
static void who_waits_is_next(void **state) {
    atomic_int slices = 0;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, time_slice_after_slice, &slices), 0);
    while (slices < 2) usleep(1000);
    for (int i = 0; i < 5; i++) {
        int lock = bench_lock("test", 0);
        assert_true(lock >= 0);
        usleep(1000);
        bench_unlock(lock);
    }
    assert_true(slices < 50);
    slices = 100;
    pthread_join(thread, NULL);
    unlink("/tmp/kfuse-test-0.lock");
    unlink("/tmp/kfuse-test-0.next");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_times_at_a_time),
        cmocka_unit_test(who_waits_is_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
