/* Template: the one currency of the tuner. A whole compilable source with `//!` header lines in the
 * kfuse language, knobs as macros `__KEY__`, and a space for them. fusegen makes one for a chain,
 * templates beside this file are written by hand, a user brings his own. */
#ifndef KF_TEMPLATE_H
#define KF_TEMPLATE_H

#include "registry/registry.h"
#include "registry/space.h"

enum { TENSOR_RANK = 8 };

typedef struct TemplateTensor {
    const char *name;
    const char
        *dims[TENSOR_RANK]; /* size names, or numbers; the first takes all leading dimensions */
    uint32_t rank;
    DType types[DTYPE_COUNT]; /* allowed */
    uint32_t type_count;
    const char *like;   /* type like this input's; NULL otherwise */
    const Source *said; /* where its line stands */
    Span mark;
} TemplateTensor;

/* One kernel of the template: expressions over sizes, knobs, `sms`, `cpus`. */
typedef struct TemplateLaunch {
    const char *entry; /* function name in the source */
    const char *twin;  /* same parameters, any alignment; NULL: none */
    const Ast *ast;
    Node grid[3], block[3], cluster, shared, dependent; /* 0: 1 (grid, block, cluster) or 0 */
} TemplateLaunch;

typedef struct Template {
    const char *name;     /* `kernel` line */
    const char *language; /* "cuda" or "c" */
    const Source *source; /* whole text, header included */
    const char *prologue; /* what an instance has between the knobs and the source, or NULL */
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

/* Reads the header (//! lines, in any order) of `source`. NULL after a diagnostic (caret into the
 * file). Expressions may read knobs, sizes (dimensions, and args that are no tensors), bytes_x (the
 * element size of tensor x), `sms` and `cpus`. A knob's first value is its fallback. A `launch` line's fields are grid, block, cluster,
 * shared, dependent (1: the kernel itself waits for those before it, Launch.dependent), and `twin =
 * NAME`; without a name its entry is the kernel's. A tensor's types may be
 * `like NAME`. A knob's key inside a longer word or a string of asm, where no macro reaches, is an
 * error; inside another string, a warning. */
const Template *template_parse(Arena *arena, const Source *source, const char *language,
                               Diags *diags);
/* With further lines, bare directives one a line: from the command line. One that is about the same
 * knob, tensor or entry as a line of the file, or a kernel, args, computes or workspace, takes its
 * place; others are added. */
const Template *template_parse_with(Arena *arena, const Source *source, const Source *options,
                                    const char *language, Diags *diags);
/* Whether the text defines what its launches call: each entry's name stands in it, and in CUDA with C
 * linkage, which launches find. False after a diagnostic. */
bool template_check_entries(const Template *template, Diags *diags);
/* Whether there is any //! line. */
bool template_has_header(const Source *source);
/* The space of bare knob, require and prefer lines, over knobs and `sizes`. NULL after a
 * diagnostic. */
const Space *template_space(Arena *arena, const Source *lines, Bindings sizes, Diags *diags);

/* The compilable text of one point: `#define __VEC__ 4` lines, the prologue, the source behind a
 * #line, then
 * #undef lines, so that several points can share a translation unit. KF_ENTRY(name) is name with
 * `suffix`, and so is the bare name where the text
 * has no KF_ENTRY; KF_CAT(a, b) and KF_STR(a) paste and quote what macros stand for. */
void template_instantiate(Text *out, const Template *template, const Point *point,
                          const char *suffix);

#endif
