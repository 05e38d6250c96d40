/* Primitives: the table of primitives.def, and the names a function may be called by. */
#include "registry/registry.h"

#include <string.h>

static const PrimitiveInfo infos[PRIMITIVE_COUNT] = {
#define PRIMITIVE(id, name, arity, class, ...) [P_##id] = {name, arity, CLASS_##class, __VA_ARGS__},
#include "registry/primitives.def"
#undef PRIMITIVE
};

const PrimitiveInfo *primitive_info(Primitive primitive) {
    return &infos[primitive];
}

/* CUDA's f32 spelling is C's: expf, rintf. */
static bool is_called(const PrimitiveInfo *info, const char *name) {
    return info->class != CLASS_OPERATOR &&
           (!strcmp(info->name, name) || !strcmp(info->c, name) || !strcmp(info->cuda_f32, name));
}

bool primitive_find(const char *name, Primitive *primitive) {
    for (int i = 0; i < PRIMITIVE_COUNT; i++) {
        if (!is_called(&infos[i], name)) continue;
        *primitive = (Primitive)i;
        return true;
    }
    return false;
}
