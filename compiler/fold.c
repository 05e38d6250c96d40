/* Constants in, constants out. One idea: WEAK numbers are folded in double with the host's
 * functions (they never exist on a device); typed ones only where the operation is exact or
 * correctly rounded. */
#include "compiler/fold.h"

#include <math.h>
#include <stdlib.h>

static double modulo(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double fused(const double *a, DType compute) {
    return compute == DT_F32 ? (double)fmaf((float)a[0], (float)a[1], (float)a[2])
                             : fma(a[0], a[1], a[2]);
}

double fold_real(Primitive primitive, const double *a, DType compute) {
    switch (primitive_plain(primitive)) {
    case P_NEG: return -a[0];
    case P_NOT: return !(a[0] != 0);
    case P_ADD: return a[0] + a[1];
    case P_SUB: return a[0] - a[1];
    case P_MUL: return a[0] * a[1];
    case P_DIV: return a[0] / a[1];
    case P_FLOORDIV: return floor(dtype_round(compute, a[0] / a[1]));
    case P_MOD: return modulo(a[0], a[1]);
    case P_LT: return a[0] < a[1];
    case P_LE: return a[0] <= a[1];
    case P_GT: return a[0] > a[1];
    case P_GE: return a[0] >= a[1];
    case P_EQ: return a[0] == a[1];
    case P_NE: return a[0] != a[1];
    case P_AND: return a[0] != 0 && a[1] != 0;
    case P_OR: return a[0] != 0 || a[1] != 0;
    case P_SELECT: return a[0] != 0 ? a[1] : a[2];
    case P_FABS: return fabs(a[0]);
    case P_FLOOR: return floor(a[0]);
    case P_CEIL: return ceil(a[0]);
    case P_TRUNC: return trunc(a[0]);
    case P_ROUND: return rint(a[0]);
    case P_SQRT: return sqrt(a[0]);
    case P_FMAX: return fmax(a[0], a[1]);
    case P_FMIN: return fmin(a[0], a[1]);
    case P_FMOD: return fmod(a[0], a[1]);
    case P_COPYSIGN: return copysign(a[0], a[1]);
    case P_FMA: return fused(a, compute);
    case P_EXP: return exp(a[0]);
    case P_EXP2: return exp2(a[0]);
    case P_EXPM1: return expm1(a[0]);
    case P_LOG: return log(a[0]);
    case P_LOG2: return log2(a[0]);
    case P_LOG10: return log10(a[0]);
    case P_LOG1P: return log1p(a[0]);
    case P_SIN: return sin(a[0]);
    case P_COS: return cos(a[0]);
    case P_TAN: return tan(a[0]);
    case P_ASIN: return asin(a[0]);
    case P_ACOS: return acos(a[0]);
    case P_ATAN: return atan(a[0]);
    case P_SINH: return sinh(a[0]);
    case P_COSH: return cosh(a[0]);
    case P_TANH: return tanh(a[0]);
    case P_ERF: return erf(a[0]);
    case P_ERFC: return erfc(a[0]);
    case P_CBRT: return cbrt(a[0]);
    case P_POW: return pow(a[0], a[1]);
    case P_ATAN2: return atan2(a[0], a[1]);
    case P_HYPOT: return hypot(a[0], a[1]);
    case PRIMITIVE_COUNT: break;
    }
    abort();
}

static int64_t floor_quotient(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_remainder(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t exact_whole(Primitive primitive, const int64_t *a) {
    uint64_t x = (uint64_t)a[0];
    switch (primitive) {
    case P_NEG: return (int64_t)(0 - x);
    case P_FABS: return a[0] < 0 ? (int64_t)(0 - x) : a[0];
    case P_ADD: return (int64_t)(x + (uint64_t)a[1]);
    case P_SUB: return (int64_t)(x - (uint64_t)a[1]);
    case P_MUL: return (int64_t)(x * (uint64_t)a[1]);
    case P_FLOORDIV: return floor_quotient(a[0], a[1]);
    case P_MOD: return floor_remainder(a[0], a[1]);
    case P_FMAX: return a[0] > a[1] ? a[0] : a[1];
    case P_FMIN: return a[0] < a[1] ? a[0] : a[1];
    case P_LT: return a[0] < a[1];
    case P_LE: return a[0] <= a[1];
    case P_GT: return a[0] > a[1];
    case P_GE: return a[0] >= a[1];
    case P_EQ: return a[0] == a[1];
    case P_NE: return a[0] != a[1];
    case P_NOT: return a[0] == 0;
    case P_AND: return a[0] != 0 && a[1] != 0;
    case P_OR: return a[0] != 0 || a[1] != 0;
    case P_SELECT: return a[0] != 0 ? a[1] : a[2];
    default: abort(); /* the builders give the others floating operands */
    }
}

int64_t fold_whole(Primitive primitive, DType type, const int64_t *a) {
    return dtype_wrap(type, exact_whole(primitive, a));
}

static int64_t saturate_whole(DType type, int64_t value) {
    const DTypeInfo *info = dtype_info(type);
    if (type == DT_BOOL) return value != 0;
    return value < info->low ? info->low : value > info->high ? info->high : value;
}

static Scalar fold_cast(DType compute, const IrNode *node, const IrNode *a) {
    DType to = node->type.dtype, from = a->type.dtype;
    bool real = from == DT_WEAK || dtype_is_float(from);
    if (dtype_is_float(to) && from == DT_WEAK)
        return (Scalar){.real = dtype_round(compute, a->real)};
    if (dtype_is_float(to) && real) return (Scalar){.real = dtype_round(to, a->real)};
    if (dtype_is_float(to)) return (Scalar){.real = dtype_round_l(compute, (long double)a->whole)};
    return (Scalar){.whole = real ? dtype_saturate(to, a->real) : saturate_whole(to, a->whole)};
}

static Scalar fold_reals(DType compute, const IrNode *node, const double *a) {
    double real = fold_real(ir_primitive(node), a, compute);
    if (node->type.dtype == DT_BOOL) return (Scalar){.whole = real != 0};
    return (Scalar){.real = node->type.dtype == DT_WEAK ? real : dtype_round(compute, real)};
}

/* The operand that decides how the node computes: a select's condition does not. */
static DType operand_type(const Ir *ir, const IrNode *node) {
    return ir_dtype(ir, node->arg[ir_primitive(node) == P_SELECT ? 1 : 0]);
}

static bool fold_primitive(const Ir *ir, const IrNode *node, Scalar *value) {
    double real[3];
    int64_t whole[3];
    DType type = operand_type(ir, node);
    for (uint32_t i = 0; i < node->count; i++) {
        const IrNode *a = ir_node(ir, node->arg[i]);
        bool is_real = a->type.dtype == DT_WEAK || dtype_is_float(a->type.dtype);
        real[i] = is_real ? a->real : (double)a->whole;
        whole[i] = is_real ? 0 : a->whole;
    }
    if (type == DT_WEAK)
        *value = fold_reals(DT_F64, node, real);
    else if (dtype_is_float(type))
        *value = fold_reals(ir->compute, node, real);
    else
        value->whole = fold_whole(ir_primitive(node), node->type.dtype, whole);
    return type == DT_WEAK || !primitive_errs(ir_primitive(node));
}

bool fold_node(const Ir *ir, const IrNode *node, Scalar *value) {
    for (uint32_t i = 0; i < node->count; i++)
        if (ir_node(ir, node->arg[i])->op != IR_CONST) return false;
    if (node->op == IR_CAST || node->op == IR_CONVERT) {
        *value = fold_cast(ir->compute, node, ir_node(ir, node->arg[0]));
        return true;
    }
    return ir_is_primitive(node) && fold_primitive(ir, node, value);
}
