/* C's functions on many doubles at once, a few units in the last place of a double from exact: for
 * the values of f32 programs, whose bounds are a thousand million times wider. */
#ifndef KF_EVAL_VECTOR_H
#define KF_EVAL_VECTOR_H

#include <stdint.h>

#include "registry/registry.h"

/* out[i] = function(in[i]); false if the primitive is no function of one argument. */
bool vector_function(Primitive primitive, double *out, const double *in, int64_t count);

#endif
