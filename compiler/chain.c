/* Buffers of a step as buffers of the whole program. */
#include "compiler/chain.h"

Step chain_whole(Arena *arena, const Ir *ir) {
    Step step = {.ir = ir};
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        array_push(arena, &step.inputs, (Ref){PLACE_INPUT, i});
    for (uint32_t i = 0; i < ir->outputs.count; i++)
        array_push(arena, &step.outputs, (Ref){PLACE_OUTPUT, i});
    return step;
}

uint32_t chain_buffer(const Ir *whole, Ref ref) {
    switch (ref.place) {
    case PLACE_INPUT: return ref.index;
    case PLACE_OUTPUT: return whole->inputs.count + ref.index;
    case PLACE_TEMPORARY: break;
    }
    return whole->inputs.count + whole->outputs.count + ref.index;
}

uint32_t chain_rename(const Ir *whole, const Step *step, uint32_t before, uint32_t buffer) {
    uint32_t inputs = step->inputs.count, outputs = step->outputs.count;
    if (buffer < inputs) return chain_buffer(whole, step->inputs.data[buffer]);
    if (buffer < inputs + outputs) return chain_buffer(whole, step->outputs.data[buffer - inputs]);
    return chain_buffer(whole, (Ref){PLACE_TEMPORARY, before + buffer - inputs - outputs});
}
