/* A hand-written template for the types of its tensors. What its text may use, in both languages,
 * for a tensor x:
 *   T_x             storage type: float, double; f16 and bf16 as 16 unsigned bits
 *   KF_BYTES_x      its size
 *   KF_FROM_x(v)    stored -> ACC: exact
 *   KF_TO_x(v)      ACC -> stored, to nearest even
 *   ACC             float, or double where a tensor is f64
 * and the sections of the language's prelude that it names. In C, V_x is a vector of K_LANES stored
 * elements and the conversions act on vectors (k_real). */
#ifndef KF_SPECIALISE_H
#define KF_SPECIALISE_H

#include "registry/template.h"

/* `types`: of each input, then of each output. The template with those lines as its prologue. */
const Template *specialise(Arena *arena, const Template *template, const DType *types);

#endif
