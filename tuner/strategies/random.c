/* In: a space and a seed. Out: the points it allows in random order, the default first. The one
 * idea: a shuffle that goes only as far as it is asked. */
#include "tuner/strategy.h"

struct Search {
    const Space *space;
    uint64_t *indices;
    uint32_t count, asked;
    uint64_t state;
};

/* splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static Search *random_open(Arena *arena, const SearchProblem *problem) {
    Search *search = arena_new(arena, Search);
    search->space = problem->space;
    search->count = strategy_points(arena, problem, &search->indices);
    search->state = problem->seed;
    return search;
}

static bool random_ask(Search *search, Point *point) {
    uint32_t at = search->asked, left = search->count - at;
    if (!left) return false;
    uint32_t chosen = at ? at + (uint32_t)(next(&search->state) % left) : 0;
    uint64_t index = search->indices[chosen];
    search->indices[chosen] = search->indices[at];
    search->asked++;
    *point = space_point(search->space, index);
    return true;
}

static void random_tell(Search *search, const Point *point, const Result *result) {
    (void)search, (void)point, (void)result;
}

static void random_close(Search *search) {
    (void)search;
}

const Strategy strategy_random = {
    .name = "random",
    .description = "allowed points in random order",
    .open = random_open,
    .ask = random_ask,
    .tell = random_tell,
    .close = random_close,
};
