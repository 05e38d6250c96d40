/* An Ir in, the values that its device oracle computes before outputs, in order, out. One idea: they
 * are the host's tensors, and products, so that both oracles read the same things in full. */
#include "compiler/eval_cone.h"
#include "compiler/oracle_cuda.h"

enum { SLOTS_MAX = 1024 }; /* values that one thread has room for at once */
/* Pieces of rows: enough threads for any GPU (an H200 has room for 270 thousand), each with a few
 * elements at least; a Sum for each is 23 MB. */
static const int64_t threads_wanted = 1 << 17, piece_least = 8;

static void shape_rows(OracleStep *step, const Type *type, AxisRange axes) {
    step->rows = step->inner = step->length = 1;
    for (uint32_t i = 0; i < type->rank; i++) {
        *(axes_have(axes, i) ? &step->length : &step->rows) *= type->dim[i];
        if ((int32_t)i >= axes.end) step->inner *= type->dim[i];
    }
    step->pieces = 1;
    while (step->rows * step->pieces * 2 <= threads_wanted &&
           step->pieces * 2 * piece_least <= step->length)
        step->pieces *= 2;
}

static int64_t product_work(const Product *product, int64_t count) {
    return product->depth > 0 && count > INT64_MAX / product->depth ? INT64_MAX
                                                                    : count * product->depth;
}

static OracleStep step_of(Machine *machine, Value value, bool needed) {
    const IrNode *node = ir_node(machine->ir, value);
    OracleStep step = {.value = value, .type = node->type.dtype, .needed = needed};
    step.count = type_count(&node->type);
    if (node->op == IR_MATMUL) {
        step.kind = ORACLE_PRODUCT;
        product_find(machine, value);
        step.work = product_work(machine->products[value], step.count);
    } else if (node->op >= IR_SUM && node->op <= IR_VAR) {
        step.kind = ORACLE_REDUCTION;
        step.op = node->op;
        step.passes = node->op == IR_VAR ? 2 : 1;
        shape_rows(&step, &ir_node(machine->ir, node->arg[0])->type, node->axes);
    }
    return step;
}

/* A thread has room for the values that live at once. */
static bool fits(Machine *machine, uint32_t output) {
    const IrOutput *of = &machine->ir->outputs.data[output];
    return cone_plan(machine, of->value, &of->type)->slots <= SLOTS_MAX;
}

OracleSteps oracle_steps(Arena *arena, const Ir *ir) {
    Arena *scratch = arena_open();
    Machine machine;
    OracleSteps steps = {.known = ir->compute == DT_F32, .sum_bytes = block_kernel_f32.sum_bytes};
    machine_open(&machine, ir, NULL, ACCURACY_CUDA, scratch);
    for (uint32_t i = 0; i < ir->outputs.count; i++) steps.known = steps.known && fits(&machine, i);
    const bool *whole = tensors_find(&machine, scratch);
    Block *exists = arena_new(scratch, Block); /* stands for what has memory */
    for (Value v = 1; steps.known && v < ir->nodes.count; v++) {
        if (!whole[v] && ir_node(ir, v)->op != IR_MATMUL) continue;
        OracleStep step = step_of(&machine, v, whole[v]);
        step.slot = ir->inputs.count + steps.list.count;
        array_push(arena, &steps.list, step);
        machine.tensors[v] = exists;
    }
    arena_close(scratch);
    return steps;
}
