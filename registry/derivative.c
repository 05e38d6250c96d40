/* In: a `derivative` line. Out: whose it is and by which parameter, or what is wrong with it. The one
 * idea: it is written like the function it belongs to, so it is compared with its head. */
#include "registry/derivative.h"

#include <string.h>

#include "registry/nearest.h"

typedef struct Reading {
    Arena *arena;
    const Registry *registry;
    const Ast *ast;
    const Statement *statement;
    Diags *diags;
} Reading;

#define complain(reading, span, hint, ...) \
    diag_error((reading)->diags, (reading)->ast->source, span, hint, __VA_ARGS__)

static const AstParameter *parameter_at(const Reading *reading, uint32_t i) {
    return &reading->ast->parameters.data[reading->statement->parameter_first + i];
}

/* --- Whose */

static bool complain_of_name(const Reading *reading) {
    const char *name = reading->statement->name, *hint = "'kfuse ops' lists them";
    const char *nearest = registry_nearest(reading->registry, name);
    Reduction reduction;
    if (reduction_find(name, &reduction)) {
        complain(reading, reading->statement->mark, NULL, "the derivative of '%s' is built in",
                 name);
        return false;
    }
    if (nearest) hint = arena_printf(reading->arena, "did you mean '%s'?", nearest);
    complain(reading, reading->statement->mark, hint, "unknown function '%s'", name);
    return false;
}

static bool find_function(const Reading *reading, Derivative *derivative) {
    const char *name = reading->statement->name;
    derivative->function = registry_find(reading->registry, name);
    return derivative->function || primitive_find(name, &derivative->primitive) ||
           complain_of_name(reading);
}

/* --- Parameters */

static uint32_t parameter_count(const Derivative *derivative) {
    const Function *function = derivative->function;
    return function ? function->def->parameter_count
                    : (uint32_t)primitive_info(derivative->primitive)->arity;
}

/* A primitive's parameters have no names of their own. */
static bool same_names(const Reading *reading, const Function *function) {
    for (uint32_t i = 0; function && i < function->def->parameter_count; i++) {
        const AstParameter *own =
            &function->ast->parameters.data[function->def->parameter_first + i];
        if (strcmp(own->name, parameter_at(reading, i)->name) != 0) return false;
    }
    return true;
}

static const char *function_head(const Reading *reading, const Function *function) {
    Text head = {0};
    if (!function) return "";
    function_print_head(&head, function);
    const char *text = arena_printf(reading->arena, "%s: ", text_string(&head));
    text_free(&head);
    return text;
}

static bool check_parameters(const Reading *reading, const Derivative *derivative) {
    uint32_t count = parameter_count(derivative), given = reading->statement->parameter_count;
    if ((given == count || given == count + 1) && same_names(reading, derivative->function))
        return true;
    complain(reading, reading->statement->mark,
             arena_printf(reading->arena, "%sthe same names, and one more at most, the cotangent's",
                          function_head(reading, derivative->function)),
             "'%s' has other parameters", reading->statement->name);
    return false;
}

static bool complain_of_wrt(const Reading *reading, uint32_t count) {
    const Statement *statement = reading->statement;
    Nearest nearest = {.wanted = statement->wrt};
    for (uint32_t i = 0; i < count; i++) nearest_consider(&nearest, parameter_at(reading, i)->name);
    const char *hint = NULL;
    if (nearest.name) hint = arena_printf(reading->arena, "did you mean '%s'?", nearest.name);
    complain(reading, statement->wrt_mark, hint, "'%s' has no parameter '%s'", statement->name,
             statement->wrt);
    return false;
}

static bool find_parameter(const Reading *reading, Derivative *derivative) {
    const Statement *statement = reading->statement;
    uint32_t count = parameter_count(derivative);
    if (!statement->wrt && count == 1) return true;
    if (!statement->wrt) {
        complain(reading, statement->mark,
                 count ? arena_printf(reading->arena, "wrt %s, before '='",
                                      parameter_at(reading, 0)->name)
                       : NULL,
                 "'%s' has %u parameters, and this derivative is by one", statement->name, count);
        return false;
    }
    while (derivative->parameter < count &&
           strcmp(parameter_at(reading, derivative->parameter)->name, statement->wrt) != 0)
        derivative->parameter++;
    return derivative->parameter < count || complain_of_wrt(reading, count);
}

Derivative *derivative_read(Arena *arena, const Registry *registry, const Ast *ast,
                            const Statement *statement, Diags *diags) {
    Reading reading = {arena, registry, ast, statement, diags};
    Derivative *derivative = arena_new(arena, Derivative);
    if (!find_function(&reading, derivative) || !check_parameters(&reading, derivative) ||
        !find_parameter(&reading, derivative))
        return NULL;
    derivative->product = statement->parameter_count > parameter_count(derivative);
    derivative->rule = (Function){.name = statement->name,
                                  .ast = ast,
                                  .def = statement,
                                  .required = statement->parameter_count,
                                  .description = statement->comment};
    return derivative;
}

const char *derivative_name(Arena *arena, const Derivative *derivative) {
    const Function *rule = &derivative->rule;
    const AstParameter *parameters = rule->ast->parameters.data + rule->def->parameter_first;
    return arena_printf(arena, "'%s' by '%s'", rule->name, parameters[derivative->parameter].name);
}
