/* Numbers of arrays in, a streaming kernel out. One idea: the kernel is written by hand, for any
 * number of arrays; what is made here are the lines and lists that name them. */
#include <stdlib.h>
#include <string.h>

#include "compiler/emit.h"
#include "compiler/language.h"

static void print_list(Text *out, const char *macro, const char *format, uint32_t first,
                       uint32_t count, const char *end) {
    text_printf(out, "#define %s ", macro);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) text_add(out, ", ");
        for (const char *at = format; *at; at++)
            if (*at == '#')
                text_printf(out, "%u", first + i);
            else
                text_add_bytes(out, at, 1);
    }
    text_printf(out, "%s\n", count ? end : "");
}

/* max(bytes0, max(bytes1, bytes2)) */
static void print_most(Text *out, uint32_t count) {
    for (uint32_t i = 0; i + 1 < count; i++) text_printf(out, "max(bytes%u, ", i);
    text_printf(out, "bytes%u", count - 1);
    for (uint32_t i = 0; i + 1 < count; i++) text_add(out, ")");
}

static void print_head(Text *out, uint32_t reads, uint32_t writes) {
    text_add(out, "//! kernel   kf_stream\n");
    for (uint32_t i = 0; i < reads; i++)
        text_printf(out, "//! input    in%u[bytes%u] : u8\n", i, i);
    for (uint32_t i = 0; i < writes; i++)
        text_printf(out, "//! output   out%u[bytes%u] : u8\n", i, reads + i);
    text_add(out, "//! args    ");
    for (uint32_t i = 0; i < reads; i++) text_printf(out, " in%u", i);
    for (uint32_t i = 0; i < writes; i++) text_printf(out, " out%u", i);
    for (uint32_t i = 0; i < reads + writes; i++) text_printf(out, " bytes%u", i);
}

static void print_launch(Text *out, bool cuda, uint32_t count) {
    text_add(out,
             cuda ? "\n//! launch   grid = ceildiv("
                  : "\n//! launch   block = __THREADS__ ? __THREADS__ : max(1, min(cpus, ceildiv(");
    print_most(out, count);
    text_add(out, cuda ? ", 16 * __BLOCK__ * __UNROLL__)  block = __BLOCK__  dependent = 1\n"
                       : ", 65536)))\n");
}

static void print_macros(Text *out, uint32_t reads, uint32_t writes) {
    text_printf(out, "#define KF_READS %u\n#define KF_WRITES %u\n", reads, writes);
    print_list(out, "KF_INPUTS", "in#", 0, reads, ",");
    print_list(out, "KF_OUTPUTS", "out#", 0, writes, "");
    print_list(out, "KF_BYTES", "bytes#", 0, reads + writes, "");
    print_list(out, "KF_READ_PARAMETERS", "const uint4 *in#", 0, reads, ",");
    print_list(out, "KF_WRITE_PARAMETERS", "uint4 *out#", 0, writes, ",");
    print_list(out, "KF_BYTE_PARAMETERS", "const long long bytes#", 0, reads + writes, "");
    text_add(out,
             "#define KF_PARAMETERS KF_READ_PARAMETERS KF_WRITE_PARAMETERS KF_BYTE_PARAMETERS\n");
}

const Template *emit_stream(Arena *arena, const char *language, uint32_t reads, uint32_t writes) {
    bool cuda = strcmp(language, "cuda") == 0;
    const char *hand =
        emit_text(cuda ? "registry/templates/stream.cu" : "registry/templates/stream.c");
    Text text = {0};
    print_head(&text, reads, writes);
    print_launch(&text, cuda, reads + writes);
    print_macros(&text, reads, writes);
    text_add(&text, strstr(hand, "//! knob"));
    const Template *template = emit_finish(arena, "kf_stream", cuda ? "cuda" : "c", &text);
    text_free(&text);
    return template;
}
