/* Text to Ast, by one re2c lexer and one Lemon grammar with several entry points. NULL after an
 * error: the first lexical or syntax error is in `diags` (what was found, and what would have
 * fitted) and ends the parse. Limits, each with a diagnostic: PARSE_DEPTH levels of nesting,
 * PARSE_STATEMENTS, PARSE_PARAMETERS, PARSE_NODES, PARSE_NAME bytes of a name, SOURCE_MAX bytes of
 * text. */
#ifndef KF_PARSE_H
#define KF_PARSE_H

#include "grammar/ast.h"

enum {
    PARSE_DEPTH = 1000,
    PARSE_STATEMENTS = 10000,
    PARSE_PARAMETERS = 256, /* of one function */
    PARSE_NODES = 1 << 20,
    PARSE_NAME = 255,
};

const Ast *parse_program(Arena *arena, const Source *source, Diags *diags);
/* A registry file: definitions only; a comment on the line is its description. */
const Ast *parse_definitions(Arena *arena, const Source *source, Diags *diags);
/* One expression. The Ast has one STATEMENT_EXPR. */
const Ast *parse_expression(Arena *arena, const Source *source, Diags *diags);
/* One directive line, in [span.begin, span.end) of the source, without "//!". */
const Ast *parse_directive(Arena *arena, const Source *source, Span span, Diags *diags);

#endif
