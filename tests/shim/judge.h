/* Judging on the shim, or on another device: points of a kernel go through the gate as in a measuring worker, on its
 * edges and on the whole problem, and may touch nothing but their tensors. */
#ifndef SHIM_JUDGE_H
#define SHIM_JUDGE_H

#include "compiler/kernel.h"
#include "tuner/device.h"

typedef struct Unit { /* of points that are compiled together */
    const char *label, *source;
    Text binary;
    Why why;
} Unit;

/* A point: its runs at the program's shape and at the gate's edges (without launches where it
 * cannot run). */
typedef struct Trial {
    const char *label;
    uint32_t unit;
    Run run;
    const Run *edge_runs;
} Trial;

typedef struct Subject {
    const Device *device;
    const char *label;
    const Ir *ir;
    ARRAY(Unit) units;
    ARRAY(Trial) trials;
    uint32_t edge_count;
} Subject;

typedef struct Subjects {
    const Device *device; /* NULL: the shim */
    ARRAY(Subject) list;
} Subjects;

typedef struct JudgeCounts {
    uint32_t programs, points, edges;
} JudgeCounts;

/* A kernel of `ir` at its default point and at about `sample` others that are legal here, taken by
 * `seed`; of all these, those `where` some knobs have values, "KEEP=3", if it is not NULL. Clusters are
 * left out. */
void subject_add(Arena *arena, Subjects *subjects, const char *label, const Ir *ir,
                 const Kernel *kernel, const char *where, uint32_t sample, uint64_t seed);
/* All units at once. False with the first complaint. */
bool judge_compile(Subjects *subjects, Why *why);
/* Compiled ones. False with what is wrong. */
bool judge_all(Subjects *subjects, JudgeCounts *counts, Why *why);

#endif
