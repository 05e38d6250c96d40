typedef struct Row {
    const float *in_x;
    const float *in_x_next; /* in the row behind */
    float *out_out;
    int64_t cols;
    k_real t2;
    k_real t5;
    k_number *kept4;
} Row;

typedef struct Sums0 {
    k_real t2;
} Sums0;

/* t2 = max(t1) */
K_INLINE void k_step0(const Row *row, int64_t i, int64_t n, Sums0 *sums) {
    const k_real t1 = K_FETCH(k_get_f32, row->in_x + i, n);
    sums->t2 = k_join_max(sums->t2, k_within(t1, n, -K_INF));
}

typedef struct Sums1 {
    k_real t5;
} Sums1;

/* t5 = sum(t4) */
K_INLINE void k_step1(const Row *row, int64_t i, int64_t n, Sums1 *sums) {
    const k_real t2 = row->t2;
    const k_real t1 = K_FETCH(k_get_f32, row->in_x + i, n);
    const k_real t3 = t1 - t2;
    const k_real t4 = k_exp_below(t3);
    sums->t5 += k_within(t4, n, 0);
}
K_INLINE void k_step1_kept(const Row *row, int64_t i, int64_t n, Sums1 *sums) {
    const k_real t2 = row->t2;
    const k_real t1 = K_FETCH(k_get_f32, row->in_x + i, n);
    const k_real t3 = t1 - t2;
    const k_real t4 = k_exp_below(t3);
    *(k_real_at *)(row->kept4 + i) = t4;
    sums->t5 += k_within(t4, n, 0);
}

/* Results. */
K_INLINE void k_step2(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real t2 = row->t2;
    const k_real t5 = row->t5;
    const k_real t1 = K_FETCH(k_get_f32, row->in_x + i, n);
    const k_real t3 = t1 - t2;
    const k_real t4 = k_exp_below(t3);
    const k_real t6 = k_over(t4, t5);
    K_PLACE(k_put_f32, row->out_out + i, t6, n, stream);
}
K_INLINE void k_step2_kept(const Row *row, int64_t i, int64_t n, int stream) {
    const k_real t5 = row->t5;
    const k_real t4 = *(const k_real_at *)(row->kept4 + i);
    const k_real t6 = k_over(t4, t5);
    K_PLACE(k_put_f32, row->out_out + i, t6, n, stream);
}
#endif

/* Each of the sweeps fetches its part of the next row. */
K_INLINE void KF_ENTRY(k_ahead)(const Row *row, int64_t sweep, int64_t i) {
    i = (sweep * row->cols + i) / 3;
    if (__AHEAD__) __builtin_prefetch(row->in_x_next + i, 0, __AHEAD__);
}

K_INLINE void KF_ENTRY(k_pass0)(Row *row, const int kept) {
    k_real all2 = k_all(-K_INF);
    for (int64_t from = 0; from < row->cols; from += K_PIECE) {
        const int64_t to = k_least(from + K_PIECE, row->cols);
        Sums0 sums0[__UNROLL__];
#pragma GCC unroll 16
        for (int u = 0; u < __UNROLL__; u++) {
            sums0[u].t2 = k_all(-K_INF);
        }
        K_SWEEP(k_step0, KF_ENTRY(k_ahead), 0, row, from, to, sums0);
#pragma GCC unroll 16
        for (int u = 1; u < __UNROLL__; u++) {
            sums0[0].t2 = k_join_max(sums0[0].t2, sums0[u].t2);
        }
        all2 = k_join_max(all2, sums0[0].t2);
    }
    row->t2 = k_fold_max(all2);
}

K_INLINE void KF_ENTRY(k_pass1)(Row *row, const int kept) {
    double all5 = 0;
    for (int64_t from = 0; from < row->cols; from += K_PIECE) {
        const int64_t to = k_least(from + K_PIECE, row->cols);
        Sums1 sums1[__UNROLL__];
#pragma GCC unroll 16
        for (int u = 0; u < __UNROLL__; u++) {
            sums1[u].t5 = k_all(0);
        }
        if (kept) K_SWEEP(k_step1_kept, KF_ENTRY(k_ahead), 1, row, from, to, sums1);
        else K_SWEEP(k_step1, KF_ENTRY(k_ahead), 1, row, from, to, sums1);
#pragma GCC unroll 16
        for (int u = 1; u < __UNROLL__; u++) {
            sums1[0].t5 += sums1[u].t5;
        }
        const double sum5 = k_sum(sums1[0].t5);
        all5 += sum5;
    }
    row->t5 = k_all(all5);
}

/* Passes 0 and 1 in one: what is summed is rescaled when a larger one comes. */
K_INLINE void KF_ENTRY(k_joined0)(Row *row) {
    k_real all2 = k_all(-K_INF);
    double all5 = 0;
    k_real seen2 = k_all(-K_INF);
    for (int64_t from = 0; from < row->cols; from += __BLOCK__) {
        const int64_t to = k_least(from + __BLOCK__, row->cols);
        Sums0 sums0[__UNROLL__];
#pragma GCC unroll 16
        for (int u = 0; u < __UNROLL__; u++) {
            sums0[u].t2 = k_all(-K_INF);
        }
        K_SWEEP(k_step0, KF_ENTRY(k_ahead), 0, row, from, to, sums0);
#pragma GCC unroll 16
        for (int u = 1; u < __UNROLL__; u++) {
            sums0[0].t2 = k_join_max(sums0[0].t2, sums0[u].t2);
        }
        all2 = k_join_max(all2, sums0[0].t2);
        const k_real most2 = k_fold_max(all2);
        row->t2 = k_select(most2 == -K_INF, k_all(0), most2);
        all5 *= k_exp_below(seen2 - row->t2)[0];
        seen2 = most2;
        Sums1 sums1[__UNROLL__];
#pragma GCC unroll 16
        for (int u = 0; u < __UNROLL__; u++) {
            sums1[u].t5 = k_all(0);
        }
        K_SWEEP(k_step1, KF_ENTRY(k_ahead), 1, row, from, to, sums1);
#pragma GCC unroll 16
        for (int u = 1; u < __UNROLL__; u++) {
            sums1[0].t5 += sums1[u].t5;
        }
        const double sum5 = k_sum(sums1[0].t5);
        all5 += sum5;
    }
    if (row->cols > 0 && seen2[0] == -K_INF) all5 = K_NAN;
    row->t2 = k_fold_max(all2);
    row->t5 = k_all(all5);
}

K_INLINE void KF_ENTRY(k_finish)(Row *row, const int kept) {
    int64_t from = 0;
    if (__STREAM__) from = k_least(k_before(row->out_out), row->cols);
    const int stream = __STREAM__ && k_fits(row->out_out + from);
    if (kept) K_STORES(k_step2_kept, KF_ENTRY(k_ahead), 2, row, from, stream);
    else K_STORES(k_step2, KF_ENTRY(k_ahead), 2, row, from, stream);
}

K_INLINE void KF_ENTRY(k_row)(Row *row, const int kept) {
    if (!kept && __ONLINE__) {
        KF_ENTRY(k_joined0)(row);
    } else {
        KF_ENTRY(k_pass0)(row, kept);
        KF_ENTRY(k_pass1)(row, kept);
    }
    KF_ENTRY(k_finish)(row, kept);
}

static void KF_ENTRY(k_short_row)(Row row) {
    k_number kept4[__BLOCK__ + K_LANES] __attribute__((aligned(K_WIDTH)));
    row.kept4 = kept4;
    KF_ENTRY(k_row)(&row, 1);
}

void KF_ENTRY(kf_softmax)(void *const *args, int64_t part, int64_t parts) {
    const float *const in_x = *(const float *const *)args[0];
    float *const out_out = *(float *const *)args[1];
    const int64_t kf_rows = *(const int64_t *)args[2];
    const int64_t kf_cols = *(const int64_t *)args[3];
    for (int64_t r = kf_rows * part / parts; r < kf_rows * (part + 1) / parts; r++) {
        Row row;
        row.cols = kf_cols;
        row.in_x = in_x + r * kf_cols;
        row.in_x_next = row.in_x + kf_cols;
        row.out_out = out_out + r * kf_cols;
        if (__KEEP__ && kf_cols <= __BLOCK__) {
            KF_ENTRY(k_short_row)(row);
            continue;
        }
        KF_ENTRY(k_row)(&row, 0);
    }
    if (__STREAM__) k_fence();
}
