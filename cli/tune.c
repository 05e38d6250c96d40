/* `kfuse tune FILE.cu`. In: a kernel of the user's own, its header's lines in the file or among the
 * options, NumPy files to judge it on. Out: the report; with -o, what the kernel gives for the files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arrays.h"

enum { LINE = 1024 };

typedef struct References {
    Npy files[OPTION_NAMED];
    KfTensor outputs[OPTION_NAMED];
    size_t count;
    char names[LINE]; /* of the files, for the report */
} References;

/* The options as the lines of a header. */
static char *header_lines(const Options *o) {
    size_t room = 1, length = 0;
    for (size_t i = 0; i < o->line_count; i++)
        room += strlen(o->lines[i].name) + strlen(o->lines[i].value) + 2;
    char *text = malloc(room);
    if (!text) return NULL;
    text[0] = '\0';
    for (size_t i = 0; i < o->line_count; i++)
        length += (size_t)snprintf(text + length, room - length, "%s %s\n", o->lines[i].name,
                                   o->lines[i].value);
    return text;
}

static KfStatus open_template(Job *job) {
    const char *path = job->options->words[0];
    if (!options_name_file(job->options)) {
        fprintf(stderr,
                "kfuse: tune takes FILE.cu or FILE.c, not '%s'; an expression needs no command\n",
                path);
        return KF_USAGE;
    }
    char *lines = header_lines(job->options);
    if (!lines) return job_complain(KF_ENVIRONMENT, "out of memory");
    KfStatus status = job_told(job, kf_template_open(job->session, path, lines, &job->template));
    free(lines);
    return status;
}

KfStatus job_file_program(Job *job) {
    KfStatus status = job_end_of_words(job, 1);
    if (status == KF_OK) status = open_template(job);
    if (status != KF_OK) return status;
    job_shapes(job);
    status = job_describe(job);
    if (status != KF_OK) return status;
    return job_told(job, kf_template_program(job->template, &job->problem, &job->program));
}

/* --- files */

/* What the kernel is judged on. */
static void give_inputs(Job *job, const Arrays *arrays) {
    for (size_t i = 0; i < arrays->count; i++)
        job_input(job, arrays->names[i])->data = arrays->files[i].data;
}

static KfStatus read_reference(Job *job, References *references, const Named *named) {
    char why[LINE];
    if (!named->name) return job_complain(KF_USAGE, "--reference takes NAME=FILE.npy");
    Npy *npy = &references->files[references->count];
    if (!npy_read(named->value, npy, why, sizeof why)) return job_complain(KF_INPUT, why);
    KfTensor *output = &references->outputs[references->count++];
    *output = npy->tensor;
    output->name = named->name;
    output->data = npy->data;
    if (output->type == KF_PLAIN_TYPE) output->type = KF_BF16; /* uint16 */
    size_t length = strlen(references->names);
    snprintf(references->names + length, sizeof references->names - length, "%s%s",
             length ? ", " : "", named->value);
    job->problem.outputs = references->outputs;
    job->problem.output_count = references->count;
    job->problem.reference_name = references->names;
    return KF_OK;
}

static KfStatus read_references(Job *job, References *references) {
    const Options *o = job->options;
    KfStatus status = KF_OK;
    for (size_t i = 0; i < o->reference_count && status == KF_OK; i++)
        status = read_reference(job, references, &o->references[i]);
    job->problem.has_tolerance = o->has_tolerance;
    job->problem.rtol = o->rtol;
    job->problem.atol = o->atol;
    return status;
}

/* --- all together */

static KfStatus tune_file(Job *job, Arrays *arrays, References *references) {
    KfStatus status = open_template(job);
    if (status == KF_OK) status = arrays_read(job, arrays, 1);
    if (status != KF_OK) return status;
    job_shapes(job);
    status = arrays_check(job, arrays);
    if (status == KF_OK) status = read_references(job, references);
    if (status == KF_OK) status = job_describe(job);
    if (status != KF_OK) return status;
    give_inputs(job, arrays);
    status = job_told(job, kf_template_program(job->template, &job->problem, &job->program));
    if (status != KF_OK) return status;
    return job->options->output_count > 0 ? job_run_kernel(job, arrays) : job_tune(job);
}

KfStatus job_tune_file(Job *job) {
    if (job->options->word_count == 0)
        return job_complain(KF_USAGE, "tune which file? kfuse tune FILE.cu --shape NAME=DIMS");
    Arrays *arrays = calloc(1, sizeof *arrays);
    References *references = calloc(1, sizeof *references);
    if (!arrays || !references) return job_complain(KF_ENVIRONMENT, "out of memory");
    KfStatus status = tune_file(job, arrays, references);
    for (size_t i = 0; i < references->count; i++) npy_free(&references->files[i]);
    free(references);
    arrays_free(arrays);
    return status;
}
