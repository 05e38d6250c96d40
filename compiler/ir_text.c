/* Values in, expressions out. One idea: every operation is written in parentheses; who prints the
 * text canonically leaves out those that say nothing. */
#include "compiler/ir_text.h"

#include <math.h>
#include <string.h>

#include "compiler/group.h"
#include "grammar/ast.h"

/* A longer expression gets a name: lines stay readable, and the text linear in the program. */
enum { LONGEST = 120 };

typedef struct Writer {
    Arena *arena;
    const Ir *ir;
    Text out;
    const char **text; /* by Value: how it is written where it is used */
    uint32_t *uses;
} Writer;

static const char *number(Writer *w, double value) {
    Text text = {0};
    if (isnan(value))
        text_add(&text, "nan");
    else if (isinf(value))
        text_add(&text, value < 0 ? "(-inf)" : "inf");
    else if (signbit(value))
        text_add(&text, "(");
    if (isfinite(value)) number_print(&text, value);
    if (isfinite(value) && signbit(value)) text_add(&text, ")");
    const char *copy = arena_copy(w->arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static const char *call(Writer *w, const char *name, const IrNode *node) {
    const char *text = arena_printf(w->arena, "%s(%s", name, w->text[node->arg[0]]);
    for (uint32_t i = 1; i < node->count; i++)
        text = arena_printf(w->arena, "%s, %s", text, w->text[node->arg[i]]);
    return arena_printf(w->arena, "%s)", text);
}

static const char *primitive(Writer *w, const IrNode *node) {
    const PrimitiveInfo *info = primitive_info(primitive_plain(ir_primitive(node)));
    const char *a = w->text[node->arg[0]];
    if (ir_primitive(node) == P_SELECT)
        return arena_printf(w->arena, "(%s ? %s : %s)", a, w->text[node->arg[1]],
                            w->text[node->arg[2]]);
    if (info->class != CLASS_OPERATOR) return call(w, info->name, node);
    if (node->count == 1) return arena_printf(w->arena, "(%s%s)", info->cuda_f32, a);
    return arena_printf(w->arena, "(%s %s %s)", a, info->cuda_f32, w->text[node->arg[1]]);
}

static const char *reduction(Writer *w, const IrNode *node) {
    int32_t rank = (int32_t)node->type.rank;
    const char *name = ir_op_name(node), *a = w->text[node->arg[0]];
    if (node->axes.end == rank && node->axes.end - node->axes.first == 1)
        return arena_printf(w->arena, "%s(%s)", name, a);
    if (node->axes.end - node->axes.first == rank)
        return arena_printf(w->arena, "%s(%s, axis=all)", name, a);
    return arena_printf(w->arena, "%s(%s, axis=%d)", name, a, node->axes.first);
}

/* A number that meets others is written as it is, any other cast as a call of the type's name, which
 * converts integers too. */
static const char *cast(Writer *w, const IrNode *node) {
    const IrNode *a = ir_node(w->ir, node->arg[0]);
    if (a->type.dtype == DT_WEAK) return w->text[node->arg[0]];
    return call(w, dtype_name(node->type.dtype), a->op == IR_CONVERT ? a : node);
}

/* Said, for integers among themselves would stay integers. */
static const char *convert(Writer *w, const IrNode *node) {
    DType type = node->type.dtype;
    return call(w, dtype_name(dtype_is_float(type) ? w->ir->compute : type), node);
}

static const char *constant(Writer *w, const IrNode *node) {
    bool real = node->type.dtype == DT_WEAK || dtype_is_float(node->type.dtype);
    if (node->type.dtype == DT_WEAK) return number(w, node->real);
    return number(w, real ? dtype_shorten(w->ir->compute, node->real) : (double)node->whole);
}

static const char *expression(Writer *w, Value value) {
    const IrNode *node = ir_node(w->ir, value);
    switch (node->op) {
    case IR_CONST: return constant(w, node);
    case IR_INPUT: return w->ir->inputs.data[node->index].name;
    case IR_PARAM: return w->ir->params.data[node->index].name;
    case IR_CAST: return cast(w, node);
    case IR_CONVERT: return convert(w, node);
    case IR_BROADCAST: return w->text[node->arg[0]]; /* no name has its shape */
    case IR_TRANSPOSE: return arena_printf(w->arena, "%s.T", w->text[node->arg[0]]);
    case IR_MATMUL:
        return arena_printf(w->arena, "(%s @ %s)", w->text[node->arg[0]], w->text[node->arg[1]]);
    default: break;
    }
    return ir_is_reduction(node) ? reduction(w, node) : primitive(w, node);
}

static void bind(Writer *w, Value value) {
    const char *name = arena_printf(w->arena, "v%u", value);
    while (ir_is_taken(w->ir, name)) name = arena_printf(w->arena, "%s_", name);
    text_printf(&w->out, "%s = %s\n", name, w->text[value]);
    w->text[value] = name;
}

/* Short whatever is in them. */
static bool is_bare(const Ir *ir, const IrNode *node) {
    bool of_leaf = node->op == IR_CONVERT && ir_node(ir, node->arg[0])->count == 0;
    return node->type.dtype == DT_WEAK || node->count == 0 || node->op == IR_BROADCAST || of_leaf;
}

/* Binds what is used again, or long, to a name. */
static void write_value(Writer *w, Value value) {
    w->text[value] = expression(w, value);
    bool longer = w->uses[value] > 1 || strlen(w->text[value]) > LONGEST;
    if (longer && !is_bare(w->ir, ir_node(w->ir, value))) bind(w, value);
}

static void count_uses(Writer *w) {
    for (Value v = 1; v < w->ir->nodes.count; v++)
        for (uint32_t i = 0; i < ir_node(w->ir, v)->count; i++)
            w->uses[ir_node(w->ir, v)->arg[i]]++;
}

static void write_params(Writer *w) {
    for (Value v = 1; v < w->ir->nodes.count; v++) {
        const IrNode *node = ir_node(w->ir, v);
        if (node->op != IR_PARAM || w->uses[v] == 0) continue;
        text_printf(&w->out, "param %s = ", w->ir->params.data[node->index].name);
        number_print(&w->out, w->ir->params.data[node->index].usual);
        text_add(&w->out, "\n");
    }
}

static bool has_name(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || strchr("( -!", at[-1])) && (!at[length] || strchr(" ).,", at[length])))
            return true;
    return false;
}

/* Behind all that reads the old values. What updates an input has to read it by its name. */
static void write_updates(Writer *w) {
    const Ir *ir = w->ir;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ir->outputs.count; i++) count += ir->outputs.data[i].updates >= 0;
    for (uint32_t i = 0; count > 1 && i < ir->outputs.count; i++)
        if (ir->outputs.data[i].updates >= 0) bind(w, ir->outputs.data[i].value);
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        const char *text = w->text[output->value], *name = output->name;
        if (output->updates < 0) continue;
        if (has_name(text, name))
            text_printf(&w->out, "%s = %s\n", name, text);
        else
            text_printf(&w->out, "%s = 0 < 1 ? %s : %s\n", name, text, name);
    }
}

static void write_outputs(Writer *w) {
    for (uint32_t i = 0; i < w->ir->outputs.count; i++) {
        const IrOutput *output = &w->ir->outputs.data[i];
        if (output->updates < 0)
            text_printf(&w->out, "%s = %s\n", output->name, w->text[output->value]);
    }
    write_updates(w);
    if (w->ir->outputs.count < 2) return;
    for (uint32_t i = 0; i < w->ir->outputs.count; i++)
        text_printf(&w->out, "%s%s", i ? ", " : "return ", w->ir->outputs.data[i].name);
    text_add(&w->out, "\n");
}

const char *ir_text(Arena *arena, const Ir *ir) {
    Writer w = {.arena = arena, .ir = ir};
    w.text = arena_array(arena, const char *, ir->nodes.count);
    w.uses = arena_array(arena, uint32_t, ir->nodes.count);
    count_uses(&w);
    write_params(&w);
    for (Value v = 1; v < ir->nodes.count; v++) write_value(&w, v);
    write_outputs(&w);
    const char *text = arena_copy(arena, text_string(&w.out), w.out.length);
    text_free(&w.out);
    return text;
}
