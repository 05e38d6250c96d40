/* Terms in, text out. One idea: a term that is read more than once, or grows too long to read, is a
 * statement with a name; the rest stands where it is read. The text is written with all parentheses and
 * printed by the grammar's own printer.
 *
 *     h = x + b                                 called as the program calls it
 *     dh = dout * (…)                           its cotangent
 *     t1 = …                                    anything else
 *     dx = sum_to(dh, x)                        results last, in the order asked for */
#include <string.h>

#include "compiler/grad_program.h"
#include "grammar/parse.h"
#include "registry/call.h"

enum {
    INLINE_MAX = 16, /* operations of one statement: a line still read at a glance */
    NAME_SHOWN = 240 /* bytes of a name that another is made from */
};

typedef struct Writer {
    GradProgram *program;
    Tape *tape;
    Term end;      /* terms of the program and of its derivatives; behind them, what is written */
    Term *call_of; /* of the body of a call, the call */
    bool *needed;
    Term *map;      /* what a term is written as */
    uint32_t count; /* of all terms */
    bool *written;  /* what is written, and its operands */
    uint32_t *uses, *size;
    const char **name;  /* of statements */
    const char *hidden; /* what cannot be spelled, or NULL */
    Text out;
} Writer;

static const TermNode *node_of(const Writer *w, Term term) {
    return tape_node(w->tape, term);
}

static bool is_leaf(const Writer *w, Term term) {
    uint16_t op = node_of(w, term)->op;
    return op == TERM_NUMBER || op == TERM_INPUT || op == TERM_PARAM;
}

/* --- Names */

static bool is_taken(const GradProgram *program, const char *name) {
    const GradSymbol *symbol = grad_symbol(program, name);
    uint32_t i;
    if (symbol != NULL && symbol->kind != GRAD_BINDING) return true;
    for (uint32_t at = 0; (i = table_next(&program->taken, table_hash_name(name), &at)) != 0;)
        if (strcmp(program->given.data[i - 1], name) == 0) return true;
    return strcmp(name, "def") == 0; /* the only reserved word that is d and a name */
}

const char *grad_unique_name(GradProgram *program, const char *base) {
    const char *name = arena_printf(program->arena, "%.*s", NAME_SHOWN, base);
    for (uint32_t i = 2; is_taken(program, name); i++)
        name = arena_printf(program->arena, "%.*s%u", NAME_SHOWN, base, i);
    array_push(program->arena, &program->given, name);
    table_add(program->arena, &program->taken, table_hash_name(name), program->given.count);
    return name;
}

static const char *statement_name(const Writer *w, Term term) {
    GradProgram *program = w->program;
    const char *label = node_of(w, term)->label;
    if (label == NULL) label = arena_printf(program->arena, "t%u", ++program->temporaries);
    return grad_unique_name(program, label);
}

/* --- What is written: calls for their bodies, operands for what was frozen */

static void find_calls(Writer *w) {
    w->call_of = arena_array(w->program->arena, Term, w->end);
    for (Term term = 1; term < w->end; term++) {
        const TermNode *node = node_of(w, term);
        bool behind = node->op == TERM_CALL && !is_leaf(w, node->body);
        for (uint32_t i = 0; behind && i < node->count; i++)
            behind = tape_arg(w->tape, term, i) < node->body;
        if (behind && w->call_of[node->body] == 0) w->call_of[node->body] = term;
    }
}

static Term shown(const Writer *w, Term term) {
    return w->call_of[term] != 0 ? w->call_of[term] : term;
}

static void mark_needed(Writer *w) {
    w->needed = arena_array(w->program->arena, bool, w->end);
    for (uint32_t i = 0; i < w->program->results.count; i++)
        w->needed[w->program->results.data[i].term] = true;
    for (Term term = w->end; term-- > 1;) {
        if (!w->needed[term]) continue;
        Term as = shown(w, term);
        for (uint32_t i = 0; i < node_of(w, as)->count; i++)
            w->needed[tape_arg(w->tape, as, i)] = true;
    }
}

static Term rebuild(Writer *w, Term term) {
    Term as = shown(w, term);
    TermNode node = *node_of(w, as);
    uint32_t list = w->tape->list.count;
    if (node.op == TERM_FROZEN) return w->map[node.arg[0]];
    for (uint32_t i = 0; i < node.count; i++) {
        Term arg = w->map[tape_arg(w->tape, as, i)];
        if (node.op == TERM_CALL)
            array_push(w->tape->arena, &w->tape->list, arg);
        else
            node.arg[i] = arg;
    }
    if (node.op == TERM_CALL) node.list = list;
    Term built = tape_term(w->tape, node);
    TermNode *result = &w->tape->terms.data[built];
    if (result->label == NULL) result->label = node_of(w, term)->label;
    return built;
}

static void rebuild_needed(Writer *w) {
    w->map = arena_array(w->program->arena, Term, w->end);
    for (Term term = 1; term < w->end; term++)
        if (w->needed[term]) w->map[term] = rebuild(w, term);
    for (uint32_t i = 0; i < w->program->results.count; i++) {
        GradResult *result = &w->program->results.data[i];
        result->term = w->map[result->term];
    }
}

/* --- Which are statements */

static void count_uses(Writer *w) {
    w->count = w->tape->terms.count;
    w->uses = arena_array(w->program->arena, uint32_t, w->count);
    w->written = arena_array(w->program->arena, bool, w->count);
    for (uint32_t i = 0; i < w->program->results.count; i++) {
        w->uses[w->program->results.data[i].term]++;
        w->written[w->program->results.data[i].term] = true;
    }
    for (Term term = w->count; term-- > 1;) {
        if (!w->written[term] || node_of(w, term)->op == TERM_PARAM) continue;
        for (uint32_t i = 0; i < node_of(w, term)->count; i++) {
            w->uses[tape_arg(w->tape, term, i)]++;
            w->written[tape_arg(w->tape, term, i)] = true;
        }
    }
}

/* As short as a name: w.T, -x, count(x). */
static bool is_short(const Writer *w, Term term) {
    const TermNode *node = node_of(w, term);
    bool unary = node->op == TERM_TRANSPOSE || node->op == TERM_COUNT || node->op == TERM_CAST ||
                 tape_is(w->tape, term, P_NEG);
    return is_leaf(w, term) || (unary && is_leaf(w, node->arg[0]));
}

static void choose_statements(Writer *w) {
    w->size = arena_array(w->program->arena, uint32_t, w->count);
    w->name = arena_array(w->program->arena, const char *, w->count);
    for (uint32_t i = w->program->results.count; i-- > 0;) { /* the first of equal ones */
        const GradResult *result = &w->program->results.data[i];
        if (!is_leaf(w, result->term)) w->name[result->term] = result->name;
    }
    for (Term term = 1; term < w->count; term++) {
        if (!w->written[term]) continue;
        w->size[term] = 1;
        for (uint32_t i = 0; !is_leaf(w, term) && i < node_of(w, term)->count; i++) {
            Term arg = tape_arg(w->tape, term, i);
            w->size[term] += w->name[arg] != NULL ? 1 : w->size[arg];
        }
        bool often = w->uses[term] > 1 && !is_short(w, term);
        if (w->name[term] == NULL && (often || w->size[term] > INLINE_MAX))
            w->name[term] = statement_name(w, term);
    }
}

/* --- Spelling */

/* Whether the name still means the built-in function where the text will be read. */
static bool is_free(const Writer *w, const char *name, bool reduces) {
    const Function *function = registry_find(w->tape->registry, name);
    if (function == NULL) return true;
    return reduces && (function->required > 1 || function->def->parameter_count == 0);
}

static const char *spell(Writer *w, const char *name, bool reduces) {
    if (!is_free(w, name, reduces)) w->hidden = name;
    return name;
}

static const char *spell_primitive(Writer *w, Primitive primitive) {
    const PrimitiveInfo *info = primitive_info(primitive);
    const char *names[] = {info->name, info->c, arena_printf(w->tape->arena, "%sf", info->c)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_free(w, names[i], false)) return names[i];
    return spell(w, info->name, false);
}

static const char *spell_call(Writer *w, Term term) {
    const TermNode *node = node_of(w, term);
    switch (node->op) {
    case TERM_CALL: return node->function->name; /* seen to be visible when it was read */
    case TERM_CAST: return spell(w, dtype_name(node->dtype), false);
    case TERM_SUM_TO: return spell(w, shape_function_name(SHAPE_SUM_TO), false);
    case TERM_BROADCAST_TO: return spell(w, shape_function_name(SHAPE_BROADCAST_TO), false);
    case TERM_COUNT: return spell(w, shape_function_name(SHAPE_COUNT), false);
    default: break;
    }
    if (node->op < TERM_PRIMITIVE)
        return spell(w, reduction_name((Reduction)(node->op - TERM_REDUCE)), true);
    return spell_primitive(w, (Primitive)(node->op - TERM_PRIMITIVE));
}

static const char *infix(const Writer *w, Term term) {
    const TermNode *node = node_of(w, term);
    if (node->op == TERM_MATMUL) return "@";
    if (node->op == TERM_POWER) return "**";
    if (node->op < TERM_PRIMITIVE || node->count != 2) return NULL;
    const PrimitiveInfo *info = primitive_info((Primitive)(node->op - TERM_PRIMITIVE));
    return info->class == CLASS_OPERATOR ? info->c : NULL;
}

/* --- Expressions; their depth is at most INLINE_MAX */

static void write_term(Writer *w, Term term);

static void write_value(Writer *w, Term term) {
    if (w->name[term] != NULL)
        text_add(&w->out, w->name[term]);
    else
        write_term(w, term);
}

static void write_axis(Writer *w, const TermNode *node) {
    if (node->op < TERM_COUNT || node->op == TERM_CALL || node->op >= TERM_PRIMITIVE) return;
    if (node->axis == AXIS_EVERY)
        text_add(&w->out, ", axis=all");
    else if (node->axis != -1)
        text_printf(&w->out, ", axis=%d", node->axis);
}

static void write_call(Writer *w, Term term) {
    uint32_t count = node_of(w, term)->count;
    text_printf(&w->out, "%s(", spell_call(w, term));
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) text_add(&w->out, ", ");
        write_value(w, tape_arg(w->tape, term, i));
    }
    write_axis(w, node_of(w, term));
    text_add(&w->out, ")");
}

static bool is_factors(const Writer *w, Term term) {
    return tape_is(w->tape, term, P_MUL) || tape_is(w->tape, term, P_DIV);
}

static void write_infix(Writer *w, Term term, bool minus);

/* -a * b is -(a * b), and reads better. */
static void write_minus(Writer *w, Term term) {
    if (w->name[term] == NULL && is_factors(w, term)) {
        write_infix(w, term, true);
        return;
    }
    text_add(&w->out, "(-");
    write_value(w, term);
    text_add(&w->out, ")");
}

static void write_infix(Writer *w, Term term, bool minus) {
    text_add(&w->out, "(");
    if (minus)
        write_minus(w, tape_arg(w->tape, term, 0));
    else
        write_value(w, tape_arg(w->tape, term, 0));
    text_printf(&w->out, " %s ", infix(w, term));
    write_value(w, tape_arg(w->tape, term, 1));
    text_add(&w->out, ")");
}

static void write_select(Writer *w, const TermNode *node) {
    text_add(&w->out, "(");
    write_value(w, node->arg[0]);
    text_add(&w->out, " ? ");
    write_value(w, node->arg[1]);
    text_add(&w->out, " : ");
    write_value(w, node->arg[2]);
    text_add(&w->out, ")");
}

static void write_number(Writer *w, double number) {
    text_add(&w->out, "(");
    number_print(&w->out, number);
    text_add(&w->out, ")");
}

static void write_term(Writer *w, Term term) {
    const TermNode node = *node_of(w, term);
    switch (node.op) {
    case TERM_NUMBER: write_number(w, node.number); return;
    case TERM_INPUT:
    case TERM_PARAM: text_add(&w->out, node.name); return;
    case TERM_TRANSPOSE:
        text_add(&w->out, "(");
        write_value(w, node.arg[0]);
        text_add(&w->out, ").T");
        return;
    default: break;
    }
    if (tape_is(w->tape, term, P_NEG)) {
        write_minus(w, node.arg[0]);
    } else if (tape_is(w->tape, term, P_NOT)) {
        text_add(&w->out, "(!");
        write_value(w, node.arg[0]);
        text_add(&w->out, ")");
    } else if (tape_is(w->tape, term, P_SELECT)) {
        write_select(w, &node);
    } else if (infix(w, term) != NULL) {
        write_infix(w, term, false);
    } else {
        write_call(w, term);
    }
}

/* --- Statements */

static void write_params(Writer *w) {
    for (Term term = 1; term < w->count; term++) {
        const TermNode *node = node_of(w, term);
        if (!w->written[term] || node->op != TERM_PARAM) continue;
        text_printf(&w->out, "param %s = ", node->name);
        const char **names = w->name; /* a constant expression reads none */
        w->name = arena_array(w->program->arena, const char *, w->count);
        write_term(w, node->arg[0]);
        w->name = names;
        text_add(&w->out, "\n");
    }
}

static void write_statement(Writer *w, const char *name, Term term) {
    text_printf(&w->out, "%s = ", name);
    write_term(w, term);
    text_add(&w->out, "\n");
}

static bool is_result(const Writer *w, Term term) {
    for (uint32_t i = 0; i < w->program->results.count; i++)
        if (w->program->results.data[i].term == term) return true;
    return false;
}

/* A result that others read stands before them; whether there is one. */
static bool write_shared(Writer *w) {
    bool early = false;
    for (Term term = 1; term < w->count; term++) {
        if (w->name[term] == NULL || !w->written[term]) continue;
        bool result = is_result(w, term);
        if (result && w->uses[term] == 1) continue;
        early = early || result;
        write_statement(w, w->name[term], term);
    }
    return early;
}

static void write_results(Writer *w) {
    for (uint32_t i = 0; i < w->program->results.count; i++) {
        const GradResult *result = &w->program->results.data[i];
        const char *name = w->name[result->term];
        bool own = name != NULL && strcmp(name, result->name) == 0;
        if (own && w->uses[result->term] > 1) continue;
        if (name != NULL && !own)
            text_printf(&w->out, "%s = %s\n", result->name, name);
        else
            write_statement(w, result->name, result->term);
    }
}

static void write_return(Writer *w) {
    for (uint32_t i = 0; i < w->program->results.count; i++)
        text_printf(&w->out, "%s%s", i == 0 ? "return " : ", ", w->program->results.data[i].name);
    text_add(&w->out, "\n");
}

/* --- The whole */

/* What was written, as the printer of the grammar has it; NULL where it exceeds a limit of the
 * language. */
static const char *canonical(Writer *w, Arena *arena) {
    Arena *scratch = w->program->arena;
    Diags diags = {.arena = scratch};
    const char *written = text_string(&w->out);
    const Ast *ast =
        parse_program(scratch, source_new(scratch, "<grad>", written, w->out.length), &diags);
    Text text = {0};
    if (ast == NULL)
        diag_error(w->program->diags, NULL, (Span){0}, NULL, "the backward program has %s",
                   diags.list.data[0].message);
    if (ast == NULL) return NULL;
    ast_print(&text, ast);
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static const char *keep(Arena *arena, const char *name) {
    return arena_copy(arena, name, strlen(name));
}

static void list_names(const GradProgram *program, Arena *arena, Grad *grad) {
    for (uint32_t i = 0; i < program->outputs.count; i++) {
        const GradOutput *output = &program->outputs.data[i];
        if (output->cotangent != NULL)
            array_push(arena, &grad->cotangents,
                       (GradName){keep(arena, output->name), keep(arena, output->cotangent)});
    }
    for (uint32_t i = 0; i < program->results.count; i++) {
        const GradResult *result = &program->results.data[i];
        array_push(arena, &grad->results,
                   (GradName){keep(arena, result->input), keep(arena, result->name)});
    }
}

bool grad_write(GradProgram *program, Arena *arena, Grad *grad) {
    Writer w = {.program = program, .tape = &program->tape, .end = program->tape.terms.count};
    find_calls(&w);
    mark_needed(&w);
    rebuild_needed(&w);
    count_uses(&w);
    choose_statements(&w);
    write_params(&w);
    bool early = write_shared(&w);
    write_results(&w);
    if (early) write_return(&w);
    if (w.hidden != NULL)
        diag_error(program->diags, NULL, (Span){0}, NULL,
                   "the backward program needs the built-in '%s', which a function hides",
                   w.hidden);
    else
        grad->text = canonical(&w, arena);
    list_names(program, arena, grad);
    text_free(&w.out);
    return grad->text != NULL;
}
