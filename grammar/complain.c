/* In: a token that does not fit, and those that would have. Out: one error that says both, and what
 * to write instead where we know it. The one idea: tables, from the text of the token to the
 * answer, and from sets of tokens to the few words that a person would use. */
#include <string.h>

#include "grammar/grammar.h"
#include "grammar/parser.h"

static const struct Answer {
    const char *text, *hint;
} answers[] = {
    {"^", "write '**' for a power, '!=' for exclusive or"},
    {"&", "write '&&'"},
    {"|", "write '||'"},
    {"~", "write '!'"},
    {"<<", "write '* 2**n'"},
    {">>", "write '// 2**n'"},
    {"[", "arrays are used whole, there is no indexing"},
    {"]", "arrays are used whole, there is no indexing"},
    {"{", "the body of a definition is one expression"},
    {"\\", "an expression goes on over line ends inside ( )"},
    {"\"", "there are no strings"},
    {"'", "there are no strings"},
    {":=", "write '='"},
    {"<>", "write '!='"},
    {"=>", "write '>='"},
    {"=<", "write '<='"},
    {"and", "write '&&'"},
    {"or", "write '||'"},
    {"not", "write '!'"},
    {"if", "write 'condition ? a : b'"},
    {"else", "write 'condition ? a : b'"},
    {"\xc3\x97", "write '*'"},       /* multiplication sign */
    {"\xc2\xb7", "write '*'"},       /* middle dot */
    {"\xc3\xb7", "write '/'"},       /* division sign */
    {"\xe2\x88\x92", "write '-'"},   /* minus sign */
    {"\xe2\x80\x93", "write '-'"},   /* en dash */
    {"\xe2\x89\xa4", "write '<='"},  /* less or equal */
    {"\xe2\x89\xa5", "write '>='"},  /* greater or equal */
    {"\xe2\x89\xa0", "write '!='"},  /* not equal */
    {"\xc2\xb2", "write '**2'"},     /* superscript two */
    {"\xc2\xb3", "write '**3'"},     /* superscript three */
    {"\xcf\x80", "write 'pi'"},      /* pi */
    {"\xe2\x88\x9e", "write 'inf'"}, /* infinity */
};

static const char *answer(const Parser *parser, Span span) {
    const char *text = parser->ast->source->text + span.begin;
    size_t length = span.end - span.begin;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strlen(answers[i].text) == length && !memcmp(answers[i].text, text, length))
            return answers[i].hint;
    return NULL;
}

/* --- What was expected */

static const int operand_tokens[] = {TOKEN_NOT,  TOKEN_NUMBER, TOKEN_NAME, TOKEN_OPEN,
                                     TOKEN_PLUS, TOKEN_MINUS,  -1};
static const int operator_tokens[] = {
    TOKEN_STAR,    TOKEN_SLASH, TOKEN_FLOOR,         TOKEN_PERCENT, TOKEN_AT,
    TOKEN_POWER,   TOKEN_PLUS,  TOKEN_MINUS,         TOKEN_LESS,    TOKEN_LESS_EQUAL,
    TOKEN_GREATER, TOKEN_EQUAL, TOKEN_GREATER_EQUAL, TOKEN_UNEQUAL, TOKEN_AND,
    TOKEN_OR,      TOKEN_DOT,   TOKEN_QUESTION,      TOKEN_OPEN,    -1};
static const int separator_tokens[] = {TOKEN_SEMICOLON, TOKEN_EOL, -1};
static const int statement_tokens[] = {TOKEN_RETURN, TOKEN_DEF,  TOKEN_DERIVATIVE, TOKEN_PARAM,
                                       TOKEN_NUMBER, TOKEN_NAME, TOKEN_OPEN,       TOKEN_PLUS,
                                       TOKEN_MINUS,  TOKEN_NOT,  TOKEN_SEMICOLON,  TOKEN_EOL,
                                       TOKEN_END,    -1};

/* A group is named when its first token would fit; then all of them count as said. */
static const struct Group {
    const char *words;
    const int *tokens;
} groups[] = {
    {"a statement", statement_tokens},
    {"an expression", operand_tokens},
    {"an operator", operator_tokens},
    {"the end of the statement", separator_tokens},
};

static const struct Single {
    int code;
    const char *words;
} singles[] = {
    {TOKEN_NAME, "a name"},
    {TOKEN_NUMBER, "a number"},
    {TOKEN_MINUS, "'-'"},
    {TOKEN_OPEN, "'('"},
    {TOKEN_BECOMES, "'='"},
    {TOKEN_BRACKET, "'['"},
    {TOKEN_COLON, "':'"},
    {TOKEN_COMMA, "','"},
    {TOKEN_CLOSE, "')'"},
    {TOKEN_BRACKET_END, "']'"},
    {TOKEN_END, "the end of the text"},
};

typedef struct Words {
    const char *list[16];
    int count;
} Words;

static Words name_expected(const bool expected[TOKENS_MAX]) {
    bool left[TOKENS_MAX];
    Words words = {.count = 0};
    memcpy(left, expected, sizeof left);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (!left[groups[i].tokens[0]]) continue;
        words.list[words.count++] = groups[i].words;
        for (const int *code = groups[i].tokens; *code >= 0; code++) left[*code] = false;
    }
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        if (left[singles[i].code]) words.list[words.count++] = singles[i].words;
    return words;
}

static const char *join_expected(Arena *arena, const bool expected[TOKENS_MAX]) {
    Words words = name_expected(expected);
    const char *text = "";
    for (int i = 0; i < words.count; i++) {
        const char *between = i == 0 ? ", expected " : i == words.count - 1 ? " or " : ", ";
        text = arena_printf(arena, "%s%s%s", text, between, words.list[i]);
    }
    return text;
}

/* --- What was found */

static const char *describe(const Parser *parser, Token token) {
    enum { SHOWN = 40 };
    Arena *arena = parser->ast->arena;
    const char *text = parser->ast->source->text + token.span.begin;
    unsigned char byte = (unsigned char)*text;
    int length = (int)(token.span.end - token.span.begin);
    if (token.code == TOKEN_END || token.span.end >= parser->ast->source->length)
        if (!length) return "end of the text";
    if (token.code == TOKEN_EOL) return "end of the line";
    if (token.code == LEXER_FOREIGN && byte >= 0x80) return "character";
    if (token.code == LEXER_FOREIGN && (byte < 0x20 || byte == 0x7f))
        return arena_printf(arena, "byte 0x%02x", byte);
    const char *kind = token.code == TOKEN_NAME     ? "name "
                       : token.code == TOKEN_NUMBER ? "number "
                                                    : "";
    if (length > SHOWN) return arena_printf(arena, "%s'%.*s...'", kind, SHOWN, text);
    return arena_printf(arena, "%s'%.*s'", kind, length, text);
}

/* --- What to write instead */

static bool compares(int code) {
    return code >= TOKEN_EQUAL && code <= TOKEN_GREATER_EQUAL;
}

static const char *assignment_hint(const Parser *parser, Token token) {
    int length = (int)(token.span.end - token.span.begin) - 1;
    const char *op = parser->ast->source->text + token.span.begin;
    if (token.code != LEXER_FOREIGN || length < 1 || op[length] != '=') return NULL;
    return arena_printf(parser->ast->arena, "write 'x = x %.*s ...'", length, op);
}

static bool reserved(int code) {
    return code == TOKEN_DEF || code == TOKEN_PARAM || code == TOKEN_RETURN;
}

/* From the table, for the token or for a word of another language just before it. */
static const char *known_hint(const Parser *parser, Token token, Token before) {
    const char *known = answer(parser, token.span);
    if (!known && before.code == TOKEN_NAME) known = answer(parser, before.span);
    return known ? known : assignment_hint(parser, token);
}

static const char *hint(const Parser *parser, Token token, const bool expected[TOKENS_MAX]) {
    Token before = parser->before;
    const char *text = parser->ast->source->text, *known = known_hint(parser, token, before);
    bool operator_fits = expected[TOKEN_STAR];
    if (known) return known;
    if (reserved(token.code) && expected[TOKEN_NAME]) return "a reserved word is no name";
    if (token.code == LEXER_FOREIGN && (unsigned char)text[token.span.begin] >= 0x80)
        return "names are made of A-Z a-z 0-9 and _";
    if (token.code == TOKEN_BECOMES && before.code == TOKEN_NUMBER)
        return "a constant cannot be bound";
    if (token.code == TOKEN_BECOMES && operator_fits) return "write '==' to compare";
    if (token.code == TOKEN_COMMA && operator_fits && parser->program && !parser->depth)
        return "write 'return a, b' for several outputs";
    if (token.code == TOKEN_EOL && expected[TOKEN_NUMBER])
        return "an expression goes on over line ends inside ( )";
    if (token.code == TOKEN_CLOSE && !parser->depth) return "no '(' is open";
    return NULL;
}

/* A parenthesis that was forgotten shows at the end, or some lines further down. */
static void note_open_parenthesis(Parser *parser, Token token) {
    if (!parser->depth) return;
    uint32_t at = parser->opened[parser->depth - 1];
    if (token.code == TOKEN_END ||
        memchr(parser->ast->source->text + at, '\n', token.span.begin - at))
        diag_add(parser->diags, DIAG_NOTE, parser->ast->source, (Span){at, at + 1}, NULL,
                 "this '(' is not closed");
}

void parser_unexpected(Parser *parser, Token token, const bool expected[TOKENS_MAX]) {
    if (compares(token.code) && expected[TOKEN_STAR]) {
        parser_fail(parser, token.span, "write 'a < b && b < c'", "comparisons do not chain");
        return;
    }
    parser_fail(parser, token.span, hint(parser, token, expected), "unexpected %s%s",
                describe(parser, token), join_expected(parser->ast->arena, expected));
    note_open_parenthesis(parser, token);
}
