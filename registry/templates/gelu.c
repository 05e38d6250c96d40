//! kernel   gelu
//! computes y = gelu(x)
//! input    x[n] : f32 f16 bf16
//! output   y[n] : like x
//! args     x y n
//! knob     __BLOCK__ 65536 4096 16384 262144
//! knob     __UNROLL__ 1 2 4
//! knob     __STREAM__ 2 0 1
//! knob     __THREADS__ 0 1 2 4 8 16 32 64 128 256
//! require  __THREADS__ <= cpus
//! prefer   __BLOCK__ * 2 <= n || __BLOCK__ == 4096 || __BLOCK__ == 65536
//! prefer   __STREAM__ == 2 || (__STREAM__ == 0 && n * bytes_x > 8388608)
//! prefer   __THREADS__ == 0 || (__THREADS__ < cpus && n <= 262144)
//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, ceildiv(n, 16384)))

// x times the normal distribution's area below x, as ops.kf has it. A part takes every parts-th BLOCK.
#ifndef KF_ENTRY // alone: defaults
#define K_F64 0
#define K_BYTES 4
#include "prelude_c_rows.h"
#define KF_ENTRY(name) name
#define T_x float
#define V_x k_f32
#define KF_BYTES_x 4
#define KF_FROM_x(v) K_TO(k_real, v)
#define T_y float
#define V_y k_f32
#define KF_TO_y(v) K_TO(k_f32, v)
#define __BLOCK__ 65536
#define __UNROLL__ 1
#define __STREAM__ 2
#endif

enum { UNROLL = __UNROLL__ };

typedef struct Row {
    const T_x *x;
    T_y *y;
} Row;

K_INLINE void finish(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real x = K_LOAD(x, row->x + i, n);
    const k_real area = k_erfc(x * -0.70710677f);
    K_STORE(y, row->y + i, 0.5f * k_larger(k_all(-40), x) * area, n, stream);
}

void KF_ENTRY(gelu)(void *const *args, int64_t part, int64_t parts) {
    const T_x *const x = *(const T_x *const *)args[0];
    T_y *const y = *(T_y *const *)args[1];
    const int64_t n = *(const int64_t *)args[2];
    const int stream = __STREAM__ == 2 ? n * KF_BYTES_x > 8 << 20 : __STREAM__;
    for (int64_t i = part * __BLOCK__; i < n; i += parts * __BLOCK__) {
        const Row row = {x + i, y + i};
        K_WALK(finish, &row, row.y, k_least(__BLOCK__, n - i), stream);
    }
    k_fence();
}
