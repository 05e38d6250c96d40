/* In: regions, their emitted kernels. Out: a library of custom operators for ONNX Runtime. What is the same
 * for all models is texts/ort_ops.c; here are the table that it includes, and the compiler's run. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "compiler/base/embed.h"
#include "compiler/base/text.h"
#include "onnx/constant.h"
#include "onnx/rewrite.h"

extern char **environ;

/* As emitted kernels are to be compiled (doc/exporting.md). */
static const char *const before[] = {"-shared",
                                     "-fPIC",
                                     "-fvisibility=hidden",
                                     "-O2",
                                     "-std=gnu11",
                                     "-fno-math-errno",
                                     "-fno-trapping-math",
                                     "-ftree-vectorize",
                                     "-ffp-contract=off",
                                     "-w",
                                     "-o"};
static const char *const behind[] = {"-lmvec", "-lm", "-lpthread", "-Wl,-z,defs"};

enum { BEFORE = sizeof before / sizeof *before, BEHIND = sizeof behind / sizeof *behind };

/* --- the table */

static const char *view_type(KfType type) {
    static const char *const names[] = {[KF_BOOL] = "BOOL", [KF_U8] = "U8",   [KF_I8] = "I8",
                                        [KF_I32] = "I32",   [KF_I64] = "I64", [KF_F16] = "F16",
                                        [KF_BF16] = "BF16", [KF_F32] = "F32", [KF_F64] = "F64"};
    return names[type];
}

static void add_list(Text *text, const int64_t *dim, int rank) {
    text_add(text, "{");
    for (int i = 0; i < rank; i++) text_printf(text, "%s%lld", i ? ", " : "", (long long)dim[i]);
    text_add(text, rank ? "}" : "0}");
}

/* Row-major. */
static void add_strides(Text *text, const OnnxPort *port) {
    int64_t strides[KF_RANK_MAX], packed = 1;
    for (int i = port->rank - 1; i >= 0; packed *= port->dim[i--]) strides[i] = packed;
    add_list(text, strides, port->rank);
}

static void add_ports(Text *text, const OnnxGraph *graph, const char *name, const char *kind,
                      const OnnxPort *ports, uint32_t count) {
    text_printf(text, "static const Port %s_%s[] = {\n", name, kind);
    for (uint32_t i = 0; i < count; i++) {
        const OnnxTensor *tensor = &graph->tensors.data[ports[i].tensor];
        text_printf(text, "    {%d, KF_VIEW_%s, %d, ", (int)tensor->type, view_type(ports[i].type),
                    ports[i].rank);
        add_list(text, ports[i].dim, ports[i].rank);
        text_add(text, ", ");
        add_strides(text, &ports[i]);
        text_printf(text, ", %d, ", tensor->shape.rank);
        add_list(text, tensor->shape.dim, tensor->shape.rank);
        text_printf(text, ", %zu, %lld},\n", kf_type_size(onnx_type(tensor->type)),
                    (long long)onnx_bytes(tensor));
    }
    if (count == 0) text_add(text, "    {0},\n");
    text_add(text, "};\n");
}

static void add_types(Text *text) {
    text_add(text, "/* An array of a kernel: ONNX's element type, the view's type, extents and "
                   "strides, the tensor's shape and bytes. */\n"
                   "typedef struct Port {\n"
                   "    int element, type, rank;\n"
                   "    int64_t dim[8], strides[8];\n"
                   "    int shape_rank;\n"
                   "    int64_t shape[8];\n"
                   "    size_t element_bytes, bytes;\n"
                   "} Port;\n\n"
                   "typedef struct Region {\n"
                   "    const char *name;\n"
                   "    const Port *inputs, *outputs;\n"
                   "    size_t input_count, output_count;\n"
                   "    int64_t (*workspace)(const KfView *inputs, int threads);\n"
                   "    int (*launch)(const KfView *inputs, const KfView *outputs, void "
                   "*workspace, size_t bytes,\n"
                   "                  int threads, KfRun *run, void *pool);\n"
                   "    const char *(*error)(int status);\n"
                   "} Region;\n\n");
}

/* Of the operator with the most. */
static uint32_t ports_most(const OnnxRegions *regions) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < regions->list.count; i++) {
        const OnnxProgram *program = &regions->list.data[i].program;
        uint32_t count = program->input_count + program->output_count;
        if (most < count) most = count;
    }
    return most;
}

static void add_regions(Text *text, const OnnxRegions *regions) {
    for (uint32_t i = 0; i < regions->list.count; i++) {
        const OnnxRegion *region = &regions->list.data[i];
        if (region->same_op != i) continue;
        add_ports(text, regions->graph, region->name, "inputs", region->program.inputs,
                  region->program.input_count);
        add_ports(text, regions->graph, region->name, "outputs", region->program.outputs,
                  region->program.output_count);
    }
    text_printf(text, "\nenum { PORTS = %u }; /* arrays of an operator, at most */\n",
                ports_most(regions));
    text_add(text, "static const Region regions[] = {\n");
    for (uint32_t i = 0; i < regions->list.count; i++) {
        const OnnxRegion *region = &regions->list.data[i];
        const char *name = region->name, *kernel = regions->list.data[region->same_as].name;
        if (region->same_op == i)
            text_printf(text,
                        "    {\"%s\", %s_inputs, %s_outputs, %u, %u, %s_workspace, %s_launch_on, "
                        "%s_error},\n",
                        name, name, name, region->program.input_count, region->program.output_count,
                        kernel, kernel, kernel);
    }
    text_add(text, "};\n");
}

static KfStatus write_table(const OnnxRegions *regions, const char *path) {
    Text text = {0};
    text_add(
        &text,
        "/* What ort_ops.c calls: kernels that kfuse made for one model. */\n#include <stddef.h>\n"
        "#include <stdint.h>\n\n");
    for (uint32_t i = 0; i < regions->list.count; i++)
        if (regions->list.data[i].same_as == i)
            text_printf(&text, "#include \"%s.h\"\n", regions->list.data[i].name);
    text_add(&text, "\n");
    add_types(&text);
    add_regions(&text, regions);
    KfStatus status = onnx_write(path, text_string(&text), text.length);
    text_free(&text);
    return status;
}

/* --- the compiler */

static const char *compiler(void) {
    const char *wanted = getenv("CC");
    return wanted && *wanted ? wanted : "cc";
}

/* As the kernels were compiled that were tuned. */
static char *machine(Arena *arena) {
    const char *isa = getenv("KFUSE_CPU_ISA");
    return arena_printf(arena, "-march=%s", isa && *isa ? isa : "native");
}

static KfStatus compile(Arena *arena, const char *source, const OnnxFiles *files,
                        const char *library) {
    char **words = arena_array(arena, char *, files->sources.count + BEFORE + BEHIND + 5);
    uint32_t count = 0;
    int how = 0;
    pid_t child;
    words[count++] = (char *)(uintptr_t)compiler();
    words[count++] = machine(arena);
    for (int i = 0; i < BEFORE; i++) words[count++] = (char *)(uintptr_t)before[i];
    words[count++] = (char *)(uintptr_t)library;
    words[count++] = (char *)(uintptr_t)source;
    for (uint32_t i = 0; i < files->sources.count; i++)
        words[count++] = (char *)(uintptr_t)files->sources.data[i];
    for (int i = 0; i < BEHIND; i++) words[count++] = (char *)(uintptr_t)behind[i];
    int error = posix_spawnp(&child, words[0], NULL, NULL, words, environ);
    if (error) {
        fprintf(stderr, "kfuse: cannot run the C compiler '%s': %s\n", words[0], strerror(error));
        return KF_ENVIRONMENT;
    }
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR) break;
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return KF_OK;
    fprintf(stderr, "kfuse: the C compiler '%s' did not build '%s'\n", words[0], library);
    return KF_ENVIRONMENT;
}

KfStatus onnx_build_ops(const OnnxRegions *regions, const OnnxOptions *options,
                        const OnnxFiles *files, const char **path) {
    Arena *arena = regions->graph->arena;
    const char *source = arena_printf(arena, "%s/ort_ops.c", options->folder);
    const char *beside = arena_printf(arena, "%s/libkfuse_ops.so.new", options->folder);
    *path = arena_printf(arena, "%s/libkfuse_ops.so", options->folder);
    KfStatus status = onnx_write(source, onnx_texts[0].text, onnx_texts[0].length);
    if (status == KF_OK)
        status = write_table(regions, arena_printf(arena, "%s/ort_regions.h", options->folder));
    if (status == KF_OK) status = compile(arena, source, files, beside);
    if (status == KF_OK && rename(beside, *path) != 0) {
        fprintf(stderr, "kfuse: cannot write '%s': %s\n", *path, strerror(errno));
        status = KF_ENVIRONMENT;
    }
    return status;
}
