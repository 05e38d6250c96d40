/* Given: data of the caller's own, where a bench would make them: inputs instead of the counter hash,
 * and reference outputs instead of an oracle. The parent shares them as one memory file, which the
 * worker maps. */
#ifndef KF_GIVEN_H
#define KF_GIVEN_H

#include "compiler/ir.h"
#include "tuner/wire.h"

/* Elements are dense, in row-major order. */
typedef struct Given {
    const void *const *inputs;     /* per input; NULL: generated */
    const void *const *references; /* per output; NULL altogether: the oracle judges */
    const double *rtol, *atol;     /* per output: |out - reference| <= atol + rtol * |reference| */
    uint64_t hash;                 /* of all that: results depend on it */
} Given;

/* By output type; whole numbers are compared exactly. Those of torch.testing.assert_close. */
void given_tolerance(DType type, double *rtol, double *atol);
uint64_t given_hash(const Given *given, const Ir *ir);

/* A memory file with all arrays of `given`; -1 with the reason. */
int given_share(const Given *given, const Ir *ir, Why *why);
/* What the worker needs to find them: `fd` is the file in this process. NULL: nothing is given. */
void given_put(Text *out, const Given *given, const Ir *ir, int fd);
/* *given is NULL where nothing was. False with the reason; the mapping lasts as long as the process. */
bool given_get(Arena *arena, WireReader *reader, const Ir *ir, const Given **given, Why *why);

#endif
