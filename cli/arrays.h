/* NumPy files as the arrays of a program. What is wrong is told, with the status to end with. */
#ifndef KF_ARRAYS_H
#define KF_ARRAYS_H

#include "cli/job.h"
#include "cli/npy.h"

typedef struct Arrays {
    Npy files[OPTION_NAMED];
    const char *names[OPTION_NAMED];
    size_t count;
    const void *inputs[OPTION_NAMED]; /* as the program has them */
    void *outputs[OPTION_NAMED];
    bool owned[OPTION_NAMED];
} Arrays;

/* NAME=FILE.npy of the words from `from` on: files, and inputs of the problem. */
KfStatus arrays_read(Job *job, Arrays *arrays, size_t from);
/* Behind job_shapes: a file's shape and type stand; --dtype NAME=bf16 says what uint16 means. */
KfStatus arrays_check(Job *job, const Arrays *arrays);
/* Every input of the program has a file. */
KfStatus arrays_bind(Job *job, Arrays *arrays);
/* Every output has a file of its own (-o) in a folder that can be written. */
KfStatus arrays_check_outputs(const Job *job);
KfStatus arrays_make_outputs(Job *job, Arrays *arrays);
KfStatus arrays_write(Job *job, Arrays *arrays);
/* Tunes the program that is open, runs it on the files, writes what comes out; the report goes to
 * stderr. */
KfStatus job_run_kernel(Job *job, Arrays *arrays);
void arrays_free(Arrays *arrays);

#endif
