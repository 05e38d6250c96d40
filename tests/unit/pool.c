/* Compile workers with NVRTC (which needs no GPU): good units, bad ones, hung ones; killed workers
 * are replaced; a killed parent leaves none behind. */
#include "tuner/pool.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tuner/cubin.h"
#include "tuner/jobs.h"

static const DeviceIdentity identity = {.arch = "sm_90"};

static Pool *open_pool(int jobs, double timeout) {
    const Device *device = device_find("cuda");
    Why why = {""};
    if (!device || !device->warm(&why)) skip();
    Pool *pool = pool_open(device, &identity, jobs, timeout, &why);
    if (!pool) fail_msg("%s", why.text);
    return pool;
}

static void submit(Pool *pool, uint64_t id, const char *source) {
    char name[32];
    snprintf(name, sizeof name, "unit%d.cu", (int)id);
    pool_submit(pool, id, &(CompileUnit){source, name, false});
}

static Compiled next(Pool *pool) {
    Compiled compiled;
    assert_true(pool_wait(pool, 60, -1, &compiled));
    return compiled;
}

#define GOOD "extern \"C\" __global__ void k(float *x) { x[threadIdx.x] += 1; }"
/* Two to the thirtieth distinct instantiations. */
#define ENDLESS                                                                       \
    "template <int D, unsigned long long P> struct T {"                               \
    " static const int v = T<D - 1, 2 * P>::v + T<D - 1, 2 * P + 1>::v; };"           \
    "template <unsigned long long P> struct T<0, P> { static const int v = P & 1; };" \
    "extern \"C\" __global__ void k(int *x) { *x = T<30, 0>::v; }"

static void compiles_good_and_bad_units(void **state) {
    (void)state;
    enum { UNITS = 12 };
    Pool *pool = open_pool(2, 60);
    bool seen[UNITS] = {false};
    for (int i = 0; i < UNITS; i++)
        submit(pool, (uint64_t)i,
               i % 3 ? GOOD : "extern \"C\" __global__ void k(float *x) { x[0] = foo; }");
    assert_int_equal(pool_pending(pool), UNITS);
    for (int i = 0; i < UNITS; i++) {
        Compiled unit = next(pool);
        assert_true(unit.id < UNITS && !seen[unit.id]);
        seen[unit.id] = true;
        if (unit.id % 3) {
            Resources resources;
            uint64_t hash;
            assert_int_equal(unit.outcome, OUTCOME_OK);
            assert_true(cubin_resources(unit.binary, unit.size, "k", &resources, &hash));
            assert_true(unit.seconds > 0);
        } else {
            assert_int_equal(unit.outcome, OUTCOME_COMPILE);
            assert_null(unit.binary);
            assert_non_null(strstr(unit.message, "(1): error: identifier \"foo\" is undefined"));
            assert_null(strchr(unit.message, '\n'));
        }
        free(unit.binary);
    }
    Compiled unit;
    assert_int_equal(pool_pending(pool), 0);
    assert_false(pool_wait(pool, 1e9, -1, &unit)); /* at once: nothing is pending */
    pool_close(pool);
}

static void stops_a_hung_compile_alone(void **state) {
    (void)state;
    Pool *pool = open_pool(2, 3);
    submit(pool, 1, ENDLESS);
    for (uint64_t id = 2; id < 8; id++) submit(pool, id, GOOD);
    for (int i = 0; i < 7; i++) {
        Compiled unit = next(pool);
        assert_int_equal(unit.outcome, unit.id == 1 ? OUTCOME_TIMEOUT : OUTCOME_OK);
        if (unit.id == 1) assert_non_null(strstr(unit.message, "over 3 s"));
        free(unit.binary);
    }
    submit(pool, 9, GOOD);
    Compiled unit = next(pool);
    assert_int_equal(unit.outcome, OUTCOME_OK);
    free(unit.binary);
    pool_close(pool);
}

static void returns_early_for_the_callers_descriptor(void **state) {
    (void)state;
    Pool *pool = open_pool(1, 60);
    Compiled unit;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    submit(pool, 1, ENDLESS);
    assert_false(pool_wait(pool, 0.2, ends[0], &unit));
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_false(pool_wait(pool, 60, ends[0], &unit));
    assert_int_equal(pool_pending(pool), 1);
    pool_close(pool); /* with a unit in flight */
    close(ends[0]);
    close(ends[1]);
}

/* Where most slots have no worker, since there is no more work. */
static void sleeps_while_it_waits(void **state) {
    (void)state;
    Pool *pool = open_pool(8, 60);
    Compiled unit;
    submit(pool, 1, ENDLESS);
    clock_t before = clock();
    assert_false(pool_wait(pool, 1, -1, &unit));
    assert_true(clock() - before < CLOCKS_PER_SEC / 4);
    pool_close(pool);
}

#define UNIT(owner, number) ((uint64_t)(owner) << 32 | (number))

/* What the first owner has is compiled before what the second has, but for what is in flight. */
static void owners_take_their_turns(void **state) {
    (void)state;
    const uint64_t order[] = {UNIT(2, 1), UNIT(1, 1), UNIT(1, 2), UNIT(2, 2)};
    Pool *pool = open_pool(1, 60);
    submit(pool, UNIT(3, 1), GOOD); /* so that the worker is there */
    free(next(pool).binary);
    submit(pool, UNIT(2, 1), GOOD);
    submit(pool, UNIT(2, 2), GOOD);
    submit(pool, UNIT(2, 3), GOOD);
    submit(pool, UNIT(1, 1), GOOD);
    submit(pool, UNIT(1, 2), GOOD);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        Compiled unit = next(pool);
        assert_int_equal(unit.id, order[i]);
        free(unit.binary);
    }
    free(next(pool).binary);
    assert_int_equal(pool_pending(pool), 0);
    pool_close(pool);
}

static void owners_units_are_forgotten(void **state) {
    (void)state;
    Pool *pool = open_pool(1, 60);
    Compiled unit;
    submit(pool, UNIT(1, 1), ENDLESS);
    assert_false(pool_wait(pool, 0.5, -1, &unit));
    submit(pool, UNIT(1, 2), GOOD);
    submit(pool, UNIT(2, 1), GOOD);
    assert_int_equal(pool_forget(pool, 2), 1);
    assert_int_equal(pool_forget(pool, 1), 1);
    assert_int_equal(pool_pending(pool), 1); /* in flight */
    assert_int_equal(pool_stop(pool, 1), 1);
    assert_int_equal(pool_pending(pool), 0);
    submit(pool, UNIT(2, 2), GOOD); /* by a fresh worker */
    unit = next(pool);
    assert_int_equal(unit.id, UNIT(2, 2));
    assert_int_equal(unit.outcome, OUTCOME_OK);
    free(unit.binary);
    pool_close(pool);
}

/* Processes whose parent is `parent`. */
static int children(pid_t parent, pid_t *list, int room) {
    int count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300], mark = 0;
        int pid, ppid;
        snprintf(path, sizeof path, "/proc/%.64s/stat", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
        if (!file) continue;
        if (fscanf(file, "%d (%*[^)]) %c %d", &pid, &mark, &ppid) == 3 && ppid == parent &&
            mark != 'Z' && count < room)
            list[count++] = pid;
        fclose(file);
    }
    closedir(folder);
    return count;
}

static void replaces_a_killed_worker(void **state) {
    (void)state;
    Pool *pool = open_pool(1, 60);
    pid_t workers[8], fresh[8];
    Compiled unit;
    assert_int_equal(children(getpid(), workers, 8), 1);
    submit(pool, 1, ENDLESS);
    assert_false(pool_wait(pool, 1, -1, &unit));
    kill(workers[0], SIGKILL);
    unit = next(pool);
    assert_int_equal(unit.outcome, OUTCOME_CRASH);
    assert_non_null(strstr(unit.message, "killed by signal 9"));
    submit(pool, 2, GOOD);
    unit = next(pool);
    assert_int_equal(unit.outcome, OUTCOME_OK);
    free(unit.binary);
    assert_int_equal(children(getpid(), fresh, 8), 1);
    assert_int_not_equal(fresh[0], workers[0]);
    kill(fresh[0], SIGKILL); /* an idle one */
    submit(pool, 3, GOOD);
    unit = next(pool);
    free(unit.binary);
    assert_true(unit.outcome == OUTCOME_OK || unit.outcome == OUTCOME_CRASH);
    pool_close(pool);
    assert_int_equal(children(getpid(), fresh, 8), 0);
}

/* A process of its own opens a pool, sets an endless unit going, and waits to be killed. */
static void run_parent(int ready) {
    const Device *device = device_find("cuda");
    Compiled unit;
    Why why;
    Pool *pool = pool_open(device, &identity, 2, 600, &why);
    if (!pool) _exit(1);
    submit(pool, 1, ENDLESS);
    pool_wait(pool, 2, -1, &unit);
    if (write(ready, "r", 1) != 1) _exit(1);
    for (;;) pause();
}

static bool gone(pid_t pid) {
    char path[64], mark = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file) return true;
    if (fscanf(file, "%*d (%*[^)]) %c", &mark) != 1) mark = 'Z';
    fclose(file);
    return mark == 'Z';
}

static void leaves_no_worker_behind(void **state) {
    (void)state;
    pool_close(open_pool(1, 60)); /* or skip */
    pid_t workers[8];
    char byte;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) run_parent(ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    int count = children(parent, workers, 8);
    assert_true(count >= 1);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    for (int i = 0; i < count; i++) {
        for (int tries = 0; tries < 300 && !gone(workers[i]); tries++) usleep(10000);
        assert_true(gone(workers[i]));
    }
    close(ends[0]);
}

static void refuses_what_is_no_worker(void **state) {
    (void)state;
    const Device *device = device_find("cuda");
    char *kept = getenv("KFUSE_WORKER") ? strdup(getenv("KFUSE_WORKER")) : NULL;
    Why why = {""};
    setenv("KFUSE_WORKER", "/bin/false", 1);
    assert_null(pool_open(device, &identity, 1, 60, &why));
    assert_non_null(strstr(why.text, "did not start"));
    setenv("KFUSE_WORKER", "/nonexistent/worker", 1);
    assert_null(pool_open(device, &identity, 1, 60, &why));
    assert_non_null(strstr(why.text, "/nonexistent/worker"));
    if (kept) setenv("KFUSE_WORKER", kept, 1);
    free(kept);
}

/* The one worker that is left dies after the starts of others came to nothing. */
static void refuses_when_the_last_worker_dies(void **state) {
    (void)state;
    char folder[] = "/tmp/kf_poolXXXXXX", path[64];
    char *kept = getenv("KFUSE_WORKER") ? strdup(getenv("KFUSE_WORKER")) : NULL;
    Compiled compiled;
    if (!kept) skip();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/worker", folder);
    assert_int_equal(symlink(kept, path), 0);
    setenv("KFUSE_WORKER", path, 1);
    Pool *pool = open_pool(3, 4);
    submit(pool, 0, ENDLESS);
    assert_false(pool_wait(pool, 1.5, -1, &compiled)); /* it has begun */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/bin/false", path), 0);
    submit(pool, 1, GOOD);
    submit(pool, 2, GOOD);
    for (uint64_t id = 0; id < 3; id++) {
        compiled = next(pool);
        assert_int_equal(compiled.id, id);
        assert_int_equal(compiled.outcome, id == 0 ? OUTCOME_TIMEOUT : OUTCOME_COMPILE);
        free(compiled.binary);
    }
    pool_close(pool);
    unlink(path);
    rmdir(folder);
    setenv("KFUSE_WORKER", kept, 1);
    free(kept);
}

static void write_file(const char *root, const char *path, const char *text) {
    char command[1024], full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", full);
    assert_int_equal(system(command), 0);
    FILE *file = fopen(full, "w");
    fputs(text, file);
    fclose(file);
}

static void keeps_to_the_memory_there_is(void **state) {
    (void)state;
    char root[] = "/tmp/kfuse-jobs-XXXXXX", command[128];
    assert_non_null(mkdtemp(root));
    assert_true(jobs_memory(root) > (int64_t)1 << 60);
    write_file(root, "/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    8000000 kB\n");
    assert_int_equal(jobs_memory(root), 8192000000);
    write_file(root, "/proc/self/cgroup", "0::/a/b\n");
    write_file(root, "/sys/fs/cgroup/a/b/memory.max", "max\n");
    assert_int_equal(jobs_memory(root), 8192000000);
    write_file(root, "/sys/fs/cgroup/a/memory.max", "4000000000\n");
    assert_int_equal(jobs_memory(root), 3000000000);
    write_file(root, "/sys/fs/cgroup/memory.max", "400000000\n");
    assert_int_equal(jobs_memory(root), 300000000);
    assert_int_equal(jobs_limit(64, INT64_MAX), 1);
    assert_int_equal(jobs_limit(1, 1), 1);
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_good_and_bad_units),
        cmocka_unit_test(stops_a_hung_compile_alone),
        cmocka_unit_test(returns_early_for_the_callers_descriptor),
        cmocka_unit_test(sleeps_while_it_waits),
        cmocka_unit_test(owners_take_their_turns),
        cmocka_unit_test(owners_units_are_forgotten),
        cmocka_unit_test(replaces_a_killed_worker),
        cmocka_unit_test(leaves_no_worker_behind),
        cmocka_unit_test(refuses_what_is_no_worker),
        cmocka_unit_test(refuses_when_the_last_worker_dies),
        cmocka_unit_test(keeps_to_the_memory_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
