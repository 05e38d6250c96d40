/* In: a program's text. Out: the names that its caller gives values to, its inputs and its params. One
 * idea: what a name is can be told from the statements alone, as lower tells it, so that arguments can be
 * bound before their shapes are known. */
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
    bool input;     /* read before it is bound */
} Name;

typedef struct Names {
    Arena *arena;
    const Ast *ast;
    Registry *scope; /* with the program's own functions */
    Table table;
    ARRAY(Name) list; /* [0] is none */
    ARRAY(const char *) inputs;
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
}

static void read_name(Names *names, const char *name, uint32_t statement) {
    Name *found = find(names, name);
    if (!found) found = add(names, (Name){.name = name, .bound = NOWHERE});
    if (found->input || found->param || found->bound < statement) return;
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

static void print(const Names *names, Text *out) {
    const char *separator = "";
    text_add(out, "{\"inputs\":[");
    for (uint32_t i = 0; i < names->inputs.count; i++)
        text_printf(out, "%s\"%s\"", i ? "," : "", names->inputs.data[i]);
    text_add(out, "],\"params\":[");
    for (uint32_t i = 1; i < names->list.count; i++) {
        if (!names->list.data[i].param) continue;
        text_printf(out, "%s\"%s\"", separator, names->list.data[i].name);
        separator = ",";
    }
    text_add(out, "]}\n");
}

static bool read_program(Names *names, const Registry *registry, Diags *diags) {
    names->scope = registry_scope(names->arena, registry);
    if (!registry_add(names->scope, names->ast, LAYER_PROGRAM, diags)) return false;
    array_push(names->arena, &names->list, (Name){.name = ""});
    for (uint32_t i = 0; i < names->ast->statements.count; i++) declare(names, i);
    for (uint32_t i = 0; i < names->ast->statements.count; i++) read_statement(names, i);
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
    if (good) print(&names, &printed);
    arena_close(names.arena);
    return good ? session_give(&printed, out) : KF_INPUT;
}
