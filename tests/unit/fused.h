/* For tests of generated kernels: a dozen programs, one for every layout class and more, and their
 * inputs in any type. */
#ifndef TEST_FUSED_H
#define TEST_FUSED_H

#include "planned.h"

/* Inputs whose type is not said are of the type under test. */
static const char *const fused_programs[][2] = {
    {"relu(x+res)", "5x1003"},
    {"gelu(x+b)+res", "x=7x333 b=333 res=7x333"},
    {"tanh(x*res+b)*sigmoid(x)+0.5*res", "x=16x64 res=16x64 b=64"},
    {"relu(x*s + b) + c", "x=37x32 s=37x1 b=32 c=scalar"},
    {"x * exp(b) / sqrt(c) + tanh(s) - b", "x=19x40 b=40 c=19x1 s=scalar"},
    {"x + y - z", "x=4x1x6x5 y=3x1x5 z=4x3x6x1"},
    {"x + y.T", "x=10x12 y=12x10"},
    {"x * 2", "x=10x10@128,1"},
    {"x - y", "x=300@2 y=300"},
    {"x = x * 2 + y", "x=1000 y=1000"},
    {"s = x + res; out = relu(s); return s, out", "33x5"},
    {"x + f32(k) * 0.5 - f32(m)", "x=1023 k=1023:i32 m=1023:bool"},
    {"param eps = 1e-5; x > 0 ? x / (eps + fabs(y)) : silu(y)", "x=65x17 y=65x17"},
};

static inline const char *fused_typed(Arena *arena, const char *inputs, DType dtype) {
    Text text = {0};
    char *copy = arena_copy(arena, inputs, strlen(inputs)), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        text_printf(&text, strchr(word, ':') ? "%s " : "%s:%s ", word, dtype_name(dtype));
    const char *result = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return result;
}

/* Shapes without names stand for every input: the type cannot stand there. */
static inline const char *fused_inputs(Arena *arena, const char *inputs, const Program *names,
                                       DType dtype) {
    Text text = {0};
    if (strchr(inputs, '=')) return fused_typed(arena, inputs, dtype);
    for (uint32_t i = 0; i < names->ir->inputs.count; i++)
        text_printf(&text, "%s=%s:%s ", names->ir->inputs.data[i].name, inputs, dtype_name(dtype));
    const char *result = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return result;
}

#endif
