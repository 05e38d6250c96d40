/* In: a name, or how many points there are and may be tried. Out: the strategy; and what strategies
 * share. */
#include "tuner/strategy.h"

#include <string.h>

/* More points than any budget asks for; a larger product is sampled. */
enum { POINTS_MAX = 1 << 20 };

uint32_t strategy_points(Arena *arena, const SearchProblem *problem, uint64_t **indices) {
    const Space *space = problem->space;
    uint64_t *allowed;
    uint32_t count = space_allowed(space, problem->bindings, problem->sensible, arena, POINTS_MAX,
                                   problem->seed, &allowed);
    uint64_t *list = arena_array(arena, uint64_t, (size_t)count + 1);
    uint32_t used = 0;
    Point first;
    if (!space_default(space, problem->bindings, &first)) return *indices = list, 0;
    list[used++] = space_index(space, &first);
    for (uint32_t i = 0; i < count; i++)
        if (allowed[i] != list[0]) list[used++] = allowed[i];
    *indices = list;
    return used;
}

const Strategy *strategy_find(const char *name) {
    for (const Strategy *const *s = strategy_table; *s; s++)
        if (strcmp((*s)->name, name) == 0) return *s;
    return NULL;
}

const Strategy *strategy_auto(uint64_t allowed, uint32_t budget) {
    return strategy_find(allowed <= budget ? "grid" : "random");
}
