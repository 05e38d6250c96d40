/* Plan: a group as one loop nest over a collapsed index space. What the emitters need and nothing else:
 * which arrays are read and written with which strides, the values in order, the scalars. Shapes are
 * run-time arguments of the kernel; what is compiled in is the rank after collapsing, each array's class,
 * the index width and the compute type. */
#ifndef KF_PLAN_H
#define KF_PLAN_H

#include "compiler/fuse.h"
#include "registry/space.h"

typedef enum AccessClass {
    ACCESS_DENSE,   /* offset is the linear index */
    ACCESS_ROWS,    /* unit stride inside a row, any stride between rows (0 included) */
    ACCESS_SPLAT,   /* one value a row: inner stride 0 */
    ACCESS_SCALAR,  /* one value */
    ACCESS_STRIDED, /* any other inner stride */
} AccessClass;

typedef struct Access {
    const char *name;   /* private name in generated code: in_x, out_y */
    const char *user;   /* the user's */
    DType dtype;
    AccessClass class;
    int64_t stride[RANK_MAX]; /* in elements, per collapsed axis */
    uint32_t slot;      /* Ir.inputs or Ir.outputs index */
    Value value;        /* the IR_INPUT (or transposed input) read, or the value stored */
    bool alias;         /* this output updates an input that the group reads, in place */
} Access;

typedef struct PlanScalar {
    const char *name; /* private: s_eps */
    Value value;      /* the IR_CAST of a WEAK value that depends on a param */
    DType dtype;      /* of the argument: compute type or i64 */
} PlanScalar;

typedef struct Plan {
    const Ir *ir;
    const char *name;   /* entry's stem, from the canonical expression: kf_relu_add */
    uint32_t rank;      /* after collapsing; 0: a single element */
    int64_t extent[RANK_MAX];
    int64_t count;      /* product; 0: nothing to launch */
    ARRAY(Access) loads;
    ARRAY(Access) stores;
    ARRAY(PlanScalar) scalars;
    ARRAY(Value) body;  /* needed values in order, inputs and constants left out */
    DType compute;
    bool index64;       /* the largest byte offset used does not fit 31 bits */
    int64_t bytes_read, bytes_written; /* compulsory traffic: each distinct element once */
    Bindings bindings;  /* sizes and strides by the names the template's args use */
} Plan;

Plan *plan(Arena *arena, const Ir *ir, const Group *group);
/* The same kernel at another shape: `ir` is the same program with other extents (the gate's edges, a bucket's
 * other shapes); axes are collapsed as in `like`, whatever they are here. NULL if a class does not hold: an
 * array that `like` reads densely is not dense here, say. */
Plan *plan_like(Arena *arena, const Plan *like, const Ir *ir);
/* The layout class: everything the emitted text depends on besides the Ir. Part of the key. */
void plan_class_print(Text *out, const Plan *plan);
/* `kfuse dump --plan`. */
void plan_print(Text *out, const Plan *plan);

#endif
