//! kernel   kf_stream
//! input    in0[bytes0] : u8
//! output   out0[bytes1] : u8
//! args     in0 out0 bytes0 bytes1
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, ceildiv(max(bytes0, bytes1), 65536)))
//! knob     __STREAM__ 1 0
//! knob     __THREADS__ 0 1
//! knob     __BLOCK__ 262144

// Streams arrays in and out a vector at a time: what the memory gives a kernel of this many reads and
// writes. The lines above are for one of each; emit_stream writes them for others.
#ifndef KF_READS
#define KF_READS 1
#define KF_WRITES 1
#endif
#include <stdint.h>

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef float Vector __attribute__((vector_size(WIDTH), may_alias));
typedef int32_t Bits __attribute__((vector_size(WIDTH), may_alias));

static inline void put(Vector *at, Vector x, int stream) {
#if defined(__clang__)
    if (stream) __builtin_nontemporal_store(x, at);
    else *at = x;
#elif defined(__AVX512F__)
    if (stream) __builtin_ia32_movntps512((float *)at, x);
    else *at = x;
#elif defined(__AVX2__)
    if (stream) __builtin_ia32_movntps256((float *)at, x);
    else *at = x;
#elif defined(__x86_64__)
    if (stream) __builtin_ia32_movntps((float *)at, x);
    else *at = x;
#else
    (void)stream;
    *at = x;
#endif
}

static void tile(char *const *arrays, const int64_t *bytes, int64_t begin, int64_t end,
                 int stream) {
    for (int64_t i = begin; i < end; i += WIDTH) {
        Bits x = {0};
#pragma GCC unroll 64
        for (int r = 0; r < KF_READS; r++)
            if (i + WIDTH <= bytes[r]) x ^= *(const Bits *)(arrays[r] + i);
#pragma GCC unroll 64
        for (int w = KF_READS; w < KF_READS + KF_WRITES; w++)
            if (i + WIDTH <= bytes[w]) put((Vector *)(arrays[w] + i), (Vector)x, stream);
    }
}

void KF_ENTRY(kf_stream)(void *const *args, int64_t part, int64_t parts) {
    char *arrays[KF_READS + KF_WRITES];
    int64_t bytes[KF_READS + KF_WRITES], most = 0;
    int stream = __STREAM__;
    for (int k = 0; k < KF_READS + KF_WRITES; k++) {
        arrays[k] = *(char *const *)args[k];
        bytes[k] = *(const int64_t *)args[KF_READS + KF_WRITES + k];
        most = bytes[k] > most ? bytes[k] : most;
        stream &= (uintptr_t)arrays[k] % WIDTH == 0;
    }
    for (int64_t begin = part * __BLOCK__; begin < most; begin += parts * __BLOCK__)
        tile(arrays, bytes, begin, begin + __BLOCK__ < most ? begin + __BLOCK__ : most, stream);
#if defined(__x86_64__)
    if (stream) __asm__ volatile("sfence" ::: "memory");
#endif
}
