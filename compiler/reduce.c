/* A plan with reductions in, what its emitters ask about it out. */
#include "compiler/reduce.h"

#include <string.h>

typedef struct ValueList {
    ARRAY(Value) list;
} ValueList;

/* --- axes */

static Section section(uint32_t first, const Plan *plan, bool reduced) {
    uint32_t end = first;
    while (end < plan->rank && (plan->reduced >> end & 1) == reduced) end++;
    return (Section){first, end};
}

bool reduce_walks(const Access *access, Section section) {
    for (uint32_t axis = section.first; axis < section.end; axis++)
        if (access->stride[axis] != 0) return true;
    return false;
}

static const char *extent_name(Arena *arena, const Plan *plan, uint32_t axis) {
    return axis + 1 == plan->rank ? "kf_cols" : arena_printf(arena, "kf_e%u", axis);
}

/* --- values */

/* Those that `roots` need, up to reductions, which are computed elsewhere. */
static void close_needs(const Plan *plan, bool *needed) {
    for (Value v = plan->ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(plan->ir, v);
        bool load = false;
        for (uint32_t i = 0; i < plan->loads.count; i++) load |= plan->loads.data[i].value == v;
        if (!needed[v] || load) continue;
        if (ir_is_reduction(node)) continue;
        for (uint32_t i = 0; i < node->count; i++) needed[node->arg[i]] = true;
    }
}

static Values list_body(Arena *arena, const Plan *plan, const bool *needed, bool reductions) {
    ValueList found = {0};
    for (uint32_t i = 0; i < plan->body.count; i++) {
        Value v = plan->body.data[i];
        if (needed[v] && ir_is_reduction(ir_node(plan->ir, v)) == reductions)
            array_push(arena, &found.list, v);
    }
    return (Values){found.list.data, found.list.count};
}

static const bool *list_loads(Arena *arena, const Plan *plan, const bool *needed) {
    bool *loads = arena_array(arena, bool, plan->loads.count + 1);
    for (uint32_t i = 0; i < plan->loads.count; i++) loads[i] = needed[plan->loads.data[i].value];
    return loads;
}

static void split_values(Arena *arena, Reduce *reduce) {
    const Plan *plan = reduce->plan;
    uint32_t count = plan->ir->nodes.count;
    bool *element = arena_array(arena, bool, count), *behind = arena_array(arena, bool, count);
    bool *body = arena_array(arena, bool, count);
    for (uint32_t i = 0; i < plan->body.count; i++) body[plan->body.data[i]] = true;
    reduce->reductions = list_body(arena, plan, body, true);
    for (uint32_t i = 0; i < reduce->reductions.count; i++)
        element[ir_node(plan->ir, reduce->reductions.at[i])->arg[0]] = true;
    for (uint32_t i = 0; i < plan->stores.count; i++) behind[plan->stores.data[i].value] = true;
    close_needs(plan, element);
    close_needs(plan, behind);
    reduce->elements = list_body(arena, plan, element, false);
    reduce->behind = list_body(arena, plan, behind, false);
    reduce->read = list_loads(arena, plan, element);
    reduce->finished = list_loads(arena, plan, behind);
}

/* --- parameters */

static void add_size(Arena *arena, Reduce *reduce, const char *name, bool divides) {
    array_push(arena, &reduce->parameters.list, (Parameter){name, DT_I64});
    if (divides && reduce->language->divides)
        array_push(arena, &reduce->parameters.list,
                   (Parameter){arena_printf(arena, "%s_div", name), DT_I64});
}

/* The extents that a section's linear index is divided by. */
static void add_extents(Arena *arena, Reduce *reduce, Section section) {
    for (uint32_t axis = section.first + 1; axis < section.end; axis++)
        add_size(arena, reduce, extent_name(arena, reduce->plan, axis), true);
}

static void add_parameters(Arena *arena, Reduce *reduce) {
    const Plan *plan = reduce->plan;
    bool inner = reduce->inner.end > reduce->inner.first;
    add_size(arena, reduce, "kf_outer", false);
    add_size(arena, reduce, "kf_depth", false);
    if (inner) add_size(arena, reduce, "kf_inner", true);
    add_extents(arena, reduce, reduce->outer);
    add_extents(arena, reduce, reduce->depth);
    add_extents(arena, reduce, reduce->inner);
    for (uint32_t i = 0; i < access_count(plan); i++) {
        const Access *access = access_at(plan, i);
        for (uint32_t axis = 0; axis < plan->rank; axis++)
            if (plan_stride_given(plan, access, axis))
                array_push(arena, &reduce->parameters.list,
                           (Parameter){plan_stride_name(arena, access, axis), DT_I64});
    }
    for (uint32_t i = 0; i < plan->scalars.count; i++)
        array_push(arena, &reduce->parameters.list,
                   (Parameter){plan->scalars.data[i].name, plan->scalars.data[i].dtype});
}

const Reduce *reduce_open(Arena *arena, const Plan *plan, const EmitLanguage *language) {
    Reduce *reduce = arena_new(arena, Reduce);
    reduce->plan = plan;
    reduce->language = language;
    reduce->outer = section(0, plan, false);
    reduce->depth = section(reduce->outer.end, plan, true);
    reduce->inner = section(reduce->depth.end, plan, false);
    split_values(arena, reduce);
    add_parameters(arena, reduce);
    return reduce;
}

/* --- offsets */

/* Some array's place needs the coordinates: it is not dense, and the section is of several axes, or
 * it has a stride there. */
static bool coordinates_matter(const Plan *plan, Section section) {
    for (uint32_t i = 0; i < access_count(plan); i++)
        if (access_at(plan, i)->class != ACCESS_DENSE && reduce_walks(access_at(plan, i), section))
            return true;
    return false;
}

void reduce_coordinates(Text *out, const Reduce *reduce, Section section, const char *index,
                        int indent) {
    Arena *scratch = arena_open();
    const char *type = reduce->language->index;
    uint32_t axis = section.end;
    bool matters = coordinates_matter(reduce->plan, section);
    for (; matters && axis-- > section.first + 1;) {
        const char *extent = extent_name(scratch, reduce->plan, axis);
        text_printf(out, "%*sconst %s r%u = ", indent, "", type, axis);
        emit_quotient(out, reduce->language, index, extent);
        text_printf(out, ", i%u = %s - r%u * %s;\n", axis, index, axis, extent);
        index = arena_printf(scratch, "r%u", axis);
    }
    if (matters)
        text_printf(out, "%*sconst %s i%u = %s;\n", indent, "", type, section.first, index);
    arena_close(scratch);
}

void reduce_offset(Text *out, const Reduce *reduce, const Access *access, ReduceWhere where,
                   const char *line) {
    const Plan *plan = reduce->plan;
    Arena *scratch = arena_open();
    size_t begin = out->length;
    if (access->class == ACCESS_DENSE) text_add(out, line);
    for (uint32_t axis = 0; axis < plan->rank && access->class != ACCESS_DENSE; axis++) {
        if (access->stride[axis] == 0) continue;
        if (where == REDUCE_RESULT && (plan->reduced >> axis & 1)) continue;
        text_printf(out, "%si%u", out->length > begin ? " + " : "", axis);
        if (plan_stride_given(plan, access, axis))
            text_printf(out, " * %s", plan_stride_name(scratch, access, axis));
    }
    if (out->length == begin) text_add(out, "0");
    arena_close(scratch);
}

/* --- parts */

static uint32_t field_bytes(const Reduce *reduce, Value reduction, uint32_t real) {
    const IrNode *node = ir_node(reduce->plan->ir, reduction);
    switch (value_kind(node->type.dtype)) {
    case VALUE_REAL: return node->op == IR_VAR ? 4 * real : real;
    case VALUE_I64: return 8;
    default: return 4;
    }
}

/* As a compiler lays out the fields in order. */
uint32_t reduce_part_bytes(const Reduce *reduce, uint32_t real) {
    uint32_t bytes = 0, alignment = 4;
    for (uint32_t i = 0; i < reduce->reductions.count; i++) {
        Value v = reduce->reductions.at[i];
        ValueKind kind = value_kind(ir_dtype(reduce->plan->ir, v));
        uint32_t unit = kind == VALUE_REAL ? real : kind == VALUE_I64 ? 8 : 4;
        if (unit > alignment) alignment = unit;
        bytes = (bytes + unit - 1) / unit * unit + field_bytes(reduce, v, real);
    }
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Of whole numbers the ends of their type; a bool's are 0 and 1. */
void reduce_nothing(Text *out, const Reduce *reduce, Value reduction) {
    const IrNode *node = ir_node(reduce->plan->ir, reduction);
    const DTypeInfo *info = dtype_info(node->type.dtype);
    bool real = dtype_is_float(node->type.dtype), wide = node->type.dtype == DT_I64;
    bool most = node->op == IR_MIN;
    if (node->op == IR_PROD)
        text_add(out, "1");
    else if (node->op != IR_MAX && node->op != IR_MIN)
        text_add(out, "0");
    else if (real)
        text_add(out, most ? "K_INF" : "-K_INF");
    else if (most)
        text_printf(out, "%lld%s", (long long)info->high, wide ? "LL" : "");
    else if (info->low == 0)
        text_add(out, "0");
    else
        text_printf(out, "(%lld%s - 1)", (long long)(info->low + 1), wide ? "LL" : "");
}

/* --- header */

static void print_array(Text *out, const Reduce *reduce, const Access *access, const char *kind) {
    static const char *const names[] = {"kf_outer", "kf_depth", "kf_inner"};
    const Section sections[] = {reduce->outer, reduce->depth, reduce->inner};
    bool any = false;
    text_printf(out, "//! %-8s %s[", kind, access->name);
    for (int i = 0; i < 3; i++) {
        if (!reduce_walks(access, sections[i])) continue;
        text_printf(out, "%s%s", any ? ", " : "", names[i]);
        any = true;
    }
    text_printf(out, "%s] : %s\n", any ? "" : "1", dtype_name(access->dtype));
}

void reduce_head(Text *out, const Reduce *reduce, const KnobText *knobs, uint32_t count) {
    const Plan *plan = reduce->plan;
    text_printf(out, "//! kernel   %s\n", plan->name);
    for (uint32_t i = 0; i < access_count(plan); i++)
        print_array(out, reduce, access_at(plan, i), access_is_store(plan, i) ? "output" : "input");
    text_add(out, "//! args    ");
    for (uint32_t i = 0; i < access_count(plan); i++)
        text_printf(out, " %s", access_at(plan, i)->name);
    for (uint32_t i = 0; i < reduce->parameters.list.count; i++)
        text_printf(out, " %s", reduce->parameters.list.data[i].name);
    text_add(out, " workspace\n");
    emit_knobs(out, knobs, count);
}
