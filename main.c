/* The command line, on the public interface alone: options, files, signals, exit codes. stdout is
 * the product, stderr is talk. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/npy.h"
#include "cli/options.h"

enum { LINE = 1024 };

/* The one piece of global state a signal handler needs; written before the handler is installed. */
static KfSession *interrupted_session;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    if (interrupted_session) kf_session_interrupt(interrupted_session);
}

static void catch_interrupts(KfSession *session) {
    struct sigaction action = {.sa_handler = on_interrupt};
    interrupted_session = session;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static KfStatus complain(KfStatus status, const char *message) {
    fprintf(stderr, "kfuse: %s\n", message);
    return status;
}

/* --- progress */

typedef struct Progress {
    bool terminal, quiet, shown;
    uint32_t last; /* tenths already told, where there is no terminal */
} Progress;

static void show_progress(void *context, const KfProgress *p) {
    Progress *progress = context;
    if (progress->quiet || p->total == 0) return;
    if (progress->terminal) {
        fprintf(stderr, "\r\033[K%u/%u tried, best %.4g us, %.0f s left", p->finished, p->total,
                p->best * 1e6, p->left);
        progress->shown = true;
    } else if (p->finished * 4 / p->total > progress->last) {
        progress->last = p->finished * 4 / p->total;
        fprintf(stderr, "%u/%u tried, best %.4g us\n", p->finished, p->total, p->best * 1e6);
    }
}

static void end_progress(Progress *progress) {
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = false;
}

/* --- the problem */

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
    KfProgram *program;
    KfKernel *kernel;
} Job;

static KfTensor *input_named(Job *job, const char *name) {
    for (size_t i = 0; i < job->problem.input_count; i++)
        if (strcmp(job->inputs[i].name, name) == 0) return &job->inputs[i];
    KfTensor *added = &job->inputs[job->problem.input_count++];
    *added = (KfTensor){.name = name, .rank = KF_PLAIN_SHAPE};
    job->problem.inputs = job->inputs;
    return added;
}

static void apply_shapes(Job *job) {
    const Options *o = job->options;
    const char *why;
    for (size_t i = 0; i < o->shape_count; i++) {
        KfTensor shape;
        kf_parse_shape(o->shapes[i].value, &shape, &why);
        KfTensor *into =
            o->shapes[i].name ? input_named(job, o->shapes[i].name) : &job->problem.plain;
        into->rank = shape.rank;
        memcpy(into->dim, shape.dim, sizeof into->dim);
        job->problem.has_plain_shape |= o->shapes[i].name == NULL;
    }
    for (size_t i = 0; i < o->dtype_count; i++)
        kf_parse_type(o->dtypes[i].value,
                      o->dtypes[i].name ? &input_named(job, o->dtypes[i].name)->type
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

/* Reads a whole stream. */
static char *slurp(FILE *file, size_t *length) {
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    while (text) {
        *length += fread(text + *length, 1, room - *length, file);
        if (*length < room) break;
        char *larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    return text;
}

/* The program: the first word, or -f. *rest is the first word that is not it. */
static KfStatus find_program(Job *job, size_t *rest) {
    const Options *o = job->options;
    *rest = 0;
    if (!o->file) {
        if (o->word_count == 0)
            return complain(KF_USAGE,
                            "no expression; try kfuse 'relu(x+res)' --shape 4096x4096, or --help");
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

static KfStatus told(Job *job, KfStatus status) {
    end_progress(&job->progress);
    fputs(kf_session_message(job->session), stderr);
    return status;
}

static KfStatus open_program(Job *job) {
    job->problem.math = job->options->math;
    job->problem.round_each_op = job->options->round_each_op;
    job->problem.device = job->options->device;
    KfStatus status = apply_params(job);
    if (status != KF_OK) return status;
    return told(job, kf_program_open(job->session, job->text, job->text_length, &job->problem,
                                     &job->program));
}

static KfStatus no_words_left(const Job *job, size_t from) {
    if (job->options->word_count <= from) return KF_OK;
    fprintf(stderr, "kfuse: '%s' is one word too many (is the expression in quotes?)\n",
            job->options->words[from]);
    return KF_USAGE;
}

/* --- commands */

static KfStatus print_owned(KfStatus status, char *text) {
    if (status == KF_OK && text) fputs(text, stdout);
    kf_free(text);
    return status;
}

static KfStatus command_tune(Job *job) {
    size_t rest;
    KfStatus status = find_program(job, &rest);
    if (status == KF_OK) status = no_words_left(job, rest);
    if (status != KF_OK) return status;
    apply_shapes(job);
    status = open_program(job);
    if (status != KF_OK) return status;
    status = told(job, kf_tune(job->program, &job->options->tune, &job->kernel));
    if (job->kernel)
        fputs(kf_kernel_report(job->kernel, job->options->json ? KF_JSON : KF_TEXT), stdout);
    return status;
}

static KfStatus command_dump(Job *job) {
    size_t rest;
    char *text = NULL;
    if (!job->options->has_stage)
        return complain(KF_USAGE, "dump what? --ast --ir --plan --cuda --c");
    KfStatus status = find_program(job, &rest);
    if (status == KF_OK) status = no_words_left(job, rest);
    if (status != KF_OK) return status;
    apply_shapes(job);
    status = open_program(job);
    if (status == KF_OK)
        status = told(job, kf_program_dump(job->program, job->options->stage,
                                           job->options->tune.point, &text));
    return print_owned(status, text);
}

static KfStatus command_ops(Job *job) {
    char *text = NULL;
    const Options *o = job->options;
    if (o->word_count > 1) return no_words_left(job, 1);
    KfStatus status = o->check ? kf_ops_check(job->session, o->check, &text)
                               : kf_ops(job->session, o->word_count ? o->words[0] : NULL, &text);
    if (status != KF_OK && o->check && text) fputs(text, stdout);
    told(job, status);
    return print_owned(status, text);
}

static KfStatus command_devices(Job *job) {
    char *text = NULL;
    KfStatus status = no_words_left(job, 0);
    if (status == KF_OK) status = told(job, kf_devices(job->session, &text));
    return print_owned(status, text);
}

static KfStatus command_cache(Job *job) {
    char *text = NULL;
    const Options *o = job->options;
    if (o->word_count == 0 || o->word_count > 2)
        return complain(KF_USAGE, "cache ls | show KEY | clear | path");
    const char *argument = o->word_count > 1 ? o->words[1] : NULL;
    KfStatus status = told(job, kf_cache(job->session, o->words[0], argument, &text));
    return print_owned(status, text);
}

/* --- run */

typedef struct Arrays {
    Npy files[OPTION_NAMED];
    const char *names[OPTION_NAMED];
    size_t count;
    const void *inputs[OPTION_NAMED];
    void *outputs[OPTION_NAMED];
    bool owned[OPTION_NAMED];
} Arrays;

static KfStatus read_inputs(Job *job, Arrays *arrays, size_t from) {
    char why[LINE];
    for (size_t i = from; i < job->options->word_count; i++) {
        const char *word = job->options->words[i], *equals = strchr(word, '=');
        if (!equals || equals == word) {
            fprintf(stderr, "kfuse: '%s' is not NAME=FILE.npy\n", word);
            return KF_USAGE;
        }
        if (arrays->count == OPTION_NAMED) return complain(KF_INPUT, "too many files");
        Npy *npy = &arrays->files[arrays->count];
        char *name = strndup(word, (size_t)(equals - word));
        arrays->names[arrays->count] = name;
        if (!npy_read(equals + 1, npy, why, sizeof why)) return free(name), complain(KF_INPUT, why);
        arrays->count++;
        KfTensor *input = input_named(job, name);
        input->rank = npy->tensor.rank;
        memcpy(input->dim, npy->tensor.dim, sizeof input->dim);
        input->type = npy->tensor.type;
    }
    return KF_OK;
}

/* A file's type stands; --dtype NAME=bf16 says what uint16 means. */
static KfStatus check_types(Job *job, const Arrays *arrays) {
    for (size_t i = 0; i < arrays->count; i++) {
        KfTensor *input = input_named(job, arrays->names[i]);
        KfType file = arrays->files[i].tensor.type, asked = input->type;
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

static KfStatus bind_inputs(Job *job, Arrays *arrays) {
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

static KfStatus make_outputs(Job *job, Arrays *arrays) {
    for (size_t o = 0; o < kf_program_output_count(job->program); o++) {
        KfTensor output = kf_program_output(job->program, o);
        int updates = kf_program_updates(job->program, o);
        if (updates >= 0) {
            arrays->outputs[o] = (void *)(uintptr_t)arrays->inputs[updates];
            continue;
        }
        size_t bytes = npy_count(&output) * kf_type_size(output.type);
        arrays->outputs[o] = aligned_alloc(64, (bytes + 64) / 64 * 64 + 64);
        if (!arrays->outputs[o]) return complain(KF_ENVIRONMENT, "out of memory");
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

static KfStatus check_output_names(const Job *job) {
    for (size_t o = 0; o < kf_program_output_count(job->program); o++) {
        const char *name = kf_program_output(job->program, o).name;
        if (file_for(job, name)) continue;
        fprintf(stderr, "kfuse: no file for output '%s': add -o %s=FILE.npy\n", name, name);
        return KF_USAGE;
    }
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

static KfStatus write_outputs(Job *job, Arrays *arrays) {
    char why[LINE];
    for (size_t o = 0; o < kf_program_output_count(job->program); o++) {
        KfTensor output = kf_program_output(job->program, o);
        if (!npy_write(file_for(job, output.name), &output, arrays->outputs[o], why, sizeof why))
            return complain(KF_ENVIRONMENT, why);
    }
    return KF_OK;
}

static KfStatus run_kernel(Job *job, Arrays *arrays) {
    KfStatus status = told(job, kf_tune(job->program, &job->options->tune, &job->kernel));
    if (status != KF_OK) return status;
    status = told(job, kf_run(job->kernel, arrays->inputs, arrays->outputs));
    if (status != KF_OK) return status;
    status = write_outputs(job, arrays);
    if (status == KF_OK && !job->options->quiet)
        fputs(kf_kernel_report(job->kernel, job->options->json ? KF_JSON : KF_TEXT), stderr);
    return status;
}

static KfStatus run_files(Job *job, Arrays *arrays) {
    size_t rest;
    KfStatus status = find_program(job, &rest);
    if (status == KF_OK) status = read_inputs(job, arrays, rest);
    if (status != KF_OK) return status;
    apply_shapes(job);
    status = check_types(job, arrays);
    if (status == KF_OK) status = open_program(job);
    if (status == KF_OK) status = bind_inputs(job, arrays);
    if (status == KF_OK) status = check_output_names(job);
    if (status == KF_OK) status = make_outputs(job, arrays);
    return status == KF_OK ? run_kernel(job, arrays) : status;
}

static KfStatus command_run(Job *job) {
    Arrays *arrays = calloc(1, sizeof *arrays);
    if (!arrays) return complain(KF_ENVIRONMENT, "out of memory");
    KfStatus status = run_files(job, arrays);
    for (size_t o = 0; o < OPTION_NAMED; o++)
        if (arrays->owned[o]) free(arrays->outputs[o]);
    for (size_t i = 0; i < arrays->count; i++) {
        npy_free(&arrays->files[i]);
        free((void *)(uintptr_t)arrays->names[i]);
    }
    free(arrays);
    return status;
}

static KfStatus run_command(Job *job) {
    switch (job->options->command) {
    case COMMAND_TUNE: return command_tune(job);
    case COMMAND_RUN: return command_run(job);
    case COMMAND_DUMP: return command_dump(job);
    case COMMAND_OPS: return command_ops(job);
    case COMMAND_DEVICES: return command_devices(job);
    case COMMAND_CACHE: return command_cache(job);
    }
    return KF_USAGE;
}

static KfStatus with_session(Job *job) {
    KfSessionOptions options = {.progress = show_progress, .context = &job->progress};
    job->progress = (Progress){.terminal = isatty(STDERR_FILENO), .quiet = job->options->quiet};
    KfStatus status = kf_session_open(&job->session, &options);
    if (!job->session) return complain(status, "out of memory");
    for (size_t i = 0; i < job->options->ops_count && status == KF_OK; i++)
        status = kf_session_add_ops(job->session, job->options->ops[i]);
    told(job, status);
    catch_interrupts(job->session);
    if (status == KF_OK) status = run_command(job);
    kf_kernel_close(job->kernel);
    kf_program_close(job->program);
    interrupted_session = NULL;
    kf_session_close(job->session);
    free(job->text_owned);
    return status;
}

/* What was lost may have left the buffer long ago. */
static KfStatus end_output(KfStatus status) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    complain(KF_ENVIRONMENT, "cannot write to standard output");
    return status == KF_OK ? KF_ENVIRONMENT : status;
}

int main(int argc, char **argv) {
    char why[LINE];
    Options *options = malloc(sizeof *options);
    Job *job = calloc(1, sizeof *job);
    if (!options || !job) return complain(KF_ENVIRONMENT, "out of memory");
    KfStatus status = options_parse(argc, argv, options, why, sizeof why);
    job->options = options;
    if (status != KF_OK)
        complain(status, why);
    else if (options->help || options->help_all)
        options_help(options->help_all);
    else if (options->version)
        printf("kfuse %s\n", kf_version());
    else
        status = with_session(job);
    status = end_output(status);
    free(job);
    free(options);
    return (int)status;
}
