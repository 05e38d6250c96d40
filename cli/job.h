/* A command in the making: its options, the problem they describe, what is open for it. */
#ifndef KF_JOB_H
#define KF_JOB_H

#include "cli/options.h"

typedef struct Progress {
    bool terminal, quiet, shown;
    uint32_t last; /* quarters already told, where there is no terminal */
} Progress;

struct Fleet;

typedef struct Job {
    const Options *options;
    KfSession *session;
    Progress progress;
    KfProblem problem;
    KfTensor inputs[3 * OPTION_NAMED];
    KfParam params[OPTION_NAMED];
    const char *text;
    size_t text_length;
    char *text_owned;
    KfTemplate *template;
    KfProgram *program;
    KfKernel *kernel;
    const struct Fleet *fleet; /* of a process of `kfuse tune-all`, and which device is its own */
    uint32_t device;
} Job;

/* Opens the job's session, does `body`, closes what is open. */
typedef KfStatus WithSession(Job *job, KfStatus (*body)(Job *job));

/* Prints "kfuse: message" and returns `status`. */
KfStatus job_complain(KfStatus status, const char *message);
/* Prints what the session has to say; ends a progress line. */
KfStatus job_told(Job *job, KfStatus status);
/* Complains of the word `from`, if there is one. */
KfStatus job_end_of_words(const Job *job, size_t from);
/* The program's text: the first word, or -f. *rest is the first word that is not it. */
KfStatus job_text(Job *job, size_t *rest);
/* The problem's input of that name, added if it is new. */
KfTensor *job_input(Job *job, const char *name);
/* What --shape, --dtype and --out-dtype say. */
void job_shapes(Job *job);
/* The rest of the problem: math, device, params. */
KfStatus job_describe(Job *job);
KfStatus job_open(Job *job);
/* All of these: the program that the command line says, and nothing else, is open. */
KfStatus job_program(Job *job);
/* Tunes the program that is open and prints the report. */
KfStatus job_tune(Job *job);
/* `kfuse run`: on NumPy files. */
KfStatus job_run(Job *job);
/* `kfuse tune`: a kernel file of the user's own. */
KfStatus job_tune_file(Job *job);
/* The program that such a file's header and the options say. */
KfStatus job_file_program(Job *job);
/* `kfuse warm`: a file of command lines into the store. */
KfStatus job_warm(Job *job);
/* `kfuse tune-all`: likewise, on several devices at once; `job` has no session, its processes open one
 * each. */
KfStatus job_tune_all(Job *job, WithSession *with_session);
/* `kfuse onnx`: regions of a model. */
KfStatus job_onnx(Job *job);

/* `kfuse emit`: files to ship. */
KfStatus job_emit(Job *job);

#endif
