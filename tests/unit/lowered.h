/* A program's text to its Ir, for tests of what comes behind. */
#ifndef KF_TEST_LOWERED_H
#define KF_TEST_LOWERED_H

#include <stdio.h>
#include <string.h>

#include "compiler/lower.h"
#include "compiler/simplify.h"
#include "grammar/parse.h"

/* NULL, with the diagnostics on stderr, if the text is wrong. */
static inline Ir *lowered(Arena *arena, const char *text, const LowerOptions *options) {
    Diags diags = {.arena = arena};
    const Ast *ast = parse_program(arena, source_new(arena, "<test>", text, strlen(text)), &diags);
    Registry *registry = registry_scope(arena, registry_open(arena));
    Ir *ir = ast != NULL ? lower(arena, ast, registry, options, &diags) : NULL;
    Text message = {0};
    diags_print(&message, &diags);
    if (ir == NULL) fprintf(stderr, "%s\n%s\n", text, text_string(&message));
    text_free(&message);
    return ir;
}

#endif
