/* Call: what a name with arguments means, as seen from where it stands. A function that takes these
 * arguments comes first, so that `max(a, b)` is elementwise while `max(x)` and `max(x, axis=0)`
 * reduce. */
#ifndef KF_CALL_H
#define KF_CALL_H

#include "registry/registry.h"

typedef enum CalleeKind {
    CALLEE_NONE,
    CALLEE_FUNCTION,
    CALLEE_PRIMITIVE,
    CALLEE_REDUCTION, /* one array, and axis= */
    CALLEE_SHAPE,     /* of an array's shape */
    CALLEE_DTYPE,     /* a cast of its one argument */
} CalleeKind;

typedef struct Callee {
    CalleeKind kind;
    union {
        const Function *function;
        Primitive primitive;
        Reduction reduction;
        ShapeFunction shape;
        DType dtype;
    };
} Callee;

/* The meaning of the AST_CALL `call` in the body of `from` (NULL: in the program itself), with
 * fitting arguments. CALLEE_NONE after an error. */
Callee call_resolve(const Registry *registry, const Function *from, const Ast *ast, Node call,
                    Diags *diags);

/* The argument for a parameter of a call that resolved to `function`; 0 where its default applies
 * (a node of function->ast). */
Node call_argument(const Ast *ast, Node call, const Function *function, uint32_t parameter);

/* The axis of a call that resolved to a reduction or to count: counted from the left, from the right where
 * negative, or AXIS_EVERY. */
enum { AXIS_EVERY = INT32_MAX };
int32_t call_axis(const Ast *ast, Node call);

#endif
