// What is read of a vector, and seen of it by the passes.
template <typename ROW> struct k_source {
    struct raw {
        k_pack<float, ROW::VEC> in_x;
    };
    struct seen {
        float t1[ROW::VEC]; // in_x
    };
    template <int THREADS> struct slots {
        k_pack<float, ROW::VEC> in_x[THREADS];
    };
    const float *in_x;
    k_index in_x_step;

    template <typename I>
    __device__ __forceinline__ raw load(const ROW &row, I v) const {
        raw pack;
        pack.in_x = row.load_each(in_x, in_x_step, v, (float)0);
        return pack;
    }
    template <int N, typename V>
    __device__ __forceinline__ void copy(slots<N> &to, const ROW &row, V v) const {
        to.in_x[threadIdx.x] = row.load_each(in_x, in_x_step, v, (float)0);
    }
    template <int N> static __device__ __forceinline__ raw fetch(const slots<N> &from) {
        raw pack;
        pack.in_x = from.in_x[threadIdx.x];
        return pack;
    }
    static __device__ __forceinline__ void see(seen &x, const raw &pack) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            x.t1[j] = pack.in_x.at[j];
        }
    }
};

// What a pass gathers, on its way through the threads of a row.
struct k_pass0 {
    float t3; // max of t2
};
K_INLINE k_pass0 k_join(const k_pass0 &a, const k_pass0 &b) {
    k_pass0 c;
    c.t3 = k_max(a.t3, b.t3);
    return c;
}
#endif

// What is read of row `at`, if there is one.
template <typename ROW>
K_INLINE k_source<ROW> KF_ENTRY(k_find_source)(const k_index at,
        const float *__restrict__ in_x, signed char *__restrict__ out_q,
        float *__restrict__ out_s, const k_index kf_rows, const k_index kf_cols,
        const long long kf_cols_div, const k_index kf_in_x_s0, const k_index kf_in_x_s1,
        const k_index kf_out_s_s0) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    const k_index i0 = place;
    return {in_x + (i0 * kf_in_x_s0), kf_in_x_s1};
}

// Row `at`, if there is one: all threads of the block are here.
template <typename ROW, typename KEPT>
K_INLINE void KF_ENTRY(k_one_row)(const ROW &row, const k_index at, KEPT &kept,
        const float *__restrict__ in_x, signed char *__restrict__ out_q,
        float *__restrict__ out_s, const k_index kf_rows, const k_index kf_cols,
        const long long kf_cols_div, const k_index kf_in_x_s0, const k_index kf_in_x_s1,
        const k_index kf_out_s_s0) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    const k_index i0 = place;
    kept.begin(row);
    if (ROW::BLOCKS > 1) k_cluster_wait();

    // pass 0
    k_pass0 pass0 = {-K_INF};
    kept.each([&](auto v, auto &x, int i) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t2 = fabsf(t1);
            pass0.t3 = k_max(pass0.t3, t2);
        }
    });
    pass0 = row.reduce(pass0);
    const float t3 = pass0.t3;
    const float t5 = t3 / 127.0f;
    const k_divisor<float> k5(t5);

    // pass 1
    kept.each([&](auto v, auto &x, int i) {
        k_pack<signed char, ROW::VEC> out_q_v;
        float q6[ROW::VEC];
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            q6[j] = t1;
        }
        k_quotients(q6, k5);
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t6 = q6[j];
            const int t7 = k_i8_from_real(t6);
            out_q_v.at[j] = t7;
        }
        row.store(out_q, v, out_q_v);
    });
    if (row.lane == 0 && at < kf_rows) {
        out_s[i0 * kf_out_s_s0] = t5;
    }
}

extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__,
        __KEEP__ == 1 ? (__ITEMS__ > 2 ? 1536 : 2048) / (__TPR__ * __RPB__) : 1)
KF_ENTRY(kf_abs_max_div_div_i8)(const float *__restrict__ in_x, signed char *__restrict__ out_q,
        float *__restrict__ out_s, const long long kf_rows, const long long kf_cols,
        const long long kf_cols_div, const long long kf_in_x_s0, const long long kf_in_x_s1,
        const long long kf_out_s_s0) {
    k_begin<__NEXT__>();
    typedef k_row<__VEC__, !__PEEL__, __TPR__, __RPB__, __CLUSTER__, int> Row;
    k_index top = (k_index)(blockIdx.x / __CLUSTER__) * __RPB__;
    if (__CLUSTER__ > 1) k_meet_begin();
    const k_index at = top + threadIdx.x / __TPR__;
    const Row row(at, kf_rows, kf_cols);
    k_kept<__KEEP__, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        out_q, out_s, kf_rows, kf_cols, kf_cols_div, kf_in_x_s0, kf_in_x_s1, kf_out_s_s0));
    KF_ENTRY(k_one_row)(row, at, kept, in_x, out_q, out_s, kf_rows, kf_cols, kf_cols_div,
        kf_in_x_s0, kf_in_x_s1, kf_out_s_s0);
}

// The same for any row, and arrays aligned to no more than an element; long rows are not
// summed up by one thread.
extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__)
KF_ENTRY(kf_abs_max_div_div_i8_any)(const float *__restrict__ in_x,
        signed char *__restrict__ out_q, float *__restrict__ out_s, const long long kf_rows,
        const long long kf_cols, const long long kf_cols_div, const long long kf_in_x_s0,
        const long long kf_in_x_s1, const long long kf_out_s_s0) {
    k_begin<false>();
    enum { TPR = __TPR__ < 32 ? 32 : __TPR__, RPB = __TPR__ * __RPB__ / TPR };
    typedef k_row<1, true, TPR, RPB, 1, long long> Row;
    k_index top = (k_index)blockIdx.x * RPB;
    for (; top < kf_rows; top += (k_index)gridDim.x * RPB) {
        const k_index at = top + threadIdx.x / TPR;
        const Row row(at, kf_rows, kf_cols);
        k_kept<2, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        out_q, out_s, kf_rows, kf_cols, kf_cols_div, kf_in_x_s0, kf_in_x_s1, kf_out_s_s0));
        KF_ENTRY(k_one_row)(row, at, kept, in_x, out_q, out_s, kf_rows, kf_cols, kf_cols_div,
        kf_in_x_s0, kf_in_x_s1, kf_out_s_s0);
        __syncthreads();
    }
}
