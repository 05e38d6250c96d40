/* Summary: what a tuning run found, as a Report. */
#ifndef KF_SUMMARY_H
#define KF_SUMMARY_H

#include "tuner/problem.h"
#include "tuner/report.h"

/* Fills all that follows from the run itself; the caller adds expression, use and total time.
 * Strings live in `arena`. */
Report summary(Arena *arena, const TuneProblem *problem, const Tuned *tuned, const Eager *eager);

#endif
