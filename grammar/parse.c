/* In: a text. Out: its Ast, or one error. The one idea: the grammar sees a plain stream of tokens;
 * what depends on more than a token (line ends in parentheses, where a definition begins, values,
 * limits) is settled here, on the way from the lexer. */
#include "grammar/parse.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/grammar.h"
#include "grammar/parser.h"

void parser_fail(Parser *parser, Span span, const char *hint, const char *format, ...) {
    if (parser->failed) return;
    parser->failed = true;
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(parser->ast->arena, format, args);
    va_end(args);
    diag_error(parser->diags, parser->ast->source, span, hint, "%s", message);
}

/* In the lexer's text, which ends where the part that is parsed does. */
static const char *token_text(const Parser *parser, Token token) {
    return parser->lexer.text + (token.span.begin - parser->lexer.base);
}

static uint32_t token_length(Token token) {
    return token.span.end - token.span.begin;
}

/* --- Values */

/* Whatever the host program's locale; the text ends at a byte that no number contains. */
static double read_number(const char *text) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = strtod_l(text, NULL, c);
    freelocale(c);
    return value;
}

static void set_number(Parser *parser, Token *token) {
    const char *text = token_text(parser, *token);
    if (*text == 'p')
        token->number = 3.14159265358979323846;
    else
        token->number = read_number(text);
    if (*text != 'i' && isinf(token->number))
        parser_fail(parser, token->span, "write 'inf' if that is meant",
                    "the number is larger than any double");
}

static void set_name(Parser *parser, Token *token) {
    if (token_length(*token) > PARSE_NAME)
        parser_fail(parser, token->span, NULL, "the name is longer than %d bytes", PARSE_NAME);
    else
        token->name =
            arena_copy(parser->ast->arena, token_text(parser, *token), token_length(*token));
}

/* --- Tokens */

/* Whether NAME, just scanned, is followed by parentheses and '=': the head of a definition. */
static bool defines(Lexer lexer) {
    uint32_t depth = 0;
    Token token = lexer_scan(&lexer);
    if (token.code != TOKEN_OPEN) return false;
    for (; token.code != TOKEN_END; token = lexer_scan(&lexer)) {
        if (token.code == TOKEN_OPEN) depth++;
        if (token.code == TOKEN_CLOSE && --depth == 0)
            return lexer_scan(&lexer).code == TOKEN_BECOMES;
    }
    return false;
}

/* The word `derivative`, just scanned, before a name: it is a name itself anywhere else. */
static bool is_derivative(const Parser *parser, Token token) {
    Lexer lexer = parser->lexer;
    return token.code == TOKEN_NAME && token.name && !strcmp(token.name, "derivative") &&
           lexer_scan(&lexer).code == TOKEN_NAME;
}

static void count_parentheses(Parser *parser, Token token) {
    if (token.code == TOKEN_CLOSE && parser->depth) parser->depth--;
    if (token.code != TOKEN_OPEN) return;
    if (parser->depth == PARSE_DEPTH)
        parser_fail(parser, token.span, NULL, "nested too deeply (%d levels fit)", PARSE_DEPTH);
    else
        parser->opened[parser->depth++] = token.span.begin;
}

static bool ends_statement(int code) {
    return code == TOKEN_EOL || code == TOKEN_SEMICOLON || code == TOKEN_START_PROGRAM;
}

/* From the lexer, without the line ends that do not count, and with one at the end of a program. */
static Token scan(Parser *parser) {
    bool lines = parser->program && !parser->depth;
    Token token;
    do token = lexer_scan(&parser->lexer);
    while (token.code == TOKEN_EOL && !lines);
    if (token.code == TOKEN_END && lines && parser->previous.code != TOKEN_EOL)
        token.code = TOKEN_EOL;
    if (token.code == TOKEN_EOL || token.code == TOKEN_END) {
        uint32_t end = parser->previous.span.end;
        token.span = (Span){end, end};
    }
    return token;
}

/* The first token of a statement: the grammar is told where a definition begins, and a sign that
 * looks as if it continued the line above is refused. */
static Token begin_statement(Parser *parser, Token token) {
    bool sign = token.code == TOKEN_PLUS || token.code == TOKEN_MINUS;
    if (sign && parser->continues)
        parser_fail(parser, token.span, "put parentheses around an expression of several lines",
                    "a line that begins with '%s' does not continue the one above",
                    token.code == TOKEN_PLUS ? "+" : "-");
    if (is_derivative(parser, token)) token.code = TOKEN_DERIVATIVE;
    if (token.code != TOKEN_NAME || !defines(parser->lexer)) return token;
    parser->queue[parser->queued++] = token;
    token.code = TOKEN_DEF;
    return token;
}

static void note_line_end(Parser *parser, int code) {
    if (code == TOKEN_SEMICOLON) parser->continues = false;
    if (code == TOKEN_EOL && !ends_statement(parser->previous.code)) parser->continues = true;
    if (parser->previous.code == TOKEN_EOL) parser->lexer.comment = (Span){0, 0};
}

Token parser_next(Parser *parser) {
    Token token;
    count_parentheses(parser, parser->previous);
    if (parser->queued) {
        token = parser->queue[--parser->queued];
    } else {
        token = scan(parser);
        note_line_end(parser, token.code);
        if (token.code == LEXER_MALFORMED)
            parser_fail(parser, token.span, NULL, "malformed number");
        if (token.code == TOKEN_NUMBER) set_number(parser, &token);
        if (token.code == TOKEN_NAME) set_name(parser, &token);
        if (parser->program && ends_statement(parser->previous.code))
            token = begin_statement(parser, token);
    }
    parser->before = parser->previous;
    parser->previous = token;
    return token;
}

/* --- Entries */

static Parser parser_open(Arena *arena, const Source *source, Diags *diags) {
    Parser parser = {.ast = arena_new(arena, Ast), .diags = diags};
    parser.ast->source = source;
    parser.ast->arena = arena;
    array_push(arena, &parser.ast->nodes, (AstNode){.kind = AST_NONE});
    parser.first = 1;
    parser.lexer = (Lexer){.text = source->text, .length = source->length};
    if (source->length >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3)) parser.lexer.at = 3;
    if (source->length > SOURCE_MAX)
        parser_fail(&parser, (Span){0, 0}, NULL, "the text is larger than %d MiB",
                    SOURCE_MAX >> 20);
    return parser;
}

/* Parses what the lexer holds as the kind of text that `start` stands for. */
static const Ast *run(Parser *parser, int start) {
    if (parser->failed) return NULL;
    uint32_t begin = parser->lexer.base + parser->lexer.at;
    parser->queue[parser->queued++] = (Token){.code = start, .span = {begin, begin}};
    parser->program = start == TOKEN_START_PROGRAM;
    grammar_run(parser);
    return parser->failed ? NULL : parser->ast;
}

const Ast *parse_program(Arena *arena, const Source *source, Diags *diags) {
    Parser parser = parser_open(arena, source, diags);
    return run(&parser, TOKEN_START_PROGRAM);
}

const Ast *parse_definitions(Arena *arena, const Source *source, Diags *diags) {
    Parser parser = parser_open(arena, source, diags);
    parser.definitions = true;
    return run(&parser, TOKEN_START_PROGRAM);
}

const Ast *parse_expression(Arena *arena, const Source *source, Diags *diags) {
    Parser parser = parser_open(arena, source, diags);
    return run(&parser, TOKEN_START_EXPRESSION);
}

/* --- Directives */

static const struct Word {
    const char *word;
    DirectiveKind kind;
    int start;
} words[] = {
    {"kernel", DIRECTIVE_KERNEL, TOKEN_START_NAMED},
    {"computes", DIRECTIVE_COMPUTES, TOKEN_START_PROGRAM},
    {"input", DIRECTIVE_INPUT, TOKEN_START_TENSOR},
    {"output", DIRECTIVE_OUTPUT, TOKEN_START_TENSOR},
    {"args", DIRECTIVE_ARGS, TOKEN_START_WORDS},
    {"knob", DIRECTIVE_KNOB, TOKEN_START_VALUES},
    {"require", DIRECTIVE_REQUIRE, TOKEN_START_VALUE},
    {"prefer", DIRECTIVE_PREFER, TOKEN_START_VALUE},
    {"launch", DIRECTIVE_LAUNCH, TOKEN_START_LAUNCH},
    {"workspace", DIRECTIVE_WORKSPACE, TOKEN_START_VALUE},
};
enum { WORDS = sizeof words / sizeof *words };

static const struct Word *find_word(const char *name) {
    for (int i = 0; i < WORDS; i++)
        if (!strcmp(words[i].word, name)) return &words[i];
    return NULL;
}

static const char *suggest_word(Arena *arena, const char *name) {
    int best = 3; /* edits: "knobs", "requires", "comptues" */
    const char *word = NULL;
    for (int i = 0; i < WORDS; i++) {
        int distance = text_distance(name, words[i].word, best);
        if (distance < best) word = words[i].word;
        if (distance < best) best = distance;
    }
    if (word) return arena_printf(arena, "did you mean '%s'?", word);
    return "one of kernel computes input output args knob require prefer launch workspace";
}

const Ast *parse_directive(Arena *arena, const Source *source, Span span, Diags *diags) {
    Parser parser = parser_open(arena, source, diags);
    uint32_t length = span.end - span.begin;
    const char *text = arena_copy(arena, source->text + span.begin, length);
    parser.lexer = (Lexer){.text = text, .base = span.begin, .length = length};
    Directive *directive = parser.ast->directive = arena_new(arena, Directive);
    Token first = lexer_scan(&parser.lexer);
    if (first.code == TOKEN_NAME) set_name(&parser, &first);
    const struct Word *word = first.name ? find_word(first.name) : NULL;
    if (!word)
        parser_fail(&parser, first.span, suggest_word(arena, first.name ? first.name : ""),
                    first.name ? "unknown directive '%s'" : "a directive begins with a word",
                    first.name);
    else
        directive->kind = word->kind;
    directive->mark = first.span;
    return run(&parser, word ? word->start : 0);
}
