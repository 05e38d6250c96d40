/* The cuda device: without a GPU what it declares and reads from files; with one, memory, launches,
 * twins, faults and times. Needs nothing beside the program: run it by hand on a GPU machine. */
#include "tuner/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tuner/cuda_api.h" /* without the toolkit's headers: the declared subset */
#include "tuner/cuda_identity.h"

/* --- without a GPU */

static void declares_what_the_headers_say(void **state) {
    (void)state;
#define FACT(expression) {#expression, (long)(expression)},
    static const CudaFact subset[] = {CUDA_FACTS(FACT){NULL, 0}};
    for (size_t i = 0; i < sizeof subset / sizeof *subset - 1; i++) {
        assert_string_equal(subset[i].name, cuda_api_facts[i].name);
        if (subset[i].value != cuda_api_facts[i].value)
            fail_msg("%s: %ld here, %ld in the headers", subset[i].name, subset[i].value,
                     cuda_api_facts[i].value);
    }
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void add_gpu(const char *root, const char *bus, const char *model, const char *uuid) {
    char path[256], text[512];
    snprintf(path, sizeof path, "%s/gpus/%s", root, bus);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/gpus/%s/information", root, bus);
    snprintf(text, sizeof text,
             "Model: \t\t %s\nIRQ:   \t\t 42\nGPU UUID: \t %s\nDevice Minor: \t 0\n", model, uuid);
    write_file(path, text);
}

static void reads_the_drivers_files(void **state) {
    (void)state;
    char root[] = "/tmp/kfuse-cuda-XXXXXX", path[128], command[64];
    DeviceIdentity identity;
    Why why;
    assert_non_null(mkdtemp(root));
    assert_int_equal(cuda_count_files(root, NULL), -1);
    assert_false(cuda_identify_files(root, NULL, 0, &identity, &why));
    snprintf(path, sizeof path, "%s/version", root);
    write_file(
        path,
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Oct 1 00:00:00 UTC 2026\n"
        "GCC version:  gcc version 13.3.0\n");
    snprintf(path, sizeof path, "%s/gpus", root);
    mkdir(path, 0700);
    assert_int_equal(cuda_count_files(root, NULL), -1);
    add_gpu(root, "0000:00:05.0", "NVIDIA H200", "GPU-1");
    assert_int_equal(cuda_count_files(root, NULL), 1);
    assert_int_equal(cuda_count_files(root, ""), 0);
    assert_int_equal(cuda_count_files(root, "-1"), 0);
    assert_int_equal(cuda_count_files(root, "0"), 1);
    if (cuda_identify_files(root, NULL, 0, &identity, &why)) { /* where there is NVRTC */
        assert_string_equal(identity.title, "NVIDIA H200 (cuda:0)");
        assert_non_null(strstr(identity.software, "driver 580.159.04"));
        assert_non_null(strstr(identity.key, "NVIDIA H200, GPU-1, driver 580.159.04, nvrtc "));
    }
    assert_false(cuda_identify_files(root, NULL, 1, &identity, &why));
    add_gpu(root, "0000:00:06.0", "NVIDIA H100", "GPU-2");
    assert_int_equal(cuda_count_files(root, NULL), 2);
    assert_int_equal(cuda_count_files(root, "1"), 1);
    assert_int_equal(cuda_count_files(root, "0,1,2"), 2);
    assert_int_equal(cuda_count_files(root, "1,-1,0"), 1);
    assert_false(cuda_identify_files(root, NULL, 0, &identity, &why));
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* --- with one */

static const char source[] =
    "extern \"C\" __global__ void scale(const float *x, float *y, float a, long long n) {\n"
    "    long long i = (blockIdx.x * 128LL + threadIdx.x) * 4;\n"
    "    if (i + 4 <= n) {\n"
    "        float4 v = *(const float4 *)(x + i);\n"
    "        *(float4 *)(y + i) = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);\n"
    "    } else for (; i < n; i++) y[i] = a * x[i];\n"
    "}\n"
    "extern \"C\" __global__ void scale_any(const float *x, float *y, float a, long long n) {\n"
    "    long long i = (blockIdx.x * 128LL + threadIdx.x) * 4;\n"
    "    for (long long end = i + 4; i < end && i < n; i++) y[i] = a * x[i];\n"
    "}\n"
    "extern \"C\" __global__ void count(int *counter) { if (threadIdx.x == 0) atomicAdd(counter, "
    "1); }\n"
    "extern \"C\" __global__ void spin(long long nanoseconds) {\n"
    "    unsigned long long begin, now;\n"
    "    asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(begin));\n"
    "    do asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(now)); while (now - begin < "
    "nanoseconds);\n"
    "}\n"
    "extern \"C\" __global__ void large(int *out, int n) {\n"
    "    extern __shared__ int tile[];\n"
    "    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = i;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0) *out = tile[n - 1];\n"
    "}\n"
    "extern \"C\" __global__ void ranks(int *out) {\n"
    "    unsigned rank;\n"
    "    asm volatile(\"mov.u32 %0, %cluster_ctarank;\" : \"=r\"(rank));\n"
    "    if (threadIdx.x == 0) atomicAdd(out, rank);\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(64) narrow(int *out) { *out = 1; }\n"
    "extern \"C\" __global__ void wild(int *out) { *(volatile int *)16 = 1; *out = 1; }\n";

typedef struct Rig {
    const Device *device;
    DeviceIdentity identity;
    Text binary;
    DeviceState *state;
    Module *module;
    Arena *arena;
} Rig;

/* Compiles and opens; the test is skipped where there is no GPU. */
static Rig *open_rig(void) {
    static Rig rig; /* one at a time */
    Why why = {""};
    rig = (Rig){.device = device_find("cuda"), .arena = arena_open()};
    if (rig.device->count(&why) == 0) {
        arena_close(rig.arena);
        skip();
    }
    const CompileUnit unit = {source, "test.cu", false};
    if (!rig.device->identify(0, true, &rig.identity, &why) ||
        rig.device->compile(&unit, &rig.identity, &rig.binary, &why) != OUTCOME_OK ||
        !(rig.state = rig.device->open(0, false, &why)) ||
        !(rig.module = rig.device->load(rig.state, rig.binary.data, rig.binary.length, &why)))
        fail_msg("%s", why.text);
    return &rig;
}

static void close_rig(Rig *rig) {
    rig->device->unload(rig->state, rig->module);
    rig->device->close(rig->state);
    text_free(&rig->binary);
    arena_close(rig->arena);
}

static Address memory(Rig *rig, size_t bytes) {
    Address address = 0;
    Why why;
    if (!rig->device->allocate(rig->state, bytes, &address, &why)) fail_msg("%s", why.text);
    return address;
}

static void put(Rig *rig, Address to, const void *from, size_t bytes) {
    Why why;
    if (!rig->device->upload(rig->state, to, from, bytes, &why)) fail_msg("%s", why.text);
}

static void get(Rig *rig, void *to, Address from, size_t bytes) {
    Why why;
    if (!rig->device->download(rig->state, to, from, bytes, &why)) fail_msg("%s", why.text);
}

static Arg buffer_arg(uint32_t buffer) {
    return (Arg){ARG_BUFFER, buffer, {0}};
}

/* A run of one launch. */
static Run one(Rig *rig, const char *entry, int64_t grid, int32_t block, uint32_t args,
               const Arg *list) {
    Run run = {0};
    Launch launch = {
        .entry = entry, .alignment = 1, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .cluster = 1};
    launch.arg_count = args;
    launch.args = arena_array(rig->arena, Arg, args);
    for (uint32_t i = 0; i < args; i++) launch.args[i] = list[i];
    array_push(rig->arena, &run.launches, launch);
    return run;
}

static Outcome launch(Rig *rig, const Run *run, const Address *buffers, Why *why) {
    Module *const modules[] = {rig->module};
    Outcome outcome = rig->device->launch(rig->state, run, modules, buffers, NULL, why);
    return outcome == OUTCOME_OK ? rig->device->finish(rig->state, why) : outcome;
}

static void expect(Outcome outcome, Outcome expected, const Why *why) {
    if (outcome != expected)
        fail_msg("outcome %d, not %d: %s", (int)outcome, (int)expected, why->text);
}

/* y = 3 x over 1001 elements from byte `shift` on. */
static void check_scale(Rig *rig, size_t shift, const char *twin, Outcome expected) {
    enum { N = 1001 };
    float x[N], y[N];
    Why why = {""};
    Arg args[] = {
        buffer_arg(0), buffer_arg(1), {ARG_F32, 0, {.real = 3}}, {ARG_I64, 0, {.whole = N}}};
    Run run = one(rig, "scale", 2, 128, 4, args);
    Address memories[] = {memory(rig, 8192), memory(rig, 8192)};
    Address buffers[] = {memories[0] + shift, memories[1] + shift};
    run.launches.data[0].alignment = 16;
    run.launches.data[0].twin = twin;
    for (int i = 0; i < N; i++) x[i] = (float)i - 500;
    memset(y, 0, sizeof y);
    put(rig, buffers[0], x, sizeof x);
    put(rig, buffers[1], y, sizeof y);
    expect(launch(rig, &run, buffers, &why), expected, &why);
    get(rig, y, buffers[1], sizeof y);
    for (int i = 0; i < N; i++) assert_true(y[i] == (expected == OUTCOME_OK ? 3 * x[i] : 0));
    rig->device->release(rig->state, memories[0]);
    rig->device->release(rig->state, memories[1]);
}

static void launches_and_takes_the_twin(void **state) {
    (void)state;
    Rig *rig = open_rig();
    check_scale(rig, 0, NULL, OUTCOME_OK);
    check_scale(rig, 0, "scale_any", OUTCOME_OK);
    check_scale(rig, 4, "scale_any", OUTCOME_OK);
    check_scale(rig, 4, NULL, OUTCOME_LAUNCH);
    check_scale(rig, 16, NULL, OUTCOME_OK);
    close_rig(rig);
}

static void launches_nothing_for_an_empty_grid(void **state) {
    (void)state;
    Rig *rig = open_rig();
    Why why = {""};
    int counter = 5;
    Address buffer = memory(rig, sizeof counter);
    put(rig, buffer, &counter, sizeof counter);
    Run run = one(rig, "count", 0, 32, 1, (Arg[]){buffer_arg(0)});
    expect(launch(rig, &run, &buffer, &why), OUTCOME_OK, &why);
    get(rig, &counter, buffer, sizeof counter);
    assert_int_equal(counter, 5);
    rig->device->release(rig->state, buffer);
    close_rig(rig);
}

static void uses_large_shared_memory_and_clusters(void **state) {
    (void)state;
    Rig *rig = open_rig();
    Why why = {""};
    int out = 0;
    Address buffer = memory(rig, sizeof out);
    int32_t bytes = rig->identity.shared_per_block;
    Run run =
        one(rig, "large", 1, 256, 2, (Arg[]){buffer_arg(0), {ARG_I32, 0, {.whole = bytes / 4}}});
    run.launches.data[0].shared = bytes;
    expect(launch(rig, &run, &buffer, &why), OUTCOME_OK, &why);
    get(rig, &out, buffer, sizeof out);
    assert_int_equal(out, bytes / 4 - 1);
    run.launches.data[0].shared = bytes + 1024;
    expect(launch(rig, &run, &buffer, &why), OUTCOME_INFEASIBLE, &why);
    if (strcmp(rig->identity.arch, "sm_90") >= 0 && strlen(rig->identity.arch) == 5) {
        put(rig, buffer, &(int){0}, sizeof out);
        run = one(rig, "ranks", 8, 32, 1, (Arg[]){buffer_arg(0)});
        run.launches.data[0].cluster = 4;
        expect(launch(rig, &run, &buffer, &why), OUTCOME_OK, &why);
        get(rig, &out, buffer, sizeof out);
        assert_int_equal(out, 2 * (0 + 1 + 2 + 3));
        run.launches.data[0].grid[0] = 16;
        run.launches.data[0].cluster = 16; /* not portable, here possible */
        expect(launch(rig, &run, &buffer, &why), OUTCOME_OK, &why);
    }
    rig->device->release(rig->state, buffer);
    close_rig(rig);
}

static void names_what_cannot_be(void **state) {
    (void)state;
    Rig *rig = open_rig();
    Why why = {""};
    Address buffer = memory(rig, 64), huge;
    Run run = one(rig, "absent", 1, 32, 1, (Arg[]){buffer_arg(0)});
    expect(launch(rig, &run, &buffer, &why), OUTCOME_LAUNCH, &why);
    assert_non_null(strstr(why.text, "absent"));
    run = one(rig, "narrow", 1, 1024, 1, (Arg[]){buffer_arg(0)});
    Outcome outcome = launch(rig, &run, &buffer, &why);
    assert_true(outcome == OUTCOME_LAUNCH || outcome == OUTCOME_INFEASIBLE);
    assert_false(rig->device->allocate(rig->state, (size_t)1 << 50, &huge, &why));
    assert_non_null(strstr(why.text, "CUDA_ERROR_OUT_OF_MEMORY"));
    assert_null(rig->device->load(rig->state, rig->binary.data, rig->binary.length / 2, &why));
    assert_non_null(strstr(why.text, "damaged"));
    check_scale(rig, 0, NULL, OUTCOME_OK); /* none of these cost the context */
    rig->device->release(rig->state, buffer);
    close_rig(rig);
}

static void loads_ptx(void **state) {
    (void)state;
    Rig *rig = open_rig();
    static const char ptx[] =
        "//\n.version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n";
    Why why = {""};
    Module *module = rig->device->load(rig->state, ptx, sizeof ptx, &why);
    if (!module) fail_msg("%s", why.text);
    Run run = one(rig, "k", 1, 32, 0, NULL);
    expect(rig->device->launch(rig->state, &run, &module, NULL, NULL, &why), OUTCOME_OK, &why);
    expect(rig->device->finish(rig->state, &why), OUTCOME_OK, &why);
    rig->device->unload(rig->state, module);
    close_rig(rig);
}

static double time_of(Rig *rig, const Run *run, const Address *const *buffers, uint32_t sets,
                      uint32_t repeats) {
    Module *const modules[] = {rig->module};
    Why why = {""};
    double seconds = -1;
    expect(rig->device->time(rig->state, run, modules, buffers, sets, repeats, &seconds, &why),
           OUTCOME_OK, &why);
    return seconds;
}

static void times_what_a_kernel_takes(void **state) {
    (void)state;
    Rig *rig = open_rig();
    const Address *none[] = {NULL};
    Run run = one(rig, "spin", 1, 1, 1, (Arg[]){{ARG_I64, 0, {.whole = 200000}}});
    for (int i = 0; i < 3; i++) { /* made once, then replayed */
        double each = time_of(rig, &run, none, 1, 20) / 20;
        print_message("spin of 200 us: %.2f us\n", each * 1e6);
        assert_true(each > 198e-6 && each < 215e-6);
    }
    double single = time_of(rig, &run, none, 1, 1);
    print_message("alone: %.2f us\n", single * 1e6);
    assert_true(single > 198e-6 && single < 230e-6);
    Address buffer = memory(rig, 4);
    const Address *sets[] = {&buffer};
    run = one(rig, "count", 1, 32, 1, (Arg[]){buffer_arg(0)});
    double each = time_of(rig, &run, sets, 1, 5000) / 5000;
    print_message("tiny kernel in a graph: %.2f us\n", each * 1e6);
    assert_true(each > 0 && each < 20e-6);
    rig->device->release(rig->state, buffer);
    close_rig(rig);
}

/* Call i works on set i mod 3, also over more calls than one graph holds. */
static void rotates_over_the_sets(void **state) {
    (void)state;
    Rig *rig = open_rig();
    Address buffers[3];
    const Address *sets[] = {&buffers[0], &buffers[1], &buffers[2]};
    int counters[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        buffers[i] = memory(rig, sizeof(int));
        put(rig, buffers[i], &counters[i], sizeof(int));
    }
    Run run = one(rig, "count", 1, 32, 1, (Arg[]){buffer_arg(0)});
    time_of(rig, &run, sets, 3, 7);
    for (int i = 0; i < 3; i++) get(rig, &counters[i], buffers[i], sizeof(int));
    assert_int_equal(counters[0], 3);
    assert_int_equal(counters[1], 2);
    assert_int_equal(counters[2], 2);
    time_of(rig, &run, sets, 3, 2000);
    for (int i = 0; i < 3; i++) get(rig, &counters[i], buffers[i], sizeof(int));
    assert_int_equal(counters[0] + counters[1] + counters[2], 2007);
    assert_true(counters[0] - counters[2] <= 2);
    for (int i = 0; i < 3; i++) rig->device->release(rig->state, buffers[i]);
    close_rig(rig);
}

static void works_in_the_callers_context(void **state) {
    (void)state;
    Why why = {""};
    const Device *device = device_find("cuda");
    if (device->count(&why) == 0) skip();
    assert_null(device->open(0, true, &why));
    assert_non_null(strstr(why.text, "no current CUDA context"));
    Rig *rig = open_rig(), callers = *rig;
    callers.state = device->open(0, true, &why);
    if (!callers.state) fail_msg("%s", why.text);
    check_scale(&callers, 0, NULL, OUTCOME_OK);
    device->close(callers.state);
    check_scale(rig, 0, NULL, OUTCOME_OK); /* and leaves it as it was */
    close_rig(rig);
}

static void says_what_it_is(void **state) {
    (void)state;
    Rig *rig = open_rig();
    char conditions[128];
    rig->device->conditions(rig->state, conditions, sizeof conditions);
    print_message("%s\n%s\nkey %s\ncompiler %s\nconditions %s\n", rig->identity.title,
                  rig->identity.software, rig->identity.key, rig->identity.compiler, conditions);
    assert_true(rig->identity.sms > 0 && rig->identity.memory > 0 && rig->identity.cache > 0);
    assert_true(rig->identity.threads_per_block == 1024 &&
                rig->identity.shared_per_block >= 48 << 10);
    DeviceIdentity files;
    Why why = {""};
    bool told = rig->device->identify(0, false, &files, &why);
    print_message("from files: %s\n", told ? files.key : why.text);
    close_rig(rig);
}

/* In a process of its own, since a fault takes the context with it: the outcome, or 99. */
static int outcome_apart(const char *entry, size_t shift) {
    pid_t child = fork();
    if (child == 0) {
        Rig *rig = open_rig();
        Why why = {""};
        Address memories[] = {memory(rig, 4096), memory(rig, 4096)};
        Address buffers[] = {memories[0] + shift, memories[1] + shift};
        Arg args[] = {
            buffer_arg(0), buffer_arg(1), {ARG_F32, 0, {.real = 3}}, {ARG_I64, 0, {.whole = 512}}};
        Run run = one(rig, entry, 1, 128, 4, args);
        Outcome outcome = launch(rig, &run, buffers, &why);
        print_message("%s: %s\n", entry, why.text);
        _exit((int)outcome);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void a_fault_is_a_crash(void **state) {
    (void)state;
    Why why;
    if (device_find("cuda")->count(&why) == 0) skip();
    assert_int_equal(outcome_apart("scale", 0), OUTCOME_OK);
    assert_int_equal(outcome_apart("wild", 0), OUTCOME_CRASH);
    assert_int_equal(outcome_apart("scale", 4),
                     OUTCOME_CRASH); /* misaligned, and told it is fine */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declares_what_the_headers_say),
        cmocka_unit_test(reads_the_drivers_files),
        cmocka_unit_test(a_fault_is_a_crash), /* forks: before the driver is started here */
        cmocka_unit_test(works_in_the_callers_context),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(launches_and_takes_the_twin),
        cmocka_unit_test(launches_nothing_for_an_empty_grid),
        cmocka_unit_test(uses_large_shared_memory_and_clusters),
        cmocka_unit_test(names_what_cannot_be),
        cmocka_unit_test(loads_ptx),
        cmocka_unit_test(times_what_a_kernel_takes),
        cmocka_unit_test(rotates_over_the_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
