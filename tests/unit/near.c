/* Near forms: which programs have which; that their errors, at random points that no probe knows, stay within the
 * contract, for every function of the registry; that nothing else has any. Errors are the oracle's: its intervals hold
 * whatever the forms may give. */
#include "compiler/near.h"

#include <math.h>
#include <stdio.h>

#include "compiler/eval.h"
#include "compiler/ir_text.h"
#include "compiler/simplify.h"
#include "kfuse_objects.h"
#include "program.h"
#include "tuner/ops.h"

typedef struct Case {
    const char *text, *about, *done;
} Case;

static const char *done_text(Arena *arena, const NearDone *done) {
    Text text = {0};
    near_print(&text, done);
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static void assert_done(const Case *c) {
    Program program = program_open(c->text, c->about);
    NearDone done;
    if (program.ir == NULL) fail_msg("%s: %s", c->text, text_string(&program.said));
    const Ir *simple = simplify(program.arena, program.ir, true);
    const Ir *result = near(program.arena, simple, &done);
    const char *told = done_text(program.arena, &done), *why = verify(result, program.arena);
    if (why) fail_msg("%s: %s", c->text, why);
    if (strcmp(told, c->done) != 0)
        fail_msg("%s (%s) tells '%s', not '%s'", c->text, c->about, told, c->done);
    assert_int_equal(result == simple, *told == '\0');
    program_close(&program);
}

static void assert_all_done(const Case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) assert_done(&cases[i]);
}
#define ASSERT_ALL_DONE(cases) assert_all_done(cases, sizeof cases / sizeof *(cases))

static void forms_are_found(void **state) {
    (void)state;
    static const Case cases[] = {
        {"gelu(x + b) + y", "4x8:bf16 b=8:bf16", "1 primitive in near form: erfc"},
        {"gelu(x + b) + y", "4x8:f16 b=8:f16", "1 primitive in near form: erfc"},
        {"tanh(x * y + b) * sigmoid(x) + 0.5 * y", "4x8:bf16 b=8:bf16",
         "3 primitives in near forms: div exp tanh"},
        {"tanh(x * y + b) * sigmoid(x) + 0.5 * y", "4x8:f16 b=8:f16",
         "3 primitives in near forms: div exp tanh"},
        {"silu(x) * y", "4:bf16", "2 primitives in near forms: div exp"},
        {"softplus(x)", "4:f16", "2 primitives in near forms: exp log1p"},
        {"softmax(x)", "4x8:bf16", "2 primitives in near forms: div exp"},
        {"x / sqrt(sum(x * x))", "4x8:f16", "2 primitives in near forms: div sqrt"},
        {"clamp(tanh(x), -0.5, 0.5)", "4:bf16", "1 primitive in near form: tanh"},
        {"max(tanh(x), y)", "4:f16", "1 primitive in near form: tanh"},
        {"bf16(exp(x)) > y ? x : y", "4:bf16", "1 primitive in near form: exp"},
        {"tanh(x) @ y", "8x8:bf16", "1 primitive in near form: tanh"},
        {"h = tanh(x); return h, f32(bf16(h))", "4:bf16", "1 primitive in near form: tanh"},
    };
    ASSERT_ALL_DONE(cases);
}

static void accurate_forms_stay(void **state) {
    (void)state;
    static const Case cases[] = {
        {"tanh(x) - x", "4:bf16", ""},           /* digits cancel near 0 */
        {"1 - tanh(x) * tanh(x)", "4:bf16", ""}, /* and far from it */
        {"tanh(x) - 0.5", "4:bf16", ""},         /* and at one number, which no probe is */
        {"tanh(x) - x / 2", "4:bf16", ""},
        {"logaddexp(x, y)", "4:f16", ""},
        {"log(2 * exp(x))", "4:f16", "1 primitive in near form: log"}, /* of 1 at one number */
        {"exp(20 * tanh(x))", "4:f16", "1 primitive in near form: exp"},
        {"param s = 1; exp(s * tanh(x))", "4:f16", "1 primitive in near form: exp"},
        {"tanh(x) > 0.5 ? x : y", "4:bf16", ""},
        {"tanh(x) > 0.5 ? tanh(x) : 0", "4:bf16", ""},
        {"clamp(tanh(x), 0.5, -0.5)", "4:bf16", ""},
        {"floor(exp(x))", "4:bf16", ""},
        {"round(exp(x) * 8) / 8", "4:bf16", ""},
        {"sin(exp(x))", "4:bf16", ""},
        {"i8(tanh(x) * 100)", "4:bf16", ""},
        {"exp(x)", "4:f32", ""},
        {"exp(x)", "4:f64", ""},
        {"exp(x)", "4:bf16 out=f32", ""},
        {"f32(exp(x))", "4:bf16", ""},
        {"h = exp(x); return h, f32(h)", "4:bf16", ""},
        {"var(exp(x))", "4x8:bf16", ""},
        {"prod(exp(x))", "4x8:bf16", ""},
        {"exp(x) - mean(exp(x))", "4x8:bf16", ""},
        {"x + y", "4:bf16", ""},
        {"x", "4:bf16", ""},
        {"exp(x)", "0:bf16", "1 primitive in near form: exp"}, /* whatever the size */
    };
    ASSERT_ALL_DONE(cases);
}

/* Too many to be tried one by one: those of one primitive together. */
static void many_are_tried_together(void **state) {
    (void)state;
    Text text = {0};
    text_add(&text, "return exp(20 * tanh(x))");
    for (int i = 1; i < 60; i++) text_printf(&text, ", silu(x * %d)", i);
    const Case c = {text_string(&text), "4:f16", "119 primitives in near forms: div exp"};
    assert_done(&c);
    text_free(&text);
}

/* --- at random points */

enum { POINTS = 20000, ROW = 100, SLICE = 4000 };

/* Outputs as they are before they are rounded to 16 bits. */
static Ir *unrounded(Arena *arena, const Ir *ir) {
    Ir *copy = ir_copy(arena, ir, true);
    for (uint32_t o = 0; o < copy->outputs.count; o++) {
        IrOutput *output = &copy->outputs.data[o];
        const IrNode *node = ir_node(copy, output->value);
        output->type.dtype = DT_F32;
        if (node->op == IR_CAST) output->value = node->arg[0];
    }
    return copy;
}

static double random_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    double fraction = 1 + (double)(*seed >> 40) * 0x1p-24;
    double size = ldexp(fraction, (int)(*seed >> 33 & 127) % 28 - 20);
    return *seed >> 32 & 1 ? -size : size;
}

static const void *const *random_inputs(Arena *arena, const Ir *ir) {
    void **inputs = arena_array(arena, void *, ir->inputs.count + 1);
    uint64_t seed = 1;
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const Type *type = &ir->inputs.data[i].type;
        uint32_t bytes = dtype_info(type->dtype)->bytes;
        inputs[i] = arena_alloc(arena, (size_t)type_count(type) * bytes + 1);
        for (int64_t k = 0; k < type_count(type); k++)
            dtype_store(type->dtype, (char *)inputs[i] + k * bytes,
                        (Scalar){.real = random_number(&seed)});
    }
    return (const void *const *)inputs;
}

/* 1/8 ulp of a number of this size, and f32's own roundings. */
static double allowed(DType type, double size) {
    int bits = type == DT_F16 ? 11 : 8, least = type == DT_F16 ? -14 : -126, exponent;
    frexp(size, &exponent);
    if (exponent - 1 < least) exponent = least + 1;
    return ldexp(1, exponent - bits - 3) + size * 0x1p-21;
}

/* The largest input at this point: of what cancels, no term is smaller. */
static double largest_input(const Ir *ir, const void *const *inputs, int64_t at) {
    double most = 0;
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const Type *type = &ir->inputs.data[i].type;
        if (type_count(type) <= at) continue;
        Scalar s =
            dtype_load(type->dtype, (const char *)inputs[i] + at * dtype_info(type->dtype)->bytes);
        most = fmax(most, fabs(s.real));
    }
    return most;
}

typedef struct Comparison {
    const Ir *ir;
    const char *text;
    DType type;
    bool cancels; /* terms of different inputs */
    const void *const *inputs;
} Comparison;

static void compare(const Comparison *pair, const Expected *plain, const Expected *moved,
                    int64_t first) {
    const float *lo = plain->lo, *hi = plain->hi, *low = moved->lo, *high = moved->hi;
    double limit = pair->type == DT_F16 ? 65504 : 0x1.fep127;
    for (int64_t i = 0; i < plain->count; i++) {
        double size = fabs(plain->value[i]);
        if (plain->may_nan[i] || !(lo[i] <= hi[i]) || !(size < limit) ||
            fabs((double)lo[i]) > limit)
            continue;
        /* what was subnormal on the way may be as large in the end as another input makes it */
        if (size < 0x1p-108 && pair->ir->inputs.count > 1) continue;
        if (pair->cancels) size = fmax(size, largest_input(pair->ir, pair->inputs, first + i));
        double moves = fmax((double)lo[i] - (double)low[i], (double)high[i] - (double)hi[i]);
        if (moved->may_nan[i] || !(moves <= allowed(pair->type, size)))
            fail_msg("%s %s: [%d] %a becomes %a … %a", pair->text, dtype_name(pair->type),
                     (int)(first + i), plain->value[i], (double)low[i], (double)high[i]);
    }
}

/* Whether there were near forms to look at. */
static bool look(const char *text, const char *about, DType type, bool cancels) {
    Program program = program_open(text, about);
    if (program.ir == NULL) fail_msg("%s: %s", text, text_string(&program.said));
    const Ir *simple = simplify(program.arena, program.ir, true);
    const Ir *result = near(program.arena, simple, NULL);
    Comparison pair = {simple, text, type, cancels, random_inputs(program.arena, simple)};
    Eval *plain = eval_open(unrounded(program.arena, simple), pair.inputs, ACCURACY_CUDA, NULL);
    Eval *moved = eval_open(unrounded(program.arena, result), pair.inputs, ACCURACY_CUDA, NULL);
    int64_t count = type_count(&simple->outputs.data[0].type);
    for (int64_t i = 0; i < count && result != simple; i += SLICE) {
        int64_t slice = count - i < SLICE ? count - i : SLICE;
        compare(&pair, eval_range(plain, 0, 0, i, slice), eval_range(moved, 0, 0, i, slice), i);
    }
    eval_close(plain);
    eval_close(moved);
    program_close(&program);
    return result != simple;
}

static bool cancels(const char *name) {
    return strcmp(name, "addcdiv") == 0 || strcmp(name, "layernorm") == 0;
}

static bool is_half(Arena *arena, const char *text, const char *about) {
    Program program = program_open(text, about);
    if (program.ir == NULL) fail_msg("%s: %s", text, text_string(&program.said));
    DType type = program.ir->outputs.data[0].type.dtype;
    (void)arena;
    program_close(&program);
    return type == DT_F16 || type == DT_BF16;
}

static void every_function_keeps_the_contract(void **state) {
    (void)state;
    static const char *const lists[] = {"()", "(x)", "(x, y)", "(x, y, z)", "(x, y, z, u)"};
    Arena *arena = arena_open();
    uint32_t count, looked = 0;
    const OpName *ops = ops_all(registry_open(arena), arena, &count);
    for (uint32_t i = 0; i < count; i++)
        for (DType type = DT_F16; type <= DT_BF16; type++) {
            const char *text = arena_printf(arena, "%s%s", ops[i].name, lists[ops[i].arity]);
            const char *about =
                arena_printf(arena, "%dx%d:%s", POINTS / ROW, ROW, dtype_name(type));
            if (is_half(arena, text, about))
                looked += look(text, about, type, cancels(ops[i].name));
        }
    printf("%u functions, %u kernels with near forms\n", count, looked);
    assert_true(looked > 30);
    arena_close(arena);
}

static void programs_keep_the_contract(void **state) {
    (void)state;
    static const char *const programs[] = {
        "tanh(tanh(tanh(x)))",
        "silu(x) * y",
        "exp(-abs(x)) / (1 + exp(-abs(x)))",
        "exp(20 * tanh(x))",
        "sqrt(log1p(exp(x)) + 1) * erf(y)",
        "clamp(tanh(x), -0.5, 0.5) / (1 + expm1(abs(y)))",
        "gelu(x) * sigmoid(y) * tanh(z)",
        "x * exp(x - max(x)) / sum(exp(x - max(x)))",
        "y / sqrt(mean(x * x) + 1e-5) * sigmoid(x)",
    };
    uint32_t looked = 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (DType type = DT_F16; type <= DT_BF16; type++) {
            char about[32];
            snprintf(about, sizeof about, "%dx%d:%s", POINTS / ROW, ROW, dtype_name(type));
            looked += look(programs[i], about, type, false);
        }
    assert_int_equal(looked, 2 * sizeof programs / sizeof *programs);
}

/* In f32 no function of the registry has any. */
static void f32_is_untouched(void **state) {
    (void)state;
    static const char *const lists[] = {"()", "(x)", "(x, y)", "(x, y, z)", "(x, y, z, u)"};
    Arena *arena = arena_open();
    uint32_t count;
    const OpName *ops = ops_all(registry_open(arena), arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const Case c = {arena_printf(arena, "%s%s", ops[i].name, lists[ops[i].arity]), "4x4", ""};
        assert_done(&c);
    }
    arena_close(arena);
}

/* Each operation of a chain that rounds has the forms that it has alone, whatever comes of it. */
static void rounding_ends_errors(void **state) {
    (void)state;
    static const Case cases[] = {
        {"tanh(x) - x", "4:bf16 round", "1 primitive in near form: tanh"},
        {"exp(20 * tanh(x))", "4:f16 round", "2 primitives in near forms: exp tanh"},
        {"floor(exp(x))", "4:bf16 round", "1 primitive in near form: exp"},
    };
    ASSERT_ALL_DONE(cases);
}

/* The text of a program in near forms is the language's; its key is another. */
static void texts_are_plain(void **state) {
    (void)state;
    Program program = program_open("tanh(x) / y", "4:bf16");
    const Ir *simple = simplify(program.arena, program.ir, true);
    const Ir *result = near(program.arena, simple, NULL);
    assert_string_equal(ir_text(program.arena, result), ir_text(program.arena, simple));
    assert_string_not_equal(program_text(&program, result), program_text(&program, simple));
    Text bytes = {0};
    ir_write(&bytes, result);
    const Ir *again = ir_read(program.arena, bytes.data, bytes.length);
    assert_non_null(again);
    assert_string_equal(program_text(&program, again), program_text(&program, result));
    text_free(&bytes);
    program_close(&program);
}

/* A program as kernels of a language have it, and what its report tells. */
static void assert_told(KfSession *session, KfMath math, const char *language, const char *told) {
    const KfProblem problem = {
        .has_plain_shape = true,
        .plain = {.type = KF_BF16, .rank = 1, .dim = {64}},
        .math = math,
    };
    KfProgram *program;
    assert_int_equal(kf_program_open(session, "tanh(x) / 3 + y", SIZE_MAX, &problem, &program),
                     KF_OK);
    bool near = program_ir(program, language) != program->simplified;
    assert_string_equal(program_done(program, program->arena, language), told);
    assert_int_equal(near, strstr(told, "near") != NULL);
    assert_ptr_equal(program_ir(program, language), program_ir(program, language));
    kf_program_close(program);
}

static void modes_are_kept(void **state) {
    (void)state;
    char folder[] = "/tmp/kfuse-near-XXXXXX", command[64];
    KfSession *session;
    assert_non_null(mkdtemp(folder));
    const KfSessionOptions options = {.cache = folder, .no_user_ops = true};
    assert_int_equal(kf_session_open(&session, &options), KF_OK);
    assert_told(session, KF_MATH_DEFAULT, "cuda", "2 primitives in near forms: div tanh");
    assert_told(session, KF_MATH_STRICT, "cuda", "");
    assert_told(session, KF_MATH_DEFAULT, "c", "");
    assert_told(session, KF_MATH_FAST, "cuda",
                "1 product contracted to fma, 1 division turned into a multiplication, "
                "1 primitive in near form: tanh");
    kf_session_close(session);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_kept),
        cmocka_unit_test(forms_are_found),
        cmocka_unit_test(accurate_forms_stay),
        cmocka_unit_test(many_are_tried_together),
        cmocka_unit_test(every_function_keeps_the_contract),
        cmocka_unit_test(programs_keep_the_contract),
        cmocka_unit_test(f32_is_untouched),
        cmocka_unit_test(rounding_ends_errors),
        cmocka_unit_test(texts_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
