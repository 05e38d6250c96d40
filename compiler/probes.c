/* A program in, how far errors carry in it out. See probes.h.
 *
 *     point   0 … 15 | 16 … 31 | …          rows of ROW; of a program that reduces, a row has one magnitude
 *     slot    2 v: value v without errors    2 v + 1: with those of the forms that are tried */
#include "compiler/probes.h"

#include <math.h>

#include "compiler/eval_block.h"
#include "compiler/group.h"

enum { POINTS = 1024, ROW = 16, SETS = 8, MAGNITUDES = 64 };
enum { NAN_NEVER, NAN_MAY, NAN_MUST }; /* interval.h's */

struct Probes {
    Arena *arena;
    const Ir *ir;
    const BlockKernel *kernel;
    Block *slots;
    bool rows;       /* something reduces */
    uint32_t leaves; /* that have their numbers */
    const double *weak[SETS];
    uint8_t *ends;     /* by value: the types that it is rounded to, ENDS_… */
    bool *needed;      /* by value: something that ends needs it */
    uint64_t *depends; /* by value: on which leaves, by their number modulo 64 */
    uint8_t **apart;   /* by value: the points that are none; NULL: all are */
    bool *moved;       /* by value: an error reaches it in this try */
    uint8_t *ambiguous;
    void *sum, *before;
};

enum { ENDS_F16 = 1, ENDS_BF16 = 2 };

static const IrNode *node_of(const Probes *p, Value value) {
    return ir_node(p->ir, value);
}

static Block *plain_slot(const Probes *p, Value value) {
    return &p->slots[2 * value];
}

/* --- numbers */

static uint64_t mix(uint64_t x) {
    x = (x + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Where functions bend, twice; further out; 0; all of a row different. */
static double magnitude(uint64_t which, uint64_t hash) {
    static const int far[] = {-24, -40, -70, -110, -126, -133, 8, 9, 10, 12, 15, 30, 70, 127};
    double fraction = 1 + (double)(hash >> 40) * 0x1p-24;
    if (which < 48) return ldexp(fraction, (int)(which % 24) - 16);
    if (which < 62) return ldexp(fraction, far[which - 48]);
    return which == 62 ? 0 : ldexp(fraction, (int)(hash % 24) - 16);
}

static uint32_t family(const Probes *p, uint32_t point) {
    return p->rows ? point / ROW : point;
}

static double number(const Probes *p, uint32_t leaf, uint32_t point) {
    uint64_t hash = mix(mix(leaf) + point);
    uint64_t which = family(p, point) + (leaf ? mix(leaf * 7919 + family(p, point)) : 0);
    double size = magnitude(which % MAGNITUDES, hash);
    return hash & 64 ? -size : size;
}

/* Integers are small. */
static void fill_leaf(Probes *p, Block *out, DType type) {
    out->point = true;
    out->whole = !dtype_is_float(type);
    for (uint32_t i = 0; i < POINTS; i++) {
        double x = number(p, p->leaves, i);
        if (out->whole)
            ((int64_t *)out->lo)[i] = dtype_saturate(type, fmod(x, 100));
        else
            ((float *)out->lo)[i] = (float)dtype_round(type, x);
    }
    p->leaves++;
}

/* Params are usual, and some powers of two of that. */
static void open_weak(Probes *p) {
    static const int scales[SETS] = {0, 1, 0, -1, 2, -2, 4, -4};
    Ir scaled = *p->ir;
    scaled.params.data = arena_array(p->arena, IrParam, p->ir->params.count + 1);
    for (uint32_t set = 0; set < SETS; set++) {
        for (uint32_t i = 0; i < p->ir->params.count; i++) {
            scaled.params.data[i] = p->ir->params.data[i];
            scaled.params.data[i].value = ldexp(p->ir->params.data[i].usual, scales[set]);
        }
        bool same = set > 0 && p->ir->params.count == 0;
        p->weak[set] = same ? p->weak[0] : ir_weak_values(&scaled, p->arena);
    }
}

static void fill_weak(const Probes *p, Block *out, const IrNode *node) {
    DType type = node->type.dtype;
    out->point = true;
    out->whole = !dtype_is_float(type);
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t set = (family(p, i) + family(p, i) / MAGNITUDES) % SETS;
        double x = p->weak[set][node->arg[0]];
        if (out->whole)
            ((int64_t *)out->lo)[i] = dtype_saturate(type, x);
        else
            ((float *)out->lo)[i] = (float)x;
    }
}

/* --- one value */

static void open_block(const Probes *p, Block *block, DType type) {
    size_t bytes = dtype_is_float(type) ? sizeof(float) : sizeof(int64_t);
    if (block->lo) return;
    block->lo = arena_alloc(p->arena, POINTS * bytes);
    block->hi = arena_alloc(p->arena, POINTS * bytes);
    block->v = arena_alloc(p->arena, POINTS * sizeof(int64_t));
    block->nan = arena_alloc(p->arena, POINTS);
}

/* A view of the elements from `first` on. */
static Block part_of(const Block *block, uint32_t first) {
    Block part = *block;
    size_t bytes = block->whole ? sizeof(int64_t) : sizeof(float);
    part.lo = (char *)part.lo + first * bytes;
    part.hi = (char *)part.hi + first * bytes;
    part.v = (char *)part.v + first * sizeof(int64_t);
    part.nan += first;
    return part;
}

static void reduce_row(const Probes *p, const IrNode *node, const Block *row, Block *out,
                       int64_t at) {
    const BlockKernel *k = p->kernel;
    DType type = ir_dtype(p->ir, node->arg[0]);
    k->clear(p->sum);
    k->clear(p->before);
    k->reduce(p->sum, node->op, type, row, ROW, NULL, 0, false);
    if (node->op == IR_VAR) {
        k->next_pass(p->before, p->sum, 0);
        k->clear(p->sum);
        k->reduce(p->sum, node->op, type, row, ROW, p->before, 1, false);
    }
    k->reduced(out, at, p->sum, p->before, node->op, node->type.dtype, false);
}

static void reduce(const Probes *p, const IrNode *node, const Block *x, Block *out) {
    out->whole = !dtype_is_float(node->type.dtype);
    for (uint32_t first = 0; first < POINTS; first += ROW) {
        Block row = part_of(x, first);
        reduce_row(p, node, &row, out, first);
        Block result = part_of(out, first);
        result.point = false;
        for (uint32_t i = 1; i < ROW; i++) p->kernel->expand(out, first + i, &result, 1);
    }
    p->kernel->settle(out, POINTS);
}

static uint32_t slot_of(const Probes *p, Value value) {
    return 2 * value + p->moved[value];
}

/* An operation of what its operands are in this try. */
static void apply(const Probes *p, const IrNode *node, uint32_t out, Primitive form) {
    BlockStep step = {.op = node->op, .count = node->count, .type = node->type.dtype, .out = out};
    for (uint32_t i = 0; i < node->count; i++) step.arg[i] = slot_of(p, node->arg[i]);
    step.same = node->count == 2 && node->arg[0] == node->arg[1];
    step.ulp = form ? primitive_info(form)->ulp_cuda_f32 : 0;
    p->kernel->apply(&step, p->slots, POINTS, false, p->ambiguous);
}

static bool is_view(const IrNode *node) {
    return node->op == IR_TRANSPOSE || node->op == IR_BROADCAST;
}

static void compute(Probes *p, Value value, uint32_t out, Primitive form) {
    const IrNode *node = node_of(p, value);
    Block *block = &p->slots[out];
    if (is_view(node)) {
        *block = p->slots[slot_of(p, node->arg[0])];
        return;
    }
    open_block(p, block, node->type.dtype);
    if (node->op == IR_INPUT || node->op == IR_MATMUL)
        fill_leaf(p, block, node->type.dtype);
    else if (node->op == IR_CONST)
        p->kernel->fill(block, node->type.dtype,
                        dtype_is_float(node->type.dtype) ? (Scalar){.real = node->real}
                                                         : (Scalar){.whole = node->whole},
                        POINTS);
    else if (node->op == IR_CAST && ir_dtype(p->ir, node->arg[0]) == DT_WEAK)
        fill_weak(p, block, node);
    else if (ir_is_reduction(node))
        reduce(p, node, &p->slots[slot_of(p, node->arg[0])], block);
    else
        apply(p, node, out, form);
}

/* --- sums that cancel */

static double real_at(const Block *block, uint32_t i) {
    return (double)((const float *)block->lo)[i];
}

/* The two terms of a sum, at a point. */
static bool find_terms(const Probes *p, const IrNode *node, uint32_t i, double *a, double *b) {
    double x[3];
    if (!ir_is_primitive(node) || !dtype_is_float(node->type.dtype)) return false;
    Primitive primitive = ir_primitive(node);
    if (primitive != P_ADD && primitive != P_SUB && primitive != P_FMA) return false;
    for (uint32_t k = 0; k < node->count; k++) x[k] = real_at(plain_slot(p, node->arg[k]), i);
    *a = primitive == P_FMA ? x[0] * x[1] : x[0];
    *b = primitive == P_FMA ? x[2] : primitive == P_SUB ? -x[1] : x[1];
    return true;
}

/* One term changes where the other does not. */
static bool is_independent(const Probes *p, const IrNode *node) {
    uint32_t last = node->count - 1u;
    uint64_t a = p->depends[node->arg[0]], b = p->depends[node->arg[last]];
    if (last == 2) a |= p->depends[node->arg[1]];
    return a && b && a != b;
}

static void mark(const Probes *p, Value value, uint32_t i) {
    if (!p->apart[value]) p->apart[value] = arena_array(p->arena, uint8_t, POINTS);
    p->apart[value][i] = 1;
}

static void mark_sum(const Probes *p, Value value) {
    const IrNode *node = node_of(p, value);
    double a, b;
    if (!find_terms(p, node, 0, &a, &b) || !is_independent(p, node)) return;
    for (uint32_t i = 0; i < POINTS; i++) {
        find_terms(p, node, i, &a, &b);
        if (fabs(a + b) < fmax(fabs(a), fabs(b))) mark(p, value, i);
    }
}

/* Elements of a row are independent. A row shares what is marked in it. */
static void mark_rows(const Probes *p, Value value) {
    const IrNode *node = node_of(p, value);
    const uint8_t *given = p->apart[node->arg[0]];
    bool sum = (node->op == IR_SUM || node->op == IR_MEAN) && dtype_is_float(node->type.dtype);
    for (uint32_t first = 0; first < POINTS; first += ROW) {
        double total = 0, size = 0;
        bool marked = false;
        for (uint32_t i = first; i < first + ROW; i++) {
            double x = sum ? real_at(plain_slot(p, node->arg[0]), i) : 0;
            marked |= given && given[i];
            total += x;
            size += fabs(x);
        }
        for (uint32_t i = first; i < first + ROW && (marked || fabs(total) < size / 4); i++)
            mark(p, value, i);
    }
}

/* The last digits of subnormal numbers are lost already; a 0 may be one that is too small. */
static void mark_subnormal(const Probes *p, Value value) {
    const IrNode *node = node_of(p, value);
    if (!ir_is_primitive(node) || !primitive_near(ir_primitive(node), (Primitive)0)) return;
    for (uint32_t i = 0; i < POINTS && dtype_is_float(node->type.dtype); i++)
        if (fabs(real_at(plain_slot(p, value), i)) < 0x1p-126) mark(p, value, i);
}

static void mark_value(const Probes *p, Value value) {
    const IrNode *node = node_of(p, value);
    mark_subnormal(p, value);
    if (probes_is_rounding(p->ir, node) || node->op == IR_MATMUL) return;
    for (uint32_t k = 0; k < node->count && !ir_is_reduction(node); k++)
        for (uint32_t i = 0; p->apart[node->arg[k]] && i < POINTS; i++)
            if (p->apart[node->arg[k]][i]) mark(p, value, i);
    if (ir_is_reduction(node))
        mark_rows(p, value);
    else
        mark_sum(p, value);
}

static bool crosses(const Probes *p, Value value, double sign) {
    const IrNode *node = node_of(p, value);
    double a, b;
    bool above = false, below = false;
    for (uint32_t i = 0; i < POINTS; i++) {
        if (!find_terms(p, node, i, &a, &b) || !(a * sign > 0 && b * sign < 0)) continue;
        above |= a + b > 0;
        below |= a + b < 0;
    }
    return above && below;
}

static bool has_both_signs(const Block *block) {
    bool above = false, below = false;
    for (uint32_t i = 0; i < POINTS; i++) {
        above |= real_at(block, i) > 0;
        below |= real_at(block, i) < 0;
    }
    return above && below;
}

bool probes_cross(const Probes *p, Value value) {
    const IrNode *node = node_of(p, value);
    if (!p->needed[value] || !ir_is_primitive(node)) return false;
    switch (ir_primitive(node)) {
    case P_ADD:
    case P_SUB:
    case P_FMA: return !is_independent(p, node) && (crosses(p, value, 1) || crosses(p, value, -1));
    case P_LOG:
    case P_LOG2:
    case P_LOG10: return has_both_signs(plain_slot(p, value));
    default: return false;
    }
}

/* --- what errors come to */

typedef struct Ends {
    double lo, hi;
    int nan;
} Ends;

static Ends ends_at(const Block *block, uint32_t i) {
    double lo = real_at(block, i);
    if (block->point) return (Ends){lo, lo, isnan(lo) ? NAN_MUST : NAN_NEVER};
    return (Ends){lo, (double)((const float *)block->hi)[i], block->nan[i]};
}

/* Of numbers that overflow nothing is asked but that they do. */
static double bounded(DType type, double x) {
    double limit = type == DT_F16 ? 0x1p16 : 0x1p128;
    return x > limit ? limit : x < -limit ? -limit : x;
}

/* The least that 1/8 ulp is for numbers of this magnitude; and a hundredth for f32's own roundings. */
static double allowed(DType type, double size) {
    int bits = type == DT_F16 ? 11 : 8, least = type == DT_F16 ? -14 : -126;
    return fmax(ldexp(size, -bits - 3), ldexp(1, least - bits - 2)) * (1 + 0x1p-6);
}

static bool is_near(DType type, Ends plain, Ends moved) {
    if (plain.nan != NAN_NEVER) return true;
    if (moved.nan != NAN_NEVER) return false;
    double lo = bounded(type, plain.lo), hi = bounded(type, plain.hi);
    double below = lo - bounded(type, moved.lo), above = bounded(type, moved.hi) - hi;
    double size = (lo > 0) == (hi > 0) ? fmin(fabs(lo), fabs(hi)) : 0;
    return fmax(below, above) <= allowed(type, size);
}

static bool stays_near(const Probes *p, Value value, DType type) {
    const Block *plain = plain_slot(p, value), *moved = &p->slots[2 * value + 1];
    const uint8_t *apart = p->apart[value];
    for (uint32_t i = 0; i < POINTS; i++)
        if (!(apart && apart[i]) && !is_near(type, ends_at(plain, i), ends_at(moved, i)))
            return false;
    return true;
}

static bool is_moved(const Probes *p, const IrNode *node, Primitive form) {
    bool moved = form != 0;
    if (probes_is_rounding(p->ir, node)) return false;
    for (uint32_t i = 0; i < node->count && node->op != IR_MATMUL; i++)
        moved |= p->moved[node->arg[i]];
    return moved;
}

bool probes_allow(Probes *p, const Primitive *form) {
    bool near = true;
    for (Value v = 1; v < p->ir->nodes.count; v++) p->moved[v] = false;
    for (Value v = 1; v < p->ir->nodes.count && near; v++) {
        if (!p->needed[v] || !is_moved(p, node_of(p, v), form[v])) continue;
        compute(p, v, 2 * v + 1, form[v]);
        p->moved[v] = true;
        if (p->ends[v] & ENDS_F16) near = stays_near(p, v, DT_F16);
        if (near && (p->ends[v] & ENDS_BF16)) near = stays_near(p, v, DT_BF16);
    }
    return near;
}

/* --- opening */

static void end_at(const Probes *p, Value value, DType type) {
    if (!probes_is_half(type)) return;
    p->ends[value] |= type == DT_F16 ? ENDS_F16 : ENDS_BF16;
    p->needed[value] = true;
}

static void find_needed(const Probes *p) {
    const Ir *ir = p->ir;
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        end_at(p, ir->outputs.data[i].value, ir->outputs.data[i].type.dtype);
    for (Value v = ir->nodes.count; v-- > 1;) {
        const IrNode *node = ir_node(ir, v);
        if (probes_is_rounding(ir, node)) end_at(p, node->arg[0], node->type.dtype);
        if (!p->needed[v] || node->op == IR_MATMUL) continue;
        for (uint32_t i = 0; i < node->count; i++)
            p->needed[node->arg[i]] |= ir_dtype(ir, node->arg[i]) != DT_WEAK;
    }
}

static void find_leaves(Probes *p, Value value) {
    const IrNode *node = node_of(p, value);
    if (node->op == IR_INPUT || node->op == IR_MATMUL)
        p->depends[value] = (uint64_t)1 << p->leaves % 64;
    for (uint32_t i = 0; i < node->count; i++) p->depends[value] |= p->depends[node->arg[i]];
}

Probes *probes_open(Arena *arena, const Ir *ir) {
    Probes *p = arena_new(arena, Probes);
    uint32_t count = ir->nodes.count;
    *p = (Probes){.arena = arena, .ir = ir, .kernel = &block_kernel_f32};
    p->slots = arena_array(arena, Block, 2 * count);
    p->ends = arena_array(arena, uint8_t, count);
    p->needed = arena_array(arena, bool, count);
    p->depends = arena_array(arena, uint64_t, count);
    p->apart = arena_array(arena, uint8_t *, count);
    p->moved = arena_array(arena, bool, count);
    p->ambiguous = arena_array(arena, uint8_t, POINTS);
    p->sum = arena_alloc(arena, p->kernel->sum_bytes);
    p->before = arena_alloc(arena, p->kernel->sum_bytes);
    for (Value v = 1; v < count; v++) p->rows |= ir_is_reduction(ir_node(ir, v));
    open_weak(p);
    find_needed(p);
    for (Value v = 1; v < count; v++) {
        if (!p->needed[v]) continue;
        find_leaves(p, v);
        compute(p, v, 2 * v, (Primitive)0);
        mark_value(p, v);
    }
    return p;
}
