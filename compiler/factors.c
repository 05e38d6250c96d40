/* A program's output in, the two inputs it is a product of out. */
#include "compiler/factors.h"

#include <string.h>

#include "compiler/eval_cone.h"

/* What lies under transpositions. */
static Value base_of(const Machine *machine, Value value, bool *swapped) {
    *swapped = false;
    for (value = machine->body[value]; ir_node(machine->ir, value)->op == IR_TRANSPOSE;
         value = machine->body[ir_node(machine->ir, value)->arg[0]])
        *swapped = !*swapped;
    return value;
}

static bool is_input(const Machine *machine, Value value, uint32_t *slot) {
    bool swapped;
    const IrNode *node = ir_node(machine->ir, base_of(machine, value, &swapped));
    *slot = node->op == IR_INPUT ? node->index : 0;
    return node->op == IR_INPUT;
}

static bool may_wrap(DType type) {
    return type == DT_BOOL || type == DT_U8 || type == DT_I8;
}

/* The output's strides by the product's axes; false where it is broadcast. */
static bool follow_output(const IrOutput *output, const Type *type, bool swapped, bool row,
                          bool column, Factors *f) {
    int64_t dim[RANK_MAX], stride[RANK_MAX];
    uint32_t rank = type->rank;
    if (output->type.rank != rank) return false;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t from = swapped && i + 2 >= rank ? 2 * rank - 3 - i : i;
        dim[i] = output->type.dim[from];
        stride[i] = output->strides[from];
        if (dim[i] != type->dim[i]) return false;
    }
    f->out_column = column ? stride[--rank] : 0;
    f->out_row = row ? stride[--rank] : 0;
    memcpy(f->out_batch, stride, rank * sizeof *stride);
    return true;
}

/* Sums of n random signs stay within 12 sqrt(n) but once in 10^31; a square of one input adds ones
 * alone. */
static void thin_out(Factors *f, DType type) {
    int precision = dtype_is_float(type) ? dtype_info(type)->precision : 31;
    double limit = (double)((int64_t)1 << (precision < 24 ? precision : 24)), most = limit / 12;
    int bits = 0;
    if (f->a == f->b) most = limit / 2;
    while ((double)f->depth / (double)((int64_t)1 << bits) > (f->a == f->b ? most : most * most))
        bits++;
    f->a_sparse = f->a == f->b ? bits : (bits + 1) / 2;
    f->b_sparse = f->a == f->b ? bits : bits / 2;
}

static void take_product(const Product *product, Factors *f) {
    f->rows = product->rows;
    f->columns = product->columns;
    f->depth = product->depth;
    f->batch_rank = product->batch_rank;
    f->batches = 1;
    for (uint32_t i = 0; i < f->batch_rank; i++) f->batches *= f->batch[i] = product->batch[i];
    memcpy(f->a_batch, product->a_batch, sizeof f->a_batch);
    memcpy(f->b_batch, product->b_batch, sizeof f->b_batch);
    f->a_row = product->a_row;
    f->a_depth = product->a_depth;
    f->b_depth = product->b_depth;
    f->b_column = product->b_column;
}

/* What is updated in place is no longer there to compare with. */
static bool find(Machine *machine, uint32_t output, Factors *f) {
    const IrOutput *of = &machine->ir->outputs.data[output];
    bool swapped;
    Value value = base_of(machine, machine_output(machine, output), &swapped);
    const IrNode *node = ir_node(machine->ir, value);
    if (node->op != IR_MATMUL || of->updates >= 0 || may_wrap(node->type.dtype) ||
        may_wrap(of->type.dtype) || !is_input(machine, node->arg[0], &f->a) ||
        !is_input(machine, node->arg[1], &f->b))
        return false;
    bool row = ir_node(machine->ir, node->arg[0])->type.rank > 1;
    bool column = ir_node(machine->ir, node->arg[1])->type.rank > 1;
    product_find(machine, value);
    take_product(machine->products[value], f);
    if (f->depth > 1 && (f->a_depth == 0 || f->b_depth == 0)) return false; /* not random */
    thin_out(f, of->type.dtype);
    return follow_output(of, &node->type, swapped, row, column, f);
}

bool factors_find(const Ir *ir, uint32_t output, Factors *factors) {
    Arena *arena = arena_open();
    Machine machine;
    *factors = (Factors){0};
    machine_open(&machine, ir, NULL, ACCURACY_C, arena);
    bool found = find(&machine, output, factors);
    arena_close(arena);
    return found;
}
