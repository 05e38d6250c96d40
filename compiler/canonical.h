/* What a program's source is called: its canonical text, and a name for a kernel that computes it.
 */
#ifndef KF_CANONICAL_H
#define KF_CANONICAL_H

#include "compiler/base/source.h"

/* A statement a line, as ast_print gives it; "" for NULL or what does not parse. */
const char *canonical_text(Arena *arena, const Source *source);
/* "kf_" and the operators and calls in order of evaluation: kf_add_relu; kf_copy where there are
 * none. */
const char *canonical_name(Arena *arena, const Source *source);

#endif
