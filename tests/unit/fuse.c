/* fuse: into how many kernels programs are cut, in which order, and that a chain's steps, one after
 * another, give what the program gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "compiler/eval.h"
#include "compiler/fuse.h"
#include "compiler/gate.h"
#include "compiler/verify.h"
#include "planned.h"

typedef struct Case {
    Arena *arena;
    Program program;
    Chains chains;
    Uncovered uncovered;
} Case;

static Case open_case(const char *text, const char *inputs) {
    Case c = {.arena = arena_open()};
    c.program = program_make(c.arena, text, inputs);
    const Library *library = library_open(c.arena, "c", c.program.registry);
    c.chains = fuse(c.arena, library, c.program.ir, &c.uncovered);
    return c;
}

/* --- how many */

/* The labels of the first chain's steps. */
static void expect(const char *text, const char *inputs, const char *labels, uint32_t temporaries) {
    Case c = open_case(text, inputs);
    Text found = {0};
    if (c.chains.list.count == 0) fail_msg("%s: no chain", text);
    const Chain *chain = c.chains.list.data[0];
    for (uint32_t i = 0; i < chain->steps.count; i++)
        text_printf(&found, "%s%s", i ? " | " : "", chain->steps.data[i].label);
    assert_string_equal(text_string(&found), labels);
    assert_int_equal(chain->temporaries.count, temporaries);
    text_free(&found);
    arena_close(c.arena);
}

static void fewest_kernels(void **state) {
    (void)state;
    expect("s = x + y; out = relu(s); return s, out", "x=4x5 y=4x5", "elementwise", 0);
    expect("a = x + 1; b = y + 1", "x=4x5 y=5", "elementwise | elementwise", 0);
    expect("softmax(x)", "4x5", "max, sum", 0);
    expect("h = relu(x); return h @ w", "x=4x5 w=5x6", "elementwise | matmul", 1);
    expect("h = relu(x); return h, h @ w", "x=4x5 w=5x6", "elementwise | matmul", 0);
    expect("softmax(x @ w)", "x=4x5 w=5x6", "matmul | max, sum", 1);
    expect("(x @ w) @ v", "x=4x5 w=5x6 v=6x7", "matmul | matmul", 1);
    expect("((x @ w) @ v) @ u", "x=4x5 w=5x6 v=6x7 u=7x8", "matmul | matmul | matmul", 2);
    expect("(((x @ w) @ w) @ w) @ w", "x=5x5 w=5x5", "matmul | matmul | matmul | matmul", 2);
    expect("layernorm(gelu(x @ w + b) + r, g, b)", "x=4x5 w=5x6 b=6 r=4x6 g=6",
           "matmul | mean, var", 1);
    expect("h = x + y; return h, sum(h, axis=0)", "x=4x5 y=4x5", "elementwise | sum", 0);
    expect("x - mean(x, axis=0)", "x=4x5", "mean | elementwise", 1);
    expect("x / sqrt(sum(x * x, axis=all))", "x=4x5", "sum | elementwise", 1);
    expect("s = max(abs(x)) / 127; q = i8(x / s); return q, s", "4x5", "max", 0);
    expect("h = x + y; return h, layernorm(h, g, b)", "x=4x5 y=4x5 g=5 b=5", "mean, var", 0);
    expect("(x + 1).T", "4x5", "elementwise | elementwise", 1);
}

/* --- what they compute */

enum { SEED = 5 };

/* Buffers by chain_buffer: inputs filled, the rest empty. */
static void **make_buffers(const Case *c, const Chain *chain) {
    const Ir *ir = c->program.ir;
    uint32_t count = ir->inputs.count + ir->outputs.count + chain->temporaries.count;
    void **buffers = arena_array(c->arena, void *, count);
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const Type *type = &ir->inputs.data[i].type;
        buffers[i] = arena_alloc(c->arena, (size_t)type_bytes(type) + 8);
        gate_fill(buffers[i], type->dtype, SEED, i, 0, type_count(type), 1);
    }
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        buffers[ir->inputs.count + o] =
            arena_alloc(c->arena, (size_t)type_bytes(&ir->outputs.data[o].type) + 8);
    for (uint32_t t = 0; t < chain->temporaries.count; t++)
        buffers[ir->inputs.count + ir->outputs.count + t] =
            arena_alloc(c->arena, (size_t)chain->temporaries.data[t] + 8);
    return buffers;
}

static void evaluate(const Ir *ir, const void *const *inputs, void *const *outputs) {
    Team *team = team_open(1);
    Eval *eval = eval_open(ir, inputs, ACCURACY_C, team);
    for (uint32_t o = 0; o < ir->outputs.count; o++) eval_values(eval, o, outputs[o]);
    eval_close(eval);
    team_close(team);
}

static void run_step(const Case *c, const Step *step, void **buffers) {
    const void *inputs[128];
    void *outputs[16];
    const char *broken = verify(step->ir, c->arena);
    if (broken) fail_msg("%s: %s", step->label, broken);
    for (uint32_t i = 0; i < step->inputs.count; i++)
        inputs[i] = buffers[chain_buffer(c->program.ir, step->inputs.data[i])];
    for (uint32_t i = 0; i < step->outputs.count; i++)
        outputs[i] = buffers[chain_buffer(c->program.ir, step->outputs.data[i])];
    evaluate(step->ir, inputs, outputs);
}

static double element(DType type, const void *data, int64_t i) {
    const uint8_t *bytes = data;
    Scalar value = dtype_load(type, bytes + i * (int64_t)dtype_info(type)->bytes);
    return dtype_is_float(type) ? value.real : (double)value.whole;
}

/* Values on the way are rounded to f32; the results agree to some of its units. */
static void compare(const char *text, const Type *type, const void *a, const void *b) {
    double unit = type->dtype == DT_F64 ? 1e-12 : type->dtype == DT_F32 ? 1e-5 : 1e-2;
    for (int64_t i = 0; i < type_count(type); i++) {
        double x = element(type->dtype, a, i), y = element(type->dtype, b, i);
        if (!(fabs(x - y) <= unit * (1 + fabs(x))) && !(isnan(x) && isnan(y)))
            fail_msg("%.60s: element %lld is %g, in steps %g", text, (long long)i, x, y);
    }
}

static void check(const char *text, const char *inputs) {
    Case c = open_case(text, inputs);
    const Ir *ir = c.program.ir;
    if (c.chains.list.count == 0) fail_msg("%s: no chain", text);
    for (uint32_t k = 0; k < c.chains.list.count; k++) {
        const Chain *chain = c.chains.list.data[k];
        void **buffers = make_buffers(&c, chain), **whole = make_buffers(&c, chain);
        evaluate(ir, (const void *const *)whole, whole + ir->inputs.count);
        for (uint32_t s = 0; s < chain->steps.count; s++)
            run_step(&c, &chain->steps.data[s], buffers);
        for (uint32_t o = 0; o < ir->outputs.count; o++)
            compare(text, &ir->outputs.data[o].type, whole[ir->inputs.count + o],
                    buffers[ir->inputs.count + o]);
    }
    arena_close(c.arena);
}

static void steps_give_what_the_program_gives(void **state) {
    (void)state;
    check("softmax(x @ w) @ v", "x=7x5 w=5x6 v=6x9");
    check("h = relu(x @ w); return h, h @ v", "x=7x5 w=5x6 v=6x9");
    check("(x + y).T", "x=7x5 y=7x1");
    check("h = x + y; return h, sum(h, axis=0), x / sum(h * h, axis=all)", "x=7x5 y=7x5");
    check("layernorm(softmax(x) - mean(y, axis=0), g, b)", "x=7x5 y=7x5 g=5 b=5");
    check("softmax(x) * exp(tanh(b))", "x=70x50 b=50");
    check("s = max(abs(x)) / 127; q = i8(x / s); return q, s", "x=7x5:f16");
}

/* t1 = t0 - 0.01 * mean(t0, axis=0), and so on: from the definition each kernel computes all before it, and a
 * thousand took 14 s and 2 GB to cut. */
static void long_chains_are_kept_now_and_then(void **state) {
    enum { MEANS = 200, OPERANDS = 70 };
    Text text = {0};
    (void)state;
    text_add(&text, "t0 = x\n");
    for (int i = 0; i < MEANS; i++)
        text_printf(&text, "t%d = t%d - 0.01 * mean(t%d, axis=0)\n", i + 1, i, i);
    text_printf(&text, "return t%d\n", MEANS);
    Case c = open_case(text_string(&text), "x=7x5");
    assert_true(c.chains.list.count > 0);
    const Chain *chain = c.chains.list.data[0];
    assert_true(chain->steps.count > MEANS && chain->steps.count < MEANS + 20);
    for (uint32_t i = 0; i < chain->steps.count; i++)
        assert_true(chain->steps.data[i].inputs.count <= OPERANDS);
    arena_close(c.arena);
    check(text_string(&text), "x=7x5");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_chains_are_kept_now_and_then),
        cmocka_unit_test(fewest_kernels),
        cmocka_unit_test(steps_give_what_the_program_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
