/* Vectors from memory and to it: the second part of the helpers. */
#include "prelude_c.h"

//@ k_get_f32
K_INLINE k_real k_get_f32(const float *at) {
    return K_TO(k_real, *(const k_f32_at *)at);
}

//@ k_get_f64
K_INLINE k_real k_get_f64(const double *at) {
    return K_TO(k_real, *(const k_f64_at *)at);
}

//@ k_get_f16
K_INLINE k_real k_get_f16(const uint16_t *at) {
    return k_from_f16(*(const k_u16_at *)at);
}

//@ k_get_bf16
K_INLINE k_real k_get_bf16(const uint16_t *at) {
    return k_from_bf16(*(const k_u16_at *)at);
}

//@ k_get_i64
K_INLINE k_i64 k_get_i64(const int64_t *at) {
    return *(const k_i64_at *)at;
}

//@ k_get_i32
K_INLINE k_i32 k_get_i32(const int32_t *at) {
    return *(const k_i32_at *)at;
}

//@ k_get_i8
K_INLINE k_i32 k_get_i8(const int8_t *at) {
    return K_TO(k_i32, K_TO(k_i16, *(const k_i8_at *)at));
}

//@ k_get_u8
K_INLINE k_i32 k_get_u8(const uint8_t *at) {
    return K_TO(k_i32, K_TO(k_u16, *(const k_u8_at *)at));
}

//@ k_get_bool
K_INLINE k_mask k_get_bool(const uint8_t *at) {
    return K_TO(k_mask, K_TO(k_i32, K_TO(k_u16, *(const k_u8_at *)at)) != 0);
}

//@ k_part
/* Up to a register, piece by piece: a call of memcpy takes as long as a short row. */
K_INLINE void k_part(void *to, const void *from, uint64_t bytes) {
    uint64_t done = 0;
#pragma GCC unroll 8
    for (uint64_t piece = K_WIDTH; piece > 0; piece /= 2) {
        if (!(bytes & piece)) continue;
        __builtin_memcpy((char *)to + done, (const char *)from + done, piece);
        done += piece;
    }
}

//@ K_PUT k_stream
/* With `stream` past the caches; `at` is then aligned to what is stored. */
K_INLINE void k_stream(void *at, const void *from, unsigned bytes) {
    typedef float k_line __attribute__((vector_size(K_WIDTH), may_alias));
    typedef float k_piece __attribute__((vector_size(16), may_alias));
    char *to = at;
    unsigned done = 0;
#if defined(__clang__)
    for (; done + K_WIDTH <= bytes; done += K_WIDTH)
        __builtin_nontemporal_store(*(const k_line *)((const char *)from + done), (k_line *)(to + done));
    for (; done + 16 <= bytes; done += 16)
        __builtin_nontemporal_store(*(const k_piece *)((const char *)from + done), (k_piece *)(to + done));
#elif defined(__x86_64__)
    for (; done + K_WIDTH <= bytes; done += K_WIDTH) {
        k_line line = *(const k_line *)((const char *)from + done);
#if K_WIDTH == 64
        __builtin_ia32_movntps512((float *)(to + done), line);
#elif K_WIDTH == 32
        __builtin_ia32_movntps256((float *)(to + done), line);
#else
        __builtin_ia32_movntps((float *)(to + done), line);
#endif
    }
    for (; done + 16 <= bytes; done += 16)
        __builtin_ia32_movntps((float *)(to + done), *(const k_piece *)((const char *)from + done));
#endif
    __builtin_memcpy(to + done, (const char *)from + done, bytes - done);
}
#define K_PUT(vector, at, value, stream)                                                           \
    do {                                                                                           \
        vector stored = (value);                                                                   \
        if (stream) k_stream((at), &stored, sizeof stored);                                        \
        else *(vector##_at *)(at) = stored;                                                        \
    } while (0)

//@ k_put_f32
K_INLINE void k_put_f32(float *at, k_real x, int stream) {
    K_PUT(k_f32, at, K_TO(k_f32, x), stream);
}

//@ k_put_f64
K_INLINE void k_put_f64(double *at, k_real x, int stream) {
    K_PUT(k_f64, at, K_TO(k_f64, x), stream);
}

//@ k_put_f16
K_INLINE void k_put_f16(uint16_t *at, k_real x, int stream) {
    K_PUT(k_u16, at, k_to_f16(x), stream);
}

//@ k_put_bf16
K_INLINE void k_put_bf16(uint16_t *at, k_real x, int stream) {
    K_PUT(k_u16, at, k_to_bf16(x), stream);
}

//@ k_put_i64
K_INLINE void k_put_i64(int64_t *at, k_i64 x, int stream) {
    K_PUT(k_i64, at, x, stream);
}

//@ k_put_i32
K_INLINE void k_put_i32(int32_t *at, k_i32 x, int stream) {
    K_PUT(k_i32, at, x, stream);
}

//@ k_put_i8
K_INLINE void k_put_i8(int8_t *at, k_i32 x, int stream) {
    K_PUT(k_i8, at, K_TO(k_i8, K_TO(k_i16, x)), stream);
}

//@ k_put_u8
K_INLINE void k_put_u8(uint8_t *at, k_i32 x, int stream) {
    K_PUT(k_u8, at, K_TO(k_u8, K_TO(k_u16, (k_u32)x)), stream);
}

//@ k_put_bool
K_INLINE void k_put_bool(uint8_t *at, k_mask x, int stream) {
    K_PUT(k_u8, at, K_TO(k_u8, K_TO(k_u16, K_TO(k_u32, x & 1))), stream);
}
