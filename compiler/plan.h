/* Plan: a group as one loop nest over a collapsed index space. What the emitters need and nothing
 * else: which arrays are read and written with which strides, the values in order, the scalars.
 * Where reductions run over axes, those are collapsed among themselves, with at least one axis that
 * is kept outside them (of extent 1 if need be): rows are the collapsed axes but the last, which is
 * the row. A store of one value a row has stride 0 along it.
 * Shapes are run-time arguments of the kernel; what is compiled in is the rank after collapsing,
 * each array's class, the index width and the compute type. */
#ifndef KF_PLAN_H
#define KF_PLAN_H

#include "compiler/group.h"
#include "registry/space.h"

typedef enum AccessClass {
    ACCESS_DENSE,   /* offset is the linear index */
    ACCESS_ROWS,    /* unit stride inside a row, any stride between rows (0 included) */
    ACCESS_SPLAT,   /* one value a row: inner stride 0 */
    ACCESS_SCALAR,  /* one value */
    ACCESS_STRIDED, /* any other inner stride */
} AccessClass;

typedef struct Access {
    const char *name; /* private name in generated code: in_x, out_y; inT_x is x transposed */
    const char *user; /* the user's */
    DType dtype;
    AccessClass class;
    int64_t stride[RANK_MAX]; /* in elements, per collapsed axis */
    uint32_t slot;            /* Ir.inputs or Ir.outputs index */
    Value value;              /* the IR_INPUT (or transposed input) read, or the value stored */
    bool alias; /* an output that updates an input which the group reads, or that input */
} Access;

typedef struct PlanScalar {
    const char *name; /* private: s_eps */
    Value value;      /* the IR_CAST of a WEAK value that depends on a param */
    DType dtype;      /* of the argument: compute type or i64 */
    Scalar argument;  /* its value under the Ir's params */
} PlanScalar;

enum { PLAN_DROPPED = -1 };

typedef struct Plan {
    const Ir *ir;
    const char *name; /* entry's stem, from the canonical expression: kf_add_relu */
    const char *text; /* canonical program, a statement a line; "" if the Ir has no source */
    uint32_t rank;    /* after collapsing, at least 1; with reductions at least 2 */
    uint32_t reduced; /* the collapsed axes that reductions run over, a bit each; 0: elementwise */
    int64_t extent[RANK_MAX];
    int64_t count; /* product; 0: nothing to launch, but results of reductions over nothing */
    ARRAY(Access) loads;
    ARRAY(Access) stores;
    ARRAY(PlanScalar) scalars;
    ARRAY(Value) body; /* needed values in order; inputs, scalars and constants left out */
    DType compute;
    Group group;
    bool index64;                      /* the largest byte offset used does not fit 31 bits */
    int64_t bytes_read, bytes_written; /* compulsory traffic: each distinct element once */
    Bindings bindings;                 /* sizes and strides by the names the template's args use */
    /* How the group's axes collapsed: their order, outermost first, and where each of those went.
     */
    uint32_t full_rank;
    uint32_t order[RANK_MAX];
    int32_t into[RANK_MAX];
} Plan;

/* `group` is what group_find says of `ir`, not GROUP_NONE. */
Plan *plan(Arena *arena, const Ir *ir, const Group *group);
/* The same with the group's last axis as the plan's last, alone, whatever its extent, and what is
 * outside of it as rows: the rank is at least 2. For code that walks rows itself. */
Plan *plan_rows(Arena *arena, const Ir *ir, const Group *group);
/* The same kernel at another shape: `ir` is the same program with other extents (the gate's edges,
 * a bucket's other shapes); axes are collapsed as in `like`, whatever they are here. NULL if a
 * class does not hold: an array that `like` reads densely is not dense here, say. */
Plan *plan_like(Arena *arena, const Plan *like, const Ir *ir);

/* Arguments of the kernel besides arrays, named as in `bindings`: sizes ("kf_n", or "kf_rows"
 * "kf_cols" and from rank 3 on the outer extents "kf_e1" …). "kf_cols_div", "kf_e1_div" … divide by
 * an extent: an i of 31 bits over it is (i * (uint32_t)div) >> (div >> 32) in 64 bits. */
uint32_t plan_sizes(const Plan *plan, Arena *arena, const char **names); /* at most RANK_MAX + 1 */
/* Whether the access' stride of that axis is an argument, which plan_stride_name names
 * "kf_in_x_s0". */
bool plan_stride_given(const Plan *plan, const Access *access, uint32_t axis);
const char *plan_stride_name(Arena *arena, const Access *access, uint32_t axis);
/* A matrix transposed: contiguous down the rows, along the axis before the last. */
bool plan_reads_down(const Plan *plan, const Access *access);
/* The most elements that a plan with indices of 32 bits walks over, where an array of them has this type. */
int64_t plan_index32_elements(DType type);
/* Has one value for each result of a reduction, not one for each element. */
bool plan_is_reduced(const Plan *plan, const Access *access);
/* The scalar that `value` is, or NULL; a constant's value. */
const PlanScalar *plan_scalar(const Plan *plan, Value value);
bool plan_constant(const Plan *plan, Value value, Scalar *constant);

/* The layout class: everything the emitted text depends on besides the Ir. Part of the key. */
void plan_class_print(Text *out, const Plan *plan);
/* `kfuse dump --plan`. */
void plan_print(Text *out, const Plan *plan);

#endif
