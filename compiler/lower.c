/* A program, shapes and types in; an Ir or what is wrong out. One idea: names are declared before
 * anything is read, so that each read knows what it meets: a binding above, a param, the input that
 * a binding below updates in place, or an input. */
#include "compiler/lowering.h"

#include <string.h>

const char *lower_shape(const Lower *lower, Value value) {
    Text text = {0};
    shape_print(&text, &ir_node(lower->ir, value)->type);
    const char *shape = arena_copy(lower->scratch, text_string(&text), text.length);
    text_free(&text);
    return shape;
}

/* --- Names */

Symbol *lower_symbol(const Lower *lower, const char *name) {
    uint32_t i;
    for (uint32_t at = 0; (i = table_next(&lower->names, table_hash_name(name), &at)) != 0;)
        if (strcmp(lower->symbols.data[i].name, name) == 0) return &lower->symbols.data[i];
    return NULL;
}

static Symbol *add_symbol(Lower *lower, Symbol symbol) {
    table_add(lower->scratch, &lower->names, table_hash_name(symbol.name), lower->symbols.count);
    array_push(lower->scratch, &lower->symbols, symbol);
    return &lower->symbols.data[lower->symbols.count - 1];
}

static bool reads_itself(const Ast *ast, const Statement *statement) {
    for (Node at = statement->first; at <= statement->value; at++) {
        const AstNode *node = &ast->nodes.data[at];
        if (node->kind == AST_NAME && strcmp(node->name, statement->name) == 0) return true;
    }
    return false;
}

/* A bare last expression binds "out". */
static Statement as_binding(const Statement *statement) {
    Statement binding = *statement;
    if (binding.kind == STATEMENT_EXPR) binding.name = "out";
    return binding;
}

static void declare(Lower *lower, uint32_t index) {
    Statement statement = as_binding(&lower->ast->statements.data[index]);
    if (statement.kind == STATEMENT_DEFINE || statement.kind == STATEMENT_RETURN) return;
    const Symbol *other = lower_symbol(lower, statement.name);
    if (other != NULL) {
        diag_error(lower->diags, lower->ast->source, statement.mark, NULL, "'%s' is bound twice",
                   statement.name);
        diag_add(lower->diags, DIAG_NOTE, lower->ast->source, other->mark, NULL,
                 "first bound here");
        return;
    }
    bool param = statement.kind == STATEMENT_PARAM;
    add_symbol(lower, (Symbol){.name = statement.name,
                               .kind = param ? SYMBOL_PARAM : SYMBOL_BINDING,
                               .mark = statement.mark,
                               .statement = index,
                               .updates = !param && reads_itself(lower->ast, &statement)});
}

/* --- Inputs */

static const InputSpec *find_spec(const Lower *lower, const char *name) {
    for (uint32_t i = 0; i < lower->options->input_count; i++)
        if (strcmp(lower->options->inputs[i].name, name) == 0) return &lower->options->inputs[i];
    return NULL;
}

/* Type and strides by what the caller said; false where nobody said a shape. */
static bool describe_input(const Lower *lower, const char *name, IrInput *input) {
    const LowerOptions *options = lower->options;
    const InputSpec *spec = find_spec(lower, name);
    bool own_shape = spec != NULL && spec->has_shape, own_dtype = spec != NULL && spec->has_dtype;
    input->type = own_shape ? spec->type : options->plain;
    input->type.dtype = own_dtype ? spec->type.dtype : options->plain.dtype;
    if (input->type.dtype == DT_WEAK) input->type.dtype = DT_F32;
    type_strides(&input->type, input->strides);
    if (spec != NULL && spec->has_strides)
        memcpy(input->strides, spec->strides, sizeof input->strides);
    return own_shape || options->has_shape;
}

static Value complain_of_input(Lower *lower, Span mark, const char *hint, const char *message) {
    diag_error(lower->diags, lower->ast->source, mark, hint, "%s", message);
    return 0;
}

static Value add_input(Lower *lower, const char *name, Span mark) {
    Ir *ir = lower->ir;
    IrInput input = {.name = name, .updated_by = -1};
    if (!describe_input(lower, name, &input))
        return complain_of_input(
            lower, mark, arena_printf(lower->scratch, "give --shape, or --shape %s=…", name),
            arena_printf(lower->scratch, "no shape for '%s'", name));
    if (type_count(&input.type) < 0)
        return complain_of_input(lower, mark, NULL,
                                 arena_printf(lower->scratch, "'%s' exceeds 2^62 bytes", name));
    if (ir->inputs.count == INPUT_MAX) {
        if (!lower->many_inputs)
            complain_of_input(lower, mark, NULL,
                              arena_printf(lower->scratch, "more than %d inputs", INPUT_MAX));
        lower->many_inputs = true;
        return 0;
    }
    IrNode node = {.op = IR_INPUT, .type = input.type, .span = mark};
    node.index = ir->inputs.count;
    input.value = ir_value(ir, node);
    array_push(ir->arena, &ir->inputs, input);
    return input.value;
}

static Value read_input(Lower *lower, Symbol *symbol, Span mark) {
    if (!symbol->seen) symbol->before = add_input(lower, symbol->name, mark);
    symbol->seen = true;
    return symbol->before;
}

/* --- Reading a name */

static Value read_symbol(Lower *lower, const AstNode *node) {
    Symbol *symbol = lower_symbol(lower, node->name);
    if (symbol == NULL)
        symbol = add_symbol(lower,
                            (Symbol){.name = node->name, .kind = SYMBOL_INPUT, .mark = node->mark});
    if (symbol->kind == SYMBOL_INPUT) return read_input(lower, symbol, node->mark);
    if (symbol->bound) {
        symbol->read = true;
        return symbol->value;
    }
    if (symbol->updates) return read_input(lower, symbol, node->mark);
    diag_error(lower->diags, lower->ast->source, node->mark, "move the binding up",
               "'%s' is read before it is bound", node->name);
    return 0;
}

static Value read_parameter(const Scope *scope, const char *name) {
    const Statement *def = scope->function->def;
    const AstParameter *parameters = scope->ast->parameters.data + def->parameter_first;
    for (uint32_t i = 0; i < def->parameter_count; i++)
        if (strcmp(parameters[i].name, name) == 0) return scope->args[i];
    return 0; /* the registry has said so */
}

Value lower_name(Expression *e, const AstNode *node) {
    const Scope *scope = e->scope;
    if (!scope->constant)
        return scope->function != NULL ? read_parameter(scope, node->name)
                                       : read_symbol(e->lower, node);
    lower_error(e->lower, scope, node->mark, NULL, "a constant expression reads no names");
    return 0;
}

/* --- Statements */

static const ParamSpec *find_override(const Lower *lower, const char *name) {
    for (uint32_t i = 0; i < lower->options->param_count; i++)
        if (strcmp(lower->options->params[i].name, name) == 0) return &lower->options->params[i];
    return NULL;
}

static void bind(Lower *lower, const char *name, Value value) {
    Symbol *symbol = lower_symbol(lower, name);
    if (symbol->statement != lower->statement) return; /* bound twice */
    symbol->value = value;
    symbol->bound = true;
}

static void lower_param(Lower *lower, const Statement *statement) {
    Scope scope = {.ast = lower->ast, .constant = true};
    Value value = lower_expression(lower, &scope, statement->value);
    Ir *ir = lower->ir;
    bind(lower, statement->name, 0);
    if (value == 0) return;
    if (ir_dtype(ir, value) != DT_WEAK) {
        diag_error(lower->diags, lower->ast->source, statement->mark, NULL,
                   "a param is a number without a type");
        return;
    }
    const ParamSpec *override = find_override(lower, statement->name);
    IrParam param = {.name = statement->name, .value = ir_node(ir, value)->real};
    param.usual = param.value;
    param.whole = ir_is_whole(ir, value);
    if (override != NULL) param.value = override->value;
    IrNode node = {.op = IR_PARAM, .type = {.dtype = DT_WEAK}, .span = statement->mark};
    node.index = ir->params.count;
    array_push(ir->arena, &ir->params, param);
    bind(lower, statement->name, ir_value(ir, node));
}

static void lower_statement(Lower *lower, uint32_t index) {
    Statement statement = as_binding(&lower->ast->statements.data[index]);
    Scope scope = {.ast = lower->ast};
    lower->statement = index;
    if (statement.kind == STATEMENT_DEFINE || statement.kind == STATEMENT_PARAM) return;
    lower->results[index] = lower_expression(lower, &scope, statement.value);
    if (statement.kind != STATEMENT_RETURN) bind(lower, statement.name, lower->results[index]);
}

/* --- What the caller said about names that are not there */

static const char *nearest_name(const Lower *lower, SymbolKind kind, const char *name) {
    const char *nearest = NULL;
    int least = strlen(name) < 3 ? 1 : strlen(name) < 4 ? 2 : 3; /* fewer edits than this */
    for (uint32_t i = 1; i < lower->symbols.count; i++) {
        const Symbol *symbol = &lower->symbols.data[i];
        if (kind == SYMBOL_PARAM ? symbol->kind != SYMBOL_PARAM : !symbol->seen) continue;
        int distance = text_distance(symbol->name, name, least);
        if (distance >= least) continue;
        nearest = symbol->name;
        least = distance;
    }
    return nearest;
}

static void complain_of_option(Lower *lower, SymbolKind kind, const char *option,
                               const char *name) {
    const char *nearest = nearest_name(lower, kind, name), *hint = NULL;
    if (nearest != NULL) hint = arena_printf(lower->scratch, "did you mean '%s'?", nearest);
    diag_error(lower->diags, NULL, (Span){0}, hint, "%s names '%s', but the program has no such %s",
               option, name, kind == SYMBOL_PARAM ? "param" : "input");
}

static void check_options(Lower *lower) {
    const LowerOptions *options = lower->options;
    for (uint32_t i = 0; i < options->input_count; i++) {
        const InputSpec *spec = &options->inputs[i];
        const Symbol *symbol = lower_symbol(lower, spec->name);
        const char *option = spec->has_shape ? "--shape" : spec->has_dtype ? "--dtype" : "a layout";
        if (symbol == NULL || !symbol->seen)
            complain_of_option(lower, SYMBOL_INPUT, option, spec->name);
    }
    for (uint32_t i = 0; i < options->param_count; i++) {
        const Symbol *symbol = lower_symbol(lower, options->params[i].name);
        if (symbol == NULL || symbol->kind != SYMBOL_PARAM)
            complain_of_option(lower, SYMBOL_PARAM, "--param", options->params[i].name);
    }
}

/* --- Warnings */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* One edit apart, and of three letters at least. Different on purpose are x1 and x2, and a value and its
 * cotangent, bias and dbias. */
static bool looks_like(const char *a, const char *b) {
    size_t same = 0, m = strlen(a), n = strlen(b);
    if (m < 3 || n < 3 || m > n + 1 || n > m + 1) return false;
    while (a[same] != '\0' && a[same] == b[same]) same++;
    if (is_digit(a[same]) || is_digit(b[same])) return false;
    if ((*a == 'd' && strcmp(a + 1, b) == 0) || (*b == 'd' && strcmp(b + 1, a) == 0)) return false;
    return strcmp(a + same + (m >= n), b + same + (n >= m)) == 0;
}

static void warn_of_neighbours(Lower *lower) {
    for (uint32_t i = 1; i < lower->symbols.count; i++) {
        const Symbol *input = &lower->symbols.data[i];
        for (uint32_t j = 1; input->kind == SYMBOL_INPUT && j < lower->symbols.count; j++) {
            const Symbol *other = &lower->symbols.data[j];
            if (other->kind == SYMBOL_INPUT || !looks_like(input->name, other->name)) continue;
            diag_warning(lower->diags, lower->ast->source, input->mark,
                         arena_printf(lower->scratch, "did you mean '%s'?", other->name),
                         "'%s' is bound nowhere, so it is an input", input->name);
            break;
        }
    }
}

/* --- The whole */

static void lower_program(Lower *lower) {
    uint32_t count = lower->ast->statements.count;
    lower->results = arena_array(lower->scratch, Value, count);
    array_push(lower->scratch, &lower->symbols, (Symbol){.name = ""});
    for (uint32_t i = 0; i < count; i++) declare(lower, i);
    for (uint32_t i = 0; i < count; i++) {
        const Statement *statement = &lower->ast->statements.data[i];
        lower->statement = i;
        if (statement->kind == STATEMENT_PARAM) lower_param(lower, statement);
    }
    for (uint32_t i = 0; i < count; i++) lower_statement(lower, i);
    check_options(lower);
    if (lower->diags->errors == lower->errors) lower_outputs(lower);
    if (lower->diags->errors == lower->errors) lower_updates(lower);
}

static bool has_f64(const Ir *ir) {
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (ir->outputs.data[i].type.dtype == DT_F64) return true;
    for (Value v = 1; v < ir->nodes.count; v++)
        if (ir_dtype(ir, v) == DT_F64) return true;
    return false;
}

/* Constants are rounded to the compute type, which is known at the end: where an f64 has turned up,
 * the program is lowered once more. */
Ir *lower(Arena *arena, const Ast *ast, const Registry *registry, const LowerOptions *options,
          Diags *diags) {
    Arena *scratch = arena_open();
    Registry *scope = registry_scope(scratch, registry);
    uint32_t errors = diags->errors;
    bool broken = !registry_add(scope, ast, LAYER_PROGRAM, diags);
    Ir *ir = NULL;
    for (DType compute = DT_F32; compute <= DT_F64; compute++) {
        Lower state = {
            .scratch = scratch, .ast = ast, .registry = scope, .options = options, .diags = diags};
        state.broken = broken;
        state.errors = errors;
        state.ir = ir_open(scratch, ast->source);
        state.ir->compute = compute;
        lower_program(&state);
        if (compute == DT_F32) warn_of_neighbours(&state);
        if (diags->errors > errors) break;
        ir = ir_copy(arena, state.ir, false);
        if (!has_f64(ir)) break;
    }
    arena_close(scratch);
    return diags->errors > errors ? NULL : ir;
}
