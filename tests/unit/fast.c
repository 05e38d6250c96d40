/* --math fast: what each rule makes of a program, what stays, what is told; and that no rule is
 * wrong: for every function of the registry and for random programs, the fast program's results are
 * near the default program's, both from the oracle. */
#include "program.h"

#include <math.h>
#include <stdio.h>

#include "compiler/eval.h"
#include "compiler/fast.h"
#include "compiler/simplify.h"
#include "tuner/ops.h"

typedef struct Case {
    const char *text, *about, *same_as, *done;
} Case;

static const char *done_text(const Program *program, const FastDone *done) {
    Text text = {0};
    fast_print(&text, done);
    const char *copy = arena_copy(program->arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

/* `text` becomes what `same_as` is, simplified, and tells `done`. */
static void assert_becomes(const Case *c) {
    Program program = program_open(c->text, c->about), other = program_open(c->same_as, c->about);
    FastDone done;
    if (program.ir == NULL) fail_msg("%s: %s", c->text, text_string(&program.said));
    if (other.ir == NULL) fail_msg("%s: %s", c->same_as, text_string(&other.said));
    Ir *quick = fast(program.arena, simplify(program.arena, program.ir, true), &done);
    Ir *expected = simplify(other.arena, other.ir, true);
    const char *why = verify(quick, program.arena), *told = done_text(&program, &done);
    if (why) fail_msg("%s: %s", c->text, why);
    if (strcmp(program_text(&program, quick), program_text(&other, expected)) != 0)
        fail_msg("%s (%s) gives\n%s\nnot\n%s", c->text, c->about, program_text(&program, quick),
                 program_text(&other, expected));
    if (strcmp(told, c->done) != 0) fail_msg("%s tells '%s', not '%s'", c->text, told, c->done);
    assert_true(quick->fast);
    program_close(&program);
    program_close(&other);
}

static const Case rules[] = {
    {"x / 3", "4", "x * 0x1.5555555555555p-2", "1 division turned into a multiplication"},
    {"x / b", "4x4 b=4", "x * (1 / b)", "1 division turned into a multiplication"},
    {"x / sum(x)", "4x4", "x * (1 / sum(x))", "1 division turned into a multiplication"},
    {"param p = 3; x / p", "4", "param p = 3; x * (1 / p)",
     "1 division turned into a multiplication"},
    {"x / 3 / 5", "4", "x * 0x1.1111120000000p-4",
     "2 divisions turned into multiplications, 1 constant joined with another"},
    {"3 * (x * 5)", "4", "x * 15", "1 constant joined with another"},
    {"x + 3 + 5", "4", "x + 8", "1 constant joined with another"},
    {"x + b + c", "4x4 b=4 c=4", "x + (b + c)", "1 broadcast term added to another first"},
    {"b + (x + 3)", "4x4 b=4x1", "r = b; return x + (3 + r)",
     "1 broadcast term added to another first"},
    {"x * 3 + 5 * x", "4", "x * 8", "1 factor taken out of a sum"},
    {"a = x; return -(a - y)", "4", "a = x; b = y; return b - a", "1 minus sign taken into a sum"},
    {"-(x + 3)", "4", "-3 - x", "1 minus sign taken into a sum"},
    {"x + 0", "4", "x", "1 addition of zero dropped"},
    {"0 - x", "4", "-x", "1 addition of zero dropped"},
    {"x + y + z + w", "4", "(x + y) + (z + w)", "1 sum balanced"},
    {"x + y + z + w + x * y", "4", "fma(x, y, x + y + z + w)", "1 product contracted to fma"},
    {"x * y - z", "4", "fma(x, y, -z)", "1 product contracted to fma"},
    {"y - x * x", "4", "a = y; return fma(-x, x, a)", "1 product contracted to fma"},
    {"x * y + y / 3", "4", "fma(x, y, y * 0x1.5555555555555p-2)",
     "1 product contracted to fma, 1 division turned into a multiplication"},
};

static void rules_apply(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) assert_becomes(&rules[i]);
}

/* These would change more than last bits, or finite results to infinities. */
static void the_rest_stays(void **state) {
    (void)state;
    static const char *const texts[] = {
        "(x - 3) - 5",
        "(x + 3) - 3",
        "x - y - z - w",
        "x / y",
        "exp(x) * exp(y)",
        "x * 1e30 * 1e30",
        "x * 1e-30 * 1e-30",
        "x * y * z * w",
        "x / 1e-40",
        "sqrt(x) * sqrt(x)",
        "x / exp(y)",
        "x + 3 + -5",
        "x - x",
        "x * 0",
        "x < y ? x / y : y",
        "pow(x, 0.5)",
        "i8(x) + i8(y) + 1 + 2",
        "x - (x - 3)",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Program program = program_open(texts[i], "4");
        FastDone done;
        Ir *simple = simplify(program.arena, program.ir, true);
        Ir *quick = fast(program.arena, simple, &done);
        if (strcmp(program_text(&program, quick), program_text(&program, simple)) != 0)
            fail_msg("%s gives\n%s\n%s", texts[i], program_text(&program, quick),
                     done_text(&program, &done));
        assert_string_equal(done_text(&program, &done), "");
        program_close(&program);
    }
}

/* --- Near the default: values of the oracle's chain, the program's operations one by one */

enum { ROWS = 64, COLUMNS = 16, ELEMENTS = ROWS * COLUMNS };

typedef double Fill(uint32_t *seed);

/* Either sign, 1/4 to 4: what is finite stays far from the ends of the range. */
static double ordinary(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    double size = ldexp(1 + (double)(*seed >> 8) * 0x1p-24, (int)(*seed % 4) - 2);
    return *seed >> 31 ? -size : size;
}

/* Nothing near the ends of the range: fast.h says what becomes of that. */
static double special(uint32_t *seed) {
    static const double numbers[] = {
        0,     -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN, 1, -1, 2.5, -1e-3,
        65504, 1e4,  -0x1p-30};
    *seed = *seed * 1664525u + 1013904223u;
    return numbers[(*seed >> 8) % 12];
}

typedef struct Data {
    const void *inputs[16];
    uint32_t seed;
} Data;

static void fill(Data *data, const Ir *ir, Fill *next, Arena *arena) {
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const Type *type = &ir->inputs.data[i].type;
        uint32_t bytes = dtype_info(type->dtype)->bytes;
        char *bytes_of = arena_alloc(arena, ELEMENTS * sizeof(double));
        for (int64_t k = 0; k < type_count(type); k++)
            dtype_store(type->dtype, bytes_of + k * bytes, (Scalar){.real = next(&data->seed)});
        data->inputs[i] = bytes_of;
    }
}

static const double *values(const Ir *ir, uint32_t output, const Data *data, Arena *arena) {
    const Type *type = &ir->outputs.data[output].type;
    double *result = arena_array(arena, double, ELEMENTS);
    char *stored = arena_alloc(arena, ELEMENTS * sizeof(double));
    Eval *eval = eval_open(ir, data->inputs, ACCURACY_C, NULL);
    eval_chain(eval, output, 0, type_count(type), stored);
    eval_close(eval);
    for (int64_t k = 0; k < type_count(type); k++) {
        Scalar s = dtype_load(type->dtype, stored + k * dtype_info(type->dtype)->bytes);
        result[k] = dtype_is_float(type->dtype) ? s.real : (double)s.whole;
    }
    return result;
}

static bool same_class(double a, double b) {
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : isinf(a) || isinf(b) ? a == b : true;
}

/* The largest distance, over the larger of 1 and the default's value: sums of the programs below
 * have terms of about 1. Classes alone (`special` data): 0. */
static double distance(const char *text, const Ir *simple, const Ir *quick, Fill *next,
                       Arena *arena) {
    Data data = {.seed = 1};
    double most = 0;
    fill(&data, simple, next, arena);
    for (uint32_t o = 0; o < simple->outputs.count; o++) {
        const double *a = values(simple, o, &data, arena), *b = values(quick, o, &data, arena);
        for (int64_t k = 0; k < type_count(&simple->outputs.data[o].type); k++) {
            if (!same_class(a[k], b[k]))
                fail_msg("%s: [%d] %a becomes %a", text, (int)k, a[k], b[k]);
            double size = fabs(a[k]) > 1 ? fabs(a[k]) : 1;
            if (next == ordinary && isfinite(a[k]) && fabs(a[k] - b[k]) / size > most)
                most = fabs(a[k] - b[k]) / size;
        }
    }
    return most;
}

typedef struct Seen {
    uint32_t programs, changed;
    double worst; /* in units of 2^-23 */
    FastDone done;
} Seen;

/* In f64 a wrong rule stands out against roundings; in f32 the distance is what users see. */
static void look(const char *text, const char *about, Seen *seen) {
    static const char *const types[] = {":f64", ":f32"};
    for (int t = 0; t < 2; t++) {
        Arena *arena = arena_open();
        Program program = program_open(text, arena_printf(arena, "%s %s", types[t], about));
        FastDone done;
        if (program.ir == NULL) fail_msg("%s: %s", text, text_string(&program.said));
        Ir *simple = simplify(program.arena, program.ir, true);
        Ir *quick = fast(program.arena, simple, &done);
        double far = distance(text, simple, quick, ordinary, arena);
        if (far > (t == 0 ? 1e-12 : 16 * 0x1p-23))
            fail_msg("%s (%s): %g from the default", text, done_text(&program, &done), far);
        distance(text, simple, quick, special, arena);
        if (t == 1 && far * 0x1p23 > seen->worst) seen->worst = far * 0x1p23;
        seen->programs++;
        seen->changed += *done_text(&program, &done) != '\0';
        for (int i = 0; i < FAST_RULE_COUNT; i++) seen->done.count[i] += done.count[i];
        program_close(&program);
        arena_close(arena);
    }
}

/* As it is, and among what the rules take hold of. */
static void look_at_call(Arena *arena, const char *name, int arity, Seen *seen) {
    static const char *const lists[] = {"()", "(x)", "(x, y)", "(x, y, z)", "(x, y, z, x)"};
    static const char *const smaller[] = {"", "", "y=16", "y=16 z=64x1", "y=16 z=64x1"};
    static const char *const forms[] = {
        "return %s%s, r + c",
        "return -(%s%s / 3 + 1 + 2), r + c",
        "return %s%s * r / c / 5 + r + 0.5 + c, r + c",
        "h = %s%s; return h * r + h * c, r - h * c, h + x + r + c + x / r, r + c",
        "h = %s%s; return -(h - x), h * 2 + h * 3 + 0, h + x + r + c, h + x + h * x + x, r + c",
        "h = %s%s; return (h + x) + (r + c), tanh(x) + sin(x) + r + abs(h) + sqrt(abs(x)), 0 - h",
    };
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (int a = 0; a < (arity > 1 ? 2 : 1); a++)
            look(arena_printf(arena, forms[f], name, lists[arity]),
                 arena_printf(arena, "64x16 x=64x16 r=16 c=64x1 %s", a ? smaller[arity] : ""),
                 seen);
}

static void every_function_stays_near(void **state) {
    (void)state;
    Arena *arena = arena_open();
    uint32_t count;
    Seen seen = {0};
    const OpName *ops = ops_all(registry_open(arena), arena, &count);
    for (uint32_t i = 0; i < count; i++) look_at_call(arena, ops[i].name, ops[i].arity, &seen);
    printf("%u programs, %u of them changed, at most %.1f ulp\n", seen.programs, seen.changed,
           seen.worst);
    for (int i = 0; i < FAST_RULE_COUNT; i++) assert_true(seen.done.count[i] >= count);
    arena_close(arena);
}

static void programs_stay_near(void **state) {
    (void)state;
    static const char *const programs[] = {
        "softmax(x * 0.125 + y)",
        "s = max(abs(x)) / 127; return clamp(round(x / s), -127, 127) * s, s",
        "x / sqrt(sum(x * x) + 1e-6) * y",
        "(x - y) / sqrt(abs(z) + 1e-5) * y + z",
        "m = 0.9 * x + 0.1 * y; v = 0.99 * abs(z) + 0.01 * y * y; return x - 0.001 * m / (sqrt(v) "
        "+ 1e-8)",
        "s = abs(x); d = (log(s / 3) + (0.05 + 0.5 * y * y) * 2) / (abs(y) * sqrt(2)); return s * "
        "d - z",
        "x * y - z * x + y * z + x + y + z + 1 + 2",
        "log(sum(exp(x - max(x)))) + max(x) - y / 7",
        "((x + 1) * y + 2) * z + 3",
    };
    Seen seen = {0};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        bool y = strchr(programs[i], 'y') != NULL, z = strchr(programs[i], 'z') != NULL;
        char about[64];
        snprintf(about, sizeof about, "64x16%s%s", y ? " y=16" : "", z ? " z=64x1" : "");
        look(programs[i], "64x16", &seen);
        look(programs[i], about, &seen);
    }
    printf("%u programs, %u of them changed, at most %.1f ulp\n", seen.programs, seen.changed,
           seen.worst);
    assert_true(seen.changed > seen.programs / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_apply),
        cmocka_unit_test(the_rest_stays),
        cmocka_unit_test(every_function_stays_near),
        cmocka_unit_test(programs_stay_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
