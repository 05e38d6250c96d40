/* Registry: what a name followed by '(' means. Primitives are C functions (primitives.def);
 * everything else is a definition in the language: built in (ops.kf), the user's (*.kf files), the
 * program's own. A later layer hides an earlier one and says so once. */
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

/* Forms of primitives that a stage chooses: an Ir's operations as well, behind the language's own. */
typedef enum NearForm {
    NEAR_BEFORE = PRIMITIVE_COUNT,
#define NEAR(id, ...) P_##id,
#include "registry/near.def"
#undef NEAR
    NEAR_BEHIND
} NearForm;

typedef enum PrimitiveClass {
    CLASS_OPERATOR,
    CLASS_EXACT,
    CLASS_FUNCTION,
    CLASS_NEAR
} PrimitiveClass;

typedef struct PrimitiveInfo {
    const char *name;
    int arity;
    PrimitiveClass class;
    const char *cuda_f32, *cuda_f64, *c;
    double ulp_cuda_f32, ulp_cuda_f64, ulp_c_f32, ulp_c_f64;
} PrimitiveInfo;

/* Of primitives and of near forms. */
const PrimitiveInfo *primitive_info(Primitive primitive);
/* What a near form stands for; any other primitive itself. */
Primitive primitive_plain(Primitive primitive);
/* The form of `primitive` behind `form`, of which 0 is before the first; 0: there is none. */
Primitive primitive_near(Primitive primitive, Primitive form);
/* Whether its results have an error: a function's, or a near form's. */
bool primitive_errs(Primitive primitive);
/* A function by its name or C spelling (expf, fabsf, fmaxf; C's roundf rounds halves away from zero
 * and stands in ops.kf). Operators are not found. */
bool primitive_find(const char *name, Primitive *primitive);

/* In the order of the Ir's. */
typedef enum Reduction {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_MEAN,
    REDUCE_VAR,
    REDUCTION_COUNT
} Reduction;

const char *reduction_name(Reduction reduction);
bool reduction_find(const char *name, Reduction *reduction);

/* Functions of an array's shape; `count` takes an axis as a reduction does. */
typedef enum ShapeFunction {
    SHAPE_SUM_TO,       /* sum_to(e, x): e summed over the axes along which x broadcasts to it */
    SHAPE_BROADCAST_TO, /* broadcast_to(e, x): e in x's shape */
    SHAPE_COUNT,        /* count(x, axis=-1): the elements that a reduction takes together */
    SHAPE_FUNCTION_COUNT
} ShapeFunction;

const char *shape_function_name(ShapeFunction function);
bool shape_function_find(const char *name, ShapeFunction *function);
/* A reduction's name, or count's: `axis=` of theirs is a number or the word `all`. */
bool takes_axis(const char *name);

typedef enum Layer { LAYER_BUILTIN, LAYER_USER, LAYER_PROGRAM } Layer;

typedef struct Function Function;
struct Function {
    const char *name;
    Layer layer;
    const Ast *ast;          /* holds the definition and its source */
    const Statement *def;    /* STATEMENT_DEFINE */
    uint32_t required;       /* parameters without a default, which come first */
    const char *description; /* comment on the line, or NULL */
    uint32_t rank;           /* of the registry_add that brought it */
    uint32_t depth;          /* of the calls in it: 1, or one more than the deepest callee's */
    const Function *hidden;  /* the earlier function of this name, or NULL */
};

/* Calls nested deeper than this are an error, so that inlining may recurse. The size of what is
 * inlined is not bounded here: a chain of doublings is small once equal values are one. */
enum { FUNCTION_DEPTH = 256 };

/* "elu(x, alpha=1)". */
void function_print_head(Text *out, const Function *function);
/* Canonical one-line definition, without a line end. */
void function_print(Text *out, const Function *function);

/* What a text states of a function's derivative, by one of its parameters:
 *
 *     derivative silu(x) = sigmoid(x) * (1 + x * sigmoid(-x))       the factor of the cotangent
 *     derivative prelu(x, a) wrt a = x > 0 ? 0 : x                  by one of several
 *     derivative softmax(x, d) = softmax(x) * (d - sum(d * softmax(x)))
 *                                 with a parameter more, the cotangent: the product with it
 */
typedef struct Derivative {
    const Function *function; /* of which; NULL: of `primitive` */
    Primitive primitive;
    uint32_t parameter; /* by which */
    bool product;       /* its last parameter is the cotangent */
    Function rule;      /* parameters and body, as of a function */
} Derivative;

typedef struct Registry Registry;

/* The built-in layer, parsed from the embedded ops.kf (whose errors are our bug: abort). */
Registry *registry_open(Arena *arena);
/* Adds definitions and derivatives (other statements of the text are passed over): checks bodies
 * (parameters, constants and functions alone), every call, cycles (named in full), depth,
 * duplicates, and whose derivative it is. False if there were errors. A definition that hides another earns a warning. Bodies see what was there
 * before and their own text's definitions, so that what is added later never changes what a
 * function means. */
bool registry_add(Registry *registry, const Ast *ast, Layer layer, Diags *diags);
/* A registry that sees all of `parent` and gets its own program layer: one per program. */
Registry *registry_scope(Arena *arena, const Registry *parent);

const Function *registry_find(const Registry *registry, const char *name);
/* The derivative of a function (NULL: of a primitive) by a parameter, or NULL. */
const Derivative *registry_derivative(const Registry *registry, const Function *function,
                                      Primitive primitive, uint32_t parameter);
/* Nearest known function name (functions, primitives, reductions, dtypes), or NULL. */
const char *registry_nearest(const Registry *registry, const char *name);
/* All visible functions sorted by name: for `kfuse ops`, tests. */
const Function *const *registry_list(const Registry *registry, Arena *arena, uint32_t *count);

/* Hash of all user-layer definitions, for provenance only (keys hold the inlined Ir). */
uint64_t registry_user_hash(const Registry *registry);

#endif
