/* Ir: a program as one array of values in SSA form. Values are 32-bit indices; a value's operands come
 * before it; equal values are one (hash-consing), which is common-subexpression elimination for free.
 *
 * Types: node.type.dtype is the language's type of the value. Floating values of f16, bf16 and f32 are
 * computed in `compute` (f32, or f64 when the program has an f64 anywhere) and NOT rounded to their type
 * between operations: only IR_CAST rounds, and the store to an output does. A WEAK value is a real
 * number known on the host (literals and params), computed in double; IR_CAST from WEAK is where it meets
 * the others, rounded once to the compute type.
 * Broadcasting is implicit: an operand's shape broadcasts to the node's. */
#ifndef KF_IR_H
#define KF_IR_H

#include "compiler/base/source.h"
#include "compiler/type.h"
#include "registry/registry.h"

typedef uint32_t Value; /* index into Ir.nodes; 0 is none */

typedef enum IrOp {
    IR_NONE,
    IR_CONST,     /* scalar: real (WEAK and FLOAT) or whole (integers, bool) */
    IR_INPUT,     /* index into Ir.inputs */
    IR_PARAM,     /* WEAK scalar, index into Ir.params */
    IR_CAST,      /* a, rounded/saturated to type.dtype: explicit casts, stores, WEAK to a type */
    IR_CONVERT,   /* an integer or bool a as a float in the compute type, an integer a in a wider one */
    IR_TRANSPOSE, /* last two axes of a swapped */
    IR_MATMUL,    /* a @ b, NumPy's rule, batched */
    IR_SUM, IR_PROD, IR_MAX, IR_MIN, IR_MEAN, IR_VAR, /* reduce a over `axis`, kept as size 1 */
    IR_CALL,      /* a registry call: value a is its inlined body; list[first..first+count) its arguments */
    IR_PRIMITIVE, /* IR_PRIMITIVE + Primitive: an operation on args */
} IrOp;

enum { AXIS_ALL = -1 }; /* else the axis counted from the left */

typedef struct IrNode {
    uint16_t op; /* IrOp, or IR_PRIMITIVE + Primitive */
    uint16_t count; /* operands in arg (IR_CALL: 1) */
    Type type;
    Value arg[3];
    union {
        double real;
        int64_t whole;
        uint32_t index;
        int32_t axis;
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
    bool whole; /* its default is a whole number: it may meet integers */
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
    void *table;   /* hash-consing, owned by ir.c */
} Ir;

Ir *ir_open(Arena *arena, const Source *source);
/* The value equal to `node`, added if new. */
Value ir_value(Ir *ir, IrNode node);
static inline const IrNode *ir_node(const Ir *ir, Value value) {
    return &ir->nodes.data[value];
}
static inline bool ir_is_primitive(const IrNode *node) {
    return node->op >= IR_PRIMITIVE;
}
static inline Primitive ir_primitive(const IrNode *node) {
    return (Primitive)(node->op - IR_PRIMITIVE);
}
const char *ir_op_name(const IrNode *node);

/* Builders: infer shape and type, insert IR_CONVERT, fold constants. Operand types must fit (lower checks). */
Value ir_real(Ir *ir, double value); /* WEAK constant */
Value ir_const(Ir *ir, DType type, Scalar value);
Value ir_cast(Ir *ir, DType type, Value a, Span span);
/* Promotes operands to one type as language.md says, then applies. */
Value ir_apply(Ir *ir, Primitive primitive, const Value *args, uint32_t count, Span span);
/* The double value of a WEAK value under the program's params. */
double ir_weak(const Ir *ir, Value value);

/* A value a line, "%3 = add f32[4096x4096] %1 %2": `kfuse dump --ir`; the canonical text that keys are
 * hashed from when `canonical` (no spans, no source names; inputs by position, params without values). */
void ir_print(Text *out, const Ir *ir, bool canonical);

/* As bytes for a worker of the same binary, and back. IR_CALL nodes are replaced by their bodies. NULL if
 * the bytes are damaged. */
void ir_write(Text *out, const Ir *ir);
Ir *ir_read(Arena *arena, const void *bytes, size_t length);

#endif
