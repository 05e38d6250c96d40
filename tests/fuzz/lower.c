/* Any program over inputs of several types and shapes: refused with a message, or lowered to an Ir
 * that verifies, simplifies to one that verifies, and comes back from its bytes. The first byte
 * chooses types. */
#include <stdlib.h>
#include <string.h>

#include "compiler/fuse.h"
#include "compiler/lower.h"
#include "compiler/simplify.h"
#include "compiler/verify.h"
#include "grammar/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(Arena *arena, const Ir *ir) {
    const char *why = verify(ir, arena);
    if (why) abort();
    Text bytes = {0};
    ir_write(&bytes, ir);
    if (!ir_read(arena, bytes.data, bytes.length)) abort();
    text_free(&bytes);
}

static Ir *lower_as(Arena *arena, const Ast *ast, uint8_t choice, Diags *diags) {
    static const DType dtypes[] = {DT_F32, DT_F16, DT_BF16, DT_F64, DT_BOOL, DT_U8, DT_I8, DT_I64};
    InputSpec inputs[] = {
        {.name = "b", .has_shape = true, .has_dtype = true, .type = {DT_F16, 1, {3}}},
        {.name = "i", .has_dtype = true, .type = {.dtype = DT_I32}},
        {.name = "m", .has_shape = true, .has_dtype = true, .type = {DT_BOOL, 2, {2, 1}}},
    };
    LowerOptions options = {.has_shape = true, .plain = {dtypes[choice % 8], 2, {2, 3}}};
    options.inputs = inputs;
    options.input_count = 3;
    options.round_each_op = choice & 8;
    options.has_out_dtype = choice & 16;
    options.out_dtype = dtypes[choice >> 5];
    return lower(arena, ast, registry_open(arena), &options, diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    /* All of b, i and m are read, so that no option is one too many. */
    const char *tail = "\nb_ = b\ni_ = i\nm_ = m\n";
    const char *text = arena_printf(arena, "%.*s%s", (int)size - 1, (const char *)data + 1, tail);
    const Source *source = source_new(arena, "in", text, strlen(text));
    const Ast *ast = parse_program(arena, source, &diags);
    const Ir *ir = ast ? lower_as(arena, ast, data[0], &diags) : NULL;
    if (!ir != (diags.errors > 0)) abort();
    if (ir) {
        const Ir *simple = simplify(arena, ir, true);
        check(arena, ir);
        check(arena, simple);
        fuse(arena, simple);
    }
    Text said = {0};
    diags_print(&said, &diags);
    text_free(&said);
    arena_close(arena);
    return 0;
}
