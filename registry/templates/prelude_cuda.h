#define K_INLINE static __device__ __forceinline__

//@ K_INF
#if K_F64
#define K_INF __longlong_as_double(0x7ff0000000000000LL)
#else
#define K_INF __int_as_float(0x7f800000)
#endif

//@ K_NAN
#if K_F64
#define K_NAN __longlong_as_double(0x7ff8000000000000LL)
#else
#define K_NAN __int_as_float(0x7fc00000)
#endif

//@ k_add_i32 k_sub_i32 k_mul_i32 k_neg_i32 k_fabs_i32 k_fmax_i32 k_fmin_i32 k_floordiv_i32 k_mod_i32 k_add_i64 k_sub_i64 k_mul_i64 k_neg_i64 k_fabs_i64 k_fmax_i64 k_fmin_i64 k_floordiv_i64 k_mod_i64
// Integers wrap; // is floor division and % its remainder, 0 where the divisor is 0.
#define K_INTEGER(i, T, U)                                                                         \
    K_INLINE T k_add_##i(T a, T b) { return (T)((U)a + (U)b); }                                    \
    K_INLINE T k_sub_##i(T a, T b) { return (T)((U)a - (U)b); }                                    \
    K_INLINE T k_mul_##i(T a, T b) { return (T)((U)a * (U)b); }                                    \
    K_INLINE T k_neg_##i(T a) { return (T)(0 - (U)a); }                                            \
    K_INLINE T k_fabs_##i(T a) { return a < 0 ? k_neg_##i(a) : a; }                                \
    K_INLINE T k_fmax_##i(T a, T b) { return a > b ? a : b; }                                      \
    K_INLINE T k_fmin_##i(T a, T b) { return a < b ? a : b; }                                      \
    K_INLINE T k_floordiv_##i(T a, T b) {                                                          \
        if (b == 0) return 0;                                                                      \
        if (b == -1) return k_neg_##i(a);                                                          \
        return a / b - (a % b != 0 && (a < 0) != (b < 0));                                         \
    }                                                                                              \
    K_INLINE T k_mod_##i(T a, T b) {                                                               \
        if (b == 0 || b == -1) return 0;                                                           \
        const T r = a % b;                                                                         \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                           \
    }
K_INTEGER(i32, int, unsigned int)
K_INTEGER(i64, long long, unsigned long long)

//@ k_wrap_i8
K_INLINE int k_wrap_i8(int a) {
    return (signed char)a;
}

//@ k_wrap_u8
K_INLINE int k_wrap_u8(int a) {
    return (unsigned char)a;
}

//@ k_floordiv
K_INLINE float k_floordiv(float a, float b) {
    return floorf(a / b);
}
K_INLINE double k_floordiv(double a, double b) {
    return floor(a / b);
}

//@ k_mod
// The remainder of floor division.
K_INLINE float k_mod(float a, float b) {
    const float r = fmodf(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
K_INLINE double k_mod(double a, double b) {
    const double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

//@ k_i32_from_real
// Half to even, saturating, NaN to 0, which PTX promises of f32.
K_INLINE int k_i32_from_real(float x) {
#ifdef __CUDA_ARCH__
    return __float2int_rn(x);
#else
    return x != x ? 0 : __float2int_rn(x);
#endif
}
K_INLINE int k_i32_from_real(double x) {
    return x != x ? 0 : __double2int_rn(x);
}

//@ k_i64_from_real
// Half to even, saturating, NaN to 0.
K_INLINE long long k_i64_from_real(float x) {
    return x != x ? 0 : __float2ll_rn(x);
}
K_INLINE long long k_i64_from_real(double x) {
    return x != x ? 0 : __double2ll_rn(x);
}

//@ k_clamp k_i8_from_i32 k_u8_from_i32 k_i8_from_i64 k_u8_from_i64 k_i32_from_i64
// Saturating.
K_INLINE int k_clamp(long long a, int low, int high) {
    return a < low ? low : a > high ? high : (int)a;
}
K_INLINE int k_i8_from_i32(int a) {
    return k_clamp(a, -128, 127);
}
K_INLINE int k_u8_from_i32(int a) {
    return k_clamp(a, 0, 255);
}
K_INLINE int k_i8_from_i64(long long a) {
    return k_clamp(a, -128, 127);
}
K_INLINE int k_u8_from_i64(long long a) {
    return k_clamp(a, 0, 255);
}
K_INLINE int k_i32_from_i64(long long a) {
    return k_clamp(a, -2147483647 - 1, 2147483647);
}

//@ k_i8_from_real k_u8_from_real
template <typename T> K_INLINE int k_i8_from_real(T x) {
    return k_clamp(k_i32_from_real(x), -128, 127);
}
template <typename T> K_INLINE int k_u8_from_real(T x) {
    return k_clamp(k_i32_from_real(x), 0, 255);
}
#ifdef __CUDA_ARCH__
K_INLINE int k_i8_from_real(float x) {
    int y;
    asm("cvt.rni.s8.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}
K_INLINE int k_u8_from_real(float x) {
    int y;
    asm("cvt.rni.u8.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}
#endif

//@ k_narrow
// To f32 for rounding once more: exact, or the neighbour towards 0 with its last bit set, so that the second
// rounding is that of the exact value.
K_INLINE float k_narrow(float x) {
    return x;
}
K_INLINE float k_narrow(double x) {
    const float y = __double2float_rz(x);
    return (double)y == x || x != x ? y : __uint_as_float(__float_as_uint(y) | 1);
}

//@ k_from_f16
K_INLINE float k_from_f16(unsigned short bits) {
#ifdef __CUDA_ARCH__
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    const unsigned int m = (bits & 0x7fffu) << 13, big = m >= 0x7c00u << 13 ? 0x7f800000u : 0;
    return __uint_as_float(__float_as_uint(__uint_as_float(m) * 0x1p112f) | big | (bits & 0x8000u) << 16);
#endif
}

//@ k_to_f16
// To nearest, halves to even.
template <typename T> K_INLINE unsigned short k_to_f16(T real) {
    const float x = k_narrow(real);
#ifdef __CUDA_ARCH__
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    const unsigned int u = __float_as_uint(x), m = u & 0x7fffffffu, sign = u >> 16 & 0x8000u;
    if (m > 0x7f800000u) return 0x7e00;
    if (m >= 0x477ff000u) return sign | 0x7c00;
    if (m < 0x38800000u) return sign | (__float_as_uint(__uint_as_float(m) + 0.5f) - 0x3f000000u);
    return sign | (m + 0xc8000fffu + (m >> 13 & 1)) >> 13;
#endif
}

//@ k_from_bf16
K_INLINE float k_from_bf16(unsigned short bits) {
    return __uint_as_float((unsigned int)bits << 16);
}

//@ k_to_bf16
// To nearest, halves to even.
template <typename T> K_INLINE unsigned short k_to_bf16(T real) {
    const float x = k_narrow(real);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    const unsigned int u = __float_as_uint(x);
    if (x != x) return 0x7fff;
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
#endif
}

//@ k_round_f16
template <typename T> K_INLINE T k_round_f16(T x) {
    return (T)k_from_f16(k_to_f16(x));
}

//@ k_round_bf16
template <typename T> K_INLINE T k_round_bf16(T x) {
    return (T)k_from_bf16(k_to_bf16(x));
}

//@ k_round_f32
K_INLINE double k_round_f32(double x) {
    return (double)(float)x;
}

//@ k_divide
// i / extent, not negative, by a multiplication with the extent's reciprocal; 64-bit indices are divided.
K_INLINE k_index k_divide(k_index i, k_index extent, long long reciprocal) {
#if K_INDEX64
    return (unsigned long long)i / (unsigned long long)extent;
#else
    return (unsigned long long)(unsigned int)i * (unsigned int)reciprocal >> (reciprocal >> 32);
#endif
}

//@ k_begin
// First in every kernel of a dependent launch, which may begin before the kernels ahead of it in the stream have ended:
// here it waits for them and for what they wrote. NEXT: the kernel behind it may begin likewise where there is room; not
// before, or one that is not ours could read ahead what the kernels before this one have yet to write.
template <bool NEXT> K_INLINE void k_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (NEXT) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

//@ k_pack
// N elements that travel together, in 16-byte pieces where there are as many.
template <typename T, int N> struct k_pack {
    enum { BYTES = sizeof(T) * N, PIECE = BYTES < 16 ? BYTES : 16 };
    alignas(PIECE) T at[N];
};
template <int BYTES> struct k_piece {
    typedef uint4 type;
};
template <> struct k_piece<8> {
    typedef uint2 type;
};
template <> struct k_piece<4> {
    typedef unsigned int type;
};
template <> struct k_piece<2> {
    typedef unsigned short type;
};
template <> struct k_piece<1> {
    typedef unsigned char type;
};

//@ k_load
// Plain accesses, and so is k_store: those that ask to leave the caches first (__ldcs, __stcs) get too little of an L2
// full of others' data. relu(x + res) of 8192x8192 f32 on an H200, after other kernels: 185 us against 193.
template <int N, typename T> K_INLINE k_pack<T, N> k_load(const T *from) {
    typedef k_pack<T, N> pack;
    typedef typename k_piece<pack::PIECE>::type piece;
    pack result;
#pragma unroll
    for (int i = 0; i < pack::BYTES / pack::PIECE; i++)
        reinterpret_cast<piece *>(&result)[i] = reinterpret_cast<const piece *>(from)[i];
    return result;
}

//@ k_load_or
// The same, or N times `other` where nothing is there. Short elements are chosen as words: two at a time, and by the load
// itself (a layernorm's kernel in bf16 has 480 instructions for 16 elements so, by elements 560).
template <int N, typename T> K_INLINE k_pack<T, N> k_load_or(bool there, const T *from, T other) {
    typedef k_pack<T, N> pack;
    pack result;
    if constexpr (sizeof(T) < 4 && pack::BYTES >= 4) {
#pragma unroll
        for (int i = 0; i < pack::BYTES / 4; i++)
            reinterpret_cast<unsigned int *>(&result)[i] =
                sizeof(T) == 1 ? (unsigned char)other * 0x01010101u : (unsigned short)other * 0x00010001u;
    } else {
#pragma unroll
        for (int j = 0; j < N; j++) result.at[j] = other;
    }
    if (there) result = k_load<N>(from);
    return result;
}

//@ k_store
template <int N, typename T> K_INLINE void k_store(T *to, const k_pack<T, N> &from) {
    typedef k_pack<T, N> pack;
    typedef typename k_piece<pack::PIECE>::type piece;
#pragma unroll
    for (int i = 0; i < pack::BYTES / pack::PIECE; i++)
        reinterpret_cast<piece *>(to)[i] = reinterpret_cast<const piece *>(&from)[i];
}

//@ KF_SHARED
// T *name at the block's dynamic shared memory. The host's shim has its own.
#ifndef KF_SHARED
#define KF_SHARED(T, name)                                                                         \
    extern __shared__ __align__(16) unsigned char k_shared[];                                      \
    T *const name = reinterpret_cast<T *>(k_shared)
#endif

//@ k_copy_async
// 16, 8 or 4 bytes into shared memory, on their way until k_copy_wait; zeros, and nothing is read,
// unless `wanted`.
template <int BYTES> K_INLINE void k_copy_async(void *to, const void *from, bool wanted) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(to);
    const int bytes = wanted ? BYTES : 0;
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES),
                     "r"(bytes));
#else
#pragma unroll
    for (int i = 0; i < BYTES / 4; i++)
        static_cast<unsigned int *>(to)[i] = wanted ? static_cast<const unsigned int *>(from)[i] : 0;
#endif
}

//@ k_copy_commit
// Ends a group of copies.
K_INLINE void k_copy_commit() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

//@ k_copy_wait
// Until at most N groups of this thread's copies are on their way; the block's need a barrier as well.
template <int N> K_INLINE void k_copy_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

//@ k_cluster_arrive
// The blocks of a cluster meet in two steps, so that work fits between them. Compute capability 9.0 and later.
K_INLINE void k_cluster_arrive() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

//@ k_cluster_wait
K_INLINE void k_cluster_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
