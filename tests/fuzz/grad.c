/* Any program: refused with a message, or its backward program printed, which is a program again: that
 * one's is printed or refused as well, and its text is canonical. */
#include <stdlib.h>
#include <string.h>

#include "compiler/grad.h"
#include "grammar/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *derive(Arena *arena, const char *text) {
    Diags diags = {.arena = arena};
    GradOptions options = {.wrt_count = 0};
    const Ast *ast = parse_program(arena, source_new(arena, "in", text, strlen(text)), &diags);
    const Grad *result = ast ? grad(arena, ast, registry_open(arena), &options, &diags) : NULL;
    if (!result != (diags.errors > 0)) abort();
    return result ? result->text : NULL;
}

static void check_canonical(Arena *arena, const char *text) {
    Diags diags = {.arena = arena};
    const Ast *ast = parse_program(arena, source_new(arena, "out", text, strlen(text)), &diags);
    Text again = {0};
    if (!ast) abort();
    ast_print(&again, ast);
    if (strcmp(text_string(&again), text) != 0) abort();
    text_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena *arena = arena_open();
    const char *text = derive(arena, arena_copy(arena, (const char *)data, size));
    if (text) check_canonical(arena, text);
    if (text) derive(arena, text);
    arena_close(arena);
    return 0;
}
