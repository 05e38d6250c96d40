/* In: tokens. Out: calls of the build functions, operands first. The one idea: one grammar for all
 * texts; the first token, which no text contains, says which of them this is. */
%name grammar_
%token_prefix TOKEN_
%token_type {Token}
%default_type {Expr}
%extra_context {Parser *parser}
%stack_size 0

%include {
#include <assert.h>
#include <stdlib.h>
#include "grammar/parser.h"
}
/* The driver asks before it feeds, and keeps the stack low: neither can happen. */
%syntax_error { abort(); }
%stack_overflow { abort(); }

%right QUESTION COLON.
%left OR.
%left AND.
%nonassoc EQUAL UNEQUAL.
%nonassoc LESS LESS_EQUAL GREATER GREATER_EQUAL.
%left PLUS MINUS.
%left STAR SLASH FLOOR PERCENT AT.
%right NOT.
%right POWER.
%left DOT.

text ::= START_PROGRAM program.
text ::= START_EXPRESSION expr(A).                  { build_expression(parser, A); }
text ::= START_NAMED NAME(N).                       { build_directive_name(parser, N); }
text ::= START_TENSOR tensor COLON types.
text ::= START_WORDS words.
text ::= START_VALUES knob values.
text ::= START_VALUE expr(A).                       { build_directive_expression(parser, A); }
text ::= START_LAUNCH fields.
text ::= START_LAUNCH entry fields.

/* Statements */

program ::= .
program ::= program separator.
program ::= program statement separator.
separator ::= SEMICOLON|EOL.

statement ::= NAME(N) BECOMES expr(A).              { build_bind(parser, N, N, A); }
statement ::= PARAM(B) NAME(N) BECOMES expr(A).     { build_bind(parser, B, N, A); }
statement ::= DEF(B) NAME(N) OPEN parameters(C) CLOSE BECOMES expr(A).
                                                    { build_definition(parser, B, N, C, A); }
statement ::= DERIVATIVE(B) NAME(N) OPEN parameters(C) CLOSE BECOMES expr(A).
                                                    { build_derivative(parser, B, N, C, NULL, NULL, A); }
statement ::= DERIVATIVE(B) NAME(N) OPEN parameters(C) CLOSE NAME(W) NAME(P) BECOMES expr(A).
                                                    { build_derivative(parser, B, N, C, &W, &P, A); }
statement ::= returns.
statement ::= expr(A).                              { build_expression(parser, A); }

returns ::= RETURN(B) expr(A).                      { build_return(parser, &B, A); }
returns ::= returns COMMA expr(A).                  { build_return(parser, NULL, A); }

%type parameters {uint32_t}
%type parameter_list {uint32_t}
parameters(R) ::= .                                 { R = 0; }
parameters(R) ::= parameter_list(C).                { R = C; }
parameter_list(R) ::= parameter.                    { R = 1; }
parameter_list(R) ::= parameter_list(C) COMMA parameter.
                                                    { R = C + 1; }
parameter ::= NAME(N).                              { build_parameter(parser, N, NULL); }
parameter ::= NAME(N) BECOMES expr(A).              { build_parameter(parser, N, &A); }

/* Expressions */

expr(R) ::= NUMBER(N).                              { R = build_number(parser, N); }
expr(R) ::= NAME(N).                                { R = build_name(parser, N); }
expr(R) ::= OPEN(B) expr(A) CLOSE(E).               { R = build_group(parser, B, A, E); }
expr(R) ::= NAME(N) OPEN arguments(C) CLOSE(E).     { R = build_call(parser, N, C, E); }
expr(R) ::= expr(A) DOT NAME(N).                    { R = build_transpose(parser, A, N); }
expr(R) ::= expr(A) POWER(O) expr(B).               { R = build_binary(parser, A, O, B); }
expr(R) ::= MINUS|PLUS|NOT(O) expr(A). [NOT]        { R = build_unary(parser, O, A); }
expr(R) ::= expr(A) STAR|SLASH|FLOOR|PERCENT|AT(O) expr(B).
                                                    { R = build_binary(parser, A, O, B); }
expr(R) ::= expr(A) PLUS|MINUS(O) expr(B).          { R = build_binary(parser, A, O, B); }
expr(R) ::= expr(A) LESS|LESS_EQUAL|GREATER|GREATER_EQUAL(O) expr(B).
                                                    { R = build_binary(parser, A, O, B); }
expr(R) ::= expr(A) EQUAL|UNEQUAL(O) expr(B).       { R = build_binary(parser, A, O, B); }
expr(R) ::= expr(A) AND(O) expr(B).                 { R = build_binary(parser, A, O, B); }
expr(R) ::= expr(A) OR(O) expr(B).                  { R = build_binary(parser, A, O, B); }
expr(R) ::= expr(A) QUESTION(O) expr(B) COLON expr(C).
                                                    { R = build_select(parser, A, O, B, C); }

%type arguments {uint32_t}
%type argument_list {uint32_t}
arguments(R) ::= .                                  { R = 0; }
arguments(R) ::= argument_list(C).                  { R = C; }
argument_list(R) ::= argument.                      { R = 1; }
argument_list(R) ::= argument_list(C) COMMA argument.
                                                    { R = C + 1; }
argument ::= expr(A).                               { build_argument(parser, NULL, A); }
argument ::= NAME(N) BECOMES expr(A).               { build_argument(parser, &N, A); }

/* Directives of a template's header */

tensor ::= tensor_name BRACKET dimensions BRACKET_END.
tensor_name ::= NAME(N).                            { build_directive_name(parser, N); }
dimensions ::= .
dimensions ::= dimension_list.
dimension_list ::= dimension.
dimension_list ::= dimension_list COMMA dimension.
dimension ::= NAME|NUMBER(N).                       { build_directive_word(parser, N); }
types ::= type.
types ::= types type.
type ::= NAME(N).                                   { build_directive_type(parser, N); }

words ::= word.
words ::= words word.
word ::= NAME(N).                                   { build_directive_word(parser, N); }

knob ::= NAME(N).                                   { build_directive_name(parser, N); }
values ::= value.
values ::= values value.
value ::= NUMBER(N).                                { build_directive_value(parser, N, false); }
value ::= MINUS NUMBER(N).                          { build_directive_value(parser, N, true); }

entry ::= NAME(N).                                  { build_directive_name(parser, N); }
fields ::= field.
fields ::= fields field.
field ::= field_name BECOMES field_values.
field_name ::= NAME(N).                             { build_directive_field(parser, N); }
field_values ::= field_value.
field_values ::= field_values COMMA field_value.
field_value ::= expr(A).                            { build_directive_field_value(parser, A); }

%code {
enum { OVERLAY = 16, STACK_MAX = 8 * PARSE_DEPTH /* the costliest level, f(a, b=…, takes 6 */ };

_Static_assert(YYNTOKEN <= TOKENS_MAX, "parser.h makes room for too few tokens");

/* Whether the grammar can go on with this token: the reductions that it would cause are played on
 * the states alone, the new ones on top of what the real stack still holds. */
static bool accepts(const yyParser *machine, int code) {
    const yyStackEntry *below = machine->yytos;
    YYACTIONTYPE states[OVERLAY];
    int count = 0;
    for (;;) {
        YYACTIONTYPE state = count ? states[count - 1] : below->stateno;
        YYACTIONTYPE action = yy_find_shift_action((YYCODETYPE)code, state);
        if (action < YY_MIN_REDUCE)
            return action <= YY_MAX_SHIFTREDUCE || action == YY_ACCEPT_ACTION;
        int rule = action - YY_MIN_REDUCE, size = -yyRuleInfoNRhs[rule];
        int mine = size < count ? size : count;
        count -= mine;
        below -= size - mine;
        state = count ? states[count - 1] : below->stateno;
        assert(count < OVERLAY);
        states[count++] = yy_find_reduce_action(state, yyRuleInfoLhs[rule]);
    }
}

static void refuse(Parser *parser, const yyParser *machine, Token token) {
    bool expected[TOKENS_MAX] = {false};
    for (int code = 0; code < YYNTOKEN; code++) expected[code] = accepts(machine, code);
    parser_unexpected(parser, token, expected);
}

void grammar_run(Parser *parser) {
    yyParser machine;
    grammar_Init(&machine, parser);
    Token token;
    do {
        token = parser_next(parser);
        if (parser->failed) break;
        if (token.code < 0 || !accepts(&machine, token.code)) {
            refuse(parser, &machine, token);
            break;
        }
        grammar_(&machine, token.code, token);
        if (machine.yytos - machine.yystack > STACK_MAX)
            parser_fail(parser, token.span, NULL, "nested too deeply (%d levels fit)", PARSE_DEPTH);
    } while (token.code && !parser->failed);
    grammar_Finalize(&machine);
}
}
