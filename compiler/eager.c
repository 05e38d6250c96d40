/* In: an Ast and what lower made of it. Out: the chain of kernels that a framework without fusion
 * would run.
 *
 * The one idea: each operator or registry call with a tensor among its operands becomes a one-line
 * program, "out = a0 + a1", that goes through parse and lower like any other, so that shapes, types
 * and meanings are the language's own. Numbers and params are no kernels: they are carried as text
 * and written into that line. A program's own functions are expanded as written; .T is a view. */
#include "compiler/eager.h"

#include <string.h>

#include "compiler/simplify.h"
#include "grammar/parse.h"
#include "registry/call.h"

/* A value on the way: a tensor somewhere, or text without a type. */
typedef struct Operand {
    bool tensor;
    Ref ref;
    Type type;
    int64_t strides[RANK_MAX];
    const char *text;
} Operand;

typedef struct Named {
    const char *name;
    Operand operand;
} Named;

typedef struct Walk {
    Arena *arena;
    const Ast *ast;
    const Registry *registry, *scope; /* without and with the program's own functions */
    const LowerOptions *options;
    const Ir *ir;
    Diags *diags;
    Chain *chain;
    ARRAY(Named) bound;
    const char *params; /* "param eps = 1e-5" lines */
    bool broken;
    ARRAY(int64_t) bytes; /* moved, by step */
} Walk;

/* Operands of the nodes of one expression, whose first node is `first`. */
typedef struct Values {
    Operand *data;
    Node first;
} Values;

static Operand *value_of(const Values *values, Node node) {
    return &values->data[node - values->first];
}

/* Where names are looked up: the program's statements, or a function's parameters. */
typedef struct Frame {
    const Ast *ast;
    const Function *function; /* NULL: the program */
    const Operand *arguments; /* per parameter */
} Frame;

static Operand evaluate(Walk *walk, const Frame *frame, Node root);

static const char *keep(Arena *arena, Text *text) {
    const char *copy = arena_copy(arena, text_string(text), text->length);
    text_free(text);
    return copy;
}

static Operand broken(Walk *walk) {
    walk->broken = true;
    return (Operand){.text = "0"};
}

static Operand tensor_at(Ref ref, const Type *type, const int64_t *strides) {
    Operand operand = {.tensor = true, .ref = ref, .type = *type};
    if (strides)
        memcpy(operand.strides, strides, sizeof operand.strides);
    else
        type_strides(type, operand.strides);
    return operand;
}

/* --- steps */

/* Bytes of an operand's distinct elements. */
static int64_t distinct_bytes(const Operand *operand) {
    int64_t bytes = dtype_info(operand->type.dtype)->bytes;
    for (uint32_t d = 0; d < operand->type.rank; d++)
        if (operand->strides[d] != 0) bytes *= operand->type.dim[d];
    return bytes;
}

typedef struct Line {
    Text text;
    Operand operands[256];
    uint32_t count;
} Line;

static bool same_place(Ref a, Ref b) {
    return a.place == b.place && a.index == b.index;
}

static bool same_operand(const Operand *a, const Operand *b) {
    return same_place(a->ref, b->ref) && type_same_shape(&a->type, &b->type) &&
           memcmp(a->strides, b->strides, a->type.rank * sizeof *a->strides) == 0;
}

/* Writes an operand into the line: a0, a1 … for tensors, each once. */
static void add_operand(Line *line, const Operand *operand) {
    if (!operand->tensor) {
        text_add(&line->text, operand->text);
        return;
    }
    uint32_t i = 0;
    while (i < line->count && !same_operand(&line->operands[i], operand)) i++;
    if (i == line->count && i < 256) line->operands[line->count++] = *operand;
    text_printf(&line->text, "a%u", i);
}

static const Ir *lower_line(Walk *walk, Line *line) {
    Arena *arena = walk->arena;
    InputSpec *specs = arena_array(arena, InputSpec, line->count);
    for (uint32_t i = 0; i < line->count; i++) {
        specs[i] = (InputSpec){.name = arena_printf(arena, "a%u", i),
                               .has_shape = true,
                               .has_dtype = true,
                               .has_strides = true,
                               .type = line->operands[i].type};
        memcpy(specs[i].strides, line->operands[i].strides, sizeof specs[i].strides);
    }
    LowerOptions options = {.plain = walk->options->plain,
                            .inputs = specs,
                            .input_count = line->count,
                            .params = walk->options->params,
                            .param_count = walk->options->param_count};
    const char *text = arena_printf(arena, "%sout = %s\n", walk->params, text_string(&line->text));
    const Ast *ast =
        parse_program(arena, source_new(arena, "<eager>", text, strlen(text)), walk->diags);
    const Ir *ir = ast ? lower(arena, ast, walk->registry, &options, walk->diags) : NULL;
    return ir ? simplify(arena, ir, true) : NULL;
}

/* The order of an Ir's inputs is that of first appearance, which is the order of a0, a1 … */
static Operand add_step(Walk *walk, const char *label, Line *line) {
    Arena *arena = walk->arena;
    Step step = {.label = label, .ir = lower_line(walk, line)};
    text_free(&line->text);
    if (!step.ir) return broken(walk);
    const Type *type = &step.ir->outputs.data[0].type;
    Ref to = {PLACE_TEMPORARY, walk->chain->temporaries.count};
    array_push(arena, &walk->chain->temporaries, type_bytes(type));
    array_push(arena, &step.outputs, to);
    int64_t bytes = 0;
    for (uint32_t i = 0; i < line->count; i++) {
        array_push(arena, &step.inputs, line->operands[i].ref);
        bytes += distinct_bytes(&line->operands[i]);
    }
    array_push(arena, &walk->chain->steps, step);
    Operand result = tensor_at(to, type, NULL);
    array_push(arena, &walk->bytes, bytes + distinct_bytes(&result));
    return result;
}

/* What a line gives: a step where a tensor takes part, else text. */
static Operand finish_line(Walk *walk, const char *label, Line *line) {
    if (line->count > 0) return add_step(walk, label, line);
    return (Operand){.text = keep(walk->arena, &line->text)};
}

/* --- expressions */

static Operand unary(Walk *walk, const AstNode *node, const Operand *a) {
    Line line = {0};
    if (node->op == OP_PLUS) return *a;
    text_printf(&line.text, "(%s", ast_op_name(node->op));
    add_operand(&line, a);
    text_add(&line.text, ")");
    return finish_line(walk, ast_op_word(node->op), &line);
}

static Operand binary(Walk *walk, const AstNode *node, const Operand *a, const Operand *b) {
    Line line = {0};
    text_add(&line.text, "(");
    add_operand(&line, a);
    text_printf(&line.text, " %s ", ast_op_name(node->op));
    add_operand(&line, b);
    text_add(&line.text, ")");
    return finish_line(walk, ast_op_word(node->op), &line);
}

static Operand choose(Walk *walk, const Operand *c, const Operand *a, const Operand *b) {
    Line line = {0};
    text_add(&line.text, "(");
    add_operand(&line, c);
    text_add(&line.text, " ? ");
    add_operand(&line, a);
    text_add(&line.text, " : ");
    add_operand(&line, b);
    text_add(&line.text, ")");
    return finish_line(walk, "where", &line);
}

static Operand transpose(Walk *walk, Operand a) {
    if (!a.tensor || a.type.rank < 2) return broken(walk);
    uint32_t last = a.type.rank - 1;
    int64_t dim = a.type.dim[last], stride = a.strides[last];
    a.type.dim[last] = a.type.dim[last - 1];
    a.strides[last] = a.strides[last - 1];
    a.type.dim[last - 1] = dim;
    a.strides[last - 1] = stride;
    return a;
}

static Operand name(Walk *walk, const Frame *frame, const AstNode *node) {
    for (uint32_t i = 0; frame->function && i < frame->function->def->parameter_count; i++)
        if (strcmp(frame->ast->parameters.data[frame->function->def->parameter_first + i].name,
                   node->name) == 0)
            return frame->arguments[i];
    for (uint32_t i = walk->bound.count; i-- > 0;)
        if (strcmp(walk->bound.data[i].name, node->name) == 0) return walk->bound.data[i].operand;
    for (uint32_t i = 0; i < walk->ir->inputs.count; i++) {
        const IrInput *input = &walk->ir->inputs.data[i];
        if (strcmp(input->name, node->name) == 0)
            return tensor_at((Ref){PLACE_INPUT, i}, &input->type, input->strides);
    }
    return (Operand){.text = node->name}; /* a param, or the word `all` */
}

/* A call as written. */
static Operand call(Walk *walk, const AstNode *node, const Ast *ast, const Values *values) {
    Line line = {0};
    text_printf(&line.text, "%s(", node->name);
    for (uint32_t i = 0; i < node->count; i++) {
        const AstArg *arg = &ast->args.data[node->first + i];
        text_printf(&line.text, "%s%s%s", i ? ", " : "", arg->name ? arg->name : "",
                    arg->name ? "=" : "");
        add_operand(&line, value_of(values, arg->value));
    }
    text_add(&line.text, ")");
    return finish_line(walk, node->name, &line);
}

static Operand number(Walk *walk, double value) {
    Text text = {0};
    text_add(&text, "(");
    number_print(&text, value);
    text_add(&text, ")");
    return (Operand){.text = keep(walk->arena, &text)};
}

/* A number, as a framework knows it from the shape. */
static Operand count(Walk *walk, const Frame *frame, Node at, const Operand *a) {
    int32_t axis = call_axis(frame->ast, at), rank = (int32_t)a->type.rank;
    if (axis == AXIS_EVERY) return number(walk, (double)type_count(&a->type));
    return number(walk, (double)a->type.dim[axis < 0 ? axis + rank : axis]);
}

/* sum_to and broadcast_to read nothing of their second argument: it is written as the first one, or
 * as itself where that is a number, in its shape with strides of 0. Where shapes agree there is no
 * step. */
static Operand reshape(Walk *walk, const AstNode *node, const Operand *a, const Operand *like) {
    Line line = {0};
    Operand shape = *like;
    if (a->tensor && like->tensor && type_same_shape(&a->type, &like->type) &&
        dtype_is_float(a->type.dtype))
        return *a;
    if (a->tensor && like->tensor) shape.ref = a->ref;
    if (a->tensor && like->tensor) shape.type.dtype = a->type.dtype;
    memset(shape.strides, 0, sizeof shape.strides);
    text_printf(&line.text, "%s(", node->name);
    add_operand(&line, a);
    text_add(&line.text, ", ");
    add_operand(&line, &shape);
    text_add(&line.text, ")");
    return finish_line(walk, node->name, &line);
}

static Operand call_shape(Walk *walk, const Frame *frame, Node at, ShapeFunction function,
                          const Values *values) {
    const AstNode *node = &frame->ast->nodes.data[at];
    const AstArg *args = frame->ast->args.data + node->first;
    const Operand *a = value_of(values, args[0].value);
    if (function == SHAPE_COUNT && a->tensor) return count(walk, frame, at, a);
    if (function == SHAPE_COUNT) return broken(walk);
    return reshape(walk, node, a, value_of(values, args[1].value));
}

/* A function of the program's own: its body in a frame of its own. */
static Operand expand(Walk *walk, const Frame *frame, Node at, const Function *function,
                      const Values *values) {
    Operand *arguments = arena_array(walk->arena, Operand, function->def->parameter_count + 1);
    Frame inner = {function->ast, function, arguments};
    for (uint32_t i = 0; i < function->def->parameter_count; i++) {
        Node given = call_argument(frame->ast, at, function, i);
        Node fallback = function->ast->parameters.data[function->def->parameter_first + i].value;
        arguments[i] = given ? *value_of(values, given) : evaluate(walk, &inner, fallback);
    }
    return evaluate(walk, &inner, function->def->value);
}

static Operand evaluate_call(Walk *walk, const Frame *frame, Node at, const Values *values) {
    const AstNode *node = &frame->ast->nodes.data[at];
    Callee callee = call_resolve(walk->scope, frame->function, frame->ast, at, walk->diags);
    if (callee.kind == CALLEE_NONE) return broken(walk);
    if (callee.kind == CALLEE_FUNCTION && callee.function->layer == LAYER_PROGRAM)
        return expand(walk, frame, at, callee.function, values);
    if (callee.kind == CALLEE_SHAPE) return call_shape(walk, frame, at, callee.shape, values);
    return call(walk, node, frame->ast, values);
}

static Operand evaluate_node(Walk *walk, const Frame *frame, Node at, const Values *values) {
    const AstNode *node = &frame->ast->nodes.data[at];
    switch (node->kind) {
    case AST_NONE: break;
    case AST_NUMBER: return number(walk, node->number);
    case AST_NAME: return name(walk, frame, node);
    case AST_CALL: return evaluate_call(walk, frame, at, values);
    case AST_UNARY: return unary(walk, node, value_of(values, node->a));
    case AST_BINARY:
        return binary(walk, node, value_of(values, node->a), value_of(values, node->b));
    case AST_SELECT:
        return choose(walk, value_of(values, node->a), value_of(values, node->b),
                      value_of(values, node->c));
    case AST_TRANSPOSE: return transpose(walk, *value_of(values, node->a));
    }
    return broken(walk);
}

/* The nodes of one expression are contiguous, operands first. */
static Operand evaluate(Walk *walk, const Frame *frame, Node root) {
    Node first = ast_first(frame->ast, root);
    Values values = {arena_array(walk->arena, Operand, root - first + 1), first};
    for (Node at = first; at <= root && !walk->broken; at++)
        *value_of(&values, at) = evaluate_node(walk, frame, at, &values);
    return walk->broken ? (Operand){.text = "0"} : *value_of(&values, root);
}

/* --- outputs */

/* The temporary becomes the output's own buffer, for who writes it and who reads it. */
static void redirect(Walk *walk, Ref from, Ref to) {
    for (uint32_t s = 0; s < walk->chain->steps.count; s++) {
        Step *step = &walk->chain->steps.data[s];
        if (same_place(step->outputs.data[0], from)) step->outputs.data[0] = to;
        for (uint32_t i = 0; i < step->inputs.count; i++)
            if (same_place(step->inputs.data[i], from)) step->inputs.data[i] = to;
    }
    for (uint32_t i = 0; i < walk->bound.count; i++)
        if (walk->bound.data[i].operand.tensor && same_place(walk->bound.data[i].operand.ref, from))
            walk->bound.data[i].operand.ref = to;
    /* It stays in the list of temporaries, so that the others keep their numbers, but takes no
     * room. */
    walk->chain->temporaries.data[from.index] = 0;
}

/* A value is copied (or cast) into its output unless it was computed for it alone, in its type and
 * layout. */
static void deliver(Walk *walk, uint32_t output, Operand operand) {
    const IrOutput *out = &walk->ir->outputs.data[output];
    Ref to = {PLACE_OUTPUT, output};
    int64_t dense[RANK_MAX];
    type_strides(&out->type, dense);
    bool plain = memcmp(dense, out->strides, out->type.rank * sizeof *dense) == 0;
    bool direct = operand.tensor && operand.ref.place == PLACE_TEMPORARY &&
                  operand.type.dtype == out->type.dtype &&
                  type_same_shape(&operand.type, &out->type) &&
                  memcmp(operand.strides, dense, out->type.rank * sizeof *dense) == 0;
    if (!plain || !operand.tensor || !type_same_shape(&operand.type, &out->type)) {
        walk->broken =
            true; /* a constant program, or a layout of the caller's: no chain to compare with */
        return;
    }
    if (!direct) {
        Line line = {0};
        bool cast = operand.type.dtype != out->type.dtype;
        if (cast) text_printf(&line.text, "%s(", dtype_name(out->type.dtype));
        add_operand(&line, &operand);
        if (cast) text_add(&line.text, ")");
        operand = add_step(walk, cast ? "cast" : "copy", &line);
        if (walk->broken) return;
    }
    redirect(walk, operand.ref, to);
}

static const char *param_lines(Walk *walk) {
    Text text = {0};
    for (uint32_t i = 0; i < walk->ast->statements.count; i++) {
        if (walk->ast->statements.data[i].kind != STATEMENT_PARAM) continue;
        ast_print_statement(&text, walk->ast, &walk->ast->statements.data[i]);
        text_add(&text, "\n");
    }
    return keep(walk->arena, &text);
}

/* Which output a statement's value is, or -1. */
static int32_t output_of(const Walk *walk, const Statement *statement, uint32_t *returned) {
    if (statement->kind == STATEMENT_RETURN) return (int32_t)(*returned)++;
    for (uint32_t o = 0; o < walk->ir->outputs.count; o++)
        if (statement->name && strcmp(walk->ir->outputs.data[o].name, statement->name) == 0)
            return (int32_t)o;
    return -1;
}

static bool has_return(const Ast *ast) {
    return ast->statements.count > 0 &&
           ast->statements.data[ast->statements.count - 1].kind == STATEMENT_RETURN;
}

static void run_statements(Walk *walk) {
    Frame frame = {.ast = walk->ast};
    uint32_t returned = 0;
    for (uint32_t i = 0; i < walk->ast->statements.count && !walk->broken; i++) {
        const Statement *statement = &walk->ast->statements.data[i];
        if (statement->kind == STATEMENT_DEFINE || statement->kind == STATEMENT_PARAM) continue;
        Operand value = evaluate(walk, &frame, statement->value);
        if (statement->name) array_push(walk->arena, &walk->bound, (Named){statement->name, value});
        bool is_output = statement->kind == STATEMENT_RETURN || !has_return(walk->ast);
        int32_t output = is_output ? output_of(walk, statement, &returned) : -1;
        if (output >= 0 && !walk->broken) deliver(walk, (uint32_t)output, value);
    }
}

static bool is_read(const Chain *chain, uint32_t step) {
    Ref result = chain->steps.data[step].outputs.data[0];
    if (result.place == PLACE_OUTPUT) return true;
    for (uint32_t s = step + 1; s < chain->steps.count; s++)
        for (uint32_t i = 0; i < chain->steps.data[s].inputs.count; i++)
            if (same_place(chain->steps.data[s].inputs.data[i], result)) return true;
    return false;
}

/* A step that nothing reads (but for a shape, say) is none; the bytes of the others. */
static void drop_unread(Walk *walk) {
    Chain *chain = walk->chain;
    for (uint32_t step = chain->steps.count; step-- > 0;) {
        if (is_read(chain, step)) {
            chain->bytes += walk->bytes.data[step];
            continue;
        }
        chain->temporaries.data[chain->steps.data[step].outputs.data[0].index] = 0;
        memmove(&chain->steps.data[step], &chain->steps.data[step + 1],
                (chain->steps.count - step - 1) * sizeof chain->steps.data[0]);
        chain->steps.count--;
    }
}

Chain *eager(Arena *arena, const Ast *ast, const Registry *registry, const LowerOptions *options,
             const Ir *ir, Diags *diags) {
    Diags ignored = {.arena =
                         arena}; /* the program has been through lower: what it says was said */
    Registry *scope = registry_scope(arena, registry);
    Walk walk = {.arena = arena,
                 .ast = ast,
                 .registry = registry,
                 .scope = scope,
                 .options = options,
                 .ir = ir,
                 .diags = diags,
                 .chain = arena_new(arena, Chain)};
    registry_add(scope, ast, LAYER_PROGRAM, &ignored);
    walk.params = param_lines(&walk);
    run_statements(&walk);
    drop_unread(&walk);
    return walk.broken ? NULL : walk.chain;
}
