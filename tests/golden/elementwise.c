/* K_LANES elements that lie next to each other. */
K_INLINE void k_vector(const float *restrict in_x, const float *restrict in_b,
        const float *restrict in_s, float *restrict out_out, int stream) {
    const k_real t1 = k_get_f32(in_x);
    const k_real t2 = k_get_f32(in_b);
    const k_real t7 = k_get_f32(in_s);
    const k_real t3 = t1 + t2;
    const k_mask t5 = t3 < 0.0f;
    const k_real t6 = k_select(t5, k_all(0.0f), t3);
    const k_real t8 = t6 * t7;
    k_put_f32(out_out, t8, stream);
}
#endif

#if __INDEX__ == 1
/* `count` elements along the last axis; the first `lead` and the last of them through buffers. */
static void KF_ENTRY(k_run)(const float *restrict in_x, const float *restrict in_b,
        const float *restrict in_s, float *restrict out_out, int64_t count) {
    float in_x_v[K_LANES] = {0};
    float in_b_v[K_LANES] = {0};
    float in_s_v[K_LANES] = {0};
    k_spread(in_s_v, in_s, sizeof *in_s);
    float out_out_v[K_LANES];
    const int64_t lead = __STREAM__ ? k_least(k_before(out_out), count) : 0;
    const int stream = __STREAM__ && k_fits(out_out + lead);
    for (int64_t i = 0, end = lead;; end = count) {
        for (int n; i < end; i += n) {
            n = k_least(end - i, K_LANES);
            k_part(in_x_v, in_x + i, n * sizeof *in_x_v);
            k_part(in_b_v, in_b + i, n * sizeof *in_b_v);
            k_vector(in_x_v, in_b_v, in_s_v, out_out_v, 0);
            k_part(out_out + i, out_out_v, n * sizeof *out_out_v);
        }
        if (end == count) break;
        for (; i + __UNROLL__ * K_LANES <= count; i += __UNROLL__ * K_LANES)
#pragma GCC unroll 16
            for (int64_t u = i; u < i + __UNROLL__ * K_LANES; u += K_LANES)
                k_vector(in_x + u, in_b + u, in_s_v, out_out + u, stream);
    }
}
#endif

#if __INDEX__ == 0
/* Elements [begin, end) of the linear index, over the ends of rows. */
static void KF_ENTRY(k_span)(const float *restrict in_x, const float *restrict in_b,
        const float *restrict in_s, float *restrict out_out, int64_t kf_cols, int64_t kf_in_s_s0, int64_t begin, int64_t end) {
    float in_x_v[K_LANES] = {0};
    float in_b_v[K_LANES] = {0};
    float in_s_v[K_LANES] = {0};
    float out_out_v[K_LANES];
    const int64_t lead = __STREAM__ ? k_least(k_before(out_out + begin), end - begin) : 0;
    const int stream = __STREAM__ && k_fits(out_out + begin + lead);
    int64_t i1 = begin % kf_cols, row = begin / kf_cols;
    int64_t i0 = row;
    int64_t i = begin;
    for (int n = lead; i < end; i += n, n = 0) {
        if (n == 0) n = k_least(end - i, K_LANES);
        for (int l = 0; l < n; l++) {
            in_b_v[l] = in_b[i1];
            in_s_v[l] = in_s[i0 * kf_in_s_s0];
            if (++i1 < kf_cols) continue;
            i1 = 0;
            i0++;
        }
        if (n == K_LANES) {
            k_vector(in_x + i, in_b_v, in_s_v, out_out + i, stream);
            continue;
        }
        k_part(in_x_v, in_x + i, n * sizeof *in_x_v);
        k_vector(in_x_v, in_b_v, in_s_v, out_out_v, 0);
        k_part(out_out + i, out_out_v, n * sizeof *out_out_v);
    }
}
#endif

void KF_ENTRY(kf_add_relu_mul)(void *const *args, int64_t part, int64_t parts) {
    const float *const in_x = *(const float *const *)args[0];
    const float *const in_b = *(const float *const *)args[1];
    const float *const in_s = *(const float *const *)args[2];
    float *const out_out = *(float *const *)args[3];
    const int64_t kf_rows = *(const int64_t *)args[4];
    const int64_t kf_cols = *(const int64_t *)args[5];
    const int64_t kf_in_s_s0 = *(const int64_t *)args[6];
#if __INDEX__ == 0
    const int64_t total = kf_rows * kf_cols;
    for (int64_t begin = part * __BLOCK__; begin < total; begin += parts * __BLOCK__) {
        const int64_t end = total - begin < __BLOCK__ ? total : begin + __BLOCK__;
        KF_ENTRY(k_span)(in_x, in_b, in_s, out_out, kf_cols, kf_in_s_s0, begin, end);
    }
#else
    const int64_t height = kf_cols < __BLOCK__ ? __BLOCK__ / (kf_cols + (kf_cols == 0)) : 1;
    const int64_t width = kf_cols < __BLOCK__ ? kf_cols : __BLOCK__;
    for (int64_t top = 0, tile = 0; top < kf_rows; top += height)
        for (int64_t left = 0; left < kf_cols; left += width, tile++) {
            if (tile % parts != part) continue;
            const int64_t count = kf_cols - left < width ? kf_cols - left : width;
            for (int64_t row = top; row < kf_rows && row < top + height; row++) {
                const int64_t i0 = row;
                KF_ENTRY(k_run)(in_x + row * kf_cols + left, in_b + left, in_s + i0 * kf_in_s_s0,
        out_out + row * kf_cols + left, count);
            }
        }
#endif
    if (__STREAM__) k_fence();
}
