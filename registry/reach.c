/* In: a template's C or CUDA text. Out: complaints about knobs that are no macros where they stand.
 * The one idea: enough of C's lexical grammar to tell words, strings and comments apart. */
#include "registry/reach.h"

#include <ctype.h>
#include <string.h>

typedef enum PieceKind { PIECE_OTHER, PIECE_WORD, PIECE_STRING } PieceKind;

static bool is_word_byte(char byte) {
    return isalnum((unsigned char)byte) || byte == '_';
}

static uint32_t skip_comment(const Source *source, uint32_t at) {
    const char *text = source->text + at;
    const char *end = text[1] == '/' ? strchr(text, '\n') : strstr(text + 2, "*/");
    if (!end) return source->length;
    return (uint32_t)(end - source->text) + (text[1] == '/' ? 0 : 2);
}

/* Behind the closing quote; a line end closes what is no string after all. */
static uint32_t skip_string(const Source *source, uint32_t at) {
    char quote = source->text[at++];
    while (at < source->length && source->text[at] != quote && source->text[at] != '\n')
        at += source->text[at] == '\\' && at + 1 < source->length ? 2 : 1;
    return at < source->length ? at + 1 : source->length;
}

/* The piece at *at, which moves behind it. */
static PieceKind next_piece(const Source *source, uint32_t *at) {
    const char *text = source->text + *at;
    if (*text == '/' && (text[1] == '/' || text[1] == '*')) {
        *at = skip_comment(source, *at);
        return PIECE_OTHER;
    }
    if (*text == '"' || *text == '\'') {
        *at = skip_string(source, *at);
        return *text == '"' ? PIECE_STRING : PIECE_OTHER;
    }
    bool word = is_word_byte(*text);
    do ++*at;
    while (word && *at < source->length && is_word_byte(source->text[*at]));
    return word ? PIECE_WORD : PIECE_OTHER;
}

static bool contains(const char *text, uint32_t length, const char *key, uint32_t size) {
    for (uint32_t at = 0; at + size <= length; at++)
        if (!memcmp(text + at, key, size)) return true;
    return false;
}

/* In an assembler's text a knob's name means nothing; elsewhere a string may mention it. */
static void complain_of_string(const Source *source, Span span, bool assembler, const Knob *knob,
                               Diags *diags) {
    diag_add(diags, assembler ? DIAG_ERROR : DIAG_WARNING, source, span,
             arena_printf(diags->arena, "quote: \"...\" KF_STR(%s) \"...\"", knob->key),
             "%s is not replaced inside a string%s", knob->key, assembler ? " of asm" : "");
}

static void check_piece(const Source *source, Span span, PieceKind kind, bool assembler,
                        const Knob *knob, Diags *diags) {
    uint32_t length = span.end - span.begin, size = (uint32_t)strlen(knob->key);
    if (kind == PIECE_WORD && length == size) return; /* itself, or another word */
    if (!contains(source->text + span.begin, length, knob->key, size)) return;
    if (kind == PIECE_WORD)
        diag_error(diags, source, span,
                   arena_printf(diags->arena, "paste: KF_CAT(..., %s)", knob->key),
                   "%s is not replaced inside a longer word", knob->key);
    else
        complain_of_string(source, span, assembler, knob, diags);
}

static bool is_word(const Source *source, Span span, const char *word) {
    return span.end - span.begin == strlen(word) &&
           !memcmp(source->text + span.begin, word, span.end - span.begin);
}

static bool is_asm(const Source *source, Span span) {
    return is_word(source, span, "asm") || is_word(source, span, "__asm__") ||
           is_word(source, span, "__asm");
}

void reach_check(const Source *source, const Space *space, Diags *diags) {
    bool assembler = false; /* from asm up to the semicolon */
    for (uint32_t at = 0, begin; begin = at, at < source->length;) {
        PieceKind kind = next_piece(source, &at);
        Span span = {begin, at};
        if (kind == PIECE_WORD && is_asm(source, span)) assembler = true;
        if (kind == PIECE_OTHER && source->text[begin] == ';') assembler = false;
        if (kind == PIECE_OTHER) continue;
        for (uint32_t i = 0; i < space->knob_count; i++)
            check_piece(source, span, kind, assembler, &space->knobs[i], diags);
    }
}

/* --- entries */

/* The first place of a name outside comments and strings; an empty span where there is none. */
static Span find_name(const Source *source, const char *name) {
    for (uint32_t at = 0, begin; begin = at, at < source->length;)
        if (next_piece(source, &at) == PIECE_WORD && is_word(source, (Span){begin, at}, name))
            return (Span){begin, at};
    return (Span){0, 0};
}

static void check_entry(const Template *template, const TemplateLaunch *launch, const char *name,
                        Diags *diags) {
    const Source *source = template->source;
    const Directive *line = launch->ast->directive;
    Span place = find_name(source, name), said = line->mark;
    if (said.end == 0 && line->fields.count > 0) said = line->fields.data[0].mark;
    if (place.end == 0)
        diag_error(diags, launch->ast->source, said, NULL, "%s has no '%s' to launch", source->name,
                   name);
    else if (!strcmp(template->language, "cuda") && !strstr(source->text, "extern \"C\""))
        diag_error(diags, source, place, "extern \"C\" __global__ void ...",
                   "'%s' has a C++ name, which no launch finds", name);
}

bool template_check_entries(const Template *template, Diags *diags) {
    uint32_t errors = diags->errors;
    for (uint32_t i = 0; i < template->launches.count; i++) {
        const TemplateLaunch *launch = &template->launches.data[i];
        check_entry(template, launch, launch->entry, diags);
        if (launch->twin) check_entry(template, launch, launch->twin, diags);
    }
    return diags->errors == errors;
}
