/* Cones: everything one value needs that is elementwise, as a list of steps over blocks. A cone's
 * leaves are views: inputs, values that were materialised before, and matrix products, which are
 * computed where they are asked for. The machine holds what the cones of one program share. */
#ifndef KF_EVAL_CONE_H
#define KF_EVAL_CONE_H

#include "compiler/eval_block.h"

/* A value's elements somewhere: strides in elements over its own shape. */
typedef struct View {
    Value base; /* IR_INPUT, IR_MATMUL, or a materialised value */
    Type type;
    int64_t stride[RANK_MAX];
} View;

/* How a matrix product finds its operands: element (batch, row, column) of row-major order. */
typedef struct Product {
    View a, b;
    int64_t rows, columns, depth;
    uint32_t batch_rank;
    int64_t batch[RANK_MAX], a_batch[RANK_MAX], b_batch[RANK_MAX];
    int64_t a_row, a_depth, b_depth, b_column;
    bool fractions; /* of real operands: not all are whole numbers */
} Product;

/* A run of elements whose leaves advance by one stride each. */
typedef struct Run {
    int64_t at, count; /* in the block */
    int64_t coordinate[RANK_MAX];
} Run;

/* One thread's memory, fitted to the cone that used it last. */
typedef struct Work {
    const struct Cone *cone;
    void *bytes;
    Block *slots;
    Run *runs;
    uint8_t *ambiguous;
    Block row, column; /* of a product */
    Products products;
} Work;

typedef struct Machine {
    const Ir *ir;
    const void *const *inputs;
    Accuracy accuracy;
    bool chain; /* the compute type's eager chain instead of intervals */
    const BlockKernel *kernel;
    Arena *arena;
    Team *team;
    int threads;
    Value *body;        /* calls replaced by their bodies */
    Value *alias;       /* broadcasts too by what they read: an element's index tells where */
    const double *weak; /* values of WEAK nodes */
    Block **tensors;    /* materialised values in row-major order, NULL for others */
    Product **products;
    Work *works; /* per thread */
    size_t work_bytes;
    uint32_t work_slots;
} Machine;

typedef struct Cone {
    const Machine *machine;
    uint32_t rank; /* after collapsing, at least 1 */
    int64_t dim[RANK_MAX], count;
    ARRAY(struct ConeStep) steps;
    uint32_t slots, root; /* slot of the result */
    int64_t step;         /* elements a block holds at most */
} Cone;

typedef enum ConeKind { CONE_APPLY, CONE_VIEW, CONE_CONSTANT } ConeKind;
typedef struct ConeStep {
    ConeKind kind;
    BlockStep apply; /* out and type hold for all kinds */
    View view;       /* stride over the cone's dimensions */
    Scalar constant;
} ConeStep;

/* Elements that a cone is asked for: an arithmetic progression, or a list. */
typedef struct Wanted {
    int64_t begin, stride;
    const int64_t *list;
    int64_t count; /* at most the cone's step */
} Wanted;

/* All but memory: `inputs` may be NULL for a machine that only plans. */
void machine_open(Machine *machine, const Ir *ir, const void *const *inputs, Accuracy accuracy,
                  Arena *arena);
/* The value an output rounds to its type: figures want it before an IR_CAST that does no more than
 * the store. */
Value machine_output(const Machine *machine, uint32_t output);

/* The cone of `root` over `shape`, to be read, not run. */
Cone *cone_plan(Machine *machine, Value root, const Type *shape);
/* The same, ready to run; NULL when out of memory. Grows the machine's works, so: not while they
 * run. */
Cone *cone_open(Machine *machine, Value root, const Type *shape);
/* The root's elements, valid until the thread's next call. */
const Block *cone_run(const Cone *cone, int thread, Wanted wanted);
const uint8_t *cone_ambiguous(const Cone *cone, int thread);

/* Where `value` lies without computing anything; false if it is to be computed. */
bool view_find(const Machine *machine, Value value, View *view);
void view_load(const Machine *machine, const View *view, Block *out, int64_t at, int64_t offset,
               int64_t stride, int64_t count);

/* Where the product `value` finds its operands (which are views); and what they hold. */
void product_find(Machine *machine, Value value);
void product_open(Machine *machine, Value value);
void product_run(const Machine *machine, Work *work, Value value, Block *out, int64_t at,
                 int64_t offset, int64_t stride, int64_t count);

/* Which values must exist in full before others are computed. */
bool *tensors_find(const Machine *machine, Arena *arena);
/* Everything that must exist in full: reductions, what they and products read through, in order.
 * False when out of memory. */
bool tensors_open(Machine *machine);
void tensors_close(Machine *machine);

#endif
