/* `kfuse onnx`, a list of stages: file, graph, shapes, regions; then the list, or kernels. */
#include "onnx/onnx.h"

#include "onnx/list.h"
#include "onnx/rewrite.h"
#include "onnx/shape.h"

static KfStatus told(KfSession *session, KfStatus status) {
    if (status != KF_OK) fputs(kf_session_message(session), stderr);
    return status;
}

/* A size of 0 may be meant, that of a cache which is empty yet, but not where nothing is left to compute. */
static KfStatus check_empty(const OnnxOptions *options, OnnxModel *model, const OnnxGraph *graph) {
    size_t empty = 0;
    while (empty < options->dim_count && options->dims[empty].size > 0) empty++;
    if (empty == options->dim_count) return KF_OK;
    for (uint32_t t = 0; t < graph->tensors.count; t++) {
        const OnnxTensor *tensor = &graph->tensors.data[t];
        if (tensor->kept && (!tensor->shape.known || onnx_count(&tensor->shape) != 0)) return KF_OK;
    }
    return onnx_wrong(model, KF_USAGE, "with --dim '%.*s=0' none of its results has an element",
                      (int)options->dims[empty].length, options->dims[empty].name);
}

static KfStatus find_regions(const OnnxTarget *target, const OnnxOptions *options, OnnxModel *model,
                             OnnxGraph *graph, OnnxRegions *regions) {
    KfStatus status = onnx_model_open(options->path, model);
    if (status == KF_OK) status = onnx_graph(model, options, graph);
    if (status == KF_OK) status = onnx_shapes(graph);
    if (status == KF_OK) status = check_empty(options, model, graph);
    if (status == KF_OK) return told(target->session, onnx_regions(graph, target, regions));
    fprintf(stderr, "kfuse: %s: %s\n", options->path, model->why);
    return status;
}

/* With JSON on `out`, what is said of files is talk. */
static KfStatus make_kernels(const OnnxTarget *target, const OnnxOptions *options,
                             OnnxRegions *regions, FILE *out) {
    OnnxFiles files = {0};
    FILE *talk = options->json ? stderr : out;
    if (!options->folder) return KF_OK;
    if (regions->list.count == 0) {
        fprintf(stderr, "kfuse: %s: no region, nothing to write\n", options->path);
        return KF_NO_KERNEL;
    }
    KfStatus status = options->rewritten ? onnx_rewritable(regions->graph, options) : KF_OK;
    if (status == KF_OK) status = onnx_emit(regions, target, options, talk, &files);
    if (status == KF_OK && options->rewritten)
        status = onnx_rewrite(regions, options, talk, &files);
    return status;
}

KfStatus onnx_run(KfSession *session, const OnnxOptions *options, FILE *out) {
    /* The operators of a rewritten model are for the CPU. */
    const char *device = options->rewritten && !options->device ? "cpu" : options->device;
    OnnxTarget target = {session, device, options->math, options->round_each_op,
                         options->rewritten != NULL};
    OnnxModel model;
    OnnxGraph graph;
    OnnxRegions regions;
    KfStatus status = find_regions(&target, options, &model, &graph, &regions);
    if (status == KF_OK) {
        onnx_list(out, &regions, options->json);
        fflush(out);
        status = make_kernels(&target, options, &regions, out);
    }
    onnx_model_close(&model);
    return status;
}
