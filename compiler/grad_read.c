/* An Ast in, terms out. One idea: as in lower, nodes stand in postorder, so one loop over them meets
 * every operand before its use; only a call of a function starts another loop. A registry's function
 * stays a call around its body; the program's own are their bodies. */
#include <stdarg.h>
#include <string.h>

#include "compiler/grad_program.h"
#include "registry/call.h"

enum { STEPS_MAX = 1 << 20 }; /* nodes of all expanded bodies, as lower has it */

/* Where an expression stands. */
typedef struct GradScope {
    const Ast *ast;
    const Function *function; /* whose body or default it is; NULL: a statement's */
    const Term *args;         /* the function's, by parameter */
    bool constant;            /* of a param or default: may read no name */
} GradScope;

typedef struct Reading {
    GradProgram *program;
    const GradScope *scope;
    Node first;
    Term *values;     /* values[node - first] */
    bool *axis_words; /* likewise: the word behind `axis=` */
} Reading;

static Term read_expression(GradProgram *program, const GradScope *scope, Node root);

static Term value_at(const Reading *reading, Node node) {
    return reading->values[node - reading->first];
}

/* Says so; 0, for who returns a term. */
static Term complain(GradProgram *program, Span mark, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static Term complain(GradProgram *program, Span mark, const char *hint, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(program->arena, format, args);
    va_end(args);
    diag_error(program->diags, program->ast->source, mark, hint, "%s", message);
    return 0;
}

/* --- Names */

GradSymbol *grad_symbol(const GradProgram *program, const char *name) {
    uint32_t i;
    for (uint32_t at = 0; (i = table_next(&program->names, table_hash_name(name), &at)) != 0;)
        if (strcmp(program->symbols.data[i].name, name) == 0) return &program->symbols.data[i];
    return NULL;
}

static GradSymbol *add_symbol(GradProgram *program, GradSymbol symbol) {
    table_add(program->arena, &program->names, table_hash_name(symbol.name),
              program->symbols.count);
    array_push(program->arena, &program->symbols, symbol);
    return &program->symbols.data[program->symbols.count - 1];
}

bool grad_is_float(const GradProgram *program, const char *input) {
    DType dtype = DT_F32;
    for (uint32_t i = 0; i < program->options->type_count; i++) {
        const GradType *type = &program->options->types[i];
        if (type->name == NULL) dtype = type->dtype;
    }
    for (uint32_t i = 0; i < program->options->type_count; i++) {
        const GradType *type = &program->options->types[i];
        if (type->name != NULL && strcmp(type->name, input) == 0) dtype = type->dtype;
    }
    return dtype_is_float(dtype);
}

static bool is_derived_by(const GradProgram *program, const char *input) {
    const GradOptions *options = program->options;
    if (options->wrt_count == 0) return grad_is_float(program, input);
    for (uint32_t i = 0; i < options->wrt_count; i++)
        if (strcmp(options->wrt[i], input) == 0) return true;
    return false;
}

static Term read_symbol(GradProgram *program, const AstNode *node) {
    GradSymbol *symbol = grad_symbol(program, node->name);
    if (symbol == NULL) {
        Term term = tape_input(&program->tape, node->name, is_derived_by(program, node->name));
        symbol = add_symbol(program, (GradSymbol){.name = node->name,
                                                  .kind = GRAD_INPUT,
                                                  .mark = node->mark,
                                                  .bound = true,
                                                  .term = term});
    }
    symbol->read = true;
    if (symbol->bound) return symbol->term;
    return complain(program, node->mark, "move the binding up", "'%s' is read before it is bound",
                    node->name);
}

static Term read_name(Reading *reading, const AstNode *node) {
    const GradScope *scope = reading->scope;
    if (scope->constant)
        return complain(reading->program, node->mark, NULL, "a constant expression reads no names");
    if (scope->function == NULL) return read_symbol(reading->program, node);
    const Statement *def = scope->function->def;
    const AstParameter *parameters = scope->ast->parameters.data + def->parameter_first;
    for (uint32_t i = 0; i < def->parameter_count; i++)
        if (strcmp(parameters[i].name, node->name) == 0) return scope->args[i];
    return 0; /* the registry has said so */
}

/* --- Calls */

Term grad_expand(GradProgram *program, const Function *function, const Term *args) {
    uint32_t count = function->def->parameter_count;
    Term body;
    if (memo_recall(&program->expanded, function, args, count, &body)) return body;
    GradScope scope = {.ast = function->ast, .function = function, .args = args};
    body = read_expression(program, &scope, function->def->value);
    memo_keep(program->arena, &program->expanded, function, args, count, body);
    return body;
}

/* What is stated of a parameter takes the place of what its body would give. */
static const Term *freeze_stated(GradProgram *program, const Function *function, const Term *args) {
    uint32_t count = function->def->parameter_count;
    Term *inner = arena_array(program->arena, Term, count);
    for (uint32_t i = 0; i < count; i++) {
        bool stated = !program->deriving && tape_node(&program->tape, args[i])->active &&
                      registry_derivative(program->scope, function, P_NEG, i) != NULL;
        inner[i] = stated ? tape_unary(&program->tape, TERM_FROZEN, args[i]) : args[i];
    }
    return inner;
}

static Term default_value(GradProgram *program, const Function *function, uint32_t i) {
    const AstParameter *parameter =
        &function->ast->parameters.data[function->def->parameter_first + i];
    GradScope scope = {.ast = function->ast, .function = function, .constant = true};
    return read_expression(program, &scope, parameter->value);
}

static Term call_function(Reading *reading, Node node, const Function *function) {
    GradProgram *program = reading->program;
    uint32_t count = function->def->parameter_count;
    Term *args = arena_array(program->arena, Term, count);
    for (uint32_t i = 0; i < count; i++) {
        Node given = call_argument(reading->scope->ast, node, function, i);
        args[i] = given != 0 ? value_at(reading, given) : default_value(program, function, i);
        if (args[i] == 0) return 0;
    }
    bool visible = registry_find(program->tape.registry, function->name) == function;
    if (!visible) return grad_expand(program, function, args);
    Term body = grad_expand(program, function, freeze_stated(program, function, args));
    return body == 0 ? 0 : tape_call(&program->tape, function, args, body);
}

static Term call_shape(Reading *reading, Node node, ShapeFunction function) {
    const AstNode *call = &reading->scope->ast->nodes.data[node];
    const AstArg *args = reading->scope->ast->args.data + call->first;
    Tape *tape = &reading->program->tape;
    Term a = value_at(reading, args[0].value), b;
    if (a == 0) return 0;
    if (function == SHAPE_COUNT)
        return tape_along(tape, TERM_COUNT, a, call_axis(reading->scope->ast, node));
    b = value_at(reading, args[1].value);
    TermOp op = function == SHAPE_SUM_TO ? TERM_SUM_TO : TERM_BROADCAST_TO;
    return b == 0 ? 0 : tape_binary(tape, op, a, b);
}

static Term call_primitive(Reading *reading, const AstNode *call, Primitive primitive) {
    const AstArg *args = reading->scope->ast->args.data + call->first;
    Term values[3] = {0};
    for (uint32_t i = 0; i < call->count; i++)
        if ((values[i] = value_at(reading, args[i].value)) == 0) return 0;
    return tape_apply(&reading->program->tape, primitive, values, call->count);
}

static Term read_call(Reading *reading, Node node) {
    const GradScope *scope = reading->scope;
    const AstNode *call = &scope->ast->nodes.data[node];
    Tape *tape = &reading->program->tape;
    Callee callee = call_resolve(reading->program->scope, scope->function, scope->ast, node,
                                 reading->program->diags);
    Term a = 0;
    if (callee.kind == CALLEE_NONE) return 0;
    if (call->count > 0) a = value_at(reading, scope->ast->args.data[call->first].value);
    switch (callee.kind) {
    case CALLEE_FUNCTION: return call_function(reading, node, callee.function);
    case CALLEE_PRIMITIVE: return call_primitive(reading, call, callee.primitive);
    case CALLEE_SHAPE: return call_shape(reading, node, callee.shape);
    case CALLEE_DTYPE: return a == 0 ? 0 : tape_cast(tape, callee.dtype, a);
    case CALLEE_REDUCTION:
        if (a == 0) return 0;
        return tape_along(tape, TERM_REDUCE + (uint32_t)callee.reduction, a,
                          call_axis(scope->ast, node));
    case CALLEE_NONE: break;
    }
    return 0;
}

/* Not of a function of the same name, whose `axis` is a value like any other. */
static void mark_axis_words(Reading *reading, Node root) {
    const Ast *ast = reading->scope->ast;
    Diags unsaid = {.arena = reading->program->arena};
    for (Node at = reading->first; at <= root; at++) {
        const AstNode *call = &ast->nodes.data[at];
        if (call->kind != AST_CALL || !takes_axis(call->name)) continue;
        Callee callee =
            call_resolve(reading->program->scope, reading->scope->function, ast, at, &unsaid);
        for (uint32_t i = 0; i < call->count && callee.kind != CALLEE_FUNCTION; i++) {
            const AstArg *arg = &ast->args.data[call->first + i];
            if (arg->name != NULL && strcmp(arg->name, "axis") == 0)
                reading->axis_words[arg->value - reading->first] = true;
        }
    }
}

/* --- Expressions */

static Term read_unary(Reading *reading, const AstNode *node) {
    Term a = value_at(reading, node->a);
    if (a == 0 || node->op == OP_PLUS) return a;
    return tape_apply(&reading->program->tape, node->op == OP_NEG ? P_NEG : P_NOT, &a, 1);
}

static Term read_binary(Reading *reading, const AstNode *node) {
    static const Primitive primitives[] = {
        [OP_ADD] = P_ADD, [OP_SUB] = P_SUB, [OP_MUL] = P_MUL,
        [OP_DIV] = P_DIV, [OP_MOD] = P_MOD, [OP_FLOORDIV] = P_FLOORDIV,
        [OP_LT] = P_LT,   [OP_LE] = P_LE,   [OP_GT] = P_GT,
        [OP_GE] = P_GE,   [OP_EQ] = P_EQ,   [OP_NE] = P_NE,
        [OP_AND] = P_AND, [OP_OR] = P_OR,
    };
    Tape *tape = &reading->program->tape;
    Term args[2] = {value_at(reading, node->a), value_at(reading, node->b)};
    if (args[0] == 0 || args[1] == 0) return 0;
    if (node->op == OP_POW) return tape_binary(tape, TERM_POWER, args[0], args[1]);
    if (node->op == OP_MATMUL) return tape_binary(tape, TERM_MATMUL, args[0], args[1]);
    return tape_apply(tape, primitives[node->op], args, 2);
}

static Term read_select(Reading *reading, const AstNode *node) {
    Term args[3] = {value_at(reading, node->a), value_at(reading, node->b),
                    value_at(reading, node->c)};
    for (int i = 0; i < 3; i++)
        if (args[i] == 0) return 0;
    return tape_apply(&reading->program->tape, P_SELECT, args, 3);
}

static Term read_transpose(Reading *reading, const AstNode *node) {
    Term a = value_at(reading, node->a);
    return a == 0 ? 0 : tape_unary(&reading->program->tape, TERM_TRANSPOSE, a);
}

static Term read_node(Reading *reading, Node at) {
    const AstNode *node = &reading->scope->ast->nodes.data[at];
    switch (node->kind) {
    case AST_NUMBER: return tape_number(&reading->program->tape, node->number);
    case AST_NAME: return read_name(reading, node);
    case AST_CALL: return read_call(reading, at);
    case AST_UNARY: return read_unary(reading, node);
    case AST_BINARY: return read_binary(reading, node);
    case AST_SELECT: return read_select(reading, node);
    case AST_TRANSPOSE: return read_transpose(reading, node);
    case AST_NONE: break;
    }
    return 0;
}

/* False, once with a message, when the functions have grown too large. */
static bool count_steps(GradProgram *program, const GradScope *scope, uint32_t steps) {
    if (scope->function == NULL) return true;
    if (program->steps > STEPS_MAX) return false;
    program->steps += steps;
    if (program->steps > STEPS_MAX)
        complain(program, (Span){0, 0}, NULL,
                 "the functions called here expand to more than %d operations", STEPS_MAX);
    return program->steps <= STEPS_MAX;
}

static Term read_expression(GradProgram *program, const GradScope *scope, Node root) {
    Reading reading = {.program = program, .scope = scope, .first = ast_first(scope->ast, root)};
    uint32_t count = root - reading.first + 1;
    if (!count_steps(program, scope, count)) return 0;
    reading.values = arena_array(program->arena, Term, count);
    reading.axis_words = arena_array(program->arena, bool, count);
    mark_axis_words(&reading, root);
    for (Node at = reading.first; at <= root; at++)
        if (!reading.axis_words[at - reading.first])
            reading.values[at - reading.first] = read_node(&reading, at);
    return value_at(&reading, root);
}

/* --- Statements */

/* A bare last expression binds "out". */
static const char *bound_name(const Statement *statement) {
    return statement->kind == STATEMENT_EXPR ? "out" : statement->name;
}

static bool reads_itself(const GradProgram *program, const Statement *statement, const char *name) {
    for (Node at = statement->first; at <= statement->value; at++) {
        const AstNode *node = &program->ast->nodes.data[at];
        if (node->kind == AST_NAME && strcmp(node->name, name) == 0) return true;
    }
    return false;
}

static void declare(GradProgram *program, uint32_t index) {
    const Statement *statement = &program->ast->statements.data[index];
    if (statement->kind == STATEMENT_DEFINE || statement->kind == STATEMENT_RETURN) return;
    const char *name = bound_name(statement);
    const GradSymbol *other = grad_symbol(program, name);
    if (other != NULL) {
        complain(program, statement->mark, NULL, "'%s' is bound twice", name);
        diag_add(program->diags, DIAG_NOTE, program->ast->source, other->mark, NULL,
                 "first bound here");
        return;
    }
    bool param = statement->kind == STATEMENT_PARAM;
    if (!param && reads_itself(program, statement, name))
        complain(program, statement->mark, "bind the new value to another name",
                 "'%s' is updated in place, and a backward program would find its old value gone",
                 name);
    add_symbol(program, (GradSymbol){.name = name,
                                     .kind = param ? GRAD_PARAM : GRAD_BINDING,
                                     .mark = statement->mark,
                                     .statement = index});
}

static void bind(GradProgram *program, const char *name, Term term) {
    GradSymbol *symbol = grad_symbol(program, name);
    if (symbol->statement != program->statement) return; /* bound twice */
    symbol->term = term;
    symbol->bound = true;
    if (term == 0) return;
    TermNode *node = &program->tape.terms.data[term];
    bool leaf = node->op == TERM_NUMBER || node->op == TERM_INPUT || node->op == TERM_PARAM;
    if (!leaf && node->label == NULL) node->label = name;
}

static void read_param(GradProgram *program, const Statement *statement) {
    GradScope scope = {.ast = program->ast, .constant = true};
    Term value = read_expression(program, &scope, statement->value);
    bind(program, statement->name,
         value == 0 ? 0 : tape_param(&program->tape, statement->name, value));
}

/* --- Outputs */

static const char *returned_name(const GradProgram *program, const Statement *statement,
                                 uint32_t nth, bool alone) {
    const AstNode *node = &program->ast->nodes.data[statement->value];
    if (node->kind == AST_NAME) return node->name;
    return alone ? "out" : arena_printf(program->arena, "out%u", nth);
}

static void add_output(GradProgram *program, const char *name, Term term, Span mark) {
    for (uint32_t i = 0; i < program->outputs.count; i++)
        if (strcmp(program->outputs.data[i].name, name) == 0)
            complain(program, mark, NULL, "two outputs are called '%s'", name);
    array_push(program->arena, &program->outputs, (GradOutput){.name = name, .term = term});
}

static void add_returned(GradProgram *program, const Term *values, uint32_t count) {
    const Statement *statements = program->ast->statements.data;
    uint32_t nth = 0;
    for (uint32_t i = 0; i < program->ast->statements.count; i++)
        if (statements[i].kind == STATEMENT_RETURN) {
            const char *name = returned_name(program, &statements[i], ++nth, count == 1);
            const GradSymbol *symbol = grad_symbol(program, name);
            if (symbol != NULL && symbol->kind == GRAD_INPUT)
                complain(program, statements[i].mark, "bind it to a name of its own: y = ...",
                         "the output '%s' has the name of an input", name);
            add_output(program, name, values[i], statements[i].mark);
        }
}

static void find_outputs(GradProgram *program, const Term *values) {
    uint32_t returns = 0;
    for (uint32_t i = 0; i < program->ast->statements.count; i++)
        returns += program->ast->statements.data[i].kind == STATEMENT_RETURN;
    add_returned(program, values, returns);
    for (uint32_t i = 1; i < program->symbols.count && returns == 0; i++) {
        const GradSymbol *symbol = &program->symbols.data[i];
        if (symbol->kind == GRAD_BINDING && !symbol->read)
            add_output(program, symbol->name, symbol->term, symbol->mark);
    }
    if (program->outputs.count == 0)
        complain(program, (Span){0, 0}, NULL, "the program has no output");
}

bool grad_read(GradProgram *program) {
    const Ast *ast = program->ast;
    uint32_t errors = program->diags->errors, count = ast->statements.count;
    Term *values = arena_array(program->arena, Term, count);
    array_push(program->arena, &program->symbols, (GradSymbol){.name = ""});
    for (uint32_t i = 0; i < count; i++) declare(program, i);
    if (program->diags->errors > errors) return false;
    for (program->statement = 0; program->statement < count; program->statement++) {
        const Statement *statement = &ast->statements.data[program->statement];
        if (statement->kind == STATEMENT_PARAM) read_param(program, statement);
    }
    for (program->statement = 0; program->statement < count; program->statement++) {
        const Statement *statement = &ast->statements.data[program->statement];
        GradScope scope = {.ast = ast};
        if (statement->kind == STATEMENT_DEFINE || statement->kind == STATEMENT_PARAM) continue;
        values[program->statement] = read_expression(program, &scope, statement->value);
        if (statement->kind != STATEMENT_RETURN)
            bind(program, bound_name(statement), values[program->statement]);
    }
    if (program->diags->errors == errors) find_outputs(program, values);
    return program->diags->errors == errors;
}
