/* A program and what the command line would say about it, lowered: for tests of the compiler's
 * front half. Words of `about`: "4x8", "4x8:f16", ":f16" for every input; "b=8", "b=8:f16",
 * "b=:f16" for one, "b=8/0" with strides; "@eps=2" a param; "out=f16", "round". */
#ifndef KF_TEST_PROGRAM_H
#define KF_TEST_PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compiler/lower.h"
#include "compiler/verify.h"
#include "grammar/parse.h"

typedef struct Program {
    Arena *arena;
    Ir *ir;    /* NULL: refused */
    Text said; /* diagnostics */
} Program;

static inline void read_type(char *word, Type *type, bool *has_shape, bool *has_dtype) {
    const char *why;
    char *colon = strchr(word, ':');
    if (colon != NULL) {
        *colon = '\0';
        if (!dtype_find(colon + 1, &type->dtype)) fail_msg("dtype %s", colon + 1);
        *has_dtype = true;
    }
    if (*word == '\0') return;
    if (!shape_parse(word, type, &why)) fail_msg("shape %s: %s", word, why);
    *has_shape = true;
}

static inline void read_input(Arena *arena, char *name, char *word, LowerOptions *options) {
    InputSpec *spec = (InputSpec *)options->inputs + options->input_count++;
    char *slash = strchr(word, '/');
    spec->name = arena_copy(arena, name, strlen(name));
    for (uint32_t i = 0; slash != NULL; i++) {
        spec->has_strides = true;
        *slash = '\0';
        spec->strides[i] = atoll(slash + 1);
        slash = strchr(slash + 1, '/');
    }
    read_type(word, &spec->type, &spec->has_shape, &spec->has_dtype);
}

static inline void read_word(Arena *arena, char *word, LowerOptions *options) {
    char *equal = strchr(word, '=');
    bool unused;
    if (strcmp(word, "round") == 0) {
        options->round_each_op = true;
    } else if (equal == NULL) {
        read_type(word, &options->plain, &options->has_shape, &unused);
    } else if (*word == '@') {
        ParamSpec *spec = (ParamSpec *)options->params + options->param_count++;
        spec->name = arena_copy(arena, word + 1, (size_t)(equal - word - 1));
        spec->value = strtod(equal + 1, NULL);
    } else if (strncmp(word, "out=", 4) == 0) {
        options->has_out_dtype = true;
        assert_true(dtype_find(equal + 1, &options->out_dtype));
    } else {
        *equal = '\0';
        read_input(arena, word, equal + 1, options);
    }
}

static inline LowerOptions read_options(Arena *arena, const char *about) {
    LowerOptions options = {.plain = {.dtype = DT_F32}};
    char *words = arena_copy(arena, about, strlen(about)), *rest = NULL;
    options.inputs = arena_array(arena, InputSpec, strlen(about) + 1);
    options.params = arena_array(arena, ParamSpec, strlen(about) + 1);
    for (char *word = strtok_r(words, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        read_word(arena, word, &options);
    return options;
}

static inline Program program_open(const char *text, const char *about) {
    Program program = {.arena = arena_open()};
    Diags diags = {.arena = program.arena};
    const Registry *registry = registry_open(program.arena);
    const Source *source = source_new(program.arena, "<expr>", text, strlen(text));
    const Ast *ast = parse_program(program.arena, source, &diags);
    LowerOptions options = read_options(program.arena, about);
    if (ast != NULL) program.ir = lower(program.arena, ast, registry, &options, &diags);
    diags_print(&program.said, &diags);
    const char *why = program.ir != NULL ? verify(program.ir, program.arena) : NULL;
    if (why != NULL) fail_msg("%s (%s): %s", text, about, why);
    return program;
}

static inline void program_close(Program *program) {
    text_free(&program->said);
    arena_close(program->arena);
}

/* The Ir's text without its first line; of a refused program, what was said. */
static inline const char *program_text(const Program *program, const Ir *ir) {
    Text text = {0};
    if (ir == NULL) return text_string(&program->said);
    ir_print(&text, ir, false);
    const char *all = arena_copy(program->arena, text_string(&text), text.length);
    text_free(&text);
    return strchr(all, '\n') + 1;
}

#endif
