/* In: options. Out: the problem they describe and its program, opened; what there is to say goes to
 * stderr. */
#include "cli/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 16 << 20 /* kf_program_open refuses longer texts */ };

KfStatus job_complain(KfStatus status, const char *message) {
    fprintf(stderr, "kfuse: %s\n", message);
    return status;
}

KfStatus job_told(Job *job, KfStatus status) {
    if (job->progress.shown) fputs("\r\033[K", stderr);
    job->progress.shown = false;
    fputs(kf_session_message(job->session), stderr);
    return status;
}

KfStatus job_end_of_words(const Job *job, size_t from) {
    if (job->options->word_count <= from) return KF_OK;
    fprintf(stderr, "kfuse: '%s' is one word too many (is the expression in quotes?)\n",
            job->options->words[from]);
    return KF_USAGE;
}

/* --- the problem */

KfTensor *job_input(Job *job, const char *name) {
    for (size_t i = 0; i < job->problem.input_count; i++)
        if (strcmp(job->inputs[i].name, name) == 0) return &job->inputs[i];
    KfTensor *added = &job->inputs[job->problem.input_count++];
    *added = (KfTensor){.name = name, .rank = KF_PLAIN_SHAPE};
    job->problem.inputs = job->inputs;
    return added;
}

void job_shapes(Job *job) {
    const Options *o = job->options;
    const char *why;
    for (size_t i = 0; i < o->shape_count; i++) {
        KfTensor shape;
        kf_parse_shape(o->shapes[i].value, &shape, &why);
        KfTensor *into =
            o->shapes[i].name ? job_input(job, o->shapes[i].name) : &job->problem.plain;
        into->rank = shape.rank;
        memcpy(into->dim, shape.dim, sizeof into->dim);
        job->problem.has_plain_shape |= o->shapes[i].name == NULL;
    }
    for (size_t i = 0; i < o->dtype_count; i++)
        kf_parse_type(o->dtypes[i].value,
                      o->dtypes[i].name ? &job_input(job, o->dtypes[i].name)->type
                                        : &job->problem.plain.type,
                      &why);
    if (o->out_dtype) kf_parse_type(o->out_dtype, &job->problem.out_type, &why);
}

static KfStatus apply_params(Job *job) {
    for (size_t i = 0; i < job->options->param_count; i++) {
        const Named *named = &job->options->params[i];
        char *end;
        job->params[i] = (KfParam){named->name, strtod(named->value, &end)};
        if (*end || end == named->value) {
            fprintf(stderr, "kfuse: --param %s: '%s' is no number\n", named->name, named->value);
            return KF_INPUT;
        }
    }
    job->problem.params = job->params;
    job->problem.param_count = job->options->param_count;
    return KF_OK;
}

/* Reads a whole stream, or as much of it as shows that it is too long. */
static char *slurp(FILE *file, size_t *length) {
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    while (text) {
        *length += fread(text + *length, 1, room - *length, file);
        if (*length < room || *length > TEXT_MAX) break;
        char *larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    return text;
}

KfStatus job_text(Job *job, size_t *rest) {
    const Options *o = job->options;
    *rest = 0;
    if (!o->file) {
        if (o->word_count == 0)
            return job_complain(
                KF_USAGE, "no expression; try kfuse 'relu(x+res)' --shape 4096x4096, or --help");
        job->text = o->words[0];
        job->text_length = strlen(job->text);
        *rest = 1;
        return KF_OK;
    }
    bool standard = strcmp(o->file, "-") == 0;
    FILE *file = standard ? stdin : fopen(o->file, "rb");
    if (file) job->text_owned = slurp(file, &job->text_length);
    bool bad = !file || ferror(file) || !job->text_owned;
    if (bad) fprintf(stderr, "kfuse: cannot read '%s': %s\n", o->file, strerror(errno));
    if (file && !standard) fclose(file);
    job->text = job->text_owned;
    job->problem.source = standard ? "<stdin>" : o->file;
    return bad ? KF_INPUT : KF_OK;
}

KfStatus job_describe(Job *job) {
    job->problem.math = job->options->math;
    job->problem.round_each_op = job->options->round_each_op;
    if (job->options->device) job->problem.device = job->options->device;
    return apply_params(job);
}

KfStatus job_open(Job *job) {
    KfStatus status = job_describe(job);
    if (status != KF_OK) return status;
    return job_told(job, kf_program_open(job->session, job->text, job->text_length, &job->problem,
                                         &job->program));
}

KfStatus job_program(Job *job) {
    size_t rest;
    KfStatus status = job_text(job, &rest);
    if (status == KF_OK) status = job_end_of_words(job, rest);
    if (status != KF_OK) return status;
    job_shapes(job);
    return job_open(job);
}

/* --- tuning */

static KfStatus verify_bucket(Job *job) {
    KfBucketEnd ends[2];
    size_t count;
    KfStatus status =
        job_told(job, kf_verify_bucket(job->kernel, &job->options->tune, ends, &count));
    for (size_t i = 0; i < count; i++) {
        const KfBucketEnd *e = &ends[i];
        printf(job->options->json
                   ? "{\"shape\":\"%s\",\"time_us\":%g,\"ratio\":%.4f,\"low\":%.4f,"
                     "\"high\":%.4f,\"best\":\"%s\"}\n"
                   : "bucket     %s: %.4g us, %.3f (%.3f to %.3f) of the time of %s\n",
               e->shape, e->time * 1e6, e->ratio, e->low, e->high, e->best);
    }
    return status;
}

KfStatus job_tune(Job *job) {
    KfStatus status = job_told(job, kf_tune(job->program, &job->options->tune, &job->kernel));
    if (job->kernel)
        fputs(kf_kernel_report(job->kernel, job->options->json ? KF_JSON : KF_TEXT), stdout);
    if (job->kernel && job->options->time) fputs(kf_kernel_report(job->kernel, KF_PHASES), stderr);
    if (status == KF_OK && job->options->verify_bucket) status = verify_bucket(job);
    return status;
}
