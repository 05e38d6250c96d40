/* For tests of plan and emit: from a program's text and "x=64x32:bf16 b=32" to an Ir and its plan.
 * An input's shape may be followed by its strides in elements, "x=10x10@128,1:f32". */
#ifndef TEST_PLANNED_H
#define TEST_PLANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit.h"
#include "compiler/lower.h"
#include "compiler/simplify.h"
#include "grammar/parse.h"

typedef struct Program {
    Arena *arena;
    const Ast *ast;
    Registry *registry;
    LowerOptions options;
    Ir *ir; /* simplified, calls inlined */
    Group group;
} Program;

static inline void program_strides(const char *text, uint32_t rank, int64_t strides[RANK_MAX]) {
    char *at = (char *)text;
    for (uint32_t i = 0; i < rank; i++) strides[i] = strtoll(at + 1, &at, 10);
}

static inline void program_fail(const Diags *diags, const char *text) {
    Text message = {0};
    diags_print(&message, diags);
    fprintf(stderr, "%s\n%s", text, text_string(&message));
    abort();
}

static inline InputSpec program_input(Arena *arena, char *word) {
    char *shape = strchr(word, '='), *dtype = strchr(word, ':'), *strides = strchr(word, '@');
    InputSpec spec = {.has_shape = true, .has_dtype = true, .type = {.dtype = DT_F32}};
    const char *why;
    *shape++ = 0;
    if (dtype) *dtype++ = 0;
    if (strides) *strides = 0;
    spec.name = arena_copy(arena, word, strlen(word));
    if (dtype && !dtype_find(dtype, &spec.type.dtype)) abort();
    DType type = spec.type.dtype;
    if (!shape_parse(shape, &spec.type, &why)) abort();
    spec.type.dtype = type;
    spec.has_strides = strides != NULL;
    if (strides) program_strides(strides, spec.type.rank, spec.strides);
    return spec;
}

/* Keeps `arena`; ends the test on an error. */
static inline Program program_make(Arena *arena, const char *text, const char *inputs) {
    Program p = {.arena = arena, .registry = registry_open(arena)};
    Diags diags = {.arena = arena};
    ARRAY(InputSpec) specs = {0};
    const char *why, *output = NULL;
    char *copy = arena_copy(arena, inputs, strlen(inputs)), *rest = NULL;
    p.options.plain.dtype = DT_F32;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (*word == '@')
            output = word;
        else if (strchr(word, '='))
            array_push(arena, &specs, program_input(arena, word));
        else
            p.options.has_shape = shape_parse(word, &p.options.plain, &why);
    }
    p.options.inputs = specs.data;
    p.options.input_count = specs.count;
    p.ast = parse_program(arena, source_new(arena, "<expr>", text, strlen(text)), &diags);
    Ir *ir = p.ast ? lower(arena, p.ast, p.registry, &p.options, &diags) : NULL;
    if (!ir) program_fail(&diags, text);
    if (output) program_strides(output, ir->outputs.data[0].type.rank, ir->outputs.data[0].strides);
    p.ir = simplify(arena, ir, true);
    p.group = group_find(p.ir);
    return p;
}

static inline Plan *program_plan(const Program *p) {
    return plan(p->arena, p->ir, &p->group);
}

#endif
