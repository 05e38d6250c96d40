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
#include "compiler/near.h"
#include "lowered.h"
#include "tuner/device.h"

static const char shim[] =
    "#define __device__\n#define __global__\n#define __shared__ static\n#define __forceinline__\n"
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
    OracleSteps steps;
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

/* --- values, filled as bench_values.c has a device fill them */

static void sum_rows(const Built *built, const OracleStep *step, const char *entry) {
    void (*add)(void *const *, void *, const void *, int);
    void (*fold)(void *, int, int, int64_t, int64_t, int64_t, int64_t);
    void (*reduced)(const void *, const void *, int, int, int64_t, int64_t, void *);
    size_t bytes = (size_t)(step->rows * step->pieces) * built->steps.sum_bytes;
    void *sums[2] = {arena_alloc(built->arena, bytes), arena_alloc(built->arena, bytes)};
    *(void **)&add = symbol(built, entry);
    *(void **)&fold = symbol(built, "kf_fold");
    *(void **)&reduced = symbol(built, "kf_reduced");
    for (int pass = 0; pass < step->passes; pass++) {
        add(built->in, sums[pass], sums[0], pass);
        for (int64_t kept, live = step->pieces; live > 1; live = kept) {
            kept = live > 4 ? live / 4 : 1;
            fold(sums[pass], step->op, (int)step->type, step->rows, step->pieces, live, kept);
        }
    }
    reduced(sums[step->passes - 1], sums[0], step->op, (int)step->type, step->rows, step->pieces,
            built->in[step->slot]);
}

static void fill_values(Built *built) {
    for (uint32_t i = 0; i < built->steps.list.count; i++) {
        const OracleStep *step = &built->steps.list.data[i];
        void (*compute)(void *const *);
        char entry[32];
        snprintf(entry, sizeof entry, "kf_value_%u", step->value);
        built->in[step->slot] =
            arena_alloc(built->arena, (size_t)step->count * ORACLE_VALUE_BYTES + 1);
        *(void **)&compute = symbol(built, entry);
        if (step->kind == ORACLE_REDUCTION)
            sum_rows(built, step, entry);
        else
            compute(built->in);
    }
}

static Built build_sized(const char *text, DType type, int domain, int64_t side) {
    InputSpec b = {
        .name = "b", .has_shape = true, .type = {.dtype = type, .rank = 1, .dim = {side}}};
    LowerOptions options = {
        .has_shape = true, .plain = {.dtype = type, .rank = 2, .dim = {side, side}}, .inputs = &b};
    Built built = {.arena = arena_open()};
    Text source = {0};
    options.input_count = strchr(text, 'b') != NULL && strstr(text, "abs") == NULL;
    built.ir = lowered(built.arena, text, &options);
    assert_non_null(built.ir);
    built.ir = near(built.arena, simplify(built.arena, built.ir, true), NULL);
    built.count = type_count(&built.ir->outputs.data[0].type);
    built.steps = oracle_steps(built.arena, built.ir);
    built.in = arena_array(built.arena, void *, built.ir->inputs.count + built.steps.list.count);
    built.out = arena_array(built.arena, void *, built.ir->outputs.count);
    built.out[0] = arena_alloc(built.arena, (size_t)built.count * 8);
    oracle_cuda(&source, NULL);
    oracle_cuda(&source, built.ir);
    built.library = load_text(text_string(&source));
    text_free(&source);
    fill_inputs(&built, domain);
    fill_values(&built);
    return built;
}

static Built build(const char *text, DType type, int domain) {
    return build_sized(text, type, domain, 23);
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
    int64_t count = built->count < EVAL_BLOCK ? built->count : EVAL_BLOCK, ambiguous = 0;
    int64_t *index = arena_array(built->arena, int64_t, count);
    double *lo = arena_array(built->arena, double, count),
           *hi = arena_array(built->arena, double, count);
    double *value = arena_array(built->arena, double, count);
    uint8_t *state = arena_alloc(built->arena, (size_t)count);
    *(void **)&expect = symbol(built, "kf_expect");
    for (int64_t i = 0; i < count; i++) index[i] = built->count - 1 - i * (built->count / count);
    expect(built->in, 0, index, count, lo, value, hi, state);
    const Expected *expected = eval_gather(eval, 0, 0, index, count);
    for (int64_t i = 0; i < count; i++) {
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
        {"x / sqrt(abs(y) + 1) + erfc(x) * erf(y) + expm1(b)", DT_BF16, false},
        {"log1p(abs(x)) * log(1 + abs(y)) + exp2(x) * tanh(x)", DT_F16, false},
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

/* Rows in pieces, products in tiles (odd ones), and a product's elements one by one. */
static void values_agree(void **unused) {
    const struct {
        const char *text;
        DType type;
        int domain;
        bool exact;
    } cases[] = {
        {"exp(x - max(x)) / sum(exp(x - max(x)))", DT_F16, 0, false},
        {"x - mean(x, axis=0) + var(x, axis=0)", DT_F32, 0, false},
        {"x * sum(y, axis=all) + min(x, axis=all) + prod(y)", DT_F32, 2, false},
        {"x + sum(y)", DT_F32, 3, true},
        {"x @ y", DT_BF16, 0, false},
        {"x.T @ y.T", DT_F32, 3, true},
        {"(x @ y).T + 1", DT_F16, 5, true},
        {"x @ (y * 0.3)", DT_F32, 0, false},
    };
    (void)unused;
    if (!have_compiler()) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Built built = build_sized(cases[i].text, cases[i].type, cases[i].domain, 171);
        Eval *eval = eval_open(built.ir, (const void *const *)built.in, ACCURACY_CUDA, NULL);
        expects_the_same(&built, eval, cases[i].exact);
        for (uint32_t k = 0; k < built.steps.list.count; k++)
            if (!built.steps.list.data[k].needed) built.in[built.steps.list.data[k].slot] = NULL;
        expects_the_same(&built, eval, cases[i].exact);
        eval_close(eval);
        unbuild(&built);
    }
}

/* A matrix times a vector in integers, however it lies, and what is no integer. */
static void wholes_are_multiplied(void **unused) {
    enum { ROWS = 5, COLUMNS = 40 };
    void (*times)(const void *, int, int64_t, int64_t, int64_t, int64_t, const int64_t *, int64_t *,
                  uint64_t *);
    float matrix[ROWS * COLUMNS];
    int64_t vector[COLUMNS], wanted[ROWS] = {0};
    (void)unused;
    if (!have_compiler()) skip();
    Built built = build("x + y", DT_F32, 0);
    *(void **)&times = symbol(&built, "kf_times");
    for (int k = 0; k < COLUMNS; k++) vector[k] = (int64_t)(0x9E3779B97F4A7C15u * (unsigned)k);
    for (int transposed = 0; transposed < 2; transposed++) {
        int64_t row = transposed ? 1 : COLUMNS, column = transposed ? ROWS : 1, given[ROWS] = {0};
        uint64_t fractions = 0;
        for (int r = 0; r < ROWS; r++) {
            wanted[r] = 0;
            for (int k = 0; k < COLUMNS; k++) {
                matrix[r * row + k * column] = (float)(r * 7 - k);
                wanted[r] =
                    (int64_t)((uint64_t)wanted[r] + (uint64_t)(r * 7 - k) * (uint64_t)vector[k]);
            }
        }
        times(matrix, DT_F32, ROWS, COLUMNS, row, column, vector, given, &fractions);
        assert_memory_equal(given, wanted, sizeof given);
        assert_int_equal(fractions, 0);
        matrix[0] = 0.5f;
        matrix[7] = NAN;
        times(matrix, DT_F32, ROWS, COLUMNS, row, column, vector, given, &fractions);
        assert_int_equal(fractions, 2);
    }
    unbuild(&built);
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

static void compile(const Device *cuda, const Ir *ir, const char *arch) {
    DeviceIdentity identity = {0};
    snprintf(identity.arch, sizeof identity.arch, "%s", arch);
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
        ir = simplify(arena, ir, true);
        compile(cuda, ir, "sm_90");
        if (ir->compute == DT_F32) compile(cuda, ir, "sm_80");
        arena_close(arena);
    }
    compile(cuda, NULL, "sm_90");
    compile(cuda, NULL, "sm_80");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_oracles_agree),
        cmocka_unit_test(values_agree),
        cmocka_unit_test(wholes_are_multiplied),
        cmocka_unit_test(long_programs_agree),
        cmocka_unit_test(bytes_are_compared_and_poisoned),
        cmocka_unit_test(nvrtc_takes_every_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
