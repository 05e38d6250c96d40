/* Reach: whether a template's knobs reach all places where their keys stand. Private to
 * registry/. */
#ifndef KF_REACH_H
#define KF_REACH_H

#include "registry/space.h"
#include "registry/template.h"

/* An error for a key inside a longer word or a string of asm, a warning for one inside another
 * string. */
void reach_check(const Source *source, const Space *space, Diags *diags);

#endif
