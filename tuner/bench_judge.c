/* In: a mounted Run. Out: whether it is right (gate.md). First the gate's edges, all in one image;
 * then the whole output. The first Run whose output passes the oracle leaves it as the golden one:
 * later ones start from its complement and have only to give the same bits; where bits differ the
 * oracle decides again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/gate_image.h"
#include "tuner/bench_fence.h"
#include "tuner/fault.h"

/* A result that the device refused to compute: `why` says what it wrote where. */
static Outcome wrong(Why *why, const char *text) {
    why_set(why, "%s", text);
    return OUTCOME_WRONG;
}

/* --- edges */

static void edge_addresses(const Rig *rig, const Edge *edge, const Guarded *temporaries,
                           uint32_t temporary_count, Address *addresses) {
    uint32_t outputs = rig_output_count(rig);
    for (uint32_t i = 0; i < rig->input_count; i++)
        addresses[i] = rig->image + (Address)edge->inputs[i];
    for (uint32_t i = 0; i < outputs; i++)
        addresses[rig->input_count + i] = rig->image + (Address)edge->outputs[i];
    for (uint32_t i = 0; i < temporary_count; i++)
        addresses[rig->tensor_count + i] = temporaries[i].data;
}

static uint32_t most_temporaries(const BenchJob *job) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < job->edge_count; i++)
        if (job->edge_runs[i].temporaries.count > most) most = job->edge_runs[i].temporaries.count;
    return most;
}

/* One allocation for temporary `index` of every edge. */
static size_t largest_temporary(const BenchJob *job, uint32_t index) {
    int64_t largest = 0;
    for (uint32_t i = 0; i < job->edge_count; i++) {
        const Run *run = &job->edge_runs[i];
        if (index < run->temporaries.count && run->temporaries.data[index] > largest)
            largest = run->temporaries.data[index];
    }
    return (size_t)largest;
}

/* A kernel that wants alignment and has no twin is never launched without. */
static bool takes(const Run *run, const Address *addresses) {
    for (uint32_t l = 0; l < run->launches.count; l++) {
        const Launch *launch = &run->launches.data[l];
        for (uint32_t a = 0; a < launch->arg_count && !launch->twin; a++)
            if (launch->args[a].kind == ARG_BUFFER && launch->alignment > 1 &&
                addresses[launch->args[a].buffer] % launch->alignment != 0)
                return false;
    }
    return run->launches.count > 0;
}

static Outcome launch_edges(Rig *rig, const Mounted *mounted, const BenchJob *job,
                            const Guarded *temporaries, Address *addresses, bool *ran, Why *why) {
    Outcome outcome = OUTCOME_OK;
    rig_limit(rig->setup.run_limit);
    for (uint32_t i = 0; i < job->edge_count && outcome == OUTCOME_OK; i++) {
        const Run *run = &job->edge_runs[i];
        edge_addresses(rig, &rig->gate->edges.data[i], temporaries, run->temporaries.count,
                       addresses);
        ran[i] = takes(run, addresses);
        if (ran[i])
            outcome = rig->device->launch(rig->state, run, mounted->modules, addresses, NULL, why);
    }
    Outcome finished = rig->device->finish(rig->state, why);
    rig_unlimit();
    return outcome == OUTCOME_OK ? finished : outcome;
}

/* An edge once more on tensors that end at a fence: who reads behind one ends here, what writes there
 * the guards have told. */
static Outcome launch_fenced(Rig *rig, const Mounted *mounted, const BenchJob *job, uint32_t index,
                             const Guarded *temporaries, Arena *arena, Address *addresses,
                             Why *why) {
    const Edge *edge = &rig->gate->edges.data[index];
    const Run *run = &job->edge_runs[index];
    Outcome outcome = OUTCOME_LAUNCH;
    Fence fence;
    edge_addresses(rig, edge, temporaries, run->temporaries.count, addresses);
    rig_limit(rig->setup.run_limit);
    if (fence_open(rig, edge, arena, addresses, &fence, why))
        outcome = takes(run, addresses)
                      ? rig->device->launch(rig->state, run, mounted->modules, addresses, NULL, why)
                      : OUTCOME_OK;
    Outcome finished = rig->device->finish(rig->state, why);
    rig_unlimit();
    fence_close(&fence);
    return outcome == OUTCOME_OK ? finished : outcome;
}

/* A point whose `require` rules a shape out never runs on it, nor one on pointers that it does not
 * take: no result is owed. */
static void excuse(const Edge *edge, uint8_t *image) {
    for (uint32_t i = 0; i < edge->ir->outputs.count; i++)
        image_scatter(edge, image, i, edge->expected[i].lo);
}

static Outcome judge_image(Rig *rig, const BenchJob *job, const bool *ran, Arena *arena,
                           uint8_t *image, Check *check, Why *why) {
    const char *reason = "";
    if (!rig->device->download(rig->state, image, rig->image, rig->gate->size, why))
        return OUTCOME_CRASH;
    for (uint32_t i = 0; i < job->edge_count; i++)
        if (!ran[i]) excuse(&rig->gate->edges.data[i], image);
    if (gate_judge(rig->gate, image, arena, check, &reason)) return OUTCOME_OK;
    return wrong(why, reason);
}

Outcome judge_edges(Rig *rig, const Mounted *mounted, const BenchJob *job, Check *check, Why *why) {
    uint32_t count = most_temporaries(job);
    Arena *arena = arena_open();
    Guarded *temporaries = arena_array(arena, Guarded, count);
    Address *addresses = arena_array(arena, Address, rig->tensor_count + count);
    bool *ran = arena_array(arena, bool, job->edge_count);
    uint8_t *image = malloc(rig->gate->size + 1);
    Outcome outcome = OUTCOME_LAUNCH;
    bool good = image != NULL || why_set(why, "out of memory");
    if (job->edge_count != rig->gate->edges.count)
        good = why_set(why, "%u runs for %u edges", job->edge_count, rig->gate->edges.count);
    for (uint32_t i = 0; i < count && good; i++)
        good = rig_allocate(rig, largest_temporary(job, i), &temporaries[i], why);
    if (good && rig->device->upload(rig->state, rig->image, rig->gate->image, rig->gate->size, why))
        outcome = launch_edges(rig, mounted, job, temporaries, addresses, ran, why);
    if (outcome == OUTCOME_OK) outcome = judge_image(rig, job, ran, arena, image, check, why);
    for (uint32_t i = 0; i < job->edge_count && outcome == OUTCOME_OK && rig->device->fenced; i++)
        if (ran[i] && rig->gate->edges.data[i].misaligned)
            outcome = launch_fenced(rig, mounted, job, i, temporaries, arena, addresses, why);
    for (uint32_t i = 0; i < count; i++) rig_release(rig, &temporaries[i]);
    free(image);
    arena_close(arena);
    return outcome;
}

/* --- the whole output */

/* A golden output can be compared with where nothing lies between its elements. */
static bool can_compare(const Rig *rig, uint32_t output) {
    return rig->golden_set && rig_output(rig, output)->dense;
}

static bool set_up(Rig *rig, const Mounted *mounted, Why *why) {
    bool good = rig_refill(rig, 0, 1, why);
    for (uint32_t o = 0; o < rig_output_count(rig) && good; o++) {
        Address golden = can_compare(rig, o) ? rig->golden[o].data : 0;
        if (rig_output(rig, o)->alias < 0)
            good = rig->hands->poison(rig, rig_output_memory(rig, o)->data, golden,
                                      tensor_bytes(rig_output(rig, o)), why);
    }
    for (uint32_t t = 0; t < mounted->run->temporaries.count && good; t++)
        good = rig->hands->poison(rig, mounted->temporaries[t].data, 0,
                                  mounted->temporaries[t].bytes, why);
    return good;
}

static bool change_one(Rig *rig, Why *why) {
    uint8_t byte;
    Address at = tensor_zero(rig_output(rig, 0), rig_output_memory(rig, 0)->data);
    if (type_count(rig_output(rig, 0)->type) == 0) return true;
    if (!rig->device->download(rig->state, &byte, at, 1, why)) return false;
    byte ^= 0x55;
    return rig->device->upload(rig->state, at, &byte, 1, why);
}

static Outcome run_once(Rig *rig, const Mounted *mounted, Fault fault, Why *why) {
    if (!set_up(rig, mounted, why)) return OUTCOME_CRASH;
    rig_limit(rig->setup.run_limit);
    fault_strike(fault);
    Outcome outcome = rig->device->launch(rig->state, mounted->run, mounted->modules,
                                          mounted->table[0], NULL, why);
    Outcome finished = rig->device->finish(rig->state, why);
    rig_unlimit();
    if (outcome == OUTCOME_OK) outcome = finished;
    if (outcome == OUTCOME_OK && fault == FAULT_WRONG && !change_one(rig, why))
        return OUTCOME_CRASH;
    return outcome;
}

static bool guards_stand(Rig *rig, const Mounted *mounted, Why *why) {
    for (uint32_t i = 0; i < rig->tensor_count; i++)
        if (!guard_check(rig, &rig->set0[i], rig->tensors[i].name, why)) return false;
    for (uint32_t i = 0; i < mounted->run->temporaries.count; i++)
        if (!guard_check(rig, &mounted->temporaries[i], "a temporary", why)) return false;
    return true;
}

Outcome judge_run(Rig *rig, const Mounted *mounted, Why *why) {
    Outcome outcome = run_once(rig, mounted, FAULT_NONE, why);
    if (outcome != OUTCOME_OK) return outcome;
    return guards_stand(rig, mounted, why) ? OUTCOME_OK : OUTCOME_WRONG;
}

static bool all_same(Rig *rig, bool *same, Why *why) {
    *same = rig->golden_set;
    for (uint32_t o = 0; o < rig_output_count(rig) && *same; o++) {
        const Tensor *tensor = rig_output(rig, o);
        if (!can_compare(rig, o))
            *same = false;
        else if (!rig->hands->same(rig, tensor->type->dtype, rig_output_memory(rig, o)->data,
                                   rig->golden[o].data, tensor->count, same, why))
            return false;
    }
    return true;
}

/* Where memory is too short for a golden output, every result is taken to the oracle. */
static bool allocate_golden(Rig *rig) {
    Why ignored;
    for (uint32_t o = 0; o < rig_output_count(rig); o++)
        if (!rig->golden[o].block &&
            !rig_allocate(rig, tensor_bytes(rig_output(rig, o)), &rig->golden[o], &ignored))
            return false;
    return true;
}

static bool keep_golden(Rig *rig, const Check *check, Why *why) {
    if (!allocate_golden(rig)) return true;
    for (uint32_t o = 0; o < rig_output_count(rig); o++)
        if (!rig->hands->copy(rig, rig->golden[o].data, rig_output_memory(rig, o)->data,
                              tensor_bytes(rig_output(rig, o)), why))
            return false;
    rig->golden_set = true;
    rig->golden_check = *check;
    return true;
}

/* "[17, 2203]" */
static void print_index(Text *out, const Type *type, int64_t index) {
    int64_t place[RANK_MAX];
    for (uint32_t i = type->rank; i-- > 0; index /= type->dim[i]) place[i] = index % type->dim[i];
    for (uint32_t i = 0; i < type->rank; i++)
        text_printf(out, "%s%lld", i ? ", " : "[", (long long)place[i]);
    if (type->rank > 0) text_add(out, "]");
}

static void print_element(Text *out, DType dtype, const void *bytes) {
    Scalar value = dtype_load(dtype, bytes);
    if (dtype_is_float(dtype) && isnan(value.real))
        text_add(out, "nan");
    else if (dtype_is_float(dtype))
        text_printf(out, "%.9g", value.real);
    else
        text_printf(out, "%lld", (long long)value.whole);
}

static bool expect_one(Rig *rig, Oracle *oracle, uint32_t output, int64_t index, void *lo, void *hi,
                       Why *why) {
    size_t size = rig_output(rig, output)->size;
    if (rig_has_references(rig)) return given_expect(rig, output, index, lo, hi), true;
    Eval *eval = rig_eval(rig, oracle, why);
    if (!eval) return false;
    const Expected *expected = eval_gather(eval, 0, output, &index, 1);
    memcpy(lo, expected->lo, size);
    memcpy(hi, expected->hi, size);
    return true;
}

/* "out[17, 2203] is 2, expected 1" */
static void say_wrong(Rig *rig, Oracle *oracle, uint32_t output, int64_t index, Why *why) {
    const Tensor *tensor = rig_output(rig, output);
    DType dtype = tensor->type->dtype;
    uint8_t element[sizeof(Scalar)] = {0}, lo[sizeof(Scalar)] = {0}, hi[sizeof(Scalar)] = {0};
    Address at = tensor_zero(tensor, rig_output_memory(rig, output)->data) +
                 (Address)tensor_offset(tensor, index);
    if (!expect_one(rig, oracle, output, index, lo, hi, why) ||
        !rig->device->download(rig->state, element, at, tensor->size, why))
        return;
    bool one = memcmp(lo, hi, tensor->size) == 0;
    Text text = {0};
    text_add(&text, tensor->name);
    print_index(&text, tensor->type, index);
    text_add(&text, " is ");
    print_element(&text, dtype, element);
    text_add(&text, one ? ", expected " : ", expected ");
    print_element(&text, dtype, lo);
    if (!one) text_add(&text, " to ");
    if (!one) print_element(&text, dtype, hi);
    why_set(why, "%s", text_string(&text));
    text_free(&text);
}

/* Every output against the oracle. */
static Outcome ask_oracle(Rig *rig, Oracle *oracle, Check *check, Why *why) {
    for (uint32_t o = 0; o < rig_output_count(rig); o++) {
        Check one = check_none();
        Address zero = tensor_zero(rig_output(rig, o), rig_output_memory(rig, o)->data);
        bool good = rig_has_references(rig) ? given_check(rig, o, zero, &one, why)
                                            : rig->hands->check(rig, oracle, o, zero, &one, why);
        if (!good) return OUTCOME_CRASH;
        check_merge(check, &one);
        if (one.wrong == 0) continue;
        say_wrong(rig, oracle, o, one.first_wrong, why);
        return OUTCOME_WRONG;
    }
    return OUTCOME_OK;
}

/* One run, judged. `same`: it gave the golden bits. */
static Outcome run_and_judge(Rig *rig, const Mounted *mounted, Oracle *oracle, Fault fault,
                             bool *same, Check *check, Why *why) {
    *same = false;
    Outcome outcome = run_once(rig, mounted, fault, why);
    if (outcome != OUTCOME_OK) return outcome;
    if (!guards_stand(rig, mounted, why)) return OUTCOME_WRONG;
    if (oracle == &rig->plain && !all_same(rig, same, why)) return OUTCOME_CRASH;
    if (!*same) return ask_oracle(rig, oracle, check, why);
    check_merge(check, &rig->golden_check);
    return OUTCOME_OK;
}

static int64_t count_outputs(const Rig *rig) {
    int64_t count = 0;
    for (uint32_t o = 0; o < rig_output_count(rig); o++)
        count += type_count(rig_output(rig, o)->type);
    return count;
}

/* Of what a sample stood for, products are judged in full on another set of data: then no element
 * is unseen. */
static Outcome judge_unseen(Rig *rig, const Mounted *mounted, Check *check, Why *why) {
    int64_t count = count_outputs(rig);
    if (check->checked + check->unchecked >= count || !exact_applies(rig)) return OUTCOME_OK;
    Outcome outcome = judge_exact(rig, mounted, why);
    if (outcome == OUTCOME_OK && rig_output_count(rig) == 1)
        check->checked = count - check->unchecked;
    return outcome;
}

/* A result that the oracle accepts becomes the golden one and is run once more from its own
 * complement: only now is it certain that it wrote every byte. */
static Outcome crown(Rig *rig, const Mounted *mounted, Check *whole, Why *why) {
    Check again = check_none();
    bool same;
    if (!keep_golden(rig, whole, why)) return OUTCOME_CRASH;
    Outcome outcome = judge_unseen(rig, mounted, whole, why);
    rig->golden_check = *whole;
    if (outcome == OUTCOME_OK)
        return run_and_judge(rig, mounted, &rig->plain, FAULT_NONE, &same, &again, why);
    rig->golden_set = false;
    return outcome;
}

/* A result of the golden bits is right; so may others be. */
Outcome judge_whole(Rig *rig, const Mounted *mounted, const BenchJob *job, int attempt,
                    Check *check, Why *why) {
    bool plain = !job->rounded || rig->rounded.ir == rig->ir, same;
    Oracle *oracle = plain ? &rig->plain : &rig->rounded;
    Fault fault = fault_find(FAULT_RUNNING, job->label, attempt);
    Check whole = check_none();
    Outcome outcome = run_and_judge(rig, mounted, oracle, fault, &same, &whole, why);
    if (outcome == OUTCOME_OK && !same)
        outcome =
            plain ? crown(rig, mounted, &whole, why) : judge_unseen(rig, mounted, &whole, why);
    check_merge(check, &whole);
    return outcome;
}

Outcome judge_imaginary(Rig *rig, const Mounted *mounted, const BenchJob *job, int attempt,
                        Why *why) {
    Fault fault = fault_find(FAULT_RUNNING, job->label, attempt);
    rig_limit(rig->setup.run_limit);
    fault_strike(fault);
    Outcome outcome =
        rig->device->launch(rig->state, job->run, mounted->modules, mounted->table[0], NULL, why);
    rig_unlimit();
    return outcome == OUTCOME_OK && fault == FAULT_WRONG ? wrong(why, "KFUSE_FAULT") : outcome;
}
