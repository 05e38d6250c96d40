/* Size: how a number behind a kernel's launch follows from the extents of the program's axes. All of
 * them are products of extents, and so found by looking: the program is bound with a different prime
 * as each axis' extent, the prime factors of a number say which axes it counts, and other primes and
 * the real shape confirm it. What is no such product makes the program one of a fixed shape. */
#ifndef KF_EXPORT_SIZE_H
#define KF_EXPORT_SIZE_H

#include "compiler/chain.h"
#include "compiler/gate.h"

enum { EXPORT_AXES = 10 };

typedef struct Axes {
    uint32_t count; /* 0: the shape is fixed */
    int64_t extent[EXPORT_AXES];
    const Ir *probe[2];    /* the program at extents that are primes */
    const Chain *chain[2]; /* the same, cut as it is cut here */
} Axes;

/* factor * product of extents; or, where `inverse` is not NULL, what divides by the size of that name. */
typedef struct ExportSize {
    const char *name;
    int64_t factor;
    uint8_t power[EXPORT_AXES];
    const char *inverse;
} ExportSize;

/* The axes of a program, whose chains are not known yet; none where it has too many, an array that is
 * not packed in row-major order, or a number that counts elements. */
Axes size_axes(Arena *arena, const Ir *ir);
/* The sizes of a kernel of step `step`, in the order of its bound's; NULL where it must have a fixed
 * shape. */
const ExportSize *size_find(Arena *arena, const Axes *axes, uint32_t step, const Kernel *kernel,
                            const Bound *bound);
/* The same as they are at this shape, whatever the axes. */
const ExportSize *size_fixed(Arena *arena, const Bound *bound);
/* Whether an array is row-major without gaps. */
bool size_is_packed(const Type *type, const int64_t *strides);
/* Which axis an extent of probe[0] is, or -1: it is 1 for good. */
int size_axis(const Axes *axes, int64_t extent);
/* Of a number that is at the two probes and at the program's shape; false if it is no product. */
bool size_of(const Axes *axes, int64_t first, int64_t second, int64_t here, ExportSize *size);
bool size_is_constant(const ExportSize *size);
/* "d[0] * d[1]", or a number. */
void size_print(Text *out, const ExportSize *size);
/* The program with other extents for its axes. */
const Ir *size_reshape(Arena *arena, const Ir *ir, const int64_t *extents);

#endif
