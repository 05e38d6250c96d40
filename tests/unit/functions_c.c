/* C's functions as vectors (prelude_c_math.h), for several kinds of x86 machine: every one of the registry stays
 * within the ulp that it declares, over a grid of all exponents and the special values, and in f32 has the same bits
 * whether a vector fills a register or half of one. */
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

enum { CHUNK = 4096 };

typedef void Vectors(const double *x, double *y, int64_t n);
typedef long double Exact(long double x);

/* A compute type: the grid takes every `step`-th pattern of bits. */
typedef struct Kind {
    bool f64;
    int digits, least; /* binary; the exponent of the smallest subnormal */
    double largest;
    uint64_t step;
} Kind;
static const Kind f32 = {false, 24, -149, 0x1.fffffep127, 4099};
static const Kind f64 = {true, 53, -1074, 0x1.fffffffffffffp1023, 0x200080180049};

static bool tested(Primitive p) {
    return primitive_info(p)->class == CLASS_FUNCTION && primitive_info(p)->arity == 1;
}

/* Entries f_NAME over vectors with lanes for values of `bytes`. */
static void print_source(Text *out, const Kind *kind, int bytes) {
    Text body = {0};
    for (Primitive p = 0; p < PRIMITIVE_COUNT; p++) {
        const char *name = primitive_info(p)->c;
        if (tested(p))
            text_printf(&body,
                        "void f_%s(const double *x, double *y, int64_t n) {\n"
                        "    for (int64_t i = 0; i < n; i += K_LANES)\n"
                        "        k_put_f64(y + i, k_%s(k_get_f64(x + i)), 0);\n}\n",
                        name, name);
    }
    text_printf(out, "#define K_F64 %d\n#define K_BYTES %d\n", kind->f64, bytes);
    emit_prelude(out, &emit_language_c, text_string(&body));
    text_add(out, text_string(&body));
    text_free(&body);
}

static void *load(const char *machine, const Kind *kind, int bytes) {
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
    print_source(&source, kind, bytes);
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

/* In ulp; 0 where nothing is owed, infinite for another NaN, infinity or zero than is right. */
static double off(double got, long double exact, const Kind *kind) {
    int exponent;
    if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (isinf(got) || fabsl(exact) > (long double)kind->largest)
        return fabsl(exact) > 0.999999L * (long double)kind->largest && (got > 0) == (exact > 0)
                   ? 0
                   : INFINITY;
    if (exact == 0) return got == 0 && !signbit(got) == !signbit(exact) ? 0 : INFINITY;
    frexpl(exact, &exponent);
    exponent -= kind->digits;
    return (double)ldexpl(fabsl((long double)got - exact),
                          exponent < kind->least ? -kind->least : -exponent);
}

static void fill(double x[CHUNK], uint64_t from, const Kind *kind) {
    for (uint64_t i = 0; i < CHUNK; i++) {
        const uint64_t bits = from + i * kind->step;
        const uint32_t word = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &word, sizeof narrow);
        memcpy(&x[i], &bits, sizeof bits);
        if (!kind->f64) x[i] = (double)narrow;
    }
}

static void same_bits(const double *a, const double *b, const double *x, const char *name) {
    for (int i = 0; i < CHUNK; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("%s(%a) depends on the width: %a, %a", name, x[i], a[i], b[i]);
}

static void compare(const double *x, Vectors *full, Vectors *half, Exact *exact,
                    const PrimitiveInfo *info, const Kind *kind) {
    const double allowed = kind->f64 ? info->ulp_c_f64 : info->ulp_c_f32;
    double wide[CHUNK], narrow[CHUNK];
    full(x, wide, CHUNK);
    half(x, narrow, CHUNK);
    same_bits(wide, narrow, x, info->c);
    for (int i = 0; i < CHUNK; i++) {
        const long double right = exact((long double)x[i]);
        const double ulp = off(wide[i], right, kind);
        if (ulp > allowed)
            fail_msg("%s(%a) is %a, %.2f ulp from %La", info->c, x[i], wide[i], ulp, right);
    }
}

static void *find(void *library, const char *prefix, const char *name, const char *suffix) {
    char full[64];
    snprintf(full, sizeof full, "%s%s%s", prefix, name, suffix);
    void *symbol = dlsym(library, full);
    assert_non_null(symbol);
    return symbol;
}

static void test_kind(const char *machine, const Kind *kind) {
    const double special[CHUNK] = {
        0,  -0.0,     INFINITY,  -INFINITY, NAN,           1,
        -1, 0x1p-149, -0x1p-149, 0x1p-126,  kind->largest, -kind->largest};
    const uint64_t last = kind->f64 ? UINT64_MAX : UINT32_MAX, stride = CHUNK * kind->step;
    void *full = load(machine, kind, kind->f64 ? 8 : 4), *half = load(machine, kind, 8);
    double x[CHUNK];
    for (Primitive p = 0; p < PRIMITIVE_COUNT; p++) {
        const PrimitiveInfo *info = primitive_info(p);
        Vectors *wide, *narrow;
        Exact *exact;
        if (!tested(p)) continue;
        *(void **)&wide = find(full, "f_", info->c, "");
        *(void **)&narrow = find(half, "f_", info->c, "");
        *(void **)&exact = find(RTLD_DEFAULT, "", info->c, "l");
        compare(special, wide, narrow, exact, info, kind);
        for (uint64_t bits = 0; bits <= last - stride; bits += stride) {
            fill(x, bits, kind);
            compare(x, wide, narrow, exact, info, kind);
        }
    }
    dlclose(full);
    dlclose(half);
}

static void test(const char *machine) {
    test_kind(machine, &f32);
    test_kind(machine, &f64);
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
