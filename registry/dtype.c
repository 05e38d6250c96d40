/* Storage types: names, ranges, and the rounding that stores do. Everything about a floating type
 * follows from its size and the bits of its significand: narrower types are rounded, packed and
 * unpacked in the bits of a double, whose layout is theirs with wider fields. */
#include "registry/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOUBLE_PRECISION = 53, DOUBLE_BIAS = 1023 };

#define FLOAT_RANGE(bytes, bits)                       \
    .exponent_max = (1 << ((bytes)*8 - (bits)-1)) - 1, \
    .exponent_min = 2 - (1 << ((bytes)*8 - (bits)-1)), .low = 0, .high = 0
#define UNSIGNED_RANGE(bytes, bits) .low = 0, .high = (int64_t)((UINT64_C(1) << (bits)) - 1)
#define SIGNED_RANGE(bytes, bits)                       \
    .low = -(int64_t)((UINT64_C(1) << (bits)) - 1) - 1, \
    .high = (int64_t)((UINT64_C(1) << (bits)) - 1)
#define BOOL_RANGE(bytes, bits) UNSIGNED_RANGE(bytes, bits)
#define WEAK_RANGE(bytes, bits) FLOAT_RANGE(8, bits)

static const DTypeInfo infos[DTYPE_COUNT] = {
#define DTYPE(id, text, size, class, host, device, bits) \
    [DT_##id] = {.name = text,                           \
                 .bytes = size,                          \
                 .kind = KIND_##class,                   \
                 .c = host,                              \
                 .cuda = device,                         \
                 .precision = bits,                      \
                 class##_RANGE(size, bits)},
#include "registry/dtypes.def"
#undef DTYPE
};

const DTypeInfo *dtype_info(DType type) {
    return &infos[type];
}

const char *dtype_name(DType type) {
    return infos[type].name;
}

bool dtype_find(const char *name, DType *type) {
    for (DType t = DT_WEAK + 1; t < DTYPE_COUNT; t++)
        if (strcmp(infos[t].name, name) == 0) return *type = t, true;
    return false;
}

const char *dtype_names(void) {
    static const char names[] =
#define DTYPE(id, text, ...) " " text
#include "registry/dtypes.def"
#undef DTYPE
        ;
    return strchr(names + 1, ' ') + 1; /* WEAK stands first and is no name */
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 2^exponent, for normal doubles. */
static double power(int exponent) {
    return double_of((uint64_t)(exponent + DOUBLE_BIAS) << (DOUBLE_PRECISION - 1));
}

/* Adding and taking away 1.5 * 2^52 quanta leaves `value` rounded to a multiple of the quantum. */
static double round_narrow(const DTypeInfo *info, double value) {
    double size = fabs(value), limit = power(info->exponent_max + 1);
    if (!(size < limit)) return size >= limit ? copysign(INFINITY, value) : value;
    int exponent = (int)(bits_of(size) >> (DOUBLE_PRECISION - 1)) - DOUBLE_BIAS;
    if (exponent < info->exponent_min) exponent = info->exponent_min;
    double shift = 1.5 * power(exponent - (info->precision - 1) + DOUBLE_PRECISION - 1);
    double rounded = size + shift - shift;
    return copysign(rounded < limit ? rounded : HUGE_VAL, value);
}

double dtype_round(DType type, double value) {
    if (type == DT_F32) return (double)(float)value;
    return infos[type].precision < DOUBLE_PRECISION ? round_narrow(&infos[type], value) : value;
}

double dtype_round_l(DType type, long double value) {
    if (type == DT_F32) return (double)(float)value;
    double nearest = (double)value;
    if (infos[type].precision == DOUBLE_PRECISION || (long double)nearest == value ||
        isnan(nearest))
        return dtype_round(type, nearest);
    /* Rounded to odd, a double keeps what the second rounding needs to know of the rest. */
    uint64_t bits = bits_of(nearest);
    bool outward = fabsl((long double)nearest) > fabsl(value);
    if (!(bits & 1)) bits = outward ? bits - 1 : bits + 1;
    return dtype_round(type, double_of(bits));
}

int64_t dtype_saturate(DType type, double value) {
    const DTypeInfo *info = &infos[type];
    if (type == DT_BOOL) return value != 0;
    if (isnan(value)) return 0;
    double whole = rint(value);
    if (whole <= (double)info->low) return info->low;
    return whole >= (double)info->high ? info->high : (int64_t)whole;
}

int64_t dtype_wrap(DType type, int64_t value) {
    switch (type) {
    case DT_BOOL: return value != 0;
    case DT_U8: return (uint8_t)value;
    case DT_I8: return (int8_t)value;
    case DT_I32: return (int32_t)value;
    default: return value;
    }
}

/* f16 and bf16 bits, sign apart, are the top bits of a double but for the exponent's bias, which
 * one exact multiplication corrects, in subnormals too. */
static double unpack(const DTypeInfo *info, uint16_t bits) {
    int fraction = info->precision - 1;
    double sign = bits >> 15 ? -1 : 1;
    uint64_t size = bits & 0x7fff;
    uint64_t infinity = (UINT64_C(0x7fff) >> fraction) << fraction;
    if (size >= infinity) return copysign(size == infinity ? INFINITY : NAN, sign);
    double scaled = double_of(size << (DOUBLE_PRECISION - 1 - fraction));
    return sign * scaled * power(DOUBLE_BIAS - info->exponent_max);
}

static uint16_t pack(const DTypeInfo *info, double value) {
    int fraction = info->precision - 1;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)((0x7fff >> fraction) << fraction);
    if (isnan(value)) return sign | 0x7fff;
    double size = fabs(round_narrow(info, value));
    if (isinf(size)) return sign | infinity;
    uint64_t scaled = bits_of(size * power(info->exponent_max - DOUBLE_BIAS));
    return sign | (uint16_t)(scaled >> (DOUBLE_PRECISION - 1 - fraction));
}

union Element {
    uint8_t u8;
    int8_t i8;
    int32_t i32;
    int64_t i64;
    uint16_t half;
    float f32;
    double f64;
};

Scalar dtype_load(DType type, const void *bytes) {
    union Element element;
    memcpy(&element, bytes, infos[type].bytes);
    switch (type) {
    case DT_BOOL: return (Scalar){.whole = element.u8 != 0};
    case DT_U8: return (Scalar){.whole = element.u8};
    case DT_I8: return (Scalar){.whole = element.i8};
    case DT_I32: return (Scalar){.whole = element.i32};
    case DT_I64: return (Scalar){.whole = element.i64};
    case DT_F32: return (Scalar){.real = (double)element.f32};
    case DT_F64: return (Scalar){.real = element.f64};
    default: return (Scalar){.real = unpack(&infos[type], element.half)};
    }
}

void dtype_store(DType type, void *bytes, Scalar value) {
    union Element element;
    switch (type) {
    case DT_BOOL: element.u8 = value.whole != 0; break;
    case DT_U8: element.u8 = (uint8_t)value.whole; break;
    case DT_I8: element.i8 = (int8_t)value.whole; break;
    case DT_I32: element.i32 = (int32_t)value.whole; break;
    case DT_I64: element.i64 = value.whole; break;
    case DT_F32: element.f32 = (float)value.real; break;
    case DT_F64: element.f64 = value.real; break;
    default: element.half = pack(&infos[type], value.real); break;
    }
    memcpy(bytes, &element, infos[type].bytes);
}

double dtype_shorten(DType type, double value) {
    char text[32];
    if (type == DT_F64 || !isfinite(value)) return value;
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (dtype_round(type, strtod(text, NULL)) == value) break;
    }
    return strtod(text, NULL);
}
