/* Match: whether a hand-written template computes a program. Its `computes` lines are lowered with
 * the program's own shapes and types, its inputs taken for the program's in every order; it matches
 * where the two programs are the same graph, operands of commutative operations in either order,
 * and a param of the template may be any number. So what a registry line says decides, never a
 * name; a missed match costs a candidate, not correctness. */
#ifndef KF_MATCH_H
#define KF_MATCH_H

#include "compiler/bound.h"
#include "registry/template.h"

typedef struct Match Match;

/* `ir` is simplified, calls inlined; where fast.h has been over it, so it is over the template. NULL where the template computes something else, has not these
 * types, or where an array is not dense in row-major order. */
const Match *match_template(Arena *arena, const Template *template, const Registry *registry,
                            const Ir *ir);
/* The match of a program that was made from the template itself, with inputs and outputs by its
 * names: nothing is compared, and it need not compute anything. NULL where types or shapes do not
 * fit. */
const Match *match_itself(Arena *arena, const Template *template, const Ir *ir);
/* The template's names at another shape of the same program; NULL if the shape does not fit. Sizes
 * are what the template calls them, and bytes_x the size of an element of x. */
const Bound *match_bound(Arena *arena, const Match *match, const Ir *ir);
/* Storage type of the template's tensors, inputs first. */
const DType *match_types(const Match *match);

#endif
