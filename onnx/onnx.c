/* `kfuse onnx`, a list of stages: file, graph, shapes, regions; then the list, or kernels. */
#include "onnx/onnx.h"

#include "onnx/list.h"
#include "onnx/region.h"
#include "onnx/shape.h"

static KfStatus told(KfSession *session, KfStatus status) {
    if (status != KF_OK) fputs(kf_session_message(session), stderr);
    return status;
}

static KfStatus find_regions(KfSession *session, const OnnxOptions *options, OnnxModel *model,
                             OnnxGraph *graph, OnnxRegions *regions) {
    OnnxTarget target = {session, options->device, options->math};
    KfStatus status = onnx_model_open(options->path, model);
    if (status == KF_OK) status = onnx_graph(model, options, graph);
    if (status == KF_OK) status = onnx_shapes(graph);
    if (status == KF_OK) return told(session, onnx_regions(graph, &target, regions));
    fprintf(stderr, "kfuse: %s: %s\n", options->path, model->why);
    return status;
}

KfStatus onnx_run(KfSession *session, const OnnxOptions *options, FILE *out) {
    OnnxModel model;
    OnnxGraph graph;
    OnnxRegions regions;
    KfStatus status = find_regions(session, options, &model, &graph, &regions);
    if (status == KF_OK) onnx_list(out, &regions, options->json);
    onnx_model_close(&model);
    return status;
}
