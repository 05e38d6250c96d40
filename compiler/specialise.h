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

/* Text that stands behind the prologue's helpers, and may use any of them. */
typedef struct Insert {
    const char *text;
    int widest;   /* bytes of its widest value */
    bool index64; /* in CUDA its k_index has 64 bits, else 32 */
} Insert;

/* The same with text before the template's own; a copy for the caller to change. */
Template *specialise_with(Arena *arena, const Template *template, const DType *types,
                          const Insert *insert);

#endif
