/* One function, many doubles. The one idea: glibc's libmvec has every function of C in vectors,
 * which the compiler calls by itself where it knows of them; <math.h> would say so under
 * -ffast-math alone, so that it is said here. */
#include "compiler/eval_vector.h"

/* Clones are chosen while the program is loaded, before ThreadSanitizer can follow. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#if __GLIBC_PREREQ(2, 35)
#define KF_VECTOR __attribute__((__simd__("notinbranch")))
#define KF_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "avx2", "default"), optimize("O3")))
#endif
#endif
#ifndef KF_VECTOR
#define KF_VECTOR
#define KF_CLONES
#endif

/* clang-format off */
#define EACH_FUNCTION(_) \
    _(EXP, exp) _(EXP2, exp2) _(EXPM1, expm1) _(LOG, log) _(LOG2, log2) \
    _(LOG10, log10) _(LOG1P, log1p) _(SIN, sin) _(COS, cos) _(TAN, tan) \
    _(ASIN, asin) _(ACOS, acos) _(ATAN, atan) _(SINH, sinh) _(COSH, cosh) \
    _(TANH, tanh) _(ERF, erf) _(ERFC, erfc) _(CBRT, cbrt)
/* clang-format on */

#define DECLARE(id, name) KF_VECTOR __attribute__((__const__)) extern double name(double);
EACH_FUNCTION(DECLARE)

#define DEFINE(id, name)                                                               \
    KF_CLONES static void each_##name(double *restrict out, const double *restrict in, \
                                      int64_t count) {                                 \
        for (int64_t i = 0; i < count; i++) out[i] = name(in[i]);                      \
    }
EACH_FUNCTION(DEFINE)

bool vector_function(Primitive primitive, double *out, const double *in, int64_t count) {
    switch (primitive) {
#define CALL(id, name) \
    case P_##id: each_##name(out, in, count); return true;
        EACH_FUNCTION(CALL)
    default: return false;
    }
}
