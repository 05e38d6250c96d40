/* In: an Export. Out: the part of NAME.c that says how large its arrays may be. One idea: every value of a
 * program is a product of axes' extents, so that it is enough to compare those products, as doubles,
 * with what a kernel's indices and the launcher's own numbers reach. */
#include <inttypes.h>
#include <string.h>

#include "compiler/plan.h"
#include "export/export.h"

/* Elements of anything: three such extents, as a matrix product has, and a few bytes fit 64 bits. */
static const int64_t ANY_ELEMENTS = (int64_t)1 << 40;

typedef struct Reach {
    ExportSize size;
    int64_t most; /* elements */
} Reach;

typedef struct Reaches {
    const Export *e;
    Arena *arena;
    ARRAY(Reach) list;
} Reaches;

/* Whether indices of 32 bits are used for a step. */
static bool is_narrow(const Export *e, uint32_t step) {
    for (uint32_t k = 0; k < e->kernels.count; k++)
        if (e->kernels.data[k].step == step && !e->kernels.data[k].wide) return true;
    return false;
}

static void add(Reaches *r, const Type *first, const Type *second, const Type *here, int64_t most) {
    ExportSize size = {0};
    size_of(&r->e->axes, type_count(first), type_count(second), type_count(here), &size);
    for (uint32_t i = 0; i < r->list.count; i++) {
        Reach *there = &r->list.data[i];
        if (memcmp(there->size.power, size.power, sizeof size.power) != 0) continue;
        if (most < there->most) there->most = most;
        return;
    }
    if (!size_is_constant(&size)) array_push(r->arena, &r->list, (Reach){size, most});
}

/* What a generated kernel, or what follows a product in a written one, walks over. */
static bool *find_walked(Arena *arena, const Ir *ir) {
    bool *walked = arena_array(arena, bool, ir->nodes.count);
    for (uint32_t o = 0; o < ir->outputs.count; o++) walked[ir->outputs.data[o].value] = true;
    for (Value v = ir->nodes.count - 1; v > 0; v--) {
        const IrNode *node = ir_node(ir, v);
        for (uint32_t i = 0; walked[v] && node->op != IR_MATMUL && i < node->count; i++)
            walked[node->arg[i]] = true;
    }
    return walked;
}

static void add_step(Reaches *r, uint32_t step) {
    const Ir *ir = r->e->chain->steps.data[step].ir;
    const Ir *first = r->e->axes.chain[0]->steps.data[step].ir;
    const Ir *second = r->e->axes.chain[1]->steps.data[step].ir;
    const bool *walked = find_walked(r->arena, ir);
    bool narrow = is_narrow(r->e, step);
    for (Value v = 1; v < ir->nodes.count; v++) {
        const IrNode *node = ir_node(ir, v);
        int64_t most = !narrow || !walked[v]  ? ANY_ELEMENTS
                       : node->op == IR_INPUT ? plan_index32_elements(node->type.dtype)
                                              : plan_index32_elements(DT_BOOL);
        add(r, &ir_node(first, v)->type, &ir_node(second, v)->type, &node->type, most);
    }
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        add(r, &first->outputs.data[o].type, &second->outputs.data[o].type,
            &ir->outputs.data[o].type,
            narrow ? plan_index32_elements(ir->outputs.data[o].type.dtype) : ANY_ELEMENTS);
}

/* Whether the first product, which has all the other's axes, says as much as the other. */
static bool implies(const Reach *a, const Reach *b) {
    bool all = a != b && a->most <= b->most;
    for (uint32_t i = 0; i < EXPORT_AXES; i++) all &= a->size.power[i] >= b->size.power[i];
    return all;
}

static bool is_implied(const Reaches *r, const Reach *reach) {
    for (uint32_t i = 0; i < r->list.count; i++)
        if (implies(&r->list.data[i], reach)) return true;
    return false;
}

static void print_reach(Text *out, const Reach *reach) {
    const char *times = "";
    text_add(out, "    if (");
    for (uint32_t i = 0; i < EXPORT_AXES; i++)
        for (uint8_t p = 0; p < reach->size.power[i]; p++, times = " * ")
            text_printf(out, "%sspan(d[%u])", times, i);
    text_printf(out, " > %" PRId64 ") return false;\n", reach->most);
}

void export_reach(Text *out, const Export *e) {
    Arena *arena = arena_open();
    Reaches r = {.e = e, .arena = arena};
    for (uint32_t s = 0; s < e->chain->steps.count && e->axes.count; s++) add_step(&r, s);
    if (r.list.count)
        text_add(out, "\n/* No elements along an axis hide none along others. */\n"
                      "static double span(int64_t extent) {\n"
                      "    return extent ? (double)extent : 1;\n}\n");
    text_add(out, "\n/* Whether indices reach all elements at these extents. */\n"
                  "static bool is_reached(const int64_t *d) {\n    (void)d;\n");
    for (uint32_t i = 0; i < r.list.count; i++)
        if (!is_implied(&r, &r.list.data[i])) print_reach(out, &r.list.data[i]);
    text_add(out, "    return true;\n}\n");
    arena_close(arena);
}
