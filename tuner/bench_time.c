/* In: mounted Runs that were judged right. Out: seconds per call. The protocol: hold the device's
 * lock, warm up until two samples agree, then take samples until the 95 % interval of their median
 * is within half a per cent or the budget is spent. A sample is as many calls as last about half a
 * millisecond (finals: one). It walks on through the buffer sets where the one before stopped,
 * whichever Run that was of, so that no set is met again before all others were.
 *
 * Programs that update an input in place change their data with every call. The sets that a sample
 * used get their first values back behind it (not before: that would bring them into the cache),
 * and a sample is at most DRIFT calls per set: values stay what real calls see, not the infinities
 * or subnormals of a thousandth application. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/bench_lock.h"
#include "tuner/bench_rig.h"
#include "tuner/wire.h"

/* Clock and event resolution are 0.1 % of it: half a microsecond of CUDA's events, one of the host's. */
static const double sample_seconds = 0.5e-3, sample_seconds_host = 1e-3,
                    sample_seconds_final = 1e-3;
static const double close_enough = 0.005, agree = 0.02;
static const double clocks_seconds = 0.05;
/* Six samples lie on both sides of their median with 97 %, eight with 99 %. */
enum { SAMPLES_FEW = 3, SAMPLES_MIN = 6, SAMPLES_FINAL = 8, WARM_MAX = 50, DRIFT = 4 };

typedef struct Series {
    Rig *rig;
    Mounted *mounted;
    uint32_t repeats; /* calls a sample */
    uint32_t least;   /* samples, before it may be settled */
    double length;    /* of a sample, seconds */
    double samples[RESULT_SAMPLES];
    uint32_t count;
} Series;

static int take_lock(const Rig *rig) {
    return rig->device->imaginary ? -1 : bench_lock(rig->device->name, rig->index);
}

static bool is_in_place(const Rig *rig) {
    for (uint32_t i = 0; i < rig->input_count; i++)
        if (rig->ir->inputs.data[i].updated_by >= 0) return true;
    return false;
}

/* First values for the sets that the `repeats` calls from set `at` on used. */
static bool refill(Rig *rig, uint32_t sets, uint32_t at, uint32_t repeats, Why *why) {
    uint32_t used = repeats < sets ? repeats : sets;
    uint32_t before_end = sets - at < used ? sets - at : used;
    return rig_refill(rig, at, before_end, why) && rig_refill(rig, 0, used - before_end, why);
}

/* One sample of `repeats` calls: seconds per call. */
static Outcome measure(Series *series, uint32_t repeats, double *seconds, Why *why) {
    Rig *rig = series->rig;
    Mounted *mounted = series->mounted;
    uint32_t sets = mounted->sets, at = rig->next_set % sets;
    rig_limit(rig->setup.run_limit);
    Outcome outcome = rig->device->time(rig->state, mounted->run, mounted->modules,
                                        mounted->table + at, sets, repeats, seconds, why);
    rig_unlimit();
    rig->next_set = (at + repeats) % sets;
    *seconds /= repeats;
    if (outcome != OUTCOME_OK || !is_in_place(rig)) return outcome;
    return refill(rig, sets, at, repeats, why) ? OUTCOME_OK : OUTCOME_CRASH;
}

static void choose_repeats(Series *series, double seconds) {
    double repeats = seconds > 0 ? ceil(series->length / seconds) : 1024;
    if (repeats > 1024) repeats = 1024;
    if (is_in_place(series->rig) && repeats > DRIFT * (double)series->mounted->sets)
        repeats = DRIFT * series->mounted->sets;
    series->repeats = repeats < 1 ? 1 : (uint32_t)repeats;
}

/* Two samples of the chosen length that agree, and on a device that was idle time to raise its
 * clocks. */
static bool is_warm(const Series *series, double before, double seconds, double warmed) {
    bool short_calls = series->repeats == 1 && seconds < series->length;
    if (!series->rig->opening->warm && warmed < clocks_seconds) return false;
    return !short_calls && fabs(seconds - before) <= agree * seconds;
}

/* Until warm, or a fifth of the budget is spent, or the Run is hopeless. The first call of all is
 * not looked at: it loads code. On a device with a clock of its own that has timed something, one
 * sample of full length is enough: those that count must agree anyway. */
static Outcome warm_up(Series *series, double budget, double give_up_over, double *seconds,
                       Why *why) {
    bool warm = series->rig->opening->warm, brief = warm && !series->rig->device->host_exclusive;
    double begin = wire_now(), before;
    series->repeats = 1;
    Outcome outcome = measure(series, 1, seconds, why);
    if (brief && outcome == OUTCOME_OK) choose_repeats(series, *seconds);
    for (int i = 0; i < WARM_MAX && outcome == OUTCOME_OK; i++) {
        before = *seconds;
        outcome = measure(series, series->repeats, seconds, why);
        double warmed = wire_now() - begin;
        bool short_sample = series->repeats * *seconds < series->length / 2;
        if (give_up_over > 0 && *seconds > give_up_over) break;
        if (brief ? !short_sample : is_warm(series, before, *seconds, warmed)) break;
        choose_repeats(series, *seconds);
        if (warm && warmed > budget / 5) break;
    }
    series->rig->opening->warm = true;
    return outcome;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and half of its 95 % interval by order statistics. */
static void summarise(const double *samples, uint32_t count, double *median, double *half) {
    double sorted[RESULT_SAMPLES];
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_value);
    double reach = 0.98 * sqrt(count), middle = (count - 1) / 2.0;
    uint32_t low = middle > reach ? (uint32_t)floor(middle - reach) : 0;
    uint32_t high = middle + reach < count - 1 ? (uint32_t)ceil(middle + reach) : count - 1;
    *median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
    *half = (sorted[high] - sorted[low]) / 2;
}

static void conclude(const Series *series, Result *result) {
    result->sample_count = series->count;
    for (uint32_t i = 0; i < series->count; i++) result->samples[i] = (float)series->samples[i];
    summarise(series->samples, series->count, &result->time, &result->spread);
}

static bool is_settled(const Series *series) {
    double median, half;
    if (series->count < series->least) return false;
    summarise(series->samples, series->count, &median, &half);
    return half <= close_enough * median;
}

static bool all_over(const Series *series, double limit) {
    bool all = limit > 0;
    for (uint32_t i = 0; i < series->count; i++) all &= series->samples[i] > limit;
    return all;
}

static Outcome sample(Series *series, const BenchJob *job, double begin, Why *why) {
    Outcome outcome = OUTCOME_OK;
    while (outcome == OUTCOME_OK && series->count < RESULT_SAMPLES && !is_settled(series)) {
        bool few = series->count >= SAMPLES_FEW;
        if (few && (wire_now() - begin > job->budget || all_over(series, job->enough_over))) break;
        outcome = measure(series, series->repeats, &series->samples[series->count], why);
        if (outcome == OUTCOME_OK) series->count++;
    }
    return outcome;
}

static Outcome time_locked(Series *series, const BenchJob *job, Result *result, Why *why) {
    double begin = wire_now(), mark = begin, seconds = 0;
    Outcome outcome = warm_up(series, job->budget, job->give_up_over, &seconds, why);
    rig_charge(series->rig, PHASE_WARM, &mark);
    if (outcome != OUTCOME_OK) return outcome;
    if (job->give_up_over > 0 && seconds > job->give_up_over)
        series->samples[series->count++] = seconds;
    else
        outcome = sample(series, job, begin, why);
    rig_charge(series->rig, PHASE_TIMING, &mark);
    if (outcome == OUTCOME_OK) conclude(series, result);
    return outcome;
}

Outcome time_run(Rig *rig, Mounted *mounted, const BenchJob *job, Result *result, Why *why) {
    double length = rig->device->host_exclusive ? sample_seconds_host : sample_seconds;
    Series series = {.rig = rig, .mounted = mounted, .least = SAMPLES_MIN, .length = length};
    double mark = wire_now();
    if (!mount_sets(rig, mounted, why)) return OUTCOME_CRASH;
    rig_charge(rig, PHASE_SETS, &mark);
    int lock = take_lock(rig);
    Outcome outcome = time_locked(&series, job, result, why);
    mark = wire_now();
    rig->device->conditions(rig->state, rig->report.conditions, sizeof rig->report.conditions);
    rig_charge(rig, PHASE_CONDITIONS, &mark);
    bench_unlock(lock);
    return outcome;
}

/* --- finalists */

/* One sample of each, forwards in even rounds and backwards in odd ones, so that what drifts drifts
 * for all. */
static Outcome rank_round(Series *series, uint32_t count, uint32_t round, Why *why) {
    Outcome outcome = OUTCOME_OK;
    for (uint32_t i = 0; i < count && outcome == OUTCOME_OK; i++) {
        Series *one = &series[round % 2 ? count - 1 - i : i];
        outcome = measure(one, one->repeats, &one->samples[round], why);
    }
    for (uint32_t i = 0; i < count && outcome == OUTCOME_OK; i++) series[i].count = round + 1;
    return outcome;
}

static bool all_settled(const Series *series, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (!is_settled(&series[i])) return false;
    return true;
}

static Outcome rank_all(Rig *rig, Series *series, uint32_t count, double budget, Why *why) {
    double begin = wire_now(), seconds;
    Outcome outcome = OUTCOME_OK;
    for (uint32_t i = 0; i < count && outcome == OUTCOME_OK; i++) {
        int lock = take_lock(rig);
        outcome = warm_up(&series[i], budget / count, 0, &seconds, why);
        bench_unlock(lock);
    }
    for (uint32_t round = 0; round < RESULT_SAMPLES && outcome == OUTCOME_OK; round++) {
        if (round > 2 && (wire_now() - begin > budget || all_settled(series, count))) break;
        int lock = take_lock(rig);
        outcome = rank_round(series, count, round, why);
        bench_unlock(lock);
    }
    return outcome;
}

Outcome time_rank(Rig *rig, Mounted *mounted, uint32_t count, double budget, Result *results,
                  Why *why) {
    Series *series = calloc(count + 1, sizeof *series);
    double mark = wire_now();
    Outcome outcome = series ? OUTCOME_OK : OUTCOME_CRASH;
    for (uint32_t i = 0; i < count && outcome == OUTCOME_OK; i++) {
        series[i] = (Series){.rig = rig,
                             .mounted = &mounted[i],
                             .least = SAMPLES_FINAL,
                             .length = sample_seconds_final};
        if (!mount_sets(rig, &mounted[i], why)) outcome = OUTCOME_CRASH;
    }
    if (outcome == OUTCOME_OK) outcome = rank_all(rig, series, count, budget, why);
    for (uint32_t i = 0; i < count && outcome == OUTCOME_OK; i++) conclude(&series[i], &results[i]);
    rig_charge(rig, PHASE_ROUNDS, &mark);
    free(series);
    return outcome;
}
