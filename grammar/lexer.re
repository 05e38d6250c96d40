/* In: bytes. Out: tokens with their places. The one idea: the longest match decides; what looks like
 * a number but is none, and what belongs to other languages, are tokens as well, so that the parser can
 * say what to write instead. */
#include "grammar/parser.h"
#include "grammar/grammar.h"

static int scan(const unsigned char **cursor, const unsigned char *limit) {
    const unsigned char *at = *cursor, *marker = at;
    int code;
    /*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = at;
    re2c:define:YYLIMIT = limit;
    re2c:define:YYMARKER = marker;
    re2c:yyfill:enable = 0;
    re2c:eof = 0;

    digit    = [0-9];
    hex      = [0-9A-Fa-f];
    exponent = [eE] [+-]? digit+;
    decimal  = (digit+ ("." digit*)? | "." digit+) exponent?;
    binary   = "0" [xX] (hex+ ("." hex*)? | "." hex+) ([pP] [+-]? digit+)?;
    number   = decimal [fF]? | binary | "0" [xX] (hex+ ("." hex*)? | "." hex+) [pP] [+-]? digit+ [fF];

    $                               { code = TOKEN_END; goto done; }
    *                               { code = LEXER_FOREIGN; goto done; }
    [ \t\r\v\f]+ | "#" [^\n]*       { code = LEXER_BLANK; goto done; }
    "\n"                            { code = TOKEN_EOL; goto done; }

    number                          { code = TOKEN_NUMBER; goto done; }
    "inf" | "nan" | "pi"            { code = TOKEN_NUMBER; goto done; }
    number [0-9A-Za-z_.]+           { code = LEXER_MALFORMED; goto done; }
    "."? digit [0-9A-Za-z_.]*       { code = LEXER_MALFORMED; goto done; }

    "def"                           { code = TOKEN_DEF; goto done; }
    "param"                         { code = TOKEN_PARAM; goto done; }
    "return"                        { code = TOKEN_RETURN; goto done; }
    [A-Za-z_] [A-Za-z0-9_]*         { code = TOKEN_NAME; goto done; }

    "+"                             { code = TOKEN_PLUS; goto done; }
    "-"                             { code = TOKEN_MINUS; goto done; }
    "*"                             { code = TOKEN_STAR; goto done; }
    "/"                             { code = TOKEN_SLASH; goto done; }
    "//"                            { code = TOKEN_FLOOR; goto done; }
    "%"                             { code = TOKEN_PERCENT; goto done; }
    "@"                             { code = TOKEN_AT; goto done; }
    "**"                            { code = TOKEN_POWER; goto done; }
    "!"                             { code = TOKEN_NOT; goto done; }
    "&&"                            { code = TOKEN_AND; goto done; }
    "||"                            { code = TOKEN_OR; goto done; }
    "=="                            { code = TOKEN_EQUAL; goto done; }
    "!="                            { code = TOKEN_UNEQUAL; goto done; }
    "<"                             { code = TOKEN_LESS; goto done; }
    "<="                            { code = TOKEN_LESS_EQUAL; goto done; }
    ">"                             { code = TOKEN_GREATER; goto done; }
    ">="                            { code = TOKEN_GREATER_EQUAL; goto done; }
    "?"                             { code = TOKEN_QUESTION; goto done; }
    ":"                             { code = TOKEN_COLON; goto done; }
    "="                             { code = TOKEN_BECOMES; goto done; }
    "("                             { code = TOKEN_OPEN; goto done; }
    ")"                             { code = TOKEN_CLOSE; goto done; }
    "["                             { code = TOKEN_BRACKET; goto done; }
    "]"                             { code = TOKEN_BRACKET_END; goto done; }
    ","                             { code = TOKEN_COMMA; goto done; }
    ";"                             { code = TOKEN_SEMICOLON; goto done; }
    "."                             { code = TOKEN_DOT; goto done; }

    ("+"|"-"|"*"|"/"|"//"|"%"|"@"|"**"|"&"|"|"|"^"|"<<"|">>"|":") "="   { code = LEXER_FOREIGN; goto done; }
    "<<" | ">>" | "<>" | "=>" | "=<"                                { code = LEXER_FOREIGN; goto done; }
    [\xc0-\xff] [\x80-\xbf]*                                        { code = LEXER_FOREIGN; goto done; }
    */
done:
    *cursor = at;
    return code;
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
