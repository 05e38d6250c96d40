/* Which programs a hand-written template is found for, and what its names then stand for. */
#include "compiler/kernel.h"

#include "program.h"

#include "compiler/simplify.h"

typedef struct Case {
    Program program;
    Arena *arena;
    const Library *library;
    const Ir *ir;
    Kernels kernels;
} Case;

static Case find(const char *text, const char *about) {
    Case c = {.program = program_open(text, about)};
    if (!c.program.ir) fail_msg("%s does not lower", text);
    c.arena = c.program.arena;
    c.library = library_open(c.arena, "cuda", registry_open(c.arena));
    c.ir = simplify(c.arena, c.program.ir, true);
    c.kernels = kernels_find(c.arena, c.library, c.ir);
    return c;
}

static void close_case(Case *c) {
    program_close(&c->program);
}

static const Kernel *named(const Case *c, const char *name) {
    for (uint32_t i = 0; i < c->kernels.list.count; i++)
        if (strcmp(c->kernels.list.data[i].name, name) == 0) return &c->kernels.list.data[i];
    return NULL;
}

static int64_t size_of(const Bound *bound, const char *name) {
    for (uint32_t i = 0; i < bound->sizes.count; i++)
        if (strcmp(bound->sizes.list[i].name, name) == 0) return bound->sizes.list[i].value;
    return -1;
}

static const BoundTensor *tensor_of(const Bound *bound, const char *name) {
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        if (strcmp(bound->tensors.data[i].name, name) == 0) return &bound->tensors.data[i];
    return NULL;
}

typedef struct Found {
    const char *text, *about, *name; /* name NULL: no template is right */
} Found;

static const Found programs[] = {
    {"softmax(x)", "x=4x8", "softmax"},
    {"exp(x - max(x)) / sum(exp(x - max(x)))", "x=2x3x8 :bf16", "softmax"},
    {"m = max(x); e = exp(x - m); e / sum(e)", "x=8 :f16", "softmax"},
    {"softmax(x)", "x=4x8 :f64", NULL},
    {"softmax(x) + 1", "x=4x8", NULL},
    {"softmax(x.T)", "x=8x8", NULL},
    {"softmax(2 * x)", "x=4x8", NULL},
    {"exp(x - max(x, axis=0)) / sum(exp(x - max(x, axis=0)), axis=0)", "x=8x8", NULL},
    {"layernorm(x, g, b)", "x=4x8 g=8 b=8", "layernorm"},
    {"b + g * ((x - mean(x)) * rsqrt(var(x) + 1e-3))", "x=4x8 g=8 b=8", "layernorm"},
    {"layernorm(x, b, g, 1e-6)", "x=4x8 g=8 b=8 :bf16", "layernorm"},
    {"layernorm(x, g, b)", "x=4x8 g=4x8 b=8", NULL},
    {"rmsnorm(x, g)", "x=4x8 g=8 :f16", "rmsnorm"},
    {"gelu(x)", "x=3x5x7", "gelu"},
    {"gelu(b + x)", "x=4x8 b=8", "bias_gelu"},
    {"gelu(x + b)", "x=4x8 b=1x8", "bias_gelu"},
    {"gelu(x + b)", "x=4x8 b=4x8", NULL},
    {"gelu(x + b)", "x=4x8 b=4x1", NULL},
    {"x @ w", "x=4x8 w=8x5", "matmul"},
    {"x @ w", "x=2x4x8 w=8x5", "matmul"},
    {"x @ w", "x=2x4x8 w=2x8x5", "matmul"},
    {"x @ w", "x=2x4x8 w=2x8x5 :f16", "matmul"},
    {"x @ w", "x=2x4x8 w=2x8x5 :f64", "matmul"},
    {"x @ x", "x=8x8", "matmul"},
    {"x.T @ x", "x=8x4", "matmul"},
    {"relu(x @ w + b)", "x=4x8 w=8x5 b=5", "matmul"},
    {"relu(x) @ w", "x=4x8 w=8x5", NULL},
    {"r = r + x @ w", "x=4x8 w=8x5 r=4x5", "matmul"},
    {"softmax(x @ w)", "x=4x8 w=8x5", NULL},
    {"x @ w + r", "x=4x8 w=8x5 r=3x4x5", NULL},
    {"(x @ w).T", "x=4x8 w=8x5", NULL},
    {"silu(x @ u) * (x @ v)", "x=4x8 u=8x5 v=8x5", "matmul"},
    {"silu(x @ u) * (x @ v)", "x=4x8 u=8x5 v=8x1", NULL},
    {"x @ u + x @ v.T", "x=4x8 u=8x5 v=5x8", NULL},
    {"x @ u + y @ v", "x=4x8 y=4x8 u=8x5 v=8x5", NULL},
    {"x @ u + x @ v + x @ w", "x=4x8 u=8x5 v=8x5 w=8x5", NULL},
};

static const Kernel *hand_written(const Case *c) {
    for (uint32_t i = 0; i < c->kernels.list.count; i++)
        if (!c->kernels.list.data[i].plan) return &c->kernels.list.data[i];
    return NULL;
}

static void programs_find_their_templates(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const Found *row = &programs[i];
        Case c = find(row->text, row->about);
        const Kernel *kernel = hand_written(&c);
        const char *name = kernel ? kernel->name : "nothing";
        if (strcmp(name, row->name ? row->name : "nothing") != 0)
            fail_msg("%s with %s: %s", row->text, row->about, name);
        close_case(&c);
    }
}

static void elementwise_programs_have_a_generated_kernel_too(void **state) {
    (void)state;
    Case c = find("gelu(x + b)", "x=4x8 b=8");
    assert_int_equal(c.kernels.list.count, 2);
    assert_non_null(c.kernels.list.data[0].plan);
    assert_string_equal(c.kernels.list.data[0].name, "generated");
    close_case(&c);
}

/* The first name takes all leading dimensions; operands go to the names that they stand for. */
static void names_stand_for_sizes_and_buffers(void **state) {
    (void)state;
    Case c = find("b + g * ((x - mean(x)) * rsqrt(var(x) + 1e-3))", "x=2x3x8 g=8 b=8 :f16");
    const Bound *bound = kernel_bound(c.arena, named(&c, "layernorm"), c.ir);
    assert_int_equal(size_of(bound, "rows"), 6);
    assert_int_equal(size_of(bound, "cols"), 8);
    assert_int_equal(size_of(bound, "bytes_x"), 2);
    for (uint32_t i = 0; i < c.ir->inputs.count; i++)
        assert_int_equal(tensor_of(bound, c.ir->inputs.data[i].name)->buffer, i);
    assert_int_equal(tensor_of(bound, "y")->buffer, 3);
    assert_true(tensor_of(bound, "x")->full && tensor_of(bound, "y")->full);
    assert_false(tensor_of(bound, "g")->full);
    assert_int_equal(bound->bytes, 2 * (48 + 8 + 8 + 48));
    assert_string_equal(bound->scalars.data[0].name, "eps");
    assert_true(bound->scalars.data[0].value.real == (double)1e-3f);
    close_case(&c);
}

/* A prologue is made for the types. */
static void texts_are_made_for_the_types(void **state) {
    (void)state;
    Case c = find("softmax(x)", "x=4x8 :bf16");
    const Template *template = named(&c, "softmax")->template;
    Point point = space_fallback(&template->space);
    Text text = {0};
    template_instantiate(&text, template, &point, "");
    assert_non_null(strstr(text_string(&text), "#define T_x unsigned short\n"));
    assert_non_null(strstr(text_string(&text), "#define KF_TO_y(v) k_to_bf16(v)\n"));
    assert_null(strstr(text_string(&text), "k_from_f16(unsigned short bits)"));
    text_free(&text);
    close_case(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_find_their_templates),
        cmocka_unit_test(elementwise_programs_have_a_generated_kernel_too),
        cmocka_unit_test(names_stand_for_sizes_and_buffers),
        cmocka_unit_test(texts_are_made_for_the_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
