/* Summary: what a tuning run found, as a Report. */
#ifndef KF_SUMMARY_H
#define KF_SUMMARY_H

#include "tuner/problem.h"
#include "tuner/report.h"

/* Fills all that follows from the run itself; the caller adds expression, use and total time.
 * Strings live in `arena`. */
Report summary(Arena *arena, const TuneProblem *problem, const Tuned *tuned, const Chain *eager);
/* A program of several kernels: adds another part's figures; times are not added, the race has
 * them. */
void summary_join(Arena *arena, Report *into, const Report *part);
/* Times and checks of the parts together, and of the eager chain (NULL: none). */
void summary_race(Report *into, const Result *fused, const Result *eager);

#endif
