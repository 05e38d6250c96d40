/* Stored elements in, numbers out, and back, for whatever must be bit-identical on host and device.
 * Written in the common subset of C11 and CUDA C++; a device includes no header, so that this text
 * defines the fixed-width integers there. One idea: a narrower float is a double rounded by adding
 * and taking away a power of two, and its bits are a float's with the exponent's bias corrected by
 * an exact multiplication.
 *
 * Whoever includes it says what numbers are computed in:
 *   KF_COMPUTE_BITS  32 or 64: KfCompute is float or double
 * The types are DType's numbers (dtypes.def), DT_… . */
#ifndef KF_STORAGE_H
#define KF_STORAGE_H

#ifdef __CUDACC_RTC__
#define KF_FN static __device__ __forceinline__
#define KF_CALL static __device__ __noinline__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#define KF_FN static inline __attribute__((unused))
#define KF_CALL static __attribute__((unused))
#endif

#if KF_COMPUTE_BITS == 64
typedef double KfCompute;
#else
typedef float KfCompute;
#endif

KF_FN uint32_t bits_of_float(float x) {
#ifdef __CUDACC_RTC__
    return __float_as_uint(x);
#else
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

KF_FN float float_of_bits(uint32_t bits) {
#ifdef __CUDACC_RTC__
    return __uint_as_float(bits);
#else
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

KF_FN uint64_t bits_of_double(double x) {
#ifdef __CUDACC_RTC__
    return (uint64_t)__double_as_longlong(x);
#else
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

KF_FN double double_of_bits(uint64_t bits) {
#ifdef __CUDACC_RTC__
    return __longlong_as_double((long long)bits);
#else
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

#define KF_INFINITY float_of_bits(0x7f800000u)

/* The power of two at or below |x|, at least `least` (a normal power of two). */
KF_FN double power_below(double x, double least) {
    double power = double_of_bits(bits_of_double(x) & 0x7ff0000000000000u);
    return power < least ? least : power;
}

/* Of a floating type: bits that a double has more, smallest normal, first power of two beyond. */
KF_FN int storage_drop(int type) {
    return type == DT_F16 ? 42 : type == DT_BF16 ? 45 : type == DT_F32 ? 29 : 0;
}
KF_FN double storage_least(int type) {
    return type == DT_F16 ? 0x1p-14 : type == DT_F64 ? 0x1p-1022 : 0x1p-126;
}
KF_FN double storage_limit(int type) {
    return type == DT_F16 ? 0x1p16 : type == DT_F64 ? (double)KF_INFINITY : 0x1p128;
}

/* Distance of the neighbours of |x| in a floating type. */
KF_FN double storage_ulp(int type, double x) {
    double power = power_below(x, storage_least(type));
    return power * double_of_bits((uint64_t)(1023 - 52 + storage_drop(type)) << 52);
}

/* To nearest even in a 16-bit type: 1.5 * 2^drop times x's power of two is 1.5 * 2^52 of its
 * quanta. */
KF_FN double storage_narrow(double x, double shift, double least, double limit) {
    double size = fabs(x), move = shift * power_below(size, least), rounded = size + move - move;
    rounded = rounded < limit ? rounded : (double)KF_INFINITY;
    return size < limit    ? copysign(rounded, x)
           : size >= limit ? copysign((double)KF_INFINITY, x)
                           : x;
}

KF_FN double storage_round_f16(double x) {
    return storage_narrow(x, 0x1.8p42, 0x1p-14, 0x1p16);
}
KF_FN double storage_round_bf16(double x) {
    return storage_narrow(x, 0x1.8p45, 0x1p-126, 0x1p128);
}

/* A compute number rounded to a floating type, as a compute number. */
KF_FN KfCompute storage_round(int type, KfCompute x) {
    if (type == DT_F16) return (KfCompute)storage_round_f16((double)x);
    if (type == DT_BF16) return (KfCompute)storage_round_bf16((double)x);
    return type == DT_F32 ? (KfCompute)(float)x : x;
}

KF_FN float storage_unpack_bf16(uint16_t bits) {
    return float_of_bits((uint32_t)bits << 16);
}
KF_FN float storage_unpack_f16(uint16_t bits) {
    uint32_t size = (uint32_t)(bits & 0x7fff) << 13, sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t special = size >= 0x0f800000u ? 0x70000000u : 0;
    float scaled = float_of_bits(size) * 0x1p112f;
    return float_of_bits((special ? size | special : bits_of_float(scaled)) | sign);
}

/* Of numbers that are in the type already, NaN included. */
KF_FN uint16_t storage_pack_bf16(float x) {
    return x == x ? (uint16_t)(bits_of_float(x) >> 16) : (uint16_t)0x7fff;
}
KF_FN uint16_t storage_pack_f16(float x) {
    uint16_t sign = (uint16_t)(bits_of_float(x) >> 16 & 0x8000);
    float size = fabsf(x);
    if (!(size <= 65504.0f))
        return size == KF_INFINITY ? (uint16_t)(sign | 0x7c00) : (uint16_t)0x7fff;
    return (uint16_t)(sign | (uint16_t)(bits_of_float(size * 0x1p-112f) >> 13));
}

KF_FN int storage_is_float(int type) {
    return type >= DT_F16;
}
KF_FN int storage_bytes(int type) {
    if (type == DT_F64 || type == DT_I64) return 8;
    if (type == DT_F32 || type == DT_I32) return 4;
    return type == DT_F16 || type == DT_BF16 ? 2 : 1;
}

/* Element `i` of a floating or whole type; f64 programs alone read f64. */
KF_FN KfCompute storage_load_real(int type, const void *base, int64_t i) {
    if (type == DT_F16) return storage_unpack_f16(((const uint16_t *)base)[i]);
    if (type == DT_BF16) return storage_unpack_bf16(((const uint16_t *)base)[i]);
    if (type == DT_F32) return ((const float *)base)[i];
    return (KfCompute)((const double *)base)[i];
}
KF_FN int64_t storage_load_whole(int type, const void *base, int64_t i) {
    if (type == DT_I64) return ((const int64_t *)base)[i];
    if (type == DT_I32) return ((const int32_t *)base)[i];
    if (type == DT_I8) return ((const int8_t *)base)[i];
    if (type == DT_U8) return ((const uint8_t *)base)[i];
    return ((const uint8_t *)base)[i] != 0;
}

/* `x` is in the type. */
KF_FN void storage_store_real(int type, void *base, int64_t i, double x) {
    if (type == DT_F16)
        ((uint16_t *)base)[i] = storage_pack_f16((float)x);
    else if (type == DT_BF16)
        ((uint16_t *)base)[i] = storage_pack_bf16((float)x);
    else if (type == DT_F32)
        ((float *)base)[i] = (float)x;
    else
        ((double *)base)[i] = x;
}
KF_FN void storage_store_whole(int type, void *base, int64_t i, int64_t x) {
    if (type == DT_I64)
        ((int64_t *)base)[i] = x;
    else if (type == DT_I32)
        ((int32_t *)base)[i] = (int32_t)x;
    else
        ((uint8_t *)base)[i] = (uint8_t)x;
}

KF_FN int64_t storage_low(int type) {
    if (type == DT_I64) return -0x7fffffffffffffff - 1;
    if (type == DT_I32) return -0x7fffffff - 1;
    return type == DT_I8 ? -128 : 0;
}
KF_FN int64_t storage_high(int type) {
    if (type == DT_I64) return 0x7fffffffffffffff;
    if (type == DT_I32) return 0x7fffffff;
    return type == DT_I8 ? 127 : type == DT_U8 ? 255 : 1;
}

/* What arithmetic in an integer type keeps of a result. */
KF_FN int64_t storage_wrap(int type, int64_t x) {
    if (type == DT_I64) return x;
    if (type == DT_I32) return (int32_t)(uint32_t)(uint64_t)x;
    if (type == DT_I8) return (int8_t)(uint8_t)(uint64_t)x;
    return type == DT_U8 ? (int64_t)(uint8_t)(uint64_t)x : (int64_t)(x != 0);
}

/* A cast to an integer type or bool: saturating, half to even, NaN to 0; bool: != 0. */
KF_FN int64_t storage_clamp(int type, int64_t x) {
    if (type == DT_BOOL) return x != 0;
    return x < storage_low(type)    ? storage_low(type)
           : x > storage_high(type) ? storage_high(type)
                                    : x;
}
KF_FN int64_t storage_saturate(int type, double x) {
    if (type == DT_BOOL) return x != 0;
    if (x != x) return 0;
    if (x <= -0x1p63) return storage_low(type);
    if (x >= 0x1p63) return storage_high(type);
    return storage_clamp(type, (int64_t)rint(x));
}

#endif
