/* Operations on values in, what is sure about their shapes out. One idea: sets of atoms, so that
 * broadcasting is union, and a reduced shape adds nothing beside the one it comes from. */
#include "compiler/shapes.h"

#include <string.h>

/* Atoms nested deeper are atoms that nothing is known about; looking into them recurses. */
enum { ATOM_DEPTH = 32 };

void shapes_open(Shapes *shapes, Arena *arena) {
    *shapes = (Shapes){.arena = arena};
    array_push(arena, &shapes->atoms, (Atom){0});
    array_push(arena, &shapes->sets, (AtomSet){0});
}

/* --- Sets */

static uint64_t hash_set(const uint32_t *list, uint32_t count) {
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) hash = table_mix(hash, list[i]);
    return hash;
}

static Shape intern_set(Shapes *shapes, const uint32_t *list, uint32_t count) {
    uint64_t hash = hash_set(list, count);
    uint32_t found;
    if (count == 0) return 0;
    for (uint32_t at = 0; (found = table_next(&shapes->known_sets, hash, &at)) != 0;) {
        const AtomSet *set = &shapes->sets.data[found];
        if (set->count == count &&
            memcmp(shapes->list.data + set->first, list, count * sizeof *list) == 0)
            return found;
    }
    table_add(shapes->arena, &shapes->known_sets, hash, shapes->sets.count);
    array_push(shapes->arena, &shapes->sets, (AtomSet){shapes->list.count, count});
    for (uint32_t i = 0; i < count; i++) array_push(shapes->arena, &shapes->list, list[i]);
    return shapes->sets.count - 1;
}

static bool has(const uint32_t *list, uint32_t count, uint32_t atom) {
    uint32_t low = 0, end = count;
    while (low < end) {
        uint32_t half = low + (end - low) / 2;
        if (list[half] < atom)
            low = half + 1;
        else
            end = half;
    }
    return low < count && list[low] == atom;
}

static bool list_covers(const Shapes *shapes, const uint32_t *list, uint32_t count, uint32_t atom);

/* Whether the atom is a reduced one of what the list covers. */
static bool adds_nothing(const Shapes *shapes, const uint32_t *list, uint32_t count,
                         uint32_t atom) {
    const Atom *a = &shapes->atoms.data[atom];
    const AtomSet *of = &shapes->sets.data[a->of];
    if (a->kind != ATOM_REDUCED) return false;
    for (uint32_t i = 0; i < of->count; i++)
        if (!list_covers(shapes, list, count, shapes->list.data[of->first + i])) return false;
    return true;
}

static bool list_covers(const Shapes *shapes, const uint32_t *list, uint32_t count, uint32_t atom) {
    return has(list, count, atom) || adds_nothing(shapes, list, count, atom);
}

bool shapes_cover(const Shapes *shapes, Shape a, Shape b) {
    const AtomSet *left = &shapes->sets.data[a], *right = &shapes->sets.data[b];
    if (a == b) return true;
    for (uint32_t i = 0; i < right->count; i++)
        if (!list_covers(shapes, shapes->list.data + left->first, left->count,
                         shapes->list.data[right->first + i]))
            return false;
    return true;
}

/* Both lists ascend; so does `list`. */
static uint32_t merge(const Shapes *shapes, const AtomSet *a, const AtomSet *b, uint32_t *list) {
    const uint32_t *left = shapes->list.data + a->first, *right = shapes->list.data + b->first;
    uint32_t i = 0, k = 0, count = 0;
    while (i < a->count || k < b->count) {
        bool both = i < a->count && k < b->count && left[i] == right[k];
        if (k == b->count || (i < a->count && left[i] <= right[k]))
            list[count++] = left[i++];
        else
            list[count++] = right[k++];
        k += both;
    }
    return count;
}

Shape shapes_join(Shapes *shapes, Shape a, Shape b) {
    const AtomSet left = shapes->sets.data[a], right = shapes->sets.data[b];
    if (shapes_cover(shapes, a, b)) return a;
    if (shapes_cover(shapes, b, a)) return b;
    uint32_t *list = arena_array(shapes->arena, uint32_t, left.count + right.count);
    uint32_t count = merge(shapes, &left, &right, list), kept = 0;
    uint32_t *needed = arena_array(shapes->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        if (!adds_nothing(shapes, list, count, list[i])) needed[kept++] = list[i];
    return intern_set(shapes, needed, kept);
}

const Atom *shapes_only(const Shapes *shapes, Shape shape) {
    const AtomSet *set = &shapes->sets.data[shape];
    return set->count == 1 ? &shapes->atoms.data[shapes->list.data[set->first]] : NULL;
}

/* --- Atoms */

static uint32_t depth_of(const Shapes *shapes, Shape shape) {
    const AtomSet *set = &shapes->sets.data[shape];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t own = shapes->atoms.data[shapes->list.data[set->first + i]].depth;
        if (own > depth) depth = own;
    }
    return depth;
}

static bool same_atom(const Atom *a, const Atom *b) {
    return a->kind == b->kind && a->of == b->of && a->with == b->with && a->axis == b->axis &&
           (a->kind != ATOM_INPUT || a->term == b->term);
}

static Shape add_atom(Shapes *shapes, Atom atom) {
    atom.depth = depth_of(shapes, atom.of) + 1;
    if (atom.kind == ATOM_PRODUCT && atom.depth <= depth_of(shapes, atom.with))
        atom.depth = depth_of(shapes, atom.with) + 1;
    if (atom.depth > ATOM_DEPTH) atom = (Atom){.kind = ATOM_INPUT, .term = atom.term, .depth = 1};
    uint64_t hash = table_mix(table_mix(atom.kind, atom.of), (uint64_t)(uint32_t)atom.axis);
    hash = table_mix(hash, atom.kind == ATOM_INPUT ? atom.term : atom.with);
    uint32_t found;
    for (uint32_t at = 0; (found = table_next(&shapes->known_atoms, hash, &at)) != 0;)
        if (same_atom(&shapes->atoms.data[found], &atom)) return intern_set(shapes, &found, 1);
    found = shapes->atoms.count;
    table_add(shapes->arena, &shapes->known_atoms, hash, found);
    array_push(shapes->arena, &shapes->atoms, atom);
    return intern_set(shapes, &found, 1);
}

Shape shapes_input(Shapes *shapes, uint32_t term) {
    return add_atom(shapes, (Atom){.kind = ATOM_INPUT, .term = term});
}

Shape shapes_reduced(Shapes *shapes, Shape of, int32_t axis, uint32_t term) {
    const Atom *only = shapes_only(shapes, of);
    if (only != NULL && only->kind == ATOM_REDUCED && only->axis == axis) return of;
    return add_atom(shapes, (Atom){.kind = ATOM_REDUCED, .of = of, .axis = axis, .term = term});
}

Shape shapes_transposed(Shapes *shapes, Shape of, uint32_t term) {
    const Atom *only = shapes_only(shapes, of);
    if (only != NULL && only->kind == ATOM_TRANSPOSED) return only->of;
    return add_atom(shapes, (Atom){.kind = ATOM_TRANSPOSED, .of = of, .term = term});
}

Shape shapes_product(Shapes *shapes, Shape a, Shape b, uint32_t term) {
    return add_atom(shapes, (Atom){.kind = ATOM_PRODUCT, .of = a, .with = b, .term = term});
}
