/* Values that must exist in full before others can be read: reductions, what is transposed or
 * multiplied after it was computed, products that something reads in full. One idea: in the order
 * of the Ir each is one array of intervals, filled from its cone by all threads; sums are split and
 * joined the same way whatever the number of threads. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/eval_cone.h"

enum { PIECES = 64 };
static const int64_t FEW_ROWS = 256, SMALL_PRODUCT = 1 << 22;

static bool is_reduction(const IrNode *node) {
    return node->op >= IR_SUM && node->op <= IR_VAR;
}

/* --- which values */

enum { NEEDED = 1, WHOLE = 2, READ_IN_FULL = 4 };

static int64_t product_work(const Ir *ir, const IrNode *node) {
    const Type *a = &ir_node(ir, node->arg[0])->type;
    int64_t count = type_count(&node->type), depth = a->dim[a->rank - 1];
    return depth > 0 && count > SMALL_PRODUCT / depth ? SMALL_PRODUCT : count * depth;
}

/* What lies under transpositions must exist, unless it is an input. */
static void mark_operand(const Machine *machine, uint8_t *marks, Value value) {
    const IrNode *node = ir_node(machine->ir, value = machine->alias[value]);
    while (node->op == IR_TRANSPOSE)
        node = ir_node(machine->ir, value = machine->alias[node->arg[0]]);
    marks[value] |= NEEDED;
    if (node->op != IR_INPUT) marks[value] |= WHOLE;
}

static void mark_operands(const Machine *machine, uint8_t *marks, Value v) {
    const IrNode *node = ir_node(machine->ir, v);
    bool full = (marks[v] & (WHOLE | READ_IN_FULL)) != 0;
    if (node->op == IR_CAST && ir_dtype(machine->ir, machine->alias[node->arg[0]]) == DT_WEAK)
        return;
    for (uint32_t i = 0; i < node->count; i++) {
        Value a = machine->alias[node->arg[i]];
        marks[a] |= NEEDED | (full ? READ_IN_FULL : 0);
        if (node->op == IR_MATMUL || node->op == IR_TRANSPOSE) mark_operand(machine, marks, a);
    }
}

static void mark_all(const Machine *machine, uint8_t *marks) {
    const Ir *ir = machine->ir;
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        marks[machine->alias[ir->outputs.data[i].value]] |= NEEDED;
    for (Value v = ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(ir, v);
        if (marks[v] == 0) continue;
        bool small = node->op == IR_MATMUL && product_work(ir, node) < SMALL_PRODUCT;
        if (is_reduction(node) || small || (node->op == IR_MATMUL && (marks[v] & READ_IN_FULL)))
            marks[v] |= WHOLE;
        mark_operands(machine, marks, v);
    }
}

/* --- memory */

static bool fits(size_t bytes) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages <= 0 || size <= 0 || bytes < (size_t)pages / 4 * 3 * (size_t)size;
}

static void block_free(Block *block) {
    if (block == NULL) return;
    free(block->lo);
    free(block->hi);
    free(block->v);
    free(block->nan);
}

static Block *block_new(Machine *machine, const Type *type) {
    size_t count = (size_t)(type_count(type) > 0 ? type_count(type) : 1);
    if (type_count(type) < 0 || !fits(count * (17 + machine->kernel->real))) return NULL;
    Block *block = arena_new(machine->arena, Block);
    block->whole = !dtype_is_float(type->dtype);
    block->lo = malloc(count * sizeof(int64_t));
    block->hi = malloc(count * sizeof(int64_t));
    block->v = malloc(count * (block->whole ? sizeof(int64_t) : machine->kernel->real));
    block->nan = malloc(count);
    if (block->lo != NULL && block->hi != NULL && block->v != NULL && block->nan != NULL)
        return block;
    block_free(block);
    return NULL;
}

/* Points need their ends alone. */
static void block_settle(const Machine *machine, Block *block, int64_t count) {
    machine->kernel->settle(block, count);
    if (!block->point) return;
    free(block->hi);
    free(block->v);
    free(block->nan);
    block->hi = block->v = block->nan = NULL;
}

/* --- filling */

typedef struct Filling {
    const Machine *machine;
    const Cone *cone;
    Block *out;
    int op;
    DType type;
    int64_t rows, length,
        inner; /* of a reduction: element k of row r is (r / inner * length + k) * inner + r % inner */
    int64_t pieces;      /* of each row */
    void *sums, *before; /* of each piece and row; of each thread where rows are whole */
    int pass;
} Filling;

static void fill_part(void *context, int64_t part) {
    const Filling *fill = context;
    int64_t step = fill->cone->step;
    for (int64_t i = part * step; i < fill->cone->count; i += fill->machine->threads * step) {
        int64_t count = fill->cone->count - i < step ? fill->cone->count - i : step;
        const Block *block = cone_run(fill->cone, (int)part, (Wanted){i, 1, NULL, count});
        fill->machine->kernel->expand(fill->out, i, block, count);
    }
}

static void *sum_at(const Filling *fill, void *sums, int64_t i) {
    return (char *)sums + (size_t)i * fill->machine->kernel->sum_bytes;
}

static void reduce_piece(const Filling *fill, int thread, int64_t row, int64_t piece, void *sum,
                         const void *before, int pass) {
    const BlockKernel *kernel = fill->machine->kernel;
    int64_t begin = fill->length * piece / fill->pieces,
            end = fill->length * (piece + 1) / fill->pieces;
    int64_t first = row / fill->inner * fill->length * fill->inner + row % fill->inner;
    kernel->clear(sum);
    for (int64_t k = begin; k < end; k += fill->cone->step) {
        int64_t count = end - k < fill->cone->step ? end - k : fill->cone->step;
        const Block *block = cone_run(fill->cone, thread,
                                      (Wanted){first + k * fill->inner, fill->inner, NULL, count});
        kernel->reduce(sum, fill->op, fill->type, block, count, before, pass, fill->machine->chain);
    }
}

static int pass_count(const Filling *fill) {
    return fill->op != IR_VAR ? 1 : fill->machine->chain ? 3 : 2;
}

static void reduce_rows(void *context, int64_t part) {
    const Filling *fill = context;
    const BlockKernel *kernel = fill->machine->kernel;
    void *sum = sum_at(fill, fill->sums, part), *before = sum_at(fill, fill->before, part);
    for (int64_t row = part; row < fill->rows; row += fill->machine->threads) {
        kernel->clear(before);
        for (int pass = 0; pass < pass_count(fill); pass++) {
            if (pass > 0) kernel->next_pass(before, sum, pass - 1);
            reduce_piece(fill, (int)part, row, 0, sum, pass > 0 ? before : NULL, pass);
        }
        kernel->reduced(fill->out, row, sum, before, fill->op, fill->type, fill->machine->chain);
    }
}

static void reduce_pieces(void *context, int64_t part) {
    const Filling *fill = context;
    for (int64_t i = part; i < fill->rows * fill->pieces; i += fill->machine->threads) {
        const void *before = fill->pass > 0 ? sum_at(fill, fill->before, i / fill->pieces) : NULL;
        reduce_piece(fill, (int)part, i / fill->pieces, i % fill->pieces,
                     sum_at(fill, fill->sums, i), before, fill->pass);
    }
}

static void run_parts(const Machine *machine, void (*work)(void *context, int64_t part),
                      Filling *fill) {
    if (machine->team == NULL)
        work(fill, 0);
    else
        team_run(machine->team, machine->threads, work, fill);
}

static void join_row(const Filling *fill, int64_t row, bool last) {
    const BlockKernel *kernel = fill->machine->kernel;
    void *sum = sum_at(fill, fill->sums, row * fill->pieces),
         *before = sum_at(fill, fill->before, row);
    for (int64_t i = 1; i < fill->pieces; i++)
        kernel->merge(sum, fill->op, fill->type, sum_at(fill, fill->sums, row * fill->pieces + i));
    if (!last)
        kernel->next_pass(before, sum, fill->pass);
    else
        kernel->reduced(fill->out, row, sum, before, fill->op, fill->type, fill->machine->chain);
}

static void reduce_split(Filling *fill) {
    for (fill->pass = 0; fill->pass < pass_count(fill); fill->pass++) {
        run_parts(fill->machine, reduce_pieces, fill);
        for (int64_t row = 0; row < fill->rows; row++)
            join_row(fill, row, fill->pass == pass_count(fill) - 1);
    }
}

static void shape_rows(Filling *fill, const Type *type, AxisRange axes) {
    fill->rows = fill->inner = fill->length = 1;
    for (uint32_t i = 0; i < type->rank; i++) {
        *(axes_have(axes, i) ? &fill->length : &fill->rows) *= type->dim[i];
        if ((int32_t)i >= axes.end) fill->inner *= type->dim[i];
    }
}

static bool fill_reduction(Machine *machine, const IrNode *node, Filling *fill) {
    const Type *type = &ir_node(machine->ir, node->arg[0])->type;
    fill->cone = cone_open(machine, node->arg[0], type);
    if (fill->cone == NULL) return false;
    fill->op = node->op;
    fill->type = node->type.dtype;
    shape_rows(fill, type, node->axes);
    fill->pieces = fill->rows < FEW_ROWS && fill->length > PIECES * fill->cone->step ? PIECES : 1;
    int64_t sums = fill->pieces > 1 ? fill->rows * fill->pieces : machine->threads;
    fill->sums = calloc((size_t)sums, machine->kernel->sum_bytes);
    fill->before = calloc((size_t)sums, machine->kernel->sum_bytes);
    bool ok = fill->sums != NULL && fill->before != NULL;
    if (ok && fill->pieces > 1)
        reduce_split(fill);
    else if (ok)
        run_parts(machine, reduce_rows, fill);
    free(fill->sums);
    free(fill->before);
    return ok;
}

static bool tensor_open(Machine *machine, Value value) {
    const IrNode *node = ir_node(machine->ir, value);
    Block *block = block_new(machine, &node->type);
    Filling fill = {.machine = machine, .out = block};
    if (block == NULL) return false;
    bool ok = true;
    if (is_reduction(node)) {
        ok = fill_reduction(machine, node, &fill);
    } else {
        fill.cone = cone_open(machine, value, &node->type);
        ok = fill.cone != NULL;
        if (ok) run_parts(machine, fill_part, &fill);
    }
    machine->tensors[value] = block;
    if (ok) block_settle(machine, block, type_count(&node->type));
    return ok;
}

bool *tensors_find(const Machine *machine, Arena *arena) {
    uint8_t *marks = arena_array(arena, uint8_t, machine->ir->nodes.count);
    bool *whole = arena_array(arena, bool, machine->ir->nodes.count);
    mark_all(machine, marks);
    for (Value v = 1; v < machine->ir->nodes.count; v++) whole[v] = (marks[v] & WHOLE) != 0;
    return whole;
}

bool tensors_open(Machine *machine) {
    const Ir *ir = machine->ir;
    Arena *scratch = arena_open();
    uint8_t *marks = arena_array(scratch, uint8_t, ir->nodes.count);
    bool ok = true;
    mark_all(machine, marks);
    for (Value v = 1; ok && v < ir->nodes.count; v++) {
        if (marks[v] == 0) continue;
        if (ir_node(ir, v)->op == IR_MATMUL) product_open(machine, v);
        if (marks[v] & WHOLE) ok = tensor_open(machine, v);
    }
    arena_close(scratch);
    return ok;
}

void tensors_close(Machine *machine) {
    for (Value v = 0; v < machine->ir->nodes.count; v++) block_free(machine->tensors[v]);
    for (int i = 0; machine->works != NULL && i < machine->threads; i++) {
        free(machine->works[i].bytes);
        free(machine->works[i].slots);
        free(machine->works[i].runs);
        free(machine->works[i].ambiguous);
    }
    free(machine->works);
}
