/* In: NumPy files, by name. Out: the problem's inputs, arrays for a program's tensors; and its outputs
 * as files. */
#include "cli/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };

KfStatus arrays_read(Job *job, Arrays *arrays, size_t from) {
    char why[LINE];
    for (size_t i = from; i < job->options->word_count; i++) {
        const char *word = job->options->words[i], *equals = strchr(word, '=');
        if (!equals || equals == word) {
            fprintf(stderr, "kfuse: '%s' is not NAME=FILE.npy\n", word);
            return KF_USAGE;
        }
        if (arrays->count == OPTION_NAMED) return job_complain(KF_INPUT, "too many files");
        Npy *npy = &arrays->files[arrays->count];
        char *name = strndup(word, (size_t)(equals - word));
        arrays->names[arrays->count++] = name;
        if (!npy_read(equals + 1, npy, why, sizeof why)) return job_complain(KF_INPUT, why);
        size_t before = job->problem.input_count;
        KfTensor *input = job_input(job, name);
        if (job->problem.input_count == before) {
            fprintf(stderr, "kfuse: two files for input '%s'\n", name);
            return KF_USAGE;
        }
        input->rank = npy->tensor.rank;
        memcpy(input->dim, npy->tensor.dim, sizeof input->dim);
        input->type = npy->tensor.type;
    }
    return KF_OK;
}

/* A file's shape stands. */
static KfStatus check_shapes(Job *job, const Arrays *arrays) {
    for (size_t i = 0; i < arrays->count; i++) {
        const KfTensor *input = job_input(job, arrays->names[i]), *file = &arrays->files[i].tensor;
        size_t bytes = (size_t)file->rank * sizeof *file->dim;
        if (input->rank == file->rank && memcmp(input->dim, file->dim, bytes) == 0) continue;
        fprintf(stderr, "kfuse: '%s' has another shape than --shape %s says\n", arrays->names[i],
                arrays->names[i]);
        return KF_INPUT;
    }
    return KF_OK;
}

/* So does its type; --dtype NAME=bf16 says what uint16 means. */
static KfStatus check_types(Job *job, const Arrays *arrays) {
    for (size_t i = 0; i < arrays->count; i++) {
        KfTensor *input = job_input(job, arrays->names[i]);
        KfType file = arrays->files[i].tensor.type, asked = input->type;
        if (job->template && file == KF_PLAIN_TYPE && asked == KF_PLAIN_TYPE)
            asked = KF_BF16; /* its header says whether that fits */
        if (asked == KF_PLAIN_TYPE)
            asked = job->problem.plain.type == KF_BF16 ? KF_BF16 : KF_PLAIN_TYPE;
        if (file == KF_PLAIN_TYPE ? asked != KF_BF16 : asked != file) {
            fprintf(stderr,
                    file == KF_PLAIN_TYPE
                        ? "kfuse: '%s' holds uint16: say --dtype %s=bf16 if these are bf16's bits\n"
                        : "kfuse: '%s' holds %s, not what --dtype %s says\n",
                    arrays->names[i], file == KF_PLAIN_TYPE ? arrays->names[i] : kf_type_name(file),
                    arrays->names[i]);
            return KF_INPUT;
        }
        input->type = asked;
    }
    return KF_OK;
}

KfStatus arrays_check(Job *job, const Arrays *arrays) {
    KfStatus status = check_shapes(job, arrays);
    return status == KF_OK ? check_types(job, arrays) : status;
}

KfStatus arrays_bind(Job *job, Arrays *arrays) {
    for (size_t i = 0; i < kf_program_input_count(job->program); i++) {
        KfTensor input = kf_program_input(job->program, i);
        for (size_t k = 0; k < arrays->count; k++)
            if (strcmp(arrays->names[k], input.name) == 0)
                arrays->inputs[i] = arrays->files[k].data;
        if (arrays->inputs[i]) continue;
        fprintf(stderr, "kfuse: no file for input '%s': add %s=FILE.npy\n", input.name, input.name);
        return KF_INPUT;
    }
    return KF_OK;
}

KfStatus arrays_make_outputs(Job *job, Arrays *arrays) {
    for (size_t o = 0; o < kf_program_output_count(job->program); o++) {
        KfTensor output = kf_program_output(job->program, o);
        int updates = kf_program_updates(job->program, o);
        if (updates >= 0) {
            arrays->outputs[o] = (void *)(uintptr_t)arrays->inputs[updates];
            continue;
        }
        size_t bytes = npy_count(&output) * kf_type_size(output.type);
        arrays->outputs[o] = aligned_alloc(64, (bytes + 64) / 64 * 64 + 64);
        if (!arrays->outputs[o]) return job_complain(KF_ENVIRONMENT, "out of memory");
        arrays->owned[o] = true;
    }
    return KF_OK;
}

static const char *file_for(const Job *job, const char *name) {
    const Options *o = job->options;
    for (size_t i = 0; i < o->output_count; i++) {
        bool only = !o->outputs[i].name && kf_program_output_count(job->program) == 1;
        if (only || (o->outputs[i].name && strcmp(o->outputs[i].name, name) == 0))
            return o->outputs[i].value;
    }
    return NULL;
}

/* Every output has a file of its own. */
static KfStatus check_output_files(const Job *job) {
    for (size_t o = 0; o < kf_program_output_count(job->program); o++) {
        const char *name = kf_program_output(job->program, o).name, *file = file_for(job, name);
        if (!file) {
            fprintf(stderr, "kfuse: no file for output '%s': add -o %s=FILE.npy\n", name, name);
            return KF_USAGE;
        }
        for (size_t p = 0; p < o; p++)
            if (strcmp(file, file_for(job, kf_program_output(job->program, p).name)) == 0) {
                fprintf(stderr, "kfuse: two outputs for one file, '%s'\n", file);
                return KF_USAGE;
            }
    }
    return KF_OK;
}

static KfStatus check_output_names(const Job *job) {
    for (size_t i = 0; i < job->options->output_count; i++) {
        const char *name = job->options->outputs[i].name;
        bool known = !name;
        for (size_t o = 0; name && o < kf_program_output_count(job->program); o++)
            known |= strcmp(kf_program_output(job->program, o).name, name) == 0;
        if (known) continue;
        fprintf(stderr, "kfuse: the program has no output '%s'\n", name);
        return KF_USAGE;
    }
    return KF_OK;
}

/* A folder that is missing or read-only is told before anything is tuned. */
static KfStatus check_writable(const Job *job) {
    char why[LINE];
    for (size_t o = 0; o < kf_program_output_count(job->program); o++)
        if (!npy_writable(file_for(job, kf_program_output(job->program, o).name), why, sizeof why))
            return job_complain(KF_ENVIRONMENT, why);
    return KF_OK;
}

KfStatus arrays_check_outputs(const Job *job) {
    KfStatus status = check_output_files(job);
    if (status == KF_OK) status = check_output_names(job);
    return status == KF_OK ? check_writable(job) : status;
}

KfStatus arrays_write(Job *job, Arrays *arrays) {
    char why[LINE];
    for (size_t o = 0; o < kf_program_output_count(job->program); o++) {
        KfTensor output = kf_program_output(job->program, o);
        if (!npy_write(file_for(job, output.name), &output, arrays->outputs[o], why, sizeof why))
            return job_complain(KF_ENVIRONMENT, why);
    }
    return KF_OK;
}

void arrays_free(Arrays *arrays) {
    for (size_t o = 0; o < OPTION_NAMED; o++)
        if (arrays->owned[o]) free(arrays->outputs[o]);
    for (size_t i = 0; i < arrays->count; i++) {
        npy_free(&arrays->files[i]);
        free((void *)(uintptr_t)arrays->names[i]);
    }
    free(arrays);
}
