/* Kernel: one way to compute a program. What the tuner searches and races: what is generated for a
 * group, and every hand-written template that computes the same. */
#ifndef KF_KERNEL_H
#define KF_KERNEL_H

#include "compiler/match.h"
#include "compiler/splice.h"

typedef struct Kernel {
    const char *name; /* "generated" elementwise, "rows", or the template's: no two are the same */
    const Template *template;
    const Plan *plan;     /* of a generated one */
    const Match *match;   /* of a hand-written one */
    const Splice *splice; /* of a hand-written one with a generated epilogue */
} Kernel;

/* A template's text, which says what it is; one variant is a unit for a compiler. */
static inline bool kernel_is_written(const Kernel *kernel) {
    return kernel->match || kernel->splice;
}

typedef struct Kernels {
    ARRAY(Kernel) list;
} Kernels;

/* Where kernels come from, besides the generator. */
typedef struct Library {
    const char *language; /* "cuda" or "c" */
    const Registry *registry;
    ARRAY(const Template *) templates;
} Library;

/* The generator and the built-in templates of a language. */
const Library *library_open(Arena *arena, const char *language, const Registry *registry);
/* Every way to compute `ir`, which is one group: simplified, calls inlined. The generated kernel
 * comes first. None: no kernel covers it. */
Kernels kernels_find(Arena *arena, const Library *library, const Ir *ir);
/* The template as the kernel of its own program (match_itself); none where it does not fit. */
Kernels kernels_of(Arena *arena, const Template *template, const Ir *ir);
/* The kernel's names at the shape of `ir`, the same program at any extents; NULL where it does not
 * fit. */
const Bound *kernel_bound(Arena *arena, const Kernel *kernel, const Ir *ir);
/* Layout class and whatever else the kernel's text depends on besides the Ir. Part of the key. */
void kernel_class_print(Text *out, const Kernel *kernel);

#endif
