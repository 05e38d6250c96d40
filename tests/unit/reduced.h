/* For tests of generated reductions in one pass: programs for every class of axes and arrays, every
 * reduction, with work before and behind it. Inputs whose type is not said are of the type under
 * test. */
#ifndef TEST_REDUCED_H
#define TEST_REDUCED_H

#include "compiler/kernel.h"
#include "fused.h"

static const char *const reduced_programs[][2] = {
    {"sum(x, axis=all)", "37x211"},
    {"sum(x*b, axis=0)", "x=129x65 b=129x1"},
    {"mean(x, axis=1)", "5x67x33"},
    {"sum(x)", "3x7001"},
    {"max(x, axis=0)", "77x48"},
    {"prod(x, axis=all)", "3x7x11"},
    {"var(x, axis=all)", "63x129"},
    {"var(x, axis=0)", "300x24"},
    {"param eps = 1e-5; m = mean(x, axis=1); v = var(x, axis=1); return m, rsqrt(v + eps), max(x, "
     "axis=1)",
     "3x50x36"},
    {"mean((x-y)*(x-y), axis=all)", "100x41"},
    {"sum(x*b + s*c, axis=all)", "x=20x6x31 b=31 s=20x1x1 c=scalar"},
    {"sum(x*b + s*c, axis=1)", "x=4x20x31 b=31 s=20x1 c=4x1x1"},
    {"param eps = 1e-6; sqrt(sum(x*x, axis=all) + eps) * 0.5", "1x30011"},
    {"s = max(fabs(x), axis=0) / 127; q = i8(s); return s, q", "40x16"},
    {"sum(x.T, axis=0)", "33x70"},
    {"sum(x*x, axis=0)", "x=30x17@64,2"},
    {"max(x, axis=all) - min(x, axis=all)", "x=300@3"},
    {"sum(k, axis=all) + max(m, axis=all) - min(k, axis=all)", "k=50x21:i32 m=50x21:u8"},
    {"a = max(m, axis=0); b = min(m, axis=0); c = sum(m, axis=0); return a, b, c", "m=60x9:bool"},
    {"prod(k, axis=0)", "k=40x12:i64"},
    {"sum(tanh(x) * g, axis=0) + h", "x=21x40 g=40 h=1x40"},
    {"sum(x*s, axis=2)", "x=6x5x40 s=6x1x1"},
    {"h = h + sum(x, axis=0)", "x=21x40 h=1x40"},
};
enum { REDUCED_PROGRAMS = sizeof reduced_programs / sizeof *reduced_programs };

/* The generated kernel called "reduce". */
static inline const Kernel *reduced_kernel(Arena *arena, const char *language, const Program *p) {
    const Library *library = library_open(arena, language, p->registry);
    Kernels *kernels = arena_new(arena, Kernels);
    *kernels = kernels_find(arena, library, p->ir);
    for (uint32_t i = 0; i < kernels->list.count; i++)
        if (strcmp(kernels->list.data[i].name, "reduce") == 0) return &kernels->list.data[i];
    fprintf(stderr, "no kernel reduces this\n");
    abort();
}

static inline Program reduced_program(Arena *arena, uint32_t index, DType dtype) {
    const char *const *program = reduced_programs[index];
    Program plain = program_make(arena, program[0], program[1]);
    return program_make(arena, program[0], fused_inputs(arena, program[1], &plain, dtype));
}

#endif
