/* The shim's own behaviour: that CUDA sources run on the host as on a GPU, and that what CUDA
 * leaves undefined (a barrier that some do not reach, a lane that is missing, a vector that is not
 * aligned, an access out of bounds) is an error with a message and not a hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/shim/device_shim.h"

enum { N = 4096 };

/* A kernel `k(int *out, const int *in, long long n)` on N of each; in[i] is 3 i, out[i] is -1. */
typedef struct Rig {
    Arena *arena;
    DeviceState *state;
    Module *module;
    Address buffers[2];
    Run run;
    int out[N];
    Why why;
} Rig;

static int find_compiler(void **state) {
    Why why;
    (void)state;
    if (device_shim.count(&why) > 0) return 0;
    printf("no shim here: %s\n", why.text);
    return -1;
}

static void upload(Rig *rig) {
    int in[N];
    for (int i = 0; i < N; i++) in[i] = 3 * i;
    memset(rig->out, 0xFF, sizeof rig->out);
    device_shim.upload(rig->state, rig->buffers[0], rig->out, sizeof rig->out, &rig->why);
    device_shim.upload(rig->state, rig->buffers[1], in, sizeof in, &rig->why);
}

static Rig *rig_new(const char *source) {
    static Rig rig;
    Text binary = {0};
    DeviceIdentity identity;
    CompileUnit unit = {source, "test.cu", false};
    rig = (Rig){.arena = arena_open()};
    rig.state = device_shim.open(0, false, &rig.why);
    if (!rig.state || !device_shim.identify(0, true, &identity, &rig.why) ||
        device_shim.compile(&unit, &identity, &binary, &rig.why) != OUTCOME_OK ||
        !(rig.module = device_shim.load(rig.state, binary.data, binary.length, &rig.why)))
        fail_msg("%s", rig.why.text);
    for (int i = 0; i < 2; i++)
        device_shim.allocate(rig.state, sizeof rig.out, &rig.buffers[i], &rig.why);
    text_free(&binary);
    return &rig;
}

static void rig_free(Rig *rig) {
    device_shim.unload(rig->state, rig->module);
    device_shim.close(rig->state);
    arena_close(rig->arena);
}

static Outcome launch(Rig *rig, int64_t grid, int32_t x, int32_t y, int32_t shared) {
    Launch launch = {.entry = "k", .alignment = 4, .grid = {grid, 1, 1}, .block = {x, y, 1}};
    Arg args[] = {{ARG_BUFFER, 0, {0}}, {ARG_BUFFER, 1, {0}}, {ARG_I64, 0, {.whole = N}}};
    Run run = {0};
    launch.args = args;
    launch.arg_count = 3;
    launch.cluster = 1;
    launch.shared = shared;
    array_push(rig->arena, &run.launches, launch);
    upload(rig);
    Outcome outcome =
        device_shim.launch(rig->state, &run, &rig->module, rig->buffers, NULL, &rig->why);
    device_shim.download(rig->state, rig->out, rig->buffers[0], sizeof rig->out, &rig->why);
    return outcome;
}

#define KERNEL(body) \
    "extern \"C\" __global__ void k(int *out, const int *in, const long long n) {\n" body "\n}\n"
#define INDEX "const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;\n"

/* Runs it as one block of `x` by `y` threads; what `expected` gives for each. */
static void give(const char *body, int32_t x, int32_t y, int (*expected)(int i)) {
    Rig *rig = rig_new(body);
    if (launch(rig, 1, x, y, 1024) != OUTCOME_OK) fail_msg("%s: %s", body, rig->why.text);
    for (int i = 0; i < x * y; i++)
        if (rig->out[i] != expected(i)) fail_msg("%s: out[%d] = %d", body, i, rig->out[i]);
    rig_free(rig);
}

/* It does not run: `words` are in the message. */
static void refuse(const char *body, int32_t x, const char *words) {
    Rig *rig = rig_new(body);
    Outcome outcome = launch(rig, 1, x, 1, 1024);
    if (outcome != OUTCOME_CRASH || !strstr(rig->why.text, words))
        fail_msg("%s\n%s, not %s", body, rig->why.text, words);
    if (launch(rig, 1, x, 1, 1024) != outcome) fail_msg("%s: once only", body);
    rig_free(rig);
}

static int same(int i) {
    return i;
}
static int down_of_8(int i) {
    return 3 * (i % 8 + 3 < 8 ? i + 3 : i);
}
static int up_of_16(int i) {
    return 3 * (i % 16 < 5 ? i : i - 5);
}
static int with_9(int i) {
    return 3 * (i ^ 9);
}
static int sum_of_warp(int i) {
    int sum = 0;
    for (int lane = 0; lane < 32; lane++) sum += 3 * (i / 32 * 32 + lane);
    return sum;
}
static int lane_5(int i) {
    return 3 * (i / 32 * 32 + 5);
}
static int half_sum(int i) {
    return i % 32 < 16 ? 3 * (i / 32 * 32 + 15) : 3 * (i / 32 * 32 + 16);
}
static int votes(int i) {
    return i % 32 % 3 == 0 ? 11 + 100 : 11;
}
static int backwards(int i) {
    return 3 * (127 - i);
}
static int over_64(int i) {
    (void)i;
    return 128 - 65 + 1000 * 1 + 10000 * 0;
}

static void shuffles(void **state) {
    (void)state;
    give(KERNEL(INDEX "out[i] = __shfl_down_sync(~0u, in[i], 3, 8);"), 128, 1, down_of_8);
    give(KERNEL(INDEX "out[i] = (int)__shfl_up_sync(~0u, (double)in[i], 5, 16);"), 96, 1, up_of_16);
    give(KERNEL(INDEX "out[i] = (int)__shfl_xor_sync(~0u, (float)in[i], 9);"), 64, 1, with_9);
    give(KERNEL(INDEX "unsigned long long x = in[i]; out[i] = __shfl_sync(~0u, x, 5);"), 64, 1,
         lane_5);
    give(KERNEL(INDEX "int x = in[i]; for (int d = 16; d; d /= 2) x += __shfl_xor_sync(~0u, x, d);"
                      "out[i] = x;"),
         1024, 1, sum_of_warp);
    /* Halves of a warp on their own ways. */
    give(KERNEL(INDEX "if (lane < 16) out[i] = __shfl_sync(0xffffu, in[i], 15);\n"
                      "else out[i] = __shfl_sync(0xffff0000u, in[i], 16);"),
         64, 1, half_sum);
    give(KERNEL(INDEX "const unsigned b = __ballot_sync(~0u, lane % 3 == 0);\n"
                      "out[i] = __popc(b) + (b >> lane & 1) * 100;\n"
                      "if (__any_sync(~0u, lane > 31) || !__all_sync(~0u, lane < 32)) out[i] = 0;"),
         64, 1, votes);
}

static void barriers(void **state) {
    (void)state;
    give(KERNEL(INDEX "__shared__ int s[128]; s[i] = in[i]; __syncthreads(); out[i] = s[127 - i];"),
         128, 1, backwards);
    give(KERNEL(INDEX "KF_SHARED(int, s); s[i] = in[i]; __syncthreads(); out[i] = s[127 - i];"),
         128, 1, backwards);
    give(KERNEL(INDEX "out[i] = __syncthreads_count(i > 64) + 1000 * __syncthreads_or(i == 7)"
                      " + 10000 * __syncthreads_and(i != 7);"),
         128, 1, over_64);
    give(KERNEL("const int i = threadIdx.y * blockDim.x + threadIdx.x;"
                "for (int k = 0; k < 100; k++) __syncthreads(); __syncwarp(); out[i] = i;"),
         16, 64, same);
    give(KERNEL(INDEX "__shared__ int next; if (i == 0) next = 0; __syncthreads();"
                      "out[atomicAdd(&next, 1)] = __float2int_rn(1e30f) == 2147483647 ? 0 : 1;"
                      "__syncthreads(); out[i] += i;"),
         256, 1, same);
}

/* What threads do at once must not depend on who is first: every other block, and launch, runs
 * backwards. */
static void a_missing_barrier_shows(void **state) {
    int wrong = 0;
    (void)state;
    Rig *rig = rig_new(KERNEL(INDEX "__shared__ int s[128]; s[threadIdx.x] = in[i];\n"
                                    "out[i] = s[threadIdx.x ? threadIdx.x - 1 : 0] & 1;"));
    assert_int_equal(launch(rig, 2, 128, 1, 0), OUTCOME_OK);
    for (int i = 1; i < 256; i++) wrong += i % 128 && rig->out[i] != (3 * (i - 1) & 1);
    assert_true(wrong > 0);
    rig_free(rig);
}

static void a_loop_does_not_wait(void **state) {
    (void)state;
    Rig *rig = rig_new(KERNEL(INDEX "out[i] = i;"));
    assert_int_equal(launch(rig, 4, 1024, 1, 0), OUTCOME_OK);
    for (int i = 0; i < N; i++) assert_int_equal(rig->out[i], i);
    assert_int_equal(shim_waits(rig->state), 0);
    rig_free(rig);
}

static void divergence_is_told(void **state) {
    (void)state;
    refuse(KERNEL(INDEX "if (i == 77) return;\n__syncthreads();"), 128, "has ended");
    refuse(KERNEL(INDEX "if (i < 64) __syncthreads();"), 128, "has ended");
    refuse(KERNEL(INDEX "if (i % 2)\n__syncthreads();\nelse\n__syncthreads();"), 64,
           "different barriers, in lines");
    refuse(KERNEL(INDEX "if (i < 32) __syncthreads(); else __shfl_sync(~0u, i, 0);"
                        "if (i == 40) __syncthreads();"),
           64, "waits at line 3");
    refuse(KERNEL(INDEX "if (lane != 9) out[i] = __shfl_xor_sync(~0u, in[i], 1);"), 32,
           "reads lane 9, which does not take part");
    refuse(KERNEL(INDEX "if (lane != 9)\nout[i] = __shfl_sync(~0u, in[i], 0); else "
                        "out[i] = __shfl_sync(1u << 9, in[i], 9), __syncwarp();"),
           32, "line");
    refuse(KERNEL(INDEX "out[i] = __shfl_sync(0xffu, in[i], 0);"), 32, "not in its own mask");
    refuse(KERNEL(INDEX "out[i] = __shfl_down_sync(~0u, in[i], 16);"), 48,
           "reads lane 16, which does not take part");
}

static void bounds_are_told(void **state) {
    (void)state;
    refuse(KERNEL(INDEX "out[i] = in[n + i - 31];"), 32, "read of 4 bytes out of bounds");
    refuse(KERNEL(INDEX "out[i - 1] = 0;"), 32, "write of 4 bytes out of bounds");
    refuse(KERNEL(INDEX "((char *)out)[n * 4] = 0;"), 32, "write of 1 bytes out of bounds");
    refuse(KERNEL(INDEX "KF_SHARED(int, s); s[256 + i] = 0;"), 1, "write of 4 bytes out of bounds");
    refuse(KERNEL(INDEX "__shared__ int s[32]; s[i + 1] = 0; out[i] = s[i];"), 32,
           "index 32 is outside of its array");
}

static void misaligned_vectors_are_told(void **state) {
    (void)state;
    refuse(KERNEL(INDEX "\nout[i] = ((const int4 *)(in + 1))[i].x;"), 1,
           "line 4: misaligned access");
    refuse(KERNEL(INDEX "*(int2 *)(out + 1) = make_int2(1, 2);"), 1, "misaligned access");
    refuse(KERNEL(INDEX "out[i] = __ldcs((const uint4 *)(in + 2)).x;"), 1, "misaligned access");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles),
        cmocka_unit_test(barriers),
        cmocka_unit_test(a_missing_barrier_shows),
        cmocka_unit_test(a_loop_does_not_wait),
        cmocka_unit_test(divergence_is_told),
        cmocka_unit_test(bounds_are_told),
        cmocka_unit_test(misaligned_vectors_are_told),
    };
    return cmocka_run_group_tests(tests, find_compiler, NULL);
}
