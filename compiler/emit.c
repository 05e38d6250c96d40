/* A plan's values in, statements out: `const float t3 = t1 + t2;`. One idea: value %3 is t3 in
 * every language; what C cannot say in one operator (wrapping integers, casts that saturate) is a
 * helper with the same name in every language's prelude. */
#include "compiler/emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/language.h"

ValueKind value_kind(DType type) {
    if (type == DT_BOOL) return VALUE_BOOL;
    if (type == DT_I64) return VALUE_I64;
    return dtype_is_integer(type) ? VALUE_I32 : VALUE_REAL;
}

const char *language_type(const EmitLanguage *language, const Plan *plan, ValueKind kind) {
    return plan->compute == DT_F64 ? language->type_f64[kind] : language->type_f32[kind];
}

const char *language_storage(const EmitLanguage *language, DType type) {
    return strcmp(language->name, "cuda") == 0 ? dtype_info(type)->cuda : dtype_info(type)->c;
}

/* --- operands */

/* Reads back as exactly `value`; never a double literal in an f32 kernel. */
static void print_real(Text *out, DType compute, double value) {
    if (isnan(value))
        text_add(out, "K_NAN");
    else if (isinf(value))
        text_add(out, value < 0 ? "-K_INF" : "K_INF");
    if (!isfinite(value)) return;
    size_t begin = out->length;
    number_print(out, dtype_shorten(compute, value));
    if (!strpbrk(out->data + begin, ".e")) text_add(out, ".0");
    if (compute == DT_F32) text_add(out, "f");
}

void emit_whole(Text *out, ValueKind kind, int64_t value) {
    const char *suffix = kind == VALUE_I64 ? "LL" : "";
    bool lowest = value == (kind == VALUE_I64 ? INT64_MIN : INT32_MIN);
    if (lowest)
        text_printf(out, "(%lld%s - 1)", (long long)(value + 1), suffix);
    else
        text_printf(out, "%lld%s", (long long)value, suffix);
}

static void print_literal(Text *out, const Plan *plan, ValueKind kind, Scalar value) {
    if (kind == VALUE_REAL)
        print_real(out, plan->compute, value.real);
    else if (kind == VALUE_BOOL)
        text_add(out, value.whole ? "1" : "0");
    else
        emit_whole(out, kind, value.whole);
}

static void print_scalar(Text *out, ValueKind kind, const char *name) {
    if (kind == VALUE_I32)
        text_printf(out, "(int)%s", name);
    else if (kind == VALUE_BOOL)
        text_printf(out, "(%s != 0)", name);
    else
        text_add(out, name);
}

static bool is_literal(const Plan *plan, Value value) {
    Scalar constant;
    return plan_scalar(plan, value) || plan_constant(plan, value, &constant);
}

void emit_operand(Text *out, const Plan *plan, const EmitLanguage *language, Value value,
                  bool spread) {
    static const char *const all[] = {"k_all(", "k_all_i32(", "k_all_i64(", "k_all_bool("};
    ValueKind kind = value_kind(ir_dtype(plan->ir, value));
    const PlanScalar *scalar = plan_scalar(plan, value);
    Scalar constant;
    if (!is_literal(plan, value)) {
        text_printf(out, "t%u", value);
        return;
    }
    spread = language->vector && (spread || kind == VALUE_BOOL);
    if (spread) text_add(out, all[kind]);
    if (scalar)
        print_scalar(out, kind, scalar->name);
    else if (plan_constant(plan, value, &constant))
        print_literal(out, plan, kind, constant);
    if (spread) text_add(out, ")");
}

/* --- expressions */

typedef struct Writer {
    Text *out;
    const Plan *plan;
    const EmitLanguage *language;
} Writer;

static const char *kind_word(ValueKind kind) {
    static const char *const words[] = {"real", "i32", "i64", "bool"};
    return words[kind];
}

static ValueKind operand_kind(const Writer *w, Value value) {
    return value_kind(ir_dtype(w->plan->ir, value));
}

static void operand(const Writer *w, Value value, bool spread) {
    emit_operand(w->out, w->plan, w->language, value, spread);
}

static void infix(const Writer *w, Value a, const char *sign, Value b) {
    bool both = is_literal(w->plan, a) && is_literal(w->plan, b);
    operand(w, a, both);
    text_printf(w->out, " %s ", sign);
    operand(w, b, false);
}

static void arguments(const Writer *w, const IrNode *node) {
    text_add(w->out, "(");
    for (uint32_t i = 0; i < node->count; i++) {
        if (i > 0) text_add(w->out, ", ");
        operand(w, node->arg[i], true);
    }
    text_add(w->out, ")");
}

static bool is_comparison(Primitive primitive) {
    return primitive >= P_LT && primitive <= P_NE;
}

static int kind_bytes(const Writer *w, ValueKind kind) {
    bool wide = kind == VALUE_I64 || (kind != VALUE_I32 && w->plan->compute == DT_F64);
    return wide ? 8 : 4;
}

/* A true lane has all bits set, which is -1: the order of truth values is reversed. */
static void compare_vectors(const Writer *w, const IrNode *node, const char *sign) {
    ValueKind kind = operand_kind(w, node->arg[0]);
    bool narrow = kind_bytes(w, kind) != kind_bytes(w, VALUE_BOOL);
    bool swap = kind == VALUE_BOOL;
    if (narrow) text_add(w->out, "k_mask_of(");
    infix(w, node->arg[swap], sign, node->arg[!swap]);
    if (narrow) text_add(w->out, ")");
}

/* max(a, c) and min(a, c) as ops.kf has them, a > c || a != a ? a : c, for a number c that is not 0:
 * one instruction, which of zeros takes another than the formula. */
static const char *extreme(const Writer *w, const IrNode *node) {
    const IrNode *either = ir_node(w->plan->ir, node->arg[0]);
    Scalar bound;
    if (w->language->vector || value_kind(node->type.dtype) != VALUE_REAL ||
        !plan_constant(w->plan, node->arg[2], &bound) || bound.real == 0 || isnan(bound.real) ||
        !ir_is(w->plan->ir, node->arg[0], P_OR))
        return NULL;
    const IrNode *order = ir_node(w->plan->ir, either->arg[0]);
    const IrNode *unequal = ir_node(w->plan->ir, either->arg[1]);
    bool nan = ir_is(w->plan->ir, either->arg[1], P_NE) && unequal->arg[0] == node->arg[1] &&
               unequal->arg[1] == node->arg[1];
    bool larger = ir_is(w->plan->ir, either->arg[0], P_GT);
    if (!nan || (!larger && !ir_is(w->plan->ir, either->arg[0], P_LT))) return NULL;
    if (order->arg[0] != node->arg[1] || order->arg[1] != node->arg[2]) return NULL;
    return larger ? "k_max" : "k_min";
}

static void select_expression(const Writer *w, const IrNode *node) {
    ValueKind kind = value_kind(node->type.dtype);
    const char *name = extreme(w, node);
    if (name) {
        text_printf(w->out, "%s(", name);
        operand(w, node->arg[1], true);
        text_add(w->out, ", ");
        operand(w, node->arg[2], true);
        text_add(w->out, ")");
        return;
    }
    if (w->language->vector) {
        text_add(w->out, "k_select");
        if (kind != VALUE_REAL) text_printf(w->out, "_%s", kind_word(kind));
        arguments(w, node);
        return;
    }
    operand(w, node->arg[0], false);
    text_add(w->out, " ? ");
    operand(w, node->arg[1], false);
    text_add(w->out, " : ");
    operand(w, node->arg[2], false);
}

static const char *sign_of(const Writer *w, Primitive primitive) {
    if (w->language->vector && primitive == P_AND) return "&";
    if (w->language->vector && primitive == P_OR) return "|";
    if (w->language->vector && primitive == P_NOT) return "~";
    return primitive_info(primitive)->cuda_f32;
}

static void prefix(const Writer *w, const IrNode *node, const char *sign) {
    text_add(w->out, sign);
    operand(w, node->arg[0], true);
}

static void real_call(const Writer *w, const IrNode *node) {
    const PrimitiveInfo *info = primitive_info(ir_primitive(node));
    if (w->language->vector || info->class == CLASS_OPERATOR)
        text_printf(w->out, "k_%s", info->name);
    else
        text_add(w->out, w->plan->compute == DT_F64 ? info->cuda_f64 : info->cuda_f32);
    arguments(w, node);
}

/* Integers in their own type: 8 bits wrap behind every operation. */
static void whole_call(const Writer *w, const IrNode *node) {
    DType type = node->type.dtype;
    bool wraps = type == DT_I8 || type == DT_U8;
    if (wraps) text_printf(w->out, "k_wrap_%s(", dtype_name(type));
    text_printf(w->out, "k_%s_%s", primitive_info(ir_primitive(node))->name,
                kind_word(value_kind(type)));
    arguments(w, node);
    if (wraps) text_add(w->out, ")");
}

static void primitive_expression(const Writer *w, const IrNode *node) {
    Primitive primitive = ir_primitive(node);
    ValueKind kind = value_kind(node->type.dtype);
    const char *sign = sign_of(w, primitive);
    if (is_comparison(primitive) && w->language->vector)
        compare_vectors(w, node, sign);
    else if (is_comparison(primitive))
        infix(w, node->arg[0], sign, node->arg[1]);
    else if (primitive == P_SELECT)
        select_expression(w, node);
    else if (primitive == P_NOT)
        prefix(w, node, sign);
    else if (primitive == P_AND || primitive == P_OR)
        infix(w, node->arg[0], sign, node->arg[1]);
    else if (kind != VALUE_REAL)
        whole_call(w, node);
    else if (primitive == P_NEG)
        prefix(w, node, sign);
    else if (primitive >= P_ADD && primitive <= P_DIV)
        infix(w, node->arg[0], sign, node->arg[1]);
    else
        real_call(w, node);
}

static void convert(const Writer *w, ValueKind to, Value a) {
    ValueKind from = operand_kind(w, a);
    if (from == to) {
        operand(w, a, true);
    } else if (w->language->vector) {
        text_printf(w->out, "k_%s_from_%s(", kind_word(to), kind_word(from));
        operand(w, a, true);
        text_add(w->out, ")");
    } else {
        text_printf(w->out, "(%s)", language_type(w->language, w->plan, to));
        operand(w, a, false);
    }
}

static void helper(const Writer *w, Value a, const char *name) {
    text_printf(w->out, "k_%s(", name);
    operand(w, a, true);
    text_add(w->out, ")");
}

static bool same_range(DType from, DType to) {
    const DTypeInfo *a = dtype_info(from), *b = dtype_info(to);
    return a->low >= b->low && a->high <= b->high;
}

static void cast_truth(const Writer *w, Value a) {
    ValueKind kind = operand_kind(w, a);
    bool narrow = w->language->vector && kind_bytes(w, kind) != kind_bytes(w, VALUE_BOOL);
    if (narrow) text_add(w->out, "k_mask_of(");
    operand(w, a, true);
    text_add(w->out, " != 0");
    if (narrow) text_add(w->out, ")");
}

static void cast(const Writer *w, DType to, Value a) {
    DType from = ir_dtype(w->plan->ir, a);
    ValueKind kind = value_kind(from);
    char name[32];
    if (dtype_is_float(to) && kind == VALUE_REAL) {
        snprintf(name, sizeof name, "round_%s", dtype_name(to));
        if (to == w->plan->compute)
            operand(w, a, true);
        else
            helper(w, a, name);
    } else if (to == DT_BOOL && kind != VALUE_BOOL) {
        cast_truth(w, a);
    } else if (kind != VALUE_REAL &&
               (dtype_is_float(to) || kind == VALUE_BOOL || same_range(from, to))) {
        convert(w, value_kind(to), a);
    } else {
        snprintf(name, sizeof name, "%s_from_%s", dtype_name(to), kind_word(kind));
        helper(w, a, name);
    }
}

static void expression(Text *out, const Plan *plan, const EmitLanguage *language, Value value) {
    const IrNode *node = ir_node(plan->ir, value);
    Writer writer = {out, plan, language};
    if (node->op == IR_CAST)
        cast(&writer, node->type.dtype, node->arg[0]);
    else if (node->op == IR_CONVERT)
        convert(&writer, value_kind(node->type.dtype), node->arg[0]);
    else if (node->op == IR_BROADCAST) /* what it reads, axes of the loop decide */
        emit_operand(out, plan, language, node->arg[0], true);
    else
        primitive_expression(&writer, node);
}

void emit_statement(Text *out, const Plan *plan, const EmitLanguage *language, Value value,
                    int indent) {
    ValueKind kind = value_kind(ir_dtype(plan->ir, value));
    text_printf(out, "%*sconst %s t%u = ", indent, "", language_type(language, plan, kind), value);
    expression(out, plan, language, value);
    text_add(out, ";\n");
}

const bool *emit_read(Arena *arena, const Plan *plan, const EmitLanguage *language) {
    const Writer w = {NULL, plan, language};
    bool *read = arena_array(arena, bool, plan->ir->nodes.count);
    for (uint32_t i = 0; i < plan->stores.count; i++) read[plan->stores.data[i].value] = true;
    for (uint32_t i = plan->body.count; i-- > 0;) {
        Value v = plan->body.data[i];
        const IrNode *node = ir_node(plan->ir, v);
        bool unconditional = ir_is(plan->ir, v, P_SELECT) && extreme(&w, node);
        for (uint32_t k = unconditional; k < node->count; k++) read[node->arg[k]] |= read[v];
    }
    return read;
}

void emit_values(Text *out, const Plan *plan, const EmitLanguage *language, const Value *values,
                 uint32_t count, int indent) {
    Arena *scratch = arena_open();
    const bool *read = emit_read(scratch, plan, language);
    for (uint32_t i = 0; i < count; i++)
        if (read[values[i]]) emit_statement(out, plan, language, values[i], indent);
    arena_close(scratch);
}

void emit_body(Text *out, const Plan *plan, const EmitLanguage *language, int indent) {
    emit_values(out, plan, language, plan->body.data, plan->body.count, indent);
}

const Template *emit(Arena *arena, const char *language, const Plan *plan) {
    bool cuda = strcmp(language, "cuda") == 0;
    if (plan->group.kind == GROUP_ROWS)
        return cuda ? emit_rows_cuda(arena, plan) : emit_rows_c(arena, plan);
    return cuda ? emit_cuda(arena, plan) : emit_c(arena, plan);
}
