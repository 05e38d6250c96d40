typedef struct Row {
    const float *in_x;
    int64_t kf_in_x_s1;
    int8_t *out_q;
    float *out_s;
    int64_t cols;
    k_real t3;
    k_real t5;
    k_number *kept1;
} Row;

typedef struct Sums0 {
    k_real t3;
} Sums0;

/* t3 = max(t2) */
K_INLINE void k_step0(const Row *row, int64_t i, int64_t n, Sums0 *sums) {
    const k_real t1 = K_GATHER(k_get_f32, row->in_x + i * row->kf_in_x_s1, row->kf_in_x_s1, n);
    const k_real t2 = k_fabs(t1);
    sums->t3 = k_join_max(sums->t3, k_within(t2, n, -K_INF));
}
K_INLINE void k_step0_kept(const Row *row, int64_t i, int64_t n, Sums0 *sums) {
    const k_real t1 = K_GATHER(k_get_f32, row->in_x + i * row->kf_in_x_s1, row->kf_in_x_s1, n);
    *(k_real_at *)(row->kept1 + i) = t1;
    const k_real t2 = k_fabs(t1);
    sums->t3 = k_join_max(sums->t3, k_within(t2, n, -K_INF));
}

/* Results. */
K_INLINE void k_step1(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real t5 = row->t5;
    const k_real t1 = K_GATHER(k_get_f32, row->in_x + i * row->kf_in_x_s1, row->kf_in_x_s1, n);
    const k_real t6 = k_over(t1, t5);
    const k_i32 t7 = k_i8_from_real(t6);
    K_PLACE(k_put_i8, row->out_q + i, t7, n, stream);
}
K_INLINE void k_step1_kept(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real t5 = row->t5;
    const k_real t1 = *(const k_real_at *)(row->kept1 + i);
    const k_real t6 = k_over(t1, t5);
    const k_i32 t7 = k_i8_from_real(t6);
    K_PLACE(k_put_i8, row->out_q + i, t7, n, stream);
}

/* Values of the row, before pass 1. */
K_INLINE void k_values1(Row *row) {
    const k_real t3 = row->t3;
    const k_real t5 = t3 / 127.0f;
    row->t5 = t5;
}

K_INLINE void k_results(const Row *row) {
    const k_real t5 = row->t5;
    K_PLACE(k_put_f32, row->out_s, t5, 1, 0);
}
#endif

K_INLINE void KF_ENTRY(k_pass0)(Row *row, const int kept) {
    k_real all3 = k_all(-K_INF);
    for (int64_t from = 0; from < row->cols; from += K_PIECE) {
        const int64_t to = k_least(from + K_PIECE, row->cols);
        Sums0 sums0[__UNROLL__];
#pragma GCC unroll 16
        for (int u = 0; u < __UNROLL__; u++) {
            sums0[u].t3 = k_all(-K_INF);
        }
        if (kept) K_SWEEP(k_step0_kept, K_NOT_AHEAD, 0, row, from, to, sums0);
        else K_SWEEP(k_step0, K_NOT_AHEAD, 0, row, from, to, sums0);
#pragma GCC unroll 16
        for (int u = 1; u < __UNROLL__; u++) {
            sums0[0].t3 = k_join_max(sums0[0].t3, sums0[u].t3);
        }
        all3 = k_join_max(all3, sums0[0].t3);
    }
    row->t3 = k_fold_max(all3);
}

K_INLINE void KF_ENTRY(k_finish)(Row *row, const int kept) {
    int64_t from = 0;
    if (__STREAM__) from = k_least(k_before(row->out_q), row->cols);
    const int stream = __STREAM__ && k_fits(row->out_q + from);
    if (kept) K_STORES(k_step1_kept, K_NOT_AHEAD, 1, row, from, stream);
    else K_STORES(k_step1, K_NOT_AHEAD, 1, row, from, stream);
}

K_INLINE void KF_ENTRY(k_row)(Row *row, const int kept) {
    KF_ENTRY(k_pass0)(row, kept);
    k_values1(row);
    KF_ENTRY(k_finish)(row, kept);
    k_results(row);
}

static void KF_ENTRY(k_short_row)(Row row) {
    k_number kept1[__BLOCK__ + K_LANES] __attribute__((aligned(K_WIDTH)));
    row.kept1 = kept1;
    KF_ENTRY(k_row)(&row, 1);
}

void KF_ENTRY(kf_abs_max_div_div_i8)(void *const *args, int64_t part, int64_t parts) {
    const float *const in_x = *(const float *const *)args[0];
    int8_t *const out_q = *(int8_t *const *)args[1];
    float *const out_s = *(float *const *)args[2];
    const int64_t kf_rows = *(const int64_t *)args[3];
    const int64_t kf_cols = *(const int64_t *)args[4];
    const int64_t kf_in_x_s0 = *(const int64_t *)args[5];
    const int64_t kf_in_x_s1 = *(const int64_t *)args[6];
    const int64_t kf_out_s_s0 = *(const int64_t *)args[7];
    for (int64_t r = kf_rows * part / parts; r < kf_rows * (part + 1) / parts; r++) {
        Row row;
        row.cols = kf_cols;
        const int64_t i0 = r;
        row.in_x = in_x + i0 * kf_in_x_s0;
        row.kf_in_x_s1 = kf_in_x_s1;
        row.out_q = out_q + r * kf_cols;
        row.out_s = out_s + i0 * kf_out_s_s0;
        if (__KEEP__ && kf_cols <= __BLOCK__) {
            KF_ENTRY(k_short_row)(row);
            continue;
        }
        KF_ENTRY(k_row)(&row, 0);
    }
    if (__STREAM__) k_fence();
}
