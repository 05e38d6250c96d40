/* How sharp the gate's edges are for what sums: plain C kernels as a block of threads would compute
 * them, right ones accepted in f32, f16 and bf16, and each with one mistake that people make
 * refused. Numbers are the field reports'. */
#include "compiler/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lowered.h"

typedef enum Mistake {
    NONE,
    MISSING,        /* the first element of the second pass */
    TAIL,           /* what is left of vectors of 4, in rows of several passes */
    LAST_ITEM,      /* each thread's last of several */
    NO_SHIFT,       /* exp(x) without the maximum taken off */
    LONELY,         /* 46: a thread that saw nothing but -inf */
    NUMBERS_ONLY,   /* a maximum that passes over NaN */
    SQUARES,        /* 47: E[x^2] - E[x]^2 */
    CLAMPED,        /* the same, no less than 0 */
    UNBIASED,       /* n - 1 */
    NARROW_SQUARES, /* squares rounded to the stored type */
    LAST_K,
    K_TAIL, /* what is left of a depth of tiles of 8, where there are several */
    SWAPPED,
    NO_DEPTH, /* nothing written where the depth is 0 */
} Mistake;

enum { THREADS = 128, LENGTH_MAX = 70001 };

/* --- rows */

static bool is_seen(Mistake mistake, int64_t i, int64_t n) {
    if (mistake == MISSING) return i != 1024;
    if (mistake == TAIL) return n <= 4096 || i < n / 4 * 4;
    if (mistake == LAST_ITEM) return i < THREADS || i + THREADS < n;
    return true;
}

static float sum_of(const float *x, int64_t n, Mistake mistake) {
    float total = 0;
    for (int64_t t = 0; t < THREADS; t++) {
        float part = 0;
        for (int64_t i = t; i < n; i += THREADS)
            if (is_seen(mistake, i, n)) part += x[i];
        total += part;
    }
    return total;
}

static float max_of(const float *x, int64_t n, Mistake mistake) {
    float most = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        if (!is_seen(mistake, i, n)) continue;
        if (x[i] > most || (x[i] != x[i] && mistake != NUMBERS_ONLY)) most = x[i];
        if (most != most) break;
    }
    return most;
}

/* Each thread about its own maximum, as in one pass. */
static float sum_online(const float *x, int64_t n, float most, Mistake mistake) {
    float total = 0;
    for (int64_t t = 0; t < THREADS; t++) {
        float own = -INFINITY, part = 0;
        for (int64_t i = t; i < n; i += THREADS) own = x[i] > own || x[i] != x[i] ? x[i] : own;
        for (int64_t i = t; i < n; i += THREADS)
            if (is_seen(mistake, i, n)) part += expf(x[i] - own);
        if (own == -INFINITY && most > own && mistake != LONELY) continue;
        if (t < n) total += part * expf(own - most);
    }
    return total;
}

static void softmax(const float *x, float *y, int64_t n, DType type, Mistake mistake) {
    float most = mistake == NO_SHIFT ? 0 : max_of(x, n, NONE);
    float total = mistake == NO_SHIFT ? 0 : sum_online(x, n, most, mistake);
    (void)type;
    for (int64_t i = 0; mistake == NO_SHIFT && i < n; i++) total += expf(x[i]);
    for (int64_t i = 0; i < n; i++) y[i] = expf(x[i] - most) / total;
}

static float variance(const float *x, float *d, int64_t n, float mean, Mistake mistake) {
    float count = (float)n;
    bool squares = mistake == SQUARES || mistake == CLAMPED;
    for (int64_t i = 0; i < n; i++) d[i] = squares ? x[i] : x[i] - mean;
    float shift = squares ? 0 : sum_of(d, n, NONE) / count;
    for (int64_t i = 0; i < n; i++) d[i] = (d[i] - shift) * (d[i] - shift);
    float all = sum_of(d, n, mistake);
    if (!squares) return all / (mistake == UNBIASED ? count - 1 : count);
    float difference = all / count - mean * mean;
    return mistake == CLAMPED && difference < 0 ? 0 : difference;
}

static void layernorm(const float *x, float *y, int64_t n, DType type, Mistake mistake) {
    static float d[LENGTH_MAX];
    float mean = sum_of(x, n, mistake) / (float)n,
          scale = sqrtf(variance(x, d, n, mean, mistake) + 1e-5f);
    (void)type;
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) / scale;
}

static void rmsnorm(const float *x, float *y, int64_t n, DType type, Mistake mistake) {
    static float squares[LENGTH_MAX];
    for (int64_t i = 0; i < n; i++) {
        squares[i] = x[i] * x[i];
        if (mistake == NARROW_SQUARES)
            squares[i] = (float)dtype_round(type, (double)x[i] * (double)x[i]);
    }
    float scale = sqrtf(sum_of(squares, n, mistake) / (float)n + 1e-5f);
    for (int64_t i = 0; i < n; i++) y[i] = x[i] / scale;
}

static void largest(const float *x, float *y, int64_t n, DType type, Mistake mistake) {
    (void)type;
    y[0] = max_of(x, n, mistake);
}

/* --- products */

static void product(const float *a, const float *b, float *y, const int64_t *size,
                    Mistake mistake) {
    int64_t rows = size[0], columns = size[1], depth = size[2], seen = depth;
    if (mistake == LAST_K && depth > 64) seen--;
    if (mistake == K_TAIL && depth > 64) seen = depth / 8 * 8;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float sum = 0;
            bool swapped = mistake == SWAPPED && columns > 64 && j < 64;
            int64_t from = swapped ? j ^ 32 : j;
            for (int64_t k = 0; k < seen; k++) sum += a[i * depth + k] * b[k * columns + from];
            if (depth > 0 || mistake != NO_DEPTH) y[i * columns + j] = sum;
        }
}

/* --- a kernel on all edges */

typedef void Rows(const float *x, float *y, int64_t n, DType type, Mistake mistake);

static float *read_input(Arena *arena, const Edge *edge, const uint8_t *image, uint32_t input) {
    const Type *type = &edge->ir->inputs.data[input].type;
    int64_t count = type_count(type), bytes = dtype_info(type->dtype)->bytes;
    float *values = arena_array(arena, float, count + 1);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)dtype_load(type->dtype, image + edge->inputs[input] + i * bytes).real;
    return values;
}

static void write_output(const Edge *edge, uint8_t *image, const float *values) {
    const Type *type = &edge->ir->outputs.data[0].type;
    int64_t bytes = dtype_info(type->dtype)->bytes;
    for (int64_t i = 0; i < type_count(type); i++)
        dtype_store(type->dtype, image + edge->outputs[0] + i * bytes,
                    (Scalar){.real = dtype_round(type->dtype, (double)values[i])});
}

static void run_edge(const Edge *edge, uint8_t *image, Rows *rows, Mistake mistake) {
    Arena *arena = arena_open();
    const Type *type = &edge->ir->inputs.data[0].type, *out = &edge->ir->outputs.data[0].type;
    const float *x = read_input(arena, edge, image, 0);
    float *y = arena_array(arena, float, type_count(out) + 1);
    for (int64_t i = 0; i < type_count(out); i++) y[i] = 12345; /* what was there before */
    if (rows == NULL) {
        const int64_t size[] = {out->dim[0], out->dim[1], type->dim[1]};
        product(x, read_input(arena, edge, image, 1), y, size, mistake);
    }
    for (int64_t r = 0; rows != NULL && r < type->dim[0]; r++)
        rows(x + r * type->dim[1], y + r * out->dim[1], type->dim[1], type->dtype, mistake);
    write_output(edge, image, y);
    arena_close(arena);
}

static bool accepts(const Gate *gate, Rows *rows, Mistake mistake, const char **why) {
    Arena *arena = arena_open();
    static char said[512];
    uint8_t *image = malloc(gate->size);
    const char *reason = "";
    Check check = check_none();
    memcpy(image, gate->image, gate->size);
    for (uint32_t e = 0; e < gate->edges.count; e++)
        run_edge(&gate->edges.data[e], image, rows, mistake);
    bool accepted = gate_judge(gate, image, arena, &check, &reason);
    snprintf(said, sizeof said, "%s", reason);
    *why = said;
    free(image);
    arena_close(arena);
    return accepted;
}

static void check_kernel(const char *text, Rows *rows, const Mistake *mistakes, size_t count,
                         DType type) {
    Arena *arena = arena_open();
    InputSpec y = {.name = "y", .has_shape = true, .type = {.rank = 2, .dim = {32, 96}}};
    LowerOptions options = {.has_shape = true,
                            .plain = {.dtype = type, .rank = 2, .dim = {48, 32}},
                            .inputs = &y,
                            .input_count = strchr(text, '@') != NULL};
    const char *why;
    Ir *ir = lowered(arena, text, &options);
    assert_non_null(ir);
    Gate *gate = gate_open(arena, simplify(arena, ir, true), 11, ACCURACY_C, NULL);
    if (!accepts(gate, rows, NONE, &why)) fail_msg("%s %s: %s", text, dtype_name(type), why);
    for (size_t i = 0; i < count; i++)
        if (accepts(gate, rows, mistakes[i], &why))
            fail_msg("%s %s: mistake %d is accepted", text, dtype_name(type), (int)mistakes[i]);
    arena_close(arena);
}

#define CHECK(text, rows, type, ...)                         \
    check_kernel(text, rows, (const Mistake[]){__VA_ARGS__}, \
                 sizeof((const Mistake[]){__VA_ARGS__}) / sizeof(Mistake), type)

static const DType types[] = {DT_F32, DT_F16, DT_BF16};

static void softmax_is_sharp(void **unused) {
    (void)unused;
    for (size_t t = 0; t < 3; t++)
        CHECK("exp(x - max(x)) / sum(exp(x - max(x)))", softmax, types[t], MISSING, TAIL, LAST_ITEM,
              NO_SHIFT, LONELY);
}

static const char layernorm_text[] =
    "m = mean(x); d = x - m; e = d - mean(d); return d / sqrt(mean(e * e) + 1e-5)";

/* Of bf16, whose numbers have 8 bits, E[x^2] - E[x]^2 in f32 loses no more than the store does. */
static void layernorm_is_sharp(void **unused) {
    static const char *const texts[] = {"(x - mean(x)) / sqrt(var(x) + 1e-5)", layernorm_text};
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        for (size_t t = 0; t < 3; t++)
            CHECK(texts[i], layernorm, types[t], MISSING, TAIL, LAST_ITEM, UNBIASED);
        CHECK(texts[i], layernorm, DT_F32, SQUARES, CLAMPED);
        CHECK(texts[i], layernorm, DT_F16, SQUARES, CLAMPED);
    }
}

static void rmsnorm_is_sharp(void **unused) {
    (void)unused;
    for (size_t t = 0; t < 3; t++)
        CHECK("x / sqrt(mean(x * x) + 1e-5)", rmsnorm, types[t], MISSING, TAIL, LAST_ITEM);
    CHECK("x / sqrt(mean(x * x) + 1e-5)", rmsnorm, DT_F16, NARROW_SQUARES);
}

static void maxima_are_sharp(void **unused) {
    (void)unused;
    for (size_t t = 0; t < 3; t++)
        CHECK("max(x)", largest, types[t], MISSING, TAIL, LAST_ITEM, NUMBERS_ONLY);
}

static void products_are_sharp(void **unused) {
    (void)unused;
    for (size_t t = 0; t < 3; t++)
        CHECK("x @ y", NULL, types[t], LAST_K, K_TAIL, SWAPPED, NO_DEPTH);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_sharp),   cmocka_unit_test(layernorm_is_sharp),
        cmocka_unit_test(rmsnorm_is_sharp),   cmocka_unit_test(maxima_are_sharp),
        cmocka_unit_test(products_are_sharp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
