// Functions of real numbers: the second part of the helpers. A k_near form is for results of 16 bits, by the
// multifunction unit, within what registry/near.def says; NaN, infinities, -0 and subnormals are as accurate functions
// have them. Coefficients are tests/data/fit-functions.py's, which prints what each set leaves.
#include "prelude_cuda.h"

//@ k_max k_min
// NaN goes through.
template <typename R> K_INLINE R k_max(R a, R b) {
    return a > b || a != a ? a : b;
}
template <typename R> K_INLINE R k_min(R a, R b) {
    return a < b || a != a ? a : b;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
K_INLINE float k_max(float a, float b) {
    float c;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
K_INLINE float k_min(float a, float b) {
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    return c;
}
#endif

//@ k_ex2 k_rcp
// The multifunction unit itself: 2 ulp, 1 ulp; subnormal results are 0.
K_INLINE float k_ex2(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}
K_INLINE float k_rcp(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return 1 / x;
#endif
}

//@ k_lg2
// Off by 2^-22, relatively where that is larger. Of any number; k_lg2_normal takes subnormal ones for 0.
K_INLINE float k_lg2(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return log2f(x);
#endif
}

//@ k_lg2_normal
K_INLINE float k_lg2_normal(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return log2f(x);
#endif
}

//@ k_erfc
// For z >= 0 it is exp(-z z) t Q(t), t = 1 / (1 + z / 2). z z is `square` + `low`; -z z log2(e) is rounded to a multiple
// of 2^-14, of which 2^32 times the power is never subnormal. `rest`, first, is what that power and t are off by, then
// what the product lacks: few roundings remain, and the unit's own 2 ulp: 4.65 ulp over all numbers on an H200, where
// erfcf promises 4 in 44 instructions, not 33. |z| as it stands is the same of x c and x -c for the compiler, so that
// both erfc are one's work.
K_INLINE float k_erfc(float z) {
    const float size = k_min(fmaxf(z, -z), 10.1f), half = 0.5f * size; // the result is 0 from 10.06 on
    const float t = k_rcp(1.0f + half), off = fmaf(-t, half, 1.0f - t), nearer = fmaf(t, off, t);
    const float square = size * size, low = fmaf(size, size, -square);
    const float shifted = fmaf(square, -1.44269504f, 768.0f), power = k_ex2(shifted - 736.0f);
    float rest = fmaf(shifted - 768.0f, -0.693147181f, -square) - low + off;
    float q = fmaf(nearer, -0.05914360657f * 0x1p-32f, 0.2849481702f * 0x1p-32f);
    q = fmaf(nearer, q, -0.4879968166f * 0x1p-32f);
    q = fmaf(nearer, q, 0.2790156305f * 0x1p-32f);
    q = fmaf(nearer, q, -0.0273140464f * 0x1p-32f);
    q = fmaf(nearer, q, 0.2029996216f * 0x1p-32f);
    q = fmaf(nearer, q, 0.2430162728f * 0x1p-32f);
    q = fmaf(nearer, q, 0.2823893428f * 0x1p-32f);
    q = fmaf(nearer, q, 0.2820853889f * 0x1p-32f);
    const float product = t * q;
    rest = fmaf(product, rest, fmaf(t, q, -product));
    const float tail = fmaf(product, power, rest * power);
    return z < 0 ? 2.0f - tail : tail;
}

//@ k_gelu
// x times the normal distribution, for results of BYTES: as ops.kf has it for 4. For 2, x or 0, whichever is larger, less
// |x| erfc(|x| / sqrt(2)) / 2 = h 2^(-x x log2(e) / 2) t (1 + w P(w)), h = |x| / 2, t = 1 / (1 + h sqrt(1/2)), w = h t: as
// near, but for the rounding of x x, in 19 instructions instead of 38. A square, so that small powers are not lost.
template <int BYTES> K_INLINE float k_gelu(float x) {
    if constexpr (BYTES > 2) return 0.5f * fmaxf(x, -40.0f) * k_erfc(x * -0.70710678118654752f);
    const float size = k_min(fabsf(x), 40.0f), half = 0.5f * size; // infinity times 0 would be NaN
    const float w = half * k_rcp(fmaf(half, 0.707106781f, 1.0f)), root = k_ex2(size * size * -0.36067376f);
    float p = fmaf(w, -0.003630012972f, 0.01632382534f);
    p = fmaf(w, p, -0.01806868613f);
    p = fmaf(w, p, -0.004675464705f);
    p = fmaf(w, p, -0.02939101495f);
    p = fmaf(w, p, 0.07584951818f);
    p = fmaf(w, p, 0.2431357652f);
    p = fmaf(w, p, -0.888658464f);
    return fmaf(-w * root * root, fmaf(w, p, 1.0f), k_max(-0.0f, x));
}

//@ k_near_exp
// A square, so that small results are not lost.
K_INLINE float k_near_exp(float x) {
    const float root = k_ex2(0.72134752f * x);
    return root * root;
}

//@ k_near_exp_shared
// k_near_exp for what passes over a row compute again: NVRTC takes no two asm statements for one, but two calls of
// this, which is two instructions longer.
K_INLINE float k_near_exp_shared(float x) {
    return __expf(x);
}

//@ k_near_exp2
K_INLINE float k_near_exp2(float x) {
    const float root = k_ex2(0.5f * x);
    return root * root;
}

//@ k_near_expm1
K_INLINE float k_near_expm1(float x) {
    const float p = fmaf(x, fmaf(x, 0.1666792333f, 0.5001217127f), 1.0f);
    return fabsf(x) < 0x1p-4f ? x * p : k_ex2(1.44269504f * x) - 1.0f;
}

//@ k_near_log
K_INLINE float k_near_log(float x) {
    const float f = x - 1.0f, p = fmaf(f, fmaf(f, 0.3334978521f, -0.5001829267f), 1.0f);
    return fabsf(f) < 0x1p-5f ? f * p : 0.693147181f * k_lg2(x);
}

//@ k_near_log2
K_INLINE float k_near_log2(float x) {
    const float f = x - 1.0f, p = fmaf(f, fmaf(f, 0.4811553657f, -0.7216117382f), 1.44269502f);
    return fabsf(f) < 0x1p-5f ? f * p : k_lg2(x);
}

//@ k_near_log1p
K_INLINE float k_near_log1p(float x) {
    const float p = fmaf(x, fmaf(x, 0.3334978521f, -0.5001829267f), 1.0f);
    return fabsf(x) < 0x1p-5f ? x * p : 0.693147181f * k_lg2_normal(1.0f + x);
}

//@ k_near_tanh
K_INLINE float k_near_tanh(float x) {
    const float square = x * x, p = fmaf(square, fmaf(square, 0.1247794181f, -0.3329825401f), 0.9999978542f);
    const float large = fmaf(-2.0f, k_rcp(k_ex2(2.88539008f * x) + 1.0f), 1.0f);
    return fabsf(x) < 0.333333333f ? x * p : large;
}

//@ k_near_tanh_bf16
K_INLINE float k_near_tanh_bf16(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return tanhf(x);
#endif
}

//@ k_near_erf
K_INLINE float k_near_erf(float x) {
    const float size = fabsf(x), square = x * x;
    float p = fmaf(square, -0.02076261118f, 0.1103712618f);
    p = fmaf(square, fmaf(square, p, -0.3757966459f), 1.128372073f);
    float q = fmaf(size, -0.04722783715f, -1.075814009f);
    q = fmaf(size, fmaf(size, q, -1.514467955f), -0.03090444765f);
    return size < 0.82f ? x * p : copysignf(1.0f - k_ex2(q), x);
}

//@ k_near_erfc
// As k_erfc, but t 2^(q(t) - z z log2(e)); t is 2^-24 of the one fitted, and the power as much larger, so that it is
// not subnormal.
K_INLINE float k_near_erfc(float z) {
    const float t = k_rcp(fmaf(fabsf(z), 0x1p23f, 0x1p24f));
    float q = fmaf(t, 0.3301226199f * 0x1p120f, -1.023314357f * 0x1p96f);
    q = fmaf(t, q, 0.6847802997f * 0x1p72f);
    q = fmaf(t, q, 0.3669271767f * 0x1p48f);
    q = fmaf(t, q, 1.468735933f * 0x1p24f);
    q = fmaf(t, q, -1.827240705f + 24.0f);
    const float tail = t * k_ex2(fmaf(z * z, -1.44269504f, q));
    return z < 0 ? 2.0f - tail : tail;
}

//@ k_near_div
K_INLINE float k_near_div(float a, float b) {
#ifdef __CUDA_ARCH__
    float y;
    asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#else
    return a / b;
#endif
}

//@ k_near_sqrt
K_INLINE float k_near_sqrt(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return sqrtf(x);
#endif
}
