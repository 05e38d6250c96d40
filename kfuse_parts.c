/* Parts: the kernels that a program became, mostly one. Several are launched in a row as one
 * Run. */
#include <string.h>

#include "kfuse_objects.h"

/* A buffer of a part's Run among the whole program's; `before`: temporaries of earlier parts. */
static uint32_t rename_buffer(const Ir *whole, const Part *part, uint32_t before, uint32_t buffer) {
    uint32_t inputs = whole->inputs.count, outputs = part->group->outputs.count;
    if (buffer < inputs) return buffer;
    if (buffer < inputs + outputs) return inputs + part->group->outputs.data[buffer - inputs];
    return whole->outputs.count - outputs + before + buffer;
}

/* The launches of a part on the whole program's buffers. */
static void append_part(Arena *arena, const KfProgram *program, const Part *part, uint32_t module,
                        const Run *from, Run *to) {
    uint32_t before = to->temporaries.count;
    for (uint32_t t = 0; t < from->temporaries.count; t++)
        array_push(arena, &to->temporaries, from->temporaries.data[t]);
    for (uint32_t i = 0; i < from->launches.count; i++) {
        Launch launch = from->launches.data[i];
        Arg *args = arena_array(arena, Arg, launch.arg_count);
        memcpy(args, launch.args, launch.arg_count * sizeof *args);
        for (uint32_t a = 0; a < launch.arg_count; a++)
            if (args[a].kind == ARG_BUFFER)
                args[a].buffer = rename_buffer(program->ir, part, before, args[a].buffer);
        launch.args = args;
        launch.module = module;
        array_push(arena, &to->launches, launch);
    }
}

/* Gives the kernel the Run of all parts. */
void parts_assemble(KfKernel *kernel, const Part *parts, uint32_t count, const Run *const *runs,
                    const Binary *binaries) {
    Run *whole = arena_new(kernel->arena, Run);
    for (uint32_t i = 0; i < count; i++)
        append_part(kernel->arena, kernel->program, &parts[i], i, runs[i], whole);
    kernel->run = whole;
    kernel->binaries = binaries;
    kernel->binary_count = count;
}

/* The key of the whole: of its only part, or of all parts together. */
StoreKey parts_key(Arena *arena, const Part *parts, uint32_t count) {
    if (count == 1) return parts[0].problem.key;
    Text text = {0}, shape = {0};
    for (uint32_t i = 0; i < count; i++) {
        text_printf(&text, "part=%u\n%s", i, parts[i].problem.key.text);
        text_printf(&shape, "%s%s", i ? " | " : "", parts[i].problem.key.shape);
    }
    StoreKey key = {arena_copy(arena, text_string(&text), text.length),
                    arena_copy(arena, text_string(&shape), shape.length)};
    text_free(&text);
    text_free(&shape);
    return key;
}

/* One part's Run and binary of a stored winner, "VEC=4 BLOCK=256". */
bool parts_stored(Arena *arena, const Part *part, const char *winner, Run *run, Binary *binary) {
    const TuneProblem *problem = &part->problem;
    const char *why;
    uint32_t kernel;
    Point point;
    if (!tune_find(arena, problem, winner, &kernel, &point, &why)) return false;
    const TuneKernel *k = &problem->kernels[kernel];
    const char *label = tune_label(arena, problem, kernel, &point, ",");
    return store_binary(problem->store, &problem->key, label, arena, &binary->bytes,
                        &binary->size) &&
           tune_run(arena, k->kernel.template, k->bounds[0], &point, problem->identity, run, &why);
}

/* The winner of part `index` in "VEC=4 BLOCK=256 | VEC=2 …". */
const char *parts_winner(Arena *arena, const char *winners, uint32_t index) {
    for (; index > 0 && winners; index--) {
        winners = strstr(winners, " | ");
        if (winners) winners += 3;
    }
    if (!winners) return "";
    const char *end = strstr(winners, " | ");
    return arena_copy(arena, winners, end ? (size_t)(end - winners) : strlen(winners));
}
