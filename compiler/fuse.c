/* An Ir in, chains of steps out. One idea: what is kept in memory (cuts.h) decides all else. Outputs
 * and kept values are roots; roots that one kernel can compute, and that do not wait for one another,
 * share it. */
#include "compiler/fuse.h"

#include <string.h>

#include "compiler/cuts.h"
#include "compiler/part.h"

/* Roots of one kernel. */
typedef struct Bunch {
    Roots roots;
    bool *cone;  /* by Value: what they take */
    bool *after; /* by Bunch: what it waits for, directly or not */
    Step step;
} Bunch;

typedef struct Fuser {
    Arena *arena;
    const Library *library;
    const Ir *ir;
    Cuts cuts;
    bool *apart;   /* by Value: where it is kept, no kernel that reads it computes it as well */
    bool *dropped; /* by Value: kept for nobody once; kept again, it stays, so that this ends */
    ARRAY(Bunch) bunches;
    uint32_t *owner; /* by Value: the bunch of a kept value */
    uint32_t most;   /* bunches, at most */
    Uncovered *uncovered;
} Fuser;

/* --- roots */

static bool has_elements(const Type *type) {
    return type_count(type) > 0;
}

/* The output that holds exactly what is kept, or -1: it need not be kept twice. */
static int32_t output_holding(const Fuser *f, Value value) {
    for (uint32_t i = 0; i < f->ir->outputs.count; i++) {
        const IrOutput *output = &f->ir->outputs.data[i];
        int64_t dense[RANK_MAX];
        type_strides(&output->type, dense);
        if (output->value == value && output->updates < 0 &&
            type_same_shape(&output->type, &ir_node(f->ir, value)->type) &&
            output->type.dtype == part_storage(f->ir, value) &&
            memcmp(dense, output->strides, output->type.rank * sizeof *dense) == 0)
            return (int32_t)i;
    }
    return -1;
}

static void add_outputs(Fuser *f, Roots *roots, Value value, bool updates) {
    for (uint32_t i = 0; i < f->ir->outputs.count; i++) {
        const IrOutput *output = &f->ir->outputs.data[i];
        if (output->value == value && (output->updates >= 0) == updates &&
            has_elements(&output->type))
            array_push(f->arena, &roots->list, (Root){value, (int32_t)i});
    }
}

/* In the order of values, which is one of dependence; updates, which wait for whoever reads what they
 * update, come last. */
static Roots find_roots(Fuser *f) {
    Roots roots = {0};
    for (Value v = 1; v < f->ir->nodes.count; v++) {
        int32_t holder = output_holding(f, v);
        f->cuts.where[v] =
            holder >= 0 ? (Ref){PLACE_OUTPUT, (uint32_t)holder} : (Ref){PLACE_TEMPORARY, v};
        if (f->cuts.kept[v] && holder < 0) array_push(f->arena, &roots.list, (Root){v, -1});
        add_outputs(f, &roots, v, false);
    }
    for (Value v = 1; v < f->ir->nodes.count; v++) add_outputs(f, &roots, v, true);
    return roots;
}

/* --- bunches */

/* A root on its way into a bunch. */
typedef struct Joining {
    Root root;
    bool *cone;   /* by Value */
    bool *after;  /* by Bunch: what it waits for, directly or not */
    bool *behind; /* by Bunch: what some bunch that it waits for waits for */
    bool *before; /* by Bunch: what waits for it, because it updates what this reads */
    bool *apart;  /* by Bunch: it keeps something apart that this reads */
} Joining;

static int32_t updated_by(const Fuser *f, Root root) {
    return root.output < 0 ? -1 : f->ir->outputs.data[root.output].updates;
}

static bool reads_input(const Fuser *f, const bool *cone, int32_t input) {
    return input >= 0 && cone[f->ir->inputs.data[input].value];
}

static bool updates_what(const Fuser *f, const Bunch *bunch, const bool *cone) {
    for (uint32_t r = 0; r < bunch->roots.list.count; r++)
        if (reads_input(f, cone, updated_by(f, bunch->roots.list.data[r]))) return true;
    return false;
}

static void wait_for(const Fuser *f, Joining *j, uint32_t index) {
    const Bunch *bunch = &f->bunches.data[index];
    j->after[index] = true;
    for (uint32_t i = 0; i < f->bunches.count; i++) {
        j->after[i] |= bunch->after[i];
        j->behind[i] |= bunch->after[i];
    }
}

/* The bunches of kept values that it takes, who reads what it updates, who updates what it reads. */
static void mark_waiting(const Fuser *f, Joining *j) {
    for (Value v = 1; v < f->ir->nodes.count; v++) {
        if (!j->cone[v] || !f->cuts.kept[v] || f->owner[v] == UINT32_MAX) continue;
        wait_for(f, j, f->owner[v]);
        j->apart[f->owner[v]] |= f->apart[v];
    }
    for (uint32_t i = 0; i < f->bunches.count; i++) {
        if (reads_input(f, f->bunches.data[i].cone, updated_by(f, j->root))) wait_for(f, j, i);
        j->before[i] = updates_what(f, &f->bunches.data[i], j->cone);
    }
}

static bool gathers(const IrNode *node) {
    return node->op == IR_MATMUL || ir_is_reduction(node);
}

static bool shares_gathering(const Fuser *f, const bool *a, const bool *b) {
    for (Value v = 1; v < f->ir->nodes.count; v++)
        if (a[v] && b[v] && gathers(ir_node(f->ir, v)) && !f->cuts.kept[v]) return true;
    return false;
}

static Roots with(Arena *arena, const Roots *roots, Root root) {
    Roots more = {0};
    for (uint32_t i = 0; i < roots->list.count; i++)
        array_push(arena, &more.list, roots->list.data[i]);
    array_push(arena, &more.list, root);
    return more;
}

/* Whether one kernel may compute them: one generated kernel, or a product's. */
static bool is_one_kernel(const Fuser *f, const Roots *roots, bool product) {
    Arena *scratch = arena_open();
    Step step = part_extract(scratch, f->ir, &f->cuts, roots);
    bool one = group_find(step.ir).kind != GROUP_NONE ||
               (product && kernels_find(scratch, f->library, step.ir).list.count > 0);
    arena_close(scratch);
    return one;
}

/* Whether the bunch would wait for one that waits for it. */
static bool waits_in_turn(const Fuser *f, uint32_t index, const Joining *j) {
    if (j->behind[index]) return true;
    for (uint32_t i = 0; i < f->bunches.count; i++)
        if (i != index && j->before[i] && (j->after[i] || f->bunches.data[index].after[i]))
            return true;
    return false;
}

static bool takes(const Fuser *f, uint32_t index, const Joining *j) {
    const Bunch *bunch = &f->bunches.data[index];
    if (j->apart[index] || waits_in_turn(f, index, j)) return false;
    Arena *scratch = arena_open();
    Roots roots = with(scratch, &bunch->roots, j->root);
    bool one = is_one_kernel(f, &roots, shares_gathering(f, j->cone, bunch->cone));
    arena_close(scratch);
    return one;
}

static void join(Fuser *f, uint32_t index, const Joining *j) {
    Bunch *bunch = &f->bunches.data[index];
    array_push(f->arena, &bunch->roots.list, j->root);
    for (Value v = 1; v < f->ir->nodes.count; v++) bunch->cone[v] |= j->cone[v];
    for (uint32_t i = 0; i < f->bunches.count; i++) {
        bunch->after[i] |= j->after[i] && i != index;
        f->bunches.data[i].after[index] |= j->before[i] && i != index;
    }
    for (uint32_t k = 0; k < f->bunches.count; k++) /* and who waits for this one */
        for (uint32_t i = 0; f->bunches.data[k].after[index] && i < f->bunches.count; i++)
            f->bunches.data[k].after[i] |= bunch->after[i];
    if (j->root.output < 0 || output_holding(f, j->root.value) == j->root.output)
        f->owner[j->root.value] = index;
}

static void add_root(Fuser *f, Root root) {
    Arena *scratch = arena_open();
    Joining j = {.root = root,
                 .cone = arena_array(scratch, bool, f->ir->nodes.count),
                 .after = arena_array(scratch, bool, f->most),
                 .behind = arena_array(scratch, bool, f->most),
                 .before = arena_array(scratch, bool, f->most),
                 .apart = arena_array(scratch, bool, f->most)};
    uint32_t index = 0;
    part_cone(f->ir, &f->cuts, root.value, j.cone);
    mark_waiting(f, &j);
    while (index < f->bunches.count && !takes(f, index, &j)) index++;
    if (index == f->bunches.count) {
        Bunch bunch = {.cone = arena_array(f->arena, bool, f->ir->nodes.count),
                       .after = arena_array(f->arena, bool, f->most)};
        array_push(f->arena, &f->bunches, bunch);
    }
    join(f, index, &j);
    arena_close(scratch);
}

static bool form_bunches(Fuser *f) {
    Roots roots = find_roots(f);
    f->bunches.count = 0;
    f->owner = arena_array(f->arena, uint32_t, f->ir->nodes.count);
    memset(f->owner, 0xff, f->ir->nodes.count * sizeof *f->owner);
    f->most = roots.list.count;
    if (f->most > FUSE_MOST) return false;
    for (uint32_t i = 0; i < roots.list.count; i++) add_root(f, roots.list.data[i]);
    return true;
}

static bool is_computed(const IrNode *node) {
    return gathers(node) || ir_is_primitive(node) || node->op == IR_CAST ||
           node->op == IR_CONVERT || node->op == IR_BROADCAST;
}

/* Worth reading rather than computing in two kernels: what gathers, and what an output holds. */
static bool is_worth_keeping(const Fuser *f, Value value) {
    const IrNode *node = ir_node(f->ir, value);
    return gathers(node) || (is_computed(node) && output_holding(f, value) >= 0);
}

static bool keep_shared(Fuser *f) {
    bool any = false;
    for (Value v = 1; v < f->ir->nodes.count; v++) {
        uint32_t users = 0;
        if (f->cuts.kept[v] || !is_worth_keeping(f, v)) continue;
        for (uint32_t i = 0; i < f->bunches.count; i++) users += f->bunches.data[i].cone[v];
        if (users > 1) any = f->cuts.kept[v] = true;
    }
    return any;
}

/* What is kept for nobody is not kept: one kernel computes it and all that reads it. */
static bool drop_unread(Fuser *f) {
    bool any = false;
    for (Value v = 1; v < f->ir->nodes.count; v++) {
        bool read = !f->cuts.kept[v] || f->apart[v] || f->dropped[v];
        for (uint32_t i = 0; i < f->bunches.count && !read; i++)
            read = i != f->owner[v] && f->bunches.data[i].cone[v];
        if (read) continue;
        any = f->dropped[v] = true;
        f->cuts.kept[v] = false;
    }
    return any;
}

/* --- coverage */

/* Keeps one value more of a part that no kernel computes: one that gathers, or else what it reads. */
static bool keep_more(Fuser *f, const Bunch *bunch) {
    for (int operands = 0; operands < 2; operands++)
        for (Value v = 1; v < f->ir->nodes.count; v++) {
            const IrNode *node = ir_node(f->ir, v);
            if (!bunch->cone[v] || !gathers(node)) continue;
            Value keep = operands ? node->arg[0] : v;
            if (!is_computed(ir_node(f->ir, keep)) || f->cuts.kept[keep]) continue;
            return f->apart[keep] = f->cuts.kept[keep] = true;
        }
    return false;
}

/* The program itself where one kernel is all of it. */
static Step extract(const Fuser *f, const Bunch *bunch) {
    bool whole = f->bunches.count == 1 && bunch->roots.list.count == f->ir->outputs.count;
    if (whole) return chain_whole(f->arena, f->ir);
    Step step = part_extract(f->arena, f->ir, &f->cuts, &bunch->roots);
    part_text(f->arena, &step);
    return step;
}

/* What the message points at where a part has no kernel. */
static Value last_gathering(const Ir *ir) {
    Value last = 0;
    for (Value v = 1; v < ir->nodes.count; v++)
        if (gathers(ir_node(ir, v))) last = v;
    return last;
}

/* Steps with kernels; false where one has none, `*retry` if it can be cut further. */
static bool cover(Fuser *f, bool *retry) {
    for (uint32_t i = 0; i < f->bunches.count; i++) {
        Bunch *bunch = &f->bunches.data[i];
        bunch->step = extract(f, bunch);
        bunch->step.kernels = kernels_find(f->arena, f->library, bunch->step.ir);
        if (bunch->step.kernels.list.count > 0) continue;
        *f->uncovered = (Uncovered){bunch->step.ir, last_gathering(bunch->step.ir)};
        *retry = keep_more(f, bunch);
        return false;
    }
    return true;
}

/* --- order */

static bool is_ready(const Fuser *f, uint32_t index, const bool *done) {
    const bool *after = f->bunches.data[index].after;
    for (uint32_t i = 0; i < f->bunches.count; i++)
        if (after[i] && !done[i]) return false;
    return true;
}

/* Bunches in an order in which none waits for a later one; false if there is none. Those that are done
 * lie together at the front, mostly: they are not looked at again. */
static bool order(const Fuser *f, uint32_t *list) {
    bool *done = arena_array(f->arena, bool, f->bunches.count);
    uint32_t first = 0;
    for (uint32_t n = 0; n < f->bunches.count; n++) {
        while (done[first]) first++;
        uint32_t next = first;
        while (next < f->bunches.count && (done[next] || !is_ready(f, next, done))) next++;
        if (next == f->bunches.count) return false;
        done[next] = true;
        list[n] = next;
    }
    return true;
}

/* --- the chain */

/* The kinds of its operations that gather, "sum, max"; "elementwise" where there is none. */
static const char *step_label(Arena *arena, const Step *step) {
    const char *label = NULL;
    for (Value v = 1; v < step->ir->nodes.count; v++) {
        const IrNode *node = ir_node(step->ir, v);
        if (gathers(node))
            label = arena_printf(arena, "%s%s%s", label ? label : "", label ? ", " : "",
                                 ir_op_name(node));
    }
    return label ? label : "elementwise";
}

/* A temporary of `bytes` that is free, the smallest large enough, or a new one. */
static uint32_t take_temporary(Arena *arena, Chain *chain, const uint32_t *busy_until, uint32_t now,
                               int64_t bytes) {
    uint32_t best = chain->temporaries.count;
    for (uint32_t i = 0; i < chain->temporaries.count; i++) {
        if (busy_until[i] >= now || chain->temporaries.data[i] < bytes) continue;
        if (best == chain->temporaries.count ||
            chain->temporaries.data[i] < chain->temporaries.data[best])
            best = i;
    }
    if (best == chain->temporaries.count) array_push(arena, &chain->temporaries, bytes);
    return best;
}

static uint32_t last_use(const Chain *chain, Ref ref) {
    uint32_t last = 0;
    for (uint32_t s = 0; s < chain->steps.count; s++)
        for (uint32_t i = 0; i < chain->steps.data[s].inputs.count; i++) {
            Ref input = chain->steps.data[s].inputs.data[i];
            if (input.place == ref.place && input.index == ref.index) last = s;
        }
    return last;
}

/* Temporaries for kept values, which they are numbered by so far: one holds several in turn. */
static void plan_temporaries(Fuser *f, Chain *chain) {
    uint32_t *slot = arena_array(f->arena, uint32_t, f->ir->nodes.count);
    uint32_t *busy_until = arena_array(f->arena, uint32_t, f->ir->nodes.count);
    for (uint32_t s = 0; s < chain->steps.count; s++) {
        const Step *step = &chain->steps.data[s];
        for (uint32_t i = 0; i < step->outputs.count; i++) {
            Ref ref = step->outputs.data[i];
            if (ref.place != PLACE_TEMPORARY) continue;
            slot[ref.index] = take_temporary(f->arena, chain, busy_until, s,
                                             type_bytes(&step->ir->outputs.data[i].type));
            busy_until[slot[ref.index]] = last_use(chain, ref);
        }
    }
    for (uint32_t s = 0; s < chain->steps.count; s++) {
        Step *step = &chain->steps.data[s];
        for (uint32_t i = 0; i < step->inputs.count; i++)
            if (step->inputs.data[i].place == PLACE_TEMPORARY)
                step->inputs.data[i].index = slot[step->inputs.data[i].index];
        for (uint32_t i = 0; i < step->outputs.count; i++)
            if (step->outputs.data[i].place == PLACE_TEMPORARY)
                step->outputs.data[i].index = slot[step->outputs.data[i].index];
    }
}

static const Chain *make_chain(Fuser *f, const char *name) {
    Chain *chain = arena_new(f->arena, Chain);
    uint32_t *list = arena_array(f->arena, uint32_t, f->bunches.count);
    chain->name = name;
    if (!order(f, list)) return NULL;
    for (uint32_t i = 0; i < f->bunches.count; i++) {
        Step step = f->bunches.data[list[i]].step;
        const Bound *bound = kernel_bound(f->arena, &step.kernels.list.data[0], step.ir);
        step.label = step_label(f->arena, &step);
        chain->bytes += bound ? bound->bytes : 0;
        array_push(f->arena, &chain->steps, step);
    }
    plan_temporaries(f, chain);
    return chain;
}

/* --- the stage */

/* The chain of `kept`, cut further where no kernel covers a part; NULL: no cut helps. */
static const Chain *try_cuts(Arena *arena, const Library *library, const Ir *ir, bool *kept,
                             bool *apart, const char *name, Uncovered *uncovered) {
    Fuser f = {.arena = arena,
               .library = library,
               .ir = ir,
               .cuts = {kept, arena_array(arena, Ref, ir->nodes.count)},
               .apart = apart,
               .dropped = arena_array(arena, bool, ir->nodes.count),
               .uncovered = uncovered};
    const Chain *chain = NULL;
    bool retry = true;
    while (retry) {
        retry = false;
        if (!form_bunches(&f)) break;
        if (keep_shared(&f) || drop_unread(&f))
            retry = true;
        else if (cover(&f, &retry))
            *uncovered = (Uncovered){0}, chain = make_chain(&f, name);
    }
    if (f.most > FUSE_MOST) *uncovered = (Uncovered){0};
    return chain;
}

static bool is_same(const Chain *a, const Chain *b) {
    return a->steps.count == b->steps.count && a->bytes == b->bytes;
}

static void add_chain(Arena *arena, Chains *chains, const Chain *chain) {
    for (uint32_t i = 0; chain && i < chains->list.count; i++)
        if (is_same(chains->list.data[i], chain)) chain = NULL;
    if (chain) array_push(arena, &chains->list, chain);
}

/* One more way, where it keeps something that is not kept anyhow. */
static void add_way(Arena *arena, const Library *library, const Ir *ir, bool *more,
                    const char *name, Chains *chains) {
    bool *kept = cuts_needed(arena, ir), any = false;
    Uncovered ignored;
    for (Value v = 1; v < ir->nodes.count; v++) {
        any |= more[v] && !kept[v];
        kept[v] |= more[v];
    }
    if (any) add_chain(arena, chains, try_cuts(arena, library, ir, kept, more, name, &ignored));
}

Chains fuse(Arena *arena, const Library *library, const Ir *ir, Uncovered *uncovered) {
    Chains chains = {0};
    bool *none = arena_array(arena, bool, ir->nodes.count);
    const Chain *first =
        try_cuts(arena, library, ir, cuts_needed(arena, ir), none, "fewest kernels", uncovered);
    if (!first) return chains;
    array_push(arena, &chains.list, first);
    add_way(arena, library, ir, cuts_barriers(arena, ir), "a kernel for each reduction", &chains);
    add_way(arena, library, ir, cuts_products(arena, ir), "each product by itself", &chains);
    add_way(arena, library, ir, cuts_broadcast(arena, ir), "work on small arrays apart", &chains);
    add_way(arena, library, ir, cuts_halves(arena, ir), "two kernels for a long one", &chains);
    return chains;
}
