/* `kfuse emit`. In: a program, a folder. Out: files to ship (doc/exporting.md). Where its device is there,
 * the kernel is tuned first, or answered from the store; else the point is a stored one, the one that is
 * given, or the analytic default. */
#include <stdio.h>
#include <string.h>

#include "cli/job.h"

static KfStatus read_options(const Job *job, KfEmitOptions *emit) {
    const Options *o = job->options;
    *emit = (KfEmitOptions){.name = o->name, .archs = o->archs, .point = o->tune.point};
    if (o->output_count != 1 || o->outputs[0].name)
        return job_complain(KF_USAGE, "emit needs one folder: kfuse emit EXPR --shape DIMS -o DIR");
    emit->folder = o->outputs[0].value;
    if (o->format && strcmp(o->format, "header") != 0)
        return job_complain(KF_USAGE, "--format takes header");
    emit->header = o->format != NULL;
    return KF_OK;
}

/* No device is no reason not to emit, but it is told. */
static KfStatus without_device(const Job *job) {
    if (!job->options->quiet)
        fprintf(stderr,
                "%skfuse: emitting without a device: a stored point, or the analytic default\n",
                kf_session_message(job->session));
    return KF_OK;
}

static KfStatus tune(Job *job) {
    const Options *o = job->options;
    if (o->tune.point || o->tune.no_tune) return KF_OK;
    KfStatus status = kf_tune(job->program, &o->tune, &job->kernel);
    return status == KF_ENVIRONMENT ? without_device(job) : job_told(job, status);
}

static KfStatus expression(Job *job) {
    job->problem.device = "cuda";
    return job_program(job);
}

KfStatus job_emit(Job *job) {
    KfEmitOptions emit;
    char *summary = NULL;
    KfStatus status = read_options(job, &emit);
    if (status == KF_OK)
        status = options_name_file(job->options) ? job_file_program(job) : expression(job);
    if (status == KF_OK) status = tune(job);
    if (status == KF_OK)
        status = job_told(job, kf_emit(job->program, job->kernel, &emit, &summary));
    if (status == KF_OK) fputs(summary, stdout);
    kf_free(summary);
    return status;
}
