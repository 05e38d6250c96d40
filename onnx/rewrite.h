/* A model in which each region is one node of the domain ai.kfuse, and the library that computes these. */
#ifndef KF_ONNX_REWRITE_H
#define KF_ONNX_REWRITE_H

#include "onnx/emit.h"

/* Whether the model can be rewritten at all; to be asked before anything is tuned. */
KfStatus onnx_rewritable(const OnnxGraph *graph, const OnnxOptions *options);
/* options->folder gets ort_ops.c, ort_regions.h and, compiled from these and `files`,
 * libkfuse_ops.so; options->rewritten the model. */
KfStatus onnx_rewrite(const OnnxRegions *regions, const OnnxOptions *options, FILE *out,
                      const OnnxFiles *files);
/* rewrite_ops.c: the library alone. */
KfStatus onnx_build_ops(const OnnxRegions *regions, const OnnxOptions *options,
                        const OnnxFiles *files, const char **path);
/* Writes a file beside `path` and renames it: never half a file. */
KfStatus onnx_write(const char *path, const void *data, size_t size);

#endif
