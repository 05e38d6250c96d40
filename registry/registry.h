/* Registry: what a name followed by '(' means. Primitives are C functions (primitives.def); everything
 * else is a definition in the language: built in (ops.kf), the user's (*.kf files), the program's own.
 * A later layer hides an earlier one and says so once. */
#ifndef KF_REGISTRY_H
#define KF_REGISTRY_H

#include "grammar/ast.h"
#include "registry/dtype.h"

typedef enum Primitive {
#define PRIMITIVE(id, ...) P_##id,
#include "registry/primitives.def"
#undef PRIMITIVE
    PRIMITIVE_COUNT
} Primitive;

typedef enum PrimitiveClass { CLASS_OPERATOR, CLASS_EXACT, CLASS_FUNCTION } PrimitiveClass;

typedef struct PrimitiveInfo {
    const char *name;
    int arity;
    PrimitiveClass class;
    const char *cuda_f32, *cuda_f64, *c;
    double ulp_cuda_f32, ulp_cuda_f64, ulp_c_f32, ulp_c_f64;
} PrimitiveInfo;

const PrimitiveInfo *primitive_info(Primitive primitive);
/* A function by its name or C spelling (expf, fabsf, fmaxf, roundf is C's half-away-from-zero and is no
 * primitive: it is answered through ops.kf). Operators are not found. */
bool primitive_find(const char *name, Primitive *primitive);

typedef enum Layer { LAYER_BUILTIN, LAYER_USER, LAYER_PROGRAM } Layer;

typedef struct Function {
    const char *name;
    Layer layer;
    const Ast *ast;       /* holds the definition and its source */
    const Statement *def; /* STATEMENT_DEFINE */
    int required;         /* parameters without a default */
    const char *description; /* comment on the line, or NULL */
} Function;

typedef struct Registry Registry;

/* The built-in layer, parsed from the embedded ops.kf (whose errors are our bug: abort). */
Registry *registry_open(Arena *arena);
/* Adds a layer's definitions: checks bodies (parameters, constants and functions alone), arity of every
 * call, cycles (named in full), duplicates. False if there were errors. A definition that hides another
 * earns a warning. */
bool registry_add(Registry *registry, const Ast *ast, Layer layer, Diags *diags);
/* A registry that sees all of `parent` and gets its own program layer: one per program. */
Registry *registry_scope(Arena *arena, const Registry *parent);

const Function *registry_find(const Registry *registry, const char *name);
/* Nearest known function name (functions, primitives, reductions, dtypes), or NULL. */
const char *registry_nearest(const Registry *registry, const char *name);
/* All visible functions sorted by name: for `kfuse ops`, tests. */
const Function *const *registry_list(const Registry *registry, Arena *arena, uint32_t *count);

/* Hash of the text of all user-layer definitions a program may reach: not in the key (the inlined IR is),
 * for provenance only. */
uint64_t registry_user_hash(const Registry *registry);

#endif
