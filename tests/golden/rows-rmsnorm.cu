// What is read of a vector, and seen of it by the passes.
template <typename ROW> struct k_source {
    struct raw {
        k_pack<unsigned short, ROW::VEC> in_x;
        k_pack<unsigned short, ROW::VEC> in_res;
    };
    struct seen {
        float t1[ROW::VEC]; // in_x
        float t2[ROW::VEC]; // in_res
    };
    template <int THREADS> struct slots {
        k_pack<unsigned short, ROW::VEC> in_x[THREADS];
        k_pack<unsigned short, ROW::VEC> in_res[THREADS];
    };
    const unsigned short *in_x;
    const unsigned short *in_res;

    template <typename I>
    __device__ __forceinline__ raw load(const ROW &row, I v) const {
        raw pack;
        pack.in_x = row.load(in_x, v, (unsigned short)0);
        pack.in_res = row.load(in_res, v, (unsigned short)0);
        return pack;
    }
    template <int N, typename V>
    __device__ __forceinline__ void copy(slots<N> &to, const ROW &row, V v) const {
        row.copy(&to.in_x[threadIdx.x], in_x, v, (unsigned short)0);
        row.copy(&to.in_res[threadIdx.x], in_res, v, (unsigned short)0);
    }
    template <int N> static __device__ __forceinline__ raw fetch(const slots<N> &from) {
        raw pack;
        pack.in_x = from.in_x[threadIdx.x];
        pack.in_res = from.in_res[threadIdx.x];
        return pack;
    }
    static __device__ __forceinline__ void see(seen &x, const raw &pack) {
        k_see_bf16(x.t1, pack.in_x);
        k_see_bf16(x.t2, pack.in_res);
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
        }
    }
};

// What a pass gathers, on its way through the threads of a row.
struct k_pass0 {
    float t6; // mean of t5
};
K_INLINE k_pass0 k_join(const k_pass0 &a, const k_pass0 &b) {
    k_pass0 c;
    c.t6 = a.t6 + b.t6;
    return c;
}

// Arrays that are one row, read ahead if EARLY.
template <bool EARLY, int ITEMS, typename ROW> struct k_ahead {
    const k_columns<EARLY, ITEMS, unsigned short, ROW> in_g;
};
#endif

// What is read of row `at`, if there is one.
template <typename ROW>
K_INLINE k_source<ROW> KF_ENTRY(k_find_source)(const k_index at,
        const unsigned short *__restrict__ in_x, const unsigned short *__restrict__ in_res,
        const unsigned short *__restrict__ in_g, unsigned short *__restrict__ out_y,
        unsigned short *__restrict__ out_h, const k_index kf_rows, const k_index kf_cols,
        const long long kf_cols_div) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    return {in_x, in_res};
}

// Row `at`, if there is one: all threads of the block are here.
template <typename ROW, typename KEPT, typename AHEAD>
K_INLINE void KF_ENTRY(k_one_row)(const ROW &row, const k_index at, KEPT &kept, const AHEAD &ahead,
        const unsigned short *__restrict__ in_x, const unsigned short *__restrict__ in_res,
        const unsigned short *__restrict__ in_g, unsigned short *__restrict__ out_y,
        unsigned short *__restrict__ out_h, const k_index kf_rows, const k_index kf_cols,
        const long long kf_cols_div) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    kept.begin(row);
    const float share = 1 / (float)kf_cols;
    if (ROW::BLOCKS > 1) k_cluster_wait();

    // pass 0
    k_pass0 pass0 = {0};
    kept.each([&](auto v, auto &x, int i) {
        k_pack<unsigned short, ROW::VEC> out_h_v;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t2 = x.t2[j];
            const float t3 = t1 + t2;
            pass0.t6 = fmaf(t3, t3, pass0.t6);
            out_h_v.at[j] = k_to_bf16(t3);
        }
        row.store(out_h, v, out_h_v);
    });
    pass0 = row.reduce(pass0);
    const float t6 = pass0.t6 * share;
    const float t8 = t6 + 1e-5f;
    const float t9 = k_near_sqrt(t8);
    const float t11 = k_near_div(1.0f, t9);

    // pass 1
    kept.each([&](auto v, auto &x, int i) {
        const auto in_g_v = ahead.in_g.get(row, v, i);
        float in_g_x[ROW::VEC];
        k_see_bf16(in_g_x, in_g_v);
        k_pack<unsigned short, ROW::VEC> out_y_v;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t2 = x.t2[j];
            const float t3 = t1 + t2;
            const float t4 = in_g_x[j];
            const float t12 = t3 * t11;
            const float t13 = t12 * t4;
            out_y_v.at[j] = k_to_bf16(t13);
        }
        row.store(out_y, v, out_y_v);
    });
}

extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__,
        __KEEP__ == 1 ? (__ITEMS__ > 2 ? 1024 : 1536) / (__TPR__ * __RPB__) : __KEEP__ == 0 && __EARLY__ == 0 && __VEC__ * __ITEMS__ * 2 > 16 && __VEC__ * __ITEMS__ * 2 <= 32 && __TPR__ * __RPB__ >= 256 ? 1024 / (__TPR__ * __RPB__) : 1)
KF_ENTRY(kf_add_rmsnorm)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_res, const unsigned short *__restrict__ in_g,
        unsigned short *__restrict__ out_y, unsigned short *__restrict__ out_h,
        const long long kf_rows, const long long kf_cols, const long long kf_cols_div) {
    k_begin<__NEXT__>();
    typedef k_row<__VEC__, !__PEEL__, __TPR__, __RPB__, __CLUSTER__, int> Row;
    k_index top = (k_index)(blockIdx.x / __CLUSTER__) * __RPB__;
    if (__CLUSTER__ > 1) k_meet_begin();
    const k_ahead<__KEEP__ == 0 && __EARLY__ && !(__PEEL__ && __GRID__), __ITEMS__, Row> ahead = {{in_g, Row(top + threadIdx.x / __TPR__, kf_rows, kf_cols)}};
    for (;;) {
        const k_index at = top + threadIdx.x / __TPR__;
        const Row row(at, kf_rows, kf_cols);
        k_kept<__KEEP__, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        in_res, in_g, out_y, out_h, kf_rows, kf_cols, kf_cols_div));
        KF_ENTRY(k_one_row)(row, at, kept, ahead, in_x, in_res, in_g, out_y, out_h, kf_rows,
        kf_cols, kf_cols_div);
        top += (k_index)gridDim.x * __RPB__;
        if (__GRID__ == 0 || top >= kf_rows) break;
        if (__TPR__ > 32) __syncthreads();
    }
}

// The same for any row, and arrays aligned to no more than an element; long rows are not
// summed up by one thread.
extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__)
KF_ENTRY(kf_add_rmsnorm_any)(const unsigned short *__restrict__ in_x,
        const unsigned short *__restrict__ in_res, const unsigned short *__restrict__ in_g,
        unsigned short *__restrict__ out_y, unsigned short *__restrict__ out_h,
        const long long kf_rows, const long long kf_cols, const long long kf_cols_div) {
    k_begin<false>();
    enum { TPR = __TPR__ < 32 ? 32 : __TPR__, RPB = __TPR__ * __RPB__ / TPR };
    typedef k_row<1, true, TPR, RPB, 1, long long> Row;
    k_index top = (k_index)blockIdx.x * RPB;
    for (; top < kf_rows; top += (k_index)gridDim.x * RPB) {
        const k_index at = top + threadIdx.x / TPR;
        const Row row(at, kf_rows, kf_cols);
        const k_ahead<false, 1, Row> ahead = {{in_g, row}};
        k_kept<2, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        in_res, in_g, out_y, out_h, kf_rows, kf_cols, kf_cols_div));
        KF_ENTRY(k_one_row)(row, at, kept, ahead, in_x, in_res, in_g, out_y, out_h, kf_rows,
        kf_cols, kf_cols_div);
        __syncthreads();
    }
}
