/* A program in, the kernels that compute it out. */
#include "compiler/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/base/embed.h"
#include "compiler/emit.h"
#include "compiler/specialise.h"

static bool is_template(const char *path, const char *language) {
    const char *folder = "registry/templates/", *ending = strrchr(path, '.');
    if (strncmp(path, folder, strlen(folder)) != 0 || !ending) return false;
    return strcmp(ending, strcmp(language, "cuda") == 0 ? ".cu" : ".c") == 0;
}

/* What is embedded parses: an error there is our bug. */
static const Template *parse_embedded(Arena *arena, const Embed *file, const char *language) {
    Diags diags = {.arena = arena};
    const char *name = strrchr(file->path, '/') + 1;
    const Template *template =
        template_parse(arena, source_new(arena, name, file->text, file->length), language, &diags);
    if (template) return template;
    Text message = {0};
    diags_print(&message, &diags);
    fputs(text_string(&message), stderr);
    abort();
}

const Library *library_open(Arena *arena, const char *language, const Registry *registry) {
    Library *library = arena_new(arena, Library);
    *library = (Library){.language = language, .registry = registry};
    for (const Embed *file = registry_texts; file->path; file++) {
        if (!is_template(file->path, language)) continue;
        const Template *template = parse_embedded(arena, file, language);
        if (template->computes) array_push(arena, &library->templates, template);
    }
    return library;
}

typedef const Template *Emit(Arena *arena, const Plan *plan);

static void add_emitted(Arena *arena, Kernels *kernels, const char *name, Emit *emitter,
                        const Plan *plan) {
    Kernel kernel = {.name = name, .template = emitter(arena, plan), .plan = plan};
    array_push(arena, &kernels->list, kernel);
}

static void add_generated(Arena *arena, Kernels *kernels, const Library *library, const Ir *ir) {
    bool cuda = strcmp(library->language, "cuda") == 0;
    Group group = group_find(ir);
    if (group.kind == GROUP_NONE) return;
    const Plan *p = plan(arena, ir, &group);
    if (group.kind == GROUP_ELEMENTWISE)
        add_emitted(arena, kernels, "generated", cuda ? emit_cuda : emit_c, p);
    if (group.kind == GROUP_ROWS)
        add_emitted(arena, kernels, "rows", cuda ? emit_rows_cuda : emit_rows_c, p);
    if (group.one_pass)
        add_emitted(arena, kernels, "reduce", cuda ? emit_reduce_cuda : emit_reduce_c, p);
}

static void add_template(Arena *arena, Kernels *kernels, const Template *template,
                         const Match *match) {
    if (!match) return;
    Kernel kernel = {.name = template->name,
                     .template = specialise(arena, template, match_types(match)),
                     .match = match};
    array_push(arena, &kernels->list, kernel);
}

static void add_splice(Arena *arena, Kernels *kernels, const Template *template,
                       const Splice *splice) {
    if (!splice) return;
    Kernel kernel = {.name = template->name, .template = splice_template(splice), .splice = splice};
    array_push(arena, &kernels->list, kernel);
}

Kernels kernels_find(Arena *arena, const Library *library, const Ir *ir) {
    Kernels kernels = {0};
    add_generated(arena, &kernels, library, ir);
    for (uint32_t i = 0; i < library->templates.count; i++) {
        const Template *template = library->templates.data[i];
        if (splice_takes(template))
            add_splice(arena, &kernels, template,
                       splice_find(arena, template, library->registry, ir));
        else
            add_template(arena, &kernels, template,
                         match_template(arena, template, library->registry, ir));
    }
    return kernels;
}

Kernels kernels_of(Arena *arena, const Template *template, const Ir *ir) {
    Kernels kernels = {0};
    add_template(arena, &kernels, template, match_itself(arena, template, ir));
    return kernels;
}

const Bound *kernel_bound(Arena *arena, const Kernel *kernel, const Ir *ir) {
    if (kernel->match) return match_bound(arena, kernel->match, ir);
    if (kernel->splice) return splice_bound(arena, kernel->splice, ir);
    const Plan *p = ir == kernel->plan->ir ? kernel->plan : plan_like(arena, kernel->plan, ir);
    return p ? plan_bound(arena, p) : NULL;
}

void kernel_class_print(Text *out, const Kernel *kernel) {
    if (kernel->plan)
        plan_class_print(out, kernel->plan);
    else if (kernel->splice)
        splice_class_print(out, kernel->splice);
    else
        text_add(out, kernel->name);
}
