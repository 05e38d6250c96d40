/* In: an Export's variants. Out: their part of NAME.c: for each a function that computes sizes and launches,
 * and one that lays out its workspace; which of them a call takes. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "export/formula.h"
#include "tuner/tune.h"

/* --- a variant */

static uint32_t entry_number(const Export *e, uint32_t kernel, uint32_t instance, uint32_t launch) {
    uint32_t number = 0;
    for (uint32_t k = 0; k < kernel; k++)
        number += e->kernels.data[k].instances.count *
                  e->kernels.data[k].kernel->template->launches.count;
    return number + instance * e->kernels.data[kernel].kernel->template->launches.count + launch;
}

typedef struct Writer {
    Text *out;
    const Export *e;
    Formula formula;
    const ExportKernel *kernel;
    const ExportInstance *instance;
    const Step *step;
    uint32_t before; /* temporaries of the run ahead of the step's workspace */
} Writer;

static bool has_workspace(const ExportKernel *kernel) {
    return kernel->kernel->template->workspace_ast != NULL;
}

static Writer writer_at(Arena *arena, Text *out, const Export *e, const ExportVariant *variant,
                        uint32_t step) {
    const ExportKernel *kernel = &e->kernels.data[variant->kernel[step]];
    const ExportInstance *instance = &kernel->instances.data[variant->instance[step]];
    Writer w = {out,
                e,
                formula_open(arena, &kernel->kernel->template->space, &instance->point,
                             kernel->sizes, kernel->bound->sizes.count),
                kernel,
                instance,
                &e->chain->steps.data[step],
                e->chain->temporaries.count};
    for (uint32_t s = 0; s < step; s++)
        w.before += has_workspace(&e->kernels.data[variant->kernel[s]]);
    return w;
}

/* "&call->buffers[2]", or the address of a number. */
static void print_argument(Writer *w, const char *name) {
    const Bound *bound = w->kernel->bound;
    uint32_t own = w->step->ir->inputs.count + w->step->ir->outputs.count;
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        if (strcmp(bound->tensors.data[i].name, name) == 0) {
            text_printf(w->out, "&call->buffers[%u]",
                        chain_rename(w->e->ir, w->step, w->before, bound->tensors.data[i].buffer));
            return;
        }
    if (strcmp(name, "workspace") == 0 && has_workspace(w->kernel)) {
        text_printf(w->out, "&call->buffers[%u]", chain_rename(w->e->ir, w->step, w->before, own));
        return;
    }
    text_add(w->out, "(void *)&");
    if (!formula_size(w->out, &w->formula, name)) formula_name(w->out, name);
}

/* C has no literal of the least whole number, of infinity and of NaN. */
static void print_whole(Text *out, int64_t value) {
    if (value == INT64_MIN)
        text_add(out, "INT64_MIN;\n");
    else
        text_printf(out, "%" PRId64 ";\n", value);
}

static void print_real(Text *out, double given, bool f64) {
    double value = f64 ? given : (double)(float)given;
    if (isnan(value))
        text_add(out, "NAN;\n");
    else if (isinf(value))
        text_add(out, value < 0 ? "-INFINITY;\n" : "INFINITY;\n");
    else if (f64)
        text_printf(out, "%a;\n", value);
    else
        text_printf(out, "%af; /* %.9g */\n", value, given);
}

static void print_scalar(Text *out, const BoundScalar *scalar) {
    bool whole = scalar->dtype == DT_I64, f64 = scalar->dtype == DT_F64;
    text_printf(out, "    const %s ", whole ? "int64_t" : f64 ? "double" : "float");
    formula_name(out, scalar->name);
    text_add(out, " = ");
    if (whole)
        print_whole(out, scalar->value.whole);
    else
        print_real(out, scalar->value.real, f64);
}

static void print_extents(Writer *w, const char *field, const Ast *ast, const Node *nodes) {
    text_printf(w->out, ".%s = {", field);
    for (int i = 0; i < 3; i++) {
        if (i) text_add(w->out, ", ");
        formula_print(w->out, &w->formula, ast, nodes[i], 1);
    }
    text_add(w->out, "}");
}

static void print_address(Writer *w) {
    const Bound *bound = w->kernel->bound;
    for (uint32_t i = 0; i < bound->tensors.count; i++)
        text_printf(w->out, "%s(uintptr_t)call->buffers[%u]", i ? " | " : "",
                    chain_rename(w->e->ir, w->step, w->before, bound->tensors.data[i].buffer));
}

static void print_launch_cuda(Writer *w, const TemplateLaunch *launch, uint32_t number) {
    text_printf(w->out, "    Launch launch_%u = {.entry = %u, .legal = ", number, number);
    formula_require(w->out, &w->formula);
    text_add(w->out, ",\n        .address = ");
    print_address(w);
    text_add(w->out, ",\n        ");
    print_extents(w, "grid", launch->ast, launch->grid);
    text_add(w->out, ",\n        ");
    print_extents(w, "block", launch->ast, launch->block);
    text_add(w->out, ",\n        .cluster = ");
    formula_print(w->out, &w->formula, launch->ast, launch->cluster, 1);
    text_add(w->out, ", .shared = ");
    formula_print(w->out, &w->formula, launch->ast, launch->shared, 0);
    text_add(w->out, ", .dependent = ");
    formula_print(w->out, &w->formula, launch->ast, launch->dependent, 0);
    text_add(w->out, "};\n");
}

static void print_launch_c(Writer *w, const TemplateLaunch *launch, uint32_t number) {
    text_printf(w->out, "    Launch launch_%u = {.entry = %s%s, .legal = ", number, launch->entry,
                w->instance->suffix);
    formula_require(w->out, &w->formula);
    text_add(w->out, ",\n        .grid = ");
    formula_print(w->out, &w->formula, launch->ast, launch->grid[0], 1);
    text_add(w->out, ", .parts = ");
    formula_print(w->out, &w->formula, launch->ast, launch->block[0], 1);
    text_add(w->out, "};\n");
}

/* What stands behind the declarations of sizes, which follow from it. */
static void print_launches(Writer *w) {
    const Template *template = w->kernel->kernel->template;
    for (uint32_t l = 0; l < template->launches.count; l++) {
        const TemplateLaunch *launch = &template->launches.data[l];
        uint32_t kernel = (uint32_t)(w->kernel - w->e->kernels.data);
        uint32_t instance = (uint32_t)(w->instance - w->kernel->instances.data);
        uint32_t number = entry_number(w->e, kernel, instance, l);
        if (export_is_cuda(w->e))
            print_launch_cuda(w, launch, number);
        else
            print_launch_c(w, launch, number);
        text_printf(
            w->out,
            "    %s = enqueue(call, &launch_%u, args);\n    if (code != KF_CALL_OK) return code;\n",
            l ? "code" : "int code", number);
    }
}

static void print_args(Writer *w) {
    const Template *template = w->kernel->kernel->template;
    text_add(w->out, "    void *args[] = {");
    for (uint32_t i = 0; i < template->args.count; i++) {
        if (i) text_add(w->out, i % 4 == 0 ? ",\n        " : ", ");
        print_argument(w, template->args.data[i]);
    }
    text_add(w->out, "};\n");
}

static int64_t knob(const ExportInstance *instance, const Space *space, const char *label) {
    for (uint32_t i = 0; i < space->knob_count; i++)
        if (strcmp(space->knobs[i].label, label) == 0) return instance->point.value[i];
    return 0;
}

static bool in_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether `name` is one of the text's names, and not only a piece of one. */
static bool has_name(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if ((at == text || !in_name(at[-1])) && !in_name(at[length])) return true;
    return false;
}

/* What expressions read of the machine. On a CPU a point that asks for so many parts gets them, however
 * many threads do them. */
static void print_machine(Text *out, const Writer *w, const char *body) {
    int64_t threads = knob(w->instance, &w->kernel->kernel->template->space, "THREADS");
    if (has_name(body, "sms")) text_add(out, "    const int64_t sms = call->sms;\n");
    if (has_name(body, "cpus"))
        text_printf(out, "    const int64_t cpus = most(call->cpus, %" PRId64 ");\n", threads);
}

static void print_step(Arena *arena, Text *out, const Export *e, uint32_t index, uint32_t step) {
    Text body = {0}, sizes = {0};
    Writer w = writer_at(arena, &body, e, &e->variants.data[index], step);
    print_args(&w);
    print_launches(&w);
    formula_declare(&sizes, &w.formula);
    text_printf(out, "\n/* %s */\nstatic int variant_%u_step_%u(Call *call) {\n", w.instance->label,
                index, step);
    if (strstr(text_string(&sizes), "d[")) text_add(out, "    const int64_t *d = call->axes;\n");
    print_machine(out, &w, text_string(&body));
    text_add(out, text_string(&sizes));
    for (uint32_t i = 0; i < w.kernel->bound->scalars.count; i++)
        print_scalar(out, &w.kernel->bound->scalars.data[i]);
    text_add(out, text_string(&body));
    text_add(out, "    return KF_CALL_OK;\n}\n");
    text_free(&body);
    text_free(&sizes);
}

typedef struct Held {
    ARRAY(ExportSize) list;
} Held;

static void add_held(Arena *arena, const Export *e, uint32_t step, uint32_t output, Held *held) {
    const Type *types[3];
    ExportSize size = {0};
    for (int i = 0; i < 3; i++) {
        const Chain *chain = i < 2 ? e->axes.chain[i] : e->chain;
        types[i] = &chain->steps.data[step].ir->outputs.data[output].type;
    }
    size_of(&e->axes, type_bytes(types[0]), type_bytes(types[1]), type_bytes(types[2]), &size);
    for (uint32_t i = 0; i < held->list.count; i++)
        if (memcmp(&held->list.data[i], &size, sizeof size) == 0) return;
    array_push(arena, &held->list, size);
}

/* One temporary holds several values in turn, and which is the largest is another one at another shape. */
static void print_temporary(Arena *arena, Text *out, const Export *e, uint32_t temporary) {
    Held held = {0};
    for (uint32_t s = 0; s < e->chain->steps.count && e->axes.count; s++)
        for (uint32_t o = 0; o < e->chain->steps.data[s].outputs.count; o++) {
            Ref ref = e->chain->steps.data[s].outputs.data[o];
            if (ref.place == PLACE_TEMPORARY && ref.index == temporary)
                add_held(arena, e, s, o, &held);
        }
    if (!held.list.count) text_printf(out, "%" PRId64, e->chain->temporaries.data[temporary]);
    for (uint32_t i = 0; i < held.list.count; i++) {
        bool last = i + 1 == held.list.count;
        if (!last) text_add(out, "most(");
        size_print(out, &held.list.data[i]);
        if (!last) text_add(out, ", ");
    }
    for (uint32_t i = 1; i < held.list.count; i++) text_add(out, ")");
}

/* Offsets of temporaries and workspaces; the sum of their sizes. */
static void print_layout(Arena *arena, Text *out, const Export *e, uint32_t index) {
    uint32_t count = 0;
    text_printf(out,
                "\nstatic int64_t layout_%u(const int64_t *d, int64_t sms, int64_t cpus, int64_t "
                "*offset) {\n"
                "    int64_t bytes = 0;\n    (void)d, (void)sms, (void)cpus, (void)offset;\n",
                index);
    for (uint32_t t = 0; t < e->chain->temporaries.count; t++) {
        text_printf(out, "    offset[%u] = bytes, bytes += padded(", count++);
        print_temporary(arena, out, e, t);
        text_add(out, ");\n");
    }
    for (uint32_t s = 0; s < e->chain->steps.count; s++) {
        Text body = {0};
        Writer w = writer_at(arena, &body, e, &e->variants.data[index], s);
        const Template *template = w.kernel->kernel->template;
        if (!has_workspace(w.kernel)) continue;
        formula_print(&body, &w.formula, template->workspace_ast, template->workspace, 0);
        text_add(out, "    {\n");
        formula_declare(out, &w.formula);
        text_printf(out, "    offset[%u] = bytes, bytes += padded(%s);\n    }\n", count++,
                    text_string(&body));
        text_free(&body);
    }
    text_add(out, "    return bytes;\n}\n");
}

static uint32_t temporary_count(const Export *e, const ExportVariant *variant) {
    uint32_t count = e->chain->temporaries.count;
    for (uint32_t s = 0; s < e->chain->steps.count; s++)
        count += has_workspace(&e->kernels.data[variant->kernel[s]]);
    return count;
}

uint32_t export_temporaries(const Export *e) {
    uint32_t most = 0;
    for (uint32_t v = 0; v < e->variants.count; v++)
        if (temporary_count(e, &e->variants.data[v]) > most)
            most = temporary_count(e, &e->variants.data[v]);
    return most;
}

static void print_variant(Text *out, const Export *e, uint32_t index) {
    const ExportVariant *variant = &e->variants.data[index];
    Arena *arena = arena_open();
    for (uint32_t s = 0; s < e->chain->steps.count; s++) print_step(arena, out, e, index, s);
    print_layout(arena, out, e, index);
    arena_close(arena);
    text_add(out, "\n/* near ");
    for (uint32_t i = 0; i < variant->rank; i++)
        text_printf(out, "%s%" PRId64, i ? "x" : "", variant->extent[i]);
    if (!variant->rank) text_add(out, "one element");
    if (variant->arch) text_printf(out, ", on sm_%d", variant->arch);
    text_printf(out, " */\nstatic int variant_%u(Call *call) {\n", index);
    for (uint32_t s = 0; s < e->chain->steps.count; s++)
        text_printf(
            out,
            "    %scode = variant_%u_step_%u(call);\n    if (code != KF_CALL_OK) return code;\n",
            s ? "" : "int ", index, s);
    text_add(out, "    return KF_CALL_OK;\n}\n");
}

/* --- which variant */

/* An extent that buckets are made of. */
static void print_extent(Text *out, const Export *e, const ExportKernel *kernel, uint32_t axis) {
    ExportSize size = {.factor = kernel->bound->extent[axis]};
    if (e->axes.count) {
        const Bound *probe[2];
        Arena *arena = arena_open();
        for (int i = 0; i < 2; i++)
            probe[i] =
                kernel_bound(arena, kernel->kernel, e->axes.chain[i]->steps.data[kernel->step].ir);
        size = (ExportSize){0};
        size_of(&e->axes, probe[0]->extent[axis], probe[1]->extent[axis],
                kernel->bound->extent[axis], &size);
        arena_close(arena);
    }
    size_print(out, &size);
}

/* Of those for this architecture, or of those for any, the nearest in octaves. */
static void print_choice(Text *out, const Export *e) {
    text_add(out, "\n/* The variant that was tuned for the nearest sizes, on this architecture if "
                  "there is one. */\n"
                  "static int choose_variant(const int64_t *d, int arch) {\n"
                  "    int64_t best = INT64_MAX;\n    int variant = 0;\n    (void)d, (void)arch, "
                  "(void)best;\n");
    for (uint32_t v = 0; v < e->variants.count && e->variants.count > 1; v++) {
        const ExportVariant *variant = &e->variants.data[v];
        text_printf(out, "    {\n        int64_t far = %s", variant->arch ? "" : "1000");
        if (variant->arch) text_printf(out, "(arch == %d ? 0 : 1000000)", variant->arch);
        for (uint32_t i = 0; i < variant->rank; i++) {
            text_add(out, " + distance(");
            print_extent(out, e, &e->kernels.data[variant->kernel[0]], i);
            text_printf(out, ", %" PRId64 ")", variant->extent[i]);
        }
        text_printf(out, ";\n        if (far < best) best = far, variant = %u;\n    }\n", v);
    }
    text_add(out, "    return variant;\n}\n");
}

static void print_list(Text *out, const Export *e, const char *what) {
    for (uint32_t v = 0; v < e->variants.count; v++)
        text_printf(out, "%s%s_%u", v ? ", " : "", what, v);
}

static void print_tables(Text *out, const Export *e) {
    text_add(out, "\nstatic int (*const variants[])(Call *call) = {");
    print_list(out, e, "variant");
    text_add(out, "};\nstatic int64_t (*const layouts[])(const int64_t *d, int64_t sms, int64_t "
                  "cpus, int64_t *offset) = {");
    print_list(out, e, "layout");
    text_add(out, "};\nstatic const int temporaries[] = {");
    for (uint32_t v = 0; v < e->variants.count; v++)
        text_printf(out, "%s%u", v ? ", " : "", temporary_count(e, &e->variants.data[v]));
    text_add(out, "};\n");
}

void export_variants(Text *out, const Export *e) {
    text_add(out, "\n/* --- variants */\n");
    for (uint32_t v = 0; v < e->variants.count; v++) print_variant(out, e, v);
    print_choice(out, e);
    print_tables(out, e);
}
