/* The hands of a device with memory of its own: kernels that the compiler emits for it from the
 * program (Device.oracle; the names and parameters are oracle_cuda.h's). Nothing large crosses the
 * bus. Before the device's oracle judges anything it must agree with the host's on a sample. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/bench_device.h"

enum { THREADS = 256, SAMPLE = 1 << 16 };
/* kf_expect's states. */
enum { ORACLE_MAY_NAN = 1, ORACLE_MUST_NAN = 2, ORACLE_UNCHECKED = 8 };
static const int64_t chunk = (int64_t)1 << 26; /* elements a launch of kf_check */
/* Multiplications for the host to do where the oracles are compared (0.1 s on one CPU, twice that
 * along columns), and for the device to do in sampled rows, an element a thread. */
static const int64_t trial_work = (int64_t)1 << 27, rows_work = (int64_t)1 << 35;

/* --- loading and calling the kernels */

static Module *load(Rig *rig, const Binary *binary, Why *why) {
    return rig->device->load(rig->state, binary->bytes, binary->size, why);
}

/* Device memory of the kernels' own: the tensors' addresses, a report, and a sample's indices and
 * results. */
typedef struct Scratch {
    OracleReport report;
    uint64_t differences;
    int64_t first;
    int64_t index[SAMPLE];
    double lo[SAMPLE], value[SAMPLE], hi[SAMPLE];
    uint8_t state[SAMPLE];
} Scratch;

#define SCRATCH(rig, member) ((rig)->scratch + offsetof(Scratch, member))

/* The kernels' `in`, steps' values included, then `out`. */
static size_t pointer_count(const Rig *rig) {
    uint32_t plain = rig->plain.steps.list.count, rounded = rig->rounded.steps.list.count;
    return rig->tensor_count + (plain > rounded ? plain : rounded) + 1;
}

static bool open_hands(Rig *rig, Why *why) {
    size_t pointers = pointer_count(rig) * sizeof(Address);
    rig->handling = load(rig, &rig->tools[0], why);
    rig->plain.module = load(rig, &rig->tools[1], why);
    if (rig->rounded.ir != rig->ir) rig->rounded.module = load(rig, &rig->tools[2], why);
    return rig->handling && rig->plain.module &&
           (rig->rounded.ir == rig->ir || rig->rounded.module) &&
           rig->device->allocate(rig->state, pointers, &rig->pointers, why) &&
           rig->device->allocate(rig->state, sizeof(Scratch), &rig->scratch, why);
}

static void close_hands(Rig *rig) {
    values_release(rig, &rig->plain);
    values_release(rig, &rig->rounded);
    if (rig->scratch) rig->device->release(rig->state, rig->scratch);
    if (rig->pointers) rig->device->release(rig->state, rig->pointers);
    rig->device->unload(rig->state, rig->rounded.module);
    rig->device->unload(rig->state, rig->plain.module);
    rig->device->unload(rig->state, rig->handling);
}

/* Enqueues a grid for `threads` elements: its threads walk on where they are fewer. As many blocks
 * as run at once, because each hands in a report of its own. */
bool device_call(Rig *rig, Module *module, const char *entry, Arg *args, uint32_t count,
                 int64_t threads, Why *why) {
    Launch launch = {.entry = entry, .alignment = 1, .args = args, .arg_count = count};
    Run run = {.launches = {&launch, 1, 1}};
    int64_t blocks = (threads + THREADS - 1) / THREADS, most = 8 * (int64_t)rig->setup.identity.sms;
    launch.grid[0] = most > 0 && most < blocks ? most : blocks;
    launch.grid[1] = launch.grid[2] = 1;
    launch.block[0] = THREADS;
    launch.block[1] = launch.block[2] = launch.cluster = 1;
    return threads == 0 ||
           rig->device->launch(rig->state, &run, &module, NULL, NULL, why) == OUTCOME_OK;
}

/* --- bytes */

static bool fill(Rig *rig, uint32_t slot, Address storage, Why *why) {
    const Tensor *tensor = &rig->tensors[slot];
    return CALL(rig, rig->handling, "kf_fill", tensor->count, why, arg_address(storage),
                arg_small(tensor->type->dtype), arg_whole((int64_t)rig->setup.seed),
                arg_small(slot), arg_whole(0), arg_whole(tensor->count), arg_small(rig->domain));
}

static bool poison(Rig *rig, Address to, Address golden, size_t bytes, Why *why) {
    return CALL(rig, rig->handling, "kf_poison", (int64_t)bytes, why, arg_address(to),
                arg_address(golden), arg_whole((int64_t)bytes));
}

/* The complement of the complement. */
static bool copy(Rig *rig, Address to, Address from, size_t bytes, Why *why) {
    return poison(rig, to, from, bytes, why) && poison(rig, to, to, bytes, why);
}

static bool same_bits(Rig *rig, DType dtype, Address a, Address b, int64_t count, bool *same,
                      Why *why) {
    const struct {
        uint64_t differences;
        int64_t first;
    } none = {0, INT64_MAX};
    uint64_t differences = 1;
    int64_t bytes = count * dtype_info(dtype)->bytes;
    bool good =
        rig->device->upload(rig->state, SCRATCH(rig, differences), &none, sizeof none, why) &&
        CALL(rig, rig->handling, "kf_compare", count, why, arg_address(a), arg_address(b),
             arg_whole(bytes), arg_small(dtype), arg_address(SCRATCH(rig, differences)),
             arg_address(SCRATCH(rig, first))) &&
        rig->device->download(rig->state, &differences, SCRATCH(rig, differences),
                              sizeof differences, why);
    *same = differences == 0;
    return good;
}

/* --- the oracle */

/* Where elements 0 lie. */
static bool send_pointers(Rig *rig, const Oracle *oracle, Address output_zero, uint32_t output,
                          Why *why) {
    uint32_t steps = oracle->steps.list.count, outputs = rig->input_count + steps;
    Address *list = calloc(pointer_count(rig), sizeof *list);
    if (!list) return why_set(why, "out of memory");
    for (uint32_t i = 0; i < rig->tensor_count; i++) {
        Address storage = i < rig->input_count && rig->first_values[i].block
                              ? rig->first_values[i].data
                              : rig->set0[i].data;
        list[i < rig->input_count ? i : i + steps] = tensor_zero(&rig->tensors[i], storage);
    }
    if (steps > 0) memcpy(list + rig->input_count, oracle->values, steps * sizeof *list);
    list[outputs + output] = output_zero;
    bool good = rig->device->upload(rig->state, rig->pointers, list,
                                    (rig->tensor_count + steps) * sizeof *list, why);
    free(list);
    return good;
}

static Address pointers_out(const Rig *rig, const Oracle *oracle) {
    return rig->pointers + (rig->input_count + oracle->steps.list.count) * sizeof(Address);
}

/* An end of an interval is the same on both sides but for what two libraries' double functions may
 * differ by: the rounding of an end to the output's type, and a little of the interval's width. */
static bool same_end(DType dtype, double a, double b, double width) {
    if (a == b || (isnan(a) && isnan(b))) return true;
    double ulp =
        dtype_is_float(dtype) ? ldexp(fmax(fabs(a), fabs(b)), 2 - dtype_info(dtype)->precision) : 1;
    double least = dtype_is_float(dtype)
                       ? ldexp(4, dtype_info(dtype)->exponent_min - dtype_info(dtype)->precision)
                       : 1;
    return fabs(a - b) <= ulp + least + 0.01 * width;
}

static double end_value(DType dtype, const void *ends, int64_t i) {
    Scalar value = dtype_load(dtype, (const char *)ends + i * (int64_t)dtype_info(dtype)->bytes);
    return dtype_is_float(dtype) ? value.real : (double)value.whole;
}

/* The two oracles say the same of element `i` of a block: must be NaN, may be, is unchecked, lies
 * between. */
static bool same_verdict(const Expected *expected, int64_t i, double lo, double hi, uint8_t state) {
    double low = end_value(expected->dtype, expected->lo, i);
    double high = end_value(expected->dtype, expected->hi, i), width = fabs(high - low);
    if (isnan(low) || state & ORACLE_MUST_NAN) return isnan(low) && state & ORACLE_MUST_NAN;
    if (low > high || state & ORACLE_UNCHECKED) return low > high && state & ORACLE_UNCHECKED;
    if (!isfinite(width)) width = 0;
    return !expected->may_nan[i] == !(state & ORACLE_MAY_NAN) &&
           same_end(expected->dtype, low, lo, width) && same_end(expected->dtype, high, hi, width);
}

typedef struct Trial {
    int64_t index[SAMPLE];
    double lo[SAMPLE], hi[SAMPLE];
    uint8_t state[SAMPLE];
} Trial;

static bool ask_device(Rig *rig, Oracle *oracle, uint32_t output, Trial *trial, int64_t count,
                       Why *why) {
    size_t bytes = (size_t)count * sizeof(double);
    return rig->device->upload(rig->state, SCRATCH(rig, index), trial->index, bytes, why) &&
           CALL(rig, oracle->module, "kf_expect", count, why, arg_address(rig->pointers),
                arg_small(output), arg_address(SCRATCH(rig, index)), arg_whole(count),
                arg_address(SCRATCH(rig, lo)), arg_address(SCRATCH(rig, value)),
                arg_address(SCRATCH(rig, hi)), arg_address(SCRATCH(rig, state))) &&
           rig->device->download(rig->state, trial->lo, SCRATCH(rig, lo), bytes, why) &&
           rig->device->download(rig->state, trial->hi, SCRATCH(rig, hi), bytes, why) &&
           rig->device->download(rig->state, trial->state, SCRATCH(rig, state), (size_t)count, why);
}

/* The share of a spread sample on which the oracles differ; negative: it could not be had. */
static double quarrel_share(Rig *rig, Oracle *oracle, uint32_t output, Trial *trial, Why *why) {
    int64_t quarrels = 0,
            count = sample_affordable(oracle, type_count(rig_output(rig, output)->type), SAMPLE,
                                      trial_work, trial->index);
    Eval *eval = rig_eval(rig, oracle, why);
    if (!eval || !ask_device(rig, oracle, output, trial, count, why)) return -1;
    for (int64_t at = 0; at < count; at += EVAL_BLOCK) {
        int64_t block = count - at < EVAL_BLOCK ? count - at : EVAL_BLOCK;
        const Expected *expected = eval_gather(eval, 0, output, trial->index + at, block);
        for (int64_t k = 0; k < block; k++)
            quarrels += !same_verdict(expected, k, trial->lo[at + k], trial->hi[at + k],
                                      trial->state[at + k]);
    }
    return count ? (double)quarrels / (double)count : 0;
}

/* A comparison that rounding decides may fall either way on few elements: one in a thousand. */
static void compare_oracles(Rig *rig, Oracle *oracle, Trial *trial, Why *why) {
    BenchReport *report = &rig->report;
    for (uint32_t o = 0; o < rig_output_count(rig) && oracle->trusted; o++) {
        double share = quarrel_share(rig, oracle, o, trial, why);
        oracle->trusted = share >= 0 && share <= 0.001;
        if (share > 0.001)
            snprintf(report->self_test_message, sizeof report->self_test_message,
                     "the device's oracle differs from the host's on %.3g %% of a sample: a sample "
                     "is judged",
                     100 * share);
    }
}

/* Once; whether the device's oracle may be asked from now on. */
static bool trust(Rig *rig, Oracle *oracle, Why *why) {
    if (oracle->tried || !oracle->steps.known) return true;
    Trial *trial = malloc(sizeof *trial);
    if (!trial) return why_set(why, "out of memory");
    oracle->tried = oracle->trusted = true;
    bool good = values_compute(rig, oracle, rig->pointers, why);
    if (good) compare_oracles(rig, oracle, trial, why);
    free(trial);
    return good;
}

/* A place that was never set is INT64_MAX there, -1 here. */
static int64_t place_of(int64_t at) {
    return at == INT64_MAX ? -1 : at;
}

static void read_report(const OracleReport *report, Check *check) {
    check->checked = (int64_t)report->checked;
    check->unchecked = (int64_t)report->unchecked;
    check->ambiguous = (int64_t)report->ambiguous;
    check->wrong = (int64_t)report->wrong;
    check->first_wrong = place_of(report->first_wrong);
    check->worst_bound = fmax(report->worst_bound, 0);
    check->worst_bound_at = place_of(report->worst_bound_at);
    check->worst_ulp = fmax(report->worst_ulp, 0);
    check->worst_ulp_at = place_of(report->worst_ulp_at);
}

static bool check_range(Rig *rig, Oracle *oracle, uint32_t output, int64_t begin, int64_t count,
                        Why *why) {
    bool good = true;
    for (int64_t at = 0; at < count && good; at += chunk) {
        int64_t part = count - at < chunk ? count - at : chunk;
        good = CALL(rig, oracle->module, "kf_check", part, why, arg_address(rig->pointers),
                    arg_address(pointers_out(rig, oracle)), arg_small(output),
                    arg_whole(begin + at), arg_whole(part), arg_address(SCRATCH(rig, report)));
    }
    return good;
}

static bool check_rows(Rig *rig, Oracle *oracle, uint32_t output, Why *why) {
    const Type *type = rig_output(rig, output)->type;
    int64_t rows[SAMPLE_ROWS], columns = type->rank > 0 ? type->dim[type->rank - 1] : 1;
    int64_t count = sample_rows(type, oracle->work, rows_work, rig->setup.seed, rows);
    bool good = true;
    for (int64_t i = 0; i < count && good; i++)
        good = check_range(rig, oracle, output, rows[i] * columns, columns, why);
    return good;
}

static bool check_here(Rig *rig, Oracle *oracle, uint32_t output, Check *check, Why *why) {
    OracleReport report = {.first_wrong = INT64_MAX,
                           .worst_bound = -1,
                           .worst_ulp = -1,
                           .worst_bound_at = INT64_MAX,
                           .worst_ulp_at = INT64_MAX};
    int64_t count = type_count(rig_output(rig, output)->type);
    bool good =
        rig->device->upload(rig->state, SCRATCH(rig, report), &report, sizeof report, why) &&
        (values_complete(oracle) ? check_range(rig, oracle, output, 0, count, why)
                                 : check_rows(rig, oracle, output, why)) &&
        rig->device->download(rig->state, &report, SCRATCH(rig, report), sizeof report, why);
    if (good) read_report(&report, check);
    return good;
}

/* For f64 programs, whose oracle needs long double, and where the device's is not trusted. */
static bool check_on_host(Rig *rig, Oracle *oracle, uint32_t output, Address zero, Check *check,
                          Why *why) {
    const Tensor *tensor = rig_output(rig, output);
    Address storage = zero - (Address)tensor->first * tensor->size;
    uint8_t *bytes = malloc(tensor_bytes(tensor) + 1);
    if (!bytes) return why_set(why, "the output does not fit in the host's memory");
    bool good = rig->device->download(rig->state, bytes, storage, tensor_bytes(tensor), why) &&
                hands_host.check(rig, oracle, output,
                                 tensor_zero(tensor, (Address)(uintptr_t)bytes), check, why);
    free(bytes);
    return good;
}

static bool check_output(Rig *rig, Oracle *oracle, uint32_t output, Address zero, Check *check,
                         Why *why) {
    if (oracle->steps.known && !oracle->tried && !values_allocate(rig, oracle)) {
        values_release(rig, oracle);
        return check_on_host(rig, oracle, output, zero, check, why);
    }
    if (!send_pointers(rig, oracle, zero, output, why) || !trust(rig, oracle, why)) return false;
    if (!oracle->trusted) return check_on_host(rig, oracle, output, zero, check, why);
    return check_here(rig, oracle, output, check, why);
}

/* --- whole numbers */

static bool times_here(Rig *rig, const Matrix *matrix, Address memory, const int64_t *vector,
                       int64_t *result, bool *whole, Why *why) {
    size_t rows = (size_t)matrix->rows * sizeof *vector,
           columns = (size_t)matrix->columns * sizeof *vector;
    uint64_t fractions = 0;
    Address to = memory + columns, counted = to + rows;
    memset(result, 0, rows);
    bool good =
        rig->device->upload(rig->state, memory, vector, columns, why) &&
        rig->device->upload(rig->state, to, result, rows, why) &&
        rig->device->upload(rig->state, counted, &fractions, sizeof fractions, why) &&
        CALL(rig, rig->handling, "kf_times", 32 * matrix->rows, why, arg_address(matrix->zero),
             arg_small(matrix->dtype), arg_whole(matrix->rows), arg_whole(matrix->columns),
             arg_whole(matrix->row_stride), arg_whole(matrix->column_stride), arg_address(memory),
             arg_address(to), arg_address(counted)) &&
        rig->device->download(rig->state, result, to, rows, why) &&
        rig->device->download(rig->state, &fractions, counted, sizeof fractions, why);
    *whole = fractions == 0;
    return good;
}

static bool times(Rig *rig, const Matrix *matrix, const int64_t *vector, int64_t *result,
                  bool *whole, Why *why) {
    Address memory = 0;
    size_t bytes = (size_t)(matrix->rows + matrix->columns + 1) * sizeof *vector;
    if (!rig->device->allocate(rig->state, bytes, &memory, why)) return false;
    bool good = times_here(rig, matrix, memory, vector, result, whole, why);
    rig->device->release(rig->state, memory);
    return good;
}

const Hands hands_device = {
    .open = open_hands,
    .close = close_hands,
    .fill = fill,
    .copy = copy,
    .poison = poison,
    .same = same_bits,
    .check = check_output,
    .times = times,
};
