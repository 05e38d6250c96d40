/* kf_why. In: a program, the store. Out: for each of its kernels whether the store answers, and if
 * not, why. The idea: a key is a text of fields, one a line, so that a miss is explained by the
 * stored key that differs in the fewest of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kfuse_objects.h"

/* --- keys as fields */

static bool has_field(const char *key, const StoreKeyField *wanted) {
    StoreKeyField field;
    while (store_key_next(&key, &field))
        if (field.name_length == wanted->name_length &&
            field.value_length == wanted->value_length &&
            memcmp(field.name, wanted->name,
                   (size_t)(wanted->name_length + 1 + wanted->value_length)) == 0)
            return true;
    return false;
}

/* A field of that name which `key` has and `other` has not: several kernels of one key have a template
 * each. */
static StoreKeyField unmatched(const char *key, const char *other, const StoreKeyField *named) {
    StoreKeyField field;
    while (store_key_next(&key, &field))
        if (field.name_length == named->name_length &&
            memcmp(field.name, named->name, (size_t)named->name_length) == 0 &&
            !has_field(other, &field))
            return field;
    return (StoreKeyField){.value = "nothing", .value_length = 7};
}

/* Whether both are of one program: its operations, types, and which extents are 1. */
static bool same_program(const char *key, const char *other) {
    StoreKeyField field;
    while (store_key_next(&key, &field))
        if (store_key_is(&field, "ir") && !has_field(other, &field)) return false;
    return true;
}

static uint32_t differing(const char *key, const char *other) {
    uint32_t count = 0;
    StoreKeyField field;
    while (store_key_next(&key, &field)) count += !has_field(other, &field);
    return count;
}

static const char *meaning(const StoreKeyField *field) {
    static const char *const meanings[][2] = {
        {"template", "the kernel's text: names of arrays, layouts, or another build of kfuse"},
        {"class", "ranks, types and layouts"},
        {"bucket", "sizes"},
        {"ir", "operations, types, and which extents are 1"},
        {"math", "--math"},
        {"mode", "--hot"},
        {"compiler", "with its options"},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (store_key_is(field, meanings[i][0])) return meanings[i][1];
    return "";
}

/* --- what is said */

/* A key may come from anywhere, its values as they like. */
static void print_value(Text *out, const char *head, const StoreKeyField *field) {
    text_add(out, head);
    text_add_plain(out, field->value, (size_t)field->value_length);
}

/* Another program has other texts: that says nothing more. */
static void print_differences(Text *out, const char *key, const char *other) {
    bool same = same_program(key, other);
    StoreKeyField mine;
    for (const char *at = key; store_key_next(&at, &mine);) {
        if (has_field(other, &mine) || (!same && store_key_is(&mine, "template"))) continue;
        StoreKeyField theirs = unmatched(other, key, &mine);
        text_printf(out, "  differs  %.*s", mine.name_length, mine.name);
        if (*meaning(&mine)) text_printf(out, " (%s)", meaning(&mine));
        print_value(out, "\n    here   ", &mine);
        print_value(out, "\n    there  ", &theirs);
        text_add(out, "\n");
    }
}

/* The expression of the answer that the store has to a key; "": it has none. */
static const char *expression_of(Store *store, Arena *arena, const char *key,
                                 const StoredTrial *trial) {
    const char *text;
    int64_t date;
    Report report;
    return store_answer(store, &(StoreKey){key, trial->shape}, arena, &text, &date) &&
                   report_load(arena, text, &report)
               ? report.expression
               : "";
}

typedef struct Nearest {
    const char *key; /* NULL: nothing of the program is stored */
    const StoredTrial *trial;
    uint32_t fields; /* that differ */
} Nearest;

/* Of the stored keys of the same program, by its Ir or by its text, that which differs least, the latest
 * of such. */
static Nearest nearest(Store *store, Arena *arena, const char *key, const char *expression) {
    Nearest found = {.fields = UINT32_MAX};
    uint32_t count, trial_count;
    const char *const *keys = store_keys(store, arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t fields = differing(key, keys[i]);
        if (fields > found.fields) continue;
        const StoredTrial *trials =
            store_trials(store, &(StoreKey){keys[i], ""}, arena, &trial_count);
        if (trial_count == 0) continue;
        if (same_program(key, keys[i]) ||
            strcmp(expression_of(store, arena, keys[i], trials), expression) == 0)
            found = (Nearest){keys[i], trials, fields};
    }
    return found;
}

static void print_miss(Text *out, const KfKernel *kernel, const StoreKey *key) {
    const KfProgram *program = kernel->program;
    Nearest found = nearest(program->session->store, kernel->arena, key->text, program->expression);
    if (!found.key) {
        text_add(out, "  not stored, nor is anything of this program\n");
        return;
    }
    text_printf(out, "  not stored; the nearest is %.12s, ", found.trial->hash);
    text_add_plain(out, found.trial->shape, strlen(found.trial->shape));
    text_printf(out, " (kfuse cache show %.12s)\n", found.trial->hash);
    print_differences(out, key->text, found.key);
}

static uint32_t count_here(const StoredTrial *trials, uint32_t count, const char *shape,
                           uint32_t *imported) {
    uint32_t here = 0;
    *imported = 0;
    for (uint32_t i = 0; i < count; i++) {
        here += !trials[i].imported && strcmp(trials[i].shape, shape) == 0;
        *imported += trials[i].imported;
    }
    return here;
}

/* What the store has of a kernel that it knows. */
static void print_trials(Text *out, const Part *part, const TuneOptions *options,
                         const StoredTrial *trials, uint32_t count) {
    const char *shape = part->problem.key.shape;
    uint32_t imported, here = count_here(trials, count, shape, &imported);
    text_printf(out, "  stored   %.12s: %u result%s", trials[0].hash, count, count == 1 ? "" : "s");
    if (imported) text_printf(out, ", %u of them imported", imported);
    text_add(out, "\n");
    if (!options->search)
        text_add(out, "  --no-tune takes the best of these and measures it, each time\n");
    else if (!tune_searched(&part->problem, options))
        text_add(out,
                 imported == count
                     ? "  what was imported is judged and timed on this device first\n"
                     : "  the search was not finished, or tried less than is asked for now: it "
                       "goes on from there\n");
    else if (here == 0)
        text_printf(out,
                    "  another shape of the bucket, %s: its winner is judged and timed at %s\n",
                    trials[0].shape, shape);
    else
        text_add(out, "  searched, and no answer was kept: the next run makes it of these\n");
}

static void print_part(Text *out, const KfKernel *kernel, const Part *part,
                       const TuneOptions *options) {
    Store *store = kernel->program->session->store;
    const StoreKey *key = &part->problem.key;
    uint32_t count;
    const StoredTrial *trials = store_trials(store, key, kernel->arena, &count);
    if (count > 0)
        print_trials(out, part, options, trials, count);
    else
        print_miss(out, kernel, key);
}

static void print_parts(Text *out, const KfKernel *kernel, const Partitions *partitions,
                        const TuneOptions *options) {
    const Partition *first = &partitions->list.data[0];
    for (uint32_t i = 0; i < partition_count(first); i++) {
        if (partition_count(first) > 1)
            text_printf(out, "kernel %u of %u\n", i + 1, partition_count(first));
        print_part(out, kernel, first->parts[i], options);
    }
}

static KfStatus explain(KfKernel *kernel, const KfTuneOptions *in, Text *out) {
    Partitions partitions = {0};
    TuneProblem whole;
    TuneOptions options;
    double began = tuning_clock();
    Store *store = kernel->program->session->store;
    KfStatus status = pipeline_problems(kernel, in, &whole, &partitions);
    if (status != KF_OK) return status;
    if (!tuning_options(kernel->program, in, &options)) return KF_USAGE;
    if (in->point && partitions.list.count > 0 &&
        !partition_fix(kernel->program->session, kernel->arena, &partitions, in->point))
        return KF_USAGE;
    text_printf(out, "store      %s\n", store_path(store));
    if (store_complaint(store)) text_printf(out, "           %s\n", store_complaint(store));
    if (partitions.list.count == 0)
        text_add(out, "answer     no output has elements: there is nothing to tune\n");
    else if (!options.retune && tuning_answer(kernel, &partitions, &options, began))
        text_printf(out, "answer     stored: %s\n", kernel->report.winner);
    else {
        text_add(out, options.retune ? "answer     none is asked for\n" : "answer     none\n");
        print_parts(out, kernel, &partitions, &options);
    }
    return KF_OK;
}

KfStatus kf_why(KfProgram *program, const KfTuneOptions *options, char **text) {
    static const KfTuneOptions none = {0};
    KfKernel *kernel = calloc(1, sizeof *kernel);
    Text out = {0};
    text_clear(&program->session->message);
    if (!kernel) return session_say(program->session, KF_ENVIRONMENT, "out of memory");
    kernel->program = program;
    kernel->arena = arena_open();
    kernel->report = report_none();
    KfStatus status = explain(kernel, options ? options : &none, &out);
    kf_kernel_close(kernel);
    if (status == KF_OK) return session_give(&out, text);
    text_free(&out);
    return status;
}
