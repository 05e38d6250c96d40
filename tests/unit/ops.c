/* The formulas of the registry against their definitions' values (tests/data/ops-values.txt), in
 * f32 and f64: every function is interpreted from its Ast, rounding after every operation. What
 * devices make of them is another test. */
#include "registry/registry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "registry/call.h"

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

typedef struct Line {
    char name[32];
    Number args[8];
    uint32_t count;
    char value[64];
} Line;

static bool read_line(FILE *file, Line *line) {
    char text[512], *rest;
    do
        if (!fgets(text, sizeof text, file)) return false;
    while (*text == '#');
    *line = (Line){0};
    snprintf(line->name, sizeof line->name, "%s", strtok_r(text, " \n", &rest));
    for (char *word; strcmp(word = strtok_r(NULL, " \n", &rest), "=");)
        line->args[line->count++].value = strtod(word, NULL);
    snprintf(line->value, sizeof line->value, "%s", strtok_r(NULL, " \n", &rest));
    return true;
}

static double run(const Machine *machine, const Line *line) {
    const Function *function = registry_find(machine->registry, line->name);
    Primitive primitive;
    Number args[16];
    for (uint32_t i = 0; i < 16; i++) args[i].absent = i >= line->count;
    for (uint32_t i = 0; i < line->count; i++) args[i] = line->args[i];
    if (function) return call_function(machine, function, args).value;
    if (!primitive_find(line->name, &primitive)) fail_msg("no function '%s'", line->name);
    return operate(machine, primitive, args).value;
}

static void print_line(const Line *line) {
    print_message("%s", line->name);
    for (uint32_t i = 0; i < line->count; i++) print_message(" %.9g", line->args[i].value);
}

/* Formulas that cancel somewhere lose digits there: relative to their operands they are as good. */
static double cancelled(const Line *line) {
    static const struct {
        const char *name;
        double scale;
    } cancelling[] = {{"tanhshrink", 1}, {"logit", 1},    {"logaddexp", 1}, {"lerp", 8},
                      {"mod", 1},        {"addcmul", 32}, {"addcdiv", 32}};
    for (size_t i = 0; i < sizeof cancelling / sizeof *cancelling; i++)
        if (!strcmp(cancelling[i].name, line->name)) return cancelling[i].scale;
    return 0;
}

/* A factor that underflows has lost its digits before it is multiplied by an argument or a
 * constant. */
static double underflow(DType type, const Line *line) {
    double least = type == DT_F32 ? 0x1p-149 : 0x1p-1074, size = fabs(line->args[0].value);
    return least * (size > 32 && size < 1e4 ? size : 32);
}

static bool fits(DType type, const Line *line, double got, double tolerance) {
    double wanted = dtype_round(type, strtod(line->value, NULL));
    if (isnan(wanted) || isinf(wanted) || isinf(got))
        return isnan(wanted) ? isnan(got) : got == wanted;
    if (!strcmp(line->value, "-0") || !strcmp(line->value, "+0"))
        return got == 0 && !signbit(got) == (*line->value == '+');
    return fabs(got - wanted) <=
           tolerance * (fabs(wanted) + cancelled(line)) + underflow(type, line);
}

static void check_table(DType type, double tolerance) {
    Machine machine = {.arena = arena_open(), .type = type};
    FILE *file = fopen(TEST_SOURCE "/tests/data/ops-values.txt", "r");
    int wrong = 0, lines = 0;
    Line line;
    assert_non_null(file);
    machine.registry = registry_open(machine.arena);
    for (; read_line(file, &line); lines++) {
        double got = run(&machine, &line);
        if (fits(type, &line, got, tolerance)) continue;
        print_line(&line);
        print_message(" gives %.17g, not %s\n", got, line.value);
        wrong++;
    }
    fclose(file);
    arena_close(machine.arena);
    assert_true(lines > 1000);
    assert_int_equal(wrong, 0);
}

static void f32_values(void **state) {
    (void)state;
    check_table(DT_F32, 1e-5);
}

static void f64_values(void **state) {
    (void)state;
    check_table(DT_F64, 1e-13);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_values),
        cmocka_unit_test(f64_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
