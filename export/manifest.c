/* In: an Export, its files. Out: NAME.json, for whoever builds or audits what is shipped. */
#include <inttypes.h>
#include <string.h>

#include "export/export.h"

static void add(Text *out, const char *key, const char *value) {
    text_printf(out, "  \"%s\": ", key);
    text_add_json(out, value);
    text_add(out, ",\n");
}

static void add_list(Text *out, const int64_t *list, uint32_t count) {
    text_add(out, "[");
    for (uint32_t i = 0; i < count; i++) text_printf(out, "%s%" PRId64, i ? ", " : "", list[i]);
    text_add(out, "]");
}

static void add_array(Text *out, const char *name, const Type *type, const int64_t *strides,
                      int updates, const Ir *ir, bool last) {
    text_add(out, "    {\"name\": ");
    text_add_json(out, name);
    text_printf(out, ", \"type\": \"%s\", \"shape\": ", dtype_name(type->dtype));
    add_list(out, type->dim, type->rank);
    text_add(out, ", \"strides\": ");
    add_list(out, strides, type->rank);
    if (updates >= 0) {
        text_add(out, ", \"updates\": ");
        text_add_json(out, ir->inputs.data[updates].name);
    }
    text_add(out, last ? "}\n" : "},\n");
}

static void add_arrays(Text *out, const Ir *ir) {
    text_add(out, "  \"inputs\": [\n");
    for (uint32_t i = 0; i < ir->inputs.count; i++)
        add_array(out, ir->inputs.data[i].name, &ir->inputs.data[i].type,
                  ir->inputs.data[i].strides, -1, ir, i + 1 == ir->inputs.count);
    text_add(out, "  ],\n  \"outputs\": [\n");
    for (uint32_t o = 0; o < ir->outputs.count; o++)
        add_array(out, ir->outputs.data[o].name, &ir->outputs.data[o].type,
                  ir->outputs.data[o].strides, ir->outputs.data[o].updates, ir,
                  o + 1 == ir->outputs.count);
    text_add(out, "  ],\n");
}

static void add_point(Text *out, const Export *e, const ExportVariant *variant, uint32_t step) {
    const ExportKernel *kernel = &e->kernels.data[variant->kernel[step]];
    const ExportInstance *instance = &kernel->instances.data[variant->instance[step]];
    const Space *space = &kernel->kernel->template->space;
    Arena *arena = arena_open();
    text_printf(out, "%s{\"file\": ", step ? ", " : "");
    text_add_json(out, export_stem(arena, e, variant->kernel[step]));
    text_add(out, ", \"kernel\": ");
    text_add_json(out, kernel->kernel->name);
    for (uint32_t i = 0; i < space->knob_count; i++)
        if (!space->knobs[i].fact)
            text_printf(out, ", \"%s\": %" PRId64, space->knobs[i].label, instance->point.value[i]);
    text_add(out, "}");
    arena_close(arena);
}

static void add_variants(Text *out, const Export *e) {
    text_add(out, "  \"variants\": [\n");
    for (uint32_t v = 0; v < e->variants.count; v++) {
        const ExportVariant *variant = &e->variants.data[v];
        text_add(out, "    {\"arch\": ");
        if (variant->arch)
            text_printf(out, "\"sm_%d\"", variant->arch);
        else
            text_add(out, "null");
        text_add(out, ", \"bucket\": ");
        add_list(out, variant->extent, variant->rank);
        text_add(out, ", \"points\": [");
        for (uint32_t s = 0; s < e->chain->steps.count; s++) add_point(out, e, variant, s);
        text_add(out, "], \"origin\": ");
        text_add_json(out, variant->origin);
        if (variant->time > 0)
            text_printf(out, ", \"time_us\": %.6g, \"spread_us\": %.3g", variant->time * 1e6,
                        variant->spread * 1e6);
        text_add(out, v + 1 < e->variants.count ? "},\n" : "}\n");
    }
    text_add(out, "  ],\n");
}

static void add_files(Text *out, const ExportFiles *files) {
    text_add(out, "  \"files\": [");
    for (uint32_t i = 0; i < files->list.count; i++) {
        text_add(out, i ? ", " : "");
        text_add_json(out, files->list.data[i].name);
    }
    text_add(out, "]\n");
}

void export_manifest(Text *out, const Export *e, const ExportFiles *files) {
    text_add(out, "{\n");
    add(out, "name", e->name);
    add(out, "language", e->language);
    add(out, "expression", e->expression);
    add_arrays(out, e->ir);
    text_printf(out, "  \"shapes\": \"%s\",\n  \"workspace_bytes\": %" PRId64 ",\n",
                e->axes.count ? "free" : "fixed", e->workspace);
    add(out, "numerics", e->numerics);
    add_variants(out, e);
    add(out, "compiler", e->compiler);
    add(out, "command", e->command);
    add_files(out, files);
    text_add(out, "}\n");
}
