/* The caller's own data on the rig. In: an output and its reference. Out: whether each element is as
 * near to it as it has to be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/bench_rig.h"

enum { CHUNK = 1 << 16 }; /* elements that are fetched and judged at once */

typedef struct Near {
    Expected expected;
    uint8_t lo[CHUNK * sizeof(int64_t)], hi[CHUNK * sizeof(int64_t)], out[CHUNK * sizeof(int64_t)];
    uint8_t may_nan[CHUNK];
    double value[CHUNK];
} Near;

static double largest(DType type) {
    return ldexp(2 - ldexp(1, 1 - dtype_info(type)->precision), dtype_info(type)->exponent_max);
}

/* What is not finite is met exactly; what is, is not met by infinity. */
static void bound_real(DType type, double reference, double tolerance, Scalar *lo, Scalar *hi) {
    lo->real = hi->real = reference;
    if (!isfinite(reference) || tolerance == 0) return;
    lo->real = fmax(dtype_round(type, reference - tolerance), -largest(type));
    hi->real = fmin(dtype_round(type, reference + tolerance), largest(type));
}

static void bound_whole(DType type, int64_t reference, double tolerance, Scalar *lo, Scalar *hi) {
    const DTypeInfo *info = dtype_info(type);
    int64_t reach = tolerance < 1e18 ? (int64_t)tolerance : (int64_t)1e18;
    lo->whole = reference < info->low + reach ? info->low : reference - reach;
    hi->whole = reference > info->high - reach ? info->high : reference + reach;
}

static void bound_element(const Given *given, DType type, uint32_t output, int64_t from, int64_t i,
                          Near *near) {
    size_t size = dtype_info(type)->bytes;
    Scalar lo, hi;
    Scalar reference =
        dtype_load(type, (const uint8_t *)given->references[output] + (size_t)(from + i) * size);
    double value = dtype_is_float(type) ? reference.real : (double)reference.whole;
    double tolerance = given->atol[output] + given->rtol[output] * fabs(value);
    if (dtype_is_float(type))
        bound_real(type, value, tolerance, &lo, &hi);
    else
        bound_whole(type, reference.whole, tolerance, &lo, &hi);
    dtype_store(type, near->lo + (size_t)i * size, lo);
    dtype_store(type, near->hi + (size_t)i * size, hi);
    near->value[i] = value;
}

static const Expected *bound(const Given *given, DType type, uint32_t output, int64_t from,
                             int64_t count, Near *near) {
    near->expected = (Expected){.dtype = type,
                                .count = count,
                                .lo = near->lo,
                                .hi = near->hi,
                                .may_nan = near->may_nan,
                                .value = near->value};
    for (int64_t i = 0; i < count; i++) bound_element(given, type, output, from, i, near);
    return &near->expected;
}

bool given_check(Rig *rig, uint32_t output, Address zero, Check *check, Why *why) {
    const Type *type = rig_output(rig, output)->type;
    int64_t all = type_count(type);
    size_t size = rig_output(rig, output)->size;
    Near *near = calloc(1, sizeof *near);
    bool good = near != NULL || why_set(why, "out of memory");
    for (int64_t at = 0; at < all && good; at += CHUNK) {
        int64_t count = all - at < CHUNK ? all - at : CHUNK;
        good = rig->device->download(rig->state, near->out, zero + (Address)at * size,
                                     (size_t)count * size, why);
        if (good)
            check_block(bound(rig->setup.given, type->dtype, output, at, count, near), near->out,
                        at, check);
    }
    free(near);
    return good;
}

void given_expect(const Rig *rig, uint32_t output, int64_t at, void *lo, void *hi) {
    size_t size = rig_output(rig, output)->size;
    Near *near = calloc(1, sizeof *near);
    if (!near) return;
    bound(rig->setup.given, rig_output(rig, output)->type->dtype, output, at, 1, near);
    memcpy(lo, near->lo, size);
    memcpy(hi, near->hi, size);
    free(near);
}
