/* Operations in, terms out. One idea: a table from a term's content to its index, as in ir.c, so that
 * what forward and backward share is one term. */
#include "compiler/tape.h"

#include <math.h>
#include <string.h>

#include "compiler/fold.h"
#include "registry/call.h"

void tape_open(Tape *tape, Arena *arena, const Registry *registry) {
    *tape = (Tape){.arena = arena, .registry = registry};
    array_push(arena, &tape->terms, (TermNode){.op = TERM_NONE});
    shapes_open(&tape->shapes, arena);
}

/* --- What a term is besides its content */

static Shape join_operands(Tape *tape, Term term) {
    Shape shape = 0;
    for (uint32_t i = 0; i < tape_node(tape, term)->count; i++)
        shape = shapes_join(&tape->shapes, shape, tape_shape(tape, tape_arg(tape, term, i)));
    return shape;
}

static Shape shape_of(Tape *tape, Term term) {
    const TermNode *node = tape_node(tape, term);
    Shapes *shapes = &tape->shapes;
    switch (node->op) {
    case TERM_NUMBER:
    case TERM_PARAM:
    case TERM_COUNT: return 0;
    case TERM_INPUT: return shapes_input(shapes, term);
    case TERM_TRANSPOSE: return shapes_transposed(shapes, tape_shape(tape, node->arg[0]), term);
    case TERM_MATMUL:
        return shapes_product(shapes, tape_shape(tape, node->arg[0]),
                              tape_shape(tape, node->arg[1]), term);
    case TERM_SUM_TO:
    case TERM_BROADCAST_TO: return tape_shape(tape, node->arg[1]);
    case TERM_CALL: return tape_shape(tape, node->body);
    default: break;
    }
    if (node->op >= TERM_REDUCE && node->op < TERM_PRIMITIVE)
        return shapes_reduced(shapes, tape_shape(tape, node->arg[0]), node->axis, term);
    return join_operands(tape, term);
}

static bool is_active(const Tape *tape, Term term) {
    return tape_node(tape, term)->active;
}

static bool any_active(const Tape *tape, Term term, uint32_t first) {
    for (uint32_t i = first; i < tape_node(tape, term)->count; i++)
        if (is_active(tape, tape_arg(tape, term, i))) return true;
    return false;
}

/* By its body, or by what a file states. */
static bool call_active(const Tape *tape, const TermNode *node, Term term) {
    if (is_active(tape, node->body)) return true;
    for (uint32_t i = 0; i < node->count; i++)
        if (is_active(tape, tape_arg(tape, term, i)) &&
            registry_derivative(tape->registry, node->function, P_NEG, i) != NULL)
            return true;
    return false;
}

/* What moves by steps is no function of what it depends on. */
static bool primitive_active(const Tape *tape, Term term, Primitive primitive) {
    bool logical = primitive == P_NOT || primitive == P_AND || primitive == P_OR;
    bool steps = primitive == P_FLOORDIV || (primitive >= P_LT && primitive <= P_NE);
    return !logical && !steps && any_active(tape, term, primitive == P_SELECT ? 1 : 0);
}

static bool activity_of(const Tape *tape, Term term) {
    const TermNode *node = tape_node(tape, term);
    switch (node->op) {
    case TERM_INPUT: return node->active;
    case TERM_PARAM:
    case TERM_FROZEN:
    case TERM_COUNT: return false;
    case TERM_CAST: return dtype_is_float(node->dtype) && any_active(tape, term, 0);
    case TERM_SUM_TO:
    case TERM_BROADCAST_TO: return is_active(tape, node->arg[0]);
    case TERM_CALL: return call_active(tape, node, term);
    default: break;
    }
    if (node->op < TERM_PRIMITIVE) return any_active(tape, term, 0);
    return primitive_active(tape, term, (Primitive)(node->op - TERM_PRIMITIVE));
}

/* --- Equal terms are one */

static uint64_t payload(const TermNode *node) {
    switch (node->op) {
    case TERM_INPUT:
    case TERM_PARAM: return table_hash_name(node->name);
    case TERM_CALL: return (uintptr_t)node->function;
    case TERM_CAST: return node->dtype;
    case TERM_NUMBER: {
        uint64_t bits;
        memcpy(&bits, &node->number, sizeof bits);
        return bits;
    }
    default: break;
    }
    bool along = node->op == TERM_COUNT || (node->op >= TERM_REDUCE && node->op < TERM_PRIMITIVE);
    return along ? (uint64_t)(uint32_t)node->axis : 0;
}

static const Term *operands(const Tape *tape, const TermNode *node) {
    return node->op == TERM_CALL ? tape->list.data + node->list : node->arg;
}

static uint64_t hash_node(const Tape *tape, const TermNode *node) {
    uint64_t hash = table_mix(node->op, payload(node));
    for (uint32_t i = 0; i < node->count; i++) hash = table_mix(hash, operands(tape, node)[i]);
    return hash;
}

static bool same_node(const Tape *tape, const TermNode *a, const TermNode *b) {
    bool named = a->op == TERM_INPUT || a->op == TERM_PARAM;
    return a->op == b->op && a->count == b->count && payload(a) == payload(b) &&
           (!named || strcmp(a->name, b->name) == 0) &&
           (a->count == 0 ||
            memcmp(operands(tape, a), operands(tape, b), a->count * sizeof(Term)) == 0);
}

Term tape_term(Tape *tape, TermNode node) {
    uint64_t hash = hash_node(tape, &node);
    Term term;
    for (uint32_t at = 0; (term = table_next(&tape->table, hash, &at)) != 0;)
        if (same_node(tape, &node, tape_node(tape, term))) return term;
    term = tape->terms.count;
    array_push(tape->arena, &tape->terms, node);
    table_add(tape->arena, &tape->table, hash, term);
    Shape shape = shape_of(tape, term);
    tape->terms.data[term].shape = shape;
    tape->terms.data[term].active = activity_of(tape, term);
    return term;
}

/* --- Builders */

Term tape_number(Tape *tape, double number) {
    return tape_term(tape, (TermNode){.op = TERM_NUMBER, .number = number});
}

Term tape_input(Tape *tape, const char *name, bool active) {
    return tape_term(tape, (TermNode){.op = TERM_INPUT, .name = name, .active = active});
}

Term tape_param(Tape *tape, const char *name, Term value) {
    return tape_term(tape, (TermNode){.op = TERM_PARAM, .count = 1, .arg = {value}, .name = name});
}

Term tape_unary(Tape *tape, TermOp op, Term a) {
    if (op == TERM_TRANSPOSE && tape_node(tape, a)->op == TERM_TRANSPOSE)
        return tape_arg(tape, a, 0);
    return tape_term(tape, (TermNode){.op = (uint16_t)op, .count = 1, .arg = {a}});
}

static bool both_numbers(const Tape *tape, Term a, Term b) {
    return tape_node(tape, a)->op == TERM_NUMBER && tape_node(tape, b)->op == TERM_NUMBER;
}

Term tape_binary(Tape *tape, TermOp op, Term a, Term b) {
    bool shapes = op == TERM_SUM_TO || op == TERM_BROADCAST_TO;
    if (op == TERM_POWER && both_numbers(tape, a, b))
        return tape_apply(tape, P_POW, (Term[]){a, b}, 2);
    if (op == TERM_POWER && tape_is_number(tape, b, 1)) return a;
    if (shapes && tape_shape(tape, a) == tape_shape(tape, b)) return a;
    return tape_term(tape, (TermNode){.op = (uint16_t)op, .count = 2, .arg = {a, b}});
}

Term tape_cast(Tape *tape, DType dtype, Term a) {
    return tape_term(tape, (TermNode){.op = TERM_CAST, .count = 1, .arg = {a}, .dtype = dtype});
}

Term tape_along(Tape *tape, uint32_t op, Term a, int32_t axis) {
    return tape_term(tape, (TermNode){.op = (uint16_t)op, .count = 1, .arg = {a}, .axis = axis});
}

/* What the language would compute in double as well; 0 where that is no number to write. */
static Term fold(Tape *tape, Primitive primitive, const Term *args, uint32_t count) {
    double real[3];
    for (uint32_t i = 0; i < count; i++) {
        if (tape_node(tape, args[i])->op != TERM_NUMBER) return 0;
        real[i] = tape_node(tape, args[i])->number;
    }
    double value = fold_real(primitive, real, DT_F64);
    return isfinite(value) ? tape_number(tape, value) : 0;
}

/* 1 or 0 where a condition is known, whatever arrays take part; else -1. */
static int truth(const Tape *tape, Term term) {
    const TermNode *node = tape_node(tape, term);
    if (node->op == TERM_NUMBER) return node->number != 0;
    int known = tape_is(tape, term, P_OR) ? 1 : 0;
    if (!known && !tape_is(tape, term, P_AND)) return -1;
    for (uint32_t i = 0; i < 2; i++)
        if (tape_is_number(tape, node->arg[i], known)) return known;
    return -1;
}

/* An operand that the whole equals, or 0. */
static Term same_as(const Tape *tape, Primitive primitive, const Term *args) {
    int known = primitive == P_SELECT ? truth(tape, args[0]) : -1;
    switch (primitive) {
    case P_MUL:
        return tape_is_number(tape, args[1], 1)   ? args[0]
               : tape_is_number(tape, args[0], 1) ? args[1]
                                                  : 0;
    case P_DIV: return tape_is_number(tape, args[1], 1) ? args[0] : 0;
    case P_SUB:
        return tape_is_number(tape, args[1], 0) && !signbit(tape_node(tape, args[1])->number)
                   ? args[0]
                   : 0;
    case P_NEG: return tape_is(tape, args[0], P_NEG) ? tape_arg(tape, args[0], 0) : 0;
    case P_SELECT: return known < 0 ? 0 : args[known ? 1 : 2];
    default: return 0;
    }
}

Term tape_apply(Tape *tape, Primitive primitive, const Term *args, uint32_t count) {
    TermNode node = {.op = (uint16_t)(TERM_PRIMITIVE + (uint32_t)primitive),
                     .count = (uint16_t)count};
    Term folded = fold(tape, primitive, args, count);
    if (folded != 0) return folded;
    Term same = same_as(tape, primitive, args);
    bool covers = same != 0;
    for (uint32_t i = 0; i < count; i++) {
        node.arg[i] = args[i];
        covers = covers &&
                 shapes_cover(&tape->shapes, tape_shape(tape, same), tape_shape(tape, args[i]));
    }
    return covers ? same : tape_term(tape, node);
}

Term tape_call(Tape *tape, const Function *function, const Term *args, Term body) {
    uint32_t count = function->def->parameter_count;
    TermNode node = {.op = TERM_CALL, .function = function, .body = body};
    if (tape_node(tape, body)->op == TERM_NUMBER) return body;
    node.count = (uint16_t)count;
    node.list = tape->list.count;
    for (uint32_t i = 0; i < count; i++) array_push(tape->arena, &tape->list, args[i]);
    return tape_term(tape, node);
}

Term tape_like(Tape *tape, Shape shape) {
    AtomSet set = tape->shapes.sets.data[shape];
    Term like = 0;
    for (uint32_t i = 0; i < set.count; i++) {
        Term next = tape->shapes.atoms.data[tape->shapes.list.data[set.first + i]].term;
        like = like == 0 ? next : tape_apply(tape, P_ADD, (Term[]){like, next}, 2);
    }
    return like != 0 ? like : tape_number(tape, 0);
}
