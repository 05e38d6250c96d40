/* Special values of every type: what arithmetic treats apart, and what limits and halves it rounds
 * at. */
#include "compiler/gate_edge.h"

#include <math.h>

#define KF_COMPUTE_BITS 64
#include "compiler/storage.h"

/* With 6 limits of each sign: SPECIALS. */
static const double numbers[] = {
    NAN,
    INFINITY,
    -INFINITY,
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    -5,
    88.5,
    -104,
    1e-3,
    1000,
    -1000,
    0x1.921fb6p0 /* pi/2 */,
};

/* What a floating type cannot go beyond or between: subnormals, limits, neighbours of 1, the last
 * odd numbers. */
static double limit_of(DType type, uint64_t index) {
    double ulp = storage_ulp((int)type, 1), least = storage_least((int)type);
    double largest = storage_limit((int)type) - storage_limit((int)type) * ulp / 2;
    if (type == DT_F64) largest = 0x1.fffffffffffffp1023;
    const double size[] = {least * ulp, least - least * ulp, least, largest, 1 + ulp, 1 / ulp - 1};
    return index % 2 ? -size[index / 2] : size[index / 2];
}

static double special_real(DType type, uint64_t index) {
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    double value = index < NUMBERS ? numbers[index] : limit_of(type, index - NUMBERS);
    if (type == DT_F16) return storage_round_f16(value);
    if (type == DT_BF16) return storage_round_bf16(value);
    return type == DT_F32 ? (double)(float)value : value;
}

static int64_t special_whole(DType type, uint64_t index) {
    int64_t low = storage_low((int)type), high = storage_high((int)type);
    const int64_t values[] = {
        0,  1,       -1,       low, high, low + 1,    high - 1,    2,           -2,  3,
        -7, low / 2, high / 2, 10,  100,  0x7fffffff, -0x7fffffff, 0x100000000, 255, 127};
    return storage_clamp((int)type, values[index % (sizeof values / sizeof *values)]);
}

/* --- rows */

/* The largest power of two, up to 2^14, whose neighbours a few units away are numbers. */
static double offset_of(DType type) {
    int precision = dtype_info(type)->precision;
    return ldexp(1, precision - 1 < 14 ? precision - 1 : 14);
}

static double row_value(DType type, int64_t row, int64_t k, int64_t length, double small) {
    double offset = offset_of(type), step = offset * storage_ulp((int)type, 1);
    double huge = fabs(limit_of(type, 6)) / 2, least = limit_of(type, 0);
    const double inf = (double)INFINITY, nan = (double)NAN;
    switch (row % ROW_PATTERNS) {
    case 0: return k < length / 2 ? -inf : small;
    case 1: return k < length - 1 ? -inf : 0;
    case 2: return -inf;
    case 3: return k == length / 2 ? inf : small;
    case 4: return k == 0 ? nan : small;
    case 5: return k == length - 1 ? nan : small;
    case 6: return k % 2 ? -0.0 : 0.0;
    case 7: return -0.0;
    case 8: return least * (double)(k % 3);
    case 9: return k % 2 ? -huge : huge;
    case 10: return offset + small;
    case 11: return k == length * 2 / 3 ? offset - 2 : offset;
    case 12: return offset + step * (double)(k % 16);
    case 13: return 3;
    case 14: return k == length - 1 ? 1000 : small;
    case 15: return k == 0 ? inf : k == length - 1 ? -inf : small;
    case 16: return inf;
    case 17: return -huge;
    case 18: return small - offset;
    case 19: return k == length / 3 ? huge : small;
    default: return small * 0x1p-12;
    }
}

void row_store(DType type, int64_t row, int64_t k, int64_t length, double small, void *bytes) {
    if (dtype_is_float(type))
        storage_store_real((int)type, bytes, 0, row_value(type, row, k, length, small));
    else
        storage_store_whole((int)type, bytes, 0, storage_clamp((int)type, (int64_t)small));
}

void special_store(DType type, uint64_t index, void *bytes, int64_t at) {
    if (dtype_is_float(type))
        storage_store_real((int)type, bytes, at, special_real(type, index));
    else
        storage_store_whole((int)type, bytes, at,
                            type == DT_BOOL ? (int64_t)(index & 1) : special_whole(type, index));
}
