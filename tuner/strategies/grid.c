/* In: a space. Out: every point it allows. The one idea: after the default, steps of the golden
 * ratio around the list, so that points far apart come early and the search may stop anywhere. */
#include "tuner/strategy.h"

struct Search {
    const Space *space;
    const uint64_t *indices;
    uint32_t count, asked, step;
};

static uint32_t divisor(uint32_t a, uint32_t b) {
    return b ? divisor(b, a % b) : a;
}

/* Near 0.618 of the length, without a common divisor with it: every place is met once. */
static uint32_t golden_step(uint32_t length) {
    uint32_t step = (uint32_t)((double)length * 0.6180339887) + 1;
    while (step > 1 && divisor(step, length) != 1) step--;
    return step;
}

static Search *grid_open(Arena *arena, const SearchProblem *problem) {
    Search *search = arena_new(arena, Search);
    uint64_t *indices;
    search->space = problem->space;
    search->count = strategy_points(arena, problem, &indices);
    search->indices = indices;
    search->step = search->count > 1 ? golden_step(search->count - 1) : 1;
    return search;
}

static bool grid_ask(Search *search, Point *point) {
    if (search->asked == search->count) return false;
    uint64_t place = 0;
    if (search->asked) place = 1 + (uint64_t)search->asked * search->step % (search->count - 1);
    *point = space_point(search->space, search->indices[place]);
    search->asked++;
    return true;
}

static void grid_tell(Search *search, const Point *point, const Result *result) {
    (void)search, (void)point, (void)result;
}

static void grid_close(Search *search) {
    (void)search;
}

const Strategy strategy_grid = {
    .name = "grid",
    .description = "every allowed point, far apart ones early",
    .open = grid_open,
    .ask = grid_ask,
    .tell = grid_tell,
    .close = grid_close,
};
