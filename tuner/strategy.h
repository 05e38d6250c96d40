/* Strategy: which point next. A pure state machine behind ask/tell; it never calls a device. A file
 * in strategies/ that defines `const Strategy strategy_NAME` is registered by being there. */
#ifndef KF_STRATEGY_H
#define KF_STRATEGY_H

#include "tuner/result.h"
#include "registry/space.h"

typedef struct Search Search; /* a strategy's own state */

typedef struct SearchProblem {
    const Space *space;
    Bindings bindings;
    bool sensible; /* prefer holds too */
    uint64_t seed;
    uint32_t budget; /* points it will be asked for at most */
} SearchProblem;

typedef struct Strategy {
    const char *name, *description;
    Search *(*open)(Arena *arena, const SearchProblem *problem);
    /* Next point not asked before; false when it has no more. May be asked several times before a
     * tell. */
    bool (*ask)(Search *search, Point *point);
    void (*tell)(Search *search, const Point *point, const Result *result);
    void (*close)(Search *search);
} Strategy;

/* For strategies: indices of the points a problem allows, the analytic default first (it is always in
 * the race), the others ascending. */
uint32_t strategy_points(Arena *arena, const SearchProblem *problem, uint64_t **indices);

extern const Strategy *const strategy_table[];
const Strategy *strategy_find(const char *name);
/* "auto": grid where the sensible space fits the budget, else random. */
const Strategy *strategy_auto(uint64_t allowed, uint32_t budget);

#endif
