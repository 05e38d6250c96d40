/* In: texts of definitions, layer upon layer. Out: what a name means. The one idea: a function
 * keeps a link to the one that it hides and the rank of its text, so that every body goes on seeing
 * the names as they were where it was written. */
#include "registry/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
/* Tables live and go with the arena; `arena` is in scope wherever something is added. */
#define uthash_malloc(size) arena_alloc(arena, size)
#define uthash_free(pointer, size)
#include <uthash.h>

#include "compiler/base/embed.h"
#include "grammar/parse.h"
#include "registry/check.h"
#include "registry/derivative.h"
#include "registry/nearest.h"

typedef struct Entry {
    Function function;
    UT_hash_handle hh; /* by function.name */
} Entry;

struct Registry {
    Arena *arena;
    const Registry *parent;
    Entry *table;
    ARRAY(Derivative *) derivatives; /* later ones hide earlier ones */
    uint32_t rank;                   /* of the last text added */
};

static const char *const reductions[REDUCTION_COUNT] = {
    [REDUCE_SUM] = "sum", [REDUCE_PROD] = "prod", [REDUCE_MAX] = "max",
    [REDUCE_MIN] = "min", [REDUCE_MEAN] = "mean", [REDUCE_VAR] = "var",
};

const char *reduction_name(Reduction reduction) {
    return reductions[reduction];
}

bool reduction_find(const char *name, Reduction *reduction) {
    for (int i = 0; i < REDUCTION_COUNT; i++) {
        if (strcmp(reductions[i], name)) continue;
        *reduction = (Reduction)i;
        return true;
    }
    return false;
}

static const char *const shape_functions[SHAPE_FUNCTION_COUNT] = {
    [SHAPE_SUM_TO] = "sum_to",
    [SHAPE_BROADCAST_TO] = "broadcast_to",
    [SHAPE_COUNT] = "count",
};

const char *shape_function_name(ShapeFunction function) {
    return shape_functions[function];
}

bool shape_function_find(const char *name, ShapeFunction *function) {
    for (int i = 0; i < SHAPE_FUNCTION_COUNT; i++) {
        if (strcmp(shape_functions[i], name)) continue;
        *function = (ShapeFunction)i;
        return true;
    }
    return false;
}

bool takes_axis(const char *name) {
    Reduction reduction;
    return reduction_find(name, &reduction) || !strcmp(name, shape_functions[SHAPE_COUNT]);
}

/* --- Functions as text */

void function_print_head(Text *out, const Function *function) {
    const AstParameter *parameters =
        function->ast->parameters.data + function->def->parameter_first;
    text_printf(out, "%s(", function->name);
    for (uint32_t i = 0; i < function->def->parameter_count; i++) {
        text_printf(out, "%s%s", i ? ", " : "", parameters[i].name);
        if (!parameters[i].value) continue;
        text_add(out, "=");
        ast_print_expression(out, function->ast, parameters[i].value);
    }
    text_add(out, ")");
}

void function_print(Text *out, const Function *function) {
    function_print_head(out, function);
    text_add(out, " = ");
    ast_print_expression(out, function->ast, function->def->value);
}

/* --- Finding */

static Entry *find_entry(const Registry *registry, const char *name) {
    Entry *entry = NULL;
    for (; registry && !entry; registry = registry->parent)
        HASH_FIND_STR(registry->table, name, entry);
    return entry;
}

const Function *registry_find(const Registry *registry, const char *name) {
    const Entry *entry = find_entry(registry, name);
    return entry ? &entry->function : NULL;
}

const Derivative *registry_derivative(const Registry *registry, const Function *function,
                                      Primitive primitive, uint32_t parameter) {
    for (; registry; registry = registry->parent)
        for (uint32_t i = registry->derivatives.count; i-- > 0;) {
            const Derivative *derivative = registry->derivatives.data[i];
            if (derivative->function == function && derivative->parameter == parameter &&
                (function || derivative->primitive == primitive))
                return derivative;
        }
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    const Function *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

const Function *const *registry_list(const Registry *registry, Arena *arena, uint32_t *count) {
    ARRAY(const Function *) list = {0};
    for (const Registry *scope = registry; scope; scope = scope->parent)
        for (const Entry *entry = scope->table; entry; entry = entry->hh.next)
            if (registry_find(registry, entry->function.name) == &entry->function)
                array_push(arena, &list, &entry->function);
    if (list.count) qsort(list.data, list.count, sizeof *list.data, compare_names);
    *count = list.count;
    return list.data;
}

uint64_t registry_user_hash(const Registry *registry) {
    Arena *arena = arena_open();
    Text text = {0};
    uint32_t count;
    const Function *const *list = registry_list(registry, arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i]->layer != LAYER_USER) continue;
        function_print(&text, list[i]);
        text_add(&text, "\n");
    }
    uint64_t hash = XXH3_64bits(text_string(&text), text.length);
    text_free(&text);
    arena_close(arena);
    return hash;
}

const char *registry_nearest(const Registry *registry, const char *name) {
    Nearest nearest = {.wanted = name};
    for (const Registry *scope = registry; scope; scope = scope->parent)
        for (const Entry *entry = scope->table; entry; entry = entry->hh.next)
            nearest_consider(&nearest, entry->function.name);
    for (int i = 0; i < PRIMITIVE_COUNT; i++)
        if (primitive_info((Primitive)i)->class != CLASS_OPERATOR)
            nearest_consider(&nearest, primitive_info((Primitive)i)->name);
    for (int i = 0; i < REDUCTION_COUNT; i++) nearest_consider(&nearest, reductions[i]);
    for (int i = 0; i < SHAPE_FUNCTION_COUNT; i++) nearest_consider(&nearest, shape_functions[i]);
    for (DType type = DT_WEAK + 1; type < DTYPE_COUNT; type++)
        nearest_consider(&nearest, dtype_name(type));
    return nearest.name;
}

/* --- Adding */

static Function describe(const Ast *ast, const Statement *def, Layer layer, uint32_t rank) {
    Function function = {.name = def->name,
                         .layer = layer,
                         .ast = ast,
                         .def = def,
                         .description = def->comment,
                         .rank = rank};
    const AstParameter *parameters = ast->parameters.data + def->parameter_first;
    while (function.required < def->parameter_count && !parameters[function.required].value)
        function.required++;
    return function;
}

static bool hides_builtin(const Function *function) {
    Primitive primitive;
    Reduction reduction;
    ShapeFunction shape;
    DType type;
    bool takes_one = function->required <= 1 && function->def->parameter_count;
    return primitive_find(function->name, &primitive) || dtype_find(function->name, &type) ||
           shape_function_find(function->name, &shape) ||
           (takes_one && reduction_find(function->name, &reduction));
}

static void warn_if_hiding(const Function *function, Diags *diags) {
    const Function *hidden = function->hidden;
    if (hidden && hidden->layer != LAYER_BUILTIN)
        diag_warning(diags, function->ast->source, function->def->mark, NULL,
                     "this '%s' hides the one of %s", function->name, hidden->ast->source->name);
    else if (hidden || hides_builtin(function))
        diag_warning(diags, function->ast->source, function->def->mark, NULL,
                     "this '%s' hides the built-in one", function->name);
}

static void complain_of_double(const Function *first, const Statement *def, Diags *diags) {
    diag_error(diags, first->ast->source, def->mark, NULL, "'%s' is defined twice", def->name);
    diag_add(diags, DIAG_NOTE, first->ast->source, first->def->mark, NULL,
             "the first definition is here");
}

/* The new function, or NULL if this text has one of the name already. */
static Function *add(Registry *registry, Function function, Diags *diags) {
    Arena *arena = registry->arena;
    Entry *old, *hidden = find_entry(registry, function.name), *entry;
    if (hidden && hidden->function.rank == function.rank) {
        complain_of_double(&hidden->function, function.def, diags);
        return NULL;
    }
    entry = arena_new(arena, Entry);
    entry->function = function;
    entry->function.hidden = hidden ? &hidden->function : NULL;
    HASH_FIND_STR(registry->table, function.name, old);
    if (old) HASH_DEL(registry->table, old);
    HASH_ADD_KEYPTR(hh, registry->table, function.name, strlen(function.name), entry);
    warn_if_hiding(&entry->function, diags);
    return &entry->function;
}

static void warn_if_second(const Derivative *new, const Derivative *old, Diags *diags) {
    const Ast *ast = new->rule.ast;
    const char *name = derivative_name(diags->arena, new);
    if (old->rule.rank == new->rule.rank) {
        diag_error(diags, ast->source, new->rule.def->mark, NULL, "two derivatives of %s", name);
        diag_add(diags, DIAG_NOTE, ast->source, old->rule.def->mark, NULL, "the first is here");
    } else {
        bool builtin = old->rule.layer == LAYER_BUILTIN;
        diag_warning(diags, ast->source, new->rule.def->mark, NULL,
                     "this derivative of %s hides the %s", name,
                     builtin ? "built-in one" : "earlier one");
    }
}

/* The new derivative's text as a function, or NULL. */
static Function *add_derivative(Registry *registry, const Ast *ast, const Statement *statement,
                                Layer layer, Diags *diags) {
    Derivative *new = derivative_read(registry->arena, registry, ast, statement, diags);
    if (!new) return NULL;
    new->rule.layer = layer;
    new->rule.rank = registry->rank;
    const Derivative *old =
        registry_derivative(registry, new->function, new->primitive, new->parameter);
    if (old) warn_if_second(new, old, diags);
    array_push(registry->arena, &registry->derivatives, new);
    return &new->rule;
}

bool registry_add(Registry *registry, const Ast *ast, Layer layer, Diags *diags) {
    ARRAY(Function *) added = {0};
    uint32_t errors = diags->errors;
    registry->rank++;
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        const Statement *def = &ast->statements.data[i];
        if (def->kind != STATEMENT_DEFINE) continue;
        Function *function = add(registry, describe(ast, def, layer, registry->rank), diags);
        if (function) array_push(registry->arena, &added, function);
    }
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        const Statement *statement = &ast->statements.data[i];
        if (statement->kind != STATEMENT_DERIVATIVE) continue;
        Function *rule = add_derivative(registry, ast, statement, layer, diags);
        if (rule) array_push(registry->arena, &added, rule);
    }
    check_functions(registry, added.data, added.count, diags);
    return diags->errors == errors;
}

/* --- Opening */

Registry *registry_scope(Arena *arena, const Registry *parent) {
    Registry *registry = arena_new(arena, Registry);
    registry->arena = arena;
    registry->parent = parent;
    registry->rank = parent ? parent->rank : 0;
    return registry;
}

/* Our own texts have no errors and hide nothing. */
static void add_builtin(Registry *registry, const Embed *file) {
    Diags diags = {.arena = registry->arena};
    const Source *source = source_new(registry->arena, file->path, file->text, file->length);
    const Ast *ast = parse_definitions(registry->arena, source, &diags);
    if (ast) registry_add(registry, ast, LAYER_BUILTIN, &diags);
    if (!diags.list.count) return;
    Text text = {0};
    diags_print(&text, &diags);
    fprintf(stderr, "kfuse: the built-in registry is broken\n%s", text_string(&text));
    abort();
}

Registry *registry_open(Arena *arena) {
    Registry *registry = registry_scope(arena, NULL);
    for (const Embed *file = registry_texts; file->path; file++) {
        size_t length = strlen(file->path);
        if (length > 3 && !strcmp(file->path + length - 3, ".kf")) add_builtin(registry, file);
    }
    return registry;
}
