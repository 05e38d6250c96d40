/* Plan -> Template, for a device's language. The emitted text is a product: readable, one load, the chain in
 * registers, one store; the head prints the canonical expression and how to make it again. */
#ifndef KF_EMIT_H
#define KF_EMIT_H

#include "compiler/plan.h"
#include "registry/template.h"

/* CUDA C++ for NVRTC and nvcc. Knobs VEC BLOCK UNROLL GRID INDEX(scheme). Entry NAME and its scalar twin
 * NAME_scalar with the same parameters, for pointers not aligned to `16 bytes or VEC elements`. */
const Template *emit_cuda(Arena *arena, const Plan *plan);
/* C for the host compiler (GCC vector extensions, machine's widest vectors, tails through the same code).
 * Knobs BLOCK UNROLL THREADS STREAM INDEX. Entry: void NAME(void *const *args, int64_t part, int64_t parts),
 * args[i] pointing at the value of parameter i as cuLaunchKernel's do. */
const Template *emit_c(Arena *arena, const Plan *plan);

/* The streaming kernel that measures the roof: `reads` and `writes` arrays of the given bytes each, same
 * parameters as a kernel of that many arrays. */
const Template *emit_stream(Arena *arena, const char *language, uint32_t reads, uint32_t writes);

/* Expression text of one operation in a language, for `kfuse ops NAME`. */
typedef struct EmitLanguage
    EmitLanguage; /* emit.c's table: spelling of types, operators, functions */
extern const EmitLanguage emit_language_cuda, emit_language_c;
/* The body's statements "float t3 = t1 + t2;", for whatever variable type the language has. */
void emit_body(Text *out, const Plan *plan, const EmitLanguage *language, int indent);

#endif
