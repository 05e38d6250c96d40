/* The functions of prelude_cuda_math.h against the host's or the device's double ones: every f32 on a GPU, every
 * 16381st on the shim. Prints the largest error of each; k_gelu's bound grows with the square of what it takes, as
 * its formula's does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compiler/language.h"
#include "tests/shim/device_shim.h"

typedef struct Case {
    const char *call, *exact; /* of float x, y and of double a, b, which have the same values */
    uint32_t primitive;       /* whose bound it has, if it is one */
    const char *bound;        /* else, ulp */
} Case;

static const Case cases[] = {
    {"k_erfc(x)", "erfc(a)", P_ERFC, NULL},
    {"k_gelu<4>(x)", "gelu(a)", P_NOT, "8 + 2 * a * a"},
    {"k_gelu<2>(x)", "gelu(a)", P_NOT, "8 + 2 * a * a"},
    {"k_round_bf16(k_gelu<2>(k_round_bf16(x)))", "HELD(k_round_bf16)", P_NOT, "1"},
    {"k_round_f16(k_gelu<2>(k_round_f16(x)))", "HELD(k_round_f16)", P_NOT, "1"},
    {"k_near_exp(x)", "exp(a)", P_NEAR_EXP, NULL},
    {"k_near_exp2(x)", "exp2(a)", P_NEAR_EXP2, NULL},
    {"k_near_expm1(x)", "expm1(a)", P_NEAR_EXPM1, NULL},
    {"k_near_log(x)", "log(a)", P_NEAR_LOG, NULL},
    {"k_near_log2(x)", "log2(a)", P_NEAR_LOG2, NULL},
    {"k_near_log1p(x)", "log1p(a)", P_NEAR_LOG1P, NULL},
    {"k_near_tanh(x)", "tanh(a)", P_NEAR_TANH, NULL},
    {"k_near_tanh_bf16(x)", "tanh(a)", P_BF16_TANH, NULL},
    {"k_near_erf(x)", "erf(a)", P_NEAR_ERF, NULL},
    {"k_near_erfc(x)", "erfc(a)", P_NEAR_ERFC, NULL},
    {"k_near_sqrt(x)", "sqrt(a)", P_NEAR_SQRT, NULL},
    {"k_near_div(x, y)", "a / b", P_NEAR_DIV, NULL},
    {"k_near_div(y, x)", "b / a", P_NEAR_DIV, NULL},
};

/* off: distance from the exact result, as a fraction of the bound; 2^128 stands for infinity. unit<NEAR>: an ulp of
 * primitives.def, of near.def. HELD: 4 units aside of gelu, rounded to 16 bits: what lies between is exact. */
static const char checks[] =
    "K_INLINE double held(double v) { return v > 0x1p128 ? 0x1p128 : v < -0x1p128 ? -0x1p128 : v; "
    "}\n"
    "template <bool NEAR> K_INLINE double unit(double v) {\n"
    "    const long long power = __double_as_longlong(v) >> 52 & 2047, ulp = power < 897 ? 874 : "
    "power - 23;\n"
    "    return NEAR ? fmax(fabs(v) * 0x1p-23, 0x1p-148) : __longlong_as_double(ulp << 52);\n"
    "}\n"
    "template <bool NEAR> K_INLINE float off(float got, double exact, double bound) {\n"
    "    if (got != got || exact != exact) return (got != got) == (exact != exact) ? 0 : K_INF;\n"
    "    if (got == 0 && exact == 0) return 1 / got == (float)(1 / exact) ? 0 : K_INF;\n"
    "    return (float)(fabs(held(got) - held(exact)) / (unit<NEAR>(held(exact)) * bound));\n"
    "}\n"
    "K_INLINE double gelu(double a) { return 0.5 * (a < -40 ? -40 : a) * erfc(a * "
    "(double)-0.70710678f); }\n"
    "K_INLINE double between(double y, double p, double q) {\n"
    "    return y < fmin(p, q) ? fmin(p, q) : y > fmax(p, q) ? fmax(p, q) : y;\n"
    "}\n"
    "#define HELD(round) between(round(k_gelu<2>(round(x))), round(gelu(round(a)) * (1 - "
    "0x1p-22)), \\\n"
    "                           round(gelu(round(a)) * (1 + 0x1p-22)))\n"
    "#define CHECK(name, call, exact, near, bound) \\\n"
    "extern \"C\" __global__ void name(float *worst, float *where, const long long step) { \\\n"
    "    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x; \\\n"
    "    float most = -1, at = 0; \\\n"
    "    for (long long i = first * step; i < 1LL << 32; i += step * gridDim.x * blockDim.x) { \\\n"
    "        const float x = __uint_as_float((unsigned int)i); \\\n"
    "        const float y = __uint_as_float((unsigned int)i * 2654435761u + 12345u); \\\n"
    "        const double a = x, b = y; \\\n"
    "        const float is = off<near>(call, exact, bound); \\\n"
    "        if (is > most) most = is, at = x; \\\n"
    "    } \\\n"
    "    worst[first] = most; \\\n"
    "    where[first] = at; \\\n"
    "}\n";

enum { CASES = sizeof cases / sizeof *cases };

typedef struct Rig {
    const Device *device;
    Arena *arena;
    DeviceState *state;
    Module *module;
    Address buffers[2];
    int64_t blocks, threads, step;
    float *worst, *where;
} Rig;

static const char *bound_of(Rig *rig, const Case *c) {
    return c->bound ? c->bound
                    : arena_printf(rig->arena, "%g",
                                   primitive_info((Primitive)c->primitive)->ulp_cuda_f32);
}

static void write_source(Rig *rig, Text *source) {
    Text body = {0};
    text_add(&body, checks);
    for (int i = 0; i < CASES; i++)
        text_printf(&body, "CHECK(check%d, %s, %s, %d, %s)\n", i, cases[i].call, cases[i].exact,
                    primitive_info((Primitive)cases[i].primitive)->class == CLASS_NEAR,
                    bound_of(rig, &cases[i]));
    text_add(source, "#define K_F64 0\n#define K_INDEX64 0\ntypedef int k_index;\n");
    emit_prelude(source, &emit_language_cuda, text_string(&body));
    text_add(source, text_string(&body));
    text_free(&body);
}

static void open_rig(Rig *rig, Why *why) {
    DeviceIdentity identity;
    Text source = {0}, binary = {0};
    write_source(rig, &source);
    const CompileUnit unit = {text_string(&source), "functions.cu", false};
    rig->state = rig->device->open(0, false, why);
    if (!rig->state || !rig->device->identify(0, true, &identity, why) ||
        rig->device->compile(&unit, &identity, &binary, why) != OUTCOME_OK ||
        !(rig->module = rig->device->load(rig->state, binary.data, binary.length, why)))
        fail_msg("%s", why->text);
    size_t size = (size_t)(rig->blocks * rig->threads) * sizeof(float);
    for (int i = 0; i < 2; i++)
        if (!rig->device->allocate(rig->state, size, &rig->buffers[i], why))
            fail_msg("%s", why->text);
    rig->worst = arena_array(rig->arena, float, size / sizeof(float));
    rig->where = arena_array(rig->arena, float, size / sizeof(float));
    text_free(&source);
    text_free(&binary);
}

static void launch(Rig *rig, int i, Why *why) {
    Launch launch = {.entry = arena_printf(rig->arena, "check%d", i), .alignment = 4, .cluster = 1};
    Arg args[] = {{ARG_BUFFER, 0, {0}}, {ARG_BUFFER, 1, {0}}, {ARG_I64, 0, {.whole = rig->step}}};
    Run run = {0};
    launch.grid[0] = rig->blocks, launch.grid[1] = launch.grid[2] = 1;
    launch.block[0] = (int32_t)rig->threads, launch.block[1] = launch.block[2] = 1;
    launch.args = args;
    launch.arg_count = 3;
    array_push(rig->arena, &run.launches, launch);
    size_t size = (size_t)(rig->blocks * rig->threads) * sizeof(float);
    if (rig->device->launch(rig->state, &run, &rig->module, rig->buffers, NULL, why) !=
            OUTCOME_OK ||
        rig->device->finish(rig->state, why) != OUTCOME_OK ||
        !rig->device->download(rig->state, rig->worst, rig->buffers[0], size, why) ||
        !rig->device->download(rig->state, rig->where, rig->buffers[1], size, why))
        fail_msg("%s: %s", cases[i].call, why->text);
}

/* Whether it stays within its bound. */
static bool report(Rig *rig, int i) {
    int64_t worst = 0;
    for (int64_t k = 0; k < rig->blocks * rig->threads; k++)
        if (rig->worst[k] > rig->worst[worst]) worst = k;
    float most = rig->worst[worst];
    printf("%-42s %6.3f of %s ulp, at x = %.9g\n", cases[i].call, (double)most,
           bound_of(rig, &cases[i]), (double)rig->where[worst]);
    return most <= 1;
}

static void check_on(const Device *device, int64_t blocks, int64_t threads, int64_t step) {
    Rig rig = {.device = device,
               .arena = arena_open(),
               .blocks = blocks,
               .threads = threads,
               .step = step};
    bool passed = true;
    Why why = {""};
    if (device->count(&why) == 0) {
        arena_close(rig.arena);
        skip();
    }
    open_rig(&rig, &why);
    for (int i = 0; i < CASES; i++) {
        launch(&rig, i, &why);
        passed = report(&rig, i) && passed;
    }
    for (int i = 0; i < 2; i++) device->release(rig.state, rig.buffers[i]);
    device->unload(rig.state, rig.module);
    device->close(rig.state);
    arena_close(rig.arena);
    assert_true(passed);
}

static void samples_on_the_shim(void **state) {
    (void)state;
    check_on(&device_shim, 1, 256, 16381);
}

static void every_number_on_a_gpu(void **state) {
    (void)state;
    check_on(device_find("cuda"), 2048, 256, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_on_the_shim),
                                       cmocka_unit_test(every_number_on_a_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
