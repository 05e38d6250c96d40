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

static const char cuda_interface[] =
    "typedef struct @NAME@_Kernel @NAME@_Kernel;\n"
    "/* For the calling thread's current context; no other dependency than the driver. */\n"
    "int @NAME@_open(@NAME@_Kernel **kernel);\n"
    "void @NAME@_close(@NAME@_Kernel *kernel);\n"
    "/* Bytes for arrays of these shapes, 0: none is needed; negative: these shapes are not taken. "
    "*/\n"
    "int64_t @NAME@_workspace(const @NAME@_Kernel *kernel, const KfView *inputs);\n"
    "/* Enqueues on `stream` (a CUstream; NULL: the default one) of the context in which it was "
    "opened. Device pointers.\n"
    " * `workspace` is aligned to 256 bytes and in use until the kernels are done. KF_CALL_OK, or "
    "why not. */\n"
    "int @NAME@_launch(const @NAME@_Kernel *kernel, const KfView *inputs, const KfView *outputs, "
    "void *workspace,\n"
    "    size_t workspace_bytes, void *stream);\n";

static const char c_interface[] = "/* Bytes for arrays of these shapes, 0: none is needed; "
                                  "negative: these shapes are not taken. */\n"
                                  "int64_t @NAME@_workspace(const KfView *inputs, int threads);\n"
                                  "/* Runs on at most `threads` threads and returns when done; any "
                                  "thread may call. `workspace` is aligned to 256 bytes.\n"
                                  " * KF_CALL_OK, or why not. */\n"
                                  "int @NAME@_launch(const KfView *inputs, const KfView *outputs, "
                                  "void *workspace, size_t workspace_bytes, int threads);\n";

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
    add_named(out, e, export_is_cuda(e) ? cuda_interface : c_interface);
    add_named(out, e, "const char *@NAME@_error(int status);\n");
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
    int64_t packed = 1;
    for (uint32_t i = type->rank; i-- > 0; packed *= type->dim[i])
        if (type->dim[i] > 1 && strides[i] != packed) return strides;
    return NULL;
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

static const char cuda_types[] =
    "typedef struct Entry {\n    int file;\n    const char *name, *twin;\n    uintptr_t "
    "alignment;\n} Entry;\n"
    "typedef struct Binary {\n    int file, arch, ptx;\n    const void *bytes;\n} Binary;\n"
    "typedef struct Launch {\n    int entry;\n    bool legal;\n    uintptr_t address; /* all "
    "arrays' bits */\n"
    "    int64_t grid[3], block[3], cluster, shared, dependent;\n} Launch;\n"
    "typedef struct Call {\n    const @NAME@_Kernel *kernel;\n    const int64_t *axes;\n    "
    "int64_t sms;\n"
    "    void *buffers[BUFFERS]; /* inputs, outputs, temporaries */\n    void *stream;\n} Call;\n";

static const char c_types[] =
    "typedef struct Launch {\n    void (*entry)(void *const *args, int64_t part, int64_t parts);\n "
    "   bool legal;\n"
    "    int64_t grid, parts; /* grid 0: nothing is to be done */\n} Launch;\n"
    "typedef struct Call {\n    const int64_t *axes;\n    int64_t cpus, bytes; /* of all arrays "
    "*/\n"
    "    void *buffers[BUFFERS]; /* inputs, outputs, temporaries */\n} Call;\n";

static void print_types(Text *out, const Export *e) {
    text_printf(out, "enum { AXES = %u, FILES = %u, BUFFERS = %u, TEMPORARIES = %u };\n",
                e->axes.count ? e->axes.count : 1, e->kernels.count,
                array_count(e) + export_temporaries(e),
                export_temporaries(e) ? export_temporaries(e) : 1);
    text_add(out, "\n");
    text_add(out,
             "/* axis: of the extents that are free, or -1: it is `dim`. strides NULL: row-major. "
             "updates: the input that\n"
             " * the output takes the place of, or -1. */\n"
             "typedef struct Tensor {\n    const char *name;\n    int32_t type, rank;\n    int8_t "
             "axis[8];\n"
             "    int64_t dim[8];\n    const int64_t *strides;\n    int updates;\n} Tensor;\n");
    add_named(out, e, export_is_cuda(e) ? cuda_types : c_types);
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
        text_printf(out, e->header ? "@BINARIES@" : "#include \"%s_binaries.h\"\n", e->name);
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
