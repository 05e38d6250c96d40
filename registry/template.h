/* Template: the one currency of the tuner. A whole compilable source with `//!` header lines in the kfuse
 * language, knobs as macros `__KEY__`, and a space for them. fusegen makes one for a chain, templates
 * beside this file are written by hand, a user brings his own. */
#ifndef KF_TEMPLATE_H
#define KF_TEMPLATE_H

#include "registry/registry.h"
#include "registry/space.h"

typedef struct TemplateTensor {
    const char *name;
    const char *dims[8]; /* size names; the first takes all leading dimensions */
    uint32_t rank;
    DType types[DTYPE_COUNT]; /* allowed */
    uint32_t type_count;
    const char *like; /* output: type like this input; NULL otherwise */
} TemplateTensor;

/* One kernel of the template: expressions over sizes, knobs, `sms`, `cpus`. */
typedef struct TemplateLaunch {
    const char *entry; /* function name in the source */
    const char *twin;  /* same parameters, any alignment; NULL: none */
    const Ast *ast;
    Node grid[3], block[3], cluster, shared; /* 0: 1 (grid, block, cluster) or 0 (shared) */
} TemplateLaunch;

typedef struct Template {
    const char *name;     /* `kernel` line */
    const char *language; /* "cuda" or "c" */
    const Source *source; /* whole text, header included */
    const Ast *computes;  /* NULL in generated ones */
    ARRAY(TemplateTensor) inputs;
    ARRAY(TemplateTensor) outputs;
    ARRAY(const char *) args; /* the entries' parameters in order: tensors, sizes, params */
    Space space;
    ARRAY(TemplateLaunch) launches;
    const Ast *workspace_ast; /* bytes; NULL: none */
    Node workspace;
    uint64_t hash; /* of the text without its knob lines */
} Template;

/* Reads the header (//! lines) of `source`. NULL after a diagnostic (caret into the file). */
const Template *template_parse(Arena *arena, const Source *source, const char *language, Diags *diags);

/* The compilable text of one point: `#define __VEC__ 4` lines, then the source with a #line. `suffix` is
 * appended to every entry's name through the macro KF_ENTRY(name), so that several points can share a
 * translation unit. */
void template_instantiate(Text *out, const Template *template, const Point *point, const char *suffix);

#endif
