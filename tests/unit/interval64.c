/* The same for f64 programs, whose values are long double. */
#define KF_COMPUTE_BITS 64
#include "interval.c"
