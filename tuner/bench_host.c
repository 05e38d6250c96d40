/* The hands of a device whose memory is the host's: the oracle reads results where they lie, and a
 * team of threads does the rest. */
#include <stdlib.h>
#include <string.h>

#include "tuner/bench_rig.h"

#define KF_COMPUTE_BITS 64
#include "compiler/storage.h"
#include "compiler/interval.h"
#include "compiler/whole.h"
#include "compiler/sample.h"

static void *pointer(Address address) {
    return (void *)(uintptr_t)address;
}

static bool open_hands(Rig *rig, Why *why) {
    (void)rig, (void)why;
    return true;
}

static void close_hands(Rig *rig) {
    (void)rig;
}

static bool fill(Rig *rig, uint32_t slot, Address storage, Why *why) {
    (void)why;
    rig_fill_host(rig, slot, pointer(storage));
    return true;
}

/* --- bytes */

typedef struct Bytes {
    uint8_t *to;
    const uint8_t *from; /* NULL: none */
    size_t count, slice; /* slice: bytes a part */
    DType dtype;
    bool *same; /* per part */
} Bytes;

enum { CHUNK = 4096 }; /* bytes; a multiple of every element's size */

static size_t slice_begin(const Bytes *job, int64_t part) {
    size_t begin = job->slice * (size_t)part;
    return begin < job->count ? begin : job->count;
}

static size_t slice_length(const Bytes *job, int64_t part) {
    size_t left = job->count - slice_begin(job, part);
    return left < job->slice ? left : job->slice;
}

static void spread(Rig *rig, Bytes *job, void (*work)(void *context, int64_t part)) {
    size_t parts = job->count < RIG_SMALL ? 1 : (size_t)team_size(rig->team);
    job->slice = (job->count / parts / CHUNK + 1) * CHUNK;
    if (parts == 1)
        work(job, 0);
    else
        team_run(rig->team, (int64_t)parts, work, job);
}

static void copy_part(void *context, int64_t part) {
    const Bytes *job = context;
    size_t begin = slice_begin(job, part);
    memcpy(job->to + begin, job->from + begin, slice_length(job, part));
}

static bool copy(Rig *rig, Address to, Address from, size_t bytes, Why *why) {
    Bytes job = {.to = pointer(to), .from = pointer(from), .count = bytes};
    (void)why;
    if (bytes > 0) spread(rig, &job, copy_part);
    return true;
}

static void poison_part(void *context, int64_t part) {
    const Bytes *job = context;
    size_t begin = slice_begin(job, part), length = slice_length(job, part);
    if (!job->from) memset(job->to + begin, 0xFF, length);
    for (size_t i = begin; job->from && i < begin + length; i++)
        job->to[i] = (uint8_t)~job->from[i];
}

static bool poison(Rig *rig, Address to, Address golden, size_t bytes, Why *why) {
    Bytes job = {.to = pointer(to), .from = pointer(golden), .count = bytes};
    (void)why;
    if (bytes > 0) spread(rig, &job, poison_part);
    return true;
}

static bool is_nan(DType dtype, const uint8_t *bytes) {
    return dtype_is_float(dtype) && dtype_load(dtype, bytes).real != dtype_load(dtype, bytes).real;
}

/* Bits that differ may be two NaNs. */
static bool same_elements(DType dtype, const uint8_t *a, const uint8_t *b, size_t bytes) {
    size_t size = dtype_info(dtype)->bytes;
    for (size_t i = 0; i < bytes; i += size)
        if (memcmp(a + i, b + i, size) != 0 && !(is_nan(dtype, a + i) && is_nan(dtype, b + i)))
            return false;
    return true;
}

static void compare_part(void *context, int64_t part) {
    const Bytes *job = context;
    size_t begin = slice_begin(job, part), end = begin + slice_length(job, part);
    bool same = true;
    for (size_t at = begin; at < end && same; at += CHUNK) {
        size_t length = end - at < CHUNK ? end - at : CHUNK;
        same = memcmp(job->to + at, job->from + at, length) == 0 ||
               same_elements(job->dtype, job->to + at, job->from + at, length);
    }
    job->same[part] = same;
}

static bool same_bits(Rig *rig, DType dtype, Address a, Address b, int64_t count, bool *same,
                      Why *why) {
    int parts = team_size(rig->team);
    Bytes job = {.to = pointer(a), .from = pointer(b), .dtype = dtype};
    job.count = (size_t)count * dtype_info(dtype)->bytes;
    job.same = calloc((size_t)parts, sizeof *job.same);
    if (!job.same) return why_set(why, "out of memory");
    for (int i = 0; i < parts; i++) job.same[i] = true;
    spread(rig, &job, compare_part);
    *same = true;
    for (int i = 0; i < parts; i++) *same = *same && job.same[i];
    free(job.same);
    return true;
}

/* --- the oracle */

/* Whole outputs are judged up to here, larger ones by this many elements, one in each of as many
 * strata (gate.md, "Where"). */
static const int64_t whole_limit = (int64_t)1 << 25, sample_count = (int64_t)1 << 20;
/* Multiplications: products that cost more are judged by sampled rows that cost half. A CPU does one
 * in 0.7 ns, along the columns of the right operand in 1.6 ns: 0.8 to 1.7 s on two. */
static const int64_t work_limit = (int64_t)1 << 31, rows_work = (int64_t)1 << 30;

typedef struct Judging {
    Eval *eval;
    const Tensor *tensor;
    const uint8_t *zero;
    uint32_t output;
    int64_t count, step;   /* elements; a stratum's size, 1: all of them */
    int64_t rows, columns; /* sampled rows, 0: none */
    int64_t row[SAMPLE_ROWS];
    int parts;
    uint64_t seed;
    Check *checks; /* per part */
} Judging;

/* The listed elements, packed; where they lie, if they lie so. */
static const uint8_t *pack(const Judging *job, const int64_t *index, int64_t count, uint8_t *room) {
    const Tensor *tensor = job->tensor;
    if (tensor->dense && job->step == 1 && job->rows == 0)
        return job->zero + (size_t)index[0] * tensor->size;
    for (int64_t i = 0; i < count; i++)
        memcpy(room + (size_t)i * tensor->size, job->zero + tensor_offset(tensor, index[i]),
               tensor->size);
    return room;
}

/* Positions in a block of listed elements as positions in the output. */
static void place(Check *check, const int64_t *index) {
    if (check->first_wrong >= 0) check->first_wrong = index[check->first_wrong];
    if (check->worst_bound_at >= 0) check->worst_bound_at = index[check->worst_bound_at];
    if (check->worst_ulp_at >= 0) check->worst_ulp_at = index[check->worst_ulp_at];
}

static uint64_t mix(uint64_t x) { /* splitmix64's finaliser */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The element that stands for stratum `at`: any of it, but the very last one of all in the last. */
static int64_t choose(const Judging *job, int64_t at) {
    int64_t begin = at * job->step, size = job->count - begin;
    if (size <= job->step) return job->count - 1;
    return begin + (int64_t)(mix(job->seed ^ (uint64_t)at) % (uint64_t)job->step);
}

static int64_t judged_count(const Judging *job) {
    return job->rows > 0 ? job->rows * job->columns : (job->count + job->step - 1) / job->step;
}

static int64_t judged_element(const Judging *job, int64_t at) {
    if (job->rows > 0) return job->row[at / job->columns] * job->columns + at % job->columns;
    return job->step == 1 ? at : choose(job, at);
}

/* Rows are dear, and cut fine. */
static int64_t block_size(const Judging *job) {
    return job->rows > 0 ? EVAL_BLOCK / 8 : EVAL_BLOCK;
}

/* Blocks part, part + parts, part + 2 parts … of the elements to judge. */
static void judge_part(void *context, int64_t part) {
    const Judging *job = context;
    int64_t all = judged_count(job), size = block_size(job), index[EVAL_BLOCK];
    uint8_t room[EVAL_BLOCK * sizeof(int64_t)];
    for (int64_t at = part * size; at < all; at += job->parts * size) {
        int64_t count = all - at < size ? all - at : size;
        Check check = check_none();
        for (int64_t i = 0; i < count; i++) index[i] = judged_element(job, at + i);
        const Expected *expected =
            job->step == 1 && job->rows == 0
                ? eval_range(job->eval, (int)part, job->output, at, count)
                : eval_gather(job->eval, (int)part, job->output, index, count);
        check_block(expected, pack(job, index, count, room), 0, &check);
        place(&check, index);
        check_merge(&job->checks[part], &check);
    }
}

static void choose_sample(Judging *job, const Oracle *oracle) {
    const Type *type = job->tensor->type;
    job->count = type_count(type);
    job->step = 1;
    job->columns = type->rank > 0 ? type->dim[type->rank - 1] : 1;
    if (oracle->work > work_limit)
        job->rows = sample_rows(type, oracle->work, rows_work, job->seed, job->row);
    else if (job->count > whole_limit)
        job->step = (job->count + sample_count - 1) / sample_count;
}

static bool check_output(Rig *rig, Oracle *oracle, uint32_t output, Address zero, Check *check,
                         Why *why) {
    const Tensor *tensor = rig_output(rig, output);
    Judging job = {.eval = rig_eval(rig, oracle, why), .tensor = tensor, .zero = pointer(zero)};
    if (!job.eval) return false;
    job.output = output;
    job.parts = team_size(rig->team);
    job.seed = rig->setup.seed;
    choose_sample(&job, oracle);
    job.checks = calloc((size_t)job.parts, sizeof *job.checks);
    if (!job.checks) return why_set(why, "out of memory");
    for (int i = 0; i < job.parts; i++) job.checks[i] = check_none();
    if (job.count > 0) team_run(rig->team, job.parts, judge_part, &job);
    for (int i = 0; i < job.parts; i++) check_merge(check, &job.checks[i]);
    free(job.checks);
    return true;
}

/* --- whole numbers */

typedef struct Times {
    const Matrix *matrix;
    const int64_t *vector;
    int64_t *result;
    int64_t parts;
    bool *whole; /* per part */
} Times;

static bool add_term(const Times *job, int64_t row, int64_t column) {
    const Matrix *m = job->matrix;
    int64_t x;
    bool whole = sample_load_whole((int)m->dtype, pointer(m->zero),
                                   row * m->row_stride + column * m->column_stride, &x);
    job->result[row] = add_wrapped(job->result[row], mul_wrapped(x, job->vector[column]));
    return whole;
}

/* A slice of rows, walked along what lies together. */
static void times_part(void *context, int64_t part) {
    const Times *job = context;
    const Matrix *m = job->matrix;
    int64_t begin = m->rows * part / job->parts, end = m->rows * (part + 1) / job->parts;
    bool whole = true, along = m->row_stride == 1 && m->column_stride != 1;
    for (int64_t i = begin; i < end; i++) job->result[i] = 0;
    for (int64_t k = 0; along && k < m->columns; k++)
        for (int64_t i = begin; i < end; i++) whole &= add_term(job, i, k);
    for (int64_t i = begin; !along && i < end; i++)
        for (int64_t k = 0; k < m->columns; k++) whole &= add_term(job, i, k);
    job->whole[part] = whole;
}

static bool times(Rig *rig, const Matrix *matrix, const int64_t *vector, int64_t *result,
                  bool *whole, Why *why) {
    int parts = team_size(rig->team);
    Times job = {matrix, vector, result, parts, calloc((size_t)parts, sizeof(bool))};
    if (!job.whole) return why_set(why, "out of memory");
    team_run(rig->team, parts, times_part, &job);
    *whole = true;
    for (int i = 0; i < parts; i++) *whole = *whole && job.whole[i];
    free(job.whole);
    return true;
}

const Hands hands_host = {
    .open = open_hands,
    .close = close_hands,
    .fill = fill,
    .copy = copy,
    .poison = poison,
    .same = same_bits,
    .check = check_output,
    .times = times,
};
