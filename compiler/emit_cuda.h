/* Pieces of a generated CUDA file that other emitters use. */
#ifndef KF_EMIT_CUDA_H
#define KF_EMIT_CUDA_H

#include "compiler/language.h"

/* "k_element(in_x, …, out_y, …, s_eps)": the chain on one stored element of each array, loads then
 * stores, and the scalars among `parameters`. */
void cuda_print_element(Text *out, const Plan *plan, const Parameters *parameters);

#endif
