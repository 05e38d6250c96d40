/* Ir to text. One idea: one printer for people and for keys; the canonical form leaves out what
 * must not change a key (names, spans, params' values, extents) and nothing else.
 *
 *     compute f32
 *     %1 = input f32[4096x4096] x
 *     %2 = const number 0.5
 *     %3 = cast f32 %2
 *     %4 = sum f32[4096x1] %1 axis=1
 *     output f32[4096x1] y = %4 */
#include "compiler/ir.h"

typedef struct Printer {
    Text *out;
    const Ir *ir;
    bool canonical;
} Printer;

static void print_extent(const Printer *p, int64_t extent) {
    if (p->canonical && extent != 1)
        text_add(p->out, "*");
    else
        text_printf(p->out, "%lld", (long long)extent);
}

static void print_type(const Printer *p, const Type *type) {
    text_printf(p->out, " %s", dtype_name(type->dtype));
    for (uint32_t i = 0; i < type->rank; i++) {
        text_add(p->out, i == 0 ? "[" : "x");
        print_extent(p, type->dim[i]);
    }
    if (type->rank > 0) text_add(p->out, "]");
}

/* Only where they are not row-major. */
static void print_strides(const Printer *p, const Type *type, const int64_t *strides) {
    int64_t usual[RANK_MAX];
    bool same = true;
    type_strides(type, usual);
    for (uint32_t i = 0; i < type->rank; i++) same = same && strides[i] == usual[i];
    for (uint32_t i = 0; !p->canonical && !same && i < type->rank; i++)
        text_printf(p->out, "%s%lld", i == 0 ? " strides " : ",", (long long)strides[i]);
}

static void print_const(const Printer *p, const IrNode *node) {
    text_add(p->out, " ");
    if (node->type.dtype == DT_WEAK || dtype_is_float(node->type.dtype))
        number_print(p->out, node->real);
    else
        text_printf(p->out, "%lld", (long long)node->whole);
}

static void print_axis(const Printer *p, const IrNode *node) {
    AxisRange axes = node->axes;
    if (axes.end - axes.first == 1)
        text_printf(p->out, " axis=%d", axes.first);
    else if (axes.end - axes.first == (int32_t)node->type.rank)
        text_add(p->out, " axis=all");
    else
        text_printf(p->out, " axes=%d..%d", axes.first, axes.end - 1);
}

static void print_index(const Printer *p, uint32_t index, const char *name) {
    if (p->canonical)
        text_printf(p->out, " %u", index);
    else
        text_printf(p->out, " %s", name);
}

static void print_call(const Printer *p, const IrNode *node) {
    text_printf(p->out, " %s(", node->function->name);
    for (uint32_t i = 0; i < node->argc; i++)
        text_printf(p->out, "%s%%%u", i > 0 ? " " : "", p->ir->list.data[node->first + i]);
    text_add(p->out, ")");
}

/* What the node says besides its operands. */
static void print_payload(const Printer *p, const IrNode *node) {
    switch (node->op) {
    case IR_CONST: print_const(p, node); break;
    case IR_PARAM: print_index(p, node->index, p->ir->params.data[node->index].name); break;
    case IR_CALL: print_call(p, node); break;
    case IR_SUM:
    case IR_PROD:
    case IR_MAX:
    case IR_MIN:
    case IR_MEAN:
    case IR_VAR: print_axis(p, node); break;
    case IR_INPUT:
        print_index(p, node->index, p->ir->inputs.data[node->index].name);
        print_strides(p, &node->type, p->ir->inputs.data[node->index].strides);
        break;
    default: break;
    }
}

static void print_node(const Printer *p, Value value) {
    const IrNode *node = ir_node(p->ir, value);
    text_printf(p->out, "%%%u = %s", value, ir_op_name(node));
    print_type(p, &node->type);
    for (uint32_t i = 0; i < node->count; i++) text_printf(p->out, " %%%u", node->arg[i]);
    print_payload(p, node);
    text_add(p->out, "\n");
}

static void print_output(const Printer *p, const IrOutput *output) {
    text_add(p->out, "output");
    print_type(p, &output->type);
    if (!p->canonical) text_printf(p->out, " %s", output->name);
    text_printf(p->out, " = %%%u", output->value);
    print_strides(p, &output->type, output->strides);
    if (output->updates >= 0) {
        text_add(p->out, " updates");
        print_index(p, (uint32_t)output->updates, p->ir->inputs.data[output->updates].name);
    }
    text_add(p->out, "\n");
}

static void print_param(const Printer *p, const IrParam *param) {
    text_add(p->out, "param");
    if (!p->canonical) {
        text_printf(p->out, " %s = ", param->name);
        number_print(p->out, param->value);
    }
    text_add(p->out, param->whole ? " whole\n" : "\n");
}

void ir_print(Text *out, const Ir *ir, bool canonical) {
    Printer p = {out, ir, canonical};
    text_printf(out, "compute %s\n", dtype_name(ir->compute));
    for (uint32_t i = 0; i < ir->params.count; i++) print_param(&p, &ir->params.data[i]);
    for (Value v = 1; v < ir->nodes.count; v++) print_node(&p, v);
    for (uint32_t i = 0; i < ir->outputs.count; i++) print_output(&p, &ir->outputs.data[i]);
}
