/* Lowered statements in, outputs out. One idea: what the program returns, or what no later
 * statement reads, is stored, each value in its storage type; a binding that reads its own name
 * updates that input, always. */
#include <string.h>

#include "compiler/lowering.h"

/* --- Storage */

/* A number that met nothing typed takes the plain type; f32 where that cannot hold it exactly. */
static Value store_number(Lower *lower, Value value, Span mark) {
    Scope scope = {.ast = lower->ast};
    DType type = lower->options->plain.dtype;
    if (type == DT_WEAK || (!dtype_is_float(type) && !ir_is_whole(lower->ir, value))) type = DT_F32;
    if (dtype_is_integer(type) && !lower_fits(lower, &scope, type, value, mark)) return 0;
    return ir_operand(lower->ir, type, value, mark);
}

static Value store(Lower *lower, Value value, Span mark) {
    const LowerOptions *options = lower->options;
    if (options->has_out_dtype && ir_dtype(lower->ir, value) != options->out_dtype)
        return ir_cast(lower->ir, options->out_dtype, value, mark);
    return ir_dtype(lower->ir, value) == DT_WEAK ? store_number(lower, value, mark) : value;
}

static bool has_output(const Ir *ir, const char *name) {
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (strcmp(ir->outputs.data[i].name, name) == 0) return true;
    return false;
}

/* The new output, or NULL after an error. */
static IrOutput *add_output(Lower *lower, const char *name, Value value, Span mark) {
    Ir *ir = lower->ir;
    IrOutput output = {.name = name, .updates = -1, .value = store(lower, value, mark)};
    if (output.value == 0) return NULL;
    if (ir->outputs.count == OUTPUT_MAX) {
        if (!lower->many_outputs)
            diag_error(lower->diags, lower->ast->source, mark, "'return' says what to keep",
                       "more than %d outputs", OUTPUT_MAX);
        lower->many_outputs = true;
        return NULL;
    }
    output.type = ir_node(ir, output.value)->type;
    if (ir->inputs.count == 0) {
        output.type = lower->options->plain;
        output.type.dtype = ir_dtype(ir, output.value);
    }
    if (type_count(&output.type) < 0) {
        diag_error(lower->diags, lower->ast->source, mark, NULL, "'%s' exceeds 2^62 bytes", name);
        return NULL;
    }
    type_strides(&output.type, output.strides);
    array_push(ir->arena, &ir->outputs, output);
    return &ir->outputs.data[ir->outputs.count - 1];
}

/* --- Updates in place */

static void complain_of_update(Lower *lower, const Symbol *symbol, const char *hint,
                               const char *why) {
    diag_error(lower->diags, lower->ast->source, symbol->mark, hint,
               "'%s' cannot be updated in place: %s", symbol->name, why);
}

static bool check_update(Lower *lower, const Symbol *symbol, const IrInput *input,
                         const IrOutput *output) {
    const char *old = dtype_name(input->type.dtype), *new = dtype_name(output->type.dtype);
    if (!type_same_shape(&input->type, &output->type))
        complain_of_update(lower, symbol, NULL,
                           arena_printf(lower->scratch, "it has the shape %s, its new value %s",
                                        lower_shape(lower, input->value),
                                        lower_shape(lower, output->value)));
    else if (input->type.dtype != output->type.dtype)
        complain_of_update(lower, symbol, arena_printf(lower->scratch, "%s(…) rounds to it", old),
                           arena_printf(lower->scratch, "it is %s, its new value %s", old, new));
    else if (!type_is_full(&input->type, input->strides))
        complain_of_update(lower, symbol, NULL, "some of its elements share a place");
    else
        return true;
    return false;
}

static void add_update(Lower *lower, const Symbol *symbol) {
    Ir *ir = lower->ir;
    IrInput *input = &ir->inputs.data[ir_node(ir, symbol->before)->index];
    IrOutput *output = add_output(lower, symbol->name, symbol->value, symbol->mark);
    if (output == NULL || !check_update(lower, symbol, input, output)) return;
    memcpy(output->strides, input->strides, sizeof output->strides);
    output->updates = (int32_t)(input - ir->inputs.data);
    input->updated_by = (int32_t)(output - ir->outputs.data);
}

/* --- What is an output */

static bool is_update(const Symbol *symbol) {
    return symbol->kind == SYMBOL_BINDING && symbol->updates && symbol->seen;
}

/* A returned name keeps it; a returned expression is "out", or "out2" as the second of several. */
static const char *returned_name(const Lower *lower, const Statement *statement, uint32_t nth,
                                 bool alone) {
    const AstNode *node = &lower->ast->nodes.data[statement->value];
    if (node->kind == AST_NAME) return node->name;
    return alone ? "out" : arena_printf(lower->scratch, "out%u", nth);
}

static void add_returned(Lower *lower, const Statement *statement, Value value, const char *name) {
    Span mark = lower->ast->nodes.data[statement->value].span;
    const Symbol *symbol = lower_symbol(lower, name);
    bool named = lower->ast->nodes.data[statement->value].kind == AST_NAME;
    if (has_output(lower->ir, name))
        diag_error(lower->diags, lower->ast->source, mark, NULL, "two outputs are called '%s'",
                   name);
    else if (symbol != NULL && symbol->seen && !(named && is_update(symbol)))
        diag_error(lower->diags, lower->ast->source, mark, "bind it to a name of its own: y = …",
                   "the output '%s' has the name of an input", name);
    else if (named && is_update(symbol))
        add_update(lower, symbol);
    else
        add_output(lower, name, value, mark);
}

static uint32_t add_returns(Lower *lower) {
    const Statement *statements = lower->ast->statements.data;
    uint32_t count = 0, nth = 0;
    for (uint32_t i = 0; i < lower->ast->statements.count; i++)
        count += statements[i].kind == STATEMENT_RETURN;
    for (uint32_t i = 0; i < lower->ast->statements.count; i++) {
        if (statements[i].kind != STATEMENT_RETURN) continue;
        const char *name = returned_name(lower, &statements[i], ++nth, count == 1);
        add_returned(lower, &statements[i], lower->results[i], name);
    }
    return count;
}

void lower_outputs(Lower *lower) {
    bool returns = add_returns(lower) > 0;
    for (uint32_t i = 1; i < lower->symbols.count; i++) { /* bindings stand in their order */
        const Symbol *symbol = &lower->symbols.data[i];
        if (symbol->kind != SYMBOL_BINDING || has_output(lower->ir, symbol->name)) continue;
        if (is_update(symbol))
            add_update(lower, symbol);
        else if (!returns && !symbol->read)
            add_output(lower, symbol->name, symbol->value, symbol->mark);
    }
    if (lower->ir->outputs.count == 0)
        diag_error(lower->diags, lower->ast->source, (Span){0}, NULL, "the program has no output");
    else if (lower->ir->inputs.count == 0 && !lower->options->has_shape)
        diag_error(lower->diags, lower->ast->source, (Span){0}, "give --shape",
                   "a program that reads no input has no shape of its own");
}

/* --- Reads of what is updated */

static bool is_pointwise(const IrNode *node) {
    return ir_is_primitive(node) || node->op == IR_CAST || node->op == IR_CONVERT;
}

/* The first value that reads elements of an input other than the one at its own index, or 0. Values
 * that depend on the input index by index have its shape. */
static Value find_mixing(Arena *scratch, const Ir *ir, const IrInput *input) {
    bool *depends = arena_array(scratch, bool, ir->nodes.count);
    depends[input->value] = true;
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        for (uint32_t i = 0; i < node->count; i++) depends[v] |= depends[node->arg[i]];
        if (!depends[v] || v == input->value) continue;
        if (!is_pointwise(node) || !type_same_shape(&node->type, &input->type)) return v;
    }
    return 0;
}

void lower_updates(Lower *lower) {
    const Ir *ir = ir_copy(lower->scratch, lower->ir, true);
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const IrInput *input = &ir->inputs.data[i];
        Value mixing = input->updated_by >= 0 ? find_mixing(lower->scratch, ir, input) : 0;
        if (mixing == 0) continue;
        diag_error(lower->diags, lower->ast->source, ir_node(ir, mixing)->span,
                   "bind the new value to another name",
                   "this reads other elements of '%s' than the one it updates in place",
                   input->name);
    }
}
