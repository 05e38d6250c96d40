/* `kfuse run` without a kernel: evaluate run EXPR NAME=FILE.npy… -o [NAME=]FILE, options as kfuse takes
 * them. What comes out is what the oracle says, so that a program's meaning can be compared with a
 * computation from elsewhere whether or not a kernel covers it. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/arrays.h"

/* An update is read by other outputs: each has memory of its own. */
static KfStatus own_updates(Job *job, Arrays *arrays) {
    for (size_t o = 0; o < kf_program_output_count(job->program); o++) {
        KfTensor output = kf_program_output(job->program, o);
        if (arrays->owned[o]) continue;
        arrays->outputs[o] = malloc(npy_count(&output) * kf_type_size(output.type) + 1);
        if (!arrays->outputs[o]) return job_complain(KF_ENVIRONMENT, "out of memory");
        arrays->owned[o] = true;
    }
    return KF_OK;
}

static KfStatus evaluate(Job *job, Arrays *arrays) {
    KfStatus status = arrays_bind(job, arrays);
    if (status == KF_OK) status = arrays_check_outputs(job);
    if (status == KF_OK) status = arrays_make_outputs(job, arrays);
    if (status == KF_OK) status = own_updates(job, arrays);
    if (status == KF_OK)
        status = job_told(job, kf_program_evaluate(job->program, arrays->inputs, arrays->outputs));
    return status == KF_OK ? arrays_write(job, arrays) : status;
}

static KfStatus open_and_evaluate(Job *job, Arrays *arrays) {
    static const KfSessionOptions options = {.no_user_ops = true};
    size_t rest;
    KfStatus status = kf_session_open(&job->session, &options);
    if (!job->session) return job_complain(status, "out of memory");
    job_told(job, status);
    if (status == KF_OK) status = job_text(job, &rest);
    if (status == KF_OK) status = arrays_read(job, arrays, rest);
    if (status != KF_OK) return status;
    job_shapes(job);
    status = arrays_check(job, arrays);
    if (status == KF_OK) status = job_open(job);
    return status == KF_OK ? evaluate(job, arrays) : status;
}

int main(int argc, char **argv) {
    char why[1024];
    Options *options = malloc(sizeof *options);
    Job *job = calloc(1, sizeof *job);
    Arrays *arrays = calloc(1, sizeof *arrays);
    if (!options || !job || !arrays) return job_complain(KF_ENVIRONMENT, "out of memory");
    KfStatus status = options_parse(argc, argv, options, why, sizeof why);
    job->options = options;
    if (status == KF_OK)
        status = open_and_evaluate(job, arrays);
    else
        job_complain(status, why);
    kf_program_close(job->program);
    kf_session_close(job->session);
    arrays_free(arrays);
    free(job->text_owned);
    free(job);
    free(options);
    return (int)status;
}
