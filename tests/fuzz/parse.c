/* Any bytes: the parser answers with an Ast that survives printing, or with one error that prints.
 * The first byte chooses the entry. */
#include <stdlib.h>

#include "grammar/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const Ast *parse_as(int entry, Arena *arena, const Source *source, Diags *diags) {
    switch (entry % 4) {
    case 0: return parse_definitions(arena, source, diags);
    case 1: return parse_expression(arena, source, diags);
    case 2: return parse_directive(arena, source, (Span){0, source->length}, diags);
    default: return parse_program(arena, source, diags);
    }
}

static void check_round_trip(Arena *arena, const Ast *ast, int entry, Diags *diags) {
    Text text = {0};
    ast_print(&text, ast);
    const Source *source = source_new(arena, "again", text_string(&text), text.length);
    const Ast *again = parse_as(entry, arena, source, diags);
    if (!again || !ast_equal(ast, again)) abort();
    ast_dump(&text, again);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    const Source *source = source_new(arena, "in", (const char *)data + 1, size - 1);
    const Ast *ast = parse_as(data[0], arena, source, &diags);
    if (!ast != (diags.errors == 1)) abort();
    if (ast && !ast->directive) check_round_trip(arena, ast, data[0], &diags);
    Text text = {0};
    diags_print(&text, &diags);
    text_free(&text);
    arena_close(arena);
    return 0;
}
