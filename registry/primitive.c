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

/* By C's name or its form for f32: exp, expf, rintf. */
static bool is_called(const PrimitiveInfo *info, const char *name) {
    size_t length = strlen(info->c);
    bool of_c = !strncmp(info->c, name, length) && (!name[length] || !strcmp(name + length, "f"));
    return info->class != CLASS_OPERATOR && (of_c || !strcmp(info->name, name));
}

bool primitive_find(const char *name, Primitive *primitive) {
    for (int i = 0; i < PRIMITIVE_COUNT; i++) {
        if (!is_called(&infos[i], name)) continue;
        *primitive = (Primitive)i;
        return true;
    }
    return false;
}
