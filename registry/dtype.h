/* Storage types, from dtypes.def. */
#ifndef KF_DTYPE_H
#define KF_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DType {
#define DTYPE(id, ...) DT_##id,
#include "registry/dtypes.def"
#undef DTYPE
    DTYPE_COUNT
} DType;

typedef enum DTypeKind { KIND_WEAK, KIND_BOOL, KIND_UNSIGNED, KIND_SIGNED, KIND_FLOAT } DTypeKind;

typedef struct DTypeInfo {
    const char *name;
    uint32_t bytes;
    DTypeKind kind;
    const char *c, *cuda;
    /* FLOAT: significand bits (hidden one included), exponent of the largest power of two and of
     * the smallest normal. Integers: range. */
    int precision, exponent_max, exponent_min;
    int64_t low, high;
} DTypeInfo;

const DTypeInfo *dtype_info(DType type);
const char *dtype_name(DType type);
/* By name; WEAK has none. False if unknown. */
bool dtype_find(const char *name, DType *type);
/* "bool u8 i8 …", in the table's order: for messages. */
const char *dtype_names(void);
static inline bool dtype_is_float(DType type) {
    return type >= DT_F16;
}
static inline bool dtype_is_integer(DType type) {
    return type > DT_BOOL && type < DT_F16;
}

/* Rounds to nearest even in `type` (FLOAT), overflow to infinity, NaN stays; the value as a
 * double. */
double dtype_round(DType type, double value);
/* The double of the shortest decimal text that rounds to `value`, which is of the floating type. */
double dtype_shorten(DType type, double value);
double dtype_round_l(DType type, long double value);
/* To an integer type or bool: half to even, saturating, NaN to 0; bool: value != 0 (NaN is
 * true). */
int64_t dtype_saturate(DType type, double value);
/* Keeps the low bits of an integer result: what arithmetic in `type` gives. */
int64_t dtype_wrap(DType type, int64_t value);

/* One stored element to and from its bytes. Floats through `real`, bool and integers through
 * `whole`. */
typedef union Scalar {
    double real;
    int64_t whole;
} Scalar;
Scalar dtype_load(DType type, const void *bytes);
void dtype_store(DType type, void *bytes, Scalar value);

#endif
