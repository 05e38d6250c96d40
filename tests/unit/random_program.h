/* Programs at random: statements over a few inputs of shapes that go together, of every kind of
 * operation. The same for the same seed. Not all are programs of the language: types are not looked
 * at, nor what updates in place. */
#ifndef TEST_RANDOM_PROGRAM_H
#define TEST_RANDOM_PROGRAM_H

#include <stdlib.h>
#include <string.h>

#include "compiler/lower.h"

typedef struct RandomProgram {
    const char *text;
    const char *shapes; /* as the command line has them */
    LowerOptions options;
} RandomProgram;

enum { RANDOM_INPUTS = 4, RANDOM_VALUES = 20 };

typedef struct RandomValue {
    const char *name;
    Type type; /* its shape */
    bool read; /* by a later statement */
} RandomValue;

typedef struct RandomMaker {
    Arena *arena;
    uint64_t state;
    Text out;
    RandomValue values[RANDOM_VALUES];
    uint32_t count, inputs, returned;
} RandomMaker;

static inline uint32_t random_below(RandomMaker *m, uint32_t limit) {
    uint64_t z = m->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) >> 32) % limit;
}

static inline bool random_one_in(RandomMaker *m, uint32_t n) {
    return random_below(m, n) == 0;
}

/* --- inputs */

/* One space of extents, of which inputs have some: missing in front, or 1. */
static inline void random_inputs(RandomMaker *m, RandomProgram *program) {
    static const int64_t extents[] = {1, 2, 3, 5, 8, 5, 3, 2, 0};
    static const DType types[] = {DT_F32, DT_F32, DT_F32,  DT_F32, DT_F16, DT_BF16,
                                  DT_F64, DT_I32, DT_BOOL, DT_I8,  DT_U8,  DT_I64};
    static const char *const names[] = {"x", "y", "w", "max"};
    InputSpec *specs = arena_array(m->arena, InputSpec, RANDOM_INPUTS);
    Type space = {.rank = random_below(m, 5)};
    bool square = random_one_in(m, 4), mixed = random_one_in(m, 2);
    for (uint32_t i = 0; i < space.rank; i++)
        space.dim[i] = extents[random_below(m, 8 + random_one_in(m, 12))];
    if (square && space.rank > 1) space.dim[space.rank - 2] = space.dim[space.rank - 1];
    m->inputs = 1 + random_below(m, RANDOM_INPUTS);
    for (uint32_t n = 0; n < m->inputs; n++) {
        Type type = space;
        uint32_t drop = random_one_in(m, 3) && n ? random_below(m, space.rank + 1) : 0;
        type.rank -= drop;
        memmove(type.dim, type.dim + drop, type.rank * sizeof *type.dim);
        for (uint32_t i = 0; i < type.rank; i++)
            if (n && random_one_in(m, 5)) type.dim[i] = 1;
        type.dtype = mixed ? types[random_below(m, 12)] : DT_F32;
        specs[n] = (InputSpec){names[n], true, true, false, type, {0}};
        m->values[m->count++] = (RandomValue){names[n], type, false};
    }
    program->options = (LowerOptions){.plain = {.dtype = DT_F32}, .inputs = specs};
}

/* An input that nothing reads is none. */
static inline void random_options(RandomMaker *m, RandomProgram *program) {
    InputSpec *specs = (InputSpec *)program->options.inputs;
    Text shapes = {0};
    for (uint32_t n = 0; n < m->inputs; n++) {
        if (!m->values[n].read) continue;
        text_printf(&shapes, "%s=", specs[n].name);
        shape_print(&shapes, &specs[n].type);
        text_printf(&shapes, ":%s ", dtype_name(specs[n].type.dtype));
        specs[program->options.input_count++] = specs[n];
    }
    program->shapes = arena_copy(m->arena, text_string(&shapes), shapes.length);
    text_free(&shapes);
}

/* --- expressions */

static inline RandomValue *random_pick(RandomMaker *m) {
    uint32_t recent = m->count < 4 ? m->count : 4;
    return random_one_in(m, 3) ? &m->values[random_below(m, m->count)]
                               : &m->values[m->count - 1 - random_below(m, recent)];
}

/* One that broadcasts with `type`, which it widens. */
static inline const char *random_operand(RandomMaker *m, Type *type) {
    static const char *const numbers[] = {"2", "0.5", "eps", "n", "-1", "0", "1e-3"};
    for (int tries = 0; tries < 6; tries++) {
        RandomValue *value = random_pick(m);
        Type wider = *type;
        if (!type_broadcast(type, &value->type, &wider)) continue;
        *type = wider;
        value->read = true;
        return value->name;
    }
    return numbers[random_below(m, 7)];
}

static inline const char *random_unary(RandomMaker *m, const char *a) {
    static const char *const forms[] = {"relu(%s)",          "tanh(%s)",         "exp(min(%s, 4))",
                                        "sigmoid(%s)",       "sqrt(abs(%s))",    "-%s",
                                        "%s * 2 + 1",        "%s * eps",         "%s - n",
                                        "abs(%s)",           "floor(%s)",        "gelu(%s)",
                                        "silu(%s)",          "%s ** 2",          "(%s > 0)",
                                        "1 / (1 + abs(%s))", "log(1 + abs(%s))", "!(%s > 1)"};
    const char *form = forms[random_below(m, sizeof forms / sizeof *forms)];
    const char *at = strchr(form, '%');
    return arena_printf(m->arena, "%.*s%s%s", (int)(at - form), form, a, at + 2);
}

static inline const char *random_cast(RandomMaker *m, const char *a) {
    static const char *const types[] = {"f16", "bf16", "f32", "f32", "i32",
                                        "i8",  "bool", "f64", "i64", "u8"};
    return arena_printf(m->arena, "%s(%s)", types[random_below(m, 8 + 2 * random_one_in(m, 3))], a);
}

static inline const char *random_binary(RandomMaker *m, const char *a, Type *type) {
    static const char *const forms[] = {
        "%s + %s",     "%s - %s",     "%s * %s", "%s / (1 + abs(%s))",
        "max(%s, %s)", "min(%s, %s)", "%s < %s", "%s // %s"};
    const char *form = forms[random_below(m, sizeof forms / sizeof *forms)];
    const char *first = strchr(form, '%'), *second = strchr(first + 2, '%');
    const char *b = random_operand(m, type);
    return arena_printf(m->arena, "%.*s%s%.*s%s%s", (int)(first - form), form, a,
                        (int)(second - first - 2), first + 2, b, second + 2);
}

static inline const char *random_select(RandomMaker *m, const char *a, Type *type) {
    const char *b = random_operand(m, type), *c = random_operand(m, type);
    return arena_printf(m->arena, "%s > %s ? %s : %s", a, b, random_one_in(m, 2) ? a : "0", c);
}

static inline const char *random_reduction(RandomMaker *m, const char *a, Type *type) {
    static const char *const names[] = {"sum", "max",  "min", "mean", "var",
                                        "sum", "mean", "max", "prod"};
    const char *name = names[random_below(m, 9)];
    uint32_t axis = type->rank ? random_below(m, type->rank) : 0;
    if (type->rank == 0 || random_one_in(m, 5)) {
        for (uint32_t i = 0; i < type->rank; i++) type->dim[i] = 1;
        return arena_printf(m->arena, "%s(%s, axis=all)", name, a);
    }
    if (random_one_in(m, 2)) axis = type->rank - 1;
    type->dim[axis] = 1;
    return arena_printf(m->arena, "%s(%s, axis=%d)", name, a,
                        random_one_in(m, 2) ? (int)axis : (int)axis - (int)type->rank);
}

static inline const char *random_rows(RandomMaker *m, const char *a) {
    static const char *const forms[] = {"softmax(%s)", "rmsnorm(%s, 1)", "layernorm(%s, 1, 0)"};
    const char *form = forms[random_below(m, 3)], *at = strchr(form, '%');
    return arena_printf(m->arena, "%.*s%s%s", (int)(at - form), form, a, at + 2);
}

static inline const char *random_product(RandomMaker *m, const char *a, Type *type) {
    for (int tries = 0; tries < 8; tries++) {
        RandomValue *b = random_pick(m);
        Type shape = *type, turned = b->type;
        if (type_matmul(type, &b->type, &shape)) {
            *type = shape;
            b->read = true;
            return arena_printf(m->arena, "%s @ %s", a, b->name);
        }
        if (turned.rank < 2) continue;
        turned.dim[turned.rank - 1] = b->type.dim[turned.rank - 2];
        turned.dim[turned.rank - 2] = b->type.dim[turned.rank - 1];
        if (!type_matmul(type, &turned, &shape)) continue;
        *type = shape;
        b->read = true;
        return arena_printf(m->arena, "%s @ %s.T", a, b->name);
    }
    return random_unary(m, a);
}

static inline const char *random_transpose(RandomMaker *m, const char *a, Type *type) {
    if (type->rank < 2) return random_unary(m, a);
    int64_t last = type->dim[type->rank - 1];
    type->dim[type->rank - 1] = type->dim[type->rank - 2];
    type->dim[type->rank - 2] = last;
    return arena_printf(m->arena, "%s.T", a);
}

static inline const char *random_expression(RandomMaker *m, Type *type) {
    RandomValue *value = random_pick(m);
    const char *a = value->name;
    value->read = true;
    *type = value->type;
    switch (random_below(m, 16)) {
    case 0:
    case 1:
    case 2: return random_unary(m, a);
    case 3:
    case 4:
    case 5:
    case 6: return random_binary(m, a, type);
    case 7: return random_select(m, a, type);
    case 8:
    case 9:
    case 10:
    case 11: return random_reduction(m, a, type);
    case 12: return random_transpose(m, a, type);
    case 13: return random_cast(m, a);
    case 14: return type->rank ? random_rows(m, a) : random_unary(m, a);
    default: return random_one_in(m, 2) ? random_product(m, a, type) : random_unary(m, a);
    }
}

/* --- statements */

static inline void random_statement(RandomMaker *m) {
    static const char *const odd[] = {"t", "v", "in_x", "kf_rows", "out", "k_row"};
    Type type = {0};
    const char *text = random_expression(m, &type);
    const char *stem = random_one_in(m, 4) ? odd[random_below(m, 6)] : "a";
    text_printf(&m->out, "%s%u = %s\n", stem, m->count, text);
    m->values[m->count] =
        (RandomValue){arena_printf(m->arena, "%s%u", stem, m->count), type, false};
    m->count++;
}

/* Of an input, from itself and what has its shape; last, for later statements would read it. */
static inline void random_update(RandomMaker *m) {
    RandomValue *value = &m->values[random_below(m, m->inputs)];
    Type type = value->type;
    const char *other = random_operand(m, &type);
    if (!type_same_shape(&type, &value->type)) other = "2";
    value->read = true;
    const char *form =
        random_one_in(m, 2) ? "%s = %s(%s * 0.5 + %s)\n" : "%s = %s(%s * 2 + %s + %s * 2)\n";
    text_printf(&m->out, form, value->name, dtype_name(type.dtype), value->name, other,
                value->name);
}

static inline void random_return(RandomMaker *m) {
    bool first = true;
    for (uint32_t i = m->inputs; i < m->count; i++) {
        if (m->values[i].read && !random_one_in(m, 4)) continue;
        text_printf(&m->out, "%s%s", first ? "return " : ", ", m->values[i].name);
        first = false;
    }
    text_add(&m->out, "\n");
}

static inline RandomProgram random_program(Arena *arena, uint64_t seed) {
    RandomProgram program = {0};
    RandomMaker m = {.arena = arena, .state = seed * 1000003};
    random_inputs(&m, &program);
    text_add(&m.out, "param eps = 0.25\nparam n = 3\n");
    uint32_t statements = 1 + random_below(&m, 10);
    for (uint32_t i = 0; i < statements; i++) random_statement(&m);
    if (random_one_in(&m, 5)) random_update(&m);
    if (random_one_in(&m, 16)) random_update(&m);
    if (random_one_in(&m, 2)) random_return(&m);
    random_options(&m, &program);
    program.text = arena_copy(arena, text_string(&m.out), m.out.length);
    text_free(&m.out);
    return program;
}

#endif
