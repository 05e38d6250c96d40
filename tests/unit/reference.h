/* For tests of emitters: what a program gives, one element at a time, straight from its Ir, by the
 * host's scalar arithmetic and libm. Slow, short, and written independently of plan and emit. */
#ifndef TEST_REFERENCE_H
#define TEST_REFERENCE_H

#include <math.h>

#include "compiler/fold.h"
#include "planned.h"

typedef struct Reference {
    const Ir *ir;
    uint8_t *const *inputs; /* element 0 of each */
    Scalar *value;
    int64_t coordinate[RANK_MAX];
    uint32_t rank;
} Reference;

static inline Scalar reference_input(const Reference *r, Value value) {
    bool swap = false;
    const IrNode *node = ir_node(r->ir, value);
    for (; node->op == IR_TRANSPOSE; node = ir_node(r->ir, node->arg[0])) swap = !swap;
    const IrInput *input = &r->ir->inputs.data[node->index];
    int64_t at[RANK_MAX], offset = 0;
    Type type = ir_node(r->ir, value)->type;
    for (uint32_t i = 0; i < type.rank; i++)
        at[i] = type.dim[i] == 1 ? 0 : r->coordinate[r->rank - type.rank + i];
    for (uint32_t i = 0; i < type.rank; i++)
        if (at[i] >= type.dim[i]) return (Scalar){0}; /* it is read transposed alone */
    for (uint32_t i = 0; i < type.rank; i++) {
        uint32_t axis = swap && i + 2 >= type.rank ? 2 * type.rank - 3 - i : i;
        offset += at[i] * input->strides[axis];
    }
    return dtype_load(input->type.dtype,
                      r->inputs[node->index] + offset * dtype_info(input->type.dtype)->bytes);
}

static inline Scalar reference_cast(const Ir *ir, DType to, Value a, Scalar x) {
    DType from = ir_dtype(ir, a);
    bool real = from == DT_WEAK || dtype_is_float(from);
    if (from == DT_WEAK) x.real = ir_weak(ir, a);
    if (dtype_is_float(to)) {
        DType type = from == DT_WEAK ? ir->compute : to;
        return (Scalar){.real = real ? dtype_round(type, x.real)
                                     : dtype_round_l(ir->compute, (long double)x.whole)};
    }
    if (real) return (Scalar){.whole = dtype_saturate(to, x.real)};
    if (to == DT_BOOL) return (Scalar){.whole = x.whole != 0};
    const DTypeInfo *info = dtype_info(to);
    return (Scalar){.whole = x.whole < info->low    ? info->low
                             : x.whole > info->high ? info->high
                                                    : x.whole};
}

static inline Scalar reference_primitive(const Reference *r, const IrNode *node) {
    Primitive primitive = ir_primitive(node);
    DType type = ir_dtype(r->ir, node->arg[primitive == P_SELECT]);
    double real[3];
    int64_t whole[3];
    for (uint32_t i = 0; i < node->count; i++) {
        bool is_real = dtype_is_float(ir_dtype(r->ir, node->arg[i]));
        real[i] = is_real ? r->value[node->arg[i]].real : (double)r->value[node->arg[i]].whole;
        whole[i] = is_real ? 0 : r->value[node->arg[i]].whole;
    }
    if (!dtype_is_float(type))
        return (Scalar){.whole = fold_whole(primitive, node->type.dtype, whole)};
    double result = fold_real(primitive, real, r->ir->compute);
    if (node->type.dtype == DT_BOOL) return (Scalar){.whole = result != 0};
    return (Scalar){.real = dtype_round(r->ir->compute, result)};
}

static inline Scalar reference_value(Reference *r, Value wanted) {
    for (Value v = 1; v <= wanted; v++) {
        const IrNode *node = ir_node(r->ir, v);
        Scalar x = {0};
        if (node->type.dtype == DT_WEAK) continue;
        if (node->op == IR_CONST && dtype_is_float(node->type.dtype))
            x.real = node->real;
        else if (node->op == IR_CONST)
            x.whole = node->whole;
        else if (node->op == IR_INPUT || node->op == IR_TRANSPOSE)
            x = reference_input(r, v);
        else if (node->op == IR_BROADCAST)
            x = r->value[node->arg[0]];
        else if (node->op == IR_CAST || node->op == IR_CONVERT)
            x = reference_cast(r->ir,
                               node->op == IR_CONVERT && dtype_is_float(node->type.dtype)
                                   ? r->ir->compute
                                   : node->type.dtype,
                               node->arg[0], r->value[node->arg[0]]);
        else
            x = reference_primitive(r, node);
        r->value[v] = x;
    }
    return r->value[wanted];
}

static inline bool reference_exact(const Ir *ir) {
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        if (ir_is_primitive(node) && primitive_info(ir_primitive(node))->class == CLASS_FUNCTION)
            return false;
    }
    return true;
}

static inline bool reference_same(DType type, Scalar a, Scalar b, bool exact) {
    if (!dtype_is_float(type)) return a.whole == b.whole || !exact;
    if (isnan(a.real) && isnan(b.real)) return true;
    if (a.real == b.real) return !exact || signbit(a.real) == signbit(b.real);
    double unit = ldexp(1, -dtype_info(type == DT_F64 ? DT_F64 : type)->precision);
    return !exact && fabs(a.real - b.real) <= 64 * unit * fmax(fabs(b.real), 1);
}

#endif
