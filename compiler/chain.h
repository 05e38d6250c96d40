/* Chain: a program as kernels one after another. What a framework without fusion runs, one kernel
 * for each operation, is one (eager.h); every way in which fuse cuts a program is another. A step is
 * a program of its own: it is planned, emitted, judged and tuned like any other. */
#ifndef KF_CHAIN_H
#define KF_CHAIN_H

#include "compiler/kernel.h"

typedef enum Place { PLACE_INPUT, PLACE_OUTPUT, PLACE_TEMPORARY } Place;

typedef struct Ref {
    Place place;
    uint32_t index; /* Ir.inputs or Ir.outputs of the whole program, or Chain.temporaries */
} Ref;

typedef struct Step {
    const char *label; /* "add", "relu" */
    const Ir *ir;      /* inputs and outputs in the order of `inputs` and `outputs` */
    ARRAY(Ref) inputs;
    ARRAY(Ref) outputs;
    Kernels kernels; /* that compute it; an eager chain has found none yet */
} Step;

typedef struct Chain {
    const char *name;           /* "fewest kernels" */
    ARRAY(Step) steps;          /* in order */
    ARRAY(int64_t) temporaries; /* bytes each; one may hold several values, one after another */
    int64_t bytes;              /* moved by all steps, each distinct element of a step once */
} Chain;

typedef struct Chains {
    ARRAY(const Chain *) list;
} Chains;

/* The whole program as one step. */
Step chain_whole(Arena *arena, const Ir *ir);
/* Buffer of a reference: the whole program's inputs, then its outputs, then the temporaries. */
uint32_t chain_buffer(const Ir *whole, Ref ref);
/* The same of a step's own: its inputs, its outputs, then what its kernel's workspace is, which comes
 * `before` other temporaries of the run. */
uint32_t chain_rename(const Ir *whole, const Step *step, uint32_t before, uint32_t buffer);

#endif
