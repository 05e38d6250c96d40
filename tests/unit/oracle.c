/* The device's oracle: its text, compiled for the host by g++ through a shim of a few lines (one
 * thread), says what the host's oracle says; and NVRTC takes it, whatever the program. */
#include "compiler/oracle_cuda.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "compiler/gate.h"
#include "lowered.h"
#include "tuner/device.h"

static const char shim[] =
    "#define __device__\n#define __global__\n#define __shared__ static\n"
    "#define __syncthreads()\n#define __threadfence()\n"
    "struct Dim { unsigned x; };\nstatic const Dim blockIdx = {0}, threadIdx = {0}, blockDim = "
    "{1}, gridDim = {1};\n"
    "static unsigned atomicCAS(unsigned *p, unsigned a, unsigned b) { unsigned o = *p; if (o == a) "
    "*p = b; return o; }\n"
    "static void atomicExch(unsigned *p, unsigned a) { *p = a; }\n"
    "static void atomicAdd(unsigned long long *p, unsigned long long a) { *p += a; }\n"
    "static void atomicMin(unsigned long long *p, unsigned long long a) { if (a < *p) *p = a; }\n";

typedef struct Built {
    Arena *arena;
    const Ir *ir;
    void *library;
    void **in, **out;
    int64_t count; /* elements of output 0 */
} Built;

static void *symbol(const Built *built, const char *name) {
    void *address = dlsym(built->library, name);
    assert_non_null(address);
    return address;
}

static void *load_text(const char *text) {
    char folder[] = "/tmp/kfuse-oracle-XXXXXX", path[64], command[256];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/oracle.cpp", folder);
    FILE *file = fopen(path, "w");
    fprintf(file, "%s%s", shim, text);
    fclose(file);
    snprintf(command, sizeof command,
             "g++ -std=c++17 -O1 -w -ffp-contract=off -shared -fPIC -o %s/oracle.so %s", folder,
             path);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/oracle.so", folder);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    assert_non_null(library);
    return library;
}

static void fill_inputs(Built *built, int domain) {
    void (*fill)(void *, int, uint64_t, uint32_t, int64_t, int64_t, int);
    *(void **)&fill = symbol(built, "kf_fill");
    for (uint32_t i = 0; i < built->ir->inputs.count; i++) {
        const Type *type = &built->ir->inputs.data[i].type;
        int64_t count = type_count(type);
        void *wanted = arena_alloc(built->arena, (size_t)type_bytes(type));
        built->in[i] = arena_alloc(built->arena, (size_t)type_bytes(type));
        fill(built->in[i], (int)type->dtype, 9, i, 0, count, domain);
        gate_fill(wanted, type->dtype, 9, i, 0, count, domain);
        assert_memory_equal(built->in[i], wanted, (size_t)type_bytes(type));
    }
}

static Built build(const char *text, DType type, int domain) {
    InputSpec b = {.name = "b", .has_shape = true, .type = {.dtype = type, .rank = 1, .dim = {23}}};
    LowerOptions options = {
        .has_shape = true, .plain = {.dtype = type, .rank = 2, .dim = {23, 23}}, .inputs = &b};
    Built built = {.arena = arena_open()};
    Text source = {0};
    options.input_count = strchr(text, 'b') != NULL && strstr(text, "abs") == NULL;
    built.ir = lowered(built.arena, text, &options);
    assert_non_null(built.ir);
    built.ir = simplify(built.arena, built.ir, true);
    built.count = type_count(&built.ir->outputs.data[0].type);
    built.in = arena_array(built.arena, void *, built.ir->inputs.count);
    built.out = arena_array(built.arena, void *, built.ir->outputs.count);
    built.out[0] = arena_alloc(built.arena, (size_t)built.count * 8);
    oracle_cuda(&source, built.ir);
    built.library = load_text(text_string(&source));
    text_free(&source);
    fill_inputs(&built, domain);
    return built;
}

static void unbuild(Built *built) {
    dlclose(built->library);
    arena_close(built->arena);
}

/* Two libraries' functions in double may put an end one ulp of f32 apart. */
static bool close_ends(double a, double b, bool exact) {
    if (a == b || (isnan(a) && isnan(b))) return signbit(a) == signbit(b) || isnan(a) || !exact;
    return !exact && fabs(a - b) <= fmax(fabs(a), fabs(b)) * 0x1p-7;
}

static double end_at(DType type, const void *ends, int64_t i) {
    Scalar value = dtype_load(type, (const char *)ends + i * (int64_t)dtype_info(type)->bytes);
    return dtype_is_float(type) ? value.real : (double)value.whole;
}

enum { MAY_NAN = 1, MUST_NAN = 2, AMBIGUOUS = 4, UNCHECKED = 8 };

/* kf_expect against the host's intervals; `exact`: bit for bit. */
static void expects_the_same(Built *built, Eval *eval, bool exact) {
    void (*expect)(void *const *, uint32_t, const int64_t *, int64_t, double *, double *, double *,
                   uint8_t *);
    int64_t *index = arena_array(built->arena, int64_t, built->count), ambiguous = 0;
    double *lo = arena_array(built->arena, double, built->count),
           *hi = arena_array(built->arena, double, built->count);
    double *value = arena_array(built->arena, double, built->count);
    uint8_t *state = arena_alloc(built->arena, (size_t)built->count);
    *(void **)&expect = symbol(built, "kf_expect");
    for (int64_t i = 0; i < built->count; i++) index[i] = built->count - 1 - i;
    expect(built->in, 0, index, built->count, lo, value, hi, state);
    const Expected *expected = eval_gather(eval, 0, 0, index, built->count);
    for (int64_t i = 0; i < built->count; i++) {
        double low = end_at(expected->dtype, expected->lo, i),
               high = end_at(expected->dtype, expected->hi, i);
        ambiguous += (state[i] & AMBIGUOUS) != 0;
        assert_int_equal((state[i] & UNCHECKED) != 0, low > high);
        if (low > high) continue;
        assert_int_equal((state[i] & MUST_NAN) != 0, isnan(low));
        if (!isnan(low)) assert_int_equal((state[i] & MAY_NAN) != 0, expected->may_nan[i]);
        if (!close_ends(low, lo[i], exact) || !close_ends(high, hi[i], exact))
            printf("%d: [%a, %a], wanted [%a, %a]\n", (int)index[i], lo[i], hi[i], low, high);
        assert_true(close_ends(low, lo[i], exact) && close_ends(high, hi[i], exact));
    }
    assert_int_equal(ambiguous, expected->ambiguous);
}

static OracleReport check_all(Built *built) {
    void (*check)(void *const *, void *const *, uint32_t, int64_t, int64_t, OracleReport *);
    OracleReport report = {.first_wrong = INT64_MAX, .worst_bound = -1, .worst_ulp = -1};
    report.worst_bound_at = report.worst_ulp_at = INT64_MAX;
    *(void **)&check = symbol(built, "kf_check");
    check(built->in, built->out, 0, 0, built->count / 2, &report);
    check(built->in, built->out, 0, built->count / 2, built->count - built->count / 2, &report);
    return report;
}

/* kf_check against check_block, on the chain's output and on a wrong element. */
static void checks_the_same(Built *built, Eval *eval) {
    int64_t bytes = dtype_info(built->ir->outputs.data[0].type.dtype)->bytes, at = built->count / 3;
    for (int wrong = 0; wrong < 2; wrong++) {
        Check check = check_none();
        eval_chain(eval, 0, 0, built->count, built->out[0]);
        if (wrong) ((uint8_t *)built->out[0])[at * bytes + bytes - 1] ^= 0x40;
        check_block(eval_range(eval, 0, 0, 0, built->count), built->out[0], 0, &check);
        OracleReport report = check_all(built);
        assert_int_equal(report.wrong, check.wrong);
        assert_int_equal(report.checked, check.checked);
        assert_int_equal(report.unchecked, check.unchecked);
        assert_int_equal(report.first_wrong == INT64_MAX ? -1 : report.first_wrong,
                         check.first_wrong);
        bool known =
            check.unchecked == 0; /* else the changed element may be one that is not checked */
        assert_true(!wrong || !known ? check.wrong <= wrong
                                     : check.wrong == 1 && check.first_wrong == at);
        if (check.worst_ulp_at >= 0)
            assert_true(fabs(report.worst_ulp - check.worst_ulp) <= 1e-3 * check.worst_ulp);
    }
}

static bool have_compiler(void) {
    return system("g++ --version >/dev/null 2>&1") == 0;
}

static void both_oracles_agree(void **unused) {
    const struct {
        const char *text;
        DType type;
        bool exact;
    } cases[] = {
        {"relu(x + y)", DT_F32, true},
        {"round(clamp(x / 0.1, -12, 12)) * 0.1 + b", DT_BF16, true},
        {"x // y - x % y > b ? max(x, y) : fma(x, y, b)", DT_F16, true},
        {"(x.T + 1).T - x.T * sqrt(abs(y))", DT_F32, true},
        {"x // 3 + y * b - (x % 7)", DT_I32, true},
        {"u8(x * 30) + i8(y)", DT_F32, true},
        {"gelu(x + b) + y", DT_F32, false},
        {"tanh(x * y + b) * sigmoid(x) + 0.5 * y", DT_BF16, false},
        {"sin(x) + cos(y) ** 3 + atan2(x, y) + log1p(exp(x)) + x ** y", DT_F32, false},
        {"exp(x - max(x)) / sum(exp(x - max(x)))", DT_F32, false},
        {"(x - mean(x)) / sqrt(var(x) + 1e-5) * b + sum(y, axis=0) + prod(y, axis=all)", DT_F32,
         false},
        {"relu(x @ (y + 1).T) + b", DT_F32, false},
        {"x @ y + sum(x)", DT_I32, true},
    };
    (void)unused;
    if (!have_compiler()) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Built built = build(cases[i].text, cases[i].type, cases[i].type == DT_I32 ? 3 : 0);
        Eval *eval = eval_open(built.ir, (const void *const *)built.in, ACCURACY_CUDA, NULL);
        expects_the_same(&built, eval, cases[i].exact);
        checks_the_same(&built, eval);
        eval_close(eval);
        unbuild(&built);
    }
}

/* A table and a loop instead of statements. */
static void long_programs_agree(void **unused) {
    Text text = {0};
    (void)unused;
    if (!have_compiler()) skip();
    text_add(&text, "x");
    for (int i = 1; i < 300; i++)
        text_printf(&text,
                    i % 3 == 0   ? " + x * %d.5"
                    : i % 3 == 1 ? " + y / %d"
                                 : " - max(b, %d)",
                    i);
    text_add(&text, " + exp(-x * x)");
    Built built = build(text_string(&text), DT_F32, 0);
    Eval *eval = eval_open(built.ir, (const void *const *)built.in, ACCURACY_CUDA, NULL);
    expects_the_same(&built, eval, false);
    checks_the_same(&built, eval);
    eval_close(eval);
    unbuild(&built);
    text_free(&text);
}

static void bytes_are_compared_and_poisoned(void **unused) {
    void (*compare)(const void *, const void *, int64_t, int, uint64_t *, int64_t *);
    void (*poison)(void *, const void *, int64_t);
    float a[] = {1, NAN, 0, 4}, b[] = {1, -NAN, -0.0f, 4}, c[4];
    uint64_t differences = 0;
    int64_t first = INT64_MAX;
    (void)unused;
    if (!have_compiler()) skip();
    Built built = build("x + y", DT_F32, 0);
    *(void **)&compare = symbol(&built, "kf_compare");
    *(void **)&poison = symbol(&built, "kf_poison");
    compare(a, b, sizeof a, DT_F32, &differences, &first);
    assert_true(differences == 1 && first == 2);
    poison(c, a, sizeof a);
    poison(c, c, sizeof a);
    assert_memory_equal(a, c, sizeof a);
    poison(c, NULL, sizeof c);
    for (size_t i = 0; i < sizeof c; i++) assert_int_equal(((unsigned char *)c)[i], 0xff);
    unbuild(&built);
}

/* --- NVRTC */

static void compile(const Device *cuda, const Ir *ir) {
    DeviceIdentity identity = {.arch = "sm_90"};
    Text source = {0}, binary = {0};
    Why why = {""};
    oracle_cuda(&source, ir);
    CompileUnit unit = {text_string(&source), "oracle", true};
    if (cuda->compile(&unit, &identity, &binary, &why) != OUTCOME_OK) fail_msg("%s", why.text);
    text_free(&source);
    text_free(&binary);
}

static void nvrtc_takes_every_program(void **unused) {
    const struct {
        const char *text;
        DType type;
    } cases[] = {
        {"gelu(x + b) + y", DT_BF16},
        {"x + y", DT_F64},
        {"x // y + x % y", DT_I64},
        {"(x + 1).T * y < b", DT_F16},
        {"exp(x - max(x)) / sum(exp(x - max(x))) + var(x) + prod(x) + min(x)", DT_F32},
        {"x @ y.T + b", DT_F16},
        {"x ** y + atan2(x, y) + hypot(x, y) + sin(x) + tan(x) + fmod(x, y) + copysign(x, y) + "
         "fmax(x, y)",
         DT_F32},
    };
    const Device *cuda = device_find("cuda");
    Why why;
    (void)unused;
    if (cuda == NULL || !cuda->warm(&why)) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_open();
        InputSpec b = {.name = "b",
                       .has_shape = true,
                       .type = {.dtype = cases[i].type, .rank = 1, .dim = {16}}};
        LowerOptions options = {.has_shape = true,
                                .plain = {.dtype = cases[i].type, .rank = 2, .dim = {16, 16}}};
        options.inputs = &b;
        options.input_count = strstr(cases[i].text, " b") != NULL;
        Ir *ir = lowered(arena, cases[i].text, &options);
        assert_non_null(ir);
        compile(cuda, simplify(arena, ir, true));
        arena_close(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_oracles_agree),
        cmocka_unit_test(long_programs_agree),
        cmocka_unit_test(bytes_are_compared_and_poisoned),
        cmocka_unit_test(nvrtc_takes_every_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
