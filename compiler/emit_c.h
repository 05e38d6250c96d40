/* Pieces of a generated C file that other emitters use. */
#ifndef KF_EMIT_C_H
#define KF_EMIT_C_H

#include "compiler/language.h"

/* "k_vector(in_x, …, out_y, …, s_eps, stream)": the chain on K_LANES elements that lie next to each
 * other, from the pointers on, loads then stores, and the scalars among `parameters`. */
void c_print_vector(Text *out, const Plan *plan, const Parameters *parameters);
/* Bytes of the widest value at work: it decides how many elements a vector has. */
int c_widest(const Plan *plan);

#endif
