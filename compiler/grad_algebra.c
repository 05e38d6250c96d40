/* Cotangents in, cotangents out. One idea: every rule here is right because a cotangent is linear: a
 * sign, a number and a choice with a zero arm move outwards, so that terms read as one would write them,
 * and what is not chosen is never multiplied (0 * inf would be NaN). */
#include <math.h>

#include "compiler/grad_program.h"
#include "registry/call.h"

static bool is_number(const Tape *tape, Term term) {
    return tape_node(tape, term)->op == TERM_NUMBER;
}

static Term apply(Tape *tape, Primitive primitive, Term a, Term b) {
    return tape_apply(tape, primitive, (Term[]){a, b}, 2);
}

/* --- Choices */

typedef struct Choice {
    Term condition, arms[2]; /* 0: nothing */
} Choice;

static Term nothing_if_zero(const Tape *tape, Term term) {
    return tape_is_number(tape, term, 0) ? 0 : term;
}

/* `term` as a choice, of which an arm is a number: such a one moves outwards. */
static bool is_choice(const Tape *tape, Term term, Choice *choice) {
    if (!tape_is(tape, term, P_SELECT)) return false;
    choice->condition = tape_arg(tape, term, 0);
    for (uint32_t i = 0; i < 2; i++)
        choice->arms[i] = nothing_if_zero(tape, tape_arg(tape, term, i + 1));
    return is_number(tape, tape_arg(tape, term, 1)) || is_number(tape, tape_arg(tape, term, 2));
}

Term grad_choose(Tape *tape, Term condition, Term a, Term b) {
    Term zero = tape_number(tape, 0);
    if (a == 0 && b == 0) return 0;
    return tape_apply(tape, P_SELECT, (Term[]){condition, a != 0 ? a : zero, b != 0 ? b : zero}, 3);
}

/* --- Products */

Term grad_minus(Tape *tape, Term cotangent) {
    Choice choice;
    if (cotangent == 0) return 0;
    if (is_choice(tape, cotangent, &choice))
        return grad_choose(tape, choice.condition, grad_minus(tape, choice.arms[0]),
                           grad_minus(tape, choice.arms[1]));
    if (tape_is(tape, cotangent, P_MUL) && is_number(tape, tape_arg(tape, cotangent, 1))) {
        double number = tape_node(tape, tape_arg(tape, cotangent, 1))->number;
        return apply(tape, P_MUL, tape_arg(tape, cotangent, 0), tape_number(tape, -number));
    }
    return tape_apply(tape, P_NEG, &cotangent, 1);
}

/* A number stands last, so that several become one. */
static Term scale(Tape *tape, Term cotangent, double number) {
    if (tape_is(tape, cotangent, P_NEG)) return scale(tape, tape_arg(tape, cotangent, 0), -number);
    if (number == -1) return grad_minus(tape, cotangent);
    if (tape_is(tape, cotangent, P_MUL) && is_number(tape, tape_arg(tape, cotangent, 1))) {
        number *= tape_node(tape, tape_arg(tape, cotangent, 1))->number;
        cotangent = tape_arg(tape, cotangent, 0);
    }
    return apply(tape, P_MUL, cotangent, tape_number(tape, number));
}

static bool numbered(const Tape *tape, Term term, Primitive primitive, uint32_t i) {
    return tape_is(tape, term, primitive) && is_number(tape, tape_arg(tape, term, i));
}

/* No choice moves out of either. */
static Term multiply(Tape *tape, Term cotangent, Term factor) {
    if (is_number(tape, factor)) return scale(tape, cotangent, tape_node(tape, factor)->number);
    if (is_number(tape, cotangent)) return scale(tape, factor, tape_node(tape, cotangent)->number);
    if (tape_is(tape, factor, P_NEG))
        return grad_minus(tape, grad_times(tape, cotangent, tape_arg(tape, factor, 0)));
    if (tape_is(tape, cotangent, P_NEG))
        return grad_minus(tape, grad_times(tape, tape_arg(tape, cotangent, 0), factor));
    for (uint32_t i = 0; i < 2; i++)
        if (numbered(tape, factor, P_MUL, i))
            return grad_times(tape, grad_times(tape, cotangent, tape_arg(tape, factor, 1 - i)),
                              tape_arg(tape, factor, i));
    if (numbered(tape, factor, P_DIV, 0))
        return grad_over(tape, grad_times(tape, cotangent, tape_arg(tape, factor, 0)),
                         tape_arg(tape, factor, 1));
    return apply(tape, P_MUL, cotangent, factor);
}

Term grad_times(Tape *tape, Term cotangent, Term factor) {
    Choice choice;
    if (cotangent == 0 || factor == 0 || tape_is_number(tape, factor, 0)) return 0;
    if (is_choice(tape, cotangent, &choice))
        return grad_choose(tape, choice.condition, grad_times(tape, choice.arms[0], factor),
                           grad_times(tape, choice.arms[1], factor));
    if (is_choice(tape, factor, &choice))
        return grad_choose(tape, choice.condition, grad_times(tape, cotangent, choice.arms[0]),
                           grad_times(tape, cotangent, choice.arms[1]));
    return multiply(tape, cotangent, factor);
}

Term grad_over(Tape *tape, Term cotangent, Term divisor) {
    Choice choice;
    if (cotangent == 0) return 0;
    if (is_choice(tape, cotangent, &choice))
        return grad_choose(tape, choice.condition, grad_over(tape, choice.arms[0], divisor),
                           grad_over(tape, choice.arms[1], divisor));
    if (tape_is(tape, cotangent, P_NEG))
        return grad_minus(tape, grad_over(tape, tape_arg(tape, cotangent, 0), divisor));
    return apply(tape, P_DIV, cotangent, divisor);
}

/* --- Sums */

/* The term is this many times *of. */
static double times_of(const Tape *tape, Term term, Term *of) {
    *of = term;
    if (tape_is(tape, term, P_NEG)) *of = tape_arg(tape, term, 0);
    if (!numbered(tape, term, P_MUL, 1)) return *of == term ? 1 : -1;
    *of = tape_arg(tape, term, 0);
    return tape_node(tape, tape_arg(tape, term, 1))->number;
}

/* Two choices by one condition, never both of an arm; 0 where they are none such. */
static Term join_choices(Tape *tape, Term a, Term b) {
    Choice left, right;
    if (!is_choice(tape, a, &left) || !is_choice(tape, b, &right)) return 0;
    bool apart =
        (left.arms[0] == 0 || right.arms[0] == 0) && (left.arms[1] == 0 || right.arms[1] == 0);
    if (left.condition != right.condition || !apart) return 0;
    return grad_choose(tape, left.condition, left.arms[0] != 0 ? left.arms[0] : right.arms[0],
                       left.arms[1] != 0 ? left.arms[1] : right.arms[1]);
}

static bool are_alike(const Tape *tape, Term a, Term b) {
    Term of_a, of_b;
    times_of(tape, a, &of_a);
    times_of(tape, b, &of_b);
    return of_a == of_b;
}

Term grad_plus(Tape *tape, Term a, Term b) {
    Term of;
    if (a == 0 || b == 0) return a != 0 ? a : b;
    double times = times_of(tape, a, &of) + times_of(tape, b, &of);
    if (are_alike(tape, a, b)) return times == 0 ? 0 : scale(tape, of, times);
    if (tape_is(tape, a, P_ADD) && are_alike(tape, tape_arg(tape, a, 1), b))
        return grad_plus(tape, tape_arg(tape, a, 0), grad_plus(tape, tape_arg(tape, a, 1), b));
    Term joined = join_choices(tape, a, b);
    if (joined != 0) return joined;
    if (tape_is(tape, b, P_NEG)) return apply(tape, P_SUB, a, tape_arg(tape, b, 0));
    if (tape_is(tape, a, P_NEG)) return apply(tape, P_SUB, b, tape_arg(tape, a, 0));
    return apply(tape, P_ADD, a, b);
}

/* --- Shapes */

Term grad_reduce(Tape *tape, uint32_t op, Term cotangent, int32_t axis) {
    if (tape_is(tape, cotangent, P_NEG))
        return grad_minus(tape, grad_reduce(tape, op, tape_arg(tape, cotangent, 0), axis));
    return tape_along(tape, op, cotangent, axis);
}

/* A sum over the axis that was reduced, where that is sure to be all there is to sum. */
static Term sum_down(Tape *tape, Term cotangent, Shape shape) {
    const Atom *only = shapes_only(&tape->shapes, shape);
    if (only != NULL && only->kind == ATOM_REDUCED &&
        shapes_cover(&tape->shapes, tape_shape(tape, cotangent), only->of)) {
        Shape of = only->of;
        int32_t axis = only->axis;
        return grad_reduce(tape, TERM_REDUCE + REDUCE_SUM, grad_fit(tape, cotangent, of), axis);
    }
    return tape_binary(tape, TERM_SUM_TO, cotangent, tape_like(tape, shape));
}

Term grad_fit(Tape *tape, Term cotangent, Shape shape) {
    if (cotangent == 0) cotangent = tape_number(tape, 0);
    Shape own = tape_shape(tape, cotangent);
    bool larger = shapes_cover(&tape->shapes, own, shape);
    bool smaller = shapes_cover(&tape->shapes, shape, own);
    if (larger && smaller) return cotangent;
    if (tape_is(tape, cotangent, P_NEG))
        return grad_minus(tape, grad_fit(tape, tape_arg(tape, cotangent, 0), shape));
    if (smaller) return tape_binary(tape, TERM_BROADCAST_TO, cotangent, tape_like(tape, shape));
    return sum_down(tape, cotangent, shape);
}
