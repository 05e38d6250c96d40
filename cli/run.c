/* `kfuse run`. In: NumPy files, one an input. Out: one an output, and the report on stderr. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/arrays.h"

KfStatus job_run_kernel(Job *job, Arrays *arrays) {
    KfStatus status = arrays_bind(job, arrays);
    if (status == KF_OK) status = arrays_check_outputs(job);
    if (status == KF_OK) status = arrays_make_outputs(job, arrays);
    if (status == KF_OK)
        status = job_told(job, kf_tune(job->program, &job->options->tune, &job->kernel));
    if (status == KF_OK)
        status = job_told(job, kf_run(job->kernel, arrays->inputs, arrays->outputs));
    if (status == KF_OK) status = arrays_write(job, arrays);
    if (status == KF_OK && !job->options->quiet)
        fputs(kf_kernel_report(job->kernel, job->options->json ? KF_JSON : KF_TEXT), stderr);
    if (status == KF_OK && job->options->time)
        fputs(kf_kernel_report(job->kernel, KF_PHASES), stderr);
    return status;
}

static KfStatus run_files(Job *job, Arrays *arrays) {
    size_t rest;
    KfStatus status = job_text(job, &rest);
    if (status == KF_OK) status = arrays_read(job, arrays, rest);
    if (status != KF_OK) return status;
    job_shapes(job);
    status = arrays_check(job, arrays);
    if (status == KF_OK) status = job_open(job);
    return status == KF_OK ? job_run_kernel(job, arrays) : status;
}

KfStatus job_run(Job *job) {
    Arrays *arrays = calloc(1, sizeof *arrays);
    if (!arrays) return job_complain(KF_ENVIRONMENT, "out of memory");
    KfStatus status = run_files(job, arrays);
    arrays_free(arrays);
    return status;
}
