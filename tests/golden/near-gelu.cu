// One element.
K_INLINE void k_element(const unsigned short in_x, const unsigned short in_b,
        const unsigned short in_res, unsigned short &out_out) {
    const float t1 = k_from_bf16(in_x);
    const float t2 = k_from_bf16(in_b);
    const float t15 = k_from_bf16(in_res);
    const float t3 = t1 + t2;
    const float t8 = k_max(t3, -40.0f);
    const float t10 = 0.5f * t8;
    const float t12 = t3 * -0.70710677f;
    const float t13 = k_near_erfc(t12);
    const float t14 = t10 * t13;
    const float t16 = t14 + t15;
    out_out = k_to_bf16(t16);
}

// The element with linear index i, alone: tails, and arrays without alignment.
K_INLINE void k_single(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_b, const unsigned short *__restrict__ in_res,
        unsigned short *__restrict__ out_out, const k_index kf_rows, const k_index kf_cols,
        const long long kf_cols_div, const k_index i) {
    const k_index row = k_divide(i, kf_cols, kf_cols_div), column = i - row * kf_cols;
    k_element(in_x[i], in_b[column], in_res[i], out_out[i]);
}
#endif

#if __INDEX__ == 1
// A thread keeps its columns and walks down the rows.
K_INLINE void KF_ENTRY(k_all)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_b, const unsigned short *__restrict__ in_res,
        unsigned short *__restrict__ out_out, const k_index kf_rows, const k_index kf_cols,
        const long long kf_cols_div) {
    const k_index right = (k_index)gridDim.x * blockDim.x * __VEC__;
    const k_index down = (k_index)gridDim.y * blockDim.y * __UNROLL__;
    k_index column = ((k_index)blockIdx.x * blockDim.x + threadIdx.x) * __VEC__;
    for (; column < kf_cols; column += right) {
        const k_pack<unsigned short, __VEC__> in_b_v = k_load<__VEC__>(in_b + column);
        k_index top = (k_index)blockIdx.y * blockDim.y * __UNROLL__ + threadIdx.y;
        for (; top < kf_rows; top += down) {
            k_pack<unsigned short, __VEC__> in_x_v[__UNROLL__];
            k_pack<unsigned short, __VEC__> in_res_v[__UNROLL__];
#pragma unroll
            for (int u = 0; u < __UNROLL__; u++) {
                const k_index row = top + u * blockDim.y;
                if (row >= kf_rows) continue;
                in_x_v[u] = k_load<__VEC__>(in_x + row * kf_cols + column);
                in_res_v[u] = k_load<__VEC__>(in_res + row * kf_cols + column);
            }
#pragma unroll
            for (int u = 0; u < __UNROLL__; u++) {
                const k_index row = top + u * blockDim.y;
                if (row >= kf_rows) continue;
                k_pack<unsigned short, __VEC__> out_out_v;
#pragma unroll
                for (int j = 0; j < __VEC__; j++)
                    k_element(in_x_v[u].at[j], in_b_v.at[j], in_res_v[u].at[j], out_out_v.at[j]);
                k_store<__VEC__>(out_out + row * kf_cols + column, out_out_v);
            }
        }
    }
}
#else
// Vectors along the linear index; rows end where they will.
K_INLINE void KF_ENTRY(k_all)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_b, const unsigned short *__restrict__ in_res,
        unsigned short *__restrict__ out_out, const k_index kf_rows, const k_index kf_cols,
        const long long kf_cols_div) {
    const k_index n = kf_rows * kf_cols, vectors = n / __VEC__;
    k_index first = (k_index)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;
    for (; first < vectors; first += (k_index)gridDim.x * (__BLOCK__ * __UNROLL__)) {
        k_pack<unsigned short, __VEC__> in_x_v[__UNROLL__];
        k_pack<unsigned short, __VEC__> in_b_v[__UNROLL__];
        k_pack<unsigned short, __VEC__> in_res_v[__UNROLL__];
#pragma unroll
        for (int u = 0; u < __UNROLL__; u++) {
            const k_index i = (first + u * __BLOCK__) * __VEC__;
            if (first + u * __BLOCK__ >= vectors) continue;
            in_x_v[u] = k_load<__VEC__>(in_x + i);
            in_res_v[u] = k_load<__VEC__>(in_res + i);
            k_index row = k_divide(i, kf_cols, kf_cols_div), i1 = i - row * kf_cols;
            k_index i0 = row;
            if (__VEC__ == 1 || i1 + __VEC__ <= kf_cols) {
#pragma unroll
                for (int j = 0; j < __VEC__; j++) {
                    in_b_v[u].at[j] = in_b[(i1 + j)];
                }
            } else {
#pragma unroll
                for (int j = 0; j < __VEC__; j++) {
                    in_b_v[u].at[j] = in_b[i1];
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
            k_pack<unsigned short, __VEC__> out_out_v;
#pragma unroll
            for (int j = 0; j < __VEC__; j++)
                k_element(in_x_v[u].at[j], in_b_v[u].at[j], in_res_v[u].at[j], out_out_v.at[j]);
            k_store<__VEC__>(out_out + i, out_out_v);
        }
        if (__GRID__ == 0) break; // one tile a block
    }
    const k_index i = vectors * __VEC__ + (k_index)blockIdx.x * __BLOCK__ + threadIdx.x;
    if (__VEC__ > 1 && i < n) k_single(in_x, in_b, in_res, out_out, kf_rows, kf_cols,
        kf_cols_div, i);
}
#endif

extern "C" __global__ void __launch_bounds__(__BLOCK__)
KF_ENTRY(kf_add_gelu_add)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_b, const unsigned short *__restrict__ in_res,
        unsigned short *__restrict__ out_out, const long long kf_rows, const long long kf_cols,
        const long long kf_cols_div) {
    k_begin<__NEXT__>();
    KF_ENTRY(k_all)(in_x, in_b, in_res, out_out, kf_rows, kf_cols, kf_cols_div);
}

// The same for arrays aligned to no more than an element.
extern "C" __global__ void KF_ENTRY(kf_add_gelu_add_scalar)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_b, const unsigned short *__restrict__ in_res,
        unsigned short *__restrict__ out_out, const long long kf_rows, const long long kf_cols,
        const long long kf_cols_div) {
    k_begin<false>();
    const k_index n = kf_rows * kf_cols, block = (k_index)blockIdx.y * gridDim.x + blockIdx.x;
    const k_index threads = blockDim.x * blockDim.y;
    k_index i = block * threads + threadIdx.y * blockDim.x + threadIdx.x;
    for (; i < n; i += threads * gridDim.x * gridDim.y) k_single(in_x, in_b, in_res, out_out,
        kf_rows, kf_cols, kf_cols_div, i);
}
