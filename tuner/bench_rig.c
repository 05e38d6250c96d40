/* In: a device and a program. Out: the program's tensors on the device, filled, guarded, and ready
 * to rotate. The one idea: data are a counter hash, so that any copy of them is made where it is
 * needed. */
#include "tuner/bench_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "tuner/wire.h"

/* Timing rotates through at least this much: reported cache sizes have been far too small (field
 * report 71), and a machine without a report gets it too. */
static const size_t rotation_floor = (size_t)256 << 20;
enum { SLAB_UNIT = 256, DOMAINS = 3, DOMAIN_SAMPLE = 4096, ROTATION_HOST = 384 << 20 };
/* Calls on one set alone, however large, take 4 % longer on an H200 than on two in turn (192.2 us
 * against 184.2, relu(x + res) of 8192x8192 f32), and rank other points first. */
enum { SETS_LEAST = 2 };
enum { DOMAIN_WORK = 1 << 25 }; /* multiplications: 25 ms */

static size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

void rig_limit(double seconds) {
    struct itimerval limit = {
        .it_value = {(time_t)seconds, (suseconds_t)(seconds * 1e6) % 1000000}};
    if (seconds > 0) setitimer(ITIMER_REAL, &limit, NULL);
}

void rig_unlimit(void) {
    struct itimerval none = {0};
    setitimer(ITIMER_REAL, &none, NULL);
}

/* --- tensors */

static Tensor tensor_of(const char *name, const Type *type, const int64_t *strides, int32_t alias) {
    Tensor tensor = {name, type, strides, dtype_info(type->dtype)->bytes, 0, 1, true, alias};
    int64_t packed[RANK_MAX];
    bool empty = false;
    type_strides(type, packed);
    for (uint32_t i = 0; i < type->rank; i++) {
        int64_t reach = (type->dim[i] - 1) * strides[i];
        if (type->dim[i] == 0) empty = true;
        if (type->dim[i] > 1 && strides[i] != packed[i]) tensor.dense = false;
        if (reach < 0) tensor.first -= reach;
        tensor.count += reach < 0 ? -reach : reach;
    }
    if (empty) tensor.first = tensor.count = 0;
    return tensor;
}

static void list_tensors(Rig *rig) {
    const Ir *ir = rig->ir;
    rig->input_count = ir->inputs.count;
    rig->tensor_count = ir->inputs.count + ir->outputs.count;
    rig->tensors = arena_array(rig->arena, Tensor, rig->tensor_count);
    rig->set0 = arena_array(rig->arena, Guarded, rig->tensor_count);
    rig->golden = arena_array(rig->arena, Guarded, ir->outputs.count);
    rig->copies = arena_array(rig->arena, void *, ir->inputs.count);
    rig->first_values = arena_array(rig->arena, Guarded, ir->inputs.count);
    rig->oracle_data = arena_array(rig->arena, const void *, ir->inputs.count);
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const IrInput *input = &ir->inputs.data[i];
        rig->tensors[i] = tensor_of(input->name, &input->type, input->strides, -1);
    }
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        rig->tensors[ir->inputs.count + i] =
            tensor_of(output->name, &output->type, output->strides, output->updates);
    }
}

/* --- guarded memory */

bool rig_allocate(Rig *rig, size_t bytes, Guarded *guarded, Why *why) {
    size_t padded = round_up(bytes, RIG_ALIGNMENT), after = rig->device->fenced ? 0 : RIG_GUARD;
    *guarded = (Guarded){.bytes = bytes, .behind = padded - bytes + after};
    if (!rig->device->allocate(rig->state, RIG_GUARD + padded + after, &guarded->block, why))
        return false;
    guarded->data = guarded->block + RIG_GUARD;
    return guard_set(rig, guarded, why);
}

void rig_release(Rig *rig, Guarded *guarded) {
    if (guarded->block) rig->device->release(rig->state, guarded->block);
    *guarded = (Guarded){0};
}

bool guard_set(Rig *rig, const Guarded *guarded, Why *why) {
    uint8_t bytes[RIG_GUARD + RIG_ALIGNMENT];
    memset(bytes, GATE_GUARD_BYTE, sizeof bytes);
    return rig->device->upload(rig->state, guarded->block, bytes, RIG_GUARD, why) &&
           rig->device->upload(rig->state, guarded->data + guarded->bytes, bytes, guarded->behind,
                               why);
}

static bool untouched(Rig *rig, Address at, size_t count, bool *whole, Why *why) {
    uint8_t bytes[RIG_GUARD + RIG_ALIGNMENT];
    if (!rig->device->download(rig->state, bytes, at, count, why)) return false;
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != GATE_GUARD_BYTE) *whole = false;
    return true;
}

bool guard_check(Rig *rig, const Guarded *guarded, const char *name, Why *why) {
    bool before = true, behind = true;
    if (!untouched(rig, guarded->block, RIG_GUARD, &before, why) ||
        !untouched(rig, guarded->data + guarded->bytes, guarded->behind, &behind, why))
        return false;
    if (before && behind) return true;
    guard_set(rig, guarded, why);
    return why_set(why, "wrote %s %s", before ? "behind" : "before", name);
}

static bool allocate_set0(Rig *rig, Why *why) {
    for (uint32_t i = 0; i < rig->tensor_count; i++) {
        const Tensor *tensor = &rig->tensors[i];
        if (tensor->alias >= 0)
            rig->set0[i] = rig->set0[tensor->alias];
        else if (!rig_allocate(rig, tensor_bytes(tensor), &rig->set0[i], why))
            return false;
    }
    return true;
}

/* --- data */

/* The caller's own data, or generated ones. */
static const void *given_input(const Rig *rig, uint32_t slot) {
    return rig->setup.given && !rig->generated ? rig->setup.given->inputs[slot] : NULL;
}

static bool fill(Rig *rig, uint32_t slot, Address storage, Why *why) {
    const void *own = given_input(rig, slot);
    return own ? rig->device->upload(rig->state, storage, own, tensor_bytes(&rig->tensors[slot]),
                                     why)
               : rig->hands->fill(rig, slot, storage, why);
}

static bool fill_set(Rig *rig, uint32_t set, bool updated_only, Why *why) {
    for (uint32_t i = 0; i < rig->input_count; i++)
        if ((!updated_only || rig->ir->inputs.data[i].updated_by >= 0) &&
            !fill(rig, i, rig_storage(rig, i, set), why))
            return false;
    return true;
}

bool rig_refill(Rig *rig, uint32_t first_set, uint32_t sets, Why *why) {
    for (uint32_t set = first_set; set < first_set + sets; set++)
        if (!fill_set(rig, set, true, why)) return false;
    return true;
}

bool rig_fill_inputs(Rig *rig, const int *domains, Why *why) {
    int domain = rig->domain;
    bool good = true;
    rig->generated = domains != NULL;
    for (uint32_t i = 0; i < rig->input_count && good; i++) {
        if (domains) rig->domain = domains[i];
        good = fill(rig, i, rig->set0[i].data, why);
    }
    rig->domain = domain;
    rig->generated = false;
    return good;
}

typedef struct HostFill {
    const Rig *rig;
    uint32_t slot;
    uint8_t *bytes;
    int64_t parts;
} HostFill;

static void fill_part(void *context, int64_t part) {
    const HostFill *job = context;
    const Tensor *tensor = &job->rig->tensors[job->slot];
    int64_t parts = job->parts, begin = tensor->count / parts * part;
    int64_t end = part + 1 == parts ? tensor->count : begin + tensor->count / parts;
    gate_fill(job->bytes + (size_t)begin * tensor->size, tensor->type->dtype, job->rig->setup.seed,
              job->slot, begin, end - begin, job->rig->domain);
}

void rig_fill_host(const Rig *rig, uint32_t slot, void *storage) {
    HostFill job = {rig, slot, storage, team_size(rig->team)};
    const void *own = given_input(rig, slot);
    if (own) {
        memcpy(storage, own, tensor_bytes(&rig->tensors[slot]));
        return;
    }
    if (tensor_bytes(&rig->tensors[slot]) < RIG_SMALL) job.parts = 1;
    if (job.parts == 1)
        fill_part(&job, 0);
    else
        team_run(rig->team, job.parts, fill_part, &job);
}

/* A device's oracle reads the device's own tensors, but those that candidates write. */
static bool fill_first_values(Rig *rig, Why *why) {
    for (uint32_t i = 0; i < rig->input_count; i++) {
        Guarded *copy = &rig->first_values[i];
        if (rig->hands == &hands_host || rig->ir->inputs.data[i].updated_by < 0) continue;
        if (!copy->block && !rig_allocate(rig, tensor_bytes(&rig->tensors[i]), copy, why))
            return false;
        if (!fill(rig, i, copy->data, why)) return false;
    }
    return true;
}

/* In huge pages where they can be had: half a million small ones take longer to come than to fill. */
static void *host_memory(size_t bytes) {
    enum { HUGE_PAGE = 2 << 20 };
    void *memory = NULL;
    if (bytes < HUGE_PAGE) return malloc(bytes);
    if (posix_memalign(&memory, HUGE_PAGE, round_up(bytes, HUGE_PAGE)) != 0) return NULL;
    madvise(memory, round_up(bytes, HUGE_PAGE), MADV_HUGEPAGE);
    return memory;
}

/* The oracle reads the host's own tensors; it has copies of those that candidates write or that lie
 * on the device. */
static bool fill_oracle_data(Rig *rig, Why *why) {
    for (uint32_t i = 0; i < rig->input_count; i++) {
        const Tensor *tensor = &rig->tensors[i];
        bool own = rig->hands == &hands_host && rig->ir->inputs.data[i].updated_by < 0;
        if (!own && !rig->copies[i] && !(rig->copies[i] = host_memory(tensor_bytes(tensor) + 1)))
            return why_set(why, "the oracle's data do not fit in memory");
        uint8_t *storage = own ? (uint8_t *)(uintptr_t)rig->set0[i].data : rig->copies[i];
        if (!own) rig_fill_host(rig, i, storage);
        rig->oracle_data[i] = storage + (size_t)tensor->first * tensor->size;
    }
    return true;
}

Eval *rig_eval(Rig *rig, Oracle *oracle, Why *why) {
    if (!oracle->eval)
        oracle->eval = eval_open(oracle->ir, rig->oracle_data, rig->device->accuracy, rig->team);
    if (!oracle->eval) why_set(why, "the oracle does not fit in memory");
    return oracle->eval;
}

/* The share of a sample of the outputs that the oracle cannot check. */
static double unchecked_share(Rig *rig) {
    int64_t checked = 0, unchecked = 0;
    for (uint32_t o = 0; o < rig_output_count(rig); o++) {
        int64_t count = type_count(rig_output(rig, o)->type), index[DOMAIN_SAMPLE];
        int64_t taken = sample_affordable(&rig->plain, count, DOMAIN_SAMPLE, DOMAIN_WORK, index);
        if (taken == 0) continue;
        Check check = check_none();
        const Expected *expected = eval_gather(rig->plain.eval, 0, o, index, taken);
        check_block(expected, expected->hi, 0, &check);
        checked += check.checked;
        unchecked += check.unchecked;
    }
    return checked + unchecked ? (double)unchecked / (double)(checked + unchecked) : 0;
}

static bool fill_domain(Rig *rig, Why *why) {
    if (rig->hands == &hands_host && !fill_set(rig, 0, false, why)) return false;
    return fill_oracle_data(rig, why) && rig_eval(rig, &rig->plain, why);
}

/* The host's data, in the widest domain in which at most 1 % of the outputs are unchecked (gate.md).
 */
static bool choose_domain(Rig *rig, Why *why) {
    for (rig->domain = 0;; rig->domain++) {
        if (!fill_domain(rig, why)) return false;
        if (rig->domain == DOMAINS - 1 || unchecked_share(rig) <= 0.01) return true;
        eval_close(rig->plain.eval);
        rig->plain.eval = NULL;
    }
}

static bool fill_data(Rig *rig, Why *why) {
    if (rig->hands == &hands_host) return choose_domain(rig, why);
    return fill_set(rig, 0, false, why) && fill_first_values(rig, why);
}

/* --- sets */

Address rig_storage(const Rig *rig, uint32_t tensor, uint32_t set) {
    size_t offset = 0;
    if (rig->tensors[tensor].alias >= 0) tensor = (uint32_t)rig->tensors[tensor].alias;
    if (set == 0) return rig->set0[tensor].data;
    for (uint32_t i = 0; i < tensor; i++)
        if (rig->tensors[i].alias < 0)
            offset += round_up(tensor_bytes(&rig->tensors[i]), SLAB_UNIT);
    return rig->slab + (set - 1) * rig->slab_stride + offset;
}

/* Every byte is touched, so that no page is first met while something is timed. */
static bool fill_slab(Rig *rig, Why *why) {
    size_t bytes = (rig->sets - 1) * rig->slab_stride;
    if (bytes > 0 && !rig->hands->poison(rig, rig->slab, 0, bytes, why)) return false;
    for (uint32_t set = 1; set < rig->sets; set++)
        if (!fill_set(rig, set, false, why)) return false;
    return true;
}

/* In the host's memory a run keeps to four times its arrays and what its processes need: two sets,
 * or as many small ones as ROTATION_HOST holds. That is past any cache, if not past four of the
 * largest. */
static size_t host_sets(size_t bytes) {
    size_t sets = (size_t)ROTATION_HOST / bytes;
    return sets < 2 ? 2 : sets;
}

uint32_t rig_rotation(const Rig *rig, size_t bytes) {
    size_t target = 4 * (size_t)rig->setup.identity.cache;
    if (target < rotation_floor) target = rotation_floor;
    if (bytes == 0 || rig->setup.hot || rig->device->imaginary) return 1;
    size_t wanted = (target + bytes - 1) / bytes;
    if (wanted < SETS_LEAST && rig->hands != &hands_host) wanted = SETS_LEAST;
    if (rig->hands == &hands_host && wanted > host_sets(bytes)) wanted = host_sets(bytes);
    return wanted > RIG_SETS_MAX ? RIG_SETS_MAX : (uint32_t)wanted;
}

bool rig_make_sets(Rig *rig, Why *why) {
    if (rig->sets > 0) return true;
    for (uint32_t i = 0; i < rig->tensor_count; i++)
        if (rig->tensors[i].alias < 0)
            rig->slab_stride += round_up(tensor_bytes(&rig->tensors[i]), SLAB_UNIT);
    for (rig->sets = rig_rotation(rig, rig->slab_stride); rig->sets > 1;
         rig->sets -= rig->sets / 4 + 1) {
        size_t bytes = (rig->sets - 1) * rig->slab_stride;
        if (rig->device->allocate(rig->state, bytes, &rig->slab, why)) break;
    }
    rig->report.sets = rig->sets;
    return fill_slab(rig, why);
}

/* --- opening */

void rig_charge(Rig *rig, Phase phase, double *begin) {
    double now = wire_now();
    rig->report.phases.seconds[phase] += now - *begin;
    *begin = now;
}

/* References hold for the one shape and its data: there is nothing to expect at an edge. */
static bool prepare_gate(Rig *rig, Why *why) {
    if (rig_has_references(rig)) return true;
    rig->gate =
        gate_open(rig->gate_arena, rig->ir, rig->setup.seed, rig->device->accuracy, rig->team);
    return rig->gate || why_set(why, "the gate's data do not fit in memory");
}

static bool self_test(Rig *rig, Why *why) {
    const char *reason = "";
    BenchReport *report = &rig->report;
    report->self_test = gate_self_test(rig->gate, rig->gate_arena, &reason);
    if (report->self_test) report->mutants_refused = 3;
    snprintf(report->self_test_message, sizeof report->self_test_message, "%s", reason);
    return report->self_test || why_set(why, "%s", reason);
}

static bool prepare_all(Rig *rig, Why *why) {
    double begin = wire_now();
    bool good = prepare_gate(rig, why);
    rig_charge(rig, PHASE_GATE, &begin);
    if (good && rig->gate)
        good = self_test(rig, why);
    else
        rig->report.self_test = good;
    rig_charge(rig, PHASE_SELF_TEST, &begin);
    if (good && rig->hands == &hands_device) good = choose_domain(rig, why);
    rig_charge(rig, PHASE_HOST, &begin);
    return good;
}

/* What needs no device; nobody else uses the team meanwhile. */
static void *run_preparation(void *argument) {
    Preparation *preparation = argument;
    preparation->good = prepare_all(preparation->rig, &preparation->why);
    return NULL;
}

static void begin_preparation(Rig *rig) {
    Preparation *preparation = &rig->preparation;
    preparation->rig = rig;
    preparation->started =
        pthread_create(&preparation->thread, NULL, run_preparation, preparation) == 0;
    if (!preparation->started) run_preparation(preparation);
}

static bool end_preparation(Rig *rig, Why *why) {
    Preparation *preparation = &rig->preparation;
    if (preparation->started) pthread_join(preparation->thread, NULL);
    preparation->started = false;
    if (!preparation->good) *why = preparation->why;
    return preparation->good;
}

static bool allocate_image(Rig *rig, Why *why) {
    return rig->device->allocate(rig->state, round_up(rig->gate->size, SLAB_UNIT), &rig->image,
                                 why);
}

static bool prepare(Rig *rig, Why *why) {
    double begin = wire_now();
    bool good = end_preparation(rig, why);
    rig_charge(rig, PHASE_PREPARATION, &begin);
    good = good && rig->hands->open(rig, why) && allocate_set0(rig, why) && fill_data(rig, why) &&
           (!rig->gate || allocate_image(rig, why));
    rig_charge(rig, PHASE_DATA, &begin);
    return good;
}

static void plan_oracle(Rig *rig, Oracle *oracle, const Ir *ir) {
    oracle->ir = ir;
    oracle->steps = oracle_steps(rig->arena, ir);
    oracle->values = arena_array(rig->arena, Address, oracle->steps.list.count);
    for (uint32_t i = 0; i < oracle->steps.list.count; i++) {
        const OracleStep *step = &oracle->steps.list.data[i];
        bool dear = step->kind == ORACLE_PRODUCT && !step->needed;
        if (dear && __builtin_add_overflow(oracle->work, step->work, &oracle->work))
            oracle->work = INT64_MAX;
    }
}

Rig *rig_begin(Arena *arena, Opening *opening, const BenchSetup *setup, const Ir *ir,
               const Ir *rounded) {
    Rig *rig = arena_new(arena, Rig);
    rig->arena = arena;
    rig->gate_arena = arena_open();
    rig->device = opening->device;
    rig->opening = opening;
    rig->index = opening->index;
    rig->setup = *setup;
    rig->hands = rig->device->oracle ? &hands_device : &hands_host;
    rig->ir = ir;
    plan_oracle(rig, &rig->plain, ir);
    plan_oracle(rig, &rig->rounded, rounded ? rounded : ir);
    rig->team = team_open(parallel_cpus());
    list_tensors(rig);
    if (!rig->device->imaginary) begin_preparation(rig);
    rig->begun = wire_now();
    return rig;
}

bool rig_finish(Rig *rig, const Binary tools[BENCH_TOOLS_MAX], Why *why) {
    Opening *opening = rig->opening;
    memcpy(rig->tools, tools, sizeof rig->tools);
    rig_charge(rig, PHASE_TOOLS, &rig->begun);
    rig->state = opening_end(opening, why);
    rig->report.phases.seconds[PHASE_DRIVER] = opening->seconds;
    opening->seconds = 0;
    if (!rig->state) return false;
    return rig->device->imaginary ? rig->report.self_test = true : prepare(rig, why);
}

static void close_data(Rig *rig) {
    for (uint32_t i = 0; i < rig->tensor_count; i++)
        if (rig->tensors[i].alias < 0) rig_release(rig, &rig->set0[i]);
    for (uint32_t i = 0; i < rig_output_count(rig); i++) rig_release(rig, &rig->golden[i]);
    for (uint32_t i = 0; i < rig->input_count; i++) rig_release(rig, &rig->first_values[i]);
    if (rig->slab) rig->device->release(rig->state, rig->slab);
    if (rig->image) rig->device->release(rig->state, rig->image);
    rig->hands->close(rig);
}

void rig_close(Rig *rig) {
    Why ignored;
    if (rig->preparation.rig) end_preparation(rig, &ignored);
    if (rig->plain.eval) eval_close(rig->plain.eval);
    if (rig->rounded.eval) eval_close(rig->rounded.eval);
    if (rig->state) close_data(rig);
    for (uint32_t i = 0; i < rig->input_count; i++) free(rig->copies[i]);
    team_close(rig->team);
    arena_close(rig->gate_arena);
}
