/* plan: how axes collapse, which class every array gets, what kernels may be used at another
 * shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compiler/gate.h"
#include "compiler/rows.h"
#include "planned.h"

static Plan *make(Arena *arena, const char *text, const char *inputs) {
    Program p = program_make(arena, text, inputs);
    return program_plan(&p);
}

/* The layout class of the plan. */
static void expect(const char *text, const char *inputs, const char *wanted) {
    Arena *arena = arena_open();
    Text class = {0};
    plan_class_print(&class, make(arena, text, inputs));
    assert_string_equal(text_string(&class), wanted);
    text_free(&class);
    arena_close(arena);
}

static void axes_collapse(void **state) {
    (void)state;
    expect("x + y", "4x5x6", "rank1 i32 in0:f32:dense in1:f32:dense out0:f32:dense");
    expect("x + y", "1x1", "rank1 i32 in0:f32:dense in1:f32:dense out0:f32:dense");
    expect("x + y", "scalar", "rank1 i32 in0:f32:dense in1:f32:dense out0:f32:dense");
    expect("x + b", "x=4x5x6 b=6", "rank2 i32 in0:f32:dense in1:f32:rows:01 out0:f32:dense");
    expect("x + b", "x=4x5x6 b=5x6", "rank2 i32 in0:f32:dense in1:f32:rows:01 out0:f32:dense");
    expect("x + s", "x=4x5x6 s=4x5x1", "rank2 i32 in0:f32:dense in1:f32:splat:*0 out0:f32:dense");
    expect("x + c", "x=4x5 c=1", "rank1 i32 in0:f32:dense in1:f32:scalar:0 out0:f32:dense");
    expect("x + m", "x=4x5x6 m=4x1x6", "rank3 i32 in0:f32:dense in1:f32:rows:*01 out0:f32:dense");
    expect("x + s", "x=64x1x8 s=64x1x1", "rank2 i32 in0:f32:dense in1:f32:splat:*0 out0:f32:dense");
}

/* Kept and reduced axes do not mix; there is one of each. */
static void reductions_keep_their_axes(void **state) {
    (void)state;
    expect("x / sum(x)", "4x5x6", "rank2 i32 reduced2 in0:f32:dense out0:f32:dense");
    expect("sum(x)", "4x5x6", "rank2 i32 reduced2 in0:f32:dense out0:f32:splat:*0");
    expect("sum(x)", "6", "rank2 i32 reduced2 in0:f32:dense out0:f32:scalar:00");
    expect("sum(x, axis=all)", "4x5x6", "rank2 i32 reduced2 in0:f32:dense out0:f32:scalar:00");
    expect("sum(x*b, axis=all)", "x=4x5 b=5",
           "rank3 i32 reduced6 in0:f32:dense in1:f32:rows:001 out0:f32:scalar:000");
    expect("sum(x, axis=0)", "4x5x6", "rank3 i32 reduced2 in0:f32:dense out0:f32:rows:001");
    expect("sum(x, axis=1)", "4x5x6", "rank3 i32 reduced2 in0:f32:dense out0:f32:rows:*01");
    expect("x * rsqrt(mean(x*x)) * g + s", "x=4x5x6 g=6 s=5x1",
           "rank3 i32 reduced4 in0:f32:dense in1:f32:rows:001 in2:f32:splat:0*0 out0:f32:dense");
    expect("s = max(x); return x - s, s", "4x6",
           "rank2 i32 reduced2 in0:f32:dense out0:f32:dense out1:f32:splat:*0");
}

static void passes(const char *text, const char *inputs, uint32_t count, bool stores) {
    Arena *arena = arena_open();
    const Rows *rows = rows_find(arena, make(arena, text, inputs));
    assert_int_equal(rows->passes, count);
    assert_int_equal(rows->stores, stores);
    arena_close(arena);
}

static void reductions_run_in_passes(void **state) {
    (void)state;
    passes("sum(x)", "4x6", 1, false);
    passes("max(x) - min(x)", "4x6", 1, false);
    passes("x - mean(x)", "4x6", 2, true);
    passes("softmax(x)", "4x6", 3, true);
    passes("sum(exp(x - max(x)))", "4x6", 2, false);
    passes("m = mean(x); return x + 0*m, m", "4x6", 2, true);
    passes("layernorm(softmax(x), g, b)", "x=4x6 g=6 b=6", 4, true);
}

static void strides_decide(void **state) {
    (void)state;
    expect("x * 2", "x=10x10@128,1", "rank2 i32 in0:f32:rows:*1 out0:f32:dense");
    expect("x * 2", "x=10x10@1,10", "rank2 i32 in0:f32:strided:**:down out0:f32:dense");
    expect("x + x.T", "x=10x10", "rank2 i32 in0:f32:dense in0:f32:strided:**:down out0:f32:dense");
    expect("x * 2", "x=10x10@2,20", "rank2 i32 in0:f32:strided:** out0:f32:dense");
    expect("x * 2", "x=10@-1", "rank1 i32 in0:f32:strided:* out0:f32:dense");
    expect("x * 2", "x=10@0", "rank1 i32 in0:f32:scalar:0 out0:f32:dense");
    /* a column-major output and input walk together */
    expect("x * 2", "x=10x12@1,10 @1,10", "rank1 i32 in0:f32:dense out0:f32:dense");
    expect("x * 2", "x=10x12 @128,1", "rank2 i32 in0:f32:dense out0:f32:rows:*1");
    expect("x = x * 2", "x=10", "rank1 i32 in0:f32:dense:alias out0:f32:dense:alias");
}

/* The byte offset decides, not the number of elements: field reports 7 and 8. */
static void index_width(void **state) {
    (void)state;
    expect("relu(x)", "x=2147483656:f16", "rank1 i64 in0:f16:dense out0:f16:dense");
    expect("x + b", "x=65536x16392 b=16392",
           "rank2 i64 in0:f32:dense in1:f32:rows:01 out0:f32:dense");
    expect("x * 2", "x=2x8@1000000000,1", "rank2 i64 in0:f32:rows:*1 out0:f32:dense");
    expect("x * 2", "x=16384x16384", "rank1 i32 in0:f32:dense out0:f32:dense");
}

static int64_t bound(const Plan *plan, const char *name) {
    for (uint32_t i = 0; i < plan->bindings.count; i++)
        if (strcmp(plan->bindings.list[i].name, name) == 0) return plan->bindings.list[i].value;
    fail_msg("no binding '%s'", name);
    return 0;
}

static void sizes_are_bound(void **state) {
    Arena *arena = arena_open();
    (void)state;
    const Plan *p = make(arena, "x + m", "x=4x5x6 m=4x1x6");
    assert_int_equal(bound(p, "kf_n"), 120);
    assert_int_equal(bound(p, "kf_rows"), 20);
    assert_int_equal(bound(p, "kf_cols"), 6);
    assert_int_equal(bound(p, "kf_e1"), 5);
    assert_int_equal(bound(p, "kf_in_m_s0"), 6);
    assert_int_equal(p->bytes_read, (120 + 24) * 4);
    assert_int_equal(p->bytes_written, 120 * 4);
    p = make(arena, "x + x.T", "x=8x8");
    assert_int_equal(p->bytes_read, 64 * 4);
    p = make(arena, "x + b", "x=0x6 b=6");
    assert_int_equal(p->count, 0);
    assert_int_equal(p->bytes_read + p->bytes_written, 0);
    arena_close(arena);
}

/* i / d for every divisor by its reciprocal. */
static void reciprocals_divide(void **state) {
    static const int64_t divisors[] = {1,
                                       2,
                                       3,
                                       5,
                                       7,
                                       8,
                                       9,
                                       641,
                                       1000,
                                       4097,
                                       65535,
                                       65536,
                                       65537,
                                       1 << 29,
                                       (1 << 29) + 1,
                                       (1 << 30) - 1,
                                       1 << 30};
    (void)state;
    for (uint32_t k = 0; k < sizeof divisors / sizeof *divisors; k++) {
        Arena *arena = arena_open();
        char inputs[64];
        snprintf(inputs, sizeof inputs, "x=2x%lld:u8 b=%lld:u8", (long long)divisors[k],
                 (long long)divisors[k]);
        const Plan *p = make(arena, "x + b", inputs);
        uint64_t inverse = divisors[k] > 1 ? (uint64_t)bound(p, "kf_cols_div") : 0;
        for (uint64_t i = 1, step = 1; divisors[k] > 1 && i < (uint64_t)INT32_MAX;
             step = step * 5 / 4 + 1, i += step)
            for (uint64_t n = i / (uint64_t)divisors[k] * (uint64_t)divisors[k], j = n ? n - 1 : 0;
                 j <= n + 1; j++)
                assert_int_equal(j * (uint32_t)inverse >> (inverse >> 32),
                                 j / (uint64_t)divisors[k]);
        arena_close(arena);
    }
}

static void names_are_private(void **state) {
    Arena *arena = arena_open();
    (void)state;
    const Plan *p = make(arena, "param eps = 1e-5; t3 = n + i * eps; return relu(t3) + kf_n", "8");
    assert_string_equal(p->name, "kf_mul_add_relu_add");
    assert_string_equal(p->loads.data[0].name, "in_n");
    assert_string_equal(p->scalars.data[0].name, "s_eps");
    assert_string_equal(p->loads.data[2].name, "in_kf_n");
    p = make(arena, "x", "8");
    assert_string_equal(p->name, "kf_copy");
    p = make(arena, "x + x.T", "8x8");
    assert_string_equal(p->loads.data[1].name, "inT_x");
    arena_close(arena);
}

/* Whether the kernel of one shape computes the other. */
static bool serves(const char *text, const char *model, const char *other) {
    Arena *arena = arena_open();
    const Plan *like = make(arena, text, model);
    Program p = program_make(arena, text, other);
    const Plan *plan = plan_like(arena, like, p.ir);
    bool result = plan != NULL;
    if (plan) assert_int_equal(plan->rank, like->rank);
    arena_close(arena);
    return result;
}

static void one_kernel_many_shapes(void **state) {
    (void)state;
    assert_true(serves("x + b", "x=64x32 b=32", "x=1x7 b=7"));
    assert_true(serves("x + b", "x=64x32 b=32", "x=7x1 b=1"));
    assert_true(serves("x + b", "x=64x32 b=32", "x=0x7 b=7"));
    assert_true(serves("x + y", "x=64x32 y=64x32", "x=1x1 y=1x1"));
    assert_true(serves("x + m", "x=4x5x6 m=4x1x6", "x=1x1x1 m=1x1x1"));
    assert_true(serves("x * 2", "x=10x10@128,1", "x=10x10@256,1"));
    assert_true(serves("x + c", "x=10 c=1", "x=1 c=1"));
    assert_false(serves("x + y", "x=64x32 y=64x32", "x=64x32 y=32"));
    assert_false(serves("x * 2", "x=64x32", "x=64x32@64,1"));
    assert_false(serves("x + b", "x=64x32 b=32", "x=65536x16392 b=16392")); /* wider indices */
    assert_true(serves("x + b", "x=65536x16392 b=16392", "x=64x32 b=32"));
}

/* The gate's awkward shapes run on the kernel of the plan, whatever the strides. */
static void edges_fit(const char *text, const char *inputs) {
    Arena *arena = arena_open();
    Program p = program_make(arena, text, inputs);
    const Plan *like = program_plan(&p);
    uint32_t count;
    const Ir *const *edges = gate_shapes(arena, p.ir, &count);
    for (uint32_t i = 0; i < count; i++)
        if (!plan_like(arena, like, edges[i])) fail_msg("%s, %s: edge %u", text, inputs, i);
    arena_close(arena);
}

static void every_edge_fits(void **state) {
    (void)state;
    edges_fit("x * 2", "x=2x2x5@1,10,2"); /* merged axes of which the inner one shrinks to 1 */
    edges_fit("x * 2", "x=2x2x4x2@32,16,4,2");
    edges_fit("x * 2", "x=2x4x1x2@10,2,2,1");
    edges_fit("x * 2", "x=3x5x1x2@0,2,-2,1");
    edges_fit("x * 2", "x=5x1x4@4,4,1 @4,4,1");
    edges_fit("x + y", "x=3x3x5x2@0,10,2,1 y=3x1x5x2@10,0,2,1 @60,20,4,2");
    edges_fit("x + y", "x=2x3x2x5@30,10,5,1 y=2x3x2x5@30,10,5,1 @1,4,60,12");
    edges_fit("x.T + y", "x=4x4 y=4x4@1,4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_collapse),
        cmocka_unit_test(reductions_keep_their_axes),
        cmocka_unit_test(reductions_run_in_passes),
        cmocka_unit_test(strides_decide),
        cmocka_unit_test(index_width),
        cmocka_unit_test(sizes_are_bound),
        cmocka_unit_test(reciprocals_divide),
        cmocka_unit_test(names_are_private),
        cmocka_unit_test(one_kernel_many_shapes),
        cmocka_unit_test(every_edge_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
