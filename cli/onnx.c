/* `kfuse onnx MODEL`. In: options. Out: what onnx/ makes of the model. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job.h"
#include "onnx/onnx.h"

/* "batch=8", at the last '=': names of dimensions are what exporters like. */
static KfStatus read_dim(const char *text, OnnxDim *dim) {
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    errno = 0;
    if (equals) dim->size = strtoll(equals + 1, &end, 10);
    if (!equals || equals == text || !isdigit((unsigned char)equals[1]) || *end || errno) {
        fprintf(stderr, "kfuse: --dim takes NAME=SIZE, not '%s'\n", text);
        return KF_USAGE;
    }
    dim->name = text;
    dim->length = (size_t)(equals - text);
    return KF_OK;
}

static KfStatus read_dims(const Options *o, OnnxDim *dims) {
    for (size_t i = 0; i < o->dim_count; i++) {
        KfStatus status = read_dim(o->dims[i], &dims[i]);
        if (status != KF_OK) return status;
        for (size_t k = 0; k < i; k++)
            if (dims[k].length == dims[i].length &&
                memcmp(dims[k].name, dims[i].name, dims[i].length) == 0) {
                fprintf(stderr, "kfuse: --dim '%s' and '%s' for one dimension\n", dims[k].name,
                        dims[i].name);
                return KF_USAGE;
            }
    }
    return KF_OK;
}

KfStatus job_onnx(Job *job) {
    const Options *o = job->options;
    OnnxDim dims[OPTION_NAMED];
    if (o->word_count == 0)
        return job_complain(KF_USAGE, "onnx of which model? kfuse onnx MODEL.onnx");
    KfStatus status = job_end_of_words(job, 1);
    if (status == KF_OK) status = read_dims(o, dims);
    if (status != KF_OK) return status;
    KfTuneOptions tune = o->tune;
    tune.hot |= o->rewrite != NULL; /* what one node of a model writes the next one reads */
    OnnxOptions options = {.path = o->words[0],
                           .dims = dims,
                           .dim_count = o->dim_count,
                           .device = o->device,
                           .math = o->math,
                           .round_each_op = o->round_each_op,
                           .tune = &tune,
                           .folder = o->output_count ? o->outputs[0].value : NULL,
                           .rewritten = o->rewrite,
                           .products = o->products,
                           .json = o->json};
    if (o->output_count > 1 || (o->output_count && o->outputs[0].name))
        return job_complain(KF_USAGE, "onnx takes one -o: a folder");
    if (o->rewrite && !options.folder)
        return job_complain(KF_USAGE, "--rewrite needs -o FOLDER for the kernels");
    if (o->rewrite && o->device && strcmp(o->device, "cpu") != 0)
        return job_complain(KF_USAGE, "--rewrite makes operators for the CPU: --device cpu");
    return onnx_run(job->session, &options, stdout);
}
