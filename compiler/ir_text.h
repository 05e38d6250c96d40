/* An Ir as a program in the language: what a part of a program is called, and computes. */
#ifndef KF_IR_TEXT_H
#define KF_IR_TEXT_H

#include "compiler/ir.h"

/* Statements, one a line; shared values and long ones are bound to names. The text lowers to the same
 * values where inputs have the types that the Ir gives them. The Ir has no IR_CALL left. */
const char *ir_text(Arena *arena, const Ir *ir);

#endif
