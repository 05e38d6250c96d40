/* Ir: a program as one array of values in SSA form. Values are 32-bit indices; a value's operands
 * come before it; equal values are one (hash-consing), which is common-subexpression elimination
 * for free.
 *
 * Types: node.type.dtype is the language's type of the value. Floating values of f16, bf16 and f32
 * are computed in `compute` (f32, or f64 when the program has an f64 anywhere) and NOT rounded to
 * their type between operations: only IR_CAST rounds, and the store to an output does. A WEAK value
 * is a real number known on the host (literals, params, and what is computed from them alone; a
 * comparison is 0 or 1), computed in double; IR_CAST from WEAK is where it meets the others: to a
 * floating type, the value is rounded once to the COMPUTE type's precision (an explicit f16(eps) is
 * a second IR_CAST behind it), to an integer or bool it is converted as any cast. Broadcasting is
 * implicit: an operand's shape broadcasts to the node's, an output's value to the output's.
 *
 * Operands of a primitive: all floating (of any widths), or all of the node's integer type, or all
 * WEAK; comparisons likewise among their operands; NOT, AND, OR and SELECT's condition are bool.
 * IR_CAST to a floating type has a floating (or WEAK) operand: integers pass an IR_CONVERT first.
 * Reductions and IR_MATMUL accumulate in their own type (at least f32); mean, var: operand
 * floating. Integers wrap in their own type; x // 0 and x % 0 are 0. Of floats, a // b is
 * floor(a/b), rounded twice; a % b is r = fmod(a, b), plus b where r != 0 and r, b differ in sign.
 */
#ifndef KF_IR_H
#define KF_IR_H

#include "compiler/base/source.h"
#include "compiler/table.h"
#include "compiler/type.h"
#include "registry/registry.h"

typedef uint32_t Value; /* index into Ir.nodes; 0 is none */

typedef enum IrOp {
    IR_NONE,
    IR_CONST,     /* scalar: real (WEAK and FLOAT) or whole (integers, bool) */
    IR_INPUT,     /* index into Ir.inputs */
    IR_PARAM,     /* WEAK scalar, index into Ir.params */
    IR_CAST,      /* a rounded to type.dtype, half to even, saturated for integers; or WEAK to it */
    IR_CONVERT,   /* integer or bool a as a float in the compute type, or as a wider integer */
    IR_TRANSPOSE, /* last two axes of a swapped */
    IR_BROADCAST, /* a in another shape, by right-aligned axes: broadcast to it, or without leading
                     axes of extent 1 */
    IR_MATMUL,    /* a @ b, NumPy's rule, batched */
    IR_SUM,       /* IR_SUM + Reduction: reduces a over `axes`, each kept as size 1 */
    IR_PROD,
    IR_MAX,
    IR_MIN,
    IR_MEAN,
    IR_VAR,
    IR_CALL, /* a registry call: a is its inlined body; list[first, first + argc) its arguments */
    IR_PRIMITIVE, /* IR_PRIMITIVE + Primitive or NearForm: an operation on args */
} IrOp;

/* Neighbouring axes, counted from the left: first <= axis < end. */
typedef struct AxisRange {
    int32_t first, end;
} AxisRange;
static inline bool axes_have(AxisRange axes, uint32_t axis) {
    return (int32_t)axis >= axes.first && (int32_t)axis < axes.end;
}

typedef struct IrNode {
    uint16_t op;    /* IrOp, or IR_PRIMITIVE + Primitive or NearForm */
    uint16_t count; /* operands in arg (IR_CALL: 1) */
    Type type;
    Value arg[3];
    union {
        double real;
        int64_t whole; /* of a WEAK primitive: 1 if it is surely a whole number; of a bool one: the
                          DType of what it compares, which numbers chosen by it take */
        uint32_t index;
        AxisRange axes;
        struct {
            const Function *function;
            uint32_t first, argc;
        };
    };
    Span span; /* in the program's source; not part of equality */
} IrNode;

typedef struct IrInput {
    const char *name;
    Type type;
    int64_t strides[RANK_MAX]; /* in elements; 0 is broadcast, negative allowed */
    int32_t updated_by;        /* output that updates it in place, or -1 */
    Value value;
} IrInput;

typedef struct IrOutput {
    const char *name;
    Type type;                 /* as stored */
    int64_t strides[RANK_MAX]; /* row-major unless the caller gives others */
    Value value;               /* type.dtype is the storage type: an IR_CAST where they differ */
    int32_t updates;           /* input it updates in place, or -1 */
} IrOutput;

typedef struct IrParam {
    const char *name;
    double value;
    double usual; /* what the program's text says; 1 where that is a matter of shapes */
    bool whole;   /* its default is a whole number: it may meet integers */
    bool counts;  /* elements of an array: nobody gives it, and it is another at another shape */
} IrParam;

typedef struct Ir {
    Arena *arena;
    const Source *source;
    ARRAY(IrNode) nodes; /* [0] is IR_NONE */
    ARRAY(Value) list;
    ARRAY(IrInput) inputs;
    ARRAY(IrOutput) outputs;
    ARRAY(IrParam) params;
    DType compute; /* DT_F32 or DT_F64 */
    bool fast;     /* fast.h has been over it */
    Table table;   /* hash-consing, owned by ir.c */
} Ir;

Ir *ir_open(Arena *arena, const Source *source);
/* Empty, for another form of the same program. */
Ir *ir_like(Arena *arena, const Ir *ir);
/* The value equal to `node`, added if new. */
Value ir_value(Ir *ir, IrNode node);
/* The same where it is there already, else 0. */
Value ir_find(const Ir *ir, const IrNode *node);
static inline DType ir_dtype(const Ir *ir, Value value) {
    return ir->nodes.data[value].type.dtype;
}
static inline const IrNode *ir_node(const Ir *ir, Value value) {
    return &ir->nodes.data[value];
}
static inline bool ir_is_primitive(const IrNode *node) {
    return node->op >= IR_PRIMITIVE;
}
static inline Primitive ir_primitive(const IrNode *node) {
    return (Primitive)(node->op - IR_PRIMITIVE);
}
static inline bool ir_is(const Ir *ir, Value value, Primitive primitive) {
    return ir_node(ir, value)->op == IR_PRIMITIVE + (uint32_t)primitive;
}
/* What it means: near forms as what they stand for. */
static inline Primitive ir_meaning(const IrNode *node) {
    return primitive_plain(ir_primitive(node));
}
const char *ir_op_name(const IrNode *node);

/* Builders: infer shape and type, insert IR_CONVERT, fold constants. Operand shapes must fit, and
 * whole numbers the integer type they meet (lower checks). */
Value ir_real(Ir *ir, double value); /* WEAK constant */
Value ir_const(Ir *ir, DType type, Scalar value);
/* The language's bf16(a): rounds there, for good. */
Value ir_cast(Ir *ir, DType type, Value a, Span span);
/* `a` as an operand in `type`: unchanged if both float, else converted; not rounded to `type`. */
Value ir_operand(Ir *ir, DType type, Value a, Span span);
/* The type that the operands of `primitive` take by language.md's promotion, before ir_apply does
 * it. WEAK: all are numbers; bool: conditions. Two numbers as a select's arms take the type that
 * its condition compares (`x > 0 ? 1 : 0` has x's type). */
DType ir_operand_type(const Ir *ir, Primitive primitive, const Value *args, uint32_t count);
Value ir_apply(Ir *ir, Primitive primitive, const Value *args, uint32_t count, Span span);
/* a ** b: a small whole constant b multiplies (POWER_MAX for floats, any b >= 0 for integers), else
 * pow. */
Value ir_power(Ir *ir, Value a, Value b, Span span);
enum { POWER_MAX = 16 };
/* Sums and products of integers are i64, mean and var of integers f32. */
Value ir_reduce(Ir *ir, Reduction reduction, Value a, AxisRange axes, Span span);
/* A computed operand that is narrower than the compute type is rounded to its own (an IR_CAST): a
 * product reads stored arrays. */
Value ir_matmul(Ir *ir, Value a, Value b, Span span);
Value ir_transpose(Ir *ir, Value a, Span span);
/* `a`, not WEAK, in the shape of `shape`, which has no other use; see IR_BROADCAST. */
Value ir_broadcast(Ir *ir, Value a, const Type *shape, Span span);
/* Whether IR_BROADCAST takes `from` to `to`. */
bool ir_can_broadcast(const Type *from, const Type *to);
/* Params, inputs and outputs of `from`, with values as `map` has them. */
void ir_copy_interface(Ir *to, const Ir *from, const Value *map);
/* `node`, or the constant it folds to. */
Value ir_finish(Ir *ir, IrNode node);

/* Whether an input, output or param has the name. */
bool ir_is_taken(const Ir *ir, const char *name);
/* A WEAK value that is a whole number whatever the params' values (whole params stay whole). */
bool ir_is_whole(const Ir *ir, Value value);
/* The double value of a WEAK value under the program's params; of all of them, by Value. */
double ir_weak(const Ir *ir, Value value);
const double *ir_weak_values(const Ir *ir, Arena *arena);

/* How often each value is read, by values and outputs: uses[] of as many as there are nodes, zero
 * on entry. */
void ir_count_uses(const Ir *ir, uint32_t *uses);
/* The values that outputs need, and all inputs and params, as a new Ir; IR_CALL replaced by its
 * body where `inline_calls`. */
Ir *ir_copy(Arena *arena, const Ir *ir, bool inline_calls);

/* A value a line, "%3 = add f32[4096x4096] %1 %2": `kfuse dump --ir`. `canonical` is what keys are
 * hashed from: inputs, outputs and params by position, params without values, and of an extent only
 * whether it is 1 ("f32[*x1]"), so that the sizes of one bucket share a key. */
void ir_print(Text *out, const Ir *ir, bool canonical);

/* As bytes for a worker of the same binary, and back. IR_CALL nodes are replaced by their bodies.
 * NULL if the bytes are damaged. */
void ir_write(Text *out, const Ir *ir);
Ir *ir_read(Arena *arena, const void *bytes, size_t length);

#endif
