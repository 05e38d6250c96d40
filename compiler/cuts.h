/* Cuts: which values of a program kernels have to leave in memory for one another. */
#ifndef KF_CUTS_H
#define KF_CUTS_H

#include "compiler/group.h"

/* The values that no kernel can take in together with what reads them: an operand of a product that
 * is computed, what is transposed, what a reduction over other axes than the last reads or gives to
 * anything of another shape, and the like. By Value; each kernel then computes what lies between. */
bool *cuts_needed(Arena *arena, const Ir *ir);
/* And each reduction and product, so that a kernel has one at most. */
bool *cuts_barriers(Arena *arena, const Ir *ir);
/* And of two products that one kernel could compute together, one. */
bool *cuts_products(Arena *arena, const Ir *ir);
/* And work on small arrays that a larger one's kernel would do again and again: what takes more than
 * a few operations, behind one eighth of the elements at most. All false: there is none. */
bool *cuts_broadcast(Arena *arena, const Ir *ir);
/* What passes the middle of a long elementwise program, where the least does: a kernel of all of it
 * may need more registers than it saves traffic. All false: the program is short, or gathers. */
bool *cuts_halves(Arena *arena, const Ir *ir);

#endif
