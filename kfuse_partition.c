/* Partitions: the program as kernels in a row, in one way or another. The launches of all kernels of
 * one are a Run on the whole program's buffers. */
#include <string.h>

#include "kfuse_objects.h"

void partition_add(Arena *arena, Partitions *partitions, const Chain *chain) {
    Partition partition = {chain, arena_array(arena, Part *, chain->steps.count)};
    for (uint32_t i = 0; i < chain->steps.count; i++) {
        Part *part = arena_new(arena, Part);
        *part = (Part){.ir = chain->steps.data[i].ir, .kernels = chain->steps.data[i].kernels};
        partition.parts[i] = part;
    }
    array_push(arena, &partitions->list, partition);
}

bool partition_is_whole(const Partition *partition, const Ir *ir) {
    return partition_count(partition) == 1 && partition->parts[0]->ir == ir;
}

/* --- as one Run */

/* The launches of a step, whose own temporaries come behind those that the run has so far. */
static void append(Arena *arena, const Ir *whole, const Step *step, uint32_t module,
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
                args[a].buffer = chain_rename(whole, step, before, args[a].buffer);
        launch.args = args;
        launch.module = module;
        array_push(arena, &to->launches, launch);
    }
}

const Run *partition_run(Arena *arena, const Ir *whole, const Partition *partition) {
    const Chain *chain = partition->chain;
    Run *run = arena_new(arena, Run);
    for (uint32_t t = 0; t < chain->temporaries.count; t++)
        array_push(arena, &run->temporaries, chain->temporaries.data[t]);
    for (uint32_t i = 0; i < chain->steps.count; i++)
        append(arena, whole, &chain->steps.data[i], i, partition->parts[i]->run, run);
    return run;
}

const Binary *partition_binaries(Arena *arena, const Partition *partition) {
    Binary *binaries = arena_array(arena, Binary, partition_count(partition));
    for (uint32_t i = 0; i < partition_count(partition); i++)
        binaries[i] = partition->parts[i]->binary;
    return binaries;
}

/* --- points by labels */

uint32_t labels_count(const char *labels) {
    uint32_t count = 1;
    for (; *labels; labels++) count += *labels == '|';
    return count;
}

const char *labels_at(Arena *arena, const char *labels, uint32_t index) {
    for (; index > 0 && labels; index--) {
        labels = strchr(labels, '|');
        if (labels) labels++;
    }
    if (!labels) return "";
    labels += strspn(labels, " ");
    size_t length = strcspn(labels, "|");
    while (length > 0 && labels[length - 1] == ' ') length--;
    return arena_copy(arena, labels, length);
}

const Kernel *labels_find(Arena *arena, const Kernels *kernels, const char *label, Point *point,
                          const char **why) {
    TuneKernel *list = arena_array(arena, TuneKernel, kernels->list.count);
    const TuneProblem problem = {.kernels = list, .kernel_count = kernels->list.count};
    uint32_t chosen;
    for (uint32_t i = 0; i < kernels->list.count; i++) list[i].kernel = kernels->list.data[i];
    return tune_find(arena, &problem, label, &chosen, point, why) ? &kernels->list.data[chosen]
                                                                  : NULL;
}

static bool has_points(Arena *arena, const Partition *partition, const char *labels) {
    Point point;
    const char *why;
    for (uint32_t i = 0; i < partition_count(partition); i++)
        if (!labels_find(arena, &partition->parts[i]->kernels, labels_at(arena, labels, i), &point,
                         &why))
            return false;
    return true;
}

/* What is behind "fewest kernels:", where that is the partition's name; else NULL. */
static const char *behind_way(const char *labels, const Partition *partition) {
    size_t length = strlen(partition->chain->name);
    bool named = strncmp(labels, partition->chain->name, length) == 0 && labels[length] == ':';
    return named ? labels + length + 1 : NULL;
}

static const Partition *first_like(Arena *arena, const Partition *list, uint32_t count,
                                   const char *labels) {
    const Partition *like = NULL;
    for (uint32_t p = 0; p < count; p++) {
        if (partition_count(&list[p]) != labels_count(labels)) continue;
        if (has_points(arena, &list[p], labels)) return &list[p];
        if (!like) like = &list[p];
    }
    return like;
}

const Partition *partition_of(KfSession *session, Arena *arena, const Partitions *partitions,
                              const char **labels) {
    const Partition *from = partitions->list.data;
    uint32_t ways = partitions->list.count;
    for (uint32_t p = 0; p < partitions->list.count; p++) {
        const char *behind = behind_way(*labels, &partitions->list.data[p]);
        if (behind) *labels = behind, from = &partitions->list.data[p], ways = 1;
    }
    const Partition *like = first_like(arena, from, ways, *labels);
    uint32_t count = partition_count(from), given = labels_count(*labels);
    if (!like)
        session_say(session, KF_USAGE, "the program is %u kernel%s, and there %s %u point%s: %s",
                    count, count == 1 ? "" : "s", given == 1 ? "is" : "are", given,
                    given == 1 ? "" : "s",
                    "give 'A | B', one for each, as reports name the winner");
    return like;
}

static bool fix_part(Arena *arena, Part *part, const char *label, const char **why) {
    Point *only = arena_new(arena, Point);
    part->only = only;
    return tune_find(arena, &part->problem, label, &part->only_kernel, only, why);
}

static bool fix_parts(Arena *arena, const Partition *partition, const char *labels,
                      const char **why) {
    for (uint32_t i = 0; i < partition_count(partition); i++)
        if (!fix_part(arena, partition->parts[i], labels_at(arena, labels, i), why)) return false;
    return true;
}

bool partition_fix(KfSession *session, Arena *arena, Partitions *partitions, const char *labels) {
    const Partition *like = partition_of(session, arena, partitions, &labels);
    const char *why;
    if (!like) return false;
    if (!fix_parts(arena, like, labels, &why))
        return session_say(session, KF_USAGE, "%s", why), false;
    partitions->list.data[0] = *like;
    partitions->list.count = 1;
    return true;
}

/* --- in the store */

StoreKey partitions_key(Arena *arena, const Partitions *partitions) {
    const Partition *first = &partitions->list.data[0];
    if (partitions->list.count == 1 && partition_count(first) == 1)
        return first->parts[0]->problem.key;
    Text text = {0}, shape = {0};
    for (uint32_t p = 0; p < partitions->list.count; p++)
        for (uint32_t i = 0; i < partition_count(&partitions->list.data[p]); i++) {
            const StoreKey *key = &partitions->list.data[p].parts[i]->problem.key;
            text_printf(&text, "part=%u.%u\n%s", p, i, key->text);
            text_printf(&shape, "%s%s", p + i ? " | " : "", key->shape);
        }
    StoreKey key = {arena_copy(arena, text_string(&text), text.length),
                    arena_copy(arena, text_string(&shape), shape.length)};
    text_free(&text);
    text_free(&shape);
    return key;
}

/* One part's Run and binary of a stored winner, "VEC=4 BLOCK=256". */
static bool part_stored(Arena *arena, Part *part, const char *winner) {
    const TuneProblem *problem = &part->problem;
    Run *run = arena_new(arena, Run);
    const char *why;
    uint32_t kernel;
    Point point;
    if (!tune_find(arena, problem, winner, &kernel, &point, &why)) return false;
    const TuneKernel *k = &problem->kernels[kernel];
    const char *label = tune_label(arena, problem, kernel, &point, ",");
    part->run = run;
    return store_binary(problem->store, &problem->key, label, arena, &part->binary.bytes,
                        &part->binary.size) &&
           tune_run(arena, k->kernel.template, k->bounds[0], &point, problem->identity, run, &why);
}

bool partition_stored(Arena *arena, const Partition *partition, const char *winners) {
    for (uint32_t i = 0; i < partition_count(partition); i++)
        if (!part_stored(arena, partition->parts[i], labels_at(arena, winners, i))) return false;
    return true;
}

/* --- as text */

static void print_ref(Text *out, const Ir *whole, const Step *step, Ref ref, bool output,
                      uint32_t index) {
    const Type *type =
        output ? &step->ir->outputs.data[index].type : &step->ir->inputs.data[index].type;
    switch (ref.place) {
    case PLACE_INPUT: text_add(out, whole->inputs.data[ref.index].name); break;
    case PLACE_OUTPUT: text_add(out, whole->outputs.data[ref.index].name); break;
    case PLACE_TEMPORARY: text_printf(out, "temporary %u", ref.index + 1); break;
    }
    text_printf(out, " %s[", dtype_name(type->dtype));
    shape_print(out, type);
    text_add(out, "]");
}

static void print_refs(Text *out, const Ir *whole, const Step *step, bool output) {
    uint32_t count = output ? step->outputs.count : step->inputs.count;
    text_add(out, output ? "\n      writes " : "\n      reads  ");
    for (uint32_t i = 0; i < count; i++) {
        Ref ref = output ? step->outputs.data[i] : step->inputs.data[i];
        if (i) text_add(out, ", ");
        print_ref(out, whole, step, ref, output, i);
    }
}

static void print_step(Text *out, const Ir *whole, const Step *step, uint32_t number) {
    Arena *scratch = arena_open();
    const Bound *bound = kernel_bound(scratch, &step->kernels.list.data[0], step->ir);
    text_printf(out, "  %u   %s", number, step->label);
    for (uint32_t k = 0; k < step->kernels.list.count; k++)
        text_printf(out, "%s%s", k ? ", " : "   (", step->kernels.list.data[k].name);
    text_add(out, ")   ");
    report_bytes(out, bound ? bound->bytes : 0);
    print_refs(out, whole, step, false);
    print_refs(out, whole, step, true);
    text_add(out, "\n");
    arena_close(scratch);
}

static void print_saving(Text *out, const Chain *chain, const Chain *eager) {
    text_printf(out, "%u kernel%s, ", chain->steps.count, chain->steps.count == 1 ? "" : "s");
    report_bytes(out, chain->bytes);
    text_add(out, " moved");
    if (eager && eager->bytes > chain->bytes) {
        text_add(out, ", saves ");
        report_bytes(out, eager->bytes - chain->bytes);
        text_printf(out, " of the eager chain's (%u kernels, ", eager->steps.count);
        report_bytes(out, eager->bytes);
        text_add(out, ")");
    }
    text_add(out, "\n");
}

void partitions_print(Text *out, const Partitions *partitions, const Ir *whole,
                      const Chain *eager) {
    for (uint32_t p = 0; p < partitions->list.count; p++) {
        const Chain *chain = partitions->list.data[p].chain;
        int64_t temporaries = 0;
        text_printf(out, "%s%s: ", p ? "\n" : "", chain->name);
        print_saving(out, chain, eager);
        for (uint32_t i = 0; i < chain->steps.count; i++)
            print_step(out, whole, &chain->steps.data[i], i + 1);
        for (uint32_t t = 0; t < chain->temporaries.count; t++)
            temporaries += chain->temporaries.data[t];
        if (temporaries == 0) continue;
        text_printf(out, "  workspace of %u temporar%s, ", chain->temporaries.count,
                    chain->temporaries.count == 1 ? "y" : "ies");
        report_bytes(out, temporaries);
        text_add(out, "\n");
    }
}
