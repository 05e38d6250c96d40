/* Blocks against elements: whatever loop a step takes, fast or careful, its results are
 * interval.h's. And the vector functions against libm's, special values among them. */
#include "compiler/eval_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define KF_COMPUTE_BITS 32
#include "compiler/storage.h"
#include "compiler/interval.h"
#include "compiler/interval_function.h"
#include "compiler/whole.h"
#include "compiler/eval_vector.h"

enum { COUNT = 200, TRIALS = 400 };

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* kind 0: finite and far from the limits; 1: anything now and then. */
static float any_float(uint64_t *state, int kind) {
    const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, 0x1.fffffep127f,
                             1, -1,    1e-30f,   100,       -100};
    if (kind && next(state) % 6 == 0) return special[next(state) % 12];
    return ((float)(next(state) >> 40) * 0x1p-22f - 2) * (next(state) & 1 ? 1.0f : 16.0f);
}

static Block block_new(Arena *arena) {
    return (Block){.lo = arena_alloc(arena, COUNT * 8 + 64),
                   .hi = arena_alloc(arena, COUNT * 8 + 64),
                   .v = arena_alloc(arena, COUNT * 8 + 64),
                   .nan = arena_alloc(arena, COUNT + 64)};
}

static void fill(Block *block, Interval *elements, uint64_t *state, int kind, bool point) {
    block->point = point;
    block->whole = false;
    for (int i = 0; i < COUNT; i++) {
        float a = any_float(state, kind),
              b = point ? a : a + fabsf(a) * (float)(next(state) % 4) * 0x1p-20f;
        Interval e = b == a || b != b
                         ? interval_point(a)
                         : interval_make(a, (double)a, b, kind && next(state) % 30 == 0);
        ((float *)block->lo)[i] = e.lo;
        ((float *)block->hi)[i] = e.hi;
        ((double *)block->v)[i] = e.v;
        block->nan[i] = (uint8_t)e.nan;
        elements[i] = e;
    }
}

static Interval read(const Block *block, int i) {
    const float *lo = block->lo, *hi = block->hi;
    if (block->point) return interval_point(lo[i]);
    return (Interval){lo[i], hi[i], ((const double *)block->v)[i], block->nan[i]};
}

static bool same_bits(float a, float b) {
    return bits_of_float(a) == bits_of_float(b) || (a != a && b != b);
}

static bool close_ends(float a, float b) {
    return same_bits(a, b) || nextafterf(a, b) == b;
}

static Interval arithmetic(Primitive op, Interval a, Interval b) {
    switch (op) {
    case P_ADD: return interval_add(a, b);
    case P_SUB: return interval_sub(a, b);
    case P_MUL: return interval_mul(a, b);
    default: return interval_div(a, b);
    }
}

static void arithmetic_is_the_elements(void **unused) {
    const Primitive ops[] = {P_ADD, P_SUB, P_MUL, P_DIV};
    Arena *arena = arena_open();
    Block slots[] = {block_new(arena), block_new(arena), block_new(arena)};
    Interval x[COUNT], y[COUNT];
    uint8_t ambiguous[COUNT] = {0};
    uint64_t state = 12345;
    (void)unused;
    for (int trial = 0; trial < TRIALS; trial++) {
        Primitive op = ops[trial % 4];
        BlockStep step = {.op = (uint16_t)(IR_PRIMITIVE + (uint32_t)op),
                          .count = 2,
                          .type = DT_F32,
                          .out = 2,
                          .arg = {0, 1}};
        fill(&slots[0], x, &state, trial / 4 % 2, trial / 8 % 3 == 1);
        fill(&slots[1], y, &state, trial / 4 % 2, trial / 8 % 3 == 2);
        block_kernel_f32.apply(&step, slots, COUNT, false, ambiguous);
        for (int i = 0; i < COUNT; i++) {
            Interval wanted = arithmetic(op, x[i], y[i]), r = read(&slots[2], i);
            assert_true(same_bits(wanted.lo, r.lo) && same_bits(wanted.hi, r.hi) &&
                        wanted.nan == r.nan);
            assert_true(wanted.v == r.v || wanted.nan == NAN_MUST);
        }
    }
    arena_close(arena);
}

/* clang-format off */
#define FUNCTIONS(_) \
    _(EXP, exp) _(EXP2, exp2) _(EXPM1, expm1) _(LOG, log) _(LOG2, log2) \
    _(LOG10, log10) _(LOG1P, log1p) _(SIN, sin) _(COS, cos) _(TAN, tan) \
    _(ASIN, asin) _(ACOS, acos) _(ATAN, atan) _(SINH, sinh) _(COSH, cosh) \
    _(TANH, tanh) _(ERF, erf) _(ERFC, erfc) _(CBRT, cbrt)
/* clang-format on */

static Interval function(Primitive op, Interval a, double ulp) {
    switch (op) {
#define CASE(id, name) \
    case P_##id: return interval_##name(a, ulp);
        FUNCTIONS(CASE)
#undef CASE
    default: abort();
    }
}

static double scalar(Primitive op, double x) {
    switch (op) {
#define CASE(id, name) \
    case P_##id: return name(x);
        FUNCTIONS(CASE)
#undef CASE
    default: abort();
    }
}

static const Primitive functions[] = {
#define CASE(id, name) P_##id,
    FUNCTIONS(CASE)
#undef CASE
};

/* An ulp of f32 apart at most: a value that two libraries round apart may lie at a border. */
static void functions_are_the_elements(void **unused) {
    Arena *arena = arena_open();
    Block slots[] = {block_new(arena), block_new(arena)};
    Interval x[COUNT];
    uint8_t ambiguous[COUNT] = {0};
    uint64_t state = 777;
    (void)unused;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (int trial = 0; trial < 20; trial++) {
            BlockStep step = {.op = (uint16_t)(IR_PRIMITIVE + (uint32_t)functions[f]),
                              .count = 1,
                              .type = DT_F32,
                              .out = 1,
                              .ulp = 2};
            fill(&slots[0], x, &state, 1, trial % 4 != 0);
            block_kernel_f32.apply(&step, slots, COUNT, false, ambiguous);
            for (int i = 0; i < COUNT; i++) {
                Interval wanted = function(functions[f], x[i], 2), r = read(&slots[1], i);
                bool good = close_ends(wanted.lo, r.lo) && close_ends(wanted.hi, r.hi) &&
                            wanted.nan == r.nan;
                good &= r.nan == NAN_MUST || ((double)r.lo <= r.v && r.v <= (double)r.hi);
                if (!good)
                    printf("%s([%a, %a]) is [%a, %a] %d, wanted [%a, %a] %d\n",
                           primitive_info(functions[f])->name, (double)x[i].lo, (double)x[i].hi,
                           (double)r.lo, (double)r.hi, r.nan, (double)wanted.lo, (double)wanted.hi,
                           wanted.nan);
                assert_true(good);
            }
        }
    }
    arena_close(arena);
}

static void vectors_are_as_good_as_scalars(void **unused) {
    enum { MANY = 20000 };
    double *in = malloc(MANY * sizeof *in), *out = malloc(MANY * sizeof *out);
    uint64_t state = 31;
    (void)unused;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (int i = 0; i < MANY; i++) in[i] = (double)any_float(&state, 1) * (i % 3 ? 1 : 0.1);
        assert_true(vector_function(functions[f], out, in, MANY));
        for (int i = 0; i < MANY; i++) {
            double wanted = scalar(functions[f], in[i]), off = fabs(out[i] - wanted);
            bool good = wanted != wanted ? out[i] != out[i]
                        : wanted - wanted != 0 || wanted == 0
                            ? bits_of_double(wanted) == bits_of_double(out[i])
                            : off <= fabs(wanted) * 0x1p-50 + 0x1p-1060;
            if (!good)
                printf("%s(%a) is %a, wanted %a\n", primitive_info(functions[f])->name, in[i],
                       out[i], wanted);
            assert_true(good);
        }
    }
    free(in);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_the_elements),
        cmocka_unit_test(functions_are_the_elements),
        cmocka_unit_test(vectors_are_as_good_as_scalars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
