/* In: a launch's arguments. Out: the values of those that no launch changes, and which buffer each other one is. */
#include "tuner/arguments.h"

Argument argument_value(const Arg *arg, const Address *buffers) {
    Argument value = {.i64 = 0};
    switch (arg->kind) {
    case ARG_BUFFER: value.address = buffers[arg->buffer]; break;
    case ARG_I64: value.i64 = arg->value.whole; break;
    case ARG_I32: value.i32 = (int32_t)arg->value.whole; break;
    case ARG_F32: value.f32 = (float)arg->value.real; break;
    case ARG_F64: value.f64 = arg->value.real; break;
    }
    return value;
}

Arguments arguments_lay(Arena *arena, const Launch *launch) {
    uint32_t count = launch->arg_count, *buffers = arena_array(arena, uint32_t, count + 1);
    const void **constants = arena_array(arena, const void *, count + 1);
    Argument *values = arena_array(arena, Argument, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const Arg *arg = &launch->args[i];
        if (arg->kind == ARG_BUFFER) {
            buffers[i] = arg->buffer;
            continue;
        }
        values[i] = argument_value(arg, NULL);
        constants[i] = &values[i];
    }
    return (Arguments){count, constants, buffers};
}
