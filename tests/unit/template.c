/* Templates: what a header says, what is said about a wrong one, instances. */
#include "registry/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char softmax[] =
    "//! kernel   softmax\n"
    "//! computes y = softmax(x)                            # the oracle\n"
    "//!\n"
    "//! input    x[rows, cols] : f32 f16 bf16\n"
    "//! output   y[rows, cols] : like x\n"
    "//! args     x y rows cols\n"
    "//! knob     __TPR__  32 64 128 256 512 1024\n"
    "//! knob     __RPB__  1 2 4 8\n"
    "//! require  __TPR__ * __RPB__ <= 1024\n"
    "//! prefer   TPR <= cols\n"
    "//! launch   grid = ceildiv(rows, __RPB__)  block = __TPR__ * __RPB__  shared = 0\n"
    "__global__ void KF_ENTRY(softmax)(const T_x *x, T_y *y) { int tpr = __TPR__; }\n";

static Arena *arena;
static Diags diags;
static Text said;

static const Template *parse(const char *text) {
    diags = (Diags){.arena = arena};
    const Source *source = source_new(arena, "my \"t\".cu", text, strlen(text));
    const Template *template = template_parse(arena, source, "cuda", &diags);
    text_clear(&said);
    diags_print(&said, &diags);
    return template;
}

/* softmax with its first `from` replaced by `to`. */
static const char *edited(const char *from, const char *to) {
    const char *at = strstr(softmax, from);
    assert_non_null(at);
    return arena_printf(arena, "%.*s%s%s", (int)(at - softmax), softmax, to, at + strlen(from));
}

static void assert_says(const char *from, const char *to, const char *words) {
    const Template *template = parse(edited(from, to));
    if (template || !strstr(text_string(&said), words))
        fail_msg("'%s' for '%s' says\n%s\nwithout '%s'", to, from, text_string(&said), words);
}

static int open_arena(void **state) {
    (void)state;
    arena = arena_open();
    return 0;
}

static int close_arena(void **state) {
    (void)state;
    text_free(&said);
    arena_close(arena);
    return 0;
}

static void reads_a_header(void **state) {
    (void)state;
    const Template *template = parse(softmax);
    assert_string_equal(text_string(&said), "");
    assert_string_equal(template->name, "softmax");
    assert_string_equal(template->language, "cuda");
    assert_int_equal(template->computes->statements.count, 1);
    const TemplateTensor *x = &template->inputs.data[0], *y = &template->outputs.data[0];
    assert_int_equal(x->rank, 2);
    assert_string_equal(x->dims[1], "cols");
    assert_true(x->type_count == 3 && x->types[2] == DT_BF16 && !x->like);
    assert_true(y->type_count == 0 && !strcmp(y->like, "x"));
    assert_int_equal(template->args.count, 4);
    assert_int_equal(space_size(&template->space), 24);
    assert_string_equal(template->space.knobs[1].label, "RPB");
    assert_int_equal(template->space.knobs[0].fallback, 32);
    assert_int_equal(template->space.constraints.count, 2);
    assert_false(template->space.constraints.data[1].hard);
}

static int64_t eval(const Template *template, const TemplateLaunch *launch, Node node) {
    static const Binding sizes[] = {{"rows", 1001}, {"cols", 77}};
    Point point = space_fallback(&template->space);
    int64_t value;
    const char *why;
    if (!space_eval(&template->space, &point, (Bindings){sizes, 2}, launch->ast, node, &value,
                    &why))
        fail_msg("%s", why);
    return value;
}

static void reads_launches(void **state) {
    (void)state;
    const Template *template = parse(softmax);
    const TemplateLaunch *launch = &template->launches.data[0];
    assert_string_equal(launch->entry, "softmax");
    assert_null(launch->twin);
    assert_int_equal(eval(template, launch, launch->grid[0]), 1001);
    assert_int_equal(eval(template, launch, launch->block[0]), 32);
    assert_true(launch->grid[1] == 0 && launch->cluster == 0);
    template =
        parse(edited("//! launch ", "//! workspace rows * 4\n"
                                    "//! launch first grid = sms, 2, cols block = 8 twin = slow\n"
                                    "//! launch second "));
    assert_string_equal(text_string(&said), "");
    launch = &template->launches.data[0];
    assert_string_equal(launch->entry, "first");
    assert_string_equal(launch->twin, "slow");
    assert_int_equal(eval(template, launch, launch->grid[1]), 2);
    assert_int_equal(eval(template, launch, launch->grid[2]), 77);
    assert_string_equal(template->launches.data[1].entry, "second");
    assert_non_null(template->workspace_ast);
}

static void takes_lines_in_any_order_and_line_ends_of_any_kind(void **state) {
    (void)state;
    const char *lines[32], *turned = "";
    char *rest, *copy = arena_copy(arena, softmax, strlen(softmax));
    uint32_t count = 0;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        lines[count++] = line;
    while (count--) turned = arena_printf(arena, "%s  %s\r\n", turned, lines[count]);
    const Template *template = parse(turned);
    assert_string_equal(text_string(&said), "");
    assert_int_equal(space_size(&template->space), 24);
}

static void says_what_is_wrong(void **state) {
    (void)state;
    assert_says("//! kernel   softmax\n", "", "the header has no 'kernel' line");
    assert_says("//! output   y[rows, cols] : like x\n", "", "the header has no 'output' line");
    assert_says("//! args     x y rows cols\n", "", "the header has no 'args' line");
    assert_says("//! args ", "//! args x y\n//! args ", "the header has such a line already");
    assert_says("//! knob ", "//! konb ", "did you mean 'knob'?");
    assert_says("f32 f16", "f32 f31", "my \"t\".cu:4:34: error: unknown type 'f31'");
    assert_says("f32 f16", "f16 f16", "'f16' stands twice among the types of 'x'");
    assert_says("like x", "like z", "'like' wants the name of an input above");
    assert_says("like x", "like", "'like' wants the name of an input above");
    assert_says("output   y[", "output   x[", "two tensors are called 'x'");
    assert_says("x[rows, cols]", "x[a,b,c,d,e,f,g,h,i]", "'x' has more than 8 dimensions");
    assert_says("y = softmax(x)", "z = softmax(x)", "nothing here is called 'y' as the output is");
    assert_says("y = softmax(x)", "y = softmax(x + z)", "'z' is no input of this template");
    assert_says("args     x y rows cols", "args     x y rows clos",
                "my \"t\".cu:6:23: error: 'clos' is no tensor, size or param of this template");
    assert_says("args     x y rows cols", "args     x rows cols", "the tensor 'y' is not passed");
    assert_says("__TPR__ * __RPB__ <= 1024", "__TPR__ * __RBP__ <= 1024",
                "did you mean '__RPB__'?");
    assert_says("__TPR__ * __RPB__ <= 1024", "__TPR__ / 2 <= 1024", "write '//'");
    assert_says("  block =", "  blok =", "a launch has no field 'blok'");
    assert_says("  block =", "  grid =", "'grid' takes one place in a launch");
    assert_says("shared = 0", "shared = 0, 1", "'shared' takes one value");
    assert_says("shared = 0", "dependent = 1",
                "nothing in this file waits for the kernels before it");
    assert_says("shared = 0", "twin = 3", "a twin is the name of an entry");
    assert_says("shared = 0", "shared = rwos", "did you mean 'rows'?");
    assert_says("__RPB__  1 2 4 8", "__RPB__  1 2 2 8", "stands here twice");
    assert_says("__RPB__  1 2 4 8", "__TPR__  1 2 4 8", "stands here twice");
    assert_says("knob     __RPB__", "knob     RPB", "a knob's name has the form __NAME__");
}

static void collects_independent_errors(void **state) {
    (void)state;
    assert_null(parse("//! kernel k\n//! output y[n] : f33\n//! args y m\n//! require q > 1\n"));
    assert_int_equal(diags.errors, 3); /* f33, q, no launch; m may be a size */
}

static void says_where_knobs_do_not_reach(void **state) {
    (void)state;
    assert_says("int tpr = __TPR__;", "float__TPR__ a;",
                "my \"t\".cu:12:59: error: __TPR__ is not replaced inside a longer word");
    assert_says("int tpr = __TPR__;", "float__TPR__ a;", "paste: KF_CAT(..., __TPR__)");
    assert_says("int tpr = __TPR__;", "asm volatile(\"mov %0, __TPR__;\" :);",
                "my \"t\".cu:12:72: error: __TPR__ is not replaced inside a string of asm");
    assert_non_null(
        strstr(text_string(&said), "^~~~~~~~~~~~~~~~~~ quote: \"...\" KF_STR(__TPR__)"));
    assert_non_null(parse(edited("int tpr = __TPR__;", "asm(\"nop;\"); f(\"__TPR__\");")));
    assert_int_equal(diags.warnings, 1);
    assert_non_null(strstr(text_string(&said), "KF_STR(__TPR__)"));
    assert_non_null(
        parse(edited("int tpr = __TPR__;", "/* a__TPR__ */ char c = '\"'; // __TPR__b\n")));
    assert_int_equal(diags.warnings, 0);
}

static void params_have_to_be_args(void **state) {
    (void)state;
    assert_says("y = softmax(x) ", "param t = 2; y = softmax(x / t) ",
                "the param 't' is not passed");
    assert_says("y = softmax(x) ", "param rows = 2; y = softmax(x / rows) ",
                "the param 'rows' is called like a size");
    assert_says("x[rows, cols]", "x[sms, cols]", "a size cannot be called 'sms'");
    assert_non_null(
        parse("//! kernel k\n//! computes param t = 2; y = x * t\n//! input x[n] : f32\n"
              "//! output y[n] : f32\n//! args x y n t\n//! launch grid = n\n"));
}

/* softmax with lines from the command line. */
static const Template *with_options(const char *options) {
    diags = (Diags){.arena = arena};
    const Source *file = source_new(arena, "t.cu", softmax, strlen(softmax));
    const Source *more = source_new(arena, "<options>", options, strlen(options));
    const Template *template = template_parse_with(arena, file, more, "cuda", &diags);
    text_clear(&said);
    diags_print(&said, &diags);
    return template;
}

static void options_replace_what_they_are_about(void **state) {
    (void)state;
    const Template *template = with_options("knob __TPR__ 8 16\n"
                                            "knob __NEW__ 1 2\n"
                                            "require __NEW__ < 3\n"
                                            "launch grid = rows block = 8 # of softmax\n"
                                            "input x[rows, cols] : f64\n");
    assert_string_equal(text_string(&said), "");
    assert_int_equal(template->space.knob_count, 3);
    assert_int_equal(space_size(&template->space), 4 * 2 * 2);
    assert_int_equal(template->space.constraints.count, 3);
    assert_int_equal(template->launches.count, 1);
    assert_int_equal(
        eval(template, &template->launches.data[0], template->launches.data[0].block[0]), 8);
    assert_int_equal(template->inputs.count, 1);
    assert_int_equal(template->inputs.data[0].types[0], DT_F64);
    template = with_options("kernel other\nargs y x rows cols\ncomputes y = x\n");
    assert_string_equal(template->name, "other");
    assert_string_equal(template->args.data[0], "y");
    assert_int_equal(with_options("launch second grid = 1")->launches.count, 2);
}

static void options_are_blamed_for_what_they_say(void **state) {
    (void)state;
    assert_null(with_options("require __RPB__ < 3\nrequire __RBP__ < 3"));
    assert_non_null(strstr(text_string(&said), "<options>:2:9: error: "));
    assert_null(with_options("args x y\nargs x y"));
    assert_non_null(strstr(text_string(&said), "<options>:2:1: error: the header has such a line"));
    assert_null(with_options("knobs"));
    assert_non_null(strstr(text_string(&said), "did you mean 'knob'?"));
}

static void a_space_stands_alone(void **state) {
    (void)state;
    static const Binding sizes[] = {{"n", 6}};
    static const char text[] = "require n % VEC == 0\nknob __VEC__ 1 2 4\nprefer VEC > 1\n";
    diags = (Diags){.arena = arena};
    const Space *space = template_space(arena, source_new(arena, "<space>", text, strlen(text)),
                                        (Bindings){sizes, 1}, &diags);
    uint64_t *indices;
    assert_int_equal(space_allowed(space, (Bindings){sizes, 1}, false, arena, 9, 0, &indices), 2);
    assert_int_equal(space_allowed(space, (Bindings){sizes, 1}, true, arena, 9, 0, &indices), 1);
    assert_null(
        template_space(arena, source_new(arena, "<space>", "kernel k", 8), (Bindings){0}, &diags));
}

static const char *instance(const char *text, const char *values, const char *suffix) {
    const Template *template = parse(text);
    Point base = space_fallback(&template->space), point;
    const char *why;
    Text out = {0};
    assert_true(point_parse(&template->space, values, &base, arena, &point, &why));
    template_instantiate(&out, template, &point, suffix);
    const char *copy = arena_copy(arena, text_string(&out), out.length);
    text_free(&out);
    return copy;
}

static void instantiates(void **state) {
    (void)state;
    static const char small[] = "//! kernel k\n//! output y[n] : f32\n//! args y n\n"
                                "//! knob __VEC__ 1 4\n//! launch grid = n\nint KF_ENTRY(k);";
    assert_string_equal(instance(small, "VEC=4", "_a"),
                        arena_printf(arena,
                                     "#define __VEC__ 4\n#define KF_ENTRY(name) name##_a\n"
                                     "#line 1 \"my \\\"t\\\".cu\"\n%s\n"
                                     "#undef __VEC__\n#undef KF_ENTRY\n",
                                     small));
    assert_non_null(strstr(instance(small, "", ""), "#define KF_ENTRY(name) name\n"));
    static const char plain[] = "//! kernel k\n//! output y[n] : f32\n//! args y n\n"
                                "//! launch grid = n twin = slow\nint k;";
    assert_non_null(strstr(instance(plain, "", "_a"), "#define k k_a\n#define slow slow_a\n"));
    assert_non_null(strstr(instance(plain, "", "_a"), "#undef k\n"));
    assert_null(strstr(instance(plain, "", ""), "#define k"));
    assert_non_null(strstr(instance(edited("int tpr", "KF_CAT(int, __TPR__) tpr"), "", ""),
                           "#define KF_CAT(a, b)"));
}

static void hashes_all_but_knob_lines(void **state) {
    (void)state;
    uint64_t hash = parse(softmax)->hash;
    assert_true(parse(edited(" 1 2 4 8", " 1 2 4 8 16"))->hash == hash);
    assert_true(parse(edited("int tpr", "int  tpr"))->hash != hash);
    assert_true(parse(edited("<= 1024", "<= 512"))->hash != hash);
    assert_true(with_options("")->hash == hash && with_options("knob __A__ 1 2")->hash == hash);
    assert_true(with_options("require 1 < 2")->hash != hash);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_header),
        cmocka_unit_test(reads_launches),
        cmocka_unit_test(takes_lines_in_any_order_and_line_ends_of_any_kind),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(collects_independent_errors),
        cmocka_unit_test(says_where_knobs_do_not_reach),
        cmocka_unit_test(params_have_to_be_args),
        cmocka_unit_test(options_replace_what_they_are_about),
        cmocka_unit_test(options_are_blamed_for_what_they_say),
        cmocka_unit_test(a_space_stands_alone),
        cmocka_unit_test(instantiates),
        cmocka_unit_test(hashes_all_but_knob_lines),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
