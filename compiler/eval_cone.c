/* A value in, the steps that compute it out; and the steps run on a block. One idea: every node of
 * a cone is computed at the cone's own index, as if broadcast, so that only leaves know about
 * shapes. */
#include "compiler/eval_cone.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_MAX = 512, STEP_MIN = 16, PRODUCT_BLOCKS = 5, ALIGNMENT = 64 };
static const size_t CACHE_SHARE = 4 << 20; /* bytes of blocks that a thread should stay below */

/* --- the machine */

void machine_open(Machine *machine, const Ir *ir, const void *const *inputs, Accuracy accuracy,
                  Arena *arena) {
    *machine = (Machine){.ir = ir, .inputs = inputs, .accuracy = accuracy, .arena = arena};
    machine->kernel = ir->compute == DT_F64 ? &block_kernel_f64 : &block_kernel_f32;
    machine->weak = ir_weak_values(ir, arena);
    machine->tensors = arena_array(arena, Block *, ir->nodes.count);
    machine->products = arena_array(arena, Product *, ir->nodes.count);
    machine->body = arena_array(arena, Value, ir->nodes.count);
    machine->alias = arena_array(arena, Value, ir->nodes.count);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        bool call = node->op == IR_CALL, through = call || node->op == IR_BROADCAST;
        machine->body[v] = call ? machine->body[node->arg[0]] : v;
        machine->alias[v] = through ? machine->alias[node->arg[0]] : v;
    }
}

Value machine_output(const Machine *machine, uint32_t index) {
    const IrOutput *output = &machine->ir->outputs.data[index];
    const IrNode *node = ir_node(machine->ir, output->value);
    bool rounds = node->op == IR_CAST && node->type.dtype == output->type.dtype &&
                  dtype_is_float(output->type.dtype) &&
                  dtype_is_float(ir_dtype(machine->ir, node->arg[0]));
    return rounds ? node->arg[0] : output->value;
}

/* --- leaves */

enum { NOWHERE = -1 };

static bool is_view(const IrNode *node) {
    return node->op == IR_TRANSPOSE || node->op == IR_BROADCAST;
}

/* From axes of `node`, a view, to those of what it reads, whose type is `type`. */
static void step_down(int *from, uint32_t rank, const IrNode *node, const Type *type) {
    for (uint32_t i = 0; i < rank; i++) {
        if (from[i] == NOWHERE) continue;
        bool broadcast =
            from[i] >= (int)type->rank || type->dim[(int)type->rank - 1 - from[i]] !=
                                              node->type.dim[(int)node->type.rank - 1 - from[i]];
        if (node->op == IR_TRANSPOSE)
            from[i] = from[i] < 2 ? 1 - from[i] : from[i];
        else if (broadcast)
            from[i] = NOWHERE;
    }
}

bool view_find(const Machine *machine, Value value, View *view) {
    int from[RANK_MAX]; /* by axis of `value`: the one it walks, from the right, or NOWHERE */
    const IrNode *node = ir_node(machine->ir, value = machine->body[value]);
    view->type = node->type;
    for (uint32_t i = 0; i < view->type.rank; i++) from[i] = (int)(view->type.rank - 1 - i);
    for (; is_view(node) && machine->tensors[value] == NULL; node = ir_node(machine->ir, value)) {
        value = machine->body[node->arg[0]];
        step_down(from, view->type.rank, node, &ir_node(machine->ir, value)->type);
    }
    if (machine->tensors[value] == NULL && node->op != IR_INPUT && node->op != IR_MATMUL)
        return false;
    view->base = value;
    type_strides(&node->type, view->stride);
    const int64_t *base =
        node->op == IR_INPUT ? machine->ir->inputs.data[node->index].strides : view->stride;
    int64_t stride[RANK_MAX] = {0};
    for (uint32_t i = 0; i < view->type.rank; i++)
        if (from[i] != NOWHERE) stride[i] = base[(int)node->type.rank - 1 - from[i]];
    memcpy(view->stride, stride, sizeof stride);
    return true;
}

void view_load(const Machine *machine, const View *view, Block *out, int64_t at, int64_t offset,
               int64_t stride, int64_t count) {
    const IrNode *node = ir_node(machine->ir, view->base);
    if (machine->tensors[view->base] != NULL)
        machine->kernel->copy(out, at, machine->tensors[view->base], offset, stride, count);
    else
        machine->kernel->load(out, at, node->type.dtype, machine->inputs[node->index], offset,
                              stride, count);
}

/* The view's strides over `shape`, right-aligned; 0 where it is broadcast. */
static void broadcast_view(View *view, const Type *shape) {
    int64_t stride[RANK_MAX] = {0};
    for (uint32_t i = 0; i < view->type.rank && i < shape->rank; i++) {
        uint32_t from = view->type.rank - 1 - i;
        if (view->type.dim[from] != 1) stride[shape->rank - 1 - i] = view->stride[from];
    }
    memcpy(view->stride, stride, sizeof stride);
}

/* --- building */

static bool is_constant(const Machine *machine, const IrNode *node) {
    return node->op == IR_CONST ||
           (node->op == IR_CAST && ir_dtype(machine->ir, machine->alias[node->arg[0]]) == DT_WEAK);
}

/* An IR_CAST from WEAK rounds to the compute type, or converts to a whole number. */
static Scalar constant_of(const Machine *machine, const IrNode *node) {
    if (node->op == IR_CONST && dtype_is_float(node->type.dtype))
        return (Scalar){.real = node->real};
    if (node->op == IR_CONST) return (Scalar){.whole = node->whole};
    double value = machine->weak[machine->alias[node->arg[0]]];
    if (dtype_is_float(node->type.dtype))
        return (Scalar){.real = dtype_round(machine->ir->compute, value)};
    return (Scalar){.whole = dtype_saturate(node->type.dtype, value)};
}

static double ulp_of(const Machine *machine, const IrNode *node) {
    if (!ir_is_primitive(node)) return 0;
    const PrimitiveInfo *info = primitive_info(ir_primitive(node));
    bool narrow = machine->ir->compute == DT_F32;
    if (machine->accuracy == ACCURACY_CUDA) return narrow ? info->ulp_cuda_f32 : info->ulp_cuda_f64;
    return narrow ? info->ulp_c_f32 : info->ulp_c_f64;
}

static ConeStep step_of(const Machine *machine, Value value, const Type *shape) {
    const IrNode *node = ir_node(machine->ir, value);
    ConeStep step = {.kind = CONE_APPLY, .apply = {.op = node->op, .type = node->type.dtype}};
    if (ir_is_primitive(node))
        step.apply.op = (uint16_t)(IR_PRIMITIVE + primitive_plain(ir_primitive(node)));
    if (is_constant(machine, node)) {
        step.kind = CONE_CONSTANT;
        step.constant = constant_of(machine, node);
    } else if (view_find(machine, value, &step.view)) {
        step.kind = CONE_VIEW;
        broadcast_view(&step.view, shape);
    } else {
        step.apply.count = node->count;
        step.apply.ulp = ulp_of(machine, node);
        step.apply.same =
            node->count == 2 && machine->alias[node->arg[0]] == machine->alias[node->arg[1]];
    }
    return step;
}

/* The last value that reads each value of the cone, 0 for values outside. */
static Value *find_readers(Arena *scratch, const Machine *machine, Value root) {
    Value *reader = arena_array(scratch, Value, root + 1);
    reader[root] = root;
    for (Value v = root; v > 0; v--) {
        const IrNode *node = ir_node(machine->ir, v);
        View view;
        if (reader[v] == 0 || is_constant(machine, node) || view_find(machine, v, &view)) continue;
        for (uint32_t i = 0; i < node->count; i++) {
            Value a = machine->alias[node->arg[i]];
            if (reader[a] == 0) reader[a] = v;
        }
    }
    return reader;
}

typedef struct Slots {
    uint32_t *of; /* by value */
    uint32_t *free;
    uint32_t free_count, count;
} Slots;

static uint32_t slot_take(Slots *slots) {
    return slots->free_count > 0 ? slots->free[--slots->free_count] : slots->count++;
}

/* Operands whose last reader this is give their slots back (once each). */
static void slots_release(Slots *slots, const Machine *machine, Value value, Value *reader) {
    const IrNode *node = ir_node(machine->ir, value);
    for (uint32_t i = 0; i < node->count; i++) {
        Value a = machine->alias[node->arg[i]];
        if (reader[a] != value) continue;
        slots->free[slots->free_count++] = slots->of[a];
        reader[a] = 0;
    }
}

static void build_steps(Cone *cone, const Machine *machine, Arena *scratch, Value root,
                        const Type *shape) {
    Value *reader = find_readers(scratch, machine, root);
    Slots slots = {.of = arena_array(scratch, uint32_t, root + 1),
                   .free = arena_array(scratch, uint32_t, root + 1)};
    for (Value v = 1; v <= root; v++) {
        if (reader[v] == 0) continue;
        ConeStep step = step_of(machine, v, shape);
        step.apply.out = slots.of[v] = slot_take(&slots);
        for (uint32_t i = 0; i < step.apply.count; i++)
            step.apply.arg[i] = slots.of[machine->alias[ir_node(machine->ir, v)->arg[i]]];
        if (step.kind == CONE_APPLY) slots_release(&slots, machine, v, reader);
        array_push(machine->arena, &cone->steps, step);
    }
    cone->slots = slots.count;
    cone->root = slots.of[root];
}

/* --- the index space */

static bool may_merge(const Cone *cone, uint32_t outer, uint32_t inner) {
    for (uint32_t i = 0; i < cone->steps.count; i++) {
        const ConeStep *step = &cone->steps.data[i];
        if (step->kind == CONE_VIEW &&
            step->view.stride[outer] != step->view.stride[inner] * cone->dim[inner])
            return false;
    }
    return true;
}

static void move_axis(Cone *cone, uint32_t to, uint32_t from) {
    cone->dim[to] = cone->dim[from];
    for (uint32_t i = 0; i < cone->steps.count; i++)
        cone->steps.data[i].view.stride[to] = cone->steps.data[i].view.stride[from];
}

/* Axes of size 1 vanish, and adjacent ones that every leaf walks as one become one. */
static void collapse(Cone *cone, const Type *shape) {
    cone->count = type_count(shape);
    memcpy(cone->dim, shape->dim, sizeof cone->dim);
    for (uint32_t axis = 0; axis < shape->rank; axis++) {
        if (cone->dim[axis] == 1) continue;
        if (cone->rank > 0 && may_merge(cone, cone->rank - 1, axis)) {
            int64_t outer = cone->dim[cone->rank - 1];
            move_axis(cone, cone->rank - 1, axis);
            cone->dim[cone->rank - 1] *= outer;
        } else {
            move_axis(cone, cone->rank++, axis);
        }
    }
    if (cone->rank == 0) {
        cone->dim[0] = 1;
        cone->rank = 1;
    }
}

/* --- memory */

static size_t element_bytes(const Machine *machine) {
    size_t end =
        machine->kernel->compute > sizeof(int64_t) ? machine->kernel->compute : sizeof(int64_t);
    return 2 * end + machine->kernel->real + 1;
}

static size_t padded(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t block_bytes(const Machine *machine, int64_t step) {
    return 2 * padded(sizeof(int64_t) * (size_t)step) +
           padded(machine->kernel->real * (size_t)step) + padded((size_t)step);
}

static Block block_at(const Machine *machine, char *bytes, int64_t step) {
    size_t end = padded(sizeof(int64_t) * (size_t)step),
           real = padded(machine->kernel->real * (size_t)step);
    return (Block){.lo = bytes,
                   .hi = bytes + end,
                   .v = bytes + 2 * end,
                   .nan = (uint8_t *)bytes + 2 * end + real};
}

static bool grow_work(Work *work, size_t bytes, uint32_t slots) {
    free(work->bytes);
    free(work->slots);
    free(work->runs);
    free(work->ambiguous);
    work->cone = NULL;
    work->bytes = aligned_alloc(ALIGNMENT, padded(bytes));
    work->slots = calloc(slots, sizeof(Block));
    work->runs = calloc(STEP_MAX, sizeof(Run));
    work->ambiguous = calloc(STEP_MAX, 1);
    return work->bytes != NULL && work->slots != NULL && work->runs != NULL &&
           work->ambiguous != NULL;
}

static bool grow_works(Machine *machine, const Cone *cone) {
    size_t bytes = block_bytes(machine, cone->step) * (cone->slots + PRODUCT_BLOCKS);
    if (bytes <= machine->work_bytes && cone->slots <= machine->work_slots) return true;
    if (bytes > machine->work_bytes) machine->work_bytes = bytes;
    if (cone->slots > machine->work_slots) machine->work_slots = cone->slots;
    for (int i = 0; i < machine->threads; i++)
        if (!grow_work(&machine->works[i], machine->work_bytes, machine->work_slots)) return false;
    return true;
}

static void fit_work(Work *work, const Cone *cone) {
    size_t size = block_bytes(cone->machine, cone->step);
    char *next = work->bytes;
    if (work->cone == cone) return;
    work->cone = cone;
    for (uint32_t i = 0; i < cone->slots; i++, next += size)
        work->slots[i] = block_at(cone->machine, next, cone->step);
    work->row = block_at(cone->machine, next, cone->step);
    work->column = block_at(cone->machine, next + size, cone->step);
    work->products =
        (Products){.v = next + 2 * size, .size = next + 3 * size, .radius = next + 4 * size};
}

Cone *cone_plan(Machine *machine, Value root, const Type *shape) {
    Arena *scratch = arena_open();
    Cone *cone = arena_new(machine->arena, Cone);
    cone->machine = machine;
    build_steps(cone, machine, scratch, machine->alias[root], shape);
    collapse(cone, shape);
    cone->step = (int64_t)(CACHE_SHARE / (cone->slots * element_bytes(machine)));
    cone->step = cone->step > STEP_MAX   ? STEP_MAX
                 : cone->step < STEP_MIN ? STEP_MIN
                                         : cone->step / 16 * 16;
    arena_close(scratch);
    return cone;
}

Cone *cone_open(Machine *machine, Value root, const Type *shape) {
    Cone *cone = cone_plan(machine, root, shape);
    return grow_works(machine, cone) ? cone : NULL;
}

/* --- running */

static void locate(const Cone *cone, int64_t index, int64_t *coordinate) {
    for (uint32_t axis = cone->rank - 1; axis > 0; axis--) {
        coordinate[axis] = index % cone->dim[axis];
        index /= cone->dim[axis];
    }
    coordinate[0] = index;
}

/* To the start of the next row. */
static void next_row(const Cone *cone, int64_t *coordinate) {
    coordinate[cone->rank - 1] = 0;
    for (uint32_t axis = cone->rank - 1; axis-- > 0;) {
        if (++coordinate[axis] < cone->dim[axis]) return;
        coordinate[axis] = 0;
    }
}

static uint32_t runs_of_range(const Cone *cone, Run *runs, int64_t begin, int64_t count) {
    uint32_t n = 0, last = cone->rank - 1;
    int64_t at = 0;
    locate(cone, begin, runs[0].coordinate);
    while (at < count) {
        int64_t left = cone->dim[last] - runs[n].coordinate[last];
        runs[n].at = at;
        runs[n].count = left < count - at ? left : count - at;
        at += runs[n++].count;
        if (at == count) break;
        memcpy(runs[n].coordinate, runs[n - 1].coordinate, sizeof runs[n].coordinate);
        next_row(cone, runs[n].coordinate);
    }
    return n;
}

/* Neighbours of one row are one run. */
static uint32_t runs_of_list(const Cone *cone, Run *runs, const int64_t *list, int64_t count) {
    uint32_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        const Run *last = n > 0 ? &runs[n - 1] : NULL;
        if (last != NULL && list[i] == list[i - 1] + 1 &&
            last->coordinate[cone->rank - 1] + last->count < cone->dim[cone->rank - 1]) {
            runs[n - 1].count++;
            continue;
        }
        runs[n].at = i;
        runs[n].count = 1;
        locate(cone, list[i], runs[n++].coordinate);
    }
    return n;
}

static uint32_t runs_of(const Cone *cone, Run *runs, Wanted wanted) {
    if (wanted.list != NULL) return runs_of_list(cone, runs, wanted.list, wanted.count);
    if (wanted.stride == 1) return runs_of_range(cone, runs, wanted.begin, wanted.count);
    for (int64_t i = 0; i < wanted.count; i++) {
        runs[i].at = i;
        runs[i].count = 1;
        locate(cone, wanted.begin + i * wanted.stride, runs[i].coordinate);
    }
    return (uint32_t)wanted.count;
}

static void load_view(const Cone *cone, Work *work, const View *view, Block *out,
                      uint32_t run_count) {
    const Machine *machine = cone->machine;
    bool product =
        machine->tensors[view->base] == NULL && ir_node(machine->ir, view->base)->op == IR_MATMUL;
    for (uint32_t i = 0; i < run_count; i++) {
        const Run *run = &work->runs[i];
        int64_t offset = 0, stride = view->stride[cone->rank - 1];
        for (uint32_t axis = 0; axis < cone->rank; axis++)
            offset += run->coordinate[axis] * view->stride[axis];
        if (product)
            product_run(machine, work, view->base, out, run->at, offset, stride, run->count);
        else
            view_load(machine, view, out, run->at, offset, stride, run->count);
    }
    if (product && run_count > 0)
        machine->kernel->settle(out,
                                work->runs[run_count - 1].at + work->runs[run_count - 1].count);
}

const Block *cone_run(const Cone *cone, int thread, Wanted wanted) {
    const Machine *machine = cone->machine;
    Work *work = &machine->works[thread];
    fit_work(work, cone);
    memset(work->ambiguous, 0, (size_t)wanted.count);
    uint32_t run_count = wanted.count > 0 ? runs_of(cone, work->runs, wanted) : 0;
    for (uint32_t i = 0; i < cone->steps.count; i++) {
        const ConeStep *step = &cone->steps.data[i];
        Block *out = &work->slots[step->apply.out];
        if (step->kind == CONE_CONSTANT)
            machine->kernel->fill(out, step->apply.type, step->constant, wanted.count);
        else if (step->kind == CONE_VIEW)
            load_view(cone, work, &step->view, out, run_count);
        else
            machine->kernel->apply(&step->apply, work->slots, wanted.count, machine->chain,
                                   work->ambiguous);
    }
    return &work->slots[cone->root];
}

const uint8_t *cone_ambiguous(const Cone *cone, int thread) {
    return cone->machine->works[thread].ambiguous;
}
