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

    template <typename I>
    __device__ __forceinline__ raw load(const ROW &row, I v) const {
        raw pack;
        pack.in_x = row.load(in_x, v, (float)-K_INF);
        return pack;
    }
    template <int N, typename V>
    __device__ __forceinline__ void copy(slots<N> &to, const ROW &row, V v) const {
        row.copy(&to.in_x[threadIdx.x], in_x, v, (float)-K_INF);
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
    float t2; // max of t1
};
K_INLINE k_pass0 k_join(const k_pass0 &a, const k_pass0 &b) {
    k_pass0 c;
    c.t2 = k_max(a.t2, b.t2);
    return c;
}

// What a pass gathers, on its way through the threads of a row.
struct k_pass1 {
    float t5; // sum of t4
};
K_INLINE k_pass1 k_join(const k_pass1 &a, const k_pass1 &b) {
    k_pass1 c;
    c.t5 = a.t5 + b.t5;
    return c;
}

// What a pass gathers, on its way through the threads of a row.
struct k_online0 {
    float t2; // max of t1
    float t5; // sum of t4
};
K_INLINE k_online0 k_join(const k_online0 &a, const k_online0 &b) {
    k_online0 c;
    c.t2 = k_max(a.t2, b.t2);
    c.t5 = k_rescale(a.t5, a.t2, c.t2) + k_rescale(b.t5, b.t2, c.t2);
    return c;
}
template <int LANES> K_INLINE void k_level(k_online0 &a) {
    float b2 = a.t2;
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) b2 = k_max(b2, k_shuffle(b2, step));
    a.t5 = k_rescale(a.t5, a.t2, b2);
    a.t2 = b2;
}
#endif

// What is read of row `at`, if there is one.
template <typename ROW>
K_INLINE k_source<ROW> KF_ENTRY(k_find_source)(const k_index at,
        const float *__restrict__ in_x, float *__restrict__ out_out, const k_index kf_rows,
        const k_index kf_cols, const long long kf_cols_div) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    return {in_x};
}

#if __ONLINE__ && __KEEP__ != 0
// Row `at`, if there is one: all threads of the block are here.
template <typename ROW, typename KEPT>
K_INLINE void KF_ENTRY(k_one_row)(const ROW &row, const k_index at, KEPT &kept,
        const float *__restrict__ in_x, float *__restrict__ out_out, const k_index kf_rows,
        const k_index kf_cols, const long long kf_cols_div) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    kept.begin(row);
    if (ROW::BLOCKS > 1) k_cluster_wait();

    // pass 0
    k_online0 online0 = {-K_INF, 0};
    float b2 = online0.t2;
    kept.each([&](auto v, auto &x, int i, auto &raw) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            online0.t2 = k_max(online0.t2, t1);
        }
    }, [&] {
        online0.t5 = k_rescale(online0.t5, b2, online0.t2);
        b2 = online0.t2;
    }, [&](auto v, auto &x, int i) {
        const float t2 = b2 == -K_INF ? 0 : b2;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t3 = t1 - t2;
            const float t4 = expf(t3);
            online0.t5 += t4;
        }
    });
    online0 = row.reduce(online0);
    const float t2 = online0.t2;
    const float t5 = t2 == -K_INF && kf_cols > 0 ? K_NAN : online0.t5;
    const float r5 = 1 / t5;

    // pass 1
    kept.each([&](auto v, auto &x, int i) {
        k_pack<float, ROW::VEC> out_out_v;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t3 = t1 - t2;
            const float t4 = expf(t3);
            const float t6 = t4 * r5;
            out_out_v.at[j] = t6;
        }
        row.store(out_out, v, out_out_v);
    });
}

#else
// Row `at`, if there is one: all threads of the block are here.
template <typename ROW, typename KEPT>
K_INLINE void KF_ENTRY(k_one_row)(const ROW &row, const k_index at, KEPT &kept,
        const float *__restrict__ in_x, float *__restrict__ out_out, const k_index kf_rows,
        const k_index kf_cols, const long long kf_cols_div) {
    [[maybe_unused]] const k_index place = at < kf_rows ? at : kf_rows - 1;
    kept.begin(row);
    if (ROW::BLOCKS > 1) k_cluster_wait();

    // pass 0
    k_pass0 pass0 = {-K_INF};
    kept.each([&](auto v, auto &x, int i) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            pass0.t2 = k_max(pass0.t2, t1);
        }
    });
    pass0 = row.reduce(pass0);
    const float t2 = pass0.t2;

    // pass 1
    k_pass1 pass1 = {0};
    kept.each([&](auto v, auto &x, int i) {
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t3 = t1 - t2;
            const float t4 = expf(t3);
            pass1.t5 += t4;
        }
    });
    pass1 = row.reduce(pass1);
    const float t5 = pass1.t5;
    const float r5 = 1 / t5;

    // pass 2
    kept.each([&](auto v, auto &x, int i) {
        k_pack<float, ROW::VEC> out_out_v;
#pragma unroll
        for (int j = 0; j < ROW::VEC; j++) {
            const float t1 = x.t1[j];
            const float t3 = t1 - t2;
            const float t4 = expf(t3);
            const float t6 = t4 * r5;
            out_out_v.at[j] = t6;
        }
        row.store(out_out, v, out_out_v);
    });
}

#endif

extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__,
        __KEEP__ == 1 ? (__ITEMS__ > 2 ? 1536 : 2048) / (__TPR__ * __RPB__) : 1)
KF_ENTRY(kf_softmax)(const float *__restrict__ in_x, float *__restrict__ out_out,
        const long long kf_rows, const long long kf_cols, const long long kf_cols_div) {
    k_begin<__NEXT__>();
    typedef k_row<__VEC__, !__PEEL__, __TPR__, __RPB__, __CLUSTER__, int> Row;
    k_index top = (k_index)(blockIdx.x / __CLUSTER__) * __RPB__;
    if (__CLUSTER__ > 1) k_meet_begin();
    const k_index at = top + threadIdx.x / __TPR__;
    const Row row(at, kf_rows, kf_cols);
    k_kept<__KEEP__, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        out_out, kf_rows, kf_cols, kf_cols_div));
    KF_ENTRY(k_one_row)(row, at, kept, in_x, out_out, kf_rows, kf_cols, kf_cols_div);
}

// The same for any row, and arrays aligned to no more than an element; long rows are not
// summed up by one thread.
extern "C" __global__ void __launch_bounds__(__TPR__ * __RPB__)
KF_ENTRY(kf_softmax_any)(const float *__restrict__ in_x, float *__restrict__ out_out,
        const long long kf_rows, const long long kf_cols, const long long kf_cols_div) {
    k_begin<false>();
    enum { TPR = __TPR__ < 32 ? 32 : __TPR__, RPB = __TPR__ * __RPB__ / TPR };
    typedef k_row<1, true, TPR, RPB, 1, long long> Row;
    k_index top = (k_index)blockIdx.x * RPB;
    for (; top < kf_rows; top += (k_index)gridDim.x * RPB) {
        const k_index at = top + threadIdx.x / TPR;
        const Row row(at, kf_rows, kf_cols);
        k_kept<2, __ITEMS__, k_source<Row>, Row> kept(KF_ENTRY(k_find_source)<Row>(at, in_x,
        out_out, kf_rows, kf_cols, kf_cols_div));
        KF_ENTRY(k_one_row)(row, at, kept, in_x, out_out, kf_rows, kf_cols, kf_cols_div);
        __syncthreads();
    }
}
