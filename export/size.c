/* In: a program, a kernel's names at its shape. Out: each size as a product of axes' extents. */
#include "export/size.h"

#include <inttypes.h>
#include <string.h>

#include "compiler/plan.h"

static const int64_t primes[2][EXPORT_AXES] = {
    {11, 13, 17, 19, 23, 29, 31, 37, 41, 43},
    {47, 31, 43, 11, 37, 13, 41, 19, 29, 23},
};

typedef struct Extents {
    const int64_t *given; /* NULL: the old ones are only looked at */
    int64_t old[EXPORT_AXES];
    uint32_t count;
} Extents;

static int64_t extent(void *context, uint32_t axis, int64_t old) {
    Extents *extents = context;
    if (axis >= extents->count) extents->count = axis + 1;
    if (axis >= EXPORT_AXES) return old;
    extents->old[axis] = old;
    return extents->given ? extents->given[axis] : old;
}

const Ir *size_reshape(Arena *arena, const Ir *ir, const int64_t *extents) {
    Extents given = {.given = extents};
    return gate_reshape(arena, ir, extent, &given);
}

/* --- axes */

bool size_is_packed(const Type *type, const int64_t *strides) {
    int64_t packed = 1;
    for (uint32_t i = type->rank; i-- > 0; packed *= type->dim[i])
        if (type->dim[i] != 1 && strides[i] != packed) return false;
    return true;
}

static bool all_packed(const Ir *ir) {
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        if (!size_is_packed(&ir->inputs.data[i].type, ir->inputs.data[i].strides)) return false;
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        if (!size_is_packed(&ir->outputs.data[o].type, ir->outputs.data[o].strides)) return false;
    return true;
}

/* Whether the inputs alone say how long an axis is. */
static bool is_said(const Axes *axes, uint32_t axis) {
    const Ir *probe = axes->probe[0];
    for (uint32_t i = 0; i < probe->inputs.count; i++)
        for (uint32_t d = 0; d < probe->inputs.data[i].type.rank; d++)
            if (size_axis(axes, probe->inputs.data[i].type.dim[d]) == (int)axis) return true;
    return false;
}

/* A kernel takes such a number as it is at the program's own shape. */
static bool counts_elements(const Ir *ir) {
    for (uint32_t i = 0; i < ir->params.count; i++)
        if (ir->params.data[i].counts) return true;
    return false;
}

Axes size_axes(Arena *arena, const Ir *ir) {
    Axes axes = {0};
    Extents found = {0};
    gate_reshape(arena, ir, extent, &found);
    if (found.count > EXPORT_AXES || !all_packed(ir) || counts_elements(ir)) return (Axes){0};
    axes.count = found.count;
    memcpy(axes.extent, found.old, sizeof axes.extent);
    for (int i = 0; i < 2; i++) axes.probe[i] = size_reshape(arena, ir, primes[i]);
    for (uint32_t i = 0; i < axes.count; i++)
        if (axes.extent[i] != 1 && !is_said(&axes, i)) return (Axes){0};
    return axes;
}

int size_axis(const Axes *axes, int64_t value) {
    for (uint32_t i = 0; i < axes->count; i++)
        if (primes[0][i] == value) return (int)i;
    return -1;
}

/* --- one size */

static int64_t size_value(const ExportSize *size, const int64_t *extents) {
    int64_t value = size->factor;
    for (uint32_t i = 0; i < EXPORT_AXES; i++)
        for (uint8_t p = 0; p < size->power[i]; p++) value *= extents[i];
    return value;
}

bool size_of(const Axes *axes, int64_t first, int64_t second, int64_t here, ExportSize *size) {
    for (uint32_t i = 0; i < axes->count && first != 0; i++)
        for (; first % primes[0][i] == 0; first /= primes[0][i]) size->power[i]++;
    size->factor = first;
    return size_value(size, primes[1]) == second && size_value(size, axes->extent) == here;
}

bool size_is_constant(const ExportSize *size) {
    for (uint32_t i = 0; i < EXPORT_AXES; i++)
        if (size->power[i]) return false;
    return !size->inverse;
}

void size_print(Text *out, const ExportSize *size) {
    const char *times = "";
    if (size->inverse) {
        text_printf(out, "divisor(%s)", size->inverse);
        return;
    }
    if (size->factor != 1 || size_is_constant(size)) {
        text_printf(out, "%" PRId64, size->factor);
        times = " * ";
    }
    for (uint32_t i = 0; i < EXPORT_AXES; i++)
        for (uint8_t p = 0; p < size->power[i]; p++, times = " * ")
            text_printf(out, "%sd[%u]", times, i);
}

/* --- all of a kernel's */

/* "kf_cols_div" divides by "kf_cols"; NULL where the name is none such, or a hand-written kernel's. */
static const char *divided(const Bindings *sizes, const char *name) {
    size_t length = strlen(name);
    if (strncmp(name, "kf_", 3) != 0 || strcmp(name + length - 4, "_div") != 0) return NULL;
    for (uint32_t i = 0; i < sizes->count; i++)
        if (strlen(sizes->list[i].name) == length - 4 &&
            memcmp(sizes->list[i].name, name, length - 4) == 0)
            return sizes->list[i].name;
    return NULL;
}

static bool same_scalars(const Bound *a, const Bound *b) {
    if (a->scalars.count != b->scalars.count) return false;
    for (uint32_t i = 0; i < a->scalars.count; i++)
        if (a->scalars.data[i].value.whole != b->scalars.data[i].value.whole) return false;
    return true;
}

const ExportSize *size_fixed(Arena *arena, const Bound *bound) {
    ExportSize *sizes = arena_array(arena, ExportSize, bound->sizes.count + 1);
    for (uint32_t i = 0; i < bound->sizes.count; i++)
        sizes[i] =
            (ExportSize){.name = bound->sizes.list[i].name, .factor = bound->sizes.list[i].value};
    return sizes;
}

const ExportSize *size_find(Arena *arena, const Axes *axes, uint32_t step, const Kernel *kernel,
                            const Bound *bound) {
    const Bound *probe[2];
    if (axes->count == 0) return NULL;
    for (int i = 0; i < 2; i++) {
        probe[i] = kernel_bound(arena, kernel, axes->chain[i]->steps.data[step].ir);
        if (!probe[i] || probe[i]->sizes.count != bound->sizes.count ||
            !same_scalars(probe[i], bound))
            return NULL;
    }
    ExportSize *sizes = arena_array(arena, ExportSize, bound->sizes.count + 1);
    for (uint32_t i = 0; i < bound->sizes.count; i++) {
        sizes[i] = (ExportSize){.name = bound->sizes.list[i].name,
                                .inverse = divided(&bound->sizes, bound->sizes.list[i].name)};
        if (!sizes[i].inverse &&
            !size_of(axes, probe[0]->sizes.list[i].value, probe[1]->sizes.list[i].value,
                     bound->sizes.list[i].value, &sizes[i]))
            return NULL;
    }
    return sizes;
}
