/* What the emitters of C share. */
#ifndef KF_EMIT_C_H
#define KF_EMIT_C_H

#include "compiler/language.h"

/* An entry's args as variables: arrays, then parameters. */
void emit_c_unpack(Text *out, const Plan *plan, const Parameters *parameters);
/* Bytes of the widest value: it decides how many elements a vector has. */
int emit_c_bytes(const Plan *plan);
/* How a function of one vector begins: copied to where it is called, or called where it is long. */
const char *emit_c_function(const Plan *plan);

#endif
