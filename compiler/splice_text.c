/* A product's place in memory in, the text for it out. */
#include "compiler/splice_text.h"

#include <string.h>

int32_t splice_product(const SpliceText *s, uint32_t i) {
    for (uint32_t p = 0; p < s->core->count && !access_is_store(s->epilogue, i); p++)
        if (access_at(s->epilogue, i)->value == s->core->products[p]) return (int32_t)p;
    return -1;
}

const char *splice_place(const SpliceText *s, const Access *access) {
    Text text = {0};
    text_printf(&text, "%s + ", access->name);
    if (access->class == ACCESS_DENSE)
        text_add(&text, "i");
    else
        emit_offset(&text, s->epilogue, access, "row", "column");
    const char *copy = arena_copy(s->arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

const char *splice_stride_name(Arena *arena, const char *name, uint32_t axis) {
    return arena_printf(arena, "kf_%s_z%u", name, axis);
}

const char *splice_extent_name(Arena *arena, uint32_t axis) {
    return arena_printf(arena, "kf_z%u", axis);
}

/* The coordinate of matrix z along a batch axis: z over what is inside of it, but for the outermost
 * modulo its extent. */
static const char *coordinate(const SpliceText *s, uint32_t axis) {
    const char *z = "(z)";
    for (uint32_t i = s->core->batch_rank; --i > axis;)
        z = arena_printf(s->arena, "%s / %s", z, splice_extent_name(s->arena, i));
    if (axis > 0) z = arena_printf(s->arena, "%s %% %s", z, splice_extent_name(s->arena, axis));
    return z;
}

/* " + (z) * kf_a_z0", or "". */
static const char *offset(const SpliceText *s, const CoreFactor *factor, const char *name) {
    const char *text = "";
    for (uint32_t axis = 0; !s->core->folded && axis < s->core->batch_rank; axis++)
        if (factor->walks[axis])
            text = arena_printf(s->arena, "%s + %s * %s", text, coordinate(s, axis),
                                splice_stride_name(s->arena, name, axis));
    return text;
}

void splice_print_factors(Text *out, const SpliceText *s) {
    const char *b =
        s->core->count == 1 ? s->b : arena_printf(s->arena, "((p) == 0 ? %s : %s1)", s->b, s->b);
    text_printf(out, "#define KF_AT_%s(z) (%s%s)\n", s->a, s->a, offset(s, &s->core->a, s->a));
    text_printf(out, "#define KF_AT_%s(p, z) (%s%s)\n", s->b, b, offset(s, &s->core->b[0], s->b));
}

void splice_define(Text *out, const char *name, const char *text) {
    text_printf(out, "#define %s ", name);
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        text_add_bytes(out, line, length);
        line += length + (line[length] == '\n');
        text_add(out, *line ? " \\\n" : "\n");
    }
    if (!*text) text_add(out, "\n");
}
