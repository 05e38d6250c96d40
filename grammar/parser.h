/* Parser: what the lexer, the grammar's actions and the answers to errors share during one parse.
 * Private to grammar/. Tokens are pulled: grammar_run asks parser_next for one, asks its own tables
 * whether it fits, and either feeds it or hands it to parser_unexpected with what would have
 * fitted. */
#ifndef KF_PARSER_H
#define KF_PARSER_H

#include "grammar/parse.h"

/* Codes below zero never reach the grammar; the others are TOKEN_… of grammar.y (0 is the end). */
enum { TOKEN_END = 0, LEXER_MALFORMED = -1, LEXER_FOREIGN = -2, LEXER_BLANK = -3 };
enum { TOKENS_MAX = 64 };

typedef struct Token {
    int code;
    Span span;
    double number;    /* TOKEN_NUMBER */
    const char *name; /* TOKEN_NAME */
} Token;

typedef struct Lexer {
    const char *text; /* bytes [base, base + length) of the source, NUL-terminated */
    uint32_t base, length, at;
    Span comment; /* the last one that was passed, without '#'; empty if none */
} Lexer;

/* The next token but for its value; blanks and comments are skipped, line ends are tokens. */
Token lexer_scan(Lexer *lexer);

/* An expression as its surroundings see it: its node, and its text with enclosing parentheses. */
typedef struct Expr {
    Node node;
    Span span;
} Expr;

typedef struct Parser {
    Ast *ast;
    Diags *diags;
    Lexer lexer;
    bool failed;
    bool program;     /* line ends count, statements begin */
    bool definitions; /* nothing but definitions */

    Token queue[2]; /* tokens to hand out before the lexer's */
    uint32_t queued;
    Token previous, before; /* handed out last and last but one */
    bool continues;         /* a line end, not a ';', ended the last statement */

    uint32_t depth; /* of parentheses before `previous`; where each was opened */
    uint32_t opened[PARSE_DEPTH];

    Node first;              /* of the value that is being parsed */
    ARRAY(AstArg) arguments; /* of calls that are not closed yet */
} Parser;

Token parser_next(Parser *parser);
/* Says that `token` does not fit; `expected[code]` are those that would have. */
void parser_unexpected(Parser *parser, Token token, const bool expected[TOKENS_MAX]);
/* Says anything else, once; the parse ends. */
void parser_fail(Parser *parser, Span span, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* In grammar.y: pulls and feeds tokens until the end or the first error. */
void grammar_run(Parser *parser);

/* What the grammar's actions call; the Ast grows at its end. Operators come as their tokens. */
Expr build_number(Parser *parser, Token number);
Expr build_name(Parser *parser, Token name);
Expr build_group(Parser *parser, Token open, Expr inside, Token close);
Expr build_unary(Parser *parser, Token op, Expr a);
Expr build_binary(Parser *parser, Expr a, Token op, Expr b);
Expr build_select(Parser *parser, Expr a, Token mark, Expr b, Expr c);
Expr build_transpose(Parser *parser, Expr a, Token name);
void build_argument(Parser *parser, const Token *name, Expr value);
Expr build_call(Parser *parser, Token name, uint32_t count, Token close);

/* `begin` is the first token: 'param', 'def' or the name itself. */
void build_bind(Parser *parser, Token begin, Token name, Expr value);
void build_parameter(Parser *parser, Token name, const Expr *value);
void build_definition(Parser *parser, Token begin, Token name, uint32_t count, Expr value);
/* `word` stands between the parameters and the name of the one it is by; both NULL: none is named. */
void build_derivative(Parser *parser, Token begin, Token name, uint32_t count, const Token *word,
                      const Token *by, Expr value);
/* `begin` is the word 'return', or NULL for a further value. */
void build_return(Parser *parser, const Token *begin, Expr value);
void build_expression(Parser *parser, Expr value);

void build_directive_name(Parser *parser, Token name);
void build_directive_word(Parser *parser, Token word);
void build_directive_type(Parser *parser, Token word);
void build_directive_value(Parser *parser, Token number, bool negative);
void build_directive_expression(Parser *parser, Expr value);
void build_directive_field(Parser *parser, Token name);
void build_directive_field_value(Parser *parser, Expr value);

#endif
