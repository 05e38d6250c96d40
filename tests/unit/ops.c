/* The formulas of the registry against their definitions' values (tests/data/ops-values.txt), in
 * f32 and f64: every function is interpreted from its Ast, rounding after every operation. What
 * devices make of them is another test. */
#include "registry/registry.h"

#include <math.h>
#include <string.h>

#include "registry/call.h"
#include "ops_table.h"

typedef struct Number {
    double value;
    bool weak;   /* a literal: folds in double, rounded where it meets a typed one */
    bool absent; /* an argument whose default applies */
} Number;

typedef struct Machine {
    Arena *arena;
    Registry *registry;
    DType type;
} Machine;

static double apply(Primitive primitive, const double *x) {
    switch (primitive) {
    case P_NEG: return -x[0];
    case P_NOT: return !(x[0] != 0);
    case P_ADD: return x[0] + x[1];
    case P_SUB: return x[0] - x[1];
    case P_MUL: return x[0] * x[1];
    case P_DIV: return x[0] / x[1];
    case P_FLOORDIV: return floor(x[0] / x[1]);
    case P_MOD: return x[0] - x[1] * floor(x[0] / x[1]);
    case P_LT: return x[0] < x[1];
    case P_LE: return x[0] <= x[1];
    case P_GT: return x[0] > x[1];
    case P_GE: return x[0] >= x[1];
    case P_EQ: return x[0] == x[1];
    case P_NE: return x[0] != x[1];
    case P_AND: return x[0] != 0 && x[1] != 0;
    case P_OR: return x[0] != 0 || x[1] != 0;
    case P_SELECT: return x[0] != 0 ? x[1] : x[2];
    case P_FABS: return fabs(x[0]);
    case P_FLOOR: return floor(x[0]);
    case P_CEIL: return ceil(x[0]);
    case P_TRUNC: return trunc(x[0]);
    case P_ROUND: return rint(x[0]);
    case P_SQRT: return sqrt(x[0]);
    case P_FMAX: return fmax(x[0], x[1]);
    case P_FMIN: return fmin(x[0], x[1]);
    case P_FMOD: return fmod(x[0], x[1]);
    case P_COPYSIGN: return copysign(x[0], x[1]);
    case P_FMA: return fma(x[0], x[1], x[2]);
    case P_EXP: return exp(x[0]);
    case P_EXP2: return exp2(x[0]);
    case P_EXPM1: return expm1(x[0]);
    case P_LOG: return log(x[0]);
    case P_LOG2: return log2(x[0]);
    case P_LOG10: return log10(x[0]);
    case P_LOG1P: return log1p(x[0]);
    case P_SIN: return sin(x[0]);
    case P_COS: return cos(x[0]);
    case P_TAN: return tan(x[0]);
    case P_ASIN: return asin(x[0]);
    case P_ACOS: return acos(x[0]);
    case P_ATAN: return atan(x[0]);
    case P_SINH: return sinh(x[0]);
    case P_COSH: return cosh(x[0]);
    case P_TANH: return tanh(x[0]);
    case P_ERF: return erf(x[0]);
    case P_ERFC: return erfc(x[0]);
    case P_CBRT: return cbrt(x[0]);
    case P_POW: return pow(x[0], x[1]);
    case P_ATAN2: return atan2(x[0], x[1]);
    case P_HYPOT: return hypot(x[0], x[1]);
    default: fail_msg("primitive %d has no meaning here", primitive); return 0;
    }
}

static Number operate(const Machine *machine, Primitive primitive, const Number *x) {
    double values[3];
    int arity = primitive_info(primitive)->arity;
    bool weak = true;
    for (int i = 0; i < arity; i++) weak &= x[i].weak;
    for (int i = 0; i < arity; i++)
        values[i] = weak ? x[i].value : dtype_round(machine->type, x[i].value);
    double value = apply(primitive, values);
    return (Number){weak ? value : dtype_round(machine->type, value), weak, false};
}

static Number call_function(const Machine *machine, const Function *function, const Number *args);

static Number eval_call(const Machine *machine, const Function *from, Node node,
                        const Number *values) {
    const Ast *ast = from->ast;
    const AstNode *call = &ast->nodes.data[node];
    Diags diags = {.arena = machine->arena};
    Number args[16];
    Callee callee = call_resolve(machine->registry, from, ast, node, &diags);
    for (uint32_t i = 0; i < call->count; i++)
        args[i] = values[ast->args.data[call->first + i].value];
    if (callee.kind == CALLEE_PRIMITIVE) return operate(machine, callee.primitive, args);
    assert_int_equal(callee.kind, CALLEE_FUNCTION);
    for (uint32_t i = 0; i < callee.function->def->parameter_count; i++) {
        Node argument = call_argument(ast, node, callee.function, i);
        args[i] = argument ? values[argument] : (Number){.absent = true};
    }
    return call_function(machine, callee.function, args);
}

static Number eval_name(const Function *function, const char *name, const Number *args,
                        const Number *values) {
    const AstParameter *parameters =
        function->ast->parameters.data + function->def->parameter_first;
    uint32_t i = 0;
    while (strcmp(parameters[i].name, name)) i++;
    return args[i].absent ? values[parameters[i].value] : args[i];
}

static Number eval_operator(const Machine *machine, const AstNode *node, const Number *values) {
    static const Primitive primitives[] = {[OP_NEG] = P_NEG,
                                           [OP_NOT] = P_NOT,
                                           [OP_ADD] = P_ADD,
                                           [OP_SUB] = P_SUB,
                                           [OP_MUL] = P_MUL,
                                           [OP_DIV] = P_DIV,
                                           [OP_FLOORDIV] = P_FLOORDIV,
                                           [OP_MOD] = P_MOD,
                                           [OP_POW] = P_POW,
                                           [OP_LT] = P_LT,
                                           [OP_LE] = P_LE,
                                           [OP_GT] = P_GT,
                                           [OP_GE] = P_GE,
                                           [OP_EQ] = P_EQ,
                                           [OP_NE] = P_NE,
                                           [OP_AND] = P_AND,
                                           [OP_OR] = P_OR};
    Number operands[3] = {values[node->a]};
    if (node->kind != AST_UNARY) operands[1] = values[node->b];
    if (node->kind != AST_SELECT) return operate(machine, primitives[node->op], operands);
    operands[2] = values[node->c];
    return operate(machine, P_SELECT, operands);
}

static Number call_function(const Machine *machine, const Function *function, const Number *args) {
    const Ast *ast = function->ast;
    Number *values = arena_array(machine->arena, Number, ast->nodes.count);
    bool first = function->def == ast->statements.data;
    for (Node at = first ? 1 : function->def[-1].value + 1; at <= function->def->value; at++) {
        const AstNode *node = &ast->nodes.data[at];
        if (node->kind == AST_NUMBER)
            values[at] = (Number){node->number, true, false};
        else if (node->kind == AST_NAME)
            values[at] = eval_name(function, node->name, args, values);
        else if (node->kind == AST_CALL)
            values[at] = eval_call(machine, function, at, values);
        else
            values[at] = eval_operator(machine, node, values);
    }
    return values[function->def->value];
}

/* --- The table */

static double run(const Machine *machine, const Line *line) {
    const Function *function = registry_find(machine->registry, line->name);
    Primitive primitive;
    Number args[16];
    for (uint32_t i = 0; i < 16; i++) args[i] = (Number){.absent = i >= line->count};
    for (uint32_t i = 0; i < line->count; i++) args[i].value = line->args[i];
    if (function) return call_function(machine, function, args).value;
    if (!primitive_find(line->name, &primitive)) fail_msg("no function '%s'", line->name);
    return operate(machine, primitive, args).value;
}

static void check_table(DType type) {
    Machine machine = {.arena = arena_open(), .type = type};
    FILE *file = table_open();
    int wrong = 0, lines = 0;
    Line line;
    machine.registry = registry_open(machine.arena);
    for (; table_read(file, &line); lines++) {
        double got = run(&machine, &line);
        if (line_fits(type, &line, got, line_slack(type, &line))) continue;
        line_print(&line, got);
        wrong++;
    }
    fclose(file);
    arena_close(machine.arena);
    assert_true(lines > 1000);
    assert_int_equal(wrong, 0);
}

static void f32_values(void **state) {
    (void)state;
    check_table(DT_F32);
}

static void f64_values(void **state) {
    (void)state;
    check_table(DT_F64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_values),
        cmocka_unit_test(f64_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
