/* Backward programs against finite differences, in f64, by the oracle: every function of the registry by
 * each of its parameters, found by listing; and whole programs. The one idea: f(x + h) - f(x - h) at two
 * steps gives the slope, and by how much the two differ, how good it is: where they disagree there is a
 * kink or a pole, and the point is left out. */
#include "kfuse.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "registry/registry.h"

enum { ARRAYS = 16, ELEMENTS = 1024, POINTS = 24, CHECKED_LEAST = 4 };
static const double STEP = 1e-3, AGREEMENT = 1e-4, TOLERANCE = 1e-6;

static const double points[POINTS] = {-2.9, -2.2, -1.7, -1.1, -0.8, -0.55, -0.35, -0.12,
                                      0.07, 0.21, 0.34, 0.46, 0.58, 0.71,  0.83,  0.94,
                                      1.08, 1.3,  1.6,  2.1,  2.4,  2.8,   3.3,   4.7};

/* --- programs and their arrays */

typedef struct Array {
    char name[64];
    int64_t count;
    double value[ELEMENTS];
} Array;

typedef struct Evaluation {
    KfSession *session;
    KfProgram *program;
    Array in[ARRAYS], out[ARRAYS];
    size_t ins, outs;
} Evaluation;

static int64_t count_of(const KfTensor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) count *= tensor->dim[i];
    return count;
}

/* "x=4x5 b=5": by name; a plain "8" for the others. */
static size_t read_shapes(char *words, KfTensor *tensors, KfProblem *problem) {
    size_t count = 0;
    const char *why;
    char *rest;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *equal = strchr(word, '=');
        KfTensor *to = equal ? &tensors[count++] : &problem->plain;
        if (equal) *equal = '\0';
        assert_int_equal(kf_parse_shape(equal ? equal + 1 : word, to, &why), KF_OK);
        to->type = KF_F64;
        if (equal) to->name = word;
        problem->has_plain_shape |= !equal;
    }
    return count;
}

static Array *find_array(Array *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

static Array describe(const KfTensor *tensor) {
    Array array = {.count = count_of(tensor)};
    assert_true(array.count <= ELEMENTS);
    snprintf(array.name, sizeof array.name, "%s", tensor->name);
    return array;
}

/* False where a result is no f64. */
static bool open_program(Evaluation *e, KfSession *session, const char *text, const char *shapes) {
    char words[512];
    KfTensor tensors[ARRAYS] = {{0}};
    KfProblem problem = {.plain = {.type = KF_F64}, .inputs = tensors};
    bool floating = true;
    snprintf(words, sizeof words, "%s", shapes);
    problem.input_count = read_shapes(words, tensors, &problem);
    *e = (Evaluation){.session = session};
    if (kf_program_open(session, text, SIZE_MAX, &problem, &e->program) != KF_OK)
        fail_msg("%s\n%s\n%s", text, shapes, kf_session_message(session));
    e->ins = kf_program_input_count(e->program);
    e->outs = kf_program_output_count(e->program);
    assert_true(e->ins <= ARRAYS && e->outs <= ARRAYS);
    for (size_t i = 0; i < e->ins; i++) {
        KfTensor tensor = kf_program_input(e->program, i);
        e->in[i] = describe(&tensor);
    }
    for (size_t i = 0; i < e->outs; i++) {
        KfTensor tensor = kf_program_output(e->program, i);
        e->out[i] = describe(&tensor);
        floating &= tensor.type == KF_F64;
    }
    return floating;
}

static void evaluate(Evaluation *e) {
    const void *inputs[ARRAYS];
    void *outputs[ARRAYS];
    for (size_t i = 0; i < e->ins; i++) inputs[i] = e->in[i].value;
    for (size_t i = 0; i < e->outs; i++) outputs[i] = e->out[i].value;
    assert_int_equal(kf_program_evaluate(e->program, inputs, outputs), KF_OK);
}

/* Of numbers of any size, signs mixed, none twice. */
static double cotangent_at(size_t output, int64_t i) {
    return 0.25 + sin(1.7 * (double)i + 0.9 * (double)output + 0.3);
}

static char *gradient(KfSession *session, const char *text, const char *const *wrt, size_t count) {
    char *out;
    if (kf_program_grad(session, text, SIZE_MAX, NULL, wrt, count, KF_TEXT, &out) != KF_OK)
        fail_msg("%s: %s", text, kf_session_message(session));
    return out;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool mentions(const char *text, const char *name) {
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || !is_word(at[-1])) && !is_word(at[strlen(name)])) return true;
    return false;
}

/* The backward program where the forward one is: shapes of inputs are its own, those of cotangents its
 * outputs'. */
static void open_backward(Evaluation *back, const Evaluation *forward, const char *text) {
    char shapes[1024] = "1";
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < (pass ? forward->outs : forward->ins); i++) {
            KfTensor tensor = pass ? kf_program_output(forward->program, i)
                                   : kf_program_input(forward->program, i);
            char name[80], word[160];
            snprintf(name, sizeof name, "%s%s", pass ? "d" : "", tensor.name);
            if (!mentions(text, name)) continue;
            size_t length = (size_t)snprintf(word, sizeof word, " %s=", name);
            for (int d = 0; d < tensor.rank; d++)
                length += (size_t)snprintf(word + length, sizeof word - length, "%s%lld",
                                           d ? "x" : "", (long long)tensor.dim[d]);
            if (tensor.rank == 0) snprintf(word + length, sizeof word - length, "scalar");
            strncat(shapes, word, sizeof shapes - strlen(shapes) - 1);
        }
    open_program(back, forward->session, text, shapes);
}

static void run_backward(Evaluation *back, Evaluation *forward) {
    for (size_t i = 0; i < back->ins; i++) {
        Array *to = &back->in[i], *from = find_array(forward->in, forward->ins, to->name);
        size_t output = 0;
        if (from) {
            assert_int_equal(from->count, to->count);
            memcpy(to->value, from->value, sizeof to->value);
            continue;
        }
        while (output < forward->outs && strcmp(forward->out[output].name, to->name + 1) != 0)
            output++;
        assert_true(output < forward->outs);
        for (int64_t k = 0; k < to->count; k++) to->value[k] = cotangent_at(output, k);
    }
    evaluate(back);
}

/* --- differences */

/* sum of cotangent * output over elements [first, end) of each, NaN where one is. */
static double weighed(Evaluation *e, int64_t only) {
    double sum = 0;
    evaluate(e);
    for (size_t o = 0; o < e->outs; o++)
        for (int64_t k = 0; k < e->out[o].count; k++)
            if (only < 0 || only == k) sum += cotangent_at(o, k) * e->out[o].value[k];
    return sum;
}

/* The slope by one element; of elementwise programs at that element's own output alone. */
static double slope(Evaluation *e, Array *by, int64_t k, bool alone, double *doubt) {
    double at = by->value[k], h = STEP * fmax(1, fabs(at)), y[4];
    const double steps[] = {-2, -1, 1, 2};
    for (int i = 0; i < 4; i++) {
        by->value[k] = at + steps[i] * h;
        y[i] = weighed(e, alone ? k : -1);
    }
    by->value[k] = at;
    double near = (y[2] - y[1]) / (2 * h), far = (y[3] - y[0]) / (4 * h);
    double right = y[3] - y[2], left = y[1] - y[0], middle = (y[2] - y[1]) / 2;
    *doubt = fabs(near - far) + fabs(right - middle) / h * 1e-3 + fabs(left - middle) / h * 1e-3;
    return (4 * near - far) / 3;
}

static bool compare(const char *text, const char *backward, const Array *by, int64_t k,
                    double expected, double doubt, double got) {
    if (!isfinite(expected) || doubt > AGREEMENT * (1 + fabs(expected))) return false;
    if (!(fabs(got - expected) <= TOLERANCE * (1 + fabs(expected)) + 0.1 * doubt))
        fail_msg("%s by %s[%lld] = %.17g: %.12g, but the slope is %.12g +- %.1g\n%s", text,
                 by->name, (long long)k, by->value[k], got, expected, doubt, backward);
    return true;
}

/* Elements compared; all of them have to be where `all`. */
static int check_results(Evaluation *forward, const Evaluation *back, const char *text,
                         const char *backward, bool alone, bool all) {
    int checked = 0;
    for (size_t o = 0; o < back->outs; o++) {
        const Array *result = &back->out[o];
        Array *by = find_array(forward->in, forward->ins, result->name + 1);
        assert_non_null(by);
        assert_int_equal(by->count, result->count);
        for (int64_t k = 0; k < by->count; k++) {
            double doubt, expected = slope(forward, by, k, alone, &doubt);
            bool done = compare(text, backward, by, k, expected, doubt, result->value[k]);
            if (all && !done) fail_msg("%s: no slope at %s[%lld]", text, by->name, (long long)k);
            checked += done;
        }
    }
    return checked;
}

/* --- every function */

/* Whether an output element depends on other elements of the inputs. */
static bool mixes(Evaluation *e) {
    double before[ELEMENTS];
    evaluate(e);
    memcpy(before, e->out[0].value, sizeof before);
    for (size_t i = 0; i < e->ins; i++) e->in[i].value[0] += 0.01;
    evaluate(e);
    for (size_t i = 0; i < e->ins; i++) e->in[i].value[0] -= 0.01;
    return memcmp(before + 1, e->out[0].value + 1, (size_t)(e->out[0].count - 1) * sizeof *before);
}

static void fill_points(Evaluation *e) {
    static const size_t strides[] = {1, 5, 7, 11, 13};
    for (size_t i = 0; i < e->ins; i++)
        for (int64_t k = 0; k < e->in[i].count; k++)
            e->in[i].value[k] = points[((size_t)k * strides[i % 5] + 3 * i) % POINTS];
}

/* "y = f(p0, p1)" by p`by`. */
static void check_function(KfSession *session, const char *name, uint32_t count, uint32_t by) {
    static Evaluation forward, back;
    char text[256], wrt[8];
    const char *names[] = {wrt};
    size_t length = (size_t)snprintf(text, sizeof text, "y = %s(", name);
    for (uint32_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%sp%u%s", i ? ", " : "", i,
                                   i + 1 == count ? ")" : "");
    snprintf(wrt, sizeof wrt, "p%u", by);
    if (open_program(&forward, session, text, "24")) {
        char *backward = gradient(session, text, names, 1);
        fill_points(&forward);
        open_backward(&back, &forward, backward);
        run_backward(&back, &forward);
        int checked = check_results(&forward, &back, text, backward, !mixes(&forward), false);
        if (checked < CHECKED_LEAST) fail_msg("%s by %s: %d points", text, wrt, checked);
        kf_program_close(back.program);
        kf_free(backward);
    }
    kf_program_close(forward.program);
}

static KfSession *open_session(void) {
    KfSession *session;
    KfSessionOptions options = {.cache = "/nonexistent", .no_user_ops = true};
    assert_int_equal(kf_session_open(&session, &options), KF_OK);
    return session;
}

static void functions_have_their_slopes(void **unused) {
    (void)unused;
    Arena *arena = arena_open();
    const Registry *registry = registry_open(arena);
    KfSession *session = open_session();
    uint32_t count;
    const Function *const *list = registry_list(registry, arena, &count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = 0; p < list[i]->def->parameter_count; p++)
            check_function(session, list[i]->name, list[i]->def->parameter_count, p);
    for (int p = 0; p < PRIMITIVE_COUNT; p++) {
        const PrimitiveInfo *info = primitive_info((Primitive)p);
        for (uint32_t i = 0; info->class != CLASS_OPERATOR && i < (uint32_t)info->arity; i++)
            check_function(session, info->name, (uint32_t)info->arity, i);
    }
    kf_session_close(session);
    arena_close(arena);
}

/* A primitive without a derivative gives nothing back, which is right of steps alone. */
static void primitives_state_their_derivatives(void **unused) {
    (void)unused;
    Arena *arena = arena_open();
    const Registry *registry = registry_open(arena);
    for (int p = 0; p < PRIMITIVE_COUNT; p++) {
        const PrimitiveInfo *info = primitive_info((Primitive)p);
        for (uint32_t i = 0; info->class != CLASS_OPERATOR && i < (uint32_t)info->arity; i++)
            if (!registry_derivative(registry, NULL, (Primitive)p, i))
                fail_msg("%s, parameter %u", info->name, i);
    }
    arena_close(arena);
}

/* --- programs */

static void fill_random(Evaluation *e) {
    for (size_t i = 0; i < e->ins; i++)
        for (int64_t k = 0; k < e->in[i].count; k++) {
            double x = sin(12.9898 * (double)(k + 1) + 78.233 * (double)(i + 1)) * 43758.5453;
            e->in[i].value[k] = 0.3 + 1.9 * (x - floor(x));
        }
}

static void check_program(KfSession *session, const char *text, const char *shapes) {
    static Evaluation forward, back;
    char *backward = gradient(session, text, NULL, 0);
    assert_true(open_program(&forward, session, text, shapes));
    fill_random(&forward);
    open_backward(&back, &forward, backward);
    run_backward(&back, &forward);
    assert_true(check_results(&forward, &back, text, backward, false, true) > 0);
    kf_program_close(back.program);
    kf_program_close(forward.program);
    kf_free(backward);
}

static void programs_have_their_slopes(void **unused) {
    (void)unused;
    static const char *const programs[][2] = {
        /* broadcasting */
        {"x * b", "x=4x5 b=5"},
        {"x * b", "x=4x5 b=4x1"},
        {"x * b", "x=4x5 b=1"},
        {"x * b", "x=4x5 b=scalar"},
        {"x * b", "x=4x1 b=5"},
        {"x / b + c", "x=2x3x4 b=3x1 c=4"},
        {"gelu(x + b) + res", "x=4x5 b=5 res=4x5"},
        {"tanh(x * b) * sigmoid(c)", "x=3x1x4 b=2x1 c=4"},
        {"x + b", "x=0x5 b=5"},
        {"x ** p", "x=3x4 p=4"},
        {"fmod(x, y) + x % y + atan2(x, y)", "x=3x4 y=4"},
        /* rows */
        {"softmax(x * s + m)", "x=3x4 s=scalar m=4"},
        {"layernorm(x, g, b)", "x=3x4 g=4 b=4"},
        {"layernorm(x, g, b)", "x=4 g=3x4 b=3x1"},
        {"rmsnorm(x, g)", "x=3x4 g=4"},
        {"param eps = 1e-5\nx / sqrt(mean(x*x) + eps) * g", "x=3x4 g=4"},
        {"m = max(x); m + log(sum(exp(x - m)))", "x=3x4"},
        {"exp(x - max(x)) / sum(exp(x - max(x)))", "x=3x4"},
        {"x - max(x) - log(sum(exp(x - max(x))))", "x=3x4"},
        {"x / sqrt(sum(x * x))", "x=3x4"},
        {"var(x) + mean(x) * sum(x) + max(x) - min(x) + prod(x)", "x=3x4"},
        {"var(x, axis=0) + mean(x, axis=0) * sum(x, axis=0) + max(x, axis=0)", "x=3x4"},
        {"var(x, axis=all) * mean(x, axis=all) + prod(x, axis=all)", "x=2x3"},
        {"mean((x - t) ** 2, axis=all)", "x=3x4 t=4"},
        {"(x - mean(x, axis=0)) * rsqrt(var(x, axis=0) + 0.1) * g + b", "x=5x3 g=3 b=3"},
        {"sum(x + b) * mean(x * b, axis=0)", "x=3x4 b=4"},
        {"sum(sum(x * x), axis=0) * x", "x=3x4"},
        {"x / count(x) + sum(x / count(x, axis=0))", "x=3x4"},
        /* products */
        {"x @ w", "x=3x4 w=4x2"},
        {"gelu(x @ w + b) + res", "x=3x4 w=4x2 b=2 res=3x2"},
        {"silu(x @ w1) * (x @ w2)", "x=3x4 w1=4x2 w2=4x2"},
        {"x @ w.T", "x=3x4 w=2x4"},
        {"x @ w", "x=2x3x4 w=4x2"},
        {"x @ w", "x=3x4 w=5x4x2"},
        {"softmax(q @ k.T * 0.5) @ v", "q=3x4 k=5x4 v=5x2"},
        {"sum(x @ x.T, axis=all)", "x=3x4"},
        {"(x.T + b).T * x", "x=3x4 b=3"},
        /* several outputs, values read often, functions of the program's own */
        {"h = x + b; y = silu(h) * g; return y, h", "x=3x4 b=4 g=3x4"},
        {"s = x * y; p = s + x; q = s * s * p; r = q / p; return r, s, q", "x=3x4 y=4"},
        {"a = x*x*x + x*x + x; a * a + 1/a", "x=7"},
        {"f(u, v=2) = tanh(u) * v; g(u) = f(u) + f(u, 3); g(g(x))", "x=5"},
        {"x < 1 ? x * y : y / x", "x=4x5 y=5"},
        {"max(x, y) * min(x, 1) + clamp(x, 0.5, y)", "x=4x5 y=5"},
        {"f64(x * 3) + where(x > 1, x, y)", "x=4x5 y=5"},
        {"sum_to(x * x, b) * b", "x=4x5 b=5"},
        {"sum_to(x * x, 1) * x", "x=4x5"},
        {"x / broadcast_to(c, 1)", "x=4x5 c=scalar"},
        {"broadcast_to(b * b, x) * x + sum(broadcast_to(b, x))", "x=4x5 b=4x1"},
    };
    KfSession *session = open_session();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (!strstr(programs[i][1], "0x5")) check_program(session, programs[i][0], programs[i][1]);
    kf_session_close(session);
}

/* The backward program of a backward program. */
static void second_derivatives(void **unused) {
    (void)unused;
    static const char *const programs[][2] = {
        {"x ** 3 * y", "x=4 y=4 dout=4"},        {"gelu(x + b)", "x=3x4 b=4 dout=3x4"},
        {"softmax(x)", "x=3x4 dout=3x4"},        {"rmsnorm(x, g)", "x=3x4 g=4 dout=3x4"},
        {"tanh(x @ w)", "x=3x4 w=4x2 dout=3x2"},
    };
    KfSession *session = open_session();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char *once = gradient(session, programs[i][0], NULL, 0);
        check_program(session, once, programs[i][1]);
        kf_free(once);
    }
    kf_session_close(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_state_their_derivatives),
        cmocka_unit_test(functions_have_their_slopes),
        cmocka_unit_test(programs_have_their_slopes),
        cmocka_unit_test(second_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
