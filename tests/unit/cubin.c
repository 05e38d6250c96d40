/* What a cubin says about itself, for every architecture NVRTC knows; damaged files are refused or
 * read without harm. NVRTC needs no GPU; without NVRTC there is nothing to test. */
#include "tuner/cubin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tuner/cuda_nvrtc.h"

#define BODY                                                            \
    "(const float *x, float *y, long long n) {\n"                       \
    "    __shared__ float tile[64];\n"                                  \
    "    tile[threadIdx.x & 63] = x[threadIdx.x];\n"                    \
    "    __syncthreads();\n"                                            \
    "    y[threadIdx.x] = erff(tile[(threadIdx.x + 1) & 63]) / x[n];\n" \
    "}\n"
#define KERNEL "extern \"C\" __global__ void "
#define PLAIN "(float *x) { x[threadIdx.x] += 1; }\n"

/* The binary of a source, or the test is skipped. */
static Text compile_for(const char *arch, const char *source) {
    Nvrtc nvrtc;
    Text binary = {0};
    Why why;
    if (!nvrtc_load(&nvrtc, &why)) skip();
    if (nvrtc_compile(&nvrtc, &(CompileUnit){source, "test.cu", false}, arch, &binary, &why) !=
        OUTCOME_OK)
        fail_msg("%s", why.text);
    return binary;
}

static uint64_t code_of(const Text *binary, const char *entry) {
    Resources resources;
    uint64_t hash = 0;
    assert_true(cubin_resources(binary->data, binary->length, entry, &resources, &hash));
    return hash;
}

static void reads_resources(void **state) {
    (void)state;
    static const char *const archs[] = {"sm_80", "sm_90", "sm_100", "sm_120"};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        Text binary = compile_for(archs[i], KERNEL "heavy" BODY KERNEL "plain" PLAIN);
        Resources heavy, plain;
        uint64_t hash;
        assert_true(cubin_valid(binary.data, binary.length));
        assert_true(cubin_resources(binary.data, binary.length, "heavy", &heavy, &hash));
        assert_true(cubin_resources(binary.data, binary.length, "plain", &plain, &hash));
        assert_true(heavy.registers > plain.registers && plain.registers >= 6);
        assert_int_equal(heavy.shared_bytes, 256);
        assert_int_equal(plain.shared_bytes, 0);
        assert_int_equal(plain.stack_bytes, 0);
        assert_int_equal(plain.spill_bytes, 0);
        assert_false(cubin_resources(binary.data, binary.length, "absent", &plain, &hash));
        text_free(&binary);
    }
}

static void counts_a_stack(void **state) {
    (void)state;
    Text binary =
        compile_for("sm_90", KERNEL "k(const float *x, float *y, int n) { float a[100];"
                                    " for (int i = 0; i < 100; i++) a[i] = x[i]; y[0] = a[n]; }");
    Resources resources;
    uint64_t hash;
    assert_true(cubin_resources(binary.data, binary.length, "k", &resources, &hash));
    assert_int_equal(resources.stack_bytes, 400);
    assert_int_equal(resources.spill_bytes, -1);
    text_free(&binary);
}

static void same_code_has_one_hash(void **state) {
    (void)state;
    Text alone = compile_for("sm_90", KERNEL "other_name" BODY);
    Text together = compile_for("sm_90", KERNEL "a" BODY KERNEL "b" PLAIN KERNEL "c" BODY);
    assert_true(code_of(&alone, "other_name") == code_of(&together, "a"));
    assert_true(code_of(&together, "c") == code_of(&together, "a"));
    assert_true(code_of(&together, "b") != code_of(&together, "a"));
    text_free(&alone);
    text_free(&together);
}

/* Equal instructions, other constants: in the bank, in a called function, in a table. */
static void other_constants_are_other_code(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"__constant__ float t[2] = {1, 2};" KERNEL "k(float *x) { x[0] = t[threadIdx.x & 1]; }",
         "__constant__ float t[2] = {1, 3};" KERNEL "k(float *x) { x[0] = t[threadIdx.x & 1]; }"},
        {"__device__ __noinline__ float f(float x) { return x + 1; }" KERNEL
         "k(float *x) { *x = f(*x); }",
         "__device__ __noinline__ float f(float x) { return x + 2; }" KERNEL
         "k(float *x) { *x = f(*x); }"},
        {KERNEL "k(float *x) { x[0] = 0.1f; }", KERNEL "k(float *x) { x[0] = 0.2f; }"},
        {"__device__ float t[2] = {1, 2};" KERNEL "k(float *x) { x[0] = t[threadIdx.x & 1]; }",
         "__device__ float t[2] = {1, 3};" KERNEL "k(float *x) { x[0] = t[threadIdx.x & 1]; }"},
        {KERNEL "__launch_bounds__(128) k" PLAIN, KERNEL "__cluster_dims__(2, 1, 1) k" PLAIN},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Text a = compile_for("sm_90", pairs[i][0]), b = compile_for("sm_90", pairs[i][1]);
        if (code_of(&a, "k") == code_of(&b, "k")) fail_msg("pair %d has one hash", (int)i);
        text_free(&a);
        text_free(&b);
    }
}

static void survives_damage(void **state) {
    (void)state;
    Text binary = compile_for("sm_90", KERNEL "k" BODY KERNEL "m" PLAIN);
    Resources resources;
    uint64_t hash;
    uint32_t random = 1;
    for (size_t cut = 0; cut < binary.length; cut += cut < 128 ? 1 : 37) {
        char *piece = malloc(cut ? cut : 1);
        memcpy(piece, binary.data, cut);
        assert_false(cubin_valid(piece, cut));
        assert_false(cubin_resources(piece, cut, "k", &resources, &hash));
        free(piece);
    }
    char *copy = malloc(binary.length);
    for (int trial = 0; trial < 20000; trial++) {
        memcpy(copy, binary.data, binary.length);
        for (int i = 0; i < 4; i++) {
            random = random * 1664525 + 1013904223;
            /* half of the blows at the head and the section table, where they hurt */
            size_t at = random % binary.length;
            if (random >> 31) at = random % 2 ? random % 64 : binary.length - 1 - random % 1600;
            copy[at] = (char)(random >> 13);
        }
        cubin_resources(copy, binary.length, "k", &resources, &hash);
    }
    free(copy);
    text_free(&binary);
    assert_false(cubin_valid("", 0));
    assert_false(cubin_valid("\177ELF", 4));
}

static void compiles_for_a_newer_gpu_as_ptx(void **state) {
    (void)state;
    Text ptx = compile_for("sm_999", KERNEL "k" PLAIN);
    assert_int_equal(ptx.data[ptx.length - 1], 0);
    assert_non_null(strstr(ptx.data, ".entry k("));
    assert_false(cubin_valid(ptx.data, ptx.length));
    text_free(&ptx);
}

static void names_a_gpu_that_is_too_old(void **state) {
    (void)state;
    Nvrtc nvrtc;
    NvrtcTarget target;
    Why why;
    if (!nvrtc_load(&nvrtc, &why)) skip();
    assert_false(nvrtc_target(&nvrtc, "sm_35", &target, &why));
    assert_non_null(strstr(why.text, "no longer compiles for sm_35"));
    assert_true(nvrtc_target(&nvrtc, "sm_90a", &target, &why));
    assert_string_equal(target.option, "--gpu-architecture=sm_90a");
    assert_false(nvrtc_target(&nvrtc, "x86-64", &target, &why));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_resources),
        cmocka_unit_test(counts_a_stack),
        cmocka_unit_test(same_code_has_one_hash),
        cmocka_unit_test(other_constants_are_other_code),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(compiles_for_a_newer_gpu_as_ptx),
        cmocka_unit_test(names_a_gpu_that_is_too_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
