/* In: the steps of a device's oracle. Out: their values in device memory, computed once, because the
 * data stay the same. Rows of reductions are summed in pieces, which are joined in a fixed order. */
#include <stdio.h>

#include "tuner/bench_device.h"

/* Multiplications that a product computed in full may take: each is two operations in double, of
 * which an H200 does 17e12 a second by its data sheet, so that 2^37 (4096 x 8192 x 4096) are 16 ms
 * at least, and some 50 ms with what is read. */
static const int64_t product_limit = (int64_t)1 << 37;

enum { FOLD = 16 }; /* pieces that one thread joins */

/* --- memory */

static bool is_wanted(const Oracle *oracle, const OracleStep *step) {
    return step->kind != ORACLE_PRODUCT || step->needed || oracle->work <= product_limit;
}

static size_t value_bytes(const OracleStep *step) {
    return (size_t)(step->count > 0 ? step->count : 1) * ORACLE_VALUE_BYTES;
}

/* A product without memory is computed where it is read: right, but slow. */
bool values_allocate(Rig *rig, Oracle *oracle) {
    Why ignored;
    for (uint32_t i = 0; i < oracle->steps.list.count; i++) {
        const OracleStep *step = &oracle->steps.list.data[i];
        Address *value = &oracle->values[i];
        if (*value || !is_wanted(oracle, step)) continue;
        if (rig->device->allocate(rig->state, value_bytes(step), value, &ignored)) continue;
        *value = 0;
        if (step->kind != ORACLE_PRODUCT || step->needed) return false;
    }
    return true;
}

void values_release(Rig *rig, Oracle *oracle) {
    for (uint32_t i = 0; oracle->values && i < oracle->steps.list.count; i++) {
        if (oracle->values[i]) rig->device->release(rig->state, oracle->values[i]);
        oracle->values[i] = 0;
    }
}

bool values_complete(const Oracle *oracle) {
    for (uint32_t i = 0; i < oracle->steps.list.count; i++)
        if (!oracle->values[i]) return false;
    return true;
}

/* --- computing */

typedef struct Summing {
    Rig *rig;
    Module *module;
    const OracleStep *step;
    const char *entry;
    Address in, sums[2], value;
} Summing;

static bool fold(const Summing *job, Address sums, Why *why) {
    const OracleStep *step = job->step;
    bool good = true;
    for (int64_t kept, live = step->pieces; live > 1 && good; live = kept) {
        kept = live > FOLD ? live / FOLD : 1;
        good = CALL(job->rig, job->module, "kf_fold", step->rows * kept, why, arg_address(sums),
                    arg_small(step->op), arg_small(step->type), arg_whole(step->rows),
                    arg_whole(step->pieces), arg_whole(live), arg_whole(kept));
    }
    return good;
}

static bool sum_rows(const Summing *job, Why *why) {
    const OracleStep *step = job->step;
    bool good = true;
    for (int pass = 0; pass < step->passes && good; pass++)
        good = CALL(job->rig, job->module, job->entry, step->rows * step->pieces, why,
                    arg_address(job->in), arg_address(job->sums[pass]), arg_address(job->sums[0]),
                    arg_small(pass)) &&
               fold(job, job->sums[pass], why);
    return good && CALL(job->rig, job->module, "kf_reduced", step->rows, why,
                        arg_address(job->sums[step->passes - 1]), arg_address(job->sums[0]),
                        arg_small(step->op), arg_small(step->type), arg_whole(step->rows),
                        arg_whole(step->pieces), arg_address(job->value));
}

static bool reduce(Rig *rig, const Oracle *oracle, Summing *job, Why *why) {
    size_t bytes = (size_t)(job->step->rows * job->step->pieces + 1) * oracle->steps.sum_bytes;
    bool good = true;
    for (int pass = 0; pass < job->step->passes && good; pass++)
        good = rig->device->allocate(rig->state, bytes, &job->sums[pass], why);
    good = good && sum_rows(job, why) && rig->device->finish(rig->state, why) == OUTCOME_OK;
    for (int pass = 0; pass < job->step->passes; pass++)
        if (job->sums[pass]) rig->device->release(rig->state, job->sums[pass]);
    return good;
}

bool values_compute(Rig *rig, Oracle *oracle, Address in, Why *why) {
    bool good = true;
    for (uint32_t i = 0; i < oracle->steps.list.count && good; i++) {
        const OracleStep *step = &oracle->steps.list.data[i];
        char entry[32];
        snprintf(entry, sizeof entry, "kf_value_%u", step->value);
        Summing job = {rig, oracle->module, step, entry, in, {0, 0}, oracle->values[i]};
        if (!oracle->values[i] || step->count == 0) continue;
        if (step->kind == ORACLE_REDUCTION)
            good = reduce(rig, oracle, &job, why);
        else
            good = CALL(rig, oracle->module, entry, step->count, why, arg_address(in));
    }
    return good;
}
