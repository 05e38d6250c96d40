/* In: regions. Out: what they are, what fusing them saves by bytes and launches, what is left and why.
 * Savings are predicted: nothing has run. */
#include "onnx/list.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/constant.h"

typedef struct Totals {
    uint32_t nodes, computed;
    int64_t fused, apart;
} Totals;

/* Nodes that are left, by operator and reason. */
typedef struct Left {
    const char *op, *why;
    uint32_t count;
} Left;

static Totals totals_of(const OnnxRegions *regions) {
    Totals totals = {0};
    for (uint32_t i = 0; i < regions->list.count; i++) {
        const OnnxRegion *region = &regions->list.data[i];
        totals.nodes += region->node_count;
        totals.computed += region->program.computed;
        totals.fused += region->fused;
        totals.apart += region->apart;
    }
    return totals;
}

static int by_count(const void *a, const void *b) {
    const Left *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->why, y->why);
}

static int by_name(const void *a, const void *b) {
    const Left *x = a, *y = b;
    int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->why, y->why);
}

/* Sorted and counted; the most first. */
static uint32_t left_of(const OnnxRegions *regions, Left **result) {
    const OnnxGraph *graph = regions->graph;
    Left *list = arena_array(graph->arena, Left, graph->nodes.count);
    uint32_t count = 0, kinds = 0;
    for (uint32_t i = 0; i < graph->nodes.count; i++)
        if (regions->of[i] == ONNX_NONE)
            list[count++] = (Left){graph->nodes.data[i].op, regions->pieces[i].why, 1};
    qsort(list, count, sizeof *list, by_name);
    for (uint32_t i = 0; i < count; i++) {
        bool same = kinds > 0 && by_name(&list[kinds - 1], &list[i]) == 0;
        if (same)
            list[kinds - 1].count++;
        else
            list[kinds++] = list[i];
    }
    qsort(list, kinds, sizeof *list, by_count);
    *result = list;
    return kinds;
}

/* --- text */

static const char *size_text(Arena *arena, int64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    int unit = 0;
    for (; size >= 1024 && unit < 4; unit++) size /= 1024;
    return arena_printf(arena, "%.3g %s", size, units[unit]);
}

/* Whether a name is a label's, but for characters that the language does not take. */
static bool is_like(const char *name, const char *label) {
    size_t n = strlen(name), l = strlen(label);
    while (n > 0 && l > 0) {
        if (!isalnum((unsigned char)label[l - 1]))
            l--;
        else if (name[n - 1] == '_')
            n--;
        else if (name[--n] != label[--l])
            return false;
    }
    return n <= 1;
}

static void print_ports(FILE *out, const OnnxGraph *graph, const OnnxPort *ports, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const OnnxTensor *tensor = &graph->tensors.data[ports[i].tensor];
        fprintf(out, "%s%s %s[%s]", i ? ", " : "", ports[i].name, onnx_type_text(tensor->type),
                onnx_shape_text(graph->arena, &tensor->shape));
        if (!is_like(ports[i].name, tensor->label)) fprintf(out, " (%s)", tensor->label);
    }
    fputs("\n", out);
}

static void print_saving(FILE *out, const OnnxRegions *regions, int64_t fused, int64_t apart,
                         uint32_t kernels, uint32_t nodes) {
    Arena *arena = regions->graph->arena;
    double times = fused > 0 ? (double)apart / (double)fused : 1;
    fprintf(
        out,
        "%s in %u kernel%s, node by node %s in %u: predicted %.2fx by bytes, %u launch%s fewer\n",
        size_text(arena, fused), kernels, kernels == 1 ? "" : "s", size_text(arena, apart), nodes,
        times, nodes - kernels, nodes - kernels == 1 ? "" : "es");
}

/* An operator that follows itself is named once: "Mul x2". */
static void print_nodes(FILE *out, const OnnxRegions *regions, const OnnxRegion *region) {
    const OnnxNode *nodes = regions->graph->nodes.data;
    for (uint32_t i = 0, times; i < region->node_count; i += times) {
        const char *op = nodes[region->nodes[i]].op;
        for (times = 1; i + times < region->node_count; times++)
            if (strcmp(op, nodes[region->nodes[i + times]].op) != 0) break;
        fprintf(out, times > 1 ? " %s x%u" : " %s", op, times);
    }
    fputs("\n", out);
}

static void print_region(FILE *out, const OnnxRegions *regions, uint32_t index) {
    const OnnxRegion *region = &regions->list.data[index];
    const OnnxProgram *program = &region->program;
    fprintf(out, "\n%-4s %u nodes:", region->name, region->node_count);
    print_nodes(out, regions, region);
    if (region->same_as != index)
        fprintf(out, "     the same kernel as %s\n", regions->list.data[region->same_as].name);
    fputs("     reads  ", out);
    print_ports(out, regions->graph, program->inputs, program->input_count);
    fputs("     writes ", out);
    print_ports(out, regions->graph, program->outputs, program->output_count);
    fputs("     moves  ", out);
    print_saving(out, regions, region->fused, region->apart, 1, program->computed);
    fprintf(out, "     %s\n", program->text);
}

static void print_left(FILE *out, const OnnxRegions *regions) {
    Left *left;
    uint32_t kinds = left_of(regions, &left);
    if (kinds) fputs("\nleft as they are\n", out);
    for (uint32_t i = 0; i < kinds; i++)
        fprintf(out, "%5u %-22s %s\n", left[i].count, left[i].op, left[i].why);
}

static uint32_t distinct(const OnnxRegions *regions) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < regions->list.count; i++) count += regions->list.data[i].same_as == i;
    return count;
}

static void list_text(FILE *out, const OnnxRegions *regions) {
    const OnnxGraph *graph = regions->graph;
    Totals totals = totals_of(regions);
    uint32_t count = regions->list.count;
    fprintf(out, "%s   operator set %lld, %u node%s: %u in %u region%s, %u left\n",
            graph->model->path, (long long)graph->model->opset, graph->nodes.count,
            graph->nodes.count == 1 ? "" : "s", totals.nodes, count, count == 1 ? "" : "s",
            graph->nodes.count - totals.nodes);
    for (uint32_t i = 0; i < count; i++) print_region(out, regions, i);
    print_left(out, regions);
    if (count == 0) return;
    fprintf(out, "\nall regions: %u different kernel%s; ", distinct(regions),
            distinct(regions) == 1 ? "" : "s");
    print_saving(out, regions, totals.fused, totals.apart, count, totals.computed);
}

/* --- JSON */

static void json_string(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void json_ports(FILE *out, const char *key, const OnnxGraph *graph, const OnnxPort *ports,
                       uint32_t count) {
    fprintf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        const OnnxTensor *tensor = &graph->tensors.data[ports[i].tensor];
        fprintf(out, "%s{\"name\":\"%s\",\"tensor\":", i ? "," : "", ports[i].name);
        json_string(out, tensor->label);
        fprintf(out, ",\"type\":\"%s\",\"shape\":[", onnx_type_text(tensor->type));
        for (int k = 0; k < tensor->shape.rank; k++)
            fprintf(out, "%s%" PRId64, k ? "," : "", tensor->shape.dim[k]);
        fputs("]}", out);
    }
    fputs("]", out);
}

static void json_region(FILE *out, const OnnxRegions *regions, uint32_t index) {
    const OnnxRegion *region = &regions->list.data[index];
    fprintf(out, "%s{\"name\":\"%s\",\"kernel\":\"%s\",\"nodes\":[", index ? "," : "", region->name,
            regions->list.data[region->same_as].name);
    for (uint32_t i = 0; i < region->node_count; i++) {
        if (i) fputs(",", out);
        json_string(out, regions->graph->nodes.data[region->nodes[i]].op);
    }
    fputs("]", out);
    json_ports(out, "reads", regions->graph, region->program.inputs, region->program.input_count);
    json_ports(out, "writes", regions->graph, region->program.outputs,
               region->program.output_count);
    fprintf(out, ",\"bytes\":%" PRId64 ",\"bytes_apart\":%" PRId64 ",\"kernels_apart\":%u,",
            region->fused, region->apart, region->program.computed);
    fputs("\"program\":", out);
    json_string(out, region->program.text);
    fputs("}", out);
}

static void list_json(FILE *out, const OnnxRegions *regions) {
    Left *left;
    uint32_t kinds = left_of(regions, &left);
    Totals totals = totals_of(regions);
    fprintf(out, "{\"opset\":%lld,\"nodes\":%u,\"regions\":[",
            (long long)regions->graph->model->opset, regions->graph->nodes.count);
    for (uint32_t i = 0; i < regions->list.count; i++) json_region(out, regions, i);
    fputs("],\"left\":[", out);
    for (uint32_t i = 0; i < kinds; i++) {
        fprintf(out, "%s{\"op\":", i ? "," : "");
        json_string(out, left[i].op);
        fprintf(out, ",\"count\":%u,\"why\":", left[i].count);
        json_string(out, left[i].why);
        fputs("}", out);
    }
    fprintf(out,
            "],\"bytes\":%" PRId64 ",\"bytes_apart\":%" PRId64
            ",\"kernels\":%u,\"kernels_apart\":%u}\n",
            totals.fused, totals.apart, regions->list.count, totals.computed);
}

void onnx_list(FILE *out, const OnnxRegions *regions, bool json) {
    if (json)
        list_json(out, regions);
    else
        list_text(out, regions);
}
