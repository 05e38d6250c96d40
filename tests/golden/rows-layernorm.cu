// What is read of a vector, and seen of it by the passes.
template <typename ROW> struct k_source {
    struct raw {
        k_pack<unsigned short, ROW::VEC> in_x;
    };
    struct seen {
        float t2[ROW::VEC]; // in_x
    };
    template <int THREADS> struct slots {
        k_pack<unsigned short, ROW::VEC> in_x[THREADS];
    };
    const unsigned short *in_x;

    template <typename I>
    __device__ __forceinline__ raw load(const ROW &row, I v) const {
        raw pack;
        pack.in_x = row.load(in_x, v, (unsigned short)0);
        return pack;
    }
    template <int N, typename V>
    __device__ __forceinline__ void copy(slots<N> &to, const ROW &row, V v) const {
        row.copy(&to.in_x[threadIdx.x], in_x, v, (unsigned short)0);
    }
    template <int N> static __device__ __forceinline__ raw fetch(const slots<N> &from) {
        raw pack;
        pack.in_x = from.in_x[threadIdx.x];
        return pack;
    }
    static __device__ __forceinline__ void see(seen &x, const raw &pack) {
        k_see_bf16(x.t2, pack.in_x);
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
        }
    }
};

// What a pass gathers, on its way through the threads of a row.
struct k_pass0 {
    float t5; // mean of t2
};
K_INLINE k_pass0 k_join(const k_pass0 &a, const k_pass0 &b) {
    k_pass0 c;
    c.t5 = a.t5 + b.t5;
    return c;
}

// What a pass gathers, on its way through the threads of a row.
struct k_pass1 {
    float d7; // var of t2
    float q7; // var of t2
};
K_INLINE k_pass1 k_join(const k_pass1 &a, const k_pass1 &b) {
    k_pass1 c;
    c.d7 = a.d7 + b.d7;
    c.q7 = a.q7 + b.q7;
    return c;
}

// What a pass gathers, on its way through the threads of a row.
struct k_online0 {
    float t5; // mean of t2
    k_moments<float> v7; // var of t2
};
K_INLINE k_online0 k_join(const k_online0 &a, const k_online0 &b) {
    k_online0 c;
    c.t5 = a.t5 + b.t5;
    c.v7 = k_join(a.v7, b.v7);
    return c;
}

// Arrays that are one row, read ahead if EARLY.
template <bool EARLY, int ITEMS, typename ROW> struct k_ahead {
    const k_columns<EARLY, ITEMS, unsigned short, ROW> in_g;
    const k_columns<EARLY, ITEMS, unsigned short, ROW> in_b;
};
#endif

// What is read of row `at`, if there is one.
template <typename ROW>
K_INLINE k_source<ROW> KF_ENTRY(k_find_source)(const k_index at,
        const unsigned short *__restrict__ in_x, const unsigned short *__restrict__ in_g,
        const unsigned short *__restrict__ in_b, unsigned short *__restrict__ out_out,
        const k_index kf_rows, const k_index kf_cols, const long long kf_cols_div,
        const float s_eps) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    return {in_x};
}

#if __ONLINE__ && __KEEP__ != 0
// Row `at`, if there is one: all threads of the block are here.
template <typename ROW, typename KEPT, typename AHEAD>
K_INLINE void KF_ENTRY(k_one_row)(const ROW &row, const k_index at, KEPT &kept, const AHEAD &ahead,
        const unsigned short *__restrict__ in_x, const unsigned short *__restrict__ in_g,
        const unsigned short *__restrict__ in_b, unsigned short *__restrict__ out_out,
        const k_index kf_rows, const k_index kf_cols, const long long kf_cols_div,
        const float s_eps) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    kept.begin(row);
    const float share = 1 / (float)kf_cols;
    if (ROW::BLOCKS > 1) k_cluster_wait();

    // pass 0
    k_online0 online0 = {0, {0, 0, 0, 0}};
    kept.each([&](auto v, auto &x, int i) {
        float e7[ROW::VEC];
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t2 = x.t2[j];
            online0.t5 += t2;
            e7[j] = t2;
        }
        k_take(online0.v7, e7, row, v);
    });
    online0 = row.reduce(online0);
    const float t5 = online0.t5 * share;
    const float t7 = k_variance(online0.v7);
    const float t9 = t7 + s_eps;
    const float t10 = k_near_sqrt(t9);
    const float t12 = k_near_div(1.0f, t10);

    // pass 1
    kept.each([&](auto v, auto &x, int i) {
        const auto in_g_v = ahead.in_g.get(row, v, i);
        float in_g_x[ROW::VEC];
        k_see_bf16(in_g_x, in_g_v);
        const auto in_b_v = ahead.in_b.get(row, v, i);
        float in_b_x[ROW::VEC];
        k_see_bf16(in_b_x, in_b_v);
        k_pack<unsigned short, ROW::VEC> out_out_v;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t2 = x.t2[j];
            const float t3 = in_g_x[j];
            const float t4 = in_b_x[j];
            const float t6 = t2 - t5;
            const float t13 = t6 * t12;
            const float t14 = t13 * t3;
            const float t15 = t14 + t4;
            out_out_v.at[j] = k_to_bf16(t15);
        }
        row.store(out_out, v, out_out_v);
    });
}

#else
// Row `at`, if there is one: all threads of the block are here.
template <typename ROW, typename KEPT, typename AHEAD>
K_INLINE void KF_ENTRY(k_one_row)(const ROW &row, const k_index at, KEPT &kept, const AHEAD &ahead,
        const unsigned short *__restrict__ in_x, const unsigned short *__restrict__ in_g,
        const unsigned short *__restrict__ in_b, unsigned short *__restrict__ out_out,
        const k_index kf_rows, const k_index kf_cols, const long long kf_cols_div,
        const float s_eps) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    kept.begin(row);
    const float share = 1 / (float)kf_cols;
    if (ROW::BLOCKS > 1) k_cluster_wait();

    // pass 0
    k_pass0 pass0 = {0};
    kept.each([&](auto v, auto &x, int i) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t2 = x.t2[j];
            pass0.t5 += t2;
        }
    });
    pass0 = row.reduce(pass0);
    const float t5 = pass0.t5 * share;

    // pass 1
    k_pass1 pass1 = {0, 0};
    kept.each([&](auto v, auto &x, int i) {
        float d7_v = 0;
        float q7_v = 0;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t2 = x.t2[j];
            const float d7 = ROW::WHOLE || row.holds(v, j) ? t2 - t5 : 0;
            d7_v += d7;
            q7_v = fmaf(d7, d7, q7_v);
        }
        if (row.has(v)) pass1.d7 += d7_v;
        if (row.has(v)) pass1.q7 += q7_v;
    });
    pass1 = row.reduce(pass1);
    const float t7 = k_variance(pass1.d7, pass1.q7, share);
    const float t9 = t7 + s_eps;
    const float t10 = k_near_sqrt(t9);
    const float t12 = k_near_div(1.0f, t10);

    // pass 2
    kept.each([&](auto v, auto &x, int i) {
        const auto in_g_v = ahead.in_g.get(row, v, i);
        float in_g_x[ROW::VEC];
        k_see_bf16(in_g_x, in_g_v);
        const auto in_b_v = ahead.in_b.get(row, v, i);
        float in_b_x[ROW::VEC];
        k_see_bf16(in_b_x, in_b_v);
        k_pack<unsigned short, ROW::VEC> out_out_v;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t2 = x.t2[j];
            const float t3 = in_g_x[j];
            const float t4 = in_b_x[j];
            const float t6 = t2 - t5;
            const float t13 = t6 * t12;
            const float t14 = t13 * t3;
            const float t15 = t14 + t4;
            out_out_v.at[j] = k_to_bf16(t15);
        }
        row.store(out_out, v, out_out_v);
    });
}

#endif

extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__,
        __KEEP__ == 1 ? (__ITEMS__ > 2 ? 1024 : 1536) / (__TPR__ * __RPB__) : __KEEP__ == 0 && __EARLY__ == 0 && __VEC__ * __ITEMS__ * 1 > 16 && __VEC__ * __ITEMS__ * 1 <= 32 && __TPR__ * __RPB__ >= 256 ? 1024 / (__TPR__ * __RPB__) : 1)
KF_ENTRY(kf_layernorm)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_g, const unsigned short *__restrict__ in_b,
        unsigned short *__restrict__ out_out, const long long kf_rows, const long long kf_cols,
        const long long kf_cols_div, const float s_eps) {
    k_begin<__NEXT__>();
    typedef k_row<__VEC__, !__PEEL__, __TPR__, __RPB__, __CLUSTER__, int> Row;
    k_index top = (k_index)(blockIdx.x / __CLUSTER__) * __RPB__;
    if (__CLUSTER__ > 1) k_meet_begin();
    const k_ahead<__KEEP__ == 0 && __EARLY__ && !(__PEEL__ && __GRID__), __ITEMS__, Row> ahead = {{in_g, Row(top + threadIdx.x / __TPR__, kf_rows, kf_cols)},
        {in_b, Row(top + threadIdx.x / __TPR__, kf_rows, kf_cols)}};
    for (;;) {
        const k_index at = top + threadIdx.x / __TPR__;
        const Row row(at, kf_rows, kf_cols);
        k_kept<__KEEP__, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        in_g, in_b, out_out, kf_rows, kf_cols, kf_cols_div, s_eps));
        KF_ENTRY(k_one_row)(row, at, kept, ahead, in_x, in_g, in_b, out_out, kf_rows, kf_cols,
        kf_cols_div, s_eps);
        top += (k_index)gridDim.x * __RPB__;
        if (__GRID__ == 0 || top >= kf_rows) break;
        if (__TPR__ > 32) __syncthreads();
    }
}

// The same for any row, and arrays aligned to no more than an element; long rows are not
// summed up by one thread.
extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__)
KF_ENTRY(kf_layernorm_any)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_g, const unsigned short *__restrict__ in_b,
        unsigned short *__restrict__ out_out, const long long kf_rows, const long long kf_cols,
        const long long kf_cols_div, const float s_eps) {
    k_begin<false>();
    enum { TPR = __TPR__ < 32 ? 32 : __TPR__, RPB = __TPR__ * __RPB__ / TPR };
    typedef k_row<1, true, TPR, RPB, 1, long long> Row;
    k_index top = (k_index)blockIdx.x * RPB;
    for (; top < kf_rows; top += (k_index)gridDim.x * RPB) {
        const k_index at = top + threadIdx.x / TPR;
        const Row row(at, kf_rows, kf_cols);
        const k_ahead<false, 1, Row> ahead = {{in_g, row}, {in_b, row}};
        k_kept<2, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        in_g, in_b, out_out, kf_rows, kf_cols, kf_cols_div, s_eps));
        KF_ENTRY(k_one_row)(row, at, kept, ahead, in_x, in_g, in_b, out_out, kf_rows, kf_cols,
        kf_cols_div, s_eps);
        __syncthreads();
    }
}
