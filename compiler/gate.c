/* A program in, its edge cases with data and expected results out; and a run's results judged. One
 * idea: what is expected is computed once, when the gate opens, so that judging a candidate is
 * comparing. */
#include "compiler/gate.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/gate_image.h"

/* --- expected results */

static void *copy_bytes(Arena *arena, const void *bytes, size_t size) {
    void *copy = arena_alloc(arena, size);
    if (size > 0) memcpy(copy, bytes, size);
    return copy;
}

static void open_expected(Arena *arena, Expected *whole, DType dtype, int64_t count) {
    size_t bytes = (size_t)count * dtype_info(dtype)->bytes;
    *whole = (Expected){.exact = true, .dtype = dtype};
    whole->lo = arena_alloc(arena, bytes);
    whole->hi = arena_alloc(arena, bytes);
    whole->may_nan = arena_alloc(arena, (size_t)count);
    whole->value = arena_alloc(arena, (size_t)count * sizeof(double));
}

/* Appends a block; blocks of an eval are reused, so it is copied. */
static void keep(Expected *whole, const Expected *block) {
    size_t bytes = dtype_info(block->dtype)->bytes, have = (size_t)whole->count,
           more = (size_t)block->count;
    memcpy((uint8_t *)whole->lo + have * bytes, block->lo, more * bytes);
    memcpy((uint8_t *)whole->hi + have * bytes, block->hi, more * bytes);
    memcpy(whole->may_nan + have, block->may_nan, more);
    memcpy(whole->value + have, block->value, more * sizeof(double));
    whole->count += block->count;
    whole->ambiguous += block->ambiguous;
    whole->exact = whole->exact && block->exact;
}

static void expect_output(Arena *arena, Eval *eval, const Edge *edge, uint32_t output) {
    const Type *type = &edge->ir->outputs.data[output].type;
    int64_t count = type_count(type);
    Expected *whole = &edge->expected[output];
    open_expected(arena, whole, type->dtype, count);
    for (int64_t at = 0; at < count; at += EVAL_BLOCK) {
        int64_t n = count - at < EVAL_BLOCK ? count - at : EVAL_BLOCK;
        keep(whole, eval_range(eval, 0, output, at, n));
    }
}

static bool expect(Arena *arena, const Gate *gate, const Edge *edge, Accuracy accuracy) {
    Eval *eval = eval_open(edge->ir, image_inputs(arena, edge, gate->image), accuracy, NULL);
    if (eval == NULL) return false;
    for (uint32_t i = 0; i < edge->ir->outputs.count; i++) expect_output(arena, eval, edge, i);
    eval_close(eval);
    return true;
}

/* More than one in a hundred elements unchecked: a narrower domain may say more. */
static int64_t count_unchecked(const Edge *edge) {
    Check check = check_none();
    int64_t excess = 0;
    for (uint32_t i = 0; i < edge->ir->outputs.count; i++) {
        check_block(&edge->expected[i], edge->expected[i].lo, 0, &check);
        excess = check.unchecked;
    }
    return excess * 100 > check.checked + check.unchecked ? excess : 0;
}

static bool open_edge(Arena *arena, Gate *gate, uint32_t index, const EdgeShapes *shapes,
                      uint64_t seed, Accuracy accuracy) {
    const Edge *edge = &gate->edges.data[index];
    int64_t least = INT64_MAX;
    int best = 0, domains = shapes->list.data[index].data == EDGE_RANDOM ? 3 : 1;
    for (int domain = 0; domain < domains && least > 0; domain++) {
        image_fill(gate, index, shapes, seed, domain);
        if (!expect(arena, gate, edge, accuracy)) return false;
        int64_t unchecked = count_unchecked(edge);
        if (unchecked < least) best = domain, least = unchecked;
    }
    if (least == 0 || domains == 1) return true;
    image_fill(gate, index, shapes, seed, best);
    return expect(arena, gate, edge, accuracy);
}

/* Edges are few and small: each on one thread. */
typedef struct Opening {
    Gate *gate;
    const EdgeShapes *shapes;
    Arena **arenas; /* per edge: an arena is one thread's */
    bool *ok;
    uint64_t seed;
    Accuracy accuracy;
} Opening;

static void open_part(void *context, int64_t part) {
    const Opening *opening = context;
    opening->ok[part] = open_edge(opening->arenas[part], opening->gate, (uint32_t)part,
                                  opening->shapes, opening->seed, opening->accuracy);
}

static void move_expected(Arena *arena, Expected *expected) {
    size_t count = (size_t)expected->count, bytes = count * dtype_info(expected->dtype)->bytes;
    expected->lo = copy_bytes(arena, expected->lo, bytes);
    expected->hi = copy_bytes(arena, expected->hi, bytes);
    expected->may_nan = copy_bytes(arena, expected->may_nan, count);
    expected->value = copy_bytes(arena, expected->value, count * sizeof(double));
}

static bool open_edges(Arena *arena, Opening *opening, Team *team) {
    uint32_t count = opening->gate->edges.count;
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) opening->arenas[i] = arena_open();
    if (team != NULL) team_run(team, count, open_part, opening);
    for (uint32_t i = 0; team == NULL && i < count; i++) open_part(opening, i);
    for (uint32_t i = 0; i < count; i++) {
        const Edge *edge = &opening->gate->edges.data[i];
        ok = ok && opening->ok[i];
        for (uint32_t k = 0; ok && k < edge->ir->outputs.count; k++)
            move_expected(arena, &edge->expected[k]);
        arena_close(opening->arenas[i]);
    }
    return ok;
}

Gate *gate_open(Arena *arena, const Ir *ir, uint64_t seed, Accuracy accuracy, Team *team) {
    Gate *gate = arena_new(arena, Gate);
    EdgeShapes shapes = edge_shapes(arena, ir);
    image_place(arena, gate, &shapes);
    gate->image = arena_alloc(arena, gate->size);
    memset(gate->image, GATE_GUARD_BYTE, gate->size);
    Opening opening = {.gate = gate, .shapes = &shapes, .seed = seed, .accuracy = accuracy};
    opening.arenas = arena_array(arena, Arena *, gate->edges.count);
    opening.ok = arena_array(arena, bool, gate->edges.count);
    if (!open_edges(arena, &opening, team)) return NULL;
    for (uint32_t i = 0; i < gate->edges.count; i++) image_poison(gate, i);
    return gate;
}

/* --- judging */

static void print_scalar(Text *out, DType type, const void *bytes, int64_t at) {
    Scalar value = dtype_load(type == DT_BOOL ? DT_U8 : type,
                              (const uint8_t *)bytes + at * (int64_t)dtype_info(type)->bytes);
    if (dtype_is_float(type) && value.real != value.real)
        text_add(out, "nan");
    else if (dtype_is_float(type))
        text_printf(out, "%.9g", value.real);
    else
        text_printf(out, "%lld", (long long)value.whole);
}

static const char *say_wrong(Arena *arena, const Edge *edge, uint32_t output, const uint8_t *dense,
                             int64_t at) {
    const Expected *expected = &edge->expected[output];
    size_t bytes = dtype_info(expected->dtype)->bytes, first = (size_t)at * bytes;
    bool exact =
        memcmp((uint8_t *)expected->lo + first, (uint8_t *)expected->hi + first, bytes) == 0;
    Text text = {0};
    text_printf(&text, "edge '%s': %s[%lld] is ", edge->label, edge->ir->outputs.data[output].name,
                (long long)at);
    print_scalar(&text, expected->dtype, dense, at);
    text_add(&text, ", expected ");
    print_scalar(&text, expected->dtype, expected->lo, at);
    if (!exact) {
        text_add(&text, " to ");
        print_scalar(&text, expected->dtype, expected->hi, at);
    }
    const char *message = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return message;
}

/* The elements that a kernel had to write, put back as they were: what differs still, nobody may
 * touch. */
static bool judge_strays(const Gate *gate, const uint8_t *image, Arena *arena, const char **why) {
    Arena *scratch = arena_open();
    uint8_t *rest = copy_bytes(scratch, image, gate->size);
    size_t at = 0;
    for (uint32_t e = 0; e < gate->edges.count; e++) {
        const Edge *edge = &gate->edges.data[e];
        for (uint32_t i = 0; i < edge->ir->outputs.count; i++) {
            uint8_t *dense =
                arena_alloc(scratch, (size_t)type_bytes(&edge->ir->outputs.data[i].type));
            image_gather(edge, gate->image, i, dense);
            image_scatter(edge, rest, i, dense);
        }
    }
    bool same = memcmp(rest, gate->image, gate->size) == 0;
    while (!same && rest[at] == gate->image[at]) at++;
    arena_close(scratch);
    if (!same) *why = image_place_name(gate, at, arena);
    return same;
}

static bool judge_output(const Edge *edge, const uint8_t *image, uint32_t output, Arena *arena,
                         Check *check, const char **why) {
    Arena *scratch = arena_open();
    Check one = check_none();
    uint8_t *dense = arena_alloc(scratch, (size_t)type_bytes(&edge->ir->outputs.data[output].type));
    image_gather(edge, image, output, dense);
    check_block(&edge->expected[output], dense, 0, &one);
    if (one.wrong > 0) *why = say_wrong(arena, edge, output, dense, one.first_wrong);
    check_merge(check, &one);
    arena_close(scratch);
    return one.wrong == 0;
}

bool gate_judge(const Gate *gate, const uint8_t *image, Arena *arena, Check *check,
                const char **why) {
    for (uint32_t e = 0; e < gate->edges.count; e++)
        for (uint32_t i = 0; i < gate->edges.data[e].ir->outputs.count; i++)
            if (!judge_output(&gate->edges.data[e], image, i, arena, check, why)) return false;
    return judge_strays(gate, image, arena, why);
}

/* --- self-test */

static bool run_chain(const Gate *gate, Arena *scratch, uint8_t *image) {
    for (uint32_t e = 0; e < gate->edges.count; e++) {
        const Edge *edge = &gate->edges.data[e];
        Eval *eval =
            eval_open(edge->ir, image_inputs(scratch, edge, gate->image), ACCURACY_C, NULL);
        if (eval == NULL) return false;
        for (uint32_t i = 0; i < edge->ir->outputs.count; i++) {
            const Type *type = &edge->ir->outputs.data[i].type;
            uint8_t *dense = arena_alloc(scratch, (size_t)type_bytes(type));
            eval_chain(eval, i, 0, type_count(type), dense);
            image_scatter(edge, image, i, dense);
        }
        eval_close(eval);
    }
    return true;
}

/* A stored value outside the interval of element `at`; false if every value is right. Candidates: a
 * bit of the exponent or sign, NaN, one off. */
static bool mutate(const Expected *expected, uint8_t *dense, int64_t at) {
    size_t bytes = dtype_info(expected->dtype)->bytes;
    uint8_t *element = dense + (size_t)at * bytes, before[8];
    memcpy(before, element, bytes);
    for (size_t bit = bytes * 8; bit-- > 0;) {
        Expected one = *expected;
        Check check = check_none();
        element[bit / 8] ^= (uint8_t)(1u << bit % 8);
        one.lo = (uint8_t *)expected->lo + (size_t)at * bytes;
        one.hi = (uint8_t *)expected->hi + (size_t)at * bytes;
        one.may_nan = expected->may_nan + at;
        one.value = expected->value + at;
        one.count = 1;
        check_block(&one, element, 0, &check);
        if (check.wrong > 0) return true;
        memcpy(element, before, bytes);
    }
    return false;
}

typedef enum Mutant { MUTANT_WHOLE, MUTANT_LAST, MUTANT_ONE, MUTANTS } Mutant;

/* Elements [first, last] of an output that the mutant tries to change, from the last on. */
static bool mutate_output(const Edge *edge, uint32_t output, uint8_t *image, Mutant mutant) {
    const Expected *expected = &edge->expected[output];
    Arena *scratch = arena_open();
    uint8_t *dense =
        arena_alloc(scratch, (size_t)expected->count * dtype_info(expected->dtype)->bytes);
    bool changed = false;
    image_gather(edge, image, output, dense);
    int64_t from = mutant == MUTANT_ONE ? (expected->count - 1) / 2 : expected->count - 1;
    if (expected->count == 0) from = -1;
    for (int64_t at = from; at >= 0 && (!changed || mutant == MUTANT_WHOLE); at--)
        changed |= mutate(expected, dense, at);
    image_scatter(edge, image, output, dense);
    arena_close(scratch);
    return changed;
}

/* The last edge whose output can be mutated. */
static bool make_mutant(const Gate *gate, uint8_t *image, Mutant mutant) {
    for (uint32_t e = gate->edges.count; e-- > 0;)
        for (uint32_t i = gate->edges.data[e].ir->outputs.count; i-- > 0;)
            if (mutate_output(&gate->edges.data[e], i, image, mutant)) return true;
    return false;
}

static bool refuses(const Gate *gate, const uint8_t *right, Arena *scratch, Mutant mutant) {
    uint8_t *image = copy_bytes(scratch, right, gate->size);
    Check check = check_none();
    const char *why = NULL;
    return !make_mutant(gate, image, mutant) || !gate_judge(gate, image, scratch, &check, &why);
}

bool gate_self_test(const Gate *gate, Arena *arena, const char **why) {
    static const char *const names[] = {"a wrong output", "a wrong last element",
                                        "one wrong element"};
    Arena *scratch = arena_open();
    uint8_t *image = copy_bytes(scratch, gate->image, gate->size);
    Check check = check_none();
    const char *reason = "out of memory";
    bool good =
        run_chain(gate, scratch, image) && gate_judge(gate, image, scratch, &check, &reason);
    if (!good) *why = arena_printf(arena, "reference failed: %s", reason);
    for (Mutant mutant = 0; good && mutant < MUTANTS; mutant++) {
        good = refuses(gate, image, scratch, mutant);
        if (!good) *why = arena_printf(arena, "%s was not refused", names[mutant]);
    }
    arena_close(scratch);
    return good;
}
