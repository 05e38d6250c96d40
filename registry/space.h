/* Space: the knobs of a template, what makes a point legal (`require`) and sensible (`prefer`), and
 * points. A point is stored and shown as "VEC=4,BLOCK=256" (knob names without underscores), never
 * as an index: adding a value must not shift old results. Arithmetic is exact int64; an overflow or
 * a division by zero makes a constraint false. */
#ifndef KF_SPACE_H
#define KF_SPACE_H

#include "grammar/ast.h"

enum {
    SPACE_KNOBS = 16,
    SPACE_VALUES = 64,
    SPACE_CONSTRAINTS = 64,
    SPACE_NODES = 1024, /* of one expression */
    SPACE_PROBES = 1 << 20,
};

typedef struct Knob {
    const char *key;   /* "__VEC__" */
    const char *label; /* "VEC" */
    int64_t values[SPACE_VALUES];
    uint32_t count;
    int64_t fallback; /* the analytic default, one of values */
    bool fact;        /* its only value is the program's, not a choice: no part of a point's text */
} Knob;

typedef struct Constraint {
    const Ast *ast;
    Node value; /* an integer expression of `ast` */
    bool hard;  /* require, else prefer */
} Constraint;

typedef struct Space {
    Arena *arena;
    Knob knobs[SPACE_KNOBS];
    uint32_t knob_count;
    ARRAY(Constraint) constraints;
} Space;

/* One value per knob, in the space's order. */
typedef struct Point {
    int64_t value[SPACE_KNOBS];
} Point;

/* Names a constraint or launch expression may read besides knobs: sizes of the real problem, `sms`,
 * `cpus`, … */
typedef struct Binding {
    const char *name;
    int64_t value;
} Binding;
typedef struct Bindings {
    const Binding *list;
    uint32_t count;
} Bindings;

/* Adds a knob; values and names are copied. False if there is no room, a value twice or none, a
 * name that is there already, or a fallback that is no value. */
bool space_add_knob(Space *space, const char *key, const int64_t *values, uint32_t count,
                    int64_t fallback);

/* Value of an integer expression over knobs (by key or label) and bindings. Functions: ceildiv(a,b)
 * min max abs. False on an unknown name, overflow, division by zero, or what integers have not
 * (*why says, static text); the side of && || ?: that is not taken may fail. */
bool space_eval(const Space *space, const Point *point, Bindings bindings, const Ast *ast,
                Node node, int64_t *value, const char **why);
/* Says with a caret what space_eval can never compute, whatever the point: names that are neither
 * knobs nor bindings, functions, operators, numbers with a fraction. False if there is any. */
bool space_check(const Space *space, Bindings bindings, const Ast *ast, Node node, Diags *diags);
/* All hard constraints hold; with `sensible`, the preferences too. */
bool space_allows(const Space *space, const Point *point, Bindings bindings, bool sensible);

/* Number of points of the whole product, UINT64_MAX if it is larger than that; index <-> point is a
 * bijection on [0, size), in which the last knob varies fastest. */
uint64_t space_size(const Space *space);
Point space_point(const Space *space, uint64_t index);
uint64_t space_index(const Space *space, const Point *point);
Point space_fallback(const Space *space);
/* Indices of allowed points in order, at most `limit` of them: one from each of as many equal
 * parts, by `seed`. Where more than SPACE_PROBES values are to be looked at, though a
 * constraint cuts off what it refuses, points are themselves sampled so. Returns their number. */
uint32_t space_allowed(const Space *space, Bindings bindings, bool sensible, Arena *arena,
                       uint32_t limit, uint64_t seed, uint64_t **indices);

/* The analytic default for these sizes: the fallback where it is sensible, else the sensible point
 * nearest to it, counting octaves over all knobs; where nothing is sensible, the same among what is
 * legal. False if nothing is. */
bool space_default(const Space *space, Bindings bindings, Point *point);

/* "VEC=4 BLOCK=256" with `separator` between. */
void point_print(Text *out, const Space *space, const Point *point, const char *separator);
/* Accepts ',' or ' ' separators and labels or keys; knobs not named take `base`'s value. On failure
 * false and a message in the arena: unknown knob or value (with the choices), knob named twice. */
bool point_parse(const Space *space, const char *text, const Point *base, Arena *arena,
                 Point *point, const char **why);

#endif
