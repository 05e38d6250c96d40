/* C's functions of f32 as vectors (prelude_c_math.h), for several kinds of x86 machine: every one of the registry
 * stays within the ulp that it declares, over a grid of all exponents and the special values, and has the same
 * bits whether a vector fills a register or half of one. Slow but whole: STEP 1. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/language.h"
#include "registry/registry.h"
#include "tuner/hostcc.h"

enum { STEP = 4099, CHUNK = 4096 };

typedef void Vectors(const float *x, float *y, int64_t n);

static bool tested(Primitive p) {
    return primitive_info(p)->class == CLASS_FUNCTION && primitive_info(p)->arity == 1;
}

/* Entries f_NAME over vectors with lanes for values of `bytes`. */
static void print_source(Text *out, int bytes) {
    Text body = {0};
    for (Primitive p = 0; p < PRIMITIVE_COUNT; p++) {
        const char *name = primitive_info(p)->c;
        if (tested(p))
            text_printf(&body,
                        "void f_%s(const float *x, float *y, int64_t n) {\n"
                        "    for (int64_t i = 0; i < n; i += K_LANES)\n"
                        "        k_put_f32(y + i, k_%s(k_get_f32(x + i)), 0);\n}\n",
                        name, name);
    }
    text_printf(out, "#define K_F64 0\n#define K_BYTES %d\n", bytes);
    emit_prelude(out, &emit_language_c, text_string(&body));
    text_add(out, text_string(&body));
    text_free(&body);
}

static void *load(const char *machine, int bytes) {
    const char *const options[] = {"-O2",
                                   machine,
                                   "-std=gnu11",
                                   "-xc",
                                   "-fPIC",
                                   "-w",
                                   "-fno-math-errno",
                                   "-fno-trapping-math",
                                   "-ffp-contract=off",
                                   NULL};
    HostCompiler compiler;
    Text source = {0}, object = {0};
    Why why = {""};
    char path[64];
    if (!hostcc_find(&compiler, &why)) skip();
    compiler.options = options;
    print_source(&source, bytes);
    if (hostcc_compile(&compiler, text_string(&source), &object, &why) != OUTCOME_OK)
        fail_msg("%s: %s", machine, why.text);
    int fd = memfd_create("functions", 0);
    assert_int_equal(write(fd, object.data, object.length), object.length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s: %s", machine, dlerror());
    text_free(&source);
    text_free(&object);
    return library; /* its descriptor stays: libraries are known by path */
}

static double unit(double exact) {
    int exponent;
    frexp(exact, &exponent);
    return ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

/* In ulp; 0 where nothing is owed, infinite for another NaN, infinity or zero than is right. */
static double off(float got, double exact) {
    const float nearest = (float)exact;
    if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (isinf(nearest) && isinf(got)) return nearest == got ? 0 : INFINITY;
    if (isinf(got)) return fabs(exact) > 0x1.fffff0p127 && (got > 0) == (exact > 0) ? 0 : INFINITY;
    if (isinf(exact)) return INFINITY;
    if (exact == 0) return got == 0 && !signbit(got) == !signbit(exact) ? 0 : INFINITY;
    return fabs((double)got - exact) / unit(exact);
}

static void fill(float x[CHUNK], uint64_t from) {
    for (int i = 0; i < CHUNK; i++) {
        const uint32_t bits = (uint32_t)(from + (uint64_t)i * STEP);
        memcpy(&x[i], &bits, sizeof bits);
    }
}

static void same_bits(const float *a, const float *b, const float *x, const char *name) {
    for (int i = 0; i < CHUNK; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("%s(%a) depends on the width: %a, %a", name, (double)x[i], (double)a[i],
                     (double)b[i]);
}

static void compare(const float *x, Vectors *full, Vectors *half, double (*exact)(double),
                    const PrimitiveInfo *info) {
    float wide[CHUNK], narrow[CHUNK];
    full(x, wide, CHUNK);
    half(x, narrow, CHUNK);
    same_bits(wide, narrow, x, info->c);
    for (int i = 0; i < CHUNK; i++) {
        const double right = exact((double)x[i]), ulp = off(wide[i], right);
        if (ulp > info->ulp_c_f32)
            fail_msg("%s(%a) is %a, %.2f ulp from %a", info->c, (double)x[i], (double)wide[i], ulp,
                     right);
    }
}

static void *find(void *library, const char *prefix, const char *name) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    void *symbol = dlsym(library, full);
    assert_non_null(symbol);
    return symbol;
}

static void test(const char *machine) {
    static const float special[CHUNK] = {
        0,         -0.0f,      INFINITY,        -INFINITY,        NAN,      1, -1,
        0x1p-149f, -0x1p-149f, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p-126f};
    void *full = load(machine, 4), *half = load(machine, 8);
    float x[CHUNK];
    for (Primitive p = 0; p < PRIMITIVE_COUNT; p++) {
        const PrimitiveInfo *info = primitive_info(p);
        Vectors *wide, *narrow;
        double (*exact)(double);
        if (!tested(p)) continue;
        *(void **)&wide = find(full, "f_", info->c);
        *(void **)&narrow = find(half, "f_", info->c);
        *(void **)&exact = find(RTLD_DEFAULT, "", info->c);
        compare(special, wide, narrow, exact, info);
        for (uint64_t bits = 0; bits >> 32 == 0; bits += (uint64_t)CHUNK * STEP) {
            fill(x, bits);
            compare(x, wide, narrow, exact, info);
        }
    }
    dlclose(full);
    dlclose(half);
}

static void on_this_machine(void **state) {
    (void)state;
    test("-march=native");
}

static void with_less(void **state) {
    (void)state;
#if defined(__x86_64__)
    test("-march=x86-64");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) test("-march=haswell");
#else
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_this_machine),
                                       cmocka_unit_test(with_less)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
