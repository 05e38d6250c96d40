/* In: a template's text. Out: what its header says, checked. The one idea: every //! line is parsed
 * first and then read in the order in which kinds need one another, so that lines may stand in any
 * order. */
#include "registry/template.h"

#include <string.h>

#include "grammar/parse.h"
#include "registry/nearest.h"
#include "registry/reach.h"
#include "registry/template_lines.h"

typedef struct Line {
    Span span; /* behind "//!" */
    const Ast *ast;
    const Directive *said;
} Line;

typedef struct Reader {
    Arena *arena;
    Diags *diags;
    const Source *source;
    Template *template;
    ARRAY(Line) lines;
    ARRAY(Binding) names; /* what expressions may read besides knobs */
} Reader;

/* Of a place in a line, or of the file as a whole. */
#define complain(reader, line, span, hint, ...) \
    diag_error((reader)->diags, (line)->ast->source, span, hint, __VA_ARGS__)
#define complain_of_file(reader, ...) \
    diag_error((reader)->diags, (reader)->source, ((Span){0, 0}), NULL, __VA_ARGS__)

/* --- Lines */

/* `word` as a whole word in a line, or the line. */
static Span find_word(const Source *source, Span line, const char *word) {
    uint32_t length = (uint32_t)strlen(word);
    const char *text = source->text;
    for (uint32_t at = line.begin; at + length <= line.end; at++)
        if (!memcmp(text + at, word, length) && !lines_name_byte(text[at + length]) &&
            (at == line.begin || !lines_name_byte(text[at - 1])))
            return (Span){at, at + length};
    return line;
}

static bool read_lines(Reader *reader, const Source *source, bool bare) {
    for (uint32_t offset = 0; offset < source->length;) {
        Span span = lines_next(source, bare, &offset);
        if (span.begin == span.end || source->text[span.begin] == '#') continue;
        const Ast *ast = parse_directive(reader->arena, source, span, reader->diags);
        if (!ast) return false;
        Line line = {span, ast, ast->directive};
        array_push(reader->arena, &reader->lines, line);
    }
    return true;
}

/* What a line is about, besides its kind: the knob, the tensor, the entry. NULL: the kernel's. */
static const char *subject(const Line *line, const char *kernel) {
    switch (line->said->kind) {
    case DIRECTIVE_KNOB:
    case DIRECTIVE_INPUT:
    case DIRECTIVE_OUTPUT: return line->said->name;
    case DIRECTIVE_LAUNCH: return line->said->name ? line->said->name : kernel;
    default: return "";
    }
}

static bool replaces(const Line *option, const Line *line, const char *kernel) {
    if (option->said->kind != line->said->kind || option->said->kind == DIRECTIVE_REQUIRE ||
        option->said->kind == DIRECTIVE_PREFER)
        return false;
    return !strcmp(subject(option, kernel), subject(line, kernel));
}

/* The options stand behind the file's lines; those of the file that they replace go. */
static void replace_lines(Reader *reader, uint32_t options) {
    const Line *lines = reader->lines.data;
    const char *kernel = "";
    uint32_t kept = 0, count = reader->lines.count;
    for (uint32_t i = 0; i < count; i++)
        if (lines[i].said->kind == DIRECTIVE_KERNEL) kernel = lines[i].said->name;
    for (uint32_t i = 0; i < count; i++) {
        bool gone = false;
        for (uint32_t o = options; i < options && o < count && !gone; o++)
            gone = replaces(&lines[o], &lines[i], kernel);
        if (!gone) reader->lines.data[kept++] = lines[i];
    }
    reader->lines.count = kept;
}

/* --- Tensors */

static const TemplateTensor *find_input(const Template *template, const char *name) {
    for (uint32_t i = 0; i < template->inputs.count; i++)
        if (!strcmp(template->inputs.data[i].name, name)) return &template->inputs.data[i];
    return NULL;
}

static const TemplateTensor *find_tensor(const Template *template, const char *name) {
    for (uint32_t i = 0; i < template->outputs.count; i++)
        if (!strcmp(template->outputs.data[i].name, name)) return &template->outputs.data[i];
    return find_input(template, name);
}

static void add_name(Reader *reader, const char *name) {
    for (uint32_t i = 0; i < reader->names.count; i++)
        if (!strcmp(reader->names.data[i].name, name)) return;
    array_push(reader->arena, &reader->names, (Binding){name, 1});
}

/* Of two things with one name, expressions would read one and the entry might get the other. */
static void check_size_name(Reader *reader, const Line *line, const char *name) {
    bool fact = !strcmp(name, "sms") || !strcmp(name, "cpus") || !strncmp(name, "bytes_", 6);
    if (!fact && strcmp(name, "workspace")) return;
    complain(reader, line, find_word(line->ast->source, line->span, name), NULL,
             "a size cannot be called '%s', which stands for %s", name,
             fact ? "a fact of the machine or a tensor" : "the workspace");
}

static void read_dims(Reader *reader, const Line *line, TemplateTensor *tensor) {
    for (uint32_t i = 0; i < line->said->words.count; i++) {
        const char *dim = line->said->words.data[i];
        if (tensor->rank == TENSOR_RANK) {
            complain(reader, line, line->said->mark, NULL, "'%s' has more than %d dimensions",
                     tensor->name, TENSOR_RANK);
            return;
        }
        tensor->dims[tensor->rank++] = dim;
        if (*dim >= '0' && *dim <= '9') continue;
        check_size_name(reader, line, dim);
        add_name(reader, dim);
    }
}

static void add_type(Reader *reader, const Line *line, TemplateTensor *tensor, const char *word) {
    DType type;
    Span span = find_word(line->ast->source, line->span, word);
    if (!dtype_find(word, &type)) {
        const char *hint = arena_printf(reader->arena, "types are %s", dtype_names());
        complain(reader, line, span, hint, "unknown type '%s'", word);
        return;
    }
    for (uint32_t i = 0; i < tensor->type_count; i++) {
        if (tensor->types[i] != type) continue;
        complain(reader, line, span, NULL, "'%s' stands twice among the types of '%s'", word,
                 tensor->name);
        return;
    }
    tensor->types[tensor->type_count++] = type;
}

static void read_types(Reader *reader, const Line *line, TemplateTensor *tensor) {
    const char *const *words = line->said->types.data;
    uint32_t count = line->said->types.count;
    if (strcmp(words[0], "like")) {
        for (uint32_t i = 0; i < count; i++) add_type(reader, line, tensor, words[i]);
        return;
    }
    const TemplateTensor *like = count == 2 ? find_input(reader->template, words[1]) : NULL;
    if (like)
        tensor->like = like->like ? like->like : like->name;
    else
        complain(reader, line,
                 find_word(line->ast->source, line->span, count == 2 ? words[1] : "like"), NULL,
                 "'like' wants the name of an input above");
}

static void read_tensor(Reader *reader, const Line *line) {
    Template *template = reader->template;
    TemplateTensor tensor = {
        .name = line->said->name, .said = line->ast->source, .mark = line->said->mark};
    if (find_tensor(template, tensor.name))
        complain(reader, line, line->said->mark, NULL, "two tensors are called '%s'", tensor.name);
    add_name(reader, arena_printf(reader->arena, "bytes_%s", tensor.name));
    read_dims(reader, line, &tensor);
    read_types(reader, line, &tensor);
    if (line->said->kind == DIRECTIVE_INPUT)
        array_push(reader->arena, &template->inputs, tensor);
    else
        array_push(reader->arena, &template->outputs, tensor);
}

/* --- What the template computes */

static const Statement *find_binding(const Ast *ast, StatementKind kind, const char *name) {
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        const Statement *statement = &ast->statements.data[i];
        if (statement->kind == kind && !strcmp(statement->name, name)) return statement;
    }
    return NULL;
}

static bool is_bound(const Ast *ast, const char *name) {
    return find_binding(ast, STATEMENT_BIND, name) || find_binding(ast, STATEMENT_EXPR, name);
}

/* A value of the program has to be an input, a param or bound; `all` may be an axis. */
static void check_reads(Reader *reader, const Line *line, const Statement *statement) {
    const Ast *ast = line->ast;
    for (Node at = statement->first; at <= statement->value; at++) {
        const AstNode *node = &ast->nodes.data[at];
        if (node->kind != AST_NAME || find_input(reader->template, node->name)) continue;
        if (is_bound(ast, node->name) || find_binding(ast, STATEMENT_PARAM, node->name)) continue;
        if (strcmp(node->name, "all"))
            complain(reader, line, node->mark, NULL, "'%s' is no input of this template",
                     node->name);
    }
}

static void read_computes(Reader *reader, const Line *line) {
    const Ast *ast = line->ast;
    reader->template->computes = ast;
    for (uint32_t i = 0; i < ast->statements.count; i++)
        if (ast->statements.data[i].kind != STATEMENT_DEFINE)
            check_reads(reader, line, &ast->statements.data[i]);
    for (uint32_t i = 0; i < reader->template->outputs.count; i++) {
        const char *name = reader->template->outputs.data[i].name;
        if (!is_bound(ast, name))
            complain(reader, line, line->span, NULL, "nothing here is called '%s' as the output is",
                     name);
    }
}

/* --- Knobs, names, constraints */

static void read_kernel(Reader *reader, const Line *line) {
    reader->template->name = line->said->name;
}

static void read_knob(Reader *reader, const Line *line) {
    const Directive *said = line->said;
    const char *key = said->name;
    size_t length = strlen(key);
    if (length < 5 || memcmp(key, "__", 2) || memcmp(key + length - 2, "__", 2))
        complain(reader, line, said->mark, NULL, "a knob's name has the form __NAME__");
    else if (reader->template->space.knob_count == SPACE_KNOBS)
        complain(reader, line, said->mark, NULL, "more than %d knobs", SPACE_KNOBS);
    else if (said->values.count > SPACE_VALUES)
        complain(reader, line, said->mark, NULL, "more than %d values", SPACE_VALUES);
    else if (!space_add_knob(&reader->template->space, key, said->values.data, said->values.count,
                             said->values.data[0]))
        complain(reader, line, said->mark, NULL,
                 "the knob, or one of its values, stands here twice");
}

static bool has_line(const Reader *reader, DirectiveKind kind) {
    for (uint32_t i = 0; i < reader->lines.count; i++)
        if (reader->lines.data[i].said->kind == kind) return true;
    return false;
}

/* With an oracle, every argument is something that the header explains. */
static bool is_explained(const Reader *reader, const char *word) {
    const Template *template = reader->template;
    if (!template->computes || find_tensor(template, word)) return true;
    if (!strcmp(word, "workspace") && has_line(reader, DIRECTIVE_WORKSPACE)) return true;
    for (uint32_t i = 0; i < reader->names.count; i++)
        if (!strcmp(reader->names.data[i].name, word)) return true;
    return find_binding(template->computes, STATEMENT_PARAM, word) != NULL;
}

static bool has_word(const Directive *said, const char *word) {
    for (uint32_t i = 0; i < said->words.count; i++)
        if (!strcmp(said->words.data[i], word)) return true;
    return false;
}

static void check_passed(Reader *reader, const Line *line, const char *kind, const char *name) {
    if (!has_word(line->said, name))
        complain(reader, line, line->span, NULL, "the %s '%s' is not passed", kind, name);
}

/* A kernel that does not get a param has one value of it inside, and was right for that one alone:
 * results are stored for every value. A param that is called like something else hides it. */
static void check_params(Reader *reader, const Line *line) {
    const Ast *ast = reader->template->computes;
    for (uint32_t i = 0; ast && i < ast->statements.count; i++) {
        const Statement *statement = &ast->statements.data[i];
        if (statement->kind != STATEMENT_PARAM) continue;
        check_passed(reader, line, "param", statement->name);
        for (uint32_t k = 0; k < reader->names.count; k++)
            if (!strcmp(reader->names.data[k].name, statement->name))
                diag_error(reader->diags, ast->source, statement->span, NULL,
                           "the param '%s' is called like a size or a fact of the machine",
                           statement->name);
    }
}

static void read_args(Reader *reader, const Line *line) {
    Template *template = reader->template;
    check_params(reader, line);
    for (uint32_t i = 0; i < line->said->words.count; i++) {
        const char *word = line->said->words.data[i];
        if (!is_explained(reader, word))
            complain(reader, line, find_word(line->ast->source, line->span, word), NULL,
                     "'%s' is no tensor, size or param of this template", word);
        if (!find_tensor(template, word)) add_name(reader, word);
        array_push(reader->arena, &template->args, word);
    }
    for (uint32_t i = 0; i < template->inputs.count; i++)
        check_passed(reader, line, "tensor", template->inputs.data[i].name);
    for (uint32_t i = 0; i < template->outputs.count; i++)
        check_passed(reader, line, "tensor", template->outputs.data[i].name);
}

static void check_expression(Reader *reader, const Line *line, Node node) {
    Bindings names = {reader->names.data, reader->names.count};
    space_check(&reader->template->space, names, line->ast, node, reader->diags);
}

static void read_constraint(Reader *reader, const Line *line) {
    Constraint constraint = {line->ast, line->said->value, line->said->kind == DIRECTIVE_REQUIRE};
    check_expression(reader, line, constraint.value);
    array_push(reader->arena, &reader->template->space.constraints, constraint);
}

static void read_workspace(Reader *reader, const Line *line) {
    check_expression(reader, line, line->said->value);
    reader->template->workspace_ast = line->ast;
    reader->template->workspace = line->said->value;
}

/* --- Launches */

/* Where a field's values go, and how many there may be; NULL for an unknown one. */
static Node *field_values(TemplateLaunch *launch, const char *name, uint32_t *room) {
    *room = 3;
    if (!strcmp(name, "grid")) return launch->grid;
    if (!strcmp(name, "block")) return launch->block;
    *room = 1;
    if (!strcmp(name, "cluster")) return &launch->cluster;
    if (!strcmp(name, "dependent")) return &launch->dependent;
    return strcmp(name, "shared") ? NULL : &launch->shared;
}

static void read_twin(Reader *reader, const Line *line, const DirectiveField *field,
                      TemplateLaunch *launch) {
    const AstNode *node = &line->ast->nodes.data[field->value[0]];
    if (field->count == 1 && node->kind == AST_NAME)
        launch->twin = node->name;
    else
        complain(reader, line, field->mark, "twin = NAME", "a twin is the name of an entry");
}

/* A dependent kernel that does not wait reads what others still write, and no test of it would see that each time. */
static void check_waits(Reader *reader, const Line *line, const DirectiveField *field) {
    static const char *const waits[] = {"k_begin<", "griddepcontrol.wait",
                                        "cudaGridDependencySynchronize"};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strstr(reader->source->text, waits[i])) return;
    complain(reader, line, field->mark,
             "begin each kernel with k_begin<false>(); of prelude_cuda.h",
             "nothing in this file waits for the kernels before it");
}

static void read_field(Reader *reader, const Line *line, const DirectiveField *field,
                       TemplateLaunch *launch) {
    uint32_t room;
    Node *values = field_values(launch, field->name, &room);
    if (!strcmp(field->name, "twin"))
        read_twin(reader, line, field, launch);
    else if (!values)
        complain(reader, line, field->mark, "grid, block, cluster, shared, dependent or twin",
                 "a launch has no field '%s'", field->name);
    else if (values[0] || field->count > room)
        complain(reader, line, field->mark, NULL, "'%s' takes %s", field->name,
                 values[0] ? "one place in a launch" : "one value");
    else
        for (uint32_t i = 0; i < field->count; i++) {
            values[i] = field->value[i];
            check_expression(reader, line, values[i]);
        }
    if (values == &launch->dependent) check_waits(reader, line, field);
}

static void read_launch(Reader *reader, const Line *line) {
    TemplateLaunch launch = {.entry = line->said->name, .ast = line->ast};
    if (!launch.entry) launch.entry = reader->template->name;
    for (uint32_t i = 0; i < line->said->fields.count; i++)
        read_field(reader, line, &line->said->fields.data[i], &launch);
    array_push(reader->arena, &reader->template->launches, launch);
}

/* --- The whole header, in the order in which kinds need one another */

static const struct Kind {
    DirectiveKind kind;
    bool once;
    const char *missing; /* what is said where there is none, or NULL */
    void (*read)(Reader *reader, const Line *line);
} kinds[] = {
    {DIRECTIVE_KERNEL, true, "the header has no 'kernel' line", read_kernel},
    {DIRECTIVE_INPUT, false, NULL, read_tensor},
    {DIRECTIVE_OUTPUT, false, "the header has no 'output' line", read_tensor},
    {DIRECTIVE_COMPUTES, true, NULL, read_computes},
    {DIRECTIVE_KNOB, false, NULL, read_knob},
    {DIRECTIVE_ARGS, true, "the header has no 'args' line", read_args},
    {DIRECTIVE_WORKSPACE, true, NULL, read_workspace},
    {DIRECTIVE_REQUIRE, false, NULL, read_constraint},
    {DIRECTIVE_PREFER, false, NULL, read_constraint},
    {DIRECTIVE_LAUNCH, false, "the header has no 'launch' line", read_launch},
};

static void read_kind(Reader *reader, const struct Kind *kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < reader->lines.count; i++) {
        const Line *line = &reader->lines.data[i];
        if (line->said->kind != kind->kind) continue;
        if (count++ && kind->once)
            complain(reader, line, line->span, NULL, "the header has such a line already");
        else
            kind->read(reader, line);
    }
    if (!count && kind->missing) complain_of_file(reader, "%s", kind->missing);
}

const Template *template_parse_with(Arena *arena, const Source *source, const Source *options,
                                    const char *language, Diags *diags) {
    Template *template = arena_new(arena, Template);
    Reader reader = {.arena = arena, .diags = diags, .source = source, .template = template};
    uint32_t errors = diags->errors;
    template->source = source;
    template->language = language;
    template->space.arena = arena;
    template->hash = lines_hash(source, options);
    add_name(&reader, "sms");
    add_name(&reader, "cpus");
    if (!read_lines(&reader, source, false)) return NULL;
    uint32_t lines = reader.lines.count;
    if (options && !read_lines(&reader, options, true)) return NULL;
    replace_lines(&reader, lines);
    if (reader.lines.count == 0) {
        complain_of_file(&reader, "no header: kernel, output, args and launch lines are missing");
        return NULL;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) read_kind(&reader, &kinds[i]);
    reach_check(source, &template->space, diags);
    if (space_size(&template->space) == UINT64_MAX)
        complain_of_file(&reader, "the knobs have more than 2**64 points");
    return diags->errors > errors ? NULL : template;
}

const Template *template_parse(Arena *arena, const Source *source, const char *language,
                               Diags *diags) {
    return template_parse_with(arena, source, NULL, language, diags);
}

/* --- A space alone */

static void read_space_line(Reader *reader, const Line *line) {
    switch (line->said->kind) {
    case DIRECTIVE_KNOB: read_knob(reader, line); return;
    case DIRECTIVE_REQUIRE:
    case DIRECTIVE_PREFER: read_constraint(reader, line); return;
    default: complain(reader, line, line->span, NULL, "a space has knob, require and prefer lines");
    }
}

const Space *template_space(Arena *arena, const Source *lines, Bindings sizes, Diags *diags) {
    Template *template = arena_new(arena, Template);
    Reader reader = {.arena = arena, .diags = diags, .source = lines, .template = template};
    uint32_t errors = diags->errors;
    template->space.arena = arena;
    for (uint32_t i = 0; i < sizes.count; i++) add_name(&reader, sizes.list[i].name);
    if (!read_lines(&reader, lines, true)) return NULL;
    for (int knobs = 1; knobs >= 0; knobs--)
        for (uint32_t i = 0; i < reader.lines.count; i++)
            if ((reader.lines.data[i].said->kind == DIRECTIVE_KNOB) == knobs)
                read_space_line(&reader, &reader.lines.data[i]);
    if (space_size(&template->space) == UINT64_MAX)
        complain_of_file(&reader, "the knobs have more than 2**64 points");
    return diags->errors > errors ? NULL : &template->space;
}
