/* In: an Export. Out: NAME.h and NAME.c, a launcher whose text is what any reader would write for these
 * kernels: tables of arrays and entries, then variants (variant.c). What is the same for every kernel
 * stands in texts/. */
#include <inttypes.h>
#include <string.h>

#include "export/formula.h"
#include "tuner/tune.h"

bool export_is_cuda(const Export *e) {
    return strcmp(e->language, "cuda") == 0;
}

static uint32_t array_count(const Export *e) {
    return e->ir->inputs.count + e->ir->outputs.count;
}

/* --- the header */

static void print_array(Text *out, const char *role, const char *name, const Type *type) {
    text_printf(out, " *     %s %s: %s[", role, name, dtype_name(type->dtype));
    for (uint32_t i = 0; i < type->rank; i++)
        text_printf(out, "%s%" PRId64, i ? ", " : "", type->dim[i]);
    text_add(out, "]\n");
}

static void print_about(Text *out, const Export *e) {
    text_add(out, " * Computes ");
    export_comment(out, e->expression);
    text_add(out, "\n");
    for (uint32_t i = 0; i < e->ir->inputs.count; i++)
        print_array(out, "inputs ", e->ir->inputs.data[i].name, &e->ir->inputs.data[i].type);
    for (uint32_t i = 0; i < e->ir->outputs.count; i++)
        print_array(out, "outputs", e->ir->outputs.data[i].name, &e->ir->outputs.data[i].type);
    text_add(out, e->axes.count ? " * Other extents are taken too, where arrays that share an axis "
                                  "agree; those that are 1 stay 1.\n"
                                : " * Of these shapes and strides alone.\n");
    text_add(out, " * Made by: ");
    export_comment(out, e->command);
    text_add(out, "\n");
}

static void add_named(Text *out, const Export *e, const char *text) {
    for (const char *at; (at = strchr(text, '@')); text = at) {
        text_add_bytes(out, text, (size_t)(at - text));
        bool name = strncmp(at, "@NAME@", 6) == 0;
        text_add(out, name ? e->name : "@");
        at += name ? 6 : 1;
    }
    text_add(out, text);
}

void export_piece(Text *out, const Export *e, const char *file) {
    for (const Embed *text = export_texts; text->path; text++) {
        const char *slash = strrchr(text->path, '/');
        if (strcmp(slash + 1, file) == 0) add_named(out, e, text->text);
    }
}

void export_header(Text *out, const Export *e) {
    text_printf(out, "/* %s.h: launches a kernel that kfuse made.\n", e->name);
    print_about(out, e);
    text_printf(out, " */\n#ifndef KFUSE_%s_H\n#define KFUSE_%s_H\n\n", e->name, e->name);
    text_add(out, "#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" "
                  "{\n#endif\n\n");
    export_piece(out, e, "view.h");
    text_add(out, "\n");
    export_piece(out, e, export_is_cuda(e) ? "interface_cuda.h" : "interface_c.h");
    text_printf(out, "const char *%s_error(int status);\n", e->name);
    text_add(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* --- tables */

static void print_tensor(Text *out, const Export *e, const char *name, const Type *type,
                         const Type *probe, const int64_t *strides, int updates, uint32_t index) {
    text_printf(out, "    {\"%s\", %d, %u, {", name, (int)type->dtype, type->rank);
    for (uint32_t i = 0; i < type->rank; i++)
        text_printf(out, "%s%d", i ? ", " : "", probe ? size_axis(&e->axes, probe->dim[i]) : -1);
    text_add(out, type->rank ? "}, {" : "0}, {");
    for (uint32_t i = 0; i < type->rank; i++)
        text_printf(out, "%s%" PRId64, i ? ", " : "", type->dim[i]);
    text_add(out, type->rank ? "}, " : "0}, ");
    if (strides)
        text_printf(out, "strides_%u, %d},\n", index, updates);
    else
        text_printf(out, "NULL, %d},\n", updates);
}

static const int64_t *given_strides(const Type *type, const int64_t *strides) {
    return size_is_packed(type, strides) ? NULL : strides;
}

static void print_strides(Text *out, const Type *type, const int64_t *strides, uint32_t index) {
    if (!given_strides(type, strides)) return;
    text_printf(out, "static const int64_t strides_%u[] = {", index);
    for (uint32_t i = 0; i < type->rank; i++)
        text_printf(out, "%s%" PRId64, i ? ", " : "", strides[i]);
    text_add(out, "};\n");
}

static void print_tensors(Text *out, const Export *e) {
    const Ir *ir = e->ir, *probe = e->axes.count ? e->axes.probe[0] : NULL;
    uint32_t inputs = ir->inputs.count;
    for (uint32_t i = 0; i < inputs; i++)
        print_strides(out, &ir->inputs.data[i].type, ir->inputs.data[i].strides, i);
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        print_strides(out, &ir->outputs.data[o].type, ir->outputs.data[o].strides, inputs + o);
    text_add(out, "static const Tensor inputs[] = {\n");
    for (uint32_t i = 0; i < inputs; i++) {
        const IrInput *input = &ir->inputs.data[i];
        print_tensor(out, e, input->name, &input->type, probe ? &probe->inputs.data[i].type : NULL,
                     given_strides(&input->type, input->strides), -1, i);
    }
    text_add(out, "};\nstatic const Tensor outputs[] = {\n");
    for (uint32_t o = 0; o < ir->outputs.count; o++) {
        const IrOutput *output = &ir->outputs.data[o];
        print_tensor(out, e, output->name, &output->type,
                     probe ? &probe->outputs.data[o].type : NULL,
                     given_strides(&output->type, output->strides), output->updates, inputs + o);
    }
    text_add(out, "};\n");
}

static const char *suffixed(Arena *arena, const char *entry, const ExportInstance *instance) {
    return arena_printf(arena, "%s%s", entry, instance->suffix);
}

/* In the order of files, instances and launches; entry_number finds them again. */
static void print_entries(Text *out, const Export *e) {
    Arena *arena = arena_open();
    text_add(
        out,
        "/* file, function, the same for any alignment, bytes that pointers are aligned to */\n"
        "static const Entry entries[] = {\n");
    for (uint32_t k = 0; k < e->kernels.count; k++) {
        const ExportKernel *kernel = &e->kernels.data[k];
        const Template *template = kernel->kernel->template;
        for (uint32_t i = 0; i < kernel->instances.count; i++)
            for (uint32_t l = 0; l < template->launches.count; l++) {
                const TemplateLaunch *launch = &template->launches.data[l];
                const ExportInstance *instance = &kernel->instances.data[i];
                text_printf(out, "    {%u, \"%s\", ", k, suffixed(arena, launch->entry, instance));
                if (launch->twin)
                    text_printf(out, "\"%s\", ", suffixed(arena, launch->twin, instance));
                else
                    text_add(out, "NULL, ");
                text_printf(out, "%u},\n",
                            run_alignment(template, &instance->point, kernel->bound));
            }
    }
    text_add(out, "};\n");
    arena_close(arena);
}

static void print_functions(Text *out, const Export *e) {
    Arena *arena = arena_open();
    for (uint32_t k = 0; k < e->kernels.count; k++) {
        const ExportKernel *kernel = &e->kernels.data[k];
        const Template *template = kernel->kernel->template;
        for (uint32_t i = 0; i < kernel->instances.count; i++)
            for (uint32_t l = 0; l < template->launches.count; l++)
                text_printf(
                    out, "void %s(void *const *args, int64_t part, int64_t parts);\n",
                    suffixed(arena, template->launches.data[l].entry, &kernel->instances.data[i]));
    }
    arena_close(arena);
}

/* --- the whole */

static void print_types(Text *out, const Export *e) {
    text_printf(out, "enum { AXES = %u, FILES = %u, BUFFERS = %u, TEMPORARIES = %u };\n",
                e->axes.count ? e->axes.count : 1, e->kernels.count,
                array_count(e) + export_temporaries(e),
                export_temporaries(e) ? export_temporaries(e) : 1);
    text_add(out, "\n");
    export_piece(out, e, "tensor.h");
    export_piece(out, e, export_is_cuda(e) ? "types_cuda.h" : "types_c.h");
    text_add(out, "\n");
}

void export_launcher(Text *out, const Export *e) {
    bool cuda = export_is_cuda(e);
    text_printf(out,
                "/* %s.c: launches a kernel that kfuse made. %s.h says how it is used; "
                "-DKF_SELFTEST adds a main that tests it.\n",
                e->name, e->name);
    print_about(out, e);
    text_add(out, " */\n");
    if (!e->header) text_printf(out, "#include \"%s.h\"\n\n", e->name);
    text_printf(out,
                "#include <math.h>\n#include <stdbool.h>\n#include <stdio.h>\n#include "
                "<stdlib.h>\n#include <string.h>\n%s\n",
                cuda ? "#include <dlfcn.h>\n" : "#include <pthread.h>\n");
    print_types(out, e);
    print_tensors(out, e);
    if (cuda) {
        print_entries(out, e);
        if (e->header)
            export_binaries(out, e);
        else
            text_printf(out, "#include \"%s_binaries.h\"\n", e->name);
    } else {
        print_functions(out, e);
    }
    export_reach(out, e);
    text_add(out, "\n");
    export_piece(out, e, "common.c");
    text_add(out, "\n");
    export_piece(out, e, cuda ? "cuda.c" : "c.c");
    export_variants(out, e);
    text_add(out, "\n");
    export_piece(out, e, cuda ? "entry_cuda.c" : "entry_c.c");
    text_add(out, "\n");
    export_piece(out, e, "messages.c");
}
