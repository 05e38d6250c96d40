/* An Ir and its inputs in, what its outputs must be out. One idea: each output is one cone, run
 * block by block on whichever thread asks; only its last step, rounding to storage, is done
 * here. */
#include "compiler/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval_cone.h"

struct Eval {
    Machine machine;
    Cone **cones;       /* per output */
    Expected *expected; /* per thread */
    Eval *chain;        /* the same program as the compute type's chain, once asked for */
};

static void *lines(size_t count) {
    return aligned_alloc(64, EVAL_BLOCK * count);
}

static bool expected_open(Expected *expected) {
    expected->lo = lines(sizeof(int64_t));
    expected->hi = lines(sizeof(int64_t));
    expected->value = lines(sizeof(double));
    expected->may_nan = lines(1);
    return expected->lo != NULL && expected->hi != NULL && expected->value != NULL &&
           expected->may_nan != NULL;
}

static bool cones_open(Eval *eval) {
    const Ir *ir = eval->machine.ir;
    eval->cones = arena_array(eval->machine.arena, Cone *, ir->outputs.count);
    for (uint32_t i = 0; i < ir->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[i];
        eval->cones[i] =
            cone_open(&eval->machine, machine_output(&eval->machine, i), &output->type);
        if (eval->cones[i] == NULL) return false;
    }
    return true;
}

static bool threads_open(Eval *eval, Team *team) {
    Machine *machine = &eval->machine;
    machine->team = team;
    machine->threads = team != NULL ? team_size(team) : 1;
    machine->works = calloc((size_t)machine->threads, sizeof(Work));
    eval->expected = arena_array(machine->arena, Expected, machine->threads);
    if (machine->works == NULL) return false;
    for (int i = 0; i < machine->threads; i++)
        if (!expected_open(&eval->expected[i])) return false;
    return true;
}

static Eval *open_as(const Ir *ir, const void *const *inputs, Accuracy accuracy, Team *team,
                     bool chain) {
    Arena *arena = arena_open();
    Eval *eval = arena_new(arena, Eval);
    Machine *machine = &eval->machine;
    machine_open(machine, ir, inputs, accuracy, arena);
    machine->chain = chain;
    if (threads_open(eval, team) && tensors_open(machine) && cones_open(eval)) return eval;
    eval_close(eval);
    return NULL;
}

Eval *eval_open(const Ir *ir, const void *const *inputs, Accuracy accuracy, Team *team) {
    return open_as(ir, inputs, accuracy, team, false);
}

void eval_close(Eval *eval) {
    if (eval == NULL) return;
    eval_close(eval->chain);
    for (int i = 0; i < eval->machine.threads; i++) {
        free(eval->expected[i].lo);
        free(eval->expected[i].hi);
        free(eval->expected[i].value);
        free(eval->expected[i].may_nan);
    }
    tensors_close(&eval->machine);
    arena_close(eval->machine.arena);
}

static int64_t count_set(const uint8_t *flags, int64_t count) {
    int64_t set = 0;
    for (int64_t i = 0; i < count; i++) set += flags[i];
    return set;
}

static const Expected *run(Eval *eval, int thread, uint32_t output, Wanted wanted) {
    const Cone *cone = eval->cones[output];
    Expected *expected = &eval->expected[thread];
    expected->dtype = eval->machine.ir->outputs.data[output].type.dtype;
    expected->count = wanted.count;
    expected->ambiguous = 0;
    expected->exact = true;
    for (int64_t at = 0; at < expected->count; at += cone->step) {
        wanted.count = expected->count - at < cone->step ? expected->count - at : cone->step;
        const Block *root = cone_run(cone, thread, wanted);
        eval->machine.kernel->finish(root, wanted.count, expected, at);
        expected->ambiguous += count_set(cone_ambiguous(cone, thread), wanted.count);
        if (wanted.list != NULL)
            wanted.list += wanted.count;
        else
            wanted.begin += wanted.count;
    }
    return expected;
}

const Expected *eval_range(Eval *eval, int thread, uint32_t output, int64_t begin, int64_t count) {
    return run(eval, thread, output, (Wanted){.begin = begin, .stride = 1, .count = count});
}

const Expected *eval_gather(Eval *eval, int thread, uint32_t output, const int64_t *index,
                            int64_t count) {
    return run(eval, thread, output, (Wanted){.list = index, .count = count});
}

static void store_range(Eval *eval, uint32_t output, int64_t begin, int64_t count, void *out) {
    const Cone *cone = eval->cones[output];
    DType type = eval->machine.ir->outputs.data[output].type.dtype;
    for (int64_t at = 0; at < count; at += cone->step) {
        int64_t n = count - at < cone->step ? count - at : cone->step;
        eval->machine.kernel->store(cone_run(cone, 0, (Wanted){begin + at, 1, NULL, n}), n, type,
                                    out, at);
    }
}

/* Where an interval leaves NaN open (0/0 beside 0/tiny), whether it is one is the chain's word. */
static void settle_nans(Eval *eval, uint32_t output, int64_t begin, int64_t count, uint8_t *out) {
    const IrOutput *of = &eval->machine.ir->outputs.data[output];
    const Expected *expected = eval_range(eval, 0, output, begin, count);
    int64_t bytes = (int64_t)dtype_info(of->type.dtype)->bytes;
    for (int64_t i = 0; i < count; i++)
        if (expected->may_nan[i] && !isnan(expected->value[i]))
            eval_chain(eval, output, begin + i, 1, out + (begin + i) * bytes);
}

void eval_values(Eval *eval, uint32_t output, void *out) {
    int64_t count = eval->cones[output]->count;
    store_range(eval, output, 0, count, out);
    if (!dtype_is_float(eval->machine.ir->outputs.data[output].type.dtype)) return;
    for (int64_t at = 0; at < count; at += EVAL_BLOCK)
        settle_nans(eval, output, at, count - at < EVAL_BLOCK ? count - at : EVAL_BLOCK, out);
}

void eval_chain(Eval *eval, uint32_t output, int64_t begin, int64_t count, void *out) {
    const Machine *machine = &eval->machine;
    if (eval->chain == NULL)
        eval->chain = open_as(machine->ir, machine->inputs, machine->accuracy, machine->team, true);
    if (eval->chain == NULL) abort(); /* what the intervals had room for, the chain has */
    store_range(eval->chain, output, begin, count, out);
}
