/* One vector of an elementwise kernel in C: the functions that compute it and their calls. A walk
 * computes what is one for all of its vectors before them, in k_hoist_NAME; the rest of a vector is
 * k_rest_NAME, all of it k_vector where nothing is hoisted. */
#ifndef KF_C_VECTOR_H
#define KF_C_VECTOR_H

#include "compiler/hoist.h"
#include "compiler/language.h"

typedef struct VectorCode {
    Text *out;
    const Plan *plan;
    const Parameters *parameters;
} VectorCode;

typedef struct VectorWalk {
    const char *name; /* "run", "span" */
    Hoist hoist;
} VectorWalk;

void c_vector_functions(const VectorCode *code, const VectorWalk *walk);
/* At the walk's start, behind buffers IN_v of what holds still: what is hoisted, as variables. */
void c_vector_hoisted(const VectorCode *code, const VectorWalk *walk);
/* The call for one vector; an array's name is followed by what `form` says. `stream` as C. */
typedef const char *VectorForm(const Access *access);
void c_vector_call(const VectorCode *code, const VectorWalk *walk, VectorForm *form,
                   const char *stream);

#endif
