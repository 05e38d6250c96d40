/* Every strategy of the table: it ends, asks no point twice, asks allowed points alone, the default
 * first, and the same ones again for the same seed. */
#include "tuner/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "grammar/parse.h"

enum { ASKED_MAX = 5000 };

typedef struct Asked {
    uint64_t index[ASKED_MAX];
    uint32_t count;
} Asked;

static int open_arena(void **state) {
    *state = arena_open();
    return 0;
}

static int close_arena(void **state) {
    arena_close(*state);
    return 0;
}

static void constrain(Space *space, const char *text, bool hard) {
    Diags diags = {.arena = space->arena};
    const Source *source = source_new(space->arena, "<expr>", text, strlen(text));
    const Ast *ast = parse_expression(space->arena, source, &diags);
    assert_non_null(ast);
    Constraint constraint = {ast, ast->statements.data[0].value, hard};
    array_push(space->arena, &space->constraints, constraint);
}

static void add_knob(Space *space, const char *key, uint32_t count, int64_t fallback) {
    int64_t values[SPACE_VALUES];
    for (uint32_t i = 0; i < count; i++) values[i] = 1 << i;
    assert_true(space_add_knob(space, key, values, count, fallback));
}

/* 4 * 8 * 6 points, of which some are legal and fewer sensible. */
static Space chain_space(Arena *arena) {
    Space space = {.arena = arena};
    add_knob(&space, "__VEC__", 4, 4);
    add_knob(&space, "__BLOCK__", 8, 64);
    add_knob(&space, "__UNROLL__", 6, 1);
    constrain(&space, "VEC * BLOCK <= 256", true);
    constrain(&space, "UNROLL <= VEC", false);
    return space;
}

static uint32_t count_allowed(const SearchProblem *problem) {
    uint64_t *indices;
    return space_allowed(problem->space, problem->bindings, problem->sensible,
                         problem->space->arena, UINT32_MAX, 0, &indices);
}

/* Asks up to three points before it tells what became of them. */
static Asked *search(Arena *arena, const Strategy *strategy, const SearchProblem *problem) {
    Asked *asked = arena_new(arena, Asked);
    Search *state = strategy->open(arena, problem);
    Point point[3];
    uint32_t open = 1;
    while (open > 0) {
        for (open = 0; open < 3 && strategy->ask(state, &point[open]); open++) {
            assert_true(asked->count < ASKED_MAX);
            asked->index[asked->count++] = space_index(problem->space, &point[open]);
        }
        for (uint32_t i = 0; i < open; i++) {
            Result result = {.outcome = i % 2 ? OUTCOME_CRASH : OUTCOME_OK,
                             .time = 1e-6 * (double)(i + 1)};
            strategy->tell(state, &point[i], &result);
        }
    }
    assert_false(strategy->ask(state, &point[0]));
    strategy->close(state);
    return asked;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void assert_sound(const Asked *asked, const SearchProblem *problem) {
    Point first;
    bool any = space_default(problem->space, problem->bindings, &first);
    assert_int_equal(asked->count > 0, any);
    if (any) assert_int_equal(asked->index[0], space_index(problem->space, &first));
    for (uint32_t i = 0; i < asked->count; i++) {
        Point point = space_point(problem->space, asked->index[i]);
        bool sensible = problem->sensible && i > 0; /* the default where nothing is */
        assert_true(space_allows(problem->space, &point, problem->bindings, sensible));
    }
    Asked sorted = *asked;
    qsort(sorted.index, sorted.count, sizeof *sorted.index, compare);
    for (uint32_t i = 1; i < sorted.count; i++) assert_true(sorted.index[i - 1] < sorted.index[i]);
}

/* The problem with every strategy, twice. `whole`: all allowed points must come. */
static void run_all(Arena *arena, SearchProblem problem, bool whole) {
    uint32_t allowed = count_allowed(&problem);
    for (const Strategy *const *s = strategy_table; *s; s++) {
        for (problem.seed = 0; problem.seed < 3; problem.seed++) {
            problem.budget = allowed;
            const Asked *asked = search(arena, *s, &problem), *again = search(arena, *s, &problem);
            assert_sound(asked, &problem);
            if (whole) assert_true(asked->count >= allowed && asked->count <= allowed + 1);
            assert_int_equal(asked->count, again->count);
            assert_memory_equal(asked->index, again->index, asked->count * sizeof *asked->index);
        }
    }
}

static void every_strategy_on_a_chain(void **state) {
    Space space = chain_space(*state);
    run_all(*state, (SearchProblem){.space = &space, .sensible = true}, true);
    run_all(*state, (SearchProblem){.space = &space}, true);
}

static void every_strategy_on_corner_cases(void **state) {
    Arena *arena = *state;
    Space none = {.arena = arena}; /* no knob: one point */
    run_all(arena, (SearchProblem){.space = &none, .sensible = true}, true);
    Space one = {.arena = arena};
    add_knob(&one, "__VEC__", 1, 1);
    run_all(arena, (SearchProblem){.space = &one, .sensible = true}, true);
    Space odd = chain_space(arena); /* the default is not legal, then only not sensible */
    constrain(&odd, "BLOCK != 64", true);
    run_all(arena, (SearchProblem){.space = &odd, .sensible = true}, true);
    Space shy = chain_space(arena);
    constrain(&shy, "BLOCK != 64", false);
    run_all(arena, (SearchProblem){.space = &shy, .sensible = true}, true);
    Space empty = chain_space(arena);
    constrain(&empty, "VEC > 100", true);
    run_all(arena, (SearchProblem){.space = &empty, .sensible = true}, true);
}

/* 32 bits of product of which the last knobs alone cut something off are sampled; a strategy must not
 * walk through all of it. */
static void every_strategy_on_a_large_space(void **state) {
    Space space = {.arena = *state};
    for (int i = 0; i < 8; i++) add_knob(&space, arena_printf(*state, "__K%d__", i), 16, 1);
    for (int i = 0; i < 3; i++)
        constrain(&space, arena_printf(*state, "K%d * K%d == 1", i + 4, i + 5), true);
    run_all(*state, (SearchProblem){.space = &space}, false);
}

static Asked *first_asked(Arena *arena, const char *name, const Space *space, uint64_t seed) {
    SearchProblem problem = {.space = space, .seed = seed};
    return search(arena, strategy_find(name), &problem);
}

static void random_depends_on_the_seed(void **state) {
    Space space = chain_space(*state);
    Asked *a = first_asked(*state, "random", &space, 1),
          *b = first_asked(*state, "random", &space, 2);
    assert_memory_not_equal(a->index, b->index, 16 * sizeof *a->index);
}

/* Of the first eighth, no two neighbours and all of the first knob's values. */
static void grid_covers_early(void **state) {
    Space space = chain_space(*state);
    Asked *asked = first_asked(*state, "grid", &space, 0);
    unsigned seen = 0;
    for (uint32_t i = 0; i < asked->count / 8; i++) {
        seen |= (unsigned)space_point(&space, asked->index[i]).value[0];
        if (i > 1) assert_true(llabs((int64_t)(asked->index[i] - asked->index[i - 1])) > 10);
    }
    assert_int_equal(seen, 1 | 2 | 4 | 8);
}

static void auto_is_grid_where_it_fits(void **state) {
    (void)state;
    assert_string_equal(strategy_auto(64, 64)->name, "grid");
    assert_string_equal(strategy_auto(65, 64)->name, "random");
    assert_null(strategy_find("simplex"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_strategy_on_a_chain, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(every_strategy_on_corner_cases, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(every_strategy_on_a_large_space, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(random_depends_on_the_seed, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(grid_covers_early, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(auto_is_grid_where_it_fits, open_arena, close_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
