/* Judging on the shim: kernels of a program go through the gate as in a measuring worker, on its
 * edges and on the whole problem, and may touch nothing but their tensors. */
#ifndef SHIM_JUDGE_H
#define SHIM_JUDGE_H

#include "tuner/device.h"

/* A point: its runs at the program's shape and at the gate's edges (without launches where the
 * point cannot run). */
typedef struct Trial {
    const char *label;
    Run run;
    const Run *edge_runs;
} Trial;

typedef struct Subject {
    const char *label;
    const Ir *ir;
    const char *source; /* of all its points, one unit */
    ARRAY(Trial) trials;
    uint32_t edge_count;
    Text binary;
    Why why;
} Subject;

typedef struct Subjects {
    ARRAY(Subject) list;
} Subjects;

typedef struct JudgeCounts {
    uint32_t programs, points, edges;
} JudgeCounts;

/* All units at once. False with the first complaint. */
bool judge_compile(Subjects *subjects, Why *why);
/* Compiled ones. False with what is wrong. */
bool judge_all(Subjects *subjects, JudgeCounts *counts, Why *why);

#endif
