/* In: a program's text. Out: the names of what goes in and comes out. One idea: what a name is can be told
 * from the statements alone, as lower tells it, so that arguments can be bound before their shapes are
 * known. */
#include <string.h>

#include "compiler/table.h"
#include "grammar/parse.h"
#include "kfuse_objects.h"
#include "registry/call.h"

enum { NOWHERE = UINT32_MAX };

typedef struct Name {
    const char *name;
    uint32_t bound; /* by which statement; NOWHERE: by none */
    bool param;     /* bound before all else */
    bool input;     /* read before it is bound; bound as well: updated in place */
    bool read;      /* behind its binding */
} Name;

typedef struct Names {
    Arena *arena;
    const Ast *ast;
    Registry *scope; /* with the program's own functions */
    Table table;
    ARRAY(Name) list; /* [0] is none */
    ARRAY(const char *) inputs, params, outputs;
} Names;

static Name *find(const Names *names, const char *name) {
    uint32_t i;
    for (uint32_t at = 0; (i = table_next(&names->table, table_hash_name(name), &at)) != 0;)
        if (strcmp(names->list.data[i].name, name) == 0) return &names->list.data[i];
    return NULL;
}

static Name *add(Names *names, Name name) {
    table_add(names->arena, &names->table, table_hash_name(name.name), names->list.count);
    array_push(names->arena, &names->list, name);
    return &names->list.data[names->list.count - 1];
}

/* A bare last expression binds "out"; of a name bound twice, which is an error, the first counts. */
static void declare(Names *names, uint32_t index) {
    const Statement *statement = &names->ast->statements.data[index];
    bool expression = statement->kind == STATEMENT_EXPR, param = statement->kind == STATEMENT_PARAM;
    const char *name = expression ? "out" : statement->name;
    if ((!expression && !param && statement->kind != STATEMENT_BIND) || find(names, name)) return;
    add(names, (Name){.name = name, .bound = index, .param = param});
    if (param) array_push(names->arena, &names->params, name);
}

static void read_name(Names *names, const char *name, uint32_t statement) {
    Name *found = find(names, name);
    if (!found) found = add(names, (Name){.name = name, .bound = NOWHERE});
    if (found->param || found->bound < statement) found->read = true;
    if (found->read || found->input) return;
    found->input = true;
    array_push(names->arena, &names->inputs, found->name);
}

/* The word of `axis=all` is no name that is read. */
static void mark_axis_words(Names *names, const Statement *statement, bool *words) {
    Diags unsaid = {.arena = names->arena};
    for (Node at = statement->first; at <= statement->value; at++) {
        const AstNode *call = &names->ast->nodes.data[at];
        if (call->kind != AST_CALL || !takes_axis(call->name)) continue;
        bool reduces =
            call_resolve(names->scope, NULL, names->ast, at, &unsaid).kind != CALLEE_FUNCTION;
        for (uint32_t i = 0; i < call->count; i++) {
            const AstArg *arg = &names->ast->args.data[call->first + i];
            if (reduces && arg->name && strcmp(arg->name, "axis") == 0)
                words[arg->value - statement->first] = true;
        }
    }
}

static void read_statement(Names *names, uint32_t index) {
    const Statement *statement = &names->ast->statements.data[index];
    if (statement->kind != STATEMENT_BIND && statement->kind != STATEMENT_EXPR &&
        statement->kind != STATEMENT_RETURN)
        return;
    bool *words = arena_array(names->arena, bool, statement->value - statement->first + 1);
    mark_axis_words(names, statement, words);
    for (Node at = statement->first; at <= statement->value; at++) {
        const AstNode *node = &names->ast->nodes.data[at];
        if (node->kind == AST_NAME && !words[at - statement->first])
            read_name(names, node->name, index);
    }
}

/* What is returned; an expression is "out", or "out2" as the second of several. */
static uint32_t add_returned(Names *names) {
    const Ast *ast = names->ast;
    uint32_t count = 0, nth = 0;
    for (uint32_t i = 0; i < ast->statements.count; i++)
        count += ast->statements.data[i].kind == STATEMENT_RETURN;
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        const AstNode *node = &ast->nodes.data[ast->statements.data[i].value];
        if (ast->statements.data[i].kind != STATEMENT_RETURN) continue;
        const char *name = count == 1 ? "out" : arena_printf(names->arena, "out%u", ++nth);
        array_push(names->arena, &names->outputs, node->kind == AST_NAME ? node->name : name);
    }
    return count;
}

static bool is_output(const Names *names, const char *name) {
    for (uint32_t i = 0; i < names->outputs.count; i++)
        if (strcmp(names->outputs.data[i], name) == 0) return true;
    return false;
}

/* Updates, always; without a return, what nobody reads, too. */
static void add_outputs(Names *names) {
    bool returns = add_returned(names) > 0;
    for (uint32_t i = 1; i < names->list.count; i++) { /* bindings stand in their order */
        const Name *name = &names->list.data[i];
        bool stored = name->input || (!returns && !name->read);
        if (name->bound == NOWHERE || name->param || !stored) continue;
        if (returns && is_output(names, name->name)) continue;
        array_push(names->arena, &names->outputs, name->name);
    }
}

static void print(Text *out, const char *title, const char *const *list, uint32_t count) {
    text_printf(out, "\"%s\":[", title);
    for (uint32_t i = 0; i < count; i++) text_printf(out, "%s\"%s\"", i ? "," : "", list[i]);
    text_add(out, "]");
}

static void print_names(Text *out, const Names *names) {
    text_add(out, "{");
    print(out, "inputs", names->inputs.data, names->inputs.count);
    text_add(out, ",");
    print(out, "params", names->params.data, names->params.count);
    text_add(out, ",");
    print(out, "outputs", names->outputs.data, names->outputs.count);
    text_add(out, "}\n");
}

static bool read_program(Names *names, const Registry *registry, Diags *diags) {
    names->scope = registry_scope(names->arena, registry);
    if (!registry_add(names->scope, names->ast, LAYER_PROGRAM, diags)) return false;
    array_push(names->arena, &names->list, (Name){.name = ""});
    for (uint32_t i = 0; i < names->ast->statements.count; i++) declare(names, i);
    for (uint32_t i = 0; i < names->ast->statements.count; i++) read_statement(names, i);
    add_outputs(names);
    return true;
}

KfStatus kf_program_names(KfSession *session, const char *text, size_t length, const char *source,
                          char **out) {
    text_clear(&session->message);
    *out = NULL;
    if (!text) return session_say(session, KF_USAGE, "no program");
    if (length == SIZE_MAX) length = strlen(text);
    if (length > SOURCE_MAX)
        return session_say(session, KF_INPUT, "the program is longer than 16 MiB");
    Names names = {.arena = arena_open()};
    Diags diags = {.arena = names.arena};
    Text printed = {0};
    source = source ? source : "<expr>";
    names.ast = parse_program(names.arena, source_new(names.arena, source, text, length), &diags);
    bool good = names.ast && read_program(&names, session->registry, &diags);
    diags_print(&session->message, &diags);
    if (good) print_names(&printed, &names);
    arena_close(names.arena);
    return good ? session_give(&printed, out) : KF_INPUT;
}
