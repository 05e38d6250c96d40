/* Grammar: what the golden files cannot show: the other entry points, spans, limits, numbers, and
 * properties over random programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grammar/parse.h"

typedef const Ast *Parse(Arena *arena, const Source *source, Diags *diags);

static const Ast *parse_line(Arena *arena, const Source *source, Diags *diags) {
    return parse_directive(arena, source, (Span){0, source->length}, diags);
}

static const Ast *read_text(Arena *arena, Parse *parse, const char *text) {
    Diags diags = {.arena = arena};
    const Ast *ast = parse(arena, source_new(arena, "t", text, strlen(text)), &diags);
    Text out = {0};
    diags_print(&out, &diags);
    if (!ast) fail_msg("%.500s\n%s", text, text_string(&out));
    text_free(&out);
    return ast;
}

/* One error with this message. */
static void expect_error(Parse *parse, const char *text, const char *message) {
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    assert_null(parse(arena, source_new(arena, "t", text, strlen(text)), &diags));
    assert_int_equal(diags.errors, 1);
    assert_string_equal(diags.list.data[0].message, message);
    arena_close(arena);
}

static void expect_print(Parse *parse, const char *text, const char *expected) {
    Arena *arena = arena_open();
    Text out = {0};
    ast_print(&out, read_text(arena, parse, text));
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    arena_close(arena);
}

/* --- Entry points */

static void test_definitions(void **state) {
    (void)state;
    Arena *arena = arena_open();
    const Ast *ast = read_text(arena, parse_definitions,
                               "# Activations\n"
                               "relu(x) = x < 0 ? 0 : x    # rectified \t\r\n"
                               "elu(x, alpha=1) = (x > 0   # inside\n"
                               "    ? x : alpha * expm1(x))\n"
                               "\n"
                               "id(x) = x; two(x) = 2 * x  # doubles\n"
                               "none(x) = x #\n");
    const char *const comments[] = {"rectified", "inside", NULL, "doubles", NULL};
    assert_int_equal(ast->statements.count, 5);
    for (int i = 0; i < 5; i++) {
        const char *comment = ast->statements.data[i].comment;
        if (comments[i])
            assert_string_equal(comment, comments[i]);
        else
            assert_null(comment);
    }
    arena_close(arena);
    expect_print(parse_definitions, "derivative  f(x,a) wrt a=x # by a",
                 "derivative f(x, a) wrt a = x\n");
    expect_print(parse_definitions, "derivative f(x)=1; derivative(x) = x",
                 "derivative f(x) = 1\nderivative(x) = x\n");
    expect_print(parse_program, "derivative = wrt * 2; derivative(wrt) + derivative",
                 "derivative = wrt * 2\nderivative(wrt) + derivative\n");
    expect_error(parse_definitions, "derivative f(x) by x = 1", "'wrt' names the parameter");
    expect_error(parse_definitions, "derivative f(x=1) = 1",
                 "a derivative's parameters have no defaults");
    expect_error(parse_definitions, "derivative f(x, x) = 1", "two parameters are called 'x'");
    expect_error(parse_definitions, "derivative f(x) wrt = 1", "unexpected '=', expected a name");
    expect_error(parse_definitions, "derivative f = 1", "unexpected '=', expected '('");
    expect_error(parse_program, "derivative f(x) = 1",
                 "a derivative stands in a file of functions");
    expect_error(parse_definitions, "relu(x) = x\ny = relu(x)", "only definitions may stand here");
    expect_error(parse_definitions, "relu(x)", "only definitions may stand here");
}

static void test_expression(void **state) {
    (void)state;
    expect_print(parse_expression, "1e-6", "1e-6\n");
    expect_print(parse_expression, "\n 2 *\n x # line ends do not count\n", "2 * x\n");
    expect_error(parse_expression, "x = 1",
                 "unexpected '=', expected an operator or the end of the text");
    expect_error(parse_expression, "", "unexpected end of the text, expected an expression");
    expect_error(parse_expression, "x; y",
                 "unexpected ';', expected an operator or the end of the text");
}

static void test_byte_order_mark(void **state) {
    (void)state;
    expect_print(parse_program, "\xef\xbb\xbfy = x", "y = x\n");
}

/* --- Directives */

static void print_list(Text *out, const char *title, const char *const *list, uint32_t count) {
    if (count) text_printf(out, " %s", title);
    for (uint32_t i = 0; i < count; i++) text_printf(out, " %s", list[i]);
}

static void print_fields(Text *out, const Ast *ast, const Directive *directive) {
    for (uint32_t i = 0; i < directive->fields.count; i++) {
        const DirectiveField *field = &directive->fields.data[i];
        text_printf(out, " [%s", field->name);
        for (uint32_t j = 0; j < field->count; j++) {
            text_add(out, j ? ", " : " = ");
            ast_print_expression(out, ast, field->value[j]);
        }
        text_add(out, "]");
    }
}

static void expect_directive(const char *text, DirectiveKind kind, const char *expected) {
    Arena *arena = arena_open();
    const Ast *ast = read_text(arena, parse_line, text);
    const Directive *directive = ast->directive;
    assert_int_equal(directive->kind, kind);
    Text out = {0};
    text_add(&out, directive->name ? directive->name : "-");
    print_list(&out, "words", directive->words.data, directive->words.count);
    print_list(&out, "types", directive->types.data, directive->types.count);
    for (uint32_t i = 0; i < directive->values.count; i++)
        text_printf(&out, " %lld", (long long)directive->values.data[i]);
    print_fields(&out, ast, directive);
    if (directive->value) text_add(&out, " ");
    if (directive->value) ast_print_expression(&out, ast, directive->value);
    if (ast->statements.count) text_add(&out, " ");
    ast_print(&out, ast);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    arena_close(arena);
}

static void test_directives(void **state) {
    (void)state;
    expect_directive(" kernel   softmax # a name", DIRECTIVE_KERNEL, "softmax");
    expect_directive("computes y = softmax(x); z = -y   # the oracle", DIRECTIVE_COMPUTES,
                     "- y = softmax(x)\nz = -y\n");
    expect_directive("input x[rows, cols, 3] : f32 f16", DIRECTIVE_INPUT,
                     "x words rows cols 3 types f32 f16");
    expect_directive("input s[] : f32", DIRECTIVE_INPUT, "s types f32");
    expect_directive("output y[rows, cols] : like x", DIRECTIVE_OUTPUT,
                     "y words rows cols types like x");
    expect_directive("args x y rows cols\r\n", DIRECTIVE_ARGS, "- words x y rows cols");
    expect_directive("knob __TPR__  32 -1 1e3 0x10 9007199254740992", DIRECTIVE_KNOB,
                     "__TPR__ 32 -1 1000 16 9007199254740992");
    expect_directive("require __A__ * __B__ <= 1024", DIRECTIVE_REQUIRE, "- __A__ * __B__ <= 1024");
    expect_directive("prefer (a)", DIRECTIVE_PREFER, "- a");
    expect_directive("workspace 4 * rows", DIRECTIVE_WORKSPACE, "- 4 * rows");
    expect_directive("launch grid = ceildiv(rows, R), 2, -z  block = a * b  shared = 0",
                     DIRECTIVE_LAUNCH,
                     "- [grid = ceildiv(rows, R), 2, -z] [block = a * b] "
                     "[shared = 0]");
    expect_directive("launch tail grid = n block = (128)", DIRECTIVE_LAUNCH,
                     "tail [grid = n] [block = 128]");
}

static void test_wrong_directives(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "a directive begins with a word"},
        {"# nothing", "a directive begins with a word"},
        {"3", "a directive begins with a word"},
        {"knobs A 1", "unknown directive 'knobs'"},
        {"kernel", "unexpected end of the text, expected a name"},
        {"kernel a b", "unexpected name 'b', expected the end of the text"},
        {"input x : f32", "unexpected ':', expected '['"},
        {"input x[a b] : f32", "unexpected name 'b', expected ',' or ']'"},
        {"input x[a]", "unexpected end of the text, expected ':'"},
        {"input x[a,] : f32", "unexpected ']', expected a name or a number"},
        {"args", "unexpected end of the text, expected a name"},
        {"knob A", "unexpected end of the text, expected a number or '-'"},
        {"knob A 1.5", "a knob's values are whole numbers up to 2**53"},
        {"knob A 1e17", "a knob's values are whole numbers up to 2**53"},
        {"knob A inf", "a knob's values are whole numbers up to 2**53"},
        {"knob A nan", "a knob's values are whole numbers up to 2**53"},
        {"require", "unexpected end of the text, expected an expression"},
        {"require a b", "unexpected name 'b', expected an operator or the end of the text"},
        {"launch", "unexpected end of the text, expected a name"},
        {"launch a b c", "unexpected name 'c', expected '='"},
        {"launch grid = 1, 2, 3, 4", "'grid' takes at most three values"},
        {"launch grid = ", "unexpected end of the text, expected an expression"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_error(parse_line, cases[i][0], cases[i][1]);
}

/* A directive is a part of a file: what stands around it is not read, and places are the file's. */
static void test_directive_in_a_file(void **state) {
    (void)state;
    Arena *arena = arena_open();
    const char *text = "//! knob A 12345\n//! require A ^ 2\n";
    const Source *source = source_new(arena, "t.cu", text, strlen(text));
    Diags diags = {.arena = arena};
    const Ast *ast = parse_directive(arena, source, (Span){3, 13}, &diags);
    assert_non_null(ast);
    assert_int_equal(ast->directive->values.data[0], 12);
    assert_null(parse_directive(arena, source, (Span){20, 34}, &diags));
    Text out = {0};
    diags_print(&out, &diags);
    assert_string_equal(text_string(&out),
                        "t.cu:2:15: error: unexpected '^', expected an operator or the end of "
                        "the text\n"
                        "   2 | //! require A ^ 2\n"
                        "     |               ^ write '**' for a power, '!=' for exclusive or\n");
    text_free(&out);
    arena_close(arena);
}

/* --- Places and order */

static void expect_span(const Ast *ast, Span span, const char *expected) {
    size_t length = strlen(expected);
    assert_int_equal(span.end - span.begin, length);
    assert_memory_equal(ast->source->text + span.begin, expected, length);
}

static void test_spans(void **state) {
    (void)state;
    Arena *arena = arena_open();
    const Ast *ast =
        read_text(arena, parse_program, "y = ((a + (b)) * f(c, k=(d)))\nreturn (y), -z");
    static const char *const spans[][2] = {
        {"", ""},   {"a", "a"}, {"b", "b"},           {"a + (b)", "+"},
        {"c", "c"}, {"d", "d"}, {"f(c, k=(d))", "f"}, {"(a + (b)) * f(c, k=(d))", "*"},
        {"y", "y"}, {"z", "z"}, {"-z", "-"},
    };
    assert_int_equal(ast->nodes.count, sizeof spans / sizeof *spans);
    for (uint32_t i = 0; i < ast->nodes.count; i++) {
        expect_span(ast, ast->nodes.data[i].span, spans[i][0]);
        expect_span(ast, ast->nodes.data[i].mark, spans[i][1]);
    }
    expect_span(ast, ast->args.data[0].mark, "c");
    expect_span(ast, ast->args.data[1].mark, "k");
    const Statement *statements = ast->statements.data;
    expect_span(ast, statements[0].span, "y = ((a + (b)) * f(c, k=(d)))");
    expect_span(ast, statements[0].mark, "y");
    expect_span(ast, statements[1].span, "return (y)");
    expect_span(ast, statements[1].mark, "(y)");
    expect_span(ast, statements[2].span, "-z");
    arena_close(arena);
}

static void test_nodes_of_a_statement_are_contiguous(void **state) {
    (void)state;
    Arena *arena = arena_open();
    const Ast *ast = read_text(arena, parse_program,
                               "f(x, a=1+2, b=g(3)) = x * a\ny = f(p, b=q)\nreturn y, y + 1");
    const Statement *statements = ast->statements.data;
    assert_int_equal(ast->parameters.data[1].value, 3);
    assert_int_equal(ast->parameters.data[2].value, 5);
    assert_int_equal(statements[0].first, 6);
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        assert_int_equal(ast_first(ast, statements[i].value), statements[i].first);
        if (i) assert_int_equal(statements[i].first, statements[i - 1].value + 1);
    }
    assert_int_equal(ast_first(ast, 5), 4);
    assert_int_equal(statements[3].value, ast->nodes.count - 1);
    arena_close(arena);
}

/* --- Limits */

/* before × count + middle + after × count */
static void nest(Text *out, const char *before, const char *middle, const char *after, int count) {
    text_clear(out);
    for (int i = 0; i < count; i++) text_add(out, before);
    text_add(out, middle);
    for (int i = 0; i < count; i++) text_add(out, after);
}

static void test_nesting(void **state) {
    (void)state;
    static const char *const kinds[][2] = {
        {"(", ")"},         {"-", ""},      {"!", ""},          {"f(", ")"},        {"f(a, ", ")"},
        {"f(a, k=", ")"},   {"f(k=", ")"},  {"a ? b : ", ""},   {"a ? ", " : b"},   {"a ** ", ""},
        {"a + (", ") * b"}, {"a ** -", ""}, {"f(", ", a) + b"}, {"(", ") ? a : b"},
    };
    Text text = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Arena *arena = arena_open();
        nest(&text, kinds[i][0], "x", kinds[i][1], PARSE_DEPTH);
        const Ast *ast = read_text(arena, parse_program, text_string(&text));
        Text printed = {0};
        ast_print(&printed, ast);
        const Ast *again = read_text(arena, parse_program, text_string(&printed));
        assert_true(ast_equal(ast, again));
        text_free(&printed);
        arena_close(arena);
        nest(&text, kinds[i][0], "x", kinds[i][1], 60000);
        expect_error(parse_program, text_string(&text), "nested too deeply (1000 levels fit)");
        nest(&text, kinds[i][0], "", "", 1000000);
        expect_error(parse_program, text_string(&text), "nested too deeply (1000 levels fit)");
    }
    nest(&text, "(", "x", ")", PARSE_DEPTH + 1);
    expect_error(parse_program, text_string(&text), "nested too deeply (1000 levels fit)");
    text_free(&text);
}

static void test_long_chains_are_not_nesting(void **state) {
    (void)state;
    static const char *const kinds[] = {" + x", " - x", " * x", " && x", " || x", ".T", " @ f(x)"};
    Text text = {0}, printed = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Arena *arena = arena_open();
        nest(&text, "", "x", kinds[i], 10000);
        const Ast *ast = read_text(arena, parse_program, text_string(&text));
        text_clear(&printed);
        ast_print(&printed, ast);
        text_add(&text, "\n");
        assert_string_equal(text_string(&text), text_string(&printed));
        assert_int_equal(ast_first(ast, ast->nodes.count - 1), 1);
        arena_close(arena);
    }
    text_free(&text);
    text_free(&printed);
}

static void test_counts(void **state) {
    (void)state;
    Text text = {0};
    Arena *arena = arena_open();
    nest(&text, "a = x;", "", "", PARSE_STATEMENTS);
    read_text(arena, parse_program, text_string(&text));
    text_add(&text, "b = x");
    expect_error(parse_program, text_string(&text), "more than 10000 statements");
    nest(&text, "x,", "x", "", PARSE_STATEMENTS);
    Text returns = {0};
    text_printf(&returns, "return %s", text_string(&text));
    expect_error(parse_program, text_string(&returns), "more than 10000 statements");
    text_clear(&text);
    for (int i = 0; i <= PARSE_PARAMETERS; i++) text_printf(&text, "%sp%d", i ? ", " : "f(", i);
    text_add(&text, ") = 1");
    expect_error(parse_program, text_string(&text), "more than 256 parameters");
    nest(&text, "x+", "x", "", PARSE_NODES / 2);
    expect_error(parse_program, text_string(&text),
                 "more than 1048576 names, numbers and operators");
    text_free(&text);
    text_free(&returns);
    arena_close(arena);
}

static void test_long_names(void **state) {
    (void)state;
    Text text = {0};
    Arena *arena = arena_open();
    nest(&text, "n", "", "", PARSE_NAME);
    read_text(arena, parse_program, text_string(&text));
    text_add(&text, "n");
    expect_error(parse_program, text_string(&text), "the name is longer than 255 bytes");
    expect_error(parse_line, text_string(&text), "the name is longer than 255 bytes");
    text_free(&text);
    arena_close(arena);
}

static void test_large_texts(void **state) {
    (void)state;
    Text text = {0};
    nest(&text, "\n", "x", "", SOURCE_MAX - 1);
    Arena *arena = arena_open();
    read_text(arena, parse_program, text_string(&text));
    arena_close(arena);
    text_add(&text, "x");
    expect_error(parse_program, text_string(&text), "the text is larger than 16 MiB");
    text_free(&text);
}

/* --- Numbers */

static void test_number_print(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-2.5, "-2.5"},
        {100, "100"},
        {4096, "4096"},
        {1e15, "1000000000000000"},
        {1e16, "1e16"},
        {1.5e16, "1.5e16"},
        {0.1, "0.1"},
        {1e-4, "0.0001"},
        {1e-5, "1e-5"},
        {1.25e-7, "1.25e-7"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "5e-324"},
        {0x1.fffffffffffffp1023, "1.7976931348623157e308"},
        {9007199254740992, "9007199254740992"},
        {123456.789, "123456.789"},
        {(double)INFINITY, "inf"},
        {-(double)INFINITY, "-inf"},
        {(double)NAN, "nan"},
        {-(double)NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Text out = {0};
        number_print(&out, cases[i].value);
        assert_string_equal(text_string(&out), cases[i].text);
        text_free(&out);
    }
}

static uint64_t random_bits(uint64_t *seed) { /* SplitMix64, Steele et al. 2014 */
    uint64_t z = *seed += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static void test_numbers_read_back(void **state) {
    (void)state;
    uint64_t seed = 1;
    Text out = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_bits(&seed);
        double value, again;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        text_clear(&out);
        number_print(&out, value);
        again = strtod(text_string(&out), NULL);
        assert_memory_equal(&value, &again, sizeof value);
    }
    text_free(&out);
}

/* --- Random programs */

static int pick(uint64_t *seed, int count) {
    return (int)(random_bits(seed) % (unsigned)count);
}

static void write_expression(Text *out, uint64_t *seed, int depth);

static void write_call(Text *out, uint64_t *seed, int depth) {
    int count = pick(seed, 4), named = pick(seed, 4);
    text_printf(out, "f%d(", pick(seed, 3));
    for (int i = 0; i < count; i++) {
        if (i) text_add(out, ", ");
        if (i >= named) text_printf(out, "k%d=", i);
        write_expression(out, seed, depth - 1);
    }
    text_add(out, ")");
}

static void write_leaf(Text *out, uint64_t *seed) {
    static const char *const leaves[] = {"x",      "y_1", "def_", "0",  "1.5f", "1e-7",
                                         "0x1p-3", "inf", "nan",  "pi", "f",    "010"};
    text_add(out, leaves[pick(seed, sizeof leaves / sizeof *leaves)]);
}

/* Any operator between any operands; only comparisons take parentheses, for they do not chain. */
static void write_binary(Text *out, uint64_t *seed, int depth) {
    static const char *const ops[] = {"+", "-", "*", "/", "//", "%", "@", "**", "&&", "||"};
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    bool compare = pick(seed, 5) == 0;
    const char *op = compare ? comparisons[pick(seed, 6)] : ops[pick(seed, 10)];
    text_add(out, compare ? "((" : "");
    write_expression(out, seed, depth - 1);
    text_printf(out, compare ? ") %s (" : " %s ", op);
    write_expression(out, seed, depth - 1);
    text_add(out, compare ? "))" : "");
}

static void write_expression(Text *out, uint64_t *seed, int depth) {
    switch (depth > 0 ? pick(seed, 10) : 0) {
    case 0: write_leaf(out, seed); break;
    case 1: write_call(out, seed, depth); break;
    case 2:
        text_printf(out, "%c", "-+!"[pick(seed, 3)]);
        write_expression(out, seed, depth - 1);
        break;
    case 3:
        text_add(out, "(");
        write_expression(out, seed, depth - 1);
        text_add(out, pick(seed, 2) ? ")" : ").T");
        break;
    case 4:
        write_expression(out, seed, depth - 1);
        text_add(out, " ? ");
        write_expression(out, seed, depth - 1);
        text_add(out, " : ");
        write_expression(out, seed, depth - 1);
        break;
    default: write_binary(out, seed, depth); break;
    }
}

static void write_program(Text *out, uint64_t *seed) {
    static const char *const heads[] = {"a = ", "f(x) = ", "def g(x, k=-1) = ", "param p = "};
    static const char *const ends[] = {"\n", ";", "\r\n# c\n", " # c ; = (\n\n"};
    for (int i = pick(seed, 3); i > 0; i--) {
        text_add(out, heads[pick(seed, 4)]);
        write_expression(out, seed, 4);
        text_add(out, ends[pick(seed, 4)]);
    }
    if (pick(seed, 2)) {
        text_add(out, "return ");
        write_expression(out, seed, 4);
        text_add(out, ", ");
    } else {
        text_add(out, "out = ");
    }
    write_expression(out, seed, 6);
}

/* Whether the text without the parentheses at `open` and `close` is the same program. */
static bool superfluous(Arena *arena, const Ast *ast, const Text *text, size_t open, size_t close) {
    Diags diags = {.arena = arena};
    char *less = arena_copy(arena, text->data, text->length);
    less[open] = less[close] = ' ';
    const Ast *other = parse_program(arena, source_new(arena, "t", less, text->length), &diags);
    return other && ast_equal(ast, other);
}

static void expect_no_superfluous_parentheses(Arena *arena, const Ast *ast, const Text *text) {
    ARRAY(size_t) open = {0};
    for (size_t i = 0; i < text->length; i++) {
        if (text->data[i] == '(') array_push(arena, &open, i);
        if (text->data[i] != ')') continue;
        size_t begin = open.data[--open.count];
        /* "2 .T" reads, so the parentheses of "(2).T" fall only to blanks */
        if (i + 1 < text->length && text->data[i + 1] == '.') continue;
        if (superfluous(arena, ast, text, begin, i))
            fail_msg("superfluous parentheses at %zu:\n%s", begin, text_string(text));
    }
}

static void test_random_programs(void **state) {
    (void)state;
    for (uint64_t round = 0; round < 3000; round++) {
        Arena *arena = arena_open();
        uint64_t seed = round;
        Text text = {0}, printed = {0}, again = {0};
        write_program(&text, &seed);
        const Ast *ast = read_text(arena, parse_program, text_string(&text));
        ast_print(&printed, ast);
        const Ast *reread = read_text(arena, parse_program, text_string(&printed));
        if (!ast_equal(ast, reread))
            fail_msg("another tree:\n%s\n%s", text_string(&text), text_string(&printed));
        ast_print(&again, reread);
        assert_string_equal(text_string(&printed), text_string(&again));
        expect_no_superfluous_parentheses(arena, ast, &printed);
        text_free(&text);
        text_free(&printed);
        text_free(&again);
        arena_close(arena);
    }
}

static void test_equality_sees_differences(void **state) {
    (void)state;
    static const char *const programs[] = {
        "y = a + b",       "y = a - b",     "y = b + a",  "z = a + b",     "y = a + b + c",
        "y = (a + b) * c", "y = a + b * c", "a + b",      "return a + b",  "param y = a + b",
        "y(a) = a + b",    "y(b) = a + b",  "y(a=1) = a", "y(a=2) = a",    "y = f(a)",
        "y = f(k=a)",      "y = f(j=a)",    "y = g(a)",   "y = 1",         "y = 2",
        "y = nan",         "y = a.T",       "y = -a",     "y = a ? b : c", "y = a ? c : b",
    };
    enum { COUNT = sizeof programs / sizeof *programs };
    Arena *arena = arena_open();
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++)
            assert_int_equal(ast_equal(read_text(arena, parse_program, programs[i]),
                                       read_text(arena, parse_program, programs[j])),
                             i == j);
    arena_close(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_expression),
        cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_directives),
        cmocka_unit_test(test_wrong_directives),
        cmocka_unit_test(test_directive_in_a_file),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_nodes_of_a_statement_are_contiguous),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_long_chains_are_not_nesting),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_large_texts),
        cmocka_unit_test(test_number_print),
        cmocka_unit_test(test_numbers_read_back),
        cmocka_unit_test(test_random_programs),
        cmocka_unit_test(test_equality_sees_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
