/* The command line, on the public interface alone: options, files, signals, exit codes. stdout is
 * the product, stderr is talk. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/job.h"

enum { LINE = 1024 };

/* The global state that a signal handler needs; the session is written before it is installed. */
static KfSession *interrupted_session;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
    if (interrupted_session) kf_session_interrupt(interrupted_session);
}

static void catch_interrupts(KfSession *session) {
    /* A second one ends the program at once; workers end with it. */
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    interrupted_session = session;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* --- progress */

static void show_progress(void *context, const KfProgress *p) {
    Progress *progress = context;
    if (interrupted) kf_session_interrupt(interrupted_session); /* it came just before this began */
    if (progress->quiet || p->total == 0) return;
    char best[64] = "none right yet";
    if (p->best > 0) snprintf(best, sizeof best, "best %.4g us", p->best * 1e6);
    if (progress->terminal) {
        fprintf(stderr, "\r\033[K%u/%u tried, %s, %.0f s left", p->finished, p->total, best,
                p->left);
        progress->shown = true;
    } else if (p->finished * 4 / p->total > progress->last) {
        progress->last = p->finished * 4 / p->total;
        fprintf(stderr, "%u/%u tried, %s\n", p->finished, p->total, best);
    }
}

/* --- commands */

static KfStatus print_owned(KfStatus status, char *text) {
    if (status == KF_OK && text) fputs(text, stdout);
    kf_free(text);
    return status;
}

static KfStatus command_tune(Job *job) {
    KfStatus status = job_program(job);
    return status == KF_OK ? job_tune(job) : status;
}

static KfStatus write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    bool ok = file && fputs(text, file) >= 0;
    if (file && fclose(file) != 0) ok = false;
    if (!ok) fprintf(stderr, "kfuse: cannot write '%s': %s\n", path, strerror(errno));
    return ok ? KF_OK : KF_ENVIRONMENT;
}

static KfStatus command_dump(Job *job) {
    char *text = NULL;
    const Options *o = job->options;
    if (!o->has_stage)
        return job_complain(KF_USAGE, "dump what? --ast --ir --groups --plan --cuda --c");
    KfStatus status = job_program(job);
    if (status == KF_OK)
        status = job_told(job, kf_program_dump(job->program, o->stage, o->tune.point, &text));
    if (status != KF_OK || o->output_count == 0) return print_owned(status, text);
    status = write_text(o->outputs[o->output_count - 1].value, text);
    kf_free(text);
    return status;
}

static KfStatus command_grad(Job *job) {
    size_t rest;
    char *text = NULL;
    const Options *o = job->options;
    KfStatus status = job_text(job, &rest);
    if (status == KF_OK) status = job_end_of_words(job, rest);
    if (status != KF_OK) return status;
    job_shapes(job);
    status = kf_program_grad(job->session, job->text, job->text_length, &job->problem, o->wrt,
                             o->wrt_count, o->json ? KF_JSON : KF_TEXT, &text);
    return print_owned(job_told(job, status), text);
}

static KfStatus command_why(Job *job) {
    char *text = NULL;
    KfStatus status = options_name_file(job->options) ? job_file_program(job) : job_program(job);
    if (status == KF_OK) status = job_told(job, kf_why(job->program, &job->options->tune, &text));
    return print_owned(status, text);
}

static KfStatus command_ops(Job *job) {
    char *text = NULL;
    const Options *o = job->options;
    if (o->word_count > 1) return job_end_of_words(job, 1);
    KfStatus status = o->check ? kf_ops_check(job->session, o->check, &text)
                               : kf_ops(job->session, o->word_count ? o->words[0] : NULL, &text);
    if (status != KF_OK && o->check && text) fputs(text, stdout);
    job_told(job, status);
    return print_owned(status, text);
}

static KfStatus command_devices(Job *job) {
    char *text = NULL;
    KfStatus status = job_end_of_words(job, 0);
    if (status == KF_OK) status = job_told(job, kf_devices(job->session, &text));
    return print_owned(status, text);
}

static KfStatus cache_step(Job *job, const char *command, const char *argument) {
    char *text = NULL;
    KfStatus status = job_told(job, kf_cache(job->session, command, argument, &text));
    return print_owned(status, text);
}

typedef struct CacheCommand {
    const char *name, *with_binaries; /* NULL: there are none in it */
    size_t least, most;               /* words behind it */
} CacheCommand;

static const CacheCommand *cache_command(const Options *o) {
    static const CacheCommand list[] = {
        {"ls", NULL, 0, 0},
        {"show", NULL, 1, 1},
        {"clear", NULL, 0, 0},
        {"path", NULL, 0, 0},
        {"export", "export-binaries", 0, 1},
        {"import", "import-binaries", 1, OPTION_WORDS},
        {"merge", NULL, 1, OPTION_WORDS}, /* it always has them */
    };
    for (size_t i = 0; i < sizeof list / sizeof *list && o->word_count > 0; i++)
        if (strcmp(list[i].name, o->words[0]) == 0 && o->word_count - 1 >= list[i].least &&
            o->word_count - 1 <= list[i].most)
            return &list[i];
    return NULL;
}

/* Each file by itself; the first that fails ends it. */
static KfStatus command_cache(Job *job) {
    const Options *o = job->options;
    const CacheCommand *command = cache_command(o);
    if (!command)
        return job_complain(KF_USAGE, "cache ls | show KEY | clear | path | export [FILE] | "
                                      "import FILE... | merge FILE.db...");
    if (o->binaries && !command->with_binaries)
        return job_complain(KF_USAGE, "--binaries goes with cache export and cache import");
    const char *name = o->binaries ? command->with_binaries : command->name;
    KfStatus status = o->word_count == 1 ? cache_step(job, name, NULL) : KF_OK;
    for (size_t i = 1; i < o->word_count && status == KF_OK; i++)
        status = cache_step(job, name, o->words[i]);
    return status;
}

static KfStatus run_command(Job *job) {
    switch (job->options->command) {
    case COMMAND_TUNE: return command_tune(job);
    case COMMAND_RUN: return job_run(job);
    case COMMAND_DUMP: return command_dump(job);
    case COMMAND_OPS: return command_ops(job);
    case COMMAND_DEVICES: return command_devices(job);
    case COMMAND_CACHE: return command_cache(job);
    case COMMAND_WARM: return job_warm(job);
    case COMMAND_GRAD: return command_grad(job);
    case COMMAND_TEMPLATE: return job_tune_file(job);
    case COMMAND_EMIT: return job_emit(job);
    case COMMAND_TUNE_ALL: break; /* its processes do */
    case COMMAND_ONNX: return job_onnx(job);
    case COMMAND_WHY: return command_why(job);
    }
    return KF_USAGE;
}

static KfStatus with_session(Job *job, KfStatus (*body)(Job *job)) {
    KfSessionOptions options = {.progress = show_progress, .context = &job->progress};
    job->progress = (Progress){.terminal = isatty(STDERR_FILENO), .quiet = job->options->quiet};
    KfStatus status = kf_session_open(&job->session, &options);
    if (!job->session) return job_complain(status, "out of memory");
    for (size_t i = 0; i < job->options->ops_count && status == KF_OK; i++)
        status = kf_session_add_ops(job->session, job->options->ops[i]);
    job_told(job, status);
    catch_interrupts(job->session);
    if (status == KF_OK) status = body(job);
    kf_kernel_close(job->kernel);
    kf_program_close(job->program);
    kf_template_close(job->template);
    interrupted_session = NULL;
    kf_session_close(job->session);
    free(job->text_owned);
    return status;
}

/* The processes of tune-all open a session each: a database must not be open across a fork. */
static KfStatus run(Job *job) {
    const char *wrong = options_misplaced(job->options);
    if (wrong) return job_complain(KF_USAGE, wrong);
    return job->options->command == COMMAND_TUNE_ALL ? job_tune_all(job, with_session)
                                                     : with_session(job, run_command);
}

/* A file that is opened later must not take the place of a standard one that was closed: what is printed would
 * be written into it. These fail. */
static void hold_standard_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
}

/* What was lost may have left the buffer long ago. */
static KfStatus end_output(KfStatus status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    job_complain(KF_ENVIRONMENT, "cannot write to standard output");
    return status == KF_OK ? KF_ENVIRONMENT : status;
}

int main(int argc, char **argv) {
    char why[LINE];
    hold_standard_files();
    Options *options = malloc(sizeof *options);
    Job *job = calloc(1, sizeof *job);
    if (!options || !job) return job_complain(KF_ENVIRONMENT, "out of memory");
    KfStatus status = options_parse(argc, argv, options, why, sizeof why);
    job->options = options;
    if (status != KF_OK)
        job_complain(status, why);
    else if (options->help || options->help_all)
        options_help(options->help_all);
    else if (options->version)
        printf("kfuse %s\n", kf_version());
    else
        status = run(job);
    status = end_output(status);
    free(job);
    free(options);
    return (int)status;
}
