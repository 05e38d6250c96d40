/* In: bytes. Out: tokens with their places. The one idea: the longest match decides; what looks like
 * a number but is none, and what belongs to other languages, are tokens as well, so that the parser
 * can say what to write instead. */
#include "grammar/parser.h"
#include "grammar/grammar.h"

static int scan(const unsigned char **cursor, const unsigned char *limit) {
    const unsigned char *marker;
    /*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = "(*cursor)";
    re2c:define:YYLIMIT = limit;
    re2c:define:YYMARKER = marker;
    re2c:yyfill:enable = 0;
    re2c:eof = 0;

    digit    = [0-9];
    hex      = [0-9A-Fa-f];
    exponent = [eE] [+-]? digit+;
    decimal  = (digit+ ("." digit*)? | "." digit+) exponent?;
    mantissa = hex+ ("." hex*)? | "." hex+;
    power    = [pP] [+-]? digit+;
    number   = decimal [fF]? | "0" [xX] mantissa (power [fF]?)?;

    $                               { return TOKEN_END; }
    *                               { return LEXER_FOREIGN; }
    [ \t\r\v\f]+ | "#" [^\n]*       { return LEXER_BLANK; }
    "\n"                            { return TOKEN_EOL; }

    number                          { return TOKEN_NUMBER; }
    "inf" | "nan" | "pi"            { return TOKEN_NUMBER; }
    number [0-9A-Za-z_.]+           { return LEXER_MALFORMED; }
    "."? digit [0-9A-Za-z_.]*       { return LEXER_MALFORMED; }

    "def"                           { return TOKEN_DEF; }
    "param"                         { return TOKEN_PARAM; }
    "return"                        { return TOKEN_RETURN; }
    [A-Za-z_] [A-Za-z0-9_]*         { return TOKEN_NAME; }

    "+"                             { return TOKEN_PLUS; }
    "-"                             { return TOKEN_MINUS; }
    "*"                             { return TOKEN_STAR; }
    "/"                             { return TOKEN_SLASH; }
    "//"                            { return TOKEN_FLOOR; }
    "%"                             { return TOKEN_PERCENT; }
    "@"                             { return TOKEN_AT; }
    "**"                            { return TOKEN_POWER; }
    "!"                             { return TOKEN_NOT; }
    "&&"                            { return TOKEN_AND; }
    "||"                            { return TOKEN_OR; }
    "=="                            { return TOKEN_EQUAL; }
    "!="                            { return TOKEN_UNEQUAL; }
    "<"                             { return TOKEN_LESS; }
    "<="                            { return TOKEN_LESS_EQUAL; }
    ">"                             { return TOKEN_GREATER; }
    ">="                            { return TOKEN_GREATER_EQUAL; }
    "?"                             { return TOKEN_QUESTION; }
    ":"                             { return TOKEN_COLON; }
    "="                             { return TOKEN_BECOMES; }
    "("                             { return TOKEN_OPEN; }
    ")"                             { return TOKEN_CLOSE; }
    "["                             { return TOKEN_BRACKET; }
    "]"                             { return TOKEN_BRACKET_END; }
    ","                             { return TOKEN_COMMA; }
    ";"                             { return TOKEN_SEMICOLON; }
    "."                             { return TOKEN_DOT; }

    [-+*/%@&|^:] "=" | ("//" | "**" | "<<" | ">>") "="   { return LEXER_FOREIGN; }
    "<<" | ">>" | "<>" | "=>" | "=<"                     { return LEXER_FOREIGN; }
    [\xc0-\xff] [\x80-\xbf]*                             { return LEXER_FOREIGN; }
    */
}

Token lexer_scan(Lexer *lexer) {
    const unsigned char *text = (const unsigned char *)lexer->text;
    const unsigned char *at = text + lexer->at, *limit = text + lexer->length;
    Token token = {.code = LEXER_BLANK};
    while (token.code == LEXER_BLANK) {
        uint32_t begin = (uint32_t)(at - text);
        token.code = scan(&at, limit);
        lexer->at = (uint32_t)(at - text);
        token.span = (Span){lexer->base + begin, lexer->base + lexer->at};
        if (token.code == LEXER_BLANK && text[begin] == '#')
            lexer->comment = (Span){token.span.begin + 1, token.span.end};
    }
    return token;
}
