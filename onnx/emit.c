/* In: regions. Out: a tuned kernel for each different one, as files. */
#include "onnx/emit.h"

#include <string.h>

/* Warnings are about names, which are the model's. */
static KfStatus told(const OnnxTarget *target, KfStatus status) {
    if (status != KF_OK) fputs(kf_session_message(target->session), stderr);
    return status;
}

/* The C files that a summary names: "wrote      DIR/r1.c   45094 bytes". */
static void add_sources(Arena *arena, const char *summary, OnnxFiles *files) {
    for (const char *line = summary; line && *line;) {
        const char *end = strchr(line, '\n'), *stop = end ? end : line + strlen(line);
        const char *path = line + strlen("wrote"), *behind = NULL;
        if (strncmp(line, "wrote ", 6) == 0) {
            while (*path == ' ') path++;
            for (const char *at = path; at + 5 < stop; at++)
                if (strncmp(at, ".c   ", 5) == 0) behind = at + 2;
        }
        if (behind)
            array_push(arena, &files->sources, arena_copy(arena, path, (size_t)(behind - path)));
        line = end ? end + 1 : NULL;
    }
}

/* Without its device a program is emitted with a stored point, or the analytic default. */
static KfStatus tune(const OnnxTarget *target, const OnnxOptions *options, KfProgram *program,
                     KfKernel **kernel) {
    if (options->tune->no_tune) return KF_OK;
    KfStatus status = told(target, kf_tune(program, options->tune, kernel));
    if (status != KF_ENVIRONMENT) return status;
    fputs("kfuse: emitting without a device: a stored point, or the analytic default\n", stderr);
    return KF_OK;
}

static void tell(FILE *out, const OnnxRegion *region, const KfKernel *kernel, const char *folder) {
    KfResult result = kernel ? kf_kernel_result(kernel) : (KfResult){0};
    fprintf(out, "%-4s %s/%s.c", region->name, folder, region->name);
    if (result.time > 0) fprintf(out, "   %.4g us", result.time * 1e6);
    if (result.speedup > 0)
        fprintf(out, ", %.2fx as fast as a kernel for each operation of its own", result.speedup);
    fprintf(out, "%s\n", result.cached ? " (stored)" : "");
}

/* What a node costs in ONNX Runtime beside its kernel: a chain of 120 on 2x3 elements takes 0.19 to 0.22 us
 * for each more, one of our operators 0.17 to 0.24 us (1.32 on an AMD EPYC, a session of one thread). */
static const double node_cost = 0.2e-6;

/* Whether one kernel takes longer than those it stands for, as far as was measured. */
static bool loses(FILE *out, const OnnxRegion *region, const KfKernel *kernel) {
    KfResult result = kernel ? kf_kernel_result(kernel) : (KfResult){0};
    double apart = result.eager_time + node_cost * (region->program.computed - 1);
    if (!(result.eager_time > 0) || result.time < apart) return false;
    fprintf(out, "%-4s one kernel takes %.4g us, its nodes %.4g us\n", region->name,
            result.time * 1e6, apart * 1e6);
    return true;
}

static KfStatus emit_region(const OnnxRegion *region, const OnnxTarget *target,
                            const OnnxOptions *options, FILE *out, Arena *arena, OnnxFiles *files) {
    KfEmitOptions emit = {.folder = options->folder, .name = region->name};
    KfProgram *program = NULL;
    KfKernel *kernel = NULL;
    char *summary = NULL;
    KfStatus status = told(target, onnx_open(target, &region->program, &program));
    if (status == KF_OK) status = tune(target, options, program, &kernel);
    if (status == KF_OK && target->runtime && loses(out, region, kernel)) status = KF_NO_KERNEL;
    if (status == KF_OK) status = told(target, kf_emit(program, kernel, &emit, &summary));
    if (status == KF_OK) tell(out, region, kernel, options->folder);
    if (status == KF_OK) add_sources(arena, summary, files);
    kf_free(summary);
    kf_kernel_close(kernel);
    kf_program_close(program);
    return status;
}

/* Leaves out the regions that would call a kernel that does not work; their nodes stay. */
static void drop(OnnxRegions *regions, const bool *failed) {
    uint32_t count = regions->list.count, kept = 0;
    uint32_t *to = arena_array(regions->graph->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        to[i] = failed[regions->list.data[i].same_as] ? ONNX_NONE : kept++;
    for (uint32_t i = 0; i < count; i++) {
        OnnxRegion region = regions->list.data[i];
        region.same_as = to[region.same_as];
        region.same_op = to[region.same_op];
        if (to[i] != ONNX_NONE) regions->list.data[to[i]] = region;
    }
    for (uint32_t n = 0; n < regions->graph->nodes.count; n++)
        if (regions->of[n] != ONNX_NONE) regions->of[n] = to[regions->of[n]];
    regions->list.count = kept;
}

KfStatus onnx_emit(OnnxRegions *regions, const OnnxTarget *target, const OnnxOptions *options,
                   FILE *out, OnnxFiles *files) {
    bool *failed = arena_array(regions->graph->arena, bool, regions->list.count);
    KfStatus status = KF_OK;
    fputs("\n", out);
    for (uint32_t i = 0; i < regions->list.count && status == KF_OK; i++) {
        const OnnxRegion *region = &regions->list.data[i];
        if (region->same_as != i) continue;
        status = emit_region(region, target, options, out, regions->graph->arena, files);
        fflush(out);
        if (status != KF_NO_KERNEL) continue;
        fprintf(stderr, "kfuse: %s: its nodes stay as they are\n", region->name);
        failed[i] = true;
        status = KF_OK;
    }
    if (status == KF_OK) drop(regions, failed);
    return status == KF_OK && regions->list.count == 0 ? KF_NO_KERNEL : status;
}
