/* A program's terms in, cotangents of its inputs out. One idea: terms stand after their operands, so
 * one loop from the last to the first meets every term when all that reads it has said what it gives
 * back.
 *
 * Where shapes are not known, a cotangent may be larger than what it belongs to, which then has to be
 * summed, or smaller, which then has to be broadcast: both wait, since what follows is linear and mostly
 * elementwise, until a term needs the very shape. A smaller one does not wait where its term was
 * broadcast on the way: it counts as often as it was. */
#include <string.h>

#include "compiler/grad_program.h"
#include "registry/call.h"

typedef ARRAY(Term) Contributions;

typedef struct Backward {
    GradProgram *program;
    Tape *tape;
    Contributions *given; /* by term */
    Term end;             /* terms from here on are cotangents */
} Backward;

static Term arg(const Backward *b, Term term, uint32_t i) {
    return tape_arg(b->tape, term, i);
}

static Term apply(const Backward *b, Primitive primitive, Term x, Term y) {
    return tape_apply(b->tape, primitive, (Term[]){x, y}, 2);
}

/* --- Giving */

static void give(const Backward *b, Term to, Term cotangent) {
    if (cotangent != 0 && tape_node(b->tape, to)->active)
        array_push(b->program->arena, &b->given[to], cotangent);
}

/* From an elementwise term to an operand. */
static void give_back(const Backward *b, Term from, Term to, Term cotangent) {
    Shape whole = tape_shape(b->tape, from);
    if (cotangent == 0 || !tape_node(b->tape, to)->active) return;
    Shape own = tape_shape(b->tape, cotangent);
    if (tape_shape(b->tape, to) != whole && !shapes_cover(&b->tape->shapes, own, whole))
        cotangent = grad_fit(b->tape, cotangent, whole);
    give(b, to, cotangent);
}

/* In the operand's very shape. */
static void give_fitted(const Backward *b, Term to, Term cotangent) {
    if (tape_node(b->tape, to)->active)
        give(b, to, grad_fit(b->tape, cotangent, tape_shape(b->tape, to)));
}

/* The cotangent of what was summed, in its shape or smaller. */
static Term spread(const Backward *b, Term cotangent, Shape shape) {
    if (cotangent == 0 || shapes_cover(&b->tape->shapes, shape, tape_shape(b->tape, cotangent)))
        return cotangent;
    return tape_binary(b->tape, TERM_BROADCAST_TO, cotangent, tape_like(b->tape, shape));
}

/* --- Taking together */

/* Those of one larger shape are one sum. */
static Term sum_like(const Backward *b, Contributions *list, uint32_t first) {
    Term sum = list->data[first];
    for (uint32_t i = first + 1; i < list->count; i++) {
        if (list->data[i] == 0 ||
            tape_shape(b->tape, list->data[i]) != tape_shape(b->tape, list->data[first]))
            continue;
        sum = grad_plus(b->tape, sum, list->data[i]);
        list->data[i] = 0;
    }
    return sum;
}

static Term settle(const Backward *b, Term term) {
    Contributions *list = &b->given[term];
    Shape shape = tape_shape(b->tape, term);
    Term sum = 0;
    uint32_t larger = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!shapes_cover(&b->tape->shapes, shape, tape_shape(b->tape, list->data[i]))) continue;
        sum = grad_plus(b->tape, sum, list->data[i]);
        list->data[i] = 0;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->data[i] == 0) continue;
        list->data[i] = sum_like(b, list, i);
        larger++;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->data[i] == 0) continue;
        bool alone = larger == 1 && sum == 0;
        sum = alone ? list->data[i]
                    : grad_plus(b->tape, sum, grad_fit(b->tape, list->data[i], shape));
    }
    return sum;
}

/* --- What files state */

static bool derive_stated(const Backward *b, Term term, Term cotangent,
                          const Derivative *derivative, const Term *args, uint32_t count) {
    Term *given = arena_array(b->program->arena, Term, count + 1);
    if (derivative == NULL) return false;
    memcpy(given, args, count * sizeof *args);
    if (derivative->product) given[count] = grad_fit(b->tape, cotangent, tape_shape(b->tape, term));
    Term value = grad_expand(b->program, &derivative->rule, given);
    Term to = args[derivative->parameter];
    if (value == 0) return true;
    if (!derivative->product)
        give_back(b, term, to, grad_times(b->tape, cotangent, value));
    else if (!tape_is_number(b->tape, value, 0))
        give_fitted(b, to, value);
    return true;
}

/* By its function's derivatives, and by its body, in which they are frozen. */
static void derive_call(const Backward *b, Term term, Term cotangent) {
    const TermNode node = *tape_node(b->tape, term);
    Term *args = arena_array(b->program->arena, Term, node.count);
    for (uint32_t i = 0; i < node.count; i++) args[i] = arg(b, term, i);
    for (uint32_t i = 0; i < node.count; i++)
        if (tape_node(b->tape, args[i])->active)
            derive_stated(b, term, cotangent,
                          registry_derivative(b->program->scope, node.function, P_NEG, i), args,
                          node.count);
    give(b, node.body, cotangent);
}

static void derive_function(const Backward *b, Term term, Term cotangent, Primitive primitive) {
    const TermNode node = *tape_node(b->tape, term);
    for (uint32_t i = 0; i < node.count; i++)
        if (tape_node(b->tape, node.arg[i])->active)
            derive_stated(b, term, cotangent,
                          registry_derivative(b->program->scope, NULL, primitive, i), node.arg,
                          node.count);
}

/* --- Operators */

static void derive_quotient(const Backward *b, Term term, Term g) {
    Term x = arg(b, term, 0), y = arg(b, term, 1);
    give_back(b, term, x, grad_over(b->tape, g, y));
    if (tape_node(b->tape, y)->active)
        give_back(b, term, y,
                  grad_minus(b->tape, grad_over(b->tape, grad_times(b->tape, g, term), y)));
}

static void derive_remainder(const Backward *b, Term term, Term g) {
    Term x = arg(b, term, 0), y = arg(b, term, 1);
    give_back(b, term, x, g);
    if (tape_node(b->tape, y)->active)
        give_back(b, term, y,
                  grad_minus(b->tape, grad_times(b->tape, g, apply(b, P_FLOORDIV, x, y))));
}

static void derive_select(const Backward *b, Term term, Term g) {
    Term condition = arg(b, term, 0);
    give_back(b, term, arg(b, term, 1), grad_choose(b->tape, condition, g, 0));
    give_back(b, term, arg(b, term, 2), grad_choose(b->tape, condition, 0, g));
}

static void derive_primitive(const Backward *b, Term term, Term g, Primitive primitive) {
    Term x = arg(b, term, 0), y = arg(b, term, 1);
    switch (primitive) {
    case P_NEG: give_back(b, term, x, grad_minus(b->tape, g)); break;
    case P_ADD:
        give_back(b, term, x, g);
        give_back(b, term, y, g);
        break;
    case P_SUB:
        give_back(b, term, x, g);
        give_back(b, term, y, grad_minus(b->tape, g));
        break;
    case P_MUL:
        give_back(b, term, x, grad_times(b->tape, g, y));
        give_back(b, term, y, grad_times(b->tape, g, x));
        break;
    case P_DIV: derive_quotient(b, term, g); break;
    case P_MOD: derive_remainder(b, term, g); break;
    case P_SELECT: derive_select(b, term, g); break;
    default: derive_function(b, term, g, primitive); break;
    }
}

/* --- Arrays */

static void derive_product(const Backward *b, Term term, Term g) {
    Term x = arg(b, term, 0), y = arg(b, term, 1);
    g = grad_fit(b->tape, g, tape_shape(b->tape, term));
    if (tape_node(b->tape, x)->active)
        give_fitted(b, x,
                    tape_binary(b->tape, TERM_MATMUL, g, tape_unary(b->tape, TERM_TRANSPOSE, y)));
    if (tape_node(b->tape, y)->active)
        give_fitted(b, y,
                    tape_binary(b->tape, TERM_MATMUL, tape_unary(b->tape, TERM_TRANSPOSE, x), g));
}

/* What is reduced, where, and the cotangent of the result in its very shape. */
typedef struct Reduced {
    Term term, of, g;
    int32_t axis;
} Reduced;

static Term along(const Backward *b, const Reduced *r, Reduction reduction, Term of) {
    return tape_along(b->tape, TERM_REDUCE + (uint32_t)reduction, of, r->axis);
}

/* The cotangent over the number of elements; of one that is still to be summed, its mean. */
static Term averaged(const Backward *b, Term term, Term cotangent) {
    const TermNode node = *tape_node(b->tape, term);
    Shape of = tape_shape(b->tape, node.arg[0]);
    if (shapes_cover(&b->tape->shapes, tape_shape(b->tape, cotangent), of))
        return grad_reduce(b->tape, TERM_REDUCE + REDUCE_MEAN, grad_fit(b->tape, cotangent, of),
                           node.axis);
    return grad_over(b->tape, grad_fit(b->tape, cotangent, node.shape),
                     tape_along(b->tape, TERM_COUNT, tape_like(b->tape, of), node.axis));
}

/* Elements equal to the extreme share; a NaN leaves 0 / 0 to all. */
static Term derive_extreme(const Backward *b, const Reduced *r) {
    Term equal = apply(b, P_EQ, r->of, r->term);
    return apply(b, P_DIV, grad_choose(b->tape, equal, r->g, 0), along(b, r, REDUCE_SUM, equal));
}

/* The product of the others: of two zeros and more none is left; one leaves it to itself alone. */
static Term derive_prod(const Backward *b, const Reduced *r) {
    Term zero = tape_number(b->tape, 0), one = tape_number(b->tape, 1);
    Term is_zero = apply(b, P_EQ, r->of, zero);
    Term zeros = along(b, r, REDUCE_SUM, is_zero);
    Term others = tape_apply(b->tape, P_SELECT, (Term[]){is_zero, one, r->of}, 3);
    Term g = grad_times(b->tape, r->g, along(b, r, REDUCE_PROD, others));
    return grad_choose(
        b->tape, is_zero, grad_choose(b->tape, apply(b, P_EQ, zeros, one), g, 0),
        grad_choose(b->tape, apply(b, P_EQ, zeros, zero), grad_over(b->tape, g, r->of), 0));
}

static Term derive_var(const Backward *b, const Reduced *r, Term cotangent) {
    Term centred = apply(b, P_SUB, r->of, along(b, r, REDUCE_MEAN, r->of));
    Term scaled = grad_times(b->tape, averaged(b, r->term, cotangent), tape_number(b->tape, 2));
    return grad_times(b->tape, scaled, centred);
}

static Term derive_reduced(const Backward *b, const Reduced *r, Reduction reduction,
                           Term cotangent) {
    switch (reduction) {
    case REDUCE_SUM: return r->g;
    case REDUCE_PROD: return derive_prod(b, r);
    case REDUCE_MAX:
    case REDUCE_MIN: return derive_extreme(b, r);
    case REDUCE_MEAN: return averaged(b, r->term, cotangent);
    case REDUCE_VAR: return derive_var(b, r, cotangent);
    case REDUCTION_COUNT: break;
    }
    return 0;
}

static void derive_reduction(const Backward *b, Term term, Term cotangent, Reduction reduction) {
    const TermNode node = *tape_node(b->tape, term);
    Reduced r = {term, node.arg[0], 0, node.axis};
    if (reduction != REDUCE_MEAN && reduction != REDUCE_VAR)
        r.g = grad_fit(b->tape, cotangent, node.shape);
    Term back = derive_reduced(b, &r, reduction, cotangent);
    give(b, r.of, spread(b, back, tape_shape(b->tape, r.of)));
}

/* --- Any term */

static void derive(const Backward *b, Term term, Term cotangent) {
    const TermNode node = *tape_node(b->tape, term);
    switch (node.op) {
    case TERM_CAST: give(b, node.arg[0], cotangent); return;
    case TERM_MATMUL: derive_product(b, term, cotangent); return;
    case TERM_CALL: derive_call(b, term, cotangent); return;
    case TERM_POWER: derive_function(b, term, cotangent, P_POW); return;
    case TERM_SUM_TO:
        cotangent = grad_fit(b->tape, cotangent, node.shape);
        give(b, node.arg[0], spread(b, cotangent, tape_shape(b->tape, node.arg[0])));
        return;
    case TERM_BROADCAST_TO:
        give_fitted(b, node.arg[0], grad_fit(b->tape, cotangent, node.shape));
        return;
    case TERM_TRANSPOSE:
        cotangent = grad_fit(b->tape, cotangent, node.shape);
        give(b, node.arg[0], tape_unary(b->tape, TERM_TRANSPOSE, cotangent));
        return;
    default: break;
    }
    if (node.op >= TERM_PRIMITIVE)
        derive_primitive(b, term, cotangent, (Primitive)(node.op - TERM_PRIMITIVE));
    else if (node.op >= TERM_REDUCE)
        derive_reduction(b, term, cotangent, (Reduction)(node.op - TERM_REDUCE));
}

/* The cotangent of what a person has named is called after it. */
static void label_cotangent(const Backward *b, Term term, Term cotangent) {
    const char *label = tape_node(b->tape, term)->label;
    TermNode *node = &b->tape->terms.data[cotangent];
    if (label != NULL && node->label == NULL && cotangent >= b->end)
        node->label = arena_printf(b->program->arena, "d%s", label);
}

static GradResult *result_of(GradProgram *program, const char *input) {
    for (uint32_t i = 0; i < program->results.count; i++)
        if (strcmp(program->results.data[i].input, input) == 0) return &program->results.data[i];
    return NULL;
}

static void run_backward(GradProgram *program) {
    Tape *tape = &program->tape;
    Backward b = {program, tape, NULL, tape->terms.count};
    b.given = arena_array(program->arena, Contributions, tape->terms.count);
    program->deriving = true;
    for (uint32_t i = 0; i < program->outputs.count; i++) {
        GradOutput *output = &program->outputs.data[i];
        if (output->cotangent == NULL) continue;
        Term seed = tape_term(tape, (TermNode){.op = TERM_INPUT, .name = output->cotangent});
        tape->terms.data[seed].shape = tape_shape(tape, output->term);
        give(&b, output->term, seed);
    }
    for (Term term = b.end; term-- > 1;) {
        if (b.given[term].count == 0) continue;
        Term cotangent = settle(&b, term);
        if (cotangent == 0) continue;
        label_cotangent(&b, term, cotangent);
        if (tape_node(tape, term)->op == TERM_INPUT) {
            GradResult *result = result_of(program, tape_node(tape, term)->name);
            if (result != NULL) result->term = grad_fit(tape, cotangent, tape_shape(tape, term));
        } else {
            derive(&b, term, cotangent);
        }
    }
}

/* --- What is asked for */

#define complain(program, mark, hint, ...) \
    diag_error((program)->diags, (program)->ast->source, mark, hint, __VA_ARGS__)

static const char *nearest_input(const GradProgram *program, const char *name) {
    const char *nearest = NULL;
    int least = strlen(name) < 3 ? 1 : strlen(name) < 4 ? 2 : 3; /* fewer edits than this */
    for (uint32_t i = 1; i < program->symbols.count; i++) {
        const GradSymbol *symbol = &program->symbols.data[i];
        if (symbol->kind != GRAD_INPUT) continue;
        int distance = text_distance(symbol->name, name, least);
        if (distance >= least) continue;
        nearest = arena_printf(program->arena, "did you mean '%s'?", symbol->name);
        least = distance;
    }
    return nearest;
}

static void check_wrt(GradProgram *program, const char *name) {
    const GradSymbol *symbol = grad_symbol(program, name);
    if (symbol == NULL)
        diag_error(program->diags, NULL, (Span){0}, nearest_input(program, name),
                   "--wrt names '%s', but the program has no such input", name);
    else if (symbol->kind == GRAD_PARAM)
        complain(program, symbol->mark, "an input of shape scalar has one",
                 "'%s' is a param, which has no derivative", name);
    else if (symbol->kind == GRAD_BINDING)
        complain(program, symbol->mark, "leave its binding out: then it is an input",
                 "'%s' is computed by the program, and derivatives are by inputs", name);
    else if (!grad_is_float(program, name))
        complain(program, symbol->mark, "only f64, f32, f16 and bf16 have derivatives",
                 "'%s' is not floating", name);
    else if (result_of(program, name) != NULL)
        diag_error(program->diags, NULL, (Span){0}, NULL, "--wrt names '%s' twice", name);
    else
        array_push(program->arena, &program->results, (GradResult){.input = name});
}

/* Results, for now without names. */
static bool choose_inputs(GradProgram *program) {
    const GradOptions *options = program->options;
    uint32_t errors = program->diags->errors;
    for (uint32_t i = 0; i < options->wrt_count; i++) check_wrt(program, options->wrt[i]);
    for (uint32_t i = 1; i < program->symbols.count && options->wrt_count == 0; i++) {
        const GradSymbol *symbol = &program->symbols.data[i];
        if (symbol->kind == GRAD_INPUT && grad_is_float(program, symbol->name))
            array_push(program->arena, &program->results, (GradResult){.input = symbol->name});
    }
    return program->diags->errors == errors;
}

static void name_results(GradProgram *program) {
    for (uint32_t i = 0; i < program->results.count; i++) {
        GradResult *result = &program->results.data[i];
        result->name =
            grad_unique_name(program, arena_printf(program->arena, "d%s", result->input));
    }
}

static void name_cotangents(GradProgram *program) {
    for (uint32_t i = 0; i < program->outputs.count; i++) {
        GradOutput *output = &program->outputs.data[i];
        if (tape_node(&program->tape, output->term)->active)
            output->cotangent =
                grad_unique_name(program, arena_printf(program->arena, "d%s", output->name));
    }
}

/* Without --wrt, what nothing depends on is left out; asked for, it is zeros. */
static bool settle_results(GradProgram *program) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < program->results.count; i++) {
        GradResult result = program->results.data[i];
        if (result.term == 0 && program->options->wrt_count == 0) continue;
        Term input = grad_symbol(program, result.input)->term;
        if (result.term == 0)
            result.term = grad_fit(&program->tape, 0, tape_shape(&program->tape, input));
        program->results.data[kept++] = result;
    }
    program->results.count = kept;
    if (kept == 0)
        diag_error(program->diags, program->ast->source, (Span){0}, NULL,
                   "no output depends smoothly on a floating input");
    return kept > 0;
}

Grad *grad(Arena *arena, const Ast *ast, const Registry *registry, const GradOptions *options,
           Diags *diags) {
    GradProgram program = {.arena = arena_open(), .ast = ast, .options = options, .diags = diags};
    Registry *scope = registry_scope(program.arena, registry);
    Grad *result = NULL;
    program.scope = scope;
    tape_open(&program.tape, program.arena, registry);
    bool ok = registry_add(scope, ast, LAYER_PROGRAM, diags) && grad_read(&program) &&
              choose_inputs(&program);
    if (ok) {
        name_results(&program);
        name_cotangents(&program);
        run_backward(&program);
        ok = settle_results(&program);
    }
    if (ok) {
        result = arena_new(arena, Grad);
        ok = grad_write(&program, arena, result);
    }
    arena_close(program.arena);
    return ok ? result : NULL;
}
