/* A template and a program in; how the one's names stand for the other's values, out. */
#include "compiler/match.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/fast.h"
#include "compiler/lower.h"
#include "compiler/simplify.h"

enum { INPUTS_MAX = 6 }; /* their orders are tried one by one */

struct Match {
    const Template *template;
    const uint32_t *inputs;  /* per template input: the program's */
    const uint32_t *outputs; /* per template output: the program's */
    const DType *types;
    ARRAY(BoundScalar) params;
};

const DType *match_types(const Match *match) {
    return match->types;
}

/* --- sizes */

typedef struct Sizes {
    Arena *arena;
    ARRAY(Binding) list;
} Sizes;

/* False where the name has another value already, or the number is another. */
static bool bind(Sizes *sizes, const char *name, int64_t value) {
    if (*name >= '0' && *name <= '9') return strtoll(name, NULL, 10) == value;
    for (uint32_t i = 0; i < sizes->list.count; i++)
        if (strcmp(sizes->list.data[i].name, name) == 0) return sizes->list.data[i].value == value;
    array_push(sizes->arena, &sizes->list, (Binding){name, value});
    return true;
}

static bool is_dense(const Type *type, const int64_t *strides) {
    int64_t packed = 1;
    for (uint32_t i = type->rank; i-- > 0; packed *= type->dim[i])
        if (type->dim[i] > 1 && strides[i] != packed && type_count(type) > 0) return false;
    return true;
}

/* The last dimensions one by one; the first name takes all that lead. A vector is one row. */
static bool bind_dims(Sizes *sizes, const TemplateTensor *tensor, const Type *type) {
    uint32_t rank = tensor->rank, leading;
    int64_t product = 1;
    if (rank == 0) return type_count(type) == 1;
    if (type->rank + 1 < rank) return false;
    leading = type->rank + 1 - rank;
    for (uint32_t i = 0; i < leading; i++) product *= type->dim[i];
    if (!bind(sizes, tensor->dims[0], product)) return false;
    for (uint32_t i = 1; i < rank; i++)
        if (!bind(sizes, tensor->dims[i], type->dim[leading + i - 1])) return false;
    return true;
}

static bool bind_inputs(Sizes *sizes, const Template *template, const Ir *ir,
                        const uint32_t *order) {
    for (uint32_t i = 0; i < template->inputs.count; i++) {
        const IrInput *input = &ir->inputs.data[order[i]];
        if (!is_dense(&input->type, input->strides) ||
            !bind_dims(sizes, &template->inputs.data[i], &input->type))
            return false;
    }
    return true;
}

static bool bind_outputs(Sizes *sizes, const Template *template, const Ir *ir,
                         const uint32_t *order) {
    for (uint32_t i = 0; i < template->outputs.count; i++) {
        const IrOutput *output = &ir->outputs.data[order[i]];
        if (!is_dense(&output->type, output->strides) || output->updates >= 0 ||
            !bind_dims(sizes, &template->outputs.data[i], &output->type))
            return false;
    }
    return true;
}

/* --- types */

static int32_t input_index(const Template *template, const char *name) {
    for (uint32_t i = 0; i < template->inputs.count; i++)
        if (strcmp(template->inputs.data[i].name, name) == 0) return (int32_t)i;
    return -1;
}

static bool allows(const Template *template, const TemplateTensor *tensor, const DType *types,
                   DType type) {
    if (tensor->like) return types[input_index(template, tensor->like)] == type;
    for (uint32_t i = 0; i < tensor->type_count; i++)
        if (tensor->types[i] == type) return true;
    return false;
}

/* --- the two programs, value by value */

typedef struct Comparison {
    const Ir *pattern, *program;
    const uint32_t *order; /* per input of the pattern: the program's */
    double params[64];     /* per param of the pattern */
    bool known[64];
} Comparison;

static bool same_value(Comparison *c, Value p, Value v);

static bool is_commutative(const IrNode *node) {
    if (!ir_is_primitive(node)) return false;
    switch (ir_primitive(node)) {
    case P_ADD:
    case P_MUL:
    case P_EQ:
    case P_NE:
    case P_AND:
    case P_OR: return true;
    default: return false;
    }
}

static bool is_param(const Comparison *c, const IrNode *pattern) {
    return pattern->op == IR_CAST && ir_node(c->pattern, pattern->arg[0])->op == IR_PARAM;
}

/* A param meets a number of the program: a constant, or what is computed from its params. */
static bool same_param(Comparison *c, const IrNode *pattern, const IrNode *node) {
    uint32_t index = ir_node(c->pattern, pattern->arg[0])->index;
    bool weak = node->op == IR_CAST && ir_dtype(c->program, node->arg[0]) == DT_WEAK;
    if (pattern->type.dtype != node->type.dtype || (node->op != IR_CONST && !weak)) return false;
    double value = weak ? ir_weak(c->program, node->arg[0]) : node->real;
    if (c->known[index]) return c->params[index] == value;
    c->known[index] = true;
    c->params[index] = value;
    return true;
}

/* A template meets a program's near forms: it has what they leave room for. */
static bool same_op(const IrNode *a, const IrNode *b) {
    if (!ir_is_primitive(a) || !ir_is_primitive(b)) return a->op == b->op;
    return ir_meaning(a) == ir_meaning(b);
}

/* What a node is besides its operands. */
static bool same_node(const IrNode *a, const IrNode *b) {
    if (!same_op(a, b) || a->count != b->count || a->type.dtype != b->type.dtype) return false;
    if (a->type.dtype != DT_WEAK && !type_same_shape(&a->type, &b->type)) return false;
    if (a->op == IR_CONST) return a->whole == b->whole; /* bits of either kind */
    return a->op < IR_SUM || a->op > IR_VAR ||
           (a->axes.first == b->axes.first && a->axes.end == b->axes.end);
}

static bool same_args(Comparison *c, const IrNode *p, const IrNode *v, bool swapped) {
    Comparison before = *c;
    bool same = true;
    for (uint32_t i = 0; i < p->count && same; i++)
        same = same_value(c, p->arg[i], v->arg[swapped ? p->count - 1 - i : i]);
    if (!same) *c = before;
    return same;
}

/* As deep as the template's own expression, however large the program is. */
static bool same_value(Comparison *c, Value p, Value v) {
    const IrNode *pattern = ir_node(c->pattern, p), *node = ir_node(c->program, v);
    if (is_param(c, pattern)) return same_param(c, pattern, node);
    if (!same_node(pattern, node)) return false;
    if (pattern->op == IR_INPUT) return c->order[pattern->index] == node->index;
    if (pattern->op == IR_PARAM) return false;
    return same_args(c, pattern, node, false) ||
           (is_commutative(pattern) && same_args(c, pattern, node, true));
}

/* --- one order of inputs */

static const Ir *lower_template(Arena *arena, const Template *template, const Registry *registry,
                                const Ir *ir, const uint32_t *order) {
    Diags diags = {.arena = arena};
    InputSpec *specs = arena_array(arena, InputSpec, template->inputs.count);
    for (uint32_t i = 0; i < template->inputs.count; i++)
        specs[i] = (InputSpec){.name = template->inputs.data[i].name,
                               .has_shape = true,
                               .has_dtype = true,
                               .type = ir->inputs.data[order[i]].type};
    LowerOptions options = {
        .plain = {.dtype = DT_F32}, .inputs = specs, .input_count = template->inputs.count};
    const Ir *lowered = lower(arena, template->computes, registry, &options, &diags);
    const Ir *simple = lowered ? simplify(arena, lowered, true) : NULL;
    return simple && ir->fast ? fast(arena, simple, NULL) : simple;
}

/* Inputs of the lowered pattern stand in the order in which its text names them. */
static const uint32_t *pattern_order(Arena *arena, const Template *template, const Ir *pattern,
                                     const uint32_t *order) {
    uint32_t *result = arena_array(arena, uint32_t, pattern->inputs.count + 1);
    for (uint32_t i = 0; i < pattern->inputs.count; i++)
        result[i] = order[input_index(template, pattern->inputs.data[i].name)];
    return result;
}

/* Per template output, the pattern's of that name. */
static const uint32_t *output_order(Arena *arena, const Template *template, const Ir *pattern) {
    uint32_t *result = arena_array(arena, uint32_t, template->outputs.count);
    for (uint32_t i = 0; i < template->outputs.count; i++) {
        while (result[i] < pattern->outputs.count &&
               strcmp(pattern->outputs.data[result[i]].name, template->outputs.data[i].name) != 0)
            result[i]++;
        if (result[i] == pattern->outputs.count) return NULL;
    }
    return result;
}

static bool same_outputs(Comparison *c) {
    if (c->pattern->outputs.count != c->program->outputs.count || c->pattern->params.count > 64)
        return false;
    for (uint32_t i = 0; i < c->pattern->outputs.count; i++)
        if (!same_value(c, c->pattern->outputs.data[i].value, c->program->outputs.data[i].value))
            return false;
    return true;
}

/* A param that nothing casts is not compared, and has its default. */
static void add_params(Arena *arena, Match *match, const Comparison *c) {
    DType type = c->pattern->compute;
    for (uint32_t i = 0; i < c->pattern->params.count; i++) {
        double value = c->known[i] ? c->params[i] : c->pattern->params.data[i].value;
        BoundScalar scalar = {c->pattern->params.data[i].name, type, {.real = value}};
        array_push(arena, &match->params, scalar);
    }
}

static bool find_types(Arena *arena, Match *match, const Ir *ir) {
    const Template *template = match->template;
    uint32_t inputs = template->inputs.count;
    DType *types = arena_array(arena, DType, inputs + template->outputs.count);
    match->types = types;
    for (uint32_t i = 0; i < inputs; i++) types[i] = ir->inputs.data[match->inputs[i]].type.dtype;
    for (uint32_t i = 0; i < inputs; i++)
        if (!allows(template, &template->inputs.data[i], types, types[i])) return false;
    return true;
}

static bool find_output_types(Match *match, const Ir *ir) {
    const Template *template = match->template;
    DType *types = (DType *)(uintptr_t)match->types + template->inputs.count;
    for (uint32_t i = 0; i < template->outputs.count; i++) {
        types[i] = ir->outputs.data[match->outputs[i]].type.dtype;
        if (!allows(template, &template->outputs.data[i], match->types, types[i])) return false;
    }
    return true;
}

static const Match *try_order(Arena *arena, const Template *template, const Registry *registry,
                              const Ir *ir, const uint32_t *order) {
    Match *match = arena_new(arena, Match);
    Sizes sizes = {.arena = arena};
    *match = (Match){.template = template, .inputs = order};
    if (!find_types(arena, match, ir) || !bind_inputs(&sizes, template, ir, order)) return NULL;
    const Ir *pattern = lower_template(arena, template, registry, ir, order);
    if (!pattern || !(match->outputs = output_order(arena, template, pattern))) return NULL;
    Comparison c = {
        .pattern = pattern, .program = ir, .order = pattern_order(arena, template, pattern, order)};
    if (!same_outputs(&c) || !bind_outputs(&sizes, template, ir, match->outputs) ||
        !find_output_types(match, ir))
        return NULL;
    add_params(arena, match, &c);
    return match;
}

/* --- all orders */

static bool reads(const Ir *ir, Value input) {
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (ir->outputs.data[i].value == input) return true;
    for (Value v = 1; v < ir->nodes.count; v++)
        for (uint32_t i = 0; i < ir_node(ir, v)->count; i++)
            if (ir_node(ir, v)->arg[i] == input) return true;
    return false;
}

/* The inputs that the program reads, if they are as many as the template's. */
static bool find_inputs(const Ir *ir, uint32_t wanted, uint32_t *order) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        if (!reads(ir, ir->inputs.data[i].value)) continue;
        if (count == wanted) return false;
        order[count++] = i;
    }
    return count == wanted;
}

/* The next permutation in lexicographic order; false after the last. */
static bool next_order(uint32_t *order, uint32_t count) {
    uint32_t i = count;
    while (i > 1 && order[i - 2] >= order[i - 1]) i--;
    if (i < 2) return false;
    uint32_t j = count - 1;
    while (order[j] <= order[i - 2]) j--;
    uint32_t swap = order[i - 2];
    order[i - 2] = order[j];
    order[j] = swap;
    for (uint32_t a = i - 1, b = count - 1; a < b; a++, b--) {
        swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    return true;
}

const Match *match_template(Arena *arena, const Template *template, const Registry *registry,
                            const Ir *ir) {
    uint32_t count = template->inputs.count, order[INPUTS_MAX];
    if (!template->computes || count > INPUTS_MAX || ir->outputs.count != template->outputs.count ||
        !find_inputs(ir, count, order))
        return NULL;
    do {
        uint32_t *copy = arena_array(arena, uint32_t, count + 1);
        memcpy(copy, order, count * sizeof *order);
        const Match *match = try_order(arena, template, registry, ir, copy);
        if (match) return match;
    } while (next_order(order, count));
    return NULL;
}

/* --- the template's own program */

static bool own_inputs(const Template *template, const Ir *ir, uint32_t *order) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < template->inputs.count; i++)
        for (uint32_t k = 0; k < ir->inputs.count; k++)
            if (strcmp(template->inputs.data[i].name, ir->inputs.data[k].name) == 0)
                order[i] = k, found++;
    return found == template->inputs.count;
}

static void own_params(Arena *arena, Match *match, const Ir *ir) {
    for (uint32_t i = 0; i < ir->params.count; i++) {
        BoundScalar scalar = {
            ir->params.data[i].name, ir->compute, {.real = ir->params.data[i].value}};
        array_push(arena, &match->params, scalar);
    }
}

const Match *match_itself(Arena *arena, const Template *template, const Ir *ir) {
    Match *match = arena_new(arena, Match);
    Sizes sizes = {.arena = arena};
    uint32_t *order = arena_array(arena, uint32_t, template->inputs.count + 1);
    *match = (Match){.template = template, .inputs = order};
    if (!own_inputs(template, ir, order) || !find_types(arena, match, ir) ||
        !bind_inputs(&sizes, template, ir, order) ||
        !(match->outputs = output_order(arena, template, ir)) ||
        !bind_outputs(&sizes, template, ir, match->outputs) || !find_output_types(match, ir))
        return NULL;
    own_params(arena, match, ir);
    return match;
}

/* --- at a shape */

static void add_tensor(Arena *arena, Bound *bound, const TemplateTensor *tensor, const Type *type,
                       uint32_t buffer, bool output) {
    BoundTensor item = {.name = tensor->name,
                        .dtype = type->dtype,
                        .buffer = buffer,
                        .output = output,
                        .count = type_count(type)};
    array_push(arena, &bound->tensors, item);
    bound->bytes += type_bytes(type);
}

/* Arrays of the largest size, among those that are read and written once: not of a product, whose
 * operands are read again and again. */
static void mark_full(Bound *bound) {
    int64_t most = 0;
    for (Value v = 1; v < bound->ir->nodes.count; v++)
        if (ir_node(bound->ir, v)->op == IR_MATMUL) return;
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        if (bound->tensors.data[i].count > most) most = bound->tensors.data[i].count;
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        bound->tensors.data[i].full = bound->tensors.data[i].count == most;
}

static void bind_element_sizes(Sizes *sizes, const Bound *bound) {
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        bind(sizes, arena_printf(sizes->arena, "bytes_%s", bound->tensors.data[i].name),
             dtype_info(bound->tensors.data[i].dtype)->bytes);
}

const Bound *match_bound(Arena *arena, const Match *match, const Ir *ir) {
    const Template *template = match->template;
    Bound *bound = arena_new(arena, Bound);
    Sizes sizes = {.arena = arena};
    bound->ir = ir;
    if (!bind_inputs(&sizes, template, ir, match->inputs) ||
        !bind_outputs(&sizes, template, ir, match->outputs))
        return NULL;
    for (uint32_t i = 0; i < sizes.list.count && i < RANK_MAX; i++)
        bound->extent[bound->rank++] = sizes.list.data[i].value;
    for (uint32_t i = 0; i < template->inputs.count; i++)
        add_tensor(arena, bound, &template->inputs.data[i], &ir->inputs.data[match->inputs[i]].type,
                   match->inputs[i], false);
    for (uint32_t i = 0; i < template->outputs.count; i++)
        add_tensor(arena, bound, &template->outputs.data[i],
                   &ir->outputs.data[match->outputs[i]].type, ir->inputs.count + match->outputs[i],
                   true);
    mark_full(bound);
    bind_element_sizes(&sizes, bound);
    bound->sizes = (Bindings){sizes.list.data, sizes.list.count};
    for (uint32_t i = 0; i < match->params.count; i++)
        array_push(arena, &bound->scalars, match->params.data[i]);
    return bound;
}
