/* A product, what is done to it, and a template of the product in; the template with that at its
 * splice points out. One idea: to the epilogue a product is one more array, of the outputs' shape
 * and in the compute type; so it is planned and emitted as any elementwise program is. */
#include "compiler/splice.h"

#include <ctype.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/emit.h"
#include "compiler/emit_c.h"
#include "compiler/match.h"
#include "compiler/specialise.h"
#include "compiler/splice_text.h"

struct Splice {
    const Template *template, *special;
    Core core;
    const Plan *epilogue;
};

bool splice_has_index64(const Splice *splice) {
    return splice->epilogue->index64;
}

const Template *splice_template(const Splice *splice) {
    return splice->special;
}

/* --- the template */

static const char *splice_point(Arena *arena, const Template *template) {
    return arena_printf(arena, "KF_STORE_%s", template->outputs.data[0].name);
}

bool splice_takes(const Template *template) {
    bool ranks = template->computes && template->inputs.count == 2 &&
                 template->outputs.count == 1 && template->inputs.data[0].rank == 3 &&
                 template->inputs.data[1].rank == 3;
    if (!ranks) return false;
    Arena *scratch = arena_open();
    bool takes = strstr(template->source->text, splice_point(scratch, template)) != NULL;
    arena_close(scratch);
    return takes;
}

/* Sets a fact. False where the template has but another value. */
static bool set_fact(Template *template, const char *label, int64_t value) {
    for (uint32_t i = 0; i < template->space.knob_count; i++) {
        Knob *knob = &template->space.knobs[i];
        if (strcmp(knob->label, label) != 0) continue;
        knob->values[0] = knob->fallback = value;
        knob->fact = true;
        return true;
    }
    return false;
}

static const char *turned(Arena *arena, const char *name) {
    char *label = arena_copy(arena, arena_printf(arena, "TURNED_%s", name), strlen(name) + 7);
    for (char *c = label; *c; c++) *c = (char)toupper((unsigned char)*c);
    return label;
}

static bool is_batched(const Core *core) {
    return core->batch_rank > 0 && !core->folded;
}

/* What a template has no knob for, it cannot do, but a batch of one. */
static bool set_facts(Arena *arena, Template *template, const Core *core) {
    const char *a = turned(arena, template->inputs.data[0].name);
    const char *b = turned(arena, template->inputs.data[1].name);
    return (set_fact(template, a, core->a.turned) || !core->a.turned) &&
           (set_fact(template, b, core->b[0].turned) || !core->b[0].turned) &&
           (set_fact(template, "BATCHED", is_batched(core)) || !is_batched(core)) &&
           (set_fact(template, "PRODUCTS", core->count) || core->count == 1);
}

/* --- the program in two */

/* One matrix of the first product, as a program of its own. */
static const Ir *core_program(Arena *arena, const Ir *ir, const Core *core) {
    Ir *program = ir_open(arena, NULL);
    Value factors[2];
    CoreSizes sizes;
    program->compute = ir->compute;
    if (!core_sizes(core, ir, &sizes)) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const CoreFactor *factor = i ? &core->b[0] : &core->a;
        IrInput input = {.name = i ? "b" : "a", .updated_by = -1};
        input.type = (Type){.dtype = ir->inputs.data[factor->slot].type.dtype, .rank = 2};
        input.type.dim[0] = i ? sizes.k : sizes.m;
        input.type.dim[1] = i ? sizes.n : sizes.k;
        type_strides(&input.type, input.strides);
        factors[i] = input.value =
            ir_value(program, (IrNode){.op = IR_INPUT, .type = input.type, .index = i});
        array_push(arena, &program->inputs, input);
    }
    IrOutput output = {.name = "y", .updates = -1};
    output.value = ir_matmul(program, factors[0], factors[1], (Span){0});
    output.type = ir_node(program, output.value)->type;
    type_strides(&output.type, output.strides);
    array_push(arena, &program->outputs, output);
    return program;
}

/* The rest: the program with its products as inputs behind its own. */
static const Ir *epilogue_program(Arena *arena, const Ir *ir, const Core *core) {
    Ir *rest = arena_new(arena, Ir);
    *rest = *ir;
    rest->nodes.data = arena_array(arena, IrNode, ir->nodes.count);
    memcpy(rest->nodes.data, ir->nodes.data, ir->nodes.count * sizeof *ir->nodes.data);
    rest->inputs.data = arena_array(arena, IrInput, ir->inputs.count + core->count);
    memcpy(rest->inputs.data, ir->inputs.data, ir->inputs.count * sizeof *ir->inputs.data);
    for (uint32_t p = 0; p < core->count; p++) {
        IrNode *node = &rest->nodes.data[core->products[p]];
        IrInput input = {.name = arena_printf(arena, "product%u", p),
                         .type = node->type,
                         .updated_by = -1,
                         .value = core->products[p]};
        *node = (IrNode){.op = IR_INPUT, .type = node->type, .index = rest->inputs.count};
        type_strides(&input.type, input.strides);
        rest->inputs.data[rest->inputs.count++] = input;
    }
    return rest;
}

static bool is_dense(const IrOutput *output) {
    int64_t dense[RANK_MAX];
    type_strides(&output->type, dense);
    for (uint32_t i = 0; i < output->type.rank; i++)
        if (output->type.dim[i] != 1 && output->strides[i] != dense[i]) return false;
    return true;
}

/* Private names begin in_, out_, kf_ or s_: a product's is nobody's. */
static void name_products(Arena *arena, Plan *plan, const Ir *ir) {
    for (uint32_t i = 0; i < plan->loads.count; i++) {
        Access *access = &plan->loads.data[i];
        if (access->slot < ir->inputs.count) continue;
        access->name = arena_printf(arena, "product%u", access->slot - ir->inputs.count);
        access->dtype = plan->compute;
        access->class = ACCESS_DENSE; /* one without elements may look like something else */
    }
}

/* NULL where it is not elementwise, or of another shape than the product. */
static const Plan *plan_epilogue(Arena *arena, const Ir *ir, const Core *core) {
    const Ir *rest = epilogue_program(arena, ir, core);
    const Type *shape = &ir_node(ir, core->products[0])->type;
    Group group = group_find(rest);
    if (group.kind != GROUP_ELEMENTWISE) return NULL;
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        if (!type_same_shape(&ir->outputs.data[i].type, shape) || !is_dense(&ir->outputs.data[i]))
            return NULL;
    Plan *plan = plan_rows(arena, rest, &group);
    name_products(arena, plan, ir);
    return plan;
}

/* --- the text */

static Parameters batch_parameters(Arena *arena, const Core *core, const Template *template) {
    const char *a = template->inputs.data[0].name, *b = template->inputs.data[1].name;
    Parameters list = {0};
    for (uint32_t z = 0; is_batched(core) && z < core->batch_rank; z++) {
        if (core->a.walks[z])
            array_push(arena, &list.list, (Parameter){splice_stride_name(arena, a, z), DT_I64});
        if (core->b[0].walks[z])
            array_push(arena, &list.list, (Parameter){splice_stride_name(arena, b, z), DT_I64});
        if (z > 0) array_push(arena, &list.list, (Parameter){splice_extent_name(arena, z), DT_I64});
    }
    return list;
}

/* The template's arguments but its output, and the splice's. */
static void set_args(Arena *arena, Template *special, const SpliceText *s) {
    const Template *template = special;
    ARRAY(const char *) args = {0};
    for (uint32_t i = 0; i < template->args.count; i++)
        if (strcmp(template->args.data[i], s->y) != 0)
            array_push(arena, &args, template->args.data[i]);
    if (s->core->count > 1) array_push(arena, &args, arena_printf(arena, "%s1", s->b));
    for (uint32_t i = 0; i < s->batch.list.count; i++)
        array_push(arena, &args, s->batch.list.data[i].name);
    for (uint32_t i = 0; i < access_count(s->epilogue); i++)
        if (splice_product(s, i) < 0) array_push(arena, &args, access_at(s->epilogue, i)->name);
    for (uint32_t i = 0; i < s->parameters.list.count; i++)
        array_push(arena, &args, s->parameters.list.data[i].name);
    special->args.data = args.data;
    special->args.count = args.count;
}

static Template *write(Arena *arena, const Splice *splice, const DType *types) {
    const Template *template = splice->template;
    bool cuda = strcmp(template->language, "cuda") == 0;
    SpliceText s = {.core = &splice->core,
                    .epilogue = splice->epilogue,
                    .a = template->inputs.data[0].name,
                    .b = template->inputs.data[1].name,
                    .y = template->outputs.data[0].name,
                    .arena = arena};
    Text text = {0};
    s.parameters =
        language_parameters(cuda ? &emit_language_cuda : &emit_language_c, s.epilogue, arena);
    s.batch = batch_parameters(arena, s.core, template);
    const bool *none = arena_array(arena, bool, s.epilogue->loads.count);
    s.whole = hoist(arena, s.epilogue, cuda ? NULL : none); /* in CUDA its function stands alone */
    emit_program(&text, s.epilogue->text);
    if (cuda)
        splice_cuda(&text, &s);
    else
        splice_c(&text, &s);
    Insert insert = {text_string(&text), emit_c_bytes(s.epilogue), s.epilogue->index64};
    Template *special = specialise_with(arena, template, types, &insert);
    text_free(&text);
    special->hash ^= XXH3_64bits(special->prologue, strlen(special->prologue));
    set_args(arena, special, &s);
    return special;
}

/* A template adds up in the type that its tensors' types give. */
static bool same_compute(const Ir *ir, const Core *core) {
    DType type = ir->inputs.data[core->a.slot].type.dtype;
    return (type == DT_F64) == (ir->compute == DT_F64);
}

const Splice *splice_find(Arena *arena, const Template *template, const Registry *registry,
                          const Ir *ir) {
    Splice *splice = arena_new(arena, Splice);
    splice->template = template;
    if (!core_find(ir, &splice->core) || !same_compute(ir, &splice->core)) return NULL;
    const Ir *core = core_program(arena, ir, &splice->core);
    const Match *match = core ? match_template(arena, template, registry, core) : NULL;
    if (!match || !(splice->epilogue = plan_epilogue(arena, ir, &splice->core))) return NULL;
    Template *special = write(arena, splice, match_types(match));
    if (!set_facts(arena, special, &splice->core)) return NULL;
    splice->special = special;
    return splice;
}

/* --- at a shape */

typedef struct Sizes {
    Arena *arena;
    ARRAY(Binding) list;
} Sizes;

static void bind(Sizes *sizes, const char *name, int64_t value) {
    array_push(sizes->arena, &sizes->list, (Binding){name, value});
}

static void bind_core(Sizes *out, const Splice *splice, const CoreSizes *sizes) {
    const TemplateTensor *a = &splice->template->inputs.data[0];
    const TemplateTensor *b = &splice->template->inputs.data[1];
    bind(out, a->dims[0], sizes->batch);
    bind(out, a->dims[1], sizes->m);
    bind(out, a->dims[2], sizes->k);
    bind(out, b->dims[2], sizes->n);
    for (uint32_t z = 0; z < splice->core.batch_rank; z++) {
        bind(out, splice_stride_name(out->arena, a->name, z), sizes->a_stride[z]);
        bind(out, splice_stride_name(out->arena, b->name, z), sizes->b_stride[z]);
        bind(out, splice_extent_name(out->arena, z), sizes->extent[z]);
    }
}

/* An array that is read in two roles is read once. */
static void add_tensor(Arena *arena, Bound *bound, const char *name, const Type *type,
                       uint32_t buffer, bool output) {
    bool seen = false;
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        seen |= bound->tensors.data[i].buffer == buffer;
    if (!seen) bound->bytes += type_bytes(type);
    array_push(arena, &bound->tensors,
               (BoundTensor){.name = name,
                             .dtype = type->dtype,
                             .buffer = buffer,
                             .output = output,
                             .count = type_count(type)});
}

static void add_tensors(Arena *arena, Bound *bound, const Splice *splice, const Plan *epilogue) {
    const Ir *ir = bound->ir;
    const Core *core = &splice->core;
    const char *b = splice->template->inputs.data[1].name;
    add_tensor(arena, bound, splice->template->inputs.data[0].name,
               &ir->inputs.data[core->a.slot].type, core->a.slot, false);
    for (uint32_t p = 0; p < core->count; p++)
        add_tensor(arena, bound, p ? arena_printf(arena, "%s%u", b, p) : b,
                   &ir->inputs.data[core->b[p].slot].type, core->b[p].slot, false);
    for (uint32_t i = 0; i < epilogue->loads.count; i++) {
        const Access *access = &epilogue->loads.data[i];
        if (access->slot < ir->inputs.count)
            add_tensor(arena, bound, access->name, &ir->inputs.data[access->slot].type,
                       access->slot, false);
    }
    for (uint32_t i = 0; i < epilogue->stores.count; i++) {
        const Access *access = &epilogue->stores.data[i];
        add_tensor(arena, bound, access->name, &ir->outputs.data[access->slot].type,
                   ir->inputs.count + access->slot, true);
    }
}

/* Buckets are made of these. */
static void set_extents(Bound *bound, const Splice *splice, const CoreSizes *sizes) {
    bound->rank = 3;
    bound->extent[0] = sizes->m;
    bound->extent[1] = sizes->k;
    bound->extent[2] = sizes->n;
    for (uint32_t z = 0; is_batched(&splice->core) && z < splice->core.batch_rank; z++)
        if (bound->rank < RANK_MAX) bound->extent[bound->rank++] = sizes->extent[z];
}

const Bound *splice_bound(Arena *arena, const Splice *splice, const Ir *ir) {
    Bound *bound = arena_new(arena, Bound);
    Sizes sizes = {.arena = arena};
    CoreSizes core;
    bound->ir = ir;
    const Ir *rest = epilogue_program(arena, ir, &splice->core);
    const Plan *epilogue = plan_like(arena, splice->epilogue, rest);
    if (!core_sizes(&splice->core, ir, &core) || !epilogue) return NULL;
    bind_core(&sizes, splice, &core);
    set_extents(bound, splice, &core);
    add_tensors(arena, bound, splice, epilogue);
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        bind(&sizes, arena_printf(arena, "bytes_%s", bound->tensors.data[i].name),
             dtype_info(bound->tensors.data[i].dtype)->bytes);
    for (uint32_t i = 0; i < epilogue->bindings.count; i++)
        bind(&sizes, epilogue->bindings.list[i].name, epilogue->bindings.list[i].value);
    bind(&sizes, arena_printf(arena, "bytes_%s", splice->template->outputs.data[0].name),
         dtype_info(epilogue->stores.data[0].dtype)->bytes);
    for (uint32_t i = 0; i < epilogue->scalars.count; i++) {
        const PlanScalar *scalar = &epilogue->scalars.data[i];
        array_push(arena, &bound->scalars,
                   (BoundScalar){scalar->name, scalar->dtype, scalar->argument});
    }
    bound->sizes = (Bindings){sizes.list.data, sizes.list.count};
    return bound;
}

void splice_class_print(Text *out, const Splice *splice) {
    const Core *core = &splice->core;
    text_printf(out, "%s x%u%s%s%s ", splice->template->name, core->count,
                core->a.turned ? " turned" : "", core->b[0].turned ? " by turned" : "",
                core->folded ? " folded" : "");
    for (uint32_t z = 0; z < core->batch_rank; z++)
        text_printf(out, "z%d%d ", core->a.walks[z], core->b[0].walks[z]);
    plan_class_print(out, splice->epilogue);
}
