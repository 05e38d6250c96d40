/* Shapes without sizes: what is sure about the shapes of a program's values before anybody has said
 * them. A shape is the join by broadcasting of atoms: an input's own, one with an axis reduced to 1,
 * one with its last axes swapped, a product's. Equal sets are one Shape. */
#ifndef KF_SHAPES_H
#define KF_SHAPES_H

#include <stdbool.h>

#include "compiler/table.h"

typedef uint32_t Shape; /* 0: a number's */

typedef enum AtomKind { ATOM_INPUT, ATOM_REDUCED, ATOM_TRANSPOSED, ATOM_PRODUCT } AtomKind;

typedef struct Atom {
    AtomKind kind;
    Shape of, with; /* what is reduced, transposed or multiplied */
    int32_t axis;   /* REDUCED: as written */
    uint32_t term;  /* the first value of that shape */
    uint32_t depth; /* of atoms in atoms */
} Atom;

typedef struct AtomSet {
    uint32_t first, count; /* in Shapes.list, ascending */
} AtomSet;

typedef struct Shapes {
    Arena *arena;
    ARRAY(Atom) atoms;
    ARRAY(AtomSet) sets; /* [0] is empty */
    ARRAY(uint32_t) list;
    Table known_atoms, known_sets;
} Shapes;

void shapes_open(Shapes *shapes, Arena *arena);
Shape shapes_input(Shapes *shapes, uint32_t term);
Shape shapes_reduced(Shapes *shapes, Shape of, int32_t axis, uint32_t term);
Shape shapes_transposed(Shapes *shapes, Shape of, uint32_t term);
Shape shapes_product(Shapes *shapes, Shape a, Shape b, uint32_t term);
Shape shapes_join(Shapes *shapes, Shape a, Shape b);
/* Whether `b` surely broadcasts to `a`. Both ways: they are equal. */
bool shapes_cover(const Shapes *shapes, Shape a, Shape b);
/* The only atom, or NULL. */
const Atom *shapes_only(const Shapes *shapes, Shape shape);

#endif
