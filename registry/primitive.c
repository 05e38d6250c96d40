/* Primitives: the tables of primitives.def and near.def, and the names a function may be called by. */
#include "registry/registry.h"

#include <string.h>

static const PrimitiveInfo infos[NEAR_BEHIND] = {
#define PRIMITIVE(id, name, arity, class, ...) [P_##id] = {name, arity, CLASS_##class, __VA_ARGS__},
#include "registry/primitives.def"
#undef PRIMITIVE
#define NEAR(id, plain, name, arity, cuda_f32, ulp) \
    [P_##id] = {name, arity, CLASS_NEAR, cuda_f32, NULL, NULL, ulp, ulp, ulp, ulp},
#include "registry/near.def"
#undef NEAR
};

static const Primitive plains[NEAR_BEHIND] = {
#define NEAR(id, plain, ...) [P_##id] = P_##plain,
#include "registry/near.def"
#undef NEAR
};

const PrimitiveInfo *primitive_info(Primitive primitive) {
    return &infos[primitive];
}

Primitive primitive_plain(Primitive primitive) {
    return infos[primitive].class == CLASS_NEAR ? plains[primitive] : primitive;
}

Primitive primitive_near(Primitive primitive, Primitive form) {
    uint32_t next = form ? (uint32_t)form + 1 : NEAR_BEFORE + 1;
    while (next < NEAR_BEHIND && plains[next] != primitive) next++;
    return next < NEAR_BEHIND ? (Primitive)next : (Primitive)0;
}

bool primitive_errs(Primitive primitive) {
    return infos[primitive].class == CLASS_FUNCTION || infos[primitive].class == CLASS_NEAR;
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
