/* CUDA C++ for the host's compiler: stands before a CUDA source, which then runs thread by thread
 * under block.c. __CUDA_ARCH__ stays undefined, so that sources take the portable twins of their
 * inline PTX. Clusters, textures and what has no twin are not here: a source that needs them does
 * not compile.
 *
 * Compiled with -fsanitize=kernel-address and alignment, whose calls end here: an access outside of
 * what a kernel may touch, or a vector that is not aligned, ends the launch with a message. */
#ifndef SHIM_H
#define SHIM_H
/* clang-format off */ /* tables of one-line functions */

#include "block.h"

static BlockUnit shim_unit;
extern "C" __attribute__((visibility("default"))) BlockUnit *block_unit() {
    return &shim_unit;
}

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define KF_SHARED(T, name) T *const name = static_cast<T *>(shim_unit.shared)
#define SHIM static inline __attribute__((unused))
#define SHIM_LINE int line = __builtin_LINE()

/* --- where a thread is */

typedef BlockIndex uint3;
typedef BlockIndex dim3;
#define threadIdx (shim_unit.thread)
#define blockIdx (shim_unit.block)
#define blockDim (shim_unit.block_size)
#define gridDim (shim_unit.grid)
#define warpSize 32

SHIM int shim_lane() {
    const uint3 t = threadIdx, n = blockDim;
    return (int)((t.x + n.x * (t.y + n.y * t.z)) % BLOCK_WARP);
}

/* --- vectors, aligned as CUDA's are */

#define SHIM_VECTORS(name, T, align2, align4)         \
    struct name##1 {                                  \
        T x;                                          \
    };                                                \
    struct __attribute__((aligned(align2))) name##2 { \
        T x, y;                                       \
    };                                                \
    struct name##3 {                                  \
        T x, y, z;                                    \
    };                                                \
    struct __attribute__((aligned(align4))) name##4 { \
        T x, y, z, w;                                 \
    };                                                \
    SHIM name##1 make_##name##1(T x) {                \
        return {x};                                   \
    }                                                 \
    SHIM name##2 make_##name##2(T x, T y) {           \
        return {x, y};                                \
    }                                                 \
    SHIM name##3 make_##name##3(T x, T y, T z) {      \
        return {x, y, z};                             \
    }                                                 \
    SHIM name##4 make_##name##4(T x, T y, T z, T w) { \
        return {x, y, z, w};                          \
    }
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef long long longlong;
typedef unsigned long long ulonglong;
typedef __SIZE_TYPE__ size_t;
#define uint3 shim_uint3 /* there already */
SHIM_VECTORS(char, signed char, 2, 4)
SHIM_VECTORS(uchar, unsigned char, 2, 4)
SHIM_VECTORS(short, short, 4, 8)
SHIM_VECTORS(ushort, unsigned short, 4, 8)
SHIM_VECTORS(int, int, 8, 16)
SHIM_VECTORS(uint, unsigned int, 8, 16)
SHIM_VECTORS(longlong, long long, 16, 16)
SHIM_VECTORS(ulonglong, unsigned long long, 16, 16)
SHIM_VECTORS(float, float, 8, 16)
SHIM_VECTORS(double, double, 16, 16)
#undef uint3

/* --- waiting */

SHIM void __syncthreads(SHIM_LINE) {
    shim_unit.barrier(shim_unit.runner, false, line);
}
SHIM int __syncthreads_count(int predicate, SHIM_LINE) {
    return shim_unit.barrier(shim_unit.runner, predicate != 0, line);
}
SHIM int __syncthreads_or(int predicate, SHIM_LINE) {
    return __syncthreads_count(predicate, line) > 0;
}
SHIM int __syncthreads_and(int predicate, SHIM_LINE) {
    return __syncthreads_count(!predicate, line) == 0;
}
SHIM void __threadfence() {
}
SHIM void __threadfence_block() {
}
SHIM void __trap(SHIM_LINE) {
    shim_unit.fault(shim_unit.runner, "__trap in line %d", line);
}

SHIM unsigned int __activemask() {
    return shim_unit.active(shim_unit.runner);
}
SHIM void __syncwarp(unsigned int mask = 0xffffffffu, SHIM_LINE) {
    shim_unit.collective(shim_unit.runner, WAIT_WARP, mask & __activemask(), 0, 0, line);
}
SHIM unsigned int __ballot_sync(unsigned int mask, int predicate, SHIM_LINE) {
    return (unsigned int)shim_unit.collective(shim_unit.runner, WAIT_BALLOT, mask, predicate != 0,
                                              0, line);
}
SHIM int __any_sync(unsigned int mask, int predicate, SHIM_LINE) {
    return __ballot_sync(mask, predicate, line) != 0;
}
SHIM int __all_sync(unsigned int mask, int predicate, SHIM_LINE) {
    return __ballot_sync(mask, !predicate, line) == 0;
}

template <typename T> SHIM T shim_shuffle(unsigned int mask, T value, int source, int line) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = shim_unit.collective(shim_unit.runner, WAIT_SHUFFLE, mask, bits, source, line);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
/* Behind the end of its segment of `width` lanes a lane reads itself. */
template <typename T>
SHIM T __shfl_sync(unsigned int mask, T value, int from, int width = 32, SHIM_LINE) {
    return shim_shuffle(mask, value, (shim_lane() & ~(width - 1)) | (from & (width - 1)), line);
}
template <typename T>
SHIM T __shfl_up_sync(unsigned int mask, T value, unsigned int by, int width = 32, SHIM_LINE) {
    const int lane = shim_lane(), in = lane & (width - 1);
    return shim_shuffle(mask, value, in < (int)by ? lane : lane - (int)by, line);
}
template <typename T>
SHIM T __shfl_down_sync(unsigned int mask, T value, unsigned int by, int width = 32, SHIM_LINE) {
    const int lane = shim_lane(), in = lane & (width - 1);
    return shim_shuffle(mask, value, in + (int)by >= width ? lane : lane + (int)by, line);
}
template <typename T>
SHIM T __shfl_xor_sync(unsigned int mask, T value, int with, int width = 32, SHIM_LINE) {
    const int lane = shim_lane(), other = lane ^ with;
    return shim_shuffle(mask, value, other > (lane | (width - 1)) ? lane : other, line);
}

/* --- memory: caches have no bits, and one thread runs at a time */

#define SHIM_LOAD(name)                                \
    template <typename T> SHIM T name(const T *from) { \
        return *from;                                  \
    }
#define SHIM_STORE(name)                                   \
    template <typename T> SHIM void name(T *to, T value) { \
        *to = value;                                       \
    }
SHIM_LOAD(__ldg)
SHIM_LOAD(__ldcs) SHIM_LOAD(__ldcg) SHIM_LOAD(__ldca) SHIM_LOAD(__ldlu) SHIM_LOAD(__ldcv)
    SHIM_STORE(__stcs) SHIM_STORE(__stcg) SHIM_STORE(__stwt) SHIM_STORE(__stwb)

#define SHIM_ATOMIC(name, result)                       \
    template <typename T> SHIM T name(T *at, T value) { \
        const T old = *at;                              \
        *at = result;                                   \
        return old;                                     \
    }
        SHIM_ATOMIC(atomicAdd, old + value) SHIM_ATOMIC(atomicSub, old - value)
            SHIM_ATOMIC(atomicExch, value) SHIM_ATOMIC(atomicMax, old > value ? old : value)
                SHIM_ATOMIC(atomicMin, old < value ? old : value) SHIM_ATOMIC(atomicAnd, old &value)
                    SHIM_ATOMIC(atomicOr, old | value) SHIM_ATOMIC(atomicXor, old ^ value)
                        SHIM_ATOMIC(atomicInc, old >= value ? 0 : old + 1) template <typename T>
                        SHIM T atomicCAS(T *at, T expected, T value) {
    const T old = *at;
    if (old == expected) *at = value;
    return old;
}

/* --- bits */

template <typename To, typename From> SHIM To shim_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
SHIM unsigned int __float_as_uint(float x) {
    return shim_bits<unsigned int>(x);
}
SHIM int __float_as_int(float x) {
    return shim_bits<int>(x);
}
SHIM float __uint_as_float(unsigned int x) {
    return shim_bits<float>(x);
}
SHIM float __int_as_float(int x) {
    return shim_bits<float>(x);
}
SHIM long long __double_as_longlong(double x) {
    return shim_bits<long long>(x);
}
SHIM double __longlong_as_double(long long x) {
    return shim_bits<double>(x);
}
SHIM int __clz(int x) {
    return x ? __builtin_clz((unsigned int)x) : 32;
}
SHIM int __clzll(long long x) {
    return x ? __builtin_clzll((unsigned long long)x) : 64;
}
SHIM int __ffs(int x) {
    return __builtin_ffs(x);
}
SHIM int __popc(unsigned int x) {
    return __builtin_popcount(x);
}
SHIM int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
SHIM unsigned int __umulhi(unsigned int a, unsigned int b) {
    return (unsigned long long)a * b >> 32;
}
SHIM int __mulhi(int a, int b) {
    return (int)((long long)a * b >> 32);
}
SHIM unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
SHIM unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
    const unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned int result = 0;
    for (int i = 0; i < 4; i++)
        result |= (unsigned int)(bytes >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return result;
}

/* --- numbers: libm's functions, one declaration each */

#define SHIM_MATH1(name)                     \
    extern "C" double name(double) noexcept; \
    extern "C" float name##f(float) noexcept;
#define SHIM_MATH2(name)                             \
    extern "C" double name(double, double) noexcept; \
    extern "C" float name##f(float, float) noexcept;
SHIM_MATH1(fabs)
SHIM_MATH1(floor) SHIM_MATH1(ceil) SHIM_MATH1(trunc) SHIM_MATH1(rint) SHIM_MATH1(round)
    SHIM_MATH1(nearbyint) SHIM_MATH1(sqrt) SHIM_MATH1(cbrt) SHIM_MATH1(exp) SHIM_MATH1(exp2)
        SHIM_MATH1(exp10) SHIM_MATH1(expm1) SHIM_MATH1(log) SHIM_MATH1(log2) SHIM_MATH1(log10)
            SHIM_MATH1(log1p) SHIM_MATH1(sin) SHIM_MATH1(cos) SHIM_MATH1(tan) SHIM_MATH1(asin)
                SHIM_MATH1(acos) SHIM_MATH1(atan) SHIM_MATH1(sinh) SHIM_MATH1(cosh) SHIM_MATH1(tanh)
                    SHIM_MATH1(asinh) SHIM_MATH1(acosh) SHIM_MATH1(atanh) SHIM_MATH1(erf)
                        SHIM_MATH1(erfc) SHIM_MATH1(lgamma) SHIM_MATH1(tgamma) SHIM_MATH2(fmax)
                            SHIM_MATH2(fmin) SHIM_MATH2(fmod) SHIM_MATH2(copysign) SHIM_MATH2(pow)
                                SHIM_MATH2(atan2) SHIM_MATH2(hypot) SHIM_MATH2(fdim)
                                    SHIM_MATH2(nextafter)
                                        SHIM_MATH2(remainder) extern "C" double fma(
                                            double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
/* A device's is off by up to 2 ulp: by one here, so that nobody counts on its last bit. */
SHIM float rsqrtf(float x) {
    const float y = 1 / sqrtf(x);
    return y > 1e-30f && y < 1e30f ? nextafterf(y, 0) : y;
}
SHIM double rsqrt(double x) {
    return 1 / sqrt(x);
}
SHIM float __expf(float x) {
    return expf(x);
}
SHIM float __logf(float x) {
    return logf(x);
}
SHIM float __fdividef(float a, float b) {
    return a / b;
}
SHIM float __saturatef(float x) {
    return x > 0 ? x < 1 ? x : 1 : 0;
}
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

#define SHIM_MIN_MAX(T)       \
    SHIM T min(T a, T b) {    \
        return a < b ? a : b; \
    }                         \
    SHIM T max(T a, T b) {    \
        return a > b ? a : b; \
    }
SHIM_MIN_MAX(int)
SHIM_MIN_MAX(unsigned int) SHIM_MIN_MAX(long long) SHIM_MIN_MAX(unsigned long long) SHIM
    float min(float a, float b) {
    return fminf(a, b);
}
SHIM float max(float a, float b) {
    return fmaxf(a, b);
}
SHIM double min(double a, double b) {
    return fmin(a, b);
}
SHIM double max(double a, double b) {
    return fmax(a, b);
}
SHIM int abs(int x) {
    return x < 0 ? -x : x;
}
SHIM long long abs(long long x) {
    return x < 0 ? -x : x;
}

#define SHIM_ROUNDED(name, expression)               \
    SHIM float __f##name##_rn(float a, float b) {    \
        return expression;                           \
    }                                                \
    SHIM double __d##name##_rn(double a, double b) { \
        return expression;                           \
    }
SHIM_ROUNDED(add, a + b)
SHIM_ROUNDED(sub, a - b) SHIM_ROUNDED(mul, a *b) SHIM_ROUNDED(div, a / b) SHIM
    float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
SHIM double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}
SHIM float __fsqrt_rn(float x) {
    return sqrtf(x);
}
SHIM double __dsqrt_rn(double x) {
    return sqrt(x);
}
SHIM float __frcp_rn(float x) {
    return 1 / x;
}
SHIM float __frsqrt_rn(float x) {
    return (float)(1 / sqrt((double)x));
}

/* To whole numbers: saturating; NaN gives 0, in 64 bits the lowest number. */
template <typename To> SHIM To shim_saturate(double x) {
    const int bits = sizeof(To) * 8 - ((To)-1 < 0);
    const double limit = bits < 64 ? (double)(1ull << bits) : 0x1p64;
    const To top = (To)~0ull > 0 ? (To)~0ull : (To)(~0ull >> (65 - sizeof(To) * 8));
    const To low = (To)-1 < 0 ? (To)(-top - 1) : 0;
    if (x != x) return sizeof(To) == 8 ? (To)(1ull << 63) : 0;
    return x >= limit ? top : x < (double)low ? low : (To)x;
}
#define SHIM_TO_WHOLE(name, To)                     \
    SHIM To __float2##name##_rn(float x) {          \
        return shim_saturate<To>(rint((double)x));  \
    }                                               \
    SHIM To __float2##name##_rz(float x) {          \
        return shim_saturate<To>(trunc((double)x)); \
    }                                               \
    SHIM To __float2##name##_rd(float x) {          \
        return shim_saturate<To>(floor((double)x)); \
    }                                               \
    SHIM To __float2##name##_ru(float x) {          \
        return shim_saturate<To>(ceil((double)x));  \
    }                                               \
    SHIM To __double2##name##_rn(double x) {        \
        return shim_saturate<To>(rint(x));          \
    }                                               \
    SHIM To __double2##name##_rz(double x) {        \
        return shim_saturate<To>(trunc(x));         \
    }                                               \
    SHIM To __double2##name##_rd(double x) {        \
        return shim_saturate<To>(floor(x));         \
    }                                               \
    SHIM To __double2##name##_ru(double x) {        \
        return shim_saturate<To>(ceil(x));          \
    }                                               \
    SHIM float __##name##2float_rn(To x) {          \
        return (float)x;                            \
    }                                               \
    SHIM double __##name##2double_rn(To x) {        \
        return (double)x;                           \
    }
SHIM_TO_WHOLE(int, int)
SHIM_TO_WHOLE(uint, unsigned int)
SHIM_TO_WHOLE(ll, long long)
SHIM_TO_WHOLE(ull, unsigned long long)
SHIM float __double2float_rn(double x) {
    return (float)x;
}
SHIM float __double2float_rz(double x) {
    const float y = (float)x;
    return __builtin_fabs((double)y) > __builtin_fabs(x) ? nextafterf(y, 0) : y;
}

/* --- what the sanitizers call */

#define SHIM_PLAIN no_sanitize("address", "kernel-address", "alignment", "bounds")
#define SHIM_CALLED extern "C" __attribute__((visibility("hidden"), used, noinline, SHIM_PLAIN))

static inline __attribute__((SHIM_PLAIN)) void shim_access(const char *what, uintptr_t at,
                                                           size_t bytes) {
    const uintptr_t offset = at - shim_unit.memory;
    if (offset >= shim_unit.size) return; /* the thread's own */
    for (size_t i = 0; i < bytes; i++)
        if (!shim_unit.allowed[offset + i])
            shim_unit.fault(shim_unit.runner, "%s of %d bytes out of bounds at %p", what,
                            (int)bytes, (void *)at);
}
#define SHIM_ACCESS(bytes)                                         \
    SHIM_CALLED void __asan_load##bytes##_noabort(uintptr_t at) {  \
        shim_access("read", at, bytes);                            \
    }                                                              \
    SHIM_CALLED void __asan_store##bytes##_noabort(uintptr_t at) { \
        shim_access("write", at, bytes);                           \
    }
SHIM_ACCESS(1)
SHIM_ACCESS(2) SHIM_ACCESS(4) SHIM_ACCESS(8) SHIM_ACCESS(16) SHIM_CALLED
    void __asan_loadN_noabort(uintptr_t at, size_t bytes) {
    shim_access("read", at, bytes);
}
SHIM_CALLED void __asan_storeN_noabort(uintptr_t at, size_t bytes) {
    shim_access("write", at, bytes);
}

struct ShimComplaint { /* as the compiler lays it out */
    const char *file;
    unsigned int line, column;
};
SHIM_CALLED void __ubsan_handle_type_mismatch_v1_abort(const ShimComplaint *where, uintptr_t at) {
    shim_unit.fault(shim_unit.runner, "line %u: misaligned access at %p", where->line, (void *)at);
}
SHIM_CALLED void __ubsan_handle_out_of_bounds_abort(const ShimComplaint *where, uintptr_t index) {
    shim_unit.fault(shim_unit.runner, "line %u: index %ld is outside of its array", where->line,
                    (long)index);
}

#endif
