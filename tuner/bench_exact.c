/* Products too large to be judged element by element: in, a mounted Run; out, whether every element
 * of the product is right on a second set of data. One idea: of small whole numbers every sum is
 * exact in any order, and so is what is stored; then out * r = a * (b * r) for any vector r, in
 * integers that wrap, and of a wrong element the difference is a multiple of an odd number that no
 * kernel can know (Freivalds). */
#include <stdlib.h>
#include <string.h>

#include "compiler/factors.h"
#include "tuner/bench_rig.h"

#define KF_COMPUTE_BITS 64
#include "compiler/storage.h"
#include "compiler/sample.h"

/* A row of many wrong elements escapes each with 2^-40 at most (differences below 2^24). */
enum { VECTORS = 2 };

bool exact_applies(const Rig *rig) {
    Factors factors;
    for (uint32_t o = 0; o < rig_output_count(rig); o++)
        if (factors_find(rig->ir, o, &factors)) return true;
    return false;
}

/* --- data */

static void thin_out(int *domain, int sparse) {
    if (*domain < SAMPLE_SIGNS + sparse) *domain = SAMPLE_SIGNS + sparse;
}

static bool fill(Rig *rig, Why *why) {
    int *domains = calloc(rig->input_count + 1, sizeof *domains);
    Factors factors;
    if (!domains) return why_set(why, "out of memory");
    for (uint32_t o = 0; o < rig_output_count(rig); o++) {
        if (!factors_find(rig->ir, o, &factors)) continue;
        thin_out(&domains[factors.a], factors.a_sparse);
        thin_out(&domains[factors.b], factors.b_sparse);
    }
    bool good = rig_fill_inputs(rig, domains, why);
    free(domains);
    return good;
}

/* --- one product */

typedef struct Product {
    Rig *rig;
    const Factors *factors;
    uint32_t output;
    Matrix a, b, out;
    int64_t *random, *inner, *wanted, *given; /* r, b * r, a * (b * r), out * r */
} Product;

static Matrix matrix_of(const Rig *rig, uint32_t tensor, int64_t rows, int64_t columns,
                        int64_t row_stride, int64_t column_stride) {
    const Tensor *of = &rig->tensors[tensor];
    return (Matrix){tensor_zero(of, rig->set0[tensor].data),
                    of->type->dtype,
                    rows,
                    columns,
                    row_stride,
                    column_stride};
}

static void to_batch(Product *p, int64_t batch) {
    const Factors *f = p->factors;
    uint32_t out = p->rig->input_count + p->output;
    p->a = matrix_of(p->rig, f->a, f->rows, f->depth, f->a_row, f->a_depth);
    p->b = matrix_of(p->rig, f->b, f->depth, f->columns, f->b_depth, f->b_column);
    p->out = matrix_of(p->rig, out, f->rows, f->columns, f->out_row, f->out_column);
    for (uint32_t i = f->batch_rank; i-- > 0; batch /= f->batch[i]) {
        int64_t at = batch % f->batch[i];
        p->a.zero += (Address)(at * f->a_batch[i] * (int64_t)p->rig->tensors[f->a].size);
        p->b.zero += (Address)(at * f->b_batch[i] * (int64_t)p->rig->tensors[f->b].size);
        p->out.zero += (Address)(at * f->out_batch[i] * (int64_t)p->rig->tensors[out].size);
    }
}

static Outcome say_row(const Product *p, int64_t batch, int64_t row, Why *why) {
    const char *name = p->rig->ir->outputs.data[p->output].name;
    if (p->factors->batches > 1)
        why_set(why, "%s: row %lld of product %lld is wrong on small whole numbers", name,
                (long long)row, (long long)batch);
    else
        why_set(why, "%s: row %lld of the product is wrong on small whole numbers", name,
                (long long)row);
    return OUTCOME_WRONG;
}

/* What is no whole number counts as 0, so that its row may still come out right. */
static Outcome compare(const Product *p, int64_t batch, uint64_t key, Why *why) {
    const Hands *hands = p->rig->hands;
    const Factors *f = p->factors;
    bool whole_a, whole_b, whole;
    for (int64_t j = 0; j < f->columns; j++) p->random[j] = (int64_t)(sample_hash(key, j) | 1);
    if (!hands->times(p->rig, &p->b, p->random, p->inner, &whole_b, why) ||
        !hands->times(p->rig, &p->a, p->inner, p->wanted, &whole_a, why) ||
        !hands->times(p->rig, &p->out, p->random, p->given, &whole, why))
        return OUTCOME_CRASH;
    for (int64_t i = 0; i < f->rows; i++)
        if (p->given[i] != p->wanted[i]) return say_row(p, batch, i, why);
    if (whole) return OUTCOME_OK;
    why_set(why, "%s is not whole on small whole numbers",
            p->rig->ir->outputs.data[p->output].name);
    return OUTCOME_WRONG;
}

static Outcome check_batches(Product *p, Why *why) {
    Outcome outcome = OUTCOME_OK;
    for (int64_t batch = 0; batch < p->factors->batches && outcome == OUTCOME_OK; batch++) {
        to_batch(p, batch);
        for (uint32_t v = 0; v < VECTORS && outcome == OUTCOME_OK; v++)
            outcome = compare(p, batch, sample_key(p->rig->setup.seed, v), why);
    }
    return outcome;
}

static Outcome check_product(Rig *rig, uint32_t output, const Factors *f, Why *why) {
    size_t count = (size_t)(f->columns + f->depth + 2 * f->rows + 1);
    Product p = {.rig = rig, .factors = f, .output = output};
    Outcome outcome = OUTCOME_CRASH;
    p.random = calloc(count, sizeof *p.random);
    if (!p.random) {
        why_set(why, "out of memory");
        return outcome;
    }
    p.inner = p.random + f->columns;
    p.wanted = p.inner + f->depth;
    p.given = p.wanted + f->rows;
    outcome = check_batches(&p, why);
    free(p.random);
    return outcome;
}

Outcome judge_exact(Rig *rig, const Mounted *mounted, Why *why) {
    Factors factors;
    Why first = {""};
    Outcome outcome = fill(rig, &first) ? judge_run(rig, mounted, &first) : OUTCOME_CRASH;
    for (uint32_t o = 0; o < rig_output_count(rig) && outcome == OUTCOME_OK; o++)
        if (factors_find(rig->ir, o, &factors)) outcome = check_product(rig, o, &factors, &first);
    if (outcome != OUTCOME_OK) *why = first;
    return rig_fill_inputs(rig, NULL, why) ? outcome : OUTCOME_CRASH;
}
