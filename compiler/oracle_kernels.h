/* The kernels of the device's oracle, behind interval.h and its like and before what oracle_cuda.c
 * emits for one program: `Expect oracle_element(in, output, i)` and the table of outputs. Any
 * one-dimensional grid will do; blocks of at most ORACLE_BLOCK threads, a power of two. */
#ifndef KF_ORACLE_KERNELS_H
#define KF_ORACLE_KERNELS_H

enum { ORACLE_BLOCK = 1024 };
enum { STATE_MAY_NAN = 1, STATE_MUST_NAN = 2, STATE_AMBIGUOUS = 4, STATE_UNCHECKED = 8 };

/* What one stored element may be: of floating types in lo … hi, of others in whole. */
typedef struct Expect {
    double lo, value, hi;
    Whole whole;
    int state;
} Expect;

/* One row of a long program's table. */
typedef struct Step {
    int what, out, arg[3];
    int64_t constant;
} Step;

typedef struct OracleReport {
    unsigned long long checked, unchecked, ambiguous, wrong;
    long long first_wrong;
    double worst_bound, worst_ulp;
    long long worst_bound_at, worst_ulp_at;
} OracleReport;

static __device__ Expect expect_real(int type, Interval a, int ambiguous) {
    Expect e;
    int any = a.nan != NAN_MUST && interval_is_whole_line(a);
    e.lo = (double)storage_round(type, a.lo);
    e.hi = (double)storage_round(type, a.hi);
    e.value = (double)a.v;
    e.whole = whole_point(0);
    e.state = (a.nan == NAN_MUST ? STATE_MUST_NAN : 0) | (a.nan == NAN_MAY ? STATE_MAY_NAN : 0);
    e.state |= (ambiguous ? STATE_AMBIGUOUS : 0) | (any ? STATE_UNCHECKED : 0);
    return e;
}

static __device__ Expect expect_whole(int type, Whole a, int ambiguous) {
    Expect e;
    int any = type != DT_BOOL && a.lo == storage_low(type) && a.hi == storage_high(type);
    e.lo = (double)a.lo;
    e.hi = (double)a.hi;
    e.value = (double)a.v;
    e.whole = a;
    e.state = (ambiguous ? STATE_AMBIGUOUS : 0) | (any ? STATE_UNCHECKED : 0);
    return e;
}

/* The program's own part, emitted behind this text. */
static __device__ Expect oracle_element(const void *const *in, uint32_t output, int64_t i);
static __device__ int oracle_type(uint32_t output);
static __device__ int64_t oracle_offset(uint32_t output, int64_t i);

static __device__ int is_right_real(Expect e, double x) {
    int exact = bits_of_double(e.lo) == bits_of_double(e.hi);
    if (x != x) return (e.state & (STATE_MAY_NAN | STATE_MUST_NAN)) != 0;
    return exact ? bits_of_double(x) == bits_of_double(e.lo) : e.lo <= x && x <= e.hi;
}

/* Fractions of the bound and ulp, as check.c measures them. */
static __device__ void measure(int type, Expect e, double x, double *bound, double *ulps) {
    double error = fabs(x - e.value), side = x > e.value ? e.hi - e.value : e.value - e.lo;
    double ulp = storage_ulp(type, e.value), other = x > e.value ? e.value - e.lo : e.hi - e.value;
    *bound = *ulps = -1;
    if (!(error - error == 0)) return;
    *bound = e.lo == e.hi ? 0 : error / (side + ulp / 2);
    if (!((side > other ? side : other) / ulp >= 8)) *ulps = error / ulp;
}

static __device__ void report_element(OracleReport *report, Expect e, int type, const void *out,
                                      int64_t at, int64_t i) {
    double x = 0, bound = -1, ulps = -1;
    int right;
    if (storage_is_float(type)) {
        x = (double)storage_load_real(type, out, at);
        right = is_right_real(e, x);
        measure(type, e, x, &bound, &ulps);
    } else {
        int64_t whole = storage_load_whole(type == DT_BOOL ? DT_U8 : type, out, at);
        right = e.whole.lo <= whole && whole <= e.whole.hi;
    }
    report->ambiguous += (e.state & STATE_AMBIGUOUS) != 0;
    if (e.state & STATE_UNCHECKED) {
        report->unchecked++;
        return;
    }
    report->checked++;
    report->wrong += !right;
    if (!right && i < report->first_wrong) report->first_wrong = i;
    if (bound > report->worst_bound || (bound == report->worst_bound && i < report->worst_bound_at))
        report->worst_bound = bound, report->worst_bound_at = i;
    if (ulps > report->worst_ulp || (ulps == report->worst_ulp && i < report->worst_ulp_at))
        report->worst_ulp = ulps, report->worst_ulp_at = i;
}

static __device__ OracleReport report_none(void) {
    OracleReport report;
    report.checked = report.unchecked = report.ambiguous = report.wrong = 0;
    report.first_wrong = report.worst_bound_at = report.worst_ulp_at = 0x7fffffffffffffff;
    report.worst_bound = report.worst_ulp = -1;
    return report;
}

static __device__ void report_merge(OracleReport *into, const OracleReport *from) {
    into->checked += from->checked;
    into->unchecked += from->unchecked;
    into->ambiguous += from->ambiguous;
    into->wrong += from->wrong;
    if (from->first_wrong < into->first_wrong) into->first_wrong = from->first_wrong;
    if (from->worst_bound > into->worst_bound ||
        (from->worst_bound == into->worst_bound && from->worst_bound_at < into->worst_bound_at))
        into->worst_bound = from->worst_bound, into->worst_bound_at = from->worst_bound_at;
    if (from->worst_ulp > into->worst_ulp ||
        (from->worst_ulp == into->worst_ulp && from->worst_ulp_at < into->worst_ulp_at))
        into->worst_ulp = from->worst_ulp, into->worst_ulp_at = from->worst_ulp_at;
}

/* One report a block, then one block at a time into the caller's. A thread hands its report on
 * through shared memory, half of the block to the other half. */
static __device__ unsigned int oracle_lock;

static __device__ void report_publish(OracleReport mine, OracleReport *report) {
    __shared__ OracleReport half[ORACLE_BLOCK / 2];
    for (unsigned int width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x >= width && threadIdx.x < 2 * width) half[threadIdx.x - width] = mine;
        __syncthreads();
        if (threadIdx.x < width) report_merge(&mine, &half[threadIdx.x]);
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    while (atomicCAS(&oracle_lock, 0u, 1u) != 0) {
    }
    __threadfence();
    report_merge(report, &mine);
    __threadfence();
    atomicExch(&oracle_lock, 0u);
}

extern "C" __global__ void kf_expect(const void *const *in, uint32_t output, const int64_t *index,
                                     int64_t count, double *lo, double *value, double *hi,
                                     uint8_t *state) {
    for (int64_t i = first_index(); i < count; i += index_step()) {
        Expect e = oracle_element(in, output, index[i]);
        lo[i] = e.lo;
        value[i] = e.value;
        hi[i] = e.hi;
        state[i] = (uint8_t)e.state;
    }
}

extern "C" __global__ void kf_check(const void *const *in, void *const *out, uint32_t output,
                                    int64_t begin, int64_t count, OracleReport *report) {
    OracleReport mine = report_none();
    int type = oracle_type(output);
    for (int64_t i = first_index(); i < count; i += index_step()) {
        Expect e = oracle_element(in, output, begin + i);
        report_element(&mine, e, type, out[output], oracle_offset(output, begin + i), begin + i);
    }
    report_publish(mine, report);
}

#endif
