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
    EagerRef ref;
    Type type;
    int64_t strides[RANK_MAX];
    const char *text;
} Operand;

typedef struct Bound {
    const char *name;
    Operand operand;
} Bound;

typedef struct Chain {
    Arena *arena;
    const Ast *ast;
    const Registry *registry, *scope; /* without and with the program's own functions */
    const LowerOptions *options;
    const Ir *ir;
    Diags *diags;
    Eager *eager;
    ARRAY(Bound) bound;
    const char *params; /* "param eps = 1e-5" lines */
    bool broken;
} Chain;

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

static Operand evaluate(Chain *chain, const Frame *frame, Node root);

static const char *keep(Arena *arena, Text *text) {
    const char *copy = arena_copy(arena, text_string(text), text->length);
    text_free(text);
    return copy;
}

static Operand broken(Chain *chain) {
    chain->broken = true;
    return (Operand){.text = "0"};
}

static Operand tensor_at(EagerRef ref, const Type *type, const int64_t *strides) {
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

static bool same_place(EagerRef a, EagerRef b) {
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

static const Ir *lower_line(Chain *chain, Line *line) {
    Arena *arena = chain->arena;
    InputSpec *specs = arena_array(arena, InputSpec, line->count);
    for (uint32_t i = 0; i < line->count; i++) {
        specs[i] = (InputSpec){.name = arena_printf(arena, "a%u", i),
                               .has_shape = true,
                               .has_dtype = true,
                               .has_strides = true,
                               .type = line->operands[i].type};
        memcpy(specs[i].strides, line->operands[i].strides, sizeof specs[i].strides);
    }
    LowerOptions options = {.plain = chain->options->plain,
                            .inputs = specs,
                            .input_count = line->count,
                            .params = chain->options->params,
                            .param_count = chain->options->param_count};
    const char *text = arena_printf(arena, "%sout = %s\n", chain->params, text_string(&line->text));
    const Ast *ast =
        parse_program(arena, source_new(arena, "<eager>", text, strlen(text)), chain->diags);
    const Ir *ir = ast ? lower(arena, ast, chain->registry, &options, chain->diags) : NULL;
    return ir ? simplify(arena, ir, true) : NULL;
}

/* The order of an Ir's inputs is that of first appearance, which is the order of a0, a1 … */
static Operand add_step(Chain *chain, const char *label, Line *line) {
    Arena *arena = chain->arena;
    EagerStep step = {.label = label, .ir = lower_line(chain, line)};
    text_free(&line->text);
    if (!step.ir) return broken(chain);
    const Type *type = &step.ir->outputs.data[0].type;
    step.result = (EagerRef){EAGER_TEMPORARY, chain->eager->temporaries.count};
    array_push(arena, &chain->eager->temporaries, *type);
    for (uint32_t i = 0; i < line->count; i++) {
        array_push(arena, &step.operands, line->operands[i].ref);
        step.bytes += distinct_bytes(&line->operands[i]);
    }
    Operand result = tensor_at(step.result, type, NULL);
    step.bytes += distinct_bytes(&result);
    array_push(arena, &chain->eager->steps, step);
    return result;
}

/* What a line gives: a step where a tensor takes part, else text. */
static Operand finish_line(Chain *chain, const char *label, Line *line) {
    if (line->count > 0) return add_step(chain, label, line);
    return (Operand){.text = keep(chain->arena, &line->text)};
}

/* --- expressions */

static Operand unary(Chain *chain, const AstNode *node, const Operand *a) {
    Line line = {0};
    if (node->op == OP_PLUS) return *a;
    text_printf(&line.text, "(%s", ast_op_name(node->op));
    add_operand(&line, a);
    text_add(&line.text, ")");
    return finish_line(chain, ast_op_word(node->op), &line);
}

static Operand binary(Chain *chain, const AstNode *node, const Operand *a, const Operand *b) {
    Line line = {0};
    text_add(&line.text, "(");
    add_operand(&line, a);
    text_printf(&line.text, " %s ", ast_op_name(node->op));
    add_operand(&line, b);
    text_add(&line.text, ")");
    return finish_line(chain, ast_op_word(node->op), &line);
}

static Operand choose(Chain *chain, const Operand *c, const Operand *a, const Operand *b) {
    Line line = {0};
    text_add(&line.text, "(");
    add_operand(&line, c);
    text_add(&line.text, " ? ");
    add_operand(&line, a);
    text_add(&line.text, " : ");
    add_operand(&line, b);
    text_add(&line.text, ")");
    return finish_line(chain, "where", &line);
}

static Operand transpose(Chain *chain, Operand a) {
    if (!a.tensor || a.type.rank < 2) return broken(chain);
    uint32_t last = a.type.rank - 1;
    int64_t dim = a.type.dim[last], stride = a.strides[last];
    a.type.dim[last] = a.type.dim[last - 1];
    a.strides[last] = a.strides[last - 1];
    a.type.dim[last - 1] = dim;
    a.strides[last - 1] = stride;
    return a;
}

static Operand name(Chain *chain, const Frame *frame, const AstNode *node) {
    for (uint32_t i = 0; frame->function && i < frame->function->def->parameter_count; i++)
        if (strcmp(frame->ast->parameters.data[frame->function->def->parameter_first + i].name,
                   node->name) == 0)
            return frame->arguments[i];
    for (uint32_t i = chain->bound.count; i-- > 0;)
        if (strcmp(chain->bound.data[i].name, node->name) == 0) return chain->bound.data[i].operand;
    for (uint32_t i = 0; i < chain->ir->inputs.count; i++) {
        const IrInput *input = &chain->ir->inputs.data[i];
        if (strcmp(input->name, node->name) == 0)
            return tensor_at((EagerRef){EAGER_INPUT, i}, &input->type, input->strides);
    }
    return (Operand){.text = node->name}; /* a param, or the word `all` */
}

/* A call as written. */
static Operand call(Chain *chain, const AstNode *node, const Ast *ast, const Values *values) {
    Line line = {0};
    text_printf(&line.text, "%s(", node->name);
    for (uint32_t i = 0; i < node->count; i++) {
        const AstArg *arg = &ast->args.data[node->first + i];
        text_printf(&line.text, "%s%s%s", i ? ", " : "", arg->name ? arg->name : "",
                    arg->name ? "=" : "");
        add_operand(&line, value_of(values, arg->value));
    }
    text_add(&line.text, ")");
    return finish_line(chain, node->name, &line);
}

static Operand number(Chain *chain, double value) {
    Text text = {0};
    text_add(&text, "(");
    number_print(&text, value);
    text_add(&text, ")");
    return (Operand){.text = keep(chain->arena, &text)};
}

/* A number, as a framework knows it from the shape. */
static Operand count(Chain *chain, const Frame *frame, Node at, const Operand *a) {
    int32_t axis = call_axis(frame->ast, at), rank = (int32_t)a->type.rank;
    if (axis == AXIS_EVERY) return number(chain, (double)type_count(&a->type));
    return number(chain, (double)a->type.dim[axis < 0 ? axis + rank : axis]);
}

/* sum_to and broadcast_to read nothing of their second argument: it is written as the first one, or as
 * itself where that is a number, in its shape with strides of 0. Where shapes agree there is no step. */
static Operand reshape(Chain *chain, const AstNode *node, const Operand *a, const Operand *like) {
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
    return finish_line(chain, node->name, &line);
}

static Operand call_shape(Chain *chain, const Frame *frame, Node at, ShapeFunction function,
                          const Values *values) {
    const AstNode *node = &frame->ast->nodes.data[at];
    const AstArg *args = frame->ast->args.data + node->first;
    const Operand *a = value_of(values, args[0].value);
    if (function == SHAPE_COUNT && a->tensor) return count(chain, frame, at, a);
    if (function == SHAPE_COUNT) return broken(chain);
    return reshape(chain, node, a, value_of(values, args[1].value));
}

/* A function of the program's own: its body in a frame of its own. */
static Operand expand(Chain *chain, const Frame *frame, Node at, const Function *function,
                      const Values *values) {
    Operand *arguments = arena_array(chain->arena, Operand, function->def->parameter_count + 1);
    Frame inner = {function->ast, function, arguments};
    for (uint32_t i = 0; i < function->def->parameter_count; i++) {
        Node given = call_argument(frame->ast, at, function, i);
        Node fallback = function->ast->parameters.data[function->def->parameter_first + i].value;
        arguments[i] = given ? *value_of(values, given) : evaluate(chain, &inner, fallback);
    }
    return evaluate(chain, &inner, function->def->value);
}

static Operand evaluate_call(Chain *chain, const Frame *frame, Node at, const Values *values) {
    const AstNode *node = &frame->ast->nodes.data[at];
    Callee callee = call_resolve(chain->scope, frame->function, frame->ast, at, chain->diags);
    if (callee.kind == CALLEE_NONE) return broken(chain);
    if (callee.kind == CALLEE_FUNCTION && callee.function->layer == LAYER_PROGRAM)
        return expand(chain, frame, at, callee.function, values);
    if (callee.kind == CALLEE_SHAPE) return call_shape(chain, frame, at, callee.shape, values);
    return call(chain, node, frame->ast, values);
}

static Operand evaluate_node(Chain *chain, const Frame *frame, Node at, const Values *values) {
    const AstNode *node = &frame->ast->nodes.data[at];
    switch (node->kind) {
    case AST_NONE: break;
    case AST_NUMBER: return number(chain, node->number);
    case AST_NAME: return name(chain, frame, node);
    case AST_CALL: return evaluate_call(chain, frame, at, values);
    case AST_UNARY: return unary(chain, node, value_of(values, node->a));
    case AST_BINARY:
        return binary(chain, node, value_of(values, node->a), value_of(values, node->b));
    case AST_SELECT:
        return choose(chain, value_of(values, node->a), value_of(values, node->b),
                      value_of(values, node->c));
    case AST_TRANSPOSE: return transpose(chain, *value_of(values, node->a));
    }
    return broken(chain);
}

/* The nodes of one expression are contiguous, operands first. */
static Operand evaluate(Chain *chain, const Frame *frame, Node root) {
    Node first = ast_first(frame->ast, root);
    Values values = {arena_array(chain->arena, Operand, root - first + 1), first};
    for (Node at = first; at <= root && !chain->broken; at++)
        *value_of(&values, at) = evaluate_node(chain, frame, at, &values);
    return chain->broken ? (Operand){.text = "0"} : *value_of(&values, root);
}

/* --- outputs */

/* The type of a temporary that takes no room. */
static const Type nothing = {.dtype = DT_U8, .rank = 1, .dim = {0}};

/* The temporary becomes the output's own buffer, for who writes it and who reads it. */
static void redirect(Chain *chain, EagerRef from, EagerRef to) {
    for (uint32_t s = 0; s < chain->eager->steps.count; s++) {
        EagerStep *step = &chain->eager->steps.data[s];
        if (same_place(step->result, from)) step->result = to;
        for (uint32_t i = 0; i < step->operands.count; i++)
            if (same_place(step->operands.data[i], from)) step->operands.data[i] = to;
    }
    for (uint32_t i = 0; i < chain->bound.count; i++)
        if (chain->bound.data[i].operand.tensor &&
            same_place(chain->bound.data[i].operand.ref, from))
            chain->bound.data[i].operand.ref = to;
    /* It stays in the list of temporaries, so that the others keep their numbers, but takes no
     * room. */
    chain->eager->temporaries.data[from.index] = nothing;
}

/* A value is copied (or cast) into its output unless it was computed for it alone, in its type and
 * layout. */
static void deliver(Chain *chain, uint32_t output, Operand operand) {
    const IrOutput *out = &chain->ir->outputs.data[output];
    EagerRef to = {EAGER_OUTPUT, output};
    int64_t dense[RANK_MAX];
    type_strides(&out->type, dense);
    bool plain = memcmp(dense, out->strides, out->type.rank * sizeof *dense) == 0;
    bool direct = operand.tensor && operand.ref.place == EAGER_TEMPORARY &&
                  operand.type.dtype == out->type.dtype &&
                  type_same_shape(&operand.type, &out->type) &&
                  memcmp(operand.strides, dense, out->type.rank * sizeof *dense) == 0;
    if (!plain || !operand.tensor || !type_same_shape(&operand.type, &out->type)) {
        chain->broken =
            true; /* a constant program, or a layout of the caller's: no chain to compare with */
        return;
    }
    if (!direct) {
        Line line = {0};
        bool cast = operand.type.dtype != out->type.dtype;
        if (cast) text_printf(&line.text, "%s(", dtype_name(out->type.dtype));
        add_operand(&line, &operand);
        if (cast) text_add(&line.text, ")");
        operand = add_step(chain, cast ? "cast" : "copy", &line);
        if (chain->broken) return;
    }
    redirect(chain, operand.ref, to);
}

static const char *param_lines(Chain *chain) {
    Text text = {0};
    for (uint32_t i = 0; i < chain->ast->statements.count; i++) {
        if (chain->ast->statements.data[i].kind != STATEMENT_PARAM) continue;
        ast_print_statement(&text, chain->ast, &chain->ast->statements.data[i]);
        text_add(&text, "\n");
    }
    return keep(chain->arena, &text);
}

/* Which output a statement's value is, or -1. */
static int32_t output_of(const Chain *chain, const Statement *statement, uint32_t *returned) {
    if (statement->kind == STATEMENT_RETURN) return (int32_t)(*returned)++;
    for (uint32_t o = 0; o < chain->ir->outputs.count; o++)
        if (statement->name && strcmp(chain->ir->outputs.data[o].name, statement->name) == 0)
            return (int32_t)o;
    return -1;
}

static bool has_return(const Ast *ast) {
    return ast->statements.count > 0 &&
           ast->statements.data[ast->statements.count - 1].kind == STATEMENT_RETURN;
}

static void run_statements(Chain *chain) {
    Frame frame = {.ast = chain->ast};
    uint32_t returned = 0;
    for (uint32_t i = 0; i < chain->ast->statements.count && !chain->broken; i++) {
        const Statement *statement = &chain->ast->statements.data[i];
        if (statement->kind == STATEMENT_DEFINE || statement->kind == STATEMENT_PARAM) continue;
        Operand value = evaluate(chain, &frame, statement->value);
        if (statement->name)
            array_push(chain->arena, &chain->bound, (Bound){statement->name, value});
        bool is_output = statement->kind == STATEMENT_RETURN || !has_return(chain->ast);
        int32_t output = is_output ? output_of(chain, statement, &returned) : -1;
        if (output >= 0 && !chain->broken) deliver(chain, (uint32_t)output, value);
    }
}

static bool is_read(const Eager *eager, uint32_t step) {
    EagerRef result = eager->steps.data[step].result;
    if (result.place == EAGER_OUTPUT) return true;
    for (uint32_t s = step + 1; s < eager->steps.count; s++)
        for (uint32_t i = 0; i < eager->steps.data[s].operands.count; i++)
            if (same_place(eager->steps.data[s].operands.data[i], result)) return true;
    return false;
}

/* A step that nothing reads (of a shape alone, say) is none; the bytes of the others. */
static void drop_unread(Eager *eager) {
    for (uint32_t step = eager->steps.count; step-- > 0;) {
        if (is_read(eager, step)) {
            eager->bytes += eager->steps.data[step].bytes;
            continue;
        }
        eager->temporaries.data[eager->steps.data[step].result.index] = nothing;
        memmove(&eager->steps.data[step], &eager->steps.data[step + 1],
                (eager->steps.count - step - 1) * sizeof eager->steps.data[0]);
        eager->steps.count--;
    }
}

Eager *eager(Arena *arena, const Ast *ast, const Registry *registry, const LowerOptions *options,
             const Ir *ir, Diags *diags) {
    Diags ignored = {.arena =
                         arena}; /* the program has been through lower: what it says was said */
    Registry *scope = registry_scope(arena, registry);
    Chain chain = {.arena = arena,
                   .ast = ast,
                   .registry = registry,
                   .scope = scope,
                   .options = options,
                   .ir = ir,
                   .diags = diags,
                   .eager = arena_new(arena, Eager)};
    registry_add(scope, ast, LAYER_PROGRAM, &ignored);
    chain.params = param_lines(&chain);
    run_statements(&chain);
    drop_unread(chain.eager);
    return chain.broken ? NULL : chain.eager;
}
