// One element.
K_INLINE void k_element(const float in_x, const float in_b, const float in_s, float &out_out) {
    const float t1 = in_x;
    const float t2 = in_b;
    const float t7 = in_s;
    const float t3 = t1 + t2;
    const bool t5 = t3 < 0.0f;
    const float t6 = t5 ? 0.0f : t3;
    const float t8 = t6 * t7;
    out_out = t8;
}

// The element with linear index i, alone: tails, and arrays without alignment.
K_INLINE void k_single(const float *__restrict__ in_x, const float *__restrict__ in_b,
        const float *__restrict__ in_s, float *__restrict__ out_out, const k_index kf_rows,
        const k_index kf_cols, const long long kf_cols_div, const k_index kf_in_s_s0, const k_index i) {
    const k_index row = k_divide(i, kf_cols, kf_cols_div), column = i - row * kf_cols;
    const k_index i0 = row;
    k_element(in_x[i], in_b[column], in_s[i0 * kf_in_s_s0], out_out[i]);
}
#endif

#if __INDEX__ == 1
// A thread keeps its columns and walks down the rows.
K_INLINE void KF_ENTRY(k_all)(const float *__restrict__ in_x, const float *__restrict__ in_b,
        const float *__restrict__ in_s, float *__restrict__ out_out, const k_index kf_rows,
        const k_index kf_cols, const long long kf_cols_div, const k_index kf_in_s_s0) {
    const k_index right = (k_index)gridDim.x * blockDim.x * __VEC__;
    const k_index down = (k_index)gridDim.y * blockDim.y * __UNROLL__;
    k_index column = ((k_index)blockIdx.x * blockDim.x + threadIdx.x) * __VEC__;
    for (; column < kf_cols; column += right) {
        const k_pack<float, __VEC__> in_b_v = k_load<__VEC__>(in_b + column);
        k_index top = (k_index)blockIdx.y * blockDim.y * __UNROLL__ + threadIdx.y;
        for (; top < kf_rows; top += down) {
            k_pack<float, __VEC__> in_x_v[__UNROLL__];
            float in_s_v[__UNROLL__];
#pragma unroll
            for (int u = 0; u < __UNROLL__; u++) {
                const k_index row = top + u * blockDim.y;
                if (row >= kf_rows) continue;
                const k_index i0 = row;
                in_x_v[u] = k_load<__VEC__>(in_x + row * kf_cols + column);
                in_s_v[u] = in_s[i0 * kf_in_s_s0];
            }
#pragma unroll
            for (int u = 0; u < __UNROLL__; u++) {
                const k_index row = top + u * blockDim.y;
                if (row >= kf_rows) continue;
                const k_index i0 = row;
                k_pack<float, __VEC__> out_out_v;
#pragma unroll
                for (int j = 0; j < __VEC__; j++)
                    k_element(in_x_v[u].at[j], in_b_v.at[j], in_s_v[u], out_out_v.at[j]);
                k_store<__VEC__>(out_out + row * kf_cols + column, out_out_v);
            }
        }
    }
}
#else
// Vectors along the linear index; rows end where they will.
K_INLINE void KF_ENTRY(k_all)(const float *__restrict__ in_x, const float *__restrict__ in_b,
        const float *__restrict__ in_s, float *__restrict__ out_out, const k_index kf_rows,
        const k_index kf_cols, const long long kf_cols_div, const k_index kf_in_s_s0) {
    const k_index n = kf_rows * kf_cols, vectors = n / __VEC__;
    k_index first = (k_index)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;
    for (; first < vectors; first += (k_index)gridDim.x * (__BLOCK__ * __UNROLL__)) {
        k_pack<float, __VEC__> in_x_v[__UNROLL__];
        k_pack<float, __VEC__> in_b_v[__UNROLL__];
        k_pack<float, __VEC__> in_s_v[__UNROLL__];
#pragma unroll
        for (int u = 0; u < __UNROLL__; u++) {
            const k_index i = (first + u * __BLOCK__) * __VEC__;
            if (first + u * __BLOCK__ >= vectors) continue;
            in_x_v[u] = k_load<__VEC__>(in_x + i);
            k_index row = k_divide(i, kf_cols, kf_cols_div), i1 = i - row * kf_cols;
            k_index i0 = row;
            if (__VEC__ == 1 || i1 + __VEC__ <= kf_cols) {
#pragma unroll
                for (int j = 0; j < __VEC__; j++) {
                    in_b_v[u].at[j] = in_b[(i1 + j)];
                    in_s_v[u].at[j] = in_s[i0 * kf_in_s_s0];
                }
            } else {
#pragma unroll
                for (int j = 0; j < __VEC__; j++) {
                    in_b_v[u].at[j] = in_b[i1];
                    in_s_v[u].at[j] = in_s[i0 * kf_in_s_s0];
                    if (++i1 < kf_cols) continue;
                    i1 = 0;
                    i0++;
                }
            }
        }
#pragma unroll
        for (int u = 0; u < __UNROLL__; u++) {
            const k_index i = (first + u * __BLOCK__) * __VEC__;
            if (first + u * __BLOCK__ >= vectors) continue;
            k_pack<float, __VEC__> out_out_v;
#pragma unroll
            for (int j = 0; j < __VEC__; j++)
                k_element(in_x_v[u].at[j], in_b_v[u].at[j], in_s_v[u].at[j], out_out_v.at[j]);
            k_store<__VEC__>(out_out + i, out_out_v);
        }
        if (__GRID__ == 0) break; // one tile a block
    }
    const k_index i = vectors * __VEC__ + (k_index)blockIdx.x * __BLOCK__ + threadIdx.x;
    if (__VEC__ > 1 && i < n) k_single(in_x, in_b, in_s, out_out, kf_rows, kf_cols, kf_cols_div,
        kf_in_s_s0, i);
}
#endif

extern "C" __global__ void __launch_bounds__(__BLOCK__)
KF_ENTRY(kf_add_relu_mul)(const float *__restrict__ in_x, const float *__restrict__ in_b,
        const float *__restrict__ in_s, float *__restrict__ out_out, const long long kf_rows,
        const long long kf_cols, const long long kf_cols_div, const long long kf_in_s_s0) {
    k_begin<__NEXT__>();
    KF_ENTRY(k_all)(in_x, in_b, in_s, out_out, kf_rows, kf_cols, kf_cols_div, kf_in_s_s0);
}

// The same for arrays aligned to no more than an element.
extern "C" __global__ void KF_ENTRY(kf_add_relu_mul_scalar)(const float *__restrict__ in_x,
        const float *__restrict__ in_b, const float *__restrict__ in_s,
        float *__restrict__ out_out, const long long kf_rows, const long long kf_cols,
        const long long kf_cols_div, const long long kf_in_s_s0) {
    k_begin<false>();
    const k_index n = kf_rows * kf_cols, block = (k_index)blockIdx.y * gridDim.x + blockIdx.x;
    const k_index threads = blockDim.x * blockDim.y;
    k_index i = block * threads + threadIdx.y * blockDim.x + threadIdx.x;
    for (; i < n; i += threads * gridDim.x * gridDim.y) k_single(in_x, in_b, in_s, out_out,
        kf_rows, kf_cols, kf_cols_div, kf_in_s_s0, i);
}
