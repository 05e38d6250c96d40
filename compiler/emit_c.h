/* What the emitters of C share. */
#ifndef KF_EMIT_C_H
#define KF_EMIT_C_H

#include "compiler/language.h"

/* An entry's args as variables: arrays, then parameters. */
void emit_c_unpack(Text *out, const Plan *plan, const Parameters *parameters);
/* What the helpers are made for. */
void emit_c_types(Text *out, const Plan *plan);
/* Bytes of the widest value: it decides how many elements a vector has. */
int emit_c_bytes(const Plan *plan);
/* Functions of one vector are copied to where they are called: they are not too long. */
bool emit_c_copies(const Plan *plan);

#endif
