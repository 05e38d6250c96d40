typedef struct Row {
    const uint16_t *in_x;
    const uint16_t *in_x_next; /* in the row behind */
    const uint16_t *in_g;
    const uint16_t *in_b;
    uint16_t *out_out;
    int64_t cols;
    float s_eps;
    k_real t5;
    k_real rest5; /* the mean is t5 + rest5 */
    k_real t7;
    k_real near7, off7; /* a block's mean: near + off */
    k_real t12;
} Row;

typedef struct Sums0 {
    k_wide t5[2];
} Sums0;

/* t5 = mean(t2), t7 = var(t2) */
K_INLINE void k_step0(const Row *row, int64_t i, int64_t n, Sums0 *sums) {
    const k_real t2 = K_FETCH(k_get_bf16, row->in_x + i, n);
    const k_real w5 = k_within(t2, n, 0);
    sums->t5[0] += k_widen(w5, 0);
    sums->t5[1] += k_widen(w5, 1);
}

typedef struct Sums1 {
    k_real t7;
} Sums1;

/* Their squares: t7 = var(t2) */
K_INLINE void k_step1(const Row *row, int64_t i, int64_t n, Sums1 *sums) {
    const k_real t2 = K_FETCH(k_get_bf16, row->in_x + i, n);
    const k_real d7 = k_within(t2 - row->near7 - row->off7, n, 0);
    sums->t7 = k_multiply_add(d7, d7, sums->t7);
}

/* Results. */
K_INLINE void k_step2(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real rest5 = row->rest5;
    const k_real t5 = row->t5;
    const k_real t12 = row->t12;
    const k_real t2 = K_FETCH(k_get_bf16, row->in_x + i, n);
    const k_real t3 = K_FETCH(k_get_bf16, row->in_g + i, n);
    const k_real t4 = K_FETCH(k_get_bf16, row->in_b + i, n);
    const k_real t6 = t2 - t5 - rest5;
    const k_real t13 = t6 * t12;
    const k_real t14 = t13 * t3;
    const k_real t15 = t14 + t4;
    K_PLACE(k_put_bf16, row->out_out + i, t15, n, stream);
}

/* Values of the row, before pass 1. */
K_INLINE void k_values1(Row *row) {
    const k_real t7 = row->t7;
    const float s_eps = row->s_eps;
    const k_real t9 = t7 + s_eps;
    const k_real t10 = k_sqrt(t9);
    const k_real t12 = 1.0f / t10;
    row->t12 = t12;
}
#endif

/* Each of the sweeps fetches its part of the next row. */
K_INLINE void KF_ENTRY(k_ahead)(const Row *row, int64_t sweep, int64_t i) {
    i = (sweep * row->cols + i) / 3;
    if (__AHEAD__) __builtin_prefetch(row->in_x_next + i, 0, __AHEAD__);
}

K_INLINE void KF_ENTRY(k_pass0)(Row *row) {
    double all5 = 0;
    k_moments all7 = {0, 0, 0};
    for (int64_t from = 0; from < row->cols; from += __BLOCK__) {
        const int64_t to = k_least(from + __BLOCK__, row->cols);
        Sums0 sums0[__UNROLL__];
#pragma GCC unroll 16
        for (int u = 0; u < __UNROLL__; u++) {
            sums0[u].t5[0] = sums0[u].t5[1] = (k_wide){0};
        }
        K_SWEEP(k_step0, KF_ENTRY(k_ahead), 0, row, from, to, sums0);
#pragma GCC unroll 16
        for (int u = 1; u < __UNROLL__; u++) {
            sums0[0].t5[0] += sums0[u].t5[0];
            sums0[0].t5[1] += sums0[u].t5[1];
        }
        const double sum5 = k_sum_wide(sums0[0].t5[0] + sums0[0].t5[1]);
        all5 += sum5;
        double mean7 = sum5 / (to - from);
        row->near7 = k_all(mean7);
        row->off7 = k_all(k_rest(mean7));
        Sums1 sums1[__UNROLL__];
#pragma GCC unroll 16
        for (int u = 0; u < __UNROLL__; u++) {
            sums1[u].t7 = k_all(0);
        }
        K_SWEEP(k_step1, KF_ENTRY(k_ahead), 1, row, from, to, sums1);
#pragma GCC unroll 16
        for (int u = 1; u < __UNROLL__; u++) {
            sums1[0].t7 += sums1[u].t7;
        }
        all7 = k_merge(all7, (k_moments){to - from, mean7, k_sum(sums1[0].t7)});
    }
    row->t5 = k_all(all5 / row->cols);
    row->rest5 = k_all(k_rest(all5 / row->cols));
    row->t7 = k_all(all7.squares / all7.count);
}

K_INLINE void KF_ENTRY(k_finish)(Row *row) {
    int64_t from = 0;
    if (__STREAM__) from = k_least(k_before(row->out_out), row->cols);
    const int stream = __STREAM__ && k_fits(row->out_out + from);
    K_STORES(k_step2, KF_ENTRY(k_ahead), 2, row, from, stream);
}

K_INLINE void KF_ENTRY(k_row)(Row *row) {
    KF_ENTRY(k_pass0)(row);
    k_values1(row);
    KF_ENTRY(k_finish)(row);
}

void KF_ENTRY(kf_layernorm)(void *const *args, int64_t part, int64_t parts) {
    const uint16_t *const in_x = *(const uint16_t *const *)args[0];
    const uint16_t *const in_g = *(const uint16_t *const *)args[1];
    const uint16_t *const in_b = *(const uint16_t *const *)args[2];
    uint16_t *const out_out = *(uint16_t *const *)args[3];
    const int64_t kf_rows = *(const int64_t *)args[4];
    const int64_t kf_cols = *(const int64_t *)args[5];
    const float s_eps = *(const float *)args[6];
    for (int64_t r = kf_rows * part / parts; r < kf_rows * (part + 1) / parts; r++) {
        Row row;
        row.cols = kf_cols;
        row.in_x = in_x + r * kf_cols;
        row.in_x_next = row.in_x + kf_cols;
        row.in_g = in_g;
        row.in_b = in_b;
        row.out_out = out_out + r * kf_cols;
        row.s_eps = s_eps;
        KF_ENTRY(k_row)(&row);
    }
    if (__STREAM__) k_fence();
}
