/* In: a program, how it is to be shipped. Out: files. Points are chosen (kfuse_emit_points.c), sizes
 * become formulas, kernels are compiled for each architecture, and export/ writes. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfuse_objects.h"
#include "tuner/cuda_nvrtc.h"

enum { ARCHS_MOST = 16, SMALL = 1 << 20, LARGE_TEST = 1 << 26 };

/* --- options */

static bool is_identifier(const char *name) {
    if (!isalpha((unsigned char)*name) && *name != '_') return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') return false;
    return strlen(name) < 64;
}

/* "sm_80,sm_90" in ascending order, ended by 0. */
static bool read_archs(const char *text, int archs[ARCHS_MOST + 1]) {
    int count = 0;
    for (const char *at = text; *at;) {
        int arch = 0, length = 0;
        if (sscanf(at, "sm_%d%n", &arch, &length) != 1 || at[3] < '1' || at[3] > '9' ||
            arch > 999 || count == ARCHS_MOST)
            return false;
        at += length;
        if (*at && (*at != ',' || !*++at)) return false;
        int place = count++;
        for (; place > 0 && archs[place - 1] > arch; place--) archs[place] = archs[place - 1];
        archs[place] = arch;
        if (place > 0 && archs[place - 1] == arch) return false;
    }
    archs[count] = 0;
    return count > 0;
}

static KfStatus read_options(KfProgram *program, const KfKernel *kernel, const KfEmitOptions *o,
                             Export *e, int *archs) {
    KfSession *session = program->session;
    bool cpu = kernel ? strcmp(kernel->device->language, "c") == 0
                      : program->device && strncmp(program->device, "cpu", 3) == 0;
    e->name = o->name ? o->name : "kernel";
    e->language = cpu ? "c" : "cuda";
    e->accuracy = cpu ? ACCURACY_C : ACCURACY_CUDA;
    e->header = o->header;
    archs[0] = 0;
    if (!o->folder || !*o->folder)
        return session_say(session, KF_USAGE, "emit needs a folder: -o DIR");
    if (!is_identifier(e->name))
        return session_say(session, KF_USAGE, "--name takes letters, digits and _, not '%s'",
                           e->name);
    if (program->given)
        return session_say(
            session, KF_USAGE,
            "a kernel that is judged by files cannot be emitted: say what it computes");
    if (cpu && o->archs)
        return session_say(session, KF_USAGE, "--arch is CUDA's: C is compiled where it is used");
    if (cpu) return KF_OK;
    const char *text = o->archs ? o->archs
                       : kernel ? kernel->partition->parts[0]->problem.identity->arch
                                : "sm_80,sm_90";
    if (!read_archs(text, archs))
        return session_say(session, KF_USAGE,
                           "--arch takes architectures as sm_80,sm_90, each once, not '%s'", text);
    return KF_OK;
}

/* --- sizes */

static bool same_refs(const Ref *a, const Ref *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (a[i].place != b[i].place || a[i].index != b[i].index) return false;
    return true;
}

static bool same_program(const Ir *a, const Ir *b) {
    Text left = {0}, right = {0};
    ir_print(&left, a, true);
    ir_print(&right, b, true);
    bool same = strcmp(text_string(&left), text_string(&right)) == 0;
    text_free(&left);
    text_free(&right);
    return same;
}

/* Whether two chains cut a program at two shapes in the same way. */
static bool same_cut(const Chain *a, const Chain *b) {
    if (a->steps.count != b->steps.count || a->temporaries.count != b->temporaries.count)
        return false;
    for (uint32_t i = 0; i < a->steps.count; i++) {
        const Step *x = &a->steps.data[i], *y = &b->steps.data[i];
        if (x->inputs.count != y->inputs.count || x->outputs.count != y->outputs.count ||
            !same_refs(x->inputs.data, y->inputs.data, x->inputs.count) ||
            !same_refs(x->outputs.data, y->outputs.data, x->outputs.count) ||
            x->ir->nodes.count != y->ir->nodes.count || !same_program(x->ir, y->ir))
            return false;
    }
    return true;
}

/* The program at a probe's extents, cut as the chain is; NULL if it cannot be. */
static const Chain *cut_alike(KfProgram *program, Arena *arena, const Export *e, const Ir *probe) {
    Uncovered uncovered;
    Chain *whole = arena_new(arena, Chain);
    if (e->chain->steps.count == 1 && e->chain->steps.data[0].ir == e->ir) {
        array_push(arena, &whole->steps, chain_whole(arena, probe));
        return whole;
    }
    Chains chains = fuse(arena, pipeline_library(program, e->language), probe, &uncovered);
    for (uint32_t i = 0; i < chains.list.count; i++)
        if (same_cut(chains.list.data[i], e->chain)) return chains.list.data[i];
    return NULL;
}

static bool free_sizes(KfProgram *program, Arena *arena, Export *e) {
    e->axes = size_axes(arena, e->ir);
    if (e->axes.count == 0) return false;
    for (int i = 0; i < 2; i++)
        if (!(e->axes.chain[i] = cut_alike(program, arena, e, e->axes.probe[i]))) return false;
    for (uint32_t k = 0; k < e->kernels.count; k++) {
        ExportKernel *kernel = &e->kernels.data[k];
        kernel->sizes = size_find(arena, &e->axes, kernel->step, kernel->kernel, kernel->bound);
        if (!kernel->sizes) return false;
    }
    return true;
}

static void find_sizes(KfProgram *program, Arena *arena, Export *e) {
    if (free_sizes(program, arena, e)) return;
    e->axes = (Axes){0};
    for (uint32_t k = 0; k < e->kernels.count; k++)
        e->kernels.data[k].sizes = size_fixed(arena, e->kernels.data[k].bound);
}

/* --- texts and binaries */

static void write_sources(Arena *arena, Export *e) {
    for (uint32_t k = 0; k < e->kernels.count; k++) {
        ExportKernel *kernel = &e->kernels.data[k];
        Text text = {0};
        for (uint32_t i = 0; i < kernel->instances.count; i++)
            template_instantiate(&text, kernel->kernel->template, &kernel->instances.data[i].point,
                                 kernel->instances.data[i].suffix);
        kernel->source = arena_copy(arena, text_string(&text), text.length);
        text_free(&text);
    }
}

static bool compile_one(Arena *arena, const Nvrtc *nvrtc, ExportKernel *kernel, const char *arch,
                        Why *why) {
    const CompileUnit unit = {.source = kernel->source, .name = kernel->kernel->name};
    Text binary = {0};
    Why reason;
    bool good = nvrtc_compile(nvrtc, &unit, arch, &binary, &reason) == OUTCOME_OK;
    if (good)
        array_push(
            arena, &kernel->binaries,
            (ExportBinary){arch, arena_copy(arena, binary.data, binary.length), binary.length});
    text_free(&binary);
    return good ? true
                : why_set(why, "%s does not compile for %s: %.300s", kernel->kernel->name, arch,
                          reason.text);
}

/* A cubin for each architecture, and PTX of the oldest for those that come. */
static KfStatus compile_cuda(KfProgram *program, Arena *arena, const int *archs, Export *e) {
    Nvrtc nvrtc;
    Why why;
    if (!nvrtc_load(&nvrtc, &why))
        return session_say(program->session, KF_ENVIRONMENT, "%s", why.text);
    for (const int *arch = archs; *arch; arch++) {
        NvrtcTarget target;
        if (!nvrtc_target(&nvrtc, arena_printf(arena, "sm_%d", *arch), &target, &why) || target.ptx)
            return session_say(program->session, KF_USAGE, "NVRTC %d.%d does not compile for sm_%d",
                               nvrtc.major, nvrtc.minor, *arch);
    }
    e->compiler = arena_printf(
        arena, "NVRTC %d.%d --fmad=false; nvcc -fmad=false -cubin -arch=sm_%d does as well",
        nvrtc.major, nvrtc.minor, archs[0]);
    for (uint32_t k = 0; k < e->kernels.count; k++) {
        for (const int *arch = archs; *arch; arch++)
            if (!compile_one(arena, &nvrtc, &e->kernels.data[k],
                             arena_printf(arena, "sm_%d", *arch), &why))
                return session_say(program->session, KF_NO_KERNEL, "%s", why.text);
        if (!compile_one(arena, &nvrtc, &e->kernels.data[k],
                         arena_printf(arena, "compute_%d", archs[0]), &why))
            return session_say(program->session, KF_NO_KERNEL, "%s", why.text);
    }
    return KF_OK;
}

/* --- what it says of itself */

static void print_shapes(Text *out, const Ir *ir) {
    for (uint32_t i = 0; i < ir->inputs.count; i++) {
        const IrInput *input = &ir->inputs.data[i];
        text_printf(out, " --shape %s=", input->name);
        for (uint32_t d = 0; d < input->type.rank; d++)
            text_printf(out, "%s%" PRId64, d ? "x" : "", input->type.dim[d]);
        if (!input->type.rank) text_add(out, "scalar");
        text_printf(out, " --dtype %s=%s", input->name, dtype_name(input->type.dtype));
    }
}

/* "sm_80 4096x64 " */
static void print_target(Text *out, const ExportVariant *variant) {
    if (variant->arch) text_printf(out, "sm_%d ", variant->arch);
    for (uint32_t i = 0; i < variant->rank; i++)
        text_printf(out, "%s%" PRId64, i ? "x" : "", variant->extent[i]);
    if (variant->rank) text_add(out, " ");
}

static void print_label(Text *out, const Export *e, const ExportVariant *variant, uint32_t step) {
    const ExportKernel *kernel = &e->kernels.data[variant->kernel[step]];
    const char *label = kernel->instances.data[variant->instance[step]].label;
    bool named =
        strchr(label, ':') || (*label && e->chain->steps.data[step].kernels.list.count == 1);
    if (!named) text_printf(out, "%s:", kernel->kernel->name);
    text_add(out, label);
}

/* The points of all variants, as --point takes them; with the way to cut the program, where it is not the
 * first one. */
static void print_points(Text *out, const Export *e, const char *first_way) {
    text_add(out, " --point '");
    if (strcmp(e->chain->name, first_way) != 0) text_printf(out, "%s: ", e->chain->name);
    for (uint32_t v = 0; v < e->variants.count; v++) {
        if (v) text_add(out, "; "), print_target(out, &e->variants.data[v]);
        for (uint32_t s = 0; s < e->chain->steps.count; s++) {
            if (s) text_add(out, " | ");
            print_label(out, e, &e->variants.data[v], s);
        }
    }
    text_add(out, "'");
}

static const char *first_way(KfProgram *program, Arena *arena, const char *language) {
    Partitions partitions = {0};
    return pipeline_partitions(program, arena, language, &partitions) == KF_OK &&
                   partitions.list.count
               ? partitions.list.data[0].chain->name
               : "";
}

/* A command line has no strides. */
static bool is_packed(const Ir *ir) {
    bool packed = true;
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        packed &= size_is_packed(&ir->inputs.data[i].type, ir->inputs.data[i].strides);
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        packed &= size_is_packed(&ir->outputs.data[o].type, ir->outputs.data[o].strides);
    return packed;
}

static const char *command(Arena *arena, KfProgram *program, const Export *e, const int *archs) {
    const LowerOptions *lower = &program->lower;
    Text text = {0};
    if (!is_packed(e->ir))
        text_add(&text, "kf_emit of kfuse.h, with these strides, which no command line says: ");
    if (program->template)
        text_printf(&text, "kfuse emit %s", program->template->command);
    else
        text_printf(&text, "kfuse emit '%s'", program->expression);
    print_shapes(&text, e->ir);
    for (uint32_t i = 0; i < lower->param_count; i++) {
        text_printf(&text, " --param %s=", lower->params[i].name);
        number_print(&text, lower->params[i].value);
    }
    if (lower->has_out_dtype) text_printf(&text, " --out-dtype %s", dtype_name(lower->out_dtype));
    if (lower->round_each_op) text_add(&text, " --round-each-op");
    if (strcmp(program->math, "default") != 0) text_printf(&text, " --math %s", program->math);
    if (!*archs) text_add(&text, " --device cpu");
    for (const int *a = archs; *a; a++)
        text_printf(&text, "%ssm_%d", a == archs ? " --arch " : ",", *a);
    print_points(&text, e, first_way(program, arena, e->language));
    text_printf(&text, " --name %s%s -o DIR", e->name, e->header ? " --format header" : "");
    const char *copy = arena_copy(arena, text_string(&text), text.length);
    text_free(&text);
    return copy;
}

static const char *numerics(Arena *arena, KfProgram *program, const char *language) {
    const char *done = program_done(program, arena, language);
    return arena_printf(arena,
                        "math %s%s%s; outputs lie in the oracle's intervals (compiler/eval.h)",
                        program->math, *done ? ": " : "", done);
}

/* Bytes of workspace at the program's own shape, by the first variant. */
static KfStatus find_workspace(KfProgram *program, Arena *arena, Export *e) {
    Run run = {0};
    const char *why;
    for (uint32_t t = 0; t < e->chain->temporaries.count; t++)
        e->workspace += (e->chain->temporaries.data[t] + 255) / 256 * 256;
    for (uint32_t s = 0; s < e->chain->steps.count; s++) {
        const ExportKernel *k = &e->kernels.data[e->variants.data[0].kernel[s]];
        const Point *point = &k->instances.data[e->variants.data[0].instance[s]].point;
        if (!tune_run(arena, k->kernel->template, k->bound, point, e->identity, &run, &why))
            return session_say(program->session, KF_NO_KERNEL,
                               "the point does not run on this shape: %s", why);
    }
    for (uint32_t t = 0; t < run.temporaries.count; t++)
        e->workspace += (run.temporaries.data[t] + 255) / 256 * 256;
    return KF_OK;
}

/* --- self-test */

static int64_t most_elements(const Ir *ir) {
    int64_t most = 0;
    for (Value v = 1; v < ir->nodes.count; v++)
        if (type_count(&ir_node(ir, v)->type) > most) most = type_count(&ir_node(ir, v)->type);
    return most;
}

static void add_case(Arena *arena, Export *e, const Ir *ir, const int64_t *axes) {
    array_push(arena, &e->cases, (ExportCase){ir, axes});
}

/* Odd and even extents where they are free, and the program's own shape where it is small or all there is. */
static KfStatus choose_cases(KfProgram *program, Arena *arena, Export *e) {
    static const int64_t extents[][EXPORT_AXES] = {{67, 5, 3, 2, 2, 2, 2, 2, 2, 2},
                                                   {64, 6, 2, 2, 2, 2, 2, 2, 2, 2},
                                                   {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    for (size_t i = 0; i < sizeof extents / sizeof *extents && e->axes.count; i++)
        add_case(arena, e, size_reshape(arena, e->ir, extents[i]), extents[i]);
    if (e->axes.count && most_elements(e->ir) > SMALL) return KF_OK;
    if (most_elements(e->ir) > LARGE_TEST)
        return session_say(
            program->session, KF_NO_KERNEL,
            "a program of this size and fixed shape has no self-test: emit it at a smaller shape");
    add_case(arena, e, e->ir, e->axes.extent);
    return KF_OK;
}

/* --- all together */

static void summarise(Text *out, const Export *e, const ExportFiles *files, const char *folder) {
    for (uint32_t v = 0; v < e->variants.count; v++) {
        const ExportVariant *variant = &e->variants.data[v];
        text_add(out, "point      ");
        for (uint32_t s = 0; s < e->chain->steps.count; s++) {
            const ExportKernel *k = &e->kernels.data[variant->kernel[s]];
            text_printf(out, "%s%s", s ? " | " : "", k->instances.data[variant->instance[s]].label);
        }
        if (variant->arch) text_printf(out, "   sm_%d", variant->arch);
        text_printf(out, "   %s", variant->origin);
        if (variant->time > 0) text_add(out, ", "), report_time(out, variant->time);
        text_add(out, "\n");
    }
    text_printf(out, "shapes     %s\n",
                e->axes.count ? "free: any extents of these axes" : "fixed: this one");
    if (e->workspace) text_printf(out, "workspace  %" PRId64 " bytes\n", e->workspace);
    for (uint32_t i = 0; i < files->list.count; i++)
        text_printf(out, "wrote      %s/%s   %zu bytes\n", folder, files->list.data[i].name,
                    files->list.data[i].text.length);
    for (uint32_t i = 0; i < files->removed.count; i++)
        text_printf(out, "removed    %s/%s   of an earlier emit\n", folder, files->removed.data[i]);
}

static KfStatus fill(KfProgram *program, const KfKernel *kernel, const KfEmitOptions *o,
                     const int *archs, Arena *arena, Export *e) {
    KfStatus status = emit_points(program, kernel, o->point, archs, arena, e);
    if (status != KF_OK) return status;
    find_sizes(program, arena, e);
    write_sources(arena, e);
    e->compiler = "cc -O2 -march=native -std=gnu11 -fno-math-errno -fno-trapping-math "
                  "-ftree-vectorize -ffp-contract=off -w -c; link with -lmvec -lm -lpthread";
    status = find_workspace(program, arena, e);
    if (status == KF_OK && *archs) status = compile_cuda(program, arena, archs, e);
    if (status != KF_OK) return status;
    e->expression = program->expression;
    e->command = command(arena, program, e, archs);
    e->numerics = numerics(arena, program, e->language);
    return choose_cases(program, arena, e);
}

KfStatus kf_emit(KfProgram *program, const KfKernel *kernel, const KfEmitOptions *options,
                 char **summary) {
    int archs[ARCHS_MOST + 1];
    ExportFiles files = {0};
    Text text = {0};
    Why why;
    text_clear(&program->session->message);
    *summary = NULL;
    Export e = {0};
    KfStatus status = read_options(program, kernel, options, &e, archs);
    if (status != KF_OK) return status;
    Arena *arena = arena_open();
    e.ir = program_ir(program, e.language);
    status = fill(program, kernel, options, archs, arena, &e);
    if (status == KF_OK && !export_files(arena, &e, &files, &why))
        status = session_say(program->session, KF_ENVIRONMENT, "%s", why.text);
    if (status == KF_OK && !export_fits(arena, &e, &files, options->folder, &why))
        status = session_say(program->session, KF_USAGE, "%s", why.text);
    if (status == KF_OK && !export_write(arena, &e, &files, options->folder, &why))
        status = session_say(program->session, KF_ENVIRONMENT, "%s", why.text);
    if (status == KF_OK) {
        summarise(&text, &e, &files, options->folder);
        status = session_give(&text, summary);
    }
    export_files_free(&files);
    arena_close(arena);
    return status;
}
