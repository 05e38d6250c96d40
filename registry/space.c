/* In: knobs and constraints. Out: points, by index, by text, those that are allowed. The one idea:
 * a point is a number whose digits are the positions of its values, and exists as an index only
 * while one binary runs. */
#include "registry/space.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Knobs */

static uint32_t find_value(const Knob *knob, int64_t value) {
    uint32_t i = 0;
    while (i < knob->count && knob->values[i] != value) i++;
    return i;
}

static uint32_t find_knob(const Space *space, const char *name) {
    uint32_t i = 0;
    while (i < space->knob_count && strcmp(space->knobs[i].key, name) &&
           strcmp(space->knobs[i].label, name))
        i++;
    return i;
}

/* "__VEC__" is shown as "VEC". */
static const char *label_of(Arena *arena, const char *key) {
    size_t length = strlen(key);
    while (length && key[length - 1] == '_') length--;
    while (length && *key == '_') key++, length--;
    return arena_copy(arena, key, length);
}

bool space_add_knob(Space *space, const char *key, const int64_t *values, uint32_t count,
                    int64_t fallback) {
    if (space->knob_count == SPACE_KNOBS || count > SPACE_VALUES) return false;
    Knob knob = {.key = arena_copy(space->arena, key, strlen(key)),
                 .label = label_of(space->arena, key),
                 .fallback = fallback};
    for (; knob.count < count; knob.count++) {
        if (find_value(&knob, values[knob.count]) < knob.count) return false;
        knob.values[knob.count] = values[knob.count];
    }
    if (find_value(&knob, fallback) == count || !*knob.label) return false;
    if (find_knob(space, knob.key) < space->knob_count) return false;
    if (find_knob(space, knob.label) < space->knob_count) return false;
    space->knobs[space->knob_count++] = knob;
    return true;
}

/* --- Indices */

uint64_t space_size(const Space *space) {
    uint64_t size = 1;
    for (uint32_t i = 0; i < space->knob_count; i++)
        if (__builtin_mul_overflow(size, space->knobs[i].count, &size)) return UINT64_MAX;
    return size;
}

Point space_point(const Space *space, uint64_t index) {
    Point point = {{0}};
    for (uint32_t i = space->knob_count; i-- > 0;) {
        const Knob *knob = &space->knobs[i];
        point.value[i] = knob->values[index % knob->count];
        index /= knob->count;
    }
    return point;
}

uint64_t space_index(const Space *space, const Point *point) {
    uint64_t index = 0;
    for (uint32_t i = 0; i < space->knob_count; i++) {
        const Knob *knob = &space->knobs[i];
        index = index * knob->count + find_value(knob, point->value[i]);
    }
    return index;
}

Point space_fallback(const Space *space) {
    Point point = {{0}};
    for (uint32_t i = 0; i < space->knob_count; i++) point.value[i] = space->knobs[i].fallback;
    return point;
}

/* --- Allowed points */

static bool holds(const Space *space, const Constraint *constraint, const Point *point,
                  Bindings bindings) {
    int64_t value;
    const char *why;
    return space_eval(space, point, bindings, constraint->ast, constraint->value, &value, &why) &&
           value != 0;
}

bool space_allows(const Space *space, const Point *point, Bindings bindings, bool sensible) {
    for (uint32_t i = 0; i < space->constraints.count; i++) {
        const Constraint *constraint = &space->constraints.data[i];
        if ((constraint->hard || sensible) && !holds(space, constraint, point, bindings))
            return false;
    }
    return true;
}

/* SplitMix64: a counter's bits, well mixed. */
static uint64_t mix(uint64_t seed, uint64_t counter) {
    uint64_t x = seed + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* One of [0, size) from the p-th of `parts` equal parts; all of them in order where parts = size.
 */
static uint64_t pick(uint64_t part, uint64_t parts, uint64_t size, uint64_t seed) {
    uint64_t width = size / parts, rest = size % parts;
    uint64_t begin = part * width + (part < rest ? part : rest);
    return begin + mix(seed, part) % (width + (part < rest));
}

typedef struct Found {
    ARRAY(uint64_t) list;
} Found;

/* A walk over knob after knob: a constraint cuts the walk off at the last knob that it reads. */
typedef struct Walk {
    const Space *space;
    Bindings bindings;
    Arena *arena;
    uint32_t last[SPACE_CONSTRAINTS]; /* per constraint; SPACE_KNOBS: left out */
    Point point;
    uint32_t probes; /* values looked at */
    Found found;
} Walk;

/* The last knob that a constraint reads; the first, if none. */
static uint32_t last_knob(const Space *space, const Constraint *constraint) {
    uint32_t last = 0;
    for (Node node = 1; node <= constraint->value; node++) {
        const AstNode *n = &constraint->ast->nodes.data[node];
        uint32_t knob = n->kind == AST_NAME ? find_knob(space, n->name) : 0;
        if (knob < space->knob_count && knob > last) last = knob;
    }
    return last;
}

static bool may_go_on(const Walk *w, uint32_t knob) {
    for (uint32_t i = 0; i < w->space->constraints.count; i++)
        if (w->last[i] == knob &&
            !holds(w->space, &w->space->constraints.data[i], &w->point, w->bindings))
            return false;
    return true;
}

static void walk(Walk *w, uint32_t knob, uint64_t index) {
    if (knob == w->space->knob_count) {
        array_push(w->arena, &w->found.list, index);
        return;
    }
    const Knob *k = &w->space->knobs[knob];
    for (uint32_t v = 0; v < k->count && w->probes <= SPACE_PROBES; v++) {
        w->point.value[knob] = k->values[v];
        w->probes++;
        if (may_go_on(w, knob)) walk(w, knob + 1, index * k->count + v);
    }
}

/* False where that is more than SPACE_PROBES. */
static bool walk_all(const Space *space, Bindings bindings, bool sensible, Arena *arena,
                     Found *found) {
    Walk w = {.space = space, .bindings = bindings, .arena = arena};
    for (uint32_t i = 0; i < space->constraints.count; i++) {
        const Constraint *constraint = &space->constraints.data[i];
        w.last[i] =
            constraint->hard || sensible ? last_knob(space, constraint) : (uint32_t)SPACE_KNOBS;
    }
    if (space->knob_count > 0 || space_allows(space, &w.point, bindings, sensible)) walk(&w, 0, 0);
    *found = w.found;
    return w.probes <= SPACE_PROBES;
}

static Found sample_all(const Space *space, Bindings bindings, bool sensible, Arena *arena,
                        uint64_t seed) {
    Found found = {0};
    for (uint64_t i = 0; i < SPACE_PROBES; i++) {
        uint64_t index = pick(i, SPACE_PROBES, space_size(space), seed);
        Point point = space_point(space, index);
        if (space_allows(space, &point, bindings, sensible)) array_push(arena, &found.list, index);
    }
    return found;
}

uint32_t space_allowed(const Space *space, Bindings bindings, bool sensible, Arena *arena,
                       uint32_t limit, uint64_t seed, uint64_t **indices) {
    Found found;
    if (space_size(space) == UINT64_MAX || space->constraints.count > SPACE_CONSTRAINTS ||
        !walk_all(space, bindings, sensible, arena, &found))
        found = sample_all(space, bindings, sensible, arena, seed);
    uint32_t count = found.list.count < limit ? found.list.count : limit;
    for (uint32_t i = 0; i < count; i++)
        found.list.data[i] = found.list.data[pick(i, count, found.list.count, seed)];
    *indices = found.list.data;
    return count;
}

/* Octaves between two points; of values around 0, units. */
static double distance(const Space *space, const Point *a, const Point *b) {
    double sum = 0;
    for (uint32_t i = 0; i < space->knob_count; i++) {
        double x = (double)a->value[i], y = (double)b->value[i];
        sum += x > 0 && y > 0 ? fabs(log2(x / y)) : fabs(x - y);
    }
    return sum;
}

static bool nearest(const Space *space, Bindings bindings, bool sensible, Point *point) {
    Point fallback = space_fallback(space);
    uint64_t *indices;
    double least = INFINITY;
    if (space_allows(space, &fallback, bindings, sensible)) return *point = fallback, true;
    Arena *arena = arena_open();
    uint32_t count = space_allowed(space, bindings, sensible, arena, UINT32_MAX, 0, &indices);
    for (uint32_t i = 0; i < count; i++) {
        Point other = space_point(space, indices[i]);
        double d = distance(space, &other, &fallback);
        if (d < least) least = d, *point = other;
    }
    arena_close(arena);
    return count > 0;
}

bool space_default(const Space *space, Bindings bindings, Point *point) {
    return nearest(space, bindings, true, point) || nearest(space, bindings, false, point);
}

/* --- Points as text */

void point_print(Text *out, const Space *space, const Point *point, const char *separator) {
    size_t begin = out->length;
    for (uint32_t i = 0; i < space->knob_count; i++)
        if (!space->knobs[i].fact)
            text_printf(out, "%s%s=%lld", out->length > begin ? separator : "",
                        space->knobs[i].label, (long long)point->value[i]);
}

static const char *complain_of_knob(const Space *space, const char *name, Arena *arena) {
    const char *text = arena_printf(arena, "no knob is called '%s'; the knobs are", name);
    for (uint32_t i = 0; i < space->knob_count; i++)
        text = arena_printf(arena, "%s %s", text, space->knobs[i].label);
    return text;
}

static const char *complain_of_value(const Knob *knob, const char *value, Arena *arena) {
    const char *text = arena_printf(arena, "%s cannot be '%s'; its values are", knob->label, value);
    for (uint32_t i = 0; i < knob->count; i++)
        text = arena_printf(arena, "%s %lld", text, (long long)knob->values[i]);
    return text;
}

static bool read_value(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return *text && !isspace((unsigned char)*text) && !*end && !errno;
}

/* One "VEC=4". NULL if it was set, else what is wrong. */
static const char *set_knob(const Space *space, char *word, Arena *arena, Point *point,
                            bool *given) {
    char *value = strchr(word, '=');
    if (value) *value++ = 0;
    uint32_t i = find_knob(space, word);
    if (i == space->knob_count) return complain_of_knob(space, word, arena);
    if (given[i]) return arena_printf(arena, "%s is given twice", space->knobs[i].label);
    if (!value || !read_value(value, &point->value[i]) ||
        find_value(&space->knobs[i], point->value[i]) == space->knobs[i].count)
        return complain_of_value(&space->knobs[i], value ? value : "", arena);
    given[i] = true;
    return NULL;
}

bool point_parse(const Space *space, const char *text, const Point *base, Arena *arena,
                 Point *point, const char **why) {
    bool given[SPACE_KNOBS] = {false};
    char *rest, *words = arena_copy(arena, text, strlen(text));
    *point = *base;
    *why = NULL;
    for (char *word = strtok_r(words, ", ", &rest); word && !*why;
         word = strtok_r(NULL, ", ", &rest))
        *why = set_knob(space, word, arena, point, given);
    return !*why;
}
