/* In: an Export. Out: its files in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/export.h"

const char *export_stem(Arena *arena, const Export *e, uint32_t index) {
    const char *stem = export_is_cuda(e) ? e->name : arena_printf(arena, "%s_kernel", e->name);
    return index ? arena_printf(arena, "%s_%u", stem, index + 1) : stem;
}

void export_comment(Text *out, const char *text) {
    for (; *text; text++) {
        bool mark = (text[0] == '*' && text[1] == '/') || (text[0] == '/' && text[1] == '*');
        text_printf(out, mark ? "%c " : "%c", text_is_control(*text) ? ' ' : *text);
    }
}

static bool is_ptx(const ExportBinary *binary) {
    return strncmp(binary->arch, "compute_", 8) == 0;
}

static int arch_number(const ExportBinary *binary) {
    int number = 0;
    sscanf(strchr(binary->arch, '_'), "_%d", &number);
    return number;
}

static void add_file(Arena *arena, ExportFiles *files, const char *name, Text *text) {
    array_push(arena, &files->list, (ExportFile){name, *text});
    *text = (Text){0};
}

/* --- binaries as C */

static void print_bytes(Text *out, const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        text_printf(out, "%s%u,", i % 24 == 0 ? "\n    " : "", bytes[i]);
    text_add(out, "\n");
}

void export_binaries(Text *out, const Export *e) {
    for (uint32_t k = 0; k < e->kernels.count; k++)
        for (uint32_t b = 0; b < e->kernels.data[k].binaries.count; b++) {
            const ExportBinary *binary = &e->kernels.data[k].binaries.data[b];
            text_printf(
                out, "static const unsigned char binary_%u_%s[] __attribute__((aligned(64))) = {",
                k, binary->arch);
            print_bytes(out, binary->bytes, binary->size);
            text_add(out, "};\n");
        }
    text_add(out,
             "/* file, architecture, 1: PTX, the bytes */\nstatic const Binary binaries[] = {\n");
    for (uint32_t k = 0; k < e->kernels.count; k++)
        for (uint32_t b = 0; b < e->kernels.data[k].binaries.count; b++) {
            const ExportBinary *binary = &e->kernels.data[k].binaries.data[b];
            text_printf(out, "    {%u, %d, %d, binary_%u_%s},\n", k, arch_number(binary),
                        is_ptx(binary), k, binary->arch);
        }
    text_add(out, "};\n");
}

/* --- each kernel's */

static void add_kernel(Arena *arena, const Export *e, uint32_t index, ExportFiles *files) {
    const ExportKernel *kernel = &e->kernels.data[index];
    const char *stem = export_stem(arena, e, index);
    Text text = {0};
    text_printf(&text, "// %s: %s\n// Made by: ", e->name, kernel->kernel->name);
    export_comment(&text, e->command);
    text_printf(&text, "\n// Compiled as: %s\n\n", e->compiler);
    text_add(&text, kernel->source);
    add_file(arena, files, arena_printf(arena, export_is_cuda(e) ? "%s.cu" : "%s.c", stem), &text);
    for (uint32_t b = 0; b < kernel->binaries.count && !e->header; b++) {
        const ExportBinary *binary = &kernel->binaries.data[b];
        size_t size = binary->size - (is_ptx(binary) && binary->size > 0); /* PTX ends in a NUL */
        text_add_bytes(&text, binary->bytes, size);
        add_file(arena, files,
                 is_ptx(binary) ? arena_printf(arena, "%s.ptx", stem)
                                : arena_printf(arena, "%s.%s.cubin", stem, binary->arch),
                 &text);
    }
}

/* --- the launcher, in two files or one */

static bool add_parts(Arena *arena, const Export *e, ExportFiles *files, Why *why) {
    Text text = {0};
    export_header(&text, e);
    add_file(arena, files, arena_printf(arena, "%s.h", e->name), &text);
    export_launcher(&text, e);
    bool good = export_selftest(&text, e, why);
    add_file(arena, files, arena_printf(arena, "%s.c", e->name), &text);
    if (export_is_cuda(e)) {
        export_binaries(&text, e);
        add_file(arena, files, arena_printf(arena, "%s_binaries.h", e->name), &text);
    }
    return good;
}

/* Declarations for all who include it; the rest where NAME_IMPLEMENTATION is defined, once. */
static bool add_whole(Arena *arena, const Export *e, ExportFiles *files, Why *why) {
    Text text = {0};
    export_header(&text, e);
    text_printf(&text, "\n#ifdef %s_IMPLEMENTATION\n", e->name);
    for (uint32_t k = 0; k < e->kernels.count && !export_is_cuda(e); k++)
        text_add(&text, e->kernels.data[k].source);
    export_launcher(&text, e);
    bool good = export_selftest(&text, e, why);
    text_add(&text, "#endif\n");
    add_file(arena, files, arena_printf(arena, "%s.h", e->name), &text);
    return good;
}

bool export_files(Arena *arena, const Export *e, ExportFiles *files, Why *why) {
    Text manifest = {0};
    for (uint32_t k = 0; k < e->kernels.count && (export_is_cuda(e) || !e->header); k++)
        add_kernel(arena, e, k, files);
    if (!(e->header ? add_whole(arena, e, files, why) : add_parts(arena, e, files, why)))
        return false;
    export_manifest(&manifest, e, files);
    add_file(arena, files, arena_printf(arena, "%s.json", e->name), &manifest);
    return true;
}

void export_files_free(ExportFiles *files) {
    for (uint32_t i = 0; i < files->list.count; i++) text_free(&files->list.data[i].text);
}
