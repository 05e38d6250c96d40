/* Part: some of a program's values as a program of its own. */
#ifndef KF_PART_H
#define KF_PART_H

#include "compiler/chain.h"

/* A value that a kernel writes: an output of the program, or kept for kernels behind it. */
typedef struct Root {
    Value value;
    int32_t output; /* of the program, or -1 */
} Root;

typedef struct Roots {
    ARRAY(Root) list;
} Roots;

/* Where kernels find values that others left them; by Value, `kept` says which those are. */
typedef struct Cuts {
    bool *kept;
    Ref *where; /* of a kept value: a temporary, numbered as the caller likes, or an output */
} Cuts;

/* The storage type of a kept value: its own where it is rounded to that, else the compute type, so
 * that cutting changes no bit but where a kernel knows a value better than its type: a row's mean. */
DType part_storage(const Ir *ir, Value value);
/* The values that computing `value` takes, itself included, back to inputs and kept values, which
 * are marked too. Adds to `cone`, by Value. */
void part_cone(const Ir *ir, const Cuts *cuts, Value value, bool *cone);
/* The step that computes `roots` from inputs of the program and kept values; outputs are the roots
 * in order. Its label, kernels and text are not filled in. */
Step part_extract(Arena *arena, const Ir *ir, const Cuts *cuts, const Roots *roots);
/* The text that its kernels are named after. */
void part_text(Arena *arena, Step *step);

#endif
