/* Layers of definitions, what calls mean, and what is said about wrong ones. */
#include "registry/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "grammar/parse.h"
#include "registry/call.h"

typedef struct Fixture {
    Arena *arena;
    Registry *registry;
    Diags diags;
    Text said;
} Fixture;

static int open_fixture(void **state) {
    Fixture *fixture = calloc(1, sizeof *fixture);
    fixture->arena = arena_open();
    fixture->registry = registry_open(fixture->arena);
    *state = fixture;
    return 0;
}

static int close_fixture(void **state) {
    Fixture *fixture = *state;
    text_free(&fixture->said);
    arena_close(fixture->arena);
    free(fixture);
    return 0;
}

static bool add(Fixture *fixture, Registry *registry, const char *name, const char *text,
                Layer layer) {
    fixture->diags = (Diags){.arena = fixture->arena};
    const Source *source = source_new(fixture->arena, name, text, strlen(text));
    const Ast *ast = parse_definitions(fixture->arena, source, &fixture->diags);
    bool added = ast && registry_add(registry, ast, layer, &fixture->diags);
    text_clear(&fixture->said);
    diags_print(&fixture->said, &fixture->diags);
    return added;
}

/* What is said about `text` as a user's file, "" if nothing. */
static const char *said(Fixture *fixture, const char *text) {
    Registry *registry = registry_scope(fixture->arena, fixture->registry);
    bool added = add(fixture, registry, "my.kf", text, LAYER_USER);
    assert_int_equal(added, fixture->diags.errors == 0);
    return text_string(&fixture->said);
}

static void assert_says(Fixture *fixture, const char *text, const char *words) {
    const char *all = said(fixture, text);
    if (!strstr(all, words)) fail_msg("'%s' gives\n%s\nwithout '%s'", text, all, words);
}

static void knows_the_built_in_functions(void **state) {
    Fixture *fixture = *state;
    uint32_t count;
    const Function *const *list = registry_list(fixture->registry, fixture->arena, &count);
    assert_true(count > 50);
    for (uint32_t i = 0; i < count; i++) {
        assert_non_null(list[i]->description);
        assert_true(i == 0 || strcmp(list[i - 1]->name, list[i]->name) < 0);
        assert_ptr_equal(registry_find(fixture->registry, list[i]->name), list[i]);
    }
    Text text = {0};
    const Function *elu = registry_find(fixture->registry, "elu");
    assert_int_equal(elu->required, 1);
    function_print(&text, elu);
    assert_string_equal(text_string(&text), "elu(x, alpha=1) = x > 0 ? x : alpha * expm1(x)");
    text_free(&text);
}

static void finds_primitives_by_c_spelling(void **state) {
    (void)state;
    const struct {
        const char *name;
        Primitive primitive;
    } cases[] = {{"erfcf", P_ERFC}, {"expf", P_EXP},    {"exp", P_EXP},
                 {"fabsf", P_FABS}, {"fmaxf", P_FMAX},  {"rintf", P_ROUND},
                 {"rint", P_ROUND}, {"round", P_ROUND}, {"fmaf", P_FMA}};
    Primitive primitive;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(primitive_find(cases[i].name, &primitive) && primitive == cases[i].primitive);
    assert_false(primitive_find("roundf", &primitive));
    assert_false(primitive_find("add", &primitive));
    assert_false(primitive_find("+", &primitive));
}

static void checks_bodies(void **state) {
    Fixture *fixture = *state;
    assert_string_equal(said(fixture, "f(x) = g(x) + 1\ng(x, k=2 * sqrt(2)) = x * k * pi"), "");
    assert_string_equal(said(fixture, "f(x) = x - max(x, axis=all) + sum(x, axis=-1)"), "");
    assert_string_equal(said(fixture, "f(x) = gleu(x)"),
                        "my.kf:1:8: error: unknown function 'gleu'\n"
                        "   1 | f(x) = gleu(x)\n"
                        "     |        ^~~~ did you mean 'gelu'?\n");
    assert_says(fixture, "f(x) = x + y", "my.kf:1:12: error: 'y' is no parameter of 'f'");
    assert_says(fixture, "f(bias) = bais", "did you mean 'bias'?");
    assert_says(fixture, "f(x) = x * gelu", "'gelu(...)' would call the function");
    assert_says(fixture, "f(x, k=x) = x", "a default is a constant expression");
    assert_says(fixture, "f(x=1, y) = x", "without a default stands behind");
    assert_says(fixture, "f(x) = x\nf(y) = y", "my.kf:2:1: error: 'f' is defined twice");
    assert_says(fixture, "f(x) = x\nf(y) = y", "my.kf:1:1: note: the first definition is here");
    assert_says(fixture, "f(x) = x(x)", "unknown function 'x'");
    assert_says(fixture, "f(x) = qqqqqq(x)", "'kfuse ops' lists them");
    assert_says(fixture, "f(x, all) = sum(x, axis=all) + all", "");
    assert_says(fixture, "f(x) = sum(x, axis=all) + all", "'all' is no parameter of 'f'");
}

static void checks_calls(void **state) {
    Fixture *fixture = *state;
    assert_string_equal(said(fixture, "f(x) = elu(x) + elu(x, 2) + elu(alpha=2, x=x)"), "");
    assert_says(fixture, "f(x) = elu(x, 1, 2)", "'elu' takes 1 to 2 arguments, 3 given");
    assert_says(fixture, "f(x) = elu(x, 1, 2)", "elu(x, alpha=1)\n");
    assert_says(fixture, "f(x) = elu()", "'elu' takes 1 to 2 arguments, 0 given");
    assert_says(fixture, "f(x) = relu(x, x)", "'relu' takes 1 argument, 2 given");
    assert_says(fixture, "f(x) = elu(x, beta=1)", "'elu' has no parameter 'beta'");
    assert_says(fixture, "f(x) = elu(x, x=1)", "the argument 'x' is given twice");
    assert_says(fixture, "f(x) = elu(alpha=1)", "'elu' lacks its argument 'x'");
    assert_says(fixture, "f(x) = exp(x, x)", "'exp' takes 1 argument, 2 given");
    assert_says(fixture, "f(x) = exp(x=x)", "'exp' has no named parameters");
    assert_says(fixture, "f(x) = f16(x, x)", "'f16' takes 1 argument, 2 given");
    assert_says(fixture, "f(x) = max(x, x, x)", "'max' takes 2 arguments, 3 given");
    assert_says(fixture, "f(x) = sum(x, 0)", "'sum' reduces one array");
    assert_says(fixture, "f(x) = sum()", "'sum' reduces one array");
    assert_says(fixture, "f(x) = max(x, axes=0)", "'max' of one array has no parameter 'axes'");
    assert_says(fixture, "f(x) = sum(x, axis=0.5)", "an axis is a whole number or the word 'all'");
    assert_says(fixture, "f(x) = sum(x, axis=x)", "an axis is a whole number");
    assert_says(fixture, "f(x) = sum(x, axis=1e300)", "an axis is a whole number");
}

static void names_cycles(void **state) {
    Fixture *fixture = *state;
    assert_says(fixture, "f(x) = f(x)", "my.kf:1:8: error: 'f' calls itself: f -> f");
    assert_says(fixture, "f(x) = g(x)\ng(x) = f(x)", "'f' calls itself: f -> g -> f");
    assert_says(fixture, "e(x) = f(x)\nf(x) = g(x)\ng(x) = h(x) + f(x)\nh(x) = x",
                "my.kf:3:15: error: 'f' calls itself: f -> g -> f");
    assert_int_equal(fixture->diags.errors, 1);
    assert_says(fixture, "f(x, k=f(1)) = x", "'f' calls itself");
}

/* d0 … dN, each called twice by the next one. */
static const char *doublings(Fixture *fixture, int count, bool backward) {
    Text text = {0};
    for (int i = 0; i <= count; i++) {
        int n = backward ? count - i : i;
        if (n)
            text_printf(&text, "d%d(x) = d%d(x) + d%d(x)\n", n, n - 1, n - 1);
        else
            text_add(&text, "d0(x) = x\n");
    }
    const char *copy = arena_copy(fixture->arena, text.data, text.length);
    text_free(&text);
    return copy;
}

static void bounds_the_depth_of_calls(void **state) {
    Fixture *fixture = *state;
    for (int backward = 0; backward < 2; backward++) {
        assert_string_equal(said(fixture, doublings(fixture, FUNCTION_DEPTH - 1, backward)), "");
        assert_says(fixture, doublings(fixture, FUNCTION_DEPTH, backward),
                    "nested more than 256 deep");
        said(fixture, doublings(fixture, 9000, backward));
        assert_int_equal(fixture->diags.errors, 1);
    }
}

static void later_layers_hide_earlier_ones(void **state) {
    Fixture *fixture = *state;
    Registry *registry = registry_scope(fixture->arena, fixture->registry);
    assert_true(add(fixture, registry, "a.kf", "sigmoid(x) = silu(x) / x\nh(x) = x", LAYER_USER));
    assert_int_equal(fixture->diags.warnings, 1);
    assert_non_null(strstr(text_string(&fixture->said), "this 'sigmoid' hides the built-in one"));
    assert_true(add(fixture, registry, "b.kf", "h(x) = sigmoid(x)", LAYER_USER));
    assert_non_null(strstr(text_string(&fixture->said), "this 'h' hides the one of a.kf"));
    const Function *h = registry_find(registry, "h");
    assert_string_equal(h->ast->source->name, "b.kf");
    assert_string_equal(h->hidden->ast->source->name, "a.kf");
    Registry *program = registry_scope(fixture->arena, registry);
    assert_true(add(fixture, program, "<expr>", "h(x) = x; exp(x) = x", LAYER_PROGRAM));
    assert_int_equal(fixture->diags.warnings, 2);
    assert_ptr_equal(registry_find(registry, "h"), h);
    assert_int_equal(registry_find(program, "h")->layer, LAYER_PROGRAM);
    uint32_t all, built_in;
    registry_list(program, fixture->arena, &all);
    registry_list(fixture->registry, fixture->arena, &built_in);
    assert_int_equal(all, built_in + 2);
}

static void two_argument_definitions_leave_reductions_alone(void **state) {
    Fixture *fixture = *state;
    assert_string_equal(said(fixture, "sum(a, b) = a + b\nf(x) = sum(x) + sum(x, x)"), "");
    assert_says(fixture, "sum(x) = x", "hides the built-in one");
    assert_says(fixture, "max(a, b) = a", "hides the built-in one");
    assert_says(fixture, "f16(x) = x", "hides the built-in one");
}

static Callee resolve(Fixture *fixture, const Registry *registry, const Function *from,
                      const char *text, const Ast **ast, Node *call) {
    const Source *source = source_new(fixture->arena, "<expr>", text, strlen(text));
    fixture->diags = (Diags){.arena = fixture->arena};
    *ast = parse_expression(fixture->arena, source, &fixture->diags);
    *call = (*ast)->statements.data[0].value;
    return call_resolve(registry, from, *ast, *call, &fixture->diags);
}

static void resolves_calls(void **state) {
    Fixture *fixture = *state;
    const Ast *ast;
    Node call;
    Callee callee = resolve(fixture, fixture->registry, NULL, "max(x, y)", &ast, &call);
    assert_int_equal(callee.kind, CALLEE_FUNCTION);
    callee = resolve(fixture, fixture->registry, NULL, "max(x)", &ast, &call);
    assert_true(callee.kind == CALLEE_REDUCTION && callee.reduction == REDUCE_MAX);
    assert_int_equal(call_axis(ast, call), -1);
    callee = resolve(fixture, fixture->registry, NULL, "var(x, axis=all)", &ast, &call);
    assert_true(callee.kind == CALLEE_REDUCTION && callee.reduction == REDUCE_VAR);
    assert_int_equal(call_axis(ast, call), AXIS_EVERY);
    resolve(fixture, fixture->registry, NULL, "sum(x, axis=-2)", &ast, &call);
    assert_int_equal(call_axis(ast, call), -2);
    callee = resolve(fixture, fixture->registry, NULL, "bf16(x)", &ast, &call);
    assert_true(callee.kind == CALLEE_DTYPE && callee.dtype == DT_BF16);
    callee = resolve(fixture, fixture->registry, NULL, "tanhf(x)", &ast, &call);
    assert_true(callee.kind == CALLEE_PRIMITIVE && callee.primitive == P_TANH);
    callee = resolve(fixture, fixture->registry, NULL, "clamp(x, hi=2, lo=1)", &ast, &call);
    assert_int_equal(callee.kind, CALLEE_FUNCTION);
    assert_true(ast->nodes.data[call_argument(ast, call, callee.function, 1)].number == 1);
    assert_true(ast->nodes.data[call_argument(ast, call, callee.function, 2)].number == 2);
    callee = resolve(fixture, fixture->registry, NULL, "elu(x)", &ast, &call);
    assert_int_equal(call_argument(ast, call, callee.function, 1), 0);
    callee = resolve(fixture, fixture->registry, NULL, "floordiv(x, y)", &ast, &call);
    assert_int_equal(callee.kind, CALLEE_NONE);
}

/* What a user redefines does not change what built-in functions mean. */
static void bodies_keep_their_names(void **state) {
    Fixture *fixture = *state;
    Registry *registry = registry_scope(fixture->arena, fixture->registry);
    add(fixture, registry, "a.kf", "sigmoid(x) = 1", LAYER_USER);
    const Ast *ast;
    Node call;
    const Function *silu = registry_find(registry, "silu");
    Callee callee = resolve(fixture, registry, silu, "sigmoid(x)", &ast, &call);
    assert_int_equal(callee.function->layer, LAYER_BUILTIN);
    callee = resolve(fixture, registry, NULL, "sigmoid(x)", &ast, &call);
    assert_int_equal(callee.function->layer, LAYER_USER);
}

static void suggests_the_nearest_name(void **state) {
    Fixture *fixture = *state;
    const char *const cases[][2] = {
        {"gleu", "gelu"},        {"Relu", "relu"}, {"sgimoid", "sigmoid"},
        {"maxx", "max"},         {"ex", "exp"},    {"float16", NULL},
        {"sofplus", "softplus"}, {"bf6", "bf16"},  {"meen", "mean"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *nearest = registry_nearest(fixture->registry, cases[i][0]);
        if (!cases[i][1] || !nearest)
            assert_ptr_equal(nearest, cases[i][1]);
        else
            assert_string_equal(nearest, cases[i][1]);
    }
}

static void hashes_the_users_definitions(void **state) {
    Fixture *fixture = *state;
    Registry *a = registry_scope(fixture->arena, fixture->registry);
    Registry *b = registry_scope(fixture->arena, fixture->registry);
    assert_true(registry_user_hash(a) == registry_user_hash(b));
    add(fixture, a, "a.kf", "f(x) = x+1", LAYER_USER);
    assert_true(registry_user_hash(a) != registry_user_hash(b));
    add(fixture, b, "b.kf", "f(x) = x + 1  # spelled otherwise", LAYER_USER);
    assert_true(registry_user_hash(a) == registry_user_hash(b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_built_in_functions),
        cmocka_unit_test(finds_primitives_by_c_spelling),
        cmocka_unit_test(checks_bodies),
        cmocka_unit_test(checks_calls),
        cmocka_unit_test(names_cycles),
        cmocka_unit_test(bounds_the_depth_of_calls),
        cmocka_unit_test(later_layers_hide_earlier_ones),
        cmocka_unit_test(two_argument_definitions_leave_reductions_alone),
        cmocka_unit_test(resolves_calls),
        cmocka_unit_test(bodies_keep_their_names),
        cmocka_unit_test(suggests_the_nearest_name),
        cmocka_unit_test(hashes_the_users_definitions),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
