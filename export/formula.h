/* A template's integer expressions as C: launches, constraints. Knobs are numbers by then, and what
 * follows from them alone is computed here, so that the text has only what depends on sizes. */
#ifndef KF_EXPORT_FORMULA_H
#define KF_EXPORT_FORMULA_H

#include "export/export.h"

typedef struct Formula {
    const Space *space;
    const Point *point;
    const ExportSize *sizes;
    uint32_t size_count;
    bool *used; /* per size: set where a text names it */
    Bindings
        constants; /* sizes that are numbers whatever the shape: bytes_x, and all of a fixed shape */
} Formula;

Formula formula_open(Arena *arena, const Space *space, const Point *point, const ExportSize *sizes,
                     uint32_t size_count);
/* The value where it depends on no size; false otherwise. */
bool formula_constant(const Formula *formula, const Ast *ast, Node node, int64_t *value);
/* `fallback` where `node` is none. */
void formula_print(Text *out, const Formula *formula, const Ast *ast, Node node, int64_t fallback);
/* All hard constraints of the space, joined by &&, those that always hold left out; "1" if none is
 * left. */
void formula_require(Text *out, const Formula *formula);
/* What a size or scalar is called in C. A hand-written kernel's have any name, also one that the launcher has. */
void formula_name(Text *out, const char *name);
/* A size by its name; false if there is none. */
bool formula_size(Text *out, const Formula *formula, const char *name);
/* `const int64_t kf_rows = d[0];` for each size used. */
void formula_declare(Text *out, const Formula *formula);

#endif
